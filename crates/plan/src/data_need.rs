//! Sizes of data sets: what a plan needs, what fits on a target, and the blocks of their layout.

use model::{Plan, Preparation, Regions, Target, TargetKind, Workload};

use crate::{AUTO_SIZE_BYTES, DataKey, needs_own_data};

/// Bytes of the smallest open-ended set, whatever the time.
const LEAST_BYTES: u64 = 64 << 20;
/// Open sizes are multiples of this, and so are layout blocks where possible.
const MEBIBYTE: u64 = 1 << 20;

/// A data set that a plan needs on a target.
#[derive(Clone, Debug)]
pub struct DataNeed {
    /// What distinguishes it.
    pub key: DataKey,
    /// Files that hold it; a file or device of the user's is one.
    pub count: u64,
    /// Bytes that its steps need at least.
    pub least: u64,
    /// The least common multiple of its steps' blocks, in bytes: files of a multiple of it are used
    /// completely.
    pub unit: u64,
    /// Its steps write, trim or check it, so that the data must be Lodestone's.
    pub modified: bool,
    /// It is laid out; else it is only created anew for each repeat.
    pub laid_out: bool,
    /// Its steps log the offsets of their operations: they use all of a device that is not overwritten.
    pub whole: bool,
}

/// The data sets that the steps of a plan need on a target, in the order of the plan; `runs` says of each step whether it
/// runs there.
pub fn data_needs(plan: &Plan, target: &Target, runs: &[bool]) -> Vec<DataNeed> {
    let mut sets: Vec<DataNeed> = Vec::new();
    let possible = plan.steps.iter().zip(runs).filter(|(_, runs)| **runs);
    for step in possible.flat_map(|(step, _)| step.parts()) {
        let Some(key) = DataKey::of(step) else { continue };
        let w = &step.workload;
        let count = if target.kind == TargetKind::Directory { u64::from(w.files.count) } else { 1 };
        let block = u64::from(w.largest_block());
        let next = DataNeed {
            key,
            count,
            least: block * least_blocks(w, block) * count,
            unit: block,
            modified: needs_own_data(w),
            laid_out: step.prepare == Preparation::Written,
            whole: w.modifiers.log_offset,
        };
        match sets.iter_mut().find(|s| s.key == key && s.laid_out == next.laid_out) {
            Some(set) => set.join(&next),
            None => sets.push(next),
        }
    }
    sets
}

/// Blocks that each file needs, so that each job has one.
fn least_blocks(w: &Workload, block: u64) -> u64 {
    match w.regions {
        Regions::Disjoint => u64::from(w.jobs),
        Regions::Shared => 1,
        Regions::Spaced { offset_bytes, increment_bytes, .. } => {
            (offset_bytes + u64::from(w.jobs - 1) * increment_bytes).div_ceil(block) + 1
        }
    }
}

impl DataNeed {
    /// Adds the needs of another step of the same set.
    fn join(&mut self, other: &Self) {
        // Without a small common multiple, the larger block is enough.
        let common = least_common_multiple(self.unit, other.unit);
        self.unit = common.filter(|unit| *unit <= AUTO_SIZE_BYTES).unwrap_or(self.unit.max(other.unit));
        self.least = self.least.max(other.least);
        self.modified |= other.modified;
        self.whole |= other.whole;
    }

    /// The largest size of at most `bytes` in which every file is used completely; 0 if there is none.
    pub fn fitted(&self, bytes: u64) -> u64 {
        let each = bytes / self.count;
        let grain = match self.key.files.size_bytes {
            None => least_common_multiple(self.unit, MEBIBYTE).filter(|grain| *grain <= each),
            Some(_) => None,
        };
        let grain = grain.unwrap_or(self.unit);
        each / grain * grain * self.count
    }

    /// Bytes of the blocks in which files of `file_bytes` are laid out: about a mebibyte, and a divisor, so
    /// that they are written completely.
    pub fn layout_block(&self, file_bytes: u64) -> u32 {
        if let Some(block) = self.key.verify_block {
            return block;
        }
        let most = (MEBIBYTE / self.unit).max(1);
        let divides = |n: &u64| file_bytes.is_multiple_of(self.unit * n);
        (self.unit * (1..=most).rev().find(divides).unwrap_or(1)) as u32
    }

    /// True if the set may become as large as can be written in the time that the plan allows.
    pub fn is_open_ended(&self) -> bool {
        self.key.files.size_bytes.is_none() && self.count == 1
    }

    /// The smallest size of an open-ended set that would have become `bytes`.
    pub fn smallest(&self, bytes: u64) -> u64 {
        self.least.max(LEAST_BYTES).next_multiple_of(self.unit).min(bytes)
    }

    /// Bytes that it takes at least where nothing else is known.
    pub fn usual(&self) -> u64 {
        self.key.files.size_bytes.unwrap_or(self.least.max(MEBIBYTE))
    }

    /// The part in bytes of an existing file or device of `have` bytes that is used: all of it, or what the plan says. What is
    /// also written is laid out first, which must not take for ever. `None` if it is too small.
    pub fn part_of(&self, have: u64) -> Option<u64> {
        if self.key.files.size_bytes.is_some() || self.modified {
            self.size(have)
        } else {
            Some(self.fitted(have)).filter(|bytes| *bytes >= self.least)
        }
    }

    /// The size of the set in bytes if `room` bytes are free, or `None` if that is too little.
    fn size(&self, room: u64) -> Option<u64> {
        let bytes = match self.key.files.size_bytes {
            Some(asked) => self.fitted(asked),
            None => self.fitted(AUTO_SIZE_BYTES.max(self.least).min(room)),
        };
        (bytes <= room && bytes >= self.least).then_some(bytes)
    }
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

/// The sizes in bytes of sets, if `free` bytes are free in a directory; `None` if that is too little.
pub fn sizes_within(sets: &[DataNeed], free: u64) -> Option<Vec<u64>> {
    let fixed: u64 = sets.iter().filter_map(|s| s.key.files.size_bytes).sum();
    let open = sets.iter().filter(|s| s.key.files.size_bytes.is_none()).count() as u64;
    let share = free.saturating_sub(fixed) / open.max(1);
    let room = |set: &DataNeed| if set.key.files.size_bytes.is_some() { free } else { share };
    let sizes: Option<Vec<u64>> = sets.iter().map(|set| set.size(room(set))).collect();
    sizes.filter(|sizes| sizes.iter().sum::<u64>() <= free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Data, DataClass, FileSet};

    fn wanted(count: u32, size_bytes: Option<u64>, unit: u64) -> DataNeed {
        let data = Data { class: DataClass::Random, compress_percent: 0, dedupe_percent: 0 };
        let key = DataKey { files: FileSet { count, size_bytes, number: 0 }, data, verify_block: None };
        let least = unit * u64::from(count);
        DataNeed { key, count: count.into(), least, unit, modified: true, laid_out: true, whole: false }
    }

    #[test]
    fn a_requested_size_is_rounded_down_to_the_block() {
        for (count, asked, unit, expected) in [
            (1, 64 << 10, 4096, 64 << 10),
            (2, 3 << 20, 4096, 3 << 20),
            (1, 10_000, 1000, 10_000),
            (1, 10_500, 1000, 10_000),
            (3, 100_000, 4096, 98_304),
        ] {
            assert_eq!(wanted(count, Some(asked), unit).size(u64::MAX), Some(expected), "{asked} in {unit}");
        }
        assert_eq!(wanted(1, Some(512), 4096).size(u64::MAX), None);
    }

    #[test]
    fn an_open_size_is_whole_mebibytes_if_they_fit() {
        assert_eq!(wanted(1, None, 4096).size(u64::MAX), Some(AUTO_SIZE_BYTES));
        assert_eq!(wanted(1, None, 4096).size((100 << 20) + 5000), Some(100 << 20));
        assert_eq!(wanted(1, None, 4096).size(500_000), Some(499_712));
        assert_eq!(wanted(3, None, 12 << 10).size(u64::MAX).map(|bytes| bytes % (9 << 20)), Some(0));
        assert_eq!(wanted(4, None, 4096).size(4096), None);
    }

    #[test]
    fn files_are_laid_out_completely_in_large_blocks() {
        for (unit, file_bytes, expected) in [
            (4096, 1 << 30, 1 << 20),
            (4096, 3 << 19, 3 << 18),
            (4096, 64 << 10, 64 << 10),
            (1000, 7000, 7000),
            (2 << 20, 8 << 20, 2 << 20),
            (512, 512 * 2053, 512),
        ] {
            let block = wanted(1, Some(file_bytes), unit).layout_block(file_bytes);
            assert_eq!(u64::from(block), expected, "{unit} in {file_bytes}");
            assert_eq!(file_bytes % u64::from(block), 0);
        }
    }

    #[test]
    fn every_block_divides_the_unit_of_a_shared_set() {
        let mut set = wanted(1, None, 4096);
        set.join(&wanted(1, None, 12 << 10));
        assert_eq!(set.unit, 12 << 10);
        set.join(&wanted(1, None, 16 << 10));
        assert_eq!(set.unit, 48 << 10);
        set.join(&wanted(1, None, (1 << 20) - 1));
        assert_eq!(set.unit, (1 << 20) - 1, "no sensible common multiple");
    }
}
