//! SD cards and eMMC (Documentation/driver-api/mmc/mmc-dev-attrs.rst of the kernel; SD Specifications Part 1).

use std::path::Path;

use model::fact;

use super::{Facts, above};
use crate::counters::SECTOR;
use crate::{Roots, read_line};

pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let device = directory.join("device");
    for (name, file) in [
        (fact::CARD, "type"),
        (fact::CARD_NAME, "name"),
        (fact::CARD_MAKER, "manfid"),
        ("oemid", "oemid"),
        (fact::CARD_DATE, "date"),
        (fact::FIRMWARE, "fwrev"),
        ("hardware revision", "hwrev"),
        ("erase size", "preferred_erase_size"),
        (fact::CARD_WEAR, "life_time"),
        (fact::CARD_SPARE, "pre_eol_info"),
        ("command queue", "cmdq_en"),
    ] {
        facts.file(name, device.join(file));
    }
    let of_card = |file: &str, what: fn(&[u8]) -> Option<String>| what(&hex(&read_line(device.join(file))?)?);
    if facts.0.get(fact::CARD).is_some_and(|kind| kind.starts_with("SD")) {
        facts.put(fact::SPEED_CLASSES, of_card("ssr", speed_classes));
        let by_register =
            hex(&read_line(device.join("csd")).unwrap_or_default()).and_then(|csd| capacity(&csd));
        // They always agree, unless the card misreports one.
        facts.number(
            "capacity by CSD",
            by_register.filter(|bytes| Some(*bytes) != super::queue::bytes(directory)),
        );
    }
    bus(roots, directory, facts);
}

/// Bus mode and clock: only in debugfs, which only root may read.
fn bus(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let host = above(directory).find_map(|place| {
        let name = place.file_name()?.to_str()?.to_owned();
        name.strip_prefix("mmc")?.parse::<u32>().is_ok().then_some(name)
    });
    let Some(host) = host else { return };
    let text =
        std::fs::read_to_string(roots.sys.join("kernel/debug").join(host).join("ios")).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
        line.map(|(_, value)| value.trim().to_owned())
    };
    // `timing spec:  6 (sd uhs SDR104)`, `bus width:  2 (4 bits)`, `actual clock:  200000000 Hz`
    let within = |text: String| Some(text.split_once('(')?.1.trim_end_matches(')').to_owned());
    let mode = value("timing spec").and_then(within);
    let hz = value("actual clock").or_else(|| value("clock"));
    let hz = hz.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).filter(|hz| *hz > 0);
    let wires = value("bus width").and_then(within);
    let wires = wires.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    // In these modes both clock edges carry data.
    let edges = mode.as_deref().is_some_and(|mode| mode.contains("DDR") || mode.contains("HS400"));
    facts.number(fact::LINK_SPEED, hz.zip(wires).map(|(hz, wires)| hz * wires * (1 + u64::from(edges))));
    facts.put(fact::BUS_MODE, mode);
}

/// The bytes of a register in hexadecimal digits.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits =
        text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    digits.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

/// The speed classes that the card claims, from the 64 bytes of its status register (Part 1, 4.10.2).
fn speed_classes(status: &[u8]) -> Option<String> {
    let byte = |at: usize| status.get(at).copied().unwrap_or(0);
    let mut found = Vec::new();
    found.extend(
        [None, Some("C2"), Some("C4"), Some("C6"), Some("C10")]
            .get(usize::from(byte(8)))
            .copied()
            .flatten()
            .map(str::to_owned),
    );
    found.extend(Some(byte(14) >> 4).filter(|grade| matches!(grade, 1 | 3)).map(|grade| format!("U{grade}")));
    found.extend(Some(byte(15)).filter(|class| *class > 0).map(|class| format!("V{class}")));
    found.extend(Some(byte(21) & 15).filter(|class| *class > 0).map(|class| format!("A{class}")));
    (!found.is_empty()).then(|| found.join(" "))
}

/// Bytes according to the card-specific data (Part 1, 5.3.2 and 5.3.3).
fn capacity(csd: &[u8]) -> Option<u64> {
    if csd.len() != 16 {
        return None;
    }
    let bits = csd.iter().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
    let field = |high: u32, low: u32| (bits >> low & ((1 << (high - low + 1)) - 1)) as u64;
    match field(127, 126) {
        0 => {
            let blocks = (field(73, 62) + 1) << (field(49, 47) + 2);
            Some(blocks << field(83, 80))
        }
        1 => Some((field(69, 48) + 1) * 1024 * SECTOR),
        2 => Some((field(75, 48) + 1) * 1024 * SECTOR),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_follows_the_version_of_the_register() {
        // From QEMU for a card of 1 GiB: 2^14 blocks of 2^9 … by version 1.
        let csd = hex("002600325f59e3ffffffdfff92600000").unwrap();
        assert_eq!(capacity(&csd), Some(1 << 30));
        // Version 2: 0x00edc8 + 1 units of 512 KiB.
        let csd = hex("400e00325b590000edc87f800a404000").unwrap();
        assert_eq!(capacity(&csd), Some((0xedc8 + 1) * 512 * 1024));
        assert_eq!(capacity(&csd[1..]), None);
    }

    #[test]
    fn speed_classes_are_those_that_the_card_claims() {
        let mut status = vec![0; 64];
        assert_eq!(speed_classes(&status), None);
        (status[8], status[14], status[15], status[21]) = (4, 0x3a, 30, 2);
        assert_eq!(speed_classes(&status).unwrap(), "C10 U3 V30 A2");
    }
}
