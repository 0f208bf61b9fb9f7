//! Writing the rows of a run: a statement for each table, its columns as arrays.

use std::borrow::Cow;

use postgres::{Error, Transaction};

use crate::rows::{ChangeRow, RunRow};

/// Key of the lock under which changes are replaced.
const CHANGES: i64 = 0x6c6f_6465_6368_616e;

/// A text without the character that PostgreSQL's texts cannot have.
fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// A JSON text without the escape that PostgreSQL's JSON cannot have.
fn json(text: &str) -> Cow<'_, str> {
    if text.contains("\\u0000") { text.replace("\\u0000", "\\ufffd").into() } else { text.into() }
}

fn texts<'a, T>(rows: &'a [T], of: impl Fn(&'a T) -> &'a str) -> Vec<Cow<'a, str>> {
    rows.iter().map(|row| text(of(row))).collect()
}

fn some<'a, T>(rows: &'a [T], of: impl Fn(&'a T) -> Option<&'a str>) -> Vec<Option<Cow<'a, str>>> {
    rows.iter().map(|row| of(row).map(text)).collect()
}

fn numbers<T, V>(rows: &[T], of: impl Fn(&T) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}

/// Writes a run, unless its log is there. True if it was not.
pub(crate) fn run(to: &mut Transaction<'_>, run: &RunRow) -> Result<bool, Error> {
    let written = to.execute(
        "INSERT INTO lodestone.run
            (checksum, id, host, suite, plan, started, seconds, state, version, is_imported, is_anonymous, answer, log)
         VALUES ($1, $2, $3, $4, $5, timestamptz 'epoch' + $6::bigint * interval '1 microsecond',
            $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT DO NOTHING",
        &[
            &&run.checksum[..],
            &text(&run.id),
            &text(&run.host),
            &text(&run.suite),
            &text(&run.plan),
            &run.started_unix_us,
            &run.seconds,
            &text(&run.state),
            &text(&run.version),
            &run.is_imported,
            &run.is_anonymous,
            &texts(&run.answer, String::as_str),
            &run.log,
        ],
    )?;
    if written == 0 {
        return Ok(false);
    }
    targets(to, run)?;
    measurements(to, run)?;
    comparisons(to, run)?;
    findings(to, run)?;
    verdicts(to, run)?;
    Ok(true)
}

fn targets(to: &mut Transaction<'_>, run: &RunRow) -> Result<u64, Error> {
    let rows = &run.targets;
    let json = |of: fn(&crate::rows::TargetRow) -> &str| -> Vec<Cow<'_, str>> {
        rows.iter().map(|row| json(of(row))).collect()
    };
    to.execute(
        "INSERT INTO lodestone.target (run, host, name, kind, path, bytes, filesystem, device, labels, stack)
         SELECT $1, host, name, kind, path, bytes, filesystem, device, labels::jsonb, stack::jsonb
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[],
            $10::text[]) AS row (host, name, kind, path, bytes, filesystem, device, labels, stack)",
        &[
            &&run.checksum[..],
            &texts(rows, |r| &r.host),
            &texts(rows, |r| &r.name),
            &texts(rows, |r| &r.kind),
            &texts(rows, |r| &r.path),
            &numbers(rows, |r| i64::try_from(r.bytes).unwrap_or(i64::MAX)),
            &some(rows, |r| r.filesystem.as_deref()),
            &some(rows, |r| r.device.as_deref()),
            &json(|r| &r.labels),
            &json(|r| &r.stack),
        ],
    )
}

fn measurements(to: &mut Transaction<'_>, run: &RunRow) -> Result<u64, Error> {
    let rows = &run.measurements;
    to.execute(
        "INSERT INTO lodestone.measurement
            (run, host, target, step, title, operation, metric, unit, value, low, high, repeats, is_headline, better)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::float8[], $10::float8[], $11::float8[], $12::integer[], $13::boolean[], $14::text[])",
        &[
            &&run.checksum[..],
            &texts(rows, |r| &r.host),
            &texts(rows, |r| &r.target),
            &texts(rows, |r| &r.step),
            &texts(rows, |r| &r.title),
            &texts(rows, |r| &r.operation),
            &texts(rows, |r| &r.metric),
            &texts(rows, |r| &r.unit),
            &numbers(rows, |r| r.value),
            &numbers(rows, |r| r.low),
            &numbers(rows, |r| r.high),
            &numbers(rows, |r| i32::try_from(r.repeats).unwrap_or(i32::MAX)),
            &numbers(rows, |r| r.is_headline),
            &texts(rows, |r| &r.better),
        ],
    )
}

fn comparisons(to: &mut Transaction<'_>, run: &RunRow) -> Result<u64, Error> {
    let rows = &run.comparisons;
    to.execute(
        "INSERT INTO lodestone.comparison
            (run, step, operation, metric, target, baseline, ratio, low, high, verdict)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[],
            $8::float8[], $9::float8[], $10::text[])",
        &[
            &&run.checksum[..],
            &texts(rows, |r| &r.step),
            &texts(rows, |r| &r.operation),
            &texts(rows, |r| &r.metric),
            &texts(rows, |r| &r.target),
            &texts(rows, |r| &r.baseline),
            &numbers(rows, |r| r.ratio),
            &numbers(rows, |r| r.low),
            &numbers(rows, |r| r.high),
            &texts(rows, |r| &r.verdict),
        ],
    )
}

fn findings(to: &mut Transaction<'_>, run: &RunRow) -> Result<u64, Error> {
    let rows = &run.findings;
    to.execute(
        "INSERT INTO lodestone.finding (run, severity, rule, target, step, message, advice)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])",
        &[
            &&run.checksum[..],
            &texts(rows, |r| &r.severity),
            &texts(rows, |r| &r.rule),
            &some(rows, |r| r.target.as_deref()),
            &some(rows, |r| r.step.as_deref()),
            &texts(rows, |r| &r.message),
            &some(rows, |r| r.advice.as_deref()),
        ],
    )
}

fn verdicts(to: &mut Transaction<'_>, run: &RunRow) -> Result<u64, Error> {
    let rows = &run.verdicts;
    to.execute(
        "INSERT INTO lodestone.verdict
            (run, profile, target, step, operation, metric, unit, bound, bound_value, value, low, high, verdict, message)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::float8[], $10::float8[], $11::float8[], $12::float8[], $13::text[], $14::text[])",
        &[
            &&run.checksum[..],
            &texts(rows, |r| &r.profile),
            &texts(rows, |r| &r.target),
            &texts(rows, |r| &r.step),
            &texts(rows, |r| &r.operation),
            &texts(rows, |r| &r.metric),
            &texts(rows, |r| &r.unit),
            &texts(rows, |r| &r.bound),
            &numbers(rows, |r| r.limit),
            &numbers(rows, |r| r.value),
            &numbers(rows, |r| r.low),
            &numbers(rows, |r| r.high),
            &texts(rows, |r| &r.verdict),
            &texts(rows, |r| &r.message),
        ],
    )
}

/// Replaces the changes of these machines. Two programs at once do it one after the other.
pub(crate) fn changes(to: &mut Transaction<'_>, hosts: &[String], rows: &[ChangeRow]) -> Result<(), Error> {
    to.execute("SELECT pg_advisory_xact_lock($1)", &[&CHANGES])?;
    to.execute("DELETE FROM lodestone.change WHERE host = ANY($1)", &[&texts(hosts, String::as_str)])?;
    to.execute(
        "INSERT INTO lodestone.change
            (host, target, step, workload, title, operation, metric, run, started, ratio, low, high, is_confirmed)
         SELECT host, target, step, workload, title, operation, metric, run,
            timestamptz 'epoch' + started * interval '1 microsecond', ratio, low, high, is_confirmed
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::bigint[], $10::float8[], $11::float8[], $12::float8[], $13::boolean[])
            AS row (host, target, step, workload, title, operation, metric, run, started, ratio, low, high, is_confirmed)
         ON CONFLICT DO NOTHING",
        &[
            &texts(rows, |r| &r.host),
            &texts(rows, |r| &r.target),
            &texts(rows, |r| &r.step),
            &texts(rows, |r| &r.workload),
            &texts(rows, |r| &r.title),
            &texts(rows, |r| &r.operation),
            &texts(rows, |r| &r.metric),
            &texts(rows, |r| &r.run),
            &numbers(rows, |r| r.started_unix_us),
            &numbers(rows, |r| r.ratio),
            &numbers(rows, |r| r.low),
            &numbers(rows, |r| r.high),
            &numbers(rows, |r| r.is_confirmed),
        ],
    )?;
    Ok(())
}
