//! Many runs in PostgreSQL: how fast they get there, and how long questions about all of them take, there and in a store.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use testing::PostgreSql;

use crate::made_runs::{Costs, MadeRuns, MadeRunsArgs};
use crate::measured;
use crate::setting::Setting;
use crate::table::markdown;

/// What is pushed.
#[derive(Clone, Debug, clap::Args)]
pub struct PushArgs {
    /// The program, and a directory on the disk for the runs
    #[command(flatten)]
    setting: Setting,
    /// The runs
    #[command(flatten)]
    runs: MadeRunsArgs,
}

/// Questions of the dashboard, and one that reads everything.
const QUESTIONS: [(&str, &str); 4] = [
    (
        "one figure of one machine, all runs",
        "SELECT r.started, m.low, m.value, m.high FROM lodestone.measurement m JOIN lodestone.run r ON r.checksum = m.run \
         WHERE m.host = 'node01' AND m.target = 'disk' AND m.step = 'rand-read-d32' AND m.metric = 'lat_p99' ORDER BY r.started",
    ),
    (
        "the last fifty runs with their answers",
        "SELECT started, id, host, suite, state, array_to_string(answer, ' ') FROM lodestone.run ORDER BY started DESC LIMIT 50",
    ),
    (
        "all changes",
        "SELECT started, run, host, target, title, ratio FROM lodestone.change ORDER BY started DESC",
    ),
    (
        "the mean of every figure of every machine by month",
        "SELECT m.host, m.target, m.step, m.operation, m.metric, date_trunc('month', r.started), avg(m.value) \
         FROM lodestone.measurement m JOIN lodestone.run r ON r.checksum = m.run GROUP BY 1, 2, 3, 4, 5, 6",
    ),
];

/// Pushes many runs to a server of its own, and asks both about all of them.
///
/// # Errors
/// There is no PostgreSQL, a run fails, or the program.
pub fn push(args: &PushArgs) -> io::Result<String> {
    let scratch = tempfile::Builder::new().prefix("push-").tempdir_in(&args.setting.turns.place)?;
    // PostgreSQL runs as another user than root.
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
    let program = args.setting.programs.lodestone();
    let mut made = MadeRuns::new(&args.runs, &program, scratch.path())?;
    made.add(args.runs.runs - 1)?;
    let absent = || io::Error::other("there is no PostgreSQL here (Debian: postgresql)");
    let server = PostgreSql::start_durable(scratch.path()).ok_or_else(absent)?;
    let address = server.database("disks");
    let store = made.store().display().to_string();
    let lodestone = |what: &[&str]| -> io::Result<measured::Cost> {
        let words: Vec<String> =
            [what, &["--store", &store]].concat().into_iter().map(str::to_owned).collect();
        measured::run(&program, &words)
    };
    let mut costs = Costs::default();
    costs.add("history, the first time", &lodestone(&["history"])?);
    costs.add("history, again", &lodestone(&["history"])?);
    let pushed = lodestone(&["push", "--to", &address])?;
    costs.add("push, the first time", &pushed);
    costs.add("push, nothing new", &lodestone(&["push", "--to", &address])?);
    made.add(1)?;
    costs.add("push, one run more", &lodestone(&["push", "--to", &address])?);
    let rows: Vec<Vec<String>> =
        QUESTIONS.iter().map(|(what, question)| asked(&server, what, question)).collect();
    let bytes = server.sql("disks", "SELECT pg_database_size('disks')").parse::<u64>().unwrap_or(0);
    Ok(format!(
        "{}\n\n{costs}\n{:.0} pushes a second; the database has {} MiB.\n\n{}",
        made.words(),
        (args.runs.runs - 1) as f64 / pushed.wall.as_secs_f64(),
        bytes >> 20,
        markdown(&["question to the database", "rows", "time"], &rows),
    ))
}

/// How long the database takes for a question, by psql, and how many rows it answers.
fn asked(server: &PostgreSql, what: &str, question: &str) -> Vec<String> {
    let began = Instant::now();
    let rows = server.sql("disks", question).lines().count();
    let time: Duration = began.elapsed();
    vec![what.to_owned(), rows.to_string(), format!("{:.2} s", time.as_secs_f64())]
}
