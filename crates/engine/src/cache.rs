//! The page cache: measures how much of a file it holds, and evicts files from it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Asks the kernel to drop the cached pages of `file`. Dirty and mapped pages stay: sync first, and check with
/// [`cached_bytes`].
///
/// # Errors
/// The kernel's error.
pub fn evict(file: &File) -> io::Result<()> {
    evict_range(file, 0, 0)
}

/// Like [`evict`], for `len` bytes from `start`; a length of 0 means up to the end. The kernel drops a folio only
/// if all of it is within the range.
///
/// # Errors
/// The kernel's error.
pub fn evict_range(file: &File, start: u64, len: u64) -> io::Result<()> {
    let fd = file.as_raw_fd();
    // SAFETY: plain integers and an open descriptor.
    match unsafe { libc::posix_fadvise64(fd, start as i64, len as i64, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Reads the first `len` bytes of `file` sequentially, so that as many of them as fit are in the cache. With
/// `written_in`, also writes them again in blocks of that many bytes and syncs, so that the cache holds them as
/// it does after such writes: a block that was read ahead is in a folio of up to megabytes, and changing it there
/// takes ext4 (Linux 6.18) ten times as long. The access advice must be given again afterwards.
///
/// # Errors
/// The kernel's error.
pub fn load(file: &File, len: u64, written_in: Option<u32>) -> io::Result<()> {
    advise(file, true);
    let mut piece = vec![0; 1 << 20];
    let mut at = 0;
    while at < len {
        let wanted = piece.len().min((len - at) as usize);
        let bytes = file.read_at(&mut piece[..wanted], at)?;
        if bytes == 0 {
            break;
        }
        if let Some(block) = written_in {
            evict_range(file, at, bytes as u64)?;
            let mut to = at;
            for block in piece[..bytes].chunks(block as usize) {
                file.write_all_at(block, to)?;
                to += block.len() as u64;
            }
        }
        at += bytes as u64;
    }
    if written_in.is_some() { file.sync_all() } else { Ok(()) }
}

/// Advises the kernel of the access order of `file`, which determines read-ahead.
pub fn advise(file: &File, random: bool) {
    let advice = if random { libc::POSIX_FADV_RANDOM } else { libc::POSIX_FADV_SEQUENTIAL };
    // SAFETY: plain integers and an open descriptor; failing advice has no effect.
    unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, advice) };
}

/// Bytes of the first `len` bytes of `file` that are in the page cache: by `cachestat` if the kernel has it
/// (Linux 6.5), otherwise by `mincore`.
///
/// # Errors
/// The kernel's error.
pub fn cached_bytes(file: &File, len: u64) -> io::Result<u64> {
    by_cachestat(file, len).or_else(|_| by_mincore(file, len))
}

/// The number of the system call, the same on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

fn by_cachestat(file: &File, len: u64) -> io::Result<u64> {
    let range = [0u64, len];
    // In pages: cached, dirty, under writeback, evicted, recently evicted.
    let mut pages = [0u64; 5];
    // SAFETY: the kernel reads two u64 and writes five.
    let result =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), pages.as_mut_ptr(), 0u32) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((pages[0] * page_bytes()).min(len))
}

fn by_mincore(file: &File, len: u64) -> io::Result<u64> {
    /// Mapped in pieces, so that a large file does not need a large vector.
    const PIECE: u64 = 1 << 30;
    let page = page_bytes();
    let mut cached = 0;
    for start in (0..len).step_by(PIECE as usize) {
        let piece = (len - start).min(PIECE) as usize;
        // SAFETY: a new read-only mapping.
        let base = unsafe {
            let fd = file.as_raw_fd();
            libc::mmap64(std::ptr::null_mut(), piece, libc::PROT_READ, libc::MAP_SHARED, fd, start as i64)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut resident = vec![0u8; piece.div_ceil(page as usize)];
        // SAFETY: the vector has a byte for each page of the mapping.
        let result = unsafe { libc::mincore(base, piece, resident.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(base, piece) };
        if result != 0 {
            return Err(error);
        }
        cached += resident.iter().filter(|r| **r & 1 == 1).count() as u64 * page;
    }
    Ok(cached.min(len))
}

pub(crate) fn page_bytes() -> u64 {
    // SAFETY: a query without side effects.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    /// Both methods must report the same for a file that was just written and for one that was evicted.
    #[test]
    fn written_pages_are_cached_and_evicted_pages_are_not() {
        undisturbed(written_and_evicted);
    }

    /// Retries up to 20 times while the figures differ: the kernel may drop or pin a page at any moment.
    fn undisturbed(figures: impl Fn() -> Vec<(u64, u64)>) {
        let differ = |figures: &Vec<(u64, u64)>| figures.iter().any(|(cached, expected)| cached != expected);
        let mut last = figures();
        for _ in 1..20 {
            if !differ(&last) {
                return;
            }
            last = figures();
        }
        assert!(!differ(&last), "cached and expected bytes: {last:?}");
    }

    fn written_and_evicted() -> Vec<(u64, u64)> {
        // A directory on a real disk: tmpfs cannot evict.
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut file = File::create_new(directory.path().join("data")).unwrap();
        let len = 1 << 20;
        file.write_all(&vec![7; len as usize]).unwrap();
        let written = [by_mincore_of(&directory, len), cached_bytes(&file, len).unwrap()];
        file.sync_all().unwrap();
        evict(&file).unwrap();
        let evicted = [cached_bytes(&file, len).unwrap(), by_mincore_of(&directory, len)];
        written.map(|cached| (cached, len)).into_iter().chain(evicted.map(|cached| (cached, 0))).collect()
    }

    #[test]
    fn only_the_given_range_is_evicted() {
        undisturbed(evicted_in_part);
    }

    fn evicted_in_part() -> Vec<(u64, u64)> {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut file = File::create_new(directory.path().join("data")).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        evict(&file).unwrap();
        // Page by page and without read-ahead: otherwise the kernel may use larger folios, and it drops only
        // whole ones.
        let file = File::open(directory.path().join("data")).unwrap();
        advise(&file, true);
        (0..1 << 8).for_each(|page| file.read_exact_at(&mut [0; 4096], page << 12).unwrap());
        let read = cached_bytes(&file, 1 << 20).unwrap();
        evict_range(&file, 1 << 18, 1 << 16).unwrap();
        vec![(read, 1 << 20), (cached_bytes(&file, 1 << 20).unwrap(), (1 << 20) - (1 << 16))]
    }

    #[test]
    fn loading_caches_a_file_and_keeps_its_content() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("data");
        let content: Vec<u8> = (0..20_000_000u32).map(|i| (i % 251) as u8).collect();
        let (len, half) = (content.len() as u64, 1 << 20);
        for written_in in [None, Some(8192), Some(5000)] {
            std::fs::write(&path, &content).unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            file.sync_all().unwrap();
            undisturbed(|| {
                evict(&file).unwrap();
                load(&file, half, written_in).unwrap();
                // The kernel reads ahead, but not up to the end.
                let part = cached_bytes(&file, len).unwrap();
                load(&file, 2 * len, written_in).unwrap();
                vec![(part.clamp(half, len - 1), part), (cached_bytes(&file, len).unwrap(), len)]
            });
            assert_eq!(std::fs::read(&path).unwrap(), content, "{written_in:?}");
        }
        let unwritable = File::open(&path).unwrap();
        assert!(load(&unwritable, len, Some(8192)).is_err());
    }

    fn by_mincore_of(directory: &tempfile::TempDir, len: u64) -> u64 {
        by_mincore(&File::open(directory.path().join("data")).unwrap(), len).unwrap()
    }
}
