//! The processor as the limit: the generator, a core, or kernel threads; and a queue depth or a load that was not
//! reached.

use model::{Evidence, Finding, Operation, Pattern, Severity};

use super::context::Pair;
use super::words::percent;
use super::{Rule, RuleContext, evidence, total};
use crate::telemetry::{TelemetryFigure, spans};

/// A worker that was busy for this share of the time had no time left to keep the storage busy.
const SATURATED_WORKER: f64 = 0.9;
/// A core never appears busy all of the time, because its time is counted in ticks.
const SATURATED_CORE: f64 = 0.95;
/// Threads that share a core with others do not get all of it.
const SATURATED_THREAD: f64 = 0.85;

/// The busy share of the busiest worker, where that worker may have been the limit.
fn saturated_worker(pair: &Pair<'_>) -> Option<f64> {
    let busy = pair.median(|r| Some(r.finished.busiest_worker))?;
    // A worker that polls for the next arrival is busy without being the limit.
    let keeps_up = pair.step.workload.pace != model::Pace::Closed
        && pair.repeats.iter().all(|r| r.finished.unserved == 0);
    (busy >= SATURATED_WORKER && !keeps_up).then_some(busy)
}

pub(super) fn generator_saturated(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let busy = saturated_worker(pair)?;
        let user = total(pair.repeats.iter().map(|r| r.finished.workers.user_ns));
        let system = total(pair.repeats.iter().map(|r| r.finished.workers.system_ns));
        let kernel = 1.0 - user as f64 / user.saturating_add(system).max(1) as f64;
        let message = format!(
            "the processor, not the storage, may be the limit: a worker was busy {:.0} % of the time, {:.0} % of that in the kernel",
            busy * 100.0,
            kernel * 100.0
        );
        let figures = vec![
            evidence("busiest worker", busy, "1"),
            evidence("share of its time in the kernel", kernel, "1"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(0.3))
    };
    context.completed().filter_map(finding).collect()
}

pub(super) fn core_saturated(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let telemetry = pair.telemetry(context)?;
        let busiest = telemetry.get("cpu", "busiest").filter(|f| f.mean >= SATURATED_CORE)?;
        // The other two rules name the cause more precisely.
        let threads = kernel_threads(pair, context, pair.target.host);
        if saturated_worker(pair).is_some() || saturated_threads(&threads).is_some() {
            return None;
        }
        let (worked, parts) = work(busiest, telemetry.of("cpu"));
        let others = others_share(pair, threads.iter().map(|(_, cores)| cores).sum());
        let whose = match others {
            Some(others) if others > 0.5 => {
                format!("; other programs did {} of all work on the processors", percent(others))
            }
            _ => String::new(),
        };
        let message =
            format!("a core was busy {worked}: the processor, not the storage, may be the limit{whose}");
        let mut figures = parts;
        figures.extend(
            others.map(|others| evidence("other programs' share of the work of all processors", others, "1")),
        );
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures).changing(0.3);
        let advice = "stop other programs on this machine and run again";
        Some(if whose.is_empty() { found } else { found.advising(advice) })
    };
    context.completed().filter(|p| p.is_closed_transfer()).filter_map(finding).collect()
}

/// How busy the busiest core was, in words, and as evidence.
fn work<'a>(
    busiest: &TelemetryFigure,
    all: impl Iterator<Item = &'a TelemetryFigure>,
) -> (String, Vec<Evidence>) {
    let all: Vec<&TelemetryFigure> = all.collect();
    let part = |key: &str| all.iter().find(|figure| figure.key == key).map_or(0.0, |figure| figure.mean);
    let [user, kernel, interrupts] = ["busiest.user", "busiest.system", "busiest.irq"].map(part);
    // The kernel counts some ticks late, which can make the sum exceed 1.
    let worked = busiest.mean.min(1.0);
    let words = format!(
        "{} of the time ({} in programs, {} in the kernel, {} in interrupts)",
        percent(worked),
        percent(user),
        percent(kernel),
        percent(interrupts)
    );
    let figures = vec![
        evidence("share of the time that the busiest core was busy", worked, "1"),
        evidence("of it in programs", user, "1"),
        evidence("of it in the kernel", kernel, "1"),
        evidence("of it in interrupts", interrupts, "1"),
    ];
    (words, figures)
}

pub(super) fn server_saturated(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let server = pair.target.server?;
        let (name, served) = (context.run.started.machine_name(server), &pair.target.name);
        let telemetry = pair.telemetry_on(context, server)?;
        let kinds = kernel_threads(pair, context, server);
        let (message, figures) = match (saturated_threads(&kinds), telemetry.get("cpu", "busiest")) {
            (Some((kind, cores)), _) => {
                let (threads, work) = work_of(kind);
                (
                    format!(
                        "{threads} on {name}, which serves {served}, used {cores:.2} of {}: {work} there, not its disk \
                         or the network, may be the limit",
                        cores_of(context, server)
                    ),
                    vec![evidence(format!("time of {threads} on {name} ÷ time"), cores, "1")],
                )
            }
            (None, Some(busiest)) if busiest.mean >= SATURATED_CORE => {
                let (worked, parts) = work(busiest, telemetry.of("cpu"));
                (
                    format!(
                        "a core of {name}, which serves {served}, was busy {worked}: its processor, not its disk or \
                         the network, may be the limit"
                    ),
                    parts,
                )
            }
            _ => return None,
        };
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(0.4))
    };
    context.completed().filter(|p| p.is_closed_transfer()).filter_map(finding).collect()
}

/// How many cores a machine has, in words.
fn cores_of(context: &RuleContext<'_>, machine: u32) -> String {
    match context.run.started.machine(machine).cpus.max(1) {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    }
}

/// The share of the work of all processors that neither Lodestone did nor the kernel's threads for storage, which use so many
/// cores.
fn others_share(pair: &Pair<'_>, kernel_cores: f64) -> Option<f64> {
    pair.median(|r| {
        let (m, p) = (r.finished.machine?, r.finished.process);
        let busy_ns = total([m.user_ns, m.system_ns, m.irq_ns].into_iter()) as f64;
        let own_ns =
            p.user_ns.saturating_add(p.system_ns) as f64 + kernel_cores * r.finished.counted_ns as f64;
        (busy_ns > 0.0).then(|| (1.0 - own_ns / busy_ns).max(0.0))
    })
}

/// The kinds of kernel threads on a machine, each with its processor time in cores.
fn kernel_threads<'a>(pair: &Pair<'_>, context: &'a RuleContext<'_>, machine: u32) -> Vec<(&'a str, f64)> {
    let spans = spans(context.run, pair.step, &pair.target.name);
    let kinds = context.readings.of(machine, "kernel_threads");
    kinds.filter_map(|series| Some((series.key, series.mean_during(&spans)?))).collect()
}

/// The kind of kernel threads with the most processor time, and that time in cores, if it nearly fills a core.
fn saturated_threads<'a>(kinds: &[(&'a str, f64)]) -> Option<(&'a str, f64)> {
    // Memory reclaim is not storage work.
    let most = kinds.iter().filter(|(kind, _)| *kind != "reclaim").max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most.1 >= SATURATED_THREAD).then_some(*most)
}

/// The name of a kind of kernel threads, and the work they do.
fn work_of(kind: &str) -> (&str, String) {
    match kind {
        "dm-crypt" => ("kcryptd (dm-crypt)", "encryption".to_owned()),
        "md" => ("the md threads", "the array's own work (parity, copies)".to_owned()),
        "iscsi" => ("the iSCSI threads", "the network protocol".to_owned()),
        "writeback" => ("the writeback threads", "writing the page cache back".to_owned()),
        "btrfs" => ("the btrfs threads", "the filesystem (checksums, copies, compression)".to_owned()),
        "loop" => ("the loop devices' threads", "the loop device".to_owned()),
        other => (other, format!("the kernel's work for {other}")),
    }
}

pub(super) fn kernel_threads_saturated(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let kinds = kernel_threads(pair, context, pair.target.host);
        let (kind, cores) = saturated_threads(&kinds)?;
        let (threads, work) = work_of(kind);
        let all = f64::from(context.run.started.machine(pair.target.host).cpus.max(1));
        let busiest = pair.telemetry(context)?.get("cpu", "busiest").map_or(0.0, |f| f.mean);
        // Threads on many cores are certainly a limit only if one core, or all of them, had no time left.
        let is_sure = busiest >= SATURATED_WORKER || cores >= SATURATED_THREAD * all;
        let message = format!(
            "{threads} used {cores:.2} of {}: {work}, not the disk, {} the limit",
            cores_of(context, pair.target.host),
            if is_sure { "is" } else { "may be" }
        );
        let mut figures = vec![evidence(format!("time of {threads} ÷ time"), cores, "1")];
        let others = kinds.iter().filter(|(other, mean)| *other != kind && *mean >= 0.01);
        figures.extend(
            others.map(|(other, mean)| evidence(format!("time of {} ÷ time", work_of(other).0), *mean, "1")),
        );
        figures.push(evidence("share of the time that the busiest core was busy", busiest, "1"));
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(0.4))
    };
    context.completed().filter(|p| p.is_closed_transfer()).filter_map(finding).collect()
}

pub(super) fn queue_not_filled(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let w = &pair.step.workload;
        let wanted = f64::from(w.iodepth) * f64::from(w.jobs);
        // An open loop fills the queue only as far as its load requires; periodic syncs empty it.
        let is_held =
            w.modifiers.think.is_some() || w.modifiers.flow > 0 || w.modifiers.latency_target.is_some();
        if !pair.is_closed_transfer() || w.iodepth == 1 || w.sync.every > 0 || is_held {
            return None;
        }
        let reached = pair.median(|r| r.repeat.queue_depth()).filter(|depth| *depth < wanted / 2.0)?;
        let message = format!(
            "{reached:.1} operations were in flight on average, not the {wanted:.0} that were configured: {} completes {} inside the submitting call here",
            pair.repeats[0].repeat.started.engine,
            if matches!(w.pattern, Pattern::Sequential) { "sequential I/O" } else { "I/O" }
        );
        let figures = vec![
            evidence("observed queue depth", reached, "1"),
            evidence("configured queue depth", wanted, "1"),
        ];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing((1.0 - reached / wanted) / 2.0))
    };
    context.completed().filter_map(finding).collect()
}

pub(super) fn load_not_met(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let unserved = total(pair.repeats.iter().map(|r| r.finished.unserved));
        if unserved == 0 {
            return None;
        }
        let counts = pair
            .repeats
            .iter()
            .flat_map(|r| r.counts.whole())
            .filter(|(o, _)| matches!(o, Operation::Read | Operation::Write | Operation::Trim))
            .map(|(_, s)| s.count);
        let done = total(counts);
        let share = unserved as f64 / unserved.saturating_add(done) as f64;
        // The last arrivals before the end are always too late to start.
        if share < 0.01 {
            return None;
        }
        let message = format!(
            "the offered load was not met: {unserved} operations ({:.1} %) were due and never started, and the latencies of the others grew with the backlog",
            share * 100.0
        );
        let figures = vec![
            evidence("operations never started", unserved as f64, "1"),
            evidence("share of the load", share, "1"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(share))
    };
    context.completed().filter_map(finding).collect()
}
