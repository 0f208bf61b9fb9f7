//! Storage stacks that `run` makes and removes, and what `stack` does with those of killed runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::common::{Bench, Running, is_root, stderr, stdout, text_of, tool, until_dead};

const SHORT: [&str; 12] = [
    "--quiet",
    "--no-report",
    "--telemetry",
    "off",
    "--rw",
    "randread",
    "--bs",
    "4k",
    "--size",
    "4M",
    "--ramp",
    "0s",
];

/// The program with a directory of its own for the journals.
fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("STATE_DIRECTORY", bench.path("state"));
    command
}

/// `run` with these stacks in images of this size below the bench's disk.
fn making<'a>(on: &'a str, stacks: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--on", on, "--stack", stacks], &SHORT[..], options].concat()
}

fn on(bench: &Bench, size: &str) -> String {
    format!("image:{}:{size}", bench.disk().display())
}

/// The names in a directory, which need not exist.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A run on a stack that has begun its log and does not end by itself.
fn measuring(bench: &Bench) -> Running {
    let on = on(bench, "32M");
    let mut running = Running::start(&mut command(bench, &making(&on, "ext4", &["--rounds", "100000"])));
    running.until("its log", || !names(&bench.store().join("runs")).is_empty());
    running
}

/// Everything of these stacks that is on the machine: journals, images, loop devices, mounts.
fn left(bench: &Bench) -> Vec<String> {
    let root = bench.path("").display().to_string();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let mut left: Vec<String> =
        mounts.lines().filter(|line| line.contains(&root)).map(str::to_owned).collect();
    let loops = tool("losetup", &["--list", "--noheadings", "--output", "BACK-FILE"]).unwrap_or_default();
    left.extend(loops.lines().filter(|line| line.contains(&root)).map(str::to_owned));
    left.extend(bench.visible());
    left.extend(names(&bench.path("state/stacks")));
    left
}

/// The journal of the only stacks, as text.
fn journal(bench: &Bench) -> String {
    let entries = std::fs::read_dir(bench.path("state/stacks")).into_iter().flatten().flatten();
    let journals =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "journal"));
    journals.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

fn exists(program: &str) -> bool {
    ["/usr/sbin", "/sbin"].iter().any(|directory| Path::new(directory).join(program).exists())
}

#[test]
fn stacks_are_made_measured_under_their_names_and_removed() {
    let bench = Bench::new();
    if !is_root() {
        let output =
            command(&bench, &making(&on(&bench, "32M"), "ext4", &["--rounds", "1"])).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("needs root"), "{}", stderr(&output));
        return;
    }
    let mut stacks = vec!["ext4", "ext4(noatime)"];
    let mut size = "32M";
    if exists("mkfs.xfs") && exists("mkfs.btrfs") {
        (stacks, size) = ([stacks, vec!["xfs", "btrfs(compress=zstd:1)", "btrfs-raid1"]].concat(), "320M");
    }
    let (on, joined) = (on(&bench, size), stacks.join(","));
    let args = making(&on, &joined, &["--json", "--rounds", "2", "--ops", "64", "--runtime", "none"]);
    let output = command(&bench, &args).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let targets = run["targets"].as_array().unwrap();
    let names: Vec<&str> = targets.iter().map(|target| target["name"].as_str().unwrap()).collect();
    assert_eq!(names, stacks);
    let layers = targets[0]["stack"].to_string();
    assert!(layers.contains("ext4") && layers.contains("loop"), "{layers}");
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("mkfs.ext4 -q -F -E lazy_itable_init=0") && notes.contains("-o noatime"),
        "{notes}"
    );
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn stacks_that_are_made_several_times_are_measured_in_turn() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let (on, options) = (
        on(&bench, "32M"),
        ["--makings", "3", "--json", "--rounds", "6", "--ops", "64", "--runtime", "none"],
    );
    let output = command(&bench, &making(&on, "ext4,ext4(noatime)", &options)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(run["targets"].as_array().unwrap().len(), 2);
    assert_eq!(run["repeats"].as_array().unwrap().len(), 12);
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    // The topmost device of each repeat.
    let text = text_of(&log);
    let tops =
        text.lines().filter_map(|line| line.split_once("\"devices\":[{\"name\":\"")?.1.split('"').next());
    let tops: Vec<&str> = tops.collect();
    assert_eq!(tops.len(), 12);
    let different: BTreeSet<&str> = tops.iter().copied().collect();
    assert_eq!(different.len(), 6, "{tops:?}");
    let shown = stdout(&command(&bench, &["show", "last", "--details"]).output().unwrap());
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("each target made 3 times and measured in turn"), "{shown}");
    let table: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("Figures by making")).collect();
    let heading: Vec<&str> = table.get(1).map_or_else(Vec::new, |line| line.split_whitespace().collect());
    assert_eq!(heading, ["figure", "target", "1", "2", "3", "apart"], "{shown}");
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn the_test_data_take_a_quarter_of_a_small_image_unless_a_flag_says_otherwise() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let on = on(&bench, "64M");
    let size = |options: &[&str]| {
        let short =
            ["--quiet", "--no-report", "--json", "--telemetry", "off", "--rw", "randread", "--rounds", "1"];
        let end = ["--ops", "64", "--runtime", "none", "--ramp", "0s"];
        let args = [&["run", "--on", &on, "--stack", "ext4"], &short[..], &end, options].concat();
        let output = command(&bench, &args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let run: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        run["repeats"][0]["size"].as_u64().unwrap()
    };
    assert_eq!(size(&[]), 16 << 20);
    assert_eq!(size(&["--size", "8M"]), 8 << 20);
}

#[test]
fn a_dry_run_tells_what_making_costs_and_what_would_be_measured() {
    let bench = Bench::new();
    let on = on(&bench, "1G");
    let said = bench.ok(&making(
        &on,
        "ext4,raid1(resync)+ext4",
        &["--makings", "3", "--dry-run", "--budget", "90s"],
    ));
    let first: Vec<&str> = said.lines().take(2).collect();
    assert!(first[0].contains("each stack is made 3 times"), "{said}");
    assert!(
        first[1].starts_with("# 6.00 GiB are written or read before the test data: 64 s at 100 MB/s"),
        "{said}"
    );
    assert!(said.contains("on one making after the other, for 90 s"), "{said}");
    assert!(said.contains("target raid1(resync)+ext4"), "{said}");
    assert!(left(&bench).is_empty());
    let once = bench.ok(&["stack", "plan", "--on", &on, "--stack", "ext4"]);
    assert!(once.contains("made once") && once.contains("# little is written before"), "{once}");
}

#[test]
fn a_step_that_fails_undoes_those_before_it_and_is_named() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let (on, stacks) = (on(&bench, "32M"), "ext4,ext4(no_such_option=1)");
    let output = command(&bench, &making(&on, stacks, &["--rounds", "1"])).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("`mount -t ext4 -o no_such_option=1 /dev/loop"), "{}", stderr(&output));
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is() {
    let bench = Bench::new();
    for (on, stacks, words) in [
        (&*on(&bench, "100000T"), "ext4", if is_root() { "bytes are needed" } else { "needs root" }),
        ("image:/no/such/directory:1G", "ext4", "No such file"),
        ("sdb", "ext4", "write image:SIZE"),
        ("/dev/no-such-disk", "ext4", "cannot make stacks on /dev/no-such-disk"),
        ("/dev/null", "ext4", "neither a file nor a block device"),
        ("/etc/passwd", "ext4", "it is not a block device"),
        ("image:1G", "zfs+ext4", "not one of ext4, xfs, btrfs"),
    ] {
        let output = command(&bench, &making(on, stacks, &["--rounds", "1"])).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    let discard = making("image:1G", "ext4", &["--precondition", "discard"]);
    let refused = stderr(&command(&bench, &discard).output().unwrap());
    assert!(refused.contains("give an image's blocks back"), "{refused}");
    let often = making("image:1G", "ext4", &["--makings", "4", "--rounds", "2"]);
    let refused = stderr(&command(&bench, &often).output().unwrap());
    assert!(refused.contains("use --rounds 4 or more, or --makings 2"), "{refused}");
    let suite = bench.path("once.toml");
    std::fs::write(&suite, "rounds = 1\n[[step]]\nid = \"read\"\n").unwrap();
    let suite = suite.to_str().unwrap();
    for (how, words) in [
        (
            ["--makings", "4", "--suite", suite],
            "there is only 1 round; use --rounds 4 or more, or --makings 1",
        ),
        (["--makings", "4", "--suite", "qick"], "there is no suite `qick`"),
        (
            ["--baseline", "xfs", "--rounds", "1"],
            "there is no target `xfs` for --baseline; the targets are ext4",
        ),
        (["--size", "10G", "--rounds", "1"], "the test data need 10 GiB, but each stack holds only 1 GiB"),
    ] {
        let run = [&["run", "--on", "image:1G", "--stack", "ext4"], &how[..]].concat();
        let refused = stderr(&command(&bench, &run).output().unwrap());
        assert!(refused.contains(words), "{refused}");
        assert!(!refused.contains("making ext4"), "nothing may be made before it is refused: {refused}");
    }
    let both = ["run", ".", "--on", "image:1G", "--stack", "ext4"];
    assert_eq!(command(&bench, &both).output().unwrap().status.code(), Some(2));
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn ctrl_c_removes_the_stacks() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let mut running = measuring(&bench);
    running.press();
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(left(&bench), [""; 0]);
}

/// Whatever a run was making, or measuring, when it was killed.
#[test]
fn stacks_of_killed_runs_are_listed_and_destroyed() {
    if !is_root() {
        return;
    }
    // The first line is the head, and a stack has five objects.
    for lines in [1, 2, 3, 4, 5, 6, 7, 9, 12] {
        let bench = Bench::new();
        let on = on(&bench, "32M");
        let stacks = "ext4,ext4(noatime)";
        let mut running = Running::start(&mut command(&bench, &making(&on, stacks, &["--rounds", "100000"])));
        running.until("the step", || journal(&bench).lines().count() >= lines);
        running.signal("STOP");
        let listed = stdout(&command(&bench, &["stack", "list"]).output().unwrap());
        assert!(listed.contains(&format!("in use by process {}", running.id())), "{listed}");
        let id = listed.split_whitespace().next().unwrap().to_owned();
        let used = command(&bench, &["stack", "destroy", &id]).output().unwrap();
        assert_eq!(used.status.code(), Some(3), "{}", stderr(&used));
        assert!(stderr(&used).contains("end that run first"), "{}", stderr(&used));
        running.signal("KILL");
        until_dead(running.id());
        drop(running);
        let listed = stdout(&command(&bench, &["stack", "list"]).output().unwrap());
        assert!(listed.contains("left by a killed run"), "{listed}");
        let destroyed = command(&bench, &["stack", "destroy", "--all"]).output().unwrap();
        assert!(destroyed.status.success(), "{lines} lines: {}", stderr(&destroyed));
        assert_eq!(left(&bench), [""; 0], "{lines} lines");
        let listed = stdout(&command(&bench, &["stack", "list"]).output().unwrap());
        assert!(listed.starts_with("no stacks"), "{listed}");
    }
}

#[test]
fn stacks_that_shall_stay_are_listed_until_they_are_destroyed() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let on = on(&bench, "32M");
    let options =
        ["--leave", "--precondition", "write-once", "--rounds", "1", "--ops", "16", "--runtime", "none"];
    let output = command(&bench, &making(&on, "ext4", &options)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(left(&bench).iter().any(|line| line.contains("1-ext4 ext4")), "{:?}", left(&bench));
    let cleaned = stdout(&command(&bench, &["clean"]).output().unwrap());
    assert!(!cleaned.contains("stack destroy"), "{cleaned}");
    let listed = stdout(&command(&bench, &["stack", "list"]).output().unwrap());
    assert!(listed.contains("kept by --leave"), "{listed}");
    let id = listed.split_whitespace().next().unwrap();
    assert!(command(&bench, &["stack", "destroy", id]).output().unwrap().status.success());
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_mount_in_use_stays_with_its_image_and_journal() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let mut running = measuring(&bench);
    running.signal("KILL");
    until_dead(running.id());
    drop(running);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let state = bench.path("state").display().to_string();
    let point =
        mounts.lines().find(|line| line.contains(&state)).unwrap().split(' ').nth(1).unwrap().to_owned();
    let holder = std::fs::File::open(&point).unwrap();
    let cleaned = stdout(&command(&bench, &["clean"]).output().unwrap());
    assert!(cleaned.contains("use `lodestone stack destroy "), "{cleaned}");
    let kept = command(&bench, &["stack", "destroy", "--all"]).output().unwrap();
    assert_eq!(kept.status.code(), Some(3));
    assert!(stderr(&kept).contains(&format!("`umount {point}` failed")), "{}", stderr(&kept));
    assert!(left(&bench).len() >= 4, "{:?}", left(&bench));
    drop(holder);
    assert!(command(&bench, &["stack", "destroy", "--all"]).output().unwrap().status.success());
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_server_is_another_machine_and_the_ground_is_looked_for_there() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let there = format!("nas:{}", on(&bench, "32M"));
    for (on, stacks, option, words) in [
        (
            there.as_str(),
            "iscsi+ext4",
            "--dry-run",
            "nas is this machine: omit its name to serve over loopback",
        ),
        ("nas:/dev/no-such-disk", "iscsi+ext4", "--dry-run", "nas: cannot make stacks on /dev/no-such-disk"),
        ("nas:image:32M", "ext5", "--dry-run", "nas: --stack ext5: ext5 is not one of"),
        ("image:32M", "iscsi(address=192.0.2.1)+ext4", "--dry-run", "as in --on nas:image:4G"),
        ("disk=nas:image:32M", "iscsi+ext4", "--dry-run", "leave `disk=` out"),
        ("nas:image:32M", "iscsi+ext4", "--connect=pi=env", "--on does not name `pi`"),
    ] {
        let reached = ["--connect", "env", "--remote-program", env!("CARGO_BIN_EXE_lodestone")];
        let args = making(on, stacks, &[&reached[..], &[option]].concat());
        let output = command(&bench, &args).output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{on} {stacks}: {told}");
        assert!(told.contains(words), "{on} {stacks}: {told}");
    }
    assert_eq!(left(&bench), Vec::<String>::new());
}
