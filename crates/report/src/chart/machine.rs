//! Telemetry as curves over the time of the run.

use std::collections::BTreeMap;

use model::{LayerKind, Reading, Run};

/// Bins over the time of a run: a run of hours makes no larger page than one of seconds.
pub(super) const BINS: usize = 300;

/// The most machines that measure and have rows of their own; what more of them do shares rows, each curve with its name.
const MOST_APART: usize = 4;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trace {
    /// Its kind; curves of one kind share a row.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The target that it belongs to, if there is exactly one.
    pub target: Option<usize>,
    /// `share`, `°C`, `Hz`, `B/s`, `1/s` or `1`.
    pub unit: &'static str,
    /// Width of a bin in seconds.
    pub bin: f64,
    /// It is dashed, to tell it from the other curve of its kind.
    pub is_dashed: bool,
    /// The mean over each bin; `None` where nothing was read.
    pub values: Vec<Option<f64>>,
}

/// All curves that a run's readings give: processors, load, pressure, what the disks do, temperature, clock.
pub(crate) fn traces(run: &Run, targets: &[String], seconds: f64) -> Vec<Trace> {
    let (watched, measuring) = (run.started.watched_machines(), run.started.machines());
    let is_apart = (2..=MOST_APART).contains(&measuring.len());
    let named = |machine: u32| {
        let mut found = traces_of(run, targets, seconds, machine);
        let name = run.started.machine_name(machine);
        for trace in &mut found {
            if !measuring.contains(&machine) {
                trace.kind = format!("server {name}: {}", trace.kind);
            } else if is_apart && trace.target.is_none() {
                trace.kind = format!("{name}: {}", trace.kind);
            } else if measuring.len() > 1 {
                trace.name = format!("{name}: {}", trace.name);
            }
        }
        found
    };
    let mut all: Vec<Trace> = watched.iter().flat_map(|machine| named(*machine)).collect();
    // The curves of one kind share a row; those of the targets come after those of the machines.
    let kinds = kinds(&all);
    all.sort_by_key(|trace| {
        (is_apart && trace.target.is_some(), kinds.iter().position(|kind| *kind == trace.kind))
    });
    all
}

/// The kinds of traces in the order of their first appearance.
pub(super) fn kinds(traces: &[Trace]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for trace in traces {
        if !found.contains(&trace.kind) {
            found.push(trace.kind.clone());
        }
    }
    found
}

/// The curves of one machine.
fn traces_of(run: &Run, targets: &[String], seconds: f64, machine: u32) -> Vec<Trace> {
    let bin = seconds / BINS as f64;
    let series = series(run.readings.iter().filter(|reading| reading.host == machine));
    let of = |probe: &str, key: &str| series.get(&(probe, key)).map(|values| binned(values, bin));
    let trace = |kind: &str, name: &str, target, unit, values: Vec<Option<f64>>| Trace {
        kind: kind.to_owned(),
        name: name.to_owned(),
        target,
        unit,
        bin,
        is_dashed: false,
        values,
    };
    let dashed = |trace: Trace| Trace { is_dashed: true, ..trace };
    let mut found = Vec::new();
    if let Some(values) = processors(&series, run.started.machine(machine).cpus, bin) {
        found.push(trace("processors", "all processors", None, "share", values));
    }
    for (cpu, values) in each_processor(&series, bin) {
        found.push(trace("each processor", &format!("processor {cpu}"), None, "share", values));
    }
    if let Some(values) = of("load", "running") {
        found.push(trace("processes running or waiting for a processor", "running", None, "1", values));
    }
    let pressure = "share of the time that processes waited: for I/O solid, for a processor dashed";
    if let Some(values) = of("pressure", "io.some") {
        found.push(trace(pressure, "waiting for I/O", None, "share", values));
    }
    if let Some(values) = of("pressure", "cpu.some") {
        found.push(dashed(trace(pressure, "waiting for a processor", None, "share", values)));
    }
    for (kind, unit, keys) in [
        ("device bandwidth: reads solid, writes dashed", "B/s", ["read", "write"]),
        ("device operations per second: reads solid, writes dashed", "1/s", ["reads", "writes"]),
    ] {
        for (i, name, disk) in disks(run, targets, machine) {
            let [read, written] = keys.map(|key| of("devices", &format!("{disk}.{key}")));
            found.extend(read.map(|values| trace(kind, &format!("{name} reads"), i, unit, values)));
            let written = written.map(|values| trace(kind, &format!("{name} writes"), i, unit, values));
            found.extend(written.map(dashed));
        }
    }
    for (i, name, disk) in disks(run, targets, machine) {
        if let Some(values) = of("devices", &format!("{disk}.busy")) {
            found.push(trace("device busy", &name, i, "share", values));
        }
    }
    for (i, name, disk) in disks(run, targets, machine) {
        if let Some(values) = of("devices", &format!("{disk}.queue")) {
            found.push(trace("device queue", &name, i, "1", values));
        }
    }
    if let Some(values) = highest(&series, &["temperature", "disk_temperature"], bin) {
        found.push(trace("temperature", "hottest sensor", None, "°C", values));
    }
    if let Some(values) = of("frequency", "mean") {
        found.push(trace("processor clock", "mean clock", None, "Hz", values));
    }
    found.retain(|trace| trace.values.iter().flatten().count() > 1);
    found
}

type Series<'a> = BTreeMap<(&'a str, &'a str), Vec<(f64, f64)>>;

/// Seconds and values by probe and key, in the order of time.
fn series<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Series<'a> {
    let mut found: Series<'_> = BTreeMap::new();
    for Reading { at_ns, probe, key, value, .. } in readings {
        found.entry((probe, key)).or_default().push((*at_ns as f64 / 1e9, *value));
    }
    found.values_mut().for_each(|values| values.sort_by(|a, b| a.0.total_cmp(&b.0)));
    found
}

/// Means over bins of `bin` seconds. A value covers the time since the previous one; the first covers nothing.
fn binned(values: &[(f64, f64)], bin: f64) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); BINS];
    for pair in values.windows(2) {
        let ((from, _), (to, value)) = (pair[0], pair[1]);
        let first = ((from / bin) as usize).min(BINS);
        for (i, sum) in sums.iter_mut().enumerate().skip(first) {
            let (begin, end) = (i as f64 * bin, (i + 1) as f64 * bin);
            if begin >= to {
                break;
            }
            let covered = to.min(end) - from.max(begin);
            if covered > 0.0 {
                sum.0 += value * covered;
                sum.1 += covered;
            }
        }
    }
    sums.into_iter().map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)).collect()
}

/// Busy share of all processors' time.
fn processors(series: &Series<'_>, cpus: u32, bin: f64) -> Option<Vec<Option<f64>>> {
    let is_work =
        |key: &str| key.split_once('.').is_some_and(|(_, part)| ["user", "system", "irq"].contains(&part));
    let parts = series.iter().filter(|((probe, key), _)| *probe == "cpu" && is_work(key));
    let parts: Vec<_> = parts.map(|(_, values)| binned(values, bin)).collect();
    let sum = |i: usize| {
        let known: Vec<f64> = parts.iter().filter_map(|part| part[i]).collect();
        (!known.is_empty()).then(|| (known.iter().sum::<f64>() / f64::from(cpus.max(1))).min(1.0))
    };
    (!parts.is_empty()).then(|| (0..BINS).map(sum).collect())
}

/// More processors than this are not drawn one by one.
const MOST_PROCESSORS: usize = 8;

/// Busy share of each processor, where there are several and not too many.
fn each_processor(series: &Series<'_>, bin: f64) -> Vec<(u32, Vec<Option<f64>>)> {
    let mut found: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
    for ((_, key), values) in series.iter().filter(|((probe, _), _)| *probe == "cpu") {
        let Some((cpu, part)) = key.split_once('.') else { continue };
        let (Ok(cpu), true) = (cpu.parse(), ["user", "system", "irq"].contains(&part)) else { continue };
        let sums = found.entry(cpu).or_insert_with(|| vec![None; BINS]);
        for (sum, value) in sums.iter_mut().zip(binned(values, bin)) {
            *sum = sum.zip(value).map(|(a, b)| (a + b).min(1.0)).or(*sum).or(value);
        }
    }
    if (2..=MOST_PROCESSORS).contains(&found.len()) { found.into_iter().collect() } else { Vec::new() }
}

/// The highest value of all sensors in each bin.
fn highest(series: &Series<'_>, probes: &[&str], bin: f64) -> Option<Vec<Option<f64>>> {
    let all = series.iter().filter(|((probe, _), _)| probes.contains(probe));
    let all: Vec<_> = all.map(|(_, values)| binned(values, bin)).collect();
    let most = |i: usize| all.iter().filter_map(|values| values[i]).reduce(f64::max);
    (!all.is_empty()).then(|| (0..BINS).map(most).collect())
}

/// Every disk below the targets of a machine: its target, if there is exactly one, a name, and the disk's name.
fn disks(run: &Run, targets: &[String], machine: u32) -> Vec<(Option<usize>, String, String)> {
    let mut carried: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for target in run.started.targets.iter().filter(|target| target.is_on(machine)) {
        let Some(number) = targets.iter().position(|name| *name == target.name) else { continue };
        for layer in target.stack.iter().filter(|l| l.kind == LayerKind::Disk) {
            let of = carried.entry(&layer.name).or_default();
            if !of.contains(&number) {
                of.push(number);
            }
        }
    }
    let named = |(disk, of): (&str, Vec<usize>)| {
        let only = (of.len() == 1).then(|| of[0]);
        (only, disk.to_owned(), disk.to_owned())
    };
    carried.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_covers_the_time_since_the_one_before() {
        let values = binned(&[(0.0, 9.0), (1.0, 2.0), (3.0, 4.0)], 1.0);
        assert_eq!(values[..4], [Some(2.0), Some(4.0), Some(4.0), None]);
        let mixed = binned(&[(0.0, 0.0), (0.5, 2.0), (1.0, 4.0)], 1.0);
        assert_eq!(mixed[..2], [Some(3.0), None]);
    }

    #[test]
    fn a_few_processors_are_drawn_one_by_one() {
        let reading = |key: &str, at_ns: u64, value: f64| Reading {
            host: 0,
            at_ns,
            probe: "cpu".into(),
            key: key.into(),
            value,
            unit: "1".into(),
        };
        let of = |cpus: u32| {
            let keys =
                (0..cpus).flat_map(|cpu| ["user", "system", "idle"].map(|part| format!("{cpu}.{part}")));
            let readings: Vec<Reading> =
                keys.flat_map(|key| [0, 1_000_000_000].map(|at_ns| reading(&key, at_ns, 0.3))).collect();
            each_processor(&series(&readings), 0.1)
        };
        let two = of(2);
        assert_eq!(two.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(two[1].1[5].map(|share| (share * 10.0).round()), Some(6.0), "user and system, not idle");
        assert!(of(1).is_empty() && of(9).is_empty());
    }
}
