//! Operations that fail, and operations that never complete.

use std::sync::atomic::Ordering;

use model::FailureKind;

use super::{SyncState, Worker, WorkerFailure};
use crate::engines::{Engine, Verb};
use crate::recorder::Timeline;
use crate::slots::Slot;

/// If no operation in flight completes for this long, they count as hung.
const HANG_NS: u64 = 300_000_000_000;
/// The same after the user has asked to stop.
const HANG_WHEN_INTERRUPTED_NS: u64 = 5_000_000_000;

impl<E: Engine> Worker<'_, E> {
    /// True if no operation in flight has completed within the timeout, and all are to be abandoned. That is a failure,
    /// unless the user is waiting for the end: then the storage had little time.
    pub(super) fn gives_up(&mut self, now: u64, timeline: &Timeline) -> bool {
        if self.in_flight == 0 {
            return false;
        }
        if self.signals.interrupted() {
            let noticed_ns = *self.interrupted_ns.get_or_insert(now);
            return now.saturating_sub(self.alive_ns.max(noticed_ns)) > HANG_WHEN_INTERRUPTED_NS;
        }
        let silent = now.saturating_sub(self.alive_ns) > HANG_NS;
        if silent {
            self.hung(now, timeline);
        }
        silent
    }

    fn hung(&mut self, now: u64, timeline: &Timeline) {
        if let Some(oldest) = self.slots.busy().first() {
            self.end(FailureKind::Hung(HANG_NS), *oldest, now, timeline);
        }
    }

    #[cold]
    pub(super) fn fail(&mut self, kind: FailureKind, slot: u32, now: u64, timeline: &Timeline) {
        let errors = self.signals.errors.fetch_add(1, Ordering::Relaxed) + 1;
        let verb = self.slots.get(slot).verb;
        if matches!(verb, Verb::Fsync | Verb::Fdatasync) {
            // What the sync should have covered did not become durable.
            self.sync = SyncState::Idle;
            self.writes_since_sync = 0;
            self.unsynced.clear();
        }
        if !matches!(kind, FailureKind::Errno(_)) || errors >= self.spec.max_errors {
            self.end(kind, slot, now, timeline);
        }
    }

    /// The operation in `slot` ends the repeat, for all workers.
    fn end(&mut self, kind: FailureKind, slot: u32, now: u64, timeline: &Timeline) {
        let Slot { verb, offset, .. } = *self.slots.get(slot);
        let has_place = !matches!(verb, Verb::Fsync | Verb::Fdatasync);
        self.failure.get_or_insert(WorkerFailure {
            kind,
            operation: verb.into(),
            offset: has_place.then_some(offset),
            at_ns: timeline.since_origin(now),
        });
        self.signals.abort.store(true, Ordering::Relaxed);
    }
}
