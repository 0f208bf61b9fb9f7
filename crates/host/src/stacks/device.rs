//! Block devices of stacks, found in the kernel by their identity, and commands about them.

use std::path::{Path, PathBuf};

use model::shell_word;
use serde::{Deserialize, Serialize};

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
}

impl Device {
    /// As a person would type it.
    pub fn typed(&self) -> String {
        match self {
            Self::Loop { number, .. } => format!("$loop{number}"),
            Self::Mapped { name } => format!("/dev/mapper/{name}"),
            Self::Array { name, .. } => format!("/dev/md/{name}"),
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
            Self::Array { on, .. } => {
                let members: Vec<String> = on.iter().filter_map(|member| member.find(roots)).collect();
                blocks(roots, |directory| {
                    directory.join("md").exists()
                        && members.iter().any(|member| directory.join("slaves").join(member).exists())
                })
            }
        }
    }

    /// Its path, if it is there.
    pub fn path(&self, roots: &Roots) -> Option<PathBuf> {
        Some(roots.dev.join(self.find(roots)?))
    }
}

fn is_line(directory: &Path, file: &str, text: &Path) -> bool {
    read_line(directory.join(file)).is_some_and(|line| Path::new(&line) == text)
}

/// The names of the block devices of the kernel of which this is true.
pub(super) fn blocks(roots: &Roots, is_meant: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(roots.sys.join("block")).into_iter().flatten().flatten();
    let meant = entries.filter(|entry| is_meant(&entry.path()));
    meant.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    /// This, and the path of the device.
    Device(&'static str, Device),
    /// The path of the file that has the key.
    Key,
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

    pub fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// True if it needs the key.
    pub fn needs_key(&self) -> bool {
        self.0.contains(&Word::Key)
    }

    /// As a person would type it.
    pub fn typed(&self) -> String {
        let typed = |word: &Word| match word {
            Word::Text(text) => shell_word(text),
            Word::Device(prefix, device) => format!("{prefix}{}", device.typed()),
            Word::Key => "$key".to_owned(),
        };
        self.0.iter().map(typed).collect::<Vec<_>>().join(" ")
    }

    /// With the paths of what is there.
    ///
    /// # Errors
    /// A device that is not.
    pub fn resolved(&self, roots: &Roots, key: &Path) -> Result<Vec<String>, String> {
        let resolved = |word: &Word| match word {
            Word::Text(text) => Ok(text.clone()),
            Word::Device(prefix, device) => {
                let path = device.path(roots).ok_or_else(|| format!("there is no {} now", device.typed()))?;
                Ok(format!("{prefix}{}", path.display()))
            }
            Word::Key => Ok(key.display().to_string()),
        };
        self.0.iter().map(resolved).collect()
    }
}
