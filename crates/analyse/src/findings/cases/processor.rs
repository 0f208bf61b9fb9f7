//! The processor, and queues.

use model::*;

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let deep = Workload { iodepth: 32, ..workload() };
    let paced = Workload { pace: Pace::Fixed { per_second: 10.0 }, ..deep.clone() };
    vec![
        ("generator-saturated", true, workload(), |r| each_finished(r, |f| f.busiest_worker = 0.95)),
        ("generator-saturated", false, workload(), |r| {
            r.repeats[0].finished.as_mut().unwrap().busiest_worker = 1.0
        }),
        ("generator-saturated", false, paced.clone(), |r| each_finished(r, |f| f.busiest_worker = 1.0)),
        ("generator-saturated", true, paced.clone(), |r| {
            each_finished(r, |f| (f.busiest_worker, f.unserved) = (1.0, 500))
        }),
        ("queue-not-filled", true, deep, NOTHING),
        ("queue-not-filled", false, paced.clone(), NOTHING),
        ("queue-not-filled", false, workload(), NOTHING),
        ("load-not-met", true, paced.clone(), |r| each_finished(r, |f| f.unserved = 11)),
        ("load-not-met", false, paced.clone(), |r| each_finished(r, |f| f.unserved = 9)),
        ("kernel-threads-saturated", true, writes(), |r| {
            readings(r, "kernel_threads", "dm-crypt", &[0.93; 9])
        }),
        ("kernel-threads-saturated", false, writes(), |r| {
            readings(r, "kernel_threads", "dm-crypt", &[0.8; 9])
        }),
        ("kernel-threads-saturated", false, writes(), |r| {
            readings(r, "kernel_threads", "reclaim", &[1.0; 9])
        }),
        ("kernel-threads-saturated", false, paced.clone(), |r| {
            readings(r, "kernel_threads", "dm-crypt", &[0.93; 9])
        }),
        ("core-saturated", true, workload(), |r| {
            readings(r, "cpu", "0.user", &[0.3; 9]);
            readings(r, "cpu", "1.user", &[0.4; 9]);
            readings(r, "cpu", "1.irq", &[0.6; 9]);
        }),
        ("core-saturated", false, workload(), |r| {
            readings(r, "cpu", "0.user", &[0.9; 9]);
            readings(r, "cpu", "0.iowait", &[0.1; 9]);
        }),
        ("core-saturated", false, workload(), |r| {
            // The generator itself, which its own rule reports.
            readings(r, "cpu", "0.user", &[1.0; 9]);
            each_finished(r, |f| f.busiest_worker = 0.99);
        }),
    ]
}
