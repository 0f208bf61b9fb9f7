//! The end of what a run opened on its targets: whoever unmounts one as soon as the program has ended must be able to.

use std::time::{Duration, Instant};

use engine::release::await_release;
use model::{Layer, LayerKind, Severity, Target};

use super::Session;
use super::data_sets::{Backing, DataSet};
use super::patience::{ANSWER, within};

/// How long to wait for the kernel to let go of test files; it takes milliseconds on a machine that is well.
pub(super) const RELEASE_LIMIT: Duration = Duration::from_secs(10);
/// The topic of the note about files that stay open.
const STILL_OPEN: &str = "still-open";

impl DataSet {
    /// Waits until this process holds the only open of the set's own files: neither a ring that the kernel has yet to take
    /// down nor another program's. False if somebody else still has one open after `limit`. Where that cannot be seen, they count
    /// as released: network filesystems refuse what would show it unless their server has delegated the file, and do not say
    /// that this is why.
    pub(super) fn await_release(&self, target: &Target, limit: Duration) -> bool {
        let is_mount = |layer: &Layer| layer.kind == LayerKind::Network && layer.device.is_none();
        match &self.files {
            Backing::Made(files) => target.stack.iter().any(is_mount) || await_release(files.files(), limit),
            Backing::Target => true,
        }
    }
}

impl Session<'_> {
    /// Waits until the kernel has let go of all test files that were laid out, and lets go of them itself. Targets that do not
    /// let that happen are given up.
    pub(super) fn release(&mut self) {
        let until = Instant::now() + RELEASE_LIMIT;
        for place in 0..self.places.len() {
            let sets = std::mem::take(&mut self.places[place].sets);
            if sets.is_empty() {
                continue;
            }
            // Looking asks the kernel about what it has in memory; only closing may wait for the storage.
            let target = &self.places[place].target;
            let left = || until.saturating_duration_since(Instant::now());
            if !sets.iter().all(|set| set.await_release(target, left())) {
                let name = target.name.clone();
                self.say_still_open(&name);
            }
            if within(ANSWER, &self.interrupt, move || drop(sets)).is_none() {
                self.is_silent(place);
            }
        }
    }

    /// Warns once of a target whose test files somebody else still has open.
    pub(super) fn say_still_open(&mut self, target: &str) {
        let notes = &self.recorder.run().notes;
        if notes.iter().any(|note| note.topic == STILL_OPEN && note.target.as_deref() == Some(target)) {
            return;
        }
        let message = format!(
            "test files are still open in the kernel or in another program after {} s; unmounting it may fail with \"target is busy\" for a while",
            RELEASE_LIMIT.as_secs()
        );
        self.note(Severity::Warning, STILL_OPEN, Some(target.to_owned()), message);
    }
}
