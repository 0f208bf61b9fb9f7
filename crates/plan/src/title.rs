//! The title of a step in reports.

use model::units::ExactSize;
use model::{
    BufferPages, DataClass, Distribution, Mix, Names, OpenSync, Pace, Pattern, Preparation, Step, Workload,
};

/// A title of what distinguishes the step, such as `Random read, 4 KiB, depth 32`.
pub(crate) fn title(step: &Step) -> String {
    let w = &step.workload;
    let mut parts = vec![subject(w, step.prepare)];
    if let Mix::Metadata(work) = &w.mix
        && work.names == Names::Directories
    {
        parts.push(format!("{} directories", work.files));
    } else if let Mix::Metadata(work) = &w.mix {
        parts.push(format!("{} files of {}", work.files, ExactSize(work.file_bytes)));
    } else {
        parts.push(block(w));
        if w.iodepth > 1 || !matches!(w.pattern, Pattern::Sequential) {
            parts.push(format!("depth {}", w.iodepth));
        }
    }
    if let Some(calls) = w.modifiers.calls {
        let through = if calls.buffer_bytes > 0 { "a stream's" } else { "system" };
        parts.push(format!("in {through} calls of {}", ExactSize(u64::from(calls.bytes))));
    }
    if w.jobs > 1 {
        parts.push(format!("{} jobs", w.jobs));
    }
    if w.files.count > 1 {
        parts.push(format!("{} files", w.files.count));
    }
    if !w.direct && !w.is_metadata() {
        parts.push("buffered".into());
    }
    if w.modifiers.buffers == BufferPages::Normal {
        parts.push("ordinary pages".into());
    }
    parts.extend(pace(w.pace));
    parts.extend(syncs(w));
    if w.writes_data() && w.data.class == DataClass::Zero {
        parts.push("zeros".into());
    }
    match step.concurrent.len() {
        0 => {}
        1 => parts.push("and another concurrent workload".into()),
        n => parts.push(format!("and {n} other concurrent workloads")),
    }
    parts.join(", ")
}

fn subject(w: &Workload, prepare: Preparation) -> String {
    let order = match &w.pattern {
        Pattern::Sequential => "Sequential",
        Pattern::Strided { skip_bytes: ..0, .. } => "Backward",
        Pattern::Strided { .. } => "Strided",
        Pattern::Spaced { .. } => "Evenly spaced",
        Pattern::Random { distribution, .. } => match distribution {
            Distribution::Uniform => "Random",
            Distribution::Zipf { .. } => "Random (zipf)",
            Distribution::Pareto { .. } => "Random (pareto)",
            Distribution::Normal { .. } => "Random (normal)",
            Distribution::Zoned(_) => "Random (zoned)",
            Distribution::Sequence { .. } => "Sequence of blocks:",
        },
    };
    let writing = if prepare == Preparation::Written { "write" } else { "first write" };
    match &w.mix {
        Mix::Transfer { read_percent: 100 } => format!("{order} read"),
        Mix::Transfer { read_percent: 0 } => format!("{order} {writing}"),
        Mix::Transfer { read_percent } => format!("{order} mix {read_percent}/{}", 100 - read_percent),
        Mix::Update { write_percent: 100 } => format!("{order} read and write back"),
        Mix::Update { write_percent } => format!("{order} read, {write_percent} % written back"),
        Mix::Trim => format!("{order} trim"),
        Mix::Allocate => format!("{order} allocation"),
        Mix::Truncate => format!("{order} truncation"),
        Mix::Metadata(work) if work.names == Names::Directories => "Many directories".into(),
        Mix::Metadata(_) => "Many small files".into(),
    }
}

fn block(w: &Workload) -> String {
    if let Some(split) = &w.modifiers.split {
        let sizes = || split.read.iter().chain(&split.write).chain(&split.trim).map(|s| s.bytes);
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        return format!("{} to {}", ExactSize(u64::from(least)), ExactSize(u64::from(most)));
    }
    match (&w.mix, w.block) {
        (Mix::Trim, b) => ExactSize(u64::from(b.trim)).to_string(),
        (Mix::Allocate | Mix::Truncate, b) => ExactSize(u64::from(b.write)).to_string(),
        (Mix::Transfer { read_percent: 100 }, b) => ExactSize(u64::from(b.read)).to_string(),
        (Mix::Transfer { read_percent: 0 }, b) => ExactSize(u64::from(b.write)).to_string(),
        (_, b) if b.read == b.write => ExactSize(u64::from(b.read)).to_string(),
        (_, b) => format!("{}/{}", ExactSize(u64::from(b.read)), ExactSize(u64::from(b.write))),
    }
}

fn pace(pace: Pace) -> Option<String> {
    match pace {
        Pace::Closed => None,
        Pace::Fixed { per_second } => Some(format!("{per_second:.0}/s offered")),
        Pace::Poisson { per_second } => Some(format!("{per_second:.0}/s offered at random")),
    }
}

fn syncs(w: &Workload) -> Option<String> {
    if !w.writes_data() && !w.is_metadata() {
        return None;
    }
    let name = if w.sync.data_only { "fdatasync" } else { "fsync" };
    match (w.sync.every, w.open_sync) {
        (0, OpenSync::None) => None,
        (0, OpenSync::Sync) => Some("O_SYNC".into()),
        (0, OpenSync::Dsync) => Some("O_DSYNC".into()),
        (1, _) => Some(format!("{name} each")),
        (n, _) => Some(format!("{name} every {n}")),
    }
}
