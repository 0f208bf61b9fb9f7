//! `lodestone agent`: does on this machine what a run on another one orders, through its standard input and output.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use host::{Hold, Roots, consent, identify, presence};
use model::{Event, RunStarted, Severity, Target};
use record::{Encoder, Listing, RunState, Store};
use report::Units;
use schedule::{Executor, Lost};

use super::engines::Engines;
use super::run::{clean_leftovers_in, holds};
use super::stack_server::{find_ground, serve_stacks};
use super::{default_store, unsafe_directories};
use crate::executor::{Local, PendingReports, RigError, TargetState, Watching};
use crate::failure::{FAILED, Failure};
use crate::fleet::protocol::{
    Begin, Bytes, PART_BYTES, PART_LOGS, PROTOCOL, Reply, Request, SILENCE, SILENCE_OF_SERVERS, checksum,
    line_of, read_line,
};
use crate::interrupt;
use crate::progress::Progress;
use crate::recorder::{Outlet, Recorder};

/// Messages that wait to be written; whoever has more waits too.
const MOST_WAITING: usize = 1 << 10;
/// How often what has no signal of its own is checked.
const CHECK_PERIOD: Duration = Duration::from_millis(20);
/// How long the last messages may take.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// Serves one run.
///
/// # Errors
/// It is started by hand, or what was ordered cannot be done.
pub fn agent() -> Result<ExitCode, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::usage(
            "the agent is the other end of a run on another machine, which starts it by itself: \
             `lodestone run HOST:PATH`",
        ));
    }
    let interrupt = interrupt::watch()
        .map_err(|e| Failure::failed(format!("cannot watch for signals: {e}")).because(&e))?;
    let (line, end) = Line::open(interrupt);
    let served = serve(&line);
    if let Err(failure) = &served {
        line.reply(&Reply::Refused { message: failure.message.clone(), code: failure.code });
    }
    drop(line);
    let _ = end.recv_timeout(LAST_MESSAGES);
    served.map(|()| ExitCode::SUCCESS)
}

/// The connection to the run.
struct Line {
    requests: Receiver<Option<Request>>,
    /// There will be no more of them.
    is_over: Cell<bool>,
    shared: Shared,
}

/// What who works and who listens have in common.
#[derive(Clone)]
struct Shared {
    out: Out,
    interrupt: Arc<AtomicBool>,
    /// The other side wants the repeat under way to end.
    is_stopped: Arc<AtomicBool>,
    /// The moment from which the events' times count.
    origin: Instant,
    /// For how many milliseconds the other side may say nothing.
    silence_ms: Arc<AtomicU64>,
}

/// Where messages go.
#[derive(Clone)]
struct Out {
    sender: Arc<Mutex<Option<SyncSender<Vec<u8>>>>>,
    /// Nobody listens any more.
    is_gone: Arc<AtomicBool>,
}

impl Out {
    /// Sends a line as soon as there is room for it.
    fn send(&self, mut line: Vec<u8>) {
        while !self.is_gone.load(Ordering::Relaxed) {
            let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
            line = match sender.map(|sender| sender.try_send(line)) {
                Some(Err(TrySendError::Full(line))) => line,
                _ => return,
            };
            thread::sleep(CHECK_PERIOD);
        }
    }
}

impl Line {
    /// Begins to listen and to write. What comes second tells when everything is written.
    fn open(interrupt: Arc<AtomicBool>) -> (Self, Receiver<()>) {
        let origin = Instant::now();
        let (sender, lines) = sync_channel::<Vec<u8>>(MOST_WAITING);
        let (done, end) = channel();
        let is_gone = Arc::new(AtomicBool::new(false));
        let out = Out { sender: Arc::new(Mutex::new(Some(sender))), is_gone: Arc::clone(&is_gone) };
        thread::spawn(move || {
            let mut stdout = io::stdout();
            for line in lines {
                if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                    is_gone.store(true, Ordering::Relaxed);
                    break;
                }
            }
            let _ = done.send(());
        });
        let (asked, requests) = channel();
        let silence_ms = Arc::new(AtomicU64::new(SILENCE.as_millis() as u64));
        let shared = Shared { out, interrupt, is_stopped: Arc::default(), origin, silence_ms };
        Listener { asked, heard_ms: Arc::default(), shared: shared.clone() }.begin();
        (Self { requests, is_over: Cell::new(false), shared }, end)
    }

    /// The next order; `None` if there will be no more.
    fn next(&self) -> Option<Request> {
        if self.is_over.get() {
            return None;
        }
        let next = self.requests.recv().ok().flatten();
        self.is_over.set(next.is_none());
        next
    }

    /// Says that all is ready and waits for the moment to begin, on `CLOCK_MONOTONIC`; `None` if there will be none.
    fn await_start(&self) -> Option<u64> {
        self.reply(&Reply::Ready);
        while !self.shared.interrupt.load(Ordering::Relaxed) {
            match self.requests.recv_timeout(CHECK_PERIOD) {
                Ok(Some(Request::Start { at_ns })) => {
                    let now_ns = self.shared.origin.elapsed().as_nanos() as u64;
                    return at_ns.map(|at_ns| engine::monotonic_ns() + at_ns.saturating_sub(now_ns));
                }
                Ok(Some(_)) => return None,
                Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                    self.is_over.set(true);
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        None
    }

    fn reply(&self, reply: &Reply) {
        self.shared.out.send(line_of(reply));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.out.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Hears what is ordered, and notices when nobody is there any more.
#[derive(Clone)]
struct Listener {
    asked: Sender<Option<Request>>,
    /// When something was last heard, in milliseconds after the origin.
    heard_ms: Arc<AtomicU64>,
    shared: Shared,
}

impl Listener {
    fn begin(self) {
        let watchdog = self.clone();
        thread::spawn(move || {
            let mut from = BufReader::new(io::stdin());
            while let Ok(Some(line)) = read_line(&mut from) {
                self.hear(&line);
            }
            self.lose();
        });
        thread::spawn(move || {
            loop {
                thread::sleep(SILENCE / 20);
                let heard = Duration::from_millis(watchdog.heard_ms.load(Ordering::Relaxed));
                let silence = Duration::from_millis(watchdog.shared.silence_ms.load(Ordering::Relaxed));
                if watchdog.shared.origin.elapsed().saturating_sub(heard) > silence {
                    return watchdog.lose();
                }
            }
        });
    }

    fn hear(&self, line: &[u8]) {
        let at = self.shared.origin.elapsed();
        self.heard_ms.store(at.as_millis() as u64, Ordering::Relaxed);
        match serde_json::from_slice(line) {
            Ok(Request::Ping { number }) => {
                let unix_ns =
                    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
                let at_ns = self.shared.origin.elapsed().as_nanos() as u64;
                self.shared.out.send(line_of(&Reply::Pong { number, at_ns, unix_ns }));
            }
            Ok(Request::Stop) => {
                self.shared.is_stopped.store(true, Ordering::Relaxed);
                self.shared.interrupt.store(true, Ordering::Relaxed);
            }
            Ok(request) => drop(self.asked.send(Some(request))),
            Err(error) => {
                let message = format!("it does not understand what it is asked for: {error}");
                self.shared.out.send(line_of(&Reply::Refused { message, code: FAILED }));
            }
        }
    }

    /// Nobody is there: the load ends, and everything is removed.
    fn lose(&self) {
        self.shared.out.is_gone.store(true, Ordering::Relaxed);
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        self.shared.interrupt.store(true, Ordering::Relaxed);
        let _ = self.asked.send(None);
    }
}

/// Events as lines.
struct Events {
    encoder: Encoder,
    out: Out,
}

impl Outlet for Events {
    fn take(&mut self, events: &[Event]) {
        let Self { encoder, out } = self;
        // The events of a run always have a JSON form.
        let _ = encoder.encode(events, |mut line| {
            line.push(b'\n');
            out.send(line);
        });
    }
}

fn serve(line: &Line) -> Result<(), Failure> {
    let roots = Roots::default();
    let engines = Engines::probe();
    let (mut inspected, mut opened) = (None, None);
    while let Some(request) = line.next() {
        match request {
            Request::Hello { is_sent, .. } => line.reply(&Reply::Hello {
                checksum: is_sent.then(|| checksum(&std::fs::read("/proc/self/exe").unwrap_or_default())),
                protocol: PROTOCOL,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                machine: Box::new(identify(&roots)),
            }),
            Request::Inspect { targets, overwrite, machine, allow_unsafe_directory } => {
                let found = Inspected::find(
                    &roots,
                    machine.as_deref(),
                    &targets,
                    &overwrite,
                    allow_unsafe_directory,
                )?;
                line.reply(&Reply::Inspected {
                    targets: found.targets.clone(),
                    engines: engines.capabilities().iter().map(|engine| engine.kind).collect(),
                });
                inspected = Some(found);
            }
            Request::Logs { store } => {
                let (store, Listing { runs, mut warnings }) = stored(&store)?;
                let mut parts = runs.chunks(PART_LOGS).peekable();
                loop {
                    let logs = parts.next().unwrap_or_default().iter().map(Into::into).collect();
                    let is_last = parts.peek().is_none();
                    let warnings = if is_last { std::mem::take(&mut warnings) } else { Vec::new() };
                    line.reply(&Reply::Logs { logs, warnings, is_last });
                    if is_last {
                        break;
                    }
                }
                opened = Some((store, runs.into_iter().map(|run| run.file).collect::<BTreeSet<_>>()));
            }
            Request::LogPart { file, from } => {
                let listed = opened.as_ref().filter(|(_, files)| files.contains(&file));
                let bytes = listed.and_then(|(store, _)| store.log_part(&file, from, PART_BYTES).ok());
                line.reply(&Reply::LogPart { bytes: Bytes(bytes.unwrap_or_default()) });
            }
            Request::FindGround { on, stacks } => line.reply(&find_ground(&on, &stacks)?),
            Request::MakeStacks(asked) => {
                line.shared.silence_ms.store(SILENCE_OF_SERVERS.as_millis() as u64, Ordering::Relaxed);
                let next = || {
                    loop {
                        match line.next() {
                            Some(Request::Begin(begin)) => watch(line, &roots, &engines, *begin),
                            next => return next,
                        }
                    }
                };
                let reply = |made: Reply| line.reply(&made);
                return serve_stacks(*asked, &line.shared.interrupt, next, reply);
            }
            Request::Begin(begin) => {
                let found = inspected.take().ok_or_else(|| Failure::failed("nothing was examined yet"))?;
                return measure(line, &roots, &engines, found, *begin);
            }
            Request::End => return Ok(()),
            _ => return Err(Failure::failed("the run has not begun")),
        }
    }
    Ok(())
}

/// A store and its runs that have ended; an empty path is the default store.
fn stored(path: &str) -> Result<(Store, Listing), Failure> {
    let named = if path.is_empty() { default_store() } else { Some(PathBuf::from(path)) };
    let path = named.ok_or_else(|| Failure::usage("give the path of its store after the colon"))?;
    if !path.is_dir() {
        return Err(Failure::usage(format!(
            "there is no store at {}; give the path of one after the colon",
            path.display()
        )));
    }
    let store = Store::open(&path).map_err(Failure::failed)?;
    let mut listing = store.list().map_err(Failure::failed)?;
    listing.runs.retain(|run| run.state != RunState::Running);
    Ok((store, listing))
}

/// What is to be measured.
struct Inspected {
    targets: Vec<Target>,
    holds: Vec<Option<Hold>>,
    /// Warnings, with the position of the target.
    unsafe_directories: Vec<(usize, String)>,
}

impl Inspected {
    fn find(
        roots: &Roots,
        machine: Option<&str>,
        named: &[String],
        overwrite: &[String],
        allow_unsafe_directory: bool,
    ) -> Result<Self, Failure> {
        let mut targets = host::target::inspect_all(roots, named).map_err(Failure::usage)?;
        let holds = holds(roots, machine, &consent::named(overwrite), &mut targets)?;
        let noticed = unsafe_directories::check(&targets, allow_unsafe_directory)?;
        let place = |name: &str| targets.iter().position(|target| target.name == name).unwrap_or(0);
        let unsafe_directories = noticed.into_iter().map(|(name, message)| (place(&name), message)).collect();
        host::measure_ciphers(roots, &mut targets, || {});
        Ok(Self { targets, holds, unsafe_directories })
    }
}

/// Watches this machine during a run that measures nothing here.
fn watch(line: &Line, roots: &Roots, engines: &Engines, begin: Begin) {
    let nothing = Inspected { targets: Vec::new(), holds: Vec::new(), unsafe_directories: Vec::new() };
    if let Err(failure) = measure(line, roots, engines, nothing, begin) {
        line.reply(&Reply::Refused { message: failure.message, code: failure.code });
    }
}

/// Carries the orders of a run out.
fn measure(
    line: &Line,
    roots: &Roots,
    engines: &Engines,
    inspected: Inspected,
    begin: Begin,
) -> Result<(), Failure> {
    let Begin { run, names, plan, seed, telemetry_ns, settle_ns, is_together } = begin;
    if names.len() != inspected.targets.len() {
        return Err(Failure::failed("there are not as many names as targets"));
    }
    let named = |(target, name): (Target, String)| Target { name, ..target };
    let targets: Vec<Target> = inspected.targets.into_iter().zip(names).map(named).collect();
    let started = RunStarted {
        id: run,
        seed,
        host: identify(roots),
        ..RunStarted::of_plan(plan.clone(), targets.clone())
    };
    let scratch = host::scratch::parents(&std::env::temp_dir());
    let cleaned = clean_leftovers_in(&targets, &scratch);
    let name = |(i, message): (usize, String)| (targets[i].name.clone(), message);
    let noticed = inspected.unsafe_directories.into_iter().map(name).collect();
    let events = Events { encoder: Encoder::default(), out: line.shared.out.clone() };
    let states = targets.clone().into_iter().zip(inspected.holds).map(|(t, hold)| TargetState::new(t, hold));
    let mut local = Local {
        roots: roots.clone(),
        plan: &plan,
        best_engine: engines.best(),
        seed,
        interrupt: Arc::clone(&line.shared.interrupt),
        presence: presence::announce(&started.id).ok(),
        progress: Progress::new(true, true, Units::default()),
        recorder: Recorder::at_outlet(line.shared.origin, started, Box::new(events)),
        targets: states.collect(),
        scratch,
        telemetry_period: telemetry_ns.map(Duration::from_nanos),
        settle: Duration::from_nanos(settle_ns),
        watching: Watching::default(),
        pending_reports: PendingReports::default(),
        barrier: is_together.then(|| Box::new(|| line.await_start()) as Box<engine::Barrier<'_>>),
    };
    unsafe_directories::note(&mut local, noticed);
    for message in cleaned {
        local.note(Severity::Info, "leftovers", None, message);
    }
    let clock_ahead_ns = host::readiness::wall_clock_ahead_ns();
    let shares = local.begin().into_iter().map(|lane| lane.shares).collect();
    line.reply(&Reply::Begun { shares });
    let done = obey(line, &mut local);
    let silent = local.release();
    local.end(clock_ahead_ns);
    // What was made is gone before the other side hears so.
    drop(local);
    done.map_err(Failure::failed)?;
    line.reply(&Reply::Over { silent });
    Ok(())
}

fn obey(line: &Line, local: &mut Local<'_>) -> Result<(), RigError> {
    while let Some(request) = line.next() {
        match request {
            Request::LayOut => {
                let lost = local.lay_out()?;
                line.reply(&Reply::LaidOut { lost, sizes: local.open_sizes() });
            }
            Request::Fit { sizes } => local.fit(&sizes),
            Request::Settle { expected_ns } => {
                local.await_readiness(Duration::from_nanos(expected_ns));
                line.reply(&Reply::Settled);
            }
            Request::Repeat(order)
                if order.step < local.plan.steps.len() && order.lane < local.targets.len() =>
            {
                let outcome = local.repeat(&order)?;
                let was_stopped_here = local.is_stopped() && !line.shared.is_stopped.load(Ordering::Relaxed);
                let lost = was_stopped_here.then(|| Lost::Machine("its agent was stopped there".to_owned()));
                line.reply(&Reply::Ended { failure: outcome.failure, lost: outcome.lost.or(lost) });
            }
            // Of a repeat that has ended before its barrier.
            Request::Start { .. } => {}
            Request::RoundEnded => local.round_ended(),
            Request::End => break,
            other => debug_assert!(false, "{other:?} has no place here"),
        }
    }
    Ok(())
}
