//! What all SCSI disks have, including those of SATA, USB and iSCSI: the pages of vital product data, which the
//! kernel caches when it detects the disk, so that reading them does not wake it.

use std::fs;
use std::path::Path;

use model::fact;

use super::{Facts, above, giga, number, shortened, upward};
use crate::stack::entries;
use crate::{Roots, read_line};

pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let device = directory.join("device");
    let page = |number: &str| fs::read(device.join(format!("vpd_{number}"))).ok();
    facts.put(fact::ROTATION_RATE, page("pgb1").and_then(|page| rotation(&page)));
    facts.put(fact::SERIAL, page("pg80").and_then(|page| shortened(&serial(&page)?)));
    facts.number(fact::DEVICE_DEPTH, number(device.join("queue_depth")));
    facts.put(fact::STATE, read_line(device.join("state")).filter(|state| state != "running"));
    facts.file(
        "cache type",
        entries(&device.join("scsi_disk")).first().map(|d| d.join("cache_type")).unwrap_or_default(),
    );
    if !facts.0.contains_key(fact::DRIVER) {
        facts.put(fact::DRIVER, adapter(roots, directory));
    }
    facts.number(fact::LINK_SPEED, sas_rate(directory));
}

/// Bytes 4 and 5 of the page of block device characteristics (SBC-4, 6.6.2): 0 if the disk does not report it, 1
/// if it does not rotate, else revolutions per minute.
fn rotation(page: &[u8]) -> Option<String> {
    match u16::from_be_bytes([*page.get(4)?, *page.get(5)?]) {
        1 => Some("none".to_owned()),
        rate @ 0x0401..=0xfffe => Some(rate.to_string()),
        _ => None,
    }
}

/// The page of the unit serial number (SPC-4, 7.8.15): four bytes, then text.
fn serial(page: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(page.get(4..)?);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The name of the host adapter's driver, if the adapter is not on a bus.
fn adapter(roots: &Roots, directory: &Path) -> Option<String> {
    let is_host =
        |name: &str| name.strip_prefix("host").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let mut names = above(directory).filter_map(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()));
    let host = names.find(|name| is_host(name))?;
    read_line(roots.sys.join("class/scsi_host").join(host).join("proc_name"))
        .filter(|name| name != "<NULL>" && name != "(null)")
}

/// The rate of the first phy of a SAS disk's port.
fn sas_rate(directory: &Path) -> Option<u64> {
    let named =
        |place: &Path, start: &str| place.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start));
    let port = upward(directory, |place| named(place, "port-"))?;
    let phy = entries(&port).into_iter().find(|place| named(place, "phy-"))?;
    let name = phy.file_name()?.to_owned();
    giga(&read_line(phy.join("sas_phy").join(name).join("negotiated_linkrate"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_rate_is_reported_or_omitted() {
        let page =
            |rate: u16| [[0, 0xb1, 0, 60], [rate.to_be_bytes()[0], rate.to_be_bytes()[1], 0, 0]].concat();
        assert_eq!(rotation(&page(7200)).unwrap(), "7200");
        assert_eq!(rotation(&page(1)).unwrap(), "none");
        for nothing in [0, 2, 0x0400, 0xffff] {
            assert_eq!(rotation(&page(nothing)), None);
        }
        assert_eq!(rotation(&[0, 0xb1]), None);
    }
}
