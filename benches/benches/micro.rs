//! The parts of the loop one by one, each repeated often enough to detect a change: the histogram, the offsets, and
//! the driver on the simulator, without storage and kernel.
//!
//! `cargo bench -p lodestone-benches`, or with `-- --test` each once. The figures compare two states of the code on
//! one machine; the guaranteed limits are instruction counts (`benches/instructions.json`).

use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput};
use engine::parts::{OffsetGenerator, check, seal};
use engine::{Generations, IoTarget, OpenFiles, SimLatency, SimModel, Task};
use model::{Distribution, EngineKind, Histogram, LatencyRecorder, Pattern, RepeatOutcome, Stop, Workload};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    histogram(&mut criterion);
    offsets(&mut criterion);
    verification(&mut criterion);
    driver(&mut criterion);
    criterion.final_summary();
}

/// Latencies in nanoseconds of a fast disk with a tail: uniform in their logarithm between 16 µs and 16 ms, so that
/// neither the caches nor the branch predictor know the next bucket.
fn latencies_ns(count: usize) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut latency = || {
        let random = rng.next_u64();
        let magnitude = 1 << (14 + random % 10);
        magnitude + (random >> 32) % magnitude
    };
    (0..count).map(|_| latency()).collect()
}

fn recorded(latencies: &[u64]) -> LatencyRecorder {
    let mut recorder = LatencyRecorder::new();
    latencies.iter().for_each(|ns| recorder.record(*ns));
    recorder
}

/// Values recorded per pass.
const VALUES: usize = 4096;

fn histogram(criterion: &mut Criterion) {
    let latencies = latencies_ns(VALUES);
    let recorder = recorded(&latencies);
    let histogram: Histogram = recorder.finish();
    let other = recorded(&latencies.iter().map(|ns| ns / 3).collect::<Vec<_>>()).finish();
    let mut group = criterion.benchmark_group("histogram");

    let mut sum = LatencyRecorder::new();
    group.bench_function("merge, dense", |bench| bench.iter(|| sum.merge(black_box(&recorder))));
    group.bench_function("finish", |bench| bench.iter(|| black_box(&recorder).finish()));
    group.bench_function("merge, sparse", |bench| {
        let into = |mut whole: Histogram| {
            whole.merge(black_box(&other));
            whole
        };
        bench.iter_batched(|| histogram.clone(), into, BatchSize::SmallInput);
    });
    group.bench_function("percentile", |bench| {
        bench.iter(|| black_box(&histogram).percentile_ns(black_box(99.0)));
    });

    group.throughput(Throughput::Elements(VALUES as u64));
    let mut filled = LatencyRecorder::new();
    group.bench_function("record", |bench| {
        bench.iter(|| black_box(&latencies).iter().for_each(|ns| filled.record(*ns)));
    });
    group.bench_function("record_many", |bench| {
        bench.iter(|| black_box(&latencies).iter().for_each(|ns| filled.record_many(*ns, 7)));
    });
    group.finish();
}

/// Offsets drawn per pass.
const DRAWS: u64 = 4096;

fn offsets(criterion: &mut Criterion) {
    let random = |distribution, repeats| Pattern::Random { distribution, repeats };
    let mut group = criterion.benchmark_group("offsets");
    group.throughput(Throughput::Elements(DRAWS));
    for (name, pattern) in [
        ("sequential", Pattern::Sequential),
        ("permutation", random(Distribution::Uniform, false)),
        ("uniform", random(Distribution::Uniform, true)),
        ("zipf", random(Distribution::Zipf { theta: 1.1 }, false)),
    ] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        // Not a power of two, which is the permutation's easiest case.
        let mut offsets = OffsetGenerator::new(&pattern, 0, 1_000_000_000, 4096, &mut rng);
        group.bench_function(name, |bench| {
            bench.iter(|| (0..DRAWS).fold(0, |sum, _| sum ^ offsets.next(&mut rng)));
        });
    }
    group.finish();
}

/// One block of 4 KiB, sealed before a write and checked after a read.
fn verification(criterion: &mut Criterion) {
    const BLOCK: u32 = 4096;
    let generations = Generations::new(1, 1 << 20, BLOCK);
    let mut block = vec![7; BLOCK as usize];
    let mut group = criterion.benchmark_group("verification");
    group.throughput(Throughput::Bytes(u64::from(BLOCK)));
    group.bench_function("seal", |bench| bench.iter(|| seal(&generations, black_box(&mut block), 0, 1)));
    group.bench_function("check", |bench| {
        bench.iter(|| {
            check(&generations, black_box(&block), 0, 1).expect("the block is unchanged since it was sealed")
        });
    });
    group.finish();
}

fn driver(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("driver on sim");
    for iodepth in [1, 32] {
        // Every pass includes the start and end of a repeat with its threads: little against this many operations.
        drive(&mut group, iodepth, 200_000);
    }
    group.finish();
}

/// Operations per second of real time: the simulator's clock costs nothing, so only the loop is timed.
fn drive(group: &mut BenchmarkGroup<'_, WallTime>, iodepth: u32, operations: u64) {
    group.throughput(Throughput::Elements(operations));
    group.sample_size(20);
    group.bench_function(format!("depth {iodepth}"), |bench| {
        bench.iter(|| {
            let mut done = 0;
            let task = simulated(iodepth, operations);
            let outcome = engine::run(task, &Arc::new(AtomicBool::new(false)), &mut |interval| {
                done += interval.operations.values().map(|stats| stats.count).sum::<u64>();
            });
            assert_eq!(outcome.expect("the simulator runs").outcome, RepeatOutcome::Completed);
            assert_eq!(done, operations);
        });
    });
}

/// Random reads of a device that serves any number of them in 100 µs each.
fn simulated(iodepth: u32, operations: u64) -> Task {
    let file = File::open("/dev/null").expect("there is /dev/null");
    let files =
        OpenFiles { per_job: vec![vec![file]], file_bytes: 1 << 30, writable: false, generations: None };
    Task {
        repeat: 0,
        workload: Workload { iodepth, ..Workload::random_reads() },
        engine: EngineKind::Sim,
        stop: Stop { operations: Some(operations), ..Stop::default() },
        ramp_ns: 0,
        interval_ns: 1_000_000_000,
        max_errors: 1,
        seed: 1,
        target: IoTarget::Files(files),
        start: 0.0,
        compare_stamps: false,
        sim: Some(SimModel { latency: SimLatency::Fixed(100_000), ..SimModel::default() }),
        concurrent: Vec::new(),
    }
}
