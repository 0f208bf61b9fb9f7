//! How stacks are made, step by step. Pure.

use std::path::{Path, PathBuf};

use model::shell_word;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::deed::{Deed, Remains};
use super::device::{Device, Words};
use super::disks::END;
use super::kinds::{Layer, Role, Share, Shared, Side, find_kind};
use super::request::{Ground, Part, Precondition, Request, Stack, written};

/// Bytes of a sector of the device mapper.
const SECTOR: u64 = 512;

/// Something that a step makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Object {
    /// The directory of its stack's mount, which is unique to the stack; empty for what is of all stacks.
    pub stack: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// A file in which a stack stands.
    Image { path: PathBuf, bytes: u64 },
    /// The loop device of an image.
    Loop { image: PathBuf, number: usize, bytes: u64 },
    /// A disk on which stacks stand, marked as ours.
    Disk { path: PathBuf, id: String, number: usize },
    /// A part of such a disk, as a device of its own.
    Region { name: String, disk: PathBuf, id: String, number: usize, start: u64, bytes: u64 },
    /// What a ground had, discarded or overwritten.
    Prepared { on: Device, how: Precondition, bytes: u64 },
    /// What serves a layer.
    Serve(Layer),
    /// A layer between ground and filesystem.
    Layer(Layer),
    /// A filesystem.
    Filesystem { kind: String, label: String, on: Vec<Device> },
    /// A directory to mount on.
    Directory { path: PathBuf },
    /// A rule for udev: nobody shall assemble, activate or mount what has this id.
    Quiet { id: String },
    /// Nothing: the run has ended, and what is there shall stay.
    Left,
    /// A mount of a filesystem.
    Mount { kind: String, on: Vec<Device>, point: PathBuf, options: Vec<String> },
    /// A mounted filesystem that is shared.
    Share { kind: String, shared: Shared },
    /// A mount of what is shared.
    Remote { kind: String, shared: Shared, point: PathBuf, options: Vec<String> },
}

/// One step: an object that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the stack that it is of.
    pub stack: String,
    /// The machine on which it is made, if what is served is served by another one; `None` for both.
    pub side: Option<Side>,
    /// What it makes.
    pub(crate) object: Object,
}

impl Step {
    /// True if it is made on this side; if none is named, on the only machine that there is.
    pub(super) fn is_on(&self, side: Option<Side>) -> bool {
        side.is_none() || self.side.is_none() || self.side == side
    }
}

impl What {
    /// What makes it; nothing for what is made by the maker itself.
    pub fn deeds(&self) -> Vec<Deed> {
        let words = match self {
            Self::Image { .. } | Self::Directory { .. } | Self::Disk { .. } | Self::Left => {
                return Vec::new();
            }
            Self::Quiet { id } => return quiet(id),
            Self::Serve(layer) => return layer.serve(),
            Self::Layer(layer) => return layer.role().map_or_else(Vec::new, |role| (role.make)(layer)),
            Self::Prepared { on, how, bytes } => {
                return how.commands(on, *bytes).into_iter().map(Deed::Run).collect();
            }
            Self::Loop { image, .. } => {
                Words::of(&["losetup", "--find", "--show", "--direct-io=on", &text(image)])
            }
            Self::Region { name, disk, start, bytes, .. } => {
                let table = format!("0 {} linear {} {}", bytes / SECTOR, text(disk), start / SECTOR);
                Words::of(&["dmsetup", "create", name, "--table", &table])
            }
            Self::Filesystem { kind, label, on } => {
                let Some(Role::Filesystem(filesystem)) = find_kind(kind).map(|kind| &kind.role) else {
                    return Vec::new();
                };
                on.iter().fold(Words::of(filesystem.make).and(label), Words::and_device)
            }
            Self::Mount { kind, on, point, options } => {
                let mut words = mount(kind, options);
                // The others are those of the same filesystem, which the kernel must know of.
                for other in on.iter().skip(1) {
                    words = words.and("-o").and_prefixed("device=", other);
                }
                words.and_device(&on[0]).and(&text(point))
            }
            Self::Share { kind, shared } => {
                let Some(share) = share(kind) else { return Vec::new() };
                (share.share)(shared)
            }
            Self::Remote { kind, shared, point, options } => {
                let Some(share) = share(kind) else { return Vec::new() };
                mount(share.mount_type, options).and(&(share.source)(shared)).and(&text(point))
            }
        };
        vec![Deed::Run(words)]
    }

    /// What makes it, as a person would type it.
    pub fn typed(&self) -> Vec<String> {
        match self {
            Self::Image { path, bytes } => {
                vec![format!("fallocate --length {bytes} {}", shell_word(&text(path)))]
            }
            Self::Directory { path } => vec![format!("mkdir --mode=700 {}", shell_word(&text(path)))],
            Self::Disk { path, .. } => {
                vec![format!("dd if=/dev/zero of={} bs=1M count=1", shell_word(&text(path)))]
            }
            Self::Loop { number, .. } => {
                let typed = self.deeds().iter().map(Deed::typed).collect::<String>();
                vec![format!("loop{number}=$({typed})")]
            }
            other => other.deeds().iter().map(Deed::typed).collect(),
        }
    }

    /// What it leaves, the last first, and what undoes each; what is undone by the maker itself is not among them.
    pub fn undo(&self) -> Vec<(Remains, Deed)> {
        match self {
            Self::Loop { image, number, .. } => {
                let device = Device::Loop { image: image.clone(), number: *number };
                let detach = Words::of(&["losetup", "--detach"]).and_device(&device);
                vec![(Remains::Device(device), detach.into())]
            }
            Self::Region { name, .. } => {
                let remains = Remains::Device(Device::Mapped { name: name.clone() });
                vec![(remains, Words::of(&["dmsetup", "remove", name]).into())]
            }
            Self::Layer(layer) => layer.undo(),
            Self::Quiet { .. } | Self::Serve(_) => self.deeds().iter().rev().filter_map(Deed::undo).collect(),
            Self::Mount { point, .. } | Self::Remote { point, .. } => {
                vec![(Remains::Mount(point.clone()), Words::of(&["umount", &text(point)]).into())]
            }
            Self::Share { kind, shared } => {
                let remains =
                    |share: &Share| (Remains::Shared(shared.path.clone()), (share.unshare)(shared).into());
                share(kind).map(remains).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What undoes it, as a person would type it.
    fn undone(&self) -> Vec<String> {
        match self {
            Self::Image { path, .. } => vec![format!("rm {}", shell_word(&text(path)))],
            Self::Directory { path } => vec![format!("rmdir {}", shell_word(&text(path)))],
            Self::Disk { path, .. } => vec![format!("wipefs --all {}", shell_word(&text(path)))],
            other => {
                let mut typed: Vec<String> = other.undo().iter().map(|(_, deed)| deed.typed()).collect();
                // What is looked for in two places is undone with one command.
                typed.dedup();
                typed
            }
        }
    }

    /// True if how it was made may matter for figures.
    pub fn is_telling(&self) -> bool {
        matches!(
            self,
            Self::Region { .. }
                | Self::Prepared { .. }
                | Self::Serve(_)
                | Self::Layer(_)
                | Self::Filesystem { .. }
                | Self::Mount { .. }
                | Self::Share { .. }
                | Self::Remote { .. }
        )
    }

    /// Bytes that making it writes, or reads, besides a few of its own.
    fn passes(&self) -> u64 {
        match self {
            Self::Layer(layer) => layer.role().map_or(0, |role| (role.passes)(layer)),
            Self::Prepared { how: Precondition::WriteOnce | Precondition::Zero, bytes, .. } => *bytes,
            Self::Prepared { how: Precondition::WriteTwice, bytes, .. } => bytes.saturating_mul(2),
            _ => 0,
        }
    }

    /// The device that it makes.
    pub fn device(&self) -> Option<Device> {
        match self {
            Self::Loop { image, number, .. } => Some(Device::Loop { image: image.clone(), number: *number }),
            Self::Region { name, .. } => Some(Device::Mapped { name: name.clone() }),
            Self::Layer(layer) => layer.role().map(|role| (role.device)(layer)),
            _ => None,
        }
    }
}

impl Precondition {
    /// The commands that carry it out on a device of this size.
    fn commands(self, on: &Device, bytes: u64) -> Vec<Words> {
        let write = || {
            Words::of(&["dd", "if=/dev/urandom"])
                .and_prefixed("of=", on)
                .and_all(&["bs=1M", &format!("count={}", bytes >> 20)])
                .and_all(&["oflag=direct", "conv=fsync", "status=none"])
        };
        match self {
            Self::None => Vec::new(),
            Self::Discard => vec![Words::of(&["blkdiscard"]).and_device(on)],
            Self::Zero => vec![Words::of(&["blkdiscard", "--zeroout", "--step", "32M"]).and_device(on)],
            Self::WriteOnce => vec![write()],
            Self::WriteTwice => vec![write(), write()],
        }
    }
}

/// Rules for udev, which without them assembles arrays again whose members it sees, activates volumes (its rules 64 for md and 69
/// for LVM, which go by the type of what is on a device), and lets the desktop mount filesystems.
fn quiet(id: &str) -> Vec<Deed> {
    let ours = [
        format!("ATTR{{loop/backing_file}}==\"*/lodestone-{id}-*.img\""),
        format!("ATTR{{dm/name}}==\"lode{id}_*\""),
        format!("ENV{{MD_NAME}}==\"*lode{id}_*\""),
        format!("ENV{{ID_PATH}}==\"*:lode{id}_*\""),
        format!("ATTRS{{subsysnqn}}==\"*:lode{id}_*\""),
    ];
    let rule = |ours: String| {
        format!("SUBSYSTEM==\"block\", {ours}, ENV{{ID_FS_TYPE}}=\"\", ENV{{UDISKS_IGNORE}}=\"1\"\n")
    };
    let directory = PathBuf::from("/run/udev/rules.d");
    // After those that look what is on a device, before those that do something about it.
    let at = directory.join(format!("64-lodestone-{id}.rules"));
    vec![
        Deed::Ensure(directory),
        Deed::File { at, text: ours.map(rule).concat() },
        Deed::Run(Words::of(&["udevadm", "control", "--reload"])),
    ]
}

fn mount(kind: &str, options: &[String]) -> Words {
    let words = Words::of(&["mount", "-t", kind]);
    if options.is_empty() { words } else { words.and("-o").and(&options.join(",")) }
}

fn share(kind: &str) -> Option<&'static Share> {
    match &find_kind(kind)?.role {
        Role::Share(share) => Some(share),
        _ => None,
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The steps that make the stacks of a request with this id, whose mounts are in a directory below `directory`.
pub fn plan(request: &Request, id: &str, directory: &Path) -> Vec<Step> {
    let own = directory.join(id);
    let mut steps = Steps { request, id, steps: Vec::new(), loops: 0, port: first_port(id) };
    let of_all =
        |side, what| Step { stack: String::new(), side, object: Object { stack: String::new(), what } };
    steps.steps.push(of_all(None, What::Directory { path: own.clone() }));
    steps.steps.push(of_all(None, What::Quiet { id: id.to_owned() }));
    if let Ground::Disks(disks) = &request.ground {
        for (number, disk) in disks.iter().take(request.most_members()).enumerate() {
            let what = What::Disk { path: disk.path.clone(), id: id.to_owned(), number };
            steps.steps.push(of_all(Some(Side::Server), what));
        }
    }
    let n = request.stacks.len();
    for making in 0..request.makings as usize {
        for place in 0..n {
            // A Latin square: no stack is always the outermost.
            let stack = &request.stacks[(place + making) % n];
            let number = making * n + place + 1;
            let key = format!("{number}-{}", stack.filesystem.kind.name);
            OfStack { all: &mut steps, stack, number, key, grounds: 0, layers: 0 }.make(&own);
        }
    }
    steps.steps
}

/// The first of the ports of stacks with this id: below those that the kernel gives away by itself (RFC 6335's dynamic ports and
/// Linux's, from 32,768), different for other runs.
fn first_port(id: &str) -> u16 {
    const FIRST: u16 = 20_000;
    const RUNS: u64 = 100;
    /// More than [`Request`] allows.
    const OF_A_RUN: u16 = 100;
    let run = (XxHash3_64::oneshot(id.as_bytes()) % RUNS) as u16;
    FIRST + run * OF_A_RUN
}

struct Steps<'a> {
    request: &'a Request,
    id: &'a str,
    steps: Vec<Step>,
    /// How many loop devices there are.
    loops: usize,
    /// The port at which the next layer is served, if it is.
    port: u16,
}

/// The steps of one stack.
struct OfStack<'s, 'a> {
    all: &'s mut Steps<'a>,
    stack: &'a Stack,
    number: usize,
    key: String,
    grounds: usize,
    layers: usize,
}

impl OfStack<'_, '_> {
    fn push(&mut self, side: Side, what: What) {
        let object = Object { stack: self.key.clone(), what };
        self.all.steps.push(Step { stack: self.stack.name.clone(), side: Some(side), object });
    }

    fn make(mut self, own: &Path) {
        let Part { kind, settings, .. } = &self.stack.filesystem;
        let Role::Filesystem(filesystem) = &kind.role else { unreachable!("the parser puts it there") };
        let on = self.devices(&self.stack.filesystem, self.stack.layers.len());
        let label = (filesystem.label)(self.all.id);
        let side = self.stack.side_above(self.stack.layers.len());
        self.push(side, What::Filesystem { kind: kind.name.to_owned(), label, on: on.clone() });
        let own_options = filesystem.options.iter().map(|option| (*option).to_owned());
        let options = own_options.chain(settings.iter().map(written)).collect();
        let point = own.join(&self.key);
        let Some(remote) = &self.stack.share else {
            self.push(side, What::Directory { path: point.clone() });
            self.push(side, What::Mount { kind: filesystem.mount_type.to_owned(), on, point, options });
            return;
        };
        let server = self.all.request.server.as_ref();
        let there = server.map_or(own.to_owned(), |server| server.directory.join(self.all.id));
        let path = there.join(format!("{}-served", self.key));
        self.push(side, What::Directory { path: path.clone() });
        let kind = filesystem.mount_type.to_owned();
        self.push(side, What::Mount { kind, on, point: path.clone(), options });
        let kind = remote.kind.name.to_owned();
        let (server, client) = self.all.request.ends_of(remote);
        let shared = Shared { path, server, client };
        self.push(side, What::Share { kind: kind.clone(), shared: shared.clone() });
        self.push(Side::Client, What::Directory { path: point.clone() });
        let own_options = share(&kind).map_or(&[][..], |share| share.options);
        let own_options = own_options.iter().map(|option| (*option).to_owned());
        let options = own_options.chain(remote.settings().map(written)).collect();
        self.push(Side::Client, What::Remote { kind, shared, point, options });
    }

    /// The devices that a part takes, which has `below` layers below it.
    fn devices(&mut self, part: &Part, below: usize) -> Vec<Device> {
        (0..part.members).map(|_| self.device(below)).collect()
    }

    /// A device that stands on this many layers.
    fn device(&mut self, layers: usize) -> Device {
        let stack = self.stack;
        let what = match layers.checked_sub(1) {
            None => self.ground(),
            Some(below) => {
                let part = &stack.layers[below];
                let on = self.devices(part, below);
                self.layers += 1;
                let port = self.all.port;
                self.all.port = port.saturating_add(u16::from(part.kind.is_served()));
                let layer = Layer {
                    kind: part.kind.name.to_owned(),
                    name: format!("lode{}_{}_{}", self.all.id, self.number, self.layers),
                    on,
                    settings: part.settings().cloned().collect(),
                    bytes: self.all.request.bytes(),
                    port: if part.kind.is_served() { port } else { 0 },
                    server: self.all.request.ends_of(part).0,
                };
                if part.kind.is_served() {
                    self.push(Side::Server, What::Serve(layer.clone()));
                }
                What::Layer(layer)
            }
        };
        let device = what.device().expect("a ground and a layer make a device");
        self.push(stack.side_above(layers), what);
        let request = self.all.request;
        let how = request.precondition();
        if layers == 0 && how != Precondition::None {
            self.push(Side::Server, What::Prepared { on: device.clone(), how, bytes: request.bytes() });
        }
        if stack.needs_zeros(layers) {
            let how = Precondition::Zero;
            self.push(Side::Client, What::Prepared { on: device.clone(), how, bytes: request.bytes() });
        }
        device
    }

    /// A device that a stack stands on.
    fn ground(&mut self) -> What {
        let (id, bytes) = (self.all.id, self.all.request.bytes());
        let ground = self.grounds;
        self.grounds += 1;
        match &self.all.request.ground {
            Ground::Images { directory, .. } => {
                let more = if ground == 0 { String::new() } else { format!("-{}", ground + 1) };
                let image = directory.join(format!("lodestone-{id}-{}{more}.img", self.key));
                self.push(Side::Server, What::Image { path: image.clone(), bytes });
                self.all.loops += 1;
                What::Loop { image, number: self.all.loops, bytes }
            }
            Ground::Disks(disks) => What::Region {
                name: format!("lode{id}_{}_disk{}", self.number, ground + 1),
                disk: disks[ground].path.clone(),
                id: id.to_owned(),
                number: ground,
                start: END + (self.number as u64 - 1) * bytes,
                bytes,
            },
        }
    }
}

/// True if a step authenticates with the secret of the run.
pub fn needs_secret(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.object.what.deeds().iter().any(Deed::needs_secret))
}

/// Bytes that the steps write, or read, besides the few of each filesystem and layer: what they cost in time.
pub fn passed_bytes(steps: &[Step]) -> u64 {
    steps.iter().map(|step| step.object.what.passes()).fold(0, u64::saturating_add)
}

/// Steps as the lines of a shell script that makes, and one that removes; of a side only its own, the client's with the secret of
/// the server.
pub fn shown(steps: &[Step], side: Option<Side>) -> (Vec<String>, Vec<String>) {
    let whats = || steps.iter().filter(|step| step.is_on(side)).map(|step| &step.object.what);
    let mut make: Vec<String> = whats().flat_map(What::typed).collect();
    let mut remove: Vec<String> = whats().rev().flat_map(What::undone).collect();
    if side != Some(Side::Client) && needs_secret(steps) {
        make.insert(0, "secret=$(head --bytes=16 /dev/urandom | xxd -plain)".to_owned());
    }
    if whats().any(|what| what.deeds().iter().any(Deed::needs_key)) {
        make.insert(0, "key=$(mktemp /dev/shm/key.XXXXXX); head --bytes=64 /dev/urandom >$key".to_owned());
        remove.push("rm $key".to_owned());
    }
    (make, remove)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::request::Server;
    use super::*;

    const DIRECTORY: &str = "/var/lib/lodestone/stacks";

    fn of(on: &str, stacks: &str) -> (Vec<String>, Vec<String>) {
        let request = Request::parse(on, stacks, Path::new("/here")).unwrap();
        shown(&plan(&request, "abcd2345", Path::new(DIRECTORY)), None)
    }

    #[test]
    fn what_takes_long_is_known_before() {
        const GIB: u64 = 1 << 30;
        for (stacks, how, makings, bytes) in [
            ("ext4,luks+xfs", None, 4, 0),
            ("integrity+ext4", None, 1, GIB),
            ("raid1+ext4", None, 1, 0),
            ("raid1(resync)+ext4", None, 2, 4 * GIB),
            ("raid1(integrity)+ext4,ext4", None, 1, 2 * GIB),
            ("ext4,raid0+ext4", Some(Precondition::WriteTwice), 3, 3 * 3 * 2 * GIB),
            ("ext4", Some(Precondition::Discard), 1, 0),
            ("luks+nvmet-tcp+xfs,nvmet-tcp+luks+xfs,nvmet-tcp+ext4", None, 1, GIB),
        ] {
            let parsed = Request::parse("image:1G", stacks, Path::new("/here")).unwrap();
            let request = Request { wanted: how, makings, ..parsed };
            assert_eq!(passed_bytes(&plan(&request, "abcd2345", Path::new(DIRECTORY))), bytes, "{stacks}");
        }
    }

    #[test]
    fn a_plan_is_what_a_person_would_type() {
        let (mut make, remove) = of("image:/mnt/usb disk:1G", "ext4,btrfs(noatime)");
        let quiet: Vec<String> = make.drain(1..4).collect();
        let rule = "SUBSYSTEM==\"block\", ATTR{dm/name}==\"lodeabcd2345_*\", ENV{ID_FS_TYPE}=\"\", ENV{UDISKS_IGNORE}=\"1\"";
        assert!(quiet[1].lines().any(|line| line == rule), "{quiet:?}");
        assert_eq!(remove[remove.len() - 2], "rm /run/udev/rules.d/64-lodestone-abcd2345.rules");
        assert_eq!(
            make,
            [
                "mkdir --mode=700 /var/lib/lodestone/stacks/abcd2345",
                "fallocate --length 1073741824 '/mnt/usb disk/lodestone-abcd2345-1-ext4.img'",
                "loop1=$(losetup --find --show --direct-io=on '/mnt/usb disk/lodestone-abcd2345-1-ext4.img')",
                "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -L lodeabcd2345 $loop1",
                "mkdir --mode=700 /var/lib/lodestone/stacks/abcd2345/1-ext4",
                "mount -t ext4 $loop1 /var/lib/lodestone/stacks/abcd2345/1-ext4",
                "fallocate --length 1073741824 '/mnt/usb disk/lodestone-abcd2345-2-btrfs.img'",
                "loop2=$(losetup --find --show --direct-io=on '/mnt/usb disk/lodestone-abcd2345-2-btrfs.img')",
                "mkfs.btrfs -q -f -K -L lodeabcd2345 $loop2",
                "mkdir --mode=700 /var/lib/lodestone/stacks/abcd2345/2-btrfs",
                "mount -t btrfs -o nodiscard,noatime $loop2 /var/lib/lodestone/stacks/abcd2345/2-btrfs",
            ]
        );
        assert_eq!(remove[0], "umount /var/lib/lodestone/stacks/abcd2345/2-btrfs");
        assert_eq!(remove[1], "rmdir /var/lib/lodestone/stacks/abcd2345/2-btrfs");
        assert_eq!(remove[2], "losetup --detach $loop2");
        assert_eq!(remove.last().unwrap(), "rmdir /var/lib/lodestone/stacks/abcd2345");
    }

    #[test]
    fn layers_stand_on_each_other_and_members_are_alike() {
        let (make, remove) = of("image:/i:1G", "raid1(luks(sector=4096))+xfs,btrfs-raid1");
        let made = |start: &str| -> Vec<&str> {
            make.iter().map(String::as_str).filter(|line| line.starts_with(start)).collect()
        };
        assert_eq!(made("loop").len(), 4);
        assert_eq!(
            made("cryptsetup luksFormat")[1],
            "cryptsetup luksFormat --batch-mode --type luks2 --label lodeabcd2345_1_2 --pbkdf pbkdf2 \
             --pbkdf-force-iterations 1000 --sector-size 4096 --key-file $key $loop2"
        );
        assert_eq!(
            made("mdadm"),
            [
                "mdadm --create /dev/md/lodeabcd2345_1_3 --name lodeabcd2345_1_3 --homehost=any --metadata=1.2 --run \
              --level 1 --raid-devices 2 --bitmap=none --assume-clean /dev/mapper/lodeabcd2345_1_1 \
              /dev/mapper/lodeabcd2345_1_2"
            ]
        );
        assert_eq!(made("mkfs.xfs"), ["mkfs.xfs -q -f -K -L lodeabcd2345 /dev/md/lodeabcd2345_1_3"]);
        assert_eq!(
            made("mount -t btrfs"),
            [
                "mount -t btrfs -o nodiscard -o device=$loop4 $loop3 /var/lib/lodestone/stacks/abcd2345/2-btrfs-raid1"
            ]
        );
        assert!(made("key=")[0].contains("/dev/urandom"), "{make:?}");
        let position = |line: &str| remove.iter().position(|other| other == line).unwrap();
        assert!(
            position("mdadm --stop /dev/md/lodeabcd2345_1_3") < position("dmsetup remove lodeabcd2345_1_2")
        );
        assert!(position("dmsetup remove lodeabcd2345_1_2") < position("losetup --detach $loop2"));
        assert_eq!(remove.last().unwrap(), "rm $key");
    }

    #[test]
    fn what_is_served_has_a_port_of_its_own_and_secrets_are_no_arguments() {
        let (make, remove) =
            of("image:/i:1G", "iscsi+ext4,nvmet-tcp(queues=2,digest)+luks+nfs(xfs,nconnect=2)");
        let port = first_port("abcd2345");
        assert!((20_000..30_000).contains(&port));
        let has = |lines: &[String], line: &str| {
            assert!(lines.iter().any(|other| other == line), "no {line} in {lines:#?}");
        };
        let group = "/sys/kernel/config/target/iscsi/iqn.2026-11.io.lodestone:lodeabcd2345_1_1/tpgt_1";
        has(&make, &format!("echo -n $secret >{group}/auth/password"));
        has(&make, &format!("mkdir {group}/np/127.0.0.1:{port}"));
        has(
            &make,
            "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -L lodeabcd2345 \
             /dev/disk/by-path/*-iscsi-iqn.2026-11.io.lodestone:lodeabcd2345_1_1-lun-0",
        );
        let connection = make.iter().find(|line| line.ends_with(">/dev/nvme-fabrics")).unwrap();
        assert!(connection.contains(&format!("trsvcid={},", port + 1)), "{connection}");
        assert!(connection.contains(",nr_io_queues=2,hdr_digest,data_digest"), "{connection}");
        let served = "/var/lib/lodestone/stacks/abcd2345/2-xfs-served";
        has(&make, &format!("mount -t xfs /dev/mapper/lodeabcd2345_2_2 {served}"));
        let mount = format!("mount -t nfs4 -o vers=4.2,nconnect=2 127.0.0.1:{served}");
        has(&make, &format!("{mount} /var/lib/lodestone/stacks/abcd2345/2-xfs"));
        has(&make, "secret=$(head --bytes=16 /dev/urandom | xxd -plain)");
        let position = |line: &str| {
            let found = remove.iter().position(|other| other.starts_with(line));
            found.unwrap_or_else(|| panic!("no {line} in {remove:#?}"))
        };
        let order = [
            "umount /var/lib/lodestone/stacks/abcd2345/2-xfs",
            "exportfs -u ",
            "umount /var/lib/lodestone/stacks/abcd2345/2-xfs-served",
            "dmsetup remove lodeabcd2345_2_2",
            "nvme disconnect --nqn nqn.2026-11.io.lodestone:lodeabcd2345_2_1",
            "rm /sys/kernel/config/nvmet/ports/",
            "rmdir /sys/kernel/config/nvmet/ports/",
            "echo -n 0 >/sys/kernel/config/nvmet/subsystems/nqn.2026-11.io.lodestone:lodeabcd2345_2_1/namespaces/1/enable",
            "losetup --detach $loop2",
            "iscsiadm --mode node --targetname iqn.2026-11.io.lodestone:lodeabcd2345_1_1 --portal",
            "rmdir /sys/kernel/config/target/core/iblock_",
            "losetup --detach $loop1",
        ];
        assert!(order.map(position).is_sorted(), "{remove:#?}");
    }

    #[test]
    fn what_is_below_the_network_is_made_on_its_server_and_what_is_above_on_the_client() {
        let addresses = |last| IpAddr::from([192, 0, 2, last]);
        let server = Server {
            name: "nas".to_owned(),
            directory: "/srv/stacks".into(),
            address: Some(addresses(1)),
            routes: Vec::new(),
        };
        let route = |to: IpAddr| match to {
            IpAddr::V6(_) => Ok("2001:db8::7".parse().unwrap()),
            IpAddr::V4(_) => Ok(if to == addresses(1) { addresses(2) } else { addresses(7) }),
        };
        let of = |stacks: &str| {
            let request = Request::parse("image:/i:1G", stacks, Path::new("/here")).unwrap();
            request.served_by(server.clone(), route).map_err(|error| error.to_string())
        };
        let request =
            of("raid1(luks+iscsi(address=192.0.2.9))+plain+ext4,nfs(integrity+xfs,nconnect=2)").unwrap();
        let steps = plan(&request, "abcd2345", Path::new(DIRECTORY));
        let made = |side: Side| shown(&steps, Some(side)).0;
        let (there, here) = (made(Side::Server), made(Side::Client));
        let count =
            |lines: &[String], start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        for (start, on_server, on_client) in [
            ("losetup", 0, 0),
            ("loop", 3, 0),
            ("cryptsetup luksFormat", 2, 0),
            ("cryptsetup open --batch-mode --type plain", 0, 1),
            ("integritysetup format", 1, 0),
            ("mdadm", 0, 1),
            ("iscsiadm", 0, 4),
            ("echo 1 >/sys/kernel/config/target/iscsi/", 2, 0),
            ("mkfs.ext4", 0, 1),
            ("mkfs.xfs", 1, 0),
            ("exportfs", 1, 0),
            ("mount -t nfs4", 0, 1),
            ("key=", 1, 1),
            ("secret=", 1, 0),
        ] {
            assert_eq!((count(&there, start), count(&here, start)), (on_server, on_client), "{start}");
        }
        let has = |lines: &[String], part: &str| lines.iter().any(|line| line.contains(part));
        assert!(has(&here, "192.0.2.9:") && has(&there, "np/192.0.2.9:"), "{here:#?}");
        // The server exports to the address that the client has for its own.
        let served = "/srv/stacks/abcd2345/2-xfs-served";
        assert!(has(&there, &format!("192.0.2.2:{served}")), "{there:#?}");
        let mount = format!("-o vers=4.2,nconnect=2 192.0.2.1:{served} {DIRECTORY}/abcd2345/2-xfs");
        assert!(has(&here, &mount), "{here:#?}");
        let wide = "address=2001:db8::1";
        let stacks = format!("iscsi({wide})+ext4,nvmet-tcp({wide})+ext4,nfs(ext4,{wide})");
        let steps = plan(&of(&stacks).unwrap(), "abcd2345", Path::new(DIRECTORY));
        let made = shown(&steps, None).0.join("\n");
        for part in [
            "/np/[2001:db8::1]:",
            "--portal '[2001:db8::1]:",
            "/2001:db8::1,",
            "echo -n ipv6 >",
            "traddr=2001:db8::1,",
            "exportfs -i -o ",
            " '[2001:db8::7]:/srv/stacks/abcd2345/3-ext4-served",
            " '[2001:db8::1]:/srv/stacks/abcd2345/3-ext4-served' ",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
        for (stacks, words) in [
            ("ext4", "a stack on nas needs exactly one of iscsi, nvmet-tcp and nfs"),
            ("iscsi+nvmet-tcp+ext4", "a stack on nas needs exactly one of"),
            ("iscsi(address=nas)+ext4", "write an address, as in address=192.0.2.1 or address=2001:db8::1"),
        ] {
            let parsed =
                Request::parse("image:1G", stacks, Path::new("/here")).map_err(|error| error.to_string());
            let error = parsed.and_then(|request| {
                request.served_by(server.clone(), route).map_err(|error| error.to_string())
            });
            let error = error.unwrap_err();
            assert!(error.contains(words), "{stacks}: {error}");
        }
    }

    #[test]
    fn on_disks_each_stack_has_a_region_of_those_that_it_needs() {
        let mut request = Request::parse("/dev/sdb,/dev/sdc", "ext4,raid0+ext4", Path::new("/here")).unwrap();
        let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
        disks.iter_mut().for_each(|disk| (disk.bytes, disk.discards) = (1 << 30, true));
        let (make, remove) = shown(&plan(&request, "abcd2345", Path::new(DIRECTORY)), None);
        // 508 MiB each, after the mark of 1 MiB.
        let of = |start: &str| -> Vec<&str> {
            make.iter().map(String::as_str).filter(|line| line.starts_with(start)).collect()
        };
        assert_eq!(
            of("dmsetup create"),
            [
                "dmsetup create lodeabcd2345_1_disk1 --table '0 1040384 linear /dev/sdb 2048'",
                "dmsetup create lodeabcd2345_2_disk1 --table '0 1040384 linear /dev/sdb 1042432'",
                "dmsetup create lodeabcd2345_2_disk2 --table '0 1040384 linear /dev/sdc 1042432'",
            ]
        );
        assert_eq!(of("blkdiscard").len(), 3);
        assert_eq!(of("mdadm")[0].split(' ').next_back(), Some("/dev/mapper/lodeabcd2345_2_disk2"));
        assert_eq!(
            remove[remove.len() - 4..remove.len() - 2],
            ["wipefs --all /dev/sdc", "wipefs --all /dev/sdb"]
        );
    }

    #[test]
    fn made_several_times_each_stack_lies_in_each_place_once() {
        let mut request = Request::parse("image:/i:1G", "ext4,xfs,btrfs", Path::new("/here")).unwrap();
        request.makings = 3;
        let steps = plan(&request, "abcd2345", Path::new(DIRECTORY));
        let mounts = steps.iter().filter(|step| matches!(step.object.what, What::Mount { .. }));
        let order: Vec<&str> = mounts.map(|step| step.stack.as_str()).collect();
        assert_eq!(order, ["ext4", "xfs", "btrfs", "xfs", "btrfs", "ext4", "btrfs", "ext4", "xfs"]);
        let keys: std::collections::BTreeSet<&str> =
            steps.iter().map(|step| step.object.stack.as_str()).collect();
        assert_eq!(keys.len(), 10, "each has a directory of its own, besides that of all: {keys:?}");
    }
}
