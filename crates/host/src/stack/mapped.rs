//! Device-mapper devices: their creator is in the uuid, their function in the table, which only root may read.

use std::path::Path;
use std::time::Duration;

use model::{LayerKind, fact};

use super::{Facts, crypt, entries, queue};
use crate::programs::ask;
use crate::{Roots, read_line};

/// A device-mapper query takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// Adds the known facts and returns the kind of layer.
pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) -> LayerKind {
    let uuid = read_line(directory.join("dm/uuid")).unwrap_or_default();
    let name = read_line(directory.join("dm/name")).unwrap_or_default();
    facts.put(fact::MAPPING, Some(name.clone()).filter(|name| !name.is_empty()));
    facts.put("suspended", read_line(directory.join("dm/suspended")).filter(|is| is == "1"));
    // Never with --showkeys: without it, dmsetup prints zeros instead of a key.
    let table =
        ask(roots, "dmsetup", &["table", "--", &name], TIMEOUT).filter(|output| output.code == Some(0));
    let table = table.map(|output| output.text).unwrap_or_default();
    let targets = targets(&table);
    facts.put(fact::TABLE, Some(targets.join(",")).filter(|targets| !targets.is_empty()));
    if uuid.starts_with("LVM-")
        && let Some((group, volume)) = volume(&name)
    {
        facts.put(fact::GROUP, group);
        facts.put(fact::VOLUME, volume);
    }
    if let Some(format) = crypt::format(&uuid).or(targets.contains(&"crypt").then(|| "dm-crypt".to_owned())) {
        facts.put(fact::ENCRYPTION, format);
        crypt::facts(roots, &name, &table, facts);
        return LayerKind::Crypt;
    }
    if let Some(level) = level(&table) {
        facts.put(fact::LEVEL, level);
        return LayerKind::Raid;
    }
    if uuid.starts_with("DMRAID-") || has_raid_images(directory) {
        return LayerKind::Raid;
    }
    if uuid.starts_with("mpath-") {
        facts.number(fact::PATHS, entries(&directory.join("slaves")).len() as u64);
    }
    LayerKind::Lvm
}

/// The kernel's other cache, next to the device mapper's (Documentation/admin-guide/bcache.rst).
pub(super) fn bcache(directory: &Path, facts: &mut Facts) {
    facts.put(fact::TABLE, "bcache".to_owned());
    facts.put("cache mode", read_line(directory.join("bcache/cache_mode")).map(queue::chosen));
}

/// The kinds of targets in a table, each once. A line is `start length kind …`, with the name before it if
/// several devices are queried.
fn targets(table: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for kind in table.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)) {
        if !found.contains(&kind) {
            found.push(kind);
        }
    }
    found
}

/// The level of a dm-raid array or an old dm-mirror: `0 8192 raid raid1 …`.
fn level(table: &str) -> Option<String> {
    let words: Vec<&str> = table.lines().next()?.split_ascii_whitespace().collect();
    match *words.get(2)? {
        "raid" => words.get(3).map(|level| (*level).to_owned()),
        "mirror" => Some("raid1".to_owned()),
        _ => None,
    }
}

/// The members of an LVM array are volumes themselves.
fn has_raid_images(directory: &Path) -> bool {
    let mut beneath = entries(&directory.join("slaves")).into_iter();
    beneath.any(|slave| read_line(slave.join("dm/name")).is_some_and(|name| name.contains("_rimage_")))
}

/// Volume group and logical volume of a name: joined by a hyphen, with each hyphen inside either doubled (`lvm2`,
/// libdm `dm_build_dm_name`).
fn volume(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            if bytes.get(at + 1) != Some(&b'-') {
                let plain = |part: &str| part.replace("--", "-");
                return Some((plain(&name[..at]), plain(&name[at + 1..])));
            }
            at += 1;
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_in_volume_names_are_doubled() {
        let found = |name| volume(name).map(|(group, volume)| format!("{group} {volume}"));
        assert_eq!(found("vg-root").unwrap(), "vg root");
        assert_eq!(found("my--vg-my--lv").unwrap(), "my-vg my-lv");
        assert_eq!(found("vg-lv_rimage_0").unwrap(), "vg lv_rimage_0");
        assert_eq!(found("lonely"), None);
    }

    #[test]
    fn a_table_yields_its_targets_and_the_level_of_an_array() {
        assert_eq!(targets("0 100 linear 8:1 0\n100 50 linear 8:2 0\n150 1 error\n"), ["linear", "error"]);
        assert_eq!(level("0 8192 raid raid5_ls 3 128 region_size 4096 3 253:0 253:1").unwrap(), "raid5_ls");
        assert_eq!(level("0 8192 mirror core 1 1024 2 8:1 0 8:2 0").unwrap(), "raid1");
        assert_eq!(level("0 8192 linear 8:1 0"), None);
        assert!(targets("").is_empty());
    }
}
