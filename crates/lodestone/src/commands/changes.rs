//! All changes of the figures in a store.

use std::collections::BTreeSet;

use analyse::{ChangePoint, FigureKey, histories};
use model::Run;
use record::Store;
use report::PastRun;

use super::history::{Wanted, followed, kept, past_runs};
use crate::cli::HistoryArgs;
use crate::failure::Failure;

/// A change of a figure.
pub(super) struct Change {
    /// Which figure.
    pub key: FigureKey,
    /// What it is called within a sentence.
    pub title: String,
    /// The first run after it.
    pub run: PastRun,
    /// What changed.
    pub point: ChangePoint,
}

/// The changes in a store.
pub(super) struct Changes {
    /// The machines of its runs.
    pub hosts: Vec<String>,
    /// The changes of their figures, as `history` finds them, the latest first.
    pub changes: Vec<Change>,
}

/// Makes an anonymous copy of a run.
pub(super) type Anonymise<'a> = &'a mut dyn FnMut(&Run) -> Result<Run, Failure>;

/// All changes in a store; with `anonymise` those of anonymous copies of its runs.
///
/// # Errors
/// The store cannot be read.
pub(super) fn changes(store: &Store, anonymise: Option<Anonymise<'_>>) -> Result<Changes, Failure> {
    let (mut past, _) = past_runs(store)?;
    if let Some(anonymise) = anonymise {
        for (run, figures) in &mut past {
            let mut log = store.read(run).map_err(Failure::failed)?;
            log.run = anonymise(&log.run)?;
            *figures = kept(log);
        }
    }
    let args = HistoryArgs::default();
    let (titles, figures) = followed(&past, &Wanted::of(&args)?);
    let mut changes: Vec<Change> = Vec::new();
    for history in histories(figures) {
        for point in history.course.changes {
            let (run, _) = &past[history.figures[point.at].run];
            changes.push(Change {
                key: history.key.clone(),
                title: titles.get(&history.key).cloned().unwrap_or_default(),
                run: PastRun { id: run.id.clone(), started_unix_ns: run.started_unix_ns },
                point,
            });
        }
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.run.started_unix_ns));
    let hosts: BTreeSet<String> =
        past.iter().flat_map(|(_, kept)| kept.places().into_iter().map(|(host, ..)| host)).collect();
    Ok(Changes { hosts: hosts.into_iter().collect(), changes })
}
