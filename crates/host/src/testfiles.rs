//! The files that a run creates for itself: unnamed if the filesystem allows it, so that not even `kill -9`
//! leaves anything; otherwise in a private directory with a manifest.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::DIRECTORY;
use crate::private_directory::failed;
pub use crate::private_directory::{PrivateDirectory, TestFileError, remove_private_directories};

/// Test files in one directory. They vanish when this is dropped, or with the process.
#[derive(Debug)]
pub struct TestFiles {
    files: Vec<File>,
    /// Holds the files that had to be created with a name; removed after they are closed.
    private: Option<PrivateDirectory>,
}

impl TestFiles {
    /// Creates `count` empty files in `directory` for the run with id `run`.
    ///
    /// # Errors
    /// [`TestFileError`], such as a read-only filesystem or no permission.
    pub fn create(directory: &Path, run: &str, count: u32) -> Result<Self, TestFileError> {
        let mut made = Self { files: Vec::with_capacity(count as usize), private: None };
        let directory = openat(CWD, directory, DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| failed("cannot open the directory")(error.into()))?;
        for number in 0..count {
            let file = match without_name(&directory) {
                Ok(file) => file,
                Err(error) if is_unsupported(&error) => made.named(&directory, run, number)?,
                Err(error) => return Err(failed("cannot create an unnamed file")(error)),
            };
            made.files.push(file);
        }
        Ok(made)
    }

    /// A file with a name, which is removed at once if the filesystem allows an open file without one.
    fn named(&mut self, directory: &OwnedFd, run: &str, number: u32) -> Result<File, TestFileError> {
        let refused = failed("cannot create a test file");
        let private = match self.private.take() {
            Some(private) => private,
            None => {
                let parent = directory.try_clone().map_err(&refused)?;
                PrivateDirectory::create_in(parent, run)
                    .map_err(failed("cannot create a private directory"))?
            }
        };
        let private = self.private.insert(private);
        let name = format!("data{number}");
        let file = private.file(&name).map_err(&refused)?;
        if private.unlink(&name).is_ok() && !lives_without_name(&file) {
            return private.file(&name).map_err(refused);
        }
        Ok(file)
    }

    /// The first of the files.
    ///
    /// # Panics
    /// If there is none.
    pub fn first(&self) -> &File {
        &self.files[0]
    }

    /// The files as they were created: read and write, through the page cache.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Paths by which other programs of the same user can open the unnamed files while this process has them
    /// open.
    pub fn paths(&self) -> Vec<PathBuf> {
        let own = std::process::id();
        self.files.iter().map(|file| PathBuf::from(format!("/proc/{own}/fd/{}", file.as_raw_fd()))).collect()
    }

    /// Opens all files again with other flags, so that each job has its own descriptors.
    ///
    /// # Errors
    /// The kernel's error, `EINVAL` if direct I/O is requested and not supported.
    pub fn open(&self, writable: bool, flags: i32) -> io::Result<Vec<File>> {
        self.files.iter().map(|file| reopen(file, writable, flags)).collect()
    }
}

fn without_name(directory: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The filesystem (or an old kernel, which takes the call for opening a directory) does not support unnamed
/// files.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOENT, Errno::NOSYS];
    Errno::from_io_error(error).is_some_and(|errno| known.contains(&errno))
}

/// True if the file can still be used and reopened after its name was removed.
fn lives_without_name(file: &File) -> bool {
    use std::os::unix::fs::FileExt;
    file.write_all_at(b"x", 0).is_ok() && file.set_len(0).is_ok() && reopen(file, true, 0).is_ok()
}

/// Reopens the file behind a descriptor with other flags.
///
/// # Errors
/// The kernel's error.
pub(crate) fn reopen(file: &File, writable: bool, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let open =
        |more: i32| OpenOptions::new().read(true).write(writable).custom_flags(flags | more).open(&path);
    // The access time is not needed, and updating it costs each read some time. Only the owner may request that.
    match open(OFlags::NOATIME.bits() as i32) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !Path::new("/proc/self/fd").exists() => {
            Err(io::Error::new(error.kind(), "/proc is not mounted here: mount -t proc proc /proc"))
        }
        result => result,
    }
}

/// Waits until everything that was written to the file's filesystem is on the storage.
///
/// # Errors
/// The kernel's error, including `EIO` if earlier writes failed.
pub fn settle(file: &File) -> io::Result<()> {
    rustix::fs::syncfs(file).map_err(io::Error::from)
}

/// Asks the filesystem to reserve `bytes` bytes for the file from its start.
///
/// # Errors
/// The kernel's error: `ENOSPC` if there is no space, `EOPNOTSUPP` if the filesystem cannot guarantee it.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes).map_err(io::Error::from)
}

/// A file in memory only, filled with zeros.
///
/// # Errors
/// The kernel's error, such as insufficient memory.
pub fn in_memory(bytes: u64) -> io::Result<File> {
    let file = File::from(rustix::fs::memfd_create("lodestone", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    Ok(file)
}

/// Bytes that an ordinary user may still write to the filesystem that holds `path`.
///
/// # Errors
/// The kernel's error.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let space = rustix::fs::statvfs(path)?;
    Ok(space.f_bavail * space.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::FileExt;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn test_files_are_unnamed_and_can_be_reopened() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let made = TestFiles::create(directory.path(), "t", 3).unwrap();
        assert!(names(directory.path()).is_empty());
        made.files()[1].write_all_at(b"hello", 0).unwrap();
        let again = made.open(false, 0).unwrap();
        let mut content = [0; 5];
        again[1].read_exact_at(&mut content, 0).unwrap();
        assert_eq!((&content, again.len()), (b"hello", 3));
        assert!(again[1].write_all_at(b"x", 0).is_err(), "opened for reading only");
    }

    #[test]
    fn reading_does_not_update_access_times_of_own_files() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let made = TestFiles::create(directory.path(), "t", 1).unwrap();
        let opened = made.open(false, 0).unwrap();
        assert!(rustix::fs::fcntl_getfl(&opened[0]).unwrap().contains(OFlags::NOATIME));
    }

    #[test]
    fn a_required_name_is_removed_or_in_the_private_directory() {
        let directory = tempfile::tempdir().unwrap();
        let mut made = TestFiles { files: Vec::new(), private: None };
        let opened = File::open(directory.path()).unwrap().into();
        let file = made.named(&opened, "t", 0).unwrap();
        made.files.push(file);
        let private = made.private.as_ref().unwrap().path();
        assert_eq!(names(&private), ["manifest.json"], "this filesystem supports unnamed open files");
        made.open(true, 0).unwrap()[0].write_all_at(b"x", 0).unwrap();
        drop(made);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn an_error_keeps_the_kernels_reason() {
        let error = TestFiles::create(Path::new("/proc"), "t", 1).unwrap_err();
        assert!(!error.to_string().is_empty());
        assert!(TestFiles::create(Path::new("/no/such/directory"), "t", 1).is_err());
    }
}
