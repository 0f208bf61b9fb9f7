//! What a part of the storage costs: targets that differ in one layer, or in one label of imported files.

use std::collections::BTreeMap;

use model::{Comparison, Layer, LayerKind, Run, Target, fact};

use crate::compare::{Series, compare_pairs};
use crate::ratio::Pairing;

/// Labels of a target: those of its imported files, else the filesystem and disks of its stack.
pub fn labels_of(run: &Run, target: &Target) -> BTreeMap<String, String> {
    let of_target = run.repeats.iter().filter(|r| r.started.target == target.name);
    let imported = of_target.filter_map(|r| r.imported.as_deref()).next();
    if let Some(imported) = imported {
        return imported.labels.clone();
    }
    let names = |kind: LayerKind| {
        let names: Vec<&str> =
            target.stack.iter().filter(|l| l.kind == kind).map(|l| l.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join("+"))
    };
    let is_encrypted = target.stack.iter().any(|l| l.kind == LayerKind::Crypt);
    let filesystem =
        names(LayerKind::Filesystem).map(|fs| if is_encrypted { format!("{fs}, encrypted") } else { fs });
    let found = [("filesystem", filesystem), ("device", names(LayerKind::Disk))];
    found.into_iter().filter_map(|(key, name)| Some((key.to_owned(), name?))).collect()
}

/// A target and a plainer one, which lacks one part of it or has a plainer one in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The part, such as `LUKS` or `btrfs instead of ext4`.
    pub of: String,
    /// The target with it.
    pub target: String,
    /// The target without it.
    pub plain: String,
    /// The labels that the two have in common, for imported files.
    pub on: BTreeMap<String, String>,
    /// The headline figures of the target against those of the plain one. The verdicts of all costs are one family.
    pub comparisons: Vec<Comparison>,
}

/// The costs that the targets of a run make visible.
pub fn costs(run: &Run, series: &[Series], pairing: Pairing, margin: f64) -> Vec<Cost> {
    let mut found: Vec<Cost> = Vec::new();
    let targets = &run.started.targets;
    let words: Vec<Vec<String>> = targets.iter().map(|target| words(run, target)).collect();
    for (target, with) in targets.iter().zip(&words) {
        let mut own: Vec<(Cost, Option<usize>)> = Vec::new();
        for (plain, without) in targets.iter().zip(&words).filter(|(plain, _)| plain.name != target.name) {
            let Some(of) = one_more(with, without) else { continue };
            let on = in_common(run, target, plain);
            let plainness = without.iter().find_map(|word| plainness(word));
            let is_replaced = with.len() == without.len();
            let cost = Cost {
                of,
                target: target.name.clone(),
                plain: plain.name.clone(),
                on,
                comparisons: Vec::new(),
            };
            own.push((cost, plainness.filter(|_| is_replaced)));
        }
        // Another filesystem is compared with the plainest.
        let plainest = own.iter().filter_map(|(_, plainness)| *plainness).min();
        own.retain(|(_, plainness)| plainness.is_none() || *plainness == plainest);
        found.extend(own.into_iter().map(|(cost, _)| cost));
    }
    let headlines: Vec<Series> = series.iter().filter(|s| s.is_headline).cloned().collect();
    let mut plainer: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    found.iter().for_each(|cost| plainer.entry(&cost.target).or_default().push(&cost.plain));
    let partners = |target: &str| plainer.get(target).cloned().unwrap_or_default();
    let all = compare_pairs(&headlines, partners, pairing, margin);
    for cost in &mut found {
        let own = all.iter().filter(|c| c.target == cost.target && c.baseline == cost.plain);
        cost.comparisons = own.cloned().collect();
    }
    found.retain(|cost| !cost.comparisons.is_empty());
    found
}

/// What a target is made of: the layers of its stack, or for imported files their labels, encryption apart from the filesystem.
fn words(run: &Run, target: &Target) -> Vec<String> {
    if !run.is_imported() {
        return words_of_stack(target);
    }
    let mut words = Vec::new();
    for (key, value) in labels_of(run, target) {
        let (value, encryption) = match key.as_str() {
            "filesystem" => without_encryption(&value),
            "encryption" if is_none(&value) => continue,
            _ => (value, None),
        };
        words.extend([Some(value), encryption].into_iter().flatten());
    }
    words
}

fn is_none(value: &str) -> bool {
    ["none", "no", "off", "plain", "false", "0"].contains(&value.to_ascii_lowercase().as_str())
}

/// A filesystem's name, with the encryption that the name tells: `ext4Luks` is ext4 on LUKS, `ext4Only` is ext4.
fn without_encryption(value: &str) -> (String, Option<String>) {
    const ENCRYPTIONS: [(&str, &str); 6] = [
        ("luks2", "LUKS"),
        ("luks", "LUKS"),
        ("dmcrypt", "dm-crypt"),
        ("encrypted", "encryption"),
        ("crypt", "encryption"),
        ("veracrypt", "VeraCrypt"),
    ];
    let small = value.to_ascii_lowercase();
    let Some(filesystem) = FILESYSTEMS.iter().filter(|fs| small.starts_with(*fs)).max_by_key(|fs| fs.len())
    else {
        return (value.to_owned(), None);
    };
    let rest = small[filesystem.len()..].trim_start_matches(['-', '_', ' ', '+', ',']);
    let encryption = ENCRYPTIONS.iter().find(|(name, _)| *name == rest).map(|(_, shown)| (*shown).to_owned());
    match (&encryption, rest) {
        (Some(_), _) | (None, "" | "only" | "plain" | "raw") => ((*filesystem).to_owned(), encryption),
        _ => (value.to_owned(), None),
    }
}

fn in_common(run: &Run, target: &Target, plain: &Target) -> BTreeMap<String, String> {
    if !run.is_imported() {
        return BTreeMap::new();
    }
    let labels = |target| {
        let mut labels = labels_of(run, target);
        if let Some(value) = labels.get_mut("filesystem") {
            let (filesystem, encryption) = without_encryption(value);
            *value = filesystem;
            labels.entry("encryption".to_owned()).or_insert(encryption.unwrap_or_else(|| "plain".to_owned()));
        }
        labels
    };
    let theirs = labels(plain);
    labels(target).into_iter().filter(|(key, value)| theirs.get(key) == Some(value)).collect()
}

fn plainness(name: &str) -> Option<usize> {
    FILESYSTEMS.iter().position(|known| *known == name)
}

/// The stack as words from the top down, without the layers that cost nothing. A loop device and the filesystem of its
/// backing file are one layer.
fn words_of_stack(target: &Target) -> Vec<String> {
    let mut by_level: BTreeMap<u32, Vec<&Layer>> = BTreeMap::new();
    for layer in target.stack.iter().filter(|layer| layer.kind != LayerKind::Partition) {
        by_level.entry(layer.level).or_default().push(layer);
    }
    let mut words: Vec<String> = Vec::new();
    for layers in by_level.into_values() {
        let mut alike: Vec<String> = layers.into_iter().map(word).collect();
        alike.dedup();
        let below_loop = words.last().is_some_and(|word| word == "a loop device");
        if !(below_loop && alike.iter().all(|word| FILESYSTEMS.contains(&word.as_str()))) {
            words.push(alike.join("+"));
        }
    }
    words
}

/// Filesystems that can replace each other, the plainest first.
const FILESYSTEMS: [&str; 15] = [
    "ext2", "ext3", "ext4", "xfs", "jfs", "btrfs", "f2fs", "bcachefs", "zfs", "vfat", "fat32", "exfat",
    "ntfs3", "ntfs", "nilfs2",
];

fn word(layer: &Layer) -> String {
    let value = |name: &str| layer.facts.get(name).cloned();
    match layer.kind {
        LayerKind::Filesystem => layer.name.clone(),
        LayerKind::Crypt => "encryption (dm-crypt)".to_owned(),
        LayerKind::Raid => value(fact::LEVEL).unwrap_or_else(|| "an array".to_owned()),
        LayerKind::Lvm => "a logical volume".to_owned(),
        LayerKind::Loop => "a loop device".to_owned(),
        LayerKind::Network => format!("the network ({})", layer.name),
        // Disks of one model are equal; a disk without a model is equal only to itself.
        LayerKind::Disk | LayerKind::Partition => value("model").unwrap_or_else(|| layer.name.clone()),
    }
}

/// The layer that `with` has and `without` lacks, if it is exactly one, or a different filesystem at the same level.
fn one_more(with: &[String], without: &[String]) -> Option<String> {
    if with.len() == without.len() + 1 {
        let at = (0..with.len()).find(|i| with.get(*i) != without.get(*i))?;
        return (with[at + 1..] == without[at..]).then(|| with[at].clone());
    }
    let differ: Vec<usize> =
        (0..with.len()).filter(|i| with.len() == without.len() && with[*i] != without[*i]).collect();
    let [at] = differ.as_slice() else { return None };
    let (this, that) = (with[*at].as_str(), without[*at].as_str());
    // The plainer of two filesystems is the baseline.
    let is_fancier = plainness(this)? > plainness(that)?;
    is_fancier.then(|| format!("{this} instead of {that}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_is_read_from_the_name_of_a_filesystem() {
        let told = |value: &str| {
            let (filesystem, encryption) = without_encryption(value);
            (filesystem, encryption.unwrap_or_default())
        };
        assert_eq!(told("ext4Luks"), ("ext4".into(), "LUKS".into()));
        assert_eq!(told("btrfsOnly"), ("btrfs".into(), String::new()));
        assert_eq!(told("xfs-dmcrypt"), ("xfs".into(), "dm-crypt".into()));
        assert_eq!(told("NTFS"), ("ntfs".into(), String::new()));
        assert_eq!(told("ext4-old"), ("ext4-old".into(), String::new()), "that is another target");
        assert_eq!(told("tape"), ("tape".into(), String::new()));
    }

    #[test]
    fn one_part_more_or_a_plainer_filesystem() {
        let of = |with: &[&str], without: &[&str]| {
            let words = |all: &[&str]| all.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
            one_more(&words(with), &words(without))
        };
        assert_eq!(of(&["ssd", "ext4", "LUKS"], &["ssd", "ext4"]), Some("LUKS".into()));
        assert_eq!(of(&["ssd", "btrfs"], &["ssd", "ext4"]), Some("btrfs instead of ext4".into()));
        assert_eq!(of(&["ssd", "ext4"], &["ssd", "btrfs"]), None, "the plainer one costs nothing");
        assert_eq!(of(&["ssd", "btrfs", "LUKS"], &["ssd", "ext4"]), None, "two parts differ");
        assert_eq!(of(&["ssd", "ext4"], &["hdd", "ext4"]), None, "another disk is no cost");
    }
}
