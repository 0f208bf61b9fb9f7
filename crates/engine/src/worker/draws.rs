//! What is drawn next, and where.

use model::{Mix, Workload};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Region;
use crate::engines::Verb;
use crate::offsets::Places;

/// The directions of a workload.
pub(super) struct Draws {
    first: Direction,
    /// Writes beside reads, and the share of reads.
    mixed_with: Option<(Box<Direction>, u8)>,
}

/// One direction.
pub(super) struct Direction {
    pub verb: Verb,
    /// Bytes of a block.
    pub len: u32,
    pub places: Places,
}

impl Draws {
    /// The directions of a workload that moves or trims data.
    pub fn new(workload: &Workload, region: Region, rng: &mut Xoshiro256PlusPlus) -> Self {
        let mut direction = |verb, len: u32| {
            let places = Places::new(&workload.pattern, region.start, region.len, u64::from(len), rng);
            Direction { verb, len, places }
        };
        let first = match workload.mix {
            Mix::Transfer { read_percent: 0 } => direction(Verb::Write, workload.block.write),
            Mix::Transfer { .. } => direction(Verb::Read, workload.block.read),
            Mix::Trim => direction(Verb::Trim, workload.block.trim),
            Mix::Metadata(_) => unreachable!("metadata work has a driver of its own"),
        };
        let mixed_with = match workload.mix {
            Mix::Transfer { read_percent: share @ 1..100 } => {
                Some((Box::new(direction(Verb::Write, workload.block.write)), share))
            }
            _ => None,
        };
        Self { first, mixed_with }
    }

    /// The direction of the next operation.
    #[inline]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> &mut Direction {
        match &mut self.mixed_with {
            Some((write, share)) if rng.random_range(0..100) >= *share => write,
            _ => &mut self.first,
        }
    }
}
