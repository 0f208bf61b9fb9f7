//! The schema, as numbered migrations.

use postgres::Client;

use crate::error::DatabaseError;

/// The migrations, the first one first. One that was released never changes.
pub const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];
/// Version of the schema that this program reads and writes.
pub const VERSION: i32 = MIGRATIONS.len() as i32;

/// Key of the lock under which a migration runs.
const LOCK: i64 = 0x6c6f_6465_7374_6f6e;

/// Makes the table of versions, in which a migration that was applied has a row.
const FIRST: &str = "
CREATE SCHEMA IF NOT EXISTS lodestone;
CREATE TABLE IF NOT EXISTS lodestone.schema_version (
    version integer PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lodestone.schema_version IS 'The migrations that were applied; the highest is the version of the schema.';
COMMENT ON COLUMN lodestone.schema_version.version IS 'Number of the migration.';
COMMENT ON COLUMN lodestone.schema_version.applied IS 'When it was applied.';
";

/// The version of a database's schema; 0 if it has none.
///
/// # Errors
/// An error of the database.
pub(crate) fn version(client: &mut impl postgres::GenericClient) -> Result<i32, postgres::Error> {
    // Not `to_regclass`: within a transaction it answers from a cache what was true before another program migrated.
    let found =
        "SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'lodestone' AND tablename = 'schema_version'";
    if client.query_opt(found, &[])?.is_none() {
        return Ok(0);
    }
    let row = client.query_one("SELECT coalesce(max(version), 0) FROM lodestone.schema_version", &[])?;
    Ok(row.get(0))
}

/// Brings the schema to the version of this program.
///
/// # Errors
/// The database has a later version, or refuses a migration.
pub(crate) fn migrate(client: &mut Client) -> Result<(), DatabaseError> {
    loop {
        let found = version(client)?;
        if found == VERSION {
            return Ok(());
        }
        refuse_later(found)?;
        let mut transaction = client.transaction()?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
        // Another program may have migrated while this one waited.
        let found = version(&mut transaction)?;
        let next = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found));
        if let Some(migration) = next {
            if found == 0 {
                transaction.batch_execute(FIRST)?;
            }
            transaction.batch_execute(migration)?;
            transaction
                .execute("INSERT INTO lodestone.schema_version (version) VALUES ($1)", &[&(found + 1)])?;
        }
        transaction.commit()?;
    }
}

/// # Errors
/// The version is later than this program's.
pub(crate) fn refuse_later(found: i32) -> Result<(), DatabaseError> {
    if found > VERSION { Err(DatabaseError::TooNew { found, supported: VERSION }) } else { Ok(()) }
}
