//! The flags of `push` and `pull`, and those of `run` that push.

use clap::Args;

const DATABASE: &str = "Database";

/// Arguments of `push`.
#[derive(Debug, Args)]
#[command(after_long_help = PUSH_HELP)]
pub struct PushArgs {
    /// Runs: ids or prefixes of ids, last, or last~1 for the one before [default: all that have ended]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    /// Address of the PostgreSQL database
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store), omit the command
    /// line and all messages, in the log, too, and report what was replaced. The suite, step ids and titles remain
    #[arg(long)]
    pub anonymous: bool,
}

const PUSH_HELP: &str = "\
A run is in the database once, however often it is pushed. The database gets a schema `lodestone`, whose tables
docs/reference/database.md describes. Without a password in the URL, PGPASSWORD or ~/.pgpass has it. sslmode and sslrootcert in
the URL mean what they mean to psql: the connection is encrypted if the server offers it, and with verify-full only to the right server.

Examples:
  lodestone push --to postgres://me@db.example.org/bench    all runs that are not there yet
  lodestone push last --to 'postgres:///bench?host=/run/postgresql'    the last run, by a Unix socket
  lodestone run /mnt/ssd --push postgres://me@db.example.org/bench    a run that is pushed when it has ended
  lodestone pull --from postgres://me@db.example.org/bench    all runs that this store has not";

/// Arguments of `pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// Runs: ids or prefixes of ids [default: all that the store has not]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    /// Address of the PostgreSQL database
    #[arg(long, value_name = "URL")]
    pub from: String,
}

/// Pushing at the end of a run.
#[derive(Debug, Args)]
pub struct RunPushArgs {
    /// Push the run to this PostgreSQL database when it has ended, as `push` does; while the database is away, the run waits in a queue
    #[arg(long, hide_short_help = true, value_name = "URL", help_heading = DATABASE)]
    pub push: Option<String>,

    /// With --push: replace names with pseudonyms, as `push --anonymous` does
    #[arg(long, hide_short_help = true, requires = "push", help_heading = DATABASE)]
    pub push_anonymous: bool,
}
