//! A run, folded from its events.

use std::collections::BTreeMap;

use crate::{
    Event, Imported, Interval, LaidOut, Note, Operation, OperationStats, Phase, Reading, RepeatFinished,
    RepeatOutcome, RepeatStarted, RunFinished, RunStarted, SetAside, SetAsideReason, Step,
};

/// All that is known of a run. A run that was killed has no `finished` and a last repeat without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What was decided before the start.
    pub started: RunStarted,
    /// The laid-out data sets.
    pub layouts: Vec<LaidOut>,
    /// The repeats that count, in the order in which they ran.
    pub repeats: Vec<Repeat>,
    /// Repeats that ended well and do not count, with the reason.
    pub set_aside: Vec<(Repeat, SetAsideReason)>,
    /// Telemetry.
    pub readings: Vec<Reading>,
    /// What the program noticed.
    pub notes: Vec<Note>,
    /// The end, unless the run was killed.
    pub finished: Option<RunFinished>,
}

/// One execution of a step on a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// How it began.
    pub started: RepeatStarted,
    /// Its time series, the ramp included.
    pub intervals: Vec<Interval>,
    /// What another program measured, if one did.
    pub imported: Option<Box<Imported>>,
    /// How it ended, unless the run was killed meanwhile.
    pub finished: Option<Box<RepeatFinished>>,
}

impl Run {
    /// A run of which only the start is known.
    pub fn new(started: RunStarted) -> Self {
        Self {
            started,
            layouts: Vec::new(),
            repeats: Vec::new(),
            set_aside: Vec::new(),
            readings: Vec::new(),
            notes: Vec::new(),
            finished: None,
        }
    }

    /// Folds a whole log. `None` if the first event is not the start of a run.
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let Event::RunStarted(started) = events.next()? else { return None };
        let mut run = Self::new(*started);
        events.for_each(|event| run.record(event));
        Some(run)
    }

    /// Events that fold to this run, in an order of their own: a log that was written while it ran mixes them.
    pub fn events(&self) -> Vec<Event> {
        let Self { started, layouts, repeats: _, set_aside, readings, notes, finished } = self;
        let mut events = vec![Event::RunStarted(Box::new(started.clone()))];
        events.extend(layouts.iter().cloned().map(Event::LaidOut));
        for Repeat { started, intervals, imported, finished } in self.all_repeats() {
            events.push(Event::RepeatStarted(started.clone()));
            events.extend(intervals.iter().cloned().map(Event::Interval));
            events.extend(imported.iter().cloned().map(Event::Imported));
            events.extend(finished.iter().cloned().map(Event::RepeatFinished));
        }
        events.extend(set_aside.iter().map(|(repeat, reason)| {
            let repeats = vec![repeat.started.repeat];
            Event::SetAside(SetAside { at_ns: 0, repeats, reason: reason.clone() })
        }));
        events.extend(readings.iter().cloned().map(Event::Reading));
        events.extend(notes.iter().cloned().map(Event::Note));
        events.extend(finished.iter().cloned().map(Event::RunFinished));
        events
    }

    /// Takes one more event into account. A second start and events of unknown repeats are ignored:
    /// they cannot come from a whole log.
    pub fn record(&mut self, event: Event) {
        match event {
            Event::RunStarted(_) => {}
            Event::LaidOut(laid_out) => self.layouts.push(laid_out),
            Event::RepeatStarted(started) => {
                self.repeats.push(Repeat { started, intervals: Vec::new(), imported: None, finished: None });
            }
            Event::Interval(interval) => {
                if let Some(repeat) = self.repeat_mut(interval.repeat) {
                    repeat.intervals.push(interval);
                }
            }
            Event::Imported(imported) => {
                if let Some(repeat) = self.repeat_mut(imported.repeat) {
                    repeat.imported = Some(imported);
                }
            }
            Event::Reading(reading) => self.readings.push(reading),
            Event::RepeatFinished(finished) => {
                if let Some(repeat) = self.repeat_mut(finished.repeat) {
                    repeat.finished = Some(finished);
                }
            }
            Event::SetAside(SetAside { repeats, reason, .. }) => {
                let aside = self.repeats.extract_if(.., |r| repeats.contains(&r.started.repeat));
                self.set_aside.extend(aside.map(|repeat| (repeat, reason.clone())));
            }
            Event::Note(note) => self.notes.push(note),
            Event::RunFinished(finished) => self.finished = Some(finished),
        }
    }

    /// Number of repeats that have begun, whether they count or not.
    pub fn begun(&self) -> u32 {
        (self.repeats.len() + self.set_aside.len()) as u32
    }

    /// All repeats, also those that do not count, in the order in which they ran.
    pub fn all_repeats(&self) -> Vec<&Repeat> {
        let aside = self.set_aside.iter().map(|(repeat, _)| repeat);
        let mut all: Vec<&Repeat> = self.repeats.iter().chain(aside).collect();
        all.sort_by_key(|repeat| repeat.started.repeat);
        all
    }

    /// True if other programs measured.
    pub fn is_imported(&self) -> bool {
        !self.started.sources.is_empty()
    }

    /// The repeat with a number, if it counts.
    pub fn repeat(&self, number: u32) -> Option<&Repeat> {
        self.repeats.iter().rev().find(|repeat| repeat.started.repeat == number)
    }

    fn repeat_mut(&mut self, number: u32) -> Option<&mut Repeat> {
        self.repeats.iter_mut().rev().find(|repeat| repeat.started.repeat == number)
    }

    /// The repeats of one step on one target, in order, that ended as planned.
    pub fn completed<'a>(&'a self, step: &'a str, target: &'a str) -> impl Iterator<Item = &'a Repeat> {
        self.repeats
            .iter()
            .filter(move |r| r.started.step == step && r.started.target == target && r.is_complete())
    }
}

impl Repeat {
    /// True if the repeat ended as planned: only then do its figures count.
    pub fn is_complete(&self) -> bool {
        self.finished.as_ref().is_some_and(|f| f.outcome == RepeatOutcome::Completed)
    }

    /// Nanoseconds from its start to the measured window. Repeats of a step may differ in length, and so in this.
    pub fn ramp_ns(&self, step: &Step) -> u64 {
        let measured = self.intervals.iter().filter(|i| i.phase == Phase::Measure);
        measured.map(|i| i.start_ns).min().unwrap_or(step.ramp_ns)
    }

    /// What was completed in the measured window, by operation: all intervals but the ramp's, merged.
    pub fn measured(&self) -> BTreeMap<Operation, OperationStats> {
        self.totals(|phase| phase == Phase::Measure)
    }

    /// What was completed before the measured window, by operation.
    pub fn ramp(&self) -> BTreeMap<Operation, OperationStats> {
        self.totals(|phase| phase == Phase::Ramp)
    }

    /// What was completed in the whole repeat, the ramp included, by operation.
    pub fn whole(&self) -> BTreeMap<Operation, OperationStats> {
        self.totals(|_| true)
    }

    fn totals(&self, wanted: impl Fn(Phase) -> bool) -> BTreeMap<Operation, OperationStats> {
        let mut totals: BTreeMap<Operation, OperationStats> = BTreeMap::new();
        for interval in self.intervals.iter().filter(|i| wanted(i.phase)) {
            for (operation, stats) in &interval.operations {
                totals.entry(*operation).or_default().merge(stats);
            }
        }
        totals
    }

    /// Achieved queue depth in the measured window, over all jobs: the mean number of operations
    /// that the kernel had in hand. `None` if nothing was measured, or by another program.
    pub fn queue_depth(&self) -> Option<f64> {
        if self.imported.is_some() {
            return None;
        }
        let window_ns = self.finished.as_ref()?.window_ns;
        let measured = self.intervals.iter().filter(|i| i.phase == Phase::Measure);
        let in_flight = measured.fold(0u64, |sum, i| sum.saturating_add(i.in_flight_ns));
        (window_ns > 0).then(|| in_flight as f64 / window_ns as f64)
    }
}
