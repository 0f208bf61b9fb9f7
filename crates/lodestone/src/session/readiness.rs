//! Before the first round: is the machine ready? What gets better by waiting is waited for a little; what
//! remains is said.

use std::thread;
use std::time::{Duration, Instant};

use host::readiness::{
    CLOCK_STEP_NS, Disturbance, background_work, disturbances, slowness, wall_clock_ahead_ns,
};
use host::snapshot;
use model::{Layer, Severity};
use report::display_rate;

use super::Session;

/// So long the devices are watched at a time.
const GLANCE: Duration = Duration::from_millis(300);
/// So long is waited at most for them to become quiet.
const PATIENCE: Duration = Duration::from_secs(5);
/// And at most for this share of the time that the run will take.
const PATIENCE_SHARE: f64 = 0.1;

impl Session<'_> {
    /// Waits a little for the devices to become quiet and says what speaks against measuring now.
    pub(super) fn await_readiness(&mut self, expected: Duration) {
        let patience = PATIENCE.min(expected.mul_f64(PATIENCE_SHARE));
        let loud = self.await_quiet(patience);
        self.say_loud(&loud);
        for concern in slowness(&self.roots) {
            self.note(Severity::Warning, concern.topic, None, concern.message);
        }
        let places: Vec<(String, Vec<Layer>)> =
            self.places.iter().map(|p| (p.target.name.clone(), p.target.stack.clone())).collect();
        for (name, stack) in places {
            for concern in background_work(&self.roots, &stack) {
                self.note(Severity::Warning, concern.topic, Some(name.clone()), concern.message);
            }
        }
    }

    /// The devices that are still not quiet when patience is over.
    fn await_quiet(&mut self, patience: Duration) -> Vec<Disturbance> {
        let layers = self.layers();
        if layers.iter().all(|layer| layer.device.is_none()) {
            return Vec::new();
        }
        let began = Instant::now();
        loop {
            let (before, from) = (snapshot(&self.roots, &layers), Instant::now());
            thread::sleep(GLANCE);
            let after = snapshot(&self.roots, &layers);
            let loud = disturbances(&before, &after, from.elapsed().as_nanos() as u64);
            if loud.is_empty() || self.interrupted() || began.elapsed() >= patience {
                return loud;
            }
            let what: Vec<String> = loud.iter().map(|d| self.in_words(d)).collect();
            self.progress.waiting(&format!("waiting until it is quiet: {}", what.join("; ")));
        }
    }

    fn in_words(&self, d: &Disturbance) -> String {
        let [read, written] =
            [d.read_rate, d.write_rate].map(|rate| display_rate(rate, self.progress.units()));
        let busy = d.busy.min(1.0) * 100.0;
        format!(
            "others read {read} from {} and write {written} to it, which keeps it busy for {busy:.0} % of the time",
            d.device
        )
    }

    fn say_loud(&mut self, loud: &[Disturbance]) {
        for disturbance in loud {
            // What lies on one device is told once; a loop device and the disk below it are both in the stack.
            let on_it = |layers: &[Layer]| layers.iter().any(|layer| layer.name == disturbance.device);
            let concerned: Vec<String> = self
                .places
                .iter()
                .filter(|place| on_it(&place.target.stack))
                .map(|place| place.target.name.clone())
                .collect();
            let message = format!(
                "{} is not quiet before the first round: {}; the figures contain that",
                disturbance.device,
                self.in_words(disturbance)
            );
            let target = match concerned.as_slice() {
                [one] => Some(one.clone()),
                _ => None,
            };
            self.note(Severity::Warning, "device-not-quiet", target, message);
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
        self.places.iter().flat_map(|place| place.target.stack.iter().cloned()).collect()
    }
}
