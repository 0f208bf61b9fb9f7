//! Flags that people guess: sweeps, steps by name, other programs' names, filters of the list.

use crate::common::Bench;

fn dry(bench: &Bench, flags: &str) -> String {
    let disk = bench.disk();
    let args = ["run", disk.to_str().unwrap(), "--dry-run"].into_iter().chain(flags.split(' '));
    bench.ok(&args.collect::<Vec<_>>())
}

/// The ids of the steps of a dry run.
fn steps(text: &str) -> Vec<&str> {
    let blocks = text.split("\n\n").skip(1).filter(|block| !block.starts_with("by default"));
    blocks.filter_map(|block| block.split_whitespace().next()).collect()
}

#[test]
fn show_and_export_give_the_same_json() {
    let bench = Bench::new();
    bench.json(&["--rw", "randread", "--size", "4M", "--ops", "64", "--runtime", "none", "--rounds", "1"]);
    assert_eq!(bench.ok(&["show", "--json"]), bench.ok(&["export"]));
}

#[test]
fn each_value_of_a_flag_is_a_step() {
    let bench = Bench::new();
    let sweep = dry(&bench, "--rw randread --bs 4k..16k --iodepth 1,8");
    let expected =
        ["4KiB-1", "4KiB-8", "8KiB-1", "8KiB-8", "16KiB-1", "16KiB-8"].map(|of| format!("custom-{of}"));
    assert_eq!(steps(&sweep), expected, "{sweep}");
    assert!(sweep.contains("Random read, 16 KiB, depth 8"), "{sweep}");
    // The flag replaces the suite's own sweep.
    let quick = dry(&bench, "--only rand-read --iodepth 2..8");
    assert_eq!(steps(&quick), ["rand-read-d2", "rand-read-d4", "rand-read-d8"], "{quick}");
    let wrong =
        bench.fails(2, &["run", bench.disk().to_str().unwrap(), "--rw", "randread", "--iodepth", "1,none"]);
    assert!(wrong.contains("--iodepth") && wrong.contains("none"), "{wrong}");
}

#[test]
fn steps_are_chosen_by_name_or_group() {
    let bench = Bench::new();
    let some = dry(&bench, "--only seq,durable-write --skip seq-write");
    assert_eq!(steps(&some), ["seq-read", "seq-read-ordinary-pages", "durable-write"], "{some}");
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let unknown = bench.fails(2, &["run", disk, "--only", "seq-raed"]);
    assert!(
        unknown.contains("there is no step `seq-raed`") && unknown.contains("did you mean `seq-read`"),
        "{unknown}"
    );
    let nothing = bench.fails(2, &["run", disk, "--only", "seq-read", "--skip", "seq"]);
    assert!(nothing.contains("--only and --skip leave no step"), "{nothing}");
}

#[test]
fn other_programs_names_are_understood() {
    let bench = Bench::new();
    let mix = dry(
        &bench,
        "--rw randrw --rwmixwrite 30 --bs read=4k,write=64k --numjobs 2 --ioengine psync --time 3s -n 7",
    );
    for part in ["Random mix 70/30, 4 KiB/64 KiB", "jobs = 2", "engine = psync", "runtime = 3s", "7 rounds"] {
        assert!(mix.contains(part), "{part}: {mix}");
    }
    assert_eq!(steps(&dry(&bench, "--suite gnome-disks")), steps(&dry(&bench, "--suite disks")));
    let disk = bench.disk();
    let both = ["run", disk.to_str().unwrap(), "--rw", "randrw", "--rwmixread", "50", "--rwmixwrite", "50"];
    assert!(bench.fails(2, &both).contains("cannot be used with"));
    assert!(bench.ok(&["-q", "suites", "list"]).starts_with("quick "));
}

#[test]
fn the_short_help_fits_two_screens_and_the_long_one_has_everything() {
    let bench = Bench::new();
    let flags =
        |help: &str| bench.ok(&["run", help]).lines().filter(|l| l.trim_start().starts_with('-')).count();
    let (short, long) = (flags("-h"), flags("--help"));
    assert!((20..=30).contains(&short) && long > 80, "{short} and {long}");
}

#[test]
fn the_list_is_filtered() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.json(
            &"--rw randread --size 16M --runtime none --ops 64 --ramp 0s --rounds 1"
                .split(' ')
                .collect::<Vec<_>>(),
        );
    }
    let listed = |flags: &[&str]| {
        let text = bench.ok(&[&["list"], flags].concat());
        text.lines().filter(|l| l.contains("custom")).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = listed(&[]);
    assert_eq!(all.len(), 3);
    assert_eq!(listed(&["--limit", "2"]), all[1..], "the last ones");
    assert_eq!(listed(&["--since", "1h", "--suite", "custom"]).len(), 3);
    assert_eq!(bench.ok(&["list", "--since", "2100-01-01"]), "none of the 3 stored runs matches\n");
    assert_eq!(listed(&["--host", "nobody's"]).len(), 0);
    assert!(bench.fails(2, &["list", "--since", "soon"]).contains("such as 7d"));
}

#[test]
fn several_suites_run_as_one() {
    let bench = Bench::new();
    let of = |suite: &str| {
        let text = dry(&bench, &format!("--suite {suite}"));
        steps(&text).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("depth,ioping"), [of("depth"), of("ioping")].concat());
    // Each step keeps its own suite's defaults, also where a later suite has other ones.
    let both = dry(&bench, "--suite quick,disks --only rand-read-d1,access");
    let alone = dry(&bench, "--suite disks --only access");
    let settings = |text: &str| text.split("\n\n").find(|b| b.starts_with("access ")).unwrap().to_owned();
    assert_eq!(settings(&both).lines().nth(1), settings(&alone).lines().nth(1));
    let refused = bench.fails(2, &["run", bench.disk().to_str().unwrap(), "--suite", "quick,snia-iops"]);
    assert!(refused.contains("snia-iops ends by a rule of its own"), "{refused}");
    // A mistake is shown in the suite that has it.
    let wrong = bench.path("wrong.toml");
    std::fs::write(&wrong, "[[step]]\nid = \"x\"\nrw = \"raed\"\n").unwrap();
    let suites = format!("quick,{}", wrong.display());
    let refused = bench.fails(2, &["run", bench.disk().to_str().unwrap(), "--suite", &suites]);
    assert!(refused.contains("rw = \"raed\"") && refused.contains("here"), "{refused}");
}

/// A run of 1 MiB of reads.
fn run(bench: &Bench, more: &[&str]) -> String {
    let short = [
        "run",
        bench.disk().to_str().unwrap(),
        "--rw",
        "randread",
        "--size",
        "1M",
        "--ops",
        "8",
        "--rounds",
        "2",
        "-q",
    ]
    .map(str::to_owned);
    let args: Vec<&str> = short.iter().map(String::as_str).chain(more.iter().copied()).collect();
    bench.ok(&args)
}

#[test]
fn labels_of_the_user_are_kept_and_name_columns() {
    let bench = Bench::new();
    run(&bench, &["--label", "encryption=luks", "--label", "disk:bay=3"]);
    let matrix = bench.ok(&["show", "--layout", "matrix", "--columns", "encryption,bay"]);
    assert!(matrix.contains("luks") && matrix.contains('3'), "{matrix}");
    let json: serde_json::Value = serde_json::from_str(&bench.ok(&["export"])).unwrap();
    assert_eq!(json["targets"][0]["labels"], serde_json::json!({"encryption": "luks", "bay": "3"}));
    assert!(bench.ok(&["show", "--details"]).contains("encryption luks"));
    let refused = bench.fails(2, &["run", bench.disk().to_str().unwrap(), "--label", "luks"]);
    assert!(refused.contains("--label luks: write KEY=VALUE"), "{refused}");
}

#[test]
fn removed_runs_are_gone_and_others_stay() {
    let bench = Bench::new();
    let ids: Vec<String> = (0..3)
        .map(|_| {
            run(&bench, &[]);
            let list: serde_json::Value =
                serde_json::from_str(&bench.ok(&["list", "-n", "1", "--json"])).unwrap();
            list[0]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let told = bench.ok(&["rm", "last~2", &ids[1], "--dry-run"]);
    assert!(told.contains(&format!("would remove run {}", ids[0])) && told.contains(".html"), "{told}");
    // One wrong name, and nothing is removed.
    bench.fails(2, &["rm", &ids[0], "nosuchrun"]);
    assert!(bench.ok(&["list"]).contains("3 runs"));
    let told = bench.ok(&["rm", &ids[0], "last~1", &ids[1]]);
    assert_eq!(told.matches("removed run").count(), 2, "{told}");
    let list = bench.ok(&["list"]);
    assert!(list.contains("1 run") && list.contains(&ids[2]), "{list}");
    for path in told.lines().filter_map(|line| line.strip_prefix("  ")) {
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
}
