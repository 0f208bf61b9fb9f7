//! Heat, and I/O of other processes, during the measurement.

use model::*;

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = vec![
        ("temperature-rose", true, workload(), |r| readings(r, "temperature", "cpu", &[40.0, 45.0, 52.0])),
        ("temperature-rose", false, workload(), |r| readings(r, "temperature", "cpu", &[40.0, 44.0, 49.0])),
        ("temperature-rose", true, workload(), |r| {
            readings(r, "disk_temperature", "nvme0n1.Composite", &[72.0; 4])
        }),
        ("temperature-rose", false, workload(), |r| readings(r, "temperature", "cpu", &[72.0; 4])),
        ("clock-dropped", true, workload(), |r| {
            readings(r, "frequency", "max", &[3e9, 3e9, 3e9, 2.5e9, 2e9, 2e9])
        }),
        ("clock-dropped", false, workload(), |r| {
            readings(r, "frequency", "max", &[3e9, 3e9, 3e9, 3e9, 2.8e9, 2e9])
        }),
        ("throttled", true, workload(), |r| {
            readings(r, "throttling", "throttled", &[0.0, 0.0, 1.0, 0.0, 0.0])
        }),
        ("throttled", true, workload(), |r| readings(r, "throttling", "core", &[0.0, 0.0, 12.0, 0.0, 0.0])),
        ("throttled", false, workload(), |r| {
            readings(r, "throttling", "throttled", &[0.0, 1.0, 0.0, 1.0, 0.0])
        }),
        ("throttled", true, workload(), |r| {
            readings(r, "firmware", "soft_limit", &[0.0, 0.0, 1.0, 0.0, 0.0])
        }),
        ("throttled", false, workload(), |r| readings(r, "throttling", "seen", &[1.0; 5])),
        ("throttled", false, workload(), |r| {
            readings(r, "throttling", "cooling.intel_powerclamp", &[-1.0; 5])
        }),
        ("background-between-repeats", true, workload(), |r| between(r, &[0.0, 20e6, 0.0, 20e6, 0.0])),
        ("background-between-repeats", false, workload(), |r| between(r, &[20e6, 0.0, 20e6, 0.0, 20e6])),
        ("background-between-repeats", true, workload(), |r| {
            elsewhere(r, (8, 16));
            between(r, &[20e6; 5]);
        }),
        ("background-between-repeats", false, workload(), |r| {
            // The other target is on the same disk.
            elsewhere(r, (8, 0));
            between(r, &[20e6; 5]);
            r.repeats.iter_mut().for_each(|repeat| repeat.started.at_ns = 0);
        }),
        ("background-before", true, workload(), |r| r.notes.push(note("device-not-quiet"))),
        ("background-before", true, workload(), |r| r.notes.push(note("background-work"))),
        ("background-before", false, workload(), |r| r.notes.push(note("governor"))),
    ];
    cases.extend(traffic());
    cases
}

/// I/O of other processes on the device during a repeat.
fn traffic() -> Vec<Case> {
    vec![
        ("background-traffic", true, workload(), |r| {
            each_finished(r, |f| f.devices[0].written_bytes = 9_000_000)
        }),
        ("background-traffic", false, workload(), |r| {
            each_finished(r, |f| f.devices[0].written_bytes = 90_000)
        }),
        ("background-traffic", false, workload(), |r| {
            // The delayed work of a filesystem, once.
            r.repeats[0].finished.as_mut().unwrap().devices[0].written_bytes = 9_000_000;
        }),
        ("background-traffic", false, writes(), |r| {
            // Another rule reports amplification.
            each_finished(r, |f| f.devices[0].written_bytes *= 4);
        }),
        ("background-traffic", true, writes(), |r| each_finished(r, |f| f.devices[0].read_bytes = 9_000_000)),
        ("background-traffic", false, writes(), |r| {
            // A RAID reads in order to write parity.
            each_finished(r, |f| f.devices[0].read_bytes = 9_000_000);
            r.started.targets[0].stack[0].kind = LayerKind::Raid;
        }),
        ("background-traffic", true, writes(), |r| {
            each_finished(r, |f| f.devices[0].written_bytes *= 2);
            readings(r, "other_processes", "dd.write", &[45e6; 6]);
        }),
        ("background-traffic", false, writes_back(), |r| {
            // Blocks that are written back are read first; the other process uses another device.
            each_finished(r, |f| f.devices[0].read_bytes = f.devices[0].written_bytes);
            readings(r, "other_processes", "dd.write", &[45e6; 6]);
        }),
        ("background-traffic", true, writes_back(), |r| {
            each_finished(r, |f| f.devices[0].read_bytes = f.devices[0].written_bytes * 2);
            readings(r, "other_processes", "dd.write", &[45e6; 6]);
        }),
        ("background-traffic", false, workload(), |r| {
            // The I/O was on another device.
            readings(r, "other_processes", "dd.write", &[45e6; 6]);
        }),
        ("background-traffic", false, writes(), |r| {
            each_finished(r, |f| f.devices[0].written_bytes *= 2);
            readings(r, "other_processes", "cron.write", &[5e5; 6]);
        }),
        ("background-traffic", false, writes(), |r| {
            each_stats(r, |s| s.bytes = 4_096_000_000);
            each_finished(r, |f| f.devices[0].written_bytes = 4_136_000_000);
            readings(r, "other_processes", "dd.write", &[45e6; 6]);
        }),
    ]
}

fn writes_back() -> Workload {
    let modifiers = Modifiers { read_first: Some(ReadFirst::Block), ..Modifiers::default() };
    Workload { modifiers, ..writes() }
}

/// Moves all repeats to a second target on this device.
fn elsewhere(run: &mut Run, device: (u32, u32)) {
    let mut other = run.started.targets[0].clone();
    other.name = "other".into();
    other.stack[0].device = Some(device);
    run.started.targets.push(other);
    each_started(run, |s| s.target = "other".into());
}

/// Sets the rate at which the disk wrote in each second.
fn between(run: &mut Run, written: &[f64]) {
    disk(run, "sda", &[]);
    readings(run, "devices", "sda.write", written);
    readings(run, "devices", "sda.read", &vec![0.0; written.len()]);
}

fn note(topic: &str) -> Note {
    Note {
        at_ns: 1,
        severity: Severity::Warning,
        topic: topic.into(),
        target: Some("disk".into()),
        message: "sda is busy".into(),
    }
}

#[test]
fn heat_is_a_warning_only_if_figures_got_worse() {
    let found_with = |rounds: &[f64]| {
        let mut run = run(workload());
        each_round(&mut run, rounds);
        readings(&mut run, "disk_temperature", "nvme0n1.Composite", &[45.0, 50.0, 60.0, 68.0]);
        found_in(&run).into_iter().find(|f| f.rule == "temperature-rose").unwrap()
    };
    let slower = found_with(&[30.0, 29.0, 28.0, 27.0, 26.0, 25.0, 24.0]);
    assert_eq!(slower.severity, Severity::Warning);
    assert_eq!(
        slower.message,
        "nvme0n1.Composite rose by 23 °C to 68 °C within 4 s; meanwhile figures got worse: bandwidth of reads of \
         step on disk 20 % lower"
    );
    let even = found_with(&[30.0, 29.9, 30.1, 30.0, 29.9, 30.1, 30.0]);
    assert_eq!(even.severity, Severity::Info);
    assert!(even.message.ends_with("; no headline figure shows a trend"), "{}", even.message);
}

#[test]
fn heat_belongs_to_its_machine() {
    let mut run = run(workload());
    readings(&mut run, "temperature", "cpu-thermal", &[40.0, 45.0, 52.0]);
    readings(&mut run, "temperature", "cpu-thermal", &[30.0, 31.0, 30.0]);
    let warm = run.readings.len() / 2;
    run.readings[..warm].iter_mut().for_each(|reading| reading.host = 1);
    let pi = RemoteHost { name: "pi@garage".into(), ..RemoteHost::default() };
    run.started.hosts = vec![pi];
    let of_runs = |run: &Run| -> Vec<String> {
        let heat = found_in(run).into_iter().filter(|f| f.rule == "temperature-rose");
        heat.map(|f| f.message).collect()
    };
    assert!(of_runs(&run).is_empty(), "nothing was measured on the warm machine");
    let there = Target { name: "there".into(), host: 1, ..run.started.targets[0].clone() };
    run.started.targets.push(there);
    let found = of_runs(&run);
    let first = "cpu-thermal on pi@garage rose by 12 °C to 52 °C within 3 s";
    assert!(found.len() == 1 && found[0].starts_with(first), "{found:?}");
}

#[test]
fn background_traffic_names_process_and_device() {
    let mut run = run(workload());
    each_finished(&mut run, |f| f.devices[0].written_bytes = 9_000_000);
    readings(&mut run, "other_processes", "dd.write", &[45e6; 6]);
    let found = found_in(&run).into_iter().find(|f| f.rule == "background-traffic").unwrap();
    assert_eq!(
        found.message,
        "9.0 MB per second were written on sda while the workload only read, in 3 of 3 repeats; processes that did I/O \
         meanwhile: dd"
    );
    assert_eq!(found.evidence[0].scope.as_ref().unwrap().rounds, [1, 2, 3]);
}
