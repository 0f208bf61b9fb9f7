//! Runs in a PostgreSQL database: where it is, its schema and migrations, and the rows of a run. Knows SQL and no type of the model.
//!
//! # Invariants
//! * A run is written in one transaction: the database has all of its rows or none.
//! * A log is in the database once, by the SHA-256 of its text; whoever writes it again changes nothing.
//! * A migration is one transaction, under a lock that all programs take: two programs at once migrate one after the other.
//! * A database of a later version is refused, and nothing is written to it.
//! * A password is in no message.

mod checksum;
mod client;
mod destination;
mod encryption;
mod error;
mod migrate;
mod rows;
mod write;

pub use checksum::{Checksum, checksum};
pub use client::{Database, Known};
pub use destination::{Destination, DestinationError, without_password};
pub use error::DatabaseError;
pub use migrate::{MIGRATIONS, VERSION};
pub use rows::{ChangeRow, ComparisonRow, FindingRow, MeasurementRow, RunRow, TargetRow, VerdictRow};
