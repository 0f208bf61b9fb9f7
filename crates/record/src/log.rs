//! The log of one run: lines of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use model::units::counted;
use model::{Event, LOG_FORMAT, Note, Run, RunStarted, Severity};
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::{Errno, retry_on_intr};
use serde_json::Value;

use crate::chain::{Chain, ChainChecker, Damage, DamageKind};
use crate::compressed::{decompressed, is_damage};
use crate::encoding::{Decoder, Encoder};
use crate::input::{self, MOST_LOG_BYTES};

/// Lodestone writes no longer line; reading one would only use memory.
const LONGEST_LINE: u64 = 64 << 20;
/// The oldest format that is read.
const OLDEST_FORMAT: u64 = 2;

/// Appends a run's events to its log. The file stays locked while the run is in progress.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
    path: PathBuf,
    /// Offset of the end of the last complete line.
    good_end: u64,
    /// Lines that could not be written yet, for example on a full disk.
    pending: Vec<u8>,
    /// A partial line follows the last complete one and must be truncated first.
    is_torn: bool,
    /// Number and checksum of the last line, including pending lines.
    chain: Chain,
    encoder: Encoder,
    /// Bytes reserved, counted from the start of the file.
    reserved: u64,
}

impl LogWriter {
    /// Begins a log in a new file.
    ///
    /// # Errors
    /// An I/O error, for example `EEXIST` if the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(OpenOptions::new().read(true).append(true).create_new(true).open(path)?, path))
    }

    /// Begins a log in an empty file that is open for reading and appending.
    pub(crate) fn new(file: File, path: &Path) -> Self {
        // Without locks (some network mounts), the run is only not shown as running.
        let _ = file.try_lock();
        Self {
            file,
            path: path.to_owned(),
            good_end: 0,
            pending: Vec::new(),
            is_torn: false,
            chain: Chain::default(),
            encoder: Encoder::default(),
            reserved: 0,
        }
    }

    /// Path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event and passes it to the kernel. An event that cannot be written stays pending and is retried
    /// with the next one, so a disk that is temporarily full loses nothing.
    ///
    /// # Errors
    /// An I/O error; the event stays pending.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Appends several events in one write.
    ///
    /// # Errors
    /// Those of [`LogWriter::append`].
    pub fn append_all(&mut self, events: &[Event]) -> io::Result<()> {
        self.encoder.encode(events, |line| {
            let from = self.pending.len();
            self.pending.extend(line);
            self.chain.seal(&mut self.pending, from);
        })?;
        self.write_pending()
    }

    /// Writes the pending lines.
    ///
    /// # Errors
    /// An I/O error; the lines stay pending.
    pub fn write_pending(&mut self) -> io::Result<()> {
        self.mend()?;
        if let Err(error) = self.file.write_all(&self.pending) {
            // Part of the line may have been written; it must not remain inside the log.
            self.is_torn = true;
            self.mend()?;
            return Err(error);
        }
        self.good_end += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Truncates the file after the last complete line.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.good_end)?;
            self.file.seek(SeekFrom::Start(self.good_end))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Reserves space for a log of `bytes` bytes, so that other writers cannot fill the disk during the run. On a
    /// filesystem without reservation it only checks the free space.
    ///
    /// # Errors
    /// There is not enough space, or an I/O error.
    pub fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        match retry_on_intr(|| fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, bytes)) {
            Ok(()) => {
                self.reserved = bytes;
                Ok(())
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                let free = fstatvfs(&self.file)?;
                let room = free.f_bavail.saturating_mul(free.f_frsize);
                if room >= bytes { Ok(()) } else { Err(Errno::NOSPC.into()) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Releases unused reserved space. If the release fails, the file occupies more space than its length.
    pub fn release(&mut self) {
        if self.reserved > self.good_end {
            let _ = self.file.set_len(self.good_end);
            // Some filesystems free nothing if the length stays the same.
            let (at, bytes) = (self.good_end, self.reserved - self.good_end);
            let _ = fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes);
        }
        self.reserved = 0;
    }

    /// Syncs the whole log to stable storage.
    ///
    /// # Errors
    /// An I/O error.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Copies the whole log, including pending lines.
    ///
    /// # Errors
    /// An I/O error of the file or of `other`.
    pub fn copy_to(&mut self, other: &mut dyn Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let copied = io::copy(&mut Read::take(&self.file, self.good_end), other)?;
        if copied < self.good_end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        other.write_all(&self.pending)
    }
}

/// The content of a log.
#[derive(Debug)]
pub struct Log {
    /// The run.
    pub run: Run,
    /// The last line is incomplete: the run was killed while it wrote, or is writing now.
    pub cut_off: bool,
    /// Damage to lines before the last. The run has a note about it.
    pub damage: Vec<Damage>,
}

/// How a damaged log is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// Reads up to the first damaged line.
    #[default]
    Stop,
    /// Uses every readable line that is not a repetition.
    Accept,
}

/// Topic of the note about damage to a log.
pub const DAMAGE_TOPIC: &str = "log-damaged";

/// Why a log cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The log.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The first line is not the start of a run.
    #[error("{path} is not a run log of Lodestone: its first line is not the start of a run ({reason})")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What is wrong with the line.
        #[source]
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The first line is damaged, so only `OnDamage::Accept` reads anything.
    #[error(
        "cannot use {path}: it is damaged from its first line: {damage}; pass this path to `lodestone show \
         --accept-damage` to see all readable lines"
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The damage.
        damage: Damage,
    },
    /// Another version wrote it.
    #[error(
        "{path} is in log format {format}, and this version of Lodestone reads formats {OLDEST_FORMAT} to \
         {LOG_FORMAT}: use the version that wrote it"
    )]
    OtherFormat {
        /// The log.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
}

/// Reads the log of a run that has ended, was killed, or is still in progress, up to the first damage.
///
/// # Errors
/// [`LogError`].
pub fn read_log(path: &Path) -> Result<Log, LogError> {
    read_named_log(path, OnDamage::Stop)
}

/// Reads a log that the user named by its path.
pub(crate) fn read_named_log(path: &Path, on_damage: OnDamage) -> Result<Log, LogError> {
    let file = input::open(path, MOST_LOG_BYTES)
        .map_err(|error| LogError::Unreadable { path: path.to_owned(), source: error.into() })?;
    parse_log_with(file, path, on_damage)
}

/// Reads only the start of a run.
pub(crate) fn read_start(file: File, path: &Path) -> Result<RunStarted, LogError> {
    let unreadable = |source| LogError::Unreadable { path: path.to_owned(), source };
    let mut line = Vec::new();
    decompressed(file).and_then(|mut text| next_line(&mut text, &mut line)).map_err(unreadable)?;
    let run = parse_log(line.as_slice(), path)?.run;
    Ok(run.started)
}

/// Reads a log from anywhere, compressed or not, up to the first damage; `path` is only for messages.
///
/// # Errors
/// [`LogError`].
pub fn parse_log(reader: impl Read, path: &Path) -> Result<Log, LogError> {
    parse_log_with(reader, path, OnDamage::Stop)
}

/// Reads a log from anywhere, compressed or not; `path` is only for messages.
///
/// # Errors
/// [`LogError`].
pub fn parse_log_with(reader: impl Read, path: &Path, on_damage: OnDamage) -> Result<Log, LogError> {
    let unreadable = |source| LogError::Unreadable { path: path.to_owned(), source };
    let mut text = decompressed(reader).map_err(unreadable)?;
    let mut line = Vec::new();
    next_line(&mut text, &mut line).map_err(unreadable)?;
    let mut parser = Parser::begin(&line, path, on_damage)?;
    for number in 2.. {
        match next_line(&mut text, &mut line) {
            Ok(true) => parser.take(&line, number),
            Ok(false) => break,
            Err(error) if is_damage(&error) => {
                parser.log.damage.push(Damage { line: number, kind: DamageKind::Compressed });
                break;
            }
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(parser.finish())
}

/// A log that is being read.
struct Parser {
    log: Log,
    decoder: Decoder,
    checker: ChainChecker,
    on_damage: OnDamage,
    /// Number of lines left out because of earlier damage.
    left_out: usize,
}

impl Parser {
    /// Reads the first line.
    fn begin(line: &[u8], path: &Path, on_damage: OnDamage) -> Result<Self, LogError> {
        let not_a_log = |reason| LogError::NotALog { path: path.to_owned(), reason };
        let format = format_of(line).map_err(not_a_log)?;
        if !(OLDEST_FORMAT..=u64::from(LOG_FORMAT)).contains(&format) {
            return Err(LogError::OtherFormat { path: path.to_owned(), format });
        }
        let first: Event = serde_json::from_slice(line).map_err(|e| not_a_log(e.into()))?;
        let run = Run::from_events([first]).ok_or_else(|| not_a_log("it is another event".into()))?;
        let log = Log { run, cut_off: false, damage: Vec::new() };
        let (decoder, checker) = (Decoder::default(), ChainChecker::default());
        let mut parser = Self { log, decoder, checker, on_damage, left_out: 0 };
        if let Err(kind) = parser.checker.check(line) {
            // The program was killed while it wrote the first line.
            if line.last() != Some(&b'\n') {
                return Err(not_a_log("it is incomplete".into()));
            }
            let damage = Damage { line: 1, kind };
            if on_damage == OnDamage::Stop {
                return Err(LogError::Damaged { path: path.to_owned(), damage });
            }
            parser.log.damage.push(damage);
        }
        Ok(parser)
    }

    /// True if damage was found and the rest of the log is not used.
    fn has_stopped(&self) -> bool {
        self.left_out > 0
    }

    fn take(&mut self, line: &[u8], number: usize) {
        if self.has_stopped() {
            self.left_out += 1;
            return;
        }
        let is_last = line.last() != Some(&b'\n');
        let events = self.decoder.decode(line);
        match (events, self.checker.check(line)) {
            // The run was killed while it wrote this line, or it is still writing it.
            (Err(_), _) | (_, Err(DamageKind::Unreadable)) if is_last => self.log.cut_off = true,
            (Ok(events), Ok(())) => events.into_iter().for_each(|event| self.log.run.record(event)),
            (Err(_), Ok(())) => {
                self.log.damage.push(Damage { line: number, kind: DamageKind::Unknown });
            }
            (events, Err(kind)) => {
                let is_repeated = matches!(kind, DamageKind::Doubled { .. });
                self.log.damage.push(Damage { line: number, kind });
                if self.on_damage == OnDamage::Stop {
                    self.left_out = 1;
                } else if let Ok(events) = events
                    && !is_repeated
                {
                    events.into_iter().for_each(|event| self.log.run.record(event));
                }
            }
        }
    }

    fn finish(mut self) -> Log {
        if let Some(first) = self.log.damage.first() {
            let message = if let DamageKind::Compressed = first.kind {
                format!("the log is damaged: {first}; the figures cover only the lines before it")
            } else if self.left_out > 0 {
                format!(
                    "the log is damaged: {first}; {} from there on are ignored, and the figures \
                     cover only the earlier lines; pass --accept-damage to use all readable lines",
                    counted(self.left_out, "line")
                )
            } else {
                let others = match self.log.damage.len() - 1 {
                    0 => String::new(),
                    others => format!(", and {others} more"),
                };
                format!(
                    "the log is damaged: {first}{others}; all readable lines are used, so the figures may be wrong"
                )
            };
            let (severity, topic) = (Severity::Error, DAMAGE_TOPIC.to_owned());
            self.log.run.notes.push(Note { at_ns: 0, severity, topic, target: None, message });
        }
        self.log
    }
}

/// Reads one line with its line feed; false at the end of the file. Skips the rest of a line that is too long.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let n = Read::take(&mut *reader, LONGEST_LINE).read_until(b'\n', line)?;
    if n as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
        line.truncate(0);
        line.push(b'\n');
    }
    Ok(n > 0)
}

fn format_of(first_line: &[u8]) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let value: Value = serde_json::from_slice(first_line)?;
    if value.get("event").and_then(Value::as_str) != Some("run_started") {
        return Err("it is another event, or not an event".into());
    }
    value.get("format").and_then(Value::as_u64).ok_or_else(|| "it has no format number".into())
}
