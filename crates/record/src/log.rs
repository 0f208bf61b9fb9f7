//! One run as lines of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use model::{Event, LOG_FORMAT, Run, RunStarted};
use serde_json::Value;

/// A line longer than this is not from Lodestone; reading it would only take memory.
const LONGEST_LINE: u64 = 64 << 20;

/// Appends a run's events to its log. The file stays locked while the run is under way.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
    path: PathBuf,
    /// Where the last whole line ends.
    good_end: u64,
    /// Lines that could not be written yet, such as on a full disk.
    pending: Vec<u8>,
    /// A part of a line stands behind the last whole one and has to be cut off first.
    is_torn: bool,
}

impl LogWriter {
    /// Begins a log in a new file.
    ///
    /// # Errors
    /// The kernel's; among them that the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        // A filesystem without locks (some network mounts) only costs the knowledge that it runs.
        let _ = file.try_lock();
        Ok(Self { file, path: path.to_owned(), good_end: 0, pending: Vec::new(), is_torn: false })
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event and hands it to the kernel. What cannot be written is kept and tried again
    /// with the next event, so that a disk that is full for a while costs nothing.
    ///
    /// # Errors
    /// The kernel's; the event is not lost.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Appends several events with one call to the kernel.
    ///
    /// # Errors
    /// As of [`LogWriter::append`].
    pub fn append_all(&mut self, events: &[Event]) -> io::Result<()> {
        for event in events {
            serde_json::to_writer(&mut self.pending, event)?;
            self.pending.push(b'\n');
        }
        self.mend()?;
        if let Err(error) = self.file.write_all(&self.pending) {
            // A part of the line may have got through; it must not stand in the middle of the log.
            self.is_torn = true;
            self.mend()?;
            return Err(error);
        }
        self.good_end += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Cuts off what stands behind the last whole line.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.good_end)?;
            self.file.seek(SeekFrom::Start(self.good_end))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Puts the whole log on stable storage.
    ///
    /// # Errors
    /// The kernel's.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// What a log says.
#[derive(Debug)]
pub struct Log {
    /// The run.
    pub run: Run,
    /// The last line was cut off: the run was killed while it wrote, or is writing now.
    pub cut_off: bool,
    /// Numbers, from 1, of lines before the last that could not be read.
    pub damaged_lines: Vec<usize>,
}

/// Why a log cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The log.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The first line is not the start of a run.
    #[error("{path} is not a run log of Lodestone: its first line is not the start of a run ({reason})")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What is wrong with the line.
        reason: String,
    },
    /// A later version wrote it.
    #[error(
        "{path} is in log format {format}, and this version of Lodestone reads formats up to {LOG_FORMAT}: use the version that wrote it, or a newer one"
    )]
    TooNew {
        /// The log.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
}

/// Reads the log of a run that has ended, was killed, or is still under way.
///
/// # Errors
/// [`LogError`].
pub fn read_log(path: &Path) -> Result<Log, LogError> {
    let file = File::open(path).map_err(|source| LogError::Unreadable { path: path.to_owned(), source })?;
    parse_log(BufReader::new(file), path)
}

/// Reads only how a run was begun.
pub(crate) fn read_start(path: &Path) -> Result<RunStarted, LogError> {
    let unreadable = |source| LogError::Unreadable { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut line = Vec::new();
    next_line(&mut reader, &mut line).map_err(unreadable)?;
    let run = parse_log(line.as_slice(), path)?.run;
    Ok(run.started)
}

/// Reads a log from anywhere; `path` is only for messages.
///
/// # Errors
/// [`LogError`].
pub fn parse_log(mut reader: impl BufRead, path: &Path) -> Result<Log, LogError> {
    let unreadable = |source| LogError::Unreadable { path: path.to_owned(), source };
    let mut line = Vec::new();
    let not_a_log = |reason: String| LogError::NotALog { path: path.to_owned(), reason };
    next_line(&mut reader, &mut line).map_err(unreadable)?;
    let format = format_of(&line).map_err(not_a_log)?;
    if format > u64::from(LOG_FORMAT) {
        return Err(LogError::TooNew { path: path.to_owned(), format });
    }
    let first: Event = serde_json::from_slice(&line).map_err(|e| not_a_log(e.to_string()))?;
    let mut run = Run::from_events([first]).ok_or_else(|| not_a_log("another event comes first".into()))?;
    let (mut cut_off, mut damaged_lines) = (false, Vec::new());
    for number in 2.. {
        if !next_line(&mut reader, &mut line).map_err(unreadable)? {
            break;
        }
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) => run.record(event),
            Err(_) if line.last() != Some(&b'\n') => cut_off = true,
            Err(_) => damaged_lines.push(number),
        }
    }
    Ok(Log { run, cut_off, damaged_lines })
}

/// Reads one line, its end included; false at the end of the file. The rest of a line that is too long
/// is read over.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let n = io::Read::take(&mut *reader, LONGEST_LINE).read_until(b'\n', line)?;
    if n as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
        line.truncate(0);
        line.push(b'\n');
    }
    Ok(n > 0)
}

fn format_of(first_line: &[u8]) -> Result<u64, String> {
    let value: Value = serde_json::from_slice(first_line).map_err(|e| e.to_string())?;
    if value.get("event").and_then(Value::as_str) != Some("run_started") {
        return Err("it is another event, or none".into());
    }
    value.get("format").and_then(Value::as_u64).ok_or_else(|| "it names no format".into())
}
