//! Network traffic of stacks that end at a server: the interfaces that lead to the servers, and the NFS
//! statistics of each mount.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;

use model::{Layer, LayerKind, series_words};

use super::change_filter::{ChangeFilter, Counter, Sample};
use super::{KernelFile, Pace, Probe, Reader, Scene};
use crate::routes::Routes;
use crate::stack::entries;
use crate::{Roots, read_line};

pub(super) const PROBE: Probe = Probe {
    name: "network",
    what: "bytes and errors of the interfaces to iSCSI, NVMe, NFS and SMB servers, and bytes by NFS mount",
    label: |key| Some(series_words(key)),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let names = interfaces(scene);
        let interfaces: Vec<Interface> =
            names.iter().filter_map(|name| Interface::new(scene.roots, name, filter)).collect();
        let mounts: Vec<Mount> =
            nfs_mounts(scene).into_iter().map(|point| Mount::new(point, filter)).collect();
        let stats = KernelFile::new(scene.roots.proc.join("self/mountstats"));
        let is_used = !interfaces.is_empty() || !mounts.is_empty();
        is_used.then(|| Box::new(Network { interfaces, mounts, stats }) as Box<dyn Reader>)
    },
};

struct Network {
    interfaces: Vec<Interface>,
    mounts: Vec<Mount>,
    stats: KernelFile,
}

struct Interface {
    received: (KernelFile, Counter),
    sent: (KernelFile, Counter),
    /// Errors and drops in both directions.
    troubles: Vec<KernelFile>,
    trouble: Counter,
}

struct Mount {
    point: String,
    read: Counter,
    written: Counter,
}

impl Interface {
    fn new(roots: &Roots, name: &str, filter: &mut ChangeFilter) -> Option<Self> {
        let place = roots.sys.join("class/net").join(name).join("statistics");
        let file = |what: &str| KernelFile::readable(place.join(what));
        let mut counter = |key: &str, unit| Counter::new(filter.series(format!("{name}.{key}"), unit));
        Some(Self {
            received: (file("rx_bytes")?, counter("received", "B/s")),
            sent: (file("tx_bytes")?, counter("sent", "B/s")),
            troubles: ["rx_errors", "tx_errors", "rx_dropped", "tx_dropped"]
                .into_iter()
                .filter_map(file)
                .collect(),
            trouble: counter("errors", "1/s"),
        })
    }
}

impl Mount {
    fn new(point: String, filter: &mut ChangeFilter) -> Self {
        let mut counter = |key: &str| Counter::new(filter.series(format!("{point}.{key}"), "B/s"));
        Self { read: counter("read"), written: counter("write"), point }
    }
}

impl Reader for Network {
    fn read(&mut self, sample: &mut Sample<'_>) {
        for interface in &mut self.interfaces {
            for (file, counter) in [&mut interface.received, &mut interface.sent] {
                if let Some(bytes) = file.number() {
                    counter.put(sample, bytes, 1.0);
                }
            }
            let troubles = interface.troubles.iter_mut().filter_map(KernelFile::number::<u64>).sum();
            interface.trouble.put(sample, troubles, 1.0);
        }
        if self.mounts.is_empty() {
            return;
        }
        let Some(text) = self.stats.text() else { return };
        for mount in &mut self.mounts {
            if let Some((read, written)) = server_bytes(text, &mount.point) {
                mount.read.put(sample, read, 1.0);
                mount.written.put(sample, written, 1.0);
            }
        }
    }
}

/// Bytes read from and written to the server of an NFS mount: the fifth and sixth number of `bytes:`.
fn server_bytes(mountstats: &str, point: &str) -> Option<(u64, u64)> {
    let mut lines = mountstats.lines();
    // `device server:/export mounted on /mnt with fstype nfs4 statvers=1.1`
    lines.find(|line| {
        line.starts_with("device ")
            && line
                .split_once(" mounted on ")
                .and_then(|(_, rest)| rest.split_once(" with fstype nfs"))
                .is_some_and(|(at, _)| at == point)
    })?;
    let of_mount = lines.take_while(|line| !line.starts_with("device "));
    let bytes = of_mount.filter_map(|line| line.trim_start().strip_prefix("bytes:")).next()?;
    let mut figures = bytes.split_ascii_whitespace().skip(4).map_while(|word| word.parse().ok());
    Some((figures.next()?, figures.next()?))
}

fn nfs_mounts(scene: &Scene<'_>) -> BTreeSet<String> {
    let nfs = scene.layers.iter().filter(|layer| layer.name == "nfs" || layer.name == "nfs4");
    nfs.filter_map(|layer| layer.facts.get("mount point").cloned()).collect()
}

/// The interfaces that lead to the stacks' servers; if a server's address is unknown, all hardware interfaces.
fn interfaces(scene: &Scene<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let routes = Routes::read(scene.roots);
    for layer in scene.layers {
        let addresses = addresses(scene.roots, layer);
        let Some(addresses) = addresses else { continue };
        let known: Vec<String> = addresses.iter().filter_map(|address| routes.interface(*address)).collect();
        if known.is_empty() {
            found.extend(hardware_interfaces(scene.roots));
        }
        found.extend(known);
    }
    found
}

fn hardware_interfaces(roots: &Roots) -> Vec<String> {
    let all = entries(&roots.sys.join("class/net")).into_iter();
    let name = |path: std::path::PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    all.filter(|path| path.join("device").exists()).filter_map(name).collect()
}

/// The servers behind a layer, as far as known; `None` for a layer that is not on the network.
fn addresses(roots: &Roots, layer: &Layer) -> Option<Vec<IpAddr>> {
    if let Some((major, minor)) = layer.device {
        let link = roots.sys.join(format!("dev/block/{major}:{minor}"));
        let device = fs::canonicalize(link).ok()?;
        if let Some(session) = device.iter().find_map(|part| part.to_str()?.strip_prefix("session")) {
            let connection = roots.sys.join(format!("class/iscsi_connection/connection{session}:0"));
            let addresses = ["address", "persistent_address"].map(|name| read_line(connection.join(name)));
            return Some(
                addresses.into_iter().flatten().filter_map(|text| text.parse().ok()).take(1).collect(),
            );
        }
        let transport = read_line(device.join("device/transport"));
        if transport.is_some_and(|transport| transport == "tcp" || transport == "rdma") {
            // `traddr=192.0.2.1,trsvcid=4420`
            let address = read_line(device.join("device/address")).unwrap_or_default();
            let parts = address.split(',').filter_map(|part| part.strip_prefix("traddr=")?.parse().ok());
            return Some(parts.collect());
        }
        return (layer.kind == LayerKind::Network).then(Vec::new);
    }
    if layer.kind != LayerKind::Network || matches!(layer.name.as_str(), "9p" | "virtiofs") {
        return None;
    }
    let options = layer.facts.get("options").map_or("", String::as_str);
    let address = options.split(',').find_map(|option| option.strip_prefix("addr="));
    Some(address.and_then(|address| address.parse().ok()).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::{Tree, disk};
    use std::collections::BTreeMap;

    fn tree() -> Tree {
        let tree = Tree::new();
        let hex = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let route = |interface: &str, to, mask| {
            format!("{interface}\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n", hex(to), hex(mask))
        };
        let routes =
            route("eth0", [0, 0, 0, 0], [0, 0, 0, 0]) + &route("san0", [10, 1, 2, 0], [255, 255, 255, 0]);
        tree.file("proc/net/route", &format!("Iface Destination Gateway Flags\n{routes}"));
        let v6 = "fd000000000000000000000000000000 08 0 00 0 0 0 0 00000001 wan0\n";
        tree.file("proc/net/ipv6_route", v6);
        for name in ["eth0", "san0", "wan0"] {
            traffic(&tree, name, 0, 0);
        }
        tree
    }

    fn traffic(tree: &Tree, name: &str, received: u64, sent: u64) {
        let file = |what: &str, value: u64| {
            tree.file(&format!("sys/class/net/{name}/statistics/{what}"), &format!("{value}\n"));
        };
        file("rx_bytes", received);
        file("tx_bytes", sent);
        file("rx_errors", received / 1000);
    }

    fn mount(kind: &str, options: &str) -> Layer {
        Layer {
            kind: LayerKind::Network,
            name: kind.into(),
            level: 0,
            device: None,
            facts: BTreeMap::from([
                ("options".into(), options.into()),
                ("mount point".into(), "/mnt/nas".into()),
            ]),
        }
    }

    #[test]
    fn only_the_interface_to_an_iscsi_server_is_read() {
        let tree = tree();
        let device = "sys/devices/platform/host3/session7/target3:0:0/3:0:0:0/block/sdc";
        tree.link("sys/dev/block/8:32", device);
        tree.file("sys/class/iscsi_connection/connection7:0/persistent_address", "10.1.2.9\n");
        let layers = [disk("sdc", (8, 32))];
        let mut probe = Driven::begin(&PROBE, &tree, &layers).unwrap();
        probe.at(0);
        traffic(&tree, "san0", 10_000, 2_000);
        traffic(&tree, "eth0", 99_000, 99_000);
        assert_eq!(probe.at(2), ["san0.received 5000 B/s", "san0.sent 1000 B/s", "san0.errors 5 1/s"]);
    }

    #[test]
    fn nfs_mounts_report_their_bytes_from_and_to_the_server() {
        let tree = tree();
        let stats = |read: u64, written: u64| {
            tree.file(
                "proc/self/mountstats",
                &format!(
                    "device /dev/vda mounted on / with fstype ext4\n\
                     device nas:/a mounted on /mnt/nas2 with fstype nfs statvers=1.1\n\tbytes:\t1 1 1 1 1 1 1 1\n\
                     device nas:/b mounted on /mnt/nas with fstype nfs4 statvers=1.1\n\topts:\trw\n\
                     \tbytes:\t1 2 3 4 {read} {written} 5 6\n"
                ),
            );
        };
        stats(0, 0);
        let layers = [mount("nfs4", "rw,proto=tcp6,addr=fd00::5")];
        let mut probe = Driven::begin(&PROBE, &tree, &layers).unwrap();
        probe.at(0);
        stats(3000, 500);
        let readings = probe.at(1);
        assert_eq!(readings[..2], ["wan0.received 0 B/s", "wan0.sent 0 B/s"]);
        assert_eq!(readings[3..], ["/mnt/nas.read 3000 B/s", "/mnt/nas.write 500 B/s"]);
    }

    #[test]
    fn an_unknown_server_address_selects_all_hardware_interfaces() {
        let tree = tree();
        tree.link("sys/dev/block/259:0", "sys/devices/virtual/nvme-fabrics/nvme1/nvme1n1");
        tree.file("sys/devices/virtual/nvme-fabrics/nvme1/nvme1n1/device/transport", "tcp\n");
        tree.file(
            "sys/devices/virtual/nvme-fabrics/nvme1/nvme1n1/device/address",
            "traddr=10.1.2.3,trsvcid=4420\n",
        );
        let roots = tree.roots();
        let found = |layer: Layer| interfaces(&Scene { roots: &roots, layers: &[layer] });
        assert_eq!(found(disk("nvme1n1", (259, 0))), BTreeSet::from(["san0".into()]));
        tree.file("sys/class/net/eth0/device/vendor", "x");
        assert_eq!(found(mount("fuse.sshfs", "rw")), BTreeSet::from(["eth0".into()]));
        assert_eq!(found(mount("cifs", "rw,addr=192.0.2.7")), BTreeSet::from(["eth0".into()]));
        assert!(found(mount("virtiofs", "rw")).is_empty());
        assert!(found(disk("sda", (8, 0))).is_empty());
    }
}
