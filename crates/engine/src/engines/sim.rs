//! A simulated device on a virtual clock: known latencies in, so that the figures that come out can
//! be checked exactly. It has faults on demand: errors, short transfers, stalls, a death.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Completion, Engine, Request, Setup, Verb};
use crate::clock::{Clock, VirtualClock};

/// How a simulated device behaves.
#[derive(Clone, Debug)]
pub struct SimModel {
    /// How long a read, write or trim takes once it is being served.
    pub latency: SimLatency,
    /// How long a sync takes, in nanoseconds.
    pub sync_ns: u64,
    /// How many operations are served at the same time; the others queue.
    pub servers: u32,
    /// Nanoseconds that the submitting call takes for each operation.
    pub submit_ns: u64,
    /// Times in which nothing is served.
    pub stalls: Vec<SimStall>,
    /// Results other than success, by the number of the operation, from 0.
    pub faults: Vec<SimFault>,
    /// Seed of random latencies.
    pub seed: u64,
}

impl Default for SimModel {
    /// A device without faults that serves any number of operations in 100 µs each.
    fn default() -> Self {
        Self {
            latency: SimLatency::Fixed(100_000),
            sync_ns: 0,
            servers: u32::MAX,
            submit_ns: 0,
            stalls: Vec::new(),
            faults: Vec::new(),
            seed: 0,
        }
    }
}

/// The distribution of a simulated device's latency, in nanoseconds.
#[derive(Clone, Debug)]
pub enum SimLatency {
    /// Always the same.
    Fixed(u64),
    /// These, in turn, over and over.
    Cycle(Vec<u64>),
    /// By its quantile function: pairs of probability (rising from 0 to 1) and latency, linear in
    /// between.
    Quantiles(Vec<(f64, u64)>),
}

/// A span of time, in nanoseconds of the virtual clock, in which nothing is served.
#[derive(Clone, Copy, Debug)]
pub struct SimStall {
    /// When it begins.
    pub at_ns: u64,
    /// How long it lasts.
    pub len_ns: u64,
}

/// One operation, or one and all after it, that does not end well.
#[derive(Clone, Copy, Debug)]
pub struct SimFault {
    /// Number of the operation, from 0, counting reads, writes and trims.
    pub operation: u64,
    /// All later operations too.
    pub forever: bool,
    /// What it returns: bytes moved, or a negative errno.
    pub result: i64,
}

/// The simulator.
pub(crate) struct Sim {
    model: SimModel,
    clock: VirtualClock,
    rng: Xoshiro256PlusPlus,
    operations: u64,
    in_service: BinaryHeap<Reverse<u64>>,
    pending: BinaryHeap<Reverse<(u64, u32, i64)>>,
}

impl Sim {
    fn latency(&mut self) -> u64 {
        match &self.model.latency {
            SimLatency::Fixed(ns) => *ns,
            SimLatency::Cycle(cycle) => cycle[(self.operations % cycle.len() as u64) as usize],
            SimLatency::Quantiles(points) => {
                let u: f64 = self.rng.random();
                let above = points.iter().position(|(p, _)| *p >= u).unwrap_or(points.len() - 1).max(1);
                let ((p0, l0), (p1, l1)) = (points[above - 1], points[above]);
                let share = if p1 > p0 { ((u - p0) / (p1 - p0)).clamp(0.0, 1.0) } else { 1.0 };
                (l0 as f64 + share * (l1 as f64 - l0 as f64)) as u64
            }
        }
    }

    /// When a service that may begin at `start` and takes `len_ns` ends, given the stalls.
    fn served(&self, start: u64, len_ns: u64) -> u64 {
        let mut end = start + len_ns;
        let mut stalls = self.model.stalls.clone();
        stalls.sort_by_key(|s| s.at_ns);
        for stall in stalls {
            let stall_end = stall.at_ns + stall.len_ns;
            if stall_end > start && stall.at_ns < end {
                end += stall_end - stall.at_ns.max(start);
            }
        }
        end
    }

    fn result(&self, request: &Request) -> i64 {
        let fault = self
            .model
            .faults
            .iter()
            .find(|f| self.operations == f.operation || (f.forever && self.operations > f.operation));
        fault.map_or(i64::from(request.len), |f| f.result)
    }

    fn accept(&mut self, request: &Request) {
        let now = self.clock.now();
        let (len_ns, result) = match request.verb {
            Verb::Fsync | Verb::Fdatasync => (self.model.sync_ns, 0),
            _ => (self.latency(), self.result(request)),
        };
        // A place is free when the operation that held it has ended.
        let start = if self.in_service.len() < self.model.servers as usize {
            now
        } else {
            self.in_service.pop().map_or(now, |Reverse(free)| free.max(now))
        };
        let end = self.served(start, len_ns);
        if self.model.servers != u32::MAX {
            self.in_service.push(Reverse(end));
        }
        self.pending.push(Reverse((end, request.slot, result)));
        if !matches!(request.verb, Verb::Fsync | Verb::Fdatasync) {
            self.operations += 1;
        }
    }
}

impl Engine for Sim {
    type Clock = VirtualClock;

    const SYNCHRONOUS: bool = false;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, VirtualClock)> {
        let clock = VirtualClock::default();
        let model = setup.sim.cloned().unwrap_or_default();
        let engine = Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(model.seed),
            model,
            clock: clock.clone(),
            operations: 0,
            in_service: BinaryHeap::new(),
            pending: BinaryHeap::new(),
        };
        Ok((engine, clock))
    }

    fn submit(&mut self, batch: &[Request]) -> io::Result<usize> {
        for request in batch {
            self.clock.advance_to(self.clock.now() + self.model.submit_ns);
            self.accept(request);
        }
        Ok(batch.len())
    }

    fn reap(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        let until = self.clock.now().saturating_add(timeout_ns);
        while let Some(&Reverse((end, slot, result))) = self.pending.peek() {
            let now = self.clock.now();
            if end > now && (out.len() >= min || end > until) {
                break;
            }
            self.clock.advance_to(end);
            self.pending.pop();
            out.push(Completion { slot, result });
        }
        if out.len() < min {
            self.clock.advance_to(until);
        }
        Ok(())
    }
}
