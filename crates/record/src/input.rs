//! Opens every file that the user names as input: suites, job files, outputs of other programs, logs.
//!
//! # Invariants
//! * Only regular files are read, and standard input under the name `-`. A symbolic link to a regular file is followed.
//! * Opening has no side effect and never blocks: the file type is checked before opening, and again afterwards.
//! * Every read terminates: limits on bytes, lines and time apply during the read, because a filesystem may report a wrong size.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, PROC_SUPER_MAGIC, fstatfs};

/// The file name that means standard input.
pub const STANDARD_INPUT: &str = "-";
/// The largest size in bytes of a suite, a job file or the output of a benchmark.
pub const MOST_BYTES: u64 = 32 << 20;
/// The largest number of lines of such a file. Line feeds and carriage returns both end lines.
pub const MOST_LINES: usize = 1_000_000;
/// The largest size in bytes of a run log.
pub const MOST_LOG_BYTES: u64 = 4 << 30;
/// The time limit for reading a whole input.
pub const MOST_TIME: Duration = Duration::from_secs(3600);

/// Kernel pseudo-filesystems, which generate content on reading: sysfs, debugfs, tracefs. rustix has the constant for
/// procfs.
const KERNEL_FILESYSTEMS: [u64; 3] = [0x6265_6572, 0x6462_6720, 0x7472_6163];

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The kernel reports an error.
    #[error(transparent)]
    Refused(#[from] io::Error),
    /// It is not a regular file.
    #[error("it is {what}, not a regular file; {advice}")]
    NotRegular {
        /// What it is, with its article.
        what: &'static str,
        /// What the user can do instead.
        advice: &'static str,
    },
    /// It is longer than allowed.
    #[error("it exceeds the limit of {0} bytes")]
    TooLong(u64),
    /// It has more lines than allowed.
    #[error("it exceeds the limit of {MOST_LINES} lines")]
    TooManyLines,
    /// It did not end within the time limit.
    #[error("it did not end within {} minutes; write it to a file first and name that file", MOST_TIME.as_secs() / 60)]
    TooSlow,
    /// It behaves like a pipe although it claims to be a regular file.
    #[error("it has no data now and does not end; copy the content to a regular file and name that file")]
    NoEnd,
}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Refused(error) => error,
            other => Self::new(ErrorKind::InvalidInput, other),
        }
    }
}

/// The identity of an open file: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    device: u64,
    inode: u64,
}

/// An open input that is read within its limits.
#[derive(Debug)]
pub struct Input {
    file: File,
    /// Bytes that may still be read.
    left: u64,
    most_bytes: u64,
    until: Instant,
    is_standard_input: bool,
}

/// Opens a regular file of at most `most_bytes`.
///
/// # Errors
/// [`InputError`].
pub fn open(path: &Path, most_bytes: u64) -> Result<Input, InputError> {
    // Opening a device can have side effects: a tape rewinds, a watchdog starts.
    refuse_other_than_regular(fs::metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    refuse_other_than_regular(file.metadata()?.file_type())?;
    let filesystem = fstatfs(&file).map_err(io::Error::from)?.f_type;
    if filesystem == PROC_SUPER_MAGIC || KERNEL_FILESYSTEMS.contains(&(filesystem as u64)) {
        let advice = "copy the content to a regular file and name that file";
        return Err(InputError::NotRegular { what: "a kernel pseudo-file, generated on reading", advice });
    }
    if file.metadata()?.len() > most_bytes {
        return Err(InputError::TooLong(most_bytes));
    }
    Ok(Input::new(file, most_bytes, false))
}

/// Reads a whole text from a regular file, or from standard input if `path` is `-`. The identity of standard input is
/// `None`.
///
/// # Errors
/// [`InputError`], with [`MOST_BYTES`], [`MOST_LINES`] and [`MOST_TIME`] as its limits.
pub fn read(path: &Path) -> Result<(Vec<u8>, Option<FileId>), InputError> {
    let mut input =
        if path == Path::new(STANDARD_INPUT) { standard_input()? } else { open(path, MOST_BYTES)? };
    let id = (!input.is_standard_input).then(|| input.id()).transpose()?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(as_input_error)?;
    let lines = bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
    if lines > MOST_LINES {
        return Err(InputError::TooManyLines);
    }
    Ok((bytes, id))
}

fn standard_input() -> Result<Input, InputError> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    if kind.is_dir() || kind.is_block_device() {
        refuse_other_than_regular(kind)?;
    }
    Ok(Input::new(file, MOST_BYTES, true))
}

/// Restores an [`InputError`] that passed through a reader as an [`io::Error`].
fn as_input_error(error: io::Error) -> InputError {
    error.downcast::<InputError>().unwrap_or_else(InputError::Refused)
}

/// # Errors
/// [`InputError::NotRegular`] for all but regular files.
fn refuse_other_than_regular(kind: FileType) -> Result<(), InputError> {
    let (what, advice) = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        ("a directory", "name a file in the directory")
    } else if kind.is_fifo() {
        (
            "a pipe",
            "write its data to a file and name that file, or redirect it to standard input and name `-`",
        )
    } else if kind.is_socket() {
        ("a socket", "write its data to a file and name that file")
    } else if kind.is_block_device() {
        ("a block device", "name a regular file")
    } else {
        ("a character device", "name a regular file")
    };
    Err(InputError::NotRegular { what, advice })
}

impl Input {
    fn new(file: File, most_bytes: u64, is_standard_input: bool) -> Self {
        let until = Instant::now() + MOST_TIME;
        Self { file, left: most_bytes, most_bytes, until, is_standard_input }
    }

    /// The file's identity.
    ///
    /// # Errors
    /// An I/O error.
    pub fn id(&self) -> io::Result<FileId> {
        let metadata = self.file.metadata()?;
        Ok(FileId { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Waits until input is available or the time limit expires.
    fn wait(&self) -> Result<(), InputError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(InputError::TooSlow);
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&left)) {
            Ok(0) => Err(InputError::TooSlow),
            Err(error) if error != rustix::io::Errno::INTR => Err(InputError::Refused(error.into())),
            _ => Ok(()),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte beyond the limit is requested, to distinguish the end of the input from the limit.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
        loop {
            if self.is_standard_input {
                self.wait()?;
            } else if Instant::now() > self.until {
                return Err(InputError::TooSlow.into());
            }
            return match self.file.read(&mut buffer[..most]) {
                Ok(n) if n as u64 > self.left => Err(InputError::TooLong(self.most_bytes).into()),
                Ok(n) => {
                    self.left -= n as u64;
                    Ok(n)
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.is_standard_input => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Err(InputError::NoEnd.into()),
                Err(error) => Err(error),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &str) -> String {
        read(Path::new(path)).map(|_| ()).unwrap_err().to_string()
    }

    /// `-s /dev/zero` consumed memory without limit, and a pipe blocked the program forever.
    #[test]
    fn other_file_types_are_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(message(pipe.to_str().unwrap()).starts_with("it is a pipe, not a regular file; "));
        assert!(message(socket.to_str().unwrap()).starts_with("it is a socket"));
        assert!(message(directory.path().to_str().unwrap()).starts_with("it is a directory"));
        assert!(message("/dev/zero").starts_with("it is a character device"));
        assert!(message("/proc/self/status").starts_with("it is a kernel pseudo-file"));
    }

    #[test]
    fn symbolic_and_hard_links_to_a_regular_file_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        let whole = read(&at("file")).unwrap();
        assert_eq!(whole.0, b"text");
        assert_eq!(whole, read(&at("link")).unwrap());
        assert_eq!(whole, read(&at("hard")).unwrap());
    }

    #[test]
    fn limits_apply_during_the_read_of_a_growing_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("grows");
        fs::write(&path, "12345").unwrap();
        let mut exact = open(&path, 5).unwrap();
        let mut grown = open(&path, 5).unwrap();
        assert_eq!(exact.read_to_end(&mut Vec::new()).unwrap(), 5);
        fs::write(&path, "123456").unwrap();
        let error = as_input_error(grown.read_to_end(&mut Vec::new()).unwrap_err());
        assert!(matches!(error, InputError::TooLong(5)), "{error}");
        File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(matches!(read(&path), Err(InputError::TooLong(MOST_BYTES))));
        fs::write(&path, "\n".repeat(MOST_LINES + 1)).unwrap();
        assert!(matches!(read(&path), Err(InputError::TooManyLines)));
    }
}
