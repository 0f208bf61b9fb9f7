//! Another machine of a run: the connection to the agent there.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use host::Roots;
use host::programs::{Companion, End, accompany};
use model::{EngineKind, Event, Host, Plan, RemoteHost, Target};
use record::Decoder;
use schedule::Order;

use super::protocol::{
    Bytes, EVENT, MOST_BYTES, PART_BYTES, PROTOCOL, Reply, Request, SILENCE, SILENCE_OF_SERVERS, StoredLog,
    checksum, line_of, read_line,
};

/// How long a connection may take: with keys, jump hosts and a machine that sleeps.
const CONNECTING: Duration = Duration::from_secs(60);
/// The most exchanges by which clocks are compared.
const EXCHANGES: u64 = 8;
/// For how long further exchanges are made.
const COMPARING: Duration = Duration::from_millis(100);
/// How often whoever waits looks up.
const CHECK_PERIOD: Duration = Duration::from_millis(20);
/// How many parts of logs are asked for before the first has come.
const AHEAD: usize = 8;
/// What an agent may send at once, and each second: more than any run has.
const AT_ONCE: u64 = 64 << 20;
const PER_SECOND: u64 = 1 << 20;
/// What a shell returns for a program that it does not find.
const NOT_FOUND: i32 = 127;
/// And for one that cannot be run.
const DOES_NOT_RUN: i32 = 126;
/// The slowest link that a program is sent over, in bytes per second.
const SLOWEST: u64 = 100_000;
/// What is wrong with a reply that nobody expects.
pub(crate) const FOREIGN: &str = "it sent something other than Lodestone's protocol";
/// For how long an agent may say nothing of a repeat, besides what is planned: longer than an engine waits for an operation.
const LONGEST_QUIET: Duration = Duration::from_secs(25 * 60);
/// How long an agent may take to stop once it is told to, and its connection to end.
const STOPPING: Duration = Duration::from_millis(1500);

/// The connection to the agent on another machine.
pub(crate) struct Remote {
    /// The machine as the user named it.
    pub name: String,
    machine: Host,
    /// Its number in the run.
    number: u32,
    /// Its targets are not those of the run, which several work on together.
    is_client: bool,
    targets: Vec<Target>,
    companion: Companion,
    requests: Option<Sender<Vec<u8>>>,
    heard: Receiver<Heard>,
    state: Arc<Mutex<State>>,
    clock: Clock,
    /// Why nothing more can be had from it.
    gone: Option<String>,
    /// The exit code of what it could not do.
    refused: Option<u8>,
    /// The connection has ended by itself.
    has_ended: bool,
    /// The repeat that was ordered, with its step, and whether it has begun.
    ordered: Option<(u32, String, bool)>,
    /// When it last said something of that repeat, and for how long it may say nothing.
    quiet: (Instant, Duration),
    /// When it was told to stop, and how long it may take to.
    stopped: Option<Instant>,
    stops_within: Duration,
    /// For how long it may say nothing.
    silence: Duration,
}

/// What an agent says.
enum Heard {
    Events(Vec<Event>),
    Reply(Reply),
    Gone(String),
}

/// What the thread that listens shares.
struct State {
    heard: Instant,
    /// The agent has begun, so that it can be asked whether it is there.
    is_open: bool,
    /// What it may send as parts of logs that it was asked for.
    granted: u64,
    sent: BTreeMap<u64, (Instant, i64)>,
    pings: u64,
    pongs: u64,
    /// The exchange of least round trip.
    best: Option<(Duration, Clock)>,
}

/// How the agent's clock relates to that of this process.
#[derive(Clone, Copy)]
struct Clock {
    /// A moment here.
    at: Instant,
    /// The same moment there, in nanoseconds on the clock of its events.
    there_ns: u64,
    /// Nanoseconds that its time of day is ahead.
    ahead_ns: i64,
    /// Nanoseconds by which both may be wrong at most.
    within_ns: u64,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unix_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64
}

impl State {
    /// Takes the answer to a ping into account.
    fn pong(&mut self, number: u64, there_ns: u64, there_unix_ns: i64) {
        let Some((sent, sent_unix_ns)) = self.sent.remove(&number) else { return };
        self.sent.retain(|other, _| *other > number);
        self.pongs += 1;
        let round_trip = sent.elapsed();
        if self.best.is_none_or(|(least, _)| round_trip < least) {
            let half = round_trip / 2;
            let half_ns = half.as_nanos() as u64;
            let ahead_ns = there_unix_ns.saturating_sub(sent_unix_ns).saturating_sub(half_ns as i64);
            let clock = Clock { at: sent + half, there_ns, ahead_ns, within_ns: half_ns };
            self.best = Some((round_trip, clock));
        }
    }
}

impl Clock {
    /// A moment of the agent's clock in nanoseconds after `origin`.
    fn since(&self, origin: Instant, there_ns: u64) -> u64 {
        let here_ns = match self.at.checked_duration_since(origin) {
            Some(after) => after.as_nanos() as i128,
            None => -(origin.duration_since(self.at).as_nanos() as i128),
        };
        u64::try_from(here_ns + i128::from(there_ns) - i128::from(self.there_ns)).unwrap_or(0)
    }

    /// Gives an event the time of a run that began at `origin`.
    fn translate(&self, origin: Instant, event: &mut Event) {
        let at_ns = match event {
            Event::LaidOut(laid_out) => &mut laid_out.at_ns,
            Event::RepeatStarted(started) => &mut started.at_ns,
            Event::Reading(reading) => &mut reading.at_ns,
            Event::RepeatFinished(finished) => {
                for part in &mut finished.clients {
                    part.began_ns = self.since(origin, part.began_ns);
                    part.ended_ns = self.since(origin, part.ended_ns);
                }
                &mut finished.at_ns
            }
            Event::Note(note) => &mut note.at_ns,
            _ => return,
        };
        *at_ns = self.since(origin, *at_ns);
    }
}

/// Sends what is asked for, and a ping each second.
fn write(requests: &Receiver<Vec<u8>>, mut stdin: ChildStdin, state: &Mutex<State>) {
    loop {
        let line = match requests.recv_timeout(SILENCE / 10) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) if !locked(state).is_open => continue,
            Err(RecvTimeoutError::Timeout) => ping(state),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn ping(state: &Mutex<State>) -> Vec<u8> {
    let mut state = locked(state);
    state.pings += 1;
    let number = state.pings;
    state.sent.insert(number, (Instant::now(), unix_ns()));
    line_of(&Request::Ping { number })
}

/// Hears what the agent says until it says something that it should not.
fn listen(stdout: ChildStdout, said: &Sender<Heard>, state: &Mutex<State>) {
    let (began, mut decoder, mut bytes) = (Instant::now(), Decoder::default(), 0u64);
    let mut from = BufReader::new(stdout);
    let mut has_spoken = false;
    let why = loop {
        let line = match read_line(&mut from) {
            Ok(Some(line)) => line,
            Ok(None) => break String::new(),
            Err(error) => break format!("{FOREIGN}: {error}"),
        };
        bytes += line.len() as u64;
        let granted = locked(state).granted;
        if bytes > AT_ONCE + PER_SECOND * began.elapsed().as_secs() + granted {
            break "it sends more than a run can have".to_owned();
        }
        locked(state).heard = Instant::now();
        let heard = match line.starts_with(EVENT) {
            true => decoder.decode(&line).map(Heard::Events),
            false => serde_json::from_slice(&line).map(Heard::Reply),
        };
        has_spoken |= heard.is_ok();
        match heard {
            Ok(Heard::Reply(Reply::Pong { number, at_ns, unix_ns })) => {
                locked(state).pong(number, at_ns, unix_ns)
            }
            Ok(heard) => {
                if said.send(heard).is_err() {
                    return;
                }
            }
            Err(_) if !has_spoken => {
                let text: String = String::from_utf8_lossy(&line).chars().take(60).collect();
                break format!(
                    "its shell printed \"{text}\" before the program began; its start-up files must be silent without a terminal"
                );
            }
            Err(error) => break format!("{FOREIGN}: {error}"),
        }
    };
    let _ = said.send(Heard::Gone(why));
    // What it still has to say interests nobody, but it may wait until it is read.
    let _ = std::io::copy(&mut from.take(AT_ONCE), &mut std::io::sink());
}

/// Why a machine was not reached.
#[derive(Debug)]
pub(crate) struct Unreached {
    /// What is wrong and what to do.
    pub why: String,
    /// It was, but its Lodestone is another one, or it has none.
    pub is_absent: bool,
}

impl From<String> for Unreached {
    fn from(why: String) -> Self {
        Self { why, is_absent: false }
    }
}

/// A command for a message: without the script that it may have.
fn command(words: &[String]) -> String {
    let short = |word: &String| if word.contains('\n') { "…".to_owned() } else { word.clone() };
    words.iter().map(short).collect::<Vec<_>>().join(" ")
}

/// What to do about a message of OpenSSH.
fn hint(message: &str) -> &'static str {
    let is_about = |words: &str| message.contains(words);
    if is_about("resolve hostname") {
        "; write ./ before a path on this machine that has a colon"
    } else if is_about("Host key verification") {
        "; connect once by hand, to accept its key"
    } else if is_about("Permission denied") {
        "; a run cannot ask for a password: set a key up with ssh-copy-id, and unlock it with ssh-add"
    } else {
        ""
    }
}

impl Remote {
    /// Connects to a machine by a command that starts its agent, or takes a program that becomes it.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn connect(
        roots: &Roots,
        name: &str,
        words: &[String],
        program: Option<&[u8]>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, Unreached> {
        let begun = accompany(roots, words);
        let cannot = |error| Unreached::from(format!("{name}: cannot start `{}`: {error}", command(words)));
        let (companion, stdin, stdout) = begun.map_err(cannot)?;
        let now = Instant::now();
        // Until it has said something, it may take longer.
        let sending = Duration::from_secs(program.map_or(0, |program| program.len() as u64 / SLOWEST));
        let heard = now + CONNECTING + sending - SILENCE;
        let is_open = program.is_none();
        let state =
            State { heard, is_open, granted: 0, sent: BTreeMap::new(), pings: 0, pongs: 0, best: None };
        let state = Arc::new(Mutex::new(state));
        let (requests, to_write) = channel();
        let (said, heard) = channel();
        let (of_writer, of_listener) = (Arc::clone(&state), Arc::clone(&state));
        thread::spawn(move || write(&to_write, stdin, &of_writer));
        thread::spawn(move || listen(stdout, &said, &of_listener));
        let mut remote = Self {
            name: name.to_owned(),
            machine: Host::default(),
            number: 0,
            is_client: false,
            targets: Vec::new(),
            companion,
            requests: Some(requests),
            heard,
            state,
            clock: Clock { at: now, there_ns: 0, ahead_ns: 0, within_ns: 0 },
            gone: None,
            refused: None,
            has_ended: false,
            ordered: None,
            quiet: (now, Duration::ZERO),
            stopped: None,
            stops_within: STOPPING,
            silence: SILENCE,
        };
        match remote.greet(words, program, is_stopped) {
            Ok(()) => Ok(remote),
            Err(unreached) => Err(Unreached { why: format!("{name}: {}", unreached.why), ..unreached }),
        }
    }

    fn greet(
        &mut self,
        words: &[String],
        program: Option<&[u8]>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), Unreached> {
        let next = |remote: &mut Self| match remote.reply(Instant::now(), &mut |_| {}, is_stopped) {
            Err(_) if remote.has_ended => Err(remote.why_it_did_not_begin(words, program.is_some())),
            Err(why) => Err(why.into()),
            Ok(reply) => Ok(reply),
        };
        if let (Some(program), Some(requests)) = (program, &self.requests) {
            let _ = requests.send(program.to_vec());
            let Reply::Received = next(self)? else { return Err(FOREIGN.to_owned().into()) };
            locked(&self.state).is_open = true;
        }
        let own = env!("CARGO_PKG_VERSION");
        let is_sent = program.is_some();
        self.send(&Request::Hello { protocol: PROTOCOL, version: own.to_owned(), is_sent });
        match next(self)? {
            Reply::Hello { checksum: Some(found), .. }
                if program.is_some_and(|sent| checksum(sent) != found) =>
            {
                return Err("the program that was sent arrived damaged".to_owned().into());
            }
            Reply::Hello { protocol: PROTOCOL, version, machine, .. } if version == own => {
                self.machine = *machine
            }
            Reply::Hello { version, .. } => {
                let why = format!(
                    "its Lodestone is version {version}, and this one {own}: both must be the same; install {own} there, name \
                     it with --remote-program, or send this one with --send-program"
                );
                return Err(Unreached { why, is_absent: true });
            }
            _ => return Err(FOREIGN.to_owned().into()),
        }
        match self.compare_clocks() {
            true => Ok(()),
            false => Err("it does not answer".to_owned().into()),
        }
    }

    /// Compares its clock with that of this process anew. False if it does not answer.
    pub fn compare_clocks(&mut self) -> bool {
        let began = Instant::now();
        locked(&self.state).best = None;
        for exchange in 0..EXCHANGES {
            if exchange > 0 && began.elapsed() > COMPARING {
                break;
            }
            let Some(requests) = &self.requests else { return false };
            let heard = locked(&self.state).pongs;
            let _ = requests.send(ping(&self.state));
            while locked(&self.state).pongs == heard && began.elapsed() < SILENCE {
                thread::sleep(Duration::from_micros(50));
            }
        }
        let best = locked(&self.state).best;
        best.inspect(|(_, clock)| self.clock = *clock).is_some()
    }

    /// A moment of this process on its clock, in nanoseconds.
    pub fn there_ns(&self, at: Instant) -> u64 {
        let after = at.saturating_duration_since(self.clock.at);
        self.clock.there_ns + after.as_nanos() as u64
    }

    /// Nanoseconds by which its times may be wrong at most.
    pub fn within_ns(&self) -> u64 {
        self.clock.within_ns
    }

    /// Why the agent has ended before it said anything.
    fn why_it_did_not_begin(&mut self, words: &[String], is_sent: bool) -> Unreached {
        let end = self.companion.await_end(STOPPING);
        let complaints = self.companion.complaints(STOPPING);
        let last = complaints.lines().last().unwrap_or_default();
        let command = command(words);
        match end {
            Some(End::Exited(NOT_FOUND)) if is_sent => format!("no program can be sent there: {last}").into(),
            Some(End::Exited(NOT_FOUND)) => Unreached {
                why: format!(
                    "Lodestone is not installed there, or not where its shell looks for programs ({last}); install it, name it \
                     with --remote-program, or send this one with --send-program"
                ),
                is_absent: true,
            },
            Some(End::Exited(DOES_NOT_RUN)) if !last.is_empty() => last.to_owned().into(),
            _ if !last.is_empty() => {
                format!("`{command}` failed: {}{}", last.trim_end_matches('.'), hint(last)).into()
            }
            Some(End::Exited(code)) => format!("`{command}` ended with exit code {code}").into(),
            _ => format!("`{command}` ended before it said anything").into(),
        }
    }

    /// The machine, for the log.
    pub fn machine(&self) -> RemoteHost {
        let Clock { ahead_ns, within_ns, .. } = self.clock;
        RemoteHost { name: self.name.clone(), machine: self.machine.clone(), ahead_ns, within_ns }
    }

    /// Examines targets there. Returns them, and the engines that work there, the best first.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn inspect(
        &mut self,
        asked: &Request,
        count: usize,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(Vec<Target>, Vec<EngineKind>), String> {
        let named = |name: &str, why: &str| format!("{name}: {why}");
        match self.ask(asked, is_stopped) {
            Ok(Reply::Inspected { targets, engines }) if targets.len() == count && !engines.is_empty() => {
                Ok((targets, engines))
            }
            Ok(_) => Err(named(&self.name, FOREIGN)),
            Err(why) => Err(named(&self.name, &why)),
        }
    }

    /// Lists the logs of a store there; an empty path is the default store. Also returns what is wrong with others.
    ///
    /// # Errors
    /// What is wrong and what to do.
    pub fn logs(&mut self, store: &str) -> Result<(Vec<StoredLog>, Vec<String>), String> {
        self.send(&Request::Logs { store: store.to_owned() });
        let mut all = Vec::new();
        loop {
            match self.reply(Instant::now(), &mut |_| {}, &|| false)? {
                Reply::Logs { logs, warnings, is_last } => {
                    all.extend(logs);
                    if is_last {
                        return Ok((all, warnings));
                    }
                }
                _ => return Err(FOREIGN.to_owned()),
            }
        }
    }

    /// Passes each of these logs to `take`; not one that is not there any more.
    ///
    /// # Errors
    /// What is wrong and what to do, or that of `take`.
    pub fn send_logs(
        &mut self,
        wanted: &[StoredLog],
        mut take: impl FnMut(&StoredLog, &[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let parts_of = |log: &'_ StoredLog| (0..log.bytes).step_by(PART_BYTES as usize);
        let mut parts = wanted.iter().flat_map(|log| parts_of(log).map(move |from| (log, from)));
        let (mut asked, mut whole) = (VecDeque::new(), Vec::new());
        loop {
            let ahead = AHEAD - asked.len();
            for (log, from) in parts.by_ref().take(ahead) {
                locked(&self.state).granted += MOST_BYTES;
                self.send(&Request::LogPart { file: log.file.clone(), from });
                asked.push_back((log, from));
            }
            let Some((log, from)) = asked.pop_front() else { return Ok(()) };
            let Reply::LogPart { bytes: Bytes(part) } = self.reply(Instant::now(), &mut |_| {}, &|| false)?
            else {
                return Err(FOREIGN.to_owned());
            };
            whole.extend(part);
            if from + PART_BYTES >= log.bytes {
                let bytes = std::mem::take(&mut whole);
                if bytes.len() as u64 == log.bytes {
                    take(log, &bytes)?;
                }
            }
        }
    }

    /// Gives it longer to stop, as it has to remove what it has made, and to say something.
    pub fn serves(&mut self, stops_within: Duration) {
        (self.stops_within, self.silence) = (stops_within, SILENCE_OF_SERVERS);
    }

    /// Asks for something that it answers at once, or after a while in which it is there.
    ///
    /// # Errors
    /// Nothing more can be had from it: why.
    pub fn ask(&mut self, asked: &Request, is_stopped: &dyn Fn() -> bool) -> Result<Reply, String> {
        self.send(asked);
        self.reply(Instant::now(), &mut |_| {}, is_stopped)
    }

    /// Sets what it measures, its number in the run, and whether it works on a target of the run together with others.
    pub fn measures(&mut self, number: u32, targets: Vec<Target>, is_client: bool) {
        (self.number, self.targets, self.is_client) = (number, targets, is_client);
    }

    /// True if both are on one machine.
    pub fn is_on_machine_of(&self, other: &Self) -> bool {
        self.machine == other.machine
    }

    /// Why nothing more can be had from it, if that is so.
    pub fn gone(&self) -> Option<&str> {
        self.gone.as_deref()
    }

    /// The exit code of what it could not do, if it said so before nothing more could be had from it.
    pub fn refused(&self) -> Option<u8> {
        self.refused
    }

    /// Its number in the run.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What it measures.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Sends an order, unless nobody is there.
    pub fn send(&self, request: &Request) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(line_of(request));
        }
    }

    /// Ends the agent's input, and with it the agent.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// Expects the events of this repeat and of no other.
    pub fn order(&mut self, order: &Order, plan: &Plan) {
        let step = &plan.steps[order.step];
        self.ordered = Some((order.repeat, step.id.clone(), false));
        let planned = step.ramp_ns + step.stop.time_ns.unwrap_or(0) + 2 * step.interval_ns;
        self.quiet = (Instant::now(), LONGEST_QUIET + Duration::from_nanos(planned));
        self.send(&Request::Repeat(order.clone()));
    }

    /// The number of a repeat that has begun and not ended.
    pub fn under_way(&self) -> Option<u32> {
        self.ordered.as_ref().filter(|(.., has_begun)| *has_begun).map(|(repeat, ..)| *repeat)
    }

    /// Passes on what it has said meanwhile.
    pub fn drain(&mut self, origin: Instant, take: &mut dyn FnMut(Event)) {
        while self.gone.is_none() {
            match self.heard.try_recv() {
                Ok(Heard::Events(events)) => self.pass(events, origin, take),
                Ok(Heard::Reply(Reply::Refused { message, code })) => self.refuse(message, code),
                Ok(Heard::Reply(_)) => self.lose("it answers what it was not asked".to_owned()),
                Ok(Heard::Gone(why)) => self.lose(why),
                Err(_) => return,
            }
        }
    }

    /// The next reply; what it says before is passed on, with the time of a run that began at `origin`.
    ///
    /// # Errors
    /// Nothing more can be had from it: why.
    pub fn reply(
        &mut self,
        origin: Instant,
        take: &mut dyn FnMut(Event),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Reply, String> {
        loop {
            if let Some(why) = &self.gone {
                return Err(why.clone());
            }
            match self.heard.recv_timeout(CHECK_PERIOD) {
                Ok(Heard::Events(events)) => self.pass(events, origin, take),
                Ok(Heard::Reply(Reply::Refused { message, code })) => self.refuse(message, code),
                Ok(Heard::Reply(reply)) => return Ok(reply),
                Ok(Heard::Gone(why)) => self.lose(why),
                Err(_) => self.look_up(is_stopped()),
            }
        }
    }

    /// Passes an interruption on, and gives up a machine that is silent.
    fn look_up(&mut self, is_stopped: bool) {
        if is_stopped && self.stopped.is_none() {
            self.send(&Request::Stop);
            self.stopped = Some(Instant::now());
        }
        if self.stopped.is_some_and(|since| since.elapsed() > self.stops_within) {
            self.lose("it did not stop in time".to_owned());
        } else if locked(&self.state).heard.elapsed() > self.silence {
            self.lose("nothing is heard from it any more".to_owned());
        } else if self.ordered.is_some() && self.quiet.0.elapsed() > self.quiet.1 {
            let minutes = self.quiet.1.as_secs() / 60;
            self.lose(format!("it has reported no progress for {minutes} minutes"));
        }
    }

    fn pass(&mut self, events: Vec<Event>, origin: Instant, take: &mut dyn FnMut(Event)) {
        for mut event in events {
            if !self.admits(&mut event) {
                return self.lose("it sent events of what it was not asked for".to_owned());
            }
            if self.is_client && matches!(event, Event::LaidOut(_)) {
                continue;
            }
            self.clock.translate(origin, &mut event);
            if !matches!(event, Event::Reading(_)) {
                self.quiet.0 = Instant::now();
            }
            take(event);
        }
    }

    /// Whether an event can be of its part of the run. It becomes one of its machine.
    fn admits(&mut self, event: &mut Event) -> bool {
        let is_own = |name: &String| self.targets.iter().any(|target| target.name == *name);
        let ordered = self.ordered.as_mut();
        let is_under_way = |repeat: u32| matches!(&ordered, Some((number, _, true)) if *number == repeat);
        match event {
            Event::LaidOut(laid_out) => is_own(&laid_out.target),
            Event::Interval(interval) => is_under_way(interval.repeat),
            Event::RepeatStarted(started) => match ordered {
                Some((repeat, step, has_begun)) if !*has_begun => {
                    *has_begun = true;
                    *repeat == started.repeat && *step == started.step && is_own(&started.target)
                }
                _ => false,
            },
            Event::RepeatFinished(finished) => {
                let is_expected = is_under_way(finished.repeat);
                self.ordered = None;
                is_expected
            }
            Event::Reading(reading) => {
                reading.host = self.number;
                true
            }
            Event::Note(note) => {
                let is_known = note.target.as_ref().is_none_or(is_own);
                if self.is_client {
                    note.target = None;
                }
                if note.target.is_none() {
                    note.message = format!("{}: {}", self.name, note.message);
                }
                is_known
            }
            Event::RunStarted(_) | Event::Imported(_) | Event::SetAside(_) | Event::RunFinished(_) => false,
        }
    }

    /// It cannot do what it was asked, and ends.
    fn refuse(&mut self, message: String, code: u8) {
        self.refused = Some(code);
        self.lose(message);
    }

    /// Nothing more can be had from it. Its agent notices, and removes what it has made.
    fn lose(&mut self, why: String) {
        self.has_ended |= why.is_empty();
        let complaints = self.companion.complaints(if self.has_ended { STOPPING } else { Duration::ZERO });
        let last = complaints.lines().last().unwrap_or_default();
        let why = match (why.is_empty(), last.is_empty()) {
            (false, _) => why,
            (true, false) => format!("the connection ended: {last}"),
            (true, true) => "the connection ended".to_owned(),
        };
        self.requests = None;
        self.gone.get_or_insert(why);
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The connection ends with the agent.
        self.hang_up();
        if self.gone.is_none() {
            self.companion.await_end(STOPPING);
        }
    }
}
