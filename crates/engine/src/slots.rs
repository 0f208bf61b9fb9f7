//! The operations in flight, as a structure of arrays: one slot each, no allocation once made.

use crate::engines::Verb;

/// What is known of the operation in each slot.
pub(crate) struct Slots {
    /// Intended start.
    pub intended: Box<[u64]>,
    /// End of the submitting call; its start for a synchronous engine.
    pub submitted: Box<[u64]>,
    /// Time in the submitting call.
    pub slat: Box<[u64]>,
    /// Byte offset in the data set.
    pub offset: Box<[u64]>,
    /// Bytes.
    pub len: Box<[u32]>,
    pub verb: Box<[Verb]>,
    /// Verified data: the generation being written, or the one that a read must find.
    pub generation: Box<[u32]>,
    turn: Box<[u32]>,
    free: Vec<u32>,
}

impl Slots {
    pub fn new(count: usize) -> Self {
        let zeros = || vec![0u64; count].into_boxed_slice();
        let small = || vec![0u32; count].into_boxed_slice();
        Self {
            intended: zeros(),
            submitted: zeros(),
            slat: zeros(),
            offset: zeros(),
            len: small(),
            verb: vec![Verb::Read; count].into_boxed_slice(),
            generation: small(),
            turn: small(),
            free: (0..count as u32).rev().collect(),
        }
    }

    #[inline]
    pub fn any_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// A free slot.
    ///
    /// # Panics
    /// If there is none; [`Slots::any_free`] tells.
    #[inline]
    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("a free slot")
    }

    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    pub fn fill(&mut self, slot: u32, verb: Verb, offset: u64, len: u32, intended: u64) {
        let slot = slot as usize;
        self.verb[slot] = verb;
        self.offset[slot] = offset;
        self.len[slot] = len;
        self.intended[slot] = intended;
    }

    /// Stamps an operation that the engine took between `before` and `after`.
    #[inline]
    pub fn submitted(&mut self, slot: u32, before: u64, after: u64, starts_now: bool) {
        let slot = slot as usize;
        self.submitted[slot] = after;
        self.slat[slot] = after - before;
        if starts_now {
            self.intended[slot] = before;
        }
    }

    /// Which of its write buffers the slot uses this time.
    #[inline]
    pub fn next_turn(&mut self, slot: u32) -> usize {
        let turn = &mut self.turn[slot as usize];
        *turn = turn.wrapping_add(1);
        *turn as usize
    }

    /// The slots in use, the one whose operation was submitted first in front: for telling what hangs.
    pub fn busy(&self) -> Vec<usize> {
        let mut is_busy = vec![true; self.len.len()];
        self.free.iter().for_each(|slot| is_busy[*slot as usize] = false);
        let mut busy: Vec<usize> = (0..is_busy.len()).filter(|slot| is_busy[*slot]).collect();
        busy.sort_by_key(|slot| self.submitted[*slot]);
        busy
    }
}
