//! Repeats that take turns: the same step on several targets of this machine, in slices of some milliseconds each.

use std::collections::BTreeMap;
use std::fs::File;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Outcome, Task, run_in_turns};
use host::{Counters, Roots, difference, snapshot};
use model::{
    DeviceActivity, Event, Layer, MachineCpu, Operation, Preparation, ProcessIo, RepeatFinished,
    RepeatOutcome, RepeatStarted, Step,
};
use schedule::{Order, TURN_NS};

use super::data_sets::SetRef;
use super::repeat::{self, Ended, Opened, effective, engine_of, settle};
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
    let mut step = local.plan.steps[orders[0].step].clone();
    orders[0].timing.apply(&mut step);
    // The targets are taken out of their vector while their data are borrowed; the others keep their indices.
    let indices: Vec<usize> = orders.iter().map(|order| local.index(order)).collect();
    let take = |index: &usize| {
        let in_its_place = TargetState::new(local.targets[*index].target.clone(), None);
        mem::replace(&mut local.targets[*index], in_its_place)
    };
    let states: Vec<TargetState> = indices.iter().map(take).collect();
    let result = on_targets(local, &step, orders, &states);
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
        let task = repeat::task(step, &workload, engine, order.repeat, order.seed, io_target);
        let stop = repeat::stop(step, size_bytes);
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
            turns,
        }));
    }
    for (_, unsettled, ..) in &kept {
        settle(local, unsettled);
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
    let mut ended = Vec::new();
    for ((((order, state), outcome), counted), (set, unsettled, ..)) in
        orders.iter().zip(states).zip(outcomes).zip(counted).zip(kept)
    {
        let broken =
            |source| RigError::Engine { step: step.id.clone(), target: state.target.name.clone(), source };
        ended.push(finish(local, order, outcome.map_err(broken)?, counted, (set, unsettled)));
    }
    Ok(Some(ended))
}

/// Settles what a repeat has left to be done, and records its end.
fn finish(
    local: &mut Local<'_>,
    order: &Order,
    outcome: Outcome,
    counted: Counted,
    (set, unsettled): (SetRef<'_>, Vec<File>),
) -> Ended {
    let (mut hung, mut settled_ns) = (outcome.hung, None);
    if !hung && !matches!(outcome.outcome, RepeatOutcome::Failed(_)) {
        let began = local.recorder.at_ns();
        hung = !settle(local, &unsettled);
        settled_ns = Some(local.recorder.at_ns() - began);
    }
    if hung {
        // Touching these now would hang as well.
        mem::forget((set, unsettled));
    }
    let repeats = local.recorder.run().repeats.iter().rev();
    let own = repeats.take(order.turns as usize + 1).find(|own| own.started.repeat == order.repeat);
    let moved = own.map(|own| own.whole().into_iter().map(|(o, stats)| (o, stats.bytes)).collect());
    let (devices, machine, process_io) =
        counted.without(&outcome.uncounted_bytes, &moved.unwrap_or_default());
    let at_ns = local.recorder.at_ns();
    local.emit(Event::RepeatFinished(Box::new(RepeatFinished {
        window_ns: outcome.window_ns,
        counted_ns: outcome.whole_ns,
        settled_ns,
        workers: outcome.workers,
        busiest_worker: outcome.busiest_worker,
        process: outcome.workers,
        machine,
        process_io,
        devices,
        ..RepeatFinished::uncounted(order.repeat, at_ns, outcome.outcome.clone())
    })));
    Ended { outcome: outcome.outcome, hung }
}

/// The counters of machine and devices, by the target whose turn it was.
struct Counting {
    roots: Roots,
    stacks: Vec<Vec<Layer>>,
    /// Of each target's devices when the last turn ended.
    last: Vec<Counters>,
    counted: Vec<Counted>,
}

/// What was counted while a target had its turns.
#[derive(Clone, Default)]
struct Counted {
    devices: Vec<DeviceActivity>,
    machine: Option<MachineCpu>,
    process_io: Option<ProcessIo>,
}

impl Counting {
    fn new(roots: Roots, stacks: Vec<Vec<Layer>>) -> Self {
        let counted = vec![Counted::default(); stacks.len()];
        Self { roots, stacks, last: Vec::new(), counted }
    }

    fn take(&mut self) -> Vec<Counted> {
        mem::take(&mut self.counted)
    }

    /// A turn has ended, or the first one begins.
    fn turn_ended(&mut self, task: Option<usize>) {
        let now: Vec<Counters> = self.stacks.iter().map(|stack| snapshot(&self.roots, stack)).collect();
        if let Some(task) = task
            && let (Some(last), Some(now)) = (self.last.get(task), now.get(task))
            && let Some(counted) = self.counted.get_mut(task)
        {
            counted.add(difference(last, now));
        }
        self.last = now;
    }
}

impl Counted {
    fn add(
        &mut self,
        (devices, machine, process_io): (Vec<DeviceActivity>, Option<MachineCpu>, Option<ProcessIo>),
    ) {
        for device in devices {
            match self.devices.iter_mut().find(|own| own.name == device.name) {
                Some(own) => own.add(&device),
                None => self.devices.push(device),
            }
        }
        if let Some(machine) = machine {
            *self.machine.get_or_insert_default() += machine;
        }
        if let Some(io) = process_io {
            let own = self.process_io.get_or_insert_default();
            own.read_bytes = own.read_bytes.saturating_add(io.read_bytes);
            own.write_bytes = own.write_bytes.saturating_add(io.write_bytes);
        }
    }

    /// Without the share of what was moved beside the measured time.
    fn without(
        mut self,
        beside: &BTreeMap<Operation, u64>,
        moved: &BTreeMap<Operation, u64>,
    ) -> (Vec<DeviceActivity>, Option<MachineCpu>, Option<ProcessIo>) {
        let share = |operations: &[Operation]| {
            let sum = |of: &BTreeMap<Operation, u64>| {
                operations.iter().filter_map(|o| of.get(o)).sum::<u64>() as f64
            };
            sum(moved) / (sum(moved) + sum(beside)).max(1.0)
        };
        let (read, written) = (share(&[Operation::Read]), share(&[Operation::Write]));
        let all = share(&[Operation::Read, Operation::Write]);
        let scale = |value: &mut u64, share: f64| *value = (*value as f64 * share).round() as u64;
        for device in &mut self.devices {
            scale(&mut device.read_bytes, read);
            scale(&mut device.reads, read);
            for value in [&mut device.written_bytes, &mut device.writes, &mut device.flushes] {
                scale(value, written);
            }
            for value in [&mut device.discarded_bytes, &mut device.busy_ns, &mut device.queue_ns] {
                scale(value, all);
            }
        }
        if let Some(cpu) = &mut self.machine {
            let MachineCpu { user_ns, system_ns, irq_ns, steal_ns, iowait_ns, idle_ns } = cpu;
            for value in [user_ns, system_ns, irq_ns, steal_ns, iowait_ns, idle_ns] {
                scale(value, all);
            }
        }
        if let Some(io) = &mut self.process_io {
            scale(&mut io.read_bytes, read);
            scale(&mut io.write_bytes, written);
        }
        (self.devices, self.machine, self.process_io)
    }
}
