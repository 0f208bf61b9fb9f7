//! Stacks of storage that are made to be measured, and removed again: filesystems on layers such as encryption and arrays, in
//! images on loop devices or on regions of disks.
//!
//! [`Request::parse`] reads what the user asks for, [`plan`] says step by step how it is made, [`Stacks::make`] does it, and
//! [`Stacks::remove`] undoes it in reverse.
//!
//! # Invariants
//! * Before each step its intent is in a journal that outlives the process and a reboot, synced (`journal.rs`).
//! * What is removed is found in the kernel and on the disk at that time, by the id of the journal that is in its name, or in the
//!   mark of a disk; what a step was meant to make and did not is no error.
//! * A disk is marked only through a [`Hold`] that came from consent, and erased only while it has its mark.
//! * Nothing is forced: a mount that is in use stays, with all that it stands on, and so does the journal.

mod deed;
mod device;
mod disks;
mod journal;
mod kinds;
mod objects;
mod plan;
mod request;
mod secrets;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use journal::{Found, State, directory, found};
pub use kinds::{Kind, Lack, Setting, Side, kinds};
pub use plan::{Step, needs_secret, passed_bytes, plan, shown};
pub use request::{Disk, Ground, Precondition, Request, RequestError, Server, Stack};

use crate::consent::Consent;
use crate::{Hold, Roots};
use journal::Journal;
use objects::{Key, Maker, unmake};
use plan::{Object, What};

/// Why stacks could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// Only root may.
    #[error("making storage stacks needs root: run it with sudo")]
    NotRoot,
    /// This machine lacks something.
    #[error("{what} cannot be made here: {lack}")]
    Lacks {
        /// What needs it.
        what: String,
        /// What is missing.
        lack: Lack,
    },
    /// The request is wrong.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A block device cannot be used.
    #[error("cannot make stacks on {}: {why}", disk.display())]
    Disk {
        /// The device.
        disk: PathBuf,
        /// Why not.
        why: String,
    },
    /// The images do not fit.
    #[error("{needed} bytes are needed in {}, and {free} are free; use smaller images", directory.display())]
    NoSpace {
        /// The directory of the images.
        directory: PathBuf,
        /// Bytes of all images, and of what must stay free.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The directory of the images cannot be used.
    #[error("cannot make images in {}: {why}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        why: String,
    },
    /// The journal cannot be used.
    #[error("cannot use the journal of stacks {}: {why}", path.display())]
    Journal {
        /// The journal, or its directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A step failed.
    #[error("`{step}` failed: {why}")]
    Step {
        /// What was tried, as a shell would have it.
        step: String,
        /// Why it failed.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted while making the storage stacks")]
    Interrupted,
    /// It belongs to a run in progress.
    #[error("the stacks {id} are in use by process {pid}: end that run first")]
    InUse {
        /// The id of the stacks.
        id: String,
        /// The process.
        pid: u32,
    },
}

/// What stacks are known by, and nobody else knows.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Wire")]
pub struct Named {
    /// Their id: eight lower-case letters and digits.
    pub id: String,
    /// What the two ends of a network trust each other by.
    secret: String,
}

impl Named {
    /// With this id, and a secret that is random.
    ///
    /// # Errors
    /// The kernel gives no random numbers.
    pub fn new(id: String) -> Result<Self, StackError> {
        Ok(Self { id, secret: objects::secret().map_err(no_randomness)? })
    }
}

impl TryFrom<Wire> for Named {
    type Error = &'static str;
    fn try_from(Wire { id, secret }: Wire) -> Result<Self, &'static str> {
        // It becomes a part of names and paths.
        let is_id = id.len() == 8 && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let is_secret = secret.len() == 32 && secret.chars().all(|c| c.is_ascii_hexdigit());
        if is_id && is_secret { Ok(Self { id, secret }) } else { Err("malformed id or secret") }
    }
}

/// The same as it comes from another machine.
#[derive(Deserialize)]
struct Wire {
    id: String,
    secret: String,
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Named").field("id", &self.id).finish_non_exhaustive()
    }
}

fn no_randomness(error: std::io::Error) -> StackError {
    StackError::Step { step: "head --bytes=64 /dev/urandom".to_owned(), why: error.to_string() }
}

/// Stacks that stand.
#[derive(Debug)]
pub struct Stacks {
    id: String,
    roots: Roots,
    journal: Journal,
    objects: Vec<Object>,
    mounted: Vec<(String, PathBuf)>,
    /// The name of each stack with each command of its first making.
    commands: Vec<(String, String)>,
    bytes: u64,
    makings: u32,
    /// How long making them took.
    took: Duration,
    /// What is worth knowing about how they came to be, in sentences.
    pub remarks: Vec<String>,
}

/// The stacks of this process, for [`remove_living`].
static LIVING: Mutex<Vec<(Roots, PathBuf, Vec<Object>)>> = Mutex::new(Vec::new());

fn living() -> MutexGuard<'static, Vec<(Roots, PathBuf, Vec<Object>)>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stacks {
    /// Makes stacks of a request that was checked, or one side of them, on the disks that may be overwritten, in the order of
    /// [`Request::disks`]. If a step fails, or the user asks to stop, what was made is removed.
    ///
    /// # Errors
    /// A step failed, or the user asked to stop.
    pub fn make(
        roots: &Roots,
        request: &Request,
        named: &Named,
        side: Option<Side>,
        disks: Vec<Consent>,
        interrupt: &AtomicBool,
    ) -> Result<Self, StackError> {
        let (directory, began) = (directory(), Instant::now());
        let Named { id, secret } = named;
        let key = Key::new(secret).map_err(no_randomness)?;
        let holds = disks.into_iter().map(|consent| Some(Hold::from(consent))).collect();
        let mut maker = Maker { roots, interrupt, key, holds };
        let journal = Journal::begin(&directory, id, request)?;
        let mut stacks = Self {
            id: id.clone(),
            roots: roots.clone(),
            objects: Vec::new(),
            mounted: Vec::new(),
            commands: Vec::new(),
            bytes: request.bytes(),
            makings: request.makings,
            took: Duration::ZERO,
            remarks: Vec::new(),
            journal,
        };
        for stack in &request.stacks {
            let needs = stack.parts_on(side).flat_map(|(kind, side)| kind.needs_for(side));
            needs.for_each(|needs| needs.load(roots));
        }
        let steps = plan(request, id, &directory).into_iter().filter(|step| step.is_on(side));
        match stacks.make_all(steps, &mut maker) {
            Ok(()) => {
                let place = |name: &String| request.stacks.iter().position(|stack| stack.name == *name);
                stacks.mounted.sort_by_key(|(name, _)| place(name));
                stacks.took = began.elapsed();
                Ok(stacks)
            }
            Err(error) => {
                // The first error is what went wrong; what cannot be removed is listed by `found`.
                let _ = stacks.remove();
                Err(error)
            }
        }
    }

    fn make_all(
        &mut self,
        steps: impl Iterator<Item = Step>,
        maker: &mut Maker<'_>,
    ) -> Result<(), StackError> {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for step in steps {
            if maker.interrupt.load(Ordering::Relaxed) {
                return Err(StackError::Interrupted);
            }
            self.journal.append(&step.object)?;
            self.objects.push(step.object.clone());
            self.publish();
            self.remarks.extend(maker.make(&step.object, &|| self.journal.lock())?);
            let making = first.entry(step.stack.clone()).or_insert_with(|| step.object.stack.clone());
            if *making == step.object.stack && step.object.what.is_telling() {
                let typed = step.object.what.typed().into_iter();
                self.commands.extend(typed.map(|typed| (step.stack.clone(), typed)));
            }
            match step.object.what {
                What::Mount { point, .. } => self.mounted.push((step.stack, point)),
                // It is measured where it is mounted again.
                What::Remote { point, shared, .. } => {
                    self.mounted.retain(|(_, mounted)| *mounted != shared.path);
                    self.mounted.push((step.stack, point));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Lets [`remove_living`] know what there is.
    fn publish(&self) {
        let mut living = living();
        living.retain(|(_, path, _)| path != self.journal.path());
        living.push((self.roots.clone(), self.journal.path().to_owned(), self.objects.clone()));
    }

    /// Bytes of each image or region that a stack stands on.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long making them took.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// How often each was made.
    pub fn makings(&self) -> u32 {
        self.makings
    }

    /// The name of each stack, as asked for, with the directory where it is mounted; the makings of one follow each other.
    pub fn mounted(&self) -> &[(String, PathBuf)] {
        &self.mounted
    }

    /// The name of each stack with each command that made one of its layers or its filesystem, or mounted it, for the first time.
    pub fn commands(&self) -> &[(String, String)] {
        &self.commands
    }

    /// Leaves them as they stand, until they are destroyed by this id.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn leave(mut self) -> Result<String, StackError> {
        self.journal.append(&Object { stack: String::new(), what: What::Left })?;
        living().retain(|(_, path, _)| path != self.journal.path());
        Ok(self.id)
    }

    /// Removes them.
    ///
    /// # Errors
    /// Something is in use or does not go; the rest is removed, and the journal stays.
    pub fn remove(self) -> Result<(), StackError> {
        let removed = unmake_all(&self.roots, &self.objects);
        living().retain(|(_, path, _)| path != self.journal.path());
        removed.and_then(|()| self.journal.end())
    }
}

/// Removes, as well as it can, the stacks of this process from another thread, for an end at once.
pub fn remove_living() {
    for (roots, path, objects) in living().iter() {
        if unmake_all(roots, objects).is_ok() {
            let _ = journal::remove(path);
        }
    }
}

/// Removes stacks that a killed run left.
///
/// # Errors
/// A run in progress uses them, or something is in use or does not go.
pub fn destroy(roots: &Roots, found: &Found) -> Result<(), StackError> {
    let (journal, objects) = Journal::take_over(found)?;
    unmake_all(roots, &objects)?;
    journal.end()
}

/// Removes objects in reverse. Where one does not go, what it stands on stays, and the first such error is returned.
fn unmake_all(roots: &Roots, objects: &[Object]) -> Result<(), StackError> {
    // The kernel's NFS server holds what it shares until its client, which all mounts have in common, has unmounted the last of them.
    unmake_in_reverse(roots, objects).or_else(|_| unmake_in_reverse(roots, objects))
}

fn unmake_in_reverse(roots: &Roots, objects: &[Object]) -> Result<(), StackError> {
    let mut first = None;
    let mut kept: Vec<&str> = Vec::new();
    for object in objects.iter().rev() {
        // The directory of all mounts and the disks are of no stack.
        let stands = object.stack.is_empty() && !kept.is_empty();
        if stands || kept.contains(&object.stack.as_str()) {
            continue;
        }
        if let Err(error) = unmake(roots, object) {
            kept.push(&object.stack);
            first.get_or_insert(error);
        }
    }
    first.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_calls_stacks_is_no_path() {
        let named = Named::new("abcd2345".to_owned()).unwrap();
        let text = serde_json::to_string(&named).unwrap();
        assert_eq!(serde_json::from_str::<Named>(&text).unwrap().secret, named.secret);
        assert!(!format!("{named:?}").contains(&named.secret));
        for wrong in ["../a2345", "ABCD2345", "abcd234", "abcd23456"] {
            assert!(serde_json::from_str::<Named>(&text.replace("abcd2345", wrong)).is_err(), "{wrong}");
        }
    }
}
