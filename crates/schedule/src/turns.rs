//! Which target follows which in the rounds of a step.
//!
//! What one repeat leaves behind (a full cache, garbage collection, a warm processor) falls on the target after it. So in
//! a block of rounds every target follows every other one equally often, and is at each place in the round equally often:
//! Williams, "Experimental Designs Balanced for the Estimation of Residual Effects of Treatments", Aust. J. Sci. Res. A 2,
//! 1949. With two targets that is AB BA or BA AB.

use std::collections::BTreeMap;

use rand::Rng;
use rand::seq::SliceRandom;

/// The orders of the rounds to come in the current block, by step.
#[derive(Debug, Default)]
pub(crate) struct Turns(BTreeMap<usize, Vec<Vec<usize>>>);

impl Turns {
    /// The order of `count` targets in the next round of a step.
    pub fn order(&mut self, step: usize, count: usize, rng: &mut impl Rng) -> Vec<usize> {
        let block = self.0.entry(step).or_default();
        if block.is_empty() {
            let mut names: Vec<usize> = (0..count).collect();
            names.shuffle(rng);
            *block = williams(count);
            block.iter_mut().flatten().for_each(|target| *target = names[*target]);
            block.shuffle(rng);
        }
        block.pop().unwrap_or_else(|| (0..count).collect())
    }
}

/// The rows of a Williams design for `count` targets: `count` rows if it is even, else twice as many.
fn williams(count: usize) -> Vec<Vec<usize>> {
    // 0, 1, n − 1, 2, n − 2, …: the differences of neighbours are all different.
    let first = (0..count).map(|i| if i % 2 == 1 { i.div_ceil(2) } else { (count - i / 2) % count });
    let first: Vec<usize> = first.collect();
    let rows = (0..count).map(|row| first.iter().map(|target| (target + row) % count).collect::<Vec<_>>());
    let mut rows: Vec<Vec<usize>> = rows.collect();
    if count % 2 == 1 && count > 1 {
        let backwards: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(backwards);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn in_a_block_every_target_follows_every_other_and_has_every_place_equally_often() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for count in 1..=9 {
            let mut turns = Turns::default();
            let rounds = williams(count).len();
            let (mut follows, mut places) = (BTreeMap::new(), BTreeMap::new());
            for _ in 0..rounds {
                let order = turns.order(0, count, &mut rng);
                order.windows(2).for_each(|pair| *follows.entry((pair[0], pair[1])).or_insert(0) += 1);
                order
                    .iter()
                    .enumerate()
                    .for_each(|place| *places.entry(place.0 * 100 + place.1).or_insert(0) += 1);
            }
            assert_eq!(places.len(), count * count);
            assert!(places.values().all(|n| *n == rounds / count), "{count}: {places:?}");
            assert_eq!(follows.len(), count * (count - 1));
            let usual = rounds / count;
            assert!(follows.values().all(|n| *n == usual), "{count}: {follows:?}");
        }
    }

    #[test]
    fn steps_have_orders_of_their_own() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut turns = Turns::default();
        let first: Vec<Vec<usize>> = (0..20).map(|step| turns.order(step, 2, &mut rng)).collect();
        assert!(first.contains(&vec![0, 1]) && first.contains(&vec![1, 0]));
        for (step, order) in first.into_iter().enumerate() {
            assert_eq!(turns.order(step, 2, &mut rng), order.into_iter().rev().collect::<Vec<_>>());
        }
    }
}
