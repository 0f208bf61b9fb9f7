//! Tasks that take turns: while one of them works, the others wait with nothing in flight.
//!
//! What disturbs a machine for longer than a turn falls on all of them alike, so that their ratio is far more certain than
//! that of repeats which follow each other. The time of a task stands still while it waits. All use the same memory: how its
//! pages lie makes large blocks faster or slower.

use std::cell::Cell;
use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::buffers::{BufferPlan, Buffers, Memory};

/// How long a worker that waits for its turn sleeps before it checks whether the repeat is to end.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

/// Is told when the first turn begins, and when each ends: the index of the task that had it. Nothing is in flight then.
pub type TurnObserver = Box<dyn Fn(Option<usize>) + Send + Sync>;

/// Whose turn it is among several tasks.
pub(crate) struct Turns {
    slice_ns: u64,
    observer: TurnObserver,
    state: Mutex<State>,
    changed: Condvar,
    /// By number, what the worker of a task shares with that of each other task.
    memory: Vec<Mutex<Option<Arc<Memory>>>>,
}

#[derive(Debug)]
struct State {
    parties: Vec<Party>,
    /// The task whose turn it is.
    turn: usize,
    /// Turns that have ended.
    ended: u64,
    has_begun: bool,
    /// The task whose turn has just ended.
    just_had_it: Option<usize>,
}

/// A task.
#[derive(Debug)]
struct Party {
    /// It is set up.
    is_ready: bool,
    /// Its workers that have not ended.
    workers: u32,
    /// Those of them that have nothing in flight any more in this turn.
    idle: u32,
    /// Shares of their bytes that its workers have moved, added up; 0 where time alone ends them.
    moved: f64,
}

impl Turns {
    /// Turns of tasks with these numbers of workers, each with `slice_ns` nanoseconds that are measured.
    pub fn new(workers: impl Iterator<Item = u32>, slice_ns: u64, observer: TurnObserver) -> Self {
        let parties: Vec<Party> =
            workers.map(|workers| Party { is_ready: false, workers, idle: 0, moved: 0.0 }).collect();
        let most = parties.iter().map(|party| party.workers).max().unwrap_or(0);
        let memory = (0..most).map(|_| Mutex::default()).collect();
        let state = State { parties, turn: 0, ended: 0, has_begun: false, just_had_it: None };
        Self { slice_ns, observer, state: Mutex::new(state), changed: Condvar::new(), memory }
    }

    /// What a task holds while it runs.
    pub fn of(self: &Arc<Self>, party: usize) -> TaskTurns {
        TaskTurns { turns: Arc::clone(self), party, workers: Cell::new(0) }
    }

    fn wait(&self, stops: impl Fn() -> bool, is_met: impl Fn(&State) -> bool) -> bool {
        let mut state = self.state();
        while !is_met(&state) {
            if stops() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, CHECK_PERIOD);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let changed = how(&mut state);
        if let Some(task) = state.just_had_it.take()
            && state.has_begun
        {
            (self.observer)(Some(task));
        }
        drop(state);
        self.changed.notify_all();
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Its methods leave it whole wherever they panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives the turn to the next of the tasks that have moved the least share of their bytes, if the one that has it needs it no
    /// longer. So what slows all down for a while, at whatever point of their work, falls on the same share of that of each.
    fn advance(&mut self) -> bool {
        let Party { workers, idle, .. } = self.parties[self.turn];
        if idle < workers {
            return false;
        }
        let count = self.parties.len();
        let all = (1..=count).map(|step| (self.turn + step) % count);
        let next = all
            .filter(|party| self.parties[*party].workers > 0)
            .min_by(|one, other| self.parties[*one].moved.total_cmp(&self.parties[*other].moved));
        self.parties[self.turn].idle = 0;
        self.just_had_it = Some(self.turn);
        self.turn = next.unwrap_or(self.turn);
        self.ended += 1;
        true
    }
}

/// What a task knows of the turns. The task is over when it is dropped, whatever becomes of its workers.
pub(crate) struct TaskTurns {
    turns: Arc<Turns>,
    party: usize,
    /// Its workers so far.
    workers: Cell<usize>,
}

impl TaskTurns {
    /// What the next one of its workers holds.
    pub fn of_worker(&self) -> WorkerTurns {
        let number = self.workers.replace(self.workers.get() + 1);
        WorkerTurns { turns: Arc::clone(&self.turns), party: self.party, number, passed: None, moved: 0.0 }
    }

    /// Waits until all tasks are set up, or are over; false if `stops` becomes true first.
    pub fn await_all(&self, stops: impl Fn() -> bool) -> bool {
        self.turns.state().parties[self.party].is_ready = true;
        self.turns.changed.notify_all();
        self.turns.wait(stops, |s| s.parties.iter().all(|party| party.is_ready || party.workers == 0))
    }

    /// True if another task has the turn.
    pub fn are_of_another(&self) -> bool {
        self.turns.state().turn != self.party
    }
}

impl Drop for TaskTurns {
    fn drop(&mut self) {
        self.turns.change(|state| {
            state.parties[self.party].workers = 0;
            if state.turn == self.party {
                state.advance();
            }
        });
    }
}

/// What a worker knows of the turns of its task. The worker has ended when it is dropped.
pub(crate) struct WorkerTurns {
    turns: Arc<Turns>,
    party: usize,
    number: usize,
    /// Turns that had ended when it passed the last one that it had.
    passed: Option<u64>,
    /// Share of its bytes that it had moved then.
    moved: f64,
}

impl WorkerTurns {
    /// The buffers of the workers with this number, made by the first that needs such.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn buffers(
        &self,
        plan: BufferPlan,
        make: impl FnOnce() -> io::Result<Buffers>,
    ) -> io::Result<Buffers> {
        let Some(memory) = self.turns.memory.get(self.number) else { return make() };
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = memory.as_ref().filter(|memory| memory.plan() == plan) {
            return Ok(Buffers::within(Arc::clone(memory)));
        }
        let buffers = make()?;
        *memory = Some(Arc::clone(buffers.memory()));
        Ok(buffers)
    }

    /// Measured nanoseconds of the turn that the task has: half of the usual to one and a half times as many, by its number. In
    /// turns of equal length one task could have the worse half of whatever comes as regularly as they do, such as the slices of
    /// time that a hypervisor gives.
    pub fn slice_ns(&self) -> u64 {
        let usual = self.turns.slice_ns;
        usual / 2 + SplitMix64::seed_from_u64(self.turns.state().ended).next_u64() % usual.max(1)
    }

    /// Waits for the next turn of the task; false if `stops` becomes true first.
    pub fn begin(&self, stops: impl Fn() -> bool) -> bool {
        let has_ended = |state: &State| self.passed.is_none_or(|passed| state.ended > passed);
        let begins = self.turns.wait(stops, |state| state.turn == self.party && has_ended(state));
        let mut state = self.turns.state();
        if begins && !mem::replace(&mut state.has_begun, true) {
            (self.turns.observer)(None);
        }
        begins
    }

    /// The worker has nothing in flight, and has moved this share of its bytes so far, if it has any: the turn ends when that is
    /// true of all workers of the task.
    pub fn pass(&mut self, moved: f64) {
        let more = moved - mem::replace(&mut self.moved, moved);
        self.passed = self.turns.change(|state| {
            let passed = Some(state.ended);
            let party = &mut state.parties[self.party];
            party.idle += 1;
            party.moved += more;
            state.advance();
            passed
        });
    }

    /// True if no other task has workers.
    pub fn are_of_one(&self) -> bool {
        let state = self.turns.state();
        state.parties.iter().enumerate().all(|(party, other)| party == self.party || other.workers == 0)
    }
}

impl Drop for WorkerTurns {
    fn drop(&mut self) {
        self.turns.change(|state| {
            let is_idle = self.passed == Some(state.ended);
            let party = &mut state.parties[self.party];
            party.workers = party.workers.saturating_sub(1);
            party.idle = party.idle.saturating_sub(u32::from(is_idle));
            if state.turn == self.party {
                state.advance();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The task that has the turn.
    fn turn(turns: &Turns) -> usize {
        turns.state().turn
    }

    #[test]
    fn a_turn_ends_when_all_workers_of_the_task_have_passed_it() {
        let turns = Arc::new(Turns::new([2, 1].into_iter(), 1, Box::new(|_| {})));
        let tasks = [turns.of(0), turns.of(1)];
        let (mut one, mut two, mut other) =
            (tasks[0].of_worker(), tasks[0].of_worker(), tasks[1].of_worker());
        assert!(one.begin(|| true) && two.begin(|| true) && !other.begin(|| true));
        one.pass(0.0);
        assert!(!one.begin(|| true), "it waits for its next turn");
        assert_eq!(turn(&turns), 0);
        two.pass(0.0);
        assert!(other.begin(|| true) && !one.begin(|| true));
        assert!(tasks[0].are_of_another() && !tasks[1].are_of_another());
        other.pass(0.0);
        assert!(one.begin(|| true) && two.begin(|| true));
    }

    #[test]
    fn the_turn_of_what_has_ended_goes_to_the_others() {
        let turns = Arc::new(Turns::new([2, 1, 1].into_iter(), 1, Box::new(|_| {})));
        let tasks = [turns.of(0), turns.of(1), turns.of(2)];
        let (mut one, two, other) = (tasks[0].of_worker(), tasks[0].of_worker(), tasks[1].of_worker());
        one.pass(0.0);
        drop(two);
        assert!(other.begin(|| true), "of a worker");
        drop(other);
        assert_eq!(turn(&turns), 2, "the last worker of a task");
        let [.., third] = tasks;
        assert!(!one.are_of_one());
        drop(third);
        assert!(one.begin(|| true) && one.are_of_one(), "a task whose workers never began");
    }

    #[test]
    fn a_worker_that_ends_while_it_waits_is_not_counted_twice() {
        let turns = Arc::new(Turns::new([2, 1].into_iter(), 1, Box::new(|_| {})));
        let task = turns.of(0);
        let (mut one, mut two) = (task.of_worker(), task.of_worker());
        one.pass(0.0);
        drop(one);
        assert_eq!(turn(&turns), 0, "the other still works");
        two.pass(0.0);
        assert_eq!(turn(&turns), 1);
    }

    #[test]
    fn the_turn_goes_to_the_task_that_has_moved_the_least_share_of_its_bytes() {
        let turns = Arc::new(Turns::new([2, 1, 1].into_iter(), 1, Box::new(|_| {})));
        let tasks = [turns.of(0), turns.of(1), turns.of(2)];
        let [mut one, mut two] = [(); 2].map(|()| tasks[0].of_worker());
        let [mut other, mut third] = [1, 2].map(|task: usize| tasks[task].of_worker());
        let next = |worker: &mut WorkerTurns, moved| {
            worker.pass(moved);
            turn(&turns)
        };
        assert_eq!(next(&mut one, 0.1), 0);
        assert_eq!(next(&mut two, 0.1), 1);
        assert_eq!(next(&mut other, 0.3), 2);
        assert_eq!(next(&mut third, 0.1), 2, "0.1 is less than the 0.2 and 0.3 of the others");
        assert_eq!(next(&mut third, 0.2), 0, "of equals the next one");
        one.pass(0.2);
        assert_eq!(next(&mut two, 0.2), 2);
        drop(third);
        assert_eq!(turn(&turns), 1);
    }

    #[test]
    fn turns_are_of_unequal_length_and_as_long_as_usual_on_average() {
        let turns = Arc::new(Turns::new([2, 1].into_iter(), 1000, Box::new(|_| {})));
        let tasks = [turns.of(0), turns.of(1)];
        let (mut one, mut two, mut other) =
            (tasks[0].of_worker(), tasks[0].of_worker(), tasks[1].of_worker());
        let mut lengths = Vec::new();
        for _ in 0..500 {
            assert_eq!(one.slice_ns(), two.slice_ns(), "a turn has one length");
            lengths.push(one.slice_ns());
            one.pass(0.0);
            two.pass(0.0);
            lengths.push(other.slice_ns());
            other.pass(0.0);
        }
        assert!(lengths.iter().all(|length| (500..1500).contains(length)));
        let mean = |first: usize| lengths.iter().skip(first).step_by(2).sum::<u64>() as f64 / 500.0;
        assert!(
            (mean(0) - 1000.0).abs() < 50.0 && (mean(1) - 1000.0).abs() < 50.0,
            "{} {}",
            mean(0),
            mean(1)
        );
        let shorter = lengths.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!((400..600).contains(&shorter), "in no order: {shorter}");
    }

    #[test]
    fn workers_of_one_number_share_their_memory() {
        let turns = Arc::new(Turns::new([2, 2].into_iter(), 1, Box::new(|_| {})));
        let tasks = [turns.of(0), turns.of(1)];
        let [one, two, other, other_two] = [0, 0, 1, 1].map(|task: usize| tasks[task].of_worker());
        let plan = BufferPlan {
            slots: 4,
            read_bytes: 4096,
            write_bytes: 0,
            duplicate: false,
            pages: model::BufferPages::Normal,
        };
        let of = |worker: &WorkerTurns, plan| worker.buffers(plan, || Buffers::new(plan)).unwrap();
        let buffers = [&one, &two, &other, &other_two].map(|worker| of(worker, plan));
        let [a, b, c, d] = buffers.each_ref().map(|buffers| buffers.read(1));
        assert!(a == c && b == d && a != b);
        assert_ne!(of(&other, BufferPlan { slots: 5, ..plan }).read(1), c, "what needs more has its own");
        drop((one, two, tasks, turns));
        let [.., c, _] = buffers;
        // SAFETY: it is mapped for as long as these buffers are there.
        unsafe { c.read(1).write_volatile(1) };
    }

    #[test]
    fn a_task_waits_until_the_others_are_set_up_or_over() {
        let turns = Arc::new(Turns::new([1, 1].into_iter(), 1, Box::new(|_| {})));
        let (one, two) = (turns.of(0), turns.of(1));
        assert!(!one.await_all(|| true));
        drop(two);
        assert!(one.await_all(|| true));
    }
}
