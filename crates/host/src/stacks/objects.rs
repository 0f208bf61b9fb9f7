//! Makes and removes the objects of stacks, and finds them in the kernel and on the disk.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use super::StackError;
use super::plan::Object;
use crate::mounts::mounts;
use crate::programs::{End, find, run_with};
use crate::{Roots, read_line};

/// Time that a program has: making a filesystem on a slow card takes minutes.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long something may take to go once it was told to: the kernel closes the files of rings a little later.
const GOING: Duration = Duration::from_secs(10);
/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Makes an object. Returns what is worth knowing about it.
pub(super) fn make(
    roots: &Roots,
    object: &Object,
    interrupt: &AtomicBool,
    lock: Stdio,
) -> Result<Option<String>, StackError> {
    let failed = |why: String| StackError::Step { step: object.typed("DEVICE"), why };
    match object {
        Object::Image { path, bytes, .. } => {
            let new = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
            let file = new.map_err(|error| failed(error.to_string()))?;
            fallocate(&file, FallocateFlags::empty(), 0, *bytes)
                .map_err(|error| failed(std::io::Error::from(error).to_string()))?;
            file.sync_all().map_err(|error| failed(error.to_string()))?;
            Ok(None)
        }
        Object::Directory { path, .. } => {
            DirBuilder::new().mode(0o700).create(path).map_err(|error| failed(error.to_string()))?;
            Ok(None)
        }
        Object::Loop { image, bytes, .. } => {
            // Its directory may be another user's, who can put another file in its place.
            let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
            let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(image);
            let file = file.map_err(|error| failed(error.to_string()))?;
            let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
            if !is_made(&metadata) || metadata.len() != *bytes {
                return Err(failed("it is not the file that was made".to_owned()));
            }
            let open = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
            let mut words = object.command("").unwrap_or_default();
            let last = words.last_mut().expect("the file is the last word");
            *last = open;
            program_succeeds(roots, &object.typed(""), "losetup", &words[1..], interrupt, lock)?;
            let name = loop_of(roots, image)
                .ok_or_else(|| failed("no loop device of this image appeared in /sys/block".to_owned()))?;
            let direct = read_line(roots.sys.join("block").join(&name).join("loop/dio"));
            let is_direct = direct.as_deref() == Some("1");
            Ok((!is_direct).then(|| {
                format!("{name} reads through the page cache of the filesystem of its image, which refuses direct I/O")
            }))
        }
        Object::Filesystem { image, .. } | Object::Mount { image, .. } => {
            let name = loop_of(roots, image)
                .ok_or_else(|| failed(format!("{} has no loop device", image.display())))?;
            call(roots, object, &roots.dev.join(name).to_string_lossy(), interrupt, lock)?;
            Ok(None)
        }
    }
}

/// True for what [`make`] makes as an image.
fn is_made(metadata: &fs::Metadata) -> bool {
    metadata.is_file() && metadata.uid() == 0 && metadata.nlink() == 1 && metadata.mode() & 0o777 == 0o600
}

/// Runs the program that makes an object.
fn call(
    roots: &Roots,
    object: &Object,
    device: &str,
    interrupt: &AtomicBool,
    lock: Stdio,
) -> Result<(), StackError> {
    let words = object.command(device).unwrap_or_default();
    let (program, arguments) = words.split_first().expect("it is made by a program");
    program_succeeds(roots, &object.typed(device), program, arguments, interrupt, lock)
}

fn program_succeeds(
    roots: &Roots,
    step: &str,
    program: &str,
    arguments: &[String],
    interrupt: &AtomicBool,
    stdin: Stdio,
) -> Result<(), StackError> {
    let failed = |why: String| StackError::Step { step: step.to_owned(), why };
    let path = find(roots, program).ok_or_else(|| failed("it is not installed".to_owned()))?;
    let ran = run_with(&path, arguments, Path::new("/"), TIMEOUT, interrupt, stdin)
        .map_err(|error| failed(error.to_string()))?;
    let printed = String::from_utf8_lossy(&ran.stderr);
    match ran.end {
        End::Exited(0) => Ok(()),
        End::Interrupted => Err(StackError::Interrupted),
        End::TookTooLong => Err(failed(format!("it did not end within {} minutes", TIMEOUT.as_secs() / 60))),
        _ => Err(failed(match printed.trim() {
            "" => "it printed nothing".to_owned(),
            printed => printed.lines().map(str::trim).collect::<Vec<_>>().join("; "),
        })),
    }
}

/// The name of the loop device whose file this is.
fn loop_of(roots: &Roots, image: &Path) -> Option<String> {
    loops_of(roots, image).into_iter().next()
}

fn loops_of(roots: &Roots, image: &Path) -> Vec<String> {
    let entries = fs::read_dir(roots.sys.join("block")).into_iter().flatten().flatten();
    let is_its = |directory: PathBuf| {
        let file = read_line(directory.join("loop/backing_file"))?;
        (Path::new(&file) == image).then_some(())
    };
    let names = entries.filter_map(|entry| {
        is_its(entry.path())?;
        Some(entry.file_name().to_string_lossy().into_owned())
    });
    names.collect()
}

/// True if a mount of this stack is on this directory.
fn is_mounted(roots: &Roots, point: &Path) -> bool {
    mounts(roots).iter().any(|mount| mount.point == point)
}

/// Removes an object, if it is there.
pub(super) fn unmake(roots: &Roots, object: &Object) -> Result<(), StackError> {
    let never = AtomicBool::new(false);
    let failed = |step: String, why: String| StackError::Step { step, why };
    match object {
        Object::Filesystem { .. } => Ok(()),
        Object::Mount { point, .. } => {
            let words = [point.to_string_lossy().into_owned()];
            let step = format!("umount {}", point.display());
            let until = Instant::now() + GOING;
            while is_mounted(roots, point) {
                match program_succeeds(roots, &step, "umount", &words, &never, Stdio::null()) {
                    Err(error) if Instant::now() >= until => return Err(error),
                    // It may be in use for a moment longer.
                    Err(_) => thread::sleep(PERIOD),
                    Ok(()) => {}
                }
            }
            Ok(())
        }
        Object::Loop { image, .. } => {
            let until = Instant::now() + GOING;
            loop {
                let names = loops_of(roots, image);
                let Some(name) = names.first() else { return Ok(()) };
                let device = roots.dev.join(name).to_string_lossy().into_owned();
                let step = format!("losetup --detach {device}");
                let detached = program_succeeds(
                    roots,
                    &step,
                    "losetup",
                    &["--detach".to_owned(), device],
                    &never,
                    Stdio::null(),
                );
                // It succeeds although the device is in use, and is detached later.
                if Instant::now() >= until {
                    detached?;
                    return Err(failed(step, "the device is still in use".to_owned()));
                }
                thread::sleep(PERIOD);
            }
        }
        Object::Image { path, .. } => {
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
        Object::Directory { path, .. } => match fs::remove_dir(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed(format!("rmdir {}", path.display()), error.to_string()))
            }
            _ => Ok(()),
        },
    }
}
