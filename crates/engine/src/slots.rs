//! The operations in flight: one slot each, one cache line long, without allocation after creation.

use crate::engines::Verb;

/// The state of the operation in a slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    /// Intended start.
    pub intended: u64,
    /// End of the submitting call; its start for a synchronous engine.
    pub submitted: u64,
    /// Time in the submitting call.
    pub slat: u64,
    /// Time just before its submission, if stamps are being compared.
    pub handed: u64,
    /// Byte offset in the data set.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Verified data: the generation being written, or the one that a read must return.
    pub generation: u32,
    /// Number of writes of the slot, which selects its write buffer.
    pub turn: u32,
    pub verb: Verb,
    is_free: bool,
}

/// All slots of a worker.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    free: Vec<u32>,
}

impl Slots {
    pub fn new(count: usize) -> Self {
        let empty = Slot {
            intended: 0,
            submitted: 0,
            slat: 0,
            handed: 0,
            offset: 0,
            len: 0,
            generation: 0,
            turn: 0,
            verb: Verb::Read,
            is_free: true,
        };
        Self { slots: vec![empty; count].into_boxed_slice(), free: (0..count as u32).rev().collect() }
    }

    #[inline]
    pub fn any_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Assigns an operation to a free slot.
    ///
    /// # Panics
    /// If there is none; check [`Slots::any_free`].
    #[inline]
    pub fn take(&mut self, verb: Verb, offset: u64, len: u32, intended: u64) -> u32 {
        let number = self.free.pop().expect("a free slot");
        let slot = &mut self.slots[number as usize];
        (slot.verb, slot.offset, slot.len, slot.intended) = (verb, offset, len, intended);
        slot.is_free = false;
        number
    }

    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.slots[slot as usize].is_free = true;
        self.free.push(slot);
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// Stamps an operation that the engine accepted between `before` and `after`.
    #[inline]
    pub fn submitted(&mut self, slot: u32, before: u64, after: u64, starts_now: bool) {
        let slot = self.get_mut(slot);
        slot.submitted = after;
        slot.slat = after - before;
        if starts_now {
            slot.intended = before;
        }
    }

    /// The slots in use, in order of submission, to find what hangs.
    pub fn busy(&self) -> Vec<u32> {
        let mut busy: Vec<u32> =
            (0..self.slots.len() as u32).filter(|slot| !self.get(*slot).is_free).collect();
        busy.sort_by_key(|slot| self.get(*slot).submitted);
        busy
    }
}
