//! Runs that nobody measured: a memory card, a disk on USB and an NVMe drive as simple laws with seeded chance. They
//! give every picture its data, and what it must show is known.

mod clients;
mod positions;

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{
    BlockSizes, Bound, EngineChoice, EngineKind, Figure, Host, Imported, Interval, Ladder, LaidOut,
    LatencyRecorder, Layer, LayerKind, Metric, Mix, Operation, OperationStats, Pace, Pattern, Phase, Plan,
    PortableMath, Preparation, Reading, Repeat, RepeatFinished, RepeatOutcome, RepeatStarted, Requirement,
    Rounds, Run, RunFinished, RunOutcome, RunStarted, Rung, Source, Step, Stop, Target, TargetKind, Workload,
    fact,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use clients::clients;
pub use positions::positions;

const SECOND: u64 = 1_000_000_000;
const RAMP: u64 = 200_000_000;
const SLICE: u64 = 200_000_000;
/// Latencies drawn for each slice; each stands for as many operations as needed.
const DRAWN: u64 = 400;

/// A disk as a law: nanoseconds of one operation, bytes per second of its link, operations that it does at once.
#[derive(Clone, Copy, Debug)]
struct Law {
    name: &'static str,
    disk: &'static str,
    read_ns: f64,
    write_ns: f64,
    seek_ns: f64,
    link: f64,
    /// What the kernel calls the link, and its bits per second.
    wire: (&'static str, &'static str),
    at_once: f64,
    /// How far the latencies spread.
    spread: f64,
}

const LAWS: [Law; 3] = [
    Law {
        name: "sd-card",
        disk: "mmcblk0",
        read_ns: 350e3,
        write_ns: 900e3,
        seek_ns: 250e3,
        link: 45e6,
        wire: ("sd", "416000000"),
        at_once: 2.0,
        spread: 0.9,
    },
    Law {
        name: "usb-ssd",
        disk: "sda",
        read_ns: 110e3,
        write_ns: 70e3,
        seek_ns: 30e3,
        link: 430e6,
        wire: ("usb", "5000000000"),
        at_once: 16.0,
        spread: 0.35,
    },
    Law {
        name: "nvme",
        disk: "nvme0n1",
        read_ns: 60e3,
        write_ns: 18e3,
        seek_ns: 5e3,
        link: 3.3e9,
        wire: ("nvme", "32000000000"),
        at_once: 64.0,
        spread: 0.25,
    },
];

/// All synthetic runs: a quick one, queue depths, block sizes, mixed and offered loads, places, clients, requirements.
pub fn runs() -> Vec<Run> {
    vec![
        quick(),
        depths(),
        block_sizes(),
        mixed(),
        saturated(),
        positions(),
        filesystems(),
        clients(),
        enough(),
        headroom(),
    ]
}

/// Three filesystems on two devices at two block sizes, as another program printed them: one figure each.
pub fn filesystems() -> Run {
    let mut steps = Vec::new();
    for bytes in [4096, 4 << 20] {
        let size = model::units::ExactSize(u64::from(bytes));
        for (share, words) in [(0, "write"), (100, "read")] {
            let title = format!("fio: sequential {words}, {size}, depth 64");
            let step = step(&format!("{words}-{bytes}"), &title, transfer(share, false, bytes, 64));
            steps.push(Step { foreign: vec![(read_or_write(share), Metric::Bandwidth)], ..step });
        }
    }
    let mut run = Maker::new("imported", steps, 1, 1).run();
    let sources = run.repeats.clone();
    (run.repeats, run.layouts, run.readings) = (Vec::new(), Vec::new(), Vec::new());
    run.started.sources =
        vec![Source { file: "results".into(), path: None, digest: "made".into(), bytes: 1 }];
    run.started.command =
        ["lodestone", "import", "results", "--path-labels", "device"].map(str::to_owned).to_vec();
    run.started.targets.clear();
    // What each filesystem has of the device's rate: written and read, small blocks and large ones.
    let filesystems = [
        ("ext4", [0.9, 0.96, 0.97, 0.98]),
        ("xfs", [0.8, 0.93, 0.99, 1.0]),
        ("btrfs", [0.4, 0.85, 0.9, 0.9]),
    ];
    for law in &LAWS[..2] {
        for (filesystem, shares) in filesystems {
            let name = format!("{} {filesystem}", law.name);
            run.started.targets.push(Target { name: name.clone(), stack: Vec::new(), ..target(*law) });
            for (step, share) in run.started.plan.steps.iter().zip(shares) {
                let is_it = |r: &&Repeat| r.started.step == step.id && r.started.target == law.name;
                let mut repeat = sources.iter().find(is_it).cloned().expect("every step was made");
                let (operation, metric) = step.foreign[0];
                let window = repeat.finished.as_ref().map_or(1, |f| f.window_ns) as f64 / 1e9;
                let bytes: u64 = repeat.measured().values().map(|stats| stats.bytes).sum();
                let value = bytes as f64 / window * share;
                repeat.started.repeat = run.repeats.len() as u32;
                repeat.started.target.clone_from(&name);
                repeat.intervals.clear();
                repeat.imported = Some(Box::new(printed(
                    repeat.started.repeat,
                    [law.name, filesystem],
                    Figure { operation, metric, value, printed: None, recomputed: None },
                )));
                run.repeats.push(repeat);
            }
        }
    }
    run.started.baseline.clone_from(&run.started.targets[0].name);
    run
}

fn read_or_write(share: u8) -> Operation {
    if share == 0 { Operation::Write } else { Operation::Read }
}

fn printed(repeat: u32, [device, filesystem]: [&str; 2], figure: Figure) -> Imported {
    let labels = [("device", device), ("filesystem", filesystem)];
    Imported {
        repeat,
        tool: "fio".into(),
        version: Some("3.33".into()),
        file: format!("results/{device}/{filesystem}.txt"),
        line: 1,
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        facts: BTreeMap::new(),
        unsaid: Vec::new(),
        figures: vec![figure],
        remarks: Vec::new(),
    }
}

/// Two steps four times a day for a week, slower each evening.
pub fn days() -> Vec<Run> {
    let steps = vec![
        step("seq-read", "Sequential read, 1 MiB, depth 8", transfer(100, false, 1 << 20, 8)),
        step("rand-read", "Random read, 4 KiB, depth 1", transfer(100, true, 4096, 1)),
    ];
    let run = |i: u64| {
        let mut maker = Maker::new("days", steps.clone(), 3, 1);
        maker.chance = Xoshiro256PlusPlus::seed_from_u64(i);
        maker.pace = if i % 4 == 3 { 0.6 } else { 1.0 };
        let mut run = maker.run();
        run.started.id = format!("day{i}");
        run.started.started_unix_ns += (i * 6 * 3600 * SECOND) as i64;
        run
    };
    (0..28).map(run).collect()
}

/// A long write into caches that fill up.
pub fn saturated() -> Run {
    let mut long = step("long-write", "Sequential write, 1 MiB, depth 8", transfer(0, false, 1 << 20, 8));
    long.interval_ns = SECOND;
    let mut maker = Maker::new("saturate", vec![long], 1, 120);
    maker.slice_ns = SECOND;
    maker.cache_slices = 40;
    maker.run()
}

/// The usual steps on three targets.
pub fn quick() -> Run {
    let steps = vec![
        step("seq-read", "Sequential read, 1 MiB, depth 8", transfer(100, false, 1 << 20, 8)),
        step("seq-write", "Sequential write, 1 MiB, depth 8", transfer(0, false, 1 << 20, 8)),
        step("rand-read-d1", "Random read, 4 KiB, depth 1", transfer(100, true, 4096, 1)),
        step("rand-read-d32", "Random read, 4 KiB, depth 32", transfer(100, true, 4096, 32)),
        step("rand-write-d32", "Random write, 4 KiB, depth 32", transfer(0, true, 4096, 32)),
        step("mixed", "Random mix 75/25, 4 KiB, depth 16", transfer(75, true, 4096, 16)),
    ];
    Maker::new("quick", steps, 6, 12).run()
}

/// Three targets, and what is required of them: met, missed, and near the limit.
pub fn enough() -> Run {
    let steps = vec![
        step("pages", "Random read, 4 KiB, depth 1", transfer(100, true, 4096, 1)),
        step("copy", "Sequential write, 1 MiB, depth 8", transfer(0, false, 1 << 20, 8)),
    ];
    let mut run = Maker::new("store", steps, 30, 1).run();
    let required = |step: &str, operation, metric, bound, limit| Requirement {
        profile: "store".to_owned(),
        step: step.to_owned(),
        operation,
        metric,
        bound,
        limit,
        relative_to: None,
        source: "Made up: a limit for the gallery, 2026".to_owned(),
    };
    run.started.plan.requirements = vec![
        required("pages", Operation::Read, Metric::LatP99, Bound::AtMost, 2e6),
        required("pages", Operation::Read, Metric::Iops, Bound::AtLeast, 1000.0),
        required("copy", Operation::Write, Metric::Bandwidth, Bound::AtLeast, 30e6),
    ];
    run
}

/// Three targets, and how much they carry: of a smaller latency each.
pub fn headroom() -> Run {
    const LIMITS: [(f64, f64); 5] = [(1.0, 16e6), (2.0, 8e6), (4.0, 4e6), (8.0, 2e6), (16.0, 1e6)];
    let id = |load: f64| format!("pages-{load}");
    let steps =
        LIMITS.map(|(load, _)| step(&id(load), "Random read, 4 KiB, depth 1", transfer(100, true, 4096, 1)));
    let mut run = Maker::new("headroom", steps.to_vec(), 44, 1).run();
    let required = |(load, limit): (f64, f64)| Requirement {
        profile: "headroom".to_owned(),
        step: id(load),
        operation: Operation::Read,
        metric: Metric::LatP99,
        bound: Bound::AtMost,
        limit,
        relative_to: None,
        source: "Made up: a limit for the gallery, 2026".to_owned(),
    };
    run.started.plan.requirements = LIMITS.map(required).to_vec();
    let rung = |(load, _): (f64, f64)| Rung { step: id(load), load };
    run.started.plan.ladders = vec![Ladder { unit: "readers".to_owned(), rungs: LIMITS.map(rung).to_vec() }];
    run
}

/// One step with slices over a whole hour, as a long run has them.
pub fn hour() -> Run {
    let mut long = step("long", "Random write, 4 KiB, depth 32", transfer(0, true, 4096, 32));
    long.interval_ns = SECOND;
    let mut maker = Maker::new("hour", vec![long], 1, 1);
    maker.slices = 1200;
    maker.slice_ns = SECOND;
    maker.run()
}

/// The usual steps in so many rounds that no picture has room for every repeat, as a run of hours has them.
pub fn rounds() -> Run {
    let mut run = Maker::new("rounds", quick().started.plan.steps, 60, 2).run();
    run.started.plan.rounds = Rounds::Fixed(60);
    run
}

/// A run whose names are meant to do harm: markup, quotes, signs without width, emoji, a thousand characters.
pub fn hostile() -> Run {
    let mut run = quick();
    let names = evil_names();
    for (law, name) in LAWS.iter().zip(&names) {
        for target in run.started.targets.iter_mut().filter(|t| t.name == law.name) {
            target.name.clone_from(name);
            target.path = PathBuf::from(format!("/mnt/{name}"));
        }
        run.repeats
            .iter_mut()
            .filter(|r| r.started.target == law.name)
            .for_each(|r| r.started.target.clone_from(name));
        run.layouts.iter_mut().filter(|l| l.target == law.name).for_each(|l| l.target.clone_from(name));
    }
    run.started.baseline.clone_from(&names[0]);
    run.started.id = "<b>id</b>".into();
    run.started.host.name = "<host>\"".into();
    run.started.command = vec!["lodestone".into(), "run".into(), names[1].clone(), "it's".into()];
    run.started.plan.steps[0].title = "<svg onload=alert(3)>".into();
    run
}

fn evil_names() -> [String; 3] {
    [
        "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>".to_owned(),
        format!("</script><!-- 💾 `x` \u{202e}\u{301} {}", "long ".repeat(200)),
        "]]>&amp;&#x27;{{7*7}}\u{0}\u{1b}[31m".to_owned(),
    ]
}

/// An imported run whose labels, files and programs are called as badly, with a finding that repeats them.
pub fn hostile_labels() -> Run {
    let mut run = filesystems();
    let names = evil_names();
    for repeat in &mut run.repeats {
        let imported = repeat.imported.as_mut().expect("it is imported");
        for (key, law) in [("device", LAWS[0].name), ("filesystem", "ext4")] {
            let own = imported.labels.get_mut(key).expect("it has its labels");
            *own = if own == law { names[0].clone() } else { format!("{own}{}", names[1]) };
        }
        imported.tool.clone_from(&names[2]);
        imported.file = format!("/logs/{}", names[0]);
        imported.remarks = vec![model::Remark {
            topic: names[0].clone(),
            severity: model::Severity::Info,
            effect: 0.02,
            message: names.concat(),
            advice: names[1].clone(),
            line: 1,
        }];
    }
    run
}

/// Twelve targets: more than there are colours.
pub fn many() -> Run {
    let mut run = quick();
    let (targets, repeats) = (run.started.targets.clone(), run.repeats.clone());
    for copy in 2..=4 {
        for target in &targets {
            let name = format!("{}-{copy}", target.name);
            run.started.targets.push(Target { name: name.clone(), ..target.clone() });
            for repeat in repeats.iter().filter(|r| r.started.target == target.name) {
                let mut repeat = repeat.clone();
                repeat.started.target.clone_from(&name);
                run.repeats.push(repeat);
            }
        }
    }
    run
}

fn depths() -> Run {
    let depths = [1, 2, 4, 8, 16, 32, 64, 128];
    let steps = depths.map(|d| {
        step(&format!("d{d}"), &format!("Random read, 4 KiB, depth {d}"), transfer(100, true, 4096, d))
    });
    Maker::new("depth", steps.to_vec(), 4, 3).run()
}

fn block_sizes() -> Run {
    let steps = (9..=24).step_by(1).map(|power| {
        let bytes = 1u32 << power;
        let size = model::units::ExactSize(u64::from(bytes));
        step(
            &format!("b{bytes}"),
            &format!("Sequential read, {size}, depth 4"),
            transfer(100, false, bytes, 4),
        )
    });
    Maker::new("blocksize", steps.collect(), 4, 2).run()
}

fn mixed() -> Run {
    let mut steps = Vec::new();
    for percent in [100, 75, 50, 25, 0] {
        for bytes in [4096, 16384, 65536] {
            let size = model::units::ExactSize(u64::from(bytes));
            let title = format!("Random mix {percent}/{}, {size}, depth 16", 100 - percent);
            steps.push(step(&format!("m{percent}-{bytes}"), &title, transfer(percent, true, bytes, 16)));
        }
    }
    for rate in [250.0, 1000.0, 4000.0, 16_000.0, 64_000.0, 256_000.0] {
        let workload = Workload { pace: Pace::Poisson { per_second: rate }, ..transfer(100, true, 4096, 64) };
        steps.push(step(
            &format!("l{rate}"),
            &format!("Random read, 4 KiB, depth 64, {rate}/s offered"),
            workload,
        ));
    }
    Maker::new("mixed", steps, 4, 2).run()
}

fn transfer(read_percent: u8, random: bool, bytes: u32, iodepth: u32) -> Workload {
    let plain = Workload::random_reads();
    let pattern = if random { plain.pattern.clone() } else { Pattern::Sequential };
    Workload {
        mix: Mix::Transfer { read_percent },
        pattern,
        block: BlockSizes::uniform(bytes),
        iodepth,
        direct: true,
        ..plain
    }
}

fn step(id: &str, title: &str, workload: Workload) -> Step {
    Step {
        id: id.to_owned(),
        title: title.to_owned(),
        prepare: Preparation::Written,
        workload,
        engine: EngineChoice::Auto,
        stop: Stop { time_ns: Some(SECOND), ..Stop::default() },
        shortest_ns: None,
        ramp_ns: RAMP,
        interval_ns: SLICE,
        max_errors: 1,
        concurrent: Vec::new(),
        foreign: Vec::new(),
    }
}

/// What a run is made with.
struct Maker {
    steps: Vec<Step>,
    suite: &'static str,
    rounds: u32,
    slices: u64,
    slice_ns: u64,
    /// What the storage does of what it could.
    pace: f64,
    /// Slices until a write cache is full; 0 if there is none.
    cache_slices: u64,
    chance: Xoshiro256PlusPlus,
    now: u64,
    /// Degrees of the processor: it warms up while something runs.
    heat: f64,
}

impl Maker {
    fn new(suite: &'static str, steps: Vec<Step>, rounds: u32, slices: u64) -> Self {
        let chance = Xoshiro256PlusPlus::seed_from_u64(7);
        Self {
            steps,
            suite,
            rounds,
            slices,
            slice_ns: SLICE,
            pace: 1.0,
            cache_slices: 0,
            chance,
            now: 0,
            heat: 41.0,
        }
    }

    fn run(mut self) -> Run {
        let mut run = Run::new(self.started());
        for law in LAWS {
            self.now += SECOND;
            run.layouts.push(LaidOut {
                at_ns: self.now,
                target: law.name.into(),
                bytes: 1 << 30,
                elapsed_ns: SECOND,
            });
        }
        for round in 0..self.rounds {
            for step in self.steps.clone() {
                for law in LAWS {
                    let repeat = self.repeat(&mut run, &step, law, round);
                    run.repeats.push(repeat);
                }
            }
        }
        run.finished = Some(RunFinished { at_ns: self.now, outcome: RunOutcome::Completed });
        run
    }

    fn started(&self) -> RunStarted {
        let plan = Plan {
            id: format!("made-{}", self.suite),
            layout_limit_ns: SECOND,
            ..Plan::of_steps(self.suite, self.steps.clone(), Rounds::Fixed(self.rounds))
        };
        let host = Host {
            id: "made".into(),
            name: "board".into(),
            kernel: "6.12.0".into(),
            architecture: "aarch64".into(),
            cpu: "Cortex-A76".into(),
            cpus: 4,
            memory_bytes: 8 << 30,
            ..Host::default()
        };
        let command = [
            "lodestone",
            "run",
            "sd-card=/mnt/sd",
            "usb-ssd=/mnt/usb",
            "nvme=/mnt/nvme",
            "--suite",
            self.suite,
        ];
        RunStarted {
            id: format!("made{}", self.suite),
            started_unix_ns: 1_790_000_000 * SECOND as i64,
            version: "0.1.0".into(),
            command: command.map(str::to_owned).to_vec(),
            host,
            seed: 7,
            ..RunStarted::of_plan(plan, LAWS.map(target).to_vec())
        }
    }

    /// A number around 0, rarely beyond ± 3: twelve uniform ones added up.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.chance.random::<f64>()).sum::<f64>() - 6.0
    }

    fn repeat(&mut self, run: &mut Run, step: &Step, law: Law, round: u32) -> Repeat {
        let number = run.repeats.len() as u32;
        self.now += 50_000_000;
        let at_ns = self.now;
        let luck = self.pace * (1.0 + 0.02 * self.bell());
        let mut intervals = vec![self.interval(step, law, number, 0, RAMP, luck * 0.8, Phase::Ramp)];
        for i in 0..self.slices {
            // The card's controller clears up for a while in each third round.
            let stall =
                if law.disk == "mmcblk0" && round % 3 == 2 && i == self.slices / 2 { 0.25 } else { 1.0 };
            let full = self.cache_slices > 0 && i >= self.cache_slices && law.disk != "mmcblk0";
            let stall = if full { 0.3 * (1.0 + 0.03 * self.bell()) } else { stall };
            let start = RAMP + i * self.slice_ns;
            intervals.push(self.interval(
                step,
                law,
                number,
                start,
                self.slice_ns,
                luck * stall,
                Phase::Measure,
            ));
        }
        let window_ns = self.slices * self.slice_ns;
        self.readings(run, law, RAMP + window_ns, luck);
        self.now = at_ns + RAMP + window_ns;
        let started = RepeatStarted {
            repeat: number,
            at_ns,
            round,
            step: step.id.clone(),
            target: law.name.into(),
            engine: EngineKind::IoUring,
            direct: true,
            size_bytes: 1 << 30,
            seed: 7,
            time_ns: None,
            passes: None,
            turns: 0,
        };
        let finished = RepeatFinished {
            window_ns,
            counted_ns: RAMP + window_ns,
            busiest_worker: 0.3,
            ..RepeatFinished::uncounted(number, self.now, RepeatOutcome::Completed)
        };
        Repeat { started, intervals, finished: Some(Box::new(finished)), imported: None }
    }

    #[allow(clippy::too_many_arguments)]
    fn interval(
        &mut self,
        step: &Step,
        law: Law,
        repeat: u32,
        start_ns: u64,
        len_ns: u64,
        luck: f64,
        phase: Phase,
    ) -> Interval {
        let w = &step.workload;
        let Mix::Transfer { read_percent } = w.mix else { unreachable!("made steps move data") };
        let reads = f64::from(read_percent) / 100.0;
        let bytes = f64::from(w.block.read);
        let random = matches!(w.pattern, Pattern::Random { .. });
        let seek = if random { law.seek_ns } else { 0.0 };
        let own = reads * law.read_ns + (1.0 - reads) * law.write_ns + seek;
        let depth = f64::from(w.iodepth);
        // What the drive does at once, what its link carries, and what is asked of it.
        let able = (depth.min(law.at_once) * 1e9 / own).min(law.link / bytes) * luck;
        let (rate, waited) = match w.pace {
            Pace::Closed => (able, depth * 1e9 / able),
            Pace::Fixed { per_second } | Pace::Poisson { per_second } => {
                let full = (per_second / able).min(0.98);
                (
                    per_second.min(able),
                    if per_second > able { 0.5 * SECOND as f64 } else { own / (1.0 - full) },
                )
            }
        };
        let mut operations = BTreeMap::new();
        for (operation, share, ns) in
            [(Operation::Read, reads, law.read_ns), (Operation::Write, 1.0 - reads, law.write_ns)]
        {
            let count = (rate * share * len_ns as f64 / 1e9).round() as u64;
            if count == 0 {
                continue;
            }
            let middle = waited * (ns + seek) / own;
            let lat = self.latencies(count, middle, law.spread);
            let stats = OperationStats {
                count,
                bytes: count * u64::from(w.block.read),
                lat,
                ..OperationStats::default()
            };
            operations.insert(operation, stats);
        }
        let in_flight_ns = (depth * len_ns as f64) as u64;
        Interval { repeat, phase, start_ns, len_ns, operations, in_flight_ns }
    }

    /// So many latencies around a middle, a few of them far above it.
    fn latencies(&mut self, count: u64, middle: f64, spread: f64) -> model::Histogram {
        let mut recorder = LatencyRecorder::new();
        let drawn = count.min(DRAWN);
        for i in 0..drawn {
            let slow = if self.chance.random::<f64>() < 0.004 {
                4.0 + 20.0 * self.chance.random::<f64>()
            } else {
                1.0
            };
            let ns = middle * (spread * 0.5 * self.bell()).portable_exp() * slow;
            recorder.record_many(ns as u64, count / drawn + u64::from(i < count % drawn));
        }
        recorder.finish()
    }

    /// What the machine does during a repeat of so many nanoseconds.
    fn readings(&mut self, run: &mut Run, law: Law, ns: u64, luck: f64) {
        let mut at_ns = self.now;
        while at_ns <= self.now + ns {
            let busy = if law.disk == "nvme0n1" { 0.55 } else { 0.12 };
            self.heat += (41.0 + 50.0 * busy - self.heat) * 0.02;
            let heat = (self.heat * 2.0).round() / 2.0;
            let clock = if heat > 52.0 { 1.8e9 } else { 2.4e9 };
            let mut put = |probe: &str, key: String, value: f64, unit: &str| {
                run.readings.push(Reading {
                    at_ns,
                    probe: probe.into(),
                    key,
                    value,
                    unit: unit.into(),
                    host: 0,
                });
            };
            for cpu in 0..4 {
                put("cpu", format!("{cpu}.system"), busy * luck * if cpu == 0 { 1.4 } else { 0.8 }, "1");
            }
            for other in LAWS {
                let own = other.disk == law.disk;
                put("devices", format!("{}.busy", other.disk), if own { 0.97 } else { 0.01 }, "1");
                put("devices", format!("{}.queue", other.disk), if own { 15.0 * luck } else { 0.0 }, "1");
            }
            put("temperature", "cpu-thermal".into(), heat, "°C");
            put("frequency", "mean".into(), clock, "Hz");
            at_ns += (ns / 4).max(1);
        }
    }
}

fn target(law: Law) -> Target {
    let layer = |kind, name: &str, level| Layer {
        kind,
        name: name.into(),
        level,
        device: None,
        facts: BTreeMap::new(),
    };
    let wire = [(fact::LINK, law.wire.0), (fact::LINK_SPEED, law.wire.1)];
    let wire = wire.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Target {
        clients: Vec::new(),
        server: None,
        name: law.name.into(),
        path: PathBuf::from(format!("/mnt/{}", law.name)),
        kind: TargetKind::Directory,
        size_bytes: 256 << 30,
        free_bytes: 200 << 30,
        block_bytes: 512,
        direct: true,
        host: 0,
        labels: Default::default(),
        writable: true,
        stack: vec![
            layer(LayerKind::Filesystem, "ext4", 0),
            Layer { facts: wire, ..layer(LayerKind::Disk, law.disk, 1) },
        ],
    }
}
