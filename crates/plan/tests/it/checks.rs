//! The table of tools and checks is consistent, and each native step resolves to a plan.

use crate::common::machine;
use std::collections::BTreeSet;

use model::*;
use plan::checks::*;
use plan::*;

fn environment() -> Environment {
    use EngineKind::{IoUring, Libaio, Psync};
    machine(64 << 30, &[IoUring, Libaio, Psync])
}

fn values() -> Values {
    Values {
        size: 512 << 20,
        runtime: 3,
        file: "/data/file".into(),
        dir: "/data/private".into(),
        device: "/dev/sdz".into(),
        is_root: true,
    }
}

/// The native steps of a check.
fn steps(check: &Check) -> Vec<Step> {
    let suite = suite(&[check], &values()).unwrap();
    match resolve(&suite, &RunOverrides::default(), &environment()) {
        Ok(resolved) => resolved.plan.steps,
        Err(problems) => panic!("{}: {problems:?}", check.id),
    }
}

#[test]
fn names_are_unique_and_every_tool_has_a_check() {
    let mut ids = BTreeSet::new();
    for part in CHECKS.iter().flat_map(|check| check.parts) {
        assert!(ids.insert(part.id), "{}", part.id);
        let is_known = |tool: &Tool| part.id.starts_with(tool.word);
        assert!(TOOLS.iter().any(is_known), "{} does not begin with its tool", part.id);
    }
    for tool in TOOLS {
        assert!(CHECKS.iter().any(|check| check.tool() == tool), "{}", tool.word);
    }
}

#[test]
fn every_native_step_has_the_compared_figures() {
    for check in CHECKS {
        let steps = steps(check);
        assert_eq!(steps.len(), check.parts.len(), "{}", check.id);
        for (part, step) in check.parts.iter().zip(&steps) {
            assert_eq!(step.id, part.id);
            for pair in part.figures {
                assert!(
                    step.operations().contains(&pair.of_lodestone.0),
                    "{}: {:?}",
                    part.id,
                    pair.of_lodestone
                );
                assert_ne!(
                    pair.of_lodestone.1.better(),
                    Better::Neither,
                    "{}: not a figure to compare",
                    part.id
                );
            }
        }
    }
}

/// Where a cost is defined, memory may serve neither side.
#[test]
fn steps_with_a_defined_cost_reach_the_device() {
    for check in CHECKS {
        for (part, step) in check.parts.iter().zip(steps(check)).filter(|(part, _)| part.defined_cost) {
            let w = &step.workload;
            let is_synced = w.sync.at_end || w.sync.every > 0 || w.open_sync != OpenSync::None;
            let reaches = w.direct || (w.modifies() && is_synced) || w.is_metadata();
            assert!(reaches, "{}: {w:?}", part.id);
        }
    }
}

#[test]
fn command_lines_have_no_placeholders_left() {
    for check in CHECKS {
        let words = check.arguments(&values());
        assert!(words.iter().all(|word| !word.contains(['{', '}'])), "{}: {words:?}", check.id);
    }
    for check in CHECKS.iter().filter(|check| check.works_on == WorksOn::Device) {
        assert!(
            steps(check).iter().all(|step| !step.workload.modifies()),
            "{} would write to a device",
            check.id
        );
    }
    let lines: Vec<String> = CHECKS
        .iter()
        .map(|check| format!("{}: {}", check.id, check.arguments(&values()).join(" ")))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn only_root_passes_a_user_to_bonnie() {
    let bonnie = CHECKS.iter().find(|check| check.id == "bonnie").unwrap();
    assert!(bonnie.arguments(&values()).ends_with(&["-u".to_owned(), "root".to_owned()]));
    let other = Values { is_root: false, ..values() };
    assert!(!bonnie.arguments(&other).iter().any(|word| word == "-u"));
}
