//! Directories that share their test data.
//!
//! Two files of one filesystem are seldom equally fast: they lie in other zones of a disk, in other blocks of flash, on
//! other servers of a cloud volume. A comparison of two directories whose files happen to lie so would be one of the two
//! files, and no number of rounds would show it. So directories of one filesystem that store files alike use the same
//! test data, and what remains is what differs between the directories.

use host::inheritance::store_alike;
use model::{Severity, TargetKind};

use super::{Driver, Local};

impl Local<'_> {
    /// Lets each directory use the test data of the first one that stores files alike.
    pub(crate) fn share_data(&mut self) {
        for index in 1..self.targets.len() {
            let is_own = |i: usize| {
                let state = &self.targets[i];
                state.target.kind == TargetKind::Directory
                    && state.borrows.is_none()
                    && matches!(state.driver, Driver::Own)
            };
            let alike = |other: &usize| {
                let path = |i: usize| &self.targets[i].target.path;
                store_alike(path(*other), path(index)).unwrap_or(false)
            };
            let Some(lender) = (0..index).filter(|i| is_own(*i) && is_own(index)).find(alike) else {
                continue;
            };
            self.targets[index].borrows = Some(lender);
            let name = |i: usize| self.targets[i].target.name.clone();
            let (first, second) = (name(lender), name(index));
            let message = format!(
                "{second} uses the test data of {first}: both are directories of one filesystem that store files alike, so that \
                 two files would be compared instead of two directories"
            );
            self.note(Severity::Info, "shared-data", Some(second), message);
        }
    }
}
