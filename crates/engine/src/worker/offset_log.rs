//! What only few workloads need for each operation: logging its offset, and reading something there before it.
//! Plain workloads bypass it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

use model::{FailureKind, LoggedOffset, OffsetLog, Operation, Pace, Phase, ReadFirst, Workload};

use super::{Worker, WorkerFailure};
use crate::clock::Clock;
use crate::engines::{Engine, Request, Verb};
use crate::recorder::Timeline;
use crate::slots::Slot;

/// Bytes read to position a disk's head where an operation begins.
const PAGE: u32 = 4096;

/// Logs the first offsets of each operation of one worker, in preallocated memory.
pub(super) struct OffsetLogger {
    offset_log: BTreeMap<Operation, OffsetLog>,
    room: usize,
}

impl OffsetLogger {
    /// A logger for one of `workers` workers; `None` if the workload does not log offsets.
    pub fn new(workload: &Workload, workers: u32) -> Option<Box<Self>> {
        let room = (OffsetLog::MOST / workers.max(1) as usize).max(1);
        let empty = || OffsetLog { kept: Vec::with_capacity(room), left_out: 0 };
        let has_offset = |o: &Operation| !matches!(o, Operation::Sync | Operation::DurableWrite);
        let operations = workload.operations().into_iter().filter(has_offset);
        let offset_log = operations.map(|operation| (operation, empty())).collect();
        workload.modifiers.log_offset.then(|| Box::new(Self { offset_log, room }))
    }

    /// Logs one operation, if it was in the measured time.
    #[inline(never)]
    pub fn keep(&mut self, verb: Verb, phase: Phase, logged: LoggedOffset) {
        if phase == Phase::Measure
            && let Some(offset_log) = self.offset_log.get_mut(&verb.into())
        {
            offset_log.record(logged, self.room);
        }
    }

    /// The logged offsets; operations without any are omitted.
    pub fn finish(self) -> BTreeMap<Operation, OffsetLog> {
        self.offset_log.into_iter().filter(|(_, offset_log)| !offset_log.kept.is_empty()).collect()
    }
}

/// Rejects workloads for which the preceding read would be skipped: a write would destroy what it is to write
/// back.
///
/// # Errors
/// The workload reads first, and is not run as single transfers in order.
pub(super) fn can_read_first<E: Engine>(workload: &Workload, only_in_order: bool) -> io::Result<()> {
    let is_one_by_one = E::SYNCHRONOUS && only_in_order && workload.pace == Pace::Closed;
    if workload.modifiers.read_first.is_some() && !is_one_by_one {
        return Err(io::Error::other("only transfers one by one can read something first"));
    }
    Ok(())
}

impl<E: Engine> Worker<'_, E> {
    /// Logs the offset of an operation that moved `bytes` bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn record_offset(&mut self, slot: u32, bytes: u64, now: u64, timeline: &Timeline) {
        let Slot { verb, offset, intended, .. } = *self.slots.get(slot);
        if let Some(offset_log) = &mut self.offset_log {
            offset_log.keep(verb, timeline.current.phase, LoggedOffset { offset, bytes, ns: now - intended });
        }
    }

    /// Reads what the workload requires before an operation. False if that failed: then the operation must not be
    /// executed, because a write would replace the content that it was to write back.
    #[inline(never)]
    pub(super) fn read_first(&mut self, request: &Request, offset: u64, timeline: &Timeline) -> bool {
        let Some(what) = self.spec.workload.modifiers.read_first else { return true };
        let len = match what {
            ReadFirst::Page => request.len.min(PAGE),
            ReadFirst::Block => request.len,
        };
        let result = self.engine.transfer(&Request { verb: Verb::Read, len, ..*request });
        if result == i64::from(len) {
            return true;
        }
        let kind = if result < 0 { FailureKind::Errno((-result) as i32) } else { FailureKind::NoData };
        let at_ns = timeline.since_origin(self.clock.now());
        self.failure.get_or_insert(WorkerFailure {
            kind,
            operation: Operation::Read,
            offset: Some(offset),
            at_ns,
        });
        self.signals.abort.store(true, Ordering::Relaxed);
        false
    }
}
