//! Permission to overwrite a target. Only this module can grant it.
//!
//! A block device or an existing file is overwritten only if the user names it twice, once as the target and once
//! with `--overwrite`, and also names everything that would be destroyed with it: partitions, holders (LVM, LUKS,
//! RAID above it), mounts, swap, and the signature of its content.
//!
//! # Invariants
//! * Permission applies to an object, not to a path: a target is opened once and held ([`Hold`]), every check
//!   examines what is held, and every later open is of the same object. A replacement at the same path is neither
//!   written nor read.
//! * A [`Hold`] opens for writing only if it was made from a [`Consent`], which only [`ask`] creates.
//! * With permission, every block device over the same bytes is claimed for the lifetime of the [`Hold`], unless
//!   the user has named its user. A device that cannot be claimed and has no named user has a hidden one.
//!
//! A claim does not exclude a loop device set up over the file later, or a process that has the file open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use model::{Target, TargetKind};
use rustix::fs::{Mode, OFlags, SeekFrom};

use crate::Roots;
use crate::naming::Named;
use crate::object::Object;
use crate::occupants::{Idle, Occupant, over};
use crate::signatures::signatures;
use crate::testfiles::reopen;

pub use crate::naming::{named, typed, typed_on};

/// An existing file or block device, opened once: every later open is of the same object, whatever its path
/// refers to by then. While a device is held, its number is not reassigned.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
    object: Object,
    kind: TargetKind,
    size_bytes: u64,
    rights: Rights,
}

/// What may be done with the held object.
#[derive(Debug)]
enum Rights {
    Read,
    Write {
        /// While these are open, no other process can mount or claim a device over the same bytes.
        _claims: Vec<File>,
    },
}

/// The user's permission to overwrite one file or device. Only [`ask`] creates it; it becomes a [`Hold`] that
/// opens for writing.
#[derive(Debug)]
pub struct Consent(Hold);

impl From<Consent> for Hold {
    fn from(consent: Consent) -> Self {
        consent.0
    }
}

/// The held object differs from the one that was checked before.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{path} changed during the check: first it was a {first_kind} of {first_bytes} bytes, then a {then_kind} of {then_bytes} bytes; try again when nothing else changes it"
)]
pub struct Changed {
    path: String,
    first_kind: &'static str,
    first_bytes: u64,
    then_kind: &'static str,
    then_bytes: u64,
}

impl Hold {
    /// Opens and holds the object at `path`, for reading only.
    ///
    /// # Errors
    /// The kernel's error; `InvalidInput` if it is neither a file nor a block device.
    pub fn read_only(path: &Path) -> io::Result<Self> {
        // Checked before the open: opening a pipe would wait, opening a tape would rewind it. Not by the standard library, which
        // leaves out `O_PATH` where the C library is musl.
        let place = File::from(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
        let metadata = place.metadata()?;
        let kind = match metadata.file_type() {
            kind if kind.is_file() => TargetKind::File,
            kind if kind.is_block_device() => TargetKind::BlockDevice,
            _ => {
                let error = "it is neither a file nor a block device";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
        };
        let file = reopen(&place, false, 0)?;
        let size_bytes = rustix::fs::seek(&file, SeekFrom::End(0))?;
        let object = Object::of(&metadata);
        Ok(Self { file, path: path.to_owned(), object, kind, size_bytes, rights: Rights::Read })
    }

    /// Opens the held object for reading and, with permission, also for writing.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(&self, flags: i32) -> io::Result<File> {
        reopen(&self.file, matches!(self.rights, Rights::Write { .. }), flags)
    }

    /// What it is, and its size in bytes.
    pub(crate) fn kind_and_size(&self) -> (TargetKind, u64) {
        (self.kind, self.size_bytes)
    }

    /// Checks that the held object still matches `target`, which was examined earlier by its path.
    ///
    /// # Errors
    /// [`Changed`] if kind or size differ.
    pub fn is_still(&self, target: &Target) -> Result<(), Changed> {
        if (self.kind, self.size_bytes) == (target.kind, target.size_bytes) {
            return Ok(());
        }
        Err(Changed {
            path: self.path.display().to_string(),
            first_kind: word(target.kind),
            first_bytes: target.size_bytes,
            then_kind: word(self.kind),
            then_bytes: self.size_bytes,
        })
    }
}

fn word(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Directory => "directory",
        TargetKind::File => "file",
        TargetKind::BlockDevice => "block device",
    }
}

/// The reason why permission is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The target is not named with `--overwrite`.
    #[error("{} was not named with --overwrite", .0.display())]
    NotNamed(PathBuf),
    /// It holds things that the user has not named.
    #[error(
        "{} is not empty: it holds {}; to destroy all of this, pass --overwrite {}",
        .path.display(),
        .occupants.join(", "),
        typed_on(.machine.as_deref(), .named.iter().chain(.missing).map(String::as_str))
    )]
    Occupied {
        /// The target.
        path: PathBuf,
        /// Everything on it.
        occupants: Vec<String>,
        /// What the user named.
        named: Vec<String>,
        /// What the user did not name.
        missing: Vec<String>,
        /// What a path there begins with, if it is not the user's machine.
        machine: Option<String>,
    },
    /// A device over the same bytes cannot be claimed, because of something that `--overwrite` cannot name.
    #[error("cannot overwrite {}: cannot claim {device}: {why}", .path.display())]
    InUse {
        /// The target.
        path: PathBuf,
        /// The device that could not be claimed.
        device: String,
        /// What may use it, and what to do.
        why: String,
    },
    /// The user may not write to it.
    #[error(
        "cannot write to {}: {error}; run Lodestone as a user with write permission, or omit --overwrite to read only",
        .path.display()
    )]
    NotWritable {
        /// The target.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        error: io::Error,
    },
    /// It is not readable.
    #[error("cannot read {} to check what it holds: {error}", .path.display())]
    Unreadable {
        /// The target.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        error: io::Error,
    },
}

impl Refusal {
    /// The same on another machine, where a path begins with `prefix`, if it is not the user's.
    #[must_use]
    pub fn on(mut self, prefix: Option<&str>) -> Self {
        if let Self::Occupied { machine, .. } = &mut self {
            *machine = prefix.map(str::to_owned);
        }
        self
    }
}

/// Asks for permission to overwrite `target`. `names` is what the user gave with `--overwrite`: paths or names, in any
/// order ([`named`]).
///
/// # Errors
/// [`Refusal`], with what the user must name or stop.
pub fn ask(roots: &Roots, target: &Path, names: &[String]) -> Result<Consent, Refusal> {
    let path = || target.to_owned();
    let unreadable = |error: io::Error| Refusal::Unreadable { path: path(), error };
    let named: Vec<Named> = names.iter().map(|text| Named::new(text)).collect();
    let hold = Hold::read_only(target).map_err(unreadable)?;
    if !named.iter().any(|n| n.object == Some(hold.object)) {
        return Err(Refusal::NotNamed(path()));
    }
    let over = over(roots, hold.object);
    let mut occupants = over.occupants;
    if hold.kind == TargetKind::BlockDevice {
        let marks = signatures(&hold.file, hold.size_bytes).map_err(unreadable)?;
        for mark in marks {
            // Something in use may also leave a signature; list it once.
            if !occupants.iter().any(|o| o.name == mark) {
                occupants.push(Occupant::new(mark));
            }
        }
    }
    let is_missing = |o: &&Occupant| !named.iter().any(|n| n.means(o));
    let missing: Vec<String> = occupants.iter().filter(is_missing).map(|o| o.name.clone()).collect();
    if !missing.is_empty() {
        let occupants = occupants.iter().map(ToString::to_string).collect();
        return Err(Refusal::Occupied {
            path: path(),
            occupants,
            named: names.to_vec(),
            missing,
            machine: None,
        });
    }
    reopen(&hold.file, true, 0).map_err(|error| Refusal::NotWritable { path: path(), error })?;
    let claim = |idle: &Idle| {
        // The target itself is claimed through the held descriptor, whatever its device node is by now.
        let claimed = match hold.object {
            Object::Device(own) if own == idle.number => reopen(&hold.file, true, OFlags::EXCL.bits() as i32),
            _ => idle.claim(),
        };
        let device = format!("/dev/{}", idle.name);
        claimed.map_err(|error| Refusal::InUse { path: path(), device, why: idle.why(&error) })
    };
    let claims = over.idle.iter().map(claim).collect::<Result<_, _>>()?;
    Ok(Consent(Hold { rights: Rights::Write { _claims: claims }, ..hold }))
}

#[cfg(test)]
mod hidden_use;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::FileExt;

    use crate::testing::{self, LoopDevice, Mounted, assert_can_be_claimed, exclusively};

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        (directory, path)
    }

    fn consent(path: &Path) -> Result<Consent, Refusal> {
        ask(&Roots::default(), path, &[path.display().to_string()])
    }

    #[test]
    fn a_file_or_link_is_overwritten_only_when_named() {
        let roots = Roots::default();
        let (_directory, place) = scratch();
        let [path, other, link, hard] = ["data", "other", "link", "hard"].map(|name| place.join(name));
        fs::write(&path, "mine").unwrap();
        fs::write(&other, "another file").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::hard_link(&path, &hard).unwrap();
        let named =
            |paths: &[&Path]| -> Vec<String> { paths.iter().map(|p| p.display().to_string()).collect() };
        assert!(matches!(ask(&roots, &path, &[]), Err(Refusal::NotNamed(p)) if p == path));
        assert!(matches!(ask(&roots, &path, &named(&[&other])), Err(Refusal::NotNamed(p)) if p == path));
        assert!(ask(&roots, &path, &named(&[&other, &link])).is_ok());
        assert!(ask(&roots, &path, &named(&[&hard])).is_ok());
    }

    #[test]
    fn without_permission_a_file_opens_for_reading_only() {
        let (_directory, place) = scratch();
        let path = place.join("data");
        fs::write(&path, "mine").unwrap();
        let reading = Hold::read_only(&path).unwrap();
        assert!(reading.open(0).unwrap().write_all_at(b"x", 0).is_err());
        let writing = Hold::from(consent(&path).unwrap());
        writing.open(0).unwrap().write_all_at(b"x", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"xine");
    }

    /// Permission was bound to a path that was opened again for each repeat, so a replacement at that path was
    /// overwritten without consent.
    #[test]
    fn a_replacement_of_the_target_is_neither_written_nor_read() {
        let (_directory, place) = scratch();
        let (path, kept, other) = (place.join("data"), place.join("kept"), place.join("other"));
        fs::write(&path, "mine").unwrap();
        fs::hard_link(&path, &kept).unwrap();
        fs::write(&other, "precious").unwrap();
        let writing = Hold::from(consent(&path).unwrap());
        let reading = Hold::read_only(&path).unwrap();
        fs::rename(&other, &path).unwrap();

        writing.open(0).unwrap().write_all_at(b"gone", 0).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        assert_eq!(fs::read(&kept).unwrap(), b"gone");
        let mut content = [0; 4];
        reading.open(0).unwrap().read_exact_at(&mut content, 0).unwrap();
        assert_eq!(&content, b"gone");
        fs::remove_file(&path).unwrap();
        reading.open(0).unwrap().read_exact_at(&mut content, 0).unwrap();
    }

    #[test]
    fn a_target_that_changed_since_the_check_is_refused() {
        let (_directory, place) = scratch();
        let path = place.join("data");
        fs::write(&path, "mine").unwrap();
        let target = crate::target::inspect(&Roots::default(), path.to_str().unwrap()).unwrap();
        let before = Hold::read_only(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "longer than it was").unwrap();
        assert_eq!(before.is_still(&target), Ok(()));
        let error_text = Hold::read_only(&path).unwrap().is_still(&target).unwrap_err().to_string();
        assert!(error_text.contains("a file of 4 bytes, then a file of 18 bytes"), "{error_text}");
    }

    #[test]
    fn only_files_and_block_devices_are_opened_and_held() {
        let (_directory, place) = scratch();
        let pipe = place.join("pipe");
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        // Opening the pipe would wait for a writer for ever.
        for path in [pipe.as_path(), &place, Path::new("/dev/null")] {
            let error_text = consent(path).unwrap_err().to_string();
            assert!(error_text.contains("neither a file nor a block device"), "{error_text}");
        }
    }

    #[test]
    fn a_file_under_a_loop_device_is_refused_by_any_of_its_names() {
        let (_directory, place) = scratch();
        let (image, link) = (place.join("image"), place.join("link"));
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        fs::hard_link(&image, &link).unwrap();
        let Some(device) = LoopDevice::over(&image) else { return };
        let Err(Refusal::Occupied { missing, .. }) = consent(&link) else { panic!("it is in use") };
        assert_eq!(missing, [device.path.as_str()]);
        let named = [link.display().to_string(), device.path.clone()];
        assert!(ask(&Roots::default(), &link, &named).is_ok());
    }

    #[test]
    fn a_device_is_recognised_by_any_node_and_claimed_unless_shared() {
        let (_directory, place) = scratch();
        let (image, node, point) = (place.join("image"), place.join("node"), place.join("point"));
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        fs::create_dir(&point).unwrap();
        let Some(device) = LoopDevice::over(&image) else { return };
        let Some(Object::Device((major, minor))) = Object::at(&device.path) else { panic!("a device") };
        let (major, minor) = (major.to_string(), minor.to_string());
        if testing::tool("mknod", &[node.to_str().unwrap(), "b", &major, &minor]).is_none() {
            return;
        }
        let named = [node.display().to_string()];
        let hold = Hold::from(ask(&Roots::default(), Path::new(&device.path), &named).unwrap());
        assert_eq!(exclusively(&device.path).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        hold.open(0).unwrap().write_all_at(&[1; 512], 0).unwrap();
        drop(hold);
        assert_can_be_claimed(&device.path);

        if testing::tool("mkfs.ext4", &["-q", &device.path]).is_none() {
            return;
        }
        let Some(mounted) = Mounted::on(&point, &[&device.path]) else { return };
        let [through_a_link, mark] = [place.join("to-point"), "ext2/3/4".into()];
        std::os::unix::fs::symlink(&mounted.point, &through_a_link).unwrap();
        let named = [&node, &through_a_link, &mark].map(|p| p.display().to_string());
        assert!(ask(&Roots::default(), Path::new(&device.path), &named).is_ok());
    }

    #[test]
    fn a_refusal_shows_the_complete_overwrite_option() {
        let refusal = Refusal::Occupied {
            path: "/dev/sda".into(),
            named: vec!["/dev/sda".into()],
            occupants: vec!["/dev/sda1".into(), "ext2/3/4".into()],
            missing: vec!["/dev/sda1".into(), "ext2/3/4".into()],
            machine: None,
        };
        let message = refusal.to_string();
        assert!(message.contains("holds /dev/sda1, ext2/3/4"), "{message}");
        assert!(message.contains("--overwrite /dev/sda,/dev/sda1,ext2/3/4"), "{message}");
        let message = refusal.on(Some("nas:")).to_string();
        assert!(message.contains("--overwrite nas:/dev/sda,/dev/sda1,ext2/3/4"), "{message}");
    }
}
