//! Every event goes to the log at once and is folded into the run in memory.

use std::time::Instant;

use model::{Event, Note, Run, RunStarted, Severity};
use record::{LogWriter, Store, StoreError};

/// The record of a run under way.
pub(crate) struct Recorder {
    origin: Instant,
    writer: LogWriter,
    run: Run,
    /// The log could not be written, and that has been said.
    troubled: bool,
}

impl Recorder {
    /// Begins the record of a run.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn begin(store: &Store, started: RunStarted) -> Result<Self, StoreError> {
        let origin = Instant::now();
        let writer = store.begin(started.clone())?;
        Ok(Self { origin, writer, run: Run::new(started), troubled: false })
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
        if let Err(error) = self.writer.append_all(&events)
            && !self.troubled
        {
            self.troubled = true;
            let message = format!(
                "the log {} cannot be written ({error}); the run goes on, and what is missing is added when it can be",
                self.writer.path().display()
            );
            let (at_ns, severity) = (self.at_ns(), Severity::Warning);
            self.run.record(Event::Note(Note {
                at_ns,
                severity,
                topic: "log".into(),
                target: None,
                message,
            }));
        }
        events.into_iter().for_each(|event| self.run.record(event));
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Puts the log on stable storage. Where that fails, the kernel keeps it as long as it runs.
    pub fn sync(&self) {
        let _ = self.writer.sync();
    }
}
