//! The content of writes.
//!
//! Random data are generated once, before the measured window, and only stamped per block: 16 bytes in every 512,
//! so that no two sectors are ever equal and nothing can be deduplicated, at a cost of a few nanoseconds per 4
//! KiB.

use model::{Data, DataClass};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::buffers::Buffers;

/// Each stretch of this many bytes gets one stamp.
const STAMP_EVERY: usize = 512;
const STAMP_BYTES: usize = 16;
/// The unit to which a share of zeros applies: the smallest unit of compressing filesystems and devices.
const COMPRESS_UNIT: usize = 4096;

/// Generates the content of the blocks that one worker writes.
pub(crate) struct Content {
    data: Data,
    /// Bytes at the start of each compression unit that are random; the rest are zeros.
    random_bytes: usize,
    unit: usize,
    seed: u64,
    blocks: u64,
    rng: Xoshiro256PlusPlus,
}

impl Content {
    /// Content of class `data` for blocks of `block_bytes`, different for every `seed`.
    pub fn new(data: Data, block_bytes: usize, seed: u64) -> Self {
        let unit = block_bytes.clamp(1, COMPRESS_UNIT);
        let zeros = unit * usize::from(data.compress_percent.min(100)) / 100;
        Self {
            data,
            random_bytes: unit - zeros,
            unit,
            seed,
            blocks: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Fills the write buffers; call once, before the first block. The duplicate block is the same for every seed
    /// and worker, so that duplicates match across workers.
    pub fn fill(&mut self, buffers: &mut Buffers, block_bytes: usize) {
        if self.data.class == DataClass::Zero || block_bytes == 0 {
            return;
        }
        let (unit, random_bytes) = (self.unit, self.random_bytes);
        let (pool, duplicate) = buffers.write_pool();
        let fill = |bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus| {
            for chunk in bytes.chunks_mut(unit) {
                let random = random_bytes.min(chunk.len());
                rng.fill_bytes(&mut chunk[..random]);
            }
        };
        fill(pool, &mut self.rng);
        fill(duplicate, &mut Xoshiro256PlusPlus::seed_from_u64(0x6475_706c_6963_6174));
    }

    /// The buffer with the next block's content, for slot `slot`: stamped, or the duplicate block.
    #[inline]
    pub fn next(&mut self, buffers: &Buffers, slot: usize, turn: usize, block_bytes: usize) -> *mut u8 {
        let buffer = buffers.write(slot, turn);
        if self.data.class == DataClass::Zero {
            return buffer;
        }
        if self.data.dedupe_percent > 0 && self.rng.random_range(0..100) < self.data.dedupe_percent {
            return buffers.duplicate();
        }
        self.blocks += 1;
        // SAFETY: the buffer has room for a block, belongs to a slot that is not in flight, and is not accessed by
        // anything else meanwhile.
        let block = unsafe { std::slice::from_raw_parts_mut(buffer, block_bytes) };
        let random_bytes = self.random_bytes;
        let mut number = self.seed ^ self.blocks.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for unit in block.chunks_mut(self.unit) {
            let random = random_bytes.min(unit.len());
            for sector in unit[..random].chunks_mut(STAMP_EVERY) {
                if let Some(stamp) = sector.first_chunk_mut::<STAMP_BYTES>() {
                    number = number.wrapping_add(0xd1b5_4a32_d192_ed03);
                    let mixed = (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    stamp[..8].copy_from_slice(&number.to_le_bytes());
                    stamp[8..].copy_from_slice(&mixed.to_le_bytes());
                }
            }
        }
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::BufferPlan;
    use model::{BufferPages, PortableMath};
    use std::collections::HashSet;

    const BLOCK: usize = 4096;

    fn blocks(data: Data, seed: u64, n: usize) -> Vec<Vec<u8>> {
        let mut buffers = Buffers::new(BufferPlan {
            slots: 1,
            read_bytes: 0,
            write_bytes: BLOCK,
            duplicate: true,
            pages: BufferPages::Huge,
        })
        .unwrap();
        let mut content = Content::new(data, BLOCK, seed);
        content.fill(&mut buffers, BLOCK);
        (0..n)
            .map(|turn| {
                let block = content.next(&buffers, 0, turn, BLOCK);
                // SAFETY: `next` returned a buffer of one block.
                unsafe { std::slice::from_raw_parts(block, BLOCK) }.to_vec()
            })
            .collect()
    }

    fn random(compress_percent: u8, dedupe_percent: u8) -> Data {
        Data { class: DataClass::Random, compress_percent, dedupe_percent }
    }

    /// Shannon entropy in bits per byte: 8 for incompressible data.
    fn entropy(bytes: &[u8]) -> f64 {
        let mut counts = [0usize; 256];
        bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
        let share = |n: usize| n as f64 / bytes.len() as f64;
        counts.iter().filter(|n| **n > 0).map(|n| -share(*n) * share(*n).portable_log2()).sum()
    }

    #[test]
    fn random_data_are_incompressible_and_sectors_differ() {
        let blocks = blocks(random(0, 0), 1, 1000);
        assert!(entropy(&blocks.concat()) > 7.999);
        let sectors: HashSet<&[u8]> = blocks.iter().flat_map(|b| b.chunks(512)).collect();
        assert_eq!(sectors.len(), 1000 * BLOCK / 512);
        // Neighbouring blocks must not share content except for the stamps: a compressor would find it within its
        // window.
        let equal = blocks[0].iter().zip(&blocks[1]).filter(|(a, b)| a == b).count();
        assert!(equal < BLOCK / 64, "{equal} equal bytes");
    }

    #[test]
    fn a_different_seed_writes_different_data() {
        assert_ne!(blocks(random(0, 0), 1, 1), blocks(random(0, 0), 2, 1));
    }

    #[test]
    fn the_requested_share_of_each_block_is_zeros() {
        for block in blocks(random(60, 0), 1, 10) {
            let zeros = block.iter().rev().take_while(|b| **b == 0).count();
            assert!(zeros.abs_diff(BLOCK * 60 / 100) < 8, "{zeros} zeros");
        }
    }

    #[test]
    fn the_requested_share_of_blocks_is_duplicate_across_workers() {
        let all: Vec<Vec<u8>> = [1, 2].iter().flat_map(|seed| blocks(random(0, 30), *seed, 2000)).collect();
        let distinct: HashSet<&Vec<u8>> = all.iter().collect();
        let duplicates = 1.0 - distinct.len() as f64 / all.len() as f64;
        assert!((duplicates - 0.3).abs() < 0.03, "{duplicates}");
    }

    #[test]
    fn zero_data_are_zeros() {
        let data = Data { class: DataClass::Zero, compress_percent: 0, dedupe_percent: 0 };
        assert!(blocks(data, 1, 3).concat().iter().all(|b| *b == 0));
    }
}
