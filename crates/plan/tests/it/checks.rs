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
        only: Vec::new(),
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
    let as_root = ["-u".to_owned(), "root".to_owned()];
    assert!(bonnie.arguments(&values()).windows(2).any(|words| words == as_root));
    let other = Values { is_root: false, ..values() };
    assert!(!bonnie.arguments(&other).iter().any(|word| word == "-u"));
}

/// bonnie++ used to write and read byte by byte, and to make 16384 files, for its seeks alone.
#[test]
fn a_program_does_only_what_the_wanted_steps_need() {
    let arguments = |check: &str, only: &[&'static str]| {
        let check = CHECKS.iter().find(|of| of.id == check).unwrap();
        let values = Values { only: only.to_vec(), is_root: false, ..values() };
        let steps: Vec<&str> = check.wanted(&values).map(|part| part.id).collect();
        assert_eq!(steps, only);
        check.arguments(&values).join(" ")
    };
    let seeks = arguments("bonnie", &["bonnie-seeks"]);
    assert!(seeks.ends_with("-s 512 -f -n 0"), "{seeks}");
    let names = arguments("bonnie", &["bonnie-create-seq", "bonnie-delete-seq"]);
    assert!(names.ends_with("-s 0 -f -n 16"), "{names}");
    let bytes = arguments("bonnie", &["bonnie-getc"]);
    assert!(bytes.ends_with("-s 512 -n 0"), "{bytes}");
    let random = arguments("iozone", &["iozone-random-read"]);
    assert!(random.ends_with("-i 2") && !random.contains("-i 1"), "{random}");
}

/// With a size beyond a file's end fio writes to the file before it reads.
#[test]
fn programs_that_read_a_data_file_know_its_size() {
    for check in CHECKS.iter().filter(|check| check.works_on == WorksOn::DataFile && check.tool == "fio") {
        assert!(check.arguments(&values()).contains(&format!("--size={}", values().size)), "{}", check.id);
    }
}
