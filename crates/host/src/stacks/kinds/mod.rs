//! What stacks are made of: filesystems, and the layers below them. A kind is one row: what it needs, how it is made and undone, and
//! which settings it has.

mod crypt;
mod filesystems;
mod integrity;
mod lvm;
mod md;
mod network;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use model::units::ExactSize;
use serde::{Deserialize, Serialize};

use super::deed::{Deed, Remains};
use super::device::{Device, Words};
use crate::Roots;
use crate::programs::{ask, find};

/// Time that `modprobe` has.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Something that stacks are made of.
#[derive(Debug)]
pub struct Kind {
    /// Its name, as a user writes it.
    pub name: &'static str,
    /// What it is, in one or two words.
    pub what: &'static str,
    /// What it needs; of what goes over a network, the machine that uses it.
    pub(super) needs: Needs,
    /// What the machine that serves it needs, if it goes over a network.
    pub(super) serving: Needs,
    /// The fewest devices that it takes.
    pub fewest: usize,
    /// True if it also takes more.
    pub many: bool,
    /// Bytes that it needs on each device: a filesystem to be made at all, a layer for its own data.
    pub least_bytes: u64,
    /// What may stand in brackets. Those of a filesystem are mount options, which the kernel knows.
    pub settings: &'static [Setting],
    /// What becomes of it when a range is to be overwritten with zeros.
    pub(super) zeros: Zeros,
    pub(super) role: Role,
}

/// What becomes of a range of a device that is to be overwritten with zeros by one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeros {
    /// It is overwritten, or a filesystem does not mind.
    AreWritten,
    /// What is below decides.
    ArePassedOn,
    /// Success is reported, and a part of it stays as it was. Observed on NVMe/TCP with Linux 6.12, by `fallocate --zero-range`: of
    /// 30 MiB nothing stays, of 100 MiB the end does. A likely cause: such a device states a limit of 2 TiB
    /// (`write_zeroes_max_bytes`), but the command's length has 16 bits, which are 32 MiB of blocks of 512 bytes.
    AreLost,
    /// A filesystem that could not be mounted where they were lost: XFS clears its log so.
    MustBeThere,
}

/// What a machine must have.
#[derive(Debug)]
pub(super) struct Needs {
    /// Programs, each with its Debian package.
    pub programs: &'static [(&'static str, &'static str)],
    /// Modules of the kernel, or names in `/proc/filesystems`.
    pub modules: &'static [&'static str],
    /// The service that must run.
    pub service: Option<&'static Service>,
}

impl Needs {
    pub const NOTHING: Self = Self::of(&[], &[]);

    pub const fn of(
        programs: &'static [(&'static str, &'static str)],
        modules: &'static [&'static str],
    ) -> Self {
        Self { programs, modules, service: None }
    }

    /// What this machine lacks of it, the first.
    pub fn lack(&self, roots: &Roots) -> Option<Lack> {
        let is_installed = |program: &(&str, &str)| find(roots, program.0).is_some();
        if let Some((program, package)) = self.programs.iter().find(|program| !is_installed(program)) {
            return Some(Lack::Program(program, package));
        }
        let is_missing = |module: &&&str| !is_loaded(roots, module) && !is_loadable(roots, module);
        if let Some(module) = self.modules.iter().find(is_missing) {
            return Some(Lack::Module(module));
        }
        let stopped = self.service.filter(|service| !(service.runs)(roots));
        stopped.map(|service| Lack::Service(service.what, service.start))
    }

    /// Loads what the kernel does not load by itself, such as the device of FUSE.
    pub fn load(&self, roots: &Roots) {
        for module in self.modules.iter().filter(|module| !is_loaded(roots, module)) {
            ask(roots, "modprobe", &["--quiet", module], TIMEOUT);
        }
    }
}

/// One of the two machines between which a network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That which has the storage.
    Server,
    /// That which uses it.
    Client,
}

/// A service of the operating system that a kind needs.
#[derive(Debug)]
pub struct Service {
    /// What it is, as a noun.
    what: &'static str,
    /// The command that starts it.
    start: &'static str,
    /// True if it runs.
    runs: fn(&Roots) -> bool,
}

/// A setting of a layer that changes figures.
#[derive(Debug)]
pub struct Setting {
    /// Its name, as a user writes it.
    pub name: &'static str,
    /// The argument that it becomes.
    argument: &'static str,
    /// An example of its value; `None` if it has none.
    pub example: Option<&'static str>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.example {
            Some(example) => write!(f, "{}={example}", self.name),
            None => f.write_str(self.name),
        }
    }
}

const fn valued(name: &'static str, argument: &'static str, example: &'static str) -> Setting {
    Setting { name, argument, example: Some(example) }
}

const fn flag(name: &'static str, argument: &'static str) -> Setting {
    Setting { name, argument, example: None }
}

/// The address of the machine that serves.
pub(super) const ADDRESS: Setting = valued("address", "", "192.0.2.1");

/// How it is made.
#[derive(Debug)]
pub(super) enum Role {
    Filesystem(Filesystem),
    Layer(LayerKind),
    /// A layer that is served at a port of its own, and what serves it.
    Served(LayerKind, fn(&Layer) -> Vec<Deed>),
    Share(Share),
}

/// A filesystem: made by a program, then mounted.
#[derive(Debug)]
pub(super) struct Filesystem {
    /// Its name for `mount`.
    pub mount_type: &'static str,
    /// The program that makes it, with arguments that make it quiet and complete: nothing is left to be initialised later, and
    /// nothing is discarded, which would give the blocks of an image back. The last is that of the label.
    pub make: &'static [&'static str],
    /// Its label, which shows whose it is.
    pub label: fn(&str) -> String,
    /// Mount options for the same reason.
    pub options: &'static [&'static str],
    /// The only size of the kernel's pages, in bytes, with which it can be mounted.
    pub page_bytes: Option<u64>,
}

/// A filesystem that shows another over a network.
#[derive(Debug)]
pub(super) struct Share {
    /// Its name for `mount`.
    pub mount_type: &'static str,
    /// Mount options.
    pub options: &'static [&'static str],
    /// The command that shares a directory.
    pub share: fn(&Shared) -> Words,
    /// The command that ends it.
    pub unshare: fn(&Shared) -> Words,
    /// What is mounted.
    pub source: fn(&Shared) -> String,
}

/// A directory that is shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// The directory, on the machine that shares it.
    pub path: PathBuf,
    /// The address of that machine.
    pub server: IpAddr,
    /// The address of the only machine that may use it.
    pub client: IpAddr,
}

/// A layer that makes a block device of others.
#[derive(Debug)]
pub(super) struct LayerKind {
    /// What makes it.
    pub make: fn(&Layer) -> Vec<Deed>,
    /// What its programs leave, and what undoes that; it changes nothing below it. The rest is undone as it was made.
    pub undo: fn(&Layer) -> Vec<(Remains, Deed)>,
    /// The device that it makes.
    pub device: fn(&Layer) -> Device,
    /// Bytes that making it writes, or reads, besides a few of its own.
    pub passes: fn(&Layer) -> u64,
}

/// It writes a few bytes only.
fn passes_little(_: &Layer) -> u64 {
    0
}

/// A layer of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// The name of its kind.
    pub kind: String,
    /// Its own name, which has the id of the run.
    pub name: String,
    /// What it stands on.
    pub on: Vec<Device>,
    /// What stood in brackets: the name of a setting, with its value if it has one.
    pub settings: Vec<(String, String)>,
    /// Bytes of each ground that it stands on.
    pub bytes: u64,
    /// The port at which it is served, if it is.
    pub port: u16,
    /// The address of the machine that serves it, if it is.
    pub server: IpAddr,
}

impl Layer {
    /// How it is made; `None` for what no kind of layer has as its name.
    pub(super) fn role(&self) -> Option<&'static LayerKind> {
        match &find_kind(&self.kind)?.role {
            Role::Layer(role) | Role::Served(role, _) => Some(role),
            _ => None,
        }
    }

    /// What serves it.
    pub fn serve(&self) -> Vec<Deed> {
        match find_kind(&self.kind).map(|kind| &kind.role) {
            Some(Role::Served(_, serve)) => serve(self),
            _ => Vec::new(),
        }
    }

    /// What it leaves, the last first, and what undoes each.
    pub fn undo(&self) -> Vec<(Remains, Deed)> {
        let Some(role) = self.role() else { return Vec::new() };
        let made = (role.make)(self).into_iter().rev();
        (role.undo)(self).into_iter().chain(made.filter_map(|deed| deed.undo())).collect()
    }

    /// The device of the device mapper that has its name.
    fn mapped(&self) -> Device {
        Device::Mapped { name: self.name.clone() }
    }

    /// The command that removes it.
    fn unmap(&self) -> Vec<(Remains, Deed)> {
        let remove = Words::of(&["dmsetup", "remove", &self.name]);
        vec![(Remains::Device(self.mapped()), remove.into())]
    }

    pub fn has(&self, setting: &str) -> bool {
        self.settings.iter().any(|(name, _)| name == setting)
    }

    /// The settings that were given: the argument that each becomes, and its value, which is empty if it has none.
    fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let known = find_kind(&self.kind).map_or(&[][..], |kind| kind.settings);
        self.settings.iter().filter_map(|(name, value)| {
            let setting = known.iter().find(|setting| setting.name == name)?;
            Some((setting.argument, value.as_str()))
        })
    }

    /// The arguments of those of these settings that were given.
    fn arguments(&self, names: &[&str]) -> Words {
        let known = find_kind(&self.kind).map_or(&[][..], |kind| kind.settings);
        let given = self.settings.iter().filter(|(name, _)| names.contains(&name.as_str()));
        let mut words = Words::new();
        for (name, value) in given {
            let Some(setting) = known.iter().find(|setting| setting.name == name) else { continue };
            words = words.and(setting.argument);
            if setting.example.is_some() {
                words = words.and(value);
            }
        }
        words
    }
}

/// All kinds, filesystems first.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let layers: [&'static [Kind]; 5] =
        [&crypt::KINDS, &integrity::KINDS, &md::KINDS, &lvm::KINDS, &network::KINDS];
    filesystems::KINDS.iter().chain(layers.into_iter().flatten())
}

/// The kind of this name.
pub(super) fn find_kind(name: &str) -> Option<&'static Kind> {
    kinds().find(|kind| kind.name == name)
}

/// Something that this machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A program, with its Debian package.
    Program(&'static str, &'static str),
    /// A module of the kernel.
    Module(&'static str),
    /// A service that does not run, and how it is started.
    Service(&'static str, &'static str),
    /// The kernel's pages have another size: the one that is needed, and the one that they have, in bytes.
    Pages(u64, u64),
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program(program, package) => {
                write!(f, "{program} is not installed: install the package {package}")
            }
            Self::Module(module) => write!(f, "this kernel has no module {module}"),
            Self::Service(what, start) => write!(f, "{what} does not run: `{start}` starts it"),
            Self::Pages(needed, found) => write!(
                f,
                "its blocks have {}, and this kernel mounts it only with blocks as large as its pages of {}",
                ExactSize(*needed),
                ExactSize(*found)
            ),
        }
    }
}

impl Kind {
    /// What this machine lacks for it, the first of it.
    pub fn lacks(&self, roots: &Roots) -> Option<Lack> {
        self.lacks_for(roots, None)
    }

    /// What this machine lacks for one side of it, or if none is named for all of it, the first of it.
    pub(super) fn lacks_for(&self, roots: &Roots, side: Option<Side>) -> Option<Lack> {
        let lack = self.needs_for(side).find_map(|needs| needs.lack(roots));
        lack.or_else(|| self.lacks_pages(crate::page_bytes()))
    }

    /// What one side of it needs, or if none is named all of it.
    pub(super) fn needs_for(&self, side: Option<Side>) -> impl Iterator<Item = &Needs> {
        let of = [(Side::Client, &self.needs), (Side::Server, &self.serving)];
        of.into_iter().filter(move |(of, _)| side.is_none_or(|side| side == *of)).map(|(_, needs)| needs)
    }

    fn lacks_pages(&self, found: u64) -> Option<Lack> {
        let Role::Filesystem(Filesystem { page_bytes: Some(needed), .. }) = self.role else { return None };
        (needed != found).then_some(Lack::Pages(needed, found))
    }

    /// True for a filesystem.
    pub fn is_filesystem(&self) -> bool {
        matches!(self.role, Role::Filesystem(_))
    }

    /// True for what shows a filesystem over a network.
    pub fn is_share(&self) -> bool {
        matches!(self.role, Role::Share(_))
    }

    /// True for what goes over a network.
    pub fn is_network(&self) -> bool {
        self.is_share() || self.is_served()
    }

    /// True for a layer that is served at a port.
    pub(super) fn is_served(&self) -> bool {
        matches!(self.role, Role::Served(..))
    }
}

/// True if the kernel has this module or filesystem now.
fn is_loaded(roots: &Roots, module: &str) -> bool {
    let filesystems = std::fs::read_to_string(roots.proc.join("filesystems")).unwrap_or_default();
    roots.sys.join("module").join(module).exists()
        || filesystems.lines().any(|line| line.split_whitespace().last() == Some(module))
}

/// True if it is built into the kernel, can be loaded, or nobody can tell.
fn is_loadable(roots: &Roots, module: &str) -> bool {
    ask(roots, "modprobe", &["--dry-run", "--quiet", module], TIMEOUT)
        .is_none_or(|asked| asked.code == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f2fs_needs_pages_as_large_as_its_blocks() {
        let lacks =
            |name: &str, pages: u64| find_kind(name).unwrap().lacks_pages(pages).map(|lack| lack.to_string());
        assert_eq!((lacks("f2fs", 4096), lacks("ext4", 16384)), (None, None));
        let why = "its blocks have 4 KiB, and this kernel mounts it only with blocks as large as its pages of 16 KiB";
        assert_eq!(lacks("f2fs", 16384).unwrap(), why);
    }
}
