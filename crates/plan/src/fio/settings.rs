//! A job's settings, as a step of a suite would have them.

use super::job::Job;
use super::values::{Size, boolean, time};
use super::{error, warning};
use crate::options::option;
use crate::parse::Setting;
use crate::problem::{Problem, SourceLocation};

/// Nanoseconds of a bare number in seconds and in microseconds.
const SECONDS: f64 = 1e9;
const MICROSECONDS: f64 = 1e3;
/// `max_errors` for fio's `continue_on_error`.
pub(super) const MANY_ERRORS: &str = "1000000000";
/// Most block sizes of a range.
const MOST_SIZES: u64 = 1024;

/// The files that jobs have named so far; the index of each is the number of its data set.
#[derive(Debug, Default)]
pub(super) struct Sets {
    names: Vec<String>,
    /// Those that an earlier step has created.
    made: Vec<String>,
    touched: Vec<String>,
}

impl Sets {
    fn number(&mut self, name: &str) -> usize {
        self.touched.push(name.to_owned());
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Marks the files that the jobs so far have named as existing for later steps.
    pub fn end_step(&mut self) {
        self.made.append(&mut self.touched);
    }
}

/// Settings under construction.
struct Writer<'a> {
    job: &'a Job,
    settings: Vec<Setting>,
    problems: &'a mut Vec<Problem>,
}

impl Writer<'_> {
    /// Sets an option because of the line with key `because`, or because fio's default differs.
    fn set(&mut self, key: &str, text: impl Into<String>, because: &str) {
        let span = self.job.line(because).map_or(&self.job.span, |line| &line.span);
        let key = option(key).map(|option| option.key);
        debug_assert!(key.is_some(), "settings are options");
        if let Some(key) = key {
            self.settings.retain(|setting| setting.key != key);
            self.settings.push(Setting {
                key,
                text: text.into(),
                location: SourceLocation::Suite(span.clone()),
            });
        }
    }

    fn refuse(&mut self, because: &str, why: impl Into<String>) {
        let span = self.job.line(because).map_or(&self.job.span, |line| &line.span);
        self.problems.push(error(span, format!("{because}: {}", why.into())));
    }

    fn warn(&mut self, because: &str, what: impl Into<String>) {
        let span = self.job.line(because).map_or(&self.job.span, |line| &line.span);
        self.problems.push(warning(span, format!("{because}: {}", what.into())));
    }

    fn number(&mut self, key: &str) -> Option<u64> {
        self.job.number(key, self.problems)
    }

    fn time(&mut self, key: &str, unit_ns: f64) -> Option<u64> {
        self.job.time(key, unit_ns, self.problems)
    }

    fn on(&mut self, key: &str) -> bool {
        self.job.switch(key, self.problems).unwrap_or(false)
    }
}

/// A time as a suite writes it.
fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.iter().find(|(_, length)| ns.is_multiple_of(*length));
    unit.map_or_else(|| format!("{ns}ns"), |(name, length)| format!("{}{name}", ns / length))
}

/// The time of every repeat as a suite writes it: fio keeps to it.
fn exactly(ns: u64) -> String {
    format!("={}", duration(ns))
}

/// The settings of one job of a concurrent group.
pub(super) fn settings(
    job: &Job,
    group: &[Job],
    sets: &mut Sets,
    target_bytes: Option<u64>,
    problems: &mut Vec<Problem>,
) -> Vec<Setting> {
    let mut writer = Writer { job, settings: Vec::new(), problems };
    writer.set("jobs", job.numjobs.to_string(), "numjobs");
    if let Some((of, operation)) = job.names() {
        names(&mut writer, of, operation);
        return writer.settings;
    }
    direction(&mut writer);
    blocks(&mut writer);
    engine(&mut writer);
    let made = files(&mut writer, sets, target_bytes);
    end(&mut writer, target_bytes);
    preparation(&mut writer, group, made, target_bytes);
    order(&mut writer);
    pace(&mut writer);
    syncs(&mut writer);
    content(&mut writer);
    concurrent(&mut writer, group);
    limits(&mut writer);
    writer.settings
}

/// Metadata operations: each of the job's files or directories once.
fn names(writer: &mut Writer<'_>, of: &str, operation: &str) {
    let count = writer.number("nrfiles").unwrap_or(1).max(1);
    let loops = writer.number("loops").unwrap_or(1).max(1);
    writer.set("rw", "metadata", "ioengine");
    writer.set("engine", "psync", "ioengine");
    writer.set("metadata_of", of, "ioengine");
    writer.set("metadata_ops", operation, "ioengine");
    writer.set("metadata_files", count.to_string(), "nrfiles");
    if writer.on("time_based")
        && let Some(ns) = writer.time("runtime", SECONDS)
    {
        writer.set("runtime", exactly(ns), "runtime");
    } else {
        writer.set("runtime", "none", "ioengine");
        writer.set("ops", (count * loops * writer.job.numjobs).to_string(), "nrfiles");
    }
}

fn direction(writer: &mut Writer<'_>) {
    let direction = writer.job.direction().to_owned();
    let word = match direction.as_str() {
        "readwrite" => "rw",
        "read" | "write" | "rw" | "randread" | "randwrite" | "randrw" | "trim" | "randtrim" => &direction,
        "trimwrite" | "randtrimwrite" => {
            writer.refuse("rw", "blocks that are trimmed and then written are not supported");
            "write"
        }
        other => {
            writer.refuse("rw", format!("`{other}` is not a direction of fio"));
            "read"
        }
    };
    let word = match (writer.job.engine(), word) {
        ("falloc", "write") => "allocate",
        ("falloc", "randwrite") => "randallocate",
        ("falloc", "trim" | "randtrim") => word,
        ("ftruncate", "write") => "truncate",
        ("ftruncate", "randwrite") => "randtruncate",
        ("falloc" | "ftruncate", other) => {
            writer.refuse("ioengine", format!("{other} with this engine is not supported"));
            word
        }
        _ => word,
    };
    writer.set("rw", word, "rw");
    let skip = writer.job.value("rw").and_then(|text| text.split_once(':')).map(|(_, skip)| skip.to_owned());
    if let Some(skip) = skip {
        skips(writer, &skip);
    }
    let share = match (writer.number("rwmixread"), writer.number("rwmixwrite")) {
        (Some(read), Some(write)) if writer.job.is_later("rwmixwrite", "rwmixread") => {
            Some((if read + write == 100 { read } else { 100u64.saturating_sub(write) }, "rwmixwrite"))
        }
        (Some(read), _) => Some((read, "rwmixread")),
        (None, Some(write)) => Some((100u64.saturating_sub(write), "rwmixwrite")),
        (None, None) => None,
    };
    if let Some((share, because)) = share {
        writer.set("rwmixread", share.to_string(), because);
    }
}

/// `rw=read:-8k`, and `rw=randread:8`.
fn skips(writer: &mut Writer<'_>, skip: &str) {
    if writer.job.direction().starts_with("rand") {
        if skip != "1" {
            writer.refuse("rw", "several operations in a row at each random offset are not supported");
        }
        return;
    }
    let bs = writer.job.read("bs", writer.problems, |text| writer.job.base.by_direction(text));
    match writer.job.base.signed(skip) {
        Ok(0) => {}
        Ok(skip) => {
            let run = bs.map_or(4096, |[read, ..]| read);
            writer.set("stride", format!("{run}:{skip}"), "rw");
        }
        Err(message) => writer.refuse("rw", message),
    }
}

fn blocks(writer: &mut Writer<'_>) {
    let (job, base) = (writer.job, writer.job.base);
    if let Some([read, write, trim]) = job.read("bs", writer.problems, |text| base.by_direction(text)) {
        writer.set("bs", format!("{read},{write},{trim}"), "bs");
    }
    let ranges = |text: &str| text.split(',').map(|part| base.range(part)).collect::<Result<Vec<_>, _>>();
    if let Some(ranges) = job.read("bsrange", writer.problems, ranges) {
        if ranges.iter().all(|(low, high)| low == high) {
            let sizes: Vec<String> = ranges.iter().map(|(low, _)| low.to_string()).collect();
            writer.set("bs", sizes.join(","), "bsrange");
        } else if ranges.iter().any(|(low, high)| *low == 0 || high / low > MOST_SIZES) {
            writer.refuse("bsrange", format!("more than {MOST_SIZES} block sizes"));
        } else {
            let split = ranges.iter().map(|(low, high)| multiples(*low, *high));
            writer.set("bs_split", split.collect::<Vec<_>>().join(","), "bsrange");
        }
    }
    let splits = |text: &str| text.split(',').map(|part| base.split(part)).collect::<Result<Vec<_>, _>>();
    if let Some(splits) = job.read("bssplit", writer.problems, splits) {
        let share = |(size, percent): &(u64, f64)| format!("{size}/{percent}");
        let split = splits.iter().map(|split| {
            let used = split.iter().filter(|(_, percent)| *percent > 0.0);
            used.map(share).collect::<Vec<_>>().join(":")
        });
        writer.set("bs_split", split.collect::<Vec<_>>().join(","), "bssplit");
    }
    if let Some([align, ..]) = job.read("blockalign", writer.problems, |text| base.by_direction(text)) {
        let is_drawn = writer.settings.iter().any(|setting| setting.key == "bs_split");
        let bs = job.value("bs").and_then(|text| base.by_direction(text).ok()).map_or(4096, |bs| bs[0]);
        if is_drawn {
            writer.set("bs_align", align.to_string(), "blockalign");
        } else if align > 0 && align != bs && !bs.is_multiple_of(align) {
            writer.set("bs_split", format!("{bs}/100"), "bs");
            writer.set("bs_align", align.to_string(), "blockalign");
        }
    }
}

/// All multiples of the smaller size up to the larger, with equal shares.
fn multiples(low: u64, high: u64) -> String {
    let sizes: Vec<u64> = (1..=high / low).map(|n| n * low).collect();
    let percent = 100.0 / sizes.len() as f64;
    sizes.iter().map(|size| format!("{size}/{percent:.9}")).collect::<Vec<_>>().join(":")
}

fn engine(writer: &mut Writer<'_>) {
    let engine = match writer.job.engine() {
        "io_uring" => "io_uring",
        "libaio" => "libaio",
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => "psync",
        "mmap" => "mmap",
        "null" => "noop",
        "falloc" | "ftruncate" => "psync",
        other => {
            let why = match other {
                "posixaio" | "solarisaio" | "windowsaio" => "use io_uring or libaio",
                "net" | "netsplice" | "rdma" => "a network is not storage",
                "cpuio" | "exec" => "it does not touch storage",
                "e4defrag" => "it moves no user data",
                "page_fault" | "guasi" | "splice" => "Lodestone does not have that engine",
                "sg" | "io_uring_cmd" => "commands that bypass the block layer are not supported",
                _ => "Lodestone does not have that engine, or it needs a library of its own",
            };
            writer.refuse("ioengine", format!("{other}: {why}"));
            "psync"
        }
    };
    writer.set("engine", engine, "ioengine");
    let depth = writer.number("iodepth").unwrap_or(1).max(1);
    let is_synchronous = matches!(engine, "psync" | "mmap");
    writer.set("iodepth", if is_synchronous { 1 } else { depth }.to_string(), "iodepth");
    let direct = match (writer.job.line("direct").is_some(), writer.job.line("buffered").is_some()) {
        (false, false) => false,
        (_, true) if writer.job.is_later("buffered", "direct") => !writer.on("buffered"),
        _ => writer.on("direct"),
    };
    writer.set("direct", if direct { "true" } else { "false" }, "direct");
    let cold = writer.job.switch("invalidate", writer.problems).unwrap_or(true) && !writer.on("pre_read");
    writer.set("cache", if cold { "cold" } else { "warm" }, "invalidate");
}

/// Which files, how many and how large. True if an earlier step has created them.
fn files(writer: &mut Writer<'_>, sets: &mut Sets, target_bytes: Option<u64>) -> bool {
    let (job, jobs) = (writer.job, writer.job.numjobs);
    let named = job.files();
    let each = match named.len() as u64 {
        0 => writer.number("nrfiles").unwrap_or(1).max(1),
        n => n,
    };
    let is_shared = !named.is_empty() || target_bytes.is_some();
    let identity = if named.is_empty() {
        format!("own {}", job.name)
    } else {
        job.value("filename").unwrap_or("").to_owned()
    };
    let made = sets.made.contains(&identity);
    let number = sets.number(&identity);
    if target_bytes.is_none() {
        writer.set("file_set", number.to_string(), "filename");
        let files = if is_shared { each } else { each * jobs };
        writer.set("files", files.to_string(), "nrfiles");
    }
    let sequential = !job.direction().starts_with("rand");
    if each > 1 && sequential && job.value("file_service_type") != Some("sequential") {
        writer.refuse("nrfiles", "files are accessed one after the other; set file_service_type=sequential");
    }
    let file =
        job.size("filesize", writer.problems).and_then(|size| bytes(writer, "filesize", size, target_bytes));
    let known = file.map(|bytes| bytes * each).or(target_bytes);
    let size = job.size("size", writer.problems).and_then(|size| bytes(writer, "size", size, known));
    let offset = job.size("offset", writer.problems).and_then(|size| bytes(writer, "offset", size, known));
    let increment = job
        .size("offset_increment", writer.problems)
        .and_then(|size| bytes(writer, "offset_increment", size, known));
    let (offset, increment) = (offset.unwrap_or(0), increment.unwrap_or(0));
    if size.is_none() && file.is_none() && target_bytes.is_none() {
        if writer.on("fill_device") {
            writer.warn(
                "fill_device",
                "a filesystem is not filled up; the size is that of --size, or at most 1 GiB",
            );
        } else {
            writer.warn(
                "size",
                "neither size nor filesize is set; the size is that of --size, or at most 1 GiB",
            );
        }
    }
    // With both, size is the part that is accessed and filesize the whole.
    let part = match (size, file.map(|bytes| bytes * each)) {
        (Some(size), Some(all)) => Some(size.min(all)),
        (size, all) => size.or(all),
    };
    regions(writer, is_shared, part, (offset, increment), file.map(|bytes| bytes * each));
    made
}

fn regions(
    writer: &mut Writer<'_>,
    is_shared: bool,
    part: Option<u64>,
    (offset, increment): (u64, u64),
    all: Option<u64>,
) {
    let jobs = writer.job.numjobs;
    let last = offset + (jobs - 1) * increment;
    if offset == 0 && increment == 0 {
        let is_partial = is_shared && part.is_some() && all.is_some_and(|all| Some(all) != part);
        if is_partial {
            writer.set("regions", format!("0:0:{}", part.unwrap_or(0)), "size");
        } else {
            writer.set("regions", if is_shared { "shared" } else { "disjoint" }, "filename");
        }
        if let Some(bytes) = if is_shared { all.or(part) } else { part.map(|part| part * jobs) } {
            writer.set("size", bytes.to_string(), "size");
        }
        return;
    }
    if !is_shared && jobs > 1 {
        writer.refuse("offset", "an offset for several jobs needs one file for all of them: set filename");
        return;
    }
    let length = part.map_or(String::new(), |part| format!(":{part}"));
    writer.set("regions", format!("{offset}:{increment}{length}"), "offset");
    if let Some(bytes) = all.or(part.map(|part| last + part)) {
        writer.set("size", bytes.to_string(), "size");
    }
}

/// Bytes of a size; a share is relative to `known`.
fn bytes(writer: &mut Writer<'_>, key: &str, size: Size, known: Option<u64>) -> Option<u64> {
    match (size, known) {
        (Size::Bytes(0), _) => None,
        (Size::Bytes(bytes), _) => Some(bytes),
        (Size::Percent(percent), Some(whole)) => Some((whole as f64 * percent / 100.0) as u64 / 4096 * 4096),
        (Size::Percent(_), None) => {
            writer
                .refuse(key, "the share is of a file that does not exist yet; write bytes, or set filesize");
            None
        }
    }
}

/// When a repeat ends.
fn end(writer: &mut Writer<'_>, target_bytes: Option<u64>) {
    let (job, jobs) = (writer.job, writer.job.numjobs);
    let runtime = writer.time("runtime", SECONDS);
    let loops = writer.number("loops").unwrap_or(1).clamp(1, 1_000_000);
    let time_based = writer.on("time_based");
    writer.set("runtime", runtime.map_or("none".into(), exactly), "runtime");
    if let Some(ns) = writer.time("ramp_time", SECONDS) {
        writer.set("ramp", duration(ns), "ramp_time");
    }
    if let Some(count) = writer.number("number_ios").filter(|count| *count > 0) {
        writer.set("ops", (count * jobs).to_string(), "number_ios");
    }
    if runtime.is_some() && time_based {
        return;
    }
    if time_based {
        writer.warn("time_based", "it has no effect without a runtime");
    }
    let all =
        job.size("io_size", writer.problems).and_then(|size| bytes(writer, "io_size", size, target_bytes));
    let size = job.value("size").and_then(|text| job.base.number(text).ok());
    let file = job.value("filesize").and_then(|text| job.base.number(text).ok());
    let beyond = size.filter(|size| file.is_some_and(|file| *size > file));
    // As in fio, 0 means the size of the data.
    match all.filter(|bytes| *bytes > 0).or(beyond) {
        Some(bytes) => writer.set("io_size", (bytes * jobs * loops).to_string(), "io_size"),
        None => writer.set("loops", loops.to_string(), "loops"),
    }
}

/// State of the files before a repeat.
fn preparation(writer: &mut Writer<'_>, group: &[Job], made: bool, target_bytes: Option<u64>) {
    let job = writer.job;
    let verify = job.value("verify").is_some_and(|text| !matches!(text, "0" | "none" | ""));
    if verify {
        if job.value("verify") == Some("null") {
            writer.refuse("verify", "null checks nothing");
        }
        writer.set("verify", "true", "verify");
    }
    let shares =
        |other: &&Job| job.line("filename").is_some() && other.value("filename") == job.value("filename");
    let is_read = group.iter().filter(shares).any(Job::needs_data);
    let overwrites = writer.on("overwrite");
    let must_be_written = job.needs_data()
        || made
        || is_read
        || verify
        || overwrites
        || target_bytes.is_some()
        || matches!(job.engine(), "mmap" | "null");
    if job.engine() == "ftruncate" && target_bytes.is_none() {
        writer.set("prepare", "reserved", "ioengine");
        return;
    }
    if must_be_written {
        writer.set("prepare", "written", "overwrite");
        return;
    }
    let once = !writer.on("time_based") && writer.number("loops").unwrap_or(1) <= 1;
    match job.value("fallocate") {
        Some("none" | "0") if once => writer.set("prepare", "fresh", "fallocate"),
        Some("none" | "0") => {
            writer.refuse("fallocate", "files that grow are written once; leave out time_based and loops")
        }
        _ => writer.set("prepare", "reserved", "fallocate"),
    }
}

/// Access pattern over the data.
fn order(writer: &mut Writer<'_>) {
    let job = writer.job;
    if writer.on("norandommap") {
        writer.set("norandommap", "true", "norandommap");
    }
    if let Some(text) = job.value("percentage_random")
        && job.direction().starts_with("rand")
        && text.split(',').any(|share| share.trim() != "100")
    {
        writer.refuse("percentage_random", "sequential operations among random ones are not supported");
    }
    match job.value("zonemode") {
        None | Some("none" | "0") => {}
        Some("strided") => strided(writer),
        Some(_) => writer.refuse("zonemode", "zoned devices take writes only in the order of their zones"),
    }
    let moves_on = writer.on("random_sequence_stride");
    let Some(text) = job.value("random_distribution") else { return };
    match distribution(text, moves_on) {
        Ok(Some(text)) => writer.set("distribution", text, "random_distribution"),
        Ok(None) => {}
        Err(why) => writer.refuse("random_distribution", why),
    }
}

fn strided(writer: &mut Writer<'_>) {
    let (size, skip) = (writer.number("zonesize"), writer.number("zoneskip"));
    let (Some(size), false) = (size, writer.job.direction().starts_with("rand")) else {
        writer.refuse("zonemode", "strided needs zonesize and sequential I/O");
        return;
    };
    writer.set("stride", format!("{size}:{}", skip.unwrap_or(0)), "zonemode");
}

/// A distribution in Lodestone's syntax; `None` for the default.
fn distribution(text: &str, moves_on: bool) -> Result<Option<String>, String> {
    let (law, rest) = text.split_once(':').unwrap_or((text, ""));
    let single = || match rest.split_once([':', ',']) {
        Some(_) => Err(format!("`{text}`: a centre, and a distribution per direction, are not supported")),
        None => Ok(rest.trim_end_matches('%').to_owned()),
    };
    Ok(Some(match law {
        "random" => return Ok(None),
        "zipf" => format!("zipf:{}", single()?),
        "pareto" => format!("pareto:{}", single()?),
        "normal" | "gauss" => format!("normal:{}%", single()?),
        "zoned" => format!("zoned:{}", zones(rest)?),
        "sequence" => format!("sequence{}:{rest}", if moves_on { "+" } else { "" }),
        "zoned_abs" => return Err("zones in bytes are not supported; write them in percent".into()),
        other => return Err(format!("`{other}` is not a distribution of fio")),
    }))
}

/// A zone's shares of the accesses and of the size, where they are given.
type Shares = (Option<f64>, Option<f64>);

/// Zones of accesses and sizes in percent; omitted shares split the remainder.
fn zones(text: &str) -> Result<String, String> {
    if text.contains(',') {
        return Err("a distribution per direction is not supported".into());
    }
    let read = |text: &str| match text.trim() {
        "" => Ok(None),
        number => {
            number.parse::<f64>().map(Some).map_err(|_| format!("`{number}` is not a share in percent"))
        }
    };
    let mut zones = Vec::new();
    for part in text.split(':') {
        let (access, size) = part.split_once('/').unwrap_or((part, ""));
        zones.push((read(access)?, read(size)?));
    }
    let filled = |of: fn(&Shares) -> Option<f64>| {
        let given: f64 = zones.iter().filter_map(of).sum();
        let open = zones.iter().filter(|zone| of(zone).is_none()).count().max(1) as f64;
        zones.iter().map(move |zone| of(zone).unwrap_or((100.0 - given) / open)).collect::<Vec<f64>>()
    };
    let (access, sizes) = (filled(|zone| zone.0), filled(|zone| zone.1));
    Ok(access
        .iter()
        .zip(sizes)
        .map(|(access, size)| format!("{access}/{size}"))
        .collect::<Vec<_>>()
        .join(":"))
}

/// When operations start.
fn pace(writer: &mut Writer<'_>) {
    let (job, base) = (writer.job, writer.job.base);
    let jobs = job.numjobs as f64;
    if let Some(ns) = writer.time("startdelay", SECONDS) {
        writer.set("start_delay", duration(ns), "startdelay");
    }
    if let Some(ns) = writer.time("thinktime", MICROSECONDS) {
        let blocks = writer.number("thinktime_blocks").unwrap_or(1).max(1);
        writer.set("thinktime", format!("{}/{blocks}", duration(ns)), "thinktime");
    }
    let bs = job.value("bs").and_then(|text| base.by_direction(text).ok()).unwrap_or([4096; 3]);
    let per_second = match (
        job.read("rate", writer.problems, |text| base.by_direction(text)),
        job.read("rate_iops", writer.problems, |text| base.by_direction(text)),
    ) {
        (_, Some(iops)) => Some((iops.map(|n| n as f64), "rate_iops")),
        (Some(rate), None) => {
            let mut iops = [0.0; 3];
            iops.iter_mut()
                .zip(rate.iter().zip(bs))
                .for_each(|(n, (rate, bs))| *n = *rate as f64 / bs as f64);
            Some((iops, "rate"))
        }
        (None, None) => None,
    };
    let Some(([read, write, trim], because)) = per_second else { return };
    let all = match job.direction() {
        "read" | "randread" => read,
        "write" | "randwrite" => write,
        "rw" | "readwrite" | "randrw" => {
            let share = (100.0 * read / (read + write)).round();
            writer.set("rwmixread", format!("{share}"), because);
            read + write
        }
        _ => trim,
    };
    writer.set("rate_iops", format!("{}", all * jobs), because);
    match job.value("rate_process") {
        None | Some("linear") => {}
        Some("poisson") => writer.set("rate_process", "poisson", "rate_process"),
        Some(other) => writer.refuse("rate_process", format!("`{other}` is neither linear nor poisson")),
    }
}

fn syncs(writer: &mut Writer<'_>) {
    for key in ["fsync", "fdatasync"] {
        if let Some(every) = writer.number(key).filter(|every| *every > 0) {
            writer.set(key, every.to_string(), key);
        }
    }
    let at_end = writer.on("end_fsync") || writer.on("fsync_on_close");
    writer.set("end_fsync", if at_end { "true" } else { "false" }, "end_fsync");
    match writer.job.value("sync") {
        None | Some("none" | "0") => {}
        Some("sync" | "1" | "") => writer.set("sync", "sync", "sync"),
        Some("dsync") => writer.set("sync", "dsync", "sync"),
        Some(other) => writer.refuse("sync", format!("`{other}` is neither none, sync nor dsync")),
    }
}

fn content(writer: &mut Writer<'_>) {
    if writer.on("zero_buffers") {
        writer.set("data", "zero", "zero_buffers");
    }
    if let Some(pattern) = writer.job.value("buffer_pattern") {
        let digits = pattern.trim_matches('"').trim_start_matches("0x");
        if !digits.is_empty() && digits.chars().all(|c| c == '0') {
            writer.set("data", "zero", "buffer_pattern");
        } else {
            writer.refuse("buffer_pattern", "patterns other than zeros are not supported");
        }
    }
    for (key, option) in [("buffer_compress_percentage", "compress"), ("dedupe_percentage", "dedupe")] {
        if let Some(percent) = writer.number(key).filter(|percent| *percent > 0) {
            writer.set(option, percent.to_string(), key);
        }
    }
}

/// What concerns the concurrent jobs of a group.
fn concurrent(writer: &mut Writer<'_>, group: &[Job]) {
    if let Some(weight) = writer.number("flow").filter(|weight| *weight > 0) {
        writer.set("flow", weight.to_string(), "flow");
    }
    let alone = group.len() == 1 && writer.job.numjobs == 1;
    if writer.on("exitall") && !alone {
        let several = group.iter().skip(1).any(|job| job.value("new_group").is_some());
        match writer.job.value("exit_what") {
            None | Some("group") if several => {
                writer.warn("exitall", "it ends the jobs of all concurrent groups, not of one");
            }
            None | Some("group" | "stonewall" | "all") => {}
            Some(other) => {
                writer.refuse("exit_what", format!("`{other}` is neither group, stonewall nor all"))
            }
        }
        writer.set("ends_all", "true", "exitall");
    }
}

/// What ends a repeat early, and what does not.
fn limits(writer: &mut Writer<'_>) {
    let job = writer.job;
    match job.value("continue_on_error") {
        None | Some("none" | "0") => {}
        Some(_) => writer.set("max_errors", MANY_ERRORS, "continue_on_error"),
    }
    if let Some(text) = job.value("steadystate") {
        let (figure, percent) = text.split_once(':').unwrap_or((text, ""));
        let window = writer.time("steadystate_duration", SECONDS).unwrap_or(0);
        let ramp = writer.time("steadystate_ramp_time", SECONDS).unwrap_or(0);
        if !percent.trim().ends_with('%') {
            writer.refuse("steadystate", "only limits in percent are supported; write them with %");
        } else if window < 2_000_000_000 {
            writer.refuse("steadystate", "set steadystate_duration to 2 s or more");
        } else {
            writer.set(
                "steady",
                format!("{figure}:{percent}:{}:{}", duration(window), duration(ramp)),
                "steadystate",
            );
        }
    }
    let target = job.read("latency_target", writer.problems, |text| time(text, MICROSECONDS));
    if let Some(target) = target.filter(|ns| *ns > 0) {
        let window = writer.time("latency_window", MICROSECONDS).unwrap_or(5_000_000_000);
        let percent = job.value("latency_percentile").unwrap_or("100").to_owned();
        writer.set(
            "latency_target",
            format!("{}:{percent}:{}", duration(target), duration(window)),
            "latency_target",
        );
        if job.line("runtime").is_none()
            && job.value("time_based").is_none_or(|text| boolean(text) != Ok(true))
        {
            writer.warn(
                "latency_target",
                "without runtime and time_based the data may end before the depth is found",
            );
        }
    }
}
