//! The facts about layers, machines and imported results that more than one crate knows: their names, and what holds for
//! each. Values are text as the kernel gives it
//! unless a name here says otherwise: a size is a whole number of bytes, a rate one of bits per second, and what can
//! be yes or no is 1 or 0.

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A layer of storage.
    Layer,
    /// A machine.
    Machine,
    /// The result of another program.
    Imported,
}

/// What an anonymous export says of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// Its value: a number, a word of the kernel, the name of a product.
    Public,
    /// A path without its private parts.
    Path,
    /// The mount options that have no names.
    Options,
    /// A pseudonym for a name of this kind.
    Pseudonym(&'static str),
    /// Nothing.
    Secret,
}

/// What the number in a value counts; other values are shown as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactUnit {
    /// No unit: text, a count, or yes or no.
    None,
    /// Bytes of a capacity.
    Bytes,
    /// Bytes of something configured, a whole number of binary units.
    ExactBytes,
    /// Bits per second on a wire.
    BitsPerSecond,
    /// Hertz.
    Hertz,
    /// Degrees Celsius.
    Celsius,
    /// Revolutions per minute.
    Revolutions,
    /// None: words by commas, in no order.
    List,
}

/// What is known of a fact.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// What an anonymous export says of it.
    pub disclosure: Disclosure,
    /// What its value counts.
    pub unit: FactUnit,
    /// It changes by itself, such as the temperature, and so says nothing about two runs.
    pub is_fleeting: bool,
    /// It says where something is and not what it is.
    pub is_location: bool,
    /// It is there only if it applies: where it is not, it is "no".
    pub absent_is_no: bool,
}

impl Fact {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            subject: Subject::Layer,
            disclosure: Disclosure::Secret,
            unit: FactUnit::None,
            is_fleeting: false,
            is_location: false,
            absent_is_no: false,
        }
    }

    const fn machine(self) -> Self {
        Self { subject: Subject::Machine, ..self }
    }

    const fn imported(self) -> Self {
        Self { subject: Subject::Imported, ..self }
    }

    const fn public(self) -> Self {
        Self { disclosure: Disclosure::Public, ..self }
    }

    const fn disclosed(self, disclosure: Disclosure) -> Self {
        Self { disclosure, ..self }
    }

    const fn pseudonym(self, of: &'static str) -> Self {
        Self { disclosure: Disclosure::Pseudonym(of), ..self }
    }

    const fn unit(self, unit: FactUnit) -> Self {
        Self { unit, ..self }
    }

    const fn fleeting(self) -> Self {
        Self { is_fleeting: true, ..self }
    }

    const fn location(self) -> Self {
        Self { is_location: true, ..self }
    }

    const fn absent_is_no(self) -> Self {
        Self { absent_is_no: true, ..self }
    }
}

/// What is known of a fact with this name; `None` for one that this version does not know.
pub fn known(name: &str) -> Option<&'static Fact> {
    FACTS.iter().find(|fact| fact.name == name)
}

/// The names, and the table of all facts.
macro_rules! facts {
    ($($(#[$doc:meta])* $id:ident = $name:literal $(: $($how:ident $(($of:expr))?),+)?;)*) => {
        $($(#[$doc])* pub const $id: &str = $name;)*

        /// All of them.
        pub const FACTS: &[Fact] = &[$(Fact::new($name)$($(.$how($($of)?))+)?),*];
    };
}

facts! {
    /// How a disk or mount is attached: `nvme`, `ata`, `usb`, `mmc`, `scsi`, `virtio`, `iscsi`, `zram`, `nfs`, `smb`, ….
    LINK = "link": public;
    /// The negotiated rate on the wire in bits per second, all lanes together, before any encoding: `5000000000` for USB
    /// at 5 Gb/s,
    /// `32000000000` for four lanes of PCIe at 8 GT/s. A whole number.
    LINK_SPEED = "link speed": public, unit(FactUnit::BitsPerSecond);
    /// Revolutions per minute by the disk's own account, or `none` for one that says that it does not rotate.
    ROTATION_RATE = "rotation rate": public, unit(FactUnit::Revolutions);
    /// What the kernel's queue says of rotation: 1 or 0. It proves nothing: many layers say 1 for everything.
    ROTATIONAL_HINT = "rotational (hint)": public, location;
    /// The kernel's driver of the device or its bridge, such as `usb-storage` or `uas`.
    DRIVER = "driver": public;
    /// Level of an array: `raid0`, `raid1`, ….
    LEVEL = "level": public;
    /// How many members an array lacks. A whole number; absent or 0 if none.
    DEGRADED = "degraded": public, absent_is_no;
    /// The cipher of an encrypted layer, such as `aes-xts-plain64`.
    CIPHER = "cipher": public;
    /// Bytes per second that one processor core encrypts with that cipher in memory, by `cryptsetup benchmark`. A whole number.
    ENCRYPTION_RATE = "encryption rate": public, fleeting;
    /// The same of decrypting.
    DECRYPTION_RATE = "decryption rate": public, fleeting;
    /// The scheduler in use.
    SCHEDULER = "scheduler": public;
    /// `write back` or `write through`.
    WRITE_CACHE = "write cache": public;
    /// Mount options, by commas.
    OPTIONS = "options": disclosed(Disclosure::Options), unit(FactUnit::List);
    /// Capacity in bytes.
    SIZE = "size": public, unit(FactUnit::Bytes);

    // Filesystems and mounts.

    /// Where a filesystem is mounted.
    MOUNT_POINT = "mount point": disclosed(Disclosure::Path), location;
    /// What is mounted, as the mount table says.
    SOURCE = "source": disclosed(Disclosure::Path), location;
    /// Address or name of the server behind a network mount, an iSCSI disk or NVMe over a network.
    SERVER = "server": pseudonym("server");
    /// `yes` if that server is the machine itself.
    SERVER_HERE = "server is this machine": public, absent_is_no;
    /// The protocol's version of a network mount, such as `4.2`.
    PROTOCOL = "protocol version": public;
    /// How the data of a btrfs are spread over its members: `single`, `raid1`, ….
    DATA_PROFILE = "data profile": public;
    /// The same of its metadata.
    METADATA_PROFILE = "metadata profile": public;
    /// The pool and dataset of ZFS lie below this pool.
    POOL = "pool": pseudonym("volume");
    /// State of a pool: `ONLINE`, `DEGRADED`, ….
    POOL_STATE = "pool state": public;
    /// The virtual devices of a pool with their members, such as `mirror-0: sda1 sdb1`.
    POOL_LAYOUT = "pool layout";

    // Layers between.

    /// Name of a device-mapper device.
    MAPPING = "mapping": pseudonym("volume"), location;
    /// Kinds of a device-mapper table's targets, by commas, such as `linear` or `thin`.
    TABLE = "table": public;
    /// Volume group of LVM.
    GROUP = "volume group": pseudonym("volume");
    /// Logical volume of LVM.
    VOLUME = "logical volume": pseudonym("volume");
    /// Format of an encrypted layer: `LUKS1`, `LUKS2`, `plain`, ….
    ENCRYPTION = "encryption": public;
    /// Length of the key in bits.
    KEY_BITS = "key bits": public;
    /// Bytes that are encrypted as one.
    CRYPT_SECTOR = "encryption sector": public, unit(FactUnit::ExactBytes);
    /// Bytes that an array writes to one member before it goes on to the next.
    CHUNK = "chunk": public, unit(FactUnit::ExactBytes);
    /// Members that an array is made of, present or not.
    MEMBERS = "members": public;
    /// What an array does in the background: `idle`, `resync`, `recover`, `check`, ….
    SYNC_ACTION = "sync action": public;
    /// Number of a partition.
    PARTITION = "partition": public;
    /// First byte of a partition.
    START = "start byte": public;
    /// The largest power of two in bytes, at most 1 MiB, that divides a partition's first byte.
    ALIGNMENT = "alignment": public, unit(FactUnit::ExactBytes);
    /// File behind a loop device.
    BACKING_FILE = "backing file": disclosed(Disclosure::Path), location;
    /// A loop device goes past the page cache of the filesystem below.
    LOOP_DIRECT = "direct I/O to the file": public;

    // Disks.

    /// Who made it.
    VENDOR = "vendor": public;
    /// What its maker calls it.
    MODEL = "model": public;
    /// The end of its serial number; never the whole, because runs get published.
    SERIAL = "serial": pseudonym("serial");
    /// What the serial number looks like, where that tells something: `uuid` or `EBS volume`.
    SERIAL_FORM = "form of serial": public;
    /// Vendor and device of its controller on PCI, such as `1d0f:8061`.
    PCI_ID = "PCI id": public;
    /// Revision of its firmware.
    FIRMWARE = "firmware": public;
    /// The most that the disk could do, for SATA also its port, in bits per second, as [`LINK_SPEED`].
    HIGHEST_LINK_SPEED = "highest link speed": public, unit(FactUnit::BitsPerSecond);
    /// What a SATA disk itself says of its link's rate (SMART), in bits per second: [`LINK_SPEED`] is the port's.
    DISK_LINK_SPEED = "disk link speed": public, unit(FactUnit::BitsPerSecond);
    /// The highest of which it says that it is capable, in bits per second.
    DISK_HIGHEST_LINK_SPEED = "disk highest link speed": public, unit(FactUnit::BitsPerSecond);
    /// Lanes in use.
    LANES = "lanes": public;
    /// Lanes that the disk has.
    HIGHEST_LANES = "highest lanes": public;
    /// What carries NVMe: `pcie`, `tcp`, `rdma`, `fc`, `loop`.
    TRANSPORT = "transport": public;
    /// Ways to the disk, where there are several.
    PATHS = "paths": public;
    /// Vendor and product number of a USB bridge, such as `152d:0578`.
    BRIDGE = "bridge": public;
    /// What the bridge calls itself.
    BRIDGE_NAME = "bridge name": public;
    /// The target's name of iSCSI.
    ISCSI_TARGET = "target name": pseudonym("iscsi");
    /// State of an iSCSI session.
    SESSION = "session state": public;
    /// `SD` or `MMC`.
    CARD = "type": public;
    /// What an SD card or eMMC says its name is.
    CARD_NAME = "name": public;
    /// Its maker's number.
    CARD_MAKER = "manfid": public;
    /// Month and year of its making.
    CARD_DATE = "date";
    /// Speed classes by an SD card's own account, such as `C10 U3 V30 A2`.
    SPEED_CLASSES = "speed classes": public;
    /// How host and card agreed to talk, such as `sd uhs SDR104`.
    BUS_MODE = "bus mode": public;
    /// Smallest unit of the device in bytes.
    LOGICAL_BLOCK = "logical block": public, unit(FactUnit::ExactBytes);
    /// Unit in bytes that it can write without reading first.
    PHYSICAL_BLOCK = "physical block": public, unit(FactUnit::ExactBytes);
    /// Unit in bytes that it likes best, if it says one.
    OPTIMAL_IO = "optimal I/O size": public, unit(FactUnit::ExactBytes);
    /// Requests that the kernel's queue holds.
    REQUESTS = "requests": public;
    /// Requests that the device takes at a time.
    DEVICE_DEPTH = "device queue depth": public;
    /// Largest request in bytes.
    LARGEST_REQUEST = "largest request": public, unit(FactUnit::ExactBytes);
    /// Smallest unit in bytes that can be given back; 0 if none can.
    DISCARD = "discard granularity": public, unit(FactUnit::ExactBytes);
    /// Latency in µs above which the kernel slows buffered writing down for the sake of reads; 0 if it does not.
    WRITEBACK_THROTTLING = "write-back throttling": public;
    /// Bytes read ahead in buffered reading.
    READ_AHEAD = "read-ahead": public, unit(FactUnit::ExactBytes);
    /// It cannot be written.
    READ_ONLY = "read only": public, absent_is_no;
    /// `host-managed` or `host-aware`, for disks with zones.
    ZONED = "zoned": public;
    /// The compression of zram.
    COMPRESSION = "compression": public;

    /// Of its [`PATHS`] those that are lost. A whole number; absent if none.
    PATHS_LOST = "paths lost": public, absent_is_no;
    /// Names of its partitions, by commas.
    PARTITIONS = "partitions": location;
    /// State of a disk or array where it is not the usual one.
    STATE = "state": location;
    /// Names of an array's failed members, by commas.
    FAILED_MEMBERS = "failed members": absent_is_no;
    /// Names of an array's spare members, by commas.
    SPARES = "spares": absent_is_no;
    /// Where an array has its write-intent bitmap.
    BITMAP = "bitmap": absent_is_no;
    /// Options of an encrypted layer, by commas.
    ENCRYPTION_OPTIONS = "encryption options": absent_is_no;

    // What SMART says.

    /// `passed` or `failed`, by the disk's own account.
    HEALTH = "SMART health": public;
    /// Degrees Celsius.
    TEMPERATURE = "temperature": public, fleeting, unit(FactUnit::Celsius);
    /// Hours that it has run.
    HOURS = "power-on hours": fleeting;
    /// Percent of its life that is used up, by its own account; may be above 100.
    WEAR = "life used": public;
    /// Percent of the spare blocks of an NVMe disk that are left.
    SPARE = "spare blocks left": public;
    /// The percentage below which its maker calls that critical.
    LEAST_SPARE = "critical spare blocks": public;
    /// Life that an SD card or eMMC has used, as it says: two numbers, of both kinds of cells, each in tenths counted from 1
    /// (JEDEC JESD84-B51, 7.4.24).
    CARD_WEAR = "life used in tenths": public;
    /// What an SD card or eMMC says of its spare blocks: 1 is normal, 2 is 80 % used, 3 is 90 % used (the same, 7.4.25).
    CARD_SPARE = "spare blocks": public;
    /// Errors of the medium.
    MEDIA_ERRORS = "media errors": public;
    /// Sectors that were replaced.
    REALLOCATED = "reallocated sectors": public;
    /// Sectors that could not be read and wait for being written.
    PENDING = "pending sectors": public;
    /// Errors of the cable.
    LINK_ERRORS = "link errors": public;
    /// The disk sleeps and was left alone.
    SLEEPING = "sleeping": public, fleeting;

    // Machines.

    /// What chooses the processors' clocks, such as `performance` or `ondemand`.
    GOVERNOR = "governor": machine, public;
    /// The lowest clock that may be chosen, in Hz.
    LOWEST_CLOCK = "lowest clock": machine, public, unit(FactUnit::Hertz);
    /// The highest, in Hz.
    HIGHEST_CLOCK = "highest clock": machine, public, unit(FactUnit::Hertz);
    /// What slows the processors down at the start, by semicolons.
    THROTTLED = "throttled": machine, public, absent_is_no;
    /// A Raspberry Pi was throttled or had too little voltage since it was started.
    THROTTLED_BEFORE = "throttled since its start": machine, public, absent_is_no;
    /// The hypervisor, or `yes` where it does not say its name; absent on bare metal.
    VIRTUALISATION = "virtualisation": machine, public, absent_is_no;
    /// The cloud that the firmware's tables name, such as `Amazon EC2`.
    CLOUD = "cloud": machine, public, absent_is_no;
    /// What kind of container, or `yes`; absent outside.
    CONTAINER = "container": machine, public, absent_is_no;
    /// Memory in bytes that the control group may use.
    MEMORY_LIMIT = "memory limit": machine, public, absent_is_no, unit(FactUnit::Bytes);
    /// Bytes of a page.
    PAGE_SIZE = "page size": machine, public, unit(FactUnit::ExactBytes);
    /// Bytes of swap.
    SWAP = "swap": machine, public, unit(FactUnit::Bytes);
    /// What the kernel takes the time from.
    CLOCK_SOURCE = "clock source": machine, public;
    /// Share of memory in percent, or bytes, that may be dirty before writers are held up.
    DIRTY_LIMIT = "dirty limit": machine, public, unit(FactUnit::ExactBytes);
    /// The same at which writing back begins.
    DIRTY_BACKGROUND = "dirty background limit": machine, public, unit(FactUnit::ExactBytes);
    /// Mitigations of processor flaws are off.
    MITIGATIONS = "mitigations": machine, public, absent_is_no;

    /// Of an imported result: how many syncs took time that is in none of its latencies.
    SYNCS_OUTSIDE_LATENCY = "syncs in no latency": imported, public;
    /// Of an imported result: the block size that it used.
    BLOCK_SIZE = "block size": imported, public;
    /// Of an imported result: the format of its output.
    FORMAT = "format": imported, public;
    /// Of an imported result: how it called the kernel.
    IOENGINE = "ioengine": imported, public;
    /// Of an imported result: what its latencies contain.
    LATENCIES_INCLUDE = "latencies include": imported, public;
    /// Of an imported result: how long it measured.
    MEASURED_TIME = "measured time": imported, public;
    /// Of an imported result: what its percentiles are of.
    PERCENTILES_OF = "percentiles of": imported, public;
    /// Of an imported result: blocks that dd wrote.
    RECORDS_OUT = "records out": imported, public;
    /// Of an imported result: how it synced.
    SYNCS = "syncs": imported, public;
}
