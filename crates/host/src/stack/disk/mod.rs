//! Disks: devices without a further block device below, by the way they are attached.

mod ata;
mod fabric;
mod mmc;
mod nvme;
mod scsi;
mod usb;

use std::path::{Path, PathBuf};

use model::{Layer, LayerKind, fact};

use super::{Facts, link_name, number, queue};
use crate::{Roots, read_line};

/// Number of serial number characters shown: enough to distinguish a user's disks.
const SERIAL_SHOWN: usize = 4;

/// Adds the known facts and returns the kind of layer.
pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) -> LayerKind {
    let link = link(directory);
    facts.put(fact::LINK, link.map(str::to_owned));
    facts.put(fact::DRIVER, driver(directory));
    facts.number("removable", number(directory.join("removable")).filter(|is| *is == 1));
    names(directory, facts);
    match link {
        Some("nvme") => nvme::facts(roots, directory, facts),
        Some("mmc") => mmc::facts(roots, directory, facts),
        Some("usb") => {
            scsi::facts(roots, directory, facts);
            usb::facts(directory, facts);
        }
        Some("ata") => {
            scsi::facts(roots, directory, facts);
            ata::facts(roots, directory, facts);
        }
        Some("iscsi") => {
            scsi::facts(roots, directory, facts);
            fabric::facts(roots, directory, facts);
        }
        Some("scsi" | "sas" | "fc") => scsi::facts(roots, directory, facts),
        Some("zram") => zram(directory, facts),
        Some("rbd") => rbd(roots, directory, facts),
        _ => {}
    }
    match link {
        Some("nbd" | "rbd" | "drbd") => LayerKind::Network,
        _ => LayerKind::Disk,
    }
}

/// How a disk is attached, as far as its position in the device tree and its name show.
fn link(directory: &Path) -> Option<&'static str> {
    let parts: Vec<&str> = directory.iter().filter_map(|part| part.to_str()).collect();
    let name = parts.last().copied().unwrap_or_default();
    let has = |start: &str| {
        parts.iter().any(|part| {
            part.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let called = |start: &str| name.starts_with(start);
    let ways = [
        ("nvme", called("nvme")),
        ("mmc", called("mmcblk")),
        ("usb", has("usb")),
        ("iscsi", has("session")),
        ("ata", has("ata")),
        ("sas", has("end_device-")),
        ("fc", has("rport-")),
        // A SCSI host of a virtual machine: the type of its disks is not visible.
        ("scsi", has("target")),
        ("virtio", has("virtio")),
        ("xen", has("vbd-")),
        ("zram", called("zram")),
        ("nbd", called("nbd")),
        ("rbd", called("rbd")),
        ("drbd", called("drbd")),
        ("pmem", called("pmem")),
        ("ram", called("ram")),
        ("null", called("nullb")),
        ("floppy", called("fd")),
        ("scsi", has("host")),
    ];
    ways.iter().find(|(_, found)| *found).map(|(name, _)| *name)
}

/// The driver that affects speed: of the bridge or the host adapter, not the generic disk driver.
fn driver(directory: &Path) -> Option<String> {
    const GENERAL: [&str; 4] = ["sd", "sr", "mmcblk", "usb"];
    let start = std::fs::canonicalize(directory.join("device")).unwrap_or_else(|_| directory.to_owned());
    let drivers = above(&start).filter_map(|place| link_name(place.join("driver")));
    drivers.into_iter().find(|name| !GENERAL.contains(&name.as_str()))
}

/// A path in the device tree and those above it.
fn above(place: &Path) -> impl Iterator<Item = PathBuf> {
    place.ancestors().take_while(|at| !at.ends_with("devices")).map(Path::to_owned)
}

/// The first path upward for which `is` is true.
fn upward(directory: &Path, is: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    above(directory).find(|place| is(place))
}

/// The names that its vendor gives.
fn names(directory: &Path, facts: &mut Facts) {
    let device = directory.join("device");
    // SCSI's type is a meaningless number for readers, as is virtio's vendor.
    let telling = |file: &str| read_line(device.join(file)).filter(|v| !v.starts_with("0x"));
    facts.put(fact::VENDOR, telling("vendor").filter(|vendor| vendor != "ATA"));
    facts.put(fact::MODEL, telling("model"));
    let firmware = telling("firmware_rev").or_else(|| telling("rev"));
    facts.put(fact::FIRMWARE, firmware);
    let serial = read_line(directory.join("serial")).or_else(|| read_line(device.join("serial")));
    facts.put(fact::SERIAL, serial.as_deref().and_then(shortened));
    facts.put(fact::SERIAL_FORM, serial.as_deref().and_then(serial_form).map(str::to_owned));
}

/// Clouds put the ids of their volumes into serial numbers; virtio cuts a UUID off after 20 characters.
fn serial_form(serial: &str) -> Option<&'static str> {
    let groups: Vec<&str> = serial.trim().split('-').collect();
    let is_hex = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    match groups.as_slice() {
        [first, second, third, ..] if [8, 4, 4] == [first, second, third].map(|g| g.len()) => {
            groups.iter().all(is_hex).then_some("uuid")
        }
        [only] => only.strip_prefix("vol").filter(is_hex).filter(|id| id.len() >= 8).map(|_| "EBS volume"),
        _ => None,
    }
}

/// The end of a serial number; `None` if it is so short that its end would be all of it.
fn shortened(serial: &str) -> Option<String> {
    let characters: Vec<char> = serial.trim().trim_start_matches("0x").chars().collect();
    let hidden = characters.len().checked_sub(SERIAL_SHOWN).filter(|hidden| *hidden > 0)?;
    Some(characters[hidden..].iter().collect())
}

/// Compressed memory, and what is behind it (Documentation/admin-guide/blockdev/zram.rst of the kernel).
fn zram(directory: &Path, facts: &mut Facts) {
    facts.put(fact::COMPRESSION, read_line(directory.join("comp_algorithm")).map(queue::chosen));
    facts.number("zram limit", number(directory.join("mem_limit")).filter(|limit| *limit > 0));
    facts.put(fact::BACKING_FILE, read_line(directory.join("backing_dev")).filter(|file| file != "none"));
}

/// Ceph's block device: its pool and image.
fn rbd(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let place = roots.sys.join("bus/rbd/devices").join(name.trim_start_matches("rbd"));
    facts.file(fact::POOL, place.join("pool"));
    facts.file("image", place.join("name"));
}

/// True for a disk that may report health: those of virtual machines and of memory do not.
pub(crate) fn is_asked_for_health(layer: &Layer) -> bool {
    let link = layer.facts.get(fact::LINK).map_or("", String::as_str);
    layer.kind == LayerKind::Disk && matches!(link, "nvme" | "ata" | "usb" | "scsi" | "sas" | "fc")
}

/// Bits per second of a rate with its unit, such as `8.0 GT/s PCIe`, `6.0 Gbps` or `12.0 Gbit`.
fn giga(text: &str) -> Option<u64> {
    let value: f64 = text.split_whitespace().next()?.parse().ok()?;
    (value > 0.0 && value < 1e4).then(|| (value * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_serial_number_is_shown() {
        assert_eq!(shortened("S4EWNX0R123456X").unwrap(), "456X");
        assert_eq!(shortened("0xdeadbeef\n").unwrap(), "beef");
        assert_eq!(shortened("12345").unwrap(), "2345");
        assert_eq!(shortened("1234"), None);
        assert_eq!(shortened(""), None);
    }

    #[test]
    fn ids_of_volumes_are_recognised_in_serial_numbers() {
        for (serial, form) in [
            ("9b6f2c1e-7d1a-4b52-8", Some("uuid")),
            ("9b6f2c1e-7d1a-4b52-8f00-5a6b7c8d9e0f", Some("uuid")),
            ("vol0a1b2c3d4e5f60718", Some("EBS volume")),
            ("volume", None),
            ("S5GXNX0R000042A", None),
            ("drive-scsi0", None),
        ] {
            assert_eq!(serial_form(serial), form, "{serial}");
        }
    }

    #[test]
    fn the_link_is_recognised_by_the_path() {
        for (place, expected) in [
            ("pci0000:00/0000:00:05.0/virtio4/host0/target0:0:0/0:0:0:0/block/sda", "scsi"),
            ("pci0000:00/0000:00:1f.2/ata5/host5/target5:0:0/5:0:0:0/block/sdd", "ata"),
            ("pci0000:00/0000:00:07.0/usb2/2-2/2-2:1.0/host8/target8:0:0/8:0:0:0/block/sde", "usb"),
            ("pci0000:00/0000:00:01.0/virtio0/block/vda", "virtio"),
            ("pci0000:00/0000:00:06.0/nvme/nvme0/nvme0n1", "nvme"),
            ("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "nvme"),
            ("pci0000:00/0000:00:08.0/mmc_host/mmc0/mmc0:4567/block/mmcblk0", "mmc"),
            ("platform/host3/session1/target3:0:0/3:0:0:0/block/sdc", "iscsi"),
            ("virtual/block/zram0", "zram"),
            ("virtual/block/nbd0", "nbd"),
            ("pseudo_0/adapter0/host9/target9:0:0/9:0:0:0/block/sdg", "scsi"),
        ] {
            assert_eq!(link(&Path::new("/sys/devices").join(place)), Some(expected), "{place}");
        }
        assert_eq!(link(Path::new("/sys/devices/virtual/block/other")), None);
    }

    #[test]
    fn rates_are_parsed_with_any_unit_of_the_kernel() {
        assert_eq!(giga("8.0 GT/s PCIe"), Some(8_000_000_000));
        assert_eq!(giga("2.5 GT/s"), Some(2_500_000_000));
        assert_eq!(giga("1.5 Gbps"), Some(1_500_000_000));
        assert_eq!(giga("Unknown"), None);
        assert_eq!(giga("<unknown>"), None);
    }
}
