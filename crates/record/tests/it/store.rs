//! Logs and the store: crashes, damage and concurrent use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::*;
use record::{FindError, LogError, OnDamage, RunState, Store, parse_log, read_log};

fn started(id: &str, at: i64) -> RunStarted {
    let target = Target {
        clients: Vec::new(),
        server: None,
        name: "disk".into(),
        path: "/mnt".into(),
        kind: TargetKind::Directory,
        size_bytes: 1,
        free_bytes: 1,
        block_bytes: 512,
        direct: true,
        labels: Default::default(),
        host: 0,
        writable: true,
        stack: Vec::new(),
    };
    let plan = Plan { id: "p".into(), ..Plan::of_steps("quick", Vec::new(), Rounds::Fixed(1)) };
    RunStarted {
        id: id.into(),
        started_unix_ns: at * 1_000_000_000,
        version: "0.0.0".into(),
        command: vec!["lodestone".into(), "run".into()],
        host: Host { name: "here".into(), ..Host::default() },
        seed: 1,
        ..RunStarted::of_plan(plan, vec![target])
    }
}

fn note(n: u64) -> Event {
    Event::Note(Note {
        at_ns: n,
        severity: Severity::Info,
        topic: "t".into(),
        target: None,
        message: "m".into(),
    })
}

fn end() -> Event {
    Event::RunFinished(RunFinished { at_ns: 9, outcome: RunOutcome::Completed })
}

fn write_run(store: &Store, id: &str, at: i64, events: &[Event]) -> PathBuf {
    let mut writer = store.begin(started(id, at)).unwrap();
    events.iter().for_each(|e| writer.append(e).unwrap());
    writer.path().to_owned()
}

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("deep/er")).unwrap();
    (directory, store)
}

#[test]
fn a_log_is_read_back_as_it_was_written() {
    let (_directory, store) = store();
    let path = write_run(&store, "abc", 5, &[note(1), note(2), end()]);
    let log = read_log(&path).unwrap();
    assert_eq!(log.run.started, started("abc", 5));
    assert_eq!((log.run.notes.len(), log.cut_off, log.damage.len()), (2, false, 0));
    assert_eq!(log.run.finished.unwrap().outcome, RunOutcome::Completed);
}

#[test]
fn events_appended_together_are_separate_lines() {
    let (_directory, store) = store();
    let mut writer = store.begin(started("abc", 5)).unwrap();
    let reading = Reading {
        host: 0,
        at_ns: 7,
        probe: "temperature".into(),
        key: "cpu-thermal".into(),
        value: 48.31,
        unit: "°C".into(),
    };
    writer.append_all(&[Event::Reading(reading.clone()), note(1), Event::Reading(reading.clone())]).unwrap();
    writer.append_all(&[]).unwrap();
    writer.append(&end()).unwrap();
    let text = fs::read_to_string(writer.path()).unwrap();
    assert_eq!(text.lines().count(), 5);
    let log = parse_log(text.as_bytes(), writer.path()).unwrap();
    assert_eq!(log.run.readings, [reading.clone(), reading]);
    assert!(log.damage.is_empty() && log.run.finished.is_some());
}

/// A killed run's log may end anywhere.
#[test]
fn a_log_cut_off_at_any_byte_reads_up_to_its_last_whole_line() {
    let (_directory, store) = store();
    let whole = fs::read(write_run(&store, "abc", 5, &[note(1), note(2), end()])).unwrap();
    let first_line = whole.iter().position(|b| *b == b'\n').unwrap();
    for cut in 0..whole.len() {
        let parsed = parse_log(&whole[..cut], Path::new("log"));
        if cut < first_line {
            assert!(matches!(parsed, Err(LogError::NotALog { .. })), "cut at {cut}");
            continue;
        }
        let log = parsed.unwrap();
        let lines = whole[..cut].iter().filter(|b| **b == b'\n').count();
        let events = 1 + log.run.notes.len() + usize::from(log.run.finished.is_some());
        // A line that lacks only its line feed is complete.
        assert!(
            events == lines.max(1) || events == lines + 1,
            "cut at {cut}: {events} events in {lines} lines"
        );
        assert!(log.damage.is_empty());
    }
}

#[test]
fn other_files_and_logs_of_other_formats_are_refused_with_the_reason() {
    let parse = |text: &str| parse_log(text.as_bytes(), Path::new("x")).unwrap_err().to_string();
    assert!(parse("").contains("not a run log"));
    assert!(parse("hello\n").contains("not a run log"));
    assert!(parse("{\"event\":\"note\"}\n").contains("another event"));
    for format in [1, 99] {
        let other = parse(&format!("{{\"event\":\"run_started\",\"format\":{format}}}\n"));
        assert!(other.contains(&format!("format {format},")) && other.contains("formats 2 to 3"), "{other}");
    }
}

#[test]
fn runs_are_found_by_id_prefix_position_and_path() {
    let (_directory, store) = store();
    write_run(&store, "abcd", 1, &[end()]);
    write_run(&store, "abef", 3, &[end()]);
    let path = write_run(&store, "xyz", 2, &[end()]);
    let id = |name: &str| store.find(name).map(|log| log.run.started.id);
    assert_eq!(id("abcd").unwrap(), "abcd");
    assert_eq!(id("abe").unwrap(), "abef");
    assert_eq!(id("x").unwrap(), "xyz");
    assert_eq!(id("last").unwrap(), "abef", "the last to start, not the last to be written");
    assert_eq!(id("last~1").unwrap(), "xyz");
    assert_eq!(id(path.to_str().unwrap()).unwrap(), "xyz");
    assert!(matches!(id("ab"), Err(FindError::Ambiguous { ids, .. }) if ids.len() == 2));
    for missing in ["nothing", "", "last~9", "last~x", "lastly"] {
        assert!(matches!(id(missing), Err(FindError::None { .. })), "{missing}");
    }
}

#[test]
fn the_index_follows_the_logs_and_is_rebuilt_if_lost() {
    let (directory, store) = store();
    let path = write_run(&store, "one", 1, &[end()]);
    write_run(&store, "two", 2, &[note(1)]);
    let states = || -> Vec<(String, RunState)> {
        store.runs().unwrap().into_iter().map(|r| (r.id, r.state)).collect()
    };
    let both = vec![("one".to_owned(), RunState::Completed), ("two".to_owned(), RunState::Killed)];
    assert_eq!(states(), both);
    let index = directory.path().join("deep/er/index");
    fs::remove_file(&index).unwrap();
    assert_eq!(states(), both);
    let bytes = fs::read(&index).unwrap();
    fs::write(&index, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(states(), both);
    assert_eq!(fs::read(&index).unwrap(), bytes);
    fs::remove_file(path).unwrap();
    assert_eq!(states(), both[1..]);
}

#[test]
fn a_compressed_log_says_the_same_and_takes_the_place_of_the_other() {
    let (_directory, store) = store();
    let mut writer = store.begin(started("one", 1)).unwrap();
    writer.append_all(&[note(1), end()]).unwrap();
    let log = writer.path().to_owned();
    let text = fs::read_to_string(&log).unwrap();
    store.compress(&mut writer).unwrap();
    drop(writer);
    let compressed = PathBuf::from(format!("{}.gz", log.display()));
    let names = |directory: &Path| fs::read_dir(directory).unwrap().count();
    assert_eq!((names(&store.logs()), compressed.exists()), (1, true));
    let read = std::io::read_to_string(record::decompressed(fs::File::open(&compressed).unwrap()).unwrap());
    assert_eq!(read.unwrap(), text);
    let run = |name: &str| store.find(name).unwrap().run;
    assert_eq!(run("one"), run(compressed.to_str().unwrap()));
    assert_eq!(store.runs().unwrap()[0].state, RunState::Completed);

    // Killed between the two steps.
    fs::write(&log, &text).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!((runs.len(), runs[0].file.ends_with(".gz")), (1, true));
    store.remove(&runs[0]).unwrap();
    assert_eq!(names(&store.logs()), 0);
}

#[test]
fn what_is_kept_of_each_run_is_made_once_and_anew_where_the_log_or_the_version_changes() {
    let (directory, store) = store();
    let one = write_run(&store, "one", 1, &[end()]);
    write_run(&store, "two", 2, &[end()]);
    let kept = |version: u32| -> (Vec<String>, usize) {
        let read = std::sync::atomic::AtomicUsize::new(0);
        let of = |log: record::Log| {
            read.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            format!("{} of {}", log.run.started.id, log.run.notes.len())
        };
        let all = store.figures(version, &store.runs().unwrap(), of);
        (all.into_iter().map(Result::unwrap).collect(), read.into_inner())
    };
    let both = vec!["one of 0".to_owned(), "two of 0".to_owned()];
    assert_eq!(kept(1), (both.clone(), 2));
    assert_eq!(kept(1), (both.clone(), 0));
    assert_eq!(kept(2), (both.clone(), 2));
    let file = directory.path().join("deep/er/figures");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 2]).unwrap();
    assert_eq!(kept(2), (both.clone(), 1), "the last line is not whole");
    assert_eq!(kept(2), (both.clone(), 0));
    assert!(fs::read(&file).unwrap().starts_with(&bytes[..bytes.len() - 2]), "only the new line was written");
    fs::write(&file, "of another program").unwrap();
    assert_eq!(kept(2), (both.clone(), 2));
    assert_eq!(fs::read(&file).unwrap(), b"of another program");
    fs::remove_file(&file).unwrap();
    assert_eq!(kept(2), (both, 2));
    fs::remove_file(one).unwrap();
    assert_eq!(kept(2), (vec!["two of 0".to_owned()], 0));
    assert!(!String::from_utf8(fs::read(&file).unwrap()).unwrap().contains("one of"));
}

/// `watch` opens its store before its first run makes it, and never saw what was stored in it then.
#[test]
fn a_store_that_another_process_makes_later_is_seen() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("later");
    let early = Store::open(&path).unwrap();
    assert_eq!(early.runs().unwrap(), []);
    write_run(&Store::open(&path).unwrap(), "aaaa", 1, &[end()]);
    assert_eq!(early.runs().unwrap().len(), 1);
    assert!(early.find("aaaa").is_ok());
}

#[test]
fn runs_that_were_left_out_are_kept_line_by_line() {
    let (directory, store) = store();
    assert_eq!(store.left_out(), []);
    let one = |at: i64| record::LeftOut {
        at_unix_ns: at,
        targets: vec!["ssd".into()],
        reasons: vec!["it is hot\nhere".into()],
    };
    store.record_left_out(&one(1)).unwrap();
    store.record_left_out(&one(2)).unwrap();
    assert_eq!(store.left_out(), [one(1), one(2)]);
    let file = directory.path().join("deep/er/left-out");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(store.left_out(), [one(1)], "the last line is not whole");
    store.record_left_out(&one(3)).unwrap();
    assert_eq!(store.left_out(), [one(1), one(3)]);
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    assert!(store.record_left_out(&one(3)).is_err(), "through a link");
}

#[test]
fn a_compressed_log_that_is_damaged_or_cut_off_is_read_up_to_there_with_a_note() {
    let (_directory, store) = store();
    let mut writer = store.begin(started("one", 1)).unwrap();
    writer.append_all(&(0..2000).map(note).collect::<Vec<_>>()).unwrap();
    writer.append(&end()).unwrap();
    store.compress(&mut writer).unwrap();
    let log = store.logs().join(&store.runs().unwrap()[0].file);
    let whole = fs::read(&log).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 4;
    for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], &changed] {
        fs::write(&log, bytes).unwrap();
        for on_damage in [OnDamage::Stop, OnDamage::Accept] {
            let read = store.clone().with_damage(on_damage).find("one").unwrap();
            assert!(!read.damage.is_empty() && read.run.notes.len() > 1);
            assert_eq!(read.run.notes.last().unwrap().topic, "log-damaged");
        }
        assert_eq!(store.runs().unwrap()[0].state, RunState::Damaged);
    }
}

#[test]
fn a_run_in_progress_is_running_until_its_log_is_closed() {
    let (_directory, store) = store();
    let mut writer = store.begin(started("one", 1)).unwrap();
    let state = || store.runs().unwrap()[0].state;
    assert_eq!(state(), RunState::Running);
    writer.append(&end()).unwrap();
    drop(writer);
    assert_eq!(state(), RunState::Completed);
}

#[test]
fn space_for_a_log_is_reserved_and_the_rest_is_released() {
    const ROOM: u64 = 1 << 20;
    let (_directory, store) = store();
    let mut writer = store.begin(started("one", 1)).unwrap();
    let path = writer.path().to_owned();
    let taken = || fs::metadata(&path).unwrap().blocks() * 512;
    let length = fs::metadata(&path).unwrap().len();
    assert!(writer.reserve(u64::MAX).is_err(), "no filesystem has this much space");
    writer.reserve(ROOM).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), length, "readers see only what was written");
    if taken() < ROOM {
        return testing::skipped("the filesystem of the temporary directory cannot reserve space for a log");
    }
    writer.append(&end()).unwrap();
    writer.release();
    assert!(taken() < ROOM, "{} bytes are still allocated", taken());
    assert!(read_log(&path).unwrap().run.finished.is_some());
}

#[test]
fn concurrent_runs_do_not_disturb_each_other() {
    let (_directory, store) = store();
    let writers: Vec<_> = (0..8)
        .map(|i| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut writer = store.begin(started(&format!("run{i}"), i)).unwrap();
                for n in 0..200 {
                    writer.append(&note(n)).unwrap();
                    if n % 50 == 0 {
                        store.runs().unwrap();
                    }
                }
                writer.append(&end()).unwrap();
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 8);
    for run in runs {
        let log = store.find(&run.id).unwrap();
        assert_eq!((log.run.notes.len(), log.damage.len()), (200, 0));
        assert_eq!(run.state, RunState::Completed);
    }
}

#[test]
fn foreign_files_in_the_store_are_ignored() {
    let (_directory, store) = store();
    write_run(&store, "one", 1, &[end()]);
    fs::write(store.logs().join("notes.txt"), "hello").unwrap();
    fs::write(store.logs().join("broken.jsonl"), "hello").unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
}

#[test]
fn a_store_that_cannot_be_created_is_an_error_with_advice() {
    let store = Store::open(Path::new("/proc/lodestone")).unwrap();
    let error = store.begin(started("abc", 5)).unwrap_err().to_string();
    assert!(error.contains("--store DIR"), "{error}");
}

#[test]
fn floats_are_read_back_to_the_last_bit() {
    // A parser that may be off by one bit reads the second one wrong.
    for value in [0.1_f64, 0.9884108734712579, 1.0 / 3.0, f64::MIN_POSITIVE, 9_007_199_254_740_993.0] {
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), value.to_bits(), "{text}");
    }
}
