//! What importers remark about an output: the kinds, each with how much it matters and what to do about it.

use model::Severity;

/// A kind of remark.
pub struct RemarkKind {
    /// Its short stable name, under which the finding is told.
    pub topic: &'static str,
    /// When an importer makes it, for the documentation.
    pub made_when: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// By what share it changes the answer, as in `model::Finding::effect`.
    pub effect: f64,
}

macro_rules! kinds {
    ($($name:ident: $topic:literal, $severity:ident, $effect:literal, $made_when:literal, $advice:literal;)*) => {
        $(pub(super) const $name: RemarkKind = RemarkKind {
            topic: $topic,
            made_when: $made_when,
            advice: $advice,
            severity: Severity::$severity,
            effect: $effect,
        };)*

        /// All kinds of remarks.
        pub static REMARKS: &[RemarkKind] = &[$($name),*];
    };
}

kinds! {
    PRINTED_CONTRADICTS_RAW: "printed-contradicts-raw", Warning, 0.5,
        "an output contradicts itself in a way that no single figure shows, such as a count of events that is not the sum of its parts",
        "check the output: it may have been edited";
    WORKER_DIED: "worker-died", Error, 0.5,
        "sysbench printed FATAL or ALERT and continued, or its threads did very different amounts of work",
        "discard this result: 0.4.12 loses threads when it has more than one; use a later version";
    SYNCS_DO_NOT_ADD_UP: "syncs-do-not-add-up", Warning, 0.4,
        "sysbench's count of syncs does not match its requests and its sync rule",
        "check the output: it may have been spliced together";
    PERCENTILE_MISSING: "percentile-missing", Info, 0.02,
        "sysbench 0.4.12 printed 10000000.00ms because it had no percentile",
        "use the mean and the maximum";
    REPLAYED_OFFSETS: "replayed-offsets", Warning, 0.2,
        "sysbench 0.4.12 ran without --init-rng=on and so repeats the same offsets in every run",
        "use --init-rng=on, and drop the cache between runs";
    MEASURES_MEMORY: "measures-memory", Warning, 0.5,
        "the imported result is of hdparm -T, which reads the same 2 MiB again and again",
        "do not quote it as a figure for the disk";
    MEASURES_CALLS: "measures-calls", Warning, 0.5,
        "the imported result is of bonnie++'s per-character phases",
        "use the block phases";
    FROM_PAGE_CACHE: "from-page-cache", Warning, 0.5,
        "iozone read a file that it had just written, without -I and -U",
        "use -I, or -U with a mount point";
    ENDED_EARLY: "ended-early", Warning, 0.2,
        "hdparm -t reached the end of the device, or sysbench the end of its work, before its time was up",
        "measure a larger device, or use --direct";
    STOPPED_EARLY: "stopped-early", Warning, 0.1,
        "a signal stopped fio",
        "run it again where nothing else was measured: less was done than requested";
    CLOCK_TOO_COARSE: "clock-too-coarse", Warning, 0.2,
        "iozone reports that its timer resolution is poor",
        "use larger files";
    PROCESSES_NOT_TOGETHER: "processes-not-together", Warning, 0.4,
        "in iozone's throughput mode the slowest process had moved less than nine tenths of its file when the first ended",
        "use the figure that the parent sees, or processes of equal speed";
    NO_RATE: "no-rate", Info, 0.02,
        "bonnie++ printed +++++ for a phase of less than half a second",
        "use a larger -s or -n";
    WRONG_PRINT: "wrong-print", Info, 0.02,
        "bonnie++ 1.98 and 2.00 print the number of files where the rate belongs",
        "use the CSV line, as was done here where the output has one";
    CPU_COUNTED_TWICE: "cpu-counted-twice", Info, 0.02,
        "bonnie++ reports that random seeks used more than one processor",
        "divide by the number of seekers";
    INVERSE_LATENCY: "inverse-latency", Info, 0.02,
        "the IOPS that ioping prints first, one over the mean latency, are more than 1.2 times the rate that was reached",
        "use the rate shown here";
    NO_LATENCIES: "no-latencies", Info, 0.02,
        "fio measured no latencies (gtod_reduce), so its zeros are no figures",
        "run without gtod_reduce";
    FDATASYNC_AS_SHORT: "fdatasync-as-short", Info, 0.02,
        "fio counted fdatasyncs as short reads",
        "nothing is wrong with the storage";
    CHECKPOINT_WINDOWS: "checkpoint-windows", Info, 0.02,
        "sysbench printed checkpoint reports: windows of one run, shown as repeats",
        "do not take their spread for the spread between runs";
}
