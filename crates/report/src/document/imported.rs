//! The facts of an imported run: its files, its programs, and what they do not state.

use std::collections::{BTreeMap, BTreeSet};

use analyse::Analysis;
use model::{Imported, Run};

/// More files of a target than this are only counted.
const MOST_FILES: usize = 3;

/// Names with their values, one per line.
pub(crate) fn facts(run: &Run, analysis: &Analysis) -> Vec<(String, String)> {
    let mut facts = vec![("imported from".to_owned(), sources(run))];
    facts.push(("programs".to_owned(), list(all(run).map(program))));
    for target in &run.started.targets {
        let of_target = run.repeats.iter().filter(|r| r.started.target == target.name);
        let imported: Vec<&Imported> = of_target.filter_map(|r| r.imported.as_deref()).collect();
        facts.push((target.name.clone(), target_line(&imported)));
    }
    let unsaid = list(all(run).flat_map(|i| i.unsaid.iter().cloned()));
    if !unsaid.is_empty() {
        facts.push(("not stated".to_owned(), format!("{unsaid} (by some of the files)")));
    }
    let rounds = run.repeats.iter().map(|r| r.started.round + 1).max().unwrap_or(0);
    let method = analysis.measurements.first().map_or("no figures", |m| m.method);
    let repeats = if rounds == 1 { "one repeat".to_owned() } else { format!("up to {rounds} repeats") };
    facts.push((
        "method".to_owned(),
        format!("{repeats} of each step, in the order of the files; figures are recomputed where the files allow it; \
    {method}; Lodestone {}", run.started.version),
    ));
    facts
}

fn all(run: &Run) -> impl Iterator<Item = &Imported> {
    run.repeats.iter().filter_map(|r| r.imported.as_deref())
}

/// The program with its version.
pub(crate) fn program(imported: &Imported) -> String {
    let version = imported.version.as_ref().map_or_else(String::new, |v| format!(" {v}"));
    format!("{}{version}", imported.tool)
}

fn sources(run: &Run) -> String {
    match run.started.sources.as_slice() {
        [only] => only.file.clone(),
        many => format!("{} files", many.len()),
    }
}

fn list(words: impl Iterator<Item = String>) -> String {
    words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Labels and files of one target.
fn target_line(imported: &[&Imported]) -> String {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in imported.iter().flat_map(|i| &i.labels) {
        labels.entry(key).or_default().insert(value);
    }
    let labels = labels
        .into_iter()
        .map(|(key, values)| format!("{key} {}", values.into_iter().collect::<Vec<_>>().join(" and ")));
    let files: BTreeSet<&str> = imported.iter().map(|i| i.file.as_str()).collect();
    let count = files.len();
    let files = if count > MOST_FILES {
        format!("{count} files")
    } else {
        files.into_iter().collect::<Vec<_>>().join(", ")
    };
    labels.chain([files]).collect::<Vec<_>>().join("; ")
}
