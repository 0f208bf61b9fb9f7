//! A run on several machines: the scheduler is here, and an agent on each of the others does what it orders, at the other end
//! of a pipe.

pub(crate) mod address;
pub(crate) mod inventory;
pub(crate) mod protocol;
pub(crate) mod remote;
pub(crate) mod server;
mod together;

use std::time::Duration;

use model::{Event, FailureKind, Operation, RepeatFailure, RepeatFinished, RepeatOutcome, Severity};
use schedule::{Executor, Lane, Lost, Order, Outcome, Said};

use crate::executor::{Local, OpenSize, RigError};
use protocol::{Begin, Reply, Request};
use remote::Remote;
use server::Watched;

/// The executors of a run: the one of this machine, which also records, and the agents of others.
pub(crate) struct Fleet<'a> {
    /// This machine's.
    pub local: Local<'a>,
    remotes: Vec<Remote>,
    server: Watched,
    /// For each lane the machines that work on it together, mostly one, each with its lane there; the machine 0 is this one.
    lanes: Vec<Vec<(usize, usize)>>,
    /// All begin each repeat together, and their targets are not those of the run.
    is_together: bool,
    /// For each of the others whether it is the machine of a client before it.
    is_known: Vec<bool>,
}

impl<'a> From<Local<'a>> for Fleet<'a> {
    fn from(local: Local<'a>) -> Self {
        Self::new(local, Vec::new(), Watched::default())
    }
}

impl<'a> Fleet<'a> {
    /// This machine and others. The lanes are the targets, in the order of the run; each is on the machine with its number, or on
    /// those of its clients.
    pub fn new(local: Local<'a>, remotes: Vec<Remote>, server: Watched) -> Self {
        let mut next = vec![0; remotes.len() + 1];
        let mut place = |machine: usize| {
            next[machine] += 1;
            (machine, next[machine] - 1)
        };
        let targets = &local.recorder.run().started.targets;
        let mut of = |target: &model::Target| match target.clients.as_slice() {
            [] => vec![place(target.host as usize)],
            clients => clients.iter().map(|client| (*client as usize, 0)).collect(),
        };
        let lanes = match remotes.is_empty() {
            true => Vec::new(),
            false => targets.iter().map(&mut of).collect(),
        };
        let is_together = targets.iter().any(|target| !target.clients.is_empty());
        let is_known =
            |i: usize| is_together && remotes[..i].iter().any(|other| other.is_on_machine_of(&remotes[i]));
        let is_known = (0..remotes.len()).map(is_known).collect();
        Self { local, remotes, server, lanes, is_together, is_known }
    }

    /// The lanes of the run with this lane of a machine.
    fn lanes(&self, machine: usize, lane: usize) -> Vec<usize> {
        match self.remotes.is_empty() {
            true => vec![lane],
            false => self.lanes_with(|place| *place == (machine, lane)),
        }
    }

    fn lanes_with(&self, is_meant: impl Fn(&(usize, usize)) -> bool) -> Vec<usize> {
        let lanes = self.lanes.iter().enumerate();
        lanes.filter(|(_, places)| places.iter().any(&is_meant)).map(|(lane, _)| lane).collect()
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

    /// These lanes, all for one reason.
    fn with(&self, lanes: Vec<usize>, why: Lost) -> impl Iterator<Item = (usize, Lost)> + use<> {
        lanes.into_iter().map(move |lane| (lane, why.clone()))
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
        let of_it = self.lanes_with(|place| place.0 == machine);
        of_it.into_iter().map(|lane| (lane, Lost::Machine(why.to_owned())))
    }

    /// Begins to watch the machines, and notes what is in the way. Returns the lanes.
    pub fn begin(&mut self) -> Vec<Lane> {
        let run = &self.local.recorder.run().started;
        for (remote, is_known) in self.remotes.iter().zip(&self.is_known) {
            // Several clients of one machine would all say the same of it.
            let telemetry = self.local.telemetry_period.filter(|_| !is_known);
            remote.send(&Request::Begin(Box::new(Begin {
                run: run.id.clone(),
                names: remote.targets().iter().map(|target| target.name.clone()).collect(),
                plan: self.local.plan.clone(),
                seed: self.local.seed,
                telemetry_ns: telemetry.map(|period| period.as_nanos() as u64),
                settle_ns: self.local.settle.as_nanos() as u64,
                is_together: self.is_together,
            })));
        }
        self.server.begin(&mut self.local);
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
        let lane = |(target, places): (&model::Target, &Vec<(usize, usize)>)| {
            let shares = match places.as_slice() {
                [(machine, lane)] if !self.is_together => {
                    let shared = there[*machine].get(*lane).copied().flatten();
                    shared.and_then(|shared| self.lanes(*machine, shared).first().copied())
                }
                _ => None,
            };
            let runs: Vec<bool> =
                plan::obstacles(self.local.plan, target).iter().map(Option::is_none).collect();
            let takes_turns = vec![false; runs.len()];
            Lane { target: target.name.clone(), runs, shares, may_shorten: target.direct, takes_turns }
        };
        targets.iter().zip(&self.lanes).map(lane).collect()
    }

    /// Lays out all test data. Returns the lanes that are lost.
    pub fn lay_out(&mut self) -> Result<Vec<(usize, Lost)>, RigError> {
        self.remotes.iter().for_each(|remote| remote.send(&Request::LayOut));
        let mut lost = Vec::new();
        match self.local.lay_out() {
            Ok(own) => {
                lost.extend(own.into_iter().flat_map(|(lane, why)| self.with(self.lanes(0, lane), why)))
            }
            Err(error) if self.remotes.is_empty() => return Err(error),
            Err(error) => {
                let own = self.lanes_with(|place| place.0 == 0);
                lost.extend(self.with(own, Lost::Data(error.to_string())));
            }
        }
        let mut least = self.local.open_sizes();
        for machine in self.others() {
            let name = self.remotes[machine - 1].name.clone();
            self.local.progress.waiting(&format!("test data are laid out on {name}"));
            match self.reply(machine) {
                Ok(Reply::LaidOut { lost: there, sizes }) => {
                    let of_run = |(lane, why): (usize, Lost)| self.with(self.lanes(machine, lane), why);
                    lost.extend(there.into_iter().flat_map(of_run));
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
            self.local.release().into_iter().flat_map(|lane| self.lanes(0, lane)).collect();
        for machine in self.others() {
            if let Ok(Reply::Over { silent: there }) = self.reply(machine) {
                silent.extend(there.into_iter().flat_map(|lane| self.lanes(machine, lane)));
            }
        }
        silent
    }

    /// Ends the watching of this machine and of that which serves, and the connections to others.
    pub fn end(&mut self, clock_ahead_ns: i64) {
        self.server.end(&mut self.local);
        // All agents end at the same time.
        self.remotes.iter_mut().for_each(Remote::hang_up);
        self.remotes.clear();
        self.local.end(clock_ahead_ns);
    }

    /// Records what the others have said meanwhile.
    fn drain(&mut self) {
        let Self { local, remotes, server, .. } = self;
        server.drain(local);
        let origin = local.recorder.origin();
        remotes.iter_mut().for_each(|remote| remote.drain(origin, &mut |event| local.emit(event)));
    }

    /// Makes a repeat on another machine.
    fn remote_repeat(&mut self, machine: usize, order: &Order) -> Outcome {
        let step = &self.local.plan.steps[order.step];
        self.remotes[machine - 1].order(order, self.local.plan);
        let why = match self.reply(machine) {
            Ok(Reply::Ended { failure, lost }) => {
                return Outcome { took_ns: 0, measured: self.local.measured(order), failure, lost };
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
        let Some(repeat) = under_way else {
            // It may have been lost between the end of the repeat and the reply.
            return Outcome { measured: self.local.measured(order), lost, ..Outcome::default() };
        };
        let operation = step.workload.operations().first().copied().unwrap_or(Operation::Read);
        let at_ns = self.local.recorder.at_ns();
        let is_failure = !self.is_stopped();
        let failure = is_failure.then(|| RepeatFailure::at_start(FailureKind::Machine(why), operation));
        let outcome = failure.clone().map_or(RepeatOutcome::Interrupted, RepeatOutcome::Failed);
        let finished = RepeatFinished::uncounted(repeat, at_ns, outcome);
        self.local.emit(Event::RepeatFinished(Box::new(finished)));
        Outcome { took_ns: 0, measured: self.local.measured(order), failure, lost }
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

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, RigError> {
        let outcomes = match self.lanes.is_empty() {
            // Of a run on this machine alone.
            true => self.local.measure(orders),
            false => orders.iter().map(|order| self.repeat(order)).collect(),
        };
        self.drain();
        outcomes
    }

    fn round_ended(&mut self) {
        self.remotes.iter().for_each(|remote| remote.send(&Request::RoundEnded));
        self.server.round_ended();
        self.local.round_ended();
        self.drain();
    }

    fn hear(&mut self, said: Said) {
        self.local.hear(said);
    }
}

impl Fleet<'_> {
    /// Makes a repeat on the machine or the clients of its lane.
    fn repeat(&mut self, order: &Order) -> Result<Outcome, RigError> {
        let there = |lane: usize| Order { lane, ..order.clone() };
        match self.lanes[order.lane].as_slice() {
            [(0, lane)] => self.local.repeat(&there(*lane)),
            [(machine, lane)] if !self.is_together => Ok(self.remote_repeat(*machine, &there(*lane))),
            clients => {
                let clients: Vec<usize> = clients.iter().map(|(machine, _)| *machine).collect();
                Ok(self.repeat_together(&clients, order))
            }
        }
    }
}
