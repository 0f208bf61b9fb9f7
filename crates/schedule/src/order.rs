//! What a scheduler is given, asks for, is told and says.

use model::{Event, RepeatFailure};
use serde::{Deserialize, Serialize};

use crate::{Measured, Timing};

/// Where repeats run: a target with what drives it. Several lanes may have the same target. A lane is known by its
/// position among all of them.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Name of the target.
    pub target: String,
    /// For each step of the plan whether it runs here.
    pub runs: Vec<bool>,
    /// The lane whose test data it uses instead of its own.
    pub shares: Option<usize>,
    /// The length of its repeats may be chosen: other programs take as long as they are told, and through the page cache a
    /// longer repeat finds more of its data.
    pub may_shorten: bool,
    /// For each step of the plan whether its repeats here can take turns with those on other lanes.
    pub takes_turns: Vec<bool>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// A repeat, or several that take turns.
    Repeat(Vec<Order>),
    /// Nothing for now: a round is over, and what is not measured may be looked at.
    RoundEnded,
    /// Nothing any more.
    Done,
}

/// A repeat to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Its number in the run; it goes to the next order if this one does not begin.
    pub repeat: u32,
    /// Round, from 0.
    pub round: u32,
    /// Index of the step.
    pub step: usize,
    /// Index of the lane.
    pub lane: usize,
    /// When its parts end.
    pub timing: Timing,
    /// Where sequential work begins, as a share of the data.
    pub start: f64,
    /// Seed of its offsets and contents, at most [`crate::MOST_SEED`].
    pub seed: u64,
    /// Number of repeats with which it takes turns.
    #[serde(default)]
    pub turns: u32,
}

/// What became of an order.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Nanoseconds that it took, everything included; [`crate::drive`] fills it in.
    pub took_ns: u64,
    /// What was measured; `None` if the repeat did not begin.
    pub measured: Option<Measured>,
    /// How it failed, if it did.
    pub failure: Option<RepeatFailure>,
    /// Why nothing more can be measured on the lane, if it is so.
    pub lost: Option<Lost>,
}

/// Why nothing can be measured on a lane any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// The storage no longer responds.
    Silent,
    /// The test data could not be prepared: a sentence without its end.
    Data(String),
    /// The lane whose test data it uses is lost.
    Lender,
    /// Its machine: a sentence without its end.
    Machine(String),
}

/// What a scheduler says besides its orders.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// For the log.
    Event(Event),
    /// For those who wait: when the run will probably end, in nanoseconds of the run, and after how many rounds.
    Expected {
        /// The end.
        end_ns: u64,
        /// Rounds of the whole run.
        rounds: u32,
    },
    /// For those who wait: what the time is enough for.
    Forecast(String),
}
