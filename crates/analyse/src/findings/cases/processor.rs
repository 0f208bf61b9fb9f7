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
        ("server-saturated", true, writes(), |r| served(r, "kernel_threads", "dm-crypt", 0.93)),
        ("server-saturated", true, writes(), |r| served(r, "cpu", "0.system", 0.97)),
        ("server-saturated", false, writes(), |r| served(r, "cpu", "0.system", 0.9)),
        ("server-saturated", false, writes(), |r| {
            // Another machine of the run, which does not serve this target.
            served(r, "kernel_threads", "dm-crypt", 0.93);
            r.started.targets[0].server = None;
        }),
        ("kernel-threads-saturated", false, writes(), |r| served(r, "kernel_threads", "dm-crypt", 0.93)),
        ("core-saturated", false, writes(), |r| served(r, "cpu", "0.system", 0.97)),
    ]
}

/// Gives the machine that serves the target a series of this value.
fn served(run: &mut Run, probe: &str, key: &str, value: f64) {
    let machine = Host { cpus: 2, ..Host::default() };
    run.started.hosts = vec![RemoteHost { name: "nas".into(), machine, ahead_ns: 0, within_ns: 0 }];
    run.started.targets[0].server = Some(1);
    readings(run, probe, key, &[value; 9]);
    run.readings.iter_mut().filter(|reading| reading.probe == probe).for_each(|reading| reading.host = 1);
}

#[test]
fn what_is_busy_on_a_server_is_told_with_its_name() {
    let mut run = run(writes());
    served(&mut run, "kernel_threads", "dm-crypt", 0.93);
    let found = found_in(&run).into_iter().find(|finding| finding.rule == "server-saturated").unwrap();
    assert!(
        found.message.starts_with("kcryptd (dm-crypt) on nas, which serves disk, used 0.93 of 2 cores: ")
    );
}

#[test]
fn readings_that_reach_beyond_a_repeat_do_not_hide_what_happened_in_it() {
    let found = |values: &[(u64, f64)]| {
        let mut run = run(writes());
        // The repeats begin at 0, 2 and 4 s, and take a second.
        readings(&mut run, "load", "1min", &[0.0; 9]);
        run.readings.extend(values.iter().map(|(ms, value)| Reading {
            host: 0,
            at_ns: ms * 1_000_000,
            probe: "kernel_threads".into(),
            key: "dm-crypt".into(),
            value: *value,
            unit: "1".into(),
        }));
        found_in(&run).iter().filter(|f| f.rule == "kernel-threads-saturated").count()
    };
    assert_eq!(found(&[(0, 0.0), (1000, 0.95), (2500, 0.4), (3500, 0.3), (6000, 0.5)]), 1);
    assert_eq!(found(&[(0, 0.0), (1000, 0.4), (2500, 0.95), (3500, 0.99), (6000, 0.95)]), 0);
    // Nothing else is known here.
    assert_eq!(found(&[(1500, 0.0), (3500, 0.95), (6000, 0.9)]), 1);
}

#[test]
fn the_kernels_own_threads_are_not_other_programs() {
    let told = |kernel_threads: f64| {
        let mut run = run(writes());
        readings(&mut run, "cpu", "0.system", &[0.99; 9]);
        readings(&mut run, "kernel_threads", "dm-crypt", &[kernel_threads; 9]);
        each_finished(&mut run, |f| {
            f.counted_ns = 1_000_000_000;
            f.process.system_ns = 100_000_000;
            f.machine = Some(MachineCpu { system_ns: 990_000_000, ..MachineCpu::default() });
        });
        found_in(&run).into_iter().find(|f| f.rule == "core-saturated").unwrap().message
    };
    assert!(told(0.2).ends_with("; other programs did 70 % of all work on the processors"), "{}", told(0.2));
    assert!(told(0.8).ends_with("may be the limit"), "{}", told(0.8));
}
