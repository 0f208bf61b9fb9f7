//! The loop between a scheduler and an executor.

use crate::{Next, Order, Outcome, Said, Scheduler};

/// Carries orders out: with the engines and tools of this machine, or in a simulation. It decides nothing.
pub trait Executor {
    /// Why it cannot go on at all. Storage that fails is an [`Outcome`].
    type Error;

    /// Nanoseconds since the run began.
    fn now_ns(&self) -> u64;

    /// True once the run is to end early.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Makes a repeat, or several of one step that take turns: while one works, the others wait. Whoever calls knows how long
    /// it took. Lanes that take no turns have one order at a time.
    ///
    /// # Errors
    /// It cannot go on.
    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, Self::Error>;

    /// A round is over: what is not measured may be looked at.
    fn round_ended(&mut self) {}

    /// Takes what the scheduler says.
    fn hear(&mut self, said: Said);
}

/// Measures until nothing is left to measure.
///
/// # Errors
/// The executor's.
pub fn drive<E: Executor>(scheduler: &mut Scheduler, executor: &mut E) -> Result<(), E::Error> {
    loop {
        if executor.is_stopped() {
            scheduler.stop();
        }
        let began_ns = executor.now_ns();
        let next = scheduler.next(began_ns);
        hear(scheduler, executor);
        match next {
            Next::Repeat(orders) => {
                let outcomes = executor.measure(&orders)?;
                let now_ns = executor.now_ns();
                let took_ns = now_ns.saturating_sub(began_ns) / orders.len() as u64;
                for (order, outcome) in orders.iter().zip(outcomes) {
                    scheduler.record(order, Outcome { took_ns, ..outcome }, now_ns);
                }
                hear(scheduler, executor);
            }
            Next::RoundEnded => executor.round_ended(),
            Next::Done => return Ok(()),
        }
    }
}

/// Passes on what a scheduler has said.
pub fn hear<E: Executor>(scheduler: &mut Scheduler, executor: &mut E) {
    scheduler.said().into_iter().for_each(|said| executor.hear(said));
}
