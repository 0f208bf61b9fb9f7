//! Time in which work stalled for lack of processors, memory or I/O (Documentation/accounting/psi.rst).

use model::series_words;

use super::change_filter::{Counter, Sample};
use super::{KernelFile, Pace, Probe, Reader};

pub(super) const PROBE: Probe = Probe {
    name: "pressure",
    what: "share of the time in which some or all work waited for processors, memory or I/O",
    label: |key| Some(format!("pressure: {}", series_words(key))),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let resource = |name: &'static str| {
            // A kernel booted with PSI disabled has the files but refuses to read them.
            let file = KernelFile::readable(scene.roots.proc.join("pressure").join(name))?;
            Some((name, file))
        };
        let found: Vec<_> = ["cpu", "io", "irq", "memory"].into_iter().filter_map(resource).collect();
        let mut stalls = |(name, file)| Stalls {
            file,
            counters: ["some", "full"].map(|kind| Counter::new(filter.series(format!("{name}.{kind}"), "1"))),
        };
        let all: Vec<Stalls> = found.into_iter().map(&mut stalls).collect();
        (!all.is_empty()).then(|| Box::new(Pressure(all)) as Box<dyn Reader>)
    },
};

struct Pressure(Vec<Stalls>);

struct Stalls {
    file: KernelFile,
    counters: [Counter; 2],
}

impl Reader for Pressure {
    /// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
    fn read(&mut self, sample: &mut Sample<'_>) {
        for Stalls { file, counters } in &mut self.0 {
            let Some(text) = file.text() else { continue };
            let total = |kind: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
                line.rsplit_once("total=")?.1.trim().parse::<u64>().ok()
            };
            let totals = [total("some "), total("full ")];
            for (counter, total) in counters.iter_mut().zip(totals) {
                if let Some(total) = total {
                    counter.put(sample, total, 1e-6);
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
    fn stalls_are_shares_of_the_time() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
        let io = |some: u64, full: u64| {
            let line =
                |kind: &str, total: u64| format!("{kind} avg10=1.00 avg60=0.00 avg300=0.00 total={total}\n");
            tree.file("proc/pressure/io", &(line("some", some) + &line("full", full)));
        };
        io(1_000_000, 0);
        tree.file("proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert!(probe.at(0).is_empty());
        io(2_500_000, 500_000);
        assert_eq!(probe.at(2), ["io.some 0.75 1", "io.full 0.25 1", "irq.full 0 1"]);
    }
}
