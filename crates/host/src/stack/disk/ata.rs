//! SATA: the link rate, and names that are too long for SCSI's fields.

use std::fs;
use std::path::Path;

use model::fact;

use super::{Facts, above, giga};
use crate::{Roots, read_line};

/// Start of the disk's identification within its page (SAT-4, 12.4.2).
const IDENTIFY: usize = 60;

pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let page = fs::read(directory.join("device/vpd_pg89")).unwrap_or_default();
    facts.put(fact::FIRMWARE, text(&page, 23, 4));
    facts.put(fact::MODEL, text(&page, 27, 20));
    let port = above(directory).find_map(|place| {
        let number = place.file_name()?.to_str()?.strip_prefix("ata")?.to_owned();
        number.parse::<u32>().ok()
    });
    let Some(port) = port else { return };
    let link = roots.sys.join(format!("class/ata_link/link{port}"));
    let rate = |file: &str| giga(&read_line(link.join(file))?);
    facts.number(fact::LINK_SPEED, rate("sata_spd"));
    // With the port's limit alone, a slow disk would appear to have a bad cable.
    let both = rate("hw_sata_spd_limit").zip(fastest(&page)).map(|(port, disk)| port.min(disk));
    facts.number(fact::HIGHEST_LINK_SPEED, both);
}

/// The highest rate that the disk reports as supported, in bits 1 to 3 of word 76 (ACS-4, 9.11.5).
fn fastest(page: &[u8]) -> Option<u64> {
    let at = IDENTIFY + 2 * 76;
    match u16::from_le_bytes([*page.get(at)?, *page.get(at + 1)?]) {
        0 | 0xffff => None,
        word if word & 8 != 0 => Some(6_000_000_000),
        word if word & 4 != 0 => Some(3_000_000_000),
        word if word & 2 != 0 => Some(1_500_000_000),
        _ => None,
    }
}

/// A text in the identification, in words with swapped bytes (ACS-4, 3.4.9).
fn text(page: &[u8], first_word: usize, words: usize) -> Option<String> {
    let start = IDENTIFY + 2 * first_word;
    let bytes: Vec<u8> =
        page.get(start..start + 2 * words)?.chunks(2).flat_map(|word| [word[1], word[0]]).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_identification_are_unswapped() {
        let mut page = vec![0; 572];
        let place = |page: &mut Vec<u8>, word: usize, text: &str| {
            for (i, pair) in text.as_bytes().chunks(2).enumerate() {
                page[IDENTIFY + 2 * (word + i)] = pair[1];
                page[IDENTIFY + 2 * (word + i) + 1] = pair[0];
            }
        };
        place(&mut page, 27, "WDC WD40EFRX-68N32N0                    ");
        place(&mut page, 23, "82.00A82");
        assert_eq!(text(&page, 27, 20).unwrap(), "WDC WD40EFRX-68N32N0");
        assert_eq!(text(&page, 23, 4).unwrap(), "82.00A82");
        assert_eq!(text(&page[..100], 23, 4), None);
    }
}
