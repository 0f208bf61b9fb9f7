//! Telemetry of each step: the readings within its repeats.

use std::collections::BTreeMap;

use model::{Reading, Repeat, Run, Step};

/// A reading counts for the minimum and the maximum if at least half of it, or this much time, is within a repeat.
const ENOUGH_NS: u64 = 1_000_000_000;

/// What one machine did during one step on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTelemetry {
    /// The step's id.
    pub step: String,
    /// The target's name.
    pub target: String,
    /// The number of the machine: the target's, one of its clients, or the one that serves it.
    pub machine: u32,
    /// Number of repeats it covers: those that ended as planned.
    pub repeats: usize,
    /// One figure for each series, in the order in which they first appear.
    pub figures: Vec<TelemetryFigure>,
}

/// One series over the repeats of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct TelemetryFigure {
    /// The probe.
    pub probe: String,
    /// The series within the probe.
    pub key: String,
    /// The unit of the values.
    pub unit: String,
    /// Time-weighted mean over the repeats; waiting times are weighted by the operations that waited.
    pub mean: f64,
    /// Least value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Nanoseconds of the repeats that the readings cover.
    pub covered_ns: u64,
}

/// The probe whose series are shares of each processor's time.
const CPU: &str = "cpu";
/// Key of the derived series: at each moment the busiest processor.
const BUSIEST: &str = "busiest";
/// The parts of a processor's time. The first three are work.
const PARTS: [&str; 5] = ["user", "system", "irq", "iowait", "steal"];
const WORK: usize = 3;

/// The telemetry of every step on every target and each machine that it depends on, in the plan's order. A repeat lasts from its start to its last completion,
/// the ramp included. Empty without readings.
pub fn telemetry(run: &Run) -> Vec<StepTelemetry> {
    telemetry_of(run, &Readings::new(run))
}

/// [`telemetry`] from sorted readings.
pub(crate) fn telemetry_of(run: &Run, readings: &Readings<'_>) -> Vec<StepTelemetry> {
    let mut found = Vec::new();
    for step in &run.started.plan.steps {
        for target in &run.started.targets {
            let spans = spans(run, step, &target.name);
            for machine in run.started.watched_machines() {
                if !target.depends_on(machine) {
                    continue;
                }
                let is_below = |device: &str| {
                    machine != target.host || target.stack.iter().any(|layer| layer.name == device)
                };
                let figures = figures(readings.on(machine), &spans, is_below);
                if !figures.is_empty() {
                    let (step, target) = (step.id.clone(), target.name.clone());
                    found.push(StepTelemetry { step, target, machine, repeats: spans.len(), figures });
                }
            }
        }
    }
    found
}

/// The completed repeats of a step on a target, from the start to the end of the measured window, in nanoseconds of the run.
pub(crate) fn spans(run: &Run, step: &Step, target: &str) -> Vec<(u64, u64)> {
    let span = |repeat: &Repeat| {
        let window_ns = repeat.finished.as_ref()?.window_ns;
        let begin = repeat.started.at_ns;
        Some((begin, begin.saturating_add(repeat.ramp_ns(step)).saturating_add(window_ns)))
    };
    run.completed(&step.id, target).filter_map(span).collect()
}

/// All readings of a run, by the number of the machine and series.
pub(crate) struct Readings<'a>(BTreeMap<u32, Vec<Series<'a>>>);

impl<'a> Readings<'a> {
    /// Sorts a run's readings.
    pub fn new(run: &'a Run) -> Self {
        let mut of_machine: BTreeMap<u32, Vec<&Reading>> = BTreeMap::new();
        run.readings.iter().for_each(|reading| of_machine.entry(reading.host).or_default().push(reading));
        Self(of_machine.into_iter().map(|(host, readings)| (host, series(readings))).collect())
    }

    /// The series of a machine, in the order in which they first appear.
    pub fn on(&self, host: u32) -> &[Series<'a>] {
        self.0.get(&host).map_or(&[], Vec::as_slice)
    }

    /// The series of one probe of a machine.
    pub fn of<'b>(&'b self, host: u32, probe: &'b str) -> impl Iterator<Item = &'b Series<'a>> {
        self.on(host).iter().filter(move |series| series.probe == probe)
    }

    /// One series of a machine.
    pub fn get(&self, host: u32, probe: &str, key: &str) -> Option<&Series<'a>> {
        self.on(host).iter().find(|series| series.probe == probe && series.key == key)
    }
}

impl StepTelemetry {
    /// The figure of one series.
    pub fn get(&self, probe: &str, key: &str) -> Option<&TelemetryFigure> {
        self.figures.iter().find(|figure| figure.probe == probe && figure.key == key)
    }

    /// The figures of one probe.
    pub fn of<'a>(&'a self, probe: &'a str) -> impl Iterator<Item = &'a TelemetryFigure> {
        self.figures.iter().filter(move |figure| figure.probe == probe)
    }
}

/// The values of one series. Each covers the time since the one before it; the first covers nothing.
pub(crate) struct Series<'a> {
    probe: &'a str,
    /// Its name within the probe.
    pub key: &'a str,
    unit: &'a str,
    /// Time, in nanoseconds of the run, and value, in order of time.
    pub values: Vec<(u64, f64)>,
}

fn series<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Vec<Series<'a>> {
    let mut indices = std::collections::HashMap::new();
    let mut all: Vec<Series<'_>> = Vec::new();
    for reading in readings {
        let Reading { at_ns, probe, key, value, unit, host: _ } = reading;
        let index = *indices.entry((probe.as_str(), key.as_str())).or_insert(all.len());
        if index == all.len() {
            all.push(Series { probe, key, unit, values: Vec::new() });
        }
        all[index].values.push((*at_ns, *value));
    }
    all.iter_mut().for_each(|series| series.values.sort_by_key(|(at_ns, _)| *at_ns));
    all
}

/// A value that differs by at most this share is not logged again (`host`'s change filter).
const SAME: f64 = 0.03;

/// A part of a series: from, to, and the value in between.
type Piece = (u64, u64, f64);

impl Series<'_> {
    /// Mean over the covered part of these spans of the run, in nanoseconds, and the nanoseconds covered. `None` if nothing
    /// is covered.
    pub fn mean_over(&self, spans: &[(u64, u64)]) -> Option<(f64, u64)> {
        let mut summary = Summary::default();
        for span in spans {
            self.pieces(*span).for_each(|piece| summary.record(piece, *span, 1.0));
        }
        (summary.covered_ns > 0).then(|| (summary.mean(), summary.covered_ns))
    }

    /// Mean during these spans: of the readings inside them where these cover a good part of them, because a reading that
    /// reaches beyond a span also tells of other work.
    pub fn mean_during(&self, spans: &[(u64, u64)]) -> Option<f64> {
        /// Of what all readings cover.
        const GOOD_PART: u64 = 4;
        let (over, covered_ns) = self.mean_over(spans)?;
        let inside = self.mean_inside(spans).filter(|(_, inside_ns)| inside_ns * GOOD_PART >= covered_ns);
        Some(inside.map_or(over, |(mean, _)| mean))
    }

    /// The mean and the nanoseconds covered of only those readings that are wholly inside a span, or that the log has at
    /// both ends because the value stayed the same in between and so inside the span too.
    pub fn mean_inside(&self, spans: &[(u64, u64)]) -> Option<(f64, u64)> {
        let mut summary = Summary::default();
        for span in spans {
            for (before, (to, value)) in self.pairs(*span) {
                let is_inside = before.0 >= span.0 && to <= span.1;
                let is_held = (before.1 - value).abs() <= SAME * before.1.abs().max(value.abs());
                if is_inside || is_held {
                    summary.record((before.0, to, value), *span, 1.0);
                }
            }
        }
        (summary.covered_ns > 0).then(|| (summary.mean(), summary.covered_ns))
    }

    /// The whole pieces that overlap a span.
    fn pieces(&self, span: (u64, u64)) -> impl Iterator<Item = Piece> {
        self.pairs(span).map(|(before, (to, value))| (before.0, to, value))
    }

    /// The readings that end these pieces, each with the one before it.
    fn pairs(&self, (begin, end): (u64, u64)) -> impl Iterator<Item = ((u64, f64), (u64, f64))> {
        let first = self.values.partition_point(|(at_ns, _)| *at_ns <= begin).max(1);
        let pairs = self.values[first - 1..].windows(2).map(|pair| (pair[0], pair[1]));
        pairs.take_while(move |(before, _)| before.0 < end)
    }

    /// The value that covers the moments just before `at_ns`.
    fn at(&self, at_ns: u64) -> Option<f64> {
        let index = self.values.partition_point(|(at, _)| *at < at_ns);
        (index > 0).then(|| self.values.get(index).map(|(_, value)| *value)).flatten()
    }

    fn figure(&self, summary: &Summary) -> Option<TelemetryFigure> {
        (summary.covered_ns > 0).then(|| TelemetryFigure {
            probe: self.probe.to_owned(),
            key: self.key.to_owned(),
            unit: self.unit.to_owned(),
            mean: summary.mean(),
            min: summary.min.unwrap_or(summary.mean()),
            max: summary.max.unwrap_or(summary.mean()),
            covered_ns: summary.covered_ns,
        })
    }
}

/// Mean, minimum and maximum of pieces.
#[derive(Default)]
struct Summary {
    sum: f64,
    weight: f64,
    min: Option<f64>,
    max: Option<f64>,
    covered_ns: u64,
}

impl Summary {
    /// Adds the part of a piece that is within a span; `weight` is per nanosecond.
    fn record(&mut self, (from, to, value): Piece, (begin, end): (u64, u64), weight: f64) {
        let overlap = to.min(end).saturating_sub(from.max(begin));
        if overlap == 0 {
            return;
        }
        self.covered_ns += overlap;
        self.sum += value * weight * overlap as f64;
        self.weight += weight * overlap as f64;
        if 2 * overlap >= (to - from).min(ENOUGH_NS) {
            self.min = Some(self.min.map_or(value, |min| min.min(value)));
            self.max = Some(self.max.map_or(value, |max| max.max(value)));
        }
    }

    /// Zero if all weights are zero, because nothing waited.
    fn mean(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}

fn figures(
    all: &[Series<'_>],
    spans: &[(u64, u64)],
    is_below: impl Fn(&str) -> bool,
) -> Vec<TelemetryFigure> {
    let mut found = busiest(all, spans);
    for series in all {
        if series.probe == "devices"
            && !series.key.rsplit_once('.').is_some_and(|(device, _)| is_below(device))
        {
            continue;
        }
        let weights = operations_of(series, all);
        let mut summary = Summary::default();
        for span in spans {
            for piece in series.pieces(*span) {
                match weights {
                    None => summary.record(piece, *span, 1.0),
                    Some(operations) => record_weighted(&mut summary, piece, *span, operations),
                }
            }
        }
        found.extend(series.figure(&summary));
    }
    found
}

/// The series that counts the operations of a series of waiting times.
fn operations_of<'a>(waits: &Series<'_>, all: &'a [Series<'a>]) -> Option<&'a Series<'a>> {
    let (device, kind) = waits.key.rsplit_once('.')?;
    let operations = match kind {
        "read_wait" => "reads",
        "write_wait" => "writes",
        _ => return None,
    };
    all.iter().find(|series| {
        series.probe == waits.probe && series.key.rsplit_once('.') == Some((device, operations))
    })
}

/// Adds a piece of waiting times, weighted by the number of operations.
fn record_weighted(summary: &mut Summary, piece: Piece, span: (u64, u64), operations: &Series<'_>) {
    let (from, to, value) = piece;
    // A wait of zero means that nothing waited.
    if value == 0.0 {
        return;
    }
    for (begin, end, rate) in operations.pieces((from, to)) {
        summary.record((begin.max(from), end.min(to), value), span, rate);
    }
}

/// At each moment the busiest processor, with the parts of its time.
fn busiest(all: &[Series<'_>], spans: &[(u64, u64)]) -> Vec<TelemetryFigure> {
    let of_cpu: Vec<&Series<'_>> = all.iter().filter(|series| series.probe == CPU).collect();
    let mut processors: Vec<(&str, [Option<&Series<'_>>; PARTS.len()])> = Vec::new();
    for series in &of_cpu {
        let Some((number, part)) = series.key.rsplit_once('.') else { continue };
        let Some(part) = PARTS.iter().position(|p| *p == part) else { continue };
        let index = processors.iter().position(|(n, _)| *n == number).unwrap_or_else(|| {
            processors.push((number, [None; PARTS.len()]));
            processors.len() - 1
        });
        processors[index].1[part] = Some(series);
    }
    let mut times: Vec<u64> = of_cpu.iter().flat_map(|s| s.values.iter().map(|(at_ns, _)| *at_ns)).collect();
    times.sort_unstable();
    times.dedup();
    let mut work = Summary::default();
    let mut parts = PARTS.map(|_| Summary::default());
    for span in spans {
        let first = times.partition_point(|at_ns| *at_ns <= span.0).max(1);
        for pair in times.get(first - 1..).unwrap_or_default().windows(2).take_while(|pair| pair[0] < span.1)
        {
            let (from, to) = (pair[0], pair[1]);
            let shares = processors
                .iter()
                .map(|(_, of)| of.map(|series| series.and_then(|s| s.at(to)).unwrap_or(0.0)));
            let worked = |shares: &[f64; PARTS.len()]| shares[..WORK].iter().sum::<f64>();
            let Some(most) = shares.max_by(|a, b| worked(a).total_cmp(&worked(b))) else { continue };
            work.record((from, to, worked(&most)), *span, 1.0);
            for (summary, share) in parts.iter_mut().zip(most) {
                summary.record((from, to, share), *span, 1.0);
            }
        }
    }
    let figure = |key: &str, summary: &Summary| {
        Series { probe: CPU, key, unit: "1", values: Vec::new() }.figure(summary)
    };
    let parts = PARTS.iter().zip(&parts).filter_map(|(part, s)| figure(&format!("{BUSIEST}.{part}"), s));
    figure(BUSIEST, &work).into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn reading(second: f64, probe: &str, key: &str, value: f64) -> Reading {
        let at_ns = (second * 1e9) as u64;
        Reading { at_ns, probe: probe.into(), key: key.into(), value, unit: "1".into(), host: 0 }
    }

    fn figure<'a>(found: &'a [TelemetryFigure], key: &str) -> &'a TelemetryFigure {
        found.iter().find(|f| f.key == key).unwrap_or_else(|| panic!("no {key} in {found:#?}"))
    }

    #[test]
    fn a_reading_covers_the_time_since_the_previous_one() {
        // 0.2 until 4 s, logged only at both ends, then 0.8 until 6 s.
        let readings = [(0.0, 9.0), (1.0, 0.2), (4.0, 0.2), (6.0, 0.8), (9.0, 5.0)];
        let readings: Vec<Reading> =
            readings.iter().map(|(s, v)| reading(*s, "pressure", "io.some", *v)).collect();
        let found =
            figures(&series(&readings), &[(2 * SECOND, 3 * SECOND), (3 * SECOND, 6 * SECOND)], |_| true);
        let f = figure(&found, "io.some");
        assert!((f.mean - (0.2 * 2.0 + 0.8 * 2.0) / 4.0).abs() < 1e-9, "{f:?}");
        assert_eq!((f.min, f.max, f.covered_ns), (0.2, 0.8, 4 * SECOND));
    }

    #[test]
    fn readings_mostly_outside_do_not_count_as_extremes() {
        let readings = [(0.0, 0.0), (1.0, 0.9), (2.0, 0.3), (3.0, 0.9)];
        let readings: Vec<Reading> =
            readings.iter().map(|(s, v)| reading(*s, "memory", "dirty", *v)).collect();
        let found = figures(&series(&readings), &[(SECOND * 9 / 10, SECOND * 22 / 10)], |_| true);
        let f = figure(&found, "dirty");
        assert_eq!((f.min, f.max), (0.3, 0.3));
        assert!(f.mean > 0.3 && f.mean < 0.5, "{f:?}");
    }

    /// A disk without reads and with a constant write rate was once reported as unobserved between repeats: the log has a
    /// constant value only at both ends, and these were outside.
    #[test]
    fn a_constant_value_holds_inside_a_span() {
        let mean = |values: &[(f64, f64)], span: (u64, u64)| {
            let readings: Vec<Reading> =
                values.iter().map(|(s, v)| reading(*s, "devices", "sdb.read", *v)).collect();
            series(&readings)[0].mean_inside(&[(span.0 * SECOND, span.1 * SECOND)])
        };
        let idle = [(0.0, 8.0), (1.0, 0.0), (9.0, 0.0), (10.0, 7.0)];
        assert_eq!(mean(&idle, (3, 5)), Some((0.0, 2 * SECOND)));
        assert_eq!(mean(&[(0.0, 5.0), (1.0, 50.0), (9.0, 51.0)], (3, 5)), Some((51.0, 2 * SECOND)));
        assert_eq!(
            mean(&[(0.0, 5.0), (1.0, 5.0), (9.0, 51.0)], (3, 5)),
            None,
            "a change may have been outside"
        );
        assert_eq!(mean(&[(3.0, 5.0), (4.0, 51.0), (9.0, 7.0)], (3, 5)), Some((51.0, SECOND)));
    }

    #[test]
    fn time_without_readings_has_no_figures() {
        let readings = [reading(5.0, "load", "1min", 1.0), reading(6.0, "load", "1min", 1.0)];
        assert!(figures(&series(&readings), &[(0, 4 * SECOND)], |_| true).is_empty());
        assert!(figures(&series(&readings), &[(7 * SECOND, 8 * SECOND)], |_| true).is_empty());
        assert!(figures(&[], &[(0, SECOND)], |_| true).is_empty());
    }

    #[test]
    fn the_busiest_processor_changes_over_time() {
        let mut readings = Vec::new();
        for (second, zero, one) in [(0.0, 0.0, 0.0), (1.0, 0.9, 0.1), (2.0, 0.1, 0.8)] {
            readings.push(reading(second, "cpu", "0.user", zero));
            readings.push(reading(second, "cpu", "1.system", one));
            readings.push(reading(second, "cpu", "1.iowait", 0.15));
        }
        let found = figures(&series(&readings), &[(0, 2 * SECOND)], |_| true);
        let f = figure(&found, "busiest");
        assert!((f.mean - 0.85).abs() < 1e-9 && (f.min, f.max) == (0.8, 0.9), "{f:?}");
        assert!((figure(&found, "busiest.user").mean - 0.45).abs() < 1e-9);
        assert!((figure(&found, "busiest.iowait").mean - 0.075).abs() < 1e-9);
    }

    #[test]
    fn waits_are_weighted_by_the_operations_that_waited() {
        let mut readings = Vec::new();
        for (second, rate, wait) in [(0.0, 0.0, 0.0), (1.0, 900.0, 1.0), (2.0, 100.0, 11.0), (3.0, 0.0, 0.0)]
        {
            readings.push(reading(second, "devices", "sda.reads", rate));
            readings.push(reading(second, "devices", "sda.read_wait", wait));
        }
        let found = figures(&series(&readings), &[(0, 3 * SECOND)], |_| true);
        let f = figure(&found, "sda.read_wait");
        assert!((f.mean - 2.0).abs() < 1e-9, "{f:?}");
        assert_eq!((f.min, f.max), (1.0, 11.0));
    }

    #[test]
    fn devices_of_other_targets_are_left_out() {
        let readings: Vec<Reading> = (0..3)
            .flat_map(|s| ["sda.busy", "sdb.busy"].map(|key| reading(f64::from(s), "devices", key, 0.5)))
            .collect();
        let found = figures(&series(&readings), &[(0, 2 * SECOND)], |device| device == "sda");
        assert_eq!(found.iter().map(|f| f.key.as_str()).collect::<Vec<_>>(), ["sda.busy"]);
    }
}
