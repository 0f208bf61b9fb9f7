//! Block devices of stacks, found in the kernel by their identity, and commands about them.

use std::fs;
use std::path::{Path, PathBuf};

use model::shell_word;
use serde::{Deserialize, Serialize};

use super::secrets::Secrets;
use crate::{Roots, read_line};

/// A block device that a step makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Device {
    /// The loop device of an image, which is the `number`th of the plan.
    Loop { image: PathBuf, number: usize },
    /// A device of the device mapper, by its name.
    Mapped { name: String },
    /// An array of md: what stands on its members.
    Array { name: String, on: Vec<Device> },
    /// The disk of an iSCSI target.
    Iscsi { target: String },
    /// The namespace of an NVMe subsystem that is reached over a network.
    Nvme { subsystem: String },
}

impl Device {
    /// As a person would type it.
    pub fn typed(&self) -> String {
        match self {
            Self::Loop { number, .. } => format!("$loop{number}"),
            Self::Mapped { name } => format!("/dev/mapper/{name}"),
            Self::Array { name, .. } => format!("/dev/md/{name}"),
            Self::Iscsi { target } => format!("/dev/disk/by-path/*-iscsi-{target}-lun-0"),
            Self::Nvme { subsystem } => {
                let serial = subsystem.rsplit(':').next().unwrap_or_default();
                format!("/dev/disk/by-id/nvme-Linux_{serial}")
            }
        }
    }

    /// Its name in `/sys/block`, if it is there.
    pub fn find(&self, roots: &Roots) -> Option<String> {
        self.find_all(roots).into_iter().next()
    }

    /// All that have this identity: an image can have several loop devices.
    pub fn find_all(&self, roots: &Roots) -> Vec<String> {
        match self {
            Self::Loop { image, .. } => {
                blocks(roots, |directory| is_line(directory, "loop/backing_file", image))
            }
            Self::Mapped { name } => {
                blocks(roots, |directory| is_line(directory, "dm/name", Path::new(name)))
            }
            Self::Array { name, on } => {
                let members: Vec<String> = on.iter().filter_map(|member| member.find(roots)).collect();
                blocks(roots, |directory| {
                    let has = |member: &String| directory.join("slaves").join(member).exists();
                    directory.join("md").exists()
                        && (members.iter().any(has) || is_abandoned(directory, name))
                })
            }
            Self::Iscsi { target } => {
                let Some(session) = classed(roots, "iscsi_session", "targetname", target) else {
                    return Vec::new();
                };
                // `…/session1/target0:0:0/0:0:0:0`.
                blocks(roots, |directory| {
                    let place = directory.join("device").canonicalize();
                    place.is_ok_and(|place| place.ancestors().any(|above| above.ends_with(&session)))
                })
            }
            Self::Nvme { subsystem } => blocks(roots, |directory| {
                // A path of several to the same disk is hidden.
                is_line(directory, "device/subsysnqn", Path::new(subsystem))
                    && read_line(directory.join("hidden")).is_none_or(|hidden| hidden == "0")
            }),
        }
    }

    /// Its path, if it is there.
    pub fn path(&self, roots: &Roots) -> Option<PathBuf> {
        Some(roots.dev.join(self.find(roots)?))
    }
}

/// True of an array that mdadm made under this name and that has none of its members any more.
fn is_abandoned(directory: &Path, name: &str) -> bool {
    let members = fs::read_dir(directory.join("slaves")).into_iter().flatten().flatten();
    let is_gone = members.into_iter().all(|member| !member.path().exists());
    // Each line has the kernel's name, the version of the metadata, an identifier and the path.
    let map = fs::read_to_string("/run/mdadm/map").unwrap_or_default();
    let has_name = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first().is_some_and(|first| directory.ends_with(first))
            && words.last().is_some_and(|last| Path::new(last).ends_with(name))
    };
    is_gone && map.lines().any(has_name)
}

pub(super) fn is_line(directory: &Path, file: &str, text: &Path) -> bool {
    read_line(directory.join(file)).is_some_and(|line| Path::new(&line) == text)
}

/// The names of the block devices of the kernel of which this is true.
pub(super) fn blocks(roots: &Roots, is_meant: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = fs::read_dir(roots.sys.join("block")).into_iter().flatten().flatten();
    let meant = entries.filter(|entry| is_meant(&entry.path()));
    meant.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The first device of a class that has this attribute.
pub(super) fn classed(roots: &Roots, class: &str, attribute: &str, text: &str) -> Option<String> {
    let entries = fs::read_dir(roots.sys.join("class").join(class)).into_iter().flatten().flatten();
    let mut found = entries.filter(|entry| is_line(&entry.path(), attribute, Path::new(text)));
    found.next().map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    /// This, and the path of the device.
    Device(&'static str, Device),
    /// The path of the file that has the key.
    Key,
    /// A secret.
    Secret,
}

/// A command: a program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(Vec<Word>);

impl Words {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn of(words: &[&str]) -> Self {
        Self::new().and_all(words)
    }

    pub fn and(mut self, word: &str) -> Self {
        self.0.push(Word::Text(word.to_owned()));
        self
    }

    pub fn and_all(self, words: &[&str]) -> Self {
        words.iter().fold(self, |all, word| all.and(word))
    }

    pub fn and_device(self, device: &Device) -> Self {
        self.and_prefixed("", device)
    }

    pub fn and_prefixed(mut self, prefix: &'static str, device: &Device) -> Self {
        self.0.push(Word::Device(prefix, device.clone()));
        self
    }

    pub fn and_key(mut self) -> Self {
        self.0.push(Word::Key);
        self
    }

    pub fn and_secret(mut self) -> Self {
        self.0.push(Word::Secret);
        self
    }

    pub fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// True if it needs the key.
    pub fn needs_key(&self) -> bool {
        self.0.contains(&Word::Key)
    }

    /// True if it needs the secret.
    pub fn needs_secret(&self) -> bool {
        self.0.contains(&Word::Secret)
    }

    /// As a person would type it.
    pub fn typed(&self) -> String {
        self.typed_words().join(" ")
    }

    /// The same as a single word.
    pub fn typed_as_one(&self) -> String {
        self.typed_words().concat()
    }

    fn typed_words(&self) -> Vec<String> {
        let typed = |word: &Word| match word {
            Word::Text(text) => shell_word(text),
            Word::Device(prefix, device) => format!("{prefix}{}", device.typed()),
            Word::Key => "$key".to_owned(),
            Word::Secret => "$secret".to_owned(),
        };
        self.0.iter().map(typed).collect()
    }

    /// With the paths of what is there.
    ///
    /// # Errors
    /// A device that is not.
    pub fn resolved(&self, roots: &Roots, secrets: &Secrets<'_>) -> Result<Vec<String>, String> {
        let resolved = |word: &Word| match word {
            Word::Text(text) => Ok(text.clone()),
            Word::Device(prefix, device) => {
                let path = device.path(roots).ok_or_else(|| match device {
                    Device::Loop { image, .. } => format!("{} has no loop device now", image.display()),
                    _ => format!("there is no {} now", device.typed()),
                })?;
                Ok(format!("{prefix}{}", path.display()))
            }
            Word::Key => Ok(secrets.key.display().to_string()),
            Word::Secret => Ok(secrets.secret.to_owned()),
        };
        self.0.iter().map(resolved).collect()
    }
}
