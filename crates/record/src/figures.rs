//! What a history needs of each run: a file in the store with one line for each, which duplicates what the logs say, like the index.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::directory::Directory;
use crate::index;
use crate::log::{Log, LogError};
use crate::store::Store;
use crate::summary::{RunState, RunSummary};

/// The first line without its version.
const TITLE: &str = "lodestone figures ";

/// What was made of a log, and of which.
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
    pub fn figures<T: Serialize + DeserializeOwned>(
        &self,
        version: u32,
        runs: &[RunSummary],
        of: impl Fn(Log) -> T,
    ) -> Vec<Result<T, LogError>> {
        let directory = self.existing();
        let bytes = directory.map(Directory::figures);
        let is_own = |bytes: &Vec<u8>| bytes.is_empty() || bytes.starts_with(TITLE.as_bytes());
        let bytes = bytes.and_then(Result::ok).filter(is_own);
        let rows: Vec<Row<T>> = bytes.as_deref().map_or_else(Vec::new, |bytes| index::rows(bytes, version));
        let mut known: BTreeMap<String, Row<T>> =
            rows.into_iter().map(|row| (row.file.clone(), row)).collect();
        let mut has_changed = false;
        let mut row = |run: &RunSummary| -> Result<Row<T>, LogError> {
            let is_it = |row: &Row<T>| (row.file_bytes, row.modified_ns) == (run.file_bytes, run.modified_ns);
            if let Some(row) =
                known.remove(&run.file).filter(|row| is_it(row) && run.state != RunState::Running)
            {
                return Ok(row);
            }
            has_changed = true;
            let RunSummary { file, file_bytes, modified_ns, .. } = run.clone();
            Ok(Row { file, file_bytes, modified_ns, value: of(self.read(run)?) })
        };
        let rows: Vec<Result<Row<T>, LogError>> = runs.iter().map(&mut row).collect();
        // A file of somebody else in its place stays.
        if bytes.is_some() && (has_changed || !known.is_empty()) {
            let whole: Vec<&Row<T>> = rows.iter().flatten().collect();
            if let (Some(directory), Ok(bytes)) = (directory, index::lines(TITLE, version, &whole)) {
                let _ = directory.replace_figures(&bytes);
            }
        }
        rows.into_iter().map(|row| row.map(|row| row.value)).collect()
    }
}
