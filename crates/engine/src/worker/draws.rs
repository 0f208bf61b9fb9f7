//! Draws the next operation and its offset.

use model::{BlockSplit, Mix, Pattern, SizeShare, Workload};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::spec::Region;
use crate::engines::Verb;
use crate::offsets::OffsetGenerator;

/// The directions of a workload.
pub(crate) struct Draws {
    first: Direction,
    /// The write direction, if the workload mixes both.
    mixed_with: Option<Box<Mixed>>,
}

/// Writes in addition to reads, and the selection of the next operation's direction.
struct Mixed {
    write: Direction,
    read_percent: u8,
    /// Reads and writes so far, where they alternate instead of being drawn.
    even: Option<(u64, u64)>,
}

/// One direction.
pub(crate) struct Direction {
    pub verb: Verb,
    /// Bytes of the current block.
    pub len: u32,
    offsets: OffsetGenerator,
    /// Only if block sizes are drawn.
    sizes: Option<Box<Sizes>>,
}

impl Direction {
    /// Byte offset in the data set at which the current block begins.
    #[inline]
    pub fn next_offset(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match &mut self.sizes {
            None => self.offsets.next(rng),
            Some(sizes) => sizes.offset(self.len, &mut self.offsets, rng),
        }
    }
}

/// Drawn block sizes, and the offsets of blocks of different sizes.
struct Sizes {
    /// Upper end of each size's share (cumulative, 0 to 1), and the size in bytes.
    shares: Vec<(f64, u32)>,
    region: Region,
    grain: u64,
    /// For sequential access: where the next block begins.
    next: Option<u64>,
}

impl Sizes {
    fn new(shares: &[SizeShare], grain: u32, region: Region, sequential: bool) -> Self {
        let total: f64 = shares.iter().map(|s| s.percent).sum();
        let mut until = 0.0;
        let shares = shares.iter().map(|share| {
            until += share.percent / total;
            (until, share.bytes)
        });
        Self {
            shares: shares.collect(),
            region,
            grain: u64::from(grain),
            next: sequential.then_some(region.start),
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u32 {
        let u: f64 = rng.random();
        self.shares.iter().find(|(until, _)| u < *until).unwrap_or(&self.shares[self.shares.len() - 1]).1
    }

    /// Where a block of `len` bytes begins. It never extends beyond the region.
    fn offset(&mut self, len: u32, offsets: &mut OffsetGenerator, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let (len, end) = (u64::from(len), self.region.start + self.region.len);
        if let Some(next) = &mut self.next {
            let at = if *next + len > end { self.region.start } else { *next };
            *next = at + len;
            return at;
        }
        let at = offsets.next(rng);
        if at + len <= end {
            return at;
        }
        let last = (self.region.len - len) / self.grain * self.grain;
        self.region.start + last
    }
}

impl Draws {
    /// The directions of a workload that moves or trims data.
    pub fn new(workload: &Workload, region: Region, rng: &mut Xoshiro256PlusPlus) -> Self {
        let sequential = matches!(workload.pattern, Pattern::Sequential);
        let mut direction = |verb, len: u32, shares: fn(&BlockSplit) -> &[SizeShare]| {
            let split = workload.modifiers.split.as_ref().map(|split| (shares(split), split.grain));
            let split = split.filter(|(shares, _)| !shares.is_empty());
            let grain = split.map_or(len, |(_, grain)| grain);
            let offsets =
                OffsetGenerator::new(&workload.pattern, region.start, region.len, u64::from(grain), rng);
            let sizes = split.map(|(shares, grain)| Box::new(Sizes::new(shares, grain, region, sequential)));
            Direction { verb, len, offsets, sizes }
        };
        let first = match workload.mix {
            Mix::Transfer { read_percent: 0 } => {
                direction(Verb::Write, workload.block.write, |split| &split.write)
            }
            Mix::Transfer { .. } | Mix::Update { .. } => {
                direction(Verb::Read, workload.block.read, |split| &split.read)
            }
            Mix::Trim => direction(Verb::Trim, workload.block.trim, |split| &split.trim),
            Mix::Allocate => direction(Verb::Allocate, workload.block.write, |split| &split.write),
            Mix::Truncate => direction(Verb::Truncate, workload.block.write, |split| &split.write),
            Mix::Metadata(_) => unreachable!("metadata operations have their own driver"),
        };
        let mixed_with = match workload.mix {
            Mix::Transfer { read_percent: read_percent @ 1..100 } => Some(Box::new(Mixed {
                write: direction(Verb::Write, workload.block.write, |split| &split.write),
                read_percent,
                even: workload.modifiers.even_mix.then_some((0, 0)),
            })),
            _ => None,
        };
        Self { first, mixed_with }
    }

    /// Lets sequential work begin at this share of its region, from 0 to below 1.
    pub fn start_at(&mut self, share: f64) {
        let mixed = self.mixed_with.iter_mut().map(|mixed| &mut mixed.write);
        std::iter::once(&mut self.first).chain(mixed).for_each(|direction| direction.offsets.start_at(share));
    }

    /// The direction of the next operation.
    #[inline(always)]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> &mut Direction {
        let direction = match &mut self.mixed_with {
            None => &mut self.first,
            Some(mixed) => {
                if mixed.writes(rng) {
                    &mut mixed.write
                } else {
                    &mut self.first
                }
            }
        };
        if let Some(sizes) = &direction.sizes {
            direction.len = sizes.draw(rng);
        }
        direction
    }
}

impl Mixed {
    /// True if the next operation is a write.
    #[inline]
    fn writes(&mut self, rng: &mut Xoshiro256PlusPlus) -> bool {
        let share = u64::from(self.read_percent);
        let Some((reads, writes)) = &mut self.even else {
            return rng.random_range(0..100) >= self.read_percent;
        };
        // sysbench's rule: a read while (reads + 1) / (writes + 1) is below the requested ratio.
        let reads_next = (*reads + 1) * (100 - share) < share * (*writes + 1);
        let count = if reads_next { reads } else { writes };
        *count += 1;
        !reads_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockSizes, Modifiers};
    use rand_xoshiro::rand_core::SeedableRng;

    const REGION: Region = Region { start: 1 << 20, len: 1 << 20 };

    fn drawn(workload: &Workload, n: usize) -> Vec<(Verb, u32, u64)> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut draws = Draws::new(workload, REGION, &mut rng);
        let next = |_| {
            let direction = draws.next(&mut rng);
            (direction.verb, direction.len, direction.next_offset(&mut rng))
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn an_even_mix_of_60_percent_matches_a_trace_of_sysbench() {
        let workload = Workload {
            mix: Mix::Transfer { read_percent: 60 },
            modifiers: Modifiers { even_mix: true, ..Modifiers::default() },
            ..Workload::random_reads()
        };
        let letters: String =
            drawn(&workload, 10).iter().map(|d| if d.0 == Verb::Read { 'R' } else { 'W' }).collect();
        assert_eq!(letters, "RWRWRRWRWR");
    }

    #[test]
    fn sequential_work_begins_where_it_is_told_and_wraps_around() {
        let sequential = Workload {
            pattern: Pattern::Sequential,
            block: BlockSizes::uniform(4096),
            ..Workload::random_reads()
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut draws = Draws::new(&sequential, REGION, &mut rng);
        draws.start_at(0.75);
        let offsets: Vec<u64> = (0..65).map(|_| draws.next(&mut rng).next_offset(&mut rng)).collect();
        assert_eq!(
            (offsets[0], offsets[63], offsets[64]),
            ((1 << 20) + (3 << 18), (2 << 20) - 4096, 1 << 20)
        );
    }

    #[test]
    fn drawn_sizes_have_their_shares_and_stay_in_the_region() {
        let shares = [(512, 10.0), (4096, 60.0), (65536, 30.0)];
        let shares: Vec<SizeShare> =
            shares.iter().map(|(bytes, percent)| SizeShare { bytes: *bytes, percent: *percent }).collect();
        let split = BlockSplit { read: shares, write: Vec::new(), trim: Vec::new(), grain: 4096 };
        for pattern in [Workload::random_reads().pattern, Pattern::Sequential] {
            let sequential = pattern == Pattern::Sequential;
            let workload = Workload {
                pattern,
                block: BlockSizes::uniform(65536),
                modifiers: Modifiers { split: Some(split.clone()), ..Modifiers::default() },
                ..Workload::random_reads()
            };
            let drawn = drawn(&workload, 20_000);
            let share = |bytes| drawn.iter().filter(|d| d.1 == bytes).count() as f64 / 20_000.0;
            for (bytes, expected) in [(512, 0.1), (4096, 0.6), (65536, 0.3)] {
                assert!((share(bytes) - expected).abs() < 0.02, "{bytes}: {}", share(bytes));
            }
            for (_, len, offset) in &drawn {
                assert!(*offset >= REGION.start && offset + u64::from(*len) <= REGION.start + REGION.len);
                assert!(sequential || offset.is_multiple_of(4096));
            }
            let follows = |pair: &[(Verb, u32, u64)]| pair[1].2 == pair[0].2 + u64::from(pair[0].1);
            let in_a_row = drawn.windows(2).filter(|pair| follows(pair)).count();
            assert_eq!(in_a_row > 15_000, sequential);
        }
    }
}
