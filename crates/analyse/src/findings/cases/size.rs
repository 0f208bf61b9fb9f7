//! Data sets that are too small, repeats that are too short, rounds that are too few.

use super::*;

/// On tmpfs, where nothing is direct and nothing can be evicted.
fn in_memory(run: &mut Run) {
    run.started.targets[0].stack.truncate(1);
    run.started.targets[0].stack[0].name = "tmpfs".into();
    each_started(run, |s| s.direct = false);
    each_finished(run, |f| f.cache = Some(CacheUse { cached_before_bytes: Some(1 << 30), evicted: true }));
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("in-memory", true, workload(), in_memory),
        ("in-memory", false, workload(), NOTHING),
        ("fits-into-memory", false, workload(), in_memory),
        ("buffered-fallback", false, workload(), in_memory),
        ("not-evicted", false, workload(), in_memory),
        ("fits-into-memory", true, workload(), |r| each_started(r, |s| s.direct = false)),
        ("fits-into-memory", false, workload(), |r| {
            r.started.host.memory_bytes = 1 << 30;
            each_started(r, |s| s.direct = false);
        }),
        ("fits-into-memory", false, Workload { cache: CacheState::ColdEach, ..workload() }, |r| {
            each_started(r, |s| s.direct = false);
        }),
        ("fits-into-memory", false, workload(), NOTHING),
        ("fits-into-device-cache", true, workload(), |r| each_started(r, |s| s.size_bytes = 1 << 28)),
        ("fits-into-device-cache", false, workload(), NOTHING),
        ("fits-into-device-cache", false, workload(), |r| {
            each_started(r, |s| s.size_bytes = 1 << 28);
            r.started.targets[0].stack[0].name = "tmpfs".into();
        }),
        ("no-storage", true, workload(), |r| each_started(r, |s| s.engine = EngineKind::Noop)),
        ("no-storage", false, workload(), NOTHING),
        ("fits-into-memory", false, workload(), |r| {
            each_started(r, |s| (s.direct, s.engine) = (false, EngineKind::Noop));
        }),
        ("few-rounds", true, workload(), |r| r.repeats.truncate(2)),
        ("few-rounds", false, workload(), NOTHING),
        ("too-short", true, workload(), |r| {
            r.started.plan.steps[0].stop.time_ns = None;
            each_finished(r, |f| f.window_ns = 500_000_000);
        }),
        ("too-short", false, workload(), |r| {
            r.started.plan.steps[0].stop.time_ns = None;
            each_finished(r, |f| f.window_ns = 500_000_000);
            r.repeats.iter_mut().for_each(|r| r.started.time_ns = Some(500_000_000));
        }),
        ("thin-tail", true, workload(), NOTHING),
        ("thin-tail", false, workload(), |r| each_stats(r, |s| s.count = 40_000)),
        ("too-short", false, workload(), |r| {
            r.started.plan.steps[0].stop.time_ns = Some(500_000_000);
            each_finished(r, |f| f.window_ns = 500_000_000);
        }),
        ("too-short", false, workload(), |r| r.repeats[0].finished.as_mut().unwrap().window_ns = 1),
    ]
}
