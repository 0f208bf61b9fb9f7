//! Targets that do not answer any more between two repeats, such as a mount whose server has gone away. What is asked of
//! them then would hang in the kernel, so it is asked on a thread that can be left behind.

use std::sync::Arc;

use host::testfiles::{TestFiles, free_bytes};
use model::{Preparation, Severity, Step, TargetKind};
use rustix::fs::{Mode, OFlags};

use super::Session;
use super::data_sets::Backing;
use super::patience::{ANSWER, within};

impl Session<'_> {
    /// True if a target still answers, so that a repeat of this step can be begun on it.
    pub(super) fn answers(&self, step: &Step, place: usize) -> bool {
        let target = &self.places[place].target;
        let makes_files = target.kind == TargetKind::Directory
            && (step.prepare != Preparation::Written || step.workload.is_metadata());
        let opens_it = target.kind == TargetKind::File;
        let (path, run) = (target.path.clone(), self.recorder.run().started.id.clone());
        let made = self.places[place].sets.iter().filter_map(|set| match &set.files {
            Backing::Made(files) => Some(Arc::clone(files)),
            Backing::Target => None,
        });
        let made: Vec<Arc<TestFiles>> = made.collect();
        let ask = move || {
            // Whether that succeeds is for the repeat to see; here only that it comes back matters. A server that is
            // mounted soft refuses the first, and the others wait for it all the same.
            let _ = free_bytes(&path);
            if opens_it {
                // Not waiting for what somebody may have put there meanwhile, such as a pipe: only the storage counts.
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                drop(rustix::fs::open(&path, flags, Mode::empty()));
            }
            made.iter().for_each(|files| drop(files.open(false, 0)));
            if makes_files {
                drop(TestFiles::create(&path, &run, 1));
            }
        };
        within(ANSWER, &self.interrupt, ask).is_some()
    }

    /// Gives up a target that does not answer, if that has not been done for another reason.
    pub(super) fn is_silent(&mut self, place: usize) {
        self.places[place].abandon();
        if !self.places[place].gone {
            self.give_up(place, "the storage does not answer any more");
        }
    }

    /// Says that the kernel may keep this process for as long as storage does not answer: a thread that waits
    /// uninterruptibly cannot be ended.
    pub(super) fn say_what_hangs(&mut self) {
        let silent: Vec<String> =
            self.places.iter().filter(|place| place.hangs).map(|place| place.target.name.clone()).collect();
        if !silent.is_empty() {
            let message = format!(
                "{}: the kernel still waits for the storage; if this process stays after the end of the run, it goes when the storage answers again or is taken down; the record is complete without that, and `lodestone clean` removes what is left there",
                silent.join(", ")
            );
            self.note(Severity::Warning, "still-in-the-kernel", None, message);
        }
    }
}
