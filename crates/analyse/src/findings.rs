//! What the figures mean: rules that speak only when the evidence carries them.
//!
//! Each rule is a pure function over the run. A new one is a function, an entry in [`RULES`] and a row in
//! the table of cases below.

mod repeats;

use std::collections::BTreeMap;

use model::{
    Evidence, Finding, LayerKind, Operation, OperationStats, Pattern, Repeat, RepeatFinished, RepeatOutcome,
    Run, Severity, Step, Subject, Target,
};

use crate::measure::device_ratio;

pub use repeats::headline_looks;

/// One rule.
pub struct Rule {
    /// Its short stable name.
    pub name: &'static str,
    /// When it speaks, for the documentation.
    pub speaks_when: &'static str,
    apply: fn(&Rule, &Run) -> Vec<Finding>,
}

/// All rules, the most important first.
pub static RULES: &[Rule] = &[
    Rule {
        name: "data-corrupted",
        speaks_when: "verification found a block that is not what was written",
        apply: data_corrupted,
    },
    Rule {
        name: "storage-failed",
        speaks_when: "a repeat ended because the storage returned errors, nothing at all, or did not come back",
        apply: storage_failed,
    },
    Rule {
        name: "cache-served-reads",
        speaks_when: "a block device of the stack delivered less than 90 % of the bytes that were read through it",
        apply: cache_served_reads,
    },
    Rule {
        name: "buffered-fallback",
        speaks_when: "direct I/O was asked for and the filesystem refuses it",
        apply: buffered_fallback,
    },
    Rule {
        name: "not-evicted",
        speaks_when: "more than 1 % of the data was still in the page cache after asking the kernel to evict it",
        apply: not_evicted,
    },
    Rule {
        name: "write-amplification",
        speaks_when: "the uppermost block device wrote at least 1.3 times the bytes that were written",
        apply: write_amplification,
    },
    Rule {
        name: "writes-not-on-device",
        speaks_when: "less than 90 % of the bytes written had reached the block device when the repeat was settled",
        apply: writes_not_on_device,
    },
    Rule {
        name: "generator-saturated",
        speaks_when: "a worker spent at least 90 % of its time on a CPU without meeting a given load, so that the storage may not be the limit",
        apply: generator_saturated,
    },
    Rule {
        name: "queue-not-filled",
        speaks_when: "less than half of the configured queue depth was reached",
        apply: queue_not_filled,
    },
    Rule {
        name: "load-not-met",
        speaks_when: "at least 1 % of the operations of an open loop were due and never started",
        apply: load_not_met,
    },
    Rule {
        name: "fits-into-memory",
        speaks_when: "the test data went through the page cache and are smaller than the machine's memory",
        apply: fits_into_memory,
    },
    Rule {
        name: "fits-into-device-cache",
        speaks_when: "the test data are smaller than 1 GiB, which many devices can hold in a cache of their own",
        apply: fits_into_device_cache,
    },
    Rule {
        name: "two-modes",
        speaks_when: "four or more repeats fall into two groups, at least 3 % apart with nothing between, as one mode rarely makes them (Benjamini and Hochberg at 5 % ÷ 3 over the headline figures of the run)",
        apply: repeats::two_modes,
    },
    Rule {
        name: "outliers",
        speaks_when: "of five or more repeats one is farther from the median, in median absolute deviations, than the farthest of as many normal values rarely is (the same 5 % ÷ 3), and at least 3 % off",
        apply: repeats::outliers,
    },
    Rule {
        name: "trend",
        speaks_when: "five or more repeats rise or fall over the run by at least 3 % in an order that is rarely due to chance (Mann and Kendall; the same 5 % ÷ 3)",
        apply: repeats::trend,
    },
    Rule {
        name: "not-steady",
        speaks_when: "the last five repeats range over more than 20 % of their mean, or a line through them rises or falls by more than 10 % (SNIA PTS)",
        apply: repeats::not_steady,
    },
    Rule {
        name: "start-up-transient",
        speaks_when: "three or more repeats, and most of them, began at least 5 % faster or slower than they went on, or so that their figure changes by 1 %, as is rarely due to chance (5 % over the steps of the run)",
        apply: repeats::start_up_transient,
    },
    Rule {
        name: "few-rounds",
        speaks_when: "a step has fewer than three good repeats on a target",
        apply: few_rounds,
    },
];

/// Everything the rules have to say about a run, the most important rule first.
pub fn findings(run: &Run) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| (rule.apply)(rule, run)).collect()
}

impl Rule {
    fn finding(
        &self,
        severity: Severity,
        subject: Subject,
        message: String,
        evidence: Vec<Evidence>,
    ) -> Finding {
        Finding { rule: self.name.to_owned(), severity, subject, message, evidence }
    }
}

/// An amount of bytes in a sentence.
fn amount(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 0.95e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

fn evidence(what: &str, value: f64, unit: &str) -> Evidence {
    Evidence { what: what.to_owned(), value, unit: unit.to_owned() }
}

fn subject(target: &Target, step: Option<&Step>) -> Subject {
    Subject { target: Some(target.name.clone()), step: step.map(|s| s.id.clone()) }
}

/// Every step on every target with its finished repeats, those that failed included.
fn finished(run: &Run) -> impl Iterator<Item = (&Step, &Target, Vec<(&Repeat, &RepeatFinished)>)> {
    run.started.plan.steps.iter().flat_map(move |step| {
        run.started.targets.iter().filter_map(move |target| {
            let repeats: Vec<_> = run
                .repeats
                .iter()
                .filter(|r| r.started.step == step.id && r.started.target == target.name)
                .filter_map(|r| Some((r, r.finished.as_deref()?)))
                .collect();
            (!repeats.is_empty()).then_some((step, target, repeats))
        })
    })
}

/// The same, with only the repeats that ended as planned.
fn completed(run: &Run) -> impl Iterator<Item = (&Step, &Target, Vec<(&Repeat, &RepeatFinished)>)> {
    finished(run).filter_map(|(step, target, repeats)| {
        let good: Vec<_> = repeats.into_iter().filter(|(r, _)| r.is_complete()).collect();
        (!good.is_empty()).then_some((step, target, good))
    })
}

/// The median of some values; the rules judge by it so that one odd repeat makes no finding.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn data_corrupted(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in finished(run) {
        let checks = repeats.iter().filter_map(|(_, f)| f.integrity.as_ref());
        let bad: Vec<_> = checks.filter(|c| c.mismatched > 0).collect();
        let Some(first) = bad.iter().flat_map(|c| &c.first).next() else { continue };
        let mismatched: u64 = bad.iter().map(|c| c.mismatched).sum();
        let checked: u64 = bad.iter().map(|c| c.checked).sum();
        found.push(rule.finding(
            Severity::Error,
            subject(target, Some(step)),
            format!(
                "{mismatched} of {checked} checked blocks were not what had been written; the first at byte {} of the test data: {}",
                first.offset, first.what
            ),
            vec![evidence("mismatched blocks", mismatched as f64, "1"), evidence("checked blocks", checked as f64, "1")],
        ));
    }
    found
}

fn storage_failed(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in finished(run) {
        let failures: Vec<_> = repeats
            .iter()
            .filter_map(|(_, f)| match &f.outcome {
                RepeatOutcome::Failed(failure) => Some(failure),
                _ => None,
            })
            .collect();
        let Some(first) = failures.first() else { continue };
        let others = match failures.len() {
            1 => String::new(),
            n => format!("; {} more repeats of this step failed", n - 1),
        };
        found.push(rule.finding(
            Severity::Error,
            subject(target, Some(step)),
            format!("{first}{others}"),
            vec![
                evidence("good operations before the failure", first.good_operations as f64, "1"),
                evidence("failed repeats", failures.len() as f64, "1"),
            ],
        ));
    }
    found
}

/// For each level of block devices under a target the median share of the read bytes that it delivered,
/// with the names of the devices there.
fn read_shares(repeats: &[(&Repeat, &RepeatFinished)]) -> Vec<(String, f64)> {
    let mut shares = Vec::new();
    for below in 0.. {
        let at = |(repeat, finished): &(&Repeat, &RepeatFinished)| {
            device_ratio(&repeat.whole(), finished, Operation::Read, below)
        };
        let Some(share) = median(repeats.iter().filter_map(at).collect()) else { break };
        let devices = &repeats[0].1.devices;
        let mut levels: Vec<u32> = devices.iter().map(|d| d.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let names = devices.iter().filter(|d| levels.get(below) == Some(&d.level)).map(|d| d.name.as_str());
        shares.push((names.collect::<Vec<_>>().join("+"), share));
    }
    shares
}

fn cache_served_reads(rule: &Rule, run: &Run) -> Vec<Finding> {
    const TRUSTED: f64 = 0.9;
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run).filter(|(step, ..)| step.workload.reads_data()) {
        let shares = read_shares(&repeats);
        // What the first level that delivers too little did not deliver, the level above it had cached.
        let Some(at) = shares.iter().position(|(_, share)| *share < TRUSTED) else { continue };
        let (device, share) = &shares[at];
        let direct = repeats.iter().all(|(r, _)| r.started.direct);
        let who = match at {
            0 if direct => "the filesystem or the page cache, although direct I/O was on".to_owned(),
            0 => "the page cache".to_owned(),
            _ => format!("a cache between {} and {device}", shares[at - 1].0),
        };
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!(
                "only {:.0} % of the bytes read came from {device}; the rest was served by {who}",
                share * 100.0
            ),
            vec![evidence(&format!("bytes read from {device} ÷ bytes read"), *share, "1")],
        ));
    }
    found
}

fn buffered_fallback(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in &run.started.targets {
        let steps: Vec<&Step> = completed(run)
            .filter(|(step, t, repeats)| {
                t.name == target.name
                    && step.workload.direct
                    && !step.workload.is_metadata()
                    && repeats.iter().any(|(r, _)| !r.started.direct)
            })
            .map(|(step, ..)| step)
            .collect();
        if !steps.is_empty() {
            found.push(rule.finding(
                Severity::Warning,
                subject(target, None),
                format!(
                    "direct I/O cannot be had here, so {} step(s) went through the page cache: evicted before each repeat for reads, synced inside the time for writes",
                    steps.len()
                ),
                vec![evidence("steps without direct I/O", steps.len() as f64, "1")],
            ));
        }
    }
    found
}

fn not_evicted(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run).filter(|(step, ..)| step.workload.reads_data()) {
        let shares: Vec<f64> = repeats
            .iter()
            .filter_map(|(r, f)| {
                let cache = f.cache.filter(|c| c.evicted)?;
                Some(cache.cached_before_bytes? as f64 / r.started.size_bytes.max(1) as f64)
            })
            .collect();
        let Some(share) = median(shares).filter(|share| *share > 0.01) else { continue };
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!("{:.0} % of the test data could not be evicted from the page cache before reading; those reads measured memory", share * 100.0),
            vec![evidence("share still cached", share, "1")],
        ));
    }
    found
}

/// Median ratio of bytes written at the uppermost device to bytes written by the workload.
fn write_ratio(repeats: &[(&Repeat, &RepeatFinished)]) -> Option<f64> {
    median(repeats.iter().filter_map(|(r, f)| device_ratio(&r.whole(), f, Operation::Write, 0)).collect())
}

fn write_amplification(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run).filter(|(step, ..)| step.workload.writes_data()) {
        let Some(ratio) = write_ratio(&repeats).filter(|ratio| *ratio >= 1.3) else { continue };
        let filesystem =
            target.stack.iter().find(|l| l.kind == LayerKind::Filesystem).map(|l| l.name.as_str());
        found.push(rule.finding(
            Severity::Info,
            subject(target, Some(step)),
            format!(
                "{:.2} bytes were written to the device for every byte of data: metadata, copies or checksums of {}, or somebody else writing to the same device",
                ratio,
                filesystem.unwrap_or("a layer in between")
            ),
            vec![evidence("bytes written to the device ÷ bytes written", ratio, "1")],
        ));
    }
    found
}

fn writes_not_on_device(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run).filter(|(step, ..)| step.workload.writes_data()) {
        let Some(ratio) = write_ratio(&repeats).filter(|ratio| *ratio < 0.9) else { continue };
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!(
                "only {:.0} % of the bytes written reached the device, even after everything was settled: blocks were written again before they left a cache, or a layer compresses or deduplicates",
                ratio * 100.0
            ),
            vec![evidence("bytes written to the device ÷ bytes written", ratio, "1")],
        ));
    }
    found
}

fn generator_saturated(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run) {
        let Some(busy) = median(repeats.iter().map(|(_, f)| f.busiest_worker).collect()) else { continue };
        // A worker that polls for the next arrival is busy without being the limit.
        let keeps_up =
            step.workload.pace != model::Pace::Closed && repeats.iter().all(|(_, f)| f.unserved == 0);
        if busy < 0.9 || keeps_up {
            continue;
        }
        let user: u64 = repeats.iter().map(|(_, f)| f.workers.user_ns).sum();
        let system: u64 = repeats.iter().map(|(_, f)| f.workers.system_ns).sum();
        let own = user as f64 / (user + system).max(1) as f64;
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!(
                "the processor, not the storage, may be the limit: a worker was busy {:.0} % of the time, {:.0} % of that in the kernel",
                busy * 100.0,
                (1.0 - own) * 100.0
            ),
            vec![evidence("busiest worker", busy, "1"), evidence("share of its time in the kernel", 1.0 - own, "1")],
        ));
    }
    found
}

fn queue_not_filled(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run) {
        let w = &step.workload;
        let wanted = f64::from(w.iodepth) * f64::from(w.jobs);
        // An open loop fills the queue only as far as its load asks for; periodic syncs empty it.
        if w.is_metadata() || w.iodepth == 1 || w.pace != model::Pace::Closed || w.sync.every > 0 {
            continue;
        }
        let Some(reached) = median(repeats.iter().filter_map(|(r, _)| r.queue_depth()).collect()) else {
            continue;
        };
        if reached >= wanted / 2.0 {
            continue;
        }
        let engine = repeats[0].0.started.engine;
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!(
                "the kernel had {reached:.1} operations in hand at a time, not the {wanted:.0} that were configured: {engine} completes {} inside the submitting call here",
                if matches!(w.pattern, Pattern::Sequential) { "sequential I/O" } else { "I/O" }
            ),
            vec![evidence("achieved queue depth", reached, "1"), evidence("configured queue depth", wanted, "1")],
        ));
    }
    found
}

fn load_not_met(rule: &Rule, run: &Run) -> Vec<Finding> {
    let mut found = Vec::new();
    for (step, target, repeats) in completed(run) {
        let unserved: u64 = repeats.iter().map(|(_, f)| f.unserved).sum();
        if unserved == 0 {
            continue;
        }
        let counts = repeats.iter().map(|(r, _)| r.whole());
        let done: u64 = counts
            .map(|whole: BTreeMap<Operation, OperationStats>| {
                whole
                    .iter()
                    .filter(|(o, _)| matches!(o, Operation::Read | Operation::Write | Operation::Trim))
                    .map(|(_, s)| s.count)
                    .sum::<u64>()
            })
            .sum();
        let share = unserved as f64 / (unserved + done) as f64;
        // The last arrivals before the end are always too late.
        if share < 0.01 {
            continue;
        }
        found.push(rule.finding(
            Severity::Warning,
            subject(target, Some(step)),
            format!(
                "the offered load was not met: {unserved} operations ({:.1} %) were due and never started, and the latencies of the others grew with the backlog",
                share * 100.0
            ),
            vec![evidence("operations never started", unserved as f64, "1"), evidence("share of the load", share, "1")],
        ));
    }
    found
}

fn fits_into_memory(rule: &Rule, run: &Run) -> Vec<Finding> {
    let memory = run.started.host.memory_bytes;
    let mut found = Vec::new();
    for target in &run.started.targets {
        let sizes = completed(run)
            .filter(|(step, t, _)| t.name == target.name && !step.workload.is_metadata())
            .flat_map(|(.., repeats)| repeats)
            .filter(|(r, _)| !r.started.direct && r.started.size_bytes < memory)
            .map(|(r, _)| r.started.size_bytes);
        let Some(size) = sizes.max() else { continue };
        found.push(rule.finding(
            Severity::Warning,
            subject(target, None),
            format!(
                "the test data ({}) went through the page cache and fit into this machine's memory ({}): what was measured is partly memory",
                amount(size),
                amount(memory)
            ),
            vec![evidence("test data", size as f64, "B"), evidence("memory", memory as f64, "B")],
        ));
    }
    found
}

fn fits_into_device_cache(rule: &Rule, run: &Run) -> Vec<Finding> {
    const LIMIT: u64 = 1 << 30;
    let mut found = Vec::new();
    for target in &run.started.targets {
        let repeats =
            completed(run).filter(|(step, t, _)| t.name == target.name && !step.workload.is_metadata());
        let sizes = repeats.flat_map(|(.., repeats)| repeats).map(|(r, _)| r.started.size_bytes);
        let Some(size) = sizes.min().filter(|size| *size < LIMIT) else { continue };
        found.push(rule.finding(
            Severity::Info,
            subject(target, None),
            format!(
                "the test data are only {}: a cache inside the device may hold them; a larger --size tells",
                amount(size)
            ),
            vec![evidence("test data", size as f64, "B")],
        ));
    }
    found
}

fn few_rounds(rule: &Rule, run: &Run) -> Vec<Finding> {
    let good = |target: &Target, step: &Step| run.completed(&step.id, &target.name).count();
    let mut found = Vec::new();
    for target in &run.started.targets {
        let begun = |step: &&Step| {
            run.repeats.iter().any(|r| r.started.step == step.id && r.started.target == target.name)
        };
        let counts = run.started.plan.steps.iter().filter(begun).map(|step| good(target, step));
        let counts: Vec<usize> = counts.filter(|n| *n < 3).collect();
        let Some(fewest) = counts.iter().min() else { continue };
        found.push(rule.finding(
            Severity::Info,
            subject(target, None),
            format!(
                "{} step(s) have fewer than three good repeats: their intervals are wide or missing; more rounds or a larger --budget help",
                counts.len()
            ),
            vec![evidence("fewest good repeats of a step", *fewest as f64, "1")],
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{run, workload};
    use model::*;

    fn writes() -> Workload {
        Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() }
    }

    fn each_finished(run: &mut Run, change: impl Fn(&mut RepeatFinished)) {
        run.repeats.iter_mut().for_each(|r| change(r.finished.as_mut().unwrap()));
    }

    fn each_started(run: &mut Run, change: impl Fn(&mut RepeatStarted)) {
        run.repeats.iter_mut().for_each(|r| change(&mut r.started));
    }

    /// One repeat for each of these bandwidths, in round after round.
    fn each_round(run: &mut Run, bandwidths: &[f64]) {
        let first = run.repeats[0].clone();
        let repeat = |(round, bandwidth): (usize, &f64)| {
            let mut repeat = first.clone();
            repeat.started.round = round as u32;
            repeat.finished.as_mut().unwrap().window_ns = (1e12 / bandwidth) as u64;
            repeat
        };
        run.repeats = bandwidths.iter().enumerate().map(repeat).collect();
    }

    /// In every repeat intervals in which so many bytes were moved, a hundredth more in each later round.
    fn each_interval(run: &mut Run, bytes: &[u64]) {
        for repeat in &mut run.repeats {
            let (first, round) = (repeat.intervals[0].clone(), u64::from(repeat.started.round));
            let interval = |(i, bytes): (usize, &u64)| {
                let mut interval = first.clone();
                interval.start_ns = i as u64 * interval.len_ns;
                let stats = interval.operations.values_mut().next().unwrap();
                stats.bytes = bytes * 10_000 + i as u64 % 2 * round * 100;
                interval
            };
            repeat.intervals = bytes.iter().enumerate().map(interval).collect();
        }
    }

    /// A case: which rule, whether it must speak, on which workload, and what is different from an
    /// ordinary run.
    type Case = (&'static str, bool, Workload, fn(&mut Run));

    const NOTHING: fn(&mut Run) = |_| {};

    fn cases() -> Vec<Case> {
        let deep = Workload { iodepth: 32, ..workload() };
        let paced = Workload { pace: Pace::Fixed { per_second: 10.0 }, ..deep.clone() };
        vec![
            ("data-corrupted", true, workload(), |r| {
                each_finished(r, |f| {
                    let first = vec![Mismatch { offset: 4096, what: "wrong checksum".into() }];
                    f.integrity = Some(IntegrityCheck { checked: 10, mismatched: 1, first });
                });
            }),
            ("data-corrupted", false, workload(), |r| {
                each_finished(r, |f| {
                    f.integrity = Some(IntegrityCheck { checked: 10, ..IntegrityCheck::default() })
                });
            }),
            ("storage-failed", true, workload(), |r| {
                each_finished(r, |f| {
                    f.outcome = RepeatOutcome::Failed(RepeatFailure {
                        kind: FailureKind::Errno(5),
                        operation: Operation::Read,
                        offset: Some(0),
                        after_ns: 1,
                        good_operations: 1,
                        good_bytes: 1,
                    });
                });
            }),
            ("storage-failed", false, workload(), |r| {
                each_finished(r, |f| f.outcome = RepeatOutcome::Interrupted)
            }),
            ("cache-served-reads", true, workload(), |r| each_finished(r, |f| f.devices[0].read_bytes /= 2)),
            ("cache-served-reads", false, workload(), |r| {
                r.repeats[0].finished.as_mut().unwrap().devices[0].read_bytes = 0
            }),
            ("cache-served-reads", false, workload(), |r| each_finished(r, |f| f.devices.clear())),
            ("cache-served-reads", false, writes(), |r| each_finished(r, |f| f.devices[0].read_bytes = 0)),
            ("buffered-fallback", true, workload(), |r| each_started(r, |s| s.direct = false)),
            ("buffered-fallback", false, Workload { direct: false, ..workload() }, |r| {
                each_started(r, |s| s.direct = false)
            }),
            ("not-evicted", true, workload(), |r| {
                each_finished(r, |f| {
                    f.cache = Some(CacheUse { cached_before_bytes: Some(1 << 30), evicted: true })
                });
            }),
            ("not-evicted", false, workload(), |r| {
                each_finished(r, |f| {
                    f.cache = Some(CacheUse { cached_before_bytes: Some(1 << 30), evicted: false })
                });
            }),
            ("not-evicted", false, workload(), |r| {
                each_finished(r, |f| {
                    f.cache = Some(CacheUse { cached_before_bytes: Some(4096), evicted: true })
                });
            }),
            ("write-amplification", true, writes(), |r| {
                each_finished(r, |f| f.devices[0].written_bytes *= 2)
            }),
            ("write-amplification", false, workload(), |r| {
                each_finished(r, |f| f.devices[0].written_bytes = 1 << 40)
            }),
            ("writes-not-on-device", true, writes(), |r| {
                each_finished(r, |f| f.devices[0].written_bytes /= 2)
            }),
            ("writes-not-on-device", false, writes(), NOTHING),
            ("generator-saturated", true, workload(), |r| each_finished(r, |f| f.busiest_worker = 0.95)),
            ("generator-saturated", false, workload(), |r| {
                r.repeats[0].finished.as_mut().unwrap().busiest_worker = 1.0
            }),
            ("generator-saturated", false, paced.clone(), |r| each_finished(r, |f| f.busiest_worker = 1.0)),
            ("generator-saturated", true, paced.clone(), |r| {
                each_finished(r, |f| (f.busiest_worker, f.unserved) = (1.0, 500))
            }),
            ("queue-not-filled", true, deep, NOTHING),
            ("queue-not-filled", false, paced.clone(), NOTHING),
            ("queue-not-filled", false, workload(), NOTHING),
            ("load-not-met", true, paced.clone(), |r| each_finished(r, |f| f.unserved = 11)),
            ("load-not-met", false, paced, |r| each_finished(r, |f| f.unserved = 9)),
            ("fits-into-memory", true, workload(), |r| each_started(r, |s| s.direct = false)),
            ("fits-into-memory", false, workload(), |r| {
                r.started.host.memory_bytes = 1 << 30;
                each_started(r, |s| s.direct = false);
            }),
            ("fits-into-memory", false, workload(), NOTHING),
            ("fits-into-device-cache", true, workload(), |r| each_started(r, |s| s.size_bytes = 1 << 28)),
            ("fits-into-device-cache", false, workload(), NOTHING),
            ("two-modes", true, workload(), |r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9])),
            ("two-modes", true, writes(), |r| each_round(r, &[25.0, 24.9, 16.0, 16.1])),
            ("two-modes", false, workload(), |r| each_round(r, &[16.0, 25.0, 25.0])),
            ("two-modes", false, workload(), |r| each_round(r, &[100.0, 100.0, 102.0, 102.0, 102.0])),
            ("two-modes", false, workload(), |r| each_round(r, &[16.0, 22.0, 19.0, 25.0, 17.0])),
            ("two-modes", false, workload(), |r| each_round(r, &[25.0, 25.1, 24.9, 16.0, 25.0, 25.1])),
            ("outliers", true, workload(), |r| each_round(r, &[25.0, 25.1, 24.9, 16.0, 25.2, 25.1, 24.8])),
            ("outliers", false, workload(), |r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9])),
            ("outliers", false, workload(), |r| each_round(r, &[25.0, 25.0, 25.0, 25.0, 25.0, 25.5])),
            ("outliers", false, workload(), |r| each_round(r, &[25.0, 25.1, 16.0])),
            ("trend", true, workload(), |r| each_round(r, &[30.0, 29.0, 28.2, 27.0, 26.5, 25.0, 24.3])),
            ("trend", false, workload(), |r| each_round(r, &[30.0, 29.0, 28.2, 27.0])),
            ("trend", false, workload(), |r| each_round(r, &[30.0, 29.9, 29.8, 29.7, 29.6, 29.5])),
            ("trend", false, workload(), |r| each_round(r, &[28.0, 30.0, 27.0, 26.0, 29.0, 25.0, 31.0])),
            ("not-steady", true, workload(), |r| each_round(r, &[20.0, 20.0, 25.0, 20.0, 20.0])),
            ("not-steady", true, workload(), |r| each_round(r, &[20.0, 19.4, 18.8, 18.2, 17.6])),
            ("not-steady", false, workload(), |r| each_round(r, &[99.0, 20.0, 21.0, 20.0, 21.0, 20.0])),
            ("not-steady", false, workload(), |r| each_round(r, &[20.0, 30.0, 40.0, 50.0])),
            ("start-up-transient", true, workload(), |r| each_interval(r, &[70, 71, 100, 101, 99, 100])),
            ("start-up-transient", true, writes(), |r| each_interval(r, &[200, 100, 101, 99, 100])),
            ("start-up-transient", false, workload(), |r| each_interval(r, &[101, 100, 99, 100, 100])),
            ("start-up-transient", false, workload(), |r| each_interval(r, &[70, 100, 100])),
            ("start-up-transient", false, workload(), |r| {
                each_interval(r, &[70, 71, 100, 101, 99, 100]);
                r.repeats.truncate(2);
            }),
            ("start-up-transient", false, workload(), |r| {
                each_interval(r, &[70, 71, 100, 101, 99, 100]);
                r.repeats.iter_mut().flat_map(|r| &mut r.intervals).for_each(|i| i.phase = Phase::Ramp);
            }),
            (
                "start-up-transient",
                false,
                Workload { pace: Pace::Fixed { per_second: 10.0 }, ..workload() },
                |r| {
                    each_interval(r, &[70, 71, 100, 101, 99, 100]);
                },
            ),
            ("few-rounds", true, workload(), |r| r.repeats.truncate(2)),
            ("few-rounds", false, workload(), NOTHING),
        ]
    }

    #[test]
    fn every_rule_speaks_when_it_must_and_only_then() {
        for (rule, must_speak, workload, change) in cases() {
            let mut run = run(workload);
            change(&mut run);
            let found: Vec<Finding> = findings(&run).into_iter().filter(|f| f.rule == rule).collect();
            assert_eq!(!found.is_empty(), must_speak, "{rule}: {found:#?}");
            assert!(found.iter().all(|f| !f.message.is_empty() && !f.evidence.is_empty()), "{rule}");
        }
    }

    #[test]
    fn every_rule_has_a_case_in_which_it_speaks_and_one_in_which_it_does_not() {
        for rule in RULES {
            for must_speak in [true, false] {
                let covered =
                    cases().iter().any(|(name, speaks, ..)| *name == rule.name && *speaks == must_speak);
                assert!(covered, "{} must be tested with {must_speak}", rule.name);
            }
        }
    }

    #[test]
    fn an_ordinary_run_has_no_findings() {
        assert_eq!(findings(&run(workload())), []);
        assert_eq!(findings(&run(writes())), []);
    }

    #[test]
    fn repeats_that_differ_are_listed_by_round_with_what_it_means() {
        let of = |rule: &str, workload: Workload, change: &dyn Fn(&mut Run)| {
            let mut run = run(workload);
            change(&mut run);
            findings(&run).into_iter().find(|f| f.rule == rule).unwrap()
        };
        let found = of("two-modes", workload(), &|r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9]));
        assert_eq!(
            found.message,
            "bandwidth of reads has two modes: rounds 1 and 3 at about 65.7 kB/s, rounds 2, 4 and 5 at about \
             102 kB/s; a mean of all describes neither"
        );
        let rounds = found.evidence.iter().filter(|e| e.what.starts_with("round ")).count();
        assert_eq!((rounds, found.severity), (5, Severity::Warning));
        let found = of("two-modes", workload(), &|r| each_round(r, &[25.1, 25.0, 16.0, 16.1]));
        assert!(
            found.message.ends_with("; it changed once, before round 3, and stayed"),
            "{}",
            found.message
        );
        let found = of("trend", workload(), &|r| each_round(r, &[30.0, 29.0, 28.0, 27.0, 26.0, 25.0, 24.0]));
        assert!(found.message.contains("fell by 20 % over the run"), "{}", found.message);
        let found =
            of("start-up-transient", workload(), &|r| each_interval(r, &[70, 70, 100, 100, 100, 100]));
        assert_eq!(
            found.message,
            "the first 2.0 s of a repeat ran 30 % slower than the rest, in 3 of 3 repeats, which makes its figure \
             10 % lower; --ramp 2.0s or more leaves it out"
        );
    }

    #[test]
    fn a_cache_is_placed_between_the_layers_where_the_bytes_went_missing() {
        let mut run = run(workload());
        each_finished(&mut run, |f| {
            let below =
                DeviceActivity { name: "vda".into(), level: 3, read_bytes: 0, ..f.devices[0].clone() };
            f.devices.push(below);
        });
        let found = findings(&run);
        assert!(
            found[0].message.contains("only 0 % of the bytes read came from vda"),
            "{}",
            found[0].message
        );
        assert!(found[0].message.contains("between sda and vda"), "{}", found[0].message);
    }
}
