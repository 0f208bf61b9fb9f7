//! CPU time of the kernel threads that do storage work.
//!
//! A kworker serves many queues; its name states which it served last. Its time since the last poll is attributed
//! to that work or, if that was not storage work, to what the name stated at the last poll: a short item that
//! came last must not receive all of the time. Threads whose names never change and state no storage work are not read.
//! Threads inside processes (io_uring's) count as those processes'
//! own.

use super::change_filter::{Sample, SeriesId};
use super::processes::{Listing, Stat};
use super::{KernelFile, Probe, Reader, SLOW, tick_ns};

pub(super) const PROBE: Probe = Probe {
    name: "kernel_threads",
    what: "share of a processor that kernel threads spent on storage, by kind of work",
    label: |key| Some(format!("kernel threads: {key}")),
    pace: SLOW,
    begin: |scene, _| {
        let listing = Listing::new(&scene.roots.proc);
        Some(Box::new(KernelThreads { listing, threads: Vec::new(), series: [None; KINDS.len()] }))
    },
};

/// Kinds of work with the names of their threads and work queues. A `#` stands for a digit.
const KINDS: [(&str, &[&str]); 17] = [
    ("dm-crypt", &["kcryptd", "dmcrypt", "crypt"]),
    ("md", &["md#", "md_", "mdadm", "kmdadm", "raid5wq", "raid1", "raid10"]),
    ("dm", &["kdmflush", "kdmwork", "kdmremove", "dm_", "dm-", "kcopyd"]),
    ("iscsi", &["iscsi", "scsi_wq", "scsi_tmf"]),
    ("nfs", &["nfs", "rpciod", "xprtiod", "lockd"]),
    ("smb", &["cifs", "smb", "ksmbd"]),
    ("nvme", &["nvme"]),
    ("nbd", &["knbd", "nbd#", "rbd", "ceph", "drbd"]),
    ("loop", &["loop#"]),
    ("btrfs", &["btrfs"]),
    ("ext4", &["jbd2", "ext4"]),
    ("xfs", &["xfs"]),
    ("other filesystems", &["f2fs", "bcache", "bch-", "z_", "txg_", "spl_", "zvol", "arc_", "dbu_"]),
    ("writeback", &["writeback", "flush-", "sync_wq", "pdflush"]),
    (
        "block layer",
        &["kblockd", "dio/", "blkcg", "kthrotld", "scsi_eh", "ata_sff", "usb-storage", "uas", "mmc", "irq/"],
    ),
    ("integrity", &["kintegrityd", "kverityd"]),
    ("reclaim", &["kswapd", "kcompactd"]),
];
/// Of the threads that serve interrupts, only those of storage count.
const STORAGE_INTERRUPTS: [&str; 5] = ["nvme", "ahci", "mmc", "scsi", "virtio"];

struct KernelThreads {
    listing: Listing,
    threads: Vec<Thread>,
    series: [Option<SeriesId>; KINDS.len()],
}

struct Thread {
    process: u32,
    stat: KernelFile,
    ticks: u64,
    /// What its name stood for at the last poll.
    kind: Option<usize>,
}

impl Reader for KernelThreads {
    fn read(&mut self, sample: &mut Sample<'_>) {
        self.find();
        let mut spent = [0u64; KINDS.len()];
        for thread in &mut self.threads {
            let Some(stat) = thread.stat.bytes().and_then(Stat::parse) else { continue };
            let ticks = stat.ticks.saturating_sub(thread.ticks);
            thread.ticks = stat.ticks;
            let kind = kind(&String::from_utf8_lossy(stat.name));
            let before = std::mem::replace(&mut thread.kind, kind);
            if let Some(kind) = kind.or(before) {
                spent[kind] += ticks;
            }
        }
        let Some(seconds) = sample.seconds() else { return };
        for (kind, ticks) in spent.into_iter().enumerate() {
            if ticks > 0 && self.series[kind].is_none() {
                self.series[kind] = Some(sample.filter.series(KINDS[kind].0, "1"));
            }
            if let Some(series) = self.series[kind] {
                let share = ticks as f64 * tick_ns() as f64 / 1e9 / seconds;
                sample.put_since(series, sample.since_ns, share);
            }
        }
    }
}

impl KernelThreads {
    /// Adds new threads. A thread that was absent from the last listing has spent all its time since.
    fn find(&mut self) {
        let changes = self.listing.changes();
        if changes.born.is_empty() {
            return;
        }
        self.threads.retain(|thread| self.listing.has(thread.process));
        for process in changes.born {
            let mut file = self.listing.file(process, "stat");
            let Some(stat) = file.bytes().and_then(Stat::parse) else { continue };
            let name = String::from_utf8_lossy(stat.name);
            let kind = kind(&name);
            if stat.is_kernel_thread && (kind.is_some() || changes_name(&name)) {
                let ticks = if changes.is_first { stat.ticks } else { 0 };
                self.threads.push(Thread { process, ticks, kind, stat: file });
            }
        }
    }
}

/// A kworker's name states its work, except that of one which stands by for a single queue (`R`: rescuer).
fn changes_name(name: &str) -> bool {
    name.strip_prefix("kworker/").is_some_and(|worker| !worker.starts_with('R'))
}

/// Index of the kind of work that a thread of this name does; `None` if it is not storage work.
fn kind(name: &str) -> Option<usize> {
    // `kworker/u8:4-flush-254:0` did that last, `kworker/0:1+events` is doing it now.
    let work = match name.strip_prefix("kworker/") {
        Some(worker) => worker.split_once(['-', '+'])?.1,
        None => name,
    };
    if work.starts_with("irq/") && !STORAGE_INTERRUPTS.iter().any(|device| work.contains(device)) {
        return None;
    }
    KINDS.iter().position(|(_, patterns)| patterns.iter().any(|pattern| begins(work, pattern)))
}

fn begins(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('#') {
        Some(prefix) => {
            name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        }
        None => name.starts_with(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::super::processes::tests::{process, youngest};
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn thread_names_map_to_their_kind_of_work() {
        let cases = [
            ("kworker/u8:4-flush-254:0", Some("writeback")),
            ("kworker/u16:1+kcryptd/253:0", Some("dm-crypt")),
            ("dmcrypt_write/253:0", Some("dm-crypt")),
            ("md0_raid1", Some("md")),
            ("md127_resync", Some("md")),
            ("kworker/0:1H-kblockd", Some("block layer")),
            ("kworker/1:2-dio/vda", Some("block layer")),
            ("kworker/u8:3-loop0", Some("loop")),
            ("jbd2/vda1-8", Some("ext4")),
            ("ext4lazyinit", Some("ext4")),
            ("kworker/u8:0-btrfs-endio-write", Some("btrfs")),
            ("xfsaild/loop1", Some("xfs")),
            ("iscsi_ttx", Some("iscsi")),
            ("nfsd", Some("nfs")),
            ("irq/45-nvme0q1", Some("block layer")),
            ("irq/24-ACPI:Ged", None),
            ("kworker/0:0-events", None),
            ("kworker/u9:0", None),
            ("ksoftirqd/0", None),
            ("mdev", None),
            ("ksmd", None),
            ("loopback", None),
        ];
        for (name, expected) in cases {
            assert_eq!(kind(name).map(|kind| KINDS[kind].0), expected, "{name}");
        }
    }

    #[test]
    fn only_threads_that_may_do_storage_work_are_read() {
        let tree = Tree::new();
        let names = [
            "ksoftirqd/0",
            "kworker/R-netns",
            "kworker/R-kcryptd-253:0-1",
            "kworker/0:0-events",
            "md0_raid1",
        ];
        names.iter().zip(10..).for_each(|(name, number)| process(&tree, number, name, true, 0));
        let listing = Listing::new(tree.path("proc"));
        let mut probe = KernelThreads { listing, threads: Vec::new(), series: [None; KINDS.len()] };
        probe.find();
        assert_eq!(probe.threads.iter().map(|t| t.process).collect::<Vec<_>>(), [12, 13, 14]);
    }

    #[test]
    fn time_is_summed_by_kind_and_new_threads_count_at_once() {
        let tree = Tree::new();
        process(&tree, 2, "kthreadd", true, 1000);
        process(&tree, 10, "kworker/u8:1-kcryptd/253:0", true, 500);
        process(&tree, 11, "kworker/u8:2-kcryptd/253:0", true, 500);
        process(&tree, 12, "md0_raid1", true, 700);
        process(&tree, 99, "md0_raid1", false, 9000);
        youngest(&tree, 99);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert!(probe.at(0).is_empty());
        process(&tree, 10, "kworker/u8:1-kcryptd/253:0", true, 650);
        process(&tree, 11, "kworker/u8:2-events", true, 600);
        process(&tree, 99, "md0_raid1", false, 9999);
        process(&tree, 120, "kworker/u8:9-kcryptd/253:0", true, 100);
        youngest(&tree, 120);
        // 3.5 of 5 seconds at 100 ticks a second: the thread that served dm-crypt at the last poll did so most of
        // the time.
        assert_eq!(rustix::param::clock_ticks_per_second(), 100);
        assert_eq!(probe.at(5), ["dm-crypt 0.7 1"]);
        process(&tree, 11, "kworker/u8:2-events", true, 700);
        process(&tree, 12, "md0_raid1", true, 800);
        std::fs::remove_dir_all(tree.path("proc/10")).unwrap();
        assert_eq!(probe.at(10), ["dm-crypt 0 1", "md 0.2 1"]);
    }
}
