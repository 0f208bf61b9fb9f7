//! The progress of a run, for people.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Event, Interval, Operation, OperationStats, RepeatOutcome, RepeatStarted, Severity, Step};
use report::{TerminalText, Units, display_iops, display_ns, display_rate, escape_line};

use crate::output;

/// Shows the progress of a run on standard error: as a bar on a terminal, as plain lines elsewhere, or not at all.
pub(crate) struct Progress {
    form: Form,
    units: Units,
    began: Instant,
    /// Expected end of the run.
    expected_end_ns: u64,
    rounds: Option<u32>,
    /// The repeats under way; several if they take turns.
    current: Vec<Current>,
    title: String,
    /// The target whose test data are being written, and since when.
    layout: Option<(String, Instant)>,
    has_waited: bool,
    /// When the last line about a repeat was printed.
    last_line: Option<Instant>,
}

/// A repeat under way.
struct Current {
    started: RepeatStarted,
    whole: std::collections::BTreeMap<Operation, OperationStats>,
    whole_ns: u64,
}

/// Shorter repeats have no line each.
const LINE_PERIOD: Duration = Duration::from_secs(1);

enum Form {
    Drawn(ProgressBar),
    Lines,
    Silent,
}

impl Progress {
    /// Progress in the form that fits the output.
    pub fn new(quiet: bool, plain: bool, units: Units) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        let form = match (quiet, terminal && !plain) {
            (true, _) => Form::Silent,
            (_, true) => Form::Drawn(bar()),
            (_, false) => Form::Lines,
        };
        Self {
            form,
            units,
            began: Instant::now(),
            expected_end_ns: 0,
            rounds: None,
            current: Vec::new(),
            title: String::new(),
            layout: None,
            has_waited: false,
            last_line: None,
        }
    }

    /// Sets the expected end and number of rounds.
    pub fn expect(&mut self, end_ns: u64, rounds: Option<u32>) {
        self.expected_end_ns = end_ns;
        self.rounds = rounds;
    }

    /// The test files of a target are being laid out.
    pub fn laying_out(&mut self, target: &str, done: u64, total: u64) {
        let began = match &self.layout {
            Some((name, began)) if name == target => *began,
            _ => self.layout.insert((target.to_owned(), Instant::now())).1,
        };
        let rate = done as f64 / began.elapsed().as_secs_f64().max(1e-9);
        let share = (100 * done).checked_div(total).unwrap_or(0);
        if let Form::Drawn(bar) = &self.form {
            let message =
                format!("{share} % of {:.2} GB, {}", total as f64 / 1e9, display_rate(rate, self.units));
            self.draw(bar, format!("writing test data · {target}"), message);
        }
    }

    /// Unit prefixes for bytes.
    pub fn units(&self) -> Units {
        self.units
    }

    /// Shows what the run waits for; without a bar, only once.
    pub fn waiting(&mut self, what: &str) {
        match &self.form {
            Form::Drawn(bar) => self.draw(bar, "before the first round".into(), what.to_owned()),
            _ if !self.has_waited => self.line(what),
            _ => {}
        }
        self.has_waited = true;
    }

    /// Shows an event. `step` is the step that a repeat belongs to.
    pub fn observe(&mut self, event: &Event, step: Option<&Step>) {
        match event {
            Event::LaidOut(laid_out) => {
                let seconds = laid_out.elapsed_ns as f64 / 1e9;
                let (size, rate) = (laid_out.bytes as f64 / 1e9, laid_out.bytes as f64 / seconds.max(1e-9));
                let rate = display_rate(rate, self.units);
                self.line(&format!(
                    "{}: {size:.2} GB of test data in {seconds:.1} s ({rate})",
                    laid_out.target
                ));
            }
            Event::RepeatStarted(started) => {
                self.title = step.map_or_else(|| started.step.clone(), |s| s.title.clone());
                let whole = std::collections::BTreeMap::new();
                self.current.push(Current { started: started.clone(), whole, whole_ns: 0 });
                self.show(started, "");
            }
            Event::Interval(interval) => self.interval(interval),
            Event::RepeatFinished(finished) => self.finished(finished.repeat, &finished.outcome),
            Event::Note(note) if note.severity > Severity::Info => {
                let target = note.target.as_deref().map(|t| format!("{t}: ")).unwrap_or_default();
                self.line(&format!("{}: {target}{}", note.severity.name(), note.message));
            }
            _ => {}
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let own = self.current.iter_mut().find(|current| current.started.repeat == interval.repeat);
        let Some(Current { started, whole, whole_ns }) = own else { return };
        for (operation, stats) in &interval.operations {
            whole.entry(*operation).or_default().merge(stats);
        }
        *whole_ns += interval.len_ns;
        let started = started.clone();
        let now = figures(&interval.operations, interval.len_ns, self.units);
        self.show(&started, &now);
    }

    fn finished(&mut self, repeat: u32, outcome: &RepeatOutcome) {
        let own = self.current.iter().position(|current| current.started.repeat == repeat);
        let Some(Current { started, whole, whole_ns }) = own.map(|own| self.current.remove(own)) else {
            return;
        };
        // Of short repeats not each has its line.
        let is_short = started.time_ns.is_some_and(|ns| ns < LINE_PERIOD.as_nanos() as u64);
        let is_due = self.last_line.is_none_or(|last| last.elapsed() >= LINE_PERIOD);
        if matches!(self.form, Form::Lines) && (is_due || !is_short || *outcome != RepeatOutcome::Completed) {
            self.last_line = Some(Instant::now());
            let how = match outcome {
                RepeatOutcome::Completed => figures(&whole, whole_ns, self.units),
                RepeatOutcome::Interrupted => "stopped".into(),
                RepeatOutcome::Failed(failure) => failure.to_string(),
            };
            let round = self.round(&started);
            let seconds = self.began.elapsed().as_secs();
            output::say(&format!("[{seconds:>4} s] {round}  {}  {}  {how}", started.target, self.title));
        }
    }

    fn round(&self, started: &RepeatStarted) -> String {
        match self.rounds {
            Some(rounds) => format!("round {} of {rounds}", started.round + 1),
            None => format!("round {}", started.round + 1),
        }
    }

    fn show(&self, started: &RepeatStarted, now: &str) {
        let Form::Drawn(bar) = &self.form else { return };
        let prefix = format!("{} · {} · {}", self.round(started), started.target, self.title);
        self.draw(bar, prefix, now.to_owned());
    }

    fn draw(&self, bar: &ProgressBar, prefix: String, message: String) {
        let elapsed = self.began.elapsed().as_nanos() as u64;
        let left = Duration::from_nanos(self.expected_end_ns.saturating_sub(elapsed));
        bar.set_length(self.expected_end_ns.max(1));
        bar.set_position(elapsed.min(self.expected_end_ns));
        bar.set_prefix(escape_line(&prefix).into_owned());
        let left = match left.as_secs() {
            0 => "nearly done".to_owned(),
            s if s < 120 => format!("{s} s left"),
            s => format!("{} min left", s.div_ceil(60)),
        };
        let message = if message.is_empty() { left } else { format!("{left}  {message}") };
        bar.set_message(escape_line(&message).into_owned());
    }

    /// Prints a permanent line about the run.
    pub fn say(&self, line: &str) {
        self.line(line);
    }

    /// Prints a permanent line.
    fn line(&self, line: &str) {
        match &self.form {
            Form::Drawn(bar) => bar.println(&*TerminalText::from(line)),
            Form::Lines => output::say(line),
            Form::Silent => {}
        }
    }

    /// Removes the bar, so that only the result remains.
    pub fn finish(&self) {
        if let Form::Drawn(bar) = &self.form {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{prefix}\n{bar:24.cyan/dim} {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
    bar
}

/// Rates and p99 of the operations except durable writes, in one line.
fn figures(
    operations: &std::collections::BTreeMap<Operation, OperationStats>,
    len_ns: u64,
    units: Units,
) -> String {
    let seconds = len_ns as f64 / 1e9;
    let shown = operations.iter().filter(|(o, s)| **o != Operation::DurableWrite && s.count > 0);
    let parts = shown.map(|(operation, stats)| {
        let rate = match stats.bytes {
            0 => String::new(),
            bytes => format!("{}  ", display_rate(bytes as f64 / seconds, units)),
        };
        let p99 = stats.lat.percentile_ns(99.0).map_or_else(String::new, |ns| display_ns(ns as f64));
        format!("{operation} {rate}{} IOPS  p99 {p99}", display_iops(stats.count as f64 / seconds))
    });
    parts.collect::<Vec<_>>().join(" · ")
}
