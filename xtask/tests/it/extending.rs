//! "Extending it" in ARCHITECTURE.md states how many files an addition takes. Here a made-up option, probe and finding
//! are added to a copy of the repository; the numbers must be those of the document, and the copy must compile and pass
//! the structure test. That is a check of nearly the whole workspace, so it takes longer than other tests of the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that is added, as the document names it.
struct Addition {
    /// The start of its line in the document, in front of the number.
    named: &'static str,
    /// The package that must still compile, with its tests.
    package: &'static str,
    edits: &'static [Edit],
}

/// A text that is added to a file.
struct Edit {
    file: &'static str,
    /// The only place in the file before which the text is inserted; empty for a new file.
    before: &'static str,
    text: &'static str,
}

const OPTION: Addition = Addition {
    named: "An option",
    package: "lodestone-plan",
    edits: &[
        Edit {
            file: "crates/model/src/workload.rs",
            before: "    /// The worker stops between operations.\n",
            text: "    /// The block that each job reads first, counted from the start of its region.\n    \
                   #[serde(skip_serializing_if = \"is_zero_u64\")]\n    \
                   pub first_block: u64,\n",
        },
        Edit {
            file: "crates/plan/src/draft.rs",
            before: "    pub iodepth: u32,\n",
            text: "    pub first_block: u64,\n",
        },
        Edit {
            file: "crates/plan/src/options.rs",
            before: "    OptionSpec {\n        key: \"iodepth\",\n",
            text: "    OptionSpec {\n        \
                   key: \"first_block\",\n        \
                   value: \"N\",\n        \
                   default: \"0\",\n        \
                   help: \"Block at which each job begins\",\n        \
                   allowed: \"0 to 1000000\",\n        \
                   set: |d, v| put(&mut d.first_block, number(v, 0, 1_000_000)),\n    \
                   },\n",
        },
        Edit {
            file: "crates/plan/src/resolve.rs",
            before: "        think: draft.think,\n",
            text: "        first_block: draft.first_block,\n",
        },
    ],
};

const PROBE: Addition = Addition {
    named: "A probe",
    package: "lodestone-host",
    edits: &[
        Edit {
            file: "crates/host/src/probes/entropy.rs",
            before: "",
            text: r#"//! Bits of entropy that the kernel has ready.

use super::change_filter::{Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};

pub(super) const PROBE: Probe = Probe {
    name: "entropy",
    what: "bits of entropy that the kernel has ready",
    label: |key| Some(format!("entropy {key}")),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let file = KernelFile::readable(scene.roots.proc.join("sys/kernel/random/entropy_avail"))?;
        Some(Box::new(Entropy { file, available: filter.series("available", "1") }))
    },
};

struct Entropy {
    file: KernelFile,
    available: SeriesId,
}

impl Reader for Entropy {
    fn read(&mut self, sample: &mut Sample<'_>) {
        if let Some(bits) = self.file.text().and_then(|text| text.trim().parse().ok()) {
            sample.put(self.available, bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn the_kernel_reports_whole_bits() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
        tree.file("proc/sys/kernel/random/entropy_avail", "256\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["available 256 1"]);
    }
}
"#,
        },
        Edit { file: "crates/host/src/probes/mod.rs", before: "mod memory;\n", text: "mod entropy;\n" },
        Edit {
            file: "crates/host/src/probes/mod.rs",
            before: "    memory::PROBE,\n",
            text: "    entropy::PROBE,\n",
        },
        Edit {
            file: "docs/formats.md",
            before: "| `memory` | ",
            text: "| `entropy` | `available`: bits that the kernel has ready | `1` |\n",
        },
    ],
};

const FINDING: Addition = Addition {
    named: "A finding",
    package: "lodestone-analyse",
    edits: &[
        Edit {
            file: "crates/analyse/src/findings/size.rs",
            before: "pub(super) fn fits_into_memory(",
            text: r#"pub(super) fn little_memory(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let memory = context.run.started.host.memory_bytes;
    let message = format!("this machine has only {} of memory", amount(context.units, memory));
    let figures = vec![evidence("memory", memory as f64, "B")];
    let is_little = (1..=1 << 28).contains(&memory);
    let first = context.targets().next().filter(|_| is_little);
    first.map(|target| rule.finding(Severity::Info, subject(target, None), message, figures)).into_iter().collect()
}

"#,
        },
        Edit {
            file: "crates/analyse/src/findings/rules.rs",
            before: "    Rule {\n        name: \"fits-into-memory\",\n",
            text: "    Rule {\n        \
                   name: \"little-memory\",\n        \
                   speaks_when: \"the machine has 256 MiB of memory or less\",\n        \
                   advice: \"expect small caches\",\n        \
                   is_told_apart: false,\n        \
                   apply: size::little_memory,\n    \
                   },\n",
        },
        Edit {
            file: "crates/analyse/src/findings/cases/size.rs",
            before: "        (\"fits-into-memory\", true, workload(), ",
            text: "        (\"little-memory\", true, workload(), |r| r.started.host.memory_bytes = 1 << 28),\n        \
                   (\"little-memory\", false, workload(), NOTHING),\n",
        },
        Edit {
            file: "docs/method/findings.md",
            before: "## Other rules\n",
            text: "`little-memory` reports a machine with little memory.\n\n",
        },
    ],
};

/// The files of the repository by their names below its root.
type Files = BTreeMap<String, Vec<u8>>;

/// Every file of the project.
fn project(root: &Path) -> Files {
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().expect("names are UTF-8").to_owned();
    xtask::tidy::all_files(root).iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

/// Makes a directory hold these files and no others. What is right already stays untouched, so that it is not compiled
/// again.
fn write(copy: &Path, files: &Files) {
    for entry in walkdir::WalkDir::new(copy).into_iter().flatten().filter(|e| e.file_type().is_file()) {
        let name = entry.path().strip_prefix(copy).unwrap().to_str().unwrap();
        if !files.contains_key(name) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    for (name, content) in files {
        let path = copy.join(name);
        if fs::read(&path).ok().as_ref() != Some(content) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}

/// Adds something to files, and returns the names of those that changed.
fn add(files: &mut Files, addition: &Addition) -> BTreeSet<String> {
    let before = files.clone();
    for Edit { file, before, text } in addition.edits {
        if before.is_empty() {
            let old = files.insert((*file).to_owned(), text.as_bytes().to_vec());
            assert!(old.is_none(), "{file} exists already");
            continue;
        }
        let content = files.get_mut(*file).unwrap_or_else(|| panic!("{file} is missing"));
        let old = String::from_utf8(content.clone()).unwrap();
        assert_eq!(old.matches(before).count(), 1, "{file} must have this once: {before}");
        *content = old.replacen(before, &format!("{text}{before}"), 1).into_bytes();
    }
    files
        .iter()
        .filter(|(name, content)| before.get(*name) != Some(*content))
        .map(|(n, _)| n.clone())
        .collect()
}

/// The number in `* An option (4 files): …`.
fn stated(document: &str, named: &str) -> usize {
    let start = format!("* {named} (");
    let line = document.lines().find_map(|line| line.strip_prefix(&start));
    let line = line.unwrap_or_else(|| panic!("ARCHITECTURE.md has no line `{start}N files): …`"));
    let number = line.split_once(" files)").and_then(|(number, _)| number.parse().ok());
    number.unwrap_or_else(|| panic!("ARCHITECTURE.md states no number of files after `{start}`"))
}

#[test]
fn additions_take_the_files_that_the_document_states() {
    let mut files = project(&xtask::root());
    let document = String::from_utf8(files["ARCHITECTURE.md"].clone()).unwrap();
    for addition in [&OPTION, &PROBE, &FINDING] {
        let touched = add(&mut files, addition);
        assert_eq!(
            touched.len(),
            stated(&document, addition.named),
            "{} takes {touched:?}; ARCHITECTURE.md states another number",
            addition.named
        );
    }
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("extending");
    let copy = scratch.join("copy");
    fs::create_dir_all(&copy).unwrap();
    write(&copy, &files);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--offline", "--quiet", "--tests"]);
    for addition in [&OPTION, &PROBE, &FINDING] {
        cargo.args(["--package", addition.package]);
    }
    // The copy has a directory of its own for what is compiled: Cargo takes the crates of two copies for the same.
    let target = scratch.join("target");
    let mut restored = Command::new("bash");
    restored.arg(copy.join("scripts/third-party")).arg("restore").env("CARGO_TARGET_DIR", &target);
    assert!(restored.status().unwrap().success());
    if target.join("debug/third-party").exists() {
        // With this package, the dependencies have the features with which they are kept.
        cargo.args(["--package", "xtask"]);
    }
    cargo.current_dir(&copy).env("CARGO_TARGET_DIR", &target);
    let checked = cargo.output().expect("cargo runs this test");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert_eq!(xtask::tidy::complaints(&copy), [""; 0]);
}

#[test]
fn another_number_in_the_document_is_noticed() {
    let document = "# Extending it\n\n* An option (4 files): one, two.\n* A probe (12 files): many.\n";
    assert_eq!((stated(document, "An option"), stated(document, "A probe")), (4, 12));
    for wrong in ["* An option: four files", "* An option (four files): one", "An option (4 files): one"] {
        assert!(std::panic::catch_unwind(|| stated(wrong, "An option")).is_err(), "{wrong}");
    }
}
