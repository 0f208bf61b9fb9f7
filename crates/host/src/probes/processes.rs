//! Lists processes without scanning all of them each time.

use std::fs;
use std::path::PathBuf;

use super::KernelFile;

/// Set in the flags of kernel threads (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// The processes of the machine, listed again only if there is a new one.
pub(super) struct Listing {
    proc: PathBuf,
    loadavg: KernelFile,
    /// The highest process ID at the last listing.
    youngest: Option<u64>,
    /// In order.
    known: Vec<u32>,
}

/// What has changed since the last listing.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub born: Vec<u32>,
    /// The first listing: those born may be old.
    pub is_first: bool,
}

impl Listing {
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        let proc = proc.into();
        let loadavg = KernelFile::new(proc.join("loadavg"));
        Self { proc, loadavg, youngest: None, known: Vec::new() }
    }

    /// A file of a process.
    pub fn file(&self, process: u32, name: &str) -> KernelFile {
        KernelFile::new(self.proc.join(format!("{process}/{name}")))
    }

    /// Lists again if a process has started since; kernel threads are processes here.
    pub fn changes(&mut self) -> Changes {
        // The last field of loadavg is the process ID assigned last.
        let youngest =
            self.loadavg.text().and_then(|text| text.split_ascii_whitespace().last()?.parse().ok());
        let is_first = self.known.is_empty();
        if !is_first && youngest.is_some() && youngest == self.youngest {
            return Changes::default();
        }
        self.youngest = youngest;
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        let mut now: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        now.sort_unstable();
        let born = now.iter().copied().filter(|process| self.known.binary_search(process).is_err()).collect();
        self.known = now;
        Changes { born, is_first }
    }

    /// True if it existed at the last listing.
    pub fn has(&self, process: u32) -> bool {
        self.known.binary_search(&process).is_ok()
    }
}

/// Fields of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Debug, PartialEq)]
pub(super) struct Stat<'a> {
    pub name: &'a [u8],
    pub parent: u32,
    pub is_kernel_thread: bool,
    /// Clock ticks in user and kernel mode.
    pub ticks: u64,
}

impl<'a> Stat<'a> {
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        // The name may contain anything, including brackets and blanks.
        let open = bytes.iter().position(|b| *b == b'(')?;
        let close = bytes.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(bytes.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let flags: u64 = fields.nth(4)?.parse().ok()?;
        let (user, system): (u64, u64) = (fields.nth(4)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Self {
            name: bytes.get(open + 1..close)?,
            parent,
            is_kernel_thread: flags & PF_KTHREAD != 0,
            ticks: user + system,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::Tree;

    /// A process of a fixture.
    pub fn process(tree: &Tree, number: u32, name: &str, is_kernel_thread: bool, ticks: u64) {
        // Kernel threads are children of kthreadd, the others here of the test's first process.
        let parent = if is_kernel_thread { 2 } else { 5 };
        let flags = if is_kernel_thread { 69_238_880 } else { 4_194_304 };
        tree.file(
            &format!("proc/{number}/stat"),
            &format!(
                "{number} ({name}) S {parent} 0 0 0 -1 {flags} 0 0 0 0 {} {} 0 0 20 0 1 0 5\n",
                ticks / 2,
                ticks - ticks / 2
            ),
        );
        tree.file(&format!("proc/{number}/comm"), &format!("{name}\n"));
    }

    /// Sets the process ID assigned last.
    pub fn youngest(tree: &Tree, number: u32) {
        tree.file("proc/loadavg", &format!("0.1 0.1 0.1 1/80 {number}\n"));
    }

    #[test]
    fn names_with_brackets_and_kernel_threads_are_parsed() {
        let tree = Tree::new();
        process(&tree, 7, "evil) S (x", false, 30);
        process(&tree, 8, "kworker/u8:1-dmcrypt", true, 5);
        let mut listing = Listing::new(tree.path("proc"));
        let changes = listing.changes();
        assert_eq!((changes.born, changes.is_first), (vec![7, 8], true));
        let mut files = [listing.file(7, "stat"), listing.file(8, "stat")];
        let [first, second] = &mut files;
        let (first, second) = (Stat::parse(first.bytes().unwrap()), Stat::parse(second.bytes().unwrap()));
        assert_eq!(first, Some(Stat { name: b"evil) S (x", parent: 5, is_kernel_thread: false, ticks: 30 }));
        assert!(second.unwrap().is_kernel_thread);
        assert_eq!(Stat::parse(b"7 (x) S 1 2"), None);
    }

    #[test]
    fn processes_are_listed_again_only_after_a_new_one() {
        let tree = Tree::new();
        process(&tree, 7, "a", false, 0);
        youngest(&tree, 7);
        let mut listing = Listing::new(tree.path("proc"));
        listing.changes();
        process(&tree, 9, "b", false, 0);
        assert!(listing.changes().born.is_empty(), "the kernel reports no new process");
        youngest(&tree, 9);
        assert_eq!(listing.changes().born, [9]);
        assert!(listing.has(7) && listing.has(9));
        fs::remove_dir_all(tree.path("proc/7")).unwrap();
        youngest(&tree, 10);
        assert!(listing.changes().born.is_empty() && !listing.has(7));
    }
}
