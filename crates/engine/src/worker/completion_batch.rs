//! Counts the common figures of a batch at once.

use crate::engines::Verb;
use crate::recorder::Timeline;
use crate::slots::Slot;

/// Successful transfers of a batch with all figures in common: they are counted together.
pub(super) struct CompletionBatch {
    verb: Verb,
    len: u32,
    intended: u64,
    submitted: u64,
    slat: u64,
    pub count: u64,
}

impl Default for CompletionBatch {
    fn default() -> Self {
        Self { verb: Verb::Read, len: 0, intended: 0, submitted: 0, slat: 0, count: 0 }
    }
}

impl CompletionBatch {
    pub fn of(slot: &Slot) -> Self {
        let Slot { verb, len, intended, submitted, slat, .. } = *slot;
        Self { verb, len, intended, submitted, slat, count: 0 }
    }

    #[inline]
    pub fn takes(&self, slot: &Slot) -> bool {
        // Operations with the same end of submission were in the same submission.
        self.intended == slot.intended
            && self.submitted == slot.submitted
            && self.len == slot.len
            && self.verb == slot.verb
    }

    #[inline]
    pub fn count_in(&self, now: u64, timeline: &mut Timeline) {
        if self.count == 0 {
            return;
        }
        let recorder = timeline.current.of(self.verb.into());
        recorder.count += self.count;
        recorder.bytes += self.count * u64::from(self.len);
        recorder.lat.record_many(now - self.intended, self.count);
        if let Some(clat) = &mut recorder.clat {
            clat.record_many(now - self.submitted, self.count);
        }
        if let Some(total) = &mut recorder.slat {
            total.record_many(self.slat, self.count);
        }
    }
}
