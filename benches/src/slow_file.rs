//! A file whose every read takes a chosen time, from a server in user space that records the true times.
//!
//! The file may be opened for writing, as sysbench does with all its files, but it cannot be written: the server does
//! not implement the request.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};

use nix::mount::{MntFlags, umount2};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::measured;

/// Its size in bytes.
pub const FILE_BYTES: u64 = 64 << 20;
/// The name that sysbench gives the first of its files, in its working directory.
const FILE_NAME: &str = "test_file.0";
/// A sleeping thread may wake so late: the end of a delay is waited for awake.
const WAKING: Duration = Duration::from_micros(300);

/// How long reads take.
#[derive(Clone, Copy, Debug)]
pub enum Delay {
    Fixed(Duration),
    /// Nine of ten take the first, one of ten the second.
    TwoModes(Duration, Duration),
    /// All take the first; one of so many, at random, takes the second.
    Rare(Duration, f64, Duration),
    /// All take the first; the first read that begins at least the second after the start takes the third.
    Stall(Duration, Duration, Duration),
    /// As long as the disk below takes, and longer by this share.
    Disk(f64),
    /// As long as the disk below takes, but at most so many a second.
    Capped(f64),
}

/// The server's state.
#[derive(Debug)]
struct State {
    delay: Delay,
    reads: u64,
    /// Time of the first read.
    began: Option<Instant>,
    /// Before this moment the next read of one that is capped does not end.
    next: Option<Instant>,
    stalled: bool,
    /// When each read arrived.
    arrivals: Vec<Instant>,
    /// Nanoseconds that each read took.
    took_ns: Vec<u64>,
    rng: Xoshiro256PlusPlus,
}

impl State {
    fn new(delay: Delay) -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            delay,
            reads: 0,
            began: None,
            next: None,
            stalled: false,
            arrivals: Vec::new(),
            took_ns: Vec::new(),
            rng,
        }
    }

    fn next(&mut self) -> Duration {
        self.reads += 1;
        let began = *self.began.get_or_insert_with(Instant::now);
        match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::TwoModes(_, slow) if self.reads.is_multiple_of(10) => slow,
            Delay::TwoModes(fast, _) => fast,
            Delay::Rare(_, every, stall) if self.rng.random_bool(1.0 / every) => stall,
            Delay::Rare(usual, ..) => usual,
            Delay::Stall(_, after, stall) if !self.stalled && began.elapsed() >= after => {
                self.stalled = true;
                stall
            }
            Delay::Stall(base, ..) => base,
            Delay::Disk(_) | Delay::Capped(_) => Duration::ZERO,
        }
    }
}

/// A filesystem with one file. With a file below it, reads are passed on to that.
struct Server(Arc<Mutex<State>>, Option<File>);

/// The largest alignment that direct I/O asks for here.
const ALIGNMENT: usize = 4096;

fn attributes(ino: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino),
        size: if ino == 2 { FILE_BYTES } else { 0 },
        blocks: FILE_BYTES / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if ino == 2 { FileType::RegularFile } else { FileType::Directory },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

const ATTRIBUTE_TTL: Duration = Duration::from_secs(3600);

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == FILE_NAME {
            reply.entry(&ATTRIBUTE_TTL, &attributes(2), fuser::Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTE_TTL, &attributes(u64::from(ino)));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // No page cache: every read comes here.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let began = Instant::now();
        let Ok(mut state) = self.0.lock() else { return reply.error(Errno::EIO) };
        state.arrivals.push(began);
        let mut delay = state.next();
        let mut buffer = vec![0; size as usize + ALIGNMENT];
        let from = buffer.as_ptr().align_offset(ALIGNMENT);
        let data = &mut buffer[from..from + size as usize];
        if let Some(disk) = &self.1 {
            if disk.read_exact_at(data, offset).is_err() {
                return reply.error(Errno::EIO);
            }
            let took = began.elapsed();
            match state.delay {
                Delay::Disk(more) => delay = took.mul_f64(1.0 + more),
                Delay::Capped(rate) => {
                    let end = state.next.map_or(began + took, |next| next.max(began + took));
                    delay = end.duration_since(began);
                    state.next = Some(end + Duration::from_secs_f64(1.0 / rate));
                }
                _ => {}
            }
        }
        std::thread::sleep(delay.saturating_sub(WAKING));
        while began.elapsed() < delay {
            std::hint::spin_loop();
        }
        state.took_ns.push(began.elapsed().as_nanos() as u64);
        drop(state);
        reply.data(data);
    }
}

/// The mounted file, and its server's state.
pub struct SlowFile {
    state: Arc<Mutex<State>>,
    /// Its path.
    pub file: PathBuf,
    _session: BackgroundSession,
    /// The directory that the mount point is in.
    pub scratch: tempfile::TempDir,
}

impl Drop for SlowFile {
    /// A ring of a program that has ended may hold the file a little longer: then a plain unmount would fail.
    fn drop(&mut self) {
        if let Some(point) = self.file.parent() {
            let _ = umount2(point, MntFlags::MNT_DETACH);
        }
    }
}

impl SlowFile {
    /// Mounts the file in a new directory below `place`.
    ///
    /// # Errors
    /// The kernel's, if FUSE is not available.
    pub fn mount(place: &Path) -> io::Result<Self> {
        Self::over(place, None)
    }

    /// The same, with reads that are passed on to a file of at least [`FILE_BYTES`].
    ///
    /// # Errors
    /// The kernel's, if FUSE is not available.
    pub fn over(place: &Path, disk: Option<File>) -> io::Result<Self> {
        let scratch = tempfile::tempdir_in(place)?;
        let point = scratch.path().join("mount");
        std::fs::create_dir(&point)?;
        let state = Arc::new(Mutex::new(State::new(Delay::Fixed(Duration::ZERO))));
        let mut config = Config::default();
        config.mount_options.push(MountOption::FSName("lodestone-truth".to_owned()));
        let session = fuser::spawn_mount(Server(Arc::clone(&state), disk), &point, &config)?;
        Ok(Self { state, file: point.join(FILE_NAME), _session: session, scratch })
    }

    /// Runs a program with a delay. Returns its output and the true times of the reads, sorted.
    ///
    /// # Errors
    /// The program's.
    pub fn run(&self, delay: Delay, (program, line): &(String, String)) -> io::Result<(String, Vec<u64>)> {
        self.begin(delay)?;
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let cost = measured::run(program, &line)?;
        let mut took = std::mem::take(&mut self.state()?.took_ns);
        took.sort_unstable();
        Ok((cost.stdout, took))
    }

    /// Forgets all reads; from now on they take as long as `delay` says.
    ///
    /// # Errors
    /// The server has panicked.
    pub fn begin(&self, delay: Delay) -> io::Result<()> {
        *self.state()? = State::new(delay);
        Ok(())
    }

    /// When each read arrived since [`Self::begin`].
    ///
    /// # Errors
    /// The server has panicked.
    pub fn arrivals(&self) -> io::Result<Vec<Instant>> {
        Ok(self.state()?.arrivals.clone())
    }

    /// The time from the start of a program to its first read of the file.
    ///
    /// # Errors
    /// The program's, or that it read nothing.
    pub fn time_to_first_read(&self, program: &str, args: &[String]) -> io::Result<Duration> {
        *self.state()? = State::new(Delay::Fixed(Duration::ZERO));
        let began = Instant::now();
        let output = Command::new(program).args(args).stdin(Stdio::null()).output()?;
        let first = self.state()?.began.filter(|_| output.status.success());
        let failed =
            || io::Error::other(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        Ok(first.ok_or_else(failed)?.duration_since(began))
    }

    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| io::Error::other("the server has panicked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn an_open_file_does_not_prevent_the_unmount() {
        let place = tempfile::tempdir().unwrap();
        let slow = match SlowFile::mount(place.path()) {
            Ok(slow) => slow,
            Err(error) => {
                let _ = writeln!(io::stderr(), "SKIPPED: no FUSE here: {error}");
                return;
            }
        };
        let point = slow.file.parent().unwrap().to_owned();
        let _held = File::open(&slow.file).unwrap();
        let is_mounted = || {
            let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
            mounts.lines().any(|line| line.contains(point.to_str().unwrap()))
        };
        assert!(is_mounted());
        drop(slow);
        assert!(!is_mounted());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
