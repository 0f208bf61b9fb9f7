//! Every event goes to the log at once and is folded into the run in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::{Event, Note, Plan, Rounds, Run, RunStarted, Severity};
use record::{LogWriter, Store, StoreError, begin_elsewhere};

/// Bytes of log reserved for one interval of a repeat and for one second of telemetry: about the size of the
/// histograms of two operations and of the readings of a small machine.
const PER_LINE: u64 = 4 << 10;
/// Limits of the space reserved for a log.
const LEAST_ROOM: u64 = 1 << 20;
const MOST_ROOM: u64 = 64 << 20;

/// The record of a run under way.
pub(crate) struct Recorder {
    origin: Instant,
    sink: Sink,
    run: Run,
    /// The log could not be written, and a note says so.
    troubled: bool,
    log_location: LogLocation,
}

/// Where the events of a run go.
enum Sink {
    /// Into a log.
    Log {
        /// Where it belongs.
        store: Store,
        /// Writes it.
        writer: LogWriter,
    },
    /// To whoever ordered the repeats.
    Outlet(Box<dyn Outlet>),
}

/// Takes the events of a run that another process records.
pub(crate) trait Outlet {
    /// Takes events.
    fn take(&mut self, events: &[Event]);
}

/// Where the log of a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogLocation {
    /// In the store.
    InStore,
    /// In a fallback directory, because the store could not be written.
    Elsewhere {
        /// The complete log.
        path: PathBuf,
        /// Where it belongs.
        home: PathBuf,
        /// The error of the store's filesystem.
        why: String,
    },
    /// It is incomplete everywhere.
    Nowhere {
        /// The incomplete log in the store.
        home: PathBuf,
        /// The errors of the store's filesystem and the fallback directories.
        why: String,
    },
}

impl LogLocation {
    /// What is wrong and what to do, if the log is not in the store.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::InStore => None,
            Self::Elsewhere { path, home, why } => Some(format!(
                "cannot write the log of this run to the store: {why}. The complete log is in {path}, which may not \
                 survive a reboot; free some space and move the log with `mv {path} {home}`",
                path = path.display(),
                home = home.display()
            )),
            Self::Nowhere { home, why } => Some(format!(
                "the log of this run is incomplete: cannot write it to {} or to a fallback directory ({why}). Save \
                 this output; it cannot be shown again",
                home.display()
            )),
        }
    }
}

/// Why the record of a run cannot be begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no room for the log.
    #[error(
        "cannot begin the log of this run: it needs about {needed} bytes, and there is no room in {store} ({why}) or \
         elsewhere ({elsewhere}); nothing was measured; free some space, or choose another store with --store DIR"
    )]
    NoRoom {
        needed: u64,
        store: PathBuf,
        #[source]
        why: io::Error,
        elsewhere: io::Error,
    },
}

impl Recorder {
    /// Begins the record of a run and reserves space for its log: in the store, or else in one of the `fallback`
    /// directories.
    ///
    /// # Errors
    /// The store cannot be written, or no directory has room.
    pub fn begin(store: &Store, started: RunStarted, fallback: &[PathBuf]) -> Result<Self, BeginError> {
        let origin = Instant::now();
        let needed = room(&started.plan, started.targets.len());
        let (why, home) = match store.begin(started.clone()) {
            Ok(mut writer) => match writer.reserve(needed) {
                Ok(()) => return Ok(Self::new(origin, store, writer, started, LogLocation::InStore)),
                Err(why) => {
                    let home = writer.path().to_owned();
                    // The remainder would look like a run that was killed at once.
                    let _ = store.discard(writer);
                    (why, home)
                }
            },
            Err(StoreError::Directory { source, .. }) if is_full(&source) => (source, store.logs()),
            Err(error) => return Err(error.into()),
        };
        let writer = begin_elsewhere(fallback, &started, needed).map_err(|elsewhere| BeginError::NoRoom {
            needed,
            store: store.logs(),
            why: io::Error::new(why.kind(), why.to_string()),
            elsewhere,
        })?;
        let log_location =
            LogLocation::Elsewhere { path: writer.path().to_owned(), home, why: why.to_string() };
        let message = format!(
            "the store has no room for the log of this run, about {needed} bytes ({why}); the log is written to {}",
            writer.path().display()
        );
        let mut recorder = Self::new(origin, store, writer, started, log_location);
        recorder.note(message);
        Ok(recorder)
    }

    fn new(
        origin: Instant,
        store: &Store,
        writer: LogWriter,
        started: RunStarted,
        log_location: LogLocation,
    ) -> Self {
        let sink = Sink::Log { store: store.clone(), writer };
        Self { origin, sink, run: Run::new(started), troubled: false, log_location }
    }

    /// The record of a run that another process keeps. Times count from `origin`.
    pub fn at_outlet(origin: Instant, started: RunStarted, outlet: Box<dyn Outlet>) -> Self {
        let (sink, log_location) = (Sink::Outlet(outlet), LogLocation::InStore);
        Self { origin, sink, run: Run::new(started), troubled: false, log_location }
    }

    /// Where the log is; final only after `finish`.
    pub fn log_location(&self) -> &LogLocation {
        &self.log_location
    }

    /// Nanoseconds since the run began.
    pub fn at_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// The moment from which the events' times count.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Records an event.
    pub fn emit(&mut self, event: Event) {
        self.emit_all(vec![event]);
    }

    /// Records events. A log that cannot be written does not end the run: the figures are kept in memory and
    /// shown, and the log is completed as soon as it can be.
    pub fn emit_all(&mut self, events: Vec<Event>) {
        match &mut self.sink {
            Sink::Log { writer, .. } => {
                if let Err(error) = writer.append_all(&events)
                    && !self.troubled
                {
                    self.troubled = true;
                    let message = format!(
                        "the log {} cannot be written ({error}); the run goes on, and missing events are added as soon as possible",
                        writer.path().display()
                    );
                    self.say(Severity::Warning, message);
                }
                events.into_iter().for_each(|event| self.run.record(event));
            }
            Sink::Outlet(outlet) => {
                outlet.take(&events);
                events.into_iter().for_each(|event| self.remember(event));
            }
        }
    }

    /// Keeps what an executor asks for again: of the repeats only the last, and no telemetry.
    fn remember(&mut self, event: Event) {
        match &event {
            Event::Reading(_) => return,
            Event::RepeatStarted(_) => self.run.repeats.clear(),
            _ => {}
        }
        self.run.record(event);
    }

    /// Records a warning about the log in the log.
    fn note(&mut self, message: String) {
        let at_ns = self.at_ns();
        let (severity, topic) = (Severity::Warning, "log".to_owned());
        self.emit(Event::Note(Note { at_ns, severity, topic, target: None, message }));
    }

    /// Records a note about the log in memory only, because the log cannot be written.
    fn say(&mut self, severity: Severity, message: String) {
        let at_ns = self.at_ns();
        self.run.record(Event::Note(Note { at_ns, severity, topic: "log".into(), target: None, message }));
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Writes the log to stable storage: in the store, compressed if there is room for it, or else in one of the
    /// `fallback` directories.
    pub fn finish(&mut self, fallback: &[PathBuf]) {
        let Sink::Log { store, writer } = &mut self.sink else { return };
        writer.release();
        let whole = writer.write_pending().and_then(|()| match writer.sync() {
            // A filesystem without sync has still accepted all writes.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        });
        if let Err(why) = whole {
            let home = match &self.log_location {
                LogLocation::Elsewhere { home, .. } => home.clone(),
                _ => writer.path().to_owned(),
            };
            self.log_location = match writer.save_elsewhere(fallback) {
                Ok(path) => LogLocation::Elsewhere { path, home, why: why.to_string() },
                Err(elsewhere) => LogLocation::Nowhere { home, why: format!("{why}; {elsewhere}") },
            };
        }
        match self.log_location.trouble() {
            Some(trouble) => self.say(Severity::Error, trouble),
            // A log that cannot be compressed stays as it is.
            None => drop(store.compress(writer)),
        }
    }
}

/// True if the filesystem is full or the quota is exceeded.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Bytes of log to reserve before a run.
fn room(plan: &Plan, targets: usize) -> u64 {
    let per_round = |step: &model::Step| {
        let intervals = step.seconds() * 1e9 / step.interval_ns.max(1) as f64;
        intervals as u64 + step.seconds() as u64 + 2
    };
    let lines = match plan.rounds {
        Rounds::Fixed(rounds) => {
            let round: u64 = plan.steps.iter().map(per_round).fold(0, u64::saturating_add);
            round.saturating_mul(u64::from(rounds)).saturating_mul(targets as u64)
        }
        Rounds::Auto { budget_ns, .. } => {
            let interval = |step: &model::Step| step.interval_ns.min(step.shortest_ns.unwrap_or(u64::MAX));
            let shortest = plan.steps.iter().map(interval).min().unwrap_or(1);
            budget_ns / shortest.max(1) + budget_ns / 1_000_000_000
        }
    };
    lines.saturating_mul(PER_LINE).clamp(LEAST_ROOM, MOST_ROOM)
}

/// Directories for a log that the store cannot hold, private ones first.
pub(crate) fn fallback_directories() -> Vec<PathBuf> {
    let temporary = [std::env::temp_dir(), Path::new("/var/tmp").to_owned()];
    let mut directories: Vec<PathBuf> =
        host::scratch::runtime_directory().into_iter().chain(temporary).collect();
    directories.dedup();
    directories
}
