//! Repeats that take turns: the same step on several targets of this machine, in slices of some milliseconds each.

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::{mem, thread};

use engine::{EngineError, Outcome, Task, run_in_turns};
use host::{Counters, Roots, Shares, snapshot};
use model::{DeviceActivity, Event, Layer, Operation, Preparation, RepeatFinished, RepeatStarted, Step};
use schedule::{Order, TURN_NS};

use super::data_sets::SetRef;
use super::repeat::{self, Ended, Opened, effective, engine_of, settle, settle_after};
use super::{Driver, Local, RigError, TargetState};

/// True if repeats of a step on a target can take turns with others: Lodestone's engines move laid-out data.
pub(super) fn can_be(local: &Local<'_>, step: &Step, state: &TargetState) -> bool {
    let workload = effective(&step.workload, step.workload.direct && state.target.direct);
    matches!(state.driver, Driver::Own)
        && step.prepare == Preparation::Written
        && step.concurrent.is_empty()
        && local.barrier.is_none()
        && engine::takes_turns(&workload, &step.stop, engine_of(step, local.best_engine))
}

/// Carries orders of one step out and records their repeats; `None`, without a repeat, if a target cannot be opened.
pub(super) fn run(local: &mut Local<'_>, orders: &[Order]) -> Result<Option<Vec<Ended>>, RigError> {
    let step = &local.plan.steps[orders[0].step];
    // The targets are taken out of their vector while their data are borrowed; the others keep their indices.
    let indices: Vec<usize> = orders.iter().map(|order| local.index(order)).collect();
    let take = |index: &usize| {
        let in_its_place = TargetState::new(local.targets[*index].target.clone(), None);
        mem::replace(&mut local.targets[*index], in_its_place)
    };
    let states: Vec<TargetState> = indices.iter().map(take).collect();
    let result = on_targets(local, step, orders, &states);
    indices.into_iter().zip(states).for_each(|(index, state)| local.targets[index] = state);
    result
}

fn on_targets(
    local: &mut Local<'_>,
    step: &Step,
    orders: &[Order],
    states: &[TargetState],
) -> Result<Option<Vec<Ended>>, RigError> {
    let engine = engine_of(step, local.best_engine);
    let (mut tasks, mut kept) = (Vec::new(), Vec::new());
    for (order, state) in orders.iter().zip(states) {
        let direct = step.workload.direct && state.target.direct;
        let workload = effective(&step.workload, direct);
        // A repeat of its own says what is wrong with it.
        let Ok(opened) = repeat::open(local, step, state, &workload, direct) else { return Ok(None) };
        let Opened { set, io_target, unsettled, .. } = opened;
        let size_bytes = set.get().map_or(0, |set| set.bytes);
        let mut step = step.clone();
        order.timing.apply(&mut step);
        let task = repeat::task(&step, &workload, engine, order.repeat, order.seed, io_target);
        let stop = repeat::stop(&step, size_bytes);
        tasks.push(Task { stop, start: order.start, ..task });
        kept.push((set, unsettled, size_bytes, direct));
    }
    for ((order, state), (.., size_bytes, direct)) in orders.iter().zip(states).zip(&kept) {
        let Order { repeat, round, timing, seed, turns, .. } = *order;
        local.emit(Event::RepeatStarted(RepeatStarted {
            repeat,
            at_ns: local.recorder.at_ns(),
            round,
            step: step.id.clone(),
            target: state.target.name.clone(),
            engine,
            direct: *direct,
            size_bytes: *size_bytes,
            seed,
            time_ns: timing.time_ns.filter(|_| timing.is_chosen),
            passes: timing.passes.filter(|_| timing.is_chosen),
            turns,
        }));
    }
    for (_, unsettled, ..) in &kept {
        settle(&local.interrupt, unsettled);
    }
    local.sample_telemetry();
    let stacks = states.iter().map(|state| state.target.stack.clone()).collect();
    let counting = Arc::new(Mutex::new(Counting::new(local.roots.clone(), stacks)));
    let observer = {
        let counting = Arc::clone(&counting);
        Box::new(move |task| counting.lock().unwrap_or_else(PoisonError::into_inner).turn_ended(task))
    };
    let interrupt = Arc::clone(&local.interrupt);
    let outcomes =
        run_in_turns(tasks, TURN_NS, observer, &interrupt, &mut |interval| repeat::record(local, interval));
    local.sample_telemetry();
    let counted = counting.lock().unwrap_or_else(PoisonError::into_inner).take();
    let broken = |(outcome, state): (Result<Outcome, EngineError>, &TargetState)| {
        let (step, target) = (step.id.clone(), state.target.name.clone());
        outcome.map_err(|source| RigError::Engine { step, target, source })
    };
    let outcomes =
        outcomes.into_iter().zip(states).map(broken).collect::<Result<Vec<Outcome>, RigError>>()?;
    // At once: what is left to be done on a disk that they share is nobody's own.
    let settled: Vec<(bool, Option<u64>)> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (outcome, (_, unsettled, ..)) in outcomes.iter().zip(&kept) {
            threads.push(scope.spawn(|| settle_after(outcome, &interrupt, unsettled)));
        }
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut ended = Vec::new();
    for ((((order, outcome), settled), counted), (set, unsettled, ..)) in
        orders.iter().zip(outcomes).zip(settled).zip(counted).zip(kept)
    {
        ended.push(finish(local, order, (outcome, settled), counted, (set, unsettled)));
    }
    Ok(Some(ended))
}

/// Records the end of a repeat that has been settled: whether that hangs, and how long it took.
fn finish(
    local: &mut Local<'_>,
    order: &Order,
    (outcome, (hung, settled_ns)): (Outcome, (bool, Option<u64>)),
    mut counted: Counters,
    (set, unsettled): (SetRef<'_>, Vec<File>),
) -> Ended {
    if hung {
        // Touching these now would hang as well.
        mem::forget((set, unsettled));
    }
    let repeat = local.recorder.run().repeat(order.repeat);
    let moved = repeat.map(|own| own.whole().into_iter().map(|(o, stats)| (o, stats.bytes)).collect());
    counted.scale(shares(&moved.unwrap_or_default(), &outcome.uncounted_bytes));
    let at_ns = local.recorder.at_ns();
    local.emit(Event::RepeatFinished(Box::new(RepeatFinished {
        window_ns: outcome.window_ns,
        counted_ns: outcome.whole_ns,
        settled_ns,
        workers: outcome.workers,
        busiest_worker: outcome.busiest_worker,
        process: outcome.workers,
        machine: counted.cpu,
        process_io: counted.process,
        devices: counted.devices,
        ..RepeatFinished::uncounted(order.repeat, at_ns, outcome.outcome.clone())
    })));
    Ended { outcome: outcome.outcome, hung }
}

/// What the kernel's counters counted, by the target whose turn it was.
struct Counting {
    roots: Roots,
    /// Of each target.
    stacks: Vec<Vec<Layer>>,
    /// Of all of them.
    layers: Vec<Layer>,
    /// When the last turn ended.
    last: Option<Counters>,
    counted: Vec<Counters>,
}

impl Counting {
    fn new(roots: Roots, stacks: Vec<Vec<Layer>>) -> Self {
        let (layers, counted) = (stacks.concat(), vec![Counters::default(); stacks.len()]);
        Self { roots, stacks, layers, last: None, counted }
    }

    /// A turn has ended, or the first one begins.
    fn turn_ended(&mut self, task: Option<usize>) {
        let now = snapshot(&self.roots, &self.layers);
        if let (Some(task), Some(last)) = (task, &self.last) {
            self.counted[task].add(&now.since(last));
        }
        self.last = Some(now);
    }

    /// What was counted in the turns of each target, of its own devices only, from the top down.
    fn take(&mut self) -> Vec<Counters> {
        let mut counted = mem::take(&mut self.counted);
        for (own, stack) in counted.iter_mut().zip(&self.stacks) {
            let position = |device: &DeviceActivity| {
                stack.iter().position(|layer| layer.device.is_some() && layer.name == device.name)
            };
            own.devices.retain(|device| position(device).is_some());
            own.devices.sort_by_key(position);
            for device in &mut own.devices {
                device.level = position(device).map_or(device.level, |layer| stack[layer].level);
            }
        }
        counted
    }
}

/// The shares of what was moved in all that belong to what was measured; the rest was moved while queues filled and emptied.
fn shares(measured: &BTreeMap<Operation, u64>, beside: &BTreeMap<Operation, u64>) -> Shares {
    let share = |operations: &[Operation]| {
        let sum =
            |of: &BTreeMap<Operation, u64>| operations.iter().filter_map(|o| of.get(o)).sum::<u64>() as f64;
        sum(measured) / (sum(measured) + sum(beside)).max(1.0)
    };
    let [read, write] = [Operation::Read, Operation::Write].map(|operation| share(&[operation]));
    Shares { read, write, all: share(&[Operation::Read, Operation::Write]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LayerKind;
    use std::fs;
    use std::path::Path;

    /// Sets what the kernel has counted so far: sectors read of each disk, and ticks of the processors in user mode.
    fn count(root: &Path, sectors: [u64; 2], ticks: u64) {
        for (minor, sectors) in sectors.into_iter().enumerate() {
            let stat = format!("0 0 {sectors} 0 0 0 0 0 0 0 0");
            fs::write(root.join(format!("sys/dev/block/8:{minor}/stat")), stat).unwrap();
        }
        fs::write(root.join("proc/stat"), format!("cpu {ticks} 0 0 0 0 0 0 0\n")).unwrap();
    }

    #[test]
    fn what_was_counted_belongs_to_the_target_whose_turn_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["sys/dev/block/8:0", "sys/dev/block/8:1", "proc"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let roots = Roots { proc: root.join("proc"), sys: root.join("sys"), ..Roots::default() };
        let disk = |name: &str, minor: u32, level: u32| Layer {
            kind: LayerKind::Disk,
            name: name.to_owned(),
            level,
            device: Some((8, minor)),
            facts: BTreeMap::new(),
        };
        // Both use the first disk, each at another level; only one of them the second.
        let stacks = vec![vec![disk("sda", 0, 1)], vec![disk("sdb", 1, 0), disk("sda", 0, 2)]];
        let mut counting = Counting::new(roots, stacks);
        // What happened before the first turn belongs to none.
        let turns = [
            (None, [1000, 500], 70),
            (Some(0), [1010, 501], 71),
            (Some(1), [1013, 505], 73),
            (Some(0), [1033, 505], 76),
        ];
        for (task, sectors, ticks) in turns {
            count(root, sectors, ticks);
            counting.turn_ended(task);
        }
        let counted = counting.take();
        let devices = |task: usize| -> Vec<(&str, u32, u64)> {
            let devices = counted[task].devices.iter();
            devices.map(|d| (d.name.as_str(), d.level, d.read_bytes / 512)).collect()
        };
        assert_eq!(devices(0), [("sda", 1, 30)]);
        assert_eq!(devices(1), [("sdb", 0, 4), ("sda", 2, 3)]);
        let user_ns = |task: usize| counted[task].cpu.unwrap().user_ns;
        assert_eq!(user_ns(0), 2 * user_ns(1), "four ticks and two");
    }

    #[test]
    fn what_moved_while_queues_filled_has_its_share() {
        let moved =
            |read: u64, written: u64| BTreeMap::from([(Operation::Read, read), (Operation::Write, written)]);
        assert_eq!(shares(&moved(300, 50), &moved(100, 50)), Shares { read: 0.75, write: 0.5, all: 0.7 });
        let none = shares(&moved(300, 0), &BTreeMap::new());
        assert_eq!((none.read, none.write, none.all), (1.0, 0.0, 1.0));
    }
}
