//! What is done to make and undo objects: programs that are run, and directories and attributes of the kernel that are written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use model::shell_word;

use super::device::{Device, Words, blocks, classed};
use super::secrets::Secrets;
use crate::mounts::mounts;
use crate::{Roots, read_line};

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A program is run.
    Run(Words),
    /// An attribute of the kernel is written.
    Write { file: PathBuf, text: Words },
    /// A switch of the kernel is switched on.
    SwitchOn(PathBuf),
    /// A file is made.
    File { at: PathBuf, text: String },
    /// Lines are appended to the first of these files that is there.
    Append { files: [PathBuf; 2], text: Words },
    /// An object of the kernel is made by its directory.
    Directory(PathBuf),
    /// A directory of the kernel that stays, as a module that was loaded does.
    Ensure(PathBuf),
    /// Objects of the kernel are linked.
    Link { at: PathBuf, to: PathBuf },
    /// A directory is removed.
    RemoveDirectory(PathBuf),
    /// A link is removed.
    Unlink(PathBuf),
    /// The controllers of this NVMe subsystem are deleted.
    Disconnect(String),
}

impl From<Words> for Deed {
    fn from(words: Words) -> Self {
        Self::Run(words)
    }
}

impl Deed {
    /// Writes a text into an attribute of the kernel.
    pub fn write(file: impl AsRef<Path>, text: Words) -> Self {
        Self::Write { file: file.as_ref().to_owned(), text }
    }

    /// What it takes: the text of a file, or a program and its arguments.
    fn words(&self) -> Option<&Words> {
        match self {
            Self::Run(words) | Self::Write { text: words, .. } | Self::Append { text: words, .. } => {
                Some(words)
            }
            _ => None,
        }
    }

    /// True if it needs the key.
    pub fn needs_key(&self) -> bool {
        self.words().is_some_and(Words::needs_key)
    }

    /// True if it needs the secret.
    pub fn needs_secret(&self) -> bool {
        self.words().is_some_and(Words::needs_secret)
    }

    /// As a person would type it.
    pub fn typed(&self) -> String {
        let path = |path: &Path| shell_word(&path.to_string_lossy());
        match self {
            Self::Run(words) => words.typed(),
            Self::Write { file, text } => format!("echo -n {} >{}", text.typed_as_one(), path(file)),
            Self::SwitchOn(file) => format!("echo 1 >{}", path(file)),
            Self::File { at, text } => format!("echo -n {} >{}", shell_word(text), path(at)),
            Self::Append { files, text } => {
                format!("echo -n {} >>{}", text.typed_as_one(), path(&files[0]))
            }
            Self::Directory(at) => format!("mkdir {}", path(at)),
            Self::Ensure(at) => format!("mkdir --parents {}", path(at)),
            Self::Link { at, to } => format!("ln -s {} {}", path(to), path(at)),
            Self::RemoveDirectory(at) => format!("rmdir {}", path(at)),
            Self::Unlink(at) => format!("rm {}", path(at)),
            Self::Disconnect(name) => format!("nvme disconnect --nqn {name}"),
        }
    }

    /// What it leaves, and what undoes that; `None` for what is undone with something else.
    pub fn undo(&self) -> Option<(Remains, Self)> {
        match self {
            Self::SwitchOn(file) => {
                let off = Self::write(file, Words::of(&["0"]));
                Some((Remains::SwitchedOn(file.clone()), off))
            }
            Self::File { at, .. } => Some((Remains::Path(at.clone()), Self::Unlink(at.clone()))),
            Self::Directory(at) => Some((Remains::Path(at.clone()), Self::RemoveDirectory(at.clone()))),
            Self::Link { at, .. } => Some((Remains::Path(at.clone()), Self::Unlink(at.clone()))),
            _ => None,
        }
    }

    /// Does it; a program, which takes long, is run by the maker.
    ///
    /// # Errors
    /// It failed.
    pub fn carry_out(&self, roots: &Roots, secrets: &Secrets<'_>) -> io::Result<()> {
        let resolved = |words: &Words| words.resolved(roots, secrets).map(|words| words.concat());
        let text =
            |words: &Words| resolved(words).map_err(|why| io::Error::new(io::ErrorKind::NotFound, why));
        match self {
            Self::Run(_) => unreachable!("only the maker runs programs, because it can wait for them"),
            Self::Write { file, text: written } => write(file, text(written)?.as_bytes()),
            Self::SwitchOn(file) => write(file, b"1"),
            Self::File { at, text } => {
                let new = OpenOptions::new().write(true).create_new(true).mode(0o644).open(at);
                new.and_then(|mut file| file.write_all(text.as_bytes()))
            }
            Self::Append { files, text: written } => {
                let file = files.iter().find(|file| file.exists()).unwrap_or(&files[0]);
                OpenOptions::new().append(true).open(file)?.write_all(text(written)?.as_bytes())
            }
            Self::Directory(at) => DirBuilder::new().mode(0o755).create(at),
            Self::Ensure(at) => fs::create_dir_all(at),
            Self::Link { at, to } => symlink(to, at),
            Self::RemoveDirectory(at) => fs::remove_dir(at),
            Self::Unlink(at) => fs::remove_file(at),
            Self::Disconnect(name) => {
                let controller = classed(roots, "nvme", "subsysnqn", name);
                let directory = roots.sys.join("class/nvme");
                controller.map_or(Ok(()), |it| write(&directory.join(it).join("delete_controller"), b"1"))
            }
        }
    }
}

/// Writes an attribute of the kernel, which takes it in one call.
fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(file)?;
    let written = file.write(text)?;
    if written == text.len() { Ok(()) } else { Err(io::Error::other("the kernel took a part of it")) }
}

/// What an object can leave, found in the kernel or on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remains {
    /// A block device.
    Device(Device),
    /// Devices of the device mapper whose names begin so.
    Parts(String),
    /// A mount.
    Mount(PathBuf),
    /// A directory, file or link.
    Path(PathBuf),
    /// A switch that is on.
    SwitchedOn(PathBuf),
    /// A session with this iSCSI target.
    Session(String),
    /// A controller of this NVMe subsystem.
    Controller(String),
    /// A directory that is shared over NFS.
    Shared(PathBuf),
}

impl Remains {
    /// What is there, in words; `None` if it is gone.
    pub fn find(&self, roots: &Roots) -> Option<String> {
        let shown = |path: PathBuf| path.display().to_string();
        match self {
            Self::Device(device) => device.path(roots).map(shown),
            Self::Parts(prefix) => {
                let is_part = |directory: &Path| {
                    read_line(directory.join("dm/name")).is_some_and(|name| name.starts_with(prefix))
                };
                blocks(roots, is_part).into_iter().next().map(|name| shown(roots.dev.join(name)))
            }
            Self::Mount(point) => {
                mounts(roots).iter().any(|mount| mount.point == *point).then(|| shown(point.clone()))
            }
            Self::Path(path) => path.symlink_metadata().is_ok().then(|| shown(path.clone())),
            Self::SwitchedOn(file) => (read_line(file).as_deref() == Some("1")).then(|| shown(file.clone())),
            Self::Session(name) => {
                classed(roots, "iscsi_session", "targetname", name).map(|session| format!("its {session}"))
            }
            Self::Controller(name) => classed(roots, "nvme", "subsysnqn", name),
            Self::Shared(path) => {
                // Its path stands first, with octal escapes.
                let table = fs::read_to_string("/var/lib/nfs/etab").unwrap_or_default();
                let wanted = path.to_string_lossy().replace(' ', "\\040");
                let is_it = |line: &str| line.split('\t').next() == Some(&wanted);
                table.lines().any(is_it).then(|| shown(path.clone()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_undone_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (roots, none) = (Roots::default(), Secrets::none());
        let at = |name: &str| directory.path().join(name);
        fs::write(at("enable"), "0\n").unwrap();
        let deeds = [
            Deed::Directory(at("object")),
            Deed::Link { at: at("link"), to: at("object") },
            Deed::SwitchOn(at("enable")),
        ];
        for deed in &deeds {
            assert!(deed.undo().is_none_or(|(remains, _)| remains.find(&roots).is_none()), "{deed:?}");
            deed.carry_out(&roots, &none).unwrap();
        }
        let typed: Vec<String> = deeds.iter().map(Deed::typed).collect();
        assert_eq!(typed[2], format!("echo 1 >{}", at("enable").display()));
        for (remains, undo) in deeds.iter().rev().filter_map(Deed::undo) {
            assert!(remains.find(&roots).is_some(), "{remains:?}");
            undo.carry_out(&roots, &none).unwrap();
            assert!(remains.find(&roots).is_none(), "{remains:?}");
        }
        let error = Deed::write(at("absent"), Words::of(&["1"])).carry_out(&roots, &none).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
