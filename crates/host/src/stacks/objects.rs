//! Makes and removes the objects of stacks, and finds them in the kernel and on the disk.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use model::shell_word;
use rustix::fs::{FallocateFlags, fallocate};

use super::StackError;
use super::deed::{Deed, Remains};
use super::device::{Device, Words};
use super::disks;
use super::plan::{Object, What};
use super::secrets::Secrets;
use crate::programs::{End, find, in_memory, run_to_its_end};
use crate::{Hold, Roots, read_line};

/// Time that a program has to make something: checksums of a whole disk take long.
const MAKING: Duration = Duration::from_secs(24 * 3600);
/// Time that a program has to undo something.
const UNDOING: Duration = Duration::from_secs(30 * 60);
/// How long something may take to go once it was told to: the kernel closes the files of rings a little later.
const GOING: Duration = Duration::from_secs(10);
/// How long a disk at a server may take to appear.
const APPEARING: Duration = Duration::from_secs(60);
/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// What is random, and in memory only: the key of encrypted layers, and a secret.
pub(super) struct Key {
    file: File,
    secret: String,
}

impl Key {
    /// A new key, with this secret.
    pub fn new(secret: &str) -> std::io::Result<Self> {
        let mut file = in_memory()?;
        file.write_all(&random::<64>()?)?;
        Ok(Self { file, secret: secret.to_owned() })
    }
}

/// A new secret.
pub(super) fn secret() -> std::io::Result<String> {
    Ok(random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The path under which the programs that this process starts open one of its files.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// Makes objects.
pub(super) struct Maker<'a> {
    pub roots: &'a Roots,
    pub interrupt: &'a AtomicBool,
    pub key: Key,
    /// The disks that may be overwritten, each until it is marked.
    pub holds: Vec<Option<Hold>>,
}

impl Maker<'_> {
    /// Makes an object; its programs have `lock` as standard input. Returns what is worth knowing about it.
    pub fn make(
        &mut self,
        object: &Object,
        lock: &dyn Fn() -> Result<Stdio, StackError>,
    ) -> Result<Option<String>, StackError> {
        let what = &object.what;
        let failed = |why: String| StackError::Step { step: what.typed().pop().unwrap_or_default(), why };
        match what {
            What::Image { path, bytes } => {
                let new = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
                let file = new.map_err(|error| failed(error.to_string()))?;
                fallocate(&file, FallocateFlags::empty(), 0, *bytes)
                    .map_err(|error| failed(std::io::Error::from(error).to_string()))?;
                file.sync_all().map_err(|error| failed(error.to_string()))?;
            }
            What::Directory { path } => {
                DirBuilder::new().mode(0o700).create(path).map_err(|error| failed(error.to_string()))?;
            }
            What::Disk { path, id, number } => {
                let hold = self.holds.get_mut(*number).and_then(Option::take);
                let hold = hold.ok_or_else(|| failed("nobody has allowed it".to_owned()))?;
                let marked = hold.open(0).and_then(|disk| disks::set_mark(&disk, id, *number));
                marked.map_err(|error| failed(error.to_string()))?;
                drop(hold);
                // What partitions it had are gone; one that is none itself has none.
                let reread = Words::of(&["blockdev", "--rereadpt", &path.to_string_lossy()]);
                let _ = self.carry_out(&reread.into(), lock()?);
            }
            What::Loop { image, bytes, .. } => return self.make_loop(what, image, *bytes, lock()?),
            What::Region { .. } | What::Layer(_) => {
                self.carry_out_all(what, lock)?;
                let device = what.device().expect("it makes one");
                let path = self.wait_for(&device)?;
                let path = path.ok_or_else(|| failed("no device of it appeared in /sys/block".to_owned()))?;
                self.wait_for_sync(&path)?;
                // What was on it belongs to nobody, and must not be taken for a part of something else.
                disks::erase(&path).map_err(|error| failed(error.to_string()))?;
            }
            // Without udev there is nobody to be told.
            What::Quiet { .. } if !Path::new("/run/udev/control").exists() => {}
            What::Left => {}
            _ => self.carry_out_all(what, lock)?,
        }
        Ok(None)
    }

    fn make_loop(
        &self,
        what: &What,
        image: &Path,
        bytes: u64,
        lock: Stdio,
    ) -> Result<Option<String>, StackError> {
        let step = what.deeds().iter().map(Deed::typed).collect::<String>();
        let failed = |why: String| StackError::Step { step: step.clone(), why };
        // Its directory may be another user's, who can put another file in its place.
        let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(image);
        let file = file.map_err(|error| failed(error.to_string()))?;
        let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
        if !is_made(&metadata) || metadata.len() != bytes {
            return Err(failed("it is not the file that was made".to_owned()));
        }
        let opened = path_of(&file).to_string_lossy().into_owned();
        let words = ["--find", "--show", "--direct-io=on", &opened].map(str::to_owned);
        program_succeeds(self.roots, &step, "losetup", &words, self.interrupt, MAKING, lock)?;
        let name = what.device().and_then(|device| device.find(self.roots));
        let name =
            name.ok_or_else(|| failed("no loop device of this image appeared in /sys/block".to_owned()))?;
        let direct = read_line(self.roots.sys.join("block").join(&name).join("loop/dio"));
        let is_direct = direct.as_deref() == Some("1");
        Ok((!is_direct).then(|| {
            format!(
                "{name} reads through the page cache of the filesystem of its image, which refuses direct I/O"
            )
        }))
    }

    fn carry_out_all(
        &self,
        what: &What,
        lock: &dyn Fn() -> Result<Stdio, StackError>,
    ) -> Result<(), StackError> {
        what.deeds().iter().try_for_each(|deed| {
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(StackError::Interrupted);
            }
            self.carry_out(deed, lock()?)
        })
    }

    /// Does something with the devices that are there.
    fn carry_out(&self, deed: &Deed, lock: Stdio) -> Result<(), StackError> {
        let key = path_of(&self.key.file);
        let secrets = Secrets { key: &key, secret: &self.key.secret };
        carry_out(self.roots, deed, &secrets, self.interrupt, MAKING, lock)
    }

    /// The path of a device, once it is there: the kernel looks for disks at a server by itself.
    fn wait_for(&self, device: &Device) -> Result<Option<PathBuf>, StackError> {
        let until = Instant::now() + APPEARING;
        loop {
            let path = device.path(self.roots).filter(|path| path.exists());
            if path.is_some() || Instant::now() >= until {
                return Ok(path);
            }
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(StackError::Interrupted);
            }
            thread::sleep(PERIOD);
        }
    }

    /// Waits until the members of an array agree.
    fn wait_for_sync(&self, path: &Path) -> Result<(), StackError> {
        let name = path.file_name().unwrap_or_default();
        let action = self.roots.sys.join("block").join(name).join("md/sync_action");
        while read_line(&action).is_some_and(|action| action != "idle") {
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(StackError::Interrupted);
            }
            thread::sleep(PERIOD);
        }
        Ok(())
    }
}

/// True for what [`Maker::make`] makes as an image.
fn is_made(metadata: &fs::Metadata) -> bool {
    metadata.is_file() && metadata.uid() == 0 && metadata.nlink() == 1 && metadata.mode() & 0o777 == 0o600
}

/// Does something with the devices that are there.
fn carry_out(
    roots: &Roots,
    deed: &Deed,
    secrets: &Secrets<'_>,
    interrupt: &AtomicBool,
    timeout: Duration,
    lock: Stdio,
) -> Result<(), StackError> {
    let failed = |why: String| StackError::Step { step: deed.typed(), why };
    let Deed::Run(words) = deed else {
        return deed.carry_out(roots, secrets).map_err(|error| failed(error.to_string()));
    };
    let resolved = words.resolved(roots, secrets).map_err(failed)?;
    let step = join_words(&resolved);
    let (program, arguments) = resolved.split_first().expect("a command has a program");
    program_succeeds(roots, &step, program, arguments, interrupt, timeout, lock)
}

fn program_succeeds(
    roots: &Roots,
    step: &str,
    program: &str,
    arguments: &[String],
    interrupt: &AtomicBool,
    timeout: Duration,
    stdin: Stdio,
) -> Result<(), StackError> {
    let failed = |why: String| StackError::Step { step: step.to_owned(), why };
    let path = find(roots, program).ok_or_else(|| failed("it is not installed".to_owned()))?;
    let ran = run_to_its_end(&path, arguments, timeout, interrupt, stdin)
        .map_err(|error| failed(error.to_string()))?;
    let printed = String::from_utf8_lossy(&ran.stderr);
    match ran.end {
        End::Exited(0) => Ok(()),
        End::Interrupted => Err(StackError::Interrupted),
        End::TookTooLong => Err(failed(format!("it did not end within {} minutes", timeout.as_secs() / 60))),
        _ => Err(failed(match printed.trim() {
            "" => "it printed nothing".to_owned(),
            printed => printed.lines().map(str::trim).collect::<Vec<_>>().join("; "),
        })),
    }
}

/// Removes an object, if it is there.
pub(super) fn unmake(roots: &Roots, object: &Object) -> Result<(), StackError> {
    let failed = |step: String, why: String| StackError::Step { step, why };
    let what = &object.what;
    match what {
        What::Layer(_) => {
            let device = what.device().expect("it makes one");
            if let Some(path) = device.path(roots) {
                // Only while it stands can what is on it be erased; below it, the ground is.
                let _ = disks::erase(&path);
            }
            all_gone(roots, what)
        }
        What::Region { id, number, start, bytes, .. } => {
            all_gone(roots, what)?;
            let Some(disk) = disks::find(roots, id, *number) else { return Ok(()) };
            disks::erase_part(&disk, *start, *bytes)
                .map_err(|error| failed(format!("wipefs --all {}", disk.display()), error.to_string()))
        }
        What::Disk { id, number, .. } => {
            let Some(disk) = disks::find(roots, id, *number) else { return Ok(()) };
            disks::erase_mark(&disk)
                .map_err(|error| failed(format!("wipefs --all {}", disk.display()), error.to_string()))
        }
        What::Image { path, .. } => {
            let step = format!("rm {}", path.display());
            let metadata = match fs::symlink_metadata(path) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(failed(step, error.to_string())),
            };
            if !is_made(&metadata) {
                return Err(failed(step, "it is not the file that was made".to_owned()));
            }
            fs::remove_file(path).map_err(|error| failed(step, error.to_string()))
        }
        What::Directory { path } => match fs::remove_dir(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed(format!("rmdir {}", path.display()), error.to_string()))
            }
            _ => Ok(()),
        },
        _ => all_gone(roots, what),
    }
}

/// Undoes all that an object left.
fn all_gone(roots: &Roots, what: &What) -> Result<(), StackError> {
    what.undo().iter().try_for_each(|(remains, undo)| until_gone(roots, remains, undo))
}

/// Waits until the kernel has dropped the device of an array that was stopped. udev may have opened its node meanwhile, for which the
/// kernel makes an empty array; that stays until it is stopped as well (Linux 6.12, `md_open` and `md_ioctl`).
fn until_dropped(roots: &Roots, name: &str) {
    let until = Instant::now() + GOING;
    let is_empty = || {
        let state = roots.sys.join("block").join(name).join("md/array_state");
        read_line(state).as_deref() == Some("clear")
    };
    let path = roots.dev.join(name);
    let stop = Deed::Run(Words::of(&["mdadm", "--stop", &path.to_string_lossy()]));
    while is_empty() && Instant::now() < until {
        thread::sleep(PERIOD);
        if is_empty() {
            let never = AtomicBool::new(false);
            let _ = carry_out(roots, &stop, &Secrets::none(), &never, UNDOING, Stdio::null());
        }
    }
}

/// With the devices that are there, as it is run; else as a person would type it.
fn as_run(roots: &Roots, deed: &Deed) -> String {
    let resolved = match deed {
        Deed::Run(words) => words.resolved(roots, &Secrets::none()).ok(),
        _ => None,
    };
    resolved.map_or_else(|| deed.typed(), |words| join_words(&words))
}

fn join_words(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Undoes something until it is gone. It may be in use for a moment longer, and `losetup` succeeds although it is.
fn until_gone(roots: &Roots, remains: &Remains, undo: &Deed) -> Result<(), StackError> {
    let until = Instant::now() + GOING;
    let never = AtomicBool::new(false);
    let array = match remains {
        Remains::Device(device @ Device::Array { .. }) => device.find(roots),
        _ => None,
    };
    while let Some(there) = remains.find(roots) {
        let undone = carry_out(roots, undo, &Secrets::none(), &never, UNDOING, Stdio::null());
        if remains.find(roots).is_none() {
            break;
        }
        if Instant::now() >= until {
            undone?;
            return Err(StackError::Step {
                step: as_run(roots, undo),
                why: format!("{there} is still in use"),
            });
        }
        thread::sleep(PERIOD);
    }
    if let Some(name) = array {
        until_dropped(roots, &name);
    }
    Ok(())
}
