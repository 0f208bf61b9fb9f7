//! A simulated device on a virtual clock: known latencies in, so that the resulting figures can be checked
//! exactly. It injects faults on demand: errors, short transfers, stalls, operations that never complete, and
//! data that are lost or flipped.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Completion, Engine, Request, Setup, Verb};
use crate::clock::{Clock, VirtualClock};

/// The behaviour of a simulated device.
#[derive(Clone, Debug)]
pub struct SimModel {
    /// Service time of a read, write or trim.
    pub latency: SimLatency,
    /// Service time of a sync, in nanoseconds.
    pub sync_ns: u64,
    /// Number of operations served at the same time; the others queue.
    pub servers: u32,
    /// Nanoseconds that the submitting call takes per operation.
    pub submit_ns: u64,
    /// Maximum number of operations that one submitting call accepts; the others are offered again.
    pub takes: u32,
    /// Stores what is written and returns it to reads. A block is torn while it is being written: its first half
    /// is new from the start of the write, its second half only from the end.
    pub remembers: bool,
    /// Periods in which nothing is served.
    pub stalls: Vec<SimStall>,
    /// Results other than success, by operation number, from 0.
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
            takes: u32::MAX,
            remembers: false,
            stalls: Vec::new(),
            faults: Vec::new(),
            seed: 0,
        }
    }
}

/// The distribution of a simulated device's latency, in nanoseconds.
#[derive(Clone, Debug)]
pub enum SimLatency {
    /// Constant.
    Fixed(u64),
    /// These values in turn, repeatedly.
    Cycle(Vec<u64>),
    /// By its quantile function: pairs of probability (rising from 0 to 1) and latency, linear in
    /// between.
    Quantiles(Vec<(f64, u64)>),
}

/// A period, in nanoseconds of the virtual clock, in which nothing is served.
#[derive(Clone, Copy, Debug)]
pub struct SimStall {
    /// When it begins.
    pub at_ns: u64,
    /// Its duration.
    pub len_ns: u64,
}

/// One operation, or one and all after it, with an unsuccessful end.
#[derive(Clone, Copy, Debug)]
pub struct SimFault {
    /// Number of the operation, from 0, counting reads, writes and trims.
    pub operation: u64,
    /// All later operations too.
    pub forever: bool,
    /// How it ends.
    pub end: SimEnd,
}

/// How an unsuccessful operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimEnd {
    /// It returns this: bytes moved, or a negative errno.
    Returns(i64),
    /// It never completes.
    Never,
    /// It reports success, but a write has no effect and a read has one bit flipped. Only a device that stores
    /// data shows it.
    Lies,
}

/// Later than any time that a test checks, and far enough from the end of the range to add to it.
const NEVER_NS: u64 = u64::MAX / 4;

/// The content of a device that stores data.
#[derive(Default)]
struct Memory {
    /// By file and offset.
    blocks: HashMap<(u32, u64), Vec<u8>>,
    /// The operation in each slot, and whether its result is false.
    in_flight: HashMap<u32, (Request, bool)>,
}

impl Memory {
    fn accept(&mut self, request: &Request, lies: bool) {
        self.in_flight.insert(request.slot, (*request, lies));
        if request.verb == Verb::Write && !lies {
            self.store(request, request.len as usize / 2);
        }
    }

    fn end(&mut self, slot: u32, result: i64) {
        let Some((request, lies)) = self.in_flight.remove(&slot) else { return };
        let whole = result == i64::from(request.len);
        match request.verb {
            Verb::Write if whole && !lies => self.store(&request, request.len as usize),
            Verb::Read if whole => self.load(&request, lies),
            _ => {}
        }
    }

    fn store(&mut self, request: &Request, bytes: usize) {
        let block = self.blocks.entry((request.file, request.offset)).or_default();
        block.resize(request.len as usize, 0);
        // SAFETY: A write's buffer holds `len` bytes, which the driver does not modify until the operation ends.
        block[..bytes].copy_from_slice(unsafe { std::slice::from_raw_parts(request.buffer, bytes) });
    }

    fn load(&self, request: &Request, flips: bool) {
        // SAFETY: A read's buffer has room for `len` bytes, which nothing else accesses until the operation ends.
        let buffer = unsafe { std::slice::from_raw_parts_mut(request.buffer, request.len as usize) };
        match self.blocks.get(&(request.file, request.offset)) {
            Some(block) => buffer.copy_from_slice(block),
            None => buffer.fill(0),
        }
        buffer[request.len as usize / 2] ^= u8::from(flips);
    }
}

/// The simulator.
pub(crate) struct Sim {
    model: SimModel,
    clock: VirtualClock,
    rng: Xoshiro256PlusPlus,
    operations: u64,
    in_service: BinaryHeap<Reverse<u64>>,
    pending: BinaryHeap<Reverse<(u64, u32, i64)>>,
    memory: Memory,
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

    /// When a service that may start at `start` and takes `len_ns` ends, given the stalls.
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

    /// The fault that the model defines for the next operation, if any.
    fn fault(&self) -> Option<SimEnd> {
        let hit =
            |f: &&SimFault| self.operations == f.operation || (f.forever && self.operations > f.operation);
        self.model.faults.iter().find(hit).map(|f| f.end)
    }

    fn accept(&mut self, request: &Request) {
        let now = self.clock.now();
        let is_sync = matches!(request.verb, Verb::Fsync | Verb::Fdatasync);
        let fault = if is_sync { None } else { self.fault() };
        let len_ns = if is_sync { self.model.sync_ns } else { self.latency() };
        let result = match fault {
            Some(SimEnd::Returns(result)) => result,
            _ => i64::from(request.len),
        };
        // A service unit is free when the operation that held it has ended.
        let start = if self.in_service.len() < self.model.servers as usize {
            now
        } else {
            self.in_service.pop().map_or(now, |Reverse(free)| free.max(now))
        };
        let end = if fault == Some(SimEnd::Never) { NEVER_NS } else { self.served(start, len_ns) };
        if self.model.servers != u32::MAX {
            self.in_service.push(Reverse(end));
        }
        self.pending.push(Reverse((end, request.slot, result)));
        if self.model.remembers {
            self.memory.accept(request, fault == Some(SimEnd::Lies));
        }
        self.operations += u64::from(!is_sync);
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
            memory: Memory::default(),
        };
        Ok((engine, clock))
    }

    fn submit(&mut self, batch: &[Request], _out: &mut Vec<Completion>) -> io::Result<usize> {
        let taken = batch.len().min(self.model.takes as usize);
        for request in &batch[..taken] {
            self.clock.advance_to(self.clock.now() + self.model.submit_ns);
            self.accept(request);
        }
        Ok(taken)
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
            self.memory.end(slot, result);
            out.push(Completion { slot, result });
        }
        if out.len() < min {
            self.clock.advance_to(until);
        }
        Ok(())
    }
}
