//! What only few workloads ask for around each operation: keeping its place, and reading something there before it.
//! None of it touches plain work.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

use model::{FailureKind, LoggedOffset, OffsetLog, Operation, Pace, Phase, ReadFirst, Workload};

use super::{Worker, WorkerFailure};
use crate::clock::Clock;
use crate::engines::{Engine, Request, Verb};
use crate::recorder::{Kind, Timeline};
use crate::slots::Slot;

/// Bytes read so that a disk's head is where an operation begins.
const PAGE: u32 = 4096;

/// Keeps the first places of each operation of one worker, in memory that is there before it starts.
pub(super) struct OffsetLogger {
    offset_log: BTreeMap<Operation, OffsetLog>,
    room: usize,
}

impl OffsetLogger {
    /// A keeper for one of so many workers; `None` if the workload does not ask for it.
    pub fn new(workload: &Workload, workers: u32) -> Option<Box<Self>> {
        let room = (OffsetLog::MOST / workers.max(1) as usize).max(1);
        let empty = || OffsetLog { kept: Vec::with_capacity(room), left_out: 0 };
        let has_place = |o: &Operation| !matches!(o, Operation::Sync | Operation::DurableWrite);
        let operations = workload.operations().into_iter().filter(has_place);
        let offset_log = operations.map(|operation| (operation, empty())).collect();
        workload.modifiers.log_offset.then(|| Box::new(Self { offset_log, room }))
    }

    /// Keeps one, if it was in the measured time.
    #[inline(never)]
    pub fn keep(&mut self, verb: Verb, phase: Phase, logged: LoggedOffset) {
        if phase == Phase::Measure
            && let Some(offset_log) = self.offset_log.get_mut(&Kind::from(verb).operation())
        {
            offset_log.record(logged, self.room);
        }
    }

    /// What was kept; operations that were not done are left out.
    pub fn finish(self) -> BTreeMap<Operation, OffsetLog> {
        self.offset_log.into_iter().filter(|(_, offset_log)| !offset_log.kept.is_empty()).collect()
    }
}

/// Refuses work that would leave out what is to be read first: a write would destroy what it is to write back.
///
/// # Errors
/// It wants something read first, and is not done as transfers one by one.
pub(super) fn can_read_first<E: Engine>(workload: &Workload, only_in_order: bool) -> io::Result<()> {
    let is_one_by_one = E::SYNCHRONOUS && only_in_order && workload.pace == Pace::Closed;
    if workload.modifiers.read_first.is_some() && !is_one_by_one {
        return Err(io::Error::other("only transfers one by one can read something first"));
    }
    Ok(())
}

impl<E: Engine> Worker<'_, E> {
    /// Keeps the place of an operation that has moved so many bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_place(&mut self, slot: u32, bytes: u64, now: u64, timeline: &Timeline) {
        let Slot { verb, offset, intended, .. } = *self.slots.get(slot);
        if let Some(offset_log) = &mut self.offset_log {
            offset_log.keep(verb, timeline.current.phase, LoggedOffset { offset, bytes, ns: now - intended });
        }
    }

    /// Reads what the workload wants read before an operation. False if that failed: then the operation must not
    /// be done, because a write would put something else there than what it was to write back.
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
