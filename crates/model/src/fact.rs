//! Names of the facts about layers and machines that more than one crate knows. Values are text as the kernel gives it
//! unless a name here says otherwise: a size is a whole number of bytes, a rate one of bits per second, and what can
//! be yes or no is 1 or 0.

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

// Filesystems and mounts.

/// Where a filesystem is mounted.
pub const MOUNT_POINT: &str = "mount point";
/// What is mounted, as the mount table says.
pub const SOURCE: &str = "source";
/// Address or name of the server behind a network mount, an iSCSI disk or NVMe over a network.
pub const SERVER: &str = "server";
/// The protocol's version of a network mount, such as `4.2`.
pub const PROTOCOL: &str = "protocol version";
/// How the data of a btrfs are spread over its members: `single`, `raid1`, ….
pub const DATA_PROFILE: &str = "data profile";
/// The same of its metadata.
pub const METADATA_PROFILE: &str = "metadata profile";
/// The pool and dataset of ZFS lie below this pool.
pub const POOL: &str = "pool";
/// State of a pool: `ONLINE`, `DEGRADED`, ….
pub const POOL_STATE: &str = "pool state";
/// The virtual devices of a pool with their members, such as `mirror-0: sda1 sdb1`.
pub const POOL_LAYOUT: &str = "pool layout";

// Layers between.

/// Name of a device-mapper device.
pub const MAPPING: &str = "mapping";
/// Kinds of a device-mapper table's targets, by commas, such as `linear` or `thin`.
pub const TABLE: &str = "table";
/// Volume group of LVM.
pub const GROUP: &str = "volume group";
/// Logical volume of LVM.
pub const VOLUME: &str = "logical volume";
/// Format of an encrypted layer: `LUKS1`, `LUKS2`, `plain`, ….
pub const ENCRYPTION: &str = "encryption";
/// Length of the key in bits.
pub const KEY_BITS: &str = "key bits";
/// Bytes that are encrypted as one.
pub const CRYPT_SECTOR: &str = "encryption sector";
/// Bytes that an array writes to one member before it goes on to the next.
pub const CHUNK: &str = "chunk";
/// Members that an array is made of, present or not.
pub const MEMBERS: &str = "members";
/// What an array does in the background: `idle`, `resync`, `recover`, `check`, ….
pub const SYNC_ACTION: &str = "sync action";
/// Number of a partition.
pub const PARTITION: &str = "partition";
/// First byte of a partition.
pub const START: &str = "start byte";
/// The largest power of two in bytes, at most 1 MiB, that divides a partition's first byte.
pub const ALIGNMENT: &str = "alignment";
/// File behind a loop device.
pub const BACKING_FILE: &str = "backing file";
/// A loop device goes past the page cache of the filesystem below.
pub const LOOP_DIRECT: &str = "direct I/O to the file";

// Disks.

/// Who made it.
pub const VENDOR: &str = "vendor";
/// What its maker calls it.
pub const MODEL: &str = "model";
/// The end of its serial number; never the whole, because runs get published.
pub const SERIAL: &str = "serial";
/// What the serial number looks like, where that tells something: `uuid` or `EBS volume`.
pub const SERIAL_FORM: &str = "form of serial";
/// Vendor and device of its controller on PCI, such as `1d0f:8061`.
pub const PCI_ID: &str = "PCI id";
/// Revision of its firmware.
pub const FIRMWARE: &str = "firmware";
/// The most that the disk could do, for SATA also its port, in bits per second, as [`LINK_SPEED`].
pub const HIGHEST_LINK_SPEED: &str = "highest link speed";
/// What a SATA disk itself says of its link's rate (SMART), in bits per second: [`LINK_SPEED`] is the port's.
pub const DISK_LINK_SPEED: &str = "disk link speed";
/// The highest of which it says that it is capable, in bits per second.
pub const DISK_HIGHEST_LINK_SPEED: &str = "disk highest link speed";
/// Lanes in use.
pub const LANES: &str = "lanes";
/// Lanes that the disk has.
pub const HIGHEST_LANES: &str = "highest lanes";
/// What carries NVMe: `pcie`, `tcp`, `rdma`, `fc`, `loop`.
pub const TRANSPORT: &str = "transport";
/// Ways to the disk, where there are several.
pub const PATHS: &str = "paths";
/// Vendor and product number of a USB bridge, such as `152d:0578`.
pub const BRIDGE: &str = "bridge";
/// What the bridge calls itself.
pub const BRIDGE_NAME: &str = "bridge name";
/// The target's name of iSCSI.
pub const ISCSI_TARGET: &str = "target name";
/// State of an iSCSI session.
pub const SESSION: &str = "session state";
/// `SD` or `MMC`.
pub const CARD: &str = "type";
/// What an SD card or eMMC says its name is.
pub const CARD_NAME: &str = "name";
/// Its maker's number.
pub const CARD_MAKER: &str = "manfid";
/// Month and year of its making.
pub const CARD_DATE: &str = "date";
/// Speed classes by an SD card's own account, such as `C10 U3 V30 A2`.
pub const SPEED_CLASSES: &str = "speed classes";
/// How host and card agreed to talk, such as `sd uhs SDR104`.
pub const BUS_MODE: &str = "bus mode";
/// Smallest unit of the device in bytes.
pub const LOGICAL_BLOCK: &str = "logical block";
/// Unit in bytes that it can write without reading first.
pub const PHYSICAL_BLOCK: &str = "physical block";
/// Unit in bytes that it likes best, if it says one.
pub const OPTIMAL_IO: &str = "optimal I/O size";
/// Requests that the kernel's queue holds.
pub const REQUESTS: &str = "requests";
/// Requests that the device takes at a time.
pub const DEVICE_DEPTH: &str = "device queue depth";
/// Largest request in bytes.
pub const LARGEST_REQUEST: &str = "largest request";
/// Smallest unit in bytes that can be given back; 0 if none can.
pub const DISCARD: &str = "discard granularity";
/// Latency in µs above which the kernel slows buffered writing down for the sake of reads; 0 if it does not.
pub const WRITEBACK_THROTTLING: &str = "write-back throttling";
/// Bytes read ahead in buffered reading.
pub const READ_AHEAD: &str = "read-ahead";
/// It cannot be written.
pub const READ_ONLY: &str = "read only";
/// `host-managed` or `host-aware`, for disks with zones.
pub const ZONED: &str = "zoned";
/// The compression of zram.
pub const COMPRESSION: &str = "compression";

// What SMART says.

/// `passed` or `failed`, by the disk's own account.
pub const HEALTH: &str = "SMART health";
/// Degrees Celsius.
pub const TEMPERATURE: &str = "temperature";
/// Hours that it has run.
pub const HOURS: &str = "power-on hours";
/// Percent of its life that is used up, by its own account; may be above 100.
pub const WEAR: &str = "life used";
/// Percent of the spare blocks of an NVMe disk that are left.
pub const SPARE: &str = "spare blocks left";
/// The percentage below which its maker calls that critical.
pub const LEAST_SPARE: &str = "critical spare blocks";
/// Life that an SD card or eMMC has used, as it says: two numbers, of both kinds of cells, each in tenths counted from 1
/// (JEDEC JESD84-B51, 7.4.24).
pub const CARD_WEAR: &str = "life used in tenths";
/// What an SD card or eMMC says of its spare blocks: 1 is normal, 2 is 80 % used, 3 is 90 % used (the same, 7.4.25).
pub const CARD_SPARE: &str = "spare blocks";
/// Errors of the medium.
pub const MEDIA_ERRORS: &str = "media errors";
/// Sectors that were replaced.
pub const REALLOCATED: &str = "reallocated sectors";
/// Sectors that could not be read and wait for being written.
pub const PENDING: &str = "pending sectors";
/// Errors of the cable.
pub const LINK_ERRORS: &str = "link errors";
/// The disk sleeps and was left alone.
pub const SLEEPING: &str = "sleeping";

/// Facts about layers that are different each time one looks, so that they say nothing about two runs.
const FLEETING: [&str; 3] = [TEMPERATURE, HOURS, SLEEPING];

/// True for facts about layers that change by themselves, such as the temperature.
pub fn is_fleeting(name: &str) -> bool {
    FLEETING.contains(&name)
}

// Machines.

/// What chooses the processors' clocks, such as `performance` or `ondemand`.
pub const GOVERNOR: &str = "governor";
/// The lowest clock that may be chosen, in Hz.
pub const LOWEST_CLOCK: &str = "lowest clock";
/// The highest, in Hz.
pub const HIGHEST_CLOCK: &str = "highest clock";
/// What slows the processors down at the start, by semicolons.
pub const THROTTLED: &str = "throttled";
/// A Raspberry Pi was throttled or had too little voltage since it was started.
pub const THROTTLED_BEFORE: &str = "throttled since its start";
/// The hypervisor, or `yes` where it does not say its name; absent on bare metal.
pub const VIRTUALISATION: &str = "virtualisation";
/// The cloud that the firmware's tables name, such as `Amazon EC2`.
pub const CLOUD: &str = "cloud";
/// What kind of container, or `yes`; absent outside.
pub const CONTAINER: &str = "container";
/// Memory in bytes that the control group may use.
pub const MEMORY_LIMIT: &str = "memory limit";
/// Bytes of a page.
pub const PAGE_SIZE: &str = "page size";
/// Bytes of swap.
pub const SWAP: &str = "swap";
/// What the kernel takes the time from.
pub const CLOCK_SOURCE: &str = "clock source";
/// Share of memory in percent, or bytes, that may be dirty before writers are held up.
pub const DIRTY_LIMIT: &str = "dirty limit";
/// The same at which writing back begins.
pub const DIRTY_BACKGROUND: &str = "dirty background limit";
/// Mitigations of processor flaws are off.
pub const MITIGATIONS: &str = "mitigations";

/// Of an imported result: how many syncs took time that is in none of its latencies.
pub const SYNCS_OUTSIDE_LATENCY: &str = "syncs in no latency";
