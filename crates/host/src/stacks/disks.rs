//! Disks that stacks are made on: a mark in their first mebibyte shows whose they are, and is what allows to erase them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, SeekFrom, seek};

use crate::{Roots, read_line};

/// Bytes of the mark, and of what is erased at both ends of a device: every signature lies there.
pub(super) const END: u64 = 1 << 20;
/// The mark is repeated so often: whatever is put on the disk later overwrites a part of it.
const REPEATED: usize = 512;

/// The mark of the `number`th disk of the stacks with this id.
fn mark(id: &str, number: usize) -> Vec<u8> {
    let text =
        format!("Lodestone made this disk's stacks {id}, disk {number}: `lodestone stack destroy {id}`\n");
    let mut block = text.into_bytes();
    block.resize(REPEATED, b'\n');
    block.repeat(END as usize / REPEATED)
}

/// Marks a disk, and erases what is at its end.
pub(super) fn set_mark(disk: &File, id: &str, number: usize) -> io::Result<()> {
    disk.write_all_at(&mark(id, number), 0)?;
    erase_end(disk)?;
    disk.sync_all()
}

/// The disk with this mark, if there is one: it may have another name than before. What a mapping of the device mapper begins with,
/// the disk below it begins with too: the disk is the largest of these, and of two equal ones that which stands on the other.
pub(super) fn find(roots: &Roots, id: &str, number: usize) -> Option<PathBuf> {
    let mark = mark(id, number);
    let entries = fs::read_dir(roots.sys.join("class/block")).into_iter().flatten().flatten();
    let marked = entries.filter(|entry| has(&roots.dev.join(entry.file_name()), &mark).unwrap_or(false));
    let place = |entry: &fs::DirEntry| {
        let bytes: u64 = read_line(entry.path().join("size")).and_then(|size| size.parse().ok()).unwrap_or(0);
        let slaves = fs::read_dir(entry.path().join("slaves")).map_or(0, Iterator::count);
        (bytes, slaves)
    };
    marked.max_by_key(place).map(|entry| roots.dev.join(entry.file_name()))
}

/// True if a device begins with this mark, and with nothing else.
fn has(path: &Path, mark: &[u8]) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut found = vec![0; REPEATED];
    file.read_exact_at(&mut found, 0)?;
    if found != mark[..REPEATED] {
        return Ok(false);
    }
    found.resize(mark.len(), 0);
    file.read_exact_at(&mut found, 0)?;
    Ok(found == mark)
}

/// Opens a device alone: nobody has mounted it or stacked something on it.
fn alone(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(OFlags::EXCL.bits() as i32).open(path)
}

/// Erases the signatures of a device.
pub(super) fn erase(path: &Path) -> io::Result<()> {
    let device = alone(path)?;
    let bytes = seek(&device, SeekFrom::End(0))?;
    erase_range(&device, 0, bytes)?;
    device.sync_all()
}

/// Erases the signatures of a part of a disk that has its mark. Other parts of it may be in use.
pub(super) fn erase_part(path: &Path, start: u64, bytes: u64) -> io::Result<()> {
    let device = OpenOptions::new().write(true).open(path)?;
    erase_range(&device, start, bytes)?;
    device.sync_all()
}

/// Erases the mark.
pub(super) fn erase_mark(path: &Path) -> io::Result<()> {
    let device = alone(path)?;
    device.write_all_at(&vec![0; END as usize], 0)?;
    device.sync_all()
}

fn erase_range(device: &File, start: u64, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; END.min(bytes) as usize];
    device.write_all_at(&zeros, start)?;
    device.write_all_at(&zeros, start + bytes - zeros.len() as u64)
}

fn erase_end(disk: &File) -> io::Result<()> {
    let bytes = seek(disk, SeekFrom::End(0))?;
    let zeros = vec![0; END as usize];
    disk.write_all_at(&zeros, bytes.saturating_sub(END).max(END))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn of_a_mapping_and_the_disk_below_it_the_mapping_is_found() {
        let tree = Tree::new();
        let roots = tree.roots();
        for (name, size, slaves) in [("vda", 100, 0), ("vdb", 600, 0), ("dm-0", 1200, 2), ("dm-1", 600, 1)] {
            tree.file(&format!("sys/class/block/{name}/size"), &format!("{size}\n"));
            (0..slaves).for_each(|i| tree.file(&format!("sys/class/block/{name}/slaves/{i}/size"), "600\n"));
            fs::create_dir_all(&roots.dev).unwrap();
            fs::write(roots.dev.join(name), mark("abcd2345", 0)).unwrap();
        }
        assert_eq!(find(&roots, "abcd2345", 0), Some(roots.dev.join("dm-0")));
        assert_eq!(find(&roots, "abcd2345", 1), None);
        fs::remove_file(roots.dev.join("dm-0")).unwrap();
        assert_eq!(find(&roots, "abcd2345", 0), Some(roots.dev.join("dm-1")), "it stands on vdb");
    }
}
