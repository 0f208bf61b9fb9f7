//! `lodestone targets`: this machine's storage, down to the disks.

use std::process::ExitCode;

use analyse::{Analysis, Estimator, MeasuredHere, analyse, backing};
use host::{Roots, inventory, inventory_of};
use model::{Candidate, Inventory, Layer, LayerKind, Run, fact};
use report::{Explanation, json};

use super::{store, units};
use crate::cli::{Cli, TargetsArgs};
use crate::failure::Failure;
use crate::output;

/// Shows all storage that can be measured here, or the named paths, the health of its disks, or what is behind the paths.
///
/// # Errors
/// A named path is not a directory, file or block device.
pub fn targets(cli: &Cli, args: &TargetsArgs) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let found = match args.paths.is_empty() {
        true => inventory(&roots, args.all),
        false => inventory_of(&roots, &args.paths).map_err(Failure::usage)?,
    };
    let explanations = if args.explain { explanations(cli, &found)? } else { Vec::new() };
    let (units, style) = (units(cli, None), output::style(cli.color));
    let text = if args.json {
        json::pretty(&report::targets_export(&found, explanations, units)).into()
    } else if args.explain {
        report::text(&report::explanation_document(&explanations), style)
    } else if args.health {
        report::text(&report::health_document(&found, units), style)
    } else {
        report::targets_text(&found, units, style)
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// What is behind each path, also by the newest runs of this machine on the same disks.
fn explanations(cli: &Cli, found: &Inventory) -> Result<Vec<Explanation>, Failure> {
    /// Runs that are considered for each path.
    const RUNS: usize = 3;
    /// Logs that are read for that, the newest first.
    const READ: usize = 60;
    let store = store(cli)?;
    let mut stored = store.list().map_err(Failure::failed)?.runs;
    stored.retain(|run| run.is_of(&found.host.name));
    let newest = stored.iter().rev().take(READ);
    let runs: Vec<Run> = newest.filter_map(|run| store.read(run).ok()).map(|log| log.run).collect();
    let one = |candidate: &Candidate| {
        let own = disks(&candidate.stack);
        let on = |run: &&Run| {
            let is_it =
                |target: &&model::Target| target.host == 0 && !own.is_empty() && disks(&target.stack) == own;
            run.started.targets.iter().find(is_it).map(|target| target.name.clone())
        };
        let measured: Vec<(&Run, Analysis, String)> = runs
            .iter()
            .filter(|run| run.started.host.id == found.host.id)
            .filter_map(|run| Some((run, on(&run)?)))
            .take(RUNS)
            .map(|(run, name)| {
                (run, analyse(run, &run.started.baseline, Estimator::Mean, units(cli, Some(run))), name)
            })
            .collect();
        let measured: Vec<MeasuredHere<'_>> =
            measured.iter().map(|(run, analysis, name)| (*run, analysis, name.as_str())).collect();
        Explanation::new(model::path_text(&candidate.path), backing(&found.host, &candidate.stack, &measured))
    };
    Ok(found.candidates.iter().map(one).collect())
}

/// Names and sizes of the disks of a stack.
fn disks(stack: &[Layer]) -> Vec<(&str, Option<&String>)> {
    let all = stack.iter().filter(|layer| matches!(layer.kind, LayerKind::Disk | LayerKind::Network));
    all.map(|layer| (layer.name.as_str(), layer.facts.get(fact::SIZE))).collect()
}
