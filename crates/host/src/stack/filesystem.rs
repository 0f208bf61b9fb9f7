//! Mounted filesystems: their entries in the mount table, and the layers below.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use model::{LayerKind, fact};

use super::{Facts, device_named, entries, number, zpool};
use crate::mounts::{Mount, device_number};
use crate::routes::speed_to;
use crate::{Roots, read_line};

/// Filesystems whose data are on another machine, or on the host of a virtual one, with the name of the link.
const NETWORK: [(&str, &str); 13] = [
    ("nfs", "nfs"),
    ("nfs4", "nfs"),
    ("cifs", "smb"),
    ("smb3", "smb"),
    ("9p", "9p"),
    ("virtiofs", "virtiofs"),
    ("ceph", "ceph"),
    ("fuse.ceph", "ceph"),
    ("glusterfs", "gluster"),
    ("fuse.glusterfs", "gluster"),
    ("lustre", "lustre"),
    ("fuse.sshfs", "ssh"),
    ("fuse.rclone", "rclone"),
];

/// Mount options that identify people.
const PRIVATE: [&str; 5] = ["username=", "user=", "domain=", "password=", "pass="];

/// The layers below a filesystem.
#[derive(Debug, Default)]
pub(super) struct Beneath {
    /// Block devices.
    pub devices: Vec<(u32, u32)>,
    /// A path on another filesystem.
    pub path: Option<PathBuf>,
    /// Facts found during the search.
    found: BTreeMap<String, String>,
}

pub(super) fn kind(mount: &Mount) -> LayerKind {
    if link(&mount.kind).is_some() { LayerKind::Network } else { LayerKind::Filesystem }
}

fn link(kind: &str) -> Option<&'static str> {
    NETWORK.iter().find(|(name, _)| *name == kind).map(|(_, link)| *link)
}

pub(super) fn facts(roots: &Roots, mount: &Mount, beneath: &Beneath) -> Facts {
    let mut facts = Facts(beneath.found.clone());
    facts.put(fact::MOUNT_POINT, mount.point.display().to_string());
    // Runs get published: they must not contain who mounted a share.
    let public = mount.options.iter().filter(|option| !PRIVATE.iter().any(|name| option.starts_with(name)));
    facts.put(fact::OPTIONS, public.map(String::as_str).collect::<Vec<_>>().join(","));
    facts.put(fact::SOURCE, Some(mount.source.clone()).filter(|s| !s.is_empty() && s != "none"));
    if let Some(link) = link(&mount.kind) {
        facts.put(fact::LINK, link.to_owned());
        let server = server(mount);
        facts.number(fact::LINK_SPEED, server.as_deref().and_then(|server| speed_to(roots, server)));
        facts.server(roots, server);
        facts.put(fact::PROTOCOL, option(mount, "vers=").map(str::to_owned));
        facts.put(fact::TRANSPORT, option(mount, "proto=").or(option(mount, "trans=")).map(str::to_owned));
    }
    if mount.kind == "btrfs"
        && let Some(set) = btrfs_set(roots, mount)
    {
        btrfs_facts(&set, &mut facts);
    }
    facts
}

/// The value of a mount option such as `addr=`.
fn option<'a>(mount: &'a Mount, name: &str) -> Option<&'a str> {
    mount.options.iter().find_map(|option| option.strip_prefix(name))
}

/// The server's address, else its name: `host:/export`, `//host/share`, `user@host:path`.
fn server(mount: &Mount) -> Option<String> {
    if let Some(address) = option(mount, "addr=") {
        return Some(address.to_owned());
    }
    let source = mount.source.strip_prefix("//").unwrap_or(&mount.source);
    let host = match source.strip_prefix('[') {
        Some(v6) => v6.split_once(']')?.0,
        None => source.split_once([':', '/'])?.0,
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    (!host.is_empty()).then(|| host.to_owned())
}

/// The layers below the filesystem.
pub(super) fn beneath(roots: &Roots, mount: &Mount) -> Beneath {
    match mount.kind.as_str() {
        "overlay" => {
            let upper = option(mount, "upperdir=").and_then(|u| fs::canonicalize(u).ok());
            Beneath { path: upper, ..Beneath::default() }
        }
        // Encryption of individual files, which are in another directory.
        "ecryptfs" | "fuse.gocryptfs" | "fuse.encfs" | "fuse.cryfs" | "fuse.bindfs" => {
            Beneath { path: fs::canonicalize(&mount.source).ok(), ..Beneath::default() }
        }
        "zfs" => zfs_members(roots, mount),
        _ if mount.device.0 != 0 => Beneath { devices: vec![mount.device], ..Beneath::default() },
        "btrfs" => Beneath { devices: btrfs_members(roots, mount), ..Beneath::default() },
        // bcachefs lists all its members.
        _ => {
            let devices = mount.source.split(':').filter(|part| part.starts_with("/dev/"));
            Beneath {
                devices: devices.filter_map(|d| device_named(roots, d)).collect(),
                ..Beneath::default()
            }
        }
    }
}

/// The sysfs entry of the btrfs that has the mount's source among its members. Its files have a device number
/// that belongs to no block device.
fn btrfs_set(roots: &Roots, mount: &Mount) -> Option<PathBuf> {
    let source = fs::canonicalize(&mount.source).unwrap_or_else(|_| PathBuf::from(&mount.source));
    let by_number = device_named(roots, &mount.source);
    let has = |set: &PathBuf| {
        source.file_name().is_some_and(|name| set.join("devices").join(name).exists())
            || by_number.is_some() && members(set).contains(&by_number)
    };
    entries(&roots.sys.join("fs/btrfs")).into_iter().find(has)
}

fn members(set: &Path) -> Vec<Option<(u32, u32)>> {
    entries(&set.join("devices")).iter().map(|d| device_number(&read_line(d.join("dev"))?)).collect()
}

fn btrfs_members(roots: &Roots, mount: &Mount) -> Vec<(u32, u32)> {
    let found: Vec<_> =
        btrfs_set(roots, mount).map(|set| members(&set)).unwrap_or_default().into_iter().flatten().collect();
    if found.is_empty() { device_named(roots, &mount.source).into_iter().collect() } else { found }
}

/// Profiles are directories below the kind of allocation (Documentation of `/sys/fs/btrfs` in btrfs(5)).
fn btrfs_facts(set: &Path, facts: &mut Facts) {
    let profile = |kind: &str| {
        let within = entries(&set.join("allocation").join(kind));
        let names = within.iter().filter(|path| path.is_dir()).filter_map(|path| path.file_name()?.to_str());
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    facts.put(fact::DATA_PROFILE, profile("data"));
    facts.put(fact::METADATA_PROFILE, profile("metadata"));
    let checksum = read_line(set.join("checksum"));
    facts.put("checksum", checksum.and_then(|text| text.split_whitespace().next().map(str::to_owned)));
    let devices = entries(&set.join("devinfo"));
    let missing = devices.iter().filter(|device| number(device.join("missing")) == Some(1)).count() as u64;
    facts.number(fact::DEGRADED, Some(missing).filter(|missing| *missing > 0));
    if devices.len() > 1 {
        facts.number(fact::MEMBERS, devices.len() as u64);
    }
}

/// Members of a pool are not listed in sysfs.
fn zfs_members(roots: &Roots, mount: &Mount) -> Beneath {
    let mut facts = Facts::default();
    let pool = mount.source.split('/').next().unwrap_or_default();
    facts.put(fact::POOL, pool.to_owned());
    facts.file(fact::POOL_STATE, roots.proc.join("spl/kstat/zfs").join(pool).join("state"));
    let Some(status) = zpool::status(roots, pool) else {
        return Beneath { found: facts.0, ..Beneath::default() };
    };
    facts.put(fact::POOL_STATE, status.state.clone());
    facts.put(fact::POOL_LAYOUT, status.layout());
    facts.number(fact::MEMBERS, status.members().count() as u64);
    let lacking = status.members().filter(|member| member.state != "ONLINE").count() as u64;
    facts.number(fact::DEGRADED, Some(lacking).filter(|lacking| *lacking > 0));
    let devices = status.members().chain(status.helpers()).filter_map(|m| device_named(roots, &m.name));
    Beneath { devices: devices.collect(), path: None, found: facts.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_its_address_or_mount_source() {
        let mount = |source: &str, options: &str| Mount {
            device: (0, 50),
            point: "/mnt".into(),
            root: "/".into(),
            kind: "nfs4".into(),
            source: source.into(),
            options: options.split(',').map(str::to_owned).collect(),
        };
        for (source, options, expected) in [
            ("nas:/export", "rw,vers=4.2,addr=192.0.2.7", "192.0.2.7"),
            ("nas:/export", "rw", "nas"),
            ("//nas.example/share", "rw", "nas.example"),
            ("[fd00::5]:/export", "rw", "fd00::5"),
            ("me@host.example:/home/me", "rw", "host.example"),
        ] {
            assert_eq!(server(&mount(source, options)).unwrap(), expected);
        }
        assert_eq!(server(&mount("tag", "trans=virtio")), None);
    }
}
