//! Whether two directories pass the same properties on to the files that are made in them.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{
    CWD, IFlags, Mode, OFlags, StatVfsMountFlags, fgetxattr, fstat, fstatvfs, ioctl_getflags, openat,
};
use rustix::io::Errno;

/// `FS_ENCRYPT_FL` and `FS_PROJINHERIT_FL`: their key and project are not in the flags.
const BY_NUMBER: IFlags = IFlags::from_bits_retain(0x0000_0800 | 0x2000_0000);
/// `FS_INDEX_FL` and `FS_EXTENT_FL`: how a filesystem stores this directory itself.
const OF_THE_DIRECTORY: IFlags = IFlags::from_bits_retain(0x0000_1000 | 0x0008_0000);
/// Attributes with properties that files inherit.
const INHERITED: [&str; 1] = ["btrfs.compression"];

/// True if files in both directories are stored alike: the same filesystem, subvolume and mount options, and no
/// attribute that one directory passes on to its files and the other does not. False in doubt.
///
/// The extent size hints of XFS are not seen: reading them needs a call that this crate does not make.
///
/// # Errors
/// The kernel's error, if a directory cannot be opened.
pub fn store_alike(one: &Path, other: &Path) -> io::Result<bool> {
    let open = |path: &Path| -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, path, flags, Mode::empty())?.into())
    };
    let (one, other) = (open(one)?, open(other)?);
    let (Some(a), Some(b)) = (Inherited::of(&one), Inherited::of(&other)) else { return Ok(false) };
    Ok(a == b && !a.flags.intersects(BY_NUMBER))
}

/// What files in a directory have from it and from where it is.
#[derive(Debug, PartialEq, Eq)]
struct Inherited {
    device: u64,
    filesystem: u64,
    mount: StatVfsMountFlags,
    flags: IFlags,
    attributes: Vec<Option<Vec<u8>>>,
}

impl Inherited {
    fn of(directory: &File) -> Option<Self> {
        let mounted = fstatvfs(directory).ok()?;
        let flags = match ioctl_getflags(directory) {
            Ok(flags) => flags.difference(OF_THE_DIRECTORY),
            // A filesystem without attributes.
            Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS) => IFlags::empty(),
            Err(_) => return None,
        };
        let attribute = |name: &&str| {
            let mut value = vec![0; 256];
            let length = fgetxattr(directory, *name, &mut value[..]).ok()?;
            value.truncate(length);
            Some(value)
        };
        Some(Self {
            device: fstat(directory).ok()?.st_dev,
            filesystem: mounted.f_fsid,
            mount: mounted.f_flag,
            flags,
            attributes: INHERITED.iter().map(attribute).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::skipped;
    use std::fs;

    #[test]
    fn directories_of_one_filesystem_store_alike_and_others_do_not() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (a, b) = (place.path().join("a"), place.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        assert!(store_alike(&a, &b).unwrap());
        assert!(!store_alike(&a, Path::new("/proc")).unwrap());
        assert!(store_alike(&a, &place.path().join("none")).is_err());
    }

    #[test]
    fn an_attribute_that_files_inherit_makes_a_difference() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (a, b) = (place.path().join("a"), place.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        let file = File::open(&b).unwrap();
        let Ok(flags) = ioctl_getflags(&file) else {
            return skipped("the filesystem of the sources has no attributes");
        };
        rustix::fs::ioctl_setflags(&file, flags | IFlags::NOATIME).unwrap();
        assert!(!store_alike(&a, &b).unwrap());
    }
}
