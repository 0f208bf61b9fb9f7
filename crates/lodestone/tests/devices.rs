//! Block devices, files of the user's, and filesystems that refuse, fill up or die. Most of it needs root
//! and says so aloud where it is not to be had.

mod common;

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
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
fn a_file_of_the_users_is_read_and_only_with_consent_written() {
    let bench = Bench::new();
    let path = bench.path("data");
    let content: Vec<u8> = (0..32u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let file = path.to_str().unwrap();

    let json = run(&bench, &[file]);
    assert_eq!(steps_measured(&json), ["rand-read-d1", "rand-read-d32", "seq-read"]);
    assert!(topics(&json).contains(&"step-left-out"), "what is left out is said");
    assert!(std::fs::read(&path).unwrap() == content, "nothing was changed");

    let json = run(&bench, &[file, "--overwrite", file]);
    assert_eq!(steps_measured(&json).len(), 8);
    assert!(std::fs::read(&path).unwrap() != content);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), content.len() as u64);
}

/// Consent was bound to a path, which each repeat opened anew.
#[test]
fn what_takes_the_place_of_a_target_during_a_run_is_left_alone() {
    let bench = Bench::new();
    let (path, other) = (bench.path("data"), bench.path("other"));
    let before = vec![1; 16 << 20];
    std::fs::write(&path, &before).unwrap();
    let precious = vec![2; 16 << 20];
    std::fs::write(&other, &precious).unwrap();
    let file = path.to_str().unwrap();
    let args = ["run", file, "--overwrite", file, "--rw", "randwrite", "--rounds", "20", "--quiet"];
    // At this rate, each repeat takes its time.
    let repeat = ["--runtime", "none", "--ops", "50", "--rate-iops", "500", "--json"];
    let mut child = Running::start(&mut bench.command(&[&args[..], &repeat].concat()));
    child.until("a write", || std::fs::read(&path).unwrap() != before);
    std::fs::rename(&other, &path).unwrap();
    let output = child.output();
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["repeats"].as_array().unwrap().len(), 20, "the run went on with the file it holds");
    assert!(std::fs::read(&path).unwrap() == precious);
}

#[test]
fn a_block_device_is_read_freely_and_written_only_with_consent_for_all_that_is_on_it() {
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
    assert_eq!(steps_measured(&json), ["rand-read-d1", "rand-read-d32", "seq-read"]);
    assert!(std::fs::read(&image).unwrap() == before, "reading changes nothing");

    let said = bench.fails(2, &["run", dev, "--overwrite", dev]);
    assert!(
        said.contains("holds ext2/3/4") && said.contains(&format!("--overwrite {dev},ext2/3/4")),
        "{said}"
    );
    {
        let Some(mount) = Mount::new(&[dev], &bench.path("mnt")) else { return };
        let said = bench.fails(2, &["run", dev, "--overwrite", &format!("{dev},ext2/3/4")]);
        assert!(said.contains(mount.point.to_str().unwrap()), "a mount must be named too: {said}");
    }
    assert_eq!(bench.run(&["run", "/dev/null", "--overwrite", "/dev/null"]).status.code(), Some(2));

    let json = run(&bench, &[dev, "--overwrite", &format!("{dev},ext2/3/4")]);
    assert_eq!(steps_measured(&json).len(), 8);
    assert_eq!(json["run"]["outcome"], "completed");
    assert!(json["measurements"].as_array().unwrap().iter().any(|m| m["metric"] == "device_ratio"));
    // What was there is gone, so that now only the device itself has to be named.
    run(&bench, &[dev, "--overwrite", dev]);
}

#[test]
fn trimming_a_block_device_gives_its_blocks_back() {
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
fn where_direct_io_is_refused_the_run_falls_back_and_says_so() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    let Some(mount) = Mount::new(&["-t", "ramfs", "ramfs"], &bench.path("ram")) else { return };
    let json = run(&bench, &[mount.point.to_str().unwrap()]);
    assert_eq!(json["run"]["outcome"], "completed");
    assert!(json["repeats"].as_array().unwrap().iter().all(|r| r["direct"] == false));
    let rules: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    for rule in ["buffered-fallback", "not-evicted"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    assert!(visible(&mount.point).is_empty());
}

/// Waits until the log of the run under way has some work on this target: its test files are laid out then.
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

/// A small filesystem of its own for a test to ruin.
fn filesystem(bench: &Bench, mkfs: &[&str]) -> Option<(LoopDevice, Mount)> {
    let device = LoopDevice::new(&bench.path("small.img"), 400 << 20)?;
    tool(mkfs[0], &[&mkfs[1..], &[device.path.as_str()]].concat())?;
    let mount = Mount::new(&[&device.path], &bench.path("small"))?;
    Some((device, mount))
}

/// Takes the space of a filesystem but for some 512 KiB, with which files can still be made.
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
fn a_disk_that_fills_up_ends_its_repeats_with_a_record_and_the_others_go_on() {
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
        // So that each repeat takes its time, however fast the disk is.
        "--rate-iops",
        "400",
        "--runtime",
        "none",
        "--ops",
        "60",
        "--rounds",
        "40",
        "--json",
        "--quiet",
    ];
    let mut child = Running::start(&mut bench.command(&args));
    until_it_works_on("small", &mut child, &bench);
    // Somebody else takes all the space there is, and what becomes free between two repeats too.
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
        // The hog must end whatever becomes of the program, or the scope would wait for it for ever.
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
    let good_repeats = json["repeats"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["target"] == "disk" && r["outcome"] == "completed");
    assert_eq!(good_repeats.count(), 40, "the other target is measured to the end");
    assert!(bench.visible().is_empty());
}

#[test]
fn a_filesystem_that_dies_under_the_run_is_recorded_and_the_others_go_on() {
    let bench = Bench::new();
    for rw in ["randread", "randwrite"] {
        let Some((_device, mount)) = filesystem(&bench, &["mkfs.xfs", "-q", "-f"]) else { return };
        let (dying, good) = (mount.point.to_str().unwrap().to_owned(), bench.disk());
        let args = [
            "run",
            &dying,
            good.to_str().unwrap(),
            "--rw",
            rw,
            "--size",
            "64M",
            "--iodepth",
            "4",
            "--runtime",
            "200ms",
            "--rounds",
            "30",
            "--json",
            "--quiet",
        ];
        let mut child = Running::start(&mut bench.command(&args));
        until_it_works_on("small", &mut child, &bench);
        child.signal("STOP");
        if tool("xfs_io", &["-x", "-c", "shutdown", &dying]).is_none() {
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
        assert_eq!(of("disk", "completed"), 30, "{rw}");
        let rules: Vec<&str> =
            json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
        assert!(rules.contains(&"storage-failed"), "{rules:?}");
    }
}

/// The acceptance of the whole: three filesystems in one command, with figures that make sense.
#[test]
fn three_filesystems_are_compared_in_one_command() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/loop-filesystems");
    let place = bench.path("three");
    let place = place.to_str().unwrap();
    if tool(script, &["up", place, "600M"]).is_none() {
        let _ = tool(script, &["down", place]);
        return;
    }
    let targets = ["ext4", "xfs", "btrfs"].map(|fs| format!("{place}/{fs}"));
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    // Many operations, beside which the filesystem's own are few.
    let suite = bench.path("ratios.toml");
    let text = "[defaults]\nruntime = \"none\"\nops = 2000\nramp = \"0s\"\n\
        [[step]]\nid = \"rand-read-d32\"\nrw = \"randread\"\niodepth = 32\n\
        [[step]]\nid = \"durable-write\"\nrw = \"randwrite\"\nfdatasync = 1\n";
    std::fs::write(&suite, text).unwrap();
    let run = |options: &[&str]| {
        let more = ["--size", "128M", "--rounds", "3", "--json", "--quiet"];
        bench.run(&[&["run"], &targets[..], options, &more].concat())
    };
    let ratios = run(&["--suite", suite.to_str().unwrap()]);
    let quick = run(&["--runtime", "none", "--ops", "64", "--ramp", "0s"]);
    let leftovers: Vec<usize> =
        targets.iter().map(|t| visible(t.as_ref()).iter().filter(|n| *n != "lost+found").count()).collect();
    tool(script, &["down", place]).unwrap();
    let [json, quick] = [ratios, quick].map(|output| -> Value {
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    });
    assert_eq!(leftovers, [0, 0, 0]);
    assert_eq!(steps_measured(&quick).len(), 8);
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
    assert!((0.99..1.3).contains(&ext4), "ext4 overwrites in place, and {ext4} says otherwise");
    assert!(btrfs > 3.0 * ext4, "btrfs writes far more than it is given, and {btrfs} says otherwise");
    assert!(!std::path::Path::new(place).exists(), "the script takes away what it made");
}

/// Bytes of each operation whose place the log keeps, by step.
fn places(json: &Value) -> Vec<(String, Vec<(u64, u64)>)> {
    let of = |repeat: &Value| {
        let kept =
            repeat["offset_log"].as_array().unwrap().iter().flat_map(|p| p["kept"].as_array().unwrap());
        let kept = kept.map(|p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap())).collect();
        (repeat["step"].as_str().unwrap().to_owned(), kept)
    };
    json["repeats"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn disks_reads_all_of_a_file_without_a_word_of_consent_and_writes_back_only_with_it() {
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
    let kept = places(&json);
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
    let picture = bench.ok(&["export", "--format", "svg", "--picture", "position"]);
    assert!(picture.contains("aria-label=\"Rate and access time by position\""));
    assert!(std::fs::read(&path).unwrap() == content, "nothing was changed");

    let json = run(&["--suite", "disks-write"]);
    assert_eq!(steps_measured(&json), ["access", "transfer-read"]);
    assert!(topics(&json).contains(&"step-left-out"), "what is left out is said");

    let json = run(&["--suite", "disks-write", "--overwrite", file]);
    assert_eq!(places(&json)[2].1.len(), 100);
    assert_eq!(json["targets"][0]["laid_out"], Value::Null, "what is written back needs no laying out");
    assert!(std::fs::read(&path).unwrap() == content, "what was there was written back");
}
