//! Decides what a run measures next.
//!
//! A [`Scheduler`] gives [`Order`]s and is told the [`Outcome`] of each; everything that decides about rounds is
//! here: which steps go on where, in which order the targets take turns, how long repeats are, which rounds are measured
//! again, what the time is spent on, what is given up, and when it is enough. An [`Executor`] carries the orders out; it
//! decides nothing and knows no statistics. [`drive`] is the loop between them.
//!
//! # Invariants
//! * Pure: it opens no file, starts no process and reads no clock; the time comes with each question. The same answers lead
//!   to the same orders.
//! * Of a repeat it sees only [`Measured`].

#[cfg(test)]
mod cases;
mod disturbed;
mod drive;
mod evidence;
mod lengths;
mod measured;
mod order;
#[cfg(test)]
mod profiles;
mod reach;
mod rounds;
mod scheduler;
mod timing;
mod turns;

pub use drive::{Executor, drive, hear};
pub use lengths::TURN_NS;
pub use measured::{Measured, WatchedFigure};
pub(crate) use order::Next;
pub use order::{Lane, Lost, Order, Outcome, Said};
pub use scheduler::{MOST_SEED, Scheduler};
pub use timing::Timing;
