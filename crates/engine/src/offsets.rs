//! Generators of block numbers and offsets.

use model::{Distribution, Pattern, PortableMath, Zone};
use rand::RngExt;
use rand_distr::{Distribution as _, Normal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::permutation::Permutation;

/// Generates block numbers of `0..blocks` in the order of a pattern.
pub(crate) struct BlockOrder {
    blocks: u64,
    next: u64,
    order: Order,
}

enum Order {
    Sequential,
    /// Runs of `run` blocks, each followed by a jump of `skip` blocks.
    Strided {
        run: u64,
        skip: i64,
        /// Finished blocks of the current run.
        done: u64,
    },
    /// `count` evenly spaced offsets, in order.
    Spaced {
        count: u64,
        at: u64,
    },
    Sequence {
        list: Vec<u64>,
        moves_on: bool,
        at: usize,
        base: u64,
    },
    /// Every block once per pass, in a new order for each pass.
    Once(Permutation),
    Uniform,
    /// Zipf ranks, scattered over the region so that hot blocks are not adjacent.
    Zipf {
        law: Zipf<f64>,
        target: Permutation,
    },
    /// Ranks by the self-similar law, scattered in the same way.
    Pareto {
        exponent: f64,
        target: Permutation,
    },
    Normal(Normal<f64>),
    Zoned(Vec<BlockZone>),
}

/// A zone as block numbers, with the upper end of its share of the accesses (cumulative, 0 to 1).
struct BlockZone {
    access_until: f64,
    first: u64,
    blocks: u64,
}

impl BlockOrder {
    /// An order over `blocks` blocks.
    ///
    /// # Panics
    /// If `blocks` is 0, or the distribution's parameters are out of their documented range: the planner checks
    /// both.
    pub fn new(pattern: &Pattern, blocks: u64, block_bytes: u64, rng: &mut Xoshiro256PlusPlus) -> Self {
        assert!(blocks > 0, "an order needs at least one block");
        let mut first = 0;
        let order = match pattern {
            Pattern::Sequential => Order::Sequential,
            Pattern::Strided { run_bytes, skip_bytes } => {
                let run = (run_bytes / block_bytes).clamp(1, blocks);
                let skip = skip_bytes / block_bytes.max(1) as i64;
                if skip < 0 {
                    first = blocks - run;
                }
                Order::Strided { run, skip, done: 0 }
            }
            Pattern::Spaced { count } => Order::Spaced { count: u64::from(*count).max(1), at: 0 },
            Pattern::Random { distribution, repeats } => match distribution {
                Distribution::Uniform if *repeats => Order::Uniform,
                Distribution::Uniform => Order::Once(Permutation::new(blocks, rng)),
                Distribution::Zipf { theta } => Order::Zipf {
                    law: Zipf::new(blocks as f64, *theta).expect("theta is above 0"),
                    target: Permutation::new(blocks, rng),
                },
                Distribution::Pareto { h } => Order::Pareto {
                    exponent: h.portable_ln() / (1.0 - h).portable_ln(),
                    target: Permutation::new(blocks, rng),
                },
                Distribution::Normal { deviation_percent } => Order::Normal(
                    Normal::new(blocks as f64 / 2.0, blocks as f64 * deviation_percent / 100.0)
                        .expect("the deviation is finite"),
                ),
                Distribution::Zoned(zones) => Order::Zoned(block_zones(zones, blocks)),
                Distribution::Sequence { blocks: list, moves_on } => {
                    let list = if list.is_empty() { vec![0] } else { list.clone() };
                    Order::Sequence { list, moves_on: *moves_on, at: 0, base: 0 }
                }
            },
        };
        Self { blocks, next: first, order }
    }

    /// Begins at this share of the blocks, from 0 to below 1, if the order is sequential.
    pub fn start_at(&mut self, share: f64) {
        if let Order::Sequential = self.order {
            self.next = ((self.blocks as f64 * share) as u64).min(self.blocks - 1);
        }
    }

    /// The next block numbers.
    fn fill(&mut self, out: &mut [u64], rng: &mut Xoshiro256PlusPlus) {
        if let Order::Once(permutation) = &self.order
            && self.blocks - self.next >= out.len() as u64
        {
            let permutation = permutation.clone();
            out.iter_mut().zip(self.next..).for_each(|(out, index)| *out = permutation.at(index));
            self.next += out.len() as u64;
            return;
        }
        out.iter_mut().for_each(|out| *out = self.next(rng));
    }

    /// The next block number.
    #[inline]
    fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match &mut self.order {
            Order::Sequential => {
                let block = self.next;
                self.next = if block + 1 == self.blocks { 0 } else { block + 1 };
                block
            }
            Order::Strided { run, skip, done } => {
                let block = self.next;
                *done += 1;
                let mut next = block as i64 + 1;
                if *done == *run {
                    *done = 0;
                    next = next.saturating_add(*skip);
                }
                let inside = u64::try_from(next).ok().filter(|next| *next < self.blocks);
                self.next = inside.unwrap_or_else(|| {
                    *done = 0;
                    if *skip < 0 { self.blocks - *run } else { 0 }
                });
                block
            }
            Order::Spaced { count, at } => spaced(self.blocks, *count, at),
            Order::Sequence { list, moves_on, at, base } => {
                let block = (*base + list[*at]) % self.blocks;
                *at += 1;
                if *at == list.len() {
                    *at = 0;
                    *base = if *moves_on { (*base + list.len() as u64) % self.blocks } else { 0 };
                }
                block
            }
            Order::Once(permutation) => {
                if self.next == self.blocks {
                    self.next = 0;
                    *permutation = Permutation::new(self.blocks, rng);
                }
                self.next += 1;
                permutation.at(self.next - 1)
            }
            Order::Uniform => rng.random_range(0..self.blocks),
            Order::Zipf { law, target } => {
                let rank = law.sample(rng) as u64;
                target.at(rank.clamp(1, self.blocks) - 1)
            }
            Order::Pareto { exponent, target } => {
                // Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994:
                // n · u^(ln h / ln(1 − h)).
                let u: f64 = rng.random();
                let rank = (self.blocks as f64 * u.portable_powf(*exponent)) as u64;
                target.at(rank.min(self.blocks - 1))
            }
            Order::Normal(bell) => {
                let target = bell.sample(rng).rem_euclid(self.blocks as f64) as u64;
                target.min(self.blocks - 1)
            }
            Order::Zoned(zones) => {
                let u: f64 = rng.random();
                let zone = zones.iter().find(|z| u < z.access_until).unwrap_or(&zones[zones.len() - 1]);
                zone.first + rng.random_range(0..zone.blocks)
            }
        }
    }
}

/// The block at the current one of `count` offsets; advances to the next. Kept out of the loop over the orders,
/// because its division would degrade the code of the others.
#[cold]
#[inline(never)]
fn spaced(blocks: u64, count: u64, at: &mut u64) -> u64 {
    let block = u128::from(*at) * u128::from(blocks) / u128::from(count);
    *at = if *at + 1 == count { 0 } else { *at + 1 };
    block as u64
}

/// Evenly spaced blocks begin at multiples of this many bytes (pages), so that their distance need not be a
/// multiple of the block size.
const SPACED_GRAIN: u64 = 4096;
/// Number of blocks drawn at a time: the order's state then stays in registers.
const AHEAD: usize = 64;

/// The offsets of one direction, drawn ahead.
pub struct OffsetGenerator {
    order: BlockOrder,
    /// Start of the region in bytes of the data set, and the block size in bytes.
    start: u64,
    block_bytes: u64,
    ahead: [u64; AHEAD],
    next: usize,
}

impl OffsetGenerator {
    /// Offsets of blocks of `block_bytes` in `len` bytes from `start`.
    ///
    /// # Panics
    /// If there is no room for a block, or the distribution's parameters are out of their documented range.
    pub fn new(
        pattern: &Pattern,
        start: u64,
        len: u64,
        block_bytes: u64,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let (blocks, block_bytes) = match pattern {
            // The block starts for which a block ends within the region.
            Pattern::Spaced { .. } if block_bytes.is_multiple_of(SPACED_GRAIN) => {
                ((len - block_bytes) / SPACED_GRAIN + 1, SPACED_GRAIN)
            }
            _ => (len / block_bytes, block_bytes),
        };
        let order = BlockOrder::new(pattern, blocks, block_bytes, rng);
        Self { order, start, block_bytes, ahead: [0; AHEAD], next: AHEAD }
    }

    /// Begins at this share of the region, from 0 to below 1, if the pattern is sequential.
    pub fn start_at(&mut self, share: f64) {
        self.order.start_at(share);
    }

    /// Byte offset of the next block in the data set.
    #[inline]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        if self.next == AHEAD {
            self.draw(rng);
        }
        let target = self.ahead[self.next];
        self.next += 1;
        target
    }

    #[inline(never)]
    fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.order.fill(&mut self.ahead, rng);
        self.ahead.iter_mut().for_each(|block| *block = self.start + *block * self.block_bytes);
        self.next = 0;
    }
}

/// Divides `0..blocks` into zones by their shares of the size, without gap or overlap. A zone too small for a
/// block gets one; only if there are fewer blocks than zones, some share the last block.
fn block_zones(zones: &[Zone], blocks: u64) -> Vec<BlockZone> {
    let total_access: f64 = zones.iter().map(|z| z.access_percent).sum();
    let total_size: f64 = zones.iter().map(|z| z.size_percent).sum();
    let (mut access, mut size, mut end) = (0.0, 0.0, 0);
    let mut cut = Vec::with_capacity(zones.len());
    for (zone, still_to_come) in zones.iter().zip((0..zones.len() as u64).rev()) {
        let first = end.min(blocks - 1);
        access += zone.access_percent;
        size += zone.size_percent;
        let share = (size / total_size * blocks as f64).round() as u64;
        // Each remaining zone needs a block too; the last one takes all that is left.
        let most = blocks.saturating_sub(still_to_come).max(first + 1);
        end = if still_to_come == 0 { blocks } else { share.clamp(first + 1, most) };
        cut.push(BlockZone { access_until: access / total_access, first, blocks: end - first });
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;
    use std::collections::HashMap;

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(42)
    }

    fn random(distribution: Distribution, repeats: bool) -> Pattern {
        Pattern::Random { distribution, repeats }
    }

    fn draw(pattern: &Pattern, blocks: u64, draws: usize) -> Vec<u64> {
        let mut rng = rng();
        let mut order = BlockOrder::new(pattern, blocks, 4096, &mut rng);
        (0..draws).map(|_| order.next(&mut rng)).collect()
    }

    /// Share of the draws that fall on the most popular `share` of all blocks.
    fn share_of_hottest(draws: &[u64], blocks: u64, share: f64) -> f64 {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        draws.iter().for_each(|b| *counts.entry(*b).or_default() += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hottest = (blocks as f64 * share) as usize;
        counts.iter().take(hottest).sum::<usize>() as f64 / draws.len() as f64
    }

    #[test]
    fn sequential_runs_to_the_end_and_starts_again() {
        assert_eq!(draw(&Pattern::Sequential, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn strides_skip_blocks_and_backwards_starts_at_the_end() {
        let strided =
            |run: u64, skip: i64| Pattern::Strided { run_bytes: run * 4096, skip_bytes: skip * 4096 };
        assert_eq!(draw(&strided(1, -2), 4, 6), [3, 2, 1, 0, 3, 2]);
        assert_eq!(draw(&strided(1, 2), 7, 5), [0, 3, 6, 0, 3]);
        assert_eq!(draw(&strided(2, 3), 12, 8), [0, 1, 5, 6, 10, 11, 0, 1]);
        assert_eq!(draw(&strided(2, -4), 6, 8), [4, 5, 2, 3, 0, 1, 4, 5]);
        assert_eq!(draw(&strided(9, 5), 3, 4), [0, 1, 2, 0], "a run longer than the region is all of it");
    }

    #[test]
    fn spaced_offsets_are_pages_within_the_whole_region() {
        let mut rng = rng();
        let pattern = Pattern::Spaced { count: 100 };
        for (len, block) in [(1 << 40, 10 << 20), (1 << 30, 10 << 20), (10 << 20, 10 << 20), (51_200, 512)] {
            let start = 1 << 20;
            let mut offsets = OffsetGenerator::new(&pattern, start, len, block, &mut rng);
            let drawn: Vec<u64> = (0..100).map(|_| offsets.next(&mut rng)).collect();
            assert_eq!(drawn[0], start);
            assert!(drawn.is_sorted() && drawn.iter().all(|at| at + block <= start + len));
            assert!(drawn.iter().all(|at| at.is_multiple_of(block.min(4096))));
            let even = (len - block) as f64 / 100.0;
            assert!(
                (1..100)
                    .all(|i| (drawn[i] as f64 - start as f64 - i as f64 * even).abs() < 4097.0 + even / 50.0)
            );
            assert_eq!(offsets.next(&mut rng), start, "and again");
        }
    }

    #[test]
    fn a_sequence_repeats_itself_or_moves_on_by_its_length() {
        let sequence = |moves_on| random(Distribution::Sequence { blocks: vec![2, 0, 1], moves_on }, false);
        assert_eq!(draw(&sequence(false), 12, 7), [2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(draw(&sequence(true), 12, 7), [2, 0, 1, 5, 3, 4, 8]);
    }

    #[test]
    fn random_without_repeats_visits_each_block_once_per_pass() {
        let draws = draw(&random(Distribution::Uniform, false), 100, 200);
        let (first, second) = draws.split_at(100);
        assert_ne!(first, second);
        for pass in [first, second] {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert_eq!(pass, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn random_with_repeats_misses_a_share_of_1_over_e() {
        let mut draws = draw(&random(Distribution::Uniform, true), 10_000, 10_000);
        draws.sort_unstable();
        draws.dedup();
        let missed = 1.0 - draws.len() as f64 / 10_000.0;
        assert!((missed - (-1.0f64).portable_exp()).abs() < 0.02, "missed {missed}");
    }

    #[test]
    fn zipf_prefers_the_first_ranks_as_its_law_says() {
        let blocks = 1000;
        let draws = draw(&random(Distribution::Zipf { theta: 1.2 }, false), blocks, 200_000);
        // Share of the ten most popular: sum of k^-1.2 for k = 1..10 over k = 1..1000.
        let weight = |n: u64| (1..=n).map(|k| (k as f64).portable_powf(-1.2)).sum::<f64>();
        let expected = weight(10) / weight(blocks);
        let got = share_of_hottest(&draws, blocks, 0.01);
        assert!((got - expected).abs() < 0.01, "got {got}, expected {expected}");
    }

    #[test]
    fn pareto_gives_a_share_of_1_minus_h_to_the_hot_blocks() {
        let draws = draw(&random(Distribution::Pareto { h: 0.2 }, false), 1000, 200_000);
        let got = share_of_hottest(&draws, 1000, 0.2);
        assert!((got - 0.8).abs() < 0.02, "{got} of the accesses on the hottest 20 %");
    }

    #[test]
    fn normal_is_a_bell_curve_around_the_centre() {
        let draws = draw(&random(Distribution::Normal { deviation_percent: 10.0 }, false), 1000, 100_000);
        let within = draws.iter().filter(|b| b.abs_diff(500) <= 100).count() as f64 / 100_000.0;
        assert!((within - 0.683).abs() < 0.01, "{within} within one deviation");
    }

    #[test]
    fn zones_get_their_shares() {
        let zones = vec![
            Zone { access_percent: 60.0, size_percent: 10.0 },
            Zone { access_percent: 30.0, size_percent: 20.0 },
            Zone { access_percent: 10.0, size_percent: 70.0 },
        ];
        let draws = draw(&random(Distribution::Zoned(zones), false), 1000, 100_000);
        let share = |range: std::ops::Range<u64>| {
            draws.iter().filter(|b| range.contains(b)).count() as f64 / 100_000.0
        };
        for (range, expected) in [(0..100, 0.6), (100..300, 0.3), (300..1000, 0.1)] {
            assert!((share(range.clone()) - expected).abs() < 0.01, "{range:?}");
        }
    }

    proptest::proptest! {
        /// The start of a zone used to be rounded down and the end of the preceding one to the nearest.
        #[test]
        fn zones_neither_overlap_nor_leave_a_gap(
            sizes in proptest::collection::vec(0.1f64..100.0, 1..9),
            more in 0u64..3000,
        ) {
            let zones: Vec<Zone> =
                sizes.iter().map(|size| Zone { access_percent: 1.0, size_percent: *size }).collect();
            let blocks = sizes.len() as u64 + more;
            let mut next = 0;
            for zone in block_zones(&zones, blocks) {
                proptest::prop_assert_eq!(zone.first, next);
                proptest::prop_assert!(zone.blocks > 0);
                next += zone.blocks;
            }
            proptest::prop_assert_eq!(next, blocks);
        }
    }

    #[test]
    fn no_order_leaves_its_region_even_if_it_is_one_block() {
        let zones = vec![Zone { access_percent: 50.0, size_percent: 1.0 }; 3];
        for distribution in [
            Distribution::Uniform,
            Distribution::Zipf { theta: 0.9 },
            Distribution::Pareto { h: 0.1 },
            Distribution::Normal { deviation_percent: 200.0 },
            Distribution::Zoned(zones),
        ] {
            for blocks in [1, 2, 3, 17] {
                let pattern = random(distribution.clone(), true);
                assert!(draw(&pattern, blocks, 1000).iter().all(|b| *b < blocks), "{pattern:?}");
            }
        }
    }
}
