//! Verifies that reads return what was written.
//!
//! Every block of a verified data set starts with a header: its data set, its offset, its generation (the number
//! of times it was written) and a checksum of the whole block. The expected generation of each block is held in
//! memory, so lost, misplaced, torn and flipped writes are all detected.
//!
//! # What is not judged
//! A block that is being written while it is read may correctly be old, new or half of each. Therefore no read is
//! started of a block with a write in flight, and a read during which a write to its block was started does not
//! count as checked; neither does a read of a block that was never written. A failed or short write leaves its
//! block unknown until the next complete one. Writes to the same block never overlap: a job starts none while one
//! is in flight, and the jobs of a verified run share no region.
//! region.

use std::sync::atomic::{AtomicU32, Ordering};

use twox_hash::XxHash3_64;

/// Bytes at the start of each block that identify it.
pub const HEADER_BYTES: usize = 40;
const MAGIC: u64 = 0x4c6f_6465_7374_6f6e;

/// Set in a completed generation: that write failed, and the content of the block is unknown.
const UNKNOWN: u32 = 1 << 31;

/// The expected content of a verified data set: the generation last written of every block.
#[derive(Debug)]
pub struct Generations {
    set: u64,
    block_bytes: u32,
    started: Vec<AtomicU32>,
    completed: Vec<AtomicU32>,
}

impl Generations {
    /// A set of `bytes` in blocks of `block_bytes`, none of them written yet. `set` distinguishes its blocks from
    /// those of any other set.
    pub fn new(set: u64, bytes: u64, block_bytes: u32) -> Self {
        let blocks = (bytes / u64::from(block_bytes)) as usize;
        let zeros = || std::iter::repeat_with(|| AtomicU32::new(0)).take(blocks).collect();
        Self { set, block_bytes, started: zeros(), completed: zeros() }
    }

    fn block(&self, offset: u64) -> usize {
        (offset / u64::from(self.block_bytes)) as usize
    }

    /// True while a write to the block at `offset` has been started and has not ended.
    pub(crate) fn is_in_flight(&self, offset: u64) -> bool {
        let block = self.block(offset);
        let ended = self.completed[block].load(Ordering::Relaxed) & !UNKNOWN;
        self.started[block].load(Ordering::Relaxed) != ended
    }

    /// Counts a write to `offset` that starts now, and returns its generation.
    pub(crate) fn start_write(&self, offset: u64) -> u32 {
        self.started[self.block(offset)].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The write of `generation` to `offset` has completed.
    pub(crate) fn complete_write(&self, offset: u64, generation: u32) {
        self.completed[self.block(offset)].store(generation, Ordering::Relaxed);
    }

    /// The write of `generation` to `offset` has failed, was short or was abandoned.
    pub(crate) fn fail_write(&self, offset: u64, generation: u32) {
        self.completed[self.block(offset)].store(generation | UNKNOWN, Ordering::Relaxed);
    }

    /// The write of `generation` to `offset` was never submitted to the kernel.
    pub(crate) fn cancel_write(&self, offset: u64, generation: u32) {
        self.started[self.block(offset)].store(generation - 1, Ordering::Relaxed);
    }

    /// The generation that a read of `offset` must return if it starts now, for [`Generations::check`].
    pub(crate) fn expected(&self, offset: u64) -> u32 {
        self.completed[self.block(offset)].load(Ordering::Relaxed)
    }

    /// True if a read of `offset` that has just ended can be checked; `expected` is the result of
    /// [`Generations::expected`] when it started.
    pub(crate) fn can_judge(&self, offset: u64, expected: u32) -> bool {
        let started = self.started[self.block(offset)].load(Ordering::Relaxed);
        // An unknown generation has its mark in `expected` and never matches.
        expected != 0 && started == expected
    }

    /// Writes the header of generation `generation` into `block`, which belongs at `offset`.
    pub(crate) fn seal(&self, block: &mut [u8], offset: u64, generation: u32) {
        let (header, payload) = block.split_at_mut(HEADER_BYTES);
        let checksum = checksum(payload, self.set, offset, generation);
        for (field, value) in
            header.chunks_exact_mut(8).zip([MAGIC, self.set, offset, u64::from(generation), checksum])
        {
            field.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Checks a block that was read from `offset` and for which [`Generations::can_judge`] is true.
    ///
    /// # Errors
    /// A description of the mismatch.
    pub(crate) fn check(&self, block: &[u8], offset: u64, expected: u32) -> Result<(), String> {
        let (header, payload) = block.split_at(HEADER_BYTES);
        let mut fields = header
            .chunks_exact(8)
            .map(|f| u64::from_le_bytes(f.try_into().expect("a field has eight bytes")));
        let mut next = || fields.next().expect("the header has five fields");
        let (magic, set, found_offset, generation, sum) = (next(), next(), next(), next(), next());
        if magic != MAGIC {
            let zeros = block.iter().all(|b| *b == 0);
            return Err(if zeros { "all zeros".into() } else { "not a block written by Lodestone".into() });
        }
        if set != self.set {
            return Err("a block of another data set".into());
        }
        if found_offset != offset {
            return Err(format!("the block that belongs at byte {found_offset}"));
        }
        if generation < u64::from(expected) {
            return Err(format!("generation {generation}, though generation {expected} was written"));
        }
        if generation > u64::from(expected) {
            return Err(format!("generation {generation}, though only {expected} were written"));
        }
        if sum != checksum(payload, set, offset, generation as u32) {
            return Err("wrong checksum".into());
        }
        Ok(())
    }
}

/// XXH3 of the payload, with the header's fields mixed in afterwards: seeding the hash itself would be slower.
fn checksum(payload: &[u8], set: u64, offset: u64, generation: u32) -> u64 {
    XxHash3_64::oneshot(payload) ^ set ^ offset.rotate_left(17) ^ u64::from(generation).rotate_left(43)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 4096;

    fn written(generations: &Generations, offset: u64) -> Vec<u8> {
        let mut block: Vec<u8> = (0..BLOCK).map(|i| (i % 251) as u8).collect();
        let generation = generations.start_write(offset);
        generations.seal(&mut block, offset, generation);
        generations.complete_write(offset, generation);
        block
    }

    #[test]
    fn what_was_written_is_accepted() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        let block = written(&generations, 8192);
        assert_eq!(generations.check(&block, 8192, generations.expected(8192)), Ok(()));
    }

    #[test]
    fn any_single_flipped_bit_is_found() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        let block = written(&generations, 8192);
        for byte in 0..BLOCK {
            let mut flipped = block.clone();
            flipped[byte] ^= 1 << (byte % 8);
            assert!(generations.check(&flipped, 8192, 1).is_err(), "byte {byte}");
        }
    }

    #[test]
    fn lost_misplaced_foreign_and_zeroed_blocks_are_distinguished() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        let first = written(&generations, 0);
        let _second = written(&generations, 0);
        let elsewhere = written(&generations, 4096);
        let foreign = written(&Generations::new(8, 1 << 20, BLOCK as u32), 0);
        let expected = generations.expected(0);
        for (block, message) in [
            (&first, "generation 1, though generation 2 was written"),
            (&elsewhere, "belongs at byte 4096"),
            (&foreign, "another data set"),
            (&vec![0; BLOCK], "all zeros"),
            (&vec![9; BLOCK], "not a block written by Lodestone"),
        ] {
            let error = generations.check(block, 0, expected).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_read_during_a_write_to_its_block_is_not_judged() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        written(&generations, 0);
        let expected = generations.expected(0);
        assert!(generations.can_judge(0, expected));
        let generation = generations.start_write(0);
        assert!(generations.is_in_flight(0));
        assert!(!generations.can_judge(0, expected), "a write is in flight");
        generations.complete_write(0, generation);
        assert!(!generations.is_in_flight(0));
        assert!(!generations.can_judge(0, expected), "a write started and completed");
        assert!(generations.can_judge(0, generations.expected(0)));
    }

    #[test]
    fn a_block_that_was_never_written_is_not_judged() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        assert!(!generations.can_judge(0, generations.expected(0)));
    }

    #[test]
    fn a_block_is_unknown_after_a_failed_write_until_the_next_one() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        written(&generations, 0);
        let generation = generations.start_write(0);
        generations.fail_write(0, generation);
        assert!(!generations.is_in_flight(0));
        assert!(!generations.can_judge(0, generations.expected(0)));
        let next = generations.start_write(0);
        assert!(generations.is_in_flight(0), "the next write of an unknown block is known to be in flight");
        generations.cancel_write(0, next);
        assert!(!generations.is_in_flight(0) && !generations.can_judge(0, generations.expected(0)));
        written(&generations, 0);
        assert!(generations.can_judge(0, generations.expected(0)));
    }

    #[test]
    fn a_cancelled_write_changes_nothing() {
        let generations = Generations::new(7, 1 << 20, BLOCK as u32);
        let block = written(&generations, 0);
        let generation = generations.start_write(0);
        generations.cancel_write(0, generation);
        assert!(!generations.is_in_flight(0));
        let expected = generations.expected(0);
        assert!(generations.can_judge(0, expected));
        assert_eq!(generations.check(&block, 0, expected), Ok(()));
    }
}
