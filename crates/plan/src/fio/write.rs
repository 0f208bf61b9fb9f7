//! A step as a fio job: the reverse of [`super::read`]. What fio cannot express refuses the step with the reason.

use model::{
    CacheState, Distribution, EngineChoice, EngineKind, MetadataOperation, Mix, NameOrder, Names, Naming,
    OpenSync, Pace, Pattern, Preparation, Regions, SizeShare, SteadyFigure, Step, Workload,
};

use super::settings::MANY_ERRORS;

/// The files or device of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobTarget {
    /// Files in the directory in which fio starts.
    Directory {
        /// Total bytes of all files of the part.
        bytes: u64,
    },
    /// One file or device.
    Target {
        /// Bytes of it in use.
        bytes: u64,
        /// Its path.
        path: String,
    },
}

/// A step as a fio job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobText {
    /// The job file.
    pub text: String,
    /// For each part of the step the names under which its jobs open its files, each with the number of the file.
    pub links: Vec<Vec<(String, usize)>>,
}

/// Writes a step and its concurrent workloads as a job file; `job_targets` has the target of each part.
///
/// # Errors
/// All that fio cannot express, as sentences without their full stops.
pub fn write(step: &Step, job_targets: &[JobTarget]) -> Result<JobText, Vec<String>> {
    let mut problems = Vec::new();
    let mut text = "[global]\ngroup_reporting=1\nlat_percentiles=1\nrandrepeat=0\n".to_owned();
    let mut links = Vec::new();
    for (part, job_target) in step.parts().zip(job_targets) {
        let number = links.len();
        let mut writer = Writer { number, lines: Vec::new(), problems: Vec::new(), links: Vec::new() };
        // The ramp is that of the whole step.
        writer.part(part, step.ramp_ns, job_target);
        let name: String = part.id.chars().map(|c| if "[]#;\n".contains(c) { '-' } else { c }).collect();
        text.push_str(&format!("\n[{name}]\n"));
        for (key, value) in &writer.lines {
            text.push_str(&format!("{key}={value}\n"));
        }
        let of = |why: String| if step.concurrent.is_empty() { why } else { format!("{}: {why}", part.id) };
        problems.extend(writer.problems.into_iter().map(of));
        links.push(writer.links);
    }
    if problems.is_empty() { Ok(JobText { text, links }) } else { Err(problems) }
}

struct Writer {
    /// Number of the part within its step.
    number: usize,
    lines: Vec<(&'static str, String)>,
    problems: Vec<String>,
    links: Vec<(String, usize)>,
}

impl Writer {
    fn set(&mut self, key: &'static str, value: impl ToString) {
        self.lines.push((key, value.to_string()));
    }

    fn refuse(&mut self, why: impl Into<String>) {
        self.problems.push(format!("fio cannot do that: {}", why.into()));
    }

    /// A time, which fio takes in whole microseconds.
    fn time(&mut self, key: &'static str, ns: u64) {
        if ns.is_multiple_of(1000) {
            self.set(key, format!("{}us", ns / 1000));
        } else {
            self.refuse(format!("{key} of {ns} ns is not a whole number of microseconds"));
        }
    }

    /// The total of all jobs of a part, as the value for each.
    fn each(&mut self, key: &'static str, all: u64, jobs: u64) {
        if all.is_multiple_of(jobs) {
            self.set(key, all / jobs);
        } else {
            self.refuse(format!("{key} is per job, and {all} is not a multiple of {jobs} jobs"));
        }
    }

    fn part(&mut self, step: &Step, ramp_ns: u64, job_target: &JobTarget) {
        let w = &step.workload;
        self.set("numjobs", w.jobs);
        if let Mix::Metadata(_) = w.mix {
            self.names(step);
            return;
        }
        self.engine(step);
        self.direction(w);
        self.blocks(w);
        self.order(w);
        self.files(w, job_target);
        self.preparation(step, job_target);
        self.end(step, job_target);
        if ramp_ns > 0 {
            self.time("ramp_time", ramp_ns);
        }
        self.pace(w);
        self.syncs(w);
        self.content(w);
        self.modifiers(step);
    }

    /// Metadata operations; a fio job does one kind of them.
    fn names(&mut self, step: &Step) {
        let Mix::Metadata(work) = &step.workload.mix else { return };
        let engine = match (&work.operations[..], work.names) {
            ([MetadataOperation::Create], Names::Files) => "filecreate",
            ([MetadataOperation::Stat], Names::Files) => "filestat",
            ([MetadataOperation::Unlink], Names::Files) => "filedelete",
            ([MetadataOperation::Create], Names::Directories) => "dircreate",
            ([MetadataOperation::Stat], Names::Directories) => "dirstat",
            ([MetadataOperation::Unlink], Names::Directories) => "dirdelete",
            ([MetadataOperation::Open], _) => return self.refuse("it has no engine that opens files"),
            _ => return self.refuse("several kinds of metadata operations in a row"),
        };
        if work.naming != Naming::Numbered || work.order != NameOrder::Created {
            self.refuse("names of another form, or in another order than that of creation");
        }
        if work.directories > 1 {
            self.refuse("files spread over directories");
        }
        if work.file_bytes > 0 {
            self.refuse("files created with content");
        }
        if step.workload.modifiers.again.is_some() {
            self.refuse("passes that repeat for at least a given time");
        }
        if step.workload.sync.every > 0 {
            self.refuse("files synced on creation");
        }
        self.set("ioengine", engine);
        self.set("nrfiles", work.files);
        self.set("filesize", 4096);
        let once = u64::from(work.files) * u64::from(step.workload.jobs);
        match (step.stop.time_ns, step.stop.operations) {
            (Some(ns), None) => {
                self.time("runtime", ns);
                self.set("time_based", 1);
            }
            (None, Some(operations)) if operations.is_multiple_of(once) => {
                self.set("loops", operations / once)
            }
            _ => self.refuse("an end that is neither a time nor whole passes over the names"),
        }
    }

    fn engine(&mut self, step: &Step) {
        let w = &step.workload;
        let engine = match (&w.mix, step.engine) {
            (Mix::Allocate, _) => "falloc",
            (Mix::Truncate, _) => "ftruncate",
            (_, EngineChoice::Auto) => return self.refuse("`auto` is not an engine of fio; name one"),
            (_, EngineChoice::Only(EngineKind::IoUring)) => "io_uring",
            (_, EngineChoice::Only(EngineKind::Libaio)) => "libaio",
            (_, EngineChoice::Only(EngineKind::Psync)) => "psync",
            (_, EngineChoice::Only(EngineKind::Mmap)) => "mmap",
            (_, EngineChoice::Only(EngineKind::Noop)) => "null",
            (_, EngineChoice::Only(EngineKind::Sim)) => return self.refuse("it has no simulator"),
        };
        self.set("ioengine", engine);
        self.set("iodepth", w.iodepth);
        self.set("direct", u8::from(w.direct));
        match w.cache {
            CacheState::Cold => self.set("invalidate", 1),
            CacheState::Warm => self.set("invalidate", 0),
            CacheState::ColdEach => self.refuse("evicting what is read before each operation"),
            CacheState::Loaded => self.refuse("loading the data into the page cache first"),
        }
    }

    fn direction(&mut self, w: &Workload) {
        let random = matches!(w.pattern, Pattern::Random { .. });
        let word = match (&w.mix, random) {
            (Mix::Transfer { read_percent: 100 }, false) => "read",
            (Mix::Transfer { read_percent: 100 }, true) => "randread",
            (Mix::Transfer { read_percent: 0 } | Mix::Allocate | Mix::Truncate, false) => "write",
            (Mix::Transfer { read_percent: 0 } | Mix::Allocate | Mix::Truncate, true) => "randwrite",
            (Mix::Transfer { .. }, false) => "rw",
            (Mix::Transfer { .. }, true) => "randrw",
            (Mix::Trim, false) => "trim",
            (Mix::Trim, true) => "randtrim",
            (Mix::Update { .. }, _) => return self.refuse("blocks that are read, modified and written back"),
            (Mix::Metadata(_), _) => return,
        };
        match w.pattern {
            Pattern::Strided { run_bytes, skip_bytes } if run_bytes == u64::from(w.block.read) => {
                self.set("rw", format!("{word}:{skip_bytes}"));
            }
            Pattern::Strided { run_bytes, skip_bytes: skip @ 0.. } => {
                self.set("rw", word);
                self.set("zonemode", "strided");
                self.set("zonesize", run_bytes);
                self.set("zoneskip", skip);
            }
            Pattern::Strided { .. } => self.refuse("runs of several blocks that go backwards"),
            Pattern::Spaced { .. } => self.refuse("blocks at evenly spaced offsets"),
            Pattern::Sequential | Pattern::Random { .. } => self.set("rw", word),
        }
        if let Mix::Transfer { read_percent: share @ 1..=99 } = w.mix {
            self.set("rwmixread", share);
            if w.modifiers.even_mix {
                self.refuse("reads and writes that alternate: fio draws them");
            }
        }
    }

    fn blocks(&mut self, w: &Workload) {
        self.set("bs", format!("{},{},{}", w.block.read, w.block.write, w.block.trim));
        let Some(split) = &w.modifiers.split else { return };
        let shares = |shares: &Vec<SizeShare>| {
            // An unused direction has no shares; fio needs a value for it.
            let all = [SizeShare { bytes: split.grain, percent: 100.0 }];
            let shares = if shares.is_empty() { &all[..] } else { shares };
            let each = shares.iter().map(|share| format!("{}/{}", share.bytes, share.percent));
            each.collect::<Vec<_>>().join(":")
        };
        let all = [&split.read, &split.write, &split.trim];
        let ranges: Vec<String> = all.iter().filter_map(|shares| range(shares)).collect();
        let used = all.iter().filter(|shares| !shares.is_empty()).count();
        if ranges.len() == used {
            let first = &ranges[0];
            let each = all.iter().map(|shares| range(shares).unwrap_or_else(|| first.clone()));
            self.set("bsrange", each.collect::<Vec<_>>().join(","));
        } else {
            self.set("bssplit", all.map(shares).join(","));
            if all.into_iter().flatten().any(|share| share.percent.fract() != 0.0) {
                self.refuse("shares of block sizes that are not whole percents");
            }
        }
        self.set("blockalign", split.grain);
    }

    fn order(&mut self, w: &Workload) {
        let Pattern::Random { distribution, repeats } = &w.pattern else { return };
        if *repeats {
            self.set("norandommap", 1);
        }
        let text = match distribution {
            Distribution::Uniform => return,
            Distribution::Zipf { theta } => format!("zipf:{theta}"),
            Distribution::Pareto { h } => format!("pareto:{h}"),
            Distribution::Normal { deviation_percent } => format!("normal:{deviation_percent}"),
            Distribution::Zoned(zones) => {
                let zones = zones.iter().map(|zone| format!("{}/{}", zone.access_percent, zone.size_percent));
                format!("zoned:{}", zones.collect::<Vec<_>>().join(":"))
            }
            Distribution::Sequence { blocks, moves_on } => {
                self.set("random_sequence_stride", u8::from(*moves_on));
                let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
                format!("sequence:{}", blocks.join(","))
            }
        };
        self.set("random_distribution", text);
    }

    /// The files of a part, and the bytes of them that each job uses.
    fn files(&mut self, w: &Workload, job_target: &JobTarget) {
        let (jobs, count) = (u64::from(w.jobs), u64::from(w.files.count));
        let bytes = match job_target {
            JobTarget::Directory { bytes } => *bytes,
            JobTarget::Target { bytes, path } => {
                self.set("filename", path.replace(':', "\\:"));
                self.regions(w, *bytes, None);
                return;
            }
        };
        let sequential = !matches!(w.pattern, Pattern::Random { .. });
        let own = w.regions == Regions::Disjoint && count.is_multiple_of(jobs);
        let each = if own { count / jobs } else { count };
        if each > 1 {
            self.set("file_service_type", if sequential { "sequential" } else { "random" });
        }
        if own {
            let name = format!("part{}", self.number);
            self.set("nrfiles", each);
            self.set("filename_format", format!("{name}.$jobnum.$filenum"));
            self.set("size", bytes / jobs);
            let names = (0..count).map(|i| (format!("{name}.{}.{}", i / each, i % each), i as usize));
            self.links = names.collect();
            return;
        }
        let names: Vec<String> = (0..count).map(|i| format!("set{}.{i}", w.files.number)).collect();
        self.set("filename", names.join(":"));
        self.links = names.into_iter().zip(0..).collect();
        self.regions(w, bytes, Some(count));
    }

    fn regions(&mut self, w: &Workload, bytes: u64, count: Option<u64>) {
        let jobs = u64::from(w.jobs);
        match w.regions {
            Regions::Shared => self.set("size", bytes),
            Regions::Disjoint if jobs == 1 => self.set("size", bytes),
            Regions::Disjoint => {
                let block = u64::from(w.largest_block());
                let part = bytes / jobs / block * block;
                self.set("offset_increment", part);
                self.set("size", part);
                if count.is_some_and(|count| count > 1) {
                    self.refuse("several jobs with separate parts of several files");
                }
            }
            Regions::Spaced { offset_bytes, increment_bytes, len_bytes } => {
                self.set("offset", offset_bytes);
                self.set("offset_increment", increment_bytes);
                if len_bytes > 0 {
                    self.set("size", len_bytes);
                }
                if let Some(count) = count {
                    self.set("filesize", bytes / count);
                }
            }
        }
    }

    fn preparation(&mut self, step: &Step, job_target: &JobTarget) {
        let writes = step.workload.writes_data() || matches!(step.workload.mix, Mix::Allocate);
        match step.prepare {
            Preparation::Written if writes && matches!(job_target, JobTarget::Directory { .. }) => {
                self.set("overwrite", 1)
            }
            Preparation::Fresh => self.set("fallocate", "none"),
            Preparation::Written | Preparation::Reserved => {}
        }
    }

    fn end(&mut self, step: &Step, job_target: &JobTarget) {
        let (stop, jobs) = (step.stop, u64::from(step.workload.jobs));
        if let Some(ns) = stop.time_ns {
            self.time("runtime", ns);
        }
        if let Some(operations) = stop.operations {
            self.each("number_ios", operations, jobs);
        }
        let (JobTarget::Directory { bytes } | JobTarget::Target { bytes, .. }) = job_target;
        match (stop.bytes, stop.passes) {
            (Some(bytes), _) => self.each("io_size", bytes, jobs),
            (None, Some(passes)) => self.set("loops", passes),
            (None, None) if step.prepare == Preparation::Fresh => self.set("loops", 1),
            (None, None) if stop.operations.is_some() => {
                // Otherwise fio ends after one pass.
                let block = u64::from(step.workload.largest_block());
                let all = stop.operations.unwrap_or(0).saturating_mul(block).max(*bytes);
                self.each("io_size", all.next_multiple_of(jobs * block), jobs);
            }
            (None, None) => self.set("time_based", 1),
        }
    }

    /// A rate, which fio takes per job and direction in whole operations.
    fn pace(&mut self, w: &Workload) {
        let (per_second, at_random) = match w.pace {
            Pace::Closed => return,
            Pace::Fixed { per_second } => (per_second, false),
            Pace::Poisson { per_second } => (per_second, true),
        };
        let share = match w.mix {
            Mix::Transfer { read_percent } => f64::from(read_percent) / 100.0,
            _ => 0.0,
        };
        let each = per_second / f64::from(w.jobs);
        let by_direction = [each * share, each * (1.0 - share)];
        let is_whole = |rate: &f64| (rate - rate.round()).abs() < 1e-6;
        let blocks = [w.block.read, if matches!(w.mix, Mix::Trim) { w.block.trim } else { w.block.write }];
        let mut bytes = by_direction;
        bytes.iter_mut().zip(blocks).for_each(|(rate, block)| *rate *= f64::from(block));
        let (key, [reads, writes]) = if by_direction.iter().all(is_whole) {
            ("rate_iops", by_direction)
        } else if w.modifiers.split.is_none() && bytes.iter().all(is_whole) {
            ("rate", bytes)
        } else {
            self.refuse(format!(
                "{per_second} operations per second are not a whole number per job and direction"
            ));
            return;
        };
        let (reads, writes) = (reads.round() as u64, writes.round() as u64);
        self.set(key, format!("{reads},{writes},{writes}"));
        if at_random {
            self.set("rate_process", "poisson");
        }
    }

    fn syncs(&mut self, w: &Workload) {
        match w.open_sync {
            OpenSync::None => {}
            OpenSync::Sync => self.set("sync", "sync"),
            OpenSync::Dsync => self.set("sync", "dsync"),
        }
        if w.sync.every > 0 {
            self.set(if w.sync.data_only { "fdatasync" } else { "fsync" }, w.sync.every);
        }
        if w.sync.at_end {
            self.set("end_fsync", 1);
        }
        if w.modifiers.sync_all_files {
            self.refuse("syncs of all files after every N operations, as in sysbench");
        }
    }

    fn content(&mut self, w: &Workload) {
        match w.data.class {
            model::DataClass::Zero => self.set("zero_buffers", 1),
            model::DataClass::Random => {}
        }
        if w.data.compress_percent > 0 {
            self.set("buffer_compress_percentage", w.data.compress_percent);
        }
        if w.data.dedupe_percent > 0 {
            self.set("dedupe_percentage", w.data.dedupe_percent);
        }
        if w.verify {
            self.set("verify", "xxhash");
        }
    }

    fn modifiers(&mut self, step: &Step) {
        let modifiers = &step.workload.modifiers;
        if modifiers.calls.is_some() {
            self.refuse("blocks split into smaller calls");
        }
        if modifiers.again.is_some() {
            self.refuse("passes that repeat for at least a given time");
        }
        if modifiers.read_first.is_some() {
            self.refuse("reading at each offset before the operation");
        }
        if modifiers.log_offset {
            self.refuse("logging the offset and time of each operation");
        }
        if modifiers.start_delay_ns > 0 {
            self.time("startdelay", modifiers.start_delay_ns);
        }
        if let Some(think) = modifiers.think {
            self.time("thinktime", think.ns);
            self.set("thinktime_blocks", think.every);
        }
        if modifiers.flow > 0 {
            self.set("flow", modifiers.flow);
        }
        if modifiers.ends_all {
            self.set("exitall", 1);
        }
        if let Some(rule) = modifiers.steady {
            let figure = match rule.figure {
                SteadyFigure::Iops => "iops",
                SteadyFigure::Bandwidth => "bw",
                SteadyFigure::Latency => "lat",
            };
            let slope = if rule.slope { "_slope" } else { "" };
            self.set("steadystate", format!("{figure}{slope}:{}%", rule.limit_percent));
            self.time("steadystate_duration", rule.window_ns);
            if rule.ramp_ns > 0 {
                self.time("steadystate_ramp_time", rule.ramp_ns);
            }
        }
        if let Some(target) = modifiers.latency_target {
            self.time("latency_target", target.ns);
            self.set("latency_percentile", target.percent);
            self.time("latency_window", target.window_ns);
        }
        match step.max_errors {
            1 => {}
            many if many.to_string() == MANY_ERRORS => self.set("continue_on_error", "all"),
            n => self.refuse(format!("a limit of {n} errors: fio ends at the first error or at none")),
        }
    }
}

/// `4096-16384` if the sizes are all multiples of the smallest up to the largest, with equal shares.
fn range(shares: &[SizeShare]) -> Option<String> {
    let (low, high) = (shares.first()?.bytes, shares.last()?.bytes);
    let percent = 100.0 / shares.len() as f64;
    let fits =
        |(n, share): (u32, &SizeShare)| share.bytes == n * low && (share.percent - percent).abs() < 1e-6;
    (shares.len() > 1 && (1..).zip(shares).all(fits)).then(|| format!("{low}-{high}"))
}
