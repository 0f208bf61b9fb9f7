//! A random permutation of `0..n` without a table: every block once, in random order, in constant memory.
//!
//! The numbers of `k` bits (2^k the smallest power of two not below n) are mixed by steps that are
//! each invertible modulo 2^k: adding a constant, multiplying by an odd number, and xoring with a
//! right shift. Results outside `0..n` are mixed again until they fall inside ("cycle walking", Black
//! and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002); since 2^k < 2n that takes
//! fewer than two tries on average.

use rand_xoshiro::rand_core::Rng;

/// A permutation of `0..len`.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); ROUNDS],
}

const ROUNDS: usize = 3;

impl Permutation {
    /// A permutation of `0..len`, chosen by `rng`.
    ///
    /// # Panics
    /// If `len` is 0.
    pub fn new(len: u64, rng: &mut impl Rng) -> Self {
        assert!(len > 0, "a permutation needs at least one value");
        let bits = u64::BITS - (len - 1).leading_zeros();
        let bits = bits.max(1);
        let mask = u64::MAX >> (u64::BITS - bits);
        let rounds = std::array::from_fn(|_| (rng.next_u64() & mask, (rng.next_u64() | 1) & mask));
        Self { len, mask, shift: (bits / 2).max(1), rounds }
    }

    /// The `index`-th value of the permutation.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.len);
        let mut x = index;
        loop {
            for (add, multiply) in self.rounds {
                x = x.wrapping_add(add) & self.mask;
                x ^= x >> self.shift;
                x = x.wrapping_mul(multiply) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.len {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    proptest! {
        #[test]
        fn every_value_comes_exactly_once(len in 1u64..5_000, seed: u64) {
            let permutation = Permutation::new(len, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            let mut seen = vec![false; len as usize];
            for i in 0..len {
                let value = permutation.at(i) as usize;
                prop_assert!(!std::mem::replace(&mut seen[value], true), "{value} came twice");
            }
        }
    }

    #[test]
    fn neighbours_are_separated() {
        let len = 262_144;
        let permutation = Permutation::new(len, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        let near = (1..len).filter(|i| permutation.at(*i).abs_diff(permutation.at(i - 1)) <= 8).count();
        // 17 of 262144 distances count as near, so about 17 by chance.
        assert!(near < 60, "{near} of {len} successors are within 8 blocks");
    }

    #[test]
    fn every_part_of_the_range_is_visited_evenly_at_any_time() {
        let len = 1_000_000;
        let permutation = Permutation::new(len, &mut Xoshiro256PlusPlus::seed_from_u64(7));
        let mut parts = [0u32; 100];
        (0..len / 10).for_each(|i| parts[(permutation.at(i) / (len / 100)) as usize] += 1);
        // 1000 expected in each; five standard deviations of a draw without replacement is 150.
        assert!(parts.iter().all(|n| n.abs_diff(1000) < 150), "{parts:?}");
    }

    #[test]
    fn the_largest_range_is_supported() {
        let permutation = Permutation::new(u64::MAX, &mut Xoshiro256PlusPlus::seed_from_u64(3));
        assert_ne!(permutation.at(0), permutation.at(u64::MAX - 1));
    }
}
