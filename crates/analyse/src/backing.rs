//! What is behind a volume, from evidence that does not move: what the firmware and the disk say of themselves, and what
//! stored runs measured.

use model::{
    Estimate, Host, Layer, LayerKind, Measurement, MeasurementKey, Metric, Mix, Operation, Pace, Pattern,
    Run, Step, fact,
};

use crate::Analysis;

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// Where it is from, such as `NVMe identity` or `run abcd1234`.
    pub from: String,
    /// What was seen there.
    pub seen: String,
    /// What that says.
    pub says: String,
}

/// What is behind a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backing {
    /// The answer in a few words that continue the volume's name, such as `is an Amazon EBS volume …`.
    pub answer: String,
    /// True if the disk or the mount says so itself; else it does not show, or is only inferred from measurements.
    pub is_certain: bool,
    /// The evidence, what identifies before what was measured.
    pub clues: Vec<Clue>,
    /// What more would tell.
    pub missing: Vec<String>,
}

/// A stored run with the target that is on the volume.
pub type MeasuredHere<'a> = (&'a Run, &'a Analysis, &'a str);

/// What is behind the volume that these layers describe, the top one first. `runs` have measured it.
pub fn backing(host: &Host, stack: &[Layer], runs: &[MeasuredHere<'_>]) -> Backing {
    let mut clues = Vec::new();
    let cloud = host.facts.get(fact::CLOUD).map(String::as_str);
    let says = |cloud: &str| format!("this machine runs on {cloud}");
    clues.extend(cloud.map(|cloud| clue("DMI", host.board.as_deref().unwrap_or(cloud), &says(cloud))));
    let ends: Vec<&Layer> =
        stack.iter().filter(|l| matches!(l.kind, LayerKind::Disk | LayerKind::Network)).collect();
    let mut known: Vec<&str> = Vec::new();
    for disk in &ends {
        let (kinds, found) = identified(disk);
        known.extend(kinds);
        clues.extend(found);
    }
    clues.extend(between(stack));
    let size = ends.iter().find_map(|disk| disk.facts.get(fact::SIZE)?.parse::<f64>().ok());
    let mut floor = None;
    for (run, analysis, target) in runs {
        let seen = MeasuredVolume { run, analysis, target };
        let latency = seen.latency_floor();
        clues.extend(latency.map(|ns| seen.clue(&format!("a read takes {}", time(ns)), says_latency(ns))));
        floor = floor.or(latency);
        clues.extend(seen.one_limit());
        clues.extend(seen.products(cloud, size));
        clues.extend(seen.found());
    }
    let virtualised = host.facts.contains_key(fact::VIRTUALISATION);
    let (answer, is_certain) = answer(&known, stack, &ends, virtualised, floor);
    let mut missing = Vec::new();
    if runs.is_empty() {
        missing.push(
            "no stored run has measured it: `lodestone run PATH` adds its latency and limits".to_owned(),
        );
    }
    if cloud.is_none() && virtualised {
        missing.push("the firmware's tables (/sys/class/dmi/id) name no cloud".to_owned());
    }
    Backing { answer, is_certain, clues, missing }
}

fn clue(from: &str, seen: &str, says: &str) -> Clue {
    Clue { from: from.to_owned(), seen: seen.to_owned(), says: says.to_owned() }
}

fn time(ns: f64) -> String {
    if ns < 1e6 { format!("{:.0} µs", ns / 1e3) } else { format!("{:.1} ms", ns / 1e6) }
}

/// How vendor and model begin, and what such a disk is.
const IDENTITIES: [(&str, &str, &str); 25] = [
    ("", "Amazon Elastic Block Store", "an Amazon EBS volume (network storage)"),
    (
        "",
        "Amazon EC2 NVMe Instance Storage",
        "an Amazon EC2 instance store: a local NVMe drive whose data are lost when the instance stops",
    ),
    ("", "nvme_card-pd", "a Google Persistent Disk or Hyperdisk (network storage)"),
    ("", "nvme_card", "a Google Local SSD: a drive in the host whose data are lost when the instance stops"),
    ("Google", "PersistentDisk", "a Google Persistent Disk (network storage)"),
    (
        "Google",
        "EphemeralDisk",
        "a Google Local SSD: a drive in the host whose data are lost when the instance stops",
    ),
    (
        "",
        "Microsoft NVMe Direct Disk",
        "a local NVMe drive in an Azure host, whose data are lost when the machine is moved",
    ),
    ("", "MSFT NVMe Accelerator", "an Azure managed disk (network storage)"),
    ("Msft", "Virtual Disk", "a Hyper-V or Azure virtual disk"),
    ("DO", "Volume", "a DigitalOcean volume (network storage)"),
    ("HC", "Volume", "a Hetzner Cloud volume (network storage)"),
    ("ORACLE", "BlockVolume", "an Oracle Cloud block volume (network storage)"),
    ("LIO-ORG", "", "a volume exported by a Linux machine (LIO)"),
    ("IET", "VIRTUAL-DISK", "a volume exported by a Linux machine (tgt)"),
    ("SYNOLOGY", "", "a volume on a Synology NAS"),
    ("TrueNAS", "", "a volume on TrueNAS"),
    ("NETAPP", "LUN", "a LUN on a NetApp array"),
    ("PURE", "FlashArray", "a volume on a Pure Storage array"),
    ("Nutanix", "VDISK", "a Nutanix virtual disk"),
    ("", "QEMU", HIDDEN),
    ("QEMU", "", HIDDEN),
    ("VMware", "", HIDDEN),
    ("", "VMware Virtual", HIDDEN),
    ("VBOX", "", HIDDEN),
    ("", "VBOX", HIDDEN),
];
/// What the identity of a hypervisor's own disk says.
const HIDDEN: &str = "a virtual disk; the hypervisor hides what backs it";

/// What a disk says of itself: what it is, where that settles it, and the evidence.
fn identified(disk: &Layer) -> (Option<&'static str>, Vec<Clue>) {
    let get = |name: &str| disk.facts.get(name).map_or("", String::as_str);
    let (vendor, model, link) = (get(fact::VENDOR), get(fact::MODEL), get(fact::LINK));
    let from = match link {
        "nvme" => "NVMe identity".to_owned(),
        "" => format!("identity of {}", disk.name),
        "scsi" | "iscsi" | "ata" => "SCSI identity".to_owned(),
        link => format!("{link} identity"),
    };
    let entry = IDENTITIES.iter().find(|(v, m, _)| vendor.starts_with(v) && model.starts_with(m));
    let name = [vendor, model].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" ");
    let mut clues = Vec::new();
    let mut known = None;
    match entry {
        Some((.., what)) => {
            known = Some(*what).filter(|what| *what != HIDDEN);
            clues.push(clue(&from, &name, what));
        }
        None if link == "virtio" => clues.push(clue("driver", "virtio", HIDDEN)),
        None if !name.is_empty() => clues.push(clue(&from, &name, "a disk with a maker's own name")),
        None => {}
    }
    clues.extend(Some(get(fact::SERIAL_FORM)).filter(|form| !form.is_empty()).map(|form| {
        let says = match form {
            "uuid" => "the id of a volume, as OpenStack's Cinder gives: most such volumes are on the network",
            _ => "the id of an EBS volume",
        };
        clue("serial number", &format!("{form}, …{}", get(fact::SERIAL)), says)
    }));
    let maker = |id: &str| match id.split(':').next() {
        Some("1d0f") => Some("made by Amazon"),
        Some("1ae0") => Some("made by Google"),
        Some("1414") => Some("made by Microsoft"),
        Some("1af4" | "1b36") => Some("made by QEMU"),
        Some("15ad") => Some("made by VMware"),
        _ => None,
    };
    let pci = get(fact::PCI_ID);
    clues.extend(maker(pci).map(|says| clue("PCI", pci, says)));
    if !get(fact::SERVER).is_empty() {
        let says = if is_here(disk) {
            "served by this machine itself"
        } else {
            "storage on another machine, over the network"
        };
        clues.push(clue("connection", link, says));
    }
    (known, clues)
}

/// True if the server is this machine.
fn is_here(layer: &Layer) -> bool {
    layer.facts.contains_key(fact::SERVER_HERE)
}

/// What this machine itself has between the path and the disk.
fn between(stack: &[Layer]) -> Vec<Clue> {
    let says = |layer: &Layer| match layer.kind {
        LayerKind::Crypt => Some("encrypted by this machine"),
        LayerKind::Raid => Some("an array that this machine makes"),
        LayerKind::Lvm => Some("a volume that this machine makes"),
        LayerKind::Loop => Some("a file of this machine"),
        LayerKind::Filesystem | LayerKind::Partition | LayerKind::Disk | LayerKind::Network => None,
    };
    let seen = |layer: &Layer| {
        let of = [fact::ENCRYPTION, fact::LEVEL, fact::TABLE, fact::BACKING_FILE]
            .map(|name| layer.facts.get(name));
        of.into_iter().flatten().next().map_or(layer.name.clone(), |what| format!("{}: {what}", layer.name))
    };
    stack.iter().filter_map(|layer| Some(clue("layers", &seen(layer), says(layer)?))).collect()
}

fn answer(
    known: &[&str],
    stack: &[Layer],
    ends: &[&Layer],
    virtualised: bool,
    floor: Option<f64>,
) -> (String, bool) {
    let mut all: Vec<&str> = Vec::new();
    known.iter().for_each(|what| {
        if !all.contains(what) {
            all.push(what)
        }
    });
    if !all.is_empty() {
        return (format!("is {}", all.join("; and ")), true);
    }
    if let Some(mount) =
        ends.iter().find(|l| l.kind == LayerKind::Network || l.facts.contains_key(fact::SERVER))
    {
        let whose = match is_here(mount) {
            true => "storage that this machine itself serves",
            false => "storage on another machine, over the network",
        };
        return (format!("is {whose} ({})", mount.name), true);
    }
    if let Some(memory) = stack.iter().find(|l| l.is_memory()) {
        return (format!("is in memory ({})", memory.name), true);
    }
    if ends.is_empty() {
        return ("is on no disk that this machine can see".to_owned(), false);
    }
    if virtualised {
        let measured =
            floor.map_or_else(String::new, |ns| format!("; a read takes {}: {}", time(ns), says_latency(ns)));
        return (format!("is a virtual disk, and nothing names what is behind it{measured}"), false);
    }
    let name = |disk: &&Layer| {
        let get = |name: &str| disk.facts.get(name).map(String::as_str);
        let link = get(fact::LINK).map_or_else(String::new, |link| format!(" ({link})"));
        format!("{}{link}", get(fact::MODEL).or(get(fact::CARD_NAME)).unwrap_or(&disk.name))
    };
    let disks: Vec<String> = ends.iter().map(name).collect();
    let which = if disks.len() == 1 { "a disk" } else { "disks" };
    (format!("is {which} of this machine: {}", disks.join(", ")), true)
}

/// The time of one small read with nothing else in flight. Volumes of clouds over a network are never quicker than a
/// round trip through two hosts and the volume's server; their makers promise "below a millisecond" at best.
fn says_latency(ns: f64) -> &'static str {
    match ns {
        ns if ns < 40e3 => "faster than most flash: probably served from memory, in the host or the drive",
        ns if ns < 150e3 => "typical of local flash; a network would add more latency",
        ns if ns < 250e3 => "typical of slow local flash or a fast network volume",
        ns if ns < 2e6 => "typical of a network volume or slow flash",
        _ => "typical of a hard disk or a throttled volume",
    }
}

/// Limits of a cloud's volumes.
struct Product {
    cloud: &'static str,
    name: &'static str,
    /// Operations per second, and for each GiB of the volume.
    iops: f64,
    iops_per_gib: f64,
    /// Bytes per second; 0 if that varies.
    rate: f64,
}

const fn product(
    cloud: &'static str,
    name: &'static str,
    iops: f64,
    iops_per_gib: f64,
    rate: f64,
) -> Product {
    Product { cloud, name, iops, iops_per_gib, rate }
}

const MIB: f64 = 1_048_576.0;

/// As the clouds document them (Amazon EBS volume types; Azure managed disk types; performance of Google's Persistent Disk;
/// all read in 2026).
const PRODUCTS: [Product; 16] = [
    product("Amazon EC2", "gp3 as it comes, or gp2 with burst credit", 3000.0, 0.0, 125.0 * MIB),
    product("Amazon EC2", "gp2 without burst credit", 0.0, 3.0, 0.0),
    product("Amazon EC2", "gp2 of 334 GiB and more", 0.0, 3.0, 250.0 * MIB),
    product("Microsoft Azure", "P4", 120.0, 0.0, 25e6),
    product("Microsoft Azure", "P6", 240.0, 0.0, 50e6),
    product("Microsoft Azure", "P10, or a Standard SSD", 500.0, 0.0, 100e6),
    product("Microsoft Azure", "P15", 1100.0, 0.0, 125e6),
    product("Microsoft Azure", "P20", 2300.0, 0.0, 150e6),
    product("Microsoft Azure", "P30", 5000.0, 0.0, 200e6),
    product("Microsoft Azure", "P40 or P50", 7500.0, 0.0, 250e6),
    product("Microsoft Azure", "P60", 16_000.0, 0.0, 500e6),
    product("Microsoft Azure", "P70", 18_000.0, 0.0, 750e6),
    product("Microsoft Azure", "P80", 20_000.0, 0.0, 900e6),
    product("Google Cloud", "pd-standard (reads)", 0.0, 0.75, 0.0),
    product("Google Cloud", "pd-balanced", 3000.0, 6.0, 0.0),
    product("Google Cloud", "pd-ssd", 6000.0, 30.0, 0.0),
];

/// How near a figure is to a limit that it is said to be at, and how narrow its interval.
const NEAR: f64 = 0.03;

/// What a run measured on the volume.
struct MeasuredVolume<'a> {
    run: &'a Run,
    analysis: &'a Analysis,
    target: &'a str,
}

impl<'a> MeasuredVolume<'a> {
    fn clue(&self, seen: &str, says: &str) -> Clue {
        clue(&format!("run {}", self.run.started.id), seen, says)
    }

    /// The steps that only read, or only write, without a given load or a cache, at random or not.
    fn steps(&self, is_random: bool, operation: Operation) -> impl Iterator<Item = &'a Step> {
        let percent = if operation == Operation::Read { 100 } else { 0 };
        self.run.started.plan.steps.iter().filter(move |step| {
            let w = &step.workload;
            w.mix == Mix::Transfer { read_percent: percent }
                && w.direct
                && w.pace == Pace::Closed
                && w.sync.every == 0
                && matches!(w.pattern, Pattern::Random { .. }) == is_random
        })
    }

    fn measured(&self, step: &Step, operation: Operation, metric: Metric) -> Option<&'a Measurement> {
        let key = MeasurementKey { target: self.target, step: &step.id, operation, metric };
        self.analysis.measurement(key)
    }

    /// Nanoseconds of the median small read, one at a time.
    fn latency_floor(&self) -> Option<f64> {
        let single = self.steps(true, Operation::Read).filter(|step| {
            let w = &step.workload;
            w.iodepth == 1 && w.jobs == 1 && w.largest_block() <= 16 << 10
        });
        let medians = single
            .filter_map(|step| Some(self.measured(step, Operation::Read, Metric::LatP50)?.estimate.value));
        medians.reduce(f64::min)
    }

    /// The highest narrow figure of steps with many operations at a time.
    fn highest(&self, is_random: bool, operation: Operation, metric: Metric) -> Option<f64> {
        let deep = self.steps(is_random, operation).filter(|step| {
            let w = &step.workload;
            let block = w.largest_block();
            w.iodepth * w.jobs >= 8 && if is_random { block <= 16 << 10 } else { block >= 256 << 10 }
        });
        let narrow = |e: &Estimate| e.relative_half_width().is_some_and(|share| share <= NEAR);
        let figures = deep.filter_map(|step| self.measured(step, operation, metric)).map(|m| &m.estimate);
        figures.filter(|e| narrow(e)).map(|e| e.value).reduce(f64::max)
    }

    /// Reads and writes that end at the same figure, as few devices do.
    fn one_limit(&self) -> Vec<Clue> {
        let limit = |is_random: bool, metric: Metric, shown: fn(f64) -> String| {
            let [read, write] =
                [Operation::Read, Operation::Write].map(|o| self.highest(is_random, o, metric));
            let (read, write) = (read?, write?);
            let is_one = (read / write - 1.0).abs() <= NEAR;
            let seen = format!("reads and writes both end at {}", shown(read.midpoint(write)));
            is_one.then(|| {
                self.clue(&seen, "suggests a limit set in software: few devices read and write equally fast")
            })
        };
        let iops = limit(true, Metric::Iops, |iops| format!("{iops:.0} operations a second"));
        iops.into_iter().chain(limit(false, Metric::Bandwidth, rate)).collect()
    }

    /// Figures at a documented limit of the machine's cloud.
    fn products(&self, cloud: Option<&str>, size_bytes: Option<f64>) -> Vec<Clue> {
        let gib = size_bytes.unwrap_or(0.0) / 1_073_741_824.0;
        let mut clues = Vec::new();
        let both = [Operation::Read, Operation::Write];
        for product in PRODUCTS.iter().filter(|product| Some(product.cloud) == cloud) {
            let limit = product.iops + product.iops_per_gib * gib;
            let is_at = |value: f64, limit: f64| limit > 0.0 && (value / limit - 1.0).abs() <= NEAR;
            let says = format!("the documented limit of {}", product.name);
            let iops = both
                .into_iter()
                .filter_map(|o| self.highest(true, o, Metric::Iops))
                .find(|v| is_at(*v, limit));
            clues.extend(iops.map(|iops| self.clue(&format!("{iops:.0} operations a second"), &says)));
            let rates = both.into_iter().filter_map(|o| self.highest(false, o, Metric::Bandwidth));
            let at = rates.into_iter().find(|v| is_at(*v, product.rate));
            clues.extend(at.map(|value| self.clue(&rate(value), &says)));
        }
        clues
    }

    /// What its findings say: credit that runs out, and what kind of storage behaves like this.
    fn found(&self) -> Vec<Clue> {
        let says = |rule: &str| match rule {
            "write-cliff" | "read-cliff" => Some("burst credit, or a fast cache, that runs out"),
            "behaves-like" => Some("how it behaves, whatever its name says"),
            _ => None,
        };
        let own = self.analysis.findings.iter().filter(|f| f.subject.target.as_deref() == Some(self.target));
        own.filter_map(|f| Some(self.clue(&f.message, says(&f.rule)?))).collect()
    }
}

fn rate(bytes_per_second: f64) -> String {
    format!("{:.0} MB/s", bytes_per_second / 1e6)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::tests::{run, workload};
    use crate::{Estimator, analyse};
    use model::{Units, Workload};

    fn layer(kind: LayerKind, name: &str, facts: &[(&str, &str)]) -> Layer {
        let facts: BTreeMap<String, String> =
            facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Layer { kind, name: name.into(), level: 0, device: None, facts }
    }

    fn machine(cloud: Option<&str>) -> Host {
        let mut host = Host::default();
        host.facts.insert(fact::VIRTUALISATION.into(), "yes".into());
        host.facts.extend(cloud.map(|cloud| (fact::CLOUD.to_owned(), cloud.to_owned())));
        host
    }

    fn seen(backing: &Backing) -> Vec<String> {
        backing.clues.iter().map(|c| format!("{}: {} – {}", c.from, c.seen, c.says)).collect()
    }

    #[test]
    fn a_disk_that_names_its_cloud_is_certain() {
        let ebs: &[(&str, &str)] = &[
            (fact::LINK, "nvme"),
            (fact::MODEL, "Amazon Elastic Block Store"),
            (fact::SERIAL_FORM, "EBS volume"),
            (fact::PCI_ID, "1d0f:8061"),
        ];
        for (facts, what) in [
            (ebs, "an Amazon EBS volume"),
            (
                &[(fact::LINK, "scsi"), (fact::VENDOR, "Google"), (fact::MODEL, "PersistentDisk")],
                "a Google Persistent Disk",
            ),
            (&[(fact::LINK, "nvme"), (fact::MODEL, "nvme_card3")], "a Google Local SSD"),
            (&[(fact::LINK, "nvme"), (fact::MODEL, "nvme_card-pd")], "a Google Persistent Disk or Hyperdisk"),
            (
                &[(fact::LINK, "scsi"), (fact::VENDOR, "HC"), (fact::MODEL, "Volume")],
                "a Hetzner Cloud volume",
            ),
        ] {
            let stack = [layer(LayerKind::Filesystem, "xfs", &[]), layer(LayerKind::Disk, "disk", facts)];
            let told = backing(&machine(Some("Amazon EC2")), &stack, &[]);
            assert!(told.is_certain && told.answer.starts_with(&format!("is {what}")), "{told:?}");
        }
        let stack = [
            layer(LayerKind::Crypt, "root", &[(fact::ENCRYPTION, "LUKS2")]),
            layer(LayerKind::Disk, "n", ebs),
        ];
        let told = seen(&backing(&machine(Some("Amazon EC2")), &stack, &[]));
        for part in
            ["DMI: ", "NVMe identity: ", "serial number: EBS volume", "PCI: 1d0f:8061", "layers: root: LUKS2"]
        {
            assert!(told.iter().any(|clue| clue.starts_with(part)), "{part}: {told:?}");
        }
    }

    #[test]
    fn what_nothing_names_is_not_certain() {
        let virtio = [layer(LayerKind::Disk, "vda", &[(fact::LINK, "virtio")])];
        let qemu = [layer(
            LayerKind::Disk,
            "sda",
            &[(fact::LINK, "scsi"), (fact::VENDOR, "QEMU"), (fact::MODEL, "QEMU HARDDISK")],
        )];
        for stack in [virtio, qemu] {
            let told = backing(&machine(None), &stack, &[]);
            assert!(!told.is_certain && told.answer.contains("nothing names"), "{told:?}");
            assert_eq!(told.missing.len(), 2);
        }
        let disk = [layer(LayerKind::Disk, "sda", &[(fact::LINK, "ata"), (fact::MODEL, "WDC WD40")])];
        let told = backing(&Host::default(), &disk, &[]);
        assert!(told.is_certain && told.answer == "is a disk of this machine: WDC WD40 (ata)", "{told:?}");
        let mount = [layer(LayerKind::Network, "nfs4", &[(fact::LINK, "nfs"), (fact::SERVER, "nas")])];
        assert!(backing(&machine(None), &mount, &[]).answer.starts_with("is storage on another machine"));
        let own = [(fact::LINK, "nfs"), (fact::SERVER, "127.0.0.1"), (fact::SERVER_HERE, "yes")];
        let mount = [layer(LayerKind::Network, "nfs4", &own)];
        let told = backing(&machine(None), &mount, &[]).answer;
        assert_eq!(told, "is storage that this machine itself serves (nfs4)");
        let memory = [layer(LayerKind::Filesystem, "tmpfs", &[])];
        assert_eq!(backing(&Host::default(), &memory, &[]).answer, "is in memory (tmpfs)");
    }

    /// Thirty-two reads, or writes, at a time reach a thousand operations a second in the synthetic run.
    #[test]
    fn measured_limits_are_named_only_where_the_cloud_sells_them() {
        let mut made = run(Workload { iodepth: 32, ..workload() });
        for repeat in &mut made.repeats {
            for stats in repeat.intervals.iter_mut().flat_map(|i| i.operations.values_mut()) {
                (stats.count, stats.bytes) = (stats.count / 2, stats.bytes / 2);
            }
        }
        let analysis = analyse(&made, "disk", Estimator::Mean, Units::Decimal);
        let stack = [layer(
            LayerKind::Disk,
            "sdc",
            &[(fact::LINK, "scsi"), (fact::VENDOR, "Msft"), (fact::MODEL, "Virtual Disk")],
        )];
        let told = |cloud: &str| seen(&backing(&machine(Some(cloud)), &stack, &[(&made, &analysis, "disk")]));
        let limit = "run run: 500 operations a second – the documented limit of P10, or a Standard SSD";
        assert!(told("Microsoft Azure").iter().any(|clue| clue == limit), "{:?}", told("Microsoft Azure"));
        assert!(!told("Amazon EC2").iter().any(|clue| clue.contains("documented limit")));
    }

    #[test]
    fn latency_and_one_limit_for_both_are_told() {
        let mut made = run(workload());
        let analysis = analyse(&made, "disk", Estimator::Mean, Units::Decimal);
        let stack = [layer(LayerKind::Disk, "vda", &[(fact::LINK, "virtio")])];
        let told = backing(&machine(None), &stack, &[(&made, &analysis, "disk")]);
        assert!(
            told.answer.contains("a read takes 1.0 ms: typical of a network volume or slow flash"),
            "{told:?}"
        );
        // The same figure for writes, then a lower one.
        for (factor, is_one) in [(1, true), (2, false)] {
            made = run(Workload { iodepth: 32, ..workload() });
            let mut writes =
                run(Workload { iodepth: 32, mix: Mix::Transfer { read_percent: 0 }, ..workload() });
            writes.started.plan.steps[0].id = "writes".into();
            for repeat in &mut writes.repeats {
                repeat.started.step = "writes".into();
                for stats in repeat.intervals.iter_mut().flat_map(|i| i.operations.values_mut()) {
                    (stats.count, stats.bytes) = (stats.count / factor, stats.bytes / factor);
                }
            }
            made.started.plan.steps.append(&mut writes.started.plan.steps);
            made.repeats.append(&mut writes.repeats);
            let analysis = analyse(&made, "disk", Estimator::Mean, Units::Decimal);
            let told = seen(&backing(&machine(None), &stack, &[(&made, &analysis, "disk")]));
            assert_eq!(
                told.iter().any(|clue| clue.contains("both end at 1000 operations")),
                is_one,
                "{told:?}"
            );
        }
    }
}
