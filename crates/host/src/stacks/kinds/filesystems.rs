//! Filesystems.

use super::{Filesystem, Kind, Needs, Role, Zeros};

const MIB: u64 = 1 << 20;

fn label(id: &str) -> String {
    // The longest label of xfs has twelve characters.
    format!("lode{id}")
}

/// The longest of vfat and exfat has eleven characters.
fn short_label(id: &str) -> String {
    format!("LOD{}", id.to_ascii_uppercase())
}

/// A filesystem on one device.
const fn single(
    name: &'static str,
    programs: &'static [(&'static str, &'static str)],
    module: &'static [&'static str],
    least_bytes: u64,
    make: &'static [&'static str],
) -> Kind {
    let filesystem = Filesystem { mount_type: name, make, label, options: &[], page_bytes: None };
    Kind {
        name,
        what: "filesystem",
        needs: Needs::of(programs, module),
        serving: Needs::NOTHING,
        zeros: Zeros::AreWritten,
        fewest: 1,
        many: false,
        least_bytes,
        settings: &[],
        role: Role::Filesystem(filesystem),
    }
}

const fn btrfs(name: &'static str, what: &'static str, fewest: usize, make: &'static [&'static str]) -> Kind {
    let filesystem =
        Filesystem { mount_type: "btrfs", make, label, options: &["nodiscard"], page_bytes: None };
    Kind {
        what,
        fewest,
        many: fewest > 1,
        role: Role::Filesystem(filesystem),
        ..single(name, &[("mkfs.btrfs", "btrfs-progs")], &["btrfs"], 128 * MIB, make)
    }
}

const fn otherwise(kind: Kind, mount_type: &'static str, label: fn(&str) -> String) -> Kind {
    let Role::Filesystem(filesystem) = kind.role else { panic!("a filesystem") };
    Kind { role: Role::Filesystem(Filesystem { mount_type, label, ..filesystem }), ..kind }
}

const fn with_pages(kind: Kind, bytes: u64) -> Kind {
    let Role::Filesystem(filesystem) = kind.role else { panic!("a filesystem") };
    Kind { role: Role::Filesystem(Filesystem { page_bytes: Some(bytes), ..filesystem }), ..kind }
}

pub(super) const KINDS: [Kind; 12] = [
    single(
        "ext4",
        &[("mkfs.ext4", "e2fsprogs")],
        &["ext4"],
        16 * MIB,
        &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-L"],
    ),
    Kind {
        zeros: Zeros::MustBeThere,
        ..single(
            "xfs",
            &[("mkfs.xfs", "xfsprogs")],
            &["xfs"],
            300 * MIB,
            &["mkfs.xfs", "-q", "-f", "-K", "-L"],
        )
    },
    btrfs("btrfs", "filesystem", 1, &["mkfs.btrfs", "-q", "-f", "-K", "-L"]),
    btrfs(
        "btrfs-raid0",
        "filesystem, striped",
        2,
        &["mkfs.btrfs", "-q", "-f", "-K", "-d", "raid0", "-m", "raid1", "-L"],
    ),
    btrfs(
        "btrfs-raid1",
        "filesystem, mirrored",
        2,
        &["mkfs.btrfs", "-q", "-f", "-K", "-d", "raid1", "-m", "raid1", "-L"],
    ),
    btrfs(
        "btrfs-raid5",
        "filesystem, one parity",
        3,
        &["mkfs.btrfs", "-q", "-f", "-K", "-d", "raid5", "-m", "raid1c3", "-L"],
    ),
    btrfs(
        "btrfs-raid10",
        "filesystem, mirrored and striped",
        4,
        &["mkfs.btrfs", "-q", "-f", "-K", "-d", "raid10", "-m", "raid10", "-L"],
    ),
    // Its blocks must be as large as pages, and f2fs-tools before 1.16 make only these.
    with_pages(
        single(
            "f2fs",
            &[("mkfs.f2fs", "f2fs-tools")],
            &["f2fs"],
            64 * MIB,
            &["mkfs.f2fs", "-q", "-f", "-t", "0", "-l"],
        ),
        4096,
    ),
    otherwise(
        single("vfat", &[("mkfs.vfat", "dosfstools")], &["vfat"], 64 * MIB, &["mkfs.vfat", "-F", "32", "-n"]),
        "vfat",
        short_label,
    ),
    otherwise(
        single("exfat", &[("mkfs.exfat", "exfatprogs")], &["exfat"], 16 * MIB, &["mkfs.exfat", "-L"]),
        "exfat",
        short_label,
    ),
    otherwise(
        single(
            "ntfs",
            &[("mkfs.ntfs", "ntfs-3g")],
            &["ntfs3"],
            16 * MIB,
            &["mkfs.ntfs", "-q", "-Q", "-F", "-L"],
        ),
        "ntfs3",
        label,
    ),
    single(
        "ntfs-3g",
        &[("mkfs.ntfs", "ntfs-3g"), ("mount.ntfs-3g", "ntfs-3g")],
        &["fuse"],
        16 * MIB,
        &["mkfs.ntfs", "-q", "-Q", "-F", "-L"],
    ),
];
