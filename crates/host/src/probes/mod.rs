//! Telemetry: other activity on the machine while a run measures.
//!
//! # Invariants
//! * A probe is one file, its `mod` and its entry in [`PROBES`]. A missing source (no cpufreq in a virtual machine, no
//!   kernel threads in a container) produces neither readings nor errors.
//! * Kernel files stay open and are read again in place. A poll allocates only for the readings that it produces.
//! * No probe uses more than a thousandth of a processor: after a slow poll it pauses accordingly. Its first
//!   poll, which opens its files before anything is measured, does not count.
//! * Anything that queries the storage itself (a disk's temperature) or starts a program is polled only between repeats.
//! * A reading covers the time since the previous reading of the same probe and key, see `ChangeFilter`.

mod change_filter;
mod cpu;
mod devices;
mod disk_temperature;
mod firmware;
mod frequency;
mod kernel_file;
mod kernel_threads;
mod load;
mod memory;
mod network;
mod other_processes;
mod pressure;
mod processes;
mod telemetry;
mod temperature;
mod throttling;

use std::fmt;

use model::{Layer, ProbeLabels, Reading};
use rustix::time::{ClockId, clock_gettime};

use crate::Roots;
use change_filter::{ChangeFilter, Sample};
use kernel_file::KernelFile;

pub(crate) use disk_temperature::disk_sensors;
pub use telemetry::Telemetry;
pub(crate) use temperature::hottest;
pub(crate) use throttling::throttled;

/// All probes, in the order in which they poll and in which their series are shown.
pub static PROBES: &[Probe] = &[
    cpu::PROBE,
    kernel_threads::PROBE,
    load::PROBE,
    pressure::PROBE,
    memory::PROBE,
    devices::PROBE,
    network::PROBE,
    disk_temperature::PROBE,
    temperature::PROBE,
    frequency::PROBE,
    throttling::PROBE,
    firmware::PROBE,
    other_processes::PROBE,
];

/// The labels of all probes, in the order in which they are shown.
pub fn labels() -> Vec<ProbeLabels> {
    PROBES.iter().map(|probe| ProbeLabels { probe: probe.name, label: probe.label }).collect()
}

/// Polls closer together than this would give rates of a few clock ticks.
const CLOSEST_NS: u64 = 100_000_000;
/// A probe pauses for this multiple of the time it took, so it never uses more than a thousandth.
const REST: u64 = 1000;

/// One probe.
pub struct Probe {
    /// As in [`Reading::probe`].
    pub name: &'static str,
    /// What it reads, in one line.
    pub what: &'static str,
    /// What people call the series with a key; `None` for one that is only in the exports.
    pub label: fn(&str) -> Option<String>,
    /// When it polls.
    pub pace: Pace,
    /// Starts the probe; `None` if its source is missing.
    begin: fn(&Scene<'_>, &mut ChangeFilter) -> Option<Box<dyn Reader>>,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("name", &self.name).field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// When a probe polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At every tick, and at the start and end of a repeat.
    EveryTick,
    /// At ticks at least this number of nanoseconds apart, and at the start and end of a repeat.
    Apart(u64),
    /// Only at the start and end of a repeat.
    BetweenRepeats,
}

/// For probes that read many files.
const SLOW: Pace = Pace::Apart(5_000_000_000);

/// The reason for a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The period has elapsed.
    Tick,
    /// A repeat is about to start, or has just ended.
    Boundary,
    /// The run is over: what happened since the last poll is reported whatever it costs.
    End,
}

/// What a probe may read.
struct Scene<'a> {
    roots: &'a Roots,
    /// The stacks of all targets.
    layers: &'a [Layer],
}

/// A running probe.
trait Reader: Send {
    /// Reads the source.
    fn read(&mut self, sample: &mut Sample<'_>);
}

/// All running probes.
pub struct Watch {
    watched: Vec<Watched>,
    /// CPU time of the calling thread in nanoseconds.
    spent_ns: fn() -> u64,
}

struct Watched {
    probe: &'static Probe,
    reader: Box<dyn Reader>,
    filter: ChangeFilter,
    last_ns: Option<u64>,
    not_before_ns: u64,
}

impl Watch {
    /// Starts the probes for a machine and the devices of these stacks.
    pub fn begin(roots: &Roots, layers: &[Layer]) -> Self {
        let scene = Scene { roots, layers };
        let watched = PROBES.iter().filter_map(|probe| {
            let mut filter = ChangeFilter::default();
            let reader = (probe.begin)(&scene, &mut filter)?;
            Some(Watched { probe, reader, filter, last_ns: None, not_before_ns: 0 })
        });
        Self { watched: watched.collect(), spent_ns: thread_cpu_ns }
    }

    /// Names of the probes whose source exists.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.watched.iter().map(|w| w.probe.name)
    }

    /// Polls every probe that is due and adds new readings to `out`. `now` is the time in the readings'
    /// nanoseconds.
    pub fn sample(&mut self, occasion: Occasion, now: &dyn Fn() -> u64, out: &mut Vec<Reading>) {
        for watched in &mut self.watched {
            let at_ns = now();
            if !watched.is_due(occasion, at_ns) {
                continue;
            }
            let (began_ns, is_first) = ((self.spent_ns)(), watched.last_ns.is_none());
            watched.sample(at_ns, out);
            let cost_ns = (self.spent_ns)().saturating_sub(began_ns);
            watched.not_before_ns = if is_first { 0 } else { at_ns + cost_ns.saturating_mul(REST) };
        }
    }

    /// Reports the last readings that were held back.
    pub fn finish(&mut self, out: &mut Vec<Reading>) {
        for watched in &mut self.watched {
            watched.filter.finish(watched.probe.name, out);
        }
    }
}

impl Watched {
    fn is_due(&self, occasion: Occasion, now_ns: u64) -> bool {
        let Some(last_ns) = self.last_ns else { return true };
        // A tick that comes slightly early must not cost a whole further period.
        let apart_ns = match (self.probe.pace, occasion) {
            (_, Occasion::End) => return now_ns > last_ns,
            (Pace::BetweenRepeats, Occasion::Tick) => return false,
            (Pace::Apart(ns), Occasion::Tick) => ns - CLOSEST_NS / 2,
            _ => CLOSEST_NS - CLOSEST_NS / 10,
        };
        now_ns >= self.not_before_ns && now_ns.saturating_sub(last_ns) >= apart_ns
    }

    fn sample(&mut self, at_ns: u64, out: &mut Vec<Reading>) {
        let since_ns = self.last_ns.replace(at_ns);
        let mut sample = Sample { probe: self.probe.name, since_ns, at_ns, filter: &mut self.filter, out };
        self.reader.read(&mut sample);
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds per kernel tick of CPU time.
fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;
    use std::cell::Cell;

    /// A probe driven by hand over a fixture.
    pub(super) struct Driven {
        watched: Watched,
    }

    impl Driven {
        pub fn begin(probe: &'static Probe, tree: &Tree, layers: &[Layer]) -> Option<Self> {
            let mut filter = ChangeFilter::default();
            let roots = tree.roots();
            let reader = (probe.begin)(&Scene { roots: &roots, layers }, &mut filter)?;
            Some(Self { watched: Watched { probe, reader, filter, last_ns: None, not_before_ns: 0 } })
        }

        /// Readings of a poll at this second, as `key value unit`, at that time only.
        pub fn at(&mut self, seconds: u64) -> Vec<String> {
            let (mut out, at_ns) = (Vec::new(), seconds * 1_000_000_000);
            self.watched.sample(at_ns, &mut out);
            let new = out.into_iter().filter(|r| r.at_ns == at_ns);
            new.map(|r| format!("{} {} {}", r.key, r.value, r.unit)).collect()
        }
    }

    #[test]
    fn names_are_short_and_differ() {
        for (i, probe) in PROBES.iter().enumerate() {
            assert!(PROBES[..i].iter().all(|p| p.name != probe.name), "{}", probe.name);
            assert!(!probe.what.is_empty());
        }
    }

    #[test]
    fn series_have_names_for_people() {
        let labels = labels();
        for ((probe, key), expected) in [
            (("cpu", "busiest"), Some("busiest core")),
            (("cpu", "busiest.iowait"), Some("busiest core: iowait")),
            (("cpu", "12.user"), None),
            (("devices", "nvme0n1.read_wait"), Some("nvme0n1 read wait")),
            (("network", "eth0.received"), Some("eth0 received")),
            (("other_processes", "my.daemon.write"), Some("other process: my.daemon write")),
            (("temperature", "coretemp.Package id 0"), Some("temperature: coretemp.Package id 0")),
            (("pressure", "io.full"), Some("pressure: io full")),
        ] {
            let found = labels.iter().find(|labels| labels.probe == probe).unwrap();
            assert_eq!((found.label)(key).as_deref(), expected, "{probe} {key}");
        }
    }

    #[test]
    fn a_machine_without_sources_has_no_readings() {
        let tree = Tree::new();
        let mut watch = Watch::begin(&tree.roots(), &[]);
        let mut out = Vec::new();
        for second in 0..10 {
            watch.sample(Occasion::Boundary, &|| second * 1_000_000_000, &mut out);
        }
        watch.finish(&mut out);
        assert!(out.is_empty(), "{out:?}");
    }

    #[test]
    fn probes_run_on_this_machine() {
        let mut watch = Watch::begin(&Roots::default(), &[]);
        let began = std::time::Instant::now();
        let mut out = Vec::new();
        for _ in 0..3 {
            watch.sample(Occasion::Boundary, &|| began.elapsed().as_nanos() as u64, &mut out);
            // Some CPU load, or all processors may have been idle.
            let until = began.elapsed() + std::time::Duration::from_millis(120);
            while began.elapsed() < until {
                std::hint::spin_loop();
            }
        }
        let has = |probe: &str, key: &str| out.iter().any(|r| r.probe == probe && r.key == key);
        assert!(has("memory", "available") && has("load", "1min"), "{out:?}");
        assert!(out.iter().any(|r| r.probe == "cpu" && r.value > 0.0), "{out:?}");
    }

    thread_local! { static SPENT: Cell<u64> = const { Cell::new(0) }; }

    struct Costly;

    impl Reader for Costly {
        fn read(&mut self, sample: &mut Sample<'_>) {
            SPENT.with(|spent| spent.set(spent.get() + 5_000_000));
            let series = sample.filter.series("x", "1");
            sample.put(series, sample.at_ns as f64);
        }
    }

    #[test]
    fn a_slow_probe_polls_less_often() {
        static COSTLY: Probe = Probe {
            name: "costly",
            what: "time",
            label: |_| None,
            pace: Pace::EveryTick,
            begin: |_, _| Some(Box::new(Costly)),
        };
        let scene = Scene { roots: &Roots::default(), layers: &[] };
        let mut filter = ChangeFilter::default();
        let reader = (COSTLY.begin)(&scene, &mut filter).unwrap();
        let watched = Watched { probe: &COSTLY, reader, filter, last_ns: None, not_before_ns: 0 };
        let mut watch = Watch { watched: vec![watched], spent_ns: || SPENT.with(Cell::get) };
        let mut out = Vec::new();
        for second in 0..11 {
            watch.sample(Occasion::Tick, &|| second * 1_000_000_000, &mut out);
        }
        watch.sample(Occasion::End, &|| 10_500_000_000, &mut out);
        // Five milliseconds each: once in five seconds after the first poll, and once more at the end.
        let times: Vec<u64> = out.iter().map(|r| r.at_ns / 1_000_000_000).collect();
        assert_eq!(times, [0, 1, 6, 10]);
    }

    #[test]
    fn paces_are_kept() {
        let due = |pace: Pace, occasion: Occasion, after_ms: u64| {
            let probe: &'static Probe = Box::leak(Box::new(Probe {
                name: "p",
                what: "w",
                label: |_| None,
                pace,
                begin: |_, _| None,
            }));
            let watched = Watched {
                probe,
                reader: Box::new(Costly),
                filter: ChangeFilter::default(),
                last_ns: Some(1_000_000_000),
                not_before_ns: 0,
            };
            watched.is_due(occasion, 1_000_000_000 + after_ms * 1_000_000)
        };
        assert!(due(Pace::EveryTick, Occasion::Tick, 100) && !due(Pace::EveryTick, Occasion::Tick, 50));
        assert!(!due(SLOW, Occasion::Tick, 4000) && due(SLOW, Occasion::Tick, 4990));
        assert!(due(SLOW, Occasion::Boundary, 300) && !due(SLOW, Occasion::Boundary, 10));
        assert!(!due(Pace::BetweenRepeats, Occasion::Tick, 100_000));
        assert!(due(Pace::BetweenRepeats, Occasion::Boundary, 1000));
        assert!([Pace::EveryTick, SLOW, Pace::BetweenRepeats].iter().all(|pace| due(
            *pace,
            Occasion::End,
            10
        )));
    }
}
