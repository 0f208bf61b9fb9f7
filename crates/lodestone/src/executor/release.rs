//! Releases all files that a run opened on its targets, so that a target can be unmounted as soon as the program ends.

use std::time::{Duration, Instant};

use engine::release::await_release;
use host::hanging::{RESPONSE_TIMEOUT, within};
use model::{Layer, LayerKind, Severity, Target};

use super::Local;
use super::data_sets::{Backing, DataSet};

/// How long to wait for the kernel to release test files; a healthy machine needs milliseconds.
pub(super) const RELEASE_LIMIT: Duration = Duration::from_secs(10);
/// The topic of the note about files that stay open.
const STILL_OPEN: &str = "still-open";

impl DataSet {
    /// Waits until this process has the only open file descriptors of the set's own files, with none left in a ring
    /// that the kernel has yet to tear down or in another program. Returns false if one is still open elsewhere after
    /// `limit`. Files count as released where this cannot be checked: network filesystems refuse the check with an
    /// ambiguous error unless the server has delegated the file.
    pub(super) fn await_release(&self, target: &Target, limit: Duration) -> bool {
        let is_mount = |layer: &Layer| layer.kind == LayerKind::Network && layer.device.is_none();
        match &self.files {
            Backing::Made(files) => target.stack.iter().any(is_mount) || await_release(files.files(), limit),
            Backing::Target => true,
        }
    }
}

impl Local<'_> {
    /// Waits until the kernel has released all test files, then closes them. Returns the indices of the targets that do not
    /// complete this in time.
    pub(crate) fn release(&mut self) -> Vec<usize> {
        let mut silent = Vec::new();
        let until = Instant::now() + RELEASE_LIMIT;
        for index in 0..self.targets.len() {
            let sets = std::mem::take(&mut self.targets[index].sets);
            if sets.is_empty() {
                continue;
            }
            // The check only reads kernel memory; closing may wait for the storage.
            let target = &self.targets[index].target;
            let left = || until.saturating_duration_since(Instant::now());
            if !sets.iter().all(|set| set.await_release(target, left())) {
                let name = target.name.clone();
                self.warn_still_open(&name);
            }
            if within(RESPONSE_TIMEOUT, &self.interrupt, move || drop(sets)).is_none() {
                self.targets[index].abandon();
                silent.push(index);
            }
        }
        silent
    }

    /// Warns once about a target whose test files are still open elsewhere.
    pub(super) fn warn_still_open(&mut self, target: &str) {
        let notes = &self.recorder.run().notes;
        if notes.iter().any(|note| note.topic == STILL_OPEN && note.target.as_deref() == Some(target)) {
            return;
        }
        let message = format!(
            "the kernel or another program still has test files open after {} s; unmounting the target may \
             fail with \"target is busy\" for a while",
            RELEASE_LIMIT.as_secs()
        );
        self.note(Severity::Warning, STILL_OPEN, Some(target.to_owned()), message);
    }
}
