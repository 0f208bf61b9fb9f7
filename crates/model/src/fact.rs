//! Names of the facts about layers that more than one crate knows. Values are text as the kernel gives it unless a
//! name here says otherwise.

/// How a disk or mount is attached: `nvme`, `ata`, `usb`, `mmc`, `scsi`, `virtio`, `iscsi`, `zram`, `nfs`, `smb`, ….
pub const LINK: &str = "link";
/// The negotiated rate on the wire in bits per second, all lanes together, before any encoding: `5000000000` for USB
/// at 5 Gb/s,
/// `32000000000` for four lanes of PCIe at 8 GT/s. A whole number.
pub const LINK_SPEED: &str = "link speed";
/// Revolutions per minute by the disk's own account, or `none` for one that says that it does not rotate.
pub const ROTATION_RATE: &str = "rotation rate";
/// What the kernel's queue says of rotation: 1 or 0. It proves nothing: many layers say 1 for everything.
pub const ROTATIONAL_HINT: &str = "rotational (hint)";
/// The kernel's driver of the device or its bridge, such as `usb-storage` or `uas`.
pub const DRIVER: &str = "driver";
/// Level of an array: `raid0`, `raid1`, ….
pub const LEVEL: &str = "level";
/// How many members an array lacks. A whole number; absent or 0 if none.
pub const DEGRADED: &str = "degraded";
/// The cipher of an encrypted layer, such as `aes-xts-plain64`.
pub const CIPHER: &str = "cipher";
/// The scheduler in use.
pub const SCHEDULER: &str = "scheduler";
/// `write back` or `write through`.
pub const WRITE_CACHE: &str = "write cache";
/// Mount options, by commas.
pub const OPTIONS: &str = "options";
/// Capacity in bytes.
pub const SIZE: &str = "size";

/// Of an imported result: how many syncs took time that is in none of its latencies.
pub const SYNCS_OUTSIDE_LATENCY: &str = "syncs in no latency";
