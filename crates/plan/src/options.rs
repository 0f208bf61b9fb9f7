//! The options of a workload: one table, from which suite keys, command-line flags, the reference
//! documentation and the dry run derive. A new option is one entry here and one field in the model.

use std::fmt::Display;

use model::units::{parse_duration_ns, parse_size};
use model::{
    BufferPages, CacheState, DataClass, EngineChoice, EngineKind, MetadataOperation, NameOrder, Names,
    Naming, OpenSync, Preparation, ReadFirst,
};

use crate::draft::{Draft, RateProcess, Rw};
use crate::values::{
    block_sizes, boolean, bytes_per_second, call_size, distribution, latency_target, list, number, or_word,
    real, regions, some_bytes, splits, steady, stride, think, within, word,
};

/// Size of the test data where `size` is `auto`, unless time or space sets a lower limit.
pub const AUTO_SIZE_BYTES: u64 = 1 << 30;

/// One option.
pub struct OptionSpec {
    /// The key in a suite. The flag has dashes instead of underscores.
    pub key: &'static str,
    /// Placeholder for the value in a usage line.
    pub value: &'static str,
    /// The default, as a user would write it.
    pub default: &'static str,
    /// One-line help text.
    pub help: &'static str,
    /// Allowed values.
    pub allowed: &'static str,
    /// Parses a value into a draft.
    pub(crate) set: fn(&mut Draft, &str) -> Result<(), String>,
}

impl OptionSpec {
    /// The option as a flag, without the leading dashes.
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }
}

/// The option with this suite key.
pub fn option(key: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|o| o.key == key)
}

/// All options, in the order of the documentation.
pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "rw",
        value: "PATTERN",
        default: "randread",
        help: "Operation and access pattern",
        allowed: "read, write, rw (sequential); randread, randwrite, randrw (random); trim, randtrim; allocate, randallocate \
                  (fallocate), truncate, randtruncate (ftruncate); update, randupdate (read, modify, write back); metadata",
        set: |d, v| put(&mut d.rw, word(v, Rw::WORDS)),
    },
    OptionSpec {
        key: "stride",
        value: "RUN:SKIP",
        default: "none",
        help: "For sequential I/O: bytes accessed in a row, then bytes skipped (negative: backwards)",
        allowed: "two sizes in multiples of bs, such as 4k:64k, or 4k:-8k for backwards; or none",
        set: |d, v| put(&mut d.stride, or_word("none", v, stride)),
    },
    OptionSpec {
        key: "spaced",
        value: "N",
        default: "none",
        help: "For sequential I/O: only N blocks, evenly spaced from the start to the end of the data",
        allowed: "1 to 1000000, or none",
        set: |d, v| put(&mut d.spaced, or_word("none", v, |v| number(v, 1, 1_000_000))),
    },
    OptionSpec {
        key: "mix_order",
        value: "HOW",
        default: "random",
        help: "Order of reads and writes in rw and randrw",
        allowed: "random (each operation is drawn) or even (they alternate in the given share)",
        set: |d, v| put(&mut d.even_mix, word(v, &[("random", false), ("even", true)])),
    },
    OptionSpec {
        key: "rwmixread",
        value: "PERCENT",
        default: "50",
        help: "Share of reads in rw and randrw",
        allowed: "0 to 100",
        set: |d, v| put(&mut d.rwmixread, number(v, 0, 100)),
    },
    OptionSpec {
        key: "update_percent",
        value: "PERCENT",
        default: "100",
        help: "For update and randupdate: share of the blocks read that are modified (one byte) and written back",
        allowed: "0 to 100",
        set: |d, v| put(&mut d.update_percent, number(v, 0, 100)),
    },
    OptionSpec {
        key: "bs",
        value: "SIZE[,WRITE[,TRIM]]",
        default: "4KiB",
        help: "Block size: bytes per operation, per direction if they differ",
        allowed: "1 to 1GiB, such as 4k, 1MiB, or read=4k,write=64k; as a flag also a range such as 4k..1m, each size twice \
                  the one before and each a step; direct I/O needs a multiple of the device's block size",
        set: |d, v| put(&mut d.bs, block_sizes(v)),
    },
    OptionSpec {
        key: "bs_split",
        value: "SIZE/PERCENT:…[,WRITE[,TRIM]]",
        default: "none",
        help: "Block sizes to draw from, with their shares, instead of bs",
        allowed: "such as 4k/60:64k/40, per direction if they differ; or none",
        set: |d, v| put(&mut d.bs_split, or_word("none", v, splits)),
    },
    OptionSpec {
        key: "bs_align",
        value: "SIZE",
        default: "auto",
        help: "With bs_split: alignment of random offsets",
        allowed: "a size, or auto: the smallest block size",
        set: |d, v| put(&mut d.bs_align, or_word("auto", v, parse_size)),
    },
    OptionSpec {
        key: "call",
        value: "SIZE",
        default: "none",
        help: "Bytes per call when a block takes several; the block is still one operation",
        allowed: "1 to 1GiB, for buffered reads or writes; or none: one call per block",
        set: |d, v| put(&mut d.call_bytes, or_word("none", v, call_size)),
    },
    OptionSpec {
        key: "stream",
        value: "SIZE",
        default: "none",
        help: "With call: buffer between the calls and the kernel, as in a C library stream (stdio)",
        allowed: "1 to 1GiB, such as 4k; or none: each call is a system call",
        set: |d, v| put(&mut d.stream_bytes, or_word("none", v, call_size)),
    },
    OptionSpec {
        key: "iodepth",
        value: "N",
        default: "1",
        help: "Operations that each job keeps in flight",
        allowed: "1 to 32768; as a flag also several, each a step: 1,8,64 or 1..64",
        set: |d, v| put(&mut d.iodepth, number(v, 1, 32_768)),
    },
    OptionSpec {
        key: "jobs",
        value: "N",
        default: "1",
        help: "Concurrent workers, each with its own queue",
        allowed: "1 to 1024; as a flag also several, each a step: 1,4 or 1..16",
        set: |d, v| put(&mut d.jobs, number(v, 1, 1024)),
    },
    OptionSpec {
        key: "size",
        value: "SIZE",
        default: "auto",
        help: "Size of the test data per target, all files together",
        allowed: "a size, or auto: 1 GiB, or less where writing that would take too long or too much space",
        set: |d, v| put(&mut d.size, or_word("auto", v, parse_size)),
    },
    OptionSpec {
        key: "files",
        value: "N",
        default: "1",
        help: "Number of files that hold the test data",
        allowed: "1 to 65536",
        set: |d, v| put(&mut d.files, number(v, 1, 65_536)),
    },
    OptionSpec {
        key: "file_set",
        value: "N",
        default: "0",
        help: "Number of the test data set; different numbers are different files",
        allowed: "0 to 1000000",
        set: |d, v| put(&mut d.file_set, number(v, 0, 1_000_000)),
    },
    OptionSpec {
        key: "runtime",
        value: "TIME",
        default: "5s",
        help: "Longest measured time of one repeat, after the ramp: with rounds auto the run chooses shorter repeats where \
               they decide sooner; =TIME is the time of every repeat",
        allowed: "a duration such as 1.5s or 2m, one after an equals sign such as =1s, or none if io_size, ops or loops ends \
                  the repeat",
        set: |d, v| {
            let (is_exact, time) = v.strip_prefix('=').map_or((false, v), |time| (true, time));
            d.runtime_is_exact = is_exact;
            match is_exact {
                true => put(&mut d.runtime_ns, parse_duration_ns(time).map(Some)),
                false => put(&mut d.runtime_ns, or_word("none", time, parse_duration_ns)),
            }
        },
    },
    OptionSpec {
        key: "min_runtime",
        value: "TIME",
        default: "none",
        help: "Shortest measured time: io_size, ops, loops and fresh files start again, with their last sync, until then",
        allowed: "a duration, or none; runtime still ends it",
        set: |d, v| put(&mut d.min_runtime_ns, or_word("none", v, parse_duration_ns)),
    },
    OptionSpec {
        key: "ramp",
        value: "TIME",
        default: "0s",
        help: "Time at the start of each repeat that is not measured",
        allowed: "a duration; there is no ramp for fresh files and trims, which can be done only once",
        set: |d, v| put(&mut d.ramp_ns, parse_duration_ns(v)),
    },
    OptionSpec {
        key: "io_size",
        value: "SIZE",
        default: "none",
        help: "Bytes after which a repeat ends, all jobs together",
        allowed: "a size of at least 1 byte, or none",
        set: |d, v| put(&mut d.io_size, or_word("none", v, some_bytes)),
    },
    OptionSpec {
        key: "ops",
        value: "N",
        default: "none",
        help: "Operations after which a repeat ends, all jobs together",
        allowed: "a count, or none",
        set: |d, v| put(&mut d.operations, or_word("none", v, |v| number(v, 1, u64::MAX))),
    },
    OptionSpec {
        key: "loops",
        value: "N",
        default: "none",
        help: "Passes over its part of the data after which a job ends",
        allowed: "1 to 1000000, or none",
        set: |d, v| put(&mut d.loops, or_word("none", v, |v| number(v, 1, 1_000_000))),
    },
    OptionSpec {
        key: "start_delay",
        value: "TIME",
        default: "0s",
        help: "Delay of the jobs after the common start",
        allowed: "a duration",
        set: |d, v| put(&mut d.start_delay_ns, parse_duration_ns(v)),
    },
    OptionSpec {
        key: "thinktime",
        value: "TIME[/N]",
        default: "none",
        help: "Pause of a job after every operation, or after every N; operations in flight complete first",
        allowed: "a duration such as 2ms or 2ms/8, or none",
        set: |d, v| put(&mut d.think, or_word("none", v, think)),
    },
    OptionSpec {
        key: "flow",
        value: "WEIGHT",
        default: "0",
        help: "Weight of the workload among the operations of a step with concurrent workloads",
        allowed: "0 (as fast as it can) to 1000000",
        set: |d, v| put(&mut d.flow, number(v, 0, 1_000_000)),
    },
    OptionSpec {
        key: "ends_all",
        value: "BOOL",
        default: "false",
        help: "A job that ends also ends the other jobs of the step",
        allowed: "true or false",
        set: |d, v| put(&mut d.ends_all, boolean(v)),
    },
    OptionSpec {
        key: "steady",
        value: "RULE",
        default: "none",
        help: "End a repeat early, as soon as a figure is steady",
        allowed: "FIGURE:PERCENT:WINDOW[:RAMP], such as iops:10%:30s, with FIGURE iops, bw, lat (largest deviation from \
                  the mean) or iops_slope, bw_slope, lat_slope (slope per second); or none",
        set: |d, v| put(&mut d.steady, or_word("none", v, steady)),
    },
    OptionSpec {
        key: "latency_target",
        value: "TIME:PERCENT:WINDOW",
        default: "none",
        help: "Adjust the queue depth, up to iodepth, so that PERCENT of the operations complete within TIME",
        allowed: "such as 2ms:99:5s, or none",
        set: |d, v| put(&mut d.latency_target, or_word("none", v, latency_target)),
    },
    OptionSpec {
        key: "engine",
        value: "ENGINE",
        default: "auto",
        help: "How I/O is submitted to the kernel",
        allowed: "auto (the best that works here), io_uring, libaio, psync, mmap, or noop (requests that touch no storage)",
        set: |d, v| put(&mut d.engine, word(v, ENGINE_WORDS)),
    },
    OptionSpec {
        key: "direct",
        value: "BOOL",
        default: "auto",
        help: "Bypass the page cache (O_DIRECT)",
        allowed: "true, false, or auto: true unless the engine is mmap",
        set: |d, v| put(&mut d.direct, or_word("auto", v, boolean)),
    },
    OptionSpec {
        key: "cache",
        value: "STATE",
        default: "cold",
        help: "State of the page cache at the start of a buffered repeat",
        allowed: "cold (evicted, and checked), cold-each (what is read is also evicted before each operation, \
                  outside its latency), warm (left as it is) or loaded (all data read first; for a workload \
                  that also writes, rewritten in its blocks and synced)",
        set: |d, v| {
            let words = [
                ("cold", CacheState::Cold),
                ("cold-each", CacheState::ColdEach),
                ("warm", CacheState::Warm),
                ("loaded", CacheState::Loaded),
            ];
            put(&mut d.cache, word(v, &words))
        },
    },
    OptionSpec {
        key: "prepare",
        value: "STATE",
        default: "written",
        help: "State of the files before a repeat",
        allowed: "written (complete and synced: writes overwrite), fresh (new and empty: every write allocates, \
                  there is no ramp, and the repeat ends when the data are written once) or reserved (new, with \
                  space allocated: the first write of a block converts it)",
        set: |d, v| {
            let words = [
                ("written", Preparation::Written),
                ("fresh", Preparation::Fresh),
                ("reserved", Preparation::Reserved),
            ];
            put(&mut d.prepare, word(v, &words))
        },
    },
    OptionSpec {
        key: "once",
        value: "BOOL",
        default: "false",
        help: "Run the step only in the first round, before all others, as preconditioning",
        allowed: "true or false",
        set: |d, v| put(&mut d.once, boolean(v)),
    },
    OptionSpec {
        key: "distribution",
        value: "LAW",
        default: "uniform",
        help: "Distribution of random operations over the blocks",
        allowed: "uniform, zipf:THETA, pareto:H, normal:DEVIATION%, zoned:ACCESS/SIZE:ACCESS/SIZE… in percent, \
                  sequence:N,N… (blocks by number) or sequence+:N,N… (the same, shifted by its length each time)",
        set: |d, v| put(&mut d.distribution, distribution(v)),
    },
    OptionSpec {
        key: "norandommap",
        value: "BOOL",
        default: "false",
        help: "Draw random blocks with replacement instead of each once per pass",
        allowed: "true or false",
        set: |d, v| put(&mut d.norandommap, boolean(v)),
    },
    OptionSpec {
        key: "regions",
        value: "HOW",
        default: "disjoint",
        help: "How jobs share the data",
        allowed: "disjoint (each has its own part), shared (each uses all of it) or OFFSET:INCREMENT[:LENGTH] \
                  (job n starts at OFFSET + n × INCREMENT)",
        set: |d, v| put(&mut d.regions, regions(v)),
    },
    OptionSpec {
        key: "rate_iops",
        value: "N",
        default: "none",
        help: "Offered operations per second, all jobs together (open loop)",
        allowed: "a number above 0, or none",
        set: |d, v| put(&mut d.rate_iops, or_word("none", v, |v| real(v, 0.0, 1e9))),
    },
    OptionSpec {
        key: "rate",
        value: "SIZE",
        default: "none",
        help: "Offered bytes per second, all jobs together (open loop)",
        allowed: "a size per second such as 20MB, or none",
        set: |d, v| put(&mut d.rate_bytes, or_word("none", v, bytes_per_second)),
    },
    OptionSpec {
        key: "rate_process",
        value: "PROCESS",
        default: "fixed",
        help: "How operations arrive at a given rate",
        allowed: "fixed (evenly spaced) or poisson (at random)",
        set: |d, v| {
            put(
                &mut d.rate_process,
                word(v, &[("fixed", RateProcess::Fixed), ("poisson", RateProcess::Poisson)]),
            )
        },
    },
    OptionSpec {
        key: "sync",
        value: "FLAG",
        default: "none",
        help: "Open flag that makes every write durable",
        allowed: "none, sync (O_SYNC) or dsync (O_DSYNC)",
        set: |d, v| {
            let words = [("none", OpenSync::None), ("sync", OpenSync::Sync), ("dsync", OpenSync::Dsync)];
            put(&mut d.open_sync, word(v, &words))
        },
    },
    OptionSpec {
        key: "fsync",
        value: "N",
        default: "0",
        help: "fsync after every N writes of a job; operations in flight complete first",
        allowed: "0 (never) to 1000000",
        set: |d, v| put(&mut d.fsync, number(v, 0, 1_000_000)),
    },
    OptionSpec {
        key: "fsync_files",
        value: "WHICH",
        default: "written",
        help: "Files that a periodic sync covers",
        allowed: "written (files written since the last sync) or all (every file, after every N operations of any \
                  kind if one of them wrote)",
        set: |d, v| put(&mut d.sync_all_files, word(v, &[("written", false), ("all", true)])),
    },
    OptionSpec {
        key: "fdatasync",
        value: "N",
        default: "0",
        help: "fdatasync after every N writes of a job; operations in flight complete first",
        allowed: "0 (never) to 1000000",
        set: |d, v| put(&mut d.fdatasync, number(v, 0, 1_000_000)),
    },
    OptionSpec {
        key: "end_fsync",
        value: "BOOL",
        default: "auto",
        help: "One sync at the end of a repeat, in the measured time; for metadata operations after each pass that changes names",
        allowed: "true, false, or auto: true for buffered writes of data",
        set: |d, v| put(&mut d.end_fsync, or_word("auto", v, boolean)),
    },
    OptionSpec {
        key: "data",
        value: "CLASS",
        default: "random",
        help: "Content of written blocks",
        allowed: "random (incompressible) or zero",
        set: |d, v| put(&mut d.data, word(v, &[("random", DataClass::Random), ("zero", DataClass::Zero)])),
    },
    OptionSpec {
        key: "compress",
        value: "PERCENT",
        default: "0",
        help: "Share of each written block that is zeros",
        allowed: "0 to 100, for random data",
        set: |d, v| put(&mut d.compress, number(v, 0, 100)),
    },
    OptionSpec {
        key: "dedupe",
        value: "PERCENT",
        default: "0",
        help: "Share of the written blocks that are identical",
        allowed: "0 to 100, for random data",
        set: |d, v| put(&mut d.dedupe, number(v, 0, 100)),
    },
    OptionSpec {
        key: "verify",
        value: "BOOL",
        default: "false",
        help: "Stamp every block with its offset, generation and checksum, and check what is read",
        allowed: "true or false",
        set: |d, v| put(&mut d.verify, boolean(v)),
    },
    OptionSpec {
        key: "read_first",
        value: "WHAT",
        default: "none",
        help: "What is read at the same offset before each operation, outside its latency and rate",
        allowed: "none, page (before a read, whose latency then excludes the seek) or back (the block itself, which the \
                  write then writes back, so that nothing stored changes); with engine psync",
        set: |d, v| {
            let words = [("page", ReadFirst::Page), ("back", ReadFirst::Block)];
            put(&mut d.read_first, or_word("none", v, |v| word(v, &words)))
        },
    },
    OptionSpec {
        key: "log_offset",
        value: "BOOL",
        default: "false",
        help: "Log offset and time of each operation, the first 4096 of a kind in each repeat, for the position graph",
        allowed: "true or false",
        set: |d, v| put(&mut d.log_offset, boolean(v)),
    },
    OptionSpec {
        key: "buffers",
        value: "WORD",
        default: "huge",
        help: "Pages of the memory that is read into and written from",
        allowed: "huge (huge pages from 2 MiB of buffers on, where the kernel has them, so that luck with memory does not \
                  decide large blocks) or normal (the ordinary pages that most applications have)",
        set: |d, v| {
            put(&mut d.buffers, word(v, &[("huge", BufferPages::Huge), ("normal", BufferPages::Normal)]))
        },
    },
    OptionSpec {
        key: "interval",
        value: "TIME",
        default: "500ms",
        help: "Time covered by one record of the time series",
        allowed: "10ms to 1h",
        set: |d, v| {
            let ns = parse_duration_ns(v).map_err(|e| e.to_string())?;
            put(&mut d.interval_ns, within(v, ns, 10_000_000, 3_600_000_000_000, "10ms to 1h"))
        },
    },
    OptionSpec {
        key: "max_errors",
        value: "N",
        default: "1",
        help: "Failed operations after which a repeat is aborted",
        allowed: "1 or more",
        set: |d, v| put(&mut d.max_errors, number(v, 1, u64::MAX)),
    },
    OptionSpec {
        key: "metadata_ops",
        value: "LIST",
        default: "create,stat,open,unlink",
        help: "For rw = metadata: passes over all files, in this order",
        allowed: "a list of create, stat, open, unlink",
        set: |d, v| put(&mut d.metadata_ops, list(v, METADATA_WORDS)),
    },
    OptionSpec {
        key: "metadata_files",
        value: "N",
        default: "1000",
        help: "For rw = metadata: files per job",
        allowed: "1 to 10000000",
        set: |d, v| put(&mut d.metadata_files, number(v, 1, 10_000_000)),
    },
    OptionSpec {
        key: "metadata_dirs",
        value: "N",
        default: "1",
        help: "For rw = metadata: directories per job over which the files are spread",
        allowed: "1 to 10000",
        set: |d, v| put(&mut d.metadata_dirs, number(v, 1, 10_000)),
    },
    OptionSpec {
        key: "metadata_of",
        value: "WHAT",
        default: "files",
        help: "For rw = metadata: what the passes create, look up and remove",
        allowed: "files or directories",
        set: |d, v| {
            put(&mut d.names, word(v, &[("files", Names::Files), ("directories", Names::Directories)]))
        },
    },
    OptionSpec {
        key: "metadata_names",
        value: "HOW",
        default: "numbered",
        help: "For rw = metadata: form of the names",
        allowed: "numbered, sequential (number, then random letters) or random (random letters, then the number)",
        set: |d, v| {
            let words = [
                ("numbered", Naming::Numbered),
                ("sequential", Naming::Sequential),
                ("random", Naming::Random),
            ];
            put(&mut d.naming, word(v, &words))
        },
    },
    OptionSpec {
        key: "metadata_order",
        value: "ORDER",
        default: "created",
        help: "For rw = metadata: order of all passes except create",
        allowed: "created, listed (in readdir order) or shuffled",
        set: |d, v| {
            let words = [
                ("created", NameOrder::Created),
                ("listed", NameOrder::Listed),
                ("shuffled", NameOrder::Shuffled),
            ];
            put(&mut d.name_order, word(v, &words))
        },
    },
    OptionSpec {
        key: "file_size",
        value: "SIZE",
        default: "0",
        help: "For rw = metadata: bytes written into each file",
        allowed: "0 to 16MiB",
        set: |d, v| {
            let bytes = parse_size(v).map_err(|e| e.to_string())?;
            put(&mut d.file_size, within(v, bytes, 0, 16 << 20, "0 to 16MiB"))
        },
    },
];

const ENGINE_WORDS: &[(&str, EngineChoice)] = &[
    ("auto", EngineChoice::Auto),
    ("io_uring", EngineChoice::Only(EngineKind::IoUring)),
    ("libaio", EngineChoice::Only(EngineKind::Libaio)),
    ("psync", EngineChoice::Only(EngineKind::Psync)),
    ("mmap", EngineChoice::Only(EngineKind::Mmap)),
    ("noop", EngineChoice::Only(EngineKind::Noop)),
];

const METADATA_WORDS: &[(&str, MetadataOperation)] = &[
    ("create", MetadataOperation::Create),
    ("stat", MetadataOperation::Stat),
    ("open", MetadataOperation::Open),
    ("unlink", MetadataOperation::Unlink),
];

/// Stores a parsed value, or returns why it could not be parsed.
fn put<T, E: Display>(field: &mut T, value: Result<T, E>) -> Result<(), String> {
    *field = value.map_err(|e| e.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::Distribution;

    use super::*;

    fn set(key: &str, value: &str) -> Result<Draft, String> {
        let mut draft = Draft::default();
        (option(key).unwrap().set)(&mut draft, value).map(|()| draft)
    }

    #[test]
    fn every_default_is_valid_for_its_option() {
        for option in OPTIONS {
            let result = (option.set)(&mut Draft::default(), option.default);
            assert_eq!(result, Ok(()), "{} = {}", option.key, option.default);
        }
    }

    #[test]
    fn keys_and_flags_are_unique() {
        for (i, option) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[i + 1..].iter().all(|o| o.key != option.key && o.flag() != option.flag()));
        }
    }

    #[test]
    fn block_sizes_may_differ_by_direction() {
        assert_eq!(set("bs", "4k").unwrap().bs, [4096; 3]);
        assert_eq!(set("bs", "4k,64k").unwrap().bs, [4096, 65536, 65536]);
        assert_eq!(set("bs", "4k,64k,1M").unwrap().bs, [4096, 65536, 1 << 20]);
        assert!(set("bs", "0").unwrap_err().contains("1 to 1GiB"));
        assert!(set("bs", "1,2,3,4").unwrap_err().contains("at most three"));
    }

    #[test]
    fn distributions_parse_with_their_parameters() {
        let read = |text| set("distribution", text).map(|d| d.distribution);
        assert_eq!(read("zipf:1.2"), Ok(Distribution::Zipf { theta: 1.2 }));
        assert_eq!(read("pareto:0.2"), Ok(Distribution::Pareto { h: 0.2 }));
        assert_eq!(read("normal:10%"), Ok(Distribution::Normal { deviation_percent: 10.0 }));
        let zoned = read("zoned:60/10:30/20:10/70").unwrap();
        assert!(matches!(zoned, Distribution::Zoned(zones) if zones.len() == 3));
        for (text, expected) in [
            ("zipf", "needs its theta"),
            ("pareto:0.7", "at most"),
            ("zoned:60/10", "add up to 60 %"),
            ("zoned:60", "ACCESS/SIZE"),
            ("zipff:1", "did you mean `zipf`?"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn an_invalid_word_lists_the_valid_ones_and_the_nearest() {
        let error = set("rw", "randraed").unwrap_err();
        assert!(
            error.contains("read, write, rw, randread") && error.contains("did you mean `randread`?"),
            "{error}"
        );
    }

    #[test]
    fn a_rate_may_be_written_per_second() {
        assert_eq!(set("rate", "20MB/s").unwrap().rate_bytes, Some(20e6));
        assert_eq!(set("rate", "none").unwrap().rate_bytes, None);
        assert!(set("rate_iops", "0").is_err());
    }
}
