//! Clock frequencies of the processors.

use super::change_filter::{Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};
use crate::stack::entries;

pub(super) const PROBE: Probe = Probe {
    name: "frequency",
    what: "lowest, mean and highest clock frequency over the processors",
    label: |key| Some(format!("clock, {key} over cores")),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let policies = entries(&scene.roots.sys.join("devices/system/cpu/cpufreq"));
        let files: Vec<KernelFile> =
            policies.iter().filter_map(|p| KernelFile::readable(p.join("scaling_cur_freq"))).collect();
        let keys = ["min", "mean", "max"];
        (!files.is_empty()).then(|| {
            Box::new(Frequency { files, series: keys.map(|key| filter.series(key, "Hz")) }) as Box<dyn Reader>
        })
    },
};

/// One file for each group of processors with a common clock. They are not reported individually: on a large
/// machine they would be most of the log and add nothing.
struct Frequency {
    files: Vec<KernelFile>,
    series: [SeriesId; 3],
}

impl Reader for Frequency {
    fn read(&mut self, sample: &mut Sample<'_>) {
        let (mut lowest, mut sum, mut highest, mut count) = (f64::INFINITY, 0.0, 0.0f64, 0u32);
        for khz in self.files.iter_mut().filter_map(KernelFile::number::<u64>) {
            let hz = khz as f64 * 1e3;
            (lowest, highest) = (lowest.min(hz), highest.max(hz));
            (sum, count) = (sum + hz, count + 1);
        }
        if count == 0 {
            return;
        }
        for (series, value) in self.series.into_iter().zip([lowest, sum / f64::from(count), highest]) {
            sample.put(series, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn the_slowest_and_the_fastest_are_reported_in_hertz() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
        for (policy, khz) in [(0, 600_000), (4, 1_800_000), (5, 2_400_000)] {
            let place = format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_cur_freq");
            tree.file(&place, &format!("{khz}\n"));
        }
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["min 600000000 Hz", "mean 1600000000 Hz", "max 2400000000 Hz"]);
        tree.file("sys/devices/system/cpu/cpufreq/policy5/scaling_cur_freq", "<unknown>\n");
        assert_eq!(probe.at(1), ["mean 1200000000 Hz", "max 1800000000 Hz"]);
    }
}
