//! The content of a block device, identified by the signatures of filesystems and other formats.
//!
//! Offsets and values are from each format's own documentation, as collected in libblkid's and file(1)'s tables.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where on a device a signature is.
#[derive(Clone, Copy, Debug)]
enum MagicOffset {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end, rounded down to a multiple of `unit`.
    End { back: u64, unit: u64 },
}

use MagicOffset::{End, Start};

impl MagicOffset {
    /// Bytes from the start of a device of `size` bytes; `None` if the offset does not exist.
    fn offset(self, size: u64) -> Option<u64> {
        match self {
            Start(offset) => Some(offset),
            End { back, unit } => size.checked_sub(back).map(|offset| offset / unit * unit),
        }
    }
}

/// The signature of a format, and all its possible offsets.
struct Mark {
    name: &'static str,
    offsets: &'static [MagicOffset],
    bytes: &'static [u8],
}

const fn mark(name: &'static str, offsets: &'static [MagicOffset], bytes: &'static [u8]) -> Mark {
    Mark { name, offsets, bytes }
}

/// The `n`-th sector of 512 bytes from the end, counted from 0.
const fn sector_before_end(n: u64) -> MagicOffset {
    End { back: 512 * (n + 1), unit: 512 }
}

/// The last ten bytes of the first page, for every page size of Linux.
const SWAP: &[MagicOffset] = &[Start(0xff6), Start(0x1ff6), Start(0x3ff6), Start(0x7ff6), Start(0xfff6)];
/// In the second sector from either end, for sectors of 512 and of 4096 bytes.
const GPT: &[MagicOffset] =
    &[Start(0x200), Start(0x1000), sector_before_end(0), End { back: 4096, unit: 4096 }];
/// Formats 1.1 and 1.2 at the start, 1.0 and 0.90 at the end (md(4)).
const MD: &[MagicOffset] = &[
    Start(0),
    Start(0x1000),
    End { back: 8 * 1024, unit: 4 * 1024 },
    End { back: 64 * 1024, unit: 64 * 1024 },
];
/// The label is in one of the first four sectors.
const LVM: &[MagicOffset] = &[Start(0), Start(0x200), Start(0x400), Start(0x600)];
/// In the last sector but one, for sectors of 512 and of 4096 bytes.
const INTEL_RAID: &[MagicOffset] = &[sector_before_end(1), End { back: 8192, unit: 4096 }];
/// The anchor is in the last sector; some controllers leave 256 more after it.
const DDF: &[MagicOffset] = &[sector_before_end(0), sector_before_end(256)];

/// After the first header, which has one of these sizes (LUKS2 On-Disk Format Specification, 2.1).
const SECOND_LUKS2: &[MagicOffset] = &[
    Start(0x4000),
    Start(0x8000),
    Start(0x1_0000),
    Start(0x2_0000),
    Start(0x4_0000),
    Start(0x8_0000),
    Start(0x10_0000),
    Start(0x20_0000),
    Start(0x40_0000),
];
/// The block after the superblock of ext4, for each of its block sizes; older journals begin at offset 0 (jbd2's
/// journal_superblock_s).
const JOURNAL: &[MagicOffset] =
    &[Start(0), Start(0x800), Start(0x1000), Start(0x2000), Start(0x4000), Start(0x8000), Start(0x1_0000)];

const MARKS: &[Mark] = &[
    mark("ext2/3/4", &[Start(0x438)], &[0x53, 0xef]),
    mark("xfs", &[Start(0)], b"XFSB"),
    mark("btrfs", &[Start(0x1_0040)], b"_BHRfS_M"),
    mark("f2fs", &[Start(0x400)], &[0x10, 0x20, 0xf5, 0xf2]),
    mark("ntfs", &[Start(3)], b"NTFS    "),
    mark("exfat", &[Start(3)], b"EXFAT   "),
    mark("fat", &[Start(0x36)], b"FAT1"),
    mark("fat", &[Start(0x52)], b"FAT32"),
    mark("bitlocker", &[Start(3)], b"-FVE-FS-"),
    mark("hfs+", &[Start(0x400)], b"H+"),
    mark("hfs+", &[Start(0x400)], b"HX"),
    mark("apfs", &[Start(32)], b"NXSB"),
    mark("jfs", &[Start(0x8000)], b"JFS1"),
    mark("reiserfs", &[Start(0x1_0034), Start(0x2034), Start(0x1_0000)], b"ReIsEr"),
    mark("nilfs2", &[Start(0x406)], &[0x34, 0x34]),
    mark("iso9660", &[Start(0x8001)], b"CD001"),
    mark("udf", &[Start(0x8001)], b"BEA01"),
    mark("squashfs", &[Start(0)], b"hsqs"),
    mark("erofs", &[Start(0x400)], &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark("bcache", &[Start(0x1018)], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    mark("bcachefs", &[Start(0x1018)], b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    mark("luks", &[Start(0)], b"LUKS\xba\xbe"),
    mark("luks", SECOND_LUKS2, b"SKUL\xba\xbe"),
    mark("external journal", JOURNAL, &[0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 3]),
    mark("external journal", JOURNAL, &[0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 4]),
    mark("dm-thin metadata", &[Start(32)], &[0xba, 0x52, 0x9c, 0x01, 0, 0, 0, 0]),
    mark("dm-snapshot", &[Start(0)], b"SnAp"),
    mark("dm-integrity", &[Start(0)], b"integrt\0"),
    mark("dm-verity", &[Start(0)], b"verity\0\0"),
    mark("lvm", LVM, b"LABELONE"),
    mark("md raid", MD, &[0xfc, 0x4e, 0x2b, 0xa9]),
    // Format 0.90 has the byte order of the machine that created it.
    mark("md raid", MD, &[0xa9, 0x2b, 0x4e, 0xfc]),
    mark("intel raid", INTEL_RAID, b"Intel Raid ISM Cfg Sig. "),
    mark("ddf raid", DDF, &[0xde, 0x11, 0xde, 0x11]),
    mark("stratis", &[Start(0x204), Start(0x1204)], b"!Stra0tis\x86\xff\x02^\x41rh"),
    mark("vdo", &[Start(0)], b"dmvdo001"),
    mark("swap", SWAP, b"SWAPSPACE2"),
    mark("swap", SWAP, b"SWAP-SPACE"),
    // A hibernated machine stores its memory there.
    mark("swap", SWAP, b"S1SUSPEND"),
    mark("swap", SWAP, b"S2SUSPEND"),
    mark("swap", SWAP, b"ULSUSPEND"),
    mark("swap", SWAP, b"LINHIB0001"),
    mark("gpt", GPT, b"EFI PART"),
    mark("ceph", &[Start(0)], b"bluestore block device"),
    mark("drbd", &[Start(0)], &[0x83, 0x74, 0x02, 0x6b]),
];

/// Names of the formats on a device of `size` bytes, each once. Offsets beyond its end are skipped.
///
/// # Errors
/// The kernel's error, if the device cannot be read.
pub(crate) fn signatures(device: &File, size: u64) -> io::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for mark in MARKS {
        if !found.contains(&mark.name) && stands_on(mark, device, size)? {
            found.push(mark.name);
        }
    }
    if has_xfs_log(device, size)? {
        found.push("xfs log");
    }
    if has_zfs(device, size)? {
        found.push("zfs");
    }
    if found.is_empty() && has_mbr(device, size)? {
        found.push("mbr");
    }
    if is_journal_device(device, size)? {
        found.retain(|name| !["ext2/3/4", "external journal"].contains(name));
        found.push("external journal");
    }
    Ok(found)
}

/// At most `len` bytes from `offset`, fewer at the end of the device.
fn bytes_at(device: &File, size: u64, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len.min(size.saturating_sub(offset)) as usize];
    device.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// True if the ext4 superblock marks this as the journal of another device (EXT3_FEATURE_INCOMPAT_JOURNAL_DEV).
fn is_journal_device(device: &File, size: u64) -> io::Result<bool> {
    let superblock = bytes_at(device, size, 0x400, 0x64)?;
    let has = |at: usize, mask: u8, value: u8| superblock.get(at).is_some_and(|byte| byte & mask == value);
    Ok(has(0x38, 0xff, 0x53) && has(0x39, 0xff, 0xef) && has(0x60, 8, 8))
}

/// Bytes to search for the start of a record: more than the longest record of a log with its headers.
const XFS_LOG_BYTES: u64 = 512 << 10;

/// An external log of xfs is a ring of records that begin at any block (xlog_rec_header in the kernel's
/// fs/xfs/libxfs/xfs_log_format.h). The magic number, the version and the byte order distinguish a record from other
/// data.
fn has_xfs_log(device: &File, size: u64) -> io::Result<bool> {
    let begins = |block: &[u8]| {
        let word = |at: usize| block.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
        word(0) == Some(0xfeed_babe)
            && word(8).is_some_and(|version| (1..=2).contains(&version))
            && word(300).is_some_and(|format| (1..=3).contains(&format))
    };
    Ok(bytes_at(device, size, 0, XFS_LOG_BYTES)?.chunks(512).any(begins))
}

/// Bytes of a ZFS label; a member of a pool has four labels, two at each end.
const ZFS_LABEL_BYTES: u64 = 256 << 10;

/// A label has its configuration at 16 KiB and a ring of uberblocks from 128 KiB. Uberblocks are written in turn, so
/// any slot may hold the only one. Spares and caches have only a configuration (ZFS On-Disk Specification, 1.2).
fn has_zfs(device: &File, size: u64) -> io::Result<bool> {
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let end = size / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
    for back in [2, 1] {
        let ends = end.checked_sub(back * ZFS_LABEL_BYTES);
        for offset in [Some((2 - back) * ZFS_LABEL_BYTES), ends].into_iter().flatten() {
            let label = bytes_at(device, size, offset, ZFS_LABEL_BYTES)?;
            let configuration = label.get(16 << 10..(16 << 10) + 128).unwrap_or_default();
            // Encoding (native or XDR), byte order, then the list; its first name is near the start.
            let is_list = matches!(configuration, [0 | 1, 0 | 1, 0, 0, ..]);
            let has_name = |name: &[u8]| configuration.windows(name.len()).any(|w| w == name);
            if is_list && (has_name(b"version") || has_name(b"pool_guid")) {
                return Ok(true);
            }
            let is_uberblock = |slot: &[u8]| {
                let magic = slot.get(..8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
                magic.is_some_and(|magic| magic == UBERBLOCK || magic.swap_bytes() == UBERBLOCK)
            };
            if label.get(128 << 10..).is_some_and(|ring| ring.chunks(1024).any(is_uberblock)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// True if the signature is at one of its offsets.
fn stands_on(mark: &Mark, device: &File, size: u64) -> io::Result<bool> {
    let mut bytes = vec![0; mark.bytes.len()];
    for offset in mark.offsets.iter().filter_map(|offset| offset.offset(size)) {
        if offset + bytes.len() as u64 <= size {
            device.read_exact_at(&mut bytes, offset)?;
            if bytes == mark.bytes {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A boot sector's signature alone proves nothing (FAT and NTFS have it too); with a used entry in the partition
/// table it does.
fn has_mbr(device: &File, size: u64) -> io::Result<bool> {
    let mut sector = [0; 512];
    if size < 512 {
        return Ok(false);
    }
    device.read_exact_at(&mut sector, 0)?;
    let used = (0..4).any(|i| sector[446 + 16 * i + 4] != 0);
    Ok(sector[510..] == [0x55, 0xaa] && used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn device(len: u64, writes: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(len).unwrap();
        writes.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        file
    }

    #[test]
    fn every_signature_is_found_at_each_of_its_offsets_only() {
        for size in [8 << 20, (8 << 20) + 512 * 3] {
            for mark in MARKS {
                for offset in mark.offsets {
                    let offset = offset.offset(size).unwrap();
                    let file = device(size, &[(offset, mark.bytes)]);
                    assert_eq!(signatures(&file, size).unwrap(), [mark.name], "{offset:?}");
                    let concurrent = device(size, &[(offset + 1, mark.bytes)]);
                    assert!(signatures(&concurrent, size).unwrap().is_empty(), "{} {offset:?}", mark.name);
                }
            }
        }
    }

    #[test]
    fn formerly_missed_formats_are_found_at_documented_offsets() {
        const SIZE: u64 = 1 << 20;
        let known: [(&str, u64, &[u8]); 24] = [
            ("swap", 0x1ff6, b"SWAPSPACE2"),
            ("swap", 0x3ff6, b"SWAPSPACE2"),
            ("swap", 0x7ff6, b"SWAPSPACE2"),
            ("swap", 0xff6, b"SWAP-SPACE"),
            ("swap", 0xfff6, b"SWAP-SPACE"),
            ("bitlocker", 3, b"-FVE-FS-"),
            ("hfs+", 0x400, b"H+"),
            ("hfs+", 0x400, b"HX"),
            ("apfs", 32, b"NXSB"),
            ("jfs", 0x8000, b"JFS1"),
            ("reiserfs", 0x1_0034, b"ReIsErFs"),
            ("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
            ("reiserfs", 0x1_0034, b"ReIsEr3Fs"),
            ("nilfs2", 0x406, &[0x34, 0x34]),
            ("udf", 0x8001, b"BEA01"),
            ("iso9660", 0x8001, b"CD001"),
            ("intel raid", SIZE - 1024, b"Intel Raid ISM Cfg Sig. "),
            ("ddf raid", SIZE - 512, &[0xde, 0x11, 0xde, 0x11]),
            ("stratis", 0x204, b"!Stra0tis\x86\xff\x02^\x41rh"),
            ("stratis", 0x1204, b"!Stra0tis\x86\xff\x02^\x41rh"),
            ("vdo", 0, b"dmvdo001"),
            ("gpt", SIZE - 512, b"EFI PART"),
            ("gpt", SIZE - 4096, b"EFI PART"),
            ("md raid", SIZE - 8192, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ];
        for (name, offset, bytes) in known {
            let file = device(SIZE, &[(offset, bytes)]);
            assert_eq!(signatures(&file, SIZE).unwrap(), [name], "{name} at {offset}");
        }
    }

    #[test]
    fn bcache_and_bcachefs_are_distinguished() {
        let text = |identifier: &str| -> Vec<u8> {
            let digits: String = identifier.chars().filter(|c| *c != '-').collect();
            (0..16).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect()
        };
        for (name, identifier) in [
            ("bcache", "c68573f6-4e1a-45ca-8265-f57f48ba6d81"),
            ("bcachefs", "c68573f6-66ce-90a9-d96a-60cf803df7ef"),
        ] {
            let file = device(1 << 20, &[(0x1018, &text(identifier))]);
            assert_eq!(signatures(&file, 1 << 20).unwrap(), [name]);
        }
    }

    #[test]
    fn a_used_partition_table_is_found() {
        let table = device(1 << 20, &[(450, &[0x83]), (510, &[0x55, 0xaa])]);
        assert_eq!(signatures(&table, 1 << 20).unwrap(), ["mbr"]);
    }

    #[test]
    fn empty_short_and_random_devices_have_no_signature() {
        for size in [0, 1, 4, 100, 511, 512, 513, 1023, 4095, 4096, 8192, 65_536, 131_071, 1 << 20] {
            assert!(signatures(&device(size, &[]), size).unwrap().is_empty(), "{size} bytes");
        }
        let noise: Vec<u8> = (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(signatures(&device(1 << 20, &[(0, &noise)]), 1 << 20).unwrap().is_empty());
    }

    /// Only the first uberblock of the first label used to be checked, which a new pool has not written yet.
    #[test]
    fn a_zfs_member_is_found_by_any_uberblock_or_configuration() {
        const SIZE: u64 = (4 << 20) + 12_345;
        let uberblock = 0x00ba_b10c_u64;
        for label in [0, 256 << 10, (4 << 20) - (512 << 10), (4 << 20) - (256 << 10)] {
            for bytes in [uberblock.to_le_bytes(), uberblock.to_be_bytes()] {
                let file = device(SIZE, &[(label + (128 << 10) + 77 * 1024, &bytes)]);
                assert_eq!(signatures(&file, SIZE).unwrap(), ["zfs"], "label at {label}");
            }
            let list = b"\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x24\0\0\0\x20\0\0\0\x07version\0";
            assert_eq!(signatures(&device(SIZE, &[(label + (16 << 10), list)]), SIZE).unwrap(), ["zfs"]);
        }
        assert!(signatures(&device(SIZE, &[(64 << 10, &uberblock.to_le_bytes())]), SIZE).unwrap().is_empty());
    }

    /// A device with only the log or journal of another used to be reported as empty or as "ext2/3/4".
    #[test]
    fn external_logs_and_journals_of_real_tools_are_found() {
        const SIZE: u64 = 640 << 20;
        let made = |size: u64| {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(size).unwrap();
            file
        };
        let path = |file: &tempfile::NamedTempFile| file.path().to_str().unwrap().to_owned();
        for block in ["1024", "2048", "4096"] {
            let journal = made(SIZE);
            let args = ["-q", "-F", "-O", "journal_dev", "-b", block, &path(&journal)];
            if testing::tool("mke2fs", &args).is_some() {
                assert_eq!(signatures(journal.as_file(), SIZE).unwrap(), ["external journal"], "{block}");
                // The superblock of the journal suffices.
                journal.as_file().write_all_at(&[0; 1024], 0x400).unwrap();
                assert_eq!(signatures(journal.as_file(), SIZE).unwrap(), ["external journal"], "{block}");
            }
        }
        let (data, log) = (made(SIZE), made(SIZE));
        let option = format!("logdev={},size=64m", path(&log));
        if testing::tool("mkfs.xfs", &["-q", "-f", "-l", &option, &path(&data)]).is_some() {
            assert_eq!(signatures(data.as_file(), SIZE).unwrap(), ["xfs"]);
            assert_eq!(signatures(log.as_file(), SIZE).unwrap(), ["xfs log"]);
            // After a wrap-around, the ring begins with the rest of a record.
            let mut header = [0; 512];
            log.as_file().read_exact_at(&mut header, 0).unwrap();
            log.as_file().write_all_at(&[1; 256 << 10], 0).unwrap();
            log.as_file().write_all_at(&header, 256 << 10).unwrap();
            assert_eq!(signatures(log.as_file(), SIZE).unwrap(), ["xfs log"]);
        }
    }

    #[test]
    fn signatures_of_real_tools_are_found() {
        const SIZE: u64 = 320 << 20;
        let tools: [(&str, &[&str], &str); 9] = [
            ("mkswap", &["-p", "4096"], "swap"),
            ("mkswap", &["-p", "8192"], "swap"),
            ("mkswap", &["-p", "16384"], "swap"),
            ("mkswap", &["-p", "32768"], "swap"),
            ("mkswap", &["-p", "65536"], "swap"),
            ("mkfs.ext4", &["-q", "-F"], "ext2/3/4"),
            ("mkfs.xfs", &["-q", "-f"], "xfs"),
            ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
            ("mkfs.vfat", &[], "fat"),
        ];
        for (tool, options, name) in tools {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(SIZE).unwrap();
            if testing::tool(tool, &[options, &[file.path().to_str().unwrap()]].concat()).is_some() {
                assert_eq!(signatures(file.as_file(), SIZE).unwrap(), [name], "{tool} {options:?}");
            }
        }
    }
}
