//! The built-in suites.

/// A built-in suite.
pub struct BuiltinSuite {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub toml: &'static str,
}

macro_rules! suites {
    ($($name:literal),* $(,)?; $($profile:literal),* $(,)?) => {
        &[
            $(BuiltinSuite { name: $name, toml: include_str!(concat!("../../../suites/", $name, ".toml")) },)*
            $(BuiltinSuite {
                name: $profile,
                toml: include_str!(concat!("../../../suites/profiles/", $profile, ".toml")),
            },)*
        ]
    };
}

/// All built-in suites, the default first, and after those that only measure the profiles, which require something.
pub static BUILTIN_SUITES: &[BuiltinSuite] = suites![
    "quick",
    "full",
    "database",
    "blocksize",
    "depth",
    "files",
    "mixed",
    "headroom",
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
    "snia-wsat";
    "etcd",
    "etcd-busy",
    "etcd-20ms",
    "etcd-disturbed",
    "postgres",
    "mysql",
    "mysql-9",
    "sqlite",
    "android",
    "kafka",
    "object-hdd",
    "object-ssd",
    "object-nvme",
    "ceph-wal",
    "vm-store",
    "video-record",
    "video-record-600",
    "video-play",
    "c10",
    "u3",
    "v60",
    "v90",
    "a1",
    "a2",
    "raspberry-pi",
    "raspberry-pi-desktop",
];

/// The suite of a run whose single workload comes from flags.
pub static CUSTOM_SUITE: BuiltinSuite = BuiltinSuite {
    name: "custom",
    toml: "description = \"One workload, described by flags\"\n[[step]]\nid = \"custom\"\n",
};

/// The built-in suite with this name, or that of the tool with this name.
pub fn builtin(name: &str) -> Option<&'static BuiltinSuite> {
    let name = match name {
        "gnome-disks" => "disks",
        "bonnie++" => "bonnie",
        "crystaldiskmark" => "crystal",
        "pibenchmarks" => "pi",
        own => own,
    };
    BUILTIN_SUITES.iter().find(|s| s.name == name)
}
