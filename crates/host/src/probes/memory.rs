//! Available memory, and memory that waits for writeback.

use super::change_filter::{Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};

pub(super) const PROBE: Probe = Probe {
    name: "memory",
    what: "bytes available, dirty, and being written back",
    label: |key| Some(format!("memory {key}")),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let file = KernelFile::readable(scene.roots.proc.join("meminfo"))?;
        Some(Box::new(Memory { file, series: NAMES.map(|(key, _)| filter.series(key, "B")) }))
    },
};

/// Keys with their lines in `/proc/meminfo`.
const NAMES: [(&str, &str); 3] =
    [("available", "MemAvailable:"), ("dirty", "Dirty:"), ("writeback", "Writeback:")];

struct Memory {
    file: KernelFile,
    series: [SeriesId; NAMES.len()],
}

impl Reader for Memory {
    fn read(&mut self, sample: &mut Sample<'_>) {
        let Some(text) = self.file.text() else { return };
        for line in text.lines() {
            for ((_, name), series) in NAMES.iter().zip(self.series) {
                let Some(value) = line.strip_prefix(name) else { continue };
                if let Ok(kib) = value.trim().trim_end_matches(" kB").parse::<u64>() {
                    sample.put(series, kib as f64 * 1024.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn memory_is_reported_in_bytes() {
        let tree = Tree::new();
        tree.file(
            "proc/meminfo",
            "MemTotal: 100 kB\nMemAvailable:   50 kB\nDirty:  3 kB\nWriteback: 0 kB\nWritebackTmp: 9 kB\n",
        );
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["available 51200 B", "dirty 3072 B", "writeback 0 B"]);
    }
}
