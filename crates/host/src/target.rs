//! Resolves what a user names to a [`Target`].

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use model::{Layer, LayerKind, Target, TargetKind, name_text};
use rustix::fs::{AtFlags, StatxFlags};

use crate::smart::add_once;
use crate::stack::{device_of_node, stack_of_device, stack_of_path};
use crate::testfiles::{TestFileError, TestFiles, reopen};
use crate::{Roots, read_line};

/// Why something cannot be a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It does not exist.
    #[error("cannot find `{path}`: {source}; name an existing directory, file or block device")]
    NotFound {
        /// What was named.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It is neither a directory nor a file nor a block device.
    #[error("`{0}` is neither a directory, nor a file, nor a block device; name one of these")]
    WrongKind(PathBuf),
    /// It cannot be opened.
    #[error("cannot read `{path}`: {source}{}", hint(*.kind, .source))]
    Unreadable {
        /// The target.
        path: PathBuf,
        /// What it is.
        kind: TargetKind,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No test file can be created in it.
    #[error("cannot make test files in `{path}`: {source}; name a directory that you may write to")]
    NotWritable {
        /// The target.
        path: PathBuf,
        /// The reason.
        source: TestFileError,
    },
    /// A file without content.
    #[error(
        "`{0}` is empty: there is nothing to read, and Lodestone does not fill a user's file; name a directory, in which Lodestone creates its own files"
    )]
    Empty(PathBuf),
    /// Two targets have the same name.
    #[error("two targets have the name `{0}`; give them different names, as in first=PATH second=PATH")]
    SameName(String),
}

/// What to do if a target cannot be opened.
pub fn hint(kind: TargetKind, error: &io::Error) -> &'static str {
    match (error.kind(), kind) {
        (io::ErrorKind::PermissionDenied, TargetKind::BlockDevice) => {
            "; reading a device usually needs root or membership in the group disk"
        }
        (io::ErrorKind::PermissionDenied, TargetKind::File | TargetKind::Directory) => {
            "; run Lodestone as a user with read permission, or ask its owner to grant it with chmod"
        }
        _ => "",
    }
}

/// Examines what a user named, `PATH` or `NAME=PATH`. `writable` states whether a file or device may be
/// overwritten; a directory's test files always may.
///
/// # Errors
/// [`TargetError`].
pub fn inspect(roots: &Roots, named: impl AsRef<OsStr>) -> Result<Target, TargetError> {
    let (name, path) = split_name(named.as_ref());
    let Found { path: canonical, kind, stack, .. } = Found::at(roots, Path::new(path))?;
    let mut target = Target {
        clients: Vec::new(),
        server: None,
        name: name.map_or_else(|| short_name(&canonical), name_text),
        kind,
        size_bytes: 0,
        free_bytes: 0,
        block_bytes: 4096,
        direct: false,
        labels: Default::default(),
        host: 0,
        writable: kind == TargetKind::Directory,
        stack,
        path: canonical,
    };
    match kind {
        TargetKind::Directory => measure_directory(roots, &mut target)?,
        _ => measure_existing(roots, &mut target)?,
    }
    Ok(target)
}

/// The object at a path that a user named.
pub(crate) struct Found {
    /// With links resolved.
    pub path: PathBuf,
    pub metadata: fs::Metadata,
    pub kind: TargetKind,
    pub stack: Vec<Layer>,
}

impl Found {
    /// # Errors
    /// [`TargetError::NotFound`] and [`TargetError::WrongKind`].
    pub fn at(roots: &Roots, named: &Path) -> Result<Self, TargetError> {
        let not_found = |source| TargetError::NotFound { path: named.display().to_string(), source };
        let path = fs::canonicalize(named).map_err(not_found)?;
        let metadata = fs::metadata(&path).map_err(not_found)?;
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => TargetKind::Directory,
            kind if kind.is_file() => TargetKind::File,
            kind if kind.is_block_device() => TargetKind::BlockDevice,
            _ => return Err(TargetError::WrongKind(path)),
        };
        let stack = match kind {
            TargetKind::BlockDevice => {
                device_of_node(&path).map(|d| stack_of_device(roots, d)).unwrap_or_default()
            }
            _ => stack_of_path(roots, &path),
        };
        Ok(Self { path, metadata, kind, stack })
    }
}

/// Examines several targets and makes sure that their names differ.
///
/// # Errors
/// [`TargetError`] of the first that cannot be a target.
pub fn inspect_all<T: AsRef<OsStr>>(roots: &Roots, named: &[T]) -> Result<Vec<Target>, TargetError> {
    let mut targets = named.iter().map(|n| inspect(roots, n)).collect::<Result<Vec<_>, _>>()?;
    add_once(roots, targets.iter_mut().flat_map(|target| &mut target.stack));
    let paths: Vec<PathBuf> = targets.iter().map(|t| t.path.clone()).collect();
    let short: Vec<String> = targets.iter().map(|t| t.name.clone()).collect();
    for (i, target) in targets.iter_mut().enumerate() {
        let ambiguous = short.iter().filter(|name| **name == short[i]).count() > 1;
        if ambiguous && split_name(named[i].as_ref()).0.is_none() {
            target.name = longer_name(&paths, i);
        }
    }
    let twice = (1..targets.len()).find(|i| targets[..*i].iter().any(|t| t.name == targets[*i].name));
    match twice {
        Some(i) => Err(TargetError::SameName(targets.swap_remove(i).name)),
        None => Ok(targets),
    }
}

/// `NAME=PATH`, unless a file with that exact name exists.
fn split_name(named: &OsStr) -> (Option<&OsStr>, &OsStr) {
    let bytes = named.as_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else { return (None, named) };
    let (name, path) = (&bytes[..at], &bytes[at + 1..]);
    if name.is_empty() || name.contains(&b'/') || Path::new(named).exists() {
        return (None, named);
    }
    (Some(OsStr::from_bytes(name)), OsStr::from_bytes(path))
}

fn short_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "/".to_owned(), name_text)
}

/// The shortest tail of a path that distinguishes it from the others.
fn longer_name(paths: &[PathBuf], index: usize) -> String {
    let tail = |path: &Path, n: usize| -> PathBuf {
        let parts: Vec<_> = path.components().collect();
        parts[parts.len().saturating_sub(n)..].iter().collect()
    };
    let own = &paths[index];
    let longest = own.components().count();
    let unique = |n: &usize| {
        let name = tail(own, *n);
        paths.iter().enumerate().all(|(j, other)| j == index || tail(other, *n) != name)
    };
    let n = (2..=longest).find(unique).unwrap_or(longest);
    name_text(tail(own, n).as_os_str())
}

fn measure_directory(roots: &Roots, target: &mut Target) -> Result<(), TargetError> {
    let (path, kind) = (target.path.clone(), target.kind);
    let unreadable = |source: io::Error| TargetError::Unreadable { path: path.clone(), kind, source };
    let space = rustix::fs::statvfs(&target.path).map_err(|e| unreadable(e.into()))?;
    target.size_bytes = space.f_blocks * space.f_frsize;
    target.free_bytes = space.f_bavail * space.f_frsize;
    let probe = TestFiles::create(&target.path, "probe", 1)
        .map_err(|source| TargetError::NotWritable { path: target.path.clone(), source })?;
    measure_direct(roots, target, probe.first(), true);
    Ok(())
}

fn measure_existing(roots: &Roots, target: &mut Target) -> Result<(), TargetError> {
    let (path, kind) = (target.path.clone(), target.kind);
    let unreadable = |source: io::Error| TargetError::Unreadable { path: path.clone(), kind, source };
    let file = File::open(&target.path).map_err(unreadable)?;
    target.size_bytes =
        rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).map_err(|e| unreadable(e.into()))?;
    if target.size_bytes == 0 {
        return Err(TargetError::Empty(target.path.clone()));
    }
    target.free_bytes = target.size_bytes;
    measure_direct(roots, target, &file, false);
    Ok(())
}

/// Determines whether `file`, which is or represents the target, supports direct I/O, and in what unit: as the
/// kernel reports for the file (Linux 6.1), else the logical block of the topmost device, else a page.
fn measure_direct(roots: &Roots, target: &mut Target, file: &File, writable: bool) {
    let alignment = reported_alignment(file);
    target.block_bytes = match alignment {
        Some(bytes) if bytes > 0 => bytes,
        _ => logical_block(roots, &target.stack).unwrap_or(4096),
    };
    target.direct = alignment != Some(0)
        && !is_in_memory(target)
        && reopen(file, writable, rustix::fs::OFlags::DIRECT.bits() as i32).is_ok();
}

/// The offset alignment of direct I/O, as statx(2) reports it: zero if the file does not support it, even if
/// opening it succeeds, and `None` if the kernel does not report it.
fn reported_alignment(file: &File) -> Option<u32> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_reported = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
    is_reported.then_some(facts.stx_dio_offset_align)
}

/// Filesystems without a device accept the flag for direct I/O (tmpfs from Linux 6.6 on), but there is nothing
/// below their page cache. A device on such a filesystem is a different case.
fn is_in_memory(target: &Target) -> bool {
    let own = target.stack.iter().find(|l| l.name != "overlay");
    target.kind != TargetKind::BlockDevice && own.is_some_and(Layer::is_memory)
}

fn logical_block(roots: &Roots, stack: &[Layer]) -> Option<u32> {
    let device = stack.iter().find(|l| l.device.is_some() && l.kind != LayerKind::Partition);
    let (major, minor) = device?.device?;
    let path = roots.sys.join(format!("dev/block/{major}:{minor}/queue/logical_block_size"));
    read_line(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, LoopDevice, Mounted};

    #[test]
    fn examining_a_directory_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let target = inspect(&Roots::default(), directory.path().to_str().unwrap()).unwrap();
        assert_eq!(target.kind, TargetKind::Directory);
        assert!(target.writable && target.free_bytes > 0 && !target.stack.is_empty());
        assert!(target.block_bytes.is_power_of_two());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_read_only_without_consent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, vec![1; 10_000]).unwrap();
        let target = inspect(&Roots::default(), path.to_str().unwrap()).unwrap();
        assert_eq!((target.kind, target.size_bytes, target.writable), (TargetKind::File, 10_000, false));
    }

    /// Linux 6.6 and later open files on tmpfs with O_DIRECT, and such a "device" was then compared with real
    /// ones.
    #[test]
    fn memory_has_no_direct_io_even_if_o_direct_opens() {
        let roots = Roots::default();
        let place = tempfile::tempdir().unwrap();
        for kind in ["tmpfs", "ramfs"] {
            let Some(memory) = Mounted::on(place.path(), &["-t", kind, kind]) else { return };
            let file = memory.point.join("data");
            fs::write(&file, [1; 8192]).unwrap();
            for path in [&memory.point, &file] {
                let target = inspect(&roots, path.to_str().unwrap()).unwrap();
                assert!(!target.direct, "{kind}: {}", path.display());
                assert_eq!(target.block_bytes, 4096);
            }
        }
    }

    #[test]
    fn a_device_over_a_file_in_memory_has_direct_io() {
        let place = tempfile::tempdir().unwrap();
        let Some(memory) = Mounted::on(place.path(), &["-t", "tmpfs", "tmpfs"]) else { return };
        let image = memory.point.join("image");
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        let Some(device) = LoopDevice::over(&image) else { return };
        assert!(inspect(&Roots::default(), &device.path).unwrap().direct);
    }

    /// ext4 journals the data of such a file and reports no direct I/O for it, yet accepts the flag and ignores
    /// it.
    #[test]
    fn a_file_without_reported_direct_io_has_none() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("image");
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let point = place.path().join("point");
        fs::create_dir(&point).unwrap();
        if testing::tool("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]).is_none() {
            return;
        }
        let options = ["-o", "loop,data=journal", image.to_str().unwrap()];
        let Some(mounted) = Mounted::on(&point, &options) else { return };
        let target = inspect(&Roots::default(), mounted.point.to_str().unwrap()).unwrap();
        let probe = TestFiles::create(&mounted.point, "probe", 1).unwrap();
        match reported_alignment(probe.first()) {
            Some(0) => assert!(!target.direct && target.block_bytes > 0),
            alignment => testing::skipped(&format!("this kernel reports {alignment:?} for journalled data")),
        }
    }

    #[test]
    fn an_invalid_target_is_explained_with_advice() {
        let directory = tempfile::tempdir().unwrap();
        let empty = directory.path().join("empty");
        fs::write(&empty, "").unwrap();
        let error_of = |named: &str| inspect(&Roots::default(), named).unwrap_err().to_string();
        assert!(error_of("/no/such/place").contains("name an existing directory"));
        assert!(error_of("/dev/null").contains("neither a directory"));
        assert!(error_of(empty.to_str().unwrap()).contains("is empty"));
        assert!(error_of("/proc").contains("cannot make test files in `/proc`"));
    }

    #[test]
    fn names_are_short_and_unique_and_user_names_take_precedence() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path.display().to_string()
        };
        let (a, b, c) = (path("a/data"), path("b/data"), path("c/other"));
        let names = |named: &[String]| {
            inspect_all(&Roots::default(), named).map(|t| t.into_iter().map(|t| t.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[a.clone(), b.clone(), c.clone()]).unwrap(), ["a/data", "b/data", "other"]);
        assert_eq!(names(&[format!("usb={a}"), format!("sd={b}")]).unwrap(), ["usb", "sd"]);
        assert!(
            names(&[format!("x={a}"), format!("x={b}")]).unwrap_err().to_string().contains("two targets")
        );
        assert!(names(&[a.clone(), a]).unwrap_err().to_string().contains("two targets"));
    }
}
