//! Runs in a PostgreSQL database: where it is, its schema and migrations, and the rows of a run. Knows SQL and no type of the model.
//!
//! # Invariants
//! * A run is written in one transaction: the database has all of its rows or none.
//! * A log is in the database once, by the SHA-256 of its text; whoever writes it again changes nothing.
//! * A migration is one transaction, under a lock that all programs take: two programs at once migrate one after the other.
//! * A database of a later version is refused, and nothing is written to it.
//! * A password is in no message.
//!
//! Without the feature `client` there are only the words about an address, and nothing connects.

#[cfg(feature = "client")]
mod checksum;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod destination;
#[cfg(feature = "client")]
mod encryption;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod migrate;
mod password;
#[cfg(feature = "client")]
mod rows;
#[cfg(feature = "client")]
mod write;

#[cfg(feature = "client")]
pub use checksum::{Checksum, checksum};
#[cfg(feature = "client")]
pub use client::{Database, Known};
#[cfg(feature = "client")]
pub use destination::{Destination, DestinationError};
#[cfg(feature = "client")]
pub use error::DatabaseError;
#[cfg(feature = "client")]
pub use migrate::{MIGRATIONS, VERSION};
pub use password::without_password;
#[cfg(feature = "client")]
pub use rows::{ChangeRow, ComparisonRow, FindingRow, MeasurementRow, RunRow, TargetRow, VerdictRow};
