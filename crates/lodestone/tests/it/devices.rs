//! Block devices, user files, and filesystems that refuse, fill up or fail. Most tests need root and report it if they
//! are skipped.

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::*;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use serde_json::Value;

const SHORT: [&str; 12] = [
    "--size",
    "16M",
    "--runtime",
    "none",
    "--ops",
    "64",
    "--ramp",
    "0s",
    "--rounds",
    "2",
    "--json",
    "--quiet",
];

fn run(bench: &Bench, args: &[&str]) -> Value {
    serde_json::from_str(&bench.ok(&[&["run"], args, &SHORT[..]].concat())).unwrap()
}

fn steps_measured(json: &Value) -> Vec<&str> {
    let mut steps: Vec<&str> =
        json["repeats"].as_array().unwrap().iter().map(|r| r["step"].as_str().unwrap()).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

fn topics(json: &Value) -> Vec<&str> {
    json["notes"].as_array().unwrap().iter().map(|n| n["topic"].as_str().unwrap()).collect()
}

#[test]
fn a_user_file_is_written_only_with_consent() {
    let bench = Bench::new();
    let path = bench.path("data");
    let content: Vec<u8> = (0..32u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let file = path.to_str().unwrap();

    let json = run(&bench, &[file]);
    assert_eq!(
        steps_measured(&json),
        ["rand-read-d1", "rand-read-d32", "seq-read", "seq-read-ordinary-pages"]
    );
    assert!(topics(&json).contains(&"step-left-out"), "omitted steps are noted");
    assert!(std::fs::read(&path).unwrap() == content, "nothing was changed");

    let json = run(&bench, &[file, "--overwrite", file]);
    assert_eq!(steps_measured(&json).len(), 9);
    assert!(std::fs::read(&path).unwrap() != content);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), content.len() as u64);
}

/// Consent was bound to a path, which each repeat opened again.
#[test]
fn a_file_that_replaces_the_target_is_untouched() {
    let bench = Bench::new();
    let (path, other) = (bench.path("data"), bench.path("other"));
    let before = vec![1; 16 << 20];
    std::fs::write(&path, &before).unwrap();
    let precious = vec![2; 16 << 20];
    std::fs::write(&other, &precious).unwrap();
    let file = path.to_str().unwrap();
    let args = ["run", file, "--overwrite", file, "--rw", "randwrite", "--rounds", "20", "--quiet"];
    // This rate makes each repeat slow.
    let repeat = ["--runtime", "none", "--ops", "50", "--rate-iops", "500", "--json"];
    let mut child = Running::start(&mut bench.command(&[&args[..], &repeat].concat()));
    child.until("a write", || std::fs::read(&path).unwrap() != before);
    std::fs::rename(&other, &path).unwrap();
    let output = child.output();
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["repeats"].as_array().unwrap().len(), 20, "the run continued with the file it holds");
    assert!(std::fs::read(&path).unwrap() == precious);
}

#[test]
fn a_block_device_is_written_only_with_full_consent() {
    let bench = Bench::new();
    let image = bench.path("disk.img");
    let Some(device) = LoopDevice::new(&image, 64 << 20) else { return };
    let dev = device.path.as_str();
    if tool("mkfs.ext4", &["-q", dev]).is_none() {
        return;
    }
    let before = std::fs::read(&image).unwrap();
    let json = run(&bench, &[dev]);
    assert_eq!(json["targets"][0]["kind"], "block_device");
    assert_eq!(
        steps_measured(&json),
        ["rand-read-d1", "rand-read-d32", "seq-read", "seq-read-ordinary-pages"]
    );
    assert!(std::fs::read(&image).unwrap() == before, "reading changes nothing");

    let said = bench.fails(2, &["run", dev, "--overwrite", dev]);
    assert!(
        said.contains("holds ext2/3/4") && said.contains(&format!("--overwrite {dev},ext2/3/4")),
        "{said}"
    );
    {
        let Some(mount) = Mounted::on(&bench.path("mnt"), &[dev]) else { return };
        let said = bench.fails(2, &["run", dev, "--overwrite", &format!("{dev},ext2/3/4")]);
        assert!(said.contains(mount.point.to_str().unwrap()), "a mount must be named too: {said}");
    }
    assert_eq!(bench.run(&["run", "/dev/null", "--overwrite", "/dev/null"]).status.code(), Some(2));

    let json = run(&bench, &[dev, "--overwrite", &format!("{dev},ext2/3/4")]);
    assert_eq!(steps_measured(&json).len(), 9);
    assert_eq!(json["run"]["outcome"], "completed");
    assert!(json["measurements"].as_array().unwrap().iter().any(|m| m["metric"] == "device_ratio"));
    // The filesystem no longer exists, so only the device itself must be named.
    run(&bench, &[dev, "--overwrite", dev]);
}

#[test]
fn trimming_a_block_device_frees_its_blocks() {
    let bench = Bench::new();
    let image = bench.path("disk.img");
    let Some(device) = LoopDevice::new(&image, 64 << 20) else { return };
    let args = [
        &device.path,
        "--overwrite",
        &device.path,
        "--rw",
        "trim",
        "--bs",
        "1M",
        "--ops",
        "16",
        "--runtime",
        "none",
    ];
    let output =
        bench.ok(&[&["run"], &args[..], &["--rounds", "1", "--json", "--quiet", "--size", "64M"]].concat());
    let json: Value = serde_json::from_str(&output).unwrap();
    let trims = json["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["operation"] == "trim" && m["metric"] == "iops");
    assert!(trims.is_some(), "{json:#}");
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&image).unwrap());
    assert!(blocks * 512 < 56 << 20, "holes were punched into the image, of which {blocks} sectors remain");
}

#[test]
fn refused_direct_io_falls_back_with_a_finding() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    let Some(mount) = Mounted::on(&bench.path("ram"), &["-t", "ramfs", "ramfs"]) else { return };
    let json = run(&bench, &[mount.point.to_str().unwrap()]);
    assert_eq!(json["run"]["outcome"], "completed");
    assert!(json["repeats"].as_array().unwrap().iter().all(|r| r["direct"] == false));
    let rules: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"in-memory"), "{rules:?}");
    for rule in ["buffered-fallback", "not-evicted", "fits-into-memory"] {
        assert!(!rules.contains(&rule), "`in-memory` says it: {rules:?}");
    }
    assert!(visible(&mount.point).is_empty());
}

/// Waits until the log of the current run has an interval of this target: its test files are laid out then.
#[track_caller]
fn until_it_works_on(target: &str, child: &mut Running, bench: &Bench) {
    let has_work = |run: &model::Run| {
        let of_target = run.repeats.iter().filter(|repeat| repeat.started.target == target);
        run.finished.is_none() && of_target.into_iter().any(|repeat| !repeat.intervals.is_empty())
    };
    child.until(&format!("an interval of {target}"), || {
        let logs = std::fs::read_dir(bench.store().join("runs")).into_iter().flatten().flatten();
        logs.filter_map(|log| record::read_log(&log.path()).ok()).any(|log| has_work(&log.run))
    });
}

/// A small private filesystem that a test can break.
fn filesystem(bench: &Bench, mkfs: &[&str]) -> Option<(LoopDevice, Mounted)> {
    let device = LoopDevice::new(&bench.path("small.img"), 400 << 20)?;
    tool(mkfs[0], &[&mkfs[1..], &[device.path.as_str()]].concat())?;
    let mount = Mounted::on(&bench.path("small"), &[&device.path])?;
    Some((device, mount))
}

/// Occupies the space of a filesystem except for about 512 KiB, so that files can still be created.
fn take_space(hog: &File, taken: &mut u64) {
    const LEFT: u64 = 512 << 10;
    let mut most = u64::MAX;
    loop {
        let space = fstatvfs(hog).unwrap();
        let bytes = (space.f_bavail * space.f_frsize).saturating_sub(LEFT).min(most);
        if bytes < LEFT {
            return;
        }
        match fallocate(hog, FallocateFlags::empty(), *taken, bytes) {
            Ok(()) => *taken += bytes,
            Err(_) => most = bytes / 2,
        }
    }
}

#[test]
fn a_full_disk_fails_its_repeats_and_others_continue() {
    let bench = Bench::new();
    let Some((_device, mount)) = filesystem(&bench, &["mkfs.xfs", "-q", "-f"]) else { return };
    let (full, good) = (mount.point.to_str().unwrap().to_owned(), bench.disk());
    let args = [
        "run",
        &full,
        good.to_str().unwrap(),
        "--rw",
        "write",
        "--bs",
        "1M",
        "--prepare",
        "fresh",
        "--size",
        "64M",
        // Makes each repeat slow, however fast the disk is.
        "--rate-iops",
        "400",
        "--runtime",
        "none",
        "--ops",
        "60",
        "--rounds",
        "12",
        "--json",
        "--quiet",
    ];
    let mut child = Running::start(&mut bench.command(&args));
    until_it_works_on("small", &mut child, &bench);
    // Another writer takes all free space, also between two repeats.
    child.signal("STOP");
    let (hog, mut taken) = (File::create(format!("{full}/hog")).unwrap(), 0);
    take_space(&hog, &mut taken);
    child.signal("CONT");
    let has_ended = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                take_space(&hog, &mut taken);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // The hog must end even if the program fails, or the scope would wait for ever.
        let output = std::panic::catch_unwind(AssertUnwindSafe(|| child.output()));
        has_ended.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["run"]["outcome"], "failed");
    let failed = json["repeats"].as_array().unwrap().iter().find(|r| r["outcome"] == "failed").unwrap();
    assert_eq!(failed["target"], "small");
    let said = failed["failure"].as_str().unwrap();
    assert!(said.contains("No space left") && said.contains("good operations"), "{said}");
    assert!(topics(&json).contains(&"target-given-up"));
    let shown = bench.ok(&["show"]);
    assert!(shown.contains("use a smaller --size") && !shown.contains("target-given-up"), "{shown}");
    let good_repeats = json["repeats"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["target"] == "disk" && r["outcome"] == "completed");
    assert_eq!(good_repeats.count(), 12, "the other target is measured to the end");
    assert!(bench.visible().is_empty());
}

#[test]
fn a_failing_filesystem_is_recorded_and_others_continue() {
    let bench = Bench::new();
    for rw in ["randread", "randwrite"] {
        let Some((_device, mount)) = filesystem(&bench, &["mkfs.xfs", "-q", "-f"]) else { return };
        let (failing, good) = (mount.point.to_str().unwrap().to_owned(), bench.disk());
        let args = [
            "run",
            &failing,
            good.to_str().unwrap(),
            "--rw",
            rw,
            "--size",
            "64M",
            "--iodepth",
            "4",
            "--runtime",
            "100ms",
            "--rounds",
            "10",
            "--json",
            "--quiet",
        ];
        let mut child = Running::start(&mut bench.command(&args));
        until_it_works_on("small", &mut child, &bench);
        child.signal("STOP");
        if tool("xfs_io", &["-x", "-c", "shutdown", &failing]).is_none() {
            return;
        }
        child.signal("CONT");
        let output = child.output();
        assert_eq!(output.status.code(), Some(3), "{rw}: {}", stderr(&output));
        let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let of = |target: &str, outcome: &str| {
            let repeats = json["repeats"].as_array().unwrap().iter();
            repeats.filter(|r| r["target"] == target && r["outcome"] == outcome).count()
        };
        assert!(of("small", "failed") >= 1, "{rw}: {:#}", json["repeats"]);
        assert_eq!(of("disk", "completed"), 10, "{rw}");
        let rules: Vec<&str> =
            json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
        assert!(rules.contains(&"storage-failed"), "{rules:?}");
    }
}

/// Acceptance test: three filesystems in one command, with plausible figures.
#[test]
fn three_filesystems_are_compared_in_one_command() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    // Many operations, compared with which the filesystem's own are few.
    let suite = bench.path("ratios.toml");
    let text = "[defaults]\nruntime = \"none\"\nops = 600\nramp = \"0s\"\n\
        [[step]]\nid = \"rand-read-d32\"\nrw = \"randread\"\niodepth = 32\n\
        [[step]]\nid = \"durable-write\"\nrw = \"randwrite\"\nfdatasync = 1\n";
    std::fs::write(&suite, text).unwrap();
    let on = format!("image:{}:600M", bench.disk().display());
    let run = |options: &[&str]| -> Option<Value> {
        let made = ["run", "--on", &on, "--stack", "ext4,xfs,btrfs", "--size", "64M", "--json", "--quiet"];
        let mut command = bench.command(&[&made, options].concat());
        let output = command.env("STATE_DIRECTORY", bench.path("state")).output().unwrap();
        if stderr(&output).contains("is not installed") {
            skipped(&stderr(&output));
            return None;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        Some(serde_json::from_str(&stdout(&output)).unwrap())
    };
    let Some(json) = run(&["--suite", suite.to_str().unwrap(), "--rounds", "3"]) else { return };
    let quick = run(&["--runtime", "none", "--ops", "64", "--ramp", "0s", "--rounds", "1"]).unwrap();
    assert_eq!(steps_measured(&quick).len(), 9);
    assert!(bench.visible().is_empty());
    let ratio = |target: &str, step: &str, operation: &str| {
        let m = json["measurements"].as_array().unwrap().iter().find(|m| {
            m["target"] == target
                && m["step"] == step
                && m["operation"] == operation
                && m["metric"] == "device_ratio"
        });
        m.unwrap_or_else(|| panic!("no device ratio of {step} on {target}"))["estimate"].as_f64().unwrap()
    };
    for target in ["ext4", "xfs", "btrfs"] {
        let read = ratio(target, "rand-read-d32", "read");
        assert!((0.99..1.05).contains(&read), "{target}: direct reads are equal in device bytes, not {read}");
    }
    let (ext4, btrfs) = (ratio("ext4", "durable-write", "write"), ratio("btrfs", "durable-write", "write"));
    assert!((0.99..1.3).contains(&ext4), "ext4 overwrites in place, but the ratio is {ext4}");
    assert!(btrfs > 3.0 * ext4, "btrfs writes far more than it is given, but the ratio is {btrfs}");
}

/// Offset and bytes of each operation in the offset log, by step.
fn offsets(json: &Value) -> Vec<(String, Vec<(u64, u64)>)> {
    let of = |repeat: &Value| {
        let kept =
            repeat["offset_log"].as_array().unwrap().iter().flat_map(|p| p["kept"].as_array().unwrap());
        let kept = kept.map(|p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap())).collect();
        (repeat["step"].as_str().unwrap().to_owned(), kept)
    };
    json["repeats"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_disks_suite_writes_back_only_with_consent() {
    const BYTES: u64 = 80 << 20;
    let bench = Bench::new();
    let path = bench.path("data");
    let content: Vec<u8> = (0..BYTES as u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let file = path.to_str().unwrap();
    let run = |args: &[&str]| -> Value {
        let args = [&["run", file, "--rounds", "1", "--json", "--quiet", "--no-report"], args].concat();
        serde_json::from_str(&bench.ok(&args)).unwrap()
    };

    let json = run(&["--suite", "disks"]);
    let kept = offsets(&json);
    assert_eq!(
        kept.iter().map(|(step, kept)| (step.as_str(), kept.len())).collect::<Vec<_>>(),
        [("transfer-read", 100), ("access", 1000)]
    );
    let last = kept[0].1[99];
    assert!(last.0 > BYTES / 100 * 85 && last.0 + last.1 <= BYTES, "{last:?}");
    assert!(kept[1].1.iter().any(|p| p.0 > BYTES / 10 * 9) && kept[1].1.iter().any(|p| p.0 < BYTES / 10));
    assert_eq!(json["targets"][0]["laid_out"], Value::Null);
    let csv = bench.ok(&["export", "--offsets", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 100 + 1000);
    assert!(csv.starts_with("run,host,target,step,operation,round,offset,bytes,ns\r\n"), "{csv}");
    let picture = bench.ok(&["export", "--format", "svg", "--chart", "position"]);
    assert!(picture.contains("aria-label=\"Rate and access time by position\""));
    assert!(std::fs::read(&path).unwrap() == content, "nothing was changed");

    let json = run(&["--suite", "disks-write"]);
    assert_eq!(steps_measured(&json), ["access", "transfer-read"]);
    assert!(topics(&json).contains(&"step-left-out"), "omitted steps are noted");

    let json = run(&["--suite", "disks-write", "--overwrite", file]);
    assert_eq!(offsets(&json)[2].1.len(), 100);
    assert_eq!(json["targets"][0]["laid_out"], Value::Null, "data that are written back need no layout");
    assert!(std::fs::read(&path).unwrap() == content, "the old content was written back");
}
