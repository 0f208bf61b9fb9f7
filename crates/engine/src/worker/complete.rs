//! From a completion to the figures: counts, verifies, releases.

use model::FailureKind;

use super::Worker;
use super::completion_batch::CompletionBatch;
use crate::clock::Clock;
use crate::engines::{Completion, Engine, Verb};
use crate::recorder::Timeline;
use crate::slots::Slot;

impl<E: Engine> Worker<'_, E> {
    #[inline]
    pub(super) fn complete(&mut self, now: u64, timeline: &mut Timeline) {
        if self.completed.is_empty() {
            return;
        }
        timeline.integrate(now, self.in_flight);
        self.alive_ns = now;
        if self.depth.is_some() {
            self.adjust_depth(now);
        }
        if self.stamps.is_some() {
            self.compare_stamps(now);
        }
        let mut completed = std::mem::take(&mut self.completed);
        let mut group = CompletionBatch::default();
        for completion in &completed {
            let slot = self.slots.get(completion.slot);
            let is_whole = completion.result == i64::from(slot.len) && slot.len > 0;
            if !(self.is_plain && is_whole) {
                self.complete_one(completion, now, timeline);
                continue;
            }
            if !group.takes(slot) {
                self.in_flight -= group.count;
                group.count_in(now, timeline);
                group = CompletionBatch::of(slot);
            }
            group.count += 1;
            self.slots.release(completion.slot);
        }
        self.in_flight -= group.count;
        group.count_in(now, timeline);
        completed.clear();
        self.completed = completed;
    }

    /// Stamps each completion as if it were the only one.
    #[cold]
    fn compare_stamps(&mut self, now: u64) {
        let Some(stamps) = &mut self.stamps else { return };
        for completion in &self.completed {
            let slot = self.slots.get(completion.slot);
            stamps.record(now - slot.intended, self.clock.now() - slot.handed);
        }
    }

    #[inline]
    pub(super) fn complete_one(&mut self, completion: &Completion, now: u64, timeline: &mut Timeline) {
        let slot = completion.slot;
        let Slot { verb, len, intended, submitted, slat, .. } = *self.slots.get(slot);
        self.in_flight -= 1;
        self.slots.release(slot);
        let result = completion.result;
        if verb == Verb::Write && result != i64::from(len) {
            self.unknown(slot);
        }
        if result < 0 {
            let errno = (-result) as i32;
            *timeline.current.of(verb.into()).errors.entry(errno).or_default() += 1;
            self.fail(FailureKind::Errno(errno), slot, now, timeline);
            return;
        }
        if result == 0 && len > 0 {
            let kind = if verb == Verb::Read { FailureKind::NoData } else { FailureKind::NothingWritten };
            self.fail(kind, slot, now, timeline);
            return;
        }
        let recorder = timeline.current.of(verb.into());
        recorder.count += 1;
        recorder.bytes += result as u64;
        recorder.short += u64::from((result as u64) < u64::from(len));
        recorder.lat.record(now - intended);
        if let Some(clat) = &mut recorder.clat {
            clat.record_many(now - submitted, 1);
        }
        if let Some(total) = &mut recorder.slat {
            total.record_many(slat, 1);
        }
        if self.offset_log.is_some() {
            self.record_offset(slot, result as u64, now, timeline);
        }
        match verb {
            Verb::Write => self.written(slot, result as u64, intended),
            Verb::Read if self.spec.generations.is_some() => self.check(slot, result as u64),
            Verb::Fsync | Verb::Fdatasync => self.synced(now, timeline),
            _ => {}
        }
    }

    #[inline]
    pub(super) fn written(&mut self, slot: u32, bytes: u64, intended: u64) {
        if self.spec.workload.sync.every > 0 {
            self.unsynced.push((intended, bytes));
        }
        if let Some(generations) = &self.spec.generations
            && bytes == u64::from(self.slots.get(slot).len)
        {
            let Slot { offset, generation, .. } = *self.slots.get(slot);
            generations.complete_write(offset, generation);
        }
    }

    /// A verified block was not written correctly: its content is now unknown.
    #[cold]
    pub(super) fn unknown(&self, slot: u32) {
        if let Some(generations) = &self.spec.generations {
            let Slot { offset, generation, .. } = *self.slots.get(slot);
            generations.fail_write(offset, generation);
        }
    }

    pub(super) fn check(&mut self, slot: u32, bytes: u64) {
        let Some(generations) = &self.spec.generations else { return };
        let Slot { offset, generation, len, .. } = *self.slots.get(slot);
        if !generations.can_judge(offset, generation) {
            return;
        }
        if bytes < u64::from(len) {
            self.integrity.record(offset, Err(format!("only {bytes} bytes of the block could be read")));
            return;
        }
        // SAFETY: the kernel has filled the slot's read buffer with `bytes` bytes.
        let block = unsafe { std::slice::from_raw_parts(self.buffers.read(slot as usize), bytes as usize) };
        self.integrity.record(offset, generations.check(block, offset, generation));
    }
}
