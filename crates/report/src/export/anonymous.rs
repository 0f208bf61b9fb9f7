//! Anonymises a run for publication: removes the names of its machine, its user and its storage.
//!
//! # Invariants
//! * Every structure with text is destructured without `..`: a new field does not compile until this module replaces
//!   it, leaves it out or keeps it (`_`).
//! * A text that is in no list of this module is replaced by a pseudonym or left out. Sentences are left out, because
//!   any sentence can quote a name.
//! * Under one key, the same name always gets the same pseudonym, so runs of one store stay comparable. Without the
//!   key, nobody can find a name by trial (SipHash-2-4 is a keyed pseudorandom function: Aumasson and Bernstein, 2012).
//! * Kept are: time, figures, seeds, the ids of the run and the plan, suite, step ids and titles (with replaced names
//!   removed), versions, kernel release, operating system, board, processor, models and firmware of disks, kernel names
//!   of devices such as `sda1`, and names of sensors.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::path::Path;

use model::fact::{Disclosure, Fact, Subject};
use model::units::counted;
use model::{
    DeviceActivity, EarlierFigure, FailureKind, Figure, Host, Imported, IntegrityCheck, LaidOut, Layer,
    LayerKind, Mismatch, Note, OWN_TARGET, Plan, Printed, Reading, Recomputed, Reference, Remark, RemoteHost,
    Repeat, RepeatFailure, RepeatFinished, RepeatOutcome, RepeatStarted, Requirement, Run, RunStarted,
    Source, Step, TOOLS_TARGET, Target, fact, path_text,
};
use siphasher::sip::SipHasher24;

/// The placeholder for a text that is left out.
const LEFT_OUT: &str = "(left out)";
/// Minimum length of a name that is searched for in other texts; shorter names occur in too many words.
const SHORTEST: usize = 3;

/// The key of a store's pseudonyms. Anyone who has it can test which name a pseudonym stands for.
#[derive(Clone)]
pub struct PseudonymKey([u8; Self::BYTES]);

impl PseudonymKey {
    /// Length in bytes.
    pub const BYTES: usize = 16;

    /// A key from these bytes, which should be random.
    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

/// Replaces names in runs, and counts what it replaced and left out.
pub struct Anonymiser {
    key: PseudonymKey,
    /// The name behind each pseudonym, so that no two names share one.
    taken: BTreeMap<String, String>,
    /// Names to search for in kept texts, with their pseudonyms.
    secrets: BTreeMap<String, String>,
    replaced: BTreeMap<&'static str, BTreeSet<String>>,
    left_out: BTreeMap<&'static str, usize>,
}

impl Anonymiser {
    /// An anonymiser without any replacements yet.
    pub fn new(key: PseudonymKey) -> Self {
        let (taken, secrets) = (BTreeMap::new(), BTreeMap::new());
        Self { key, taken, secrets, replaced: BTreeMap::new(), left_out: BTreeMap::new() }
    }

    /// Counts of what was replaced and left out so far, as part of a sentence.
    pub fn account(&self) -> String {
        let replaced: Vec<String> =
            self.replaced.iter().map(|(kind, names)| counted(names.len(), kind)).collect();
        let left_out: Vec<String> = self.left_out.iter().map(|(kind, count)| counted(*count, kind)).collect();
        let list =
            |items: Vec<String>| if items.is_empty() { "nothing".to_owned() } else { items.join(", ") };
        format!("replaced by pseudonyms: {}; left out: {}", list(replaced), list(left_out))
    }

    /// An anonymous copy of the run.
    pub fn run(&mut self, run: &Run) -> Run {
        let mut anonymous = run.clone();
        let Run { started, layouts, repeats, set_aside, readings, notes, finished: _ } = &mut anonymous;
        self.started(started);
        layouts.iter_mut().for_each(|laid_out| self.laid_out(laid_out));
        let aside = set_aside.iter_mut().map(|(repeat, _)| repeat);
        repeats.iter_mut().chain(aside).for_each(|repeat| self.repeat(repeat));
        readings.iter_mut().for_each(|reading| self.reading(reading));
        notes.iter_mut().for_each(|note| self.note(note));
        anonymous
    }

    fn started(&mut self, started: &mut RunStarted) {
        let RunStarted {
            format: _,
            id: _,
            started_unix_ns: _,
            version: _,
            command,
            host,
            hosts,
            targets,
            baseline,
            plan,
            seed: _,
            sources,
        } = started;
        self.count("command line", usize::from(!command.is_empty()));
        *command = vec!["lodestone".to_owned(), LEFT_OUT.to_owned()];
        self.host(host);
        for RemoteHost { name, machine, ahead_ns: _, within_ns: _ } in hosts {
            self.host(machine);
            self.secret(name, &machine.name);
            name.clone_from(&machine.name);
        }
        targets.iter_mut().for_each(|target| self.target(target));
        sources.iter_mut().for_each(|source| self.source(source));
        *baseline = self.target_name(baseline);
        // The plan comes last, so that its titles can be searched for every name found elsewhere.
        self.plan(plan);
    }

    fn host(&mut self, host: &mut Host) {
        let Host { id, name, kernel: _, architecture: _, cpu: _, cpus: _, memory_bytes: _, board, os, facts } =
            host;
        // A host is identified by its id; an imported run has only a host name.
        let pseudonym = self.pseudonym("host", if id.is_empty() { &*name } else { &*id });
        for own in [id, name] {
            self.secret(own, &pseudonym);
            own.clone_from(&pseudonym);
        }
        self.keep_public(facts, Subject::Machine);
        for text in board.iter_mut().chain(os).chain(facts.values_mut()) {
            *text = self.freed(text);
        }
    }

    /// Leaves out all facts except those about this subject that contain no names.
    fn keep_public(&mut self, facts: &mut BTreeMap<String, String>, subject: Subject) {
        let before = facts.len();
        let is_public = |fact: &Fact| fact.subject == subject && fact.disclosure == Disclosure::Public;
        facts.retain(|name, _| fact::known(name).is_some_and(is_public));
        self.count("fact", before - facts.len());
    }

    fn target(&mut self, target: &mut Target) {
        let Target {
            name,
            path,
            kind: _,
            size_bytes: _,
            free_bytes: _,
            block_bytes: _,
            direct: _,
            writable: _,
            stack,
            labels,
            clients: _,
            server: _,
            host: _,
        } = target;
        *name = self.target_name(name);
        *path = self.path(&path_text(&*path)).into();
        stack.iter_mut().for_each(|layer| self.layer(layer));
        *labels = labels.iter().map(|(name, value)| self.label(name, value)).collect();
    }

    fn layer(&mut self, layer: &mut Layer) {
        let Layer { kind, name, level: _, device: _, facts } = layer;
        *name = match kind {
            LayerKind::Filesystem | LayerKind::Network => self.filesystem(name),
            _ => self.device(name),
        };
        let all = std::mem::take(facts).into_iter();
        *facts =
            all.filter_map(|(name, value)| self.fact(&name, &value).map(|value| (name, value))).collect();
    }

    /// The value of a layer's fact, if it may be kept in any form.
    fn fact(&mut self, name: &str, value: &str) -> Option<String> {
        let of_layer = fact::known(name).filter(|fact| fact.subject == Subject::Layer);
        match of_layer.map_or(Disclosure::Secret, |fact| fact.disclosure) {
            Disclosure::Public => Some(self.freed(value)),
            Disclosure::Path => Some(self.path(value)),
            Disclosure::Options => Some(self.options(value)),
            Disclosure::Pseudonym(of) => Some(self.pseudonym(of, value)),
            Disclosure::Secret => {
                self.count("fact", 1);
                None
            }
        }
    }

    /// Mount options without those that may contain a name.
    fn options(&mut self, options: &str) -> String {
        let (kept, others): (Vec<&str>, Vec<&str>) =
            options.split(',').filter(|o| !o.is_empty()).partition(|option| words::is_public_option(option));
        self.count("mount option", others.len());
        kept.join(",")
    }

    fn plan(&mut self, plan: &mut Plan) {
        let Plan {
            id: _,
            suite,
            steps,
            requirements,
            ladders,
            rounds: _,
            in_order: _,
            until_steady: _,
            until_written: _,
            margin_ppm: _,
            makings: _,
            layout_limit_ns: _,
            budget_ns: _,
        } = plan;
        *suite = self.freed(suite);
        steps.iter_mut().for_each(|step| self.step(step));
        ladders.iter_mut().for_each(|ladder| ladder.unit = self.freed(&ladder.unit));
        requirements.iter_mut().for_each(|requirement| self.requirement(requirement));
    }

    fn requirement(&mut self, requirement: &mut Requirement) {
        let Requirement {
            profile,
            step: _,
            operation: _,
            metric: _,
            bound: _,
            limit: _,
            relative_to,
            source,
        } = requirement;
        (*profile, *source) = (self.freed(profile), self.freed(source));
        match relative_to {
            None => {}
            Some(Reference::Target(name)) => *name = self.target_name(name),
            Some(Reference::Run(earlier)) => {
                let EarlierFigure {
                    run: _,
                    started_unix_ns: _,
                    of,
                    target,
                    values: _,
                    exposures: _,
                    makings: _,
                } = &mut **earlier;
                (*of, *target) = (self.target_name(of), self.target_name(target));
            }
        }
    }

    fn step(&self, step: &mut Step) {
        // A workload has only numbers and enumerations, and so has the expectation for another program.
        let Step {
            id: _,
            title,
            prepare: _,
            workload: _,
            engine: _,
            stop: _,
            shortest_ns: _,
            ramp_ns: _,
            interval_ns: _,
            max_errors: _,
            concurrent,
            foreign: _,
        } = step;
        *title = self.freed(title);
        concurrent.iter_mut().for_each(|step| self.step(step));
    }

    fn source(&mut self, source: &mut Source) {
        let Source { file, path, digest, bytes: _ } = source;
        for path in std::iter::once(file).chain(path) {
            *path = self.path(path);
        }
        *digest = self.pseudonym("digest", digest);
    }

    fn laid_out(&mut self, laid_out: &mut LaidOut) {
        let LaidOut { at_ns: _, target, bytes: _, elapsed_ns: _ } = laid_out;
        *target = self.target_name(target);
    }

    fn repeat(&mut self, repeat: &mut Repeat) {
        // Intervals have only numbers.
        let Repeat { started, intervals: _, imported, finished } = repeat;
        let RepeatStarted {
            repeat: _,
            at_ns: _,
            round: _,
            step: _,
            target,
            engine: _,
            direct: _,
            size_bytes: _,
            seed: _,
            time_ns: _,
            passes: _,
            turns: _,
        } = started;
        *target = self.target_name(target);
        if let Some(imported) = imported {
            self.imported(imported);
        }
        if let Some(finished) = finished {
            self.finished(finished);
        }
    }

    fn finished(&mut self, finished: &mut RepeatFinished) {
        let RepeatFinished {
            repeat: _,
            at_ns: _,
            outcome,
            window_ns: _,
            counted_ns: _,
            clients: _,
            settled_ns: _,
            unserved: _,
            workers: _,
            busiest_worker: _,
            process: _,
            machine: _,
            process_io: _,
            devices,
            cache: _,
            integrity,
            offset_log: _,
        } = finished;
        self.outcome(outcome);
        devices.iter_mut().for_each(|device| self.activity(device));
        if let Some(IntegrityCheck { checked: _, mismatched: _, first }) = integrity {
            for Mismatch { offset: _, what } in first {
                self.leave_out(what);
            }
        }
    }

    fn outcome(&mut self, outcome: &mut RepeatOutcome) {
        let failure = match outcome {
            RepeatOutcome::Failed(failure) => failure,
            RepeatOutcome::Completed | RepeatOutcome::Interrupted => return,
        };
        let RepeatFailure { kind, operation: _, offset: _, after_ns: _, good_operations: _, good_bytes: _ } =
            failure;
        match kind {
            FailureKind::Program(message) | FailureKind::Machine(message) => self.leave_out(message),
            FailureKind::Errno(_)
            | FailureKind::NoData
            | FailureKind::NothingWritten
            | FailureKind::Hung(_)
            | FailureKind::Unopened(_) => {}
        }
    }

    fn activity(&mut self, activity: &mut DeviceActivity) {
        let DeviceActivity {
            name,
            level: _,
            read_bytes: _,
            written_bytes: _,
            discarded_bytes: _,
            reads: _,
            writes: _,
            flushes: _,
            busy_ns: _,
            queue_ns: _,
        } = activity;
        *name = self.device(name);
    }

    fn imported(&mut self, imported: &mut Imported) {
        let Imported { repeat: _, tool, version, file, line: _, labels, facts, unsaid: _, figures, remarks } =
            imported;
        for text in std::iter::once(tool).chain(version) {
            *text = self.freed(text);
        }
        *file = self.path(file);
        *labels = labels.iter().map(|(name, value)| self.label(name, value)).collect();
        self.keep_public(facts, Subject::Imported);
        figures.iter_mut().for_each(figure);
        for Remark { topic: _, severity: _, effect: _, message, advice: _, line: _ } in remarks {
            self.leave_out(message);
        }
    }

    fn label(&mut self, name: &str, value: &str) -> (String, String) {
        let known = words::LABELS.contains(&name);
        let value = match name {
            "bs" if words::is_size(value) => value.to_owned(),
            "filesystem" => self.filesystem(value),
            _ => self.pseudonym("label", value),
        };
        (if known { name.to_owned() } else { self.pseudonym("label", name) }, value)
    }

    fn note(&mut self, note: &mut Note) {
        let Note { at_ns: _, severity: _, topic: _, target, message } = note;
        self.leave_out(message);
        if let Some(target) = target {
            *target = self.target_name(target);
        }
    }

    fn reading(&mut self, reading: &mut Reading) {
        let Reading { at_ns: _, probe, key, value: _, unit: _, host: _ } = reading;
        if words::PUBLIC_PROBES.contains(&probe.as_str()) {
            return;
        }
        // The part before the last full stop names a device, an interface, a mount or a process.
        *key = match key.rsplit_once('.') {
            Some((name, what)) => format!("{}.{what}", self.device(name)),
            None => self.device(key),
        };
    }

    /// Replaces every target name: a run does not record whether the user chose it or it comes from a path.
    fn target_name(&mut self, name: &str) -> String {
        if [OWN_TARGET, TOOLS_TARGET].contains(&name) {
            return name.to_owned();
        }
        self.pseudonym("target", name)
    }

    /// Keeps a kernel name of a device and replaces any other.
    fn device(&mut self, name: &str) -> String {
        if words::is_kernel_name(name) { name.to_owned() } else { self.pseudonym("name", name) }
    }

    fn filesystem(&mut self, name: &str) -> String {
        let is_known = words::FILESYSTEMS.contains(&name) || words::is_kernel_name(name);
        if is_known { name.to_owned() } else { self.pseudonym("filesystem", name) }
    }

    /// Replaces a path or a mount source. Its components are searched for in other texts too.
    fn path(&mut self, path: &str) -> String {
        let is_device = path.strip_prefix("/dev/").is_some_and(words::is_kernel_name);
        if path == "/" || is_device || words::FILESYSTEMS.contains(&path) {
            return path.to_owned();
        }
        let pseudonym = format!("/{}", self.pseudonym("path", path));
        for part in Path::new(path).iter().map(|part| part.to_string_lossy()) {
            if !words::COMMON_DIRECTORIES.contains(&&*part) {
                self.secret(&part, &pseudonym[1..]);
            }
        }
        pseudonym
    }

    /// The name's pseudonym: the kind and six digits of its keyed hash, or more digits if two names collide.
    fn pseudonym(&mut self, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        hasher.write(kind.as_bytes());
        hasher.write(&[0]);
        hasher.write(name.as_bytes());
        let digits = format!("{:016x}", hasher.finish());
        let free = |taken: &BTreeMap<String, String>, candidate: &String| {
            taken.get(candidate).is_none_or(|owner| owner == name)
        };
        let mut candidates = (6..=digits.len()).map(|length| format!("{kind}-{}", &digits[..length]));
        let pseudonym = candidates
            .find(|candidate| free(&self.taken, candidate))
            .unwrap_or_else(|| format!("{kind}-{digits}"));
        self.taken.insert(pseudonym.clone(), name.to_owned());
        self.replaced.entry(kind).or_default().insert(name.to_owned());
        self.secret(name, &pseudonym);
        pseudonym
    }

    fn secret(&mut self, name: &str, pseudonym: &str) {
        if name.chars().count() >= SHORTEST {
            self.secrets.entry(name.to_owned()).or_insert_with(|| pseudonym.to_owned());
        }
    }

    /// Replaces known names in a kept text by their pseudonyms.
    fn freed(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = self.secrets.iter().filter(|(secret, _)| rest.starts_with(secret.as_str()));
            match found.max_by_key(|(secret, _)| secret.len()) {
                Some((secret, pseudonym)) => {
                    out.push_str(pseudonym);
                    rest = &rest[secret.len()..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
    }

    /// Leaves out a sentence, because it may quote a name.
    fn leave_out(&mut self, message: &mut String) {
        self.count("message", 1);
        LEFT_OUT.clone_into(message);
    }

    fn count(&mut self, kind: &'static str, left_out: usize) {
        if left_out > 0 {
            *self.left_out.entry(kind).or_default() += left_out;
        }
    }
}

fn figure(figure: &mut Figure) {
    let Figure { operation: _, metric: _, value: _, printed, recomputed } = figure;
    if let Some(Printed { text, value, error: _, line: _ }) = printed
        && !words::is_figure(text)
    {
        *text = value.to_string();
    }
    // `from` is one of this program's own phrases.
    let (Some(Recomputed { value: _, error: _, from: _ }) | None) = recomputed;
}
