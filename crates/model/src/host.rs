//! The machine that a run was made on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Stable name of this installation: a digest of its machine id, never the id itself.
    pub id: String,
    /// Host name.
    pub name: String,
    /// Kernel release, such as `6.12.9-amd64`.
    pub kernel: String,
    /// Processor architecture, such as `x86_64`.
    pub architecture: String,
    /// Processor model as the kernel names it.
    pub cpu: String,
    /// Logical processors that this process may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Board or product name, where the firmware or the device tree gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Operating system, such as `Debian GNU/Linux 12 (bookworm)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Anything else worth keeping, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// Another machine that a run measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteHost {
    /// As the user named it, such as `pi@garage`.
    pub name: String,
    /// The machine.
    pub machine: Host,
    /// Nanoseconds that its wall clock was ahead of this machine's at the start, by the exchange of least round trip.
    pub ahead_ns: i64,
    /// Half that round trip: the truth is no farther from `ahead_ns` than these nanoseconds.
    pub within_ns: u64,
}

/// True of the machine that Lodestone was started on, whose number logs leave out.
pub(crate) fn is_first(number: &u32) -> bool {
    *number == 0
}
