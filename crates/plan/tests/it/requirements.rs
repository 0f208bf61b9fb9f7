//! `[[require]]`: from text to plan, and the profiles that come with the program.

use crate::common::machine;
use model::{Bound, EngineKind, Metric, Operation, Plan};
use plan::*;

const STEP: &str = "[[step]]\nid = \"log\"\nrw = \"write\"\nbs = \"4k\"\nfdatasync = 1\n";

fn requirement(text: &str) -> String {
    let rest = "step = \"log\"\noperation = \"fdatasync\"\nmetric = \"lat_p99\"\nat_most = \"10ms\"\nsource = \"a\"\n";
    let mut lines: Vec<&str> = rest.lines().collect();
    for line in text.lines() {
        let key = line.split(' ').next().unwrap();
        lines.retain(|known| !known.starts_with(key));
        lines.push(line);
    }
    format!("[[require]]\n{}\n", lines.join("\n"))
}

fn resolved(suite: &Suite) -> Result<Plan, Vec<Problem>> {
    let environment = machine(8 << 30, &[EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync]);
    resolve(suite, &RunOverrides::default(), &environment).map(|resolved| resolved.plan)
}

fn of(toml: &str) -> Plan {
    let (suite, problems) = Suite::parse("own", toml);
    assert_eq!(problems, []);
    resolved(&suite).unwrap()
}

/// The first problem of a suite with this requirement.
fn problem(text: &str) -> String {
    let (suite, mut problems) = Suite::parse("own", &format!("{STEP}{}", requirement(text)));
    problems.extend(resolved(&suite).err().unwrap_or_default());
    let first = problems.first().unwrap_or_else(|| panic!("{text}: no problem"));
    assert!(matches!(first.location, SourceLocation::Suite(_)), "{first:?}");
    format!("{} | {}", first.message, first.help.as_deref().unwrap_or_default())
}

#[test]
fn a_limit_is_in_the_unit_of_its_metric() {
    let limits = [
        ("metric = \"lat_p99.9\"\nat_most = \"20ms\"", 20e6),
        ("operation = \"durable_write\"\nmetric = \"iops\"\nat_most = \"500\"", 500.0),
        ("operation = \"durable_write\"\nmetric = \"bandwidth\"\nat_most = \"10MB/s\"", 10e6),
    ];
    for (text, limit) in limits {
        let plan = of(&format!("{STEP}{}", requirement(text)));
        assert_eq!(plan.requirements.len(), 1, "{text}");
        let required = &plan.requirements[0];
        assert_eq!(
            (required.limit, required.bound, required.profile.as_str()),
            (limit, Bound::AtMost, "own")
        );
    }
}

#[test]
fn a_limit_that_is_relative_to_a_target_is_a_share() {
    for (text, share) in [("110%", 1.1), ("0.9", 0.9), ("2", 2.0)] {
        let plan =
            of(&format!("{STEP}{}", requirement(&format!("at_most = \"{text}\"\nrelative_to = \"plain\""))));
        let required = &plan.requirements[0];
        assert!((required.limit - share).abs() < 1e-9, "{text}: {}", required.limit);
        assert_eq!(required.relative_to, Some(model::Reference::Target("plain".into())));
        assert!(required.is_of("luks") && !required.is_of("plain"));
    }
}

#[test]
fn no_mismatch_a_spread_and_a_share_of_the_time_can_be_required() {
    let step = STEP.replace("fdatasync = 1", "verify = true");
    let limits = [
        ("mismatches", "0", Metric::Mismatches, 0.0),
        ("spread", "5%", Metric::Spread, 0.05),
        ("stalled_share", "1%", Metric::StalledShare, 0.01),
    ];
    for (metric, limit, of_metric, of_limit) in limits {
        let text = format!("operation = \"write\"\nmetric = \"{metric}\"\nat_most = \"{limit}\"");
        let required = of(&format!("{step}{}", requirement(&text))).requirements.remove(0);
        assert_eq!((required.metric, required.limit), (of_metric, of_limit));
    }
    let (suite, _) = Suite::parse(
        "own",
        &format!("{step}{}", requirement("operation = \"write\"\nmetric = \"mismatches\"\nat_most = 3")),
    );
    assert!(resolved(&suite).unwrap_err()[0].message.contains("one too many"));
}

#[test]
fn what_cannot_be_required_is_told() {
    let told = [
        ("step = \"lag\"", "the step `lag`, which the suite does not have | did you mean `log`?"),
        ("operation = \"read\"", "step `log` has no operation `read` | it has write"),
        ("metric = \"lat_max\"", "`lat_max` is no metric that can be required | allowed: bandwidth"),
        ("at_most = \"ten\"", "ten"),
        ("at_least = \"1ms\"", "either at_most or at_least"),
        ("relative_to = \"plain\"\nat_most = \"0%\"", "0 is not above 0"),
        ("relative_to = \"plain\"\nat_most = \"10ms\"", "10ms"),
        ("operation = \"write\"\nmetric = \"mismatches\"\nat_most = 0", "give it verify = true"),
        ("metric = \"mismatches\"\nat_most = 0", "counted with the first operation"),
        ("metric = \"spread\"\nat_most = \"5%\"", "it is told of a rate"),
        ("metric = \"stalled_share\"\nat_least = \"5%\"\nat_most = \"\"", "write at_most"),
        (
            "operation = \"durable_write\"\nmetric = \"spread\"\nat_most = \"5%\"\nrelative_to = \"plain\"",
            "a share of another",
        ),
        ("sources = \"b\"", "unknown key `sources` | did you mean `source`?"),
        ("source = \"\"", "the requirement has no source"),
    ];
    for (text, part) in told {
        let problem = problem(text);
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn a_suite_that_extends_another_changes_what_it_says() {
    let base = of(builtin("etcd").unwrap().toml);
    let own = of(&format!("extends = \"etcd\"\n{}", requirement("step = \"wal\"\nat_most = \"20ms\"")));
    assert_eq!(own.steps, base.steps);
    assert_eq!(own.requirements.len(), base.requirements.len());
    let limit = |plan: &Plan| {
        let of = |r: &&model::Requirement| (r.operation, r.metric) == (Operation::Sync, Metric::LatP99);
        plan.requirements.iter().find(of).unwrap().limit
    };
    assert_eq!((limit(&base), limit(&own)), (10e6, 20e6));
    assert!(own.requirements.iter().all(|r| r.profile == "own"));
    let (_, problems) = Suite::parse("own", "extends = \"nothing\"\n");
    assert!(problems[0].message.contains("another built-in suite"), "{problems:?}");
}

#[test]
fn requirements_of_joined_suites_keep_to_their_own_steps() {
    let other = "[[step]]\nid = \"wal\"\nrw = \"randread\"\n".to_owned();
    let etcd = builtin("etcd").unwrap().toml.to_owned();
    let (suite, problems) = Suite::joined(&[("own".into(), other), ("etcd".into(), etcd)]);
    assert_eq!(problems, []);
    let plan = resolved(&suite).unwrap();
    assert!(plan.requirements.iter().all(|r| r.step == "etcd-wal" && r.profile == "etcd"), "{plan:?}");
}

#[test]
fn profiles_that_share_a_step_measure_it_once() {
    let of = |name: &str| (name.to_owned(), builtin(name).unwrap().toml.to_owned());
    let (suite, problems) = Suite::joined(&[of("etcd"), of("etcd-disturbed"), of("etcd-20ms")]);
    assert_eq!(problems, []);
    let plan = resolved(&suite).unwrap();
    let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["wal", "wal-beside-reads"]);
    assert_eq!(plan.requirements.len(), 2 + 3 + 2);
}

/// A year, and before it a publisher and a title.
fn is_citation(source: &str) -> bool {
    let year =
        source.split(|c: char| !c.is_ascii_digit()).any(|n| n.len() == 4 && ("1990".."2100").contains(&n));
    year && source.split_once(": ").is_some_and(|(publisher, rest)| publisher.len() > 2 && rest.len() > 20)
}

#[test]
fn every_limit_that_comes_with_the_program_can_be_looked_up() {
    let mut profiles = 0;
    for suite in BUILTIN_SUITES {
        let plan = of_builtin(suite);
        profiles += u32::from(!plan.requirements.is_empty());
        let is_offered =
            |r: &&model::Requirement| plan.ladder_of(&r.step).is_some() && r.metric == Metric::Iops;
        for required in plan.requirements.iter().filter(|r| !is_offered(r)) {
            assert!(is_citation(&required.source), "{}: {}", suite.name, required.source);
        }
        let is_required = |id: &str| plan.requirements.iter().any(|r| r.step == id);
        let lacking =
            plan.steps.iter().filter(|step| !step.workload.modifiers.once && !is_required(&step.id));
        if !plan.requirements.is_empty() {
            assert_eq!(lacking.count(), 0, "{}: a step without a requirement", suite.name);
        }
    }
    assert!(profiles > 0);
}

fn of_builtin(suite: &BuiltinSuite) -> Plan {
    resolved(&Suite::parse(suite.name, suite.toml).0).unwrap()
}

const LADDER: &str = "[[step]]\nid = \"log\"\nseek = \"logs\"\nseek_each = \"50\"\nrw = \"write\"\nfdatasync = 1\n\
                      sweep.rate_iops = [50, 100, 400]\n";

#[test]
fn a_step_that_seeks_is_a_ladder_and_each_load_must_be_worked_off() {
    let plan = of(&format!("{LADDER}{}", requirement("step = \"log\"")));
    let ladder = &plan.ladders[0];
    let rungs: Vec<(&str, f64)> = ladder.rungs.iter().map(|rung| (rung.step.as_str(), rung.load)).collect();
    assert_eq!(
        (ladder.unit.as_str(), rungs),
        ("logs", vec![("log-50", 1.0), ("log-100", 2.0), ("log-400", 8.0)])
    );
    assert_eq!(ladder.most_probes(), 2);
    let limits: Vec<(&str, f64)> = plan
        .requirements
        .iter()
        .filter(|r| r.metric == Metric::Iops)
        .map(|r| (r.step.as_str(), r.limit))
        .collect();
    assert_eq!(limits, [("log-50", 47.5), ("log-100", 95.0), ("log-400", 380.0)]);
    assert_eq!(plan.requirements.len(), 6);
}

#[test]
fn what_cannot_be_sought_is_told() {
    let required = requirement("step = \"log\"");
    let problem = |toml: &str, rounds: Option<u32>| {
        let (suite, mut problems) = Suite::parse("own", toml);
        let environment = machine(8 << 30, &[EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync]);
        let overrides = RunOverrides { rounds, ..RunOverrides::default() };
        problems.extend(resolve(&suite, &overrides, &environment).err().unwrap_or_default());
        problems.iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let depth = LADDER.replace("sweep.rate_iops", "sweep.iodepth");
    assert!(problem(&format!("{depth}{required}"), None).contains("sweeps no rate"));
    let falling = LADDER.replace("100, 400", "40");
    assert!(problem(&format!("{falling}{required}"), None).contains("do not rise with `log-40`"));
    assert!(problem(LADDER, None).contains("nothing is required of step `log-50`"));
    assert!(problem(&format!("{LADDER}{required}"), Some(3)).contains("leave out --rounds"));
}
