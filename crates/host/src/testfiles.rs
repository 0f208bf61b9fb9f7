//! The files that a run makes for itself: without a name wherever the filesystem allows it, so that not
//! even `kill -9` leaves anything; else in a private directory with a manifest.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::DIRECTORY;
pub use crate::private_directory::{PrivateDirectory, remove_private_directories};

/// Why test files could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct TestFileError {
    what: &'static str,
    source: io::Error,
}

impl TestFileError {
    /// The kernel's answer.
    pub fn into_source(self) -> io::Error {
        self.source
    }
}

pub(crate) fn failed(what: &'static str) -> impl Fn(io::Error) -> TestFileError {
    move |source| TestFileError { what, source }
}

/// Some test files in one directory. They vanish when this is dropped, or with the process.
#[derive(Debug)]
pub struct TestFiles {
    files: Vec<File>,
    /// Holds the files that could not be made without a name; removed after they are closed.
    private: Option<PrivateDirectory>,
}

impl TestFiles {
    /// Makes `count` empty files in `directory` for the run with id `run`.
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

    /// A file with a name, which is taken away again at once if the filesystem lets an open file live
    /// on without.
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

    /// The files, as they were made: read and write, through the page cache.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Paths by which other programs of the same user can open the files, which have no names of their own, for as long
    /// as this process has them open.
    pub fn paths(&self) -> Vec<PathBuf> {
        let own = std::process::id();
        self.files.iter().map(|file| PathBuf::from(format!("/proc/{own}/fd/{}", file.as_raw_fd()))).collect()
    }

    /// Opens all files anew with other flags, so that each job has descriptors of its own.
    ///
    /// # Errors
    /// The kernel's, `EINVAL` where direct I/O is asked for and cannot be had.
    pub fn open(&self, writable: bool, flags: i32) -> io::Result<Vec<File>> {
        self.files.iter().map(|file| reopen(file, writable, flags)).collect()
    }
}

fn without_name(directory: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The filesystem (or an old kernel, which takes the call for opening a directory) does not know files
/// without a name.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOENT, Errno::NOSYS];
    Errno::from_io_error(error).is_some_and(|errno| known.contains(&errno))
}

/// True if the file can still be used and opened anew after its name was taken away.
fn lives_without_name(file: &File) -> bool {
    use std::os::unix::fs::FileExt;
    file.write_all_at(b"x", 0).is_ok() && file.set_len(0).is_ok() && reopen(file, true, 0).is_ok()
}

/// Opens the file behind a descriptor anew, with other flags.
///
/// # Errors
/// The kernel's error.
pub(crate) fn reopen(file: &File, writable: bool, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let open =
        |more: i32| OpenOptions::new().read(true).write(writable).custom_flags(flags | more).open(&path);
    // Nobody needs to know when it was read: keeping the access time costs each read some time. Only the
    // owner may ask for that.
    match open(OFlags::NOATIME.bits() as i32) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(0),
        result => result,
    }
}

/// Waits until everything that was written to the file's filesystem is on the storage.
///
/// # Errors
/// The kernel's, `EIO` among them if earlier writes failed.
pub fn settle(file: &File) -> io::Result<()> {
    rustix::fs::syncfs(file).map_err(io::Error::from)
}

/// Asks the filesystem to set aside `bytes` bytes for the file from its start.
///
/// # Errors
/// The kernel's: `ENOSPC` if there is no room, `EOPNOTSUPP` if the filesystem cannot promise.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes).map_err(io::Error::from)
}

/// A file that lies in memory only, filled with zeros.
///
/// # Errors
/// The kernel's, such as too little memory.
pub fn in_memory(bytes: u64) -> io::Result<File> {
    let file = File::from(rustix::fs::memfd_create("lodestone", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    Ok(file)
}

/// Bytes that an ordinary user may still write on the filesystem that holds `path`.
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
    fn test_files_have_no_name_and_can_be_opened_anew() {
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
    fn reading_leaves_no_access_time_on_files_of_our_own() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let made = TestFiles::create(directory.path(), "t", 1).unwrap();
        let opened = made.open(false, 0).unwrap();
        assert!(rustix::fs::fcntl_getfl(&opened[0]).unwrap().contains(OFlags::NOATIME));
    }

    #[test]
    fn where_a_name_is_needed_it_is_taken_away_or_stands_in_the_private_directory() {
        let directory = tempfile::tempdir().unwrap();
        let mut made = TestFiles { files: Vec::new(), private: None };
        let opened = File::open(directory.path()).unwrap().into();
        let file = made.named(&opened, "t", 0).unwrap();
        made.files.push(file);
        let private = made.private.as_ref().unwrap().path();
        assert_eq!(names(&private), ["manifest.json"], "this filesystem lets files live without a name");
        made.open(true, 0).unwrap()[0].write_all_at(b"x", 0).unwrap();
        drop(made);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_refusal_keeps_the_kernels_reason() {
        let error = TestFiles::create(Path::new("/proc"), "t", 1).unwrap_err();
        assert!(!error.to_string().is_empty());
        assert!(TestFiles::create(Path::new("/no/such/directory"), "t", 1).is_err());
    }
}
