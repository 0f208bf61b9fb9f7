//! What a part of the storage costs: targets that differ in one layer, in one label of imported files, or in the machine.

use std::collections::BTreeMap;

use model::{Comparison, Layer, LayerKind, PortableMath, Run, Target, fact};

use crate::compare::{Series, compare_pairs};
use crate::ratio::Pairing;

/// Labels of a target: those of its imported files, else the filesystem and disks of its stack and what the user said of
/// it, which takes precedence.
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
    let mut arrays: Vec<String> =
        target.stack.iter().filter(|l| l.kind == LayerKind::Raid).map(word).collect();
    arrays.dedup();
    let array = (!arrays.is_empty()).then(|| arrays.join("+"));
    let found = [("filesystem", filesystem), ("device", names(LayerKind::Disk)), (ARRAY, array)];
    let found = found.into_iter().filter_map(|(key, name)| Some((key.to_owned(), name?)));
    found.chain(target.labels.clone()).collect()
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
    /// The labels that the two have in common, such as the device.
    pub on: BTreeMap<String, String>,
    /// The headline figures of the target against those of the plain one. The verdicts of all costs are one family.
    pub comparisons: Vec<Comparison>,
}

/// A target, and what tells it apart from others.
#[derive(Clone, Debug)]
pub struct TargetParts {
    /// Its name, as in the series.
    pub name: String,
    /// The id of its run.
    run: String,
    /// The layers of its stack from the top down, or the values of its labels.
    parts: Vec<String>,
    /// The values of the labels that the user gave a target which Lodestone measured.
    said: Vec<String>,
    /// The machine that measured it, if that is known.
    machine: Option<String>,
    /// Its labels, the encryption apart from the filesystem.
    labels: BTreeMap<String, String>,
}

impl TargetParts {
    /// A target of a run.
    pub fn of(run: &Run, target: &Target) -> Self {
        let mut labels = labels_of(run, target);
        if run.is_imported() {
            let parts = parts_of_labels(&labels);
            if let Some(value) = labels.get_mut(FILESYSTEM) {
                let (filesystem, encryption) = without_encryption(value);
                *value = filesystem;
                let encryption = encryption.unwrap_or_else(|| "plain".to_owned());
                labels.entry("encryption".to_owned()).or_insert(encryption);
            }
            let machine = MACHINES.iter().find_map(|key| labels.get(*key)).cloned();
            let (name, run) = (target.name.clone(), run.started.id.clone());
            return Self { name, run, parts, said: Vec::new(), machine, labels };
        }
        labels.remove(FILESYSTEM);
        let machine = MACHINES.iter().find_map(|key| target.labels.get(*key)).cloned();
        let machine = machine.or_else(|| {
            Some(run.started.machine_name(target.host).to_owned()).filter(|name| !name.is_empty())
        });
        labels.extend(machine.iter().map(|name| ("host".to_owned(), name.clone())));
        let (name, run) = (target.name.clone(), run.started.id.clone());
        let said = parts_of_labels(&target.labels);
        Self { name, run, parts: parts_of_stack(target), said, machine, labels }
    }

    /// The targets of a run.
    pub fn of_run(run: &Run) -> Vec<Self> {
        run.started.targets.iter().map(|target| Self::of(run, target)).collect()
    }

    /// The same with the id of its run before its name, as several runs are compared.
    #[must_use]
    pub fn with_run(self) -> Self {
        Self { name: format!("{}:{}", self.run, self.name), ..self }
    }

    /// The part that this target has and a plainer one lacks: a layer, or between equal stacks what the user calls it.
    fn more_than(&self, plain: &Self) -> Option<String> {
        match self.parts == plain.parts {
            true => one_more(&self.said, &plain.said),
            false => one_more(&self.parts, &plain.parts),
        }
    }

    fn in_common(&self, other: &Self) -> BTreeMap<String, String> {
        let own = self.labels.iter().filter(|(key, value)| other.labels.get(*key) == Some(*value));
        own.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// The costs that these targets make visible.
pub fn costs(targets: &[TargetParts], series: &[Series], pairing: Pairing, margin: f64) -> Vec<Cost> {
    let mut found: Vec<Cost> = Vec::new();
    let fastest = fastest_machine(targets, series);
    for target in targets {
        let mut own: Vec<(Cost, Option<usize>, bool)> = Vec::new();
        for plain in targets.iter().filter(|plain| plain.name != target.name) {
            let of = match target.machine == plain.machine {
                true => target.more_than(plain),
                false => other_machine(target, plain, fastest),
            };
            let Some(of) = of else { continue };
            let plainness = plain.parts.iter().find_map(|part| plainness(part));
            let is_replaced = target.machine == plain.machine && target.parts.len() == plain.parts.len();
            let cost = Cost {
                of,
                target: target.name.clone(),
                plain: plain.name.clone(),
                on: target.in_common(plain),
                comparisons: Vec::new(),
            };
            own.push((cost, plainness.filter(|_| is_replaced), target.run == plain.run));
        }
        // Another filesystem is compared with the plainest.
        let plainest = own.iter().filter_map(|(_, plainness, _)| *plainness).min();
        own.retain(|(_, plainness, _)| plainness.is_none() || *plainness == plainest);
        // Of several plain targets the one of the same run, and with the most in common.
        own.sort_by_key(|(cost, _, is_same_run)| std::cmp::Reverse((*is_same_run, cost.on.len())));
        for (cost, ..) in own {
            let is_known = |known: &Cost| known.target == cost.target && known.of == cost.of;
            if !found.iter().any(is_known) {
                found.push(cost);
            }
        }
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

/// The same target on another machine than the fastest.
fn other_machine(target: &TargetParts, plain: &TargetParts, fastest: Option<&str>) -> Option<String> {
    let (this, that) = (target.machine.as_deref()?, plain.machine.as_deref()?);
    (Some(that) == fastest && target.parts == plain.parts).then(|| format!("{this} instead of {that}"))
}

/// The machine that is faster than most others, over the targets that both have.
fn fastest_machine<'a>(targets: &'a [TargetParts], series: &[Series]) -> Option<&'a str> {
    let mut machines: Vec<&str> = targets.iter().filter_map(|target| target.machine.as_deref()).collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.len() < 2 {
        return None;
    }
    let mean =
        |s: &Series| s.values.iter().map(|(_, value)| value).sum::<f64>() / s.values.len().max(1) as f64;
    let figure = |s: &Series, target: &str| (target.to_owned(), s.step.clone(), s.operation, s.metric);
    let means: BTreeMap<_, f64> =
        series.iter().filter(|s| s.is_headline).map(|s| (figure(s, &s.target), mean(s))).collect();
    // The logarithm of how many times as fast, summed up over all figures of all targets.
    let lead = |one: &str, other: &str| {
        let mut sum = 0.0;
        for target in targets.iter().filter(|target| target.machine.as_deref() == Some(one)) {
            let is_it = |t: &&TargetParts| t.machine.as_deref() == Some(other) && t.parts == target.parts;
            for counterpart in targets.iter().filter(is_it) {
                for s in series.iter().filter(|s| s.target == target.name) {
                    let of = |name: &str| means.get(&figure(s, name)).copied();
                    let (Some(own), Some(base)) = (of(&target.name), of(&counterpart.name)) else { continue };
                    let log = (own / base).portable_ln();
                    sum += if s.metric.better() == model::Better::Lower { -log } else { log };
                }
            }
        }
        sum
    };
    let wins = |one: &str| machines.iter().filter(|other| lead(one, other) > 0.0).count();
    machines.iter().copied().rev().max_by_key(|one| wins(one))
}

/// What a target of imported files is made of: the values of its labels, encryption apart from the filesystem, without the
/// machine.
fn parts_of_labels(labels: &BTreeMap<String, String>) -> Vec<String> {
    let mut parts = Vec::new();
    for (key, value) in labels.iter().filter(|(key, _)| !MACHINES.contains(&key.as_str())) {
        let (value, encryption) = match key.as_str() {
            FILESYSTEM => without_encryption(value),
            "encryption" if is_none(value) => continue,
            _ => (value.clone(), None),
        };
        parts.extend([Some(value), encryption].into_iter().flatten());
    }
    parts
}

/// The label of the array, which only a target on an array has.
pub const ARRAY: &str = "array";
/// The label of the filesystem, and those of the machine.
const FILESYSTEM: &str = "filesystem";
const MACHINES: [&str; 2] = ["machine", "host"];

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

fn plainness(name: &str) -> Option<usize> {
    FILESYSTEMS.iter().position(|known| *known == name)
}

/// The stack from the top down, without the layers that cost nothing. A loop device and the filesystem of its
/// backing file are one layer.
fn parts_of_stack(target: &Target) -> Vec<String> {
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

    #[test]
    fn labels_of_the_user_cost_what_equal_stacks_do_not_explain() {
        let target = |stack: &[&str], said: &[&str]| TargetParts {
            name: "t".into(),
            run: "r".into(),
            parts: stack.iter().map(|part| (*part).to_owned()).collect(),
            said: said.iter().map(|part| (*part).to_owned()).collect(),
            machine: None,
            labels: BTreeMap::new(),
        };
        let plain = target(&["ext4", "ssd"], &[]);
        assert_eq!(target(&["ext4", "ssd"], &["LUKS"]).more_than(&plain), Some("LUKS".into()));
        let crypt = target(&["ext4", "encryption (dm-crypt)", "ssd"], &["luks"]);
        assert_eq!(crypt.more_than(&plain), Some("encryption (dm-crypt)".into()), "the stack knows it");
    }
}
