//! The one way to open what the user names for reading: suites, job files, outputs of other programs, logs.
//!
//! # Invariants
//! * Only regular files are read, and the standard input where it is named `-`. A link to a regular file is followed.
//! * Opening has no side effect and never waits: what is not regular is refused before it is opened, and again after.
//! * Reading ends: bytes, lines and time are limited while reading, because the size that a filesystem reports may be wrong.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, PROC_SUPER_MAGIC, fstatfs};

/// What stands for the standard input where a file is asked for.
pub const STANDARD_INPUT: &str = "-";
/// Most bytes of a suite, a job file or the output of a benchmark.
pub const MOST_BYTES: u64 = 32 << 20;
/// Most lines of such a file. Line feeds and carriage returns both end lines.
pub const MOST_LINES: usize = 1_000_000;
/// Most bytes of a run log.
pub const MOST_LOG_BYTES: u64 = 4 << 30;
/// The longest time in which all of an input must have come.
pub const MOST_TIME: Duration = Duration::from_secs(3600);

/// Kernel interfaces whose files are made while they are read: sysfs, debugfs, tracefs. procfs is known to rustix.
const KERNEL_FILESYSTEMS: [u64; 3] = [0x6265_6572, 0x6462_6720, 0x7472_6163];

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The kernel refuses.
    #[error(transparent)]
    Refused(#[from] io::Error),
    /// It is not a regular file.
    #[error("it is {what}, not a regular file; {advice}")]
    NotRegular {
        /// What it is, with its article.
        what: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// It is longer than allowed.
    #[error("it is longer than {0} bytes, the most that is read of such a file")]
    TooLong(u64),
    /// It has more lines than allowed.
    #[error("it has more than {MOST_LINES} lines, the most that is read of such a file")]
    TooManyLines,
    /// It has not ended in time.
    #[error("it did not end within {} minutes; write it to a file first, and name that", MOST_TIME.as_secs() / 60)]
    TooSlow,
    /// It is like a pipe although it claims to be regular.
    #[error("it has no more to read now, and no end either; copy what is needed to a file, and name that")]
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

/// What tells a file from all others while it is open: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    device: u64,
    inode: u64,
}

/// An open input, which ends or fails within its limits.
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
    // Opening a device may already do something to it: a tape rewinds, a watchdog starts.
    refuse_other_than_regular(fs::metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    refuse_other_than_regular(file.metadata()?.file_type())?;
    let filesystem = fstatfs(&file).map_err(io::Error::from)?.f_type;
    if filesystem == PROC_SUPER_MAGIC || KERNEL_FILESYSTEMS.contains(&(filesystem as u64)) {
        let advice = "copy what is needed to a file, and name that";
        return Err(InputError::NotRegular {
            what: "a file of the kernel that is made while it is read",
            advice,
        });
    }
    if file.metadata()?.len() > most_bytes {
        return Err(InputError::TooLong(most_bytes));
    }
    Ok(Input::new(file, most_bytes, false))
}

/// Reads a whole text: a regular file, or the standard input where it is named `-`. Its identity is `None` for the
/// standard input.
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

/// Our own errors go through [`io::Error`] where a reader stands between.
fn as_input_error(error: io::Error) -> InputError {
    error.downcast::<InputError>().unwrap_or_else(InputError::Refused)
}

/// # Errors
/// [`InputError::NotRegular`] for all but regular files.
fn refuse_other_than_regular(kind: FileType) -> Result<(), InputError> {
    let (what, advice) = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        ("a directory", "name a file in it")
    } else if kind.is_fifo() {
        (
            "a pipe",
            "write what comes through it to a file and name that, or pass it to the standard input and name `-`",
        )
    } else if kind.is_socket() {
        ("a socket", "write what comes through it to a file, and name that")
    } else if kind.is_block_device() {
        ("a block device", "name a file on it")
    } else {
        ("a character device", "name a file")
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
    /// The kernel's.
    pub fn id(&self) -> io::Result<FileId> {
        let metadata = self.file.metadata()?;
        Ok(FileId { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Waits until there is something to read or the time is over.
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
        // One byte more than allowed is asked for, to tell the end of the input from its limit.
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

    fn words(path: &str) -> String {
        read(Path::new(path)).map(|_| ()).unwrap_err().to_string()
    }

    /// `-s /dev/zero` took memory without limit, and a pipe made the program wait for ever.
    #[test]
    fn what_is_not_a_regular_file_is_refused_by_its_kind() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(words(pipe.to_str().unwrap()).starts_with("it is a pipe, not a regular file; "));
        assert!(words(socket.to_str().unwrap()).starts_with("it is a socket"));
        assert!(words(directory.path().to_str().unwrap()).starts_with("it is a directory"));
        assert!(words("/dev/zero").starts_with("it is a character device"));
        assert!(words("/proc/self/status").starts_with("it is a file of the kernel"));
    }

    #[test]
    fn a_link_to_a_regular_file_is_the_file() {
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
    fn limits_hold_while_reading_whatever_the_size_was_at_first() {
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
