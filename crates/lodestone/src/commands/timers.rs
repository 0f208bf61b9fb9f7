//! `watch` in the foreground, or by timers of systemd: `watch install`, `list` and `remove`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use host::programs::{End, find_by_path};
use host::{Roots, is_root};
use model::shell_word;
use model::units::parse_duration_ns;

use super::watch;
use crate::cli::{Cli, InstallArgs, WatchArgs, WatchCommand, WatchedArgs};
use crate::failure::Failure;
use crate::output;

/// Start of the names of the units.
const UNIT: &str = "lodestone-watch-";
/// The first line of a unit that is Lodestone's.
const OWN: &str = "# Made by lodestone watch install\n";
/// systemd answers by then, or not at all.
const SYSTEMD_TIMEOUT: Duration = Duration::from_secs(30);

/// Watches, or has systemd watch.
///
/// # Errors
/// Those of what is asked for.
pub fn watch_by(cli: &Cli, args: &WatchArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        None => watch::watch(cli, &args.watched),
        Some(WatchCommand::Install(args)) => install(cli, args),
        Some(WatchCommand::List) => list(),
        Some(WatchCommand::Remove { name }) => remove(name),
    }
}

/// Writes the units and starts the timer.
///
/// # Errors
/// The arguments are wrong, a unit of that name is there, or systemd refuses it.
fn install(cli: &Cli, args: &InstallArgs) -> Result<ExitCode, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if args.name.is_empty() || !args.name.chars().all(is_plain) {
        return Err(Failure::usage(format!("--name {}: letters, digits, - and _ make a name", args.name)));
    }
    let words = watch_arguments(std::env::args_os().skip(1));
    if args.watched.run.push.push.as_deref().is_some_and(|url| database::without_password(url) != url) {
        return Err(Failure::usage(
            "--push: a unit can be read by others, so it must not have a password; leave it out of the URL and put it into ~/.pgpass with \
             mode 0600",
        ));
    }
    let phase = watch::check(cli, &args.watched, &words)?;
    let program = std::env::current_exe().map_err(|error| {
        Failure::failed(format!("cannot find the program itself: {error}")).because(&error)
    })?;
    let here = std::env::current_dir().map_err(|error| {
        Failure::failed(format!("cannot find the current directory: {error}")).because(&error)
    })?;
    let Some(systemctl) = systemctl() else {
        for when in cron_times(&args.watched)? {
            output::print(format!("{when}  {}\n", cron_command(phase, &program, &here, &words)))?;
        }
        output::say("systemd is not running here; add this line with crontab -e");
        return Ok(ExitCode::SUCCESS);
    };
    let directory = units()?;
    let [service, timer] =
        ["service", "timer"].map(|kind| directory.join(format!("{UNIT}{}.{kind}", args.name)));
    if service.exists() || timer.exists() {
        return Err(Failure::usage(format!(
            "{} exists: choose another --name, or remove it with `lodestone watch remove {}`",
            service.display(),
            args.name
        )));
    }
    let written = fs::create_dir_all(&directory)
        .and_then(|()| fs::write(&service, service_unit(&args.name, &program, &here, &words)))
        .and_then(|()| fs::write(&timer, timer_unit(&args.name, &args.watched)));
    let started = match written {
        Ok(()) => control(&systemctl, &["daemon-reload"])
            .and_then(|()| control(&systemctl, &["enable", "--now", &format!("{UNIT}{}.timer", args.name)])),
        Err(error) => {
            Err(Failure::failed(format!("cannot write {}: {error}", directory.display())).because(&error))
        }
    };
    if let Err(failure) = started {
        for unit in [&service, &timer] {
            let _ = fs::remove_file(unit);
        }
        let _ = control(&systemctl, &["daemon-reload"]);
        return Err(failure);
    }
    output::print(format!(
        "{UNIT}{}.timer is on; its runs: lodestone list; what they said: journalctl {}-u {UNIT}{}\n",
        args.name,
        if is_root() { "" } else { "--user " },
        args.name
    ))?;
    if !is_root() {
        output::say(
            "it only runs while you are logged in; `loginctl enable-linger` keeps it running after you log out",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the installed watches.
///
/// # Errors
/// The directory of the units cannot be found, or the output cannot be written.
fn list() -> Result<ExitCode, Failure> {
    let directory = units()?;
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = file.strip_prefix(UNIT).and_then(|rest| rest.strip_suffix(".service")).map(str::to_owned);
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).map(str::to_owned);
        found.extend(name.zip(start).filter(|_| text.starts_with(OWN)));
    }
    found.sort();
    if found.is_empty() {
        output::print(format!("nothing is watched by the units in {}\n", directory.display()))?;
    }
    for (name, command) in found {
        output::print(format!("{name}: {command}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops a timer and removes its units.
///
/// # Errors
/// There is none of that name, or systemd or the filesystem refuses.
fn remove(name: &str) -> Result<ExitCode, Failure> {
    let directory = units()?;
    let [service, timer] = ["service", "timer"].map(|kind| directory.join(format!("{UNIT}{name}.{kind}")));
    let is_own = |unit: &PathBuf| fs::read_to_string(unit).is_ok_and(|text| text.starts_with(OWN));
    if name.contains('/') || ![&service, &timer].into_iter().any(is_own) {
        return Err(Failure::usage(format!(
            "there is no watch `{name}` in {}; `lodestone watch list` shows them",
            directory.display()
        )));
    }
    let systemctl = systemctl();
    if let Some(systemctl) = &systemctl {
        control(systemctl, &["disable", "--now", &format!("{UNIT}{name}.timer")])?;
    }
    for unit in [service, timer].into_iter().filter(is_own) {
        fs::remove_file(&unit).map_err(|error| {
            Failure::failed(format!("cannot remove {}: {error}", unit.display())).because(&error)
        })?;
    }
    systemctl.map_or(Ok(()), |systemctl| control(&systemctl, &["daemon-reload"]))?;
    output::print(format!("{name} is watched no longer; its runs are kept\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// systemctl, if systemd runs here.
fn systemctl() -> Option<PathBuf> {
    let roots = Roots::default();
    find_by_path(&roots, "systemctl").filter(|_| Path::new("/run/systemd/system").is_dir())
}

/// Where the units are: root's for the system, others' for themselves.
fn units() -> Result<PathBuf, Failure> {
    if is_root() {
        return Ok("/etc/systemd/system".into());
    }
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    let none = || {
        Failure::usage(
            "cannot tell where systemd's user units belong: neither XDG_CONFIG_HOME nor HOME is set",
        )
    };
    Ok(config.ok_or_else(none)?.join("systemd/user"))
}

fn control(systemctl: &Path, words: &[&str]) -> Result<(), Failure> {
    let user = (!is_root()).then_some("--user");
    let words: Vec<&str> = user.into_iter().chain(words.iter().copied()).collect();
    let never = AtomicBool::new(false);
    let ran = host::programs::run(systemctl, &words, Path::new("/"), SYSTEMD_TIMEOUT, &never)
        .map_err(|error| Failure::failed(format!("cannot run systemctl: {error}")).because(&error))?;
    match ran.end {
        End::Exited(0) => Ok(()),
        _ => {
            let error = String::from_utf8_lossy(&ran.stderr);
            Err(Failure::failed(format!(
                "systemctl {}: {}",
                words.join(" "),
                report::escape_line(error.trim())
            )))
        }
    }
}

/// The words of `watch` that a timer starts: those that were given, without what the timer does itself.
fn watch_arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.collect();
    if let Some(at) = words.windows(2).position(|pair| pair[0] == "watch" && pair[1] == "install") {
        words.remove(at + 1);
    }
    if let Some(at) = words.iter().position(|word| word == "--name") {
        words.drain(at..(at + 2).min(words.len()));
    }
    words.retain(|word| !word.to_string_lossy().starts_with("--name="));
    words.extend(["--now", "--runs", "1"].map(OsString::from));
    words
}

/// The words as a line that systemd splits again: its quotes and its specifiers.
fn exec_line(program: &Path, words: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let text = word.to_string_lossy().replace('%', "%%").replace('$', "$$");
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let words: Vec<String> = std::iter::once(program.as_os_str().to_owned())
        .chain(words.iter().cloned())
        .map(|w| quoted(&w))
        .collect();
    words.join(" ")
}

fn service_unit(name: &str, program: &Path, here: &Path, words: &[OsString]) -> String {
    format!(
        "{OWN}[Unit]\nDescription=Lodestone watches storage ({name})\n\n[Service]\nType=oneshot\nWorkingDirectory={}\n\
         ExecStart={}\n# A change is no failure of the unit.\nSuccessExitStatus=1\n",
        here.display().to_string().replace('%', "%%"),
        exec_line(program, words)
    )
}

fn timer_unit(name: &str, watched: &WatchedArgs) -> String {
    let seconds = |text: &String| parse_duration_ns(text).unwrap_or(0) / 1_000_000_000;
    let (when, spread) = match &watched.every {
        Some(every) => {
            let interval = seconds(every);
            (format!("OnActiveSec=1min\nOnUnitActiveSec={interval}s\n"), interval / 10)
        }
        None => {
            let each = watched.at.iter().map(|time| format!("OnCalendar=*-*-* {time}:00\n"));
            (each.collect(), 300)
        }
    };
    let spread = watched.spread.as_ref().map_or(spread, seconds);
    format!(
        "{OWN}[Unit]\nDescription=When Lodestone watches storage ({name})\n\n[Timer]\n{when}AccuracySec=1s\n\
         RandomizedDelaySec={spread}s\nFixedRandomDelay=true\n\n[Install]\nWantedBy=timers.target\n"
    )
}

/// When cron is to begin: the five fields of a line for each minute of the hour.
fn cron_times(watched: &WatchedArgs) -> Result<Vec<String>, Failure> {
    let Some(every) = &watched.every else {
        let mut hours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let times = watched.at.iter().filter_map(|time| time.split_once(':'));
        times.for_each(|(hour, minute)| hours.entry(minute).or_default().push(hour));
        return Ok(hours
            .into_iter()
            .map(|(minute, hours)| format!("{minute} {} * * *", hours.join(",")))
            .collect());
    };
    let seconds = parse_duration_ns(every).unwrap_or(0) / 1_000_000_000;
    let when = match (seconds / 60, seconds % 60) {
        (minutes @ 1..60, 0) if 60 % minutes == 0 => format!("*/{minutes} * * * *"),
        (minutes @ 60..1440, 0) if minutes % 60 == 0 && 1440 % minutes == 0 => {
            format!("0 */{} * * *", minutes / 60)
        }
        (1440, 0) => "0 3 * * *".to_owned(),
        _ => {
            return Err(Failure::usage(format!(
                "--every {every}: there is no systemd here, and cron knows only intervals that divide an hour (15m, \
                 20m, …) or a day (1h, 6h, …, 24h): choose one of these, or start `lodestone watch` itself"
            )));
        }
    };
    Ok(vec![when])
}

/// What it begins.
fn cron_command(phase: Duration, program: &Path, here: &Path, words: &[OsString]) -> String {
    let program = program.to_string_lossy().into_owned();
    let words = std::iter::once(program).chain(words.iter().map(|word| word.to_string_lossy().into_owned()));
    // cron takes % for the end of a line.
    let words: Vec<String> = words.map(|word| shell_word(&word).replace('%', "\\%")).collect();
    let later = match phase.as_secs() {
        0 => String::new(),
        seconds => format!("sleep {seconds} && "),
    };
    format!("{later}cd {} && {}", shell_word(&here.to_string_lossy()), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command;
    use clap::Parser;

    fn watched(words: &[&str]) -> WatchedArgs {
        let all = [&["lodestone", "watch", "install"], words].concat();
        match Cli::try_parse_from(all).unwrap().command {
            Command::Watch(args) => match args.command {
                Some(WatchCommand::Install(args)) => args.watched,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_timer_starts_the_same_watch_for_one_run() {
        let given = ["--store", "s", "watch", "install", "--name", "x", "--every", "1h", "a b", "--only=r"];
        let words = watch_arguments(given.into_iter().map(OsString::from));
        let expected = ["--store", "s", "watch", "--every", "1h", "a b", "--only=r", "--now", "--runs", "1"];
        assert_eq!(words, expected.map(OsString::from));
        let service = service_unit("x", Path::new("/usr/bin/lodestone"), Path::new("/home"), &words);
        assert!(service.starts_with(OWN) && service.contains("WorkingDirectory=/home\n"), "{service}");
        assert!(
            service.contains("ExecStart=\"/usr/bin/lodestone\" \"--store\" \"s\" \"watch\""),
            "{service}"
        );
        assert!(service.contains(" \"a b\" "), "{service}");
        let odd = exec_line(Path::new("/l"), &["100%".into(), "$HOME".into(), "a\"b\\c".into()]);
        assert_eq!(odd, "\"/l\" \"100%%\" \"$$HOME\" \"a\\\"b\\\\c\"");
    }

    #[test]
    fn timers_are_spread_and_cron_has_the_same_times() {
        let hourly = timer_unit("x", &watched(&["--every", "1h", "a"]));
        assert!(
            hourly.contains("OnUnitActiveSec=3600s\n") && hourly.contains("RandomizedDelaySec=360s\n"),
            "{hourly}"
        );
        let daily = watched(&["--at", "08:00,20:00", "--spread", "1m", "a"]);
        let timer = timer_unit("x", &daily);
        assert!(timer.contains("OnCalendar=*-*-* 08:00:00\nOnCalendar=*-*-* 20:00:00\n"), "{timer}");
        assert!(timer.contains("RandomizedDelaySec=60s\n"), "{timer}");
        let command = |seconds| {
            let words = ["watch".into(), "%".into()];
            cron_command(Duration::from_secs(seconds), Path::new("/l"), Path::new("/my disk"), &words)
        };
        assert_eq!(command(0), "cd '/my disk' && /l watch \\%");
        assert_eq!(command(217), "sleep 217 && cd '/my disk' && /l watch \\%");
        let times = |words: &[&str]| cron_times(&watched(words)).map_err(|failure| failure.message);
        assert_eq!(times(&["--at", "08:00,20:00", "a"]).unwrap(), ["00 08,20 * * *"]);
        assert_eq!(times(&["--at", "08:30,12:00,20:30", "a"]).unwrap(), ["00 12 * * *", "30 08,20 * * *"]);
        for (every, fields) in [("15m", "*/15 * * * *"), ("6h", "0 */6 * * *"), ("24h", "0 3 * * *")] {
            assert_eq!(times(&["--every", every, "a"]).unwrap(), [fields]);
        }
        for every in ["45m", "90m", "5h", "48h", "90s", "10s"] {
            let why = times(&["--every", every, "a"]).unwrap_err();
            assert!(why.starts_with(&format!("--every {every}: there is no systemd here")), "{why}");
        }
    }
}
