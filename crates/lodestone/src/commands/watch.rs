//! `watch`: the same run again and again, and a word when something changes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::programs::End;
use host::{Roots, identify, readiness};
use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp, Zoned};
use model::units::{parse_duration_ns, parse_size};
use record::{LeftOut, Store};
use twox_hash::XxHash3_64;

use super::history::{Found, follow, written_since};
use super::{store, view};
use crate::cli::{Cli, HistoryArgs, WATCH_FLAGS, WatchedArgs};
use crate::failure::{FAILED, Failure, INTERRUPTED, MISSED};
use crate::{interrupt, output};

/// How long the machine is looked at before a run.
const LOOK: Duration = Duration::from_secs(1);
/// Period of looks at the clock, which may be set.
const TICK: Duration = Duration::from_millis(200);
/// A run that takes longer than two days hangs.
const LONGEST: Duration = Duration::from_secs(2 * 86_400);
/// Runs by which a change may move when more runs are known.
const NEAR: usize = 3;

/// When runs are due.
enum Rhythm {
    /// In each of these intervals since 1970, this much after its beginning.
    Every { interval: SignedDuration, phase: SignedDuration },
    /// At these times of the day, so much later.
    At { times: Vec<Time>, phase: SignedDuration },
}

impl Rhythm {
    fn of(args: &WatchedArgs, of_machine: u64) -> Result<Self, Failure> {
        let time = |flag: &str, text: &str| {
            let ns =
                parse_duration_ns(text).map_err(|error| Failure::usage(format!("{flag} {text}: {error}")))?;
            Ok::<_, Failure>(SignedDuration::from_nanos(ns.min(i64::MAX as u64) as i64))
        };
        let spread = args.spread.as_deref().map(|text| time("--spread", text)).transpose()?;
        // A part of the spread, between 0 and 1.
        let part = (of_machine >> 11) as f64 / (1u64 << 53) as f64;
        if let Some(every) = &args.every {
            let interval = time("--every", every)?;
            if interval < SignedDuration::from_secs(1) {
                return Err(Failure::usage(format!("--every {every}: at least 1s")));
            }
            let spread = spread.unwrap_or(interval / 10).min(interval);
            return Ok(Self::Every { interval, phase: spread.mul_f64(part) });
        }
        let at = |text: &String| {
            let wrong = || Failure::usage(format!("--at {text}: write times of the day as 08:00,20:00"));
            Time::strptime("%H:%M", text).map_err(|_| wrong())
        };
        let mut times = args.at.iter().map(at).collect::<Result<Vec<_>, _>>()?;
        times.sort();
        Ok(Self::At { times, phase: spread.unwrap_or(SignedDuration::from_mins(5)).mul_f64(part) })
    }

    /// The first due time after another.
    fn next(&self, after: &Zoned) -> Zoned {
        match self {
            Self::Every { interval, phase } => {
                let since = after.timestamp().as_nanosecond() - phase.as_nanos();
                let interval_ns = interval.as_nanos();
                let next = (since.div_euclid(interval_ns) + 1) * interval_ns + phase.as_nanos();
                let at = Timestamp::from_nanosecond(next).unwrap_or(Timestamp::MAX);
                at.to_zoned(after.time_zone().clone())
            }
            Self::At { times, phase } => {
                let on = |day: jiff::civil::Date, time: &Time| {
                    let at = day.to_datetime(*time).to_zoned(after.time_zone().clone()).ok()?;
                    at.checked_add(*phase).ok()
                };
                let days = std::iter::successors(after.date().yesterday().ok(), |day| day.tomorrow().ok());
                let mut due = days.take(4).flat_map(|day| times.iter().filter_map(move |time| on(day, time)));
                due.find(|at| at > after).unwrap_or_else(|| after.clone())
            }
        }
    }
}

/// The arguments of a single run: those of this command without its own flags.
fn run_arguments(mut given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (with_value, without) = WATCH_FLAGS;
    let mut kept: Vec<OsString> = Vec::new();
    let mut is_named = false;
    while let Some(word) = given.next() {
        let text = word.to_string_lossy();
        let is_flag =
            |flag: &str| text == flag || text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
        let follows_a_value =
            kept.last().is_some_and(|last| last == "--store" || last == "--color" || last == "--units");
        if !is_named && !follows_a_value && text == "watch" {
            is_named = true;
            kept.push("run".into());
        } else if with_value.into_iter().any(is_flag) {
            if !text.contains('=') {
                given.next();
            }
        } else if !without.contains(&&*text) && !["--quiet", "-q", "--json", "--no-report"].contains(&&*text)
        {
            kept.push(word);
        }
    }
    kept.extend(["--quiet", "--no-report", "--json"].map(OsString::from));
    kept
}

/// What the targets of a run are called, as far as the arguments say.
fn target_names(targets: &[OsString]) -> Vec<String> {
    let name = |target: &OsString| {
        let text = target.to_string_lossy();
        match text.split_once('=') {
            Some((name, _)) => Some(name.to_owned()),
            None => Some(std::fs::canonicalize(target).ok()?.file_name()?.to_string_lossy().into_owned()),
        }
    };
    let here = [OsString::from(".")];
    (if targets.is_empty() { &here } else { targets }).iter().filter_map(name).collect()
}

struct Watch<'a> {
    cli: &'a Cli,
    args: &'a WatchedArgs,
    store: Store,
    program: PathBuf,
    run: Vec<OsString>,
    targets: Vec<String>,
    write_limit: u64,
    interrupt: Arc<AtomicBool>,
    /// Changes that were told, by machine and the id of the first run after them.
    told: Vec<(String, String)>,
    has_changed: bool,
    has_failed: bool,
}

/// Measures again and again, and tells when something has changed.
///
/// # Errors
/// Wrong usage, or the store cannot be used. A run that fails is told, and the next one comes.
pub(super) fn watch(cli: &Cli, args: &WatchedArgs) -> Result<ExitCode, Failure> {
    let rhythm = rhythm(args)?;
    let mut watch = Watch::new(cli, args, std::env::args_os().skip(1))?;
    watch.check()?;
    let known = watch.changes().map(|found| watch.new_ones(&found)).unwrap_or_default();
    watch.told.extend(known.into_iter().map(|(known, _)| known));
    let mut now = Zoned::now();
    for done in 0.. {
        if args.runs.is_some_and(|runs| done >= runs) || args.until_change && watch.has_changed {
            break;
        }
        let due = if args.now && done == 0 { now.clone() } else { rhythm.next(&now) };
        if !cli.quiet {
            output::say(&format!("the next run is at {}", due.strftime("%Y-%m-%d %H:%M:%S")));
        }
        if !watch.wait_until(&due) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        watch.once()?;
        if watch.is_stopped() {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        // What became due meanwhile is left out.
        now = Zoned::now().max(due);
    }
    Ok(match (watch.has_changed, watch.has_failed) {
        (true, _) => ExitCode::from(MISSED),
        (false, true) => ExitCode::from(FAILED),
        (false, false) => ExitCode::SUCCESS,
    })
}

fn rhythm(args: &WatchedArgs) -> Result<Rhythm, Failure> {
    Rhythm::of(args, XxHash3_64::oneshot(identify(&Roots::default()).id.as_bytes()))
}

/// Checks the arguments of a watch that is to be installed, whose words these are. Returns how much later than others this machine
/// begins.
///
/// # Errors
/// What is wrong with them.
pub(super) fn check(cli: &Cli, args: &WatchedArgs, given: &[OsString]) -> Result<Duration, Failure> {
    let (Rhythm::Every { phase, .. } | Rhythm::At { phase, .. }) = rhythm(args)?;
    Watch::new(cli, args, given.iter().cloned())?.check()?;
    Ok(phase.unsigned_abs())
}

impl<'a> Watch<'a> {
    /// `given` are the words of the command line.
    fn new(
        cli: &'a Cli,
        args: &'a WatchedArgs,
        given: impl Iterator<Item = OsString>,
    ) -> Result<Self, Failure> {
        let write_limit = parse_size(&args.write_limit)
            .map_err(|error| Failure::usage(format!("--write-limit {}: {error}", args.write_limit)))?;
        if args.run.dry_run {
            return Err(Failure::usage(
                "--dry-run belongs to run: `lodestone run … --dry-run` shows what would be done",
            ));
        }
        let program = std::env::current_exe().map_err(|error| {
            Failure::failed(format!("cannot find the program itself: {error}")).because(&error)
        })?;
        Ok(Self {
            cli,
            args,
            store: store(cli)?,
            program,
            run: run_arguments(given),
            targets: target_names(&args.run.targets),
            write_limit,
            interrupt: interrupt::watch().map_err(|error| {
                Failure::failed(format!("cannot watch for Ctrl-C: {error}")).because(&error)
            })?,
            told: Vec::new(),
            has_changed: false,
            has_failed: false,
        })
    }
}

impl Watch<'_> {
    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Has the arguments of the runs checked, so that what is wrong with them is told now and not in an hour.
    ///
    /// # Errors
    /// What a run says to them.
    fn check(&self) -> Result<(), Failure> {
        let is_kept = |word: &&OsString| !["--json", "--no-report"].iter().any(|flag| *word == flag);
        let mut words: Vec<&OsString> = self.run.iter().filter(is_kept).collect();
        let dry_run = OsString::from("--dry-run");
        words.push(&dry_run);
        let ran = host::programs::run(&self.program, &words, Path::new("."), LONGEST, &self.interrupt);
        let ran =
            ran.map_err(|error| Failure::failed(format!("cannot start a run: {error}")).because(&error))?;
        if matches!(ran.end, End::Exited(0) | End::Interrupted) {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&ran.stderr);
        Err(Failure::usage(error.trim().trim_start_matches("lodestone: ").to_owned()))
    }

    /// False if the user stopped it.
    fn wait_until(&self, due: &Zoned) -> bool {
        while Zoned::now() < *due {
            if self.is_stopped() {
                return false;
            }
            std::thread::sleep(TICK);
        }
        !self.is_stopped()
    }

    /// One run, or the reasons why not, and what changed.
    fn once(&mut self) -> Result<(), Failure> {
        let reasons = self.reasons_against()?;
        if !reasons.is_empty() {
            self.tell(&format!("left out: {}", reasons.join("; ")))?;
            let at_unix_ns = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
            let left_out = LeftOut { at_unix_ns, targets: self.targets.clone(), reasons };
            self.store.record_left_out(&left_out).map_err(Failure::failed)?;
            return Ok(());
        }
        let ran = host::programs::run(&self.program, &self.run, Path::new("."), LONGEST, &self.interrupt);
        let ran =
            ran.map_err(|error| Failure::failed(format!("cannot start a run: {error}")).because(&error))?;
        let result: Option<serde_json::Value> = serde_json::from_slice(&ran.stdout).ok();
        let id = result.as_ref().and_then(|run| run["run"]["id"].as_str()).unwrap_or_default().to_owned();
        self.has_failed |= ran.end == End::Exited(i32::from(FAILED));
        match (&result, &ran.end) {
            (Some(run), _) => {
                let answer = run["answer"][0].as_str().unwrap_or("nothing was measured");
                self.tell(&format!("run {id}: {answer}"))?;
            }
            (None, End::Interrupted) => return Ok(()),
            (None, _) => {
                let error = String::from_utf8_lossy(&ran.stderr);
                let error = error.trim().lines().last().unwrap_or("it said nothing").to_owned();
                self.has_failed = true;
                self.tell(&format!("a run failed: {}", report::escape_line(&error)))?;
            }
        }
        let Some(found) = self.changes() else { return Ok(()) };
        for (known, sentence) in self.new_ones(&found) {
            self.told.push(known);
            self.has_changed = true;
            self.tell(&sentence)?;
            self.on_change(&sentence, &id)?;
        }
        Ok(())
    }

    fn reasons_against(&self) -> Result<Vec<String>, Failure> {
        const DAY: SignedDuration = SignedDuration::from_hours(24);
        let mut concerns = readiness::unfit(&Roots::default(), self.args.max_temperature, LOOK);
        concerns.retain(|concern| concern.topic != "busy" || !self.args.even_if_busy);
        let mut reasons: Vec<String> = concerns.into_iter().map(|concern| concern.message).collect();
        let since = Timestamp::now().checked_sub(DAY).unwrap_or(Timestamp::MIN);
        let since = i64::try_from(since.as_nanosecond()).unwrap_or(i64::MIN);
        let (written, last) = written_since(&self.store, since, &self.targets)?;
        if written.saturating_add(last) > self.write_limit {
            reasons.push(format!(
                "{} were written within a day and a run writes {}, more than --write-limit {} allows",
                bytes(self.cli, written),
                bytes(self.cli, last),
                self.args.write_limit
            ));
        }
        Ok(reasons)
    }

    /// What is known of the history; `None` if there is none yet.
    fn changes(&self) -> Option<Found> {
        follow(&self.store, &HistoryArgs { target: self.targets.clone(), ..HistoryArgs::default() }).ok()
    }

    /// The changes that were not told yet, the earliest first.
    fn new_ones(&self, found: &Found) -> Vec<((String, String), String)> {
        let view = view(self.cli, None, "");
        let sentences = found.told(&view).moment_sentences();
        let number = |id: &str| found.runs.iter().position(|run| run.id == id);
        let is_told = |host: &str, run: usize| {
            let told = self.told.iter().filter(|(other, _)| other == host);
            told.filter_map(|(_, id)| number(id)).any(|other| other.abs_diff(run) <= NEAR)
        };
        let new =
            found.moments.iter().zip(sentences).filter(|((moment, _), _)| !is_told(&moment.host, moment.run));
        let known = |((moment, _), sentence): (&(analyse::Moment, _), String)| {
            ((moment.host.clone(), found.runs[moment.run].id.clone()), sentence)
        };
        let mut all: Vec<_> = new.map(known).collect();
        all.reverse();
        all
    }

    fn on_change(&self, sentence: &str, run: &str) -> Result<(), Failure> {
        let Some(command) = &self.args.on_change else { return Ok(()) };
        let shell = host::programs::find_by_path(&Roots::default(), "sh")
            .ok_or_else(|| Failure::failed("--on-change: there is no shell (sh)"))?;
        // What it is told goes as an argument of the shell, never as a part of its text.
        let script =
            format!("LODESTONE_CHANGE=$1 LODESTONE_RUN=$2; export LODESTONE_CHANGE LODESTONE_RUN; {command}");
        let words = ["-c", script.as_str(), "lodestone", sentence, run];
        let ran = host::programs::run(&shell, &words, Path::new("."), LONGEST, &self.interrupt)
            .map_err(|error| Failure::failed(format!("cannot run --on-change: {error}")).because(&error))?;
        output::print_bytes(&ran.stdout)?;
        if ran.end != End::Exited(0) {
            let error = String::from_utf8_lossy(&ran.stderr);
            output::say(&format!("lodestone: --on-change failed: {}", report::escape_line(error.trim())));
        }
        Ok(())
    }

    fn tell(&self, what: &str) -> Result<(), Failure> {
        output::print(format!("{} {what}\n", Zoned::now().strftime("%Y-%m-%d %H:%M:%S")))
    }
}

fn bytes(cli: &Cli, bytes: u64) -> String {
    report::display_bytes(bytes, super::units(cli, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command;
    use clap::Parser;

    fn args(words: &[&str]) -> WatchedArgs {
        let all = [&["lodestone", "watch"], words].concat();
        match Cli::try_parse_from(all).unwrap().command {
            Command::Watch(args) => args.watched,
            _ => panic!("{words:?}"),
        }
    }

    /// A local time in central Europe, whose rule needs no database of time zones.
    fn at(text: &str) -> Zoned {
        let zone = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        text.parse::<jiff::civil::DateTime>().unwrap().to_zoned(zone).unwrap()
    }

    #[test]
    fn each_interval_has_one_run_at_the_machines_own_part_of_it() {
        let rhythm = |machine| Rhythm::of(&args(&["--every", "1h"]), machine).unwrap();
        let next =
            |machine: u64, after: &str| rhythm(machine).next(&at(after)).strftime("%H:%M:%S").to_string();
        assert_eq!(next(0, "2026-11-27T10:20:00"), "11:00:00");
        assert_eq!(next(0, "2026-11-27T11:00:00"), "12:00:00");
        // Half of a tenth of the interval.
        assert_eq!(next(1 << 63, "2026-11-27T10:02:59"), "10:03:00");
        assert_eq!(next(1 << 63, "2026-11-27T10:03:00"), "11:03:00");
    }

    #[test]
    fn times_of_the_day_come_every_day_also_when_clocks_are_set() {
        let rhythm = Rhythm::of(&args(&["--at", "20:00,08:00", "--spread", "10m"]), 1 << 63).unwrap();
        let next = |after: &str| rhythm.next(&at(after)).strftime("%d %H:%M").to_string();
        assert_eq!(next("2026-11-27T07:00:00"), "27 08:05");
        assert_eq!(next("2026-11-27T08:04:00"), "27 08:05");
        assert_eq!(next("2026-11-27T08:05:00"), "27 20:05");
        assert_eq!(next("2026-11-27T23:00:00"), "28 08:05");
        // 02:30 does not exist on this day.
        let night = Rhythm::of(&args(&["--at", "02:30", "--spread", "0s"]), 0).unwrap();
        let spring = night.next(&at("2026-03-29T00:00:00"));
        assert_eq!(spring.strftime("%d %H:%M").to_string(), "29 03:30");
    }

    #[test]
    fn a_run_has_the_arguments_that_are_not_the_watchs_own() {
        let of = |words: &[&str]| -> Vec<String> {
            let given = words.iter().map(OsString::from);
            run_arguments(given).into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        let end = ["--quiet", "--no-report", "--json"];
        let kept = of(&[
            "--store",
            "watch",
            "watch",
            "--every",
            "1h",
            "a",
            "--runs=3",
            "--only",
            "watch",
            "-q",
            "--until-change",
        ]);
        assert_eq!(kept, [&["--store", "watch", "run", "a", "--only", "watch"], &end[..]].concat());
        let kept =
            of(&["watch", "b", "--at=08:00", "--on-change", "mail -s --every", "--json", "--runs-of", "x"]);
        assert_eq!(kept, [&["run", "b", "--runs-of", "x"], &end[..]].concat());
    }
}
