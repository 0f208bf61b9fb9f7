//! What stacks a user asks for.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use model::units::{ExactSize, parse_size};

use serde::{Deserialize, Serialize};

use super::StackError;
use super::disks::END;
use super::kinds::{ADDRESS, Kind, Lack, Needs, Side, Zeros, find_kind, kinds};
use crate::Roots;

/// Bytes that stay free in the directory of the images.
const RESERVE: u64 = 64 << 20;
/// Most stacks at once.
const MOST: usize = 32;
/// Most devices that one stack stands on.
const MOST_DEVICES: usize = 64;

/// Stacks to be made.
#[derive(Debug)]
pub struct Request {
    /// Where they are made.
    pub ground: Ground,
    /// The stacks, in the order in which they are named.
    pub stacks: Vec<Stack>,
    /// What the user wants to be done first; `None` for what fits.
    pub wanted: Option<Precondition>,
    /// How often each is made.
    pub makings: u32,
    /// The other machine on which they stand, if they do: what is below the network is made there.
    pub server: Option<Server>,
}

/// Another machine on which stacks stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// As the user names it.
    pub name: String,
    /// The directory of its journals and mounts.
    pub directory: PathBuf,
    /// Its address, where it is known.
    pub address: Option<IpAddr>,
    /// Each of its addresses that are used, with the address that this machine has for it.
    pub routes: Vec<(IpAddr, IpAddr)>,
}

/// What is done with each device that a stack stands on, before anything is made on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precondition {
    /// Nothing.
    None,
    /// What it had is discarded: flash is as if new.
    Discard,
    /// It is written once with random data: nothing is measured that was never written.
    WriteOnce,
    /// It is overwritten with zeros, in parts. Not for the user to want.
    Zero,
    /// It is written twice, so that flash has used up its spare blocks (SNIA's preconditioning of enterprise disks).
    WriteTwice,
}

/// Where stacks are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// In images: files of this many bytes in this directory.
    Images {
        /// The directory.
        directory: PathBuf,
        /// Bytes of each image.
        bytes: u64,
    },
    /// On block devices, each stack in a region of its own of as many of them as it needs.
    Disks(Vec<Disk>),
}

/// A block device that stacks are made on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes; 0 before [`Request::located`].
    pub bytes: u64,
    /// True if it can discard; false before [`Request::located`].
    pub discards: bool,
    /// True if the kernel says that it rotates, as it does of many that do not; false before [`Request::located`].
    pub rotates: bool,
}

/// One stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// As the user wrote it: the name of the target.
    pub name: String,
    /// Its layers, from the lowest.
    pub(super) layers: Vec<Part>,
    /// Its filesystem.
    pub(super) filesystem: Part,
    /// What shows that filesystem over a network, if anything does.
    pub(super) share: Option<Part>,
}

/// A layer or filesystem of a stack.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub kind: &'static Kind,
    /// What stands in brackets: a name, with its value if it has one.
    pub settings: Vec<(String, String)>,
    /// How many devices it stands on.
    pub members: usize,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let settings: Vec<String> = self.settings.iter().map(written).collect();
        f.write_str(self.kind.name)?;
        if settings.is_empty() { Ok(()) } else { write!(f, "({})", settings.join(",")) }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.name, &self.settings, self.members) == (other.kind.name, &other.settings, other.members)
    }
}

impl Part {
    /// What stands in brackets and is of the layer or a mount option, not where it is served.
    pub fn settings(&self) -> impl Iterator<Item = &(String, String)> {
        self.settings.iter().filter(|(name, _)| !self.kind.is_network() || name != ADDRESS.name)
    }

    /// The address at which it is served, if the user says it.
    fn address(&self) -> Option<IpAddr> {
        let given = self.settings.iter().find(|(name, _)| self.kind.is_network() && name == ADDRESS.name);
        given.and_then(|(_, value)| value.parse().ok())
    }
}

/// A setting as it was written.
pub(super) fn written((name, value): &(String, String)) -> String {
    if value.is_empty() { name.clone() } else { format!("{name}={value}") }
}

/// Why a request cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequestError(String);

impl Request {
    /// Reads where stacks are made, `image:SIZE`, `image:DIRECTORY:SIZE` or block devices by commas, and stacks such as `ext4`,
    /// `luks+btrfs`, `raid1(luks)+xfs` or `btrfs(compress=zstd)`, by commas. Without a directory the images are made in `here`,
    /// which must be absolute.
    ///
    /// # Errors
    /// A sentence with what is wrong and what is allowed.
    pub fn parse(on: &str, stacks: &str, here: &Path) -> Result<Self, RequestError> {
        let ground = ground(on, here).map_err(|why| RequestError(format!("--on {on}: {why}")))?;
        Self::on(ground, stacks)
    }

    /// The same where the ground is known.
    ///
    /// # Errors
    /// A sentence with what is wrong and what is allowed.
    pub fn on(ground: Ground, stacks: &str) -> Result<Self, RequestError> {
        let mut stacks = parts(stacks, ',').map(Stack::parse).collect::<Result<Vec<_>, _>>()?;
        if stacks.is_empty() || stacks.len() > MOST {
            return Err(RequestError(format!("--stack: name 1 to {MOST} stacks, such as ext4,xfs")));
        }
        for i in 0..stacks.len() {
            if stacks[..i].iter().any(|other| other.name == stacks[i].name) {
                return Err(RequestError(format!("--stack: {} is named twice", stacks[i].name)));
            }
            if let Ground::Disks(disks) = &ground {
                stacks[i].spread_over(disks.len());
                let (needed, name) = (stacks[i].devices(), &stacks[i].name);
                if needed > MOST_DEVICES {
                    return Err(RequestError(format!(
                        "--stack {name}: it would stand on {needed} devices; write devices={MOST_DEVICES} at most"
                    )));
                }
                if needed > disks.len() {
                    let named = disks.len();
                    return Err(RequestError(format!(
                        "--on: {name} needs {needed} devices, and {named} {} named",
                        if named == 1 { "is" } else { "are" }
                    )));
                }
            }
        }
        let request = Self { ground, stacks, wanted: None, makings: 1, server: None };
        if matches!(request.ground, Ground::Images { .. }) {
            request.is_large_enough()?;
        }
        Ok(request)
    }

    /// The same on another machine, of which `route` gives the address that this machine has for it.
    ///
    /// # Errors
    /// A stack does not go over exactly one network, or the address of its server is not known or cannot be reached.
    pub fn served_by(
        mut self,
        server: Server,
        route: impl Fn(IpAddr) -> std::io::Result<IpAddr>,
    ) -> Result<Self, RequestError> {
        let Server { name: machine, address: known, .. } = &server;
        let mut routes = Vec::new();
        for stack in &self.stacks {
            let mut networks = stack.parts().filter(|part| part.kind.is_network());
            let (Some(network), None) = (networks.next(), networks.next()) else {
                return Err(RequestError(format!(
                    "--stack {}: a stack on {machine} needs exactly one of iscsi, nvmet-tcp and nfs: what is below it is \
                     made there, what is above it here",
                    stack.name
                )));
            };
            let address = network.address().or(*known).ok_or_else(|| {
                RequestError(format!(
                    "--stack {}: the address of {machine} is not known: write it as in {}(address=192.0.2.1)",
                    stack.name, network.kind.name
                ))
            })?;
            let own = route(address).map_err(|error| {
                RequestError(format!(
                    "--stack {}: {machine} cannot be reached at {address}: {error}",
                    stack.name
                ))
            })?;
            routes.push((address, own));
        }
        self.server = Some(Server { routes, ..server });
        Ok(self)
    }

    /// The same where this machine serves to itself.
    ///
    /// # Errors
    /// It names the address of a server.
    pub fn served_here(self) -> Result<Self, RequestError> {
        let addressed = |stack: &&Stack| stack.parts().any(|part| part.address().is_some());
        match self.stacks.iter().find(addressed) {
            Some(stack) => Err(RequestError(format!(
                "--stack {}: this machine serves to itself, at an address of its own: leave `address=` out, or name the machine \
                 that serves, as in --on nas:image:4G",
                stack.name
            ))),
            None => Ok(self),
        }
    }

    /// The addresses of the machine that serves a part, and of that which uses it.
    pub(super) fn ends_of(&self, part: &Part) -> (IpAddr, IpAddr) {
        let here = (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
        let Some(server) = &self.server else { return here };
        let address = part.address().or(server.address);
        server.routes.iter().find(|(of, _)| Some(*of) == address).copied().unwrap_or(here)
    }

    /// The same with what each stack is without its layers, and without each of them: what they cost. The plainest come first, as
    /// the first stack is what the others are compared with. On another machine none is without the network.
    ///
    /// # Errors
    /// These are too many.
    pub fn with_layers(mut self, is_elsewhere: bool) -> Result<Self, RequestError> {
        let mut all: Vec<Stack> = Vec::new();
        for stack in &self.stacks {
            let is_kept = |part: &Part| is_elsewhere && part.kind.is_network();
            let left_out = stack.dispensable().enumerate().filter(|(_, part)| !is_kept(part));
            let without = left_out.map(|(i, _)| stack.with_only(|other, _| other != i));
            let plain = stack.with_only(|_, part| is_kept(part));
            all.extend([plain].into_iter().chain(without).chain([stack.clone()]));
        }
        let mut kept: Vec<Stack> = Vec::new();
        for stack in all {
            if !kept.iter().any(|other| other.name == stack.name || other.parts().eq(stack.parts())) {
                kept.push(stack);
            }
        }
        kept.sort_by_key(|stack| stack.dispensable().count());
        if kept.len() > MOST {
            return Err(RequestError(format!(
                "--with-layers: these are {} stacks; at most {MOST}",
                kept.len()
            )));
        }
        self.stacks = kept;
        Ok(self)
    }

    /// How often each stack is made if the user does not say: where one region of a disk may be faster than another, so often that
    /// the region is not taken for the stack, as far as the regions stay large.
    pub fn fitting_makings(&self) -> u32 {
        const ENOUGH: u32 = 4;
        /// Smaller regions hold little more than what a cache in the disk does.
        const LARGE: u64 = 1 << 30;
        if self.stacks.len() < 2 || !self.disks().iter().any(|disk| disk.rotates) {
            return 1;
        }
        let all = self.bytes() * u64::from(self.makings);
        u32::try_from(all / LARGE).unwrap_or(ENOUGH).clamp(1, ENOUGH)
    }

    /// Checks that each stack fits into its images or regions.
    ///
    /// # Errors
    /// One does not.
    pub fn is_large_enough(&self) -> Result<(), RequestError> {
        let bytes = self.bytes();
        for stack in &self.stacks {
            let least = stack.kinds().map(|kind| kind.least_bytes).sum();
            if bytes < least {
                let (name, least) = (&stack.name, ExactSize(least));
                let why = match &self.ground {
                    Ground::Images { .. } => format!("{name} needs at least {least}"),
                    Ground::Disks(_) => format!(
                        "{name} needs at least {least}, and its region of each device has {}",
                        ExactSize(bytes)
                    ),
                };
                return Err(RequestError(format!("--on: {why}")));
            }
        }
        Ok(())
    }

    /// Bytes of each device that a stack stands on: of an image, or of an equal part of the smallest disk.
    pub fn bytes(&self) -> u64 {
        /// What the sizes of regions are multiples of: the erase blocks of most flash.
        const ALIGNED: u64 = 4 << 20;
        match &self.ground {
            Ground::Images { bytes, .. } => *bytes,
            Ground::Disks(disks) => {
                let used = &disks[..self.most_members().min(disks.len())];
                let smallest = used.iter().map(|disk| disk.bytes).min().unwrap_or(0);
                let regions = self.stacks.len() as u64 * u64::from(self.makings);
                smallest.saturating_sub(2 * END) / regions / ALIGNED * ALIGNED
            }
        }
    }

    /// The most devices that a stack of it stands on.
    pub(super) fn most_members(&self) -> usize {
        self.stacks.iter().map(Stack::devices).max().unwrap_or(0)
    }

    /// What is done first: disks that can discard do, as far as nothing else is wanted.
    pub fn precondition(&self) -> Precondition {
        let all_discard = !self.disks().is_empty() && self.disks().iter().all(|disk| disk.discards);
        let fitting = if all_discard { Precondition::Discard } else { Precondition::None };
        self.wanted.unwrap_or(fitting)
    }

    /// The block devices that it overwrites.
    pub fn disks(&self) -> &[Disk] {
        match &self.ground {
            Ground::Images { .. } => &[],
            Ground::Disks(disks) => &disks[..self.most_members().min(disks.len())],
        }
    }

    /// The same with the paths of what is there, without links, and the sizes of the devices.
    ///
    /// # Errors
    /// There is no such directory or block device, or it is too small.
    pub fn located(self) -> Result<Self, StackError> {
        let request = Self { ground: self.ground.located()?, ..self };
        request.fits_disks()?;
        Ok(request)
    }

    /// Checks that its disks are different ones, and can do what is wanted first.
    ///
    /// # Errors
    /// They are not, or cannot.
    pub fn fits_disks(&self) -> Result<(), StackError> {
        if self.wanted == Some(Precondition::Discard) {
            if let Ground::Images { .. } = self.ground {
                let why = "--precondition discard: this would give an image's blocks back to its filesystem; use write-once";
                return Err(RequestError(why.to_owned()).into());
            }
            if let Some(disk) = self.disks().iter().find(|disk| !disk.discards) {
                let why = "it does not support discard; use --precondition none, write-once or write-twice"
                    .to_owned();
                return Err(StackError::Disk { disk: disk.path.clone(), why });
            }
        }
        let disks = self.disks();
        let is_again = |(i, disk): &(usize, &Disk)| disks[..*i].iter().any(|other| other.path == disk.path);
        if let Some((_, disk)) = disks.iter().enumerate().find(is_again) {
            return Err(StackError::Disk { disk: disk.path.clone(), why: "it is named twice".to_owned() });
        }
        Ok(())
    }

    /// Checks that this machine can make its side of it, if one is named, and this user may.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, roots: &Roots, side: Option<Side>) -> Result<(), StackError> {
        if !crate::is_root() {
            return Err(StackError::NotRoot);
        }
        let has_ground = side != Some(Side::Client);
        let lack = if has_ground { self.ground.lack(roots) } else { Needs::of(MOUNT, &[]).lack(roots) };
        if let Some(lack) = lack {
            return Err(StackError::Lacks { what: "each stack".into(), lack });
        }
        for stack in &self.stacks {
            let mut parts = stack.parts_on(side);
            if let Some(lack) = parts.find_map(|(kind, side)| kind.lacks_for(roots, side)) {
                return Err(StackError::Lacks { what: stack.name.clone(), lack });
            }
        }
        match &self.ground {
            Ground::Images { directory, bytes } if has_ground => self.fits(directory, *bytes),
            _ => Ok(()),
        }
    }

    fn fits(&self, directory: &Path, bytes: u64) -> Result<(), StackError> {
        let failed = |why: String| StackError::Directory { directory: directory.to_owned(), why };
        if directory.to_str().is_none() {
            return Err(failed("its path is not UTF-8".into()));
        }
        let free = rustix::fs::statvfs(directory)
            .map_err(|error| failed(std::io::Error::from(error).to_string()))?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        let images: usize = self.stacks.iter().map(Stack::devices).sum();
        let images = images as u64 * u64::from(self.makings);
        let needed = bytes.saturating_mul(images).saturating_add(RESERVE);
        if free < needed {
            return Err(StackError::NoSpace { directory: directory.to_owned(), needed, free });
        }
        Ok(())
    }
}

/// What mounts, and its package.
const MOUNT: &[(&str, &str)] = &[("mount", "mount"), ("umount", "mount")];

impl Ground {
    /// The same with the paths of what is there, without links, and the sizes of the devices.
    fn located(self) -> Result<Self, StackError> {
        Ok(match self {
            Self::Images { directory, bytes } => {
                let failed = |error: std::io::Error| StackError::Directory {
                    directory: directory.clone(),
                    why: error.to_string(),
                };
                Self::Images { directory: directory.canonicalize().map_err(failed)?, bytes }
            }
            Self::Disks(disks) => {
                let located = disks.into_iter().map(|disk| located(&disk.path));
                Self::Disks(located.collect::<Result<_, _>>()?)
            }
        })
    }

    /// What this machine lacks for it, the first of it.
    fn lack(&self, roots: &Roots) -> Option<Lack> {
        let needs = match self {
            Self::Images { .. } => Needs::of(&[("losetup", "mount")], &["loop"]),
            Self::Disks(_) => Needs::of(&[("dmsetup", "dmsetup")], &["dm_mod"]),
        };
        needs.lack(roots).or_else(|| Needs::of(MOUNT, &[]).lack(roots))
    }
}

/// A block device without links, with its size.
fn located(path: &Path) -> Result<Disk, StackError> {
    let failed = |why: String| StackError::Disk { disk: path.to_owned(), why };
    let path = path.canonicalize().map_err(|error| failed(error.to_string()))?;
    let hold = crate::Hold::read_only(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied if !crate::is_root() => {
            failed(format!("{error}; run it with sudo"))
        }
        _ => failed(error.to_string()),
    })?;
    let (kind, bytes) = hold.kind_and_size();
    if kind != model::TargetKind::BlockDevice {
        return Err(failed("it is not a block device; write image:SIZE for image files".to_owned()));
    }
    let queue_of = |attribute: &str| {
        let device = Path::new("/sys/class/block").join(path.file_name().unwrap_or_default());
        let at = |place: &str| crate::read_line(device.join(place).join(attribute));
        // That of a partition is its disk's.
        at("queue").or_else(|| at("../queue"))
    };
    let discards = queue_of("discard_max_bytes").is_some_and(|bytes| bytes != "0");
    let rotates = queue_of("rotational").is_some_and(|rotates| rotates != "0");
    Ok(Disk { path, bytes, discards, rotates })
}

/// Where stacks are made.
fn ground(on: &str, here: &Path) -> Result<Ground, String> {
    if let Some(rest) = on.strip_prefix("image:") {
        let (directory, size) = match rest.rsplit_once(':') {
            Some((directory, size)) => (here.join(directory), size),
            None => (here.to_owned(), rest),
        };
        let bytes = parse_size(size).map_err(|error| error.to_string())?;
        return Ok(Ground::Images { directory, bytes });
    }
    let paths: Vec<&str> = parts(on, ',').collect();
    if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
        return Err(
            "write image:SIZE, such as image:4G, image:DIRECTORY:SIZE, or the paths of block devices, \
                    such as /dev/sdb,/dev/sdc"
                .to_owned(),
        );
    }
    Ok(Ground::Disks(
        paths
            .into_iter()
            .map(|path| Disk { path: path.into(), bytes: 0, discards: false, rotates: false })
            .collect(),
    ))
}

impl Stack {
    fn parse(text: &str) -> Result<Self, RequestError> {
        let wrong = |why: String| RequestError(format!("--stack {text}: {why}"));
        let mut layers = chain(text).map_err(wrong)?;
        let share = layers.pop_if(|part| part.kind.is_share());
        let filesystem = layers.pop().filter(|part| part.kind.is_filesystem());
        let filesystem = filesystem.ok_or_else(|| {
            wrong(
                "it must end with a filesystem, or with nfs of one, as luks+ext4 and nfs(ext4) do".to_owned(),
            )
        })?;
        if let Some(part) = layers.iter().find(|part| part.kind.is_filesystem() || part.kind.is_share()) {
            return Err(wrong(format!("{} must be the last", part.kind.name)));
        }
        let stack = Self { name: text.to_owned(), layers, filesystem, share };
        if stack.devices() > MOST_DEVICES {
            return Err(wrong(format!("it needs more than {MOST_DEVICES} devices")));
        }
        Ok(stack)
    }

    /// The same with only these of the parts that it can be without, each given with its number from the lowest.
    fn with_only(&self, is_kept: impl Fn(usize, &Part) -> bool) -> Self {
        let layers = self.layers.iter().enumerate().filter(|(i, part)| is_kept(*i, part));
        let layers: Vec<Part> = layers.map(|(_, part)| part.clone()).collect();
        let share = self.share.clone().filter(|share| is_kept(self.layers.len(), share));
        let local = layers.iter().chain([&self.filesystem]).map(ToString::to_string);
        let mut name = local.collect::<Vec<_>>().join("+");
        if let Some(share) = &share {
            let settings: String =
                share.settings.iter().map(|setting| format!(",{}", written(setting))).collect();
            name = format!("{}({name}{settings})", share.kind.name);
        }
        Self { name, layers, share, filesystem: self.filesystem.clone() }
    }

    /// The parts that it can be without, from the lowest.
    fn dispensable(&self) -> impl Iterator<Item = &Part> {
        self.layers.iter().chain(&self.share)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.layers.iter().chain([&self.filesystem]).chain(&self.share)
    }

    /// The kinds that it consists of.
    fn kinds(&self) -> impl Iterator<Item = &'static Kind> {
        self.parts().map(|part| part.kind)
    }

    /// The place of the network among its parts.
    fn network(&self) -> Option<usize> {
        self.parts().position(|part| part.kind.is_network())
    }

    /// The side on which that is which stands on so many of its layers, if a machine serves it to another.
    pub(super) fn side_above(&self, layers: usize) -> Side {
        match self.network() {
            Some(network) if layers <= network => Side::Server,
            _ => Side::Client,
        }
    }

    /// True if what stands on so many of its layers must be overwritten with zeros, because the filesystem's own attempt would
    /// come to it and fail: logical volumes pass it on, encryption and arrays write zeros themselves.
    pub(super) fn needs_zeros(&self, layers: usize) -> bool {
        let (below, above) = self.layers.split_at(layers);
        below.last().is_some_and(|part| part.kind.zeros == Zeros::AreLost)
            && self.filesystem.kind.zeros == Zeros::MustBeThere
            && above.iter().all(|part| part.kind.zeros == Zeros::ArePassedOn)
    }

    /// The kinds on a side, or if none is named on both; with a side those of which only this one is there.
    pub(super) fn parts_on(&self, side: Option<Side>) -> impl Iterator<Item = (&'static Kind, Option<Side>)> {
        let network = self.network();
        self.kinds().enumerate().filter_map(move |(i, kind)| match side {
            None => Some((kind, None)),
            Some(_) if network == Some(i) => Some((kind, side)),
            Some(side) => (self.side_above(i) == side).then_some((kind, None)),
        })
    }

    /// How many devices it stands on.
    fn devices(&self) -> usize {
        self.parts().map(|part| part.members).fold(1, usize::saturating_mul)
    }

    /// Lets the only part that takes several devices take all of these, unless the user says how many.
    fn spread_over(&mut self, devices: usize) {
        let parts = self.layers.iter_mut().chain([&mut self.filesystem]);
        let mut many = parts.filter(|part| part.kind.many);
        if let (Some(part), None) = (many.next(), many.next()) {
            let is_given = part.settings.iter().any(|(name, _)| name == DEVICES);
            if !is_given && devices > part.members {
                part.members = devices;
            }
        }
    }
}

/// The setting of an array that says how many devices it takes.
const DEVICES: &str = "devices";

/// The parts of a stack from the lowest, as in `luks+raid1+ext4` or `raid1(luks)+ext4`, which is the same.
fn chain(text: &str) -> Result<Vec<Part>, String> {
    let mut all = Vec::new();
    for written in parts(text, '+') {
        let (name, inside) = match written.split_once('(') {
            None => (written, ""),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("the bracket does not end")?;
                if inside.is_empty() {
                    return Err("there is nothing in the brackets".to_owned());
                }
                (name, inside)
            }
        };
        let kind = find_kind(name).ok_or_else(|| {
            let names: Vec<&str> = kinds().map(|kind| kind.name).collect();
            format!("{name} is not one of {}", names.join(", "))
        })?;
        let (below, part) = part(kind, inside)?;
        all.extend(below);
        all.push(part);
    }
    if all.is_empty() { Err("it names nothing".to_owned()) } else { Ok(all) }
}

/// A part of this kind with what stands in its brackets, and the layers of its members if these stand there too.
fn part(kind: &'static Kind, inside: &str) -> Result<(Vec<Part>, Part), String> {
    let mut part = Part { kind, settings: Vec::new(), members: kind.fewest };
    let mut below = Vec::new();
    for item in parts(inside, ',') {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        let can_have = kind.many || kind.is_share();
        let is_layers = can_have && find_kind(name.split(['(', '+']).next().unwrap_or_default()).is_some();
        if is_layers {
            below.extend(chain(item)?);
            continue;
        }
        let is_word = |text: &str| {
            !text.starts_with('-') && text.chars().all(|c| c.is_ascii_alphanumeric() || "=:._-".contains(c))
        };
        if name.is_empty() || !is_word(item) {
            return Err(format!("in brackets may stand {}", allowed(kind)));
        }
        let setting = kind.settings.iter().find(|setting| setting.name == name);
        let is_count = kind.many && name == DEVICES;
        if kind.is_network() && name == ADDRESS.name && value.parse::<IpAddr>().is_err() {
            return Err(format!("`{item}`: write an address, as in {ADDRESS} or address=2001:db8::1"));
        }
        let fits = match setting {
            Some(setting) => setting.example.is_some() != value.is_empty(),
            None => is_count || kind.is_filesystem() || kind.is_share(),
        };
        if !fits {
            return Err(format!(
                "`{item}` does not fit {}: in brackets may stand {}",
                kind.name,
                allowed(kind)
            ));
        }
        if is_count {
            let count: usize =
                value.parse().map_err(|_| format!("{item}: {value} is not a number of devices"))?;
            if count < kind.fewest || count > MOST_DEVICES {
                return Err(format!("{} takes {} to {MOST_DEVICES} devices", kind.name, kind.fewest));
            }
            part.members = count;
        }
        if part.settings.iter().any(|(given, _)| given == name) {
            return Err(format!("{}: `{name}` is given twice", kind.name));
        }
        if !(is_count && kind.is_filesystem()) {
            part.settings.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok((below, part))
}

/// What may stand in the brackets of a kind.
fn allowed(kind: &Kind) -> String {
    let mut allowed: Vec<String> = kind.settings.iter().map(ToString::to_string).collect();
    if kind.is_filesystem() {
        allowed.push("mount options, such as btrfs(compress=zstd:1)".to_owned());
    }
    if kind.is_share() {
        allowed.push("the filesystem that is shared, as in nfs(ext4)".to_owned());
        allowed.push("mount options, such as nfs(ext4,nconnect=4)".to_owned());
    }
    if kind.many {
        allowed.push(format!("{DEVICES}={}", kind.fewest));
        allowed.push("the layers of its members, as in raid1(luks)".to_owned());
    }
    if allowed.is_empty() { "no settings of this kind".to_owned() } else { allowed.join(", ") }
}

/// The parts between separators that are not in brackets.
fn parts(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == separator && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(on: &str, stacks: &str) -> Result<Request, String> {
        Request::parse(on, stacks, Path::new("/here")).map_err(|error| error.to_string())
    }

    fn layers(stack: &Stack) -> Vec<(&str, usize)> {
        stack.parts().map(|part| (part.kind.name, part.members)).collect()
    }

    #[test]
    fn images_and_stacks_are_read_as_people_write_them() {
        let request = parse("image:4G", "ext4, xfs,btrfs(compress=zstd:1,noatime)").unwrap();
        assert_eq!(request.ground, Ground::Images { directory: "/here".into(), bytes: 4 << 30 });
        let names: Vec<&str> = request.stacks.iter().map(|stack| stack.name.as_str()).collect();
        assert_eq!(names, ["ext4", "xfs", "btrfs(compress=zstd:1,noatime)"]);
        let options = [("compress".to_owned(), "zstd:1".to_owned()), ("noatime".to_owned(), String::new())];
        assert_eq!(request.stacks[2].filesystem.settings, options);
        let directory = |on: &str| match parse(on, "ext4").unwrap().ground {
            Ground::Images { directory, .. } => directory,
            Ground::Disks(_) => panic!("images"),
        };
        assert_eq!(directory("image:/mnt/a:b:512M"), Path::new("/mnt/a:b"));
        assert_eq!(directory("image:sub:512M"), Path::new("/here/sub"));
    }

    #[test]
    fn what_stands_in_the_brackets_of_an_array_is_below_it() {
        let stacks = "luks+btrfs,raid1(luks,devices=3)+xfs,luks+raid1+ext4,raid0(raid1(integrity+luks))+ext4";
        let request = parse("image:4G", stacks).unwrap();
        assert_eq!(layers(&request.stacks[0]), [("luks", 1), ("btrfs", 1)]);
        assert_eq!(layers(&request.stacks[1]), [("luks", 1), ("raid1", 3), ("xfs", 1)]);
        assert_eq!(layers(&request.stacks[2]), [("luks", 1), ("raid1", 2), ("ext4", 1)]);
        let nested = [("integrity", 1), ("luks", 1), ("raid1", 2), ("raid0", 2), ("ext4", 1)];
        assert_eq!(layers(&request.stacks[3]), nested);
        assert_eq!(request.stacks.iter().map(Stack::devices).collect::<Vec<_>>(), [1, 3, 2, 4]);
    }

    #[test]
    fn with_layers_each_stack_is_also_made_without_them_the_plainest_first() {
        let names = |stacks: &str| -> Vec<String> {
            let request = parse("image:4G", stacks).unwrap().with_layers(false).unwrap();
            request.stacks.into_iter().map(|stack| stack.name).collect()
        };
        let all = ["ext4", "raid1+ext4", "luks(sector=4096)+ext4", "raid1(luks(sector=4096))+ext4"];
        assert_eq!(names("raid1(luks(sector=4096))+ext4"), all);
        assert_eq!(
            names("nfs(luks+ext4,nconnect=2)"),
            ["ext4", "nfs(ext4,nconnect=2)", "luks+ext4", "nfs(luks+ext4,nconnect=2)"]
        );
        assert_eq!(names("luks+btrfs,btrfs,luks+ext4"), ["btrfs", "ext4", "luks+btrfs", "luks+ext4"]);
    }

    #[test]
    fn disks_that_can_discard_do_unless_something_else_is_wanted() {
        let mut request = parse("/dev/sdb,/dev/sdc", "raid0+ext4").unwrap();
        assert_eq!(request.precondition(), Precondition::None);
        let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
        disks[0].discards = true;
        assert_eq!(request.precondition(), Precondition::None, "the other cannot");
        let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
        disks[1].discards = true;
        assert_eq!(request.precondition(), Precondition::Discard);
        request.wanted = Some(Precondition::WriteTwice);
        assert_eq!(request.precondition(), Precondition::WriteTwice);
        assert_eq!(parse("image:4G", "ext4").unwrap().precondition(), Precondition::None);
    }

    #[test]
    fn an_array_on_disks_takes_all_of_them_unless_it_says_how_many() {
        let stacks = "ext4,raid0+ext4,raid1(devices=2)+ext4,raid0(raid1)+ext4,btrfs-raid1";
        let mut request = parse("/dev/sdb,/dev/sdc,/dev/sdd,/dev/sde", stacks).unwrap();
        assert_eq!(request.stacks.iter().map(Stack::devices).collect::<Vec<_>>(), [1, 4, 2, 4, 4]);
        let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
        for (disk, gib) in disks.iter_mut().zip([10, 5, 20, 10]) {
            disk.bytes = gib << 30;
        }
        // An equal part of the smallest, in steps of 4 MiB, without both ends.
        assert_eq!(request.bytes(), 1020 << 20);
    }

    #[test]
    fn where_regions_differ_stacks_are_made_several_times_as_far_as_these_stay_large() {
        let mut request = parse("/dev/sdb,/dev/sdc", "ext4,raid0+ext4").unwrap();
        let mut fitting = |gib: u64, rotates: bool| {
            let Ground::Disks(disks) = &mut request.ground else { panic!("disks") };
            disks.iter_mut().for_each(|disk| disk.bytes = (gib << 30) + 2 * END);
            disks[1].rotates = rotates;
            request.fitting_makings()
        };
        assert_eq!(
            [fitting(500, true), fitting(6, true), fitting(1, true), fitting(500, false)],
            [4, 3, 1, 1]
        );
        let mut alone = parse("/dev/sdb", "ext4").unwrap();
        let Ground::Disks(disks) = &mut alone.ground else { panic!("disks") };
        (disks[0].bytes, disks[0].rotates) = (500 << 30, true);
        assert_eq!(alone.fitting_makings(), 1, "it is compared with nothing");
        assert_eq!(parse("image:400G", "ext4,xfs").unwrap().fitting_makings(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_allowed() {
        for (on, stacks, words) in [
            ("4G", "ext4", "write image:SIZE"),
            ("image:lots", "ext4", "lots"),
            ("image:100M", "ext4,xfs", "xfs needs at least 300 MiB"),
            ("image:310M", "luks+xfs", "luks+xfs needs at least 332 MiB"),
            ("image:4G", "ext5", "--stack ext5: ext5 is not one of ext4, xfs, btrfs"),
            ("image:4G", "ext4,ext4", "ext4 is named twice"),
            ("image:4G", "", "name 1 to 32 stacks"),
            ("image:4G", "ext4(data=journal", "the bracket does not end"),
            ("image:4G", "ext4(a;b)", "mount options"),
            ("image:4G", "ext4()", "nothing in the brackets"),
            ("image:4G", "luks", "it must end with a filesystem"),
            ("image:4G", "ext4+luks", "it must end with a filesystem"),
            ("image:4G", "ext4+xfs", "ext4 must be the last"),
            ("image:4G", "nfs", "it must end with a filesystem, or with nfs of one"),
            ("image:4G", "nfs(ext4)+luks", "it must end with a filesystem"),
            ("image:4G", "nfs(nfs(ext4))", "it must end with a filesystem"),
            ("image:4G", "iscsi(queues=2)+ext4", "queue-depth=32"),
            (
                "image:4G",
                "luks(ciper=aes)+ext4",
                "`ciper=aes` does not fit luks: in brackets may stand cipher=aes-xts-plain64, key=512",
            ),
            (
                "image:4G",
                "luks(cipher)+ext4",
                "`cipher` does not fit luks: in brackets may stand cipher=aes-xts-plain64",
            ),
            ("image:4G", "luks(cipher=--x y)+ext4", "in brackets may stand"),
            ("image:4G", "luks(ext4)+ext4", "`ext4` does not fit luks"),
            ("image:4G", "luks(key=256,key=512)+ext4", "luks: `key` is given twice"),
            ("image:4G", "raid1(devices=2,devices=3)+ext4", "raid1: `devices` is given twice"),
            (
                "image:4G",
                "iscsi(address=192.0.2.1,address=192.0.2.2)+ext4",
                "iscsi: `address` is given twice",
            ),
            ("image:4G", "raid1(devices=1)+ext4", "raid1 takes 2 to 64 devices"),
            ("image:4G", "raid1(devices=9)+raid0(devices=9)+ext4", "more than 64 devices"),
            ("/dev/sdb", "raid1+ext4", "raid1+ext4 needs 2 devices, and 1 is named"),
            (&"/dev/sdb,".repeat(65), "raid0+ext4", "it would stand on 65 devices"),
        ] {
            let error = parse(on, stacks).unwrap_err();
            assert!(error.contains(words), "{on} {stacks}: {error}");
        }
    }
}
