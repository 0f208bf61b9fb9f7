//! Before the first round: is the machine ready? What gets better by waiting is waited for a little; what
//! remains is said.

use std::thread;
use std::time::{Duration, Instant};

use host::readiness::{
    BACKGROUND_WORK, CLOCK_STEP_NS, Concern, Disturbance, background_work, degraded_layers, disturbances,
    slowness, wall_clock_ahead_ns,
};
use host::snapshot;
use model::{Layer, Severity};
use report::display_rate;

use super::Session;

/// So long the devices are watched at a time.
const GLANCE: Duration = Duration::from_millis(300);
/// And at most for this share of the time that the run will take: a short run is not kept from its first operation.
const GLANCE_SHARE: f64 = 0.02;
/// A glance shorter than this would tell nothing, so there is none.
const SHORTEST_GLANCE: Duration = Duration::from_millis(50);
/// So long is waited at most for them to become quiet.
const QUIET_TIMEOUT: Duration = Duration::from_secs(5);
/// And at most for this share of the time that the run will take.
const QUIET_TIMEOUT_SHARE: f64 = 0.1;

/// The only one of the names, if there is only one.
fn only(names: Vec<String>) -> Option<String> {
    <[String; 1]>::try_from(names).ok().map(|[name]| name)
}

impl Session<'_> {
    /// Waits a little for the devices to become quiet and says what speaks against measuring now.
    pub(super) fn await_readiness(&mut self, expected: Duration) {
        let timeout = QUIET_TIMEOUT.min(expected.mul_f64(QUIET_TIMEOUT_SHARE));
        let glance = GLANCE.min(expected.mul_f64(GLANCE_SHARE));
        let loud = if glance < SHORTEST_GLANCE { Vec::new() } else { self.await_quiet(glance, timeout) };
        self.say_loud(&loud);
        for concern in slowness(&self.roots) {
            self.note(Severity::Warning, concern.topic, None, concern.message);
        }
        self.note_layer_states();
    }

    /// Notes layers with missing members or background activity, before the first round and after each: an array that
    /// loses a member continues at another speed. Each layer is noted once, even if its progress changes.
    pub(super) fn note_layer_states(&mut self) {
        // What lies below several targets is told once.
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

    /// The devices that are still not quiet when patience is over.
    fn await_quiet(&mut self, glance: Duration, timeout: Duration) -> Vec<Disturbance> {
        let layers = self.layers();
        if layers.iter().all(|layer| layer.device.is_none()) {
            return Vec::new();
        }
        let began = Instant::now();
        loop {
            let (before, from) = (snapshot(&self.roots, &layers), Instant::now());
            thread::sleep(glance);
            let after = snapshot(&self.roots, &layers);
            let loud = disturbances(&before, &after, from.elapsed().as_nanos() as u64);
            let work = background_work(&self.roots, &layers);
            let is_quiet = loud.is_empty() && work.is_empty();
            if is_quiet || self.interrupted() || began.elapsed() >= timeout {
                return loud;
            }
            let work = work.into_iter().map(|concern| concern.message);
            let what: Vec<String> = loud.iter().map(|d| self.in_words(d)).chain(work).collect();
            self.progress.waiting(&format!("waiting until it is quiet: {}", what.join("; ")));
        }
    }

    fn in_words(&self, d: &Disturbance) -> String {
        let rate = |rate| display_rate(rate, self.progress.units());
        let mut words =
            format!("{} is busy for {:.0} % of the time with others", d.device, d.busy.min(1.0) * 100.0);
        for (verb, per_second) in [("read", d.read_rate), ("write", d.write_rate)] {
            if per_second > 0.0 {
                words.push_str(&format!(", who {verb} {}", rate(per_second)));
            }
        }
        words
    }

    fn say_loud(&mut self, loud: &[Disturbance]) {
        for disturbance in loud {
            // What lies on one device is told once; a loop device and the disk below it are both in the stack.
            let on_it = |layers: &[Layer]| layers.iter().any(|layer| layer.name == disturbance.device);
            let concerned: Vec<String> = self
                .targets
                .iter()
                .filter(|state| on_it(&state.target.stack))
                .map(|state| state.target.name.clone())
                .collect();
            let message =
                format!("before the first round {}; the figures contain that", self.in_words(disturbance));
            self.note(Severity::Warning, "device-not-quiet", only(concerned), message);
        }
    }

    /// Says if the wall clock was set since it was `ahead_ns` before the monotonic one.
    pub(super) fn say_clock_step(&mut self, ahead_ns: i64) {
        let step_ns = wall_clock_ahead_ns() - ahead_ns;
        if step_ns.abs() > CLOCK_STEP_NS {
            let message = format!(
                "the clock was set by {:+.3} s during the run; the figures do not depend on it, only the time of day in logs beside this one",
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
