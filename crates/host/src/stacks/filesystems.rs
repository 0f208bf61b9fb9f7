//! The filesystems that can be made.

/// A filesystem that can be made.
#[derive(Debug)]
pub struct Filesystem {
    /// Its name: the kernel's, and what a user writes.
    pub name: &'static str,
    /// The program that makes it.
    pub program: &'static str,
    /// The Debian package of the program.
    pub package: &'static str,
    /// Arguments that make it quiet and complete: nothing is left to be initialised later, and nothing is discarded, which
    /// would give the blocks of the image back.
    pub arguments: &'static [&'static str],
    /// Mount options for the same reason.
    pub options: &'static [&'static str],
    /// Bytes of the smallest that its program makes.
    pub least_bytes: u64,
}

/// All of them.
pub const FILESYSTEMS: [Filesystem; 3] = [
    Filesystem {
        name: "ext4",
        program: "mkfs.ext4",
        package: "e2fsprogs",
        arguments: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
        options: &[],
        least_bytes: 16 << 20,
    },
    Filesystem {
        name: "xfs",
        program: "mkfs.xfs",
        package: "xfsprogs",
        arguments: &["-q", "-f", "-K"],
        options: &[],
        least_bytes: 300 << 20,
    },
    Filesystem {
        name: "btrfs",
        program: "mkfs.btrfs",
        package: "btrfs-progs",
        arguments: &["-q", "-f", "-K"],
        options: &["nodiscard"],
        least_bytes: 128 << 20,
    },
];
