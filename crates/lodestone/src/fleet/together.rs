//! Repeats of several machines together: what counts is what all did while all measured.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use model::{
    CacheUse, ClientPart, CpuTime, Event, FailureKind, Interval, MachineCpu, Operation, OperationStats,
    Phase, ProcessIo, RepeatFailure, RepeatFinished, RepeatOutcome, RepeatStarted, Severity,
};
use schedule::{Executor, Lost, Order, Outcome};

use super::Fleet;
use super::protocol::{Reply, Request};
use super::remote::Remote;

/// How far ahead the moment lies at which all begin, besides what the way to them takes, and more for each of them.
const LEAD: Duration = Duration::from_millis(5);
const LEAD_EACH: Duration = Duration::from_micros(50);

/// What one client has said of a repeat; its times are those of the run's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Number of the machine.
    pub host: u32,
    /// Its name.
    pub name: String,
    /// It is on the machine of another client before it.
    pub is_known: bool,
    /// Nanoseconds by which its times may be wrong at most.
    pub within_ns: u64,
    pub started: Option<RepeatStarted>,
    pub intervals: Vec<Interval>,
    pub finished: Option<Box<RepeatFinished>>,
    /// Why nothing more can be had from it.
    pub gone: Option<String>,
    /// Why nothing more can be measured there.
    pub lost: Option<Lost>,
}

/// The time in which all measured, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

/// Where the measured time of a client lies on the run's clock.
struct Span<'a> {
    part: &'a Part,
    finished: &'a RepeatFinished,
    own: &'a ClientPart,
    ramp_ns: u64,
    /// Its intervals count from here.
    origin_ns: u64,
}

impl Part {
    fn span(&self) -> Option<Span<'_>> {
        let finished = self.finished.as_deref()?;
        let own = finished.clients.first()?;
        let measured = self.intervals.iter().filter(|i| i.phase == Phase::Measure);
        let ramp_ns = measured.map(|i| i.start_ns).min()?;
        let origin_ns = own.ended_ns.saturating_sub(finished.window_ns).saturating_sub(ramp_ns);
        Some(Span { part: self, finished, own, ramp_ns, origin_ns })
    }
}

impl Span<'_> {
    /// The share of an interval that lies in the window, and the middle of that part.
    fn overlap(&self, interval: &Interval, window: Window) -> Option<(f64, u64)> {
        let begins = self.origin_ns.saturating_add(interval.start_ns);
        let from = begins.max(window.from_ns);
        let to = begins.saturating_add(interval.len_ns).min(window.to_ns);
        (from < to).then(|| ((to - from) as f64 / interval.len_ns as f64, from.midpoint(to)))
    }

    fn measured(&self) -> impl Iterator<Item = &Interval> {
        self.part.intervals.iter().filter(|i| i.phase == Phase::Measure)
    }

    /// What it completed in the window.
    fn within(&self, window: Window) -> ClientPart {
        let mut operations: BTreeMap<Operation, OperationStats> = BTreeMap::new();
        for interval in self.measured() {
            let Some((share, _)) = self.overlap(interval, window) else { continue };
            for (operation, stats) in &interval.operations {
                operations.entry(*operation).or_default().merge(&stats.share(share));
            }
        }
        let (host, within_ns) = (self.part.host, self.part.within_ns);
        ClientPart { host, within_ns, operations, ..self.own.clone() }
    }
}

/// The repeat of all: its intervals and its end. A part without an end, one that failed, or no time in which all measured makes
/// it one that failed.
pub(super) fn together(
    repeat: u32,
    at_ns: u64,
    operation: Operation,
    parts: &[Part],
) -> (Vec<Interval>, RepeatFinished) {
    let outcome = outcome(operation, parts);
    let spans: Vec<Span<'_>> = parts.iter().filter_map(Part::span).collect();
    let window = Window {
        from_ns: spans.iter().map(|s| s.own.began_ns.saturating_add(s.ramp_ns)).max().unwrap_or(0),
        to_ns: spans.iter().map(|s| s.own.ended_ns).min().unwrap_or(0),
    };
    let all_measured = spans.len() == parts.len() && window.from_ns < window.to_ns;
    let is_complete = outcome == RepeatOutcome::Completed;
    if !is_complete || !all_measured {
        let apart = || {
            let why = "its clients did not work at the same time".to_owned();
            RepeatOutcome::Failed(RepeatFailure::at_start(FailureKind::Program(why), operation))
        };
        let outcome = if is_complete { apart() } else { outcome };
        return (Vec::new(), RepeatFinished::uncounted(repeat, at_ns, outcome));
    }
    let clients: Vec<ClientPart> = spans.iter().map(|span| span.within(window)).collect();
    let ends: Vec<&RepeatFinished> = spans.iter().map(|span| span.finished).collect();
    let of_machines = spans.iter().filter(|span| !span.part.is_known).map(|span| span.finished.machine);
    let finished = RepeatFinished {
        window_ns: window.to_ns - window.from_ns,
        clients,
        machine: of_machines.collect::<Option<Vec<_>>>().map(|all| all_processors(&all)),
        ..counted(&ends, RepeatFinished::uncounted(repeat, at_ns, outcome))
    };
    (intervals(repeat, &spans, window), finished)
}

/// The first failure of a client, else an interruption, else completion.
fn outcome(operation: Operation, parts: &[Part]) -> RepeatOutcome {
    let (mut is_interrupted, mut lost) = (false, None);
    for part in parts {
        match part.finished.as_ref().map(|finished| &finished.outcome) {
            Some(RepeatOutcome::Failed(failure)) => return RepeatOutcome::Failed(failure.clone()),
            Some(RepeatOutcome::Interrupted) => is_interrupted = true,
            Some(RepeatOutcome::Completed) => {}
            None => lost = part.gone.as_ref().or(lost),
        }
    }
    match lost {
        Some(why) => {
            RepeatOutcome::Failed(RepeatFailure::at_start(FailureKind::Machine(why.clone()), operation))
        }
        None if is_interrupted || parts.iter().any(|part| part.finished.is_none()) => {
            RepeatOutcome::Interrupted
        }
        None => RepeatOutcome::Completed,
    }
}

/// The intervals of all clients on one grid from the beginning of the window.
fn intervals(repeat: u32, spans: &[Span<'_>], window: Window) -> Vec<Interval> {
    let mut lens: Vec<u64> = spans.iter().flat_map(Span::measured).map(|i| i.len_ns).collect();
    lens.sort_unstable();
    let len_ns = lens.get(lens.len() / 2).copied().unwrap_or(1).max(1);
    let ramp_ns = spans.iter().map(|span| span.ramp_ns).max().unwrap_or(0);
    let mut merged: BTreeMap<(bool, u64), Interval> = BTreeMap::new();
    let mut add = |phase: Phase, start_ns: u64, interval: &Interval, share: f64| {
        let key = (phase == Phase::Measure, start_ns);
        let whole = merged.entry(key).or_insert_with(|| Interval {
            repeat,
            phase,
            start_ns,
            len_ns: 0,
            operations: BTreeMap::new(),
            in_flight_ns: 0,
        });
        whole.len_ns = whole.len_ns.max(interval.len_ns);
        whole.in_flight_ns =
            whole.in_flight_ns.saturating_add((interval.in_flight_ns as f64 * share).round() as u64);
        for (operation, stats) in &interval.operations {
            whole.operations.entry(*operation).or_default().merge(&stats.share(share));
        }
    };
    for span in spans {
        for interval in &span.part.intervals {
            match interval.phase {
                Phase::Ramp => add(Phase::Ramp, interval.start_ns, interval, 1.0),
                Phase::Measure => {
                    let Some((share, middle)) = span.overlap(interval, window) else { continue };
                    let cell = (middle - window.from_ns) / len_ns;
                    add(Phase::Measure, ramp_ns.saturating_add(cell * len_ns), interval, share);
                }
            }
        }
    }
    let window_ns = window.to_ns - window.from_ns;
    let mut intervals: Vec<Interval> = merged.into_values().collect();
    let mut measured: Vec<&mut Interval> =
        intervals.iter_mut().filter(|i| i.phase == Phase::Measure).collect();
    let next: Vec<u64> = measured.iter().skip(1).map(|i| i.start_ns).collect();
    for (interval, next) in
        measured.iter_mut().zip(next.into_iter().chain([ramp_ns.saturating_add(window_ns)]))
    {
        interval.len_ns = next.saturating_sub(interval.start_ns);
    }
    intervals
}

/// What was counted around the repeats of all, added up. What devices counted is left out: of storage that clients share each
/// counts its own part, under names that mean something only there.
fn counted(ends: &[&RepeatFinished], none: RepeatFinished) -> RepeatFinished {
    let cpu = |of: fn(&RepeatFinished) -> CpuTime| CpuTime {
        user_ns: total(ends.iter().map(|end| of(end).user_ns)),
        system_ns: total(ends.iter().map(|end| of(end).system_ns)),
    };
    let of_processes: Option<Vec<ProcessIo>> = ends.iter().map(|end| end.process_io).collect();
    let caches: Option<Vec<CacheUse>> = ends.iter().map(|end| end.cache).collect();
    let integrity = ends.iter().filter_map(|end| end.integrity.clone()).reduce(|mut sum, one| {
        sum.merge(one);
        sum
    });
    RepeatFinished {
        counted_ns: ends.iter().map(|end| end.counted_ns).max().unwrap_or(0),
        settled_ns: ends.iter().filter_map(|end| end.settled_ns).max(),
        unserved: total(ends.iter().map(|end| end.unserved)),
        workers: cpu(|end| end.workers),
        busiest_worker: ends.iter().map(|end| end.busiest_worker).fold(0.0, f64::max),
        process: cpu(|end| end.process),
        process_io: of_processes.map(|all| ProcessIo {
            read_bytes: total(all.iter().map(|p| p.read_bytes)),
            write_bytes: total(all.iter().map(|p| p.write_bytes)),
        }),
        cache: caches.map(|all| CacheUse {
            cached_before_bytes: all
                .iter()
                .map(|cache| cache.cached_before_bytes)
                .collect::<Option<Vec<u64>>>()
                .map(|all| total(all.into_iter())),
            evicted: all.iter().any(|cache| cache.evicted),
        }),
        integrity,
        ..none
    }
}

/// Repeats of several machines together.
impl Fleet<'_> {
    /// Makes a repeat on several machines, which begin at one moment.
    pub(super) fn repeat_together(&mut self, clients: &[usize], order: &Order) -> Outcome {
        let step = &self.local.plan.steps[order.step];
        let mut parts: Vec<Part> = clients
            .iter()
            .map(|client| {
                let remote = &mut self.remotes[client - 1];
                remote.order(&Order { lane: 0, ..order.clone() }, self.local.plan);
                let is_known = self.is_known[client - 1];
                Part { host: remote.number(), name: remote.name.clone(), is_known, ..Part::default() }
            })
            .collect();
        let is_ready: Vec<bool> = clients
            .iter()
            .zip(&mut parts)
            .map(|(client, part)| match self.hear_part(*client, part) {
                Some(Reply::Ready) => true,
                Some(Reply::Ended { lost, .. }) => {
                    part.lost = lost;
                    false
                }
                Some(_) => {
                    part.gone = Some(self.unasked(*client));
                    false
                }
                None => false,
            })
            .collect();
        let all_ready = is_ready.iter().all(|is_ready| *is_ready);
        if all_ready && let Some(started) = self.merged_start(&parts, order) {
            self.local.emit(Event::RepeatStarted(started));
        }
        self.start(clients, &is_ready, &mut parts);
        for ((client, part), is_ready) in clients.iter().zip(&mut parts).zip(&is_ready) {
            if !is_ready {
                continue;
            }
            match self.hear_part(*client, part) {
                Some(Reply::Ended { lost, .. }) => part.lost = lost,
                Some(_) => part.gone = Some(self.unasked(*client)),
                None => {}
            }
        }
        let gone = parts.iter().find_map(|part| part.gone.clone()).map(Lost::Machine);
        let lost = gone.or_else(|| parts.iter().find_map(|part| part.lost.clone()));
        let lost = lost.filter(|_| !self.is_stopped());
        if !all_ready {
            // One could not begin, so that nothing was measured: that it failed is recorded, if it did.
            match self.merged_start(&parts, order) {
                Some(started) => self.local.emit(Event::RepeatStarted(started)),
                None => return Outcome { lost, ..Outcome::default() },
            }
        }
        let operation = step.workload.operations().first().copied().unwrap_or(Operation::Read);
        let (intervals, finished) = together(order.repeat, self.local.recorder.at_ns(), operation, &parts);
        self.note_failures(&parts);
        let failure = match &finished.outcome {
            RepeatOutcome::Failed(failure) => Some(failure.clone()),
            RepeatOutcome::Completed | RepeatOutcome::Interrupted => None,
        };
        intervals.into_iter().for_each(|interval| self.local.emit(Event::Interval(interval)));
        self.local.emit(Event::RepeatFinished(Box::new(finished)));
        Outcome { took_ns: 0, measured: self.local.measured(order), failure, lost }
    }

    /// How the repeat of all begins; `None` if no client has begun.
    fn merged_start(&self, parts: &[Part], order: &Order) -> Option<RepeatStarted> {
        let all: Vec<&RepeatStarted> = parts.iter().filter_map(|part| part.started.as_ref()).collect();
        Some(RepeatStarted {
            at_ns: self.local.recorder.at_ns(),
            target: self.local.recorder.run().started.targets[order.lane].name.clone(),
            direct: all.iter().all(|started| started.direct),
            size_bytes: total(all.iter().map(|started| started.size_bytes)),
            ..(*all.first()?).clone()
        })
    }

    /// Tells those that are ready when to begin: a moment that is late enough for all to hear of it before, or never if one is
    /// not.
    fn start(&mut self, clients: &[usize], is_ready: &[bool], parts: &mut [Part]) {
        let mut ready: Vec<&mut Remote> = self
            .remotes
            .iter_mut()
            .enumerate()
            .filter(|(i, _)| clients.iter().zip(is_ready).any(|(client, ready)| *client == i + 1 && *ready))
            .map(|(_, remote)| remote)
            .collect();
        if ready.len() < clients.len() {
            return ready.iter().for_each(|remote| remote.send(&Request::Start { at_ns: None }));
        }
        thread::scope(|scope| {
            for remote in &mut ready {
                scope.spawn(|| remote.compare_clocks());
            }
        });
        // What is sent arrives within a round trip, which is twice the bound.
        let farthest = ready.iter().map(|remote| remote.within_ns()).max().unwrap_or(0);
        let at = Instant::now() + LEAD + LEAD_EACH * ready.len() as u32 + Duration::from_nanos(4 * farthest);
        for remote in &ready {
            remote.send(&Request::Start { at_ns: Some(remote.there_ns(at)) });
        }
        for part in parts {
            let remote = ready.iter().find(|remote| remote.number() == part.host);
            part.within_ns = remote.map_or(0, |remote| remote.within_ns());
        }
    }

    /// The next reply of a client. What it says of the repeat before goes to its part, the rest to the log.
    fn hear_part(&mut self, client: usize, part: &mut Part) -> Option<Reply> {
        let Self { local, remotes, .. } = self;
        let (origin, interrupt) = (local.recorder.origin(), local.interrupt.clone());
        let is_stopped = || interrupt.load(Ordering::Relaxed);
        let remote = &mut remotes[client - 1];
        let mut take = |event: Event| match event {
            Event::RepeatStarted(started) => part.started = Some(started),
            Event::Interval(interval) => part.intervals.push(interval),
            Event::RepeatFinished(finished) => part.finished = Some(finished),
            other => local.emit(other),
        };
        match remote.reply(origin, &mut take, &is_stopped) {
            Ok(reply) => Some(reply),
            Err(why) => {
                part.gone = Some(format!("{} is lost: {why}", part.name));
                None
            }
        }
    }

    /// Notes which clients failed, since the repeat of all says only how.
    fn note_failures(&mut self, parts: &[Part]) {
        for part in parts {
            if let Some(RepeatOutcome::Failed(failure)) = part.finished.as_ref().map(|end| &end.outcome) {
                let message = format!("{}: {failure}", part.name);
                self.local.note(Severity::Warning, "client-failed", None, message);
            }
        }
    }
}

/// A sum of what others have said, which need not be true.
fn total(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// The time of the processors of several machines.
fn all_processors(all: &[MachineCpu]) -> MachineCpu {
    let mut sum = MachineCpu::default();
    all.iter().for_each(|machine| sum.combine(machine, u64::saturating_add));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{LatencyRecorder, Operation::Read};

    const MS: u64 = 1_000_000;
    const OFFSET: u64 = 5_000 * MS;

    /// A client that begins and ends at these milliseconds, after a ramp of 100 ms, with as many reads each millisecond in intervals
    /// of 250 ms.
    fn client(host: u32, from: u64, to: u64, each_ms: u64) -> Part {
        let mut intervals = Vec::new();
        let mut at = 0;
        while at < to - from {
            let (phase, len) =
                if at == 0 { (Phase::Ramp, 100) } else { (Phase::Measure, 250.min(to - from - at)) };
            let mut latencies = LatencyRecorder::new();
            latencies.record_many(1000 * u64::from(host), len * each_ms);
            let stats = OperationStats {
                count: len * each_ms,
                bytes: len * each_ms * 4096,
                lat: latencies.finish(),
                ..OperationStats::default()
            };
            intervals.push(Interval {
                repeat: 7,
                phase,
                start_ns: at * MS,
                len_ns: len * MS,
                operations: BTreeMap::from([(Read, stats)]),
                in_flight_ns: len * MS,
            });
            at += len;
        }
        let own = ClientPart {
            host: 0,
            began_ns: OFFSET + from * MS,
            ended_ns: OFFSET + to * MS,
            within_ns: 0,
            operations: BTreeMap::new(),
        };
        let finished = RepeatFinished {
            window_ns: (to - from - 100) * MS,
            busiest_worker: 0.1 * f64::from(host),
            workers: CpuTime { user_ns: 5, system_ns: 7 },
            clients: vec![own],
            ..RepeatFinished::uncounted(7, 0, RepeatOutcome::Completed)
        };
        Part { host, intervals, finished: Some(Box::new(finished)), within_ns: 9, ..Part::default() }
    }

    #[test]
    fn what_counts_is_what_all_did_while_all_measured() {
        // From 300 + 100 to 1100 ms.
        let parts = [client(1, 0, 1100, 2), client(2, 300, 1350, 3)];
        let (intervals, finished) = together(7, 1, Read, &parts);
        assert_eq!(finished.outcome, RepeatOutcome::Completed);
        assert_eq!(finished.window_ns, 700 * MS);
        let count = |part: &ClientPart| part.operations[&Read].count;
        assert_eq!(finished.clients.iter().map(count).collect::<Vec<_>>(), [1400, 2100]);
        assert_eq!(finished.clients[1].operations[&Read].bytes, 2100 * 4096);
        let spans: Vec<(u32, u64, u64)> =
            finished.clients.iter().map(|c| (c.host, c.began_ns - OFFSET, c.within_ns)).collect();
        assert_eq!(spans, [(1, 0, 9), (2, 300 * MS, 9)]);
        let measured: Vec<&Interval> = intervals.iter().filter(|i| i.phase == Phase::Measure).collect();
        assert_eq!(measured[0].start_ns, 100 * MS);
        assert_eq!(measured.iter().map(|i| i.len_ns).sum::<u64>(), finished.window_ns);
        assert_eq!(measured.iter().map(|i| i.operations[&Read].count).sum::<u64>(), 3500);
        let mut latencies = measured[0].operations[&Read].lat.clone();
        measured[1..].iter().for_each(|i| latencies.merge(&i.operations[&Read].lat));
        assert_eq!(
            (latencies.count(), latencies.min_ns(), latencies.max_ns()),
            (3500, Some(1000), Some(2000))
        );
        assert_eq!((finished.workers.user_ns, finished.busiest_worker), (10, 0.2));
        // The ramp is kept whole.
        let ramp = intervals.iter().find(|i| i.phase == Phase::Ramp).unwrap();
        assert_eq!(ramp.operations[&Read].count, 100 * (2 + 3));
    }

    #[test]
    fn clients_that_did_not_work_at_the_same_time_have_no_figure() {
        let (intervals, finished) = together(7, 1, Read, &[client(1, 0, 500, 1), client(2, 450, 900, 1)]);
        let RepeatOutcome::Failed(failure) = &finished.outcome else { panic!("{finished:?}") };
        assert!(failure.to_string().contains("did not work at the same time"), "{failure}");
        assert!(intervals.is_empty() && finished.clients.is_empty());
    }

    #[test]
    fn one_client_that_fails_or_is_lost_fails_the_repeat() {
        let of = |change: &dyn Fn(&mut Part)| {
            let mut parts = [client(1, 0, 900, 1), client(2, 0, 900, 1)];
            change(&mut parts[1]);
            together(7, 1, Read, &parts).1.outcome
        };
        let failure = RepeatFailure::at_start(FailureKind::Errno(5), Read);
        let failed = RepeatOutcome::Failed(failure);
        assert_eq!(of(&|part| part.finished.as_mut().unwrap().outcome = failed.clone()), failed);
        let lost = of(&|part| (part.finished, part.gone) = (None, Some("b is lost: no answer".to_owned())));
        let RepeatOutcome::Failed(lost) = lost else { panic!("{lost:?}") };
        assert_eq!(lost.kind, FailureKind::Machine("b is lost: no answer".to_owned()));
        let stopped = |part: &mut Part| part.finished.as_mut().unwrap().outcome = RepeatOutcome::Interrupted;
        assert_eq!(of(&stopped), RepeatOutcome::Interrupted);
        assert_eq!(of(&|part| part.finished = None), RepeatOutcome::Interrupted);
    }
}
