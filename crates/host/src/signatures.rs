//! What a block device already holds, by the marks that filesystems and the like leave on it.
//!
//! Offsets and values are those of each format's own documentation, as collected in libblkid's and
//! file(1)'s tables.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

struct Mark {
    name: &'static str,
    offset: u64,
    bytes: &'static [u8],
}

const fn mark(name: &'static str, offset: u64, bytes: &'static [u8]) -> Mark {
    Mark { name, offset, bytes }
}

/// Marks at a fixed place from the start.
const MARKS: &[Mark] = &[
    mark("ext2/3/4", 0x438, &[0x53, 0xef]),
    mark("xfs", 0, b"XFSB"),
    mark("btrfs", 0x1_0040, b"_BHRfS_M"),
    mark("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    mark("ntfs", 3, b"NTFS    "),
    mark("exfat", 3, b"EXFAT   "),
    mark("fat", 0x36, b"FAT1"),
    mark("fat", 0x52, b"FAT32"),
    mark("iso9660", 0x8001, b"CD001"),
    mark("squashfs", 0, b"hsqs"),
    mark("erofs", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark("bcachefs/bcache", 0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    mark("luks", 0, b"LUKS\xba\xbe"),
    mark("lvm", 0x200, b"LABELONE"),
    mark("lvm", 0x000, b"LABELONE"),
    mark("md raid", 0x1000, &[0xfc, 0x4e, 0x2b, 0xa9]),
    mark("md raid", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    mark("swap", 0xff6, b"SWAPSPACE2"),
    mark("swap", 0xfff6, b"SWAPSPACE2"),
    mark("gpt", 0x200, b"EFI PART"),
    mark("gpt", 0x1000, b"EFI PART"),
    mark("zfs", 0x2_0000, &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0]),
    mark("zfs", 0x2_0000, &[0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]),
    mark("ceph", 0, b"bluestore block device"),
    mark("drbd", 0, &[0x83, 0x74, 0x02, 0x6b]),
];

/// Names of what the first `size` bytes of a device carry, each once.
///
/// # Errors
/// The kernel's, if the device cannot be read.
pub(crate) fn signatures(device: &File, size: u64) -> io::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for mark in MARKS {
        let mut bytes = vec![0; mark.bytes.len()];
        if mark.offset + bytes.len() as u64 <= size {
            device.read_exact_at(&mut bytes, mark.offset)?;
            if bytes == mark.bytes && !found.contains(&mark.name) {
                found.push(mark.name);
            }
        }
    }
    if found.is_empty() && has_mbr(device, size)? {
        found.push("mbr");
    }
    if !found.contains(&"md raid") && has_md_at_end(device, size)? {
        found.push("md raid");
    }
    Ok(found)
}

/// A boot sector's mark alone proves nothing (FAT and NTFS have it too); with a used entry in the
/// partition table it does.
fn has_mbr(device: &File, size: u64) -> io::Result<bool> {
    let mut sector = [0; 512];
    if size < 512 {
        return Ok(false);
    }
    device.read_exact_at(&mut sector, 0)?;
    let used = (0..4).any(|i| sector[446 + 16 * i + 4] != 0);
    Ok(sector[510..] == [0x55, 0xaa] && used)
}

/// md's formats 1.0 and 0.90 stand near the end (md(4)).
fn has_md_at_end(device: &File, size: u64) -> io::Result<bool> {
    const MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
    if size < 128 * 1024 {
        return Ok(false);
    }
    let v1_0 = (size / 512 - 16) / 8 * 8 * 512;
    let v0_90 = size / 65_536 * 65_536 - 65_536;
    for place in [v1_0, v0_90] {
        let mut bytes = [0; 4];
        device.read_exact_at(&mut bytes, place)?;
        if bytes == MAGIC {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(len: u64, writes: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(len).unwrap();
        writes.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        file
    }

    #[test]
    fn every_mark_is_found_under_its_name() {
        for mark in MARKS {
            let file = device(4 << 20, &[(mark.offset, mark.bytes)]);
            assert!(signatures(&file, 4 << 20).unwrap().contains(&mark.name), "{}", mark.name);
        }
    }

    #[test]
    fn raid_marks_at_the_end_and_partition_tables_are_found() {
        let size = (4 << 20) + 512 * 3;
        let v1_0 = (size / 512 - 16) / 8 * 8 * 512;
        let file = device(size, &[(v1_0, &[0xfc, 0x4e, 0x2b, 0xa9])]);
        assert_eq!(signatures(&file, size).unwrap(), ["md raid"]);
        let table = device(1 << 20, &[(450, &[0x83]), (510, &[0x55, 0xaa])]);
        assert_eq!(signatures(&table, 1 << 20).unwrap(), ["mbr"]);
    }

    #[test]
    fn empty_and_random_devices_carry_nothing() {
        assert!(signatures(&device(1 << 20, &[]), 1 << 20).unwrap().is_empty());
        assert!(signatures(&device(100, &[]), 100).unwrap().is_empty());
        let noise: Vec<u8> = (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(signatures(&device(1 << 20, &[(0, &noise)]), 1 << 20).unwrap().is_empty());
    }
}
