//! What an agent is told and answers: lines of JSON. The events of a run are the lines of its log.

use std::io::{self, BufRead, Read};
use std::net::IpAddr;
use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use host::stacks::{Ground, Named, Precondition, Server};
use model::{EngineKind, Host, Plan, RepeatFailure, Target};
use record::RunSummary;
use schedule::{Lost, Order};
use serde::{Deserialize, Serialize};

use twox_hash::xxhash3_64;

use crate::executor::OpenSize;

/// Version of the protocol. Both sides are of the same version of Lodestone too, since plans and events change with it.
pub(crate) const PROTOCOL: u32 = 7;
/// The most bytes of one message.
pub(crate) const MOST_BYTES: u64 = 16 << 20;
/// A side that has said nothing for this long is gone; both say something each second.
pub(crate) const SILENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// The same for a machine that serves storage: that goes over the same network and has more to lose.
pub(crate) const SILENCE_OF_SERVERS: std::time::Duration = std::time::Duration::from_secs(60);
/// The most bytes of a log that one message has.
pub(crate) const PART_BYTES: u64 = 4 << 20;
/// The most logs that one message lists.
pub(crate) const PART_LOGS: usize = 10_000;
/// Start of a line with events.
pub(crate) const EVENT: &[u8] = b"{\"event\":";

/// What an agent is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Who speaks, and whether the agent's program was sent just now.
    Hello { protocol: u32, version: String, is_sent: bool },
    /// Say that you are there, and what time it is.
    Ping { number: u64 },
    /// Examine what is to be measured. `machine`: what a path there begins with, if it is not the user's machine.
    Inspect {
        targets: Vec<String>,
        overwrite: Vec<String>,
        machine: Option<String>,
        allow_unsafe_directory: bool,
    },
    /// A run begins.
    Begin(Box<Begin>),
    /// Lay out the test data.
    LayOut,
    /// Make the test data no larger than this.
    Fit { sizes: Vec<OpenSize> },
    /// Wait until the machine is quiet, for a run that is expected to last this long.
    Settle { expected_ns: u64 },
    /// Make a repeat; of several machines together, as far as the barrier before its first operation.
    Repeat(Order),
    /// Pass the barrier at this moment of your clock; `None`: not at all.
    Start { at_ns: Option<u64> },
    /// A round is over.
    RoundEnded,
    /// End what is under way.
    Stop,
    /// The run is over: remove everything.
    End,
    /// List the logs in a store; an empty path is the default store.
    Logs { store: String },
    /// Send at most [`PART_BYTES`] of a log of that list.
    LogPart { file: String, from: u64 },
    /// Find the ground on which stacks are to stand.
    FindGround { on: String, stacks: String },
    /// Make what is below the network in stacks, and serve it.
    MakeStacks(Box<MakeStacks>),
    /// Leave them as they stand.
    LeaveStacks,
}

/// Stacks whose lower part an agent makes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MakeStacks {
    /// What they are known by.
    pub named: Named,
    /// Where they stand.
    pub ground: Ground,
    /// What they are called, and with it what they are.
    pub stacks: Vec<String>,
    /// What is done first, if the user says so.
    pub wanted: Option<Precondition>,
    /// How often each is made.
    pub makings: u32,
    /// The agent's machine.
    pub server: Server,
    /// What may be overwritten.
    pub overwrite: Vec<String>,
    /// What a path there begins with.
    pub machine: String,
}

/// How stacks were made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StackCommands {
    /// How long it took.
    pub took_ns: u64,
    /// The name of each stack with each command.
    pub commands: Vec<(String, String)>,
    /// What is worth knowing about it.
    pub remarks: Vec<String>,
}

/// A log in a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StoredLog {
    /// Its name.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// When it last changed, in nanoseconds of Unix time.
    pub modified_ns: i64,
}

impl From<&RunSummary> for StoredLog {
    fn from(run: &RunSummary) -> Self {
        Self { file: run.file.clone(), bytes: run.file_bytes, modified_ns: run.modified_ns }
    }
}

/// Bytes as Base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Bytes(pub Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = base64::DecodeError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        BASE64_STANDARD.decode(text).map(Self)
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        BASE64_STANDARD.encode(bytes.0)
    }
}

/// What an agent needs to know of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Its id.
    pub run: String,
    /// The names of the targets, in the order in which they were examined.
    pub names: Vec<String>,
    /// What is done.
    pub plan: Plan,
    /// Seed of everything random.
    pub seed: u64,
    /// How often telemetry is read, if it is, in nanoseconds.
    pub telemetry_ns: Option<u64>,
    /// The longest wait for quiet devices, in nanoseconds.
    pub settle_ns: u64,
    /// Wait for [`Request::Start`] before the first operation of each repeat.
    pub is_together: bool,
}

/// What an agent answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The program is there. What has received it says so.
    Received,
    /// Who speaks, and where; of a program that was sent, its checksum.
    Hello { protocol: u32, version: String, machine: Box<Host>, checksum: Option<u64> },
    /// Its time, on the clock of its events, and of day, in nanoseconds.
    Pong { number: u64, at_ns: u64, unix_ns: i64 },
    /// What was found.
    Inspected {
        targets: Vec<Target>,
        /// The engines that work, the best first.
        engines: Vec<EngineKind>,
    },
    /// It cannot be done: what is wrong and what to do, and the exit code of that.
    Refused { message: String, code: u8 },
    /// The run has begun: for each target which other one's test data it uses instead of its own.
    Begun { shares: Vec<Option<usize>> },
    /// The test data are there, but for these lanes.
    LaidOut { lost: Vec<(usize, Lost)>, sizes: Vec<OpenSize> },
    /// Everything is ready for the first operation of the repeat that was ordered.
    Ready,
    /// It is quiet, or will not become so.
    Settled,
    /// What became of an order.
    Ended { failure: Option<RepeatFailure>, lost: Option<Lost> },
    /// Everything is removed, but for what these lanes do not give back.
    Over { silent: Vec<usize> },
    /// At most [`PART_LOGS`] logs of runs that have ended; with the last of them, what is wrong with others.
    Logs { logs: Vec<StoredLog>, warnings: Vec<String>, is_last: bool },
    /// The ground that was found; the directory of stacks there, what its kernel calls this boot, and the address that it was
    /// reached at.
    Ground { ground: Ground, directory: PathBuf, boot: String, address: Option<IpAddr> },
    /// Stacks stand.
    StacksMade(StackCommands),
    /// A part of a log; nothing if the log is not there any more.
    LogPart { bytes: Bytes },
}

/// Checksum of a program that is sent.
pub(crate) fn checksum(program: &[u8]) -> u64 {
    xxhash3_64::Hasher::oneshot(program)
}

/// A message as a line.
pub(crate) fn line_of(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The next line, without its end; `None` after the last.
///
/// # Errors
/// The kernel's, or a line that is too long.
pub(crate) fn read_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = from.take(MOST_BYTES).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if read as u64 == MOST_BYTES => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message longer than {} MiB", MOST_BYTES >> 20),
        )),
        // Cut off in the middle.
        Some(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_or_not_at_all() {
        let text = b"one\n\ntwo\nthr";
        let mut from = &text[..];
        let lines: Vec<_> = std::iter::from_fn(|| read_line(&mut from).unwrap()).collect();
        assert_eq!(lines, [&b"one"[..], b"", b"two"]);
        let endless = io::BufReader::new(io::repeat(b'x'));
        let error = read_line(&mut { endless }).unwrap_err();
        assert_eq!(error.to_string(), "a message longer than 16 MiB");
    }
}
