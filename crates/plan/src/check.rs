//! Contradictions within a step, and between a step and a target.

use model::units::{ExactSize, counted};
use model::{
    CacheState, Capabilities, DataClass, EngineChoice, EngineKind, Mix, OpenSync, Preparation, ReadFirst,
    Regions, Step, Target, TargetKind, Workload,
};

use crate::draft::{Draft, Rw};

/// A contradiction, and whether it stops the run.
pub(crate) struct Contradiction {
    pub fatal: bool,
    /// Options that it concerns, the most relevant first.
    pub keys: Keys,
    pub message: String,
    pub help: String,
}

type Keys = &'static [&'static str];

fn fatal(keys: Keys, message: impl Into<String>, help: impl Into<String>) -> Contradiction {
    Contradiction { fatal: true, keys, message: message.into(), help: help.into() }
}

fn warning(keys: Keys, message: impl Into<String>, help: impl Into<String>) -> Contradiction {
    Contradiction { fatal: false, keys, message: message.into(), help: help.into() }
}

/// All contradictions in a draft.
pub(crate) fn contradictions(draft: &Draft) -> Vec<Contradiction> {
    let mut found = Vec::new();
    if draft.fsync > 0 && draft.fdatasync > 0 {
        found.push(fatal(&["fsync", "fdatasync"], "both fsync and fdatasync are set", "keep one of them"));
    }
    if draft.rate_iops.is_some() && draft.rate_bytes.is_some() {
        found.push(fatal(&["rate_iops", "rate"], "both rate_iops and rate are set", "keep one of them"));
    }
    let ends = draft.io_size.is_some() || draft.operations.is_some() || draft.loops.is_some();
    let ends = ends
        || draft.min_runtime_ns.is_some()
            && (draft.rw == Rw::Metadata || draft.prepare == Preparation::Fresh);
    if draft.runtime_ns.is_none() && !ends {
        found.push(fatal(
            &["runtime", "io_size", "ops", "loops"],
            "nothing ends a repeat",
            "set runtime, io_size, ops or loops",
        ));
    }
    if draft.runtime_ns == Some(0) {
        found.push(fatal(&["runtime"], "a runtime of 0 measures nothing", "set a duration such as 2s"));
    }
    if draft.ramp_ns > 0 && draft.runtime_ns.is_none() {
        found.push(fatal(
            &["ramp", "runtime"],
            "a ramp without a runtime may swallow the whole repeat",
            "set runtime, or leave out ramp",
        ));
    }
    if draft.rw == Rw::Metadata && (draft.rate_iops.is_some() || draft.rate_bytes.is_some()) {
        found.push(fatal(
            &["rate_iops", "rate", "rw"],
            "metadata operations have no rate: their passes follow each other",
            "leave out rate and rate_iops",
        ));
    }
    if draft.rw == Rw::Metadata && draft.loops.is_some() {
        found.push(fatal(
            &["loops", "rw"],
            "metadata operations have no data to pass over",
            "use runtime, ops or min_runtime",
        ));
    }
    modifier_contradictions(draft, &mut found);
    offset_contradictions(draft, &mut found);
    call_contradictions(draft, &mut found);
    if draft.rw == Rw::Metadata && draft.open_sync != OpenSync::None {
        found.push(fatal(
            &["sync", "rw"],
            "sync does not apply to metadata operations",
            "use fsync to sync after every N created files",
        ));
    }
    if draft.data == DataClass::Zero && (draft.compress > 0 || draft.dedupe > 0) {
        found.push(fatal(
            &["compress", "dedupe", "data"],
            "compress and dedupe do not apply to zeros",
            "use data = \"random\" with compress and dedupe",
        ));
    }
    found
}

/// Contradictions of the rarer options.
fn modifier_contradictions(draft: &Draft, found: &mut Vec<Contradiction>) {
    let sequential = !draft.rw.is_random() && draft.rw != Rw::Metadata;
    let odd_stride = draft.stride.is_some_and(|(run, skip)| {
        let fits = |bytes: u64| draft.bs.iter().all(|bs| bytes.is_multiple_of(u64::from(*bs)));
        !(fits(run) && fits(skip.unsigned_abs()))
    });
    let rare = draft.think.is_some()
        || draft.flow > 0
        || draft.start_delay_ns > 0
        || draft.latency_target.is_some()
        || draft.bs_split.is_some();
    let checks: [(Keys, bool, &str, &str); 7] = [
        (
            &["stride", "rw"],
            draft.stride.is_some() && !sequential,
            "a stride needs sequential I/O",
            "leave out stride, or use read, write, rw or trim",
        ),
        (
            &["stride", "bs"],
            odd_stride,
            "run and skip of a stride must be multiples of the block size",
            "use multiples of bs",
        ),
        (
            &["stride", "bs_split"],
            draft.stride.is_some() && draft.bs_split.is_some(),
            "a stride needs one block size",
            "leave out one of them",
        ),
        (
            &["bs_align", "bs_split"],
            draft.bs_align.is_some() && draft.bs_split.is_none() || draft.bs_align == Some(0),
            "bs_align sets the alignment of drawn block sizes",
            "use it with bs_split",
        ),
        (
            &["bs_split", "verify"],
            draft.bs_split.is_some() && draft.verify,
            "verify needs one block size",
            "leave out one of them",
        ),
        (
            &["fsync_files", "fsync", "fdatasync"],
            draft.sync_all_files && draft.fsync.max(draft.fdatasync) == 0,
            "fsync_files = all needs the number of operations between syncs",
            "set fsync or fdatasync",
        ),
        (
            &["rw", "thinktime", "flow", "start_delay", "latency_target", "bs_split"],
            draft.rw == Rw::Metadata && rare,
            "metadata operations have no thinktime, flow, start_delay, latency_target or bs_split",
            "leave them out",
        ),
    ];
    let wrong = checks.into_iter().filter(|(_, wrong, ..)| *wrong);
    found.extend(wrong.map(|(keys, _, what, help)| fatal(keys, what, help)));
}

/// Contradictions of options that concern single offsets.
fn offset_contradictions(draft: &Draft, found: &mut Vec<Contradiction>) {
    let sequential = !draft.rw.is_random() && draft.rw != Rw::Metadata;
    let has_others = draft.stride.is_some() || draft.bs_split.is_some() || draft.files > 1 || draft.verify;
    // Only the loop of single transfers reads first; the path of any other option does not.
    let is_plain = draft.engine == EngineChoice::Only(EngineKind::Psync)
        && draft.rate_iops.is_none()
        && draft.rate_bytes.is_none()
        && draft.think.is_none()
        && draft.flow == 0
        && draft.latency_target.is_none()
        && draft.cache != CacheState::ColdEach
        && draft.fsync.max(draft.fdatasync) == 0
        && !draft.verify;
    let wants = match draft.rw {
        Rw::Read | Rw::RandRead => Some(ReadFirst::Page),
        Rw::Write | Rw::RandWrite => Some(ReadFirst::Block),
        _ => None,
    };
    let checks: [(Keys, bool, &str, &str); 5] = [
        (
            &["spaced", "rw"],
            draft.spaced.is_some() && !sequential,
            "evenly spaced blocks need sequential I/O",
            "leave out spaced, or use read, write, rw or trim",
        ),
        (
            &["spaced", "stride", "bs_split", "files", "verify"],
            draft.spaced.is_some() && has_others,
            "evenly spaced blocks may overlap, and need one file and one block size",
            "leave out stride, bs_split, files and verify",
        ),
        (
            &["read_first", "rw"],
            draft.read_first.is_some() && draft.read_first != wants,
            "read_first reads a page before reads, and the block to write back before writes",
            "use read_first = \"page\" with read or randread, and \"back\" with write or randwrite",
        ),
        (
            &[
                "read_first",
                "engine",
                "rate",
                "rate_iops",
                "thinktime",
                "flow",
                "latency_target",
                "cache",
                "fsync",
                "fdatasync",
                "verify",
            ],
            draft.read_first.is_some() && !is_plain,
            "read_first works only with psync, and only where transfers follow each other with nothing between",
            "set engine = \"psync\"; leave out rates, pauses, syncs (sync = \"sync\" is possible) and verify",
        ),
        (
            &["log_offset", "rw"],
            draft.log_offset && draft.rw == Rw::Metadata,
            "metadata operations have no offsets",
            "leave out log_offset",
        ),
    ];
    let wrong = checks.into_iter().filter(|(_, wrong, ..)| *wrong);
    found.extend(wrong.map(|(keys, _, what, help)| fatal(keys, what, help)));
}

/// Contradictions of work by plain calls and of repeated passes.
fn call_contradictions(draft: &Draft, found: &mut Vec<Contradiction>) {
    let plain = matches!(draft.rw, Rw::Read | Rw::Write | Rw::RandRead | Rw::RandWrite);
    let updates = matches!(draft.rw, Rw::Update | Rw::RandUpdate);
    let is_metadata = draft.rw == Rw::Metadata;
    let again = draft.min_runtime_ns.is_some();
    let by_calls = updates || draft.call_bytes.is_some() || again && !is_metadata;
    let odd_call =
        draft.call_bytes.is_some_and(|call| draft.bs.iter().any(|bs| !u64::from(*bs).is_multiple_of(call)));
    let rare = draft.think.is_some()
        || draft.flow > 0
        || draft.start_delay_ns > 0
        || draft.latency_target.is_some()
        || draft.bs_split.is_some()
        || draft.sync_all_files
        || draft.rate_iops.is_some()
        || draft.rate_bytes.is_some();
    let empties = again && !is_metadata && draft.prepare == Preparation::Fresh;
    let checks: [(Keys, bool, &str, &str); 9] = [
        (
            &["stream", "call"],
            draft.stream_bytes.is_some() && draft.call_bytes.is_none(),
            "a stream is a buffer between calls and the kernel",
            "set call",
        ),
        (
            &["call", "rw"],
            draft.call_bytes.is_some() && !plain,
            "only reads or writes can be split into smaller calls",
            "use read, write, randread or randwrite",
        ),
        (&["call", "bs"], odd_call, "a block must be a whole number of calls", "use a call that divides bs"),
        (
            &["min_runtime", "rw"],
            again && !plain && !updates && !is_metadata,
            "only reads, writes, updates and metadata operations can be repeated",
            "leave out min_runtime",
        ),
        (
            &["min_runtime", "ramp"],
            again && draft.ramp_ns > 0,
            "a ramp would cut passes that must be whole",
            "leave out ramp",
        ),
        (
            &["min_runtime", "prepare"],
            again && draft.prepare == Preparation::Reserved,
            "the first write converts reserved space, and it cannot be converted again",
            "use prepare = \"fresh\" or \"written\"",
        ),
        (
            &["min_runtime", "jobs", "prepare"],
            empties && draft.jobs > 1,
            "one job would empty the files that another writes",
            "use one job, or prepare = \"written\"",
        ),
        (
            &["verify", "call", "rw", "min_runtime"],
            by_calls && draft.verify,
            "work by plain calls is not verified",
            "leave out verify",
        ),
        (
            &["rw", "call", "min_runtime", "thinktime", "flow", "start_delay", "latency_target", "bs_split"],
            by_calls && rare,
            "work by plain calls has no thinktime, flow, start_delay, rate, rate_iops, latency_target, bs_split or \
             fsync_files = all",
            "leave them out",
        ),
    ];
    let wrong = checks.into_iter().filter(|(_, wrong, ..)| *wrong);
    found.extend(wrong.map(|(keys, _, what, help)| fatal(keys, what, help)));
}

/// Everything in a workload that cannot work with the engine that it names.
pub(crate) fn misfits(step: &Step, engine: Option<&Capabilities>, memory_bytes: u64) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let w = &step.workload;
    if let (EngineChoice::Only(kind), None) = (step.engine, engine) {
        found.push(fatal(
            &["engine"],
            format!("{kind} does not work on this machine"),
            "use engine = \"auto\" for the best that does",
        ));
    }
    if let Some(engine) = engine {
        engine_misfits(step, engine, &mut found);
    }
    size_misfits(w, memory_bytes, &mut found);
    if w.verify {
        verify_misfits(step, &mut found);
    }
    if step.prepare != Preparation::Written && w.writes_back() {
        found.push(fatal(
            &["prepare", "read_first"],
            "fresh files hold nothing to write back",
            "use prepare = \"written\"",
        ));
    }
    if w.is_by_calls() {
        call_misfits(step, &mut found);
    }
    if step.prepare != Preparation::Written && (w.reads_data() || matches!(w.mix, Mix::Trim)) {
        found.push(fatal(
            &["prepare", "rw"],
            "fresh files hold nothing to read or trim",
            "use prepare = \"written\"",
        ));
    }
    found
}

/// What work by plain calls rules out.
fn call_misfits(step: &Step, found: &mut Vec<Contradiction>) {
    let w = &step.workload;
    if !matches!(step.engine, EngineChoice::Auto | EngineChoice::Only(EngineKind::Psync)) {
        found.push(fatal(
            &["engine", "rw", "call", "min_runtime"],
            "updates, split blocks and repeated passes are plain calls",
            "use engine = \"psync\"",
        ));
    }
    if w.modifiers.calls.is_some() && w.direct {
        found.push(fatal(
            &["call", "direct"],
            "calls smaller than a block go through the page cache",
            "set direct = false",
        ));
    }
    if matches!(w.mix, Mix::Update { .. }) && w.block.read != w.block.write {
        found.push(fatal(
            &["bs", "rw"],
            "an update writes back the block that was read",
            "use one block size",
        ));
    }
}

/// What concurrent workloads of a step rule out.
pub(crate) fn concurrent_misfits(step: &Step) -> Vec<Contradiction> {
    let mut found = Vec::new();
    if step.concurrent.is_empty() {
        return found;
    }
    if step.parts().any(|part| part.workload.verify) {
        found.push(fatal(
            &["verify"],
            "a verified workload cannot have concurrent workloads",
            "verify in a step of its own",
        ));
    }
    if step.parts().any(|part| part.workload.is_metadata() != step.workload.is_metadata()) {
        found.push(fatal(
            &["rw"],
            "metadata operations and data I/O cannot run concurrently",
            "put them in separate steps",
        ));
    }
    let weighed = step.parts().filter(|part| part.workload.modifiers.flow > 0).count();
    if weighed > 0 && weighed <= step.concurrent.len() {
        found.push(fatal(
            &["flow"],
            "either all concurrent workloads have a flow or none has",
            "set flow in all of them",
        ));
    }
    found
}

fn engine_misfits(step: &Step, engine: &Capabilities, found: &mut Vec<Contradiction>) {
    let w = &step.workload;
    if engine.buffered_only && w.direct {
        found.push(fatal(
            &["direct", "engine"],
            format!("{} cannot bypass the page cache", engine.kind),
            "set direct = false",
        ));
    }
    if engine.kind == EngineKind::Mmap && step.prepare == Preparation::Fresh {
        found.push(fatal(
            &["prepare", "engine"],
            "an empty file cannot be mapped",
            "use prepare = \"written\" or another engine",
        ));
    }
    if matches!(w.mix, Mix::Trim) && !engine.trim {
        found.push(fatal(&["engine", "rw"], format!("{} cannot trim", engine.kind), "use another engine"));
    }
    if matches!(w.mix, Mix::Allocate | Mix::Truncate) && engine.kind == EngineKind::Mmap {
        found.push(fatal(&["engine", "rw"], "mmap cannot change a file's space", "use another engine"));
    }
    if matches!(w.mix, Mix::Truncate) && step.prepare == Preparation::Written {
        found.push(fatal(
            &["rw", "prepare"],
            "a truncated file would be missing what other steps read",
            "use prepare = \"reserved\"",
        ));
    }
    if w.iodepth > engine.max_iodepth && engine.synchronous {
        found.push(warning(
            &["iodepth", "engine"],
            format!("{} does one operation at a time: iodepth {} works like 1", engine.kind, w.iodepth),
            "use more jobs for more operations at a time",
        ));
    } else if w.iodepth > engine.max_iodepth {
        found.push(fatal(
            &["iodepth"],
            format!("{} takes at most {} operations in flight", engine.kind, engine.max_iodepth),
            "use a smaller iodepth or more jobs",
        ));
    }
}

fn size_misfits(w: &Workload, memory_bytes: u64, found: &mut Vec<Contradiction>) {
    if w.is_metadata() {
        return;
    }
    let used = w.used_blocks();
    let largest = w.largest_block();
    // Blocks of drawn sizes overlap: they have no fixed offsets.
    if let Some(odd) = used.iter().find(|b| !largest.is_multiple_of(**b) && w.modifiers.split.is_none()) {
        found.push(fatal(
            &["bs"],
            format!(
                "block sizes {} and {} do not divide one another",
                ExactSize(u64::from(largest)),
                ExactSize(u64::from(*odd))
            ),
            "use a multiple, so that every block has a fixed offset",
        ));
    }
    if let Some(size) = w.files.size_bytes {
        let file = size / u64::from(w.files.count);
        let blocks = file / u64::from(largest) * u64::from(w.files.count);
        if blocks < if w.regions == Regions::Disjoint { u64::from(w.jobs) } else { 1 } {
            found.push(fatal(
                &["size", "bs", "jobs", "files"],
                format!(
                    "{} in {} has no room for one block of {} per job ({} jobs)",
                    ExactSize(size),
                    counted(w.files.count as usize, "file"),
                    ExactSize(u64::from(largest)),
                    w.jobs
                ),
                "use a larger size or a smaller bs",
            ));
        }
    }
    let buffers = u64::from(w.jobs) * u64::from(w.iodepth) * used.iter().map(|b| u64::from(*b)).sum::<u64>();
    if memory_bytes > 0 && buffers > memory_bytes / 2 {
        found.push(fatal(
            &["bs", "iodepth", "jobs"],
            format!(
                "the buffers alone would take {:.1} GB of this machine's {:.1} GB of memory",
                buffers as f64 / 1e9,
                memory_bytes as f64 / 1e9
            ),
            "use a smaller bs, iodepth or jobs",
        ));
    }
}

fn verify_misfits(step: &Step, found: &mut Vec<Contradiction>) {
    const HELP: &str = "change that, or leave out verify";
    let w = &step.workload;
    let checks: [(Keys, bool, &str); 7] = [
        (&["verify", "rw"], !w.reads_data() && !w.writes_data(), "verify needs reads or writes of data"),
        (
            &["bs", "verify"],
            w.reads_data() && w.writes_data() && w.block.read != w.block.write,
            "verify needs one block size in both directions",
        ),
        (
            &["bs", "verify"],
            w.block.read.min(w.block.write) < 512 || !w.block.read.is_multiple_of(8),
            "verify needs blocks of at least 512 bytes, in multiples of 8",
        ),
        (&["data", "verify"], w.data.class == DataClass::Zero, "verify cannot stamp blocks of zeros"),
        (
            &["dedupe", "verify"],
            w.data.dedupe_percent > 0,
            "verify makes every block different: dedupe is impossible",
        ),
        (
            &["regions", "jobs", "verify"],
            w.jobs > 1 && regions_overlap(w.regions),
            "verify needs jobs with regions of their own",
        ),
        (&["prepare", "verify"], step.prepare != Preparation::Written, "verify needs written files"),
    ];
    let wrong = checks.into_iter().filter(|(_, wrong, _)| *wrong);
    found.extend(wrong.map(|(keys, _, what)| fatal(keys, what, HELP)));
}

/// True if two jobs may work on the same blocks.
fn regions_overlap(regions: Regions) -> bool {
    match regions {
        Regions::Shared => true,
        Regions::Disjoint => false,
        Regions::Spaced { increment_bytes, len_bytes, .. } => len_bytes == 0 || len_bytes > increment_bytes,
    }
}

/// Why a step on its own cannot run on a target; `None` if it can.
pub(crate) fn obstacle(step: &Step, target: &Target) -> Option<String> {
    step.parts().find_map(|part| part_obstacle(part, target))
}

fn part_obstacle(step: &Step, target: &Target) -> Option<String> {
    let w = &step.workload;
    if w.modifies() && !target.writable {
        return Some(format!(
            "it writes, and Lodestone may not overwrite {}: add --overwrite {} to allow that",
            target.name,
            target.path.display()
        ));
    }
    if w.verify && !target.writable {
        return Some("verification needs data that Lodestone itself has written".into());
    }
    if matches!(w.mix, Mix::Allocate | Mix::Truncate) && target.kind != TargetKind::Directory {
        return Some("it allocates or truncates files of its own, which needs a directory".into());
    }
    if target.kind != TargetKind::Directory {
        if w.is_metadata() {
            return Some("it creates files, which needs a directory".into());
        }
        if step.prepare != Preparation::Written {
            return Some("it needs new files, which needs a directory".into());
        }
        let room = target.size_bytes;
        if w.files.size_bytes.is_some_and(|size| size > room) {
            return Some(format!(
                "it needs {}, and the target has {room} bytes",
                ExactSize(w.files.size_bytes.unwrap_or(0))
            ));
        }
    }
    if w.direct && target.direct && !w.is_metadata() {
        let split = w.modifiers.split.iter();
        let drawn = split.flat_map(|split| split.read.iter().chain(&split.write).chain(&split.trim));
        let drawn = drawn.map(|share| share.bytes);
        let odd = w.used_blocks().into_iter().chain(drawn).find(|b| !b.is_multiple_of(target.block_bytes));
        if let Some(odd) = odd {
            return Some(format!(
                "direct I/O here needs multiples of {} bytes, and a block has {odd} bytes",
                target.block_bytes
            ));
        }
    }
    None
}
