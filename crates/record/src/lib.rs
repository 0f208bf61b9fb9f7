//! Run logs: written during the run, readable after a crash, indexed for lookup.
//!
//! # Invariants
//! * The log is authoritative. One event, or a batch of readings, is one line of JSON, passed whole to the kernel as soon
//!   as it happens; after `kill -9` the file holds everything up to the last complete line.
//! * The log of a run that has ended is compressed: a new file, complete before it takes the place of the old one.
//! * Each line carries its number and a checksum chained to the previous line: changed, lost and repeated lines are
//!   detected, and no figure after the damage is used without the user's consent.
//! * The index only duplicates the content of the logs. It may be deleted at any time; [`Store::runs`] brings it
//!   up to date, and every command works without it.
//! * Nothing in a store is opened through a symbolic link, and a directory with other content does not become a store.
//! * Every log format ever released stays readable: [`read_log`] upgrades old ones line by line.

mod below;
mod chain;
mod compressed;
mod copies;
mod directory;
mod encoding;
mod fallback;
mod figures;
pub mod import;
mod index;
pub mod input;
mod left_out;
mod log;
mod pages;
mod parallel;
mod pseudonym_key;
mod push_queue;
mod store;
mod summary;
pub mod unfinished;

pub use chain::{Damage, DamageKind};
pub use compressed::decompressed;
pub use copies::{CopyError, log_of};
pub use directory::StoreError;
pub use encoding::{Decoder, Encoder};
pub use fallback::begin_elsewhere;
pub use left_out::LeftOut;
pub use log::{DAMAGE_TOPIC, Log, LogError, LogWriter, OnDamage, parse_log, parse_log_with, read_log};
pub use pages::{PageDirectory, PagesError};
pub use parallel::try_in_parallel;
pub use push_queue::Queued;
pub use store::{FindError, Listing, Store};
pub use summary::{RunState, RunSummary};
