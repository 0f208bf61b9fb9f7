//! Storage stacks that `run` makes, and `lodestone stack`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use host::Roots;
use host::consent::{self, Consent};
use host::stacks::{
    Found, Ground, Kind, Precondition, Request, Stack, StackError, Stacks, State, destroy, found,
    passed_bytes, plan, shown,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::units::{ShortDuration, counted};
use model::{Severity, Target, TargetKind};
use report::{Units, display_bytes, escape_line};

use crate::cli::{Cli, Making, PreconditionWord, StackCommand};
use crate::executor::Local;
use crate::failure::{FAILED, Failure};
use crate::output;

/// Shows, lists or removes stacks.
///
/// # Errors
/// Wrong usage, or stacks that cannot be removed.
pub fn stack(what: &StackCommand) -> Result<ExitCode, Failure> {
    match what {
        StackCommand::Plan { on, stack, making } => output::print(script(&request(on, stack, *making)?))?,
        StackCommand::List => output::print(listed())?,
        StackCommand::Destroy { ids, .. } => return destroyed(ids),
        StackCommand::Kinds => output::print(kinds(&Roots::default()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How many regions of a disk are measured if the user does not say.
const REGIONS: u32 = 8;

/// What the user asks for.
///
/// # Errors
/// It is not understood, or there is no such directory or device.
pub(super) fn request(on: &str, stacks: &str, making: Making) -> Result<Request, Failure> {
    let here = std::env::current_dir()
        .map_err(|e| Failure::usage(format!("cannot find the current directory: {e}")).because(&e))?;
    let mut request = Request::parse(on, stacks, &here).map_err(Failure::usage)?;
    if making.with_layers {
        request = request.with_layers().map_err(Failure::usage)?;
    }
    request.wanted = making.precondition.map(|word| match word {
        PreconditionWord::None => Precondition::None,
        PreconditionWord::Discard => Precondition::Discard,
        PreconditionWord::WriteOnce => Precondition::WriteOnce,
        PreconditionWord::WriteTwice => Precondition::WriteTwice,
    });
    let mut request = request.located().map_err(Failure::usage)?;
    if making.by_region && (request.stacks.len() > 1 || request.disks().is_empty()) {
        let why =
            "--by-region: it measures the regions of disks: name one stack, and disks as in --on /dev/sdb";
        return Err(Failure::usage(why));
    }
    let fitting = if making.by_region { REGIONS } else { request.fitting_makings() };
    request.makings = making.makings.unwrap_or(fitting);
    request.is_large_enough().map_err(Failure::usage)?;
    Ok(request)
}

/// A failure to make or remove stacks, with what to do about what is left.
pub(super) fn failure(error: StackError) -> Failure {
    match error {
        StackError::NotRoot
        | StackError::Lacks { .. }
        | StackError::Request(_)
        | StackError::Disk { .. }
        | StackError::NoSpace { .. }
        | StackError::Directory { .. } => Failure::usage(error),
        StackError::Interrupted => Failure { code: crate::failure::INTERRUPTED, ..Failure::failed(error) },
        _ if found().is_empty() => Failure::failed(error),
        _ => {
            let left = "what is left can be removed with `lodestone stack destroy --all`";
            Failure { message: format!("{error}; {left}"), ..Failure::failed(error) }
        }
    }
}

/// The commands that make and remove what is asked for.
pub(super) fn script(request: &Request) -> String {
    let directory = host::stacks::directory();
    let (make, remove) = shown(&plan(request, "ID", &directory));
    let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("{line}\n")).collect::<String>();
    format!(
        "# {}\n# made before the first repeat; ID is of the run\n{}\n# removed after the last, or by `lodestone stack destroy`\n{}",
        costs(request).join("\n# "),
        lines(make),
        lines(remove)
    )
}

/// What making the stacks so often means for the run, and what it writes before.
fn costs(request: &Request) -> Vec<String> {
    let (makings, regions) = (request.makings, request.stacks.len() as u64 * u64::from(request.makings));
    let room = match &request.ground {
        Ground::Images { .. } => String::new(),
        Ground::Disks(_) => format!(
            "{} of {} {}: ",
            counted(regions as usize, "region"),
            display_bytes(request.bytes(), Units::Binary),
            place(request)
        ),
    };
    let means = match makings {
        1 => "each stack is made once: a run ends when its comparisons are decided, and the luck of a making counts as its stack's".to_owned(),
        _ => format!("each stack is made {makings} times, and verdicts rest on these makings: a run uses its whole budget"),
    };
    let bytes = passed_bytes(&plan(request, "ID", &host::stacks::directory()));
    let written = match bytes {
        0 => "little is written before the test data".to_owned(),
        _ => {
            let at = |rate: u64| match (bytes / rate).max(1) {
                seconds @ ..120 => format!("{seconds} s"),
                seconds => format!("{} min", seconds / 60),
            };
            format!(
                "{} are written or read before the test data: {} at 100 MB/s, {} at 1 GB/s",
                display_bytes(bytes, Units::Binary),
                at(100_000_000),
                at(1_000_000_000)
            )
        }
    };
    vec![format!("{room}{means}"), written]
}

/// Leaves the stacks as they stand, and says so.
///
/// # Errors
/// The journal cannot be written.
pub(super) fn leave(cli: &Cli, stacks: Stacks) -> Result<(), StackError> {
    let points: Vec<String> =
        stacks.mounted().iter().map(|(name, point)| format!("{name} on {}", point.display())).collect();
    let id = stacks.leave()?;
    if !cli.quiet {
        let points = points.join(", ");
        output::say(&format!("left as they stand: {points}; `lodestone stack destroy {id}` removes them"));
    }
    Ok(())
}

/// What is made, and where.
pub(super) fn announcement(request: &Request) -> String {
    let stacks: Vec<&str> = request.stacks.iter().map(|stack| stack.name.as_str()).collect();
    let times = match request.makings {
        1 => String::new(),
        times => format!(", {times} times each (--makings)"),
    };
    let first = match passed_bytes(&plan(request, "ID", &host::stacks::directory())) {
        0 => String::new(),
        bytes => format!("; {} are written or read first", display_bytes(bytes, Units::Binary)),
    };
    format!("making {} {}{times}{first}", stacks.join(", "), place(request))
}

fn place(request: &Request) -> String {
    match &request.ground {
        Ground::Images { directory, .. } => format!("in {}", directory.display()),
        Ground::Disks(_) => {
            let paths: Vec<String> =
                request.disks().iter().map(|disk| disk.path.display().to_string()).collect();
            format!("on {}", paths.join(", "))
        }
    }
}

/// The user's permission to overwrite the devices that stacks are made on.
///
/// # Errors
/// One was not named with `--overwrite`, or holds something that was not.
pub(super) fn consents(
    roots: &Roots,
    request: &Request,
    overwrite: &[String],
) -> Result<Vec<Consent>, Failure> {
    let named = consent::named(overwrite);
    if request.disks().is_empty() && !named.is_empty() {
        return Err(Failure::usage("--overwrite: stacks in images overwrite nothing; leave it out"));
    }
    let ask = |path| consent::ask(roots, path, &named);
    let all = request.disks().iter().map(|disk| ask(&disk.path));
    all.collect::<Result<_, _>>().map_err(|refusal| match &refusal {
        consent::Refusal::NotNamed(path) => {
            let all = request.disks().iter().map(|disk| disk.path.to_string_lossy().into_owned());
            let all: Vec<String> = all.collect();
            let typed = consent::typed(all.iter().map(String::as_str));
            Failure::usage(format!(
                "stacks on {} destroy what is on it; to allow this, pass --overwrite {typed}",
                path.display()
            ))
        }
        _ => Failure::usage(refusal.to_string()).because(&refusal),
    })
}

/// The mounted stacks as targets, under the names that the user gave them.
///
/// # Errors
/// One is not there any more.
pub(super) fn targets(roots: &Roots, stacks: &Stacks) -> Result<Vec<Target>, Failure> {
    let points: Vec<_> = stacks.mounted().iter().map(|(_, point)| point.clone().into_os_string()).collect();
    let mut targets = host::target::inspect_all(roots, &points).map_err(Failure::usage)?;
    for (target, (name, _)) in targets.iter_mut().zip(stacks.mounted()) {
        target.name.clone_from(name);
    }
    Ok(targets)
}

/// The stacks as targets before they are made.
pub(super) fn planned_targets(request: &Request) -> Vec<Target> {
    let of = |stack: &Stack| Target {
        name: stack.name.clone(),
        path: host::stacks::directory().join("ID"),
        kind: TargetKind::Directory,
        size_bytes: request.bytes(),
        free_bytes: request.bytes(),
        block_bytes: 512,
        direct: true,
        writable: true,
        stack: Vec::new(),
        labels: BTreeMap::new(),
        clients: Vec::new(),
        host: 0,
    };
    request.stacks.iter().map(of).collect()
}

/// Bytes of test data that fit into every stack of this size, also into one that copies on write; `None` if the usual size fits.
pub(super) fn size_of_data(bytes: u64) -> Option<u64> {
    /// Share of an image.
    const PART: u64 = 4;
    let most = bytes / PART;
    (most < plan::AUTO_SIZE_BYTES).then_some(most >> 20 << 20)
}

/// Records how the stacks were made.
pub(super) fn note(executor: &mut Local<'_>, stacks: &Stacks) {
    for (name, command) in stacks.commands() {
        executor.note(Severity::Info, "stack", Some(name), command);
    }
    let took =
        format!("the stacks were made in {}", ShortDuration(stacks.took().as_millis() as u64 * 1_000_000));
    executor.note(Severity::Info, "stack", None, took);
    for remark in &stacks.remarks {
        executor.note(Severity::Warning, "stack", None, remark.clone());
    }
}

fn listed() -> String {
    let all = found();
    if all.is_empty() {
        return "no stacks: nothing is left of killed runs, and no run makes any now\n".to_owned();
    }
    let line = |found: Result<Found, StackError>| match found {
        Ok(found) => {
            let seconds = i64::try_from(found.made_unix).unwrap_or(i64::MAX);
            let made = Timestamp::from_second(seconds).unwrap_or_default().to_zoned(TimeZone::system());
            let state = match found.state {
                State::InUse => format!("in use by process {}", found.pid),
                State::LeftOver => "left by a killed run".to_owned(),
                State::Left => "kept by --leave".to_owned(),
            };
            let grounds = found.grounds(&Roots::default());
            let grounds: Vec<String> = grounds.iter().map(|path| path.display().to_string()).collect();
            let on = if grounds.is_empty() { "no image is left".to_owned() } else { grounds.join(", ") };
            let stacks = found.stacks.join(",");
            format!("{}  {}  {stacks}  {state}: {on}", found.id, made.strftime("%Y-%m-%d %H:%M"))
        }
        Err(error) => format!("{error}{}", if host::is_root() { "" } else { "; only root sees the stacks" }),
    };
    all.into_iter().map(|found| format!("{}\n", escape_line(&line(found)))).collect()
}

fn destroyed(ids: &[String]) -> Result<ExitCode, Failure> {
    if !host::is_root() {
        return Err(Failure::usage("removing storage stacks needs root: run it with sudo"));
    }
    let is_named = |found: &Found| ids.is_empty() || ids.contains(&found.id);
    let all = found();
    let known: Vec<&str> = all.iter().flatten().map(|found| found.id.as_str()).collect();
    if let Some(unknown) = ids.iter().find(|id| !known.contains(&id.as_str())) {
        let others =
            if known.is_empty() { "and no others".to_owned() } else { format!("only {}", known.join(", ")) };
        return Err(Failure::usage(format!("there are no stacks with the id {unknown}, {others}")));
    }
    let (mut text, mut code) = (String::new(), ExitCode::SUCCESS);
    for found in all {
        let removed = match &found {
            Ok(found) if !is_named(found) => continue,
            // Of all only those that are left over are meant.
            Ok(found) if ids.is_empty() && found.state == State::InUse => continue,
            Ok(found) => destroy(&Roots::default(), found)
                .map(|()| format!("removed {} ({})\n", found.id, found.stacks.join(","))),
            Err(_) if !ids.is_empty() => continue,
            Err(_) => found.map(|_| String::new()),
        };
        match removed {
            Ok(line) => text.push_str(&line),
            Err(error) => {
                output::say(&format!("lodestone: {error}"));
                code = ExitCode::from(FAILED);
            }
        }
    }
    if text.is_empty() && code == ExitCode::SUCCESS {
        text.push_str("nothing is left of killed runs\n");
    }
    output::print(text)?;
    Ok(code)
}

/// Each kind with what it is, how many devices it takes, its settings, and whether this machine can make it.
fn kinds(roots: &Roots) -> String {
    let line = |kind: &Kind| {
        let Kind { name, what, fewest, many, .. } = kind;
        let devices = match (fewest, many) {
            (1, false) => String::new(),
            (fewest, _) => format!(", {fewest} or more devices"),
        };
        let state = kind.lacks(roots).map_or_else(|| "can be made".to_owned(), |lack| lack.to_string());
        let mut settings: Vec<String> = kind.settings.iter().map(ToString::to_string).collect();
        if kind.is_share() {
            settings.push(format!(
                "with what it shares, and mount options: {name}(ext4), {name}(luks+xfs,nconnect=4)"
            ));
        }
        let settings =
            if settings.is_empty() { String::new() } else { format!("\n{:<14}{}", "", settings.join(", ")) };
        format!("{name:<14}{what}{devices}: {state}{settings}\n")
    };
    host::stacks::kinds().map(line).collect()
}
