//! `push` and `pull`, against a real PostgreSQL.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex, Weak};

use crate::common::*;
use serde_json::Value;

const TABLES: [&str; 7] = ["run", "target", "measurement", "comparison", "finding", "verdict", "change"];
pub const SUITE: &str = "[[step]]\nid = \"reads\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"4MiB\"\nruntime = \"=20ms\"\n\
                     ramp = \"0s\"\n";

/// The server that the tests share which run at the same time.
pub fn server() -> Option<Arc<PostgreSql>> {
    static SHARED: Mutex<Weak<PostgreSql>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(PostgreSql::start()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// Imports as many outputs of dd, each a run.
fn import(bench: &Bench, count: usize) {
    for n in 0..count {
        let file = bench.path(&format!("dd{n}.txt"));
        let text = format!(
            "512+0 records in\n512+0 records out\n536870912 bytes (537 MB, 512 MiB) copied, {n}.5 s, 215 MB/s\n"
        );
        std::fs::write(&file, text).unwrap();
        bench.ok(&["import", file.to_str().unwrap(), "--label", "device=ssd"]);
    }
}

/// Durations of dd in seconds, before and after a change.
pub const BEFORE: [f64; 6] = [2.51, 2.5, 2.52, 2.49, 2.505, 2.515];
pub const AFTER: [f64; 6] = [5.02, 5.0, 5.04, 4.98, 5.01, 5.03];

/// Imports outputs of dd that took so many seconds, on the machine `pi`.
pub fn import_durations(bench: &Bench, seconds: &[f64]) {
    for s in seconds {
        let file = bench.path(&format!("dd{s}.txt"));
        let speed = 536.870912 / s;
        let text = format!(
            "512+0 records in\n512+0 records out\n536870912 bytes (537 MB, 512 MiB) copied, {s} s, {speed:.0} MB/s\n"
        );
        std::fs::write(&file, text).unwrap();
        bench.ok(&["import", file.to_str().unwrap(), "--label", "device=ssd", "--label", "host=pi"]);
    }
}

/// Two targets, measured for a moment, with further arguments.
fn measure(bench: &Bench, more: &[&str]) -> std::process::Output {
    measure_suite(bench, "--suite", SUITE, more)
}

/// The same with another suite, which `option` names.
pub fn measure_suite(bench: &Bench, option: &str, content: &str, more: &[&str]) -> std::process::Output {
    let suite = bench.path("own.toml");
    std::fs::write(&suite, content).unwrap();
    let [a, b] = ["one", "two"].map(|name| {
        std::fs::create_dir_all(bench.disk().join(name)).unwrap();
        format!("{name}={}", bench.disk().join(name).display())
    });
    let fixed = ["run", &a, &b, option, suite.to_str().unwrap(), "--rounds=2", "--quiet", "--no-report"];
    bench.run(&[&fixed[..], more].concat())
}

/// Number of the rows of each table, and a digest of all of them but the time at which they were written.
fn content(server: &PostgreSql, database: &str) -> BTreeMap<&'static str, String> {
    let of = |table: &'static str| {
        let row = if table == "run" { "(to_jsonb(t) - 'pushed')" } else { "to_jsonb(t)" };
        let digest = format!("md5(string_agg({row}::text, '' ORDER BY {row}::text))");
        (table, server.sql(database, &format!("SELECT count(*), {digest} FROM lodestone.{table} t")))
    };
    TABLES.into_iter().map(of).collect()
}

fn ids(bench: &Bench) -> Vec<String> {
    let listed: Value = serde_json::from_str(&bench.ok(&["list", "--json"])).unwrap();
    listed.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_is_in_a_database_once_and_can_be_made_anew_from_it() {
    let Some(server) = server() else { return };
    let bench = Bench::new();
    import(&bench, 2);
    assert!(measure(&bench, &[]).status.success());
    let url = server.database("whole");
    let refused = bench.fails(3, &["pull", "--from", &url]);
    assert!(refused.contains("it has no schema `lodestone`"), "{refused}");
    let told = bench.ok(&["push", "last", "--to", &url]);
    assert!(told.starts_with("pushed 1 run to postgres:///whole"), "{told}");
    let told = bench.ok(&["push", "--to", &url]);
    assert!(told.starts_with("pushed 2 runs to ") && told.ends_with(", 1 was there already\n"), "{told}");
    let first = content(&server, "whole");
    for (table, least) in [("run", 3), ("target", 4), ("measurement", 20), ("comparison", 1), ("finding", 1)]
    {
        let count: usize = first[table].split('|').next().unwrap().parse().unwrap();
        assert!(count >= least, "{table}: {count}");
    }
    let told = bench.ok(&["push", "--to", &url]);
    assert!(told.starts_with("pushed 0 runs to ") && told.ends_with(", 3 were there already\n"), "{told}");
    assert_eq!(content(&server, "whole"), first);
    // The same figures as the export has.
    let export: Value = serde_json::from_str(&bench.ok(&["export", "last"])).unwrap();
    let id = export["run"]["id"].as_str().unwrap();
    let of_run = format!("WHERE run = (SELECT checksum FROM lodestone.run WHERE id = '{id}')");
    let measured =
        server.sql("whole", &format!("SELECT count(*), sum(value) FROM lodestone.measurement {of_run}"));
    let figures: Vec<f64> =
        export["measurements"].as_array().unwrap().iter().map(|m| m["estimate"].as_f64().unwrap()).collect();
    let (count, sum) = measured.split_once('|').unwrap();
    assert_eq!(count, figures.len().to_string());
    let expected: f64 = figures.iter().sum();
    assert!((sum.parse::<f64>().unwrap() / expected - 1.0).abs() < 1e-9, "{sum} {expected}");

    // Into an empty store.
    let other = Bench::new();
    let told = other.ok(&["pull", "--from", &url]);
    assert!(told.starts_with("pulled 3 runs from "), "{told}");
    assert_eq!(ids(&other), ids(&bench));
    for id in ids(&bench) {
        assert_eq!(other.ok(&["show", &id, "--details"]), bench.ok(&["show", &id, "--details"]));
    }
    let told = other.ok(&["pull", "--from", &url]);
    assert!(told.starts_with("pulled 0 runs from ") && told.ends_with(", 3 were there already\n"), "{told}");
    let refused = other.fails(2, &["pull", "zzzz", "--from", &url]);
    assert!(refused.contains("there is no run `zzzz` in postgres:///whole"), "{refused}");

    // Two programs at once, into a database without a schema.
    for n in 0..3 {
        let name = format!("twice{n}");
        let url = server.database(&name);
        let both = [(); 2].map(|()| Running::start(&mut bench.command(&["push", "--to", &url])));
        for one in both {
            let output = one.output();
            assert!(output.status.success(), "{}", stderr(&output));
        }
        assert_eq!(content(&server, &name), first);
    }

    // A log that was changed is told and left out.
    let logs = bench.store().join("runs");
    let mut names = visible(&logs);
    names.sort();
    let log = logs.join(&names[0]);
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&log, bytes).unwrap();
    let url = server.database("rest");
    let output = bench.run(&["push", "--to", &url]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("pushed 2 runs") && stdout(&output).contains("1 was left out"),
        "{}",
        stdout(&output)
    );
    // And one that was changed in the database.
    server.sql("rest", "UPDATE lodestone.run SET log = substr(log, 1, 40)");
    let other = Bench::new();
    let told = other.fails(1, &["pull", "--from", &url]);
    assert!(told.contains("does not match its checksum"), "{told}");
    server.sql("rest", "INSERT INTO lodestone.schema_version VALUES (999)");
    for arguments in [["push", "--to", &url], ["pull", "--from", &url]] {
        let refused = bench.fails(3, &arguments);
        assert!(refused.contains("has version 999") && refused.contains("use a newer version"), "{refused}");
    }
}

#[test]
fn a_run_waits_in_the_queue_while_the_database_is_away() {
    let Some(mut server) = PostgreSql::start() else { return };
    let bench = Bench::new();
    let url = server.database("away");
    let queue = bench.store().join("push-queue");
    let with_password = url.replace("user=postgres", "user=postgres&password=secret");
    server.stop();
    let output = measure(&bench, &["--push", &with_password]);
    // The exit code is that of the run.
    assert!(output.status.success(), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("is not in the database yet") && told.contains("it is queued"), "{told}");
    let text = std::fs::read_to_string(&queue).unwrap();
    assert!(text.lines().count() == 1 && !text.contains("secret"), "{text}");
    let refused = bench.fails(3, &["push", "--to", &url]);
    assert!(refused.contains("cannot push to postgres:///away"), "{refused}");
    server.resume();
    // The next run takes it along.
    let output = measure(&bench, &["--push", &url, "--json"]);
    assert!(output.status.success() && serde_json::from_slice::<Value>(&output.stdout).is_ok());
    assert!(stderr(&output).contains("pushed 2 runs to postgres:///away"), "{}", stderr(&output));
    assert!(!queue.exists());
    assert_eq!(server.sql("away", "SELECT count(*) FROM lodestone.run"), "2");
    // Killed between the acknowledgement and the removal.
    server.stop();
    assert!(measure(&bench, &["--push", &url]).status.success());
    server.resume();
    let line = std::fs::read(&queue).unwrap();
    bench.ok(&["push", "--to", &url]);
    std::fs::write(&queue, line).unwrap();
    let told = bench.ok(&["push", "last~1", "--to", &url]);
    assert!(told.starts_with("pushed 0 runs to ") && told.ends_with(", 2 were there already\n"), "{told}");
    assert!(!queue.exists());
    // No password is stored: not in the command line of a log either.
    let logs = bench.store().join("runs");
    assert_eq!(visible(&logs).len(), 3);
    for name in visible(&logs) {
        let text = text_of(&logs.join(name));
        assert!(text.contains("postgres:///away") && !text.contains("secret"), "{text}");
    }
}

#[test]
fn what_is_wrong_with_an_address_is_told() {
    let Some(server) = server() else { return };
    let bench = Bench::new();
    import(&bench, 1);
    server.sql("postgres", &format!("CREATE ROLE {WITH_PASSWORD} LOGIN SUPERUSER PASSWORD 'right'"));
    let url = server.database("secret").replace("user=postgres", &format!("user={WITH_PASSWORD}"));
    let to = |url: &str| ["push", "--to", url].map(str::to_owned);
    let refused = |code: i32, url: &str, part: &str| {
        let arguments = to(url);
        let output = bench
            .command(&[&arguments[0], &arguments[1], &arguments[2]])
            .env_remove("PGPASSWORD")
            .output()
            .unwrap();
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.contains(part)), (Some(code), true), "{url}: {error}");
        assert!(!error.contains("wrong"), "{error}");
    };
    refused(2, "mysql://me:wrong@db/x", "does not begin with postgres://");
    refused(
        2,
        "postgres://me:wrong@db/x?sslmode=verify-full",
        "name a file in the address (sslrootcert=FILE)",
    );
    refused(2, "postgres://me:wrong@db/x?sslrootcert=/nothing", "cannot read sslrootcert /nothing");
    refused(3, &url, "give the password in PGPASSWORD, or in ~/.pgpass");
    refused(3, &format!("{url}&password=wrong"), "give the password in PGPASSWORD, or in ~/.pgpass");
    refused(3, &server.url("nothing"), "\"nothing\" does not exist; make it with `createdb`");
    refused(3, "postgres://me:wrong@127.0.0.1:1/x", "cannot push to postgres://me@127.0.0.1:1/x: ");
    refused(3, "postgres:///x?host=/nowhere&user=me", "cannot push to postgres:///x?host=/nowhere&user=me: ");
    refused(2, "postgres://me@db/x?unknown=1", "is not an address of a PostgreSQL database");
    let run = measure(&bench, &["--push", "nowhere"]);
    assert_eq!(run.status.code(), Some(2), "before anything is measured: {}", stdout(&run));
    // By the environment, and by a file that nobody else can read.
    let arguments = ["push", "--to", &url];
    let pushed = bench.command(&arguments).env("PGPASSWORD", "right").output().unwrap();
    assert!(pushed.status.success(), "{}", stderr(&pushed));
    let file = bench.path("passwords");
    std::fs::write(&file, format!("{}:*:secret:{WITH_PASSWORD}:right\n", server.socket().display())).unwrap();
    for (mode, code) in [(0o600, 0), (0o644, 3)] {
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let pushed =
            bench.command(&arguments).env_remove("PGPASSWORD").env("PGPASSFILE", &file).output().unwrap();
        assert_eq!(pushed.status.code(), Some(code), "{}", stderr(&pushed));
        assert_eq!(stderr(&pushed).contains("is ignored because others can read it"), mode == 0o644);
    }
}

#[test]
fn an_anonymous_push_has_no_names() {
    let Some(server) = server() else { return };
    let bench = Bench::new();
    assert!(measure(&bench, &["--label", "owner=nobodyknows"]).status.success());
    let url = server.database("anonymous");
    for there in ["", ", 1 was there already"] {
        let output = bench.run(&["push", "--anonymous", "--to", &url]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(
            stderr(&output).contains("replaced by pseudonyms: "),
            there.is_empty(),
            "{}",
            stderr(&output)
        );
        let told = stdout(&output);
        assert!(told.trim_end().ends_with(&format!("user=postgres{there}")), "{told}");
    }
    assert_eq!(server.sql("anonymous", "SELECT bool_and(is_anonymous), count(*) FROM lodestone.run"), "t|1");
    let other = Bench::new();
    other.ok(&["pull", "--from", &url]);
    let log = text_of(&other.store().join("runs").join(&visible(&other.store().join("runs"))[0]));
    let rows: String = TABLES
        .iter()
        .map(|table| {
            let columns = if *table == "run" { "to_jsonb(t) - 'log'" } else { "to_jsonb(t)" };
            server.sql("anonymous", &format!("SELECT {columns} FROM lodestone.{table} t"))
        })
        .collect();
    let export: Value = serde_json::from_str(&bench.ok(&["export", "last"])).unwrap();
    let secrets =
        ["nobodyknows", export["run"]["host"]["id"].as_str().unwrap(), bench.disk().to_str().unwrap()]
            .map(str::to_owned);
    for secret in secrets {
        assert!(!log.contains(&secret) && !rows.contains(&secret), "{secret}");
    }
    assert!(other.ok(&["show", "last"]).contains("random read"));
}

/// Kills of `push`: the full check tries a hundred.
#[test]
fn a_push_that_is_killed_and_repeated_writes_each_run_once() {
    let Some(server) = server() else { return };
    let kills = if is_full_check() { 100 } else { 10 };
    let bench = Bench::new();
    import(&bench, 6);
    assert!(measure(&bench, &[]).status.success());
    let url = server.database("clean");
    let began = std::time::Instant::now();
    bench.ok(&["push", "--to", &url]);
    let whole = began.elapsed();
    let clean = content(&server, "clean");
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut killed = 0;
    for n in 0..kills {
        let database = format!("killed{n}");
        let url = server.database(&database);
        let mut left = 0;
        // A database is pushed to until a push survives.
        loop {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let moment = whole.mul_f64((state >> 11) as f64 / (1u64 << 53) as f64);
            let mut child =
                bench.command(&["push", "--to", &url]).stdout(std::process::Stdio::piped()).spawn().unwrap();
            std::thread::sleep(moment);
            let _ = child.kill();
            if child.wait_with_output().unwrap().status.success() {
                break;
            }
            killed += 1;
            left += 1;
            if left == 2 {
                bench.ok(&["push", "--to", &url]);
                break;
            }
        }
        assert_eq!(content(&server, &database), clean, "after {left} kills");
        server.sql("postgres", &format!("DROP DATABASE {database} WITH (FORCE)"));
    }
    assert!(killed > 0, "no push was killed before it ended");
}

#[test]
fn the_changes_of_a_store_are_those_of_its_history_and_are_replaced() {
    let Some(server) = server() else { return };
    let bench = Bench::new();
    let told = || -> Vec<String> {
        let history: Value = serde_json::from_str(&bench.ok(&["history", "--json"])).unwrap();
        let all = history["histories"].as_array().unwrap().iter();
        let mut ids: Vec<String> = all
            .flat_map(|h| h["changes"].as_array().unwrap().clone())
            .map(|c| c["run"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let url = server.database("changes");
    let stored = || -> Vec<String> {
        let rows = server.sql("changes", "SELECT run FROM lodestone.change WHERE host = 'pi' ORDER BY run");
        rows.lines().map(str::to_owned).collect()
    };
    import_durations(&bench, &BEFORE);
    bench.ok(&["push", "--to", &url]);
    assert_eq!(stored(), [""; 0]);
    import_durations(&bench, &AFTER);
    bench.ok(&["push", "--to", &url]);
    assert!(!stored().is_empty());
    assert_eq!(stored(), told());
    bench.ok(&["push", "--to", &url]);
    assert_eq!(stored(), told());
    let ratio: f64 =
        server.sql("changes", "SELECT min(ratio) FROM lodestone.change WHERE is_confirmed").parse().unwrap();
    assert!((0.45..0.55).contains(&ratio), "{ratio}");
}

/// The server lets in on the network only who encrypts.
#[test]
fn a_connection_is_encrypted_and_the_server_checked_as_the_address_demands() {
    let Some(server) = PostgreSql::start_encrypted() else { return };
    let bench = Bench::new();
    import(&bench, 1);
    server.database("secret");
    let port = server.port().unwrap();
    let push = |host: &str, parameters: &str| {
        let url = format!("postgres://postgres@{host}:{port}/secret?{parameters}");
        let output = bench.command(&["push", "--to", &url]).env("HOME", bench.path("")).output().unwrap();
        (output.status.code().unwrap(), stderr(&output))
    };
    let trusting =
        |mode: &str, name: &str| format!("sslmode={mode}&sslrootcert={}", server.certificate(name).display());
    let taken = |host: &str, parameters: &str| {
        let (code, error) = push(host, parameters);
        assert_eq!(code, 0, "{host} {parameters}: {error}");
    };
    taken("localhost", "");
    taken("localhost", "sslmode=require");
    taken("localhost", &trusting("prefer", "other"));
    for mode in ["require", "verify-ca", "verify-full"] {
        taken("localhost", &trusting(mode, "authority"));
        let (code, error) = push("localhost", &trusting(mode, "other"));
        assert!(code == 3 && error.contains("is not trusted") && error.contains("UnknownIssuer"), "{error}");
    }
    // Its own certificate is trusted as such.
    taken("localhost", &trusting("verify-full", "server"));
    // The certificate is for the name and not for the address.
    taken("127.0.0.1", &trusting("verify-ca", "authority"));
    for name in ["authority", "server"] {
        let (code, error) = push("127.0.0.1", &trusting("verify-full", name));
        assert!(code == 3 && error.contains("is not trusted") && error.contains("not valid for"), "{error}");
    }
    let (code, error) = push("localhost", "sslmode=disable");
    assert!(code == 3 && error.contains("no encryption"), "{error}");
    // The certificates that PostgreSQL's own programs trust.
    std::fs::create_dir_all(bench.path(".postgresql")).unwrap();
    std::fs::copy(server.certificate("authority"), bench.path(".postgresql/root.crt")).unwrap();
    taken("localhost", "sslmode=verify-full");
    // A server that answers the wish for encryption with no.
    let plain = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("postgres://me@127.0.0.1:{}/x?sslmode=require", plain.local_addr().unwrap().port());
    let answer = std::thread::spawn(move || {
        let (mut client, _) = plain.accept().unwrap();
        client.read_exact(&mut [0; 8]).unwrap();
        client.write_all(b"N").unwrap();
    });
    let error = bench.fails(3, &["push", "--to", &url]);
    assert!(error.contains("the server offers no encryption"), "{error}");
    answer.join().unwrap();
}
