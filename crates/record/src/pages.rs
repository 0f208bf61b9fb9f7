//! A directory of generated pages that any web server can serve: what is current stays as it is, what is no longer made goes.
//!
//! # Invariants
//! * A directory with other content does not become one of pages: it must be new, empty, or have the list of an earlier time.
//! * No reader sees a partial page: each gets its name when it is complete. Nothing is opened through a symbolic link.
//! * Every page is in the list before it is written, so that one of a killed program is found, and goes, the next time.
//! * What is not in the list is somebody else's and stays.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::below::{make_directory, names_in, open_directory, open_regular, remove};
use crate::unfinished::{PREFIX, Unfinished, sweep};

/// Name of the list.
const LIST: &str = "lodestone-site.json";
/// Version of the list.
const SCHEMA: &str = "lodestone.site.v1";
/// What a list may be long.
const LONGEST_LIST: u64 = 1 << 28;

/// Why pages cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// The directory has other content.
    #[error(
        "{path} is not a site: it contains `{holds}`, and no {LIST}; nothing was written there; name a new or an empty \
         directory"
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A name in it.
        holds: String,
    },
    /// The list is not one.
    #[error(
        "{path} cannot be brought up to date: its {LIST} is not one that this version of Lodestone wrote; nothing was \
         written there; name a new directory"
    )]
    Unknown {
        /// The directory.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("another `lodestone site` is writing to {path}; wait for it")]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// An I/O error.
    #[error("cannot write {path}: {source}; what is there already stays, and the same command goes on")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct List {
    schema: String,
    pages: BTreeMap<String, String>,
}

/// A directory of pages, held while it is brought up to date.
#[derive(Debug)]
pub struct PageDirectory {
    path: PathBuf,
    held: OwnedFd,
    /// The directories below it.
    parts: BTreeMap<String, OwnedFd>,
    before: BTreeMap<String, String>,
    now: Mutex<BTreeMap<String, String>>,
    written: AtomicUsize,
}

impl PageDirectory {
    /// Opens a directory for pages in these directories below it, and creates what is missing. Until the value is dropped, no other
    /// process can.
    ///
    /// # Errors
    /// [`PagesError`].
    pub fn open(path: &Path, parts: &[&str]) -> Result<Self, PagesError> {
        let failed = |source: io::Error| PagesError::Io { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        // On a filesystem without locks two may write the same.
        if fs::flock(&held, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(PagesError::Busy { path: path.to_owned() });
        }
        let names = names_in(&held).map_err(failed)?;
        let before = match names.iter().any(|name| name == LIST) {
            true => listed(&held).ok_or_else(|| PagesError::Unknown { path: path.to_owned() })?,
            false => {
                let is_other = |name: &&String| !name.starts_with(PREFIX) && *name != "lost+found";
                if let Some(holds) = names.iter().find(is_other) {
                    return Err(PagesError::Foreign { path: path.to_owned(), holds: holds.clone() });
                }
                BTreeMap::new()
            }
        };
        let mut opened = Self {
            path: path.to_owned(),
            held,
            parts: BTreeMap::new(),
            before,
            now: Mutex::new(BTreeMap::new()),
            written: AtomicUsize::new(0),
        };
        opened.write_list(&opened.before)?;
        sweep(&opened.held);
        for part in parts {
            make_directory(&opened.held, part).map_err(failed)?;
            let below = open_directory(&opened.held, part).map_err(failed)?;
            sweep(&below);
            opened.parts.insert((*part).to_owned(), below);
        }
        Ok(opened)
    }

    /// Announces the pages that will be there in the end, so that none is forgotten whatever happens.
    ///
    /// # Errors
    /// [`PagesError`].
    pub fn announce(&self, names: impl Iterator<Item = String>) -> Result<(), PagesError> {
        let mut all = self.before.clone();
        for name in names {
            all.entry(name).or_default();
        }
        self.write_list(&all)
    }

    /// True if the page was made from what has this digest, and is still there; then it stays.
    pub fn keeps(&self, name: &str, digest: &str) -> bool {
        let is_current = self.before.get(name).is_some_and(|known| known == digest)
            && self.place(name).is_ok_and(|(directory, file)| open_regular(directory, file).is_ok());
        if is_current {
            self.note(name, digest);
        }
        is_current
    }

    /// Writes a page that was made from what has this digest.
    ///
    /// # Errors
    /// [`PagesError`].
    pub fn write(&self, name: &str, digest: &str, page: &[u8]) -> Result<(), PagesError> {
        let write = || -> io::Result<()> {
            let (directory, file) = self.place(name)?;
            let (unfinished, mut out) = Unfinished::create(directory)?;
            out.write_all(page)?;
            // A web server reads them as another user.
            let mask = Mode::from_raw_mode(0o644);
            let _ = fs::fchmod(&out, mask);
            unfinished.replace(file)
        };
        write().map_err(|source| PagesError::Io { path: self.path.join(name), source })?;
        self.note(name, digest);
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Pages that were written since it was opened.
    pub fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    /// Removes the pages of an earlier time that were neither kept nor written now, and completes the list. Returns how many went.
    ///
    /// # Errors
    /// [`PagesError`].
    pub fn finish(self) -> Result<usize, PagesError> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = 0;
        for name in self.before.keys().filter(|name| !now.contains_key(*name)) {
            let Ok((directory, file)) = self.place(name) else { continue };
            gone += usize::from(open_regular(directory, file).is_ok() && remove(directory, file).is_ok());
        }
        self.write_list(&now)?;
        Ok(gone)
    }

    fn note(&self, name: &str, digest: &str) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.insert(name.to_owned(), digest.to_owned());
    }

    /// The directory of a page and the name of its file there.
    fn place<'a>(&'a self, name: &'a str) -> io::Result<(&'a OwnedFd, &'a str)> {
        let is_plain = |file: &str| {
            !file.is_empty() && !file.starts_with('.') && !file.contains(['/', '\0']) && file != LIST
        };
        let (directory, file) = match name.split_once('/') {
            Some((part, file)) => (self.parts.get(part).ok_or(io::ErrorKind::NotFound)?, file),
            None => (&self.held, name),
        };
        if is_plain(file) { Ok((directory, file)) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    fn write_list(&self, pages: &BTreeMap<String, String>) -> Result<(), PagesError> {
        let write = || -> io::Result<()> {
            let list = List { schema: SCHEMA.to_owned(), pages: pages.clone() };
            let (unfinished, mut out) = Unfinished::create(&self.held)?;
            out.write_all(format!("{}\n", serde_json::to_string_pretty(&list)?).as_bytes())?;
            // A filesystem without sync has still accepted the write.
            let _ = out.sync_all();
            unfinished.replace(LIST)
        };
        write().map_err(|source| PagesError::Io { path: self.path.join(LIST), source })
    }
}

/// The pages of an earlier time; `None` if the list is not one.
fn listed(directory: &OwnedFd) -> Option<BTreeMap<String, String>> {
    let mut text = String::new();
    open_regular(directory, LIST).ok()?.take(LONGEST_LIST).read_to_string(&mut text).ok()?;
    let list: List = serde_json::from_str(&text).ok()?;
    (list.schema == SCHEMA).then_some(list.pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> Result<PageDirectory, PagesError> {
        PageDirectory::open(path, &["runs"])
    }

    #[test]
    fn what_is_current_stays_and_what_is_not_made_any_more_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("site");
        let site = open(&path).unwrap();
        assert!(!site.keeps("runs/a.html", "1"));
        site.write("runs/a.html", "1", b"one").unwrap();
        site.write("index.html", "2", b"two").unwrap();
        assert_eq!(site.finish().unwrap(), 0);
        std::fs::write(path.join("runs/mine.html"), "mine").unwrap();

        let site = open(&path).unwrap();
        assert!(site.keeps("index.html", "2") && !site.keeps("runs/a.html", "3"));
        assert_eq!(site.finish().unwrap(), 1);
        assert!(!path.join("runs/a.html").exists() && path.join("runs/mine.html").exists());

        std::fs::remove_file(path.join("index.html")).unwrap();
        assert!(!open(&path).unwrap().keeps("index.html", "2"), "somebody removed it");
    }

    #[test]
    fn the_pages_of_a_killed_program_are_known_the_next_time() {
        let scratch = tempfile::tempdir().unwrap();
        let site = open(scratch.path()).unwrap();
        site.announce(["runs/a.html".to_owned()].into_iter()).unwrap();
        site.write("runs/a.html", "1", b"one").unwrap();
        drop(site);
        let site = open(scratch.path()).unwrap();
        assert!(!site.keeps("runs/a.html", "1"), "nobody knows whether it is complete");
        assert_eq!(site.finish().unwrap(), 1);
        assert!(!scratch.path().join("runs/a.html").exists());
    }

    #[test]
    fn other_content_stays_and_two_at_once_do_not_mix() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("thesis.txt"), "mine").unwrap();
        assert!(matches!(open(scratch.path()), Err(PagesError::Foreign { .. })));
        let names = names_in(&std::fs::File::open(scratch.path()).unwrap().into()).unwrap();
        assert_eq!(names, ["thesis.txt"]);

        let path = scratch.path().join("site");
        let first = open(&path).unwrap();
        assert!(matches!(open(&path), Err(PagesError::Busy { .. })));
        drop(first);
        std::fs::write(path.join(LIST), "{}").unwrap();
        assert!(matches!(open(&path), Err(PagesError::Unknown { .. })));
    }

    #[test]
    fn no_page_is_written_elsewhere_or_through_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let site = open(scratch.path()).unwrap();
        for name in ["../a", "runs/../a", "other/a.html", "runs/", ".hidden", LIST] {
            assert!(site.write(name, "1", b"x").is_err(), "{name}");
        }
        let outside = scratch.path().join("outside");
        std::fs::write(&outside, "mine").unwrap();
        std::os::unix::fs::symlink(&outside, scratch.path().join("runs/a.html")).unwrap();
        site.write("runs/a.html", "1", b"x").unwrap();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
    }
}
