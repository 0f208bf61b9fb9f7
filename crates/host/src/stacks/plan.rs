//! How stacks are made, step by step. Pure.

use std::path::{Path, PathBuf};

use model::shell_word;
use serde::{Deserialize, Serialize};

use super::device::{Device, Words};
use super::disks::END;
use super::kinds::{Layer, Role, find_kind};
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
    /// A layer between ground and filesystem.
    Layer(Layer),
    /// A filesystem.
    Filesystem { kind: String, label: String, on: Vec<Device> },
    /// A directory to mount on.
    Directory { path: PathBuf },
    /// Nothing: the run has ended, and what is there shall stay.
    Left,
    /// A mount of a filesystem.
    Mount { kind: String, on: Vec<Device>, point: PathBuf, options: Vec<String> },
}

/// One step: an object that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the stack that it is of.
    pub stack: String,
    /// What it makes.
    pub(crate) object: Object,
}

impl What {
    /// The commands that make it; none for what needs no program.
    pub fn commands(&self) -> Vec<Words> {
        match self {
            Self::Image { .. } | Self::Directory { .. } | Self::Disk { .. } | Self::Left => Vec::new(),
            Self::Loop { image, .. } => {
                vec![Words::of(&["losetup", "--find", "--show", "--direct-io=on", &text(image)])]
            }
            Self::Region { name, disk, start, bytes, .. } => {
                let table = format!("0 {} linear {} {}", bytes / SECTOR, text(disk), start / SECTOR);
                vec![Words::of(&["dmsetup", "create", name, "--table", &table])]
            }
            Self::Prepared { on, how, bytes } => how.commands(on, *bytes),
            Self::Layer(layer) => layer.role().map_or_else(Vec::new, |role| (role.make)(layer)),
            Self::Filesystem { kind, label, on } => {
                let Some(Role::Filesystem(filesystem)) = find_kind(kind).map(|kind| &kind.role) else {
                    return Vec::new();
                };
                vec![on.iter().fold(Words::of(filesystem.make).and(label), Words::and_device)]
            }
            Self::Mount { kind, on, point, options } => {
                let mut words = Words::of(&["mount", "-t", kind]);
                if !options.is_empty() {
                    words = words.and("-o").and(&options.join(","));
                }
                // The others are those of the same filesystem, which the kernel must know of.
                for other in on.iter().skip(1) {
                    words = words.and("-o").and_prefixed("device=", other);
                }
                vec![words.and_device(&on[0]).and(&text(point))]
            }
        }
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
                let typed = self.commands().iter().map(Words::typed).collect::<String>();
                vec![format!("loop{number}=$({typed})")]
            }
            other => other.commands().iter().map(Words::typed).collect(),
        }
    }

    /// The command that undoes it; `None` where none is needed.
    pub fn undo(&self) -> Option<Words> {
        match self {
            Self::Loop { image, number, .. } => {
                let device = Device::Loop { image: image.clone(), number: *number };
                Some(Words::of(&["losetup", "--detach"]).and_device(&device))
            }
            Self::Region { name, .. } => Some(Words::of(&["dmsetup", "remove", name])),
            Self::Layer(layer) => layer.role().map(|role| (role.undo)(layer)),
            Self::Mount { point, .. } => Some(Words::of(&["umount", &text(point)])),
            _ => None,
        }
    }

    /// What undoes it, as a person would type it; `None` where nothing needs to be undone.
    fn undone(&self) -> Option<String> {
        match self {
            Self::Image { path, .. } => Some(format!("rm {}", shell_word(&text(path)))),
            Self::Directory { path } => Some(format!("rmdir {}", shell_word(&text(path)))),
            Self::Disk { path, .. } => Some(format!("wipefs --all {}", shell_word(&text(path)))),
            other => other.undo().map(|words| words.typed()),
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
            Self::WriteOnce => vec![write()],
            Self::WriteTwice => vec![write(), write()],
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The steps that make the stacks of a request with this id, whose mounts are in a directory below `directory`.
pub fn plan(request: &Request, id: &str, directory: &Path) -> Vec<Step> {
    let own = directory.join(id);
    let mut steps = Steps { request, id, steps: Vec::new(), loops: 0 };
    let of_all = |what: What| Step { stack: String::new(), object: Object { stack: String::new(), what } };
    steps.steps.push(of_all(What::Directory { path: own.clone() }));
    if let Ground::Disks(disks) = &request.ground {
        for (number, disk) in disks.iter().take(request.most_members()).enumerate() {
            let what = What::Disk { path: disk.path.clone(), id: id.to_owned(), number };
            steps.steps.push(of_all(what));
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

struct Steps<'a> {
    request: &'a Request,
    id: &'a str,
    steps: Vec<Step>,
    /// How many loop devices there are.
    loops: usize,
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
    fn push(&mut self, what: What) {
        let object = Object { stack: self.key.clone(), what };
        self.all.steps.push(Step { stack: self.stack.name.clone(), object });
    }

    fn make(mut self, own: &Path) {
        let Part { kind, settings, .. } = &self.stack.filesystem;
        let Role::Filesystem(filesystem) = &kind.role else { unreachable!("the parser puts it there") };
        let on = self.devices(&self.stack.filesystem, self.stack.layers.len());
        let label = (filesystem.label)(self.all.id);
        self.push(What::Filesystem { kind: kind.name.to_owned(), label, on: on.clone() });
        let point = own.join(&self.key);
        self.push(What::Directory { path: point.clone() });
        let own_options = filesystem.options.iter().map(|option| (*option).to_owned());
        let options = own_options.chain(settings.iter().map(written)).collect();
        self.push(What::Mount { kind: filesystem.mount_type.to_owned(), on, point, options });
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
                What::Layer(Layer {
                    kind: part.kind.name.to_owned(),
                    name: format!("lode{}_{}_{}", self.all.id, self.number, self.layers),
                    on,
                    settings: part.settings.clone(),
                    bytes: self.all.request.bytes(),
                })
            }
        };
        let device = what.device().expect("a ground and a layer make a device");
        self.push(what);
        let request = self.all.request;
        let how = request.precondition();
        if layers == 0 && how != Precondition::None {
            self.push(What::Prepared { on: device.clone(), how, bytes: request.bytes() });
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
                self.push(What::Image { path: image.clone(), bytes });
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

/// Steps as the lines of a shell script that makes, and one that removes.
pub fn shown(steps: &[Step]) -> (Vec<String>, Vec<String>) {
    let whats = || steps.iter().map(|step| &step.object.what);
    let mut make: Vec<String> = whats().flat_map(What::typed).collect();
    let mut remove: Vec<String> = whats().filter_map(What::undone).collect();
    remove.reverse();
    if whats().any(|what| what.commands().iter().any(Words::needs_key)) {
        make.insert(0, "key=$(mktemp /dev/shm/key.XXXXXX); head --bytes=64 /dev/urandom >$key".to_owned());
        remove.push("rm $key".to_owned());
    }
    (make, remove)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: &str = "/var/lib/lodestone/stacks";

    fn of(on: &str, stacks: &str) -> (Vec<String>, Vec<String>) {
        let request = Request::parse(on, stacks, Path::new("/here")).unwrap();
        shown(&plan(&request, "abcd2345", Path::new(DIRECTORY)))
    }

    #[test]
    fn a_plan_is_what_a_person_would_type() {
        let (make, remove) = of("image:/mnt/usb disk:1G", "ext4,btrfs(noatime)");
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
    fn on_disks_each_stack_has_a_region_of_those_that_it_needs() {
        let mut request = Request::parse("/dev/sdb,/dev/sdc", "ext4,raid0+ext4", Path::new("/here")).unwrap();
        let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
        disks.iter_mut().for_each(|disk| (disk.bytes, disk.discards) = (1 << 30, true));
        let (make, remove) = shown(&plan(&request, "abcd2345", Path::new(DIRECTORY)));
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
            remove[remove.len() - 3..remove.len() - 1],
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
