//! A connection to a database with the schema of this program.

use std::sync::mpsc;
use std::time::Duration;

use postgres::{Client, IsolationLevel};

use crate::checksum::Checksum;
use crate::destination::Destination;
use crate::encryption;
use crate::error::DatabaseError;
use crate::migrate;
use crate::rows::{ChangeRow, RunRow};
use crate::write;

/// Time for what follows a connection: the server may accept it and say nothing.
const GREETING: Duration = Duration::from_secs(10);

/// A run that a database has.
#[derive(Clone, Debug)]
pub struct Known {
    /// Checksum of its log.
    pub checksum: Checksum,
    /// Its id.
    pub id: String,
}

/// A connection.
pub struct Database {
    client: Client,
}

impl Database {
    /// Connects to a database, for writing.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn open(destination: &Destination) -> Result<Self, DatabaseError> {
        let mut client = connect(destination)?;
        migrate::migrate(&mut client)?;
        // What a commit acknowledges is to be on stable storage.
        client.batch_execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        )?;
        Ok(Self { client })
    }

    /// Connects to a database, for reading. Nothing in it is changed.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn read(destination: &Destination) -> Result<Self, DatabaseError> {
        let mut client = connect(destination)?;
        match migrate::version(&mut client)? {
            0 => Err(DatabaseError::Empty),
            found => migrate::refuse_later(found).map(|()| Self { client }),
        }
    }

    /// Those of these logs that the database has.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn known_of(&mut self, checksums: &[Checksum]) -> Result<Vec<Checksum>, DatabaseError> {
        let wanted: Vec<&[u8]> = checksums.iter().map(|sum| &sum[..]).collect();
        let rows =
            self.client.query("SELECT checksum FROM lodestone.run WHERE checksum = ANY($1)", &[&wanted])?;
        Ok(rows.iter().map(|row| sum(row.get(0))).collect())
    }

    /// All runs of the database, the oldest first.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn runs(&mut self) -> Result<Vec<Known>, DatabaseError> {
        let rows = self.client.query("SELECT checksum, id FROM lodestone.run ORDER BY started, id", &[])?;
        Ok(rows.iter().map(|row| Known { checksum: sum(row.get(0)), id: row.get(1) }).collect())
    }

    /// A log as it was stored; `None` if it has been removed.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn log(&mut self, checksum: &Checksum) -> Result<Option<Vec<u8>>, DatabaseError> {
        let row =
            self.client.query_opt("SELECT log FROM lodestone.run WHERE checksum = $1", &[&&checksum[..]])?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Writes a run, unless the database has its log. True if it had not; then all of it is on stable storage.
    ///
    /// # Errors
    /// [`DatabaseError`]; nothing was written, or the connection ended before the acknowledgement.
    pub fn add(&mut self, run: &RunRow) -> Result<bool, DatabaseError> {
        let mut transaction =
            self.client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start()?;
        let is_new = write::run(&mut transaction, run)?;
        transaction.commit()?;
        Ok(is_new)
    }

    /// Replaces the changes of these machines.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub fn replace_changes(&mut self, hosts: &[String], changes: &[ChangeRow]) -> Result<(), DatabaseError> {
        let mut transaction =
            self.client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start()?;
        write::changes(&mut transaction, hosts, changes)?;
        Ok(transaction.commit()?)
    }
}

fn sum(bytes: &[u8]) -> Checksum {
    // The table admits no other length.
    bytes.try_into().unwrap_or_default()
}

/// Connects within the time limit of the address: on a thread, because the library has none for the server's first answer.
fn connect(destination: &Destination) -> Result<Client, DatabaseError> {
    let config = destination.config.clone();
    let encrypted = encryption::connector(destination.encryption, destination.roots.as_deref())?;
    let limit = config.get_connect_timeout().copied().unwrap_or_default() + GREETING;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(config.connect(encrypted));
    });
    match receiver.recv_timeout(limit) {
        Ok(connected) => Ok(connected?),
        Err(_) => Err(DatabaseError::Silent),
    }
}
