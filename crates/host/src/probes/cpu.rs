//! CPU time of each processor, by kind.

use super::change_filter::{Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};

pub(super) const PROBE: Probe = Probe {
    name: "cpu",
    what: "share of each processor's time by user, system, iowait, irq, steal",
    label: |key| match key {
        "busiest" => Some("busiest core".to_owned()),
        // Single processors are only in the exports.
        _ => Some(format!("busiest core: {}", key.strip_prefix("busiest.")?)),
    },
    pace: Pace::EveryTick,
    begin: |scene, _| {
        let stat = KernelFile::readable(scene.roots.proc.join("stat"))?;
        Some(Box::new(Cpu { stat, processors: Vec::new() }))
    },
};

/// The reported keys, with their fields of `/proc/stat`: user nice system idle iowait irq softirq steal. Guest
/// time is already in user.
const PARTS: [(&str, &[usize]); 5] =
    [("user", &[0, 1]), ("system", &[2]), ("iowait", &[4]), ("irq", &[5, 6]), ("steal", &[7])];
const FIELDS: usize = 8;

struct Cpu {
    stat: KernelFile,
    processors: Vec<Processor>,
}

struct Processor {
    number: u32,
    before: [u64; FIELDS],
    series: [SeriesId; PARTS.len()],
}

impl Reader for Cpu {
    fn read(&mut self, sample: &mut Sample<'_>) {
        let Some(text) = self.stat.text() else { return };
        let lines = text.lines().skip(1).map_while(|line| line.strip_prefix("cpu"));
        for (place, (number, fields)) in lines.filter_map(parse).enumerate() {
            // Processors are listed in order, with gaps for those offline.
            match self.processors.get_mut(place) {
                Some(processor) if processor.number == number => processor.put(sample, fields),
                _ => {
                    self.processors.truncate(place);
                    let key =
                        |(part, _): (&str, &[usize])| sample.filter.series(format!("{number}.{part}"), "1");
                    self.processors.push(Processor { number, before: fields, series: PARTS.map(key) });
                }
            }
        }
    }
}

fn parse(line: &str) -> Option<(u32, [u64; FIELDS])> {
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut fields = [0; FIELDS];
    for field in &mut fields {
        // Old kernels have fewer fields.
        *field = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    }
    Some((number, fields))
}

impl Processor {
    fn put(&mut self, sample: &mut Sample<'_>, fields: [u64; FIELDS]) {
        let mut spent = [0; FIELDS];
        for (spent, (now, before)) in spent.iter_mut().zip(fields.iter().zip(&self.before)) {
            // Idle times may decrease a little (proc_stat(5)).
            *spent = now.saturating_sub(*before);
        }
        let all: u64 = spent.iter().sum();
        if all == 0 {
            return;
        }
        self.before = fields;
        for ((_, of), series) in PARTS.iter().zip(self.series) {
            let part: u64 = of.iter().map(|field| spent[*field]).sum();
            sample.put_since(series, sample.since_ns, part as f64 / all as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    fn stat(tree: &Tree, lines: &[&str]) {
        tree.file("proc/stat", &format!("cpu  0 0 0 0\n{}\nintr 5 5\n", lines.join("\n")));
    }

    #[test]
    fn shares_refer_to_the_time_since_the_last_poll() {
        let tree = Tree::new();
        stat(&tree, &["cpu0 100 0 100 800 0 0 0 0 0 0", "cpu1 0 0 0 1000 0 0 0 0 0 0"]);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert!(probe.at(0).is_empty());
        stat(&tree, &["cpu0 120 10 140 805 15 4 3 3 0 0", "cpu1 0 0 0 1100 0 0 0 0 0 0"]);
        assert_eq!(
            probe.at(1),
            [
                "0.user 0.3 1",
                "0.system 0.4 1",
                "0.iowait 0.15 1",
                "0.irq 0.07 1",
                "0.steal 0.03 1",
                "1.user 0 1",
                "1.system 0 1",
                "1.iowait 0 1",
                "1.irq 0 1",
                "1.steal 0 1"
            ]
        );
        stat(&tree, &["cpu0 220 10 140 805 15 4 3 3 0 0", "cpu1 0 0 0 1200 0 0 0 0 0 0"]);
        let second = probe.at(2);
        assert_eq!(second[0], "0.user 1 1");
        assert!(second.iter().all(|line| line.starts_with("0.")), "idle processors are silent: {second:?}");
    }

    #[test]
    fn an_offline_processor_leaves_the_others_in_place() {
        let tree = Tree::new();
        stat(&tree, &["cpu0 0 0 0 100", "cpu1 0 0 0 100", "cpu2 0 0 0 100"]);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        probe.at(0);
        stat(&tree, &["cpu0 100 0 0 100", "cpu2 0 0 50 150"]);
        assert_eq!(probe.at(1)[0], "0.user 1 1");
        stat(&tree, &["cpu0 200 0 0 100", "cpu2 0 0 150 150"]);
        assert!(probe.at(2).contains(&"2.system 1 1".to_owned()));
    }
}
