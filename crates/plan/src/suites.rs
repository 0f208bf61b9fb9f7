//! The suites that come with the program.

/// A suite that is compiled in.
pub struct BuiltinSuite {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub toml: &'static str,
}

macro_rules! suites {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltinSuite { name: $name, toml: include_str!(concat!("../../../suites/", $name, ".toml")) }),*]
    };
}

/// All compiled-in suites, the default first.
pub static BUILTIN_SUITES: &[BuiltinSuite] = suites![
    "quick",
    "full",
    "database",
    "blocksize",
    "depth",
    "files",
    "mixed",
    "sysbench",
    "dd",
    "hdparm",
    "iozone",
    "bonnie",
    "ioping",
    "disks",
    "disks-write",
    "crystal",
    "yabs",
    "pi",
    "pi-2022",
    "snia-iops",
    "snia-latency",
    "snia-throughput",
    "snia-wsat",
];

/// The suite of a run that describes its one workload by flags.
pub static CUSTOM_SUITE: BuiltinSuite = BuiltinSuite {
    name: "custom",
    toml: "description = \"One workload, described by flags\"\n[[step]]\nid = \"custom\"\n",
};

/// The compiled-in suite with this name.
pub fn builtin(name: &str) -> Option<&'static BuiltinSuite> {
    BUILTIN_SUITES.iter().find(|s| s.name == name)
}
