//! Suites from text to plan: built-in suites resolve, and all mistakes are reported at once.

use crate::common::machine;
use model::*;
// Both crates have one.
use plan::SourceLocation;
use plan::*;
use proptest::prelude::*;

fn environment() -> Environment {
    use EngineKind::{IoUring, Libaio, Mmap, Psync};
    machine(8 << 30, &[IoUring, Libaio, Psync, Mmap])
}

fn overrides(settings: &[(&str, &str)]) -> RunOverrides {
    let mut overrides = RunOverrides::default();
    settings.iter().for_each(|(key, text)| overrides.set(key, text).unwrap());
    overrides
}

fn resolved(toml: &str, settings: &[(&str, &str)]) -> Result<Resolved, Vec<Problem>> {
    let (suite, problems) = Suite::parse("test", toml);
    assert_eq!(problems, []);
    resolve(&suite, &overrides(settings), &environment())
}

fn quick(settings: &[(&str, &str)]) -> Resolved {
    resolved(builtin("quick").unwrap().toml, settings).unwrap()
}

/// All problems of a text, as a user would read them.
fn messages(toml: &str, settings: &[(&str, &str)]) -> String {
    let (suite, mut problems) = Suite::parse("test", toml);
    if let Err(more) = resolve(&suite, &overrides(settings), &environment()) {
        problems.extend(more);
    }
    let mut lines = Vec::new();
    for problem in &problems {
        let at = match (&problem.location, problem.line_and_column(toml)) {
            (_, Some((line, column))) => format!("{line}:{column}"),
            (SourceLocation::Flag(flag), _) => format!("--{flag}"),
            _ => "-".into(),
        };
        let help = problem.help.as_deref().map(|h| format!(" | {h}")).unwrap_or_default();
        lines.push(format!("{at} {:?}: {}{help}", problem.level, problem.message));
    }
    lines.join("\n")
}

#[test]
fn every_builtin_suite_resolves_without_warnings() {
    for suite in BUILTIN_SUITES {
        let (parsed, problems) = Suite::parse(suite.name, suite.toml);
        assert_eq!(problems, [], "{}", suite.name);
        assert!(!parsed.description.is_empty());
        let resolved = resolve(&parsed, &RunOverrides::default(), &environment()).unwrap();
        assert_eq!(resolved.warnings, [], "{}", suite.name);
    }
}

#[test]
fn quick_has_the_documented_steps() {
    let resolved = quick(&[]);
    let titles: Vec<&str> = resolved.plan.steps.iter().map(|s| s.title.as_str()).collect();
    insta::assert_debug_snapshot!(titles, @r#"
    [
        "Sequential read, 1 MiB, depth 8",
        "Sequential read, 1 MiB, depth 8, ordinary pages",
        "Sequential write, 1 MiB, depth 8",
        "Random read, 4 KiB, depth 1",
        "Random read, 4 KiB, depth 32",
        "Random write, 4 KiB, depth 1",
        "Random write, 4 KiB, depth 32",
        "Random mix 75/25, 4 KiB, depth 16",
        "Random write, 4 KiB, depth 1, fdatasync each",
    ]
    "#);
    assert_eq!(resolved.plan.rounds, Rounds::Auto { budget_ns: 90_000_000_000, precision_ppm: 20_000 });
    let fixed: Vec<_> =
        resolved.plan.steps.iter().filter(|s| s.shortest_ns.is_none()).map(|s| &s.id).collect();
    assert!(
        fixed.is_empty(),
        "repeats of these steps cannot be shortened, so each takes as much time as several others: {fixed:?}"
    );
}

#[test]
fn a_sweep_multiplies_out_in_the_order_written() {
    let toml = r#"
        [[step]]
        id = "s"
        rw = "read"
        sweep.bs = ["4k", "8k"]
        sweep.jobs = [1, 2]
    "#;
    let ids: Vec<String> = resolved(toml, &[]).unwrap().plan.steps.into_iter().map(|s| s.id).collect();
    assert_eq!(ids, ["s-4k-1", "s-4k-2", "s-8k-1", "s-8k-2"]);
}

#[test]
fn an_override_wins_over_suite_and_sweep_and_is_in_the_ids() {
    let steps = quick(&[("iodepth", "4"), ("runtime", "3s")]).plan.steps;
    let ids: Vec<&str> = steps.iter().map(|s| s.id.as_str()).collect();
    assert!(ids.contains(&"rand-read-d4") && !ids.contains(&"rand-read-d1"), "{ids:?}");
    assert!(steps.iter().all(|s| s.workload.iodepth == 4 && s.stop.time_ns == Some(3_000_000_000)));
}

#[test]
fn the_plan_id_depends_on_the_steps_and_not_the_rounds() {
    let id = |overrides: RunOverrides| {
        let (suite, _) = Suite::parse("quick", builtin("quick").unwrap().toml);
        resolve(&suite, &overrides, &environment()).unwrap().plan.id
    };
    let rounds = RunOverrides { rounds: Some(7), ..RunOverrides::default() };
    assert_eq!(id(RunOverrides::default()), id(rounds));
    assert_ne!(id(RunOverrides::default()), id(overrides(&[("bs", "8k")])));
}

#[test]
fn the_suite_budget_is_per_target_and_the_users_is_total() {
    let (suite, _) = Suite::parse("quick", builtin("quick").unwrap().toml);
    let rounds = |budget_ns, targets| {
        let overrides = RunOverrides { budget_ns, ..RunOverrides::default() };
        resolve(&suite, &overrides, &Environment { targets, ..environment() }).unwrap().plan.rounds
    };
    assert_eq!(rounds(None, 3), Rounds::Auto { budget_ns: 270_000_000_000, precision_ppm: 20_000 });
    assert_eq!(
        rounds(Some(60_000_000_000), 3),
        Rounds::Auto { budget_ns: 60_000_000_000, precision_ppm: 20_000 }
    );
}

#[test]
fn rounds_by_budget_override_fixed_rounds() {
    let (suite, _) = Suite::parse("test", "rounds = 5\n[[step]]\nid = \"x\"\n");
    let rounds = |overrides: &RunOverrides| resolve(&suite, overrides, &environment()).unwrap().plan.rounds;
    assert_eq!(rounds(&RunOverrides::default()), Rounds::Fixed(5));
    let by_budget = RunOverrides { rounds_auto: true, ..RunOverrides::default() };
    assert_eq!(rounds(&by_budget), Rounds::Auto { budget_ns: 90_000_000_000, precision_ppm: 20_000 });
    let minute = RunOverrides { budget_ns: Some(60_000_000_000), ..RunOverrides::default() };
    assert_eq!(rounds(&minute), Rounds::Auto { budget_ns: 60_000_000_000, precision_ppm: 20_000 });
    assert_eq!(rounds(&RunOverrides { rounds: Some(2), ..by_budget }), Rounds::Fixed(2));
}

#[test]
fn a_rate_in_bytes_uses_the_mean_block_of_the_mix() {
    let pace = |settings: &str| {
        let toml = format!("[[step]]\nid = \"x\"\nrate = \"1MB\"\n{settings}\n");
        resolved(&toml, &[]).unwrap().plan.steps[0].workload.pace
    };
    assert_eq!(pace("rw = \"read\"\nbs = \"1k,4k\""), Pace::Fixed { per_second: 1e6 / 1024.0 });
    assert_eq!(pace("rw = \"write\"\nbs = \"1k,4k\""), Pace::Fixed { per_second: 1e6 / 4096.0 });
    let mean = 0.75 * 1024.0 + 0.25 * 4096.0;
    assert_eq!(
        pace("rw = \"randrw\"\nrwmixread = 75\nbs = \"1k,4k\""),
        Pace::Fixed { per_second: 1e6 / mean }
    );
}

#[test]
fn fresh_files_are_written_without_a_ramp() {
    let steps = resolved("[[step]]\nid = \"x\"\nrw = \"write\"\nprepare = \"fresh\"\nramp = \"1s\"\n", &[]);
    assert_eq!(steps.unwrap().plan.steps[0].ramp_ns, 0);
}

#[test]
fn mmap_is_buffered_by_default() {
    let step =
        &resolved("[[step]]\nid = \"m\"\nengine = \"mmap\"\nrw = \"write\"", &[]).unwrap().plan.steps[0];
    assert!(!step.workload.direct && step.workload.sync.at_end);
}

#[test]
fn a_depth_that_an_engine_cannot_reach_is_a_warning() {
    let resolved = quick(&[("engine", "psync")]);
    assert!(resolved.warnings.iter().any(|w| w.message.contains("iodepth 32 works like 1")));
    assert!(resolved.warnings.iter().all(|w| w.level == Level::Warning));
}

#[test]
fn a_precision_for_a_fixed_number_of_rounds_is_a_warning() {
    let (suite, _) = Suite::parse("test", builtin("quick").unwrap().toml);
    let warnings = |rounds| {
        let overrides = RunOverrides { rounds, precision_ppm: Some(10_000), ..RunOverrides::default() };
        resolve(&suite, &overrides, &environment()).unwrap().warnings.len()
    };
    assert_eq!((warnings(Some(3)), warnings(None)), (1, 0));
}

#[test]
fn all_mistakes_are_reported_with_location_and_help() {
    let toml = r#"description = "wrong"
budgte = "90s"
rounds = 0
[defaults]
iodpeth = 4
runtime = "soon"
[[step]]
id = "a"
rw = "randraed"
[[step]]
rw = "read"
[[step]]
id = "b"
bs = [4, 8]
sweep.jobs = 3
[[step]]
id = "c"
rw = "randrw"
bs = "4k,6k"
fsync = 1
fdatasync = 1
[[step]]
id = "d-{nothing}"
[[step]]
id = "e"
rw = "read"
prepare = "fresh"
engine = "mmap"
direct = true
"#;
    insta::assert_snapshot!(messages(toml, &[("jobs", "many")]));
}

#[test]
fn contradictions_within_a_step_are_all_found() {
    for (settings, expected) in [
        ("rate = \"1MB\"\nrate_iops = 5", "both rate_iops and rate"),
        ("runtime = \"none\"", "nothing ends a repeat"),
        ("runtime = 0", "measures nothing"),
        ("runtime = \"none\"\nio_size = \"1G\"\nramp = 1", "swallow the whole repeat"),
        ("data = \"zero\"\ndedupe = 5", "do not apply to zeros"),
        ("rw = \"write\"\nbs = \"1G\"\niodepth = 32", "buffers alone"),
        ("rw = \"write\"\nsize = \"1M\"\nbs = \"1M\"\njobs = 2", "no room for one block"),
        ("rw = \"trim\"\nengine = \"mmap\"\ndirect = false", "mmap cannot trim"),
        ("rw = \"randrw\"\nverify = true\nbs = \"4k,8k\"", "one block size"),
        ("rw = \"write\"\nverify = true\nbs = 256", "at least 512"),
        ("rw = \"write\"\nverify = true\ndata = \"zero\"", "cannot stamp"),
        ("rw = \"write\"\nverify = true\ndedupe = 10", "dedupe is impossible"),
        ("rw = \"write\"\nverify = true\njobs = 2\nregions = \"shared\"", "regions of their own"),
        ("rw = \"metadata\"\nverify = true", "reads or writes of data"),
        ("rw = \"metadata\"\nrate_iops = 100", "no rate"),
        ("rw = \"metadata\"\nrate = \"1MB\"", "no rate"),
        ("rw = \"metadata\"\nsync = \"dsync\"", "sync does not apply"),
        ("rw = \"metadata\"\nloops = 2", "no data to pass over"),
        ("stream = \"4k\"", "between calls and the kernel"),
        ("rw = \"update\"\ncall = 1", "only reads or writes"),
        ("rw = \"write\"\ndirect = false\ncall = 3", "whole number of calls"),
        ("rw = \"write\"\ncall = 1", "go through the page cache"),
        ("rw = \"update\"\nbs = \"4k,8k\"", "the block that was read"),
        ("rw = \"update\"\nengine = \"io_uring\"", "are plain calls"),
        ("rw = \"update\"\nverify = true", "is not verified"),
        ("rw = \"update\"\nprepare = \"fresh\"", "nothing to read"),
        ("rw = \"read\"\nmin_runtime = 1\nrate_iops = 5", "no thinktime, flow"),
        ("rw = \"trim\"\nmin_runtime = 1", "can be repeated"),
        ("rw = \"read\"\nmin_runtime = 1\nramp = 1", "must be whole"),
        ("rw = \"read\"\nruntime = \"none\"\nmin_runtime = 1", "nothing ends a repeat"),
        ("rw = \"write\"\nmin_runtime = 1\nprepare = \"reserved\"", "cannot be converted again"),
        ("rw = \"write\"\nmin_runtime = 1\nprepare = \"fresh\"\njobs = 2", "would empty the files"),
        ("rw = \"write\"\nprepare = \"fresh\"\nengine = \"mmap\"\ndirect = false", "cannot be mapped"),
    ] {
        let messages = messages(&format!("[[step]]\nid = \"x\"\n{settings}\n"), &[]);
        assert!(messages.contains(expected), "{settings}\n{messages}");
    }
}

#[test]
fn bonnie_uses_plain_calls_in_whole_synced_passes() {
    let (suite, _) = Suite::parse("bonnie", builtin("bonnie").unwrap().toml);
    let plan = resolve(&suite, &RunOverrides::default(), &environment()).unwrap().plan;
    let step = |id: &str| plan.step(id).unwrap_or_else(|| panic!("there is no step {id}"));
    for id in ["putc", "write", "rewrite", "getc", "read", "seeks"] {
        let w = &step(id).workload;
        assert!(w.is_by_calls(), "{id}");
        assert_eq!(w.modifiers.again.map(|again| again.least_ns), Some(500_000_000), "{id}");
        assert_eq!(
            w.modifiers.again.is_some_and(|again| again.empties),
            ["putc", "write"].contains(&id),
            "{id}"
        );
        let syncs = w.sync.at_end && w.writes_data();
        assert_eq!(syncs, ["putc", "write", "rewrite"].contains(&id), "{id}");
    }
    assert_eq!(step("putc").workload.modifiers.calls, Some(Calls { bytes: 1, buffer_bytes: 0 }));
    assert_eq!(step("putc-1.03").workload.modifiers.calls, Some(Calls { bytes: 1, buffer_bytes: 4096 }));
    assert_eq!(step("seeks").workload.mix, Mix::Update { write_percent: 10 });
    for (kind, syncs) in [("create", true), ("stat", false), ("delete", true)] {
        for (order, naming) in [("seq", Naming::Sequential), ("random", Naming::Random)] {
            let w = &step(&format!("{kind}-{order}")).workload;
            let Mix::Metadata(work) = &w.mix else { panic!("{kind} is not a metadata operation") };
            assert_eq!((work.naming, work.files, work.file_bytes), (naming, 16_384, 0));
            assert_eq!(w.sync.at_end, syncs, "{kind}");
        }
    }
}

#[test]
fn an_unavailable_engine_is_refused_with_an_alternative() {
    let (suite, _) = Suite::parse("test", "[[step]]\nid = \"x\"\nengine = \"libaio\"\n");
    let environment = machine(8 << 30, &[EngineKind::Psync]);
    let problems = resolve(&suite, &RunOverrides::default(), &environment).unwrap_err();
    assert!(problems[0].message.contains("libaio does not work on this machine"));
    assert!(problems[0].help.as_deref().unwrap().contains("auto"));
}

#[test]
fn a_flag_that_breaks_many_steps_is_reported_once() {
    let (suite, _) = Suite::parse("quick", builtin("quick").unwrap().toml);
    let environment = machine(8 << 30, &[EngineKind::Psync]);
    let problems = resolve(&suite, &overrides(&[("engine", "io_uring")]), &environment).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(problems[0].location, SourceLocation::Flag("engine".into()));
    assert!(
        problems[0]
            .message
            .starts_with("steps `seq-read`, `seq-read-ordinary-pages`, `seq-write` and 6 more: io_uring")
    );
}

fn target(kind: TargetKind) -> Target {
    Target {
        clients: Vec::new(),
        server: None,
        name: "disk".into(),
        path: "/dev/disk".into(),
        kind,
        size_bytes: 1 << 30,
        free_bytes: 1 << 30,
        block_bytes: 4096,
        direct: true,
        labels: Default::default(),
        host: 0,
        writable: kind == TargetKind::Directory,
        stack: Vec::new(),
    }
}

#[test]
fn a_step_that_does_not_fit_a_target_has_a_reason() {
    let why = |settings: &str, target: Target| {
        let toml = format!("[[step]]\nid = \"x\"\n{settings}\n");
        obstacles(&resolved(&toml, &[]).unwrap().plan, &target).remove(0)
    };
    let device = || target(TargetKind::BlockDevice);
    assert_eq!(why("rw = \"randread\"", device()), None);
    assert_eq!(why("rw = \"randwrite\"", target(TargetKind::Directory)), None);
    let messages = |settings, target| why(settings, target).unwrap();
    assert!(messages("rw = \"randwrite\"", device()).contains("--overwrite /dev/disk"));
    assert!(messages("bs = 512", target(TargetKind::Directory)).contains("multiples of 4096"));
    assert!(messages("rw = \"read\"\nsize = \"2G\"", device()).contains("needs 2 GiB"));
    let writable = || Target { writable: true, ..device() };
    assert!(messages("rw = \"read\"\nverify = true", device()).contains("itself has written"));
    assert!(messages("rw = \"metadata\"", writable()).contains("directory"));
    assert!(messages("rw = \"write\"\nprepare = \"fresh\"", writable()).contains("directory"));
}

#[test]
fn an_overwritten_file_or_device_holds_one_data_set() {
    let left_out = |kind, writable| -> Vec<String> {
        let toml = r#"
            [[step]]
            id = "read-any"
            rw = "read"
            data = "zero"
            [[step]]
            id = "write"
            rw = "write"
            [[step]]
            id = "read"
            rw = "read"
            [[step]]
            id = "checked"
            rw = "write"
            verify = true
        "#;
        let plan = resolved(toml, &[]).unwrap().plan;
        let found = obstacles(&plan, &Target { writable, ..target(kind) });
        let out = plan.steps.iter().zip(found).filter(|(_, why)| why.is_some());
        out.map(|(step, _)| step.id.clone()).collect()
    };
    assert!(left_out(TargetKind::Directory, true).is_empty());
    assert_eq!(left_out(TargetKind::BlockDevice, false), ["write", "checked"]);
    assert_eq!(left_out(TargetKind::BlockDevice, true), ["read-any", "checked"]);
}

proptest! {
    #[test]
    fn no_value_panics(key in 0..OPTIONS.len(), value in "\\PC*") {
        let text = value.replace(['\\', '"'], "");
        let toml = format!("[[step]]\nid = \"x\"\n{} = \"{text}\"\n", OPTIONS[key].key);
        let (suite, _) = Suite::parse("fuzz", &toml);
        let _ = resolve(&suite, &RunOverrides::default(), &environment());
    }
}

#[test]
fn a_scale_shortens_times_and_until_steady_needs_its_step() {
    let suite = builtin("snia-latency").unwrap().toml;
    let (suite, _) = Suite::parse("snia-latency", suite);
    for (scale, ns) in [(0.01, 600_000_000), (0.0001, 100_000_000)] {
        let scaled = RunOverrides { scale: Some(scale), ..RunOverrides::default() };
        let plan = resolve(&suite, &scaled, &environment()).unwrap().plan;
        assert_eq!(plan.until_steady.as_deref(), Some("r0-4k"));
        let (once, timed): (Vec<_>, Vec<_>) = plan.steps.iter().partition(|s| s.workload.modifiers.once);
        assert!(once.len() == 2 && timed.len() == 9);
        assert!(timed.iter().all(|step| step.stop.time_ns == Some(ns)));
    }
    let messages = messages("until_steady = \"x\"\n[[step]]\nid = \"y\"\n", &[]);
    assert!(messages.contains("there is no step `x`"), "{messages}");
}

#[test]
fn read_first_needs_psync_and_one_direction() {
    let back = "[[step]]\nid = \"x\"\nrw = \"write\"\nread_first = \"back\"\n";
    let resolved = resolved(back, &[("engine", "psync"), ("spaced", "50")]).unwrap();
    let workload = &resolved.plan.steps[0].workload;
    assert_eq!(workload.pattern, Pattern::Spaced { count: 50 });
    assert!(workload.writes_back() && workload.modifies() && !needs_own_data(workload));
    for (settings, expected) in [
        (&[("engine", "libaio")][..], "read_first works only with psync"),
        (&[("engine", "psync"), ("fsync", "1")], "read_first works only with psync"),
        (&[("engine", "psync"), ("rate_iops", "10")], "read_first works only with psync"),
        (&[("engine", "psync"), ("cache", "cold-each")], "read_first works only with psync"),
        (&[("engine", "psync"), ("rw", "rw")], "the block to write back before writes"),
        (&[("engine", "psync"), ("read_first", "page")], "reads a page before reads"),
        (&[("engine", "psync"), ("prepare", "fresh")], "nothing to write back"),
        (
            &[("engine", "psync"), ("rw", "randwrite"), ("spaced", "5")],
            "evenly spaced blocks need sequential I/O",
        ),
        (&[("engine", "psync"), ("files", "2"), ("spaced", "5")], "evenly spaced blocks may overlap"),
        (
            &[("engine", "psync"), ("rw", "metadata"), ("log_offset", "true")],
            "metadata operations have no offsets",
        ),
    ] {
        let messages = messages(back, settings);
        assert!(messages.contains(expected), "{settings:?}: {messages}");
    }
}

/// 100,000 steps used to take over 30 s and 20,000 steps 1.8 s: each step was compared with all steps before it. Now an
/// index by id finds a step, and the number of steps is limited.
#[test]
fn a_suite_beyond_the_step_limit_is_refused() {
    let of = |steps: usize| -> String {
        (0..steps).map(|i| format!("[[step]]\nid = \"s{i}\"\nrw = \"randread\"\n")).collect()
    };
    let environment = Environment { memory_bytes: 1 << 40, engines: vec![], targets: 1 };
    let resolved =
        |steps| resolve(&Suite::parse("test", &of(steps)).0, &RunOverrides::default(), &environment);
    assert_eq!(resolved(10_000).unwrap().plan.steps.len(), 10_000);
    let concurrent = of(10_000).replace("[[step]]", "[[step.concurrent]]");
    let concurrent =
        Suite::parse("test", &format!("[[step]]\nid = \"first\"\nrw = \"randread\"\n{concurrent}")).0;
    for refused in [resolved(10_001), resolve(&concurrent, &RunOverrides::default(), &environment)] {
        let refused = refused.unwrap_err();
        assert!(refused.len() == 1 && refused[0].message.contains("more than 10000 steps"), "{refused:?}");
    }
}
