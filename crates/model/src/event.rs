//! A run as it happens: the closed set of events that the engine, the probes and the importers emit
//! and everything else folds over.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    EngineKind, Host, Imported, OffsetLog, Operation, OperationStats, Plan, RemoteHost, Severity, Source,
    Target,
};

/// Version of the log format that these types write.
pub const LOG_FORMAT: u32 = 3;

/// One thing that happened. `at_ns` counts monotonic nanoseconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line of every log.
    RunStarted(Box<RunStarted>),
    /// A target's test files are complete and synced.
    LaidOut(LaidOut),
    /// A repeat begins.
    RepeatStarted(RepeatStarted),
    /// What was completed within a span of a repeat.
    Interval(Interval),
    /// What another program measured in a repeat.
    Imported(Box<Imported>),
    /// A telemetry value.
    Reading(Reading),
    /// A repeat has ended, well or not.
    RepeatFinished(Box<RepeatFinished>),
    /// Repeats no longer count.
    SetAside(SetAside),
    /// Something worth telling.
    Note(Note),
    /// The last line of a log whose run was not killed.
    RunFinished(RunFinished),
}

/// Everything that was decided before the first I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// [`LOG_FORMAT`] of the writer.
    pub format: u32,
    /// The run's id, unique within a store.
    pub id: String,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Version of Lodestone.
    pub version: String,
    /// The command line; each argument in the form of [`crate::path_text()`].
    pub command: Vec<String>,
    /// The machine that Lodestone was started on.
    pub host: Host,
    /// The other machines that it measured on, in the order in which they were named, or the one that served the storage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RemoteHost>,
    /// What is measured.
    pub targets: Vec<Target>,
    /// Name of the target that the others are compared with.
    pub baseline: String,
    /// What is done.
    pub plan: Plan,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// The files that an imported run comes from; none if Lodestone measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

impl RunStarted {
    /// The start of a run of this plan on these targets, of which the first is the baseline. What tells it from other
    /// runs is left empty: its id, its time, the machine, the program and the seed.
    pub fn of_plan(plan: Plan, targets: Vec<Target>) -> Self {
        Self {
            format: LOG_FORMAT,
            id: String::new(),
            started_unix_ns: 0,
            version: String::new(),
            command: Vec::new(),
            host: Host::default(),
            hosts: Vec::new(),
            baseline: targets.first().map(|target| target.name.clone()).unwrap_or_default(),
            targets,
            plan,
            seed: 0,
            sources: Vec::new(),
        }
    }

    /// The machine with a number: 0 is the one that Lodestone was started on, the others are those of `hosts`. A number that
    /// nothing has, as in a damaged log, is the first.
    pub fn machine(&self, number: u32) -> &Host {
        self.remote(number).map_or(&self.host, |remote| &remote.machine)
    }

    /// What the machine with a number is called: as the user named it, or its own name.
    pub fn machine_name(&self, number: u32) -> &str {
        self.remote(number).map_or(&self.host.name, |remote| &remote.name)
    }

    /// What the machines with targets are called, by commas.
    pub fn machine_names(&self) -> String {
        let names: Vec<&str> = self.machines().into_iter().map(|number| self.machine_name(number)).collect();
        names.join(", ")
    }

    /// What the machine of a target is called.
    pub fn machine_of(&self, target: &str) -> &str {
        let number = self.targets.iter().find(|known| known.name == target).map_or(0, |known| known.host);
        self.machine_name(number)
    }

    fn remote(&self, number: u32) -> Option<&RemoteHost> {
        self.hosts.get((number as usize).checked_sub(1)?)
    }

    /// The numbers of the machines that have targets, in ascending order; of several clients on one machine only the first.
    pub fn machines(&self) -> Vec<u32> {
        let of = |target: &Target| std::iter::once(target.host).chain(target.clients.clone());
        let numbers: BTreeSet<u32> = self.targets.iter().flat_map(of).collect();
        let is_client = |number: &u32| self.targets.iter().any(|target| target.clients.contains(number));
        let mut machines: Vec<u32> = Vec::new();
        for number in numbers {
            let is_known = |known: &u32| is_client(known) && self.machine(*known) == self.machine(number);
            if !(is_client(&number) && machines.iter().any(is_known)) {
                machines.push(number);
            }
        }
        machines
    }

    /// The numbers of the machines that are watched: those that have targets, then those that only serve them.
    pub fn watched_machines(&self) -> Vec<u32> {
        let mut machines = self.machines();
        for server in self.targets.iter().filter_map(|target| target.server) {
            if !machines.contains(&server) {
                machines.push(server);
            }
        }
        machines
    }
}

/// A laid-out data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidOut {
    /// When it was complete.
    pub at_ns: u64,
    /// The target's name.
    pub target: String,
    /// Bytes of the data set.
    pub bytes: u64,
    /// Nanoseconds that writing and syncing took.
    pub elapsed_ns: u64,
}

/// The start of a repeat, with what was left open until now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatStarted {
    /// Number of the repeat within the run, from 0.
    pub repeat: u32,
    /// When.
    pub at_ns: u64,
    /// Round, from 0.
    pub round: u32,
    /// Id of the step.
    pub step: String,
    /// Name of the target.
    pub target: String,
    /// The engine in use.
    pub engine: EngineKind,
    /// Whether the page cache is bypassed, as far as the open flags say.
    pub direct: bool,
    /// Bytes of the data set.
    pub size_bytes: u64,
    /// Seed of offsets and data in this repeat.
    pub seed: u64,
    /// Nanoseconds after the ramp that it is to take, where the run chooses the length of its repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Whole passes over the data after which it ends, where these end it and not the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// Number of repeats of other targets with which it takes turns of some milliseconds each. Its time stands still while another
    /// works, its counters are of its own turns, and as processor time of the process it has that of its workers.
    #[serde(default, skip_serializing_if = "crate::host::is_first")]
    pub turns: u32,
}

/// Completed repeats that no longer count in any figure, for a reason that has nothing to do with what they measured on
/// which target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAside {
    /// When.
    pub at_ns: u64,
    /// Their numbers.
    pub repeats: Vec<u32>,
    /// Why.
    pub reason: SetAsideReason,
}

/// Why repeats do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAsideReason {
    /// Repeats of this length give other figures than longer ones.
    TooShort {
        /// Id of the step.
        step: String,
        /// The length up to which repeats are set aside, in nanoseconds after the ramp.
        length_ns: u64,
        /// The length of the repeats that they were compared with, in nanoseconds.
        long_ns: u64,
        /// Figure of the short repeats ÷ figure of the long ones.
        ratio: f64,
    },
    /// Targets compare otherwise while they take turns than where the repeat of one follows that of another.
    InTurns {
        /// Id of the step.
        step: String,
        /// Ratio of two targets in turns ÷ their ratio without.
        ratio: f64,
    },
    /// Targets took turns later on. These repeats followed each other; they served to check those in turns.
    WithoutTurns {
        /// Id of the step.
        step: String,
    },
    /// The machine was disturbed during the round of a step, which was measured again.
    Disturbed {
        /// Id of the step.
        step: String,
        /// Round, from 0.
        round: u32,
        /// By what.
        cause: Disturbance,
        /// The share that passed the limit: of processor time or of bytes.
        share: f64,
    },
}

/// What disturbs a repeat from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor took processor time.
    StolenTime,
    /// Other programs read from the device.
    ForeignReads,
    /// Other programs wrote to the device.
    ForeignWrites,
}

/// Which part of a repeat an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Excluded from the figures.
    Ramp,
    /// Counted.
    Measure,
}

/// What all workers completed within a span of a repeat. Intervals of the same start add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the repeat.
    pub repeat: u32,
    /// Ramp or measured.
    pub phase: Phase,
    /// Nanoseconds from the start of the repeat.
    pub start_ns: u64,
    /// Nanoseconds covered.
    pub len_ns: u64,
    /// What was completed, by operation.
    pub operations: BTreeMap<Operation, OperationStats>,
    /// Integral over time of the operations that the kernel had in hand, in operation-nanoseconds,
    /// summed over the workers. Divided by `len_ns` it is the achieved queue depth. While a worker
    /// is inside a submitting call, the operations that it is handing over count as one.
    pub in_flight_ns: u64,
}

/// One telemetry value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// When.
    pub at_ns: u64,
    /// Which probe.
    pub probe: String,
    /// Which of its values.
    pub key: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Number of the machine, as in [`RunStarted::machine`].
    #[serde(default, skip_serializing_if = "crate::host::is_first")]
    pub host: u32,
}

/// The end of a repeat and what was counted around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatFinished {
    /// Number of the repeat.
    pub repeat: u32,
    /// When.
    pub at_ns: u64,
    /// How it ended.
    pub outcome: RepeatOutcome,
    /// Measured wall time in nanoseconds: from the end of the ramp to the last completion, a final
    /// sync included.
    pub window_ns: u64,
    /// Wall time in nanoseconds over which the counters below were taken; it includes the ramp.
    pub counted_ns: u64,
    /// What each client contributed, where several machines work together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientPart>,
    /// Nanoseconds of syncing the files and their filesystem after it: work that the repeat left to be done. `None` where
    /// that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_ns: Option<u64>,
    /// Operations whose intended start had passed but which were never started (open loop only).
    #[serde(default)]
    pub unserved: u64,
    /// CPU time of the workers, ramp included.
    pub workers: CpuTime,
    /// Largest share of the repeat, from 0 to 1, that one worker spent on a CPU.
    pub busiest_worker: f64,
    /// CPU time of the whole process, the kernel's helpers for its I/O included.
    pub process: CpuTime,
    /// CPU time of the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineCpu>,
    /// What the kernel counted for this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_io: Option<ProcessIo>,
    /// What each block device of the stack counted, from the top down, until its filesystem was
    /// settled.
    #[serde(default)]
    pub devices: Vec<DeviceActivity>,
    /// The page cache's part, for a repeat that went through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
    /// Result of checking what was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<IntegrityCheck>,
    /// The offset of each operation, by kind of operation, for a workload that logs offsets and for imported figures that have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

/// The part of one machine in a repeat of several together. Times are those of the run's clock; those of different machines are
/// comparable to within the sum of their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientPart {
    /// Number of the machine, as in [`RunStarted::machine`].
    pub host: u32,
    /// When its last worker began.
    pub began_ns: u64,
    /// When its last operation ended.
    pub ended_ns: u64,
    /// Nanoseconds by which these two may be wrong at most.
    pub within_ns: u64,
    /// What it completed while all measured.
    pub operations: BTreeMap<Operation, OperationStats>,
}

/// How a repeat ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatOutcome {
    /// As planned.
    Completed,
    /// The user stopped it; what was measured stands.
    Interrupted,
    /// The storage failed.
    Failed(RepeatFailure),
}

/// What ended a repeat, when, and after how much good work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatFailure {
    /// What happened.
    pub kind: FailureKind,
    /// During which operation.
    pub operation: Operation,
    /// At which byte of the data set, where the operation has a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Nanoseconds from the start of the repeat.
    pub after_ns: u64,
    /// Good operations before it, over all jobs.
    pub good_operations: u64,
    /// Bytes of these.
    pub good_bytes: u64,
}

/// What happened to a failed operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The kernel returned this errno.
    Errno(i32),
    /// A read inside the data set returned no data and no error, as a removed device does.
    NoData,
    /// A write moved no data and gave no error.
    NothingWritten,
    /// Operations in flight did not end within so many nanoseconds after they should have.
    Hung(u64),
    /// The test files could not be made or opened, with this errno.
    Unopened(i32),
    /// Another program that was to do the work failed: what it said, or what became of it.
    Program(String),
    /// The machine that it was on was lost: what became of it.
    Machine(String),
}

impl RepeatFinished {
    /// The end of a repeat around which nothing was counted.
    pub fn uncounted(repeat: u32, at_ns: u64, outcome: RepeatOutcome) -> Self {
        Self {
            repeat,
            at_ns,
            outcome,
            window_ns: 0,
            counted_ns: 0,
            clients: Vec::new(),
            settled_ns: None,
            unserved: 0,
            workers: CpuTime::default(),
            busiest_worker: 0.0,
            process: CpuTime::default(),
            machine: None,
            process_io: None,
            devices: Vec::new(),
            cache: None,
            integrity: None,
            offset_log: BTreeMap::new(),
        }
    }
}

impl RepeatFailure {
    /// A failure before the first operation.
    pub fn at_start(kind: FailureKind, operation: Operation) -> Self {
        Self { kind, operation, offset: None, after_ns: 0, good_operations: 0, good_bytes: 0 }
    }

    /// True if nothing more can be expected of this target: it is gone, full or read-only.
    pub fn is_final(&self) -> bool {
        // ENXIO, ENODEV, ENOSPC, EROFS, EDQUOT, ESTALE, ESHUTDOWN, EPERM (a read-only device).
        const FINAL: [i32; 8] = [6, 19, 28, 30, 122, 116, 108, 1];
        match self.kind {
            FailureKind::Errno(errno) | FailureKind::Unopened(errno) => FINAL.contains(&errno),
            FailureKind::NoData
            | FailureKind::NothingWritten
            | FailureKind::Hung(_)
            | FailureKind::Machine(_) => true,
            FailureKind::Program(_) => false,
        }
    }
}

impl fmt::Display for RepeatFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation;
        match &self.kind {
            FailureKind::Errno(errno) => {
                write!(f, "{operation} failed: {}", std::io::Error::from_raw_os_error(*errno))?;
            }
            FailureKind::NoData => {
                write!(f, "{operation} returned no data and no error, as a removed device does")?
            }
            FailureKind::NothingWritten => write!(f, "{operation} moved no data and gave no error")?,
            FailureKind::Unopened(errno) => {
                let why = std::io::Error::from_raw_os_error(*errno);
                return write!(f, "the test files could not be opened: {why}");
            }
            FailureKind::Hung(ns) => {
                write!(f, "{operation} did not come back within {}", crate::units::ShortDuration(*ns))?;
            }
            FailureKind::Program(what) | FailureKind::Machine(what) => return f.write_str(what),
        }
        if let Some(offset) = self.offset {
            write!(f, ", at byte {offset} of the test data")?;
        }
        write!(
            f,
            ", {:.1} s into the repeat, after {} good operations ({} bytes)",
            self.after_ns as f64 / 1e9,
            self.good_operations,
            self.good_bytes
        )
    }
}

/// CPU time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

/// CPU time of all processors over the counted span, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCpu {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Interrupts, hard and soft.
    pub irq_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// Idle while I/O was outstanding.
    pub iowait_ns: u64,
    /// Idle.
    pub idle_ns: u64,
}

impl MachineCpu {
    /// Share of all processors' time, from 0 to 1, that was spent working (steal excluded).
    /// `None` if no time passed.
    pub fn busy_share(&self) -> Option<f64> {
        let sum = |parts: &[u64]| parts.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
        let busy = sum(&[self.user_ns, self.system_ns, self.irq_ns]);
        let total = sum(&[busy, self.steal_ns, self.iowait_ns, self.idle_ns]);
        (total > 0).then(|| busy as f64 / total as f64)
    }
}

impl MachineCpu {
    /// Combines each time with the same of `other`.
    pub fn combine(&mut self, other: &Self, how: impl Fn(u64, u64) -> u64) {
        let Self { user_ns, system_ns, irq_ns, steal_ns, iowait_ns, idle_ns } = self;
        let of_other =
            [other.user_ns, other.system_ns, other.irq_ns, other.steal_ns, other.iowait_ns, other.idle_ns];
        let own = [user_ns, system_ns, irq_ns, steal_ns, iowait_ns, idle_ns];
        own.into_iter().zip(of_other).for_each(|(own, other)| *own = how(*own, other));
    }
}

/// What `/proc/self/io` counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes sent to storage.
    pub write_bytes: u64,
}

/// What one block device counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceActivity {
    /// Kernel name.
    pub name: String,
    /// Level within the stack, as in [`crate::Layer::level`].
    pub level: u32,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Read requests completed.
    pub reads: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Flush requests completed.
    pub flushes: u64,
    /// Nanoseconds with at least one request in flight.
    pub busy_ns: u64,
    /// Nanoseconds summed over requests in flight; divided by the time, the device's queue depth.
    pub queue_ns: u64,
}

impl DeviceActivity {
    /// Combines each count with the same of `other`.
    pub fn combine(&mut self, other: &Self, how: impl Fn(u64, u64) -> u64) {
        let Self { name: _, level: _, read_bytes, written_bytes, discarded_bytes, reads, writes, .. } = self;
        let own = [read_bytes, written_bytes, discarded_bytes, reads, writes];
        let of_other =
            [other.read_bytes, other.written_bytes, other.discarded_bytes, other.reads, other.writes];
        own.into_iter().zip(of_other).for_each(|(own, other)| *own = how(*own, other));
        self.flushes = how(self.flushes, other.flushes);
        self.busy_ns = how(self.busy_ns, other.busy_ns);
        self.queue_ns = how(self.queue_ns, other.queue_ns);
    }
}

/// The page cache around a repeat that did not bypass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// Bytes of the data set that were cached when the repeat began; `None` if the kernel would not say.
    pub cached_before_bytes: Option<u64>,
    /// Whether eviction was asked for.
    pub evicted: bool,
}

/// What checking the read blocks found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityCheck {
    /// Blocks checked.
    pub checked: u64,
    /// Blocks that were not what was written.
    pub mismatched: u64,
    /// The first of these, with their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Mismatch>,
}

impl IntegrityCheck {
    /// How many mismatches are kept with their place.
    pub const KEPT: usize = 16;

    /// Counts one checked block.
    pub fn record(&mut self, offset: u64, result: Result<(), String>) {
        self.checked += 1;
        if let Err(what) = result {
            self.mismatched += 1;
            if self.first.len() < Self::KEPT {
                self.first.push(Mismatch { offset, what });
            }
        }
    }

    /// Adds other checks; of all mismatches the first by place are kept.
    pub fn merge(&mut self, other: Self) {
        self.checked = self.checked.saturating_add(other.checked);
        self.mismatched = self.mismatched.saturating_add(other.mismatched);
        self.first.extend(other.first);
        self.first.sort_by_key(|m| m.offset);
        self.first.truncate(Self::KEPT);
    }
}

/// One block that was not what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Byte offset of the block within the data set.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Something that the program noticed while running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at_ns: u64,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about, as a short stable name such as `engine-fallback`.
    pub topic: String,
    /// The target concerned, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A sentence.
    pub message: String,
}

impl Note {
    /// The topic of the note that a run goes on without a target.
    pub const TARGET_GIVEN_UP: &str = "target-given-up";
    /// The topic of the note that another program ran and counted nothing.
    pub const NO_FIGURES: &str = "no-figures";
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFinished {
    /// When.
    pub at_ns: u64,
    /// How.
    pub outcome: RunOutcome,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Everything planned was done.
    Completed,
    /// Stopped by the user.
    Interrupted,
    /// Some storage failed; the rest was measured.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval with failed operations used to be written in a form that could not be read back: `show` and `export`
    /// omitted the failures of a failing disk.
    #[test]
    fn an_interval_with_errors_survives_a_round_trip() {
        let stats = OperationStats { errors: BTreeMap::from([(5, 2), (61, 1)]), ..OperationStats::default() };
        let event = Event::Interval(Interval {
            repeat: 0,
            phase: Phase::Measure,
            start_ns: 0,
            len_ns: 1,
            operations: BTreeMap::from([(Operation::Read, stats)]),
            in_flight_ns: 0,
        });
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }

    #[test]
    fn merged_checks_keep_the_first_mismatches_in_order_of_place() {
        let check = |offsets: &[u64]| {
            let mut check = IntegrityCheck::default();
            offsets.iter().for_each(|o| check.record(*o, Err("bad".into())));
            check.record(0, Ok(()));
            check
        };
        let mut merged = check(&[4096, 0]);
        merged.merge(check(&(0..30).map(|i| i * 512).collect::<Vec<_>>()));
        assert_eq!((merged.checked, merged.mismatched), (34, 32));
        assert_eq!(merged.first.len(), IntegrityCheck::KEPT);
        assert!(merged.first.is_sorted_by_key(|m| m.offset));
    }
}
