//! The journal of stacks: what was about to be made, line by line, synced before it is made.
//!
//! It is in a directory of root's that outlives a reboot: that which systemd gives a service (`$STATE_DIRECTORY`), or
//! `/var/lib/lodestone`; below it `stacks/ID.journal`. Its lock shows that the run lives.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::plan::{Object, What};
use super::request::Request;
use super::{StackError, disks};
use crate::Roots;

/// The end of the name of a journal.
const ENDING: &str = ".journal";
/// Bytes of the longest journal that is read; one of 32 stacks has about 40,000.
const LONGEST: u64 = 4 << 20;
/// How long the last step of a killed run is waited for: making a filesystem on a slow card takes minutes.
const ENDING_STEP: Duration = Duration::from_secs(10 * 60);
/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(50);
/// Version of the format.
const FORMAT: u32 = 3;

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    format: u32,
    id: String,
    pid: u32,
    made_unix: u64,
    stacks: Vec<String>,
}

/// The directory of the journals, and of the mounts.
pub fn directory() -> PathBuf {
    let given = std::env::var_os("STATE_DIRECTORY");
    // systemd separates several by colons.
    let first = given.as_ref().and_then(|all| std::env::split_paths(all).next());
    let state = first.filter(|path| path.is_absolute());
    state.unwrap_or_else(|| PathBuf::from("/var/lib/lodestone")).join("stacks")
}

/// An error if others than root may change what is in a directory.
fn is_private(metadata: &Metadata) -> Result<(), String> {
    const STICKY: u32 = 0o1000;
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if !metadata.is_dir() {
        Err("it is not a directory".to_owned())
    } else if owner != 0 {
        Err(format!("user {owner} owns it and could exchange files in it; use a directory of root's"))
    } else if mode & 0o022 != 0 && mode & STICKY == 0 {
        Err("others may write to it and could exchange files in it; use a directory that only root can write to".to_owned())
    } else {
        Ok(())
    }
}

/// True if there is a process with this id.
fn lives(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// A journal of this process, locked.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> StackError {
    let path = path.to_owned();
    move |error| StackError::Journal { path: path.clone(), why: error.to_string() }
}

impl Journal {
    /// Begins a new one.
    pub fn begin(directory: &Path, id: &str, request: &Request) -> Result<Self, StackError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(failed(directory))?;
        let metadata = fs::metadata(directory).map_err(failed(directory))?;
        is_private(&metadata).map_err(|why| StackError::Journal { path: directory.to_owned(), why })?;
        let path = directory.join(format!("{id}{ENDING}"));
        let new = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let file = new.map_err(failed(&path))?;
        // Who lists stacks holds it for a moment; who destroys all of them may already have removed it.
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(&path)(error.into()))?;
        if file.metadata().map_err(failed(&path))?.nlink() == 0 {
            let why = "`stack destroy` has removed it; try again".to_owned();
            return Err(StackError::Journal { path, why });
        }
        let head = Head {
            format: FORMAT,
            id: id.to_owned(),
            pid: std::process::id(),
            made_unix: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            stacks: request.stacks.iter().map(|stack| stack.name.clone()).collect(),
        };
        let mut journal = Self { file, path };
        journal.append(&head)?;
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(failed(directory))?;
        Ok(journal)
    }

    /// Takes over the journal of a run that has ended, with all that it names: the run may have gone on since it was found.
    pub fn take_over(found: &Found) -> Result<(Self, Vec<Object>), StackError> {
        let file = File::open(&found.path).map_err(failed(&found.path))?;
        let until = Instant::now() + ENDING_STEP;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok((Self { file, path: found.path.clone() }, read(&found.path)?.objects)),
                // A program of a killed run may still be at its last step.
                Err(Errno::WOULDBLOCK) if !lives(found.pid) && Instant::now() < until => {
                    thread::sleep(PERIOD)
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(StackError::InUse { id: found.id.clone(), pid: found.pid });
                }
                Err(error) => return Err(failed(&found.path)(error.into())),
            }
        }
    }

    /// Appends a line, such as what is about to be made, and syncs it.
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), StackError> {
        let text = serde_json::to_string(line).map_err(|error| failed(&self.path)(error.into()))?;
        let written = self.file.write_all(format!("{text}\n").as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(failed(&self.path))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For the programs of its steps: while one runs, nobody else takes the journal over, also if this process was killed.
    pub fn lock(&self) -> Result<Stdio, StackError> {
        self.file.try_clone().map(Stdio::from).map_err(failed(&self.path))
    }

    /// Removes it: nothing that it names is there any more.
    pub fn end(self) -> Result<(), StackError> {
        remove(&self.path)
    }
}

/// Removes a journal.
pub(super) fn remove(path: &Path) -> Result<(), StackError> {
    fs::remove_file(path).map_err(failed(path))
}

/// Whether the run that made stacks is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The run is in progress.
    InUse,
    /// It was killed.
    LeftOver,
    /// It has ended and left them, as the user wished.
    Left,
}

/// Stacks that a journal names.
#[derive(Debug)]
pub struct Found {
    /// Their id.
    pub id: String,
    /// The stacks, as the user named them.
    pub stacks: Vec<String>,
    /// When they were made, in seconds since 1970.
    pub made_unix: u64,
    /// The process that made them.
    pub pid: u32,
    /// Whether it still uses them.
    pub state: State,
    /// What was made, or about to be.
    pub(super) objects: Vec<Object>,
    path: PathBuf,
}

impl Found {
    /// The images that are there, and the disks that have their mark.
    pub fn grounds(&self, roots: &Roots) -> Vec<PathBuf> {
        let grounds = self.objects.iter().filter_map(|object| match &object.what {
            What::Image { path, .. } => path.exists().then(|| path.clone()),
            What::Disk { id, number, .. } => disks::find(roots, id, *number),
            _ => None,
        });
        grounds.collect()
    }
}

/// All stacks of this machine, the oldest first; a journal that cannot be read, and a directory of them that cannot, is an error
/// of its own.
pub fn found() -> Vec<Result<Found, StackError>> {
    let directory = directory();
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries.flatten(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![Err(failed(&directory)(error))],
    };
    let is_journal = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    let mut found: Vec<_> =
        entries.map(|entry| entry.path()).filter(is_journal).map(|path| read(&path)).collect();
    found.sort_by_key(|found| found.as_ref().map_or(0, |found| found.made_unix));
    found
}

fn read(path: &Path) -> Result<Found, StackError> {
    let file = File::open(path).map_err(failed(path))?;
    let mut text = String::new();
    (&file).take(LONGEST).read_to_string(&mut text).map_err(failed(path))?;
    let mut lines = text.split_inclusive('\n');
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = name.strip_suffix(ENDING).unwrap_or_default().to_owned();
    let head = lines.next().unwrap_or_default();
    let head: Head = match serde_json::from_str(head) {
        Ok(head) => head,
        // Nothing is made before the first line is whole.
        Err(_) if lines.next().is_none() => {
            Head { format: FORMAT, id: id.clone(), pid: 0, made_unix: 0, stacks: Vec::new() }
        }
        Err(error) => return Err(failed(path)(error.into())),
    };
    let wrong = |why: &str| StackError::Journal { path: path.to_owned(), why: why.to_owned() };
    if head.format != FORMAT {
        return Err(wrong("it is of another version of Lodestone"));
    }
    if head.id != id {
        return Err(wrong("it has the id of another journal"));
    }
    let mut objects = Vec::new();
    for line in lines {
        match serde_json::from_str(line) {
            Ok(object) => objects.push(object),
            // What a line that was cut off was about to say was not made.
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => return Err(failed(path)(error.into())),
        }
    }
    let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    let Head { pid, made_unix, stacks, .. } = head;
    let is_left = objects.iter().any(|object: &Object| object.what == What::Left);
    let state = match is_free || !lives(pid) {
        true if is_left => State::Left,
        true => State::LeftOver,
        false => State::InUse,
    };
    Ok(Found { id, stacks, made_unix, pid, state, objects, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(number: u32) -> Object {
        let what = What::Image { path: format!("/no/such/{number}.img").into(), bytes: 1 };
        Object { stack: number.to_string(), what }
    }

    #[test]
    fn what_a_run_made_after_it_was_found_is_destroyed_too() {
        // The directory of the journals must be root's.
        if !testing::is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let request = Request::parse("image:1G", "ext4", Path::new("/")).unwrap();
        let mut journal = Journal::begin(directory.path(), "abcd2345", &request).unwrap();
        journal.append(&image(1)).unwrap();
        let found = read(&journal.path).unwrap();
        assert_eq!((found.state, found.objects.len()), (State::InUse, 1));
        assert!(matches!(Journal::take_over(&found), Err(StackError::InUse { .. })));
        journal.append(&image(2)).unwrap();
        // The line that the run was about to write when it was killed.
        journal.file.write_all(b"{\"stack\":\"1\",\"wh").unwrap();
        // The program of its last step still runs.
        let mut step =
            std::process::Command::new("sleep").arg("3600").stdin(journal.lock().unwrap()).spawn().unwrap();
        drop(journal);
        assert!(matches!(Journal::take_over(&found), Err(StackError::InUse { .. })));
        let killed = Found { pid: 0, ..found };
        let ended = thread::spawn(move || step.kill().and_then(|()| step.wait()));
        let (journal, objects) = Journal::take_over(&killed).unwrap();
        ended.join().unwrap().unwrap();
        assert_eq!(objects, [image(1), image(2)]);
        journal.end().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
