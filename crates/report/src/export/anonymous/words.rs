//! Words that identify nobody: names from the kernel, from hardware vendors and from this program. A word that is in
//! none of these lists is treated as a name.

/// Labels that Lodestone itself gives to imported results; their values may still be names.
pub(super) const LABELS: [&str; 9] =
    ["bs", "device", "filesystem", "host", "level2", "level3", "level4", "machine", "tool"];

/// Probes whose series are named after processors, sensors and kinds of memory, never after names chosen by a user.
pub(super) const PUBLIC_PROBES: [&str; 9] = [
    "cpu",
    "firmware",
    "frequency",
    "kernel_threads",
    "load",
    "memory",
    "pressure",
    "temperature",
    "throttling",
];

/// Filesystem types, and the mount sources of filesystems without a device.
pub(super) const FILESYSTEMS: [&str; 46] = [
    "9p",
    "apfs",
    "bcachefs",
    "btrfs",
    "ceph",
    "cephfs",
    "cifs",
    "cramfs",
    "ecryptfs",
    "erofs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "fuse",
    "fuseblk",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ntfs-3g",
    "gfs2",
    "glusterfs",
    "hfsplus",
    "hugetlbfs",
    "iscsi",
    "jffs2",
    "jfs",
    "lustre",
    "nfs",
    "nfs4",
    "nilfs2",
    "ntfs",
    "ntfs3",
    "ocfs2",
    "overlay",
    "ramfs",
    "reiserfs",
    "smb",
    "smb3",
    "squashfs",
    "tmpfs",
    "ubifs",
    "vfat",
    "virtiofs",
    "xfs",
    "zfs",
];

/// Directory names that are common to most machines.
pub(super) const COMMON_DIRECTORIES: [&str; 22] = [
    "/", "bin", "boot", "data", "dev", "disk", "etc", "home", "lib", "media", "mnt", "opt", "proc", "root",
    "run", "srv", "store", "sys", "target", "tmp", "usr", "var",
];

/// Mount options that contain no names. A value after `=` is a number or a keyword of the filesystem.
const OPTIONS: [&str; 74] = [
    "acdirmax",
    "acdirmin",
    "acregmax",
    "acregmin",
    "allocsize",
    "async",
    "atime",
    "attr2",
    "autodefrag",
    "background_gc",
    "barrier",
    "commit",
    "compress",
    "compress-force",
    "data",
    "dax",
    "delalloc",
    "dirsync",
    "discard",
    "errors",
    "fsync_mode",
    "hard",
    "huge",
    "inline_data",
    "inline_xattr",
    "inode32",
    "inode64",
    "inodes",
    "journal_checksum",
    "largeio",
    "lazytime",
    "local_lock",
    "logbsize",
    "logbufs",
    "max_batch_time",
    "min_batch_time",
    "mode",
    "namlen",
    "noacl",
    "noatime",
    "nobarrier",
    "nocto",
    "nodatacow",
    "nodatasum",
    "nodelalloc",
    "nodev",
    "nodiratime",
    "nodiscard",
    "noexec",
    "noquota",
    "nosuid",
    "nr_inodes",
    "prjquota",
    "proto",
    "quota",
    "relatime",
    "resv_strict",
    "retrans",
    "ro",
    "rsize",
    "rw",
    "sec",
    "size",
    "soft",
    "space_cache",
    "ssd",
    "strictatime",
    "stripe",
    "sunit",
    "swidth",
    "sync",
    "timeo",
    "user_xattr",
    "vers",
];

pub(super) fn is_public_option(option: &str) -> bool {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._:-%".contains(c);
    OPTIONS.contains(&name) && value.len() <= 16 && value.chars().all(is_word)
}

/// True for a kernel name of a device: a known prefix, then letters or numbers of units, partitions and namespaces,
/// such as `sda1`, `nvme0n1p2`, `dm-3`, `md127`, `mmcblk0boot0`.
pub(super) fn is_kernel_name(name: &str) -> bool {
    const LETTERED: [&str; 4] = ["sd", "hd", "vd", "xvd"];
    const NUMBERED: [&str; 18] = [
        "bcache", "dm-", "eth", "fd", "loop", "md", "mmcblk", "mtdblock", "nbd", "nullb", "nvme", "pmem",
        "ram", "rbd", "sr", "ublkb", "zd", "zram",
    ];
    let behind = |starts: &[&str]| starts.iter().find_map(|start| name.strip_prefix(*start));
    let lettered = behind(&LETTERED).is_some_and(|rest| {
        let unit = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        (1..=3).contains(&unit.len()) && unit.bytes().all(|b| b.is_ascii_lowercase())
    });
    let numbered = behind(&NUMBERED).is_some_and(|rest| {
        let words = rest.replace("boot", "").replace(['n', 'p', 'c'], "");
        rest.starts_with(|c: char| c.is_ascii_digit()) && words.bytes().all(|b| b.is_ascii_digit())
    });
    name == "lo" || lettered || numbered
}

/// True for a block size, such as `4M`.
pub(super) fn is_size(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < text.len()
        && ["", "B", "k", "K", "M", "G", "KiB", "MiB", "GiB", "kB", "MB", "GB"].contains(&unit)
}

/// True for a figure with its unit, such as `95.3MiB/s`.
pub(super) fn is_figure(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".,-+e ".contains(c));
    unit.len() < text.len()
        && unit.len() <= 12
        && unit.chars().all(|c| c.is_ascii_alphabetic() || "/%µ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernel_names_and_listed_words_are_kept() {
        for name in
            ["sda", "sdab12", "nvme0n1p2", "nvme0c1n1", "dm-3", "md127", "mmcblk0boot0", "loop0", "vda", "lo"]
        {
            assert!(is_kernel_name(name), "{name}");
        }
        for name in ["", "sd", "sdbackup", "md_home", "dm-", "nvme", "bob", "loopback", "vg-home", "sda bob"]
        {
            assert!(!is_kernel_name(name), "{name}");
        }
        assert!(
            is_public_option("rw") && is_public_option("vers=4.2") && is_public_option("compress=zstd:3")
        );
        assert!(!is_public_option("addr=192.168.0.7") && !is_public_option("rsize=/home/bob"));
        assert!(is_size("4M") && !is_size("M") && is_figure("95.3MiB/s") && !is_figure("bob"));
    }
}
