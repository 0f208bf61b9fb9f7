//! Runnable threads.

use model::series_words;

use super::change_filter::{Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};

pub(super) const PROBE: Probe = Probe {
    name: "load",
    what: "load average over a minute, and runnable threads without this one",
    label: |key| match key {
        "1min" => Some("load over a minute".to_owned()),
        "running" => Some("threads that want to run".to_owned()),
        _ => Some(series_words(key)),
    },
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        Some(Box::new(Load {
            file: KernelFile::readable(scene.roots.proc.join("loadavg"))?,
            minute: filter.series("1min", "1"),
            running: filter.series("running", "1"),
        }))
    },
};

struct Load {
    file: KernelFile,
    minute: SeriesId,
    running: SeriesId,
}

impl Reader for Load {
    /// `0.20 0.18 0.12 1/80 11206` (proc_loadavg(5)).
    fn read(&mut self, sample: &mut Sample<'_>) {
        let Some(text) = self.file.text() else { return };
        let mut words = text.split_ascii_whitespace();
        if let Some(minute) = words.next().and_then(|word| word.parse().ok()) {
            sample.put(self.minute, minute);
        }
        let running = words.nth(2).and_then(|word| word.split('/').next()?.parse::<u32>().ok());
        if let Some(running) = running {
            sample.put(self.running, f64::from(running.saturating_sub(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn the_load_excludes_the_reading_thread() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
        tree.file("proc/loadavg", "0.20 0.18 0.12 3/80 11206\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["1min 0.2 1", "running 2 1"]);
        tree.file("proc/loadavg", "1.50 0.18 0.12 3/80 11206\n");
        assert_eq!(probe.at(1), ["1min 1.5 1"]);
    }
}
