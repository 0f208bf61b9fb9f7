//! A disk that is temporarily full.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::*;
use record::{LogWriter, parse_log};
use rustix::fs::{IFlags, ioctl_setflags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn note(n: u64) -> Event {
    Event::Note(Note {
        at_ns: n,
        severity: Severity::Info,
        topic: "t".into(),
        target: None,
        message: "m".into(),
    })
}

/// Simulates a full disk until it is dropped: whatever fails meanwhile, the log can then be deleted and the process can
/// write again.
struct Obstacles {
    log: fs::File,
    unlimited: Rlimit,
}

impl Obstacles {
    /// No file grows beyond `bytes`.
    fn new(log: &Path, bytes: u64) -> Self {
        let (log, unlimited) = (fs::File::open(log).unwrap(), getrlimit(Resource::Fsize));
        let limit = Rlimit { current: Some(bytes), maximum: unlimited.maximum };
        setrlimit(Resource::Fsize, limit).unwrap();
        Self { log, unlimited }
    }

    /// Prevents truncation of the log; false if that is not possible.
    fn forbid_truncation(&self) -> bool {
        ioctl_setflags(&self.log, IFlags::APPEND).is_ok()
    }
}

impl Drop for Obstacles {
    fn drop(&mut self) {
        // A filesystem without such flags has nothing to clear.
        let _ = ioctl_setflags(&self.log, IFlags::empty());
        let _ = setrlimit(Resource::Fsize, self.unlimited);
    }
}

#[test]
fn a_full_disk_loses_no_event_and_leaves_no_torn_line() {
    // The limit that simulates it applies to the whole process.
    if !testing::alone("full_disk::a_full_disk_loses_no_event_and_leaves_no_torn_line") {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = directory.path().join("log.jsonl");
    let mut writer = LogWriter::create(&path).unwrap();
    writer.append(&note(1)).unwrap();
    let before = fs::metadata(&path).unwrap().len();

    // Beyond a limit on the file size every write fails as on a full disk. The signal that it also raises is caught
    // here.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false))).unwrap();
    let obstacles = Obstacles::new(&path, before + 10);
    for n in 2..5 {
        writer.append(&note(n)).unwrap_err();
        assert_eq!(fs::metadata(&path).unwrap().len(), before);
    }
    // Now a partial line cannot be truncated either.
    let can_forbid = obstacles.forbid_truncation();
    if can_forbid {
        writer.append(&note(5)).unwrap_err();
        writer.append(&note(6)).unwrap_err();
        assert_eq!(fs::metadata(&path).unwrap().len(), before + 10, "the log ends with a torn line");
    } else {
        writer.append(&note(5)).unwrap_err();
        writer.append(&note(6)).unwrap_err();
    }
    drop(obstacles);
    if !can_forbid {
        testing::skipped("a log that cannot be truncated: needs root and a filesystem with such a flag");
    }
    writer.append(&note(7)).unwrap();

    let text = fs::read_to_string(&path).unwrap();
    let notes: Vec<u64> = text
        .lines()
        .map(|line| match serde_json::from_str(line).unwrap() {
            Event::Note(note) => note.at_ns,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(notes, [1, 2, 3, 4, 5, 6, 7]);
    assert!(parse_log(text.as_bytes(), Path::new("log")).is_err(), "this log has no start, only notes");
}
