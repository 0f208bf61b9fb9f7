//! A run on several machines: the scheduler is here, and an agent on each of the others does what it orders, at the other end
//! of a pipe.

pub(crate) mod address;
pub(crate) mod inventory;
pub(crate) mod protocol;
pub(crate) mod remote;

use std::time::Duration;

use model::{Event, FailureKind, Operation, RepeatFailure, RepeatFinished, RepeatOutcome, Severity};
use schedule::{Executor, Lane, Lost, Measured, Order, Outcome, Said};

use crate::executor::{Local, OpenSize, RigError};
use protocol::{Begin, Reply, Request};
use remote::Remote;

/// The executors of a run: the one of this machine, which also records, and the agents of others.
pub(crate) struct Fleet<'a> {
    /// This machine's.
    pub local: Local<'a>,
    remotes: Vec<Remote>,
    /// For each lane the machine, 0 for this one, and its lane there.
    lanes: Vec<(usize, usize)>,
}

impl<'a> From<Local<'a>> for Fleet<'a> {
    fn from(local: Local<'a>) -> Self {
        Self { local, remotes: Vec::new(), lanes: Vec::new() }
    }
}

impl<'a> Fleet<'a> {
    /// This machine and others. The lanes are the targets, in the order of the run; each is on the machine with its number.
    pub fn new(local: Local<'a>, remotes: Vec<Remote>) -> Self {
        let mut next = vec![0; remotes.len() + 1];
        let mut place = |machine: usize| {
            next[machine] += 1;
            (machine, next[machine] - 1)
        };
        let targets = &local.recorder.run().started.targets;
        let lanes = match remotes.is_empty() {
            true => Vec::new(),
            false => targets.iter().map(|target| place(target.host as usize)).collect(),
        };
        Self { local, remotes, lanes }
    }

    /// The lane of the run with this lane of a machine.
    fn lane(&self, machine: usize, lane: usize) -> Option<usize> {
        match self.remotes.is_empty() {
            true => Some(lane),
            false => self.lanes.iter().position(|place| *place == (machine, lane)),
        }
    }

    /// Waits for the reply of a machine; what it says before is recorded.
    fn reply(&mut self, machine: usize) -> Result<Reply, String> {
        let Self { local, remotes, .. } = self;
        let (origin, interrupt) = (local.recorder.origin(), local.interrupt.clone());
        let is_stopped = || interrupt.load(std::sync::atomic::Ordering::Relaxed);
        let remote = &mut remotes[machine - 1];
        let reply = remote.reply(origin, &mut |event| local.emit(event), &is_stopped);
        reply.map_err(|why| format!("{} is lost: {why}", remote.name))
    }

    fn unasked(&self, machine: usize) -> String {
        format!("{} is lost: it answers what it was not asked", self.remotes[machine - 1].name)
    }

    /// The numbers of the other machines.
    fn others(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.remotes.len()
    }

    /// The lanes of a machine that is lost.
    fn lost(&self, machine: usize, why: &str) -> impl Iterator<Item = (usize, Lost)> {
        let of_it = move |(lane, place): (usize, &(usize, usize))| (place.0 == machine).then_some(lane);
        self.lanes.iter().enumerate().filter_map(of_it).map(|lane| (lane, Lost::Machine(why.to_owned())))
    }

    /// Begins to watch the machines, and notes what is in the way. Returns the lanes.
    pub fn begin(&mut self) -> Vec<Lane> {
        let run = &self.local.recorder.run().started;
        for remote in &self.remotes {
            remote.send(&Request::Begin(Box::new(Begin {
                run: run.id.clone(),
                names: remote.targets().iter().map(|target| target.name.clone()).collect(),
                plan: self.local.plan.clone(),
                seed: self.local.seed,
                telemetry_ns: self.local.telemetry_period.map(|period| period.as_nanos() as u64),
                settle_ns: self.local.settle.as_nanos() as u64,
            })));
        }
        let own = self.local.begin();
        if self.remotes.is_empty() {
            return own;
        }
        let mut there: Vec<Vec<Option<usize>>> = vec![own.into_iter().map(|lane| lane.shares).collect()];
        for machine in self.others() {
            there.push(match self.reply(machine) {
                Ok(Reply::Begun { shares }) => shares,
                // The next thing that is asked of it tells why.
                _ => Vec::new(),
            });
        }
        let targets = self.local.recorder.run().started.targets.clone();
        let lane = |(target, (machine, lane)): (&model::Target, &(usize, usize))| {
            let shares = there[*machine].get(*lane).and_then(|shares| self.lane(*machine, (*shares)?));
            let runs = plan::obstacles(self.local.plan, target).iter().map(Option::is_none).collect();
            Lane { target: target.name.clone(), runs, shares, may_shorten: target.direct }
        };
        targets.iter().zip(&self.lanes).map(lane).collect()
    }

    /// Lays out all test data. Returns the lanes that are lost.
    pub fn lay_out(&mut self) -> Result<Vec<(usize, Lost)>, RigError> {
        self.remotes.iter().for_each(|remote| remote.send(&Request::LayOut));
        let mut lost = Vec::new();
        match self.local.lay_out() {
            Ok(own) => {
                lost.extend(own.into_iter().filter_map(|(lane, why)| Some((self.lane(0, lane)?, why))))
            }
            Err(error) if self.remotes.is_empty() => return Err(error),
            Err(error) => {
                let own = self.lanes.iter().enumerate().filter(|(_, place)| place.0 == 0);
                lost.extend(own.map(|(lane, _)| (lane, Lost::Data(error.to_string()))));
            }
        }
        let mut least = self.local.open_sizes();
        for machine in self.others() {
            let name = self.remotes[machine - 1].name.clone();
            self.local.progress.waiting(&format!("test data are laid out on {name}"));
            match self.reply(machine) {
                Ok(Reply::LaidOut { lost: there, sizes }) => {
                    let lane = |(lane, why): (usize, Lost)| Some((self.lane(machine, lane)?, why));
                    lost.extend(there.into_iter().filter_map(lane));
                    least = least.into_iter().zip(sizes).map(|(a, b)| OpenSize::smaller(a, b)).collect();
                }
                Ok(_) => lost.extend(self.lost(machine, &self.unasked(machine))),
                Err(why) => lost.extend(self.lost(machine, &why)),
            }
        }
        self.local.fit(&least);
        self.remotes.iter().for_each(|remote| remote.send(&Request::Fit { sizes: least.clone() }));
        Ok(lost)
    }

    /// Waits briefly for quiet devices.
    pub fn await_readiness(&mut self, expected: Duration) {
        let expected_ns = expected.as_nanos() as u64;
        self.remotes.iter().for_each(|remote| remote.send(&Request::Settle { expected_ns }));
        if self.lanes.is_empty() || !self.local.targets.is_empty() {
            self.local.await_readiness(expected);
        }
        for machine in self.others() {
            // A machine that is lost is noticed when it has its turn.
            let _ = self.reply(machine);
        }
    }

    /// Removes all test data. Returns the lanes that do not respond.
    pub fn release(&mut self) -> Vec<usize> {
        self.remotes.iter().for_each(|remote| remote.send(&Request::End));
        let mut silent: Vec<usize> =
            self.local.release().into_iter().filter_map(|lane| self.lane(0, lane)).collect();
        for machine in self.others() {
            if let Ok(Reply::Over { silent: there }) = self.reply(machine) {
                silent.extend(there.into_iter().filter_map(|lane| self.lane(machine, lane)));
            }
        }
        silent
    }

    /// Ends the watching of this machine, and the connections to others.
    pub fn end(&mut self, clock_ahead_ns: i64) {
        // All agents end at the same time.
        self.remotes.iter_mut().for_each(Remote::hang_up);
        self.remotes.clear();
        self.local.end(clock_ahead_ns);
    }

    /// Records what the others have said meanwhile.
    fn drain(&mut self) {
        let Self { local, remotes, .. } = self;
        let origin = local.recorder.origin();
        remotes.iter_mut().for_each(|remote| remote.drain(origin, &mut |event| local.emit(event)));
    }

    /// Makes a repeat on another machine.
    fn remote_repeat(&mut self, machine: usize, order: &Order) -> Outcome {
        let step = &self.local.plan.steps[order.step];
        self.remotes[machine - 1].order(order, self.local.plan);
        let why = match self.reply(machine) {
            Ok(Reply::Ended { failure, lost }) => {
                let last = self.local.recorder.run().repeats.last();
                let measured = last.filter(|last| last.started.repeat == order.repeat);
                let measured = measured.map(|last| Measured::of(step, last));
                return Outcome { took_ns: 0, measured, failure, lost };
            }
            Ok(_) => self.unasked(machine),
            Err(why) => why,
        };
        // The repeat under way ends here, with a record of that.
        let under_way = self.remotes[machine - 1].under_way();
        if self.is_stopped() {
            self.local.note(
                Severity::Warning,
                "machine-did-not-stop",
                None,
                format!("{why}; its agent ends by itself"),
            );
        }
        let lost = (!self.is_stopped()).then(|| Lost::Machine(why.clone()));
        let Some(repeat) = under_way else { return Outcome { lost, ..Outcome::default() } };
        let operation = step.workload.operations().first().copied().unwrap_or(Operation::Read);
        let at_ns = self.local.recorder.at_ns();
        let is_failure = !self.is_stopped();
        let failure = is_failure.then(|| RepeatFailure::at_start(FailureKind::Machine(why), operation));
        let outcome = failure.clone().map_or(RepeatOutcome::Interrupted, RepeatOutcome::Failed);
        let finished = RepeatFinished::uncounted(repeat, at_ns, outcome);
        self.local.emit(Event::RepeatFinished(Box::new(finished)));
        let measured = self.local.recorder.run().repeats.last().map(|last| Measured::of(step, last));
        Outcome { took_ns: 0, measured, failure, lost }
    }
}

impl Executor for Fleet<'_> {
    type Error = RigError;

    fn now_ns(&self) -> u64 {
        self.local.now_ns()
    }

    fn is_stopped(&self) -> bool {
        self.local.is_stopped()
    }

    fn repeat(&mut self, order: &Order) -> Result<Outcome, RigError> {
        let Some((machine, lane)) = self.lanes.get(order.lane).copied() else {
            return self.local.repeat(order);
        };
        let there = Order { lane, ..order.clone() };
        let outcome = match machine {
            0 => self.local.repeat(&there)?,
            machine => self.remote_repeat(machine, &there),
        };
        self.drain();
        Ok(outcome)
    }

    fn round_ended(&mut self) {
        self.remotes.iter().for_each(|remote| remote.send(&Request::RoundEnded));
        self.local.round_ended();
        self.drain();
    }

    fn hear(&mut self, said: Said) {
        self.local.hear(said);
    }
}
