//! When a worker syncs, and which writes a sync makes durable.

use std::io;

use model::Operation;

use super::{STOP_POLL_NS, SyncState, Worker};
use crate::clock::Clock;
use crate::engines::{Engine, Request, Verb};
use crate::recorder::{IntervalSink, Timeline};

impl<E: Engine> Worker<'_, E> {
    pub(super) fn sync_at_end(
        &mut self,
        mut now: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        self.sync = SyncState::Draining;
        while self.sync != SyncState::Idle && self.failure.is_none() && !self.gives_up(now, timeline) {
            if self.in_flight == 0 {
                self.push_syncs();
            }
            self.submit(timeline)?;
            if self.in_flight > 0 {
                self.engine.reap(1, STOP_POLL_NS, &mut self.completed)?;
            }
            now = self.clock.now();
            timeline.roll(now, self.in_flight, sink);
            self.complete(now, timeline);
        }
        Ok(now)
    }

    /// Adds a sync of every written file to the batch, as far as there are slots.
    pub(super) fn push_syncs(&mut self) {
        let verb = if self.spec.workload.sync.data_only { Verb::Fdatasync } else { Verb::Fsync };
        let mut count = 0;
        for file in 0..self.dirty.len() {
            if !self.slots.any_free() {
                break;
            }
            if std::mem::take(&mut self.dirty[file]) {
                let slot = self.slots.take(verb, 0, 0, 0);
                let buffer = std::ptr::null_mut();
                self.batch.push(Request { slot, verb, file: file as u32, offset: 0, len: 0, buffer });
                count += 1;
            }
        }
        self.sync = if count == 0 { SyncState::Idle } else { SyncState::Syncing(count) };
        if count == 0 {
            self.writes_since_sync = 0;
        }
    }

    /// A sync has completed; with the last one, all writes before it are durable.
    pub(super) fn synced(&mut self, now: u64, timeline: &mut Timeline) {
        if let SyncState::Syncing(count) = self.sync {
            self.sync = SyncState::Syncing(count - 1);
        }
        if self.sync != SyncState::Syncing(0) {
            return;
        }
        if self.dirty.iter().any(|dirty| *dirty) {
            self.sync = SyncState::Draining;
            return;
        }
        if self.spec.workload.sync.every > 0 {
            let recorder = timeline.current.of(Operation::DurableWrite);
            for (intended, bytes) in self.unsynced.drain(..) {
                recorder.count += 1;
                recorder.bytes += bytes;
                recorder.lat.record(now - intended);
            }
        }
        self.sync = SyncState::Idle;
        self.writes_since_sync = 0;
    }

    /// Begins a sync if one is due after an operation.
    #[inline]
    pub(super) fn note_due_sync(&mut self, verb: Verb, every: u32) {
        let all_files = self.spec.workload.modifiers.sync_all_files;
        if verb != Verb::Write && !all_files {
            return;
        }
        self.writes_since_sync += 1;
        if self.writes_since_sync < every {
            return;
        }
        if !all_files {
            self.sync = SyncState::Draining;
        } else if self.dirty.contains(&true) {
            self.dirty.fill(true);
            self.sync = SyncState::Draining;
        } else {
            self.writes_since_sync = 0;
        }
    }
}
