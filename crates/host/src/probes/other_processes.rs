//! I/O of other processes, by name. The kernel does not report the device: the readings cover all bytes that a
//! process had read from and written to storage, wherever it is. Without root, only the user's own processes are
//! readable. The I/O of a process that started and ended between two polls appears as its parent's, to which the
//! kernel adds it.

use std::fs;
use std::path::Path;

use model::series_words;

use super::change_filter::{Sample, SeriesId};
use super::processes::{Listing, Stat};
use super::{KernelFile, Probe, Reader, SLOW};

pub(super) const PROBE: Probe = Probe {
    name: "other_processes",
    what: "bytes that other processes read from and wrote to storage, by name",
    label: |key| Some(format!("other process: {}", series_words(key))),
    pace: SLOW,
    begin: |scene, _| {
        let processes = Vec::new();
        let listing = Listing::new(&scene.roots.proc);
        Some(Box::new(Others {
            listing,
            own: own(&scene.roots.proc),
            processes,
            polls: 0,
            names: Vec::new(),
        }))
    },
};

/// Further names are reported as one.
const MOST_NAMES: usize = 24;
const REST: &str = "(others)";

struct Others {
    listing: Listing,
    own: u32,
    processes: Vec<Process>,
    polls: u64,
    /// Names that have done I/O, with their series and the bytes since the last poll.
    names: Vec<Name>,
}

struct Process {
    number: u32,
    parent: u32,
    io: KernelFile,
    /// Bytes read and written so far.
    done: [u64; 2],
    /// Bytes of ended children, which the kernel adds to this process when it reaps them. They were already
    /// reported as the children's.
    inherited: [u64; 2],
    /// The latest poll that these can date from.
    inherited_by: u64,
}

struct Name {
    name: String,
    series: [SeriesId; 2],
    bytes: [u64; 2],
}

/// This process's ID as this /proc counts.
fn own(proc: &Path) -> u32 {
    let link = fs::read_link(proc.join("self")).ok();
    link.and_then(|link| link.to_str()?.parse().ok()).unwrap_or_else(std::process::id)
}

impl Reader for Others {
    fn read(&mut self, sample: &mut Sample<'_>) {
        self.find();
        self.polls += 1;
        let grown: Vec<(u32, [u64; 2])> = self.grown();
        for (process, bytes) in grown {
            let name = self.name(process, sample);
            name.bytes.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        let Some(seconds) = sample.seconds() else { return };
        for name in &mut self.names {
            for (series, bytes) in name.series.into_iter().zip(std::mem::take(&mut name.bytes)) {
                sample.put_since(series, sample.since_ns, bytes as f64 / seconds);
            }
        }
    }
}

impl Others {
    /// Bytes that processes have moved since the last poll, themselves or by unreported children.
    fn grown(&mut self) -> Vec<(u32, [u64; 2])> {
        let now: Vec<Option<[u64; 2]>> =
            self.processes.iter_mut().map(|process| process.io.bytes().and_then(transferred)).collect();
        let gone = self.processes.iter().zip(&now).filter(|(_, now)| now.is_none());
        let gone: Vec<(u32, [u64; 2])> = gone.map(|(process, _)| (process.parent, process.done)).collect();
        for (parent, done) in gone {
            let parents = self.processes.iter_mut().find(|process| process.number == parent);
            parents.into_iter().for_each(|process| process.inherit(done, self.polls));
        }
        let mut grown = Vec::new();
        for (process, now) in self.processes.iter_mut().zip(&now) {
            let Some(now) = *now else { continue };
            let bytes = process.advance(now, self.polls);
            if bytes != [0, 0] {
                grown.push((process.number, bytes));
            }
        }
        let mut ended = now.iter().map(Option::is_none);
        self.processes.retain(|_| !ended.next().unwrap_or(false));
        grown
    }

    fn find(&mut self) {
        let changes = self.listing.changes();
        if changes.born.is_empty() {
            return;
        }
        for number in changes.born.into_iter().filter(|number| *number != self.own) {
            let mut stat = self.listing.file(number, "stat");
            let Some(stat) = stat.bytes().and_then(Stat::parse) else { continue };
            // Kernel threads do I/O for others, for example a loop device's for Lodestone.
            if stat.is_kernel_thread {
                continue;
            }
            let mut io = self.listing.file(number, "io");
            let Some(now) = io.bytes().and_then(transferred) else { continue };
            let done = if changes.is_first { now } else { [0, 0] };
            let parent = stat.parent;
            self.processes.push(Process { number, parent, io, done, inherited: [0, 0], inherited_by: 0 });
        }
    }

    /// The entry for a process's name, which may have changed since its start.
    fn name(&mut self, process: u32, sample: &mut Sample<'_>) -> &mut Name {
        let mut comm = self.listing.file(process, "comm");
        let name = comm.bytes().map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
        let name = name.unwrap_or_else(|| REST.to_owned());
        let known = self.names.iter().position(|n| n.name == name);
        let place = known.unwrap_or_else(|| {
            let is_full = self.names.len() >= MOST_NAMES;
            let name = if is_full { REST.to_owned() } else { name };
            self.names.iter().position(|n| n.name == name).unwrap_or_else(|| {
                let series =
                    ["read", "write"].map(|key| sample.filter.series(format!("{name}.{key}"), "B/s"));
                self.names.push(Name { name, series, bytes: [0; 2] });
                self.names.len() - 1
            })
        });
        &mut self.names[place]
    }
}

impl Process {
    /// A child has ended after moving this number of bytes.
    fn inherit(&mut self, done: [u64; 2], sample: u64) {
        self.inherited.iter_mut().zip(done).for_each(|(sum, done)| *sum += done);
        self.inherited_by = sample;
    }

    /// Stores the current counters and returns the bytes that the process itself has moved since.
    fn advance(&mut self, now: [u64; 2], sample: u64) -> [u64; 2] {
        // A parent usually reaps at once. One that never does gets nothing added.
        if sample > self.inherited_by + 1 {
            self.inherited = [0, 0];
        }
        let mut grown = [0, 0];
        for (i, grown) in grown.iter_mut().enumerate() {
            let all = now[i].saturating_sub(self.done[i]);
            let inherited = all.min(self.inherited[i]);
            self.inherited[i] -= inherited;
            *grown = all - inherited;
        }
        self.done = now;
        grown
    }
}

/// Bytes read from and written to storage, from `/proc/PID/io`.
fn transferred(io: &[u8]) -> Option<[u64; 2]> {
    let text = std::str::from_utf8(io).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([value("read_bytes:")?, value("write_bytes:")?])
}

#[cfg(test)]
mod tests {
    use super::super::processes::tests::{process, youngest};
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    fn io(tree: &Tree, number: u32, read: u64, written: u64) {
        tree.file(
            &format!("proc/{number}/io"),
            &format!(
                "rchar: 9\nwchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
            ),
        );
    }

    #[test]
    fn processes_are_named_except_this_one_and_kernel_threads() {
        let tree = Tree::new();
        for (number, name, is_kernel) in [
            (5, "backup", false),
            (6, "backup", false),
            (7, "lodestone", false),
            (8, "kworker/u8:1-loop0", true),
        ] {
            process(&tree, number, name, is_kernel, 0);
            io(&tree, number, 1000, 1000);
        }
        process(&tree, 9, "secret", false, 0);
        std::os::unix::fs::symlink("7", tree.path("proc/self")).unwrap();
        youngest(&tree, 9);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert!(probe.at(0).is_empty());
        for number in 5..9 {
            io(&tree, number, 1000, 501_000);
        }
        process(&tree, 20, "dd", false, 0);
        io(&tree, 20, 50_000, 0);
        youngest(&tree, 20);
        assert_eq!(
            probe.at(5),
            ["backup.read 0 B/s", "backup.write 200000 B/s", "dd.read 10000 B/s", "dd.write 0 B/s"]
        );
        assert_eq!(probe.at(10), ["backup.write 0 B/s", "dd.read 0 B/s"]);
    }

    /// When a process has ended, the kernel adds its I/O to its parent: a shell seemed to do all the I/O of its
    /// commands a second time.
    #[test]
    fn io_of_a_child_is_not_reported_again_as_its_parents() {
        let tree = Tree::new();
        process(&tree, 5, "bash", false, 0);
        process(&tree, 6, "dd", false, 0);
        io(&tree, 5, 1000, 0);
        io(&tree, 6, 4_000_000, 0);
        youngest(&tree, 6);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        probe.at(0);
        io(&tree, 6, 9_000_000, 0);
        assert_eq!(probe.at(5), ["dd.read 1000000 B/s", "dd.write 0 B/s"]);
        // The kernel reports nothing for a process that has ended.
        tree.file("proc/6/io", "");
        fs::remove_dir_all(tree.path("proc/6")).unwrap();
        // In addition to its child's nine megabytes, the shell has read one of its own, or the child one more.
        io(&tree, 5, 10_001_000, 0);
        assert_eq!(probe.at(10), ["dd.read 0 B/s", "bash.read 200000 B/s", "bash.write 0 B/s"]);
    }

    #[test]
    fn many_names_are_reported_as_one() {
        let tree = Tree::new();
        youngest(&tree, 1);
        process(&tree, 1, "init", false, 0);
        io(&tree, 1, 0, 0);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        probe.at(0);
        for number in 100..140 {
            process(&tree, number, &format!("worker{number}"), false, 0);
            io(&tree, number, 10, 0);
        }
        youngest(&tree, 140);
        let readings = probe.at(1);
        assert_eq!(readings.len(), 2 * (MOST_NAMES + 1));
        assert!(readings.contains(&"(others).read 160 B/s".to_owned()), "{readings:?}");
    }
}
