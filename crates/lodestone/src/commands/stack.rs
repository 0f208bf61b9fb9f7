//! Storage stacks that `run` makes, and `lodestone stack`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use host::Roots;
use host::stacks::{
    Found, Ground, Kind, Named, Precondition, Request, Side, Stack, StackError, Stacks, State, destroy,
    found, needs_secret, passed_bytes, plan, shown,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::units::{ShortDuration, counted};
use model::{Plan, Rounds, Severity, Target, TargetKind};
use report::{Units, display_bytes, escape_line};

use super::machines::Machines;
use super::stack_server::{StackServer, consents, elsewhere, own_address};
use crate::cli::{Cli, Making, PreconditionWord, ReachArgs, StackCommand};
use crate::executor::Local;
use crate::failure::{FAILED, Failure};
use crate::output;

/// Shows, lists or removes stacks.
///
/// # Errors
/// Wrong usage, or stacks that cannot be removed.
pub fn stack(what: &StackCommand) -> Result<ExitCode, Failure> {
    match what {
        StackCommand::Plan { on, stack, making, reach } => {
            let (request, _) = request(on, stack, *making, reach, &AtomicBool::new(false))?;
            output::print(script(&request))?;
        }
        StackCommand::List => output::print(listed())?,
        StackCommand::Destroy { ids, .. } => return destroyed(ids),
        StackCommand::Kinds => output::print(kinds(&Roots::default()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How many regions of a disk are measured if the user does not say.
const REGIONS: u32 = 8;

/// What the user asks for, and the machine that has the storage if it is another one.
///
/// # Errors
/// It is not understood, or there is no such machine, directory or device.
pub(super) fn request(
    on: &str,
    stacks: &str,
    making: Making,
    reach: &ReachArgs,
    interrupt: &AtomicBool,
) -> Result<(Request, Option<StackServer>), Failure> {
    let (mut request, elsewhere) = match elsewhere(on)? {
        Some(place) => {
            let (server, known, ground) = StackServer::reach(&place, stacks, reach, interrupt)?;
            (Request::on(ground, stacks), Some((server, known)))
        }
        None => {
            let here = std::env::current_dir()
                .map_err(|e| Failure::usage(format!("cannot find the current directory: {e}")).because(&e))?;
            (Request::parse(on, stacks, &here).and_then(Request::served_here), None)
        }
    };
    if making.with_layers {
        request = request.and_then(|request| request.with_layers(elsewhere.is_some()));
    }
    let mut request = request.map_err(Failure::usage)?;
    request.wanted = making.precondition.map(|word| match word {
        PreconditionWord::None => Precondition::None,
        PreconditionWord::Discard => Precondition::Discard,
        PreconditionWord::WriteOnce => Precondition::WriteOnce,
        PreconditionWord::WriteTwice => Precondition::WriteTwice,
    });
    let (mut request, server) = match elsewhere {
        None => (request.located().map_err(Failure::usage)?, None),
        Some((server, known)) => {
            request.fits_disks().map_err(Failure::usage)?;
            (request.served_by(known, own_address).map_err(Failure::usage)?, Some(server))
        }
    };
    if making.by_region && (request.stacks.len() > 1 || request.disks().is_empty()) {
        let why =
            "--by-region: it measures the regions of disks: name one stack, and disks as in --on /dev/sdb";
        return Err(Failure::usage(why));
    }
    let fitting = if making.by_region { REGIONS } else { request.fitting_makings() };
    request.makings = making.makings.unwrap_or(fitting);
    request.is_large_enough().map_err(Failure::usage)?;
    Ok((request, server))
}

/// How often each stack is made, since each making has a round of its own: not more often than there are rounds.
///
/// # Errors
/// The user wants more of them than the plan has rounds.
pub(super) fn measured_makings(making: Making, makings: u32, plan: &Plan) -> Result<u32, Failure> {
    let rounds = match plan.rounds {
        Rounds::Fixed(rounds) if rounds < makings => rounds,
        _ => return Ok(makings),
    };
    let there_are = format!(
        "there {} only {}",
        if rounds == 1 { "is" } else { "are" },
        counted(rounds as usize, "round")
    );
    let way_out = format!("use --rounds {makings} or more, or --makings {rounds}");
    match making {
        Making { makings: Some(_), .. } => Err(Failure::usage(format!(
            "--makings {makings}: each round measures one making, but {there_are}; {way_out}"
        ))),
        Making { by_region: true, .. } => Err(Failure::usage(format!(
            "--by-region: each round measures one of the {makings} regions, but {there_are}; {way_out}"
        ))),
        _ => Ok(rounds),
    }
}

/// A failure to make or remove stacks, with what to do about what is left.
fn failure(error: StackError) -> Failure {
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
    let steps = plan(request, "ID", &host::stacks::directory());
    let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("{line}\n")).collect::<String>();
    let (make, remove) = match &request.server {
        None => {
            let (make, remove) = shown(&steps, None);
            (lines(make), lines(remove))
        }
        Some(server) => {
            let of = |side| {
                let (make, remove) = shown(&steps, Some(side));
                (lines(make), lines(remove))
            };
            let (there, here, name) = (of(Side::Server), of(Side::Client), &server.name);
            let secret = if needs_secret(&steps) { ", with the same $secret" } else { "" };
            (
                format!("# on {name}:\n{}# here{secret}:\n{}", there.0, here.0),
                format!("# here:\n{}# on {name}:\n{}", here.1, there.1),
            )
        }
    };
    format!(
        "# {}\n# made before the first repeat; ID is of the run\n{make}\n# removed after the last, or by `lodestone stack destroy`\n{remove}",
        costs(request).join("\n# ")
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

/// Stacks that stand, here or on both sides of a network.
pub(super) struct Made {
    pub here: Stacks,
    there: Option<StackServer>,
}

impl Made {
    /// The targets, with the machine that serves them, if another one does.
    ///
    /// # Errors
    /// One is not there any more.
    pub fn reach(&self, roots: &Roots) -> Result<(Vec<Target>, Machines), Failure> {
        let mut targets = targets(roots, &self.here)?;
        let Some(there) = &self.there else { return Ok((targets, Machines::default())) };
        targets.iter_mut().for_each(|target| target.server = Some(1));
        Ok((targets, Machines::serving(there.watched())))
    }
}

/// Makes stacks.
///
/// # Errors
/// Something is missing, was not allowed or failed, or the user asked to stop; nothing is left.
pub(super) fn make(
    cli: &Cli,
    request: &Request,
    server: Option<StackServer>,
    named: &Named,
    overwrite: &[String],
    interrupt: &AtomicBool,
) -> Result<Made, Failure> {
    let roots = Roots::default();
    let side = server.as_ref().map(|_| Side::Client);
    request.check(&roots, side).map_err(failure)?;
    let disks = if side.is_none() { consents(&roots, request, None, overwrite)? } else { Vec::new() };
    if !cli.quiet {
        output::say(&announcement(request));
    }
    let there = server.map(|server| server.make(request, named, overwrite, interrupt)).transpose()?;
    match Stacks::make(&roots, request, named, side, disks, interrupt) {
        Ok(here) => Ok(Made { here, there }),
        Err(error) => {
            let error = failure(error);
            if let Some(Err(left)) = there.map(|there| there.end(false)) {
                output::say(&format!("lodestone: {}", left.message));
            }
            Err(error)
        }
    }
}

impl Made {
    /// Removes them, or leaves them as they stand.
    ///
    /// # Errors
    /// Something does not go.
    pub fn end(self, cli: &Cli, is_left: bool) -> Result<(), Failure> {
        let here = if is_left { leave(cli, self.here) } else { self.here.remove() };
        let there = self.there.map_or(Ok(()), |there| there.end(is_left));
        here.map_err(failure).and(there)
    }
}

/// Leaves the stacks as they stand, and says so.
///
/// # Errors
/// The journal cannot be written.
fn leave(cli: &Cli, stacks: Stacks) -> Result<(), StackError> {
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
fn announcement(request: &Request) -> String {
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
    let place = match &request.ground {
        Ground::Images { directory, .. } => format!("in {}", directory.display()),
        Ground::Disks(_) => {
            let paths: Vec<String> =
                request.disks().iter().map(|disk| disk.path.display().to_string()).collect();
            format!("on {}", paths.join(", "))
        }
    };
    request.server.as_ref().map_or(place.clone(), |server| format!("{place} of {}", server.name))
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
        server: None,
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
pub(super) fn note(executor: &mut Local<'_>, Made { here, there }: &Made) {
    let there = there.as_ref().map(StackServer::made);
    if let Some((machine, made)) = &there {
        executor.note(Severity::Info, "stack", None, machine.clone());
        for (name, command) in &made.commands {
            executor.note(Severity::Info, "stack", Some(name.clone()), format!("there: {command}"));
        }
    }
    for (name, command) in here.commands() {
        executor.note(Severity::Info, "stack", Some(name.clone()), command.clone());
    }
    let took_ns = here.took().as_nanos() as u64 + there.as_ref().map_or(0, |(_, made)| made.took_ns);
    let took = ShortDuration(took_ns / 1_000_000 * 1_000_000);
    executor.note(Severity::Info, "stack", None, format!("the stacks were made in {took}"));
    let remarks = there.iter().flat_map(|(_, made)| &made.remarks).chain(&here.remarks);
    for remark in remarks {
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
