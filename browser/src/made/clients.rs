//! A run of clients that work together on one server: what each figure gains follows a law.

use model::{ClientPart, PortableMath, RemoteHost, Run, Target};

use super::quick;

/// The numbers of clients.
const COUNTS: [u32; 4] = [1, 2, 4, 8];
/// What one client takes to begin later than the one before it, in nanoseconds, and how well that is known.
const LATER_NS: u64 = 30_000;
const WITHIN_NS: u64 = 180_000;

/// How many times the throughput of one client so many have, in a step: the link is full, or the server is, or it is beyond its best.
fn gain(step: &str, clients: f64) -> f64 {
    match step {
        "seq-read" => clients.min(1.6),
        "seq-write" => clients.min(1.25),
        "mixed" => clients * 1.7 / (0.7 + clients),
        "rand-read-d1" => clients * 10.0 / (9.0 + clients),
        "rand-write-d32" => [1.0, 1.5, 1.4, 0.9][clients.portable_log2() as usize],
        _ => clients * 3.0 / (2.0 + clients),
    }
}

/// Numbers of clients of one server, the last of which gets less than the others.
pub fn clients() -> Run {
    let mut run = quick();
    let whole = run.clone();
    let alone = whole.started.targets[2].clone();
    (run.repeats, run.layouts, run.readings) = (Vec::new(), Vec::new(), Vec::new());
    let host = |number: u32| RemoteHost { name: format!("node{number}"), ..RemoteHost::default() };
    run.started.hosts = (1..=COUNTS[COUNTS.len() - 1]).map(host).collect();
    run.started.targets.clear();
    for count in COUNTS {
        let name = format!("{count} client{}", if count == 1 { "" } else { "s" });
        let clients: Vec<u32> = (1..=count).collect();
        run.started.targets.push(Target { name, host: 1, stack: Vec::new(), clients, ..alone.clone() });
    }
    run.started.baseline.clone_from(&run.started.targets[0].name);
    for repeat in whole.repeats.iter().filter(|repeat| repeat.started.target == alone.name) {
        for (count, target) in COUNTS.into_iter().zip(&run.started.targets) {
            let mut repeat = repeat.clone();
            let gain = gain(&repeat.started.step, f64::from(count));
            for interval in &mut repeat.intervals {
                for stats in interval.operations.values_mut() {
                    *stats = stats.share(gain / 8.0);
                }
            }
            repeat.started.repeat = run.repeats.len() as u32;
            repeat.started.target.clone_from(&target.name);
            let all = repeat.measured();
            if let Some(finished) = &mut repeat.finished {
                finished.repeat = repeat.started.repeat;
                let even = 1.0 / (f64::from(count) - 0.2);
                let part = |host: u32| {
                    let share = if host == count && count > 1 { 0.8 * even } else { even };
                    let share = if count == 1 { 1.0 } else { share };
                    ClientPart {
                        host,
                        began_ns: repeat.started.at_ns + LATER_NS * u64::from(host),
                        ended_ns: finished.at_ns + LATER_NS * u64::from(host),
                        within_ns: WITHIN_NS,
                        operations: all.iter().map(|(o, stats)| (*o, stats.share(share))).collect(),
                    }
                };
                finished.clients = (1..=count).map(part).collect();
            }
            for interval in &mut repeat.intervals {
                interval.repeat = repeat.started.repeat;
            }
            run.repeats.push(repeat);
        }
    }
    run
}
