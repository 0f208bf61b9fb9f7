//! The test data have the requested size, are intact for each step, are used up at most once, and are never mixed with
//! those of another step on a file or device.

use crate::common::*;
use model::{Operation, Repeat, Run};
use serde_json::Value;

/// The run of a command line, from its log. The program must end with `code`.
#[track_caller]
fn run(bench: &Bench, code: i32, args: &[&str]) -> Run {
    let output = bench.run(&[&["run", "--json", "--quiet"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let id = json["run"]["id"].as_str().unwrap();
    let mut logs = std::fs::read_dir(bench.store().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let log = logs.find(|path| path.to_str().unwrap().contains(id)).expect("the run is stored");
    record::read_log(&log).unwrap().run
}

fn topics(run: &Run) -> Vec<&str> {
    run.notes.iter().map(|n| n.topic.as_str()).collect()
}

fn bytes(repeat: &Repeat, operation: Operation) -> u64 {
    repeat.whole().get(&operation).map_or(0, |stats| stats.bytes)
}

#[test]
fn test_data_have_the_requested_size() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    for (options, expected, is_noted) in [
        (&["--size", "3M", "--files", "2"][..], 3 << 20, false),
        (&["--size", "64k"], 64 << 10, false),
        (&["--size", "4k"], 4096, false),
        (&["--size", "10000", "--bs", "1000", "--direct", "false"], 10_000, false),
        (&["--size", "10500", "--bs", "1000", "--direct", "false"], 10_000, true),
        (&["--size", "100M", "--files", "3"], 104_853_504, true),
    ] {
        for rw in ["randread", "write"] {
            let common = [disk, "--rw", rw, "--runtime", "none", "--ops", "16", "--rounds", "1"];
            let run = run(&bench, 0, &[&common[..], options].concat());
            assert_eq!(run.repeats[0].started.size_bytes, expected, "{options:?}");
            assert_eq!(topics(&run).contains(&"data-size"), is_noted, "{options:?}");
            assert!(
                run.repeats[0].is_complete()
                    && run.repeats[0].intervals.iter().any(|i| !i.operations.is_empty())
            );
        }
    }
}

#[test]
fn verified_data_of_odd_sized_files_are_intact() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args = ["--rw", "randrw", "--verify", "true", "--bs", "12k", "--files", "3", "--size", "7M"];
    let more = ["--iodepth", "8", "--jobs", "2", "--ops", "2000", "--runtime", "none", "--rounds", "2"];
    let run = run(&bench, 0, &[&[disk.to_str().unwrap()], &args[..], &more[..]].concat());
    for repeat in &run.repeats {
        let check = repeat.finished.as_ref().unwrap().integrity.clone().unwrap();
        let blocks = repeat.started.size_bytes / (12 << 10);
        // Everything is read back after the repeat, in addition to the reads that are checked within it.
        assert!(check.checked > blocks, "{} of {blocks}", check.checked);
        assert_eq!((check.mismatched, check.first.len()), (0, 0));
    }
}

/// Two directories of one filesystem: their files would differ, not they.
#[test]
fn directories_that_store_files_alike_share_their_test_data() {
    let bench = Bench::new();
    let (a, b) = (bench.disk().join("a"), bench.disk().join("b"));
    std::fs::create_dir_all(&a).unwrap();
    std::fs::create_dir_all(&b).unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let options = ["--rw", "randrw", "--verify", "true", "--size", "1M", "--ops", "100", "--runtime", "none"];
    let both = || run(&bench, 0, &[&[a, b, "--rounds", "3"], &options[..]].concat());
    let shared = both();
    assert_eq!(shared.layouts.len(), 1);
    assert!(topics(&shared).contains(&"shared-data"));
    assert_eq!(shared.repeats.len(), 6);
    for repeat in &shared.repeats {
        let check = repeat.finished.as_ref().unwrap().integrity.clone().unwrap();
        assert!(repeat.is_complete() && check.checked > 0 && check.mismatched == 0);
    }
    if tool("chattr", &["+A", b]).is_none() {
        return;
    }
    let apart = both();
    assert_eq!(apart.layouts.len(), 2, "they differ in an attribute that files inherit");
    assert!(!topics(&apart).contains(&"shared-data"));
}

#[test]
fn fresh_files_are_written_only_once() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args = ["--rw", "write", "--prepare", "fresh", "--size", "8M", "--runtime", "3600s", "--ramp", "1s"];
    let run = run(&bench, 0, &[&[disk.to_str().unwrap(), "--rounds", "2"], &args[..]].concat());
    let written: Vec<u64> = run.repeats.iter().map(|r| bytes(r, Operation::Write)).collect();
    assert_eq!(written, [8 << 20, 8 << 20]);
}

#[test]
fn every_trim_repeat_discards_all_data_once() {
    let bench = Bench::new();
    let image = bench.path("disk.img");
    let Some(device) = LoopDevice::new(&image, 64 << 20) else { return };
    let dev = device.path.as_str();
    let args = ["--overwrite", dev, "--rw", "trim", "--bs", "1M", "--runtime", "3600s", "--rounds", "3"];
    let run = run(&bench, 0, &[&[dev], &args[..]].concat());
    assert_eq!(run.repeats.len(), 3);
    for repeat in &run.repeats {
        assert_eq!(bytes(repeat, Operation::Trim), 64 << 20);
        let discarded = repeat.finished.as_ref().unwrap().devices[0].discarded_bytes;
        assert_eq!(discarded, 64 << 20);
    }
    let sectors = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&image).unwrap());
    assert!(sectors * 512 < 1 << 20, "all holes were punched; {sectors} sectors remain");
}

#[test]
fn an_overwritten_file_holds_one_data_set() {
    let bench = Bench::new();
    let suite = bench.path("suite.toml");
    let text = r#"
        [defaults]
        runtime = "none"
        ops = 16
        ramp = "0s"
        [[step]]
        id = "write"
        rw = "write"
        [[step]]
        id = "zeros"
        rw = "write"
        data = "zero"
        [[step]]
        id = "read"
        rw = "read"
    "#;
    std::fs::write(&suite, text).unwrap();
    let file = bench.path("data");
    std::fs::write(&file, vec![7; 4 << 20]).unwrap();
    let file = file.to_str().unwrap();
    let args = [file, "--overwrite", file, "--suite", suite.to_str().unwrap(), "--rounds", "1"];
    let run = run(&bench, 0, &args);
    let mut steps: Vec<&str> = run.repeats.iter().map(|r| r.started.step.as_str()).collect();
    steps.sort_unstable();
    assert_eq!(steps, ["read", "write"]);
    let said = run.notes.iter().find(|n| n.topic == "step-left-out").unwrap();
    assert!(
        said.message.contains("zeros") && said.message.contains("room for only one set"),
        "{}",
        said.message
    );
}

#[test]
fn a_large_file_is_used_as_far_as_it_was_laid_out() {
    let bench = Bench::new();
    let file = bench.path("data");
    // Sparse, so that it takes no time to create, and larger than can be written in 30 ms.
    std::fs::File::create(&file).unwrap().set_len(8 << 30).unwrap();
    let file = file.to_str().unwrap();
    let args = [
        file,
        "--overwrite",
        file,
        "--rw",
        "randread",
        "--budget",
        "200ms",
        "--runtime",
        "none",
        "--ops",
        "16",
    ];
    let writing = run(&bench, 0, &[&args[..], &["--verify", "true"]].concat());
    let laid_out = writing.layouts[0].bytes;
    assert!((64 << 20..1 << 30).contains(&laid_out), "{laid_out}");
    for repeat in &writing.repeats {
        assert_eq!(repeat.started.size_bytes, laid_out);
        assert_eq!(repeat.finished.as_ref().unwrap().integrity.as_ref().unwrap().mismatched, 0);
    }
}

#[test]
fn a_target_without_space_is_given_up_and_others_measured() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    let Some(small) = Mounted::on(&bench.path("small"), &["-t", "tmpfs", "-o", "size=24M", "tmpfs"]) else {
        return;
    };
    let (small, disk) = (small.point.to_str().unwrap(), bench.disk());
    let options = ["--rw", "randread", "--size", "64M", "--runtime", "none", "--ops", "16", "--rounds", "2"];
    for order in [[small, disk.to_str().unwrap()], [disk.to_str().unwrap(), small]] {
        let run = run(&bench, 3, &[&order[..], &options[..]].concat());
        assert_eq!(run.repeats.iter().filter(|r| r.is_complete()).count(), 2);
        assert!(run.repeats.iter().all(|r| r.started.target == "disk"));
        let said = run.notes.iter().find(|n| n.topic == "target-given-up").unwrap();
        assert!(said.message.contains("MiB are free") && said.message.contains("--size"), "{}", said.message);
    }
    let said = bench.fails(3, &[&["run", small], &options[..]].concat());
    assert!(said.contains("need 64.0 MiB") && said.contains("MiB are free"), "{said}");
}

/// Where 32 bits do not suffice, which matters on 32-bit processors: offsets, sizes and what is told of them.
#[test]
fn what_lies_beyond_four_gibibytes_is_read() {
    const BYTES: u64 = 6 << 30;
    let bench = Bench::new();
    let file = bench.disk().join("large");
    std::fs::File::create(&file).unwrap().set_len(BYTES).unwrap();
    let path = file.to_str().unwrap();
    let work =
        ["--rw", "randread", "--ops", "200", "--runtime", "none", "--rounds", "1", "--log-offset", "true"];
    for engine in ["libaio", "psync"] {
        let target = [path, "--engine", engine, "--no-report"];
        let found = run(&bench, 0, &[&target[..], &work[..]].concat());
        assert_eq!(found.started.targets[0].size_bytes, BYTES);
        let logged = found.repeats[0].finished.as_ref().unwrap().offset_log.clone();
        let farthest = logged[&Operation::Read].kept.iter().map(|entry| entry.offset).max().unwrap();
        assert!((4 << 30..BYTES).contains(&farthest), "{engine}: {farthest}");
    }
}
