//! Storage over a network: this machine serves what is below to itself, over its loopback interface, or another machine does.
//! Nobody but root can use what is served: iSCSI authenticates with a secret of this run, NVMe admits one connection, NFS takes
//! privileged ports of one address only.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

use super::{
    ADDRESS, Device, Kind, Layer, LayerKind, Needs, Role, Service, Setting, Share, Shared, Words, Zeros,
    flag, passes_little, valued,
};
use crate::Roots;
use crate::stacks::deed::{Deed, Remains};

/// How the names of targets and subsystems begin (RFC 3721: a month in which the domain was the namer's, and the domain).
const ISCSI: &str = "iqn.2026-11.io.lodestone:";
const NVME: &str = "nqn.2026-11.io.lodestone:";

const ISCSID: Service = Service {
    what: "iscsid",
    start: "systemctl start iscsid",
    runs: |roots: &Roots| {
        let sockets = std::fs::read_to_string(roots.proc.join("net/unix")).unwrap_or_default();
        sockets.contains("@ISCSIADM_ABSTRACT_NAMESPACE")
    },
};

const NFSD: Service = Service {
    what: "the NFS server",
    start: "systemctl start nfs-server",
    runs: |roots: &Roots| {
        let threads = crate::read_line(roots.proc.join("fs/nfsd/threads"));
        threads.is_some_and(|threads| threads.parse::<u32>().is_ok_and(|threads| threads > 0))
    },
};

const QUEUE_DEPTH: Setting = valued("queue-depth", "node.session.queue_depth", "32");
const COMMANDS: Setting = valued("commands", "node.session.cmds_max", "128");
const QUEUES: Setting = valued("queues", "nr_io_queues", "4");
const QUEUE_SIZE: Setting = valued("queue-size", "queue_size", "128");
const DIGEST: Setting = flag("digest", "hdr_digest,data_digest");

/// What both kinds of block device have in common.
const BLOCK: Kind = Kind {
    name: "",
    what: "",
    needs: Needs::NOTHING,
    serving: Needs::NOTHING,
    zeros: Zeros::AreWritten,
    fewest: 1,
    many: false,
    least_bytes: 16 << 20,
    settings: &[],
    role: Role::Served(
        LayerKind { make: login, undo: logout, device: iscsi_disk, passes: passes_little },
        serve_iscsi,
    ),
};

pub(super) const KINDS: [Kind; 3] = [
    Kind {
        name: "iscsi",
        what: "disk over iSCSI",
        needs: Needs { service: Some(&ISCSID), ..Needs::of(&[("iscsiadm", "open-iscsi")], &["iscsi_tcp"]) },
        serving: Needs::of(&[], &["target_core_iblock", "iscsi_target_mod"]),
        settings: &[QUEUE_DEPTH, COMMANDS, ADDRESS],
        ..BLOCK
    },
    Kind {
        name: "nvmet-tcp",
        what: "disk over NVMe/TCP",
        needs: Needs::of(&[], &["nvme_tcp"]),
        serving: Needs::of(&[], &["nvmet_tcp"]),
        zeros: Zeros::AreLost,
        settings: &[QUEUES, QUEUE_SIZE, DIGEST, ADDRESS],
        role: Role::Served(
            LayerKind { make: connect, undo: disconnect, device: nvme_disk, passes: passes_little },
            serve_nvme,
        ),
        ..BLOCK
    },
    Kind {
        name: "nfs",
        what: "filesystem over NFS 4.2",
        needs: Needs::of(&[("mount.nfs4", "nfs-common")], &["nfsv4"]),
        serving: Needs { service: Some(&NFSD), ..Needs::of(&[("exportfs", "nfs-kernel-server")], &["nfsd"]) },
        least_bytes: 0,
        settings: &[ADDRESS],
        role: Role::Share(Share {
            mount_type: "nfs4",
            options: &["vers=4.2"],
            share: nfs,
            unshare: |shared| Words::of(&["exportfs", "-u", &export(shared)]),
            source: |shared| at(shared.server, shared),
        }),
        ..BLOCK
    },
];

/// An identifier as RFC 9562 writes it, of this name.
fn uuid(name: &str) -> String {
    let hex = format!("{:032x}", XxHash3_128::oneshot(name.as_bytes()));
    // Version 8: of the maker's own kind.
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

fn iscsi_target(layer: &Layer) -> String {
    format!("{ISCSI}{}", layer.name)
}

/// Where it is served; an address of IPv6 in brackets.
fn portal(layer: &Layer) -> SocketAddr {
    SocketAddr::new(layer.server, layer.port)
}

/// A command about the record of the target in the database of open-iscsi.
fn iscsiadm(layer: &Layer, words: &[&str]) -> Deed {
    let portal = format!("{},1", portal(layer));
    let node = ["iscsiadm", "--mode", "node", "--targetname", &iscsi_target(layer), "--portal", &portal];
    Words::of(&node).and_all(words).into()
}

/// Where distributions keep that database.
const DATABASES: [&str; 2] = ["/etc/iscsi/nodes", "/var/lib/iscsi/nodes"];

/// The kernel's target (LIO).
fn serve_iscsi(layer: &Layer) -> Vec<Deed> {
    let target = Path::new("/sys/kernel/config/target");
    let controller = target.join(format!("core/iblock_{}", layer.port));
    let store = controller.join(&layer.name);
    let name = target.join("iscsi").join(iscsi_target(layer));
    let group = name.join("tpgt_1");
    let set = |file: &str, text: &str| Deed::write(group.join(file), Words::of(&[text]));
    let unit = group.join("lun/lun_0");
    vec![
        Deed::Directory(controller),
        Deed::Directory(store.clone()),
        Deed::write(store.join("control"), Words::of(&["udev_path="]).and_device(&layer.on[0])),
        Deed::write(store.join("enable"), Words::of(&["1"])),
        Deed::Ensure(target.join("iscsi")),
        Deed::Directory(name),
        Deed::Directory(group.clone()),
        set("attrib/authentication", "1"),
        set("attrib/generate_node_acls", "1"),
        set("attrib/cache_dynamic_acls", "1"),
        set("attrib/demo_mode_write_protect", "0"),
        set("auth/userid", &layer.name),
        Deed::write(group.join("auth/password"), Words::new().and_secret()),
        Deed::Directory(group.join(format!("np/{}", portal(layer)))),
        Deed::Directory(unit.clone()),
        Deed::Link { at: unit.join("port"), to: store },
        Deed::SwitchOn(group.join("enable")),
    ]
}

/// A login by open-iscsi. The secret goes into the record, which only root can read, rather than through an argument, which
/// everybody can see.
fn login(layer: &Layer) -> Vec<Deed> {
    let record = |database: &str| {
        let portal = format!("{},{},1", layer.server, layer.port);
        Path::new(database).join(iscsi_target(layer)).join(portal).join("default")
    };
    let line = |name: &str| Words::of(&[&format!("node.session.auth.{name} = ")]);
    let wanted: String = layer.given().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let lines = line("authmethod").and(&format!("CHAP\nnode.session.auth.username = {}\n", layer.name));
    let lines = lines.with(line("password")).and_secret().and(&format!("\n{wanted}"));
    vec![
        iscsiadm(layer, &["--op", "new"]),
        Deed::Append { files: DATABASES.map(record), text: lines },
        iscsiadm(layer, &["--login"]),
    ]
}

fn logout(layer: &Layer) -> Vec<(Remains, Deed)> {
    let target = iscsi_target(layer);
    let record =
        |database| (Remains::Path(Path::new(database).join(&target)), iscsiadm(layer, &["--op", "delete"]));
    let logout = (Remains::Session(target.clone()), iscsiadm(layer, &["--logout"]));
    [logout].into_iter().chain(DATABASES.map(record)).collect()
}

fn iscsi_disk(layer: &Layer) -> Device {
    Device::Iscsi { target: iscsi_target(layer) }
}

fn subsystem(layer: &Layer) -> String {
    format!("{NVME}{}", layer.name)
}

/// The kernel's target (nvmet).
///
/// Anybody who reaches its address could connect, and would change what is below a mounted filesystem. The subsystem has a single
/// identifier for controllers: once our connection has it, there is none for another, and if somebody was faster, ours fails.
fn serve_nvme(layer: &Layer) -> Vec<Deed> {
    let nvmet = Path::new("/sys/kernel/config/nvmet");
    let (name, port) = (subsystem(layer), layer.port.to_string());
    let subsystem = nvmet.join("subsystems").join(&name);
    let (space, gate) = (subsystem.join("namespaces/1"), nvmet.join("ports").join(&port));
    let set = |file: PathBuf, text: &str| Deed::write(file, Words::of(&[text]));
    vec![
        Deed::Directory(subsystem.clone()),
        set(subsystem.join("attr_allow_any_host"), "1"),
        set(subsystem.join("attr_cntlid_min"), &port),
        set(subsystem.join("attr_cntlid_max"), &port),
        // The disk's name below /dev/disk/by-id has it.
        set(subsystem.join("attr_serial"), &layer.name),
        Deed::Directory(space.clone()),
        Deed::write(space.join("device_path"), Words::new().and_device(&layer.on[0])),
        Deed::SwitchOn(space.join("enable")),
        Deed::Directory(gate.clone()),
        set(gate.join("addr_trtype"), "tcp"),
        set(gate.join("addr_adrfam"), if layer.server.is_ipv4() { "ipv4" } else { "ipv6" }),
        set(gate.join("addr_traddr"), &layer.server.to_string()),
        set(gate.join("addr_trsvcid"), &port),
        Deed::Link { at: gate.join("subsystems").join(&name), to: subsystem },
    ]
}

/// A connection by the kernel's own interface, which needs no program. A server that is gone is given up after a minute rather than
/// ten.
fn connect(layer: &Layer) -> Vec<Deed> {
    let Layer { server, port, .. } = layer;
    let mut connection =
        format!("nqn={},transport=tcp,traddr={server},trsvcid={port},ctrl_loss_tmo=60", subsystem(layer));
    for (argument, value) in layer.given() {
        connection.push_str(&format!(",{argument}"));
        if !value.is_empty() {
            connection.push_str(&format!("={value}"));
        }
    }
    vec![Deed::write("/dev/nvme-fabrics", Words::of(&[&connection]))]
}

fn disconnect(layer: &Layer) -> Vec<(Remains, Deed)> {
    let name = subsystem(layer);
    vec![(Remains::Controller(name.clone()), Deed::Disconnect(name))]
}

fn nvme_disk(layer: &Layer) -> Device {
    Device::Nvme { subsystem: subsystem(layer) }
}

/// Shared with the privileged ports of one machine only, which are root's. The identifier makes it possible for filesystems that
/// have none.
fn nfs(shared: &Shared) -> Words {
    let options = format!("rw,no_root_squash,no_subtree_check,fsid={}", uuid(&shared.path.to_string_lossy()));
    Words::of(&["exportfs", "-i", "-o", &options, &export(shared)])
}

/// What is shared, as `exportfs` has it.
fn export(shared: &Shared) -> String {
    at(shared.client, shared)
}

/// A shared directory and the address of a machine; one of IPv6 in brackets.
fn at(machine: IpAddr, shared: &Shared) -> String {
    match machine {
        IpAddr::V4(machine) => format!("{machine}:{}", shared.path.display()),
        IpAddr::V6(machine) => format!("[{machine}]:{}", shared.path.display()),
    }
}
