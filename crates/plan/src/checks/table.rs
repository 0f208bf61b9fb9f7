//! The table of tools and checks.

use model::{Metric, Operation};

use super::{ByParts, Check, Pair, Part, Tool, WorksOn};

/// The tools, in display order.
pub static TOOLS: &[Tool] = &[
    Tool { word: "fio", program: "fio", install: "install the Debian package fio" },
    Tool { word: "sysbench", program: "sysbench", install: "install the Debian package sysbench" },
    Tool { word: "dd", program: "dd", install: "install the Debian package coreutils" },
    Tool { word: "hdparm", program: "hdparm", install: "install the Debian package hdparm" },
    Tool {
        word: "iozone",
        program: "iozone",
        install: "install the Debian package iozone3 from the section non-free, or build it from its source",
    },
    Tool { word: "bonnie", program: "bonnie++", install: "install the Debian package bonnie++" },
    Tool { word: "ioping", program: "ioping", install: "install the Debian package ioping" },
];

const READ_BANDWIDTH: (Operation, Metric) = (Operation::Read, Metric::Bandwidth);
const READ_IOPS: (Operation, Metric) = (Operation::Read, Metric::Iops);
const READ_MEAN: (Operation, Metric) = (Operation::Read, Metric::LatMean);
const READ_P50: (Operation, Metric) = (Operation::Read, Metric::LatP50);
const READ_P99: (Operation, Metric) = (Operation::Read, Metric::LatP99);
const READ_P95: (Operation, Metric) = (Operation::Read, Metric::LatP95);
const WRITE_BANDWIDTH: (Operation, Metric) = (Operation::Write, Metric::Bandwidth);
const WRITE_IOPS: (Operation, Metric) = (Operation::Write, Metric::Iops);
const WRITE_MEAN: (Operation, Metric) = (Operation::Write, Metric::LatMean);
const WRITE_P50: (Operation, Metric) = (Operation::Write, Metric::LatP50);
const WRITE_P99: (Operation, Metric) = (Operation::Write, Metric::LatP99);
const WRITE_P95: (Operation, Metric) = (Operation::Write, Metric::LatP95);
const SYNC_MEAN: (Operation, Metric) = (Operation::Sync, Metric::LatMean);
const SYNC_P50: (Operation, Metric) = (Operation::Sync, Metric::LatP50);
const SYNC_P99: (Operation, Metric) = (Operation::Sync, Metric::LatP99);
const DURABLE_MEAN: (Operation, Metric) = (Operation::DurableWrite, Metric::LatMean);
const DURABLE_P95: (Operation, Metric) = (Operation::DurableWrite, Metric::LatP95);

/// The same figure in both, with no known difference.
const fn same(of: (Operation, Metric)) -> Pair {
    Pair { of_tool: of, of_lodestone: of, known: "" }
}

/// The same figure in both, with a known difference.
const fn but(of: (Operation, Metric), known: &'static str) -> Pair {
    Pair { of_tool: of, of_lodestone: of, known }
}

/// Figures filed under different operations.
const fn filed(of_tool: (Operation, Metric), of_lodestone: (Operation, Metric), known: &'static str) -> Pair {
    Pair { of_tool, of_lodestone, known }
}

/// One run of fio for one step.
macro_rules! fio {
    ($id:literal, $title:literal, [$($arg:literal),* $(,)?], [$($setting:expr),* $(,)?], [$($pair:expr),* $(,)?]) => {
        Check {
            id: $id,
            tool: "fio",
            works_on: WorksOn::DataFile,
            args: &[
                "--name=check", "--filename={file}", "--size={size}", "--direct=1", $($arg,)* "--time_based",
                "--runtime={runtime}", "--randrepeat=0", "--lat_percentiles=1", "--output-format=json+",
            ],
            by_parts: &[],
            extra_seconds: 1,
            parts: &[Part {
                id: $id,
                title: $title,
                report: "",
                native: None,
                settings: &[("size", "{size}"), ("runtime", "={runtime}s"), ("end_fsync", "false"), $($setting),*],
                defined_cost: true,
                figures: &[$($pair),*],
            }],
        }
    };
}

/// One run of sysbench for one step: 128 files in blocks of 16 KiB.
macro_rules! sysbench {
    ($id:literal, $title:literal, [$($arg:literal),* $(,)?], [$($setting:expr),* $(,)?], [$($pair:expr),* $(,)?]) => {
        Check {
            id: $id,
            tool: "sysbench",
            works_on: WorksOn::DataFiles("test_file."),
            args: &[
                "fileio", "--file-num=128", "--file-block-size=16384", "--file-total-size={size}", "--file-extra-flags=direct",
                "--file-fsync-freq=0", "--file-fsync-end=off", $($arg,)* "--time={runtime}", "--events=0", "run",
            ],
            by_parts: &[],
            extra_seconds: 1,
            parts: &[Part {
                id: $id,
                title: $title,
                report: "",
                native: None,
                settings: &[
                    ("engine", "psync"), ("direct", "true"), ("files", "128"), ("size", "{size}"), ("bs", "16KiB"),
                    ("data", "zero"), ("norandommap", "true"), ("end_fsync", "false"), ("runtime", "={runtime}s"), $($setting),*
                ],
                defined_cost: true,
                figures: &[$($pair),*],
            }],
        }
    };
}

/// One run of dd.
macro_rules! dd {
    ($id:literal, $title:literal, $on:expr, [$($arg:literal),* $(,)?], [$($setting:expr),* $(,)?], [$($pair:expr),* $(,)?]) => {
        Check {
            id: $id,
            tool: "dd",
            works_on: $on,
            args: &[$($arg),*],
            by_parts: &[],
            extra_seconds: 1,
            parts: &[Part {
                id: $id,
                title: $title,
                report: "",
                native: None,
                settings: &[("engine", "psync"), ("runtime", "none"), ("interval", "250ms"), ("size", "{size}"), $($setting),*],
                defined_cost: true,
                figures: &[$($pair),*],
            }],
        }
    };
}

/// One input of the score of PiBenchmarks.
macro_rules! pi {
    ($id:literal, $title:literal, $step:literal, $pair:expr) => {
        Part {
            id: $id,
            title: $title,
            report: "",
            native: Some(("pi", $step)),
            settings: &[],
            defined_cost: true,
            figures: &[$pair],
        }
    };
}

/// One run of fio as PiBenchmarks does it, but with other offsets in each round. What only reads names the size of the file, so
/// that fio has nothing to lay out in it.
macro_rules! pi_fio {
    ($id:literal, $title:literal, $step:literal, $on:expr, [$($arg:literal),*], $pair:expr) => {
        Check {
            id: $id,
            tool: "fio",
            works_on: $on,
            args: &[
                "--name=test", "--randrepeat=0", "--ioengine=libaio", "--direct=1", "--gtod_reduce=1", "--bs=4k",
                "--iodepth=64", $($arg,)* "--output-format=json+",
            ],
            by_parts: &[],
            extra_seconds: 5,
            parts: &[pi!($id, $title, $step, $pair)],
        }
    };
}

/// One pass of iozone.
macro_rules! iozone {
    ($id:literal, $title:literal, $report:literal, $step:literal, $pair:expr) => {
        Part {
            id: $id,
            title: $title,
            report: $report,
            native: Some(("iozone", $step)),
            settings: &[],
            defined_cost: true,
            figures: &[$pair],
        }
    };
}

/// One phase of bonnie++.
macro_rules! bonnie {
    ($id:literal, $title:literal, $report:literal, $step:literal, $cost:literal, [$($setting:expr),*], $pair:expr) => {
        Part {
            id: $id,
            title: $title,
            report: $report,
            native: Some(("bonnie", $step)),
            settings: &[$($setting),*],
            defined_cost: $cost,
            figures: &[$pair],
        }
    };
}

const FIO_PROCESSOR: &str = "fio uses more CPU time per operation (a map of the offsets that it has visited, more clock readings, a call for each \
     operation that it submits or reaps), which matters where the CPU and not the storage is the limit; \
     iodepth_batch_submit=4 with iodepth_batch_complete_max=16 removes most of that";
const FSYNC_SPEEDS: &str = "an fsync on a journalling filesystem has two speeds: it commits the journal only if the file's time stamps have changed \
     since the last one, as they do once per tick of the kernel's clock; fio and sysbench do more between two writes, and the \
     slightly slower tool gets the slow fsync more often";
const SCATTERED: &str = "the buffers of both programs are in the ordinary pages that the kernel has: where they are scattered, a block of 1 MiB \
     reaches the device in up to 256 segments or as two requests, which costs a virtual disk up to two thirds of its rate, \
     by chance from run to run";
const SYSBENCH_PICKS: &str = "sysbench draws each offset with a lock and a random number between two requests: outside its latency, but inside the time \
     of its rate";
const DD_ZERO: &str = "dd reads /dev/zero into its buffer anew for every block while its clock runs (at 10 to 30 GB/s on current machines); Lodestone's zeros are already in memory";
const DD_CACHE: &str = "dd's clock runs while it reads /dev/zero for every block and until the file is closed, and through the page cache the kernel \
     chooses when writeback begins";
const DD_EACH: &str =
    "dd reads /dev/zero before every write, and its latency is the whole time divided by the records";
const HDPARM_TOUCHES: &str = "hdparm touches one byte in every 512 of each 2 MiB that it has read while its clock runs, and has nothing in flight meanwhile";
const HDPARM_MEMORY: &str = "both read 2 MiB of the page cache again and again: a figure of memory and system calls, not of the device";
const IOZONE_FILE: &str = "iozone creates and closes its file before its clock starts, and its records extend a file that is being written for the \
     first time";
const IOZONE_CHECKS: &str = "iozone checks a word in every page that it has read while its clock runs, and its file is at another location than Lodestone's";
const IOZONE_PLACE: &str = "iozone's file is at another location than Lodestone's";
const IOPING_RATE: &str =
    "ioping's rate includes its warm-up request and its own work between requests; its latency does not";
const IOPING_PLACE: &str = "ioping writes to a file of its own, at another location than Lodestone's";
const MEMORY: &str = "the file fits into memory and both read it from there: a figure of system calls and the page cache, not of the device";
const BONNIE_CACHE: &str = "through the page cache the kernel chooses when writeback begins; bonnie++ changes a byte of its buffer for each block";
const BONNIE_TIMES: &str = "both read from memory, one byte per call; bonnie++'s calls also maintain the file's access time (320 against 390 ns \
     in a loop of nothing else), which Lodestone avoids with O_NOATIME";
const GLOBAL_SYNC: &str = "bonnie++ ends the phase with sync(), which also waits for the writes of all other programs, on every filesystem";

/// All checks, in display order.
pub static CHECKS: &[Check] = &[
    fio!(
        "fio-randread-d1",
        "random reads of 4 KiB, one at a time, direct, libaio",
        ["--ioengine=libaio", "--rw=randread", "--bs=4k", "--iodepth=1"],
        [("engine", "libaio"), ("rw", "randread"), ("bs", "4KiB")],
        [same(READ_IOPS), same(READ_MEAN), same(READ_P50), same(READ_P99)]
    ),
    fio!(
        "fio-randread-d16",
        "random reads of 4 KiB, depth 16, direct, libaio",
        ["--ioengine=libaio", "--rw=randread", "--bs=4k", "--iodepth=16"],
        [("engine", "libaio"), ("rw", "randread"), ("bs", "4KiB"), ("iodepth", "16")],
        [
            but(READ_IOPS, FIO_PROCESSOR),
            but(READ_MEAN, FIO_PROCESSOR),
            but(READ_P50, FIO_PROCESSOR),
            but(READ_P99, FIO_PROCESSOR)
        ]
    ),
    fio!(
        "fio-randwrite-d1",
        "random writes of 4 KiB, one at a time, direct, libaio",
        ["--ioengine=libaio", "--rw=randwrite", "--bs=4k", "--iodepth=1"],
        [("engine", "libaio"), ("rw", "randwrite"), ("bs", "4KiB")],
        [same(WRITE_IOPS), same(WRITE_MEAN), same(WRITE_P50), same(WRITE_P99)]
    ),
    fio!(
        "fio-randwrite-d16",
        "random writes of 4 KiB, depth 16, direct, libaio",
        ["--ioengine=libaio", "--rw=randwrite", "--bs=4k", "--iodepth=16"],
        [("engine", "libaio"), ("rw", "randwrite"), ("bs", "4KiB"), ("iodepth", "16")],
        [
            but(WRITE_IOPS, FIO_PROCESSOR),
            but(WRITE_MEAN, FIO_PROCESSOR),
            but(WRITE_P50, FIO_PROCESSOR),
            but(WRITE_P99, FIO_PROCESSOR)
        ]
    ),
    fio!(
        "fio-read-1m",
        "sequential reads of 1 MiB, depth 4, direct, libaio",
        ["--ioengine=libaio", "--rw=read", "--bs=1m", "--iodepth=4"],
        [("engine", "libaio"), ("rw", "read"), ("bs", "1MiB"), ("iodepth", "4"), ("buffers", "normal")],
        [but(READ_BANDWIDTH, SCATTERED), but(READ_MEAN, SCATTERED), but(READ_P50, SCATTERED)]
    ),
    fio!(
        "fio-write-1m",
        "sequential writes of 1 MiB, depth 4, direct, libaio",
        ["--ioengine=libaio", "--rw=write", "--bs=1m", "--iodepth=4"],
        [("engine", "libaio"), ("rw", "write"), ("bs", "1MiB"), ("iodepth", "4"), ("buffers", "normal")],
        [but(WRITE_BANDWIDTH, SCATTERED), but(WRITE_MEAN, SCATTERED), but(WRITE_P50, SCATTERED)]
    ),
    fio!(
        "fio-randwrite-fsync",
        "random writes of 4 KiB, direct, each followed by fsync, psync",
        ["--ioengine=psync", "--rw=randwrite", "--bs=4k", "--fsync=1"],
        [("engine", "psync"), ("rw", "randwrite"), ("bs", "4KiB"), ("fsync", "1")],
        [
            but(WRITE_IOPS, FSYNC_SPEEDS),
            but(WRITE_MEAN, FSYNC_SPEEDS),
            but(SYNC_MEAN, FSYNC_SPEEDS),
            but(SYNC_P50, FSYNC_SPEEDS)
        ]
    ),
    Check {
        id: "fio-etcd",
        tool: "fio",
        works_on: WorksOn::OwnFiles,
        args: &[
            "--name=wal",
            "--directory={dir}",
            "--rw=write",
            "--ioengine=sync",
            "--fdatasync=1",
            "--size=22m",
            "--bs=2300",
            "--unlink=1",
            "--output-format=json+",
        ],
        by_parts: &[],
        extra_seconds: 10,
        parts: &[Part {
            id: "fio-etcd",
            title: "etcd's write-ahead log: a new file of 22 MiB, blocks of 2300 bytes, each followed by fdatasync",
            report: "",
            native: Some(("etcd", "wal")),
            settings: &[("engine", "psync"), ("runtime", "none")],
            defined_cost: true,
            figures: &[same(SYNC_P50), same(SYNC_P99)],
        }],
    },
    sysbench!(
        "sysbench-rndrd",
        "random reads of 16 KiB over 128 files, direct (rndrd)",
        ["--file-test-mode=rndrd"],
        [("rw", "randread")],
        [but(READ_IOPS, SYSBENCH_PICKS), same(READ_MEAN), same(READ_P95)]
    ),
    sysbench!(
        "sysbench-seqrd",
        "sequential reads of 16 KiB over 128 files, direct (seqrd)",
        ["--file-test-mode=seqrd"],
        [("rw", "read")],
        [but(READ_BANDWIDTH, SYSBENCH_PICKS), same(READ_MEAN), same(READ_P95)]
    ),
    sysbench!(
        "sysbench-rndwr",
        "random writes of 16 KiB over 128 files, direct, no sync (rndwr)",
        ["--file-test-mode=rndwr"],
        [("rw", "randwrite")],
        [but(WRITE_IOPS, SYSBENCH_PICKS), same(WRITE_MEAN), same(WRITE_P95)]
    ),
    sysbench!(
        "sysbench-rndwr-fsync",
        "random writes of 16 KiB over 128 files, direct, each synced (rndwr, fsync-all)",
        ["--file-test-mode=rndwr", "--file-fsync-all=on"],
        [("rw", "randwrite"), ("fsync", "1")],
        [but(WRITE_IOPS, FSYNC_SPEEDS), but(DURABLE_MEAN, FSYNC_SPEEDS), but(DURABLE_P95, FSYNC_SPEEDS)]
    ),
    dd!(
        "dd-write-direct",
        "sequential overwrites of 1 MiB, zeros, direct, fsync at the end (oflag=direct conv=fsync)",
        WorksOn::DataFile,
        ["if=/dev/zero", "of={file}", "bs=1M", "count={mib}", "oflag=direct", "conv=notrunc,fsync"],
        [
            ("rw", "write"),
            ("bs", "1MiB"),
            ("direct", "true"),
            ("data", "zero"),
            ("loops", "1"),
            ("end_fsync", "true")
        ],
        [but(WRITE_BANDWIDTH, DD_ZERO)]
    ),
    dd!(
        "dd-write-fsync",
        "a new file of zeros in blocks of 1 MiB, through the page cache, fsync at the end (conv=fsync)",
        WorksOn::OwnFiles,
        ["if=/dev/zero", "of={dir}/test", "bs=1M", "count={mib}", "conv=fsync"],
        [
            ("rw", "write"),
            ("bs", "1MiB"),
            ("direct", "false"),
            ("prepare", "fresh"),
            ("data", "zero"),
            ("loops", "1"),
            ("end_fsync", "true")
        ],
        [but(WRITE_BANDWIDTH, DD_CACHE)]
    ),
    dd!(
        "dd-write-dsync",
        "2000 sequential overwrites of 4 KiB, zeros, each durable (oflag=dsync)",
        WorksOn::DataFile,
        ["if=/dev/zero", "of={file}", "bs=4k", "count=2000", "oflag=dsync", "conv=notrunc"],
        [
            ("rw", "write"),
            ("bs", "4KiB"),
            ("direct", "false"),
            ("sync", "dsync"),
            ("data", "zero"),
            ("ops", "2000"),
            ("end_fsync", "false")
        ],
        [but(WRITE_BANDWIDTH, DD_EACH), but(WRITE_MEAN, DD_EACH)]
    ),
    dd!(
        "dd-write-dsync-1m",
        "16 sequential overwrites of 1 MiB, zeros, each durable (bs=1M oflag=dsync)",
        WorksOn::DataFile,
        ["if=/dev/zero", "of={file}", "bs=1M", "count=16", "oflag=dsync", "conv=notrunc"],
        [
            ("rw", "write"),
            ("bs", "1MiB"),
            ("direct", "false"),
            ("sync", "dsync"),
            ("data", "zero"),
            ("ops", "16"),
            ("end_fsync", "false")
        ],
        [but(WRITE_BANDWIDTH, DD_EACH), but(WRITE_MEAN, DD_EACH)]
    ),
    dd!(
        "dd-read-direct",
        "sequential reads of 1 MiB, direct (iflag=direct)",
        WorksOn::DataFile,
        ["if={file}", "of=/dev/null", "bs=1M", "iflag=direct"],
        [("rw", "read"), ("bs", "1MiB"), ("direct", "true"), ("loops", "1")],
        [same(READ_BANDWIDTH)]
    ),
    Check {
        id: "dd-pi",
        tool: "dd",
        works_on: WorksOn::OwnFiles,
        args: &["if=/dev/zero", "of={dir}/test", "bs=4k", "count=130k", "conv=fsync"],
        by_parts: &[],
        extra_seconds: 10,
        parts: &[pi!(
            "dd-pi",
            "PiBenchmarks: a new file of 130k blocks of 4 KiB, zeros, through the page cache, fsync at the end",
            "dd",
            but(WRITE_BANDWIDTH, DD_CACHE)
        )],
    },
    pi_fio!(
        "fio-pi-randwrite",
        "PiBenchmarks: 80 MiB written at random in blocks of 4 KiB, depth 64",
        "fio-randwrite",
        WorksOn::OwnFiles,
        ["--filename={dir}/test", "--size=80M", "--rw=randwrite"],
        but(WRITE_IOPS, FIO_PROCESSOR)
    ),
    pi_fio!(
        "fio-pi-randread",
        "PiBenchmarks: 80 MiB read at random in blocks of 4 KiB, depth 64",
        "fio-randread",
        WorksOn::DataFile,
        ["--filename={file}", "--size={size}", "--rw=randread"],
        but(READ_IOPS, FIO_PROCESSOR)
    ),
    Check {
        id: "hdparm-direct",
        tool: "hdparm",
        works_on: WorksOn::Device,
        args: &["-t", "--direct", "{device}"],
        by_parts: &[],
        extra_seconds: 7,
        parts: &[Part {
            id: "hdparm-direct",
            title: "sequential reads of 2 MiB from the start of the device for 3 s, direct (-t --direct)",
            report: "sequential reads, direct",
            native: Some(("hdparm", "direct")),
            settings: &[],
            defined_cost: true,
            figures: &[but(READ_BANDWIDTH, HDPARM_TOUCHES)],
        }],
    },
    Check {
        id: "hdparm-cached",
        tool: "hdparm",
        works_on: WorksOn::Device,
        args: &["-T", "{device}"],
        by_parts: &[],
        extra_seconds: 5,
        parts: &[Part {
            id: "hdparm-cached",
            title: "the first 2 MiB of the device from the page cache for 2 s: memory, not storage (-T)",
            report: "reads of the same 2 MiB from memory",
            native: Some(("hdparm", "cached")),
            settings: &[],
            defined_cost: false,
            figures: &[but(READ_BANDWIDTH, HDPARM_MEMORY)],
        }],
    },
    Check {
        id: "iozone",
        tool: "iozone",
        works_on: WorksOn::OwnFiles,
        args: &["-e", "-I", "-i", "0", "-s", "80m", "-r", "4k", "-f", "{dir}/iozone.tmp"],
        by_parts: &[
            ByParts { parts: &["iozone-read", "iozone-reread"], with: &["-i", "1"], without: &[] },
            ByParts {
                parts: &["iozone-random-read", "iozone-random-write"],
                with: &["-i", "2"],
                without: &[],
            },
        ],
        extra_seconds: 60,
        parts: &[
            iozone!(
                "iozone-write",
                "a new file of 80 MiB in records of 4 KiB, direct, fsync at the end",
                "write, new file",
                "write",
                but(WRITE_BANDWIDTH, IOZONE_FILE)
            ),
            iozone!(
                "iozone-rewrite",
                "the same file again",
                "rewrite",
                "rewrite",
                but(WRITE_BANDWIDTH, IOZONE_PLACE)
            ),
            iozone!(
                "iozone-read",
                "reads from its start to its end",
                "read,",
                "read",
                but(READ_BANDWIDTH, IOZONE_CHECKS)
            ),
            iozone!(
                "iozone-reread",
                "the same again",
                "reread",
                "reread",
                but(READ_BANDWIDTH, IOZONE_CHECKS)
            ),
            iozone!(
                "iozone-random-read",
                "every record once, in random order",
                "random read",
                "random-read",
                but(READ_BANDWIDTH, IOZONE_CHECKS)
            ),
            iozone!(
                "iozone-random-write",
                "every record once, in random order, fsync at the end",
                "random write",
                "random-write",
                but(WRITE_BANDWIDTH, IOZONE_PLACE)
            ),
        ],
    },
    Check {
        id: "bonnie",
        tool: "bonnie",
        works_on: WorksOn::OwnFiles,
        args: &["-d", "{dir}", "-r", "0", "-m", "check", "-q", "{as_root}"],
        by_parts: &[
            ByParts {
                parts: &[
                    "bonnie-putc",
                    "bonnie-write",
                    "bonnie-rewrite",
                    "bonnie-getc",
                    "bonnie-read",
                    "bonnie-seeks",
                ],
                with: &["-s", "{mib}"],
                without: &["-s", "0"],
            },
            ByParts { parts: &["bonnie-putc", "bonnie-getc"], with: &[], without: &["-f"] },
            ByParts {
                parts: &[
                    "bonnie-create-seq",
                    "bonnie-stat-seq",
                    "bonnie-delete-seq",
                    "bonnie-create-random",
                    "bonnie-stat-random",
                    "bonnie-delete-random",
                ],
                with: &["-n", "16"],
                without: &["-n", "0"],
            },
        ],
        extra_seconds: 120,
        parts: &[
            bonnie!(
                "bonnie-putc",
                "bytes written one by one, fsync",
                "write by character",
                "putc",
                false,
                [],
                but(WRITE_BANDWIDTH, MEMORY)
            ),
            bonnie!(
                "bonnie-write",
                "a new file in blocks of 8 KiB, through the page cache, fsync",
                "write by block",
                "write",
                true,
                [("size", "{size}")],
                but(WRITE_BANDWIDTH, BONNIE_CACHE)
            ),
            bonnie!(
                "bonnie-rewrite",
                "each block read, changed and written, fsync",
                "rewrite",
                "rewrite",
                true,
                [("size", "{size}")],
                filed((Operation::Mixed, Metric::Bandwidth), WRITE_BANDWIDTH, MEMORY)
            ),
            bonnie!(
                "bonnie-getc",
                "bytes read one by one",
                "read by character",
                "getc",
                false,
                [],
                but(READ_BANDWIDTH, BONNIE_TIMES)
            ),
            bonnie!(
                "bonnie-read",
                "the file read in blocks of 8 KiB",
                "read by block",
                "read",
                false,
                [("size", "{size}")],
                but(READ_BANDWIDTH, MEMORY)
            ),
            bonnie!(
                "bonnie-seeks",
                "random blocks read, one in ten written back, by five at once",
                "random seeks",
                "seeks",
                false,
                [("size", "{size}")],
                filed((Operation::Mixed, Metric::Iops), READ_IOPS, MEMORY)
            ),
            bonnie!(
                "bonnie-create-seq",
                "16384 empty files created in order, and a sync",
                "create in order",
                "create-seq",
                true,
                [],
                but((Operation::Create, Metric::Iops), GLOBAL_SYNC)
            ),
            bonnie!(
                "bonnie-stat-seq",
                "stat of each in the order of the directory",
                "stat in order",
                "stat-seq",
                false,
                [],
                but((Operation::Stat, Metric::Iops), MEMORY)
            ),
            bonnie!(
                "bonnie-delete-seq",
                "removed in that order, and a sync",
                "delete in order",
                "delete-seq",
                true,
                [],
                but((Operation::Unlink, Metric::Iops), GLOBAL_SYNC)
            ),
            bonnie!(
                "bonnie-create-random",
                "16384 empty files created under random names, and a sync",
                "create at random",
                "create-random",
                true,
                [],
                but((Operation::Create, Metric::Iops), GLOBAL_SYNC)
            ),
            bonnie!(
                "bonnie-stat-random",
                "stat of each in random order",
                "stat at random",
                "stat-random",
                false,
                [],
                but((Operation::Stat, Metric::Iops), MEMORY)
            ),
            bonnie!(
                "bonnie-delete-random",
                "removed in random order, and a sync",
                "delete at random",
                "delete-random",
                true,
                [],
                but((Operation::Unlink, Metric::Iops), GLOBAL_SYNC)
            ),
        ],
    },
    Check {
        id: "ioping-read",
        tool: "ioping",
        works_on: WorksOn::DataFile,
        args: &["-D", "-q", "-i", "0", "-w", "{runtime}", "-s", "4k", "-S", "{size}", "{file}"],
        by_parts: &[],
        extra_seconds: 1,
        parts: &[Part {
            id: "ioping-read",
            title: "random reads of 4 KiB, one at a time, direct (-D -i 0)",
            report: "",
            native: None,
            settings: &[
                ("engine", "psync"),
                ("rw", "randread"),
                ("bs", "4KiB"),
                ("direct", "true"),
                ("norandommap", "true"),
                ("size", "{size}"),
                ("runtime", "={runtime}s"),
            ],
            defined_cost: true,
            figures: &[same(READ_MEAN), but(READ_IOPS, IOPING_RATE)],
        }],
    },
    Check {
        id: "ioping-write",
        tool: "ioping",
        works_on: WorksOn::OwnFiles,
        args: &["-D", "-W", "-q", "-i", "0", "-w", "{runtime}", "-s", "4k", "-S", "64m", "{dir}"],
        by_parts: &[],
        extra_seconds: 5,
        parts: &[Part {
            id: "ioping-write",
            title: "random overwrites of 4 KiB in 64 MiB, direct, each with fdatasync (-D -W -i 0)",
            report: "",
            native: None,
            settings: &[
                ("engine", "psync"),
                ("rw", "randwrite"),
                ("bs", "4KiB"),
                ("direct", "true"),
                ("norandommap", "true"),
                ("size", "64MiB"),
                ("fdatasync", "1"),
                ("end_fsync", "false"),
                ("runtime", "={runtime}s"),
            ],
            defined_cost: true,
            figures: &[filed(WRITE_MEAN, DURABLE_MEAN, IOPING_PLACE)],
        }],
    },
];
