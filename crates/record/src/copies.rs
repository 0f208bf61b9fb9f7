//! Whole logs as bytes: out of a store, into one, and of a run that no store has.

use std::ffi::OsStr;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use model::{Event, LOG_FORMAT, Run};

use crate::below;
use crate::chain::{Chain, Damage};
use crate::compressed::MAGIC;
use crate::directory::{self, COMPRESSED, StoreError};
use crate::encoding::Encoder;
use crate::log::{LogError, parse_log};
use crate::store::{Store, log_name};
use crate::summary::RunSummary;
use crate::unfinished::Unfinished;

/// Why a log cannot be taken into a store.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It is damaged.
    #[error("the log is damaged: {0}")]
    Damaged(Damage),
    /// Its id cannot be a part of a file name.
    #[error("the log has an id that no version of Lodestone makes")]
    Id,
    /// Its name cannot be that of a log.
    #[error("`{0}` is not the name of a log")]
    Name(String),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// The bytes of a run's log as it is stored; at most `most`.
    ///
    /// # Errors
    /// [`LogError::Unreadable`], also if the log is longer.
    pub fn log_bytes(&self, run: &RunSummary, most: u64) -> Result<Vec<u8>, LogError> {
        let bytes = self.log_part(&run.file, 0, most.saturating_add(1))?;
        if bytes.len() as u64 > most {
            let source = io::Error::other(format!("it is longer than {most} bytes"));
            return Err(LogError::Unreadable { path: self.logs().join(&run.file), source });
        }
        Ok(bytes)
    }

    /// At most `most` bytes of the log with this name, from this byte on.
    ///
    /// # Errors
    /// [`LogError::Unreadable`].
    pub fn log_part(&self, name: &str, from: u64, most: u64) -> Result<Vec<u8>, LogError> {
        let directory = self.existing().ok_or_else(|| io::ErrorKind::NotFound.into());
        let read = directory.and_then(|directory| {
            let mut file = below::open_regular(&directory.runs()?, name)?;
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        read.map_err(|source| LogError::Unreadable { path: self.logs().join(name), source })
    }

    /// Takes a whole log into the store and returns its run. The log is complete before it has a name.
    ///
    /// # Errors
    /// [`CopyError`]; nothing was stored.
    pub fn add_log(&self, bytes: &[u8], origin: &str) -> Result<Run, CopyError> {
        let log = parse_log(bytes, &PathBuf::from(origin))?;
        if let Some(damage) = log.damage.into_iter().next() {
            return Err(CopyError::Damaged(damage));
        }
        let started = &log.run.started;
        if started.id.is_empty() || !started.id.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(CopyError::Id);
        }
        let suffix = if bytes.starts_with(&MAGIC) { COMPRESSED } else { "" };
        let name = format!("{}{suffix}", log_name(started));
        let refused = |source| StoreError::Directory { path: self.logs().join(&name), source };
        let runs = self.writable()?.runs().map_err(refused)?;
        let written = Unfinished::create(&runs).and_then(|(unfinished, mut file)| {
            file.write_all(bytes)?;
            file.sync_all()?;
            unfinished.take(OsStr::new(&name))?;
            // Some filesystems sync no directory.
            let _ = rustix::fs::fsync(&runs);
            Ok(())
        });
        written.map_err(refused)?;
        Ok(log.run)
    }

    /// Takes a log out of another store under the name and time of change (nanoseconds of Unix time) that it has there, in place of
    /// what has that name here. Its content is not checked: a damaged log is as damaged here as there.
    ///
    /// # Errors
    /// [`CopyError`]; nothing was stored.
    pub fn copy_log(&self, name: &str, modified_ns: i64, bytes: &[u8]) -> Result<(), CopyError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !directory::names_log(name) || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(CopyError::Name(name.escape_debug().to_string()));
        }
        let refused = |source| StoreError::Directory { path: self.logs().join(name), source };
        let runs = self.writable()?.runs().map_err(refused)?;
        let since_1970 = Duration::from_nanos(u64::try_from(modified_ns).unwrap_or(0));
        let written = Unfinished::create(&runs).and_then(|(unfinished, mut file)| {
            file.write_all(bytes)?;
            file.set_modified(UNIX_EPOCH + since_1970)?;
            file.sync_all()?;
            unfinished.replace(name)
        });
        Ok(written.map_err(refused)?)
    }
}

/// The log of a run in the current format, compressed. The same run has the same log.
///
/// # Errors
/// An event cannot be written as JSON.
pub fn log_of(run: &Run) -> io::Result<Vec<u8>> {
    let mut events = run.events();
    if let Some(Event::RunStarted(started)) = events.first_mut() {
        started.format = LOG_FORMAT;
    }
    let (mut chain, mut text) = (Chain::default(), Vec::new());
    Encoder::default().encode(&events, |line| {
        let from = text.len();
        text.extend(line);
        chain.seal(&mut text, from);
    })?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::read_log;

    /// Every format that was ever released.
    #[test]
    fn the_log_of_a_run_has_all_of_it_and_goes_into_a_store() {
        let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs");
        let root = tempfile::tempdir().unwrap();
        let mut count = 0;
        for entry in std::fs::read_dir(fixtures).unwrap() {
            let path = entry.unwrap().path();
            let Ok(log) = read_log(&path) else { continue };
            if !log.damage.is_empty() {
                continue;
            }
            let bytes = log_of(&log.run).unwrap();
            let mut run = log.run;
            run.started.format = LOG_FORMAT;
            assert_eq!(bytes, log_of(&run).unwrap());
            let store = Store::open(&root.path().join(format!("store{count}"))).unwrap();
            assert_eq!(store.add_log(&bytes, "here").unwrap(), run, "{}", path.display());
            let listed = store.runs().unwrap();
            assert_eq!(store.log_bytes(&listed[0], 1 << 30).unwrap(), bytes);
            assert!(store.log_bytes(&listed[0], 10).is_err());
            assert_eq!(store.log_part(&listed[0].file, 7, 5).unwrap(), bytes[7..12]);
            assert!(matches!(store.add_log(&bytes, "here"), Err(CopyError::Store(_))), "it is there");
            count += 1;
        }
        assert!(count > 0);
    }

    #[test]
    fn a_copy_of_a_log_is_listed_as_in_the_store_it_is_from() {
        let root = tempfile::tempdir().unwrap();
        let [origin, copy] = ["a", "b"].map(|name| Store::open(&root.path().join(name)).unwrap());
        let plan = model::Plan::of_steps("suite", Vec::new(), model::Rounds::Fixed(1));
        let mut run = Run::new(model::RunStarted::of_plan(plan, Vec::new()));
        run.started.id = "k7m2x9qa".to_owned();
        origin.add_log(&log_of(&run).unwrap(), "here").unwrap();
        let listed = origin.runs().unwrap();
        let bytes = origin.log_bytes(&listed[0], 1 << 20).unwrap();
        // Also over an earlier one.
        copy.copy_log(&listed[0].file, 7, b"").unwrap();
        copy.copy_log(&listed[0].file, listed[0].modified_ns, &bytes).unwrap();
        assert_eq!(copy.runs().unwrap(), listed);
        for name in ["../runs.jsonl", "a/b.jsonl", ".jsonl", "a\n.jsonl", "a.txt", ""] {
            assert!(matches!(copy.copy_log(name, 0, &bytes), Err(CopyError::Name(_))), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_whole_log_is_not_stored() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(&root.path().join("store")).unwrap();
        let mut run = Run::new(model::RunStarted::of_plan(
            model::Plan::of_steps("suite", Vec::new(), model::Rounds::Fixed(1)),
            Vec::new(),
        ));
        for id in ["", "../../outside", "a b", "ä"] {
            run.started.id = id.to_owned();
            assert!(matches!(store.add_log(&log_of(&run).unwrap(), "here"), Err(CopyError::Id)), "{id}");
        }
        run.started.id = "k7m2x9qa".to_owned();
        let bytes = log_of(&run).unwrap();
        assert!(store.add_log(&bytes[..bytes.len() / 2], "here").is_err());
        assert!(store.add_log(b"not a log", "here").is_err());
        assert!(store.runs().unwrap().is_empty());
    }
}
