//! Targets that stop responding between two repeats, such as a mount whose server is gone. A request to such a target
//! would hang in the kernel, so a separate thread makes it, which can be abandoned.

use std::sync::Arc;

use host::hanging::{RESPONSE_TIMEOUT, within};
use host::testfiles::{TestFiles, free_bytes};
use model::{Preparation, Severity, Step, TargetKind};
use rustix::fs::{Mode, OFlags};

use super::Local;
use super::data_sets::Backing;

impl Local<'_> {
    /// True if a target still responds, so that a repeat of this step can begin on it.
    pub(super) fn answers(&self, step: &Step, index: usize) -> bool {
        let target = &self.targets[index].target;
        let makes_files = target.kind == TargetKind::Directory
            && (step.prepare != Preparation::Written || step.workload.is_metadata());
        let opens_it = target.kind == TargetKind::File;
        let (path, run) = (target.path.clone(), self.recorder.run().started.id.clone());
        let made = self.targets[index].sets.iter().filter_map(|set| match &set.files {
            Backing::Made(files) => Some(Arc::clone(files)),
            Backing::Target => None,
        });
        let made: Vec<Arc<TestFiles>> = made.collect();
        let ask = move || {
            // Only the return matters here; the repeat detects errors. A soft mount fails the first request, but the
            // later ones still wait for the server.
            let _ = free_bytes(&path);
            if opens_it {
                // Non-blocking, so that a pipe put in place of the file does not look like hanging storage.
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                drop(rustix::fs::open(&path, flags, Mode::empty()));
            }
            made.iter().for_each(|files| drop(files.open(false, 0)));
            if makes_files {
                drop(TestFiles::create(&path, &run, 1));
            }
        };
        within(RESPONSE_TIMEOUT, &self.interrupt, ask).is_some()
    }

    /// Warns that this process may remain for as long as the storage does not respond: a thread in uninterruptible
    /// sleep cannot be killed.
    pub(crate) fn warn_of_hung_targets(&mut self) {
        let silent: Vec<String> =
            self.targets.iter().filter(|state| state.hangs).map(|state| state.target.name.clone()).collect();
        if !silent.is_empty() {
            let message = format!(
                "{}: the kernel still waits for the storage, so this process may remain after the end of the run until \
                 the storage responds or is removed; the log is complete; run `lodestone clean` afterwards to remove \
                 leftovers",
                silent.join(", ")
            );
            self.note(Severity::Warning, "still-in-the-kernel", None, message);
        }
    }
}
