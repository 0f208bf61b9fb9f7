//! Runs that a database has not acknowledged yet: a file in the store with one line for each run and database. A line is removed once the
//! run is acknowledged; a program that is killed between the two leaves a line that costs a question to the database.

use serde::{Deserialize, Serialize};

use crate::directory::StoreError;
use crate::index;
use crate::store::Store;

/// Version of the lines.
const VERSION: u32 = 1;

/// A run that a database is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Id of the run.
    pub run: String,
    /// Address of the database, without a password.
    pub destination: String,
    /// Names are to be replaced by pseudonyms.
    pub is_anonymous: bool,
}

impl Store {
    /// Adds a run to the queue, unless it is in it. It is on stable storage then.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written.
    pub fn queue(&self, queued: &Queued) -> Result<(), StoreError> {
        let refused = |source| StoreError::Directory { path: self.directory().to_owned(), source };
        let directory = self.writable()?;
        let _lock = directory.lock().map_err(refused)?;
        let bytes = directory.push_queue().map_err(refused)?;
        if index::rows::<Queued>(&bytes, VERSION).contains(queued) {
            return Ok(());
        }
        let line = index::line(queued, VERSION).map_err(|error| refused(error.into()))?;
        directory.add_to_push_queue(line.as_bytes()).map_err(refused)
    }

    /// The queue, in the order in which the runs were added; lines that are not whole do not count.
    pub fn queued(&self) -> Vec<Queued> {
        let bytes = self.existing().and_then(|directory| directory.push_queue().ok()).unwrap_or_default();
        index::rows(&bytes, VERSION)
    }

    /// Removes from the queue what was acknowledged.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written; the queue is unchanged.
    pub fn unqueue(&self, acknowledged: &[Queued]) -> Result<(), StoreError> {
        if acknowledged.is_empty() {
            return Ok(());
        }
        let refused = |source| StoreError::Directory { path: self.directory().to_owned(), source };
        let directory = self.writable()?;
        let _lock = directory.lock().map_err(refused)?;
        let mut queue = index::rows::<Queued>(&directory.push_queue().map_err(refused)?, VERSION);
        queue.retain(|queued| !acknowledged.contains(queued));
        let lines = queue.iter().map(|queued| index::line(queued, VERSION)).collect::<Result<String, _>>();
        let lines = lines.map_err(|error| refused(error.into()))?;
        directory.replace_push_queue(lines.as_bytes()).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_what_was_not_acknowledged() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("store");
        let queued = |run: &str, destination: &str| Queued {
            run: run.to_owned(),
            destination: destination.to_owned(),
            is_anonymous: false,
        };
        let store = Store::open(&path).unwrap();
        assert_eq!(store.queued(), []);
        let all = [queued("a", "postgres://x"), queued("a", "postgres://y"), queued("b", "postgres://x")];
        for one in all.iter().chain(&all[..1]) {
            store.queue(one).unwrap();
        }
        assert_eq!(Store::open(&path).unwrap().queued(), all);
        // A program was killed while it wrote.
        let file = path.join("push-queue");
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() - 3]).unwrap();
        store.queue(&all[2]).unwrap();
        assert_eq!(store.queued(), all);
        store.unqueue(&all[..1]).unwrap();
        assert_eq!(store.queued(), all[1..]);
        store.unqueue(&all).unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn several_programs_lose_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("store");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let store = Store::open(path).unwrap();
                    for n in 0..20 {
                        let one = Queued {
                            run: format!("{thread}-{n}"),
                            destination: String::new(),
                            is_anonymous: false,
                        };
                        store.queue(&one).unwrap();
                        if n % 2 == 0 {
                            store.unqueue(&[one]).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(Store::open(&path).unwrap().queued().len(), 40);
    }
}
