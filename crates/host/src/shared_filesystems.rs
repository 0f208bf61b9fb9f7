//! What the kind of a filesystem says about the owners and locks of its files.

use std::os::fd::AsFd;

/// Filesystems on which another machine or program decides who owns a file and who holds a lock.
const SHARED_FILESYSTEMS: [u32; 6] = [
    0x6573_5546, // fuse
    0x6969,      // nfs
    0xff53_4d42, // cifs
    0xfe53_4d42, // smb2
    0x0102_1997, // 9p
    0x786f_4256, // vboxsf
];

/// Filesystems that do not store owners and permissions of files.
const WITHOUT_OWNERS: [u32; 5] = [
    0x4d44,      // msdos, vfat
    0x2011_bab0, // exfat
    0x5346_544e, // ntfs
    0x7366_746e, // ntfs3
    0x4244,      // hfs
];

fn is_kind(directory: impl AsFd, kinds: &[u32]) -> bool {
    let kind = rustix::fs::fstatfs(directory).map(|space| space.f_type as u32);
    kind.is_ok_and(|kind| kinds.contains(&kind))
}

/// True if files belong to the user who mounted the filesystem, or to a substitute for root. On such a filesystem, a
/// user who can replace a directory can also remove its content.
pub(crate) fn is_without_owners(directory: impl AsFd) -> bool {
    is_kind(&directory, &WITHOUT_OWNERS) || is_on_shared_filesystem(directory)
}

/// True if several machines may see a directory, but not each other's locks on it: these filesystems pass on only locks
/// of files.
pub(crate) fn is_on_shared_filesystem(directory: impl AsFd) -> bool {
    is_kind(directory, &SHARED_FILESYSTEMS)
}
