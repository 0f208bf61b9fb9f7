//! Which directories a store accepts, which files it leaves unchanged, and how it treats foreign files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use record::{FindError, Store, StoreError, read_log};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A store whose only run is the fixture, begun and finished like a real run.
fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    add_run(&store, "abcdefgh");
    (directory, store)
}

fn add_run(store: &Store, id: &str) -> PathBuf {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs/format-3.jsonl");
    let run = read_log(Path::new(fixture)).unwrap().run;
    let mut started = run.started;
    started.id = id.to_owned();
    let mut writer = store.begin(started).unwrap();
    writer.append(&model::Event::RunFinished(run.finished.unwrap())).unwrap();
    writer.path().to_owned()
}

fn ids(store: &Store) -> Vec<String> {
    store.list().unwrap().runs.into_iter().map(|run| run.id).collect()
}

/// A pipe among the logs blocked `list` until a writer opened it.
#[test]
fn other_file_types_among_the_logs_are_left_out_with_a_warning() {
    let (_directory, store) = store();
    let secret = tempfile::tempdir().unwrap();
    let outside = secret.path().join("20261122T000000Z-outside1.jsonl");
    fs::copy(store.logs().join(&store.list().unwrap().runs[0].file), &outside).unwrap();
    mknodat(CWD, store.logs().join("pipe.jsonl"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    symlink(&outside, store.logs().join("link.jsonl")).unwrap();
    fs::create_dir(store.logs().join("directory.jsonl")).unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.runs.len(), 1);
    assert_eq!(listing.warnings.len(), 3, "{:?}", listing.warnings);
    for name in ["pipe.jsonl", "link.jsonl", "directory.jsonl"] {
        assert!(listing.warnings.iter().any(|warning| warning.contains(name)), "{:?}", listing.warnings);
    }
}

/// In the index, the second of two logs of one run replaced the first, and `show` picked either of them.
#[test]
fn two_logs_of_one_run_are_both_listed() {
    let (_directory, store) = store();
    let original = store.logs().join(&store.list().unwrap().runs[0].file);
    let copy = store.logs().join("copy.jsonl");
    fs::copy(&original, &copy).unwrap();
    assert_eq!(ids(&store), ["abcdefgh", "abcdefgh"]);
    for name in ["abcdefgh", "abc"] {
        let error = store.find(name).unwrap_err();
        assert!(matches!(&error, FindError::SeveralLogs { logs, .. } if logs.len() == 2), "{error}");
        assert!(error.to_string().contains(copy.to_str().unwrap()), "{error}");
    }
    assert!(store.find(copy.to_str().unwrap()).is_ok());
}

/// `--store DIR` deleted an unrelated `DIR/index.db` and turned any directory into a store.
#[test]
fn a_directory_with_other_content_is_refused_unchanged() {
    for name in ["notes.txt", "index", "index.db", "runs", "reports", "store.json"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        match name {
            "runs" => {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("marathon.gpx"), "hello").unwrap();
            }
            "reports" => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, "hello").unwrap(),
        }
        let error = Store::open(directory.path()).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{name}: {error}");
        assert!(error.to_string().contains("--store DIR"), "{error}");
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [name]);
    }
}

#[test]
fn a_store_of_a_later_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("store.json"), "{\"program\":\"lodestone\",\"store_format\":7}").unwrap();
    assert!(matches!(Store::open(directory.path()), Err(StoreError::TooNew { format: 7, .. })));
}

#[test]
fn a_store_without_a_marker_is_recognised_by_its_runs() {
    let (directory, store) = store();
    assert_eq!(ids(&store).len(), 1);
    fs::remove_file(directory.path().join("store.json")).unwrap();
    let again = Store::open(directory.path()).unwrap();
    assert_eq!(ids(&again).len(), 1);
    assert!(!directory.path().join("store.json").exists(), "listing changes nothing");
    add_run(&again, "ijkmnpqr");
    assert!(directory.path().join("store.json").exists());
}

#[test]
fn a_missing_store_is_empty_and_is_not_created() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(&path).unwrap();
    assert!(ids(&store).is_empty());
    assert!(!path.exists());
}

#[test]
fn a_foreign_file_in_the_place_of_the_index_is_kept() {
    let (directory, store) = store();
    let index = directory.path().join("index");
    fs::write(&index, "of another program").unwrap();
    let listing = store.list().unwrap();
    assert_eq!((listing.runs.len(), listing.warnings.len()), (1, 1));
    assert!(listing.warnings[0].contains("move it elsewhere"), "{:?}", listing.warnings);
    assert_eq!(fs::read(&index).unwrap(), b"of another program");
    fs::rename(&index, directory.path().join("runs/elsewhere")).unwrap();
    assert!(store.list().unwrap().warnings.is_empty());
    assert!(index.exists());
}

/// Earlier versions wrote a database, and renamed a foreign one.
#[test]
fn the_index_of_an_earlier_version_does_not_make_a_store_foreign() {
    let (directory, _store) = store();
    fs::remove_file(directory.path().join("store.json")).unwrap();
    for name in ["index.db", "index.db-wal", "index.db.foreign-1"] {
        fs::write(directory.path().join(name), "SQLite").unwrap();
    }
    assert_eq!(ids(&Store::open(directory.path()).unwrap()).len(), 1);
}

/// The index and a report were written through symbolic links.
#[test]
fn nothing_is_written_through_a_symbolic_link() {
    let (directory, store) = store();
    let victim = tempfile::NamedTempFile::new().unwrap();
    fs::write(victim.path(), "precious").unwrap();
    let index = directory.path().join("index");
    symlink(victim.path(), &index).unwrap();
    let listing = store.list().unwrap();
    assert_eq!((listing.runs.len(), listing.warnings.len()), (1, 1), "{:?}", listing.warnings);
    fs::create_dir(directory.path().join("reports")).unwrap();
    symlink(victim.path(), directory.path().join("reports/abc.html")).unwrap();
    let page = store.write_report("abc.html", b"page").unwrap();
    assert_eq!(fs::read(&page).unwrap(), b"page");
    assert!(!page.is_symlink());
    assert_eq!(fs::read(victim.path()).unwrap(), b"precious");
}

#[test]
fn symbolic_links_to_directories_in_a_store_are_refused() {
    let (directory, store) = store();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(directory.path().join("runs"), elsewhere.path().join("runs")).unwrap();
    symlink(elsewhere.path().join("runs"), directory.path().join("runs")).unwrap();
    let error = store.list().unwrap_err().to_string();
    assert!(error.contains("a symbolic link"), "{error}");
    symlink(elsewhere.path(), directory.path().join("reports")).unwrap();
    assert!(store.write_report("abc.html", b"page").is_err());
    assert!(!elsewhere.path().join("abc.html").exists());
}

/// A program that was killed while it wrote the index or a report left its temporary file.
#[test]
fn only_leftovers_of_killed_programs_are_removed() {
    let (directory, store) = store();
    let reports = directory.path().join("reports");
    fs::create_dir(&reports).unwrap();
    let path = |name: &str| directory.path().join(name);
    for path in [path(".lodestone-0123456789abcdef"), reports.join(".lodestone-0123456789abcdef")] {
        fs::write(path, "half").unwrap();
    }
    let being_written = fs::File::create(path(".lodestone-fedcba9876543210")).unwrap();
    being_written.lock().unwrap();
    fs::write(path(".lodestone-mine"), "mine").unwrap();
    store.list().unwrap();
    assert!(!path(".lodestone-0123456789abcdef").exists());
    assert_eq!(fs::read_dir(&reports).unwrap().count(), 0);
    assert!(path(".lodestone-fedcba9876543210").exists() && path(".lodestone-mine").exists());
}
