//! What a history needs of each run: a file in the store with one line for each, which duplicates what the logs say, like the index.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::directory::Directory;
use crate::index;
use crate::log::{Log, LogError};
use crate::parallel::in_parallel;
use crate::store::Store;
use crate::summary::{RunState, RunSummary};

/// The first line without its version.
const TITLE: &str = "lodestone figures ";

/// What was made of a log, and of which. Where a file has several for one log, the last counts.
#[derive(Serialize, Deserialize)]
struct Row<T> {
    file: String,
    file_bytes: u64,
    modified_ns: i64,
    value: T,
}

impl Store {
    /// What `of` makes of each of the store's runs, in their order: from the store's file for logs that have not changed since, else from the
    /// logs. `version` is that of `of`. A file that cannot be read or written only costs time.
    pub fn figures<T: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        version: u32,
        runs: &[RunSummary],
        of: impl Fn(Log) -> T + Sync,
    ) -> Vec<Result<T, LogError>> {
        let directory = self.existing();
        let bytes = directory.map(Directory::figures);
        let is_own = |bytes: &Vec<u8>| bytes.is_empty() || bytes.starts_with(TITLE.as_bytes());
        let bytes = bytes.and_then(Result::ok).filter(is_own);
        let is_cut_off = bytes.as_ref().map(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
        let rows: Vec<Row<T>> = bytes.map_or_else(Vec::new, |bytes| index::rows(&bytes, version));
        let mut known: BTreeMap<String, Row<T>> =
            rows.into_iter().map(|row| (row.file.clone(), row)).collect();
        let mut of_run = |run: &RunSummary| {
            let is_it = |row: &Row<T>| (row.file_bytes, row.modified_ns) == (run.file_bytes, run.modified_ns);
            known.remove(&run.file).filter(|row| is_it(row) && run.state != RunState::Running)
        };
        let there: Vec<Option<Row<T>>> = runs.iter().map(&mut of_run).collect();
        let new: Vec<&RunSummary> =
            runs.iter().zip(&there).filter(|(_, row)| row.is_none()).map(|(run, _)| run).collect();
        let made = in_parallel(&new, |run| -> Result<Row<T>, LogError> {
            let RunSummary { file, file_bytes, modified_ns, .. } = (*run).clone();
            Ok(Row { file, file_bytes, modified_ns, value: of(self.read(run)?) })
        });
        // A file of somebody else in its place stays.
        if let (Some(directory), Some(is_cut_off)) = (directory, is_cut_off) {
            // Rows of what has gone are not kept; of a log that has changed, the last row counts. A run in progress will have
            // another log.
            let lasts = |(run, _): &(&&RunSummary, &Result<Row<T>, LogError>)| run.state != RunState::Running;
            let fresh: Vec<&Row<T>> =
                new.iter().zip(&made).filter(lasts).filter_map(|(_, row)| row.as_ref().ok()).collect();
            let old: Vec<&Row<T>> = there.iter().flatten().collect();
            if !known.is_empty() || old.is_empty() && !fresh.is_empty() {
                let whole = [old, fresh].concat();
                let _ = index::lines(TITLE, version, &whole).map(|bytes| directory.replace_figures(&bytes));
            } else if !fresh.is_empty() {
                let lines: serde_json::Result<String> =
                    fresh.iter().map(|row| index::line(row, version)).collect();
                let _ = lines.map(|lines| directory.add_figures(lines.as_bytes(), is_cut_off));
            }
        }
        let mut made = made.into_iter();
        let rows = there.into_iter().filter_map(|row| row.map(Ok).or_else(|| made.next()));
        rows.map(|row| row.map(|row| row.value)).collect()
    }
}
