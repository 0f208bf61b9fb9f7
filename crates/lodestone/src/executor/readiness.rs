//! Readiness of the machine before the first round: waits briefly for disturbances to end, and notes those that remain.

use std::thread;
use std::time::{Duration, Instant};

use host::readiness::{
    BACKGROUND_WORK, CLOCK_STEP_NS, Concern, Disturbance, background_work, degraded_layers, disturbances,
    slowness, wall_clock_ahead_ns,
};
use host::snapshot;
use model::{Layer, Severity};
use report::display_rate;

use super::Local;

/// Duration of one poll of the devices.
const POLL_TIME: Duration = Duration::from_millis(300);
/// Limit of a poll as a share of the expected run time: a short run must not wait long for its first operation.
const POLL_SHARE: f64 = 0.02;
/// A shorter poll would show nothing, so there is none.
const SHORTEST_POLL: Duration = Duration::from_millis(50);
/// Limit of the wait as a share of the expected run time.
const SETTLE_SHARE: f64 = 0.1;

/// The only one of the names, if there is only one.
fn only(names: Vec<String>) -> Option<String> {
    <[String; 1]>::try_from(names).ok().map(|[name]| name)
}

impl Local<'_> {
    /// Waits briefly for quiet devices and notes what speaks against measuring now.
    pub(crate) fn await_readiness(&mut self, expected: Duration) {
        let timeout = self.settle.min(expected.mul_f64(SETTLE_SHARE));
        let poll = POLL_TIME.min(expected.mul_f64(POLL_SHARE)).min(timeout);
        let loud = if poll < SHORTEST_POLL { Vec::new() } else { self.await_quiet(poll, timeout) };
        self.note_disturbances(&loud);
        for concern in slowness(&self.roots) {
            self.note(Severity::Warning, concern.topic, None, concern.message);
        }
        self.note_layer_states();
    }

    /// Notes layers with missing members or background activity, before the first round and after each: an array that
    /// loses a member continues at another speed. Each layer is noted once, even if its progress changes.
    pub(super) fn note_layer_states(&mut self) {
        // A layer below several targets is noted once.
        let mut found: Vec<(Concern, Vec<String>)> = Vec::new();
        for state in &self.targets {
            let stack = &state.target.stack;
            for concern in [degraded_layers(&self.roots, stack), background_work(&self.roots, stack)].concat()
            {
                let name = state.target.name.clone();
                match found.iter_mut().find(|(known, _)| *known == concern) {
                    Some((_, names)) => names.push(name),
                    None => found.push((concern, vec![name])),
                }
            }
        }
        let is_under_way = !self.recorder.run().repeats.is_empty();
        let known: Vec<(String, Option<String>)> =
            self.recorder.run().notes.iter().map(|note| (note.topic.clone(), note.target.clone())).collect();
        for (concern, names) in found {
            let target = only(names);
            let is_known = |topic: &str| known.iter().any(|(t, about)| t == topic && *about == target);
            let topic = match concern.topic {
                BACKGROUND_WORK if is_under_way && !is_known(BACKGROUND_WORK) => "background-begun",
                topic => topic,
            };
            if !is_known(topic) {
                self.note(Severity::Warning, topic, target, concern.message);
            }
        }
    }

    /// The devices that are still busy at the timeout.
    fn await_quiet(&mut self, poll: Duration, timeout: Duration) -> Vec<Disturbance> {
        let layers = self.layers();
        if layers.iter().all(|layer| layer.device.is_none()) {
            return Vec::new();
        }
        let began = Instant::now();
        loop {
            let (before, from) = (snapshot(&self.roots, &layers), Instant::now());
            thread::sleep(poll);
            let after = snapshot(&self.roots, &layers);
            let loud = disturbances(&before, &after, from.elapsed().as_nanos() as u64);
            let work = background_work(&self.roots, &layers);
            let is_quiet = loud.is_empty() && work.is_empty();
            if is_quiet || self.interrupted() || began.elapsed() >= timeout {
                return loud;
            }
            let work = work.into_iter().map(|concern| concern.message);
            let what: Vec<String> = loud.iter().map(|d| self.in_words(d)).chain(work).collect();
            self.progress.waiting(&format!("waiting for quiet devices: {}", what.join("; ")));
        }
    }

    fn in_words(&self, d: &Disturbance) -> String {
        let rate = |rate| display_rate(rate, self.progress.units());
        let mut words =
            format!("{} is busy {:.0} % of the time with other I/O", d.device, d.busy.min(1.0) * 100.0);
        for (verb, per_second) in [("reading", d.read_rate), ("writing", d.write_rate)] {
            if per_second > 0.0 {
                words.push_str(&format!(", {verb} {}", rate(per_second)));
            }
        }
        words
    }

    fn note_disturbances(&mut self, loud: &[Disturbance]) {
        for disturbance in loud {
            // Each device is noted once; a loop device and the disk below it are both in the stack.
            let on_it = |layers: &[Layer]| layers.iter().any(|layer| layer.name == disturbance.device);
            let concerned: Vec<String> = self
                .targets
                .iter()
                .filter(|state| on_it(&state.target.stack))
                .map(|state| state.target.name.clone())
                .collect();
            let message =
                format!("before the first round, {}; the figures include that", self.in_words(disturbance));
            self.note(Severity::Warning, "device-not-quiet", only(concerned), message);
        }
    }

    /// Notes if the wall clock was set since it was `ahead_ns` ahead of the monotonic one.
    pub(crate) fn note_clock_step(&mut self, ahead_ns: i64) {
        let step_ns = wall_clock_ahead_ns() - ahead_ns;
        if step_ns.abs() > CLOCK_STEP_NS {
            let message = format!(
                "the clock was set by {:+.3} s during the run; this affects no figure, only the time of day in other logs",
                step_ns as f64 / 1e9
            );
            self.note(Severity::Info, "clock-stepped", None, message);
        }
    }

    /// The layers of all targets.
    pub(super) fn layers(&self) -> Vec<Layer> {
        self.targets.iter().flat_map(|state| state.target.stack.iter().cloned()).collect()
    }
}
