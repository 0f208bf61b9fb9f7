//! How stacks are made, step by step. Pure.

use std::path::{Path, PathBuf};

use model::shell_word;
use serde::{Deserialize, Serialize};

use super::filesystems::FILESYSTEMS;
use super::request::{Request, Stack};

/// Something that a step makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Object {
    /// A file in which a stack stands.
    Image { stack: String, path: PathBuf, bytes: u64 },
    /// The loop device of an image.
    Loop { stack: String, image: PathBuf, bytes: u64 },
    /// A filesystem on the loop device of an image.
    Filesystem { stack: String, image: PathBuf, kind: String, label: String },
    /// A directory to mount on.
    Directory { stack: String, path: PathBuf },
    /// A mount of the loop device of an image.
    Mount { stack: String, image: PathBuf, kind: String, point: PathBuf, options: Vec<String> },
}

/// One step: an object that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the stack that it is of.
    pub stack: String,
    /// What it makes.
    pub(crate) object: Object,
}

impl Object {
    /// The directory of its stack's mount, which is unique to the stack.
    pub fn stack(&self) -> &str {
        match self {
            Self::Image { stack, .. }
            | Self::Loop { stack, .. }
            | Self::Filesystem { stack, .. }
            | Self::Directory { stack, .. }
            | Self::Mount { stack, .. } => stack,
        }
    }

    /// The program and arguments that make it, with the path of the loop device; `None` for what needs no program.
    pub fn command(&self, device: &str) -> Option<Vec<String>> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Image { .. } | Self::Directory { .. } => None,
            Self::Loop { image, .. } => {
                let mut words = owned(&["losetup", "--find", "--show", "--direct-io=on"]);
                words.push(text(image));
                Some(words)
            }
            Self::Filesystem { kind, label, .. } => {
                let filesystem = FILESYSTEMS.iter().find(|filesystem| filesystem.name == kind)?;
                let mut words = owned(&[filesystem.program]);
                words.extend(owned(filesystem.arguments));
                words.extend(owned(&["-L", label, device]));
                Some(words)
            }
            Self::Mount { kind, point, options, .. } => {
                let mut words = owned(&["mount", "-t", kind]);
                if !options.is_empty() {
                    words.extend(["-o".to_owned(), options.join(",")]);
                }
                words.extend([device.to_owned(), text(point)]);
                Some(words)
            }
        }
    }

    /// What makes it, as a person would type it.
    pub fn typed(&self, device: &str) -> String {
        match self {
            Self::Image { path, bytes, .. } => {
                format!("fallocate --length {bytes} {}", shell_word(&text(path)))
            }
            Self::Directory { path, .. } => format!("mkdir --mode=700 {}", shell_word(&text(path))),
            other => {
                let words = other.command(device).unwrap_or_default();
                // The device may be a variable of the shell.
                let word = |word: &String| if word == device { word.clone() } else { shell_word(word) };
                words.iter().map(word).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// What undoes it, as a person would type it; `None` where nothing needs to be undone.
    fn undone(&self, device: &str) -> Option<String> {
        Some(match self {
            Self::Image { path, .. } => format!("rm {}", shell_word(&text(path))),
            Self::Loop { .. } => format!("losetup --detach {device}"),
            Self::Filesystem { .. } => return None,
            Self::Directory { path, .. } => format!("rmdir {}", shell_word(&text(path))),
            Self::Mount { point, .. } => format!("umount {}", shell_word(&text(point))),
        })
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The steps that make the stacks of a request with this id, whose mounts are in a directory below `directory`.
pub fn plan(request: &Request, id: &str, directory: &Path) -> Vec<Step> {
    let own = directory.join(id);
    let mut steps = vec![Step {
        stack: String::new(),
        object: Object::Directory { stack: String::new(), path: own.clone() },
    }];
    for (i, stack) in request.stacks.iter().enumerate() {
        steps.extend(of_stack(request, stack, id, i + 1, &own));
    }
    steps
}

fn of_stack(request: &Request, stack: &Stack, id: &str, number: usize, own: &Path) -> Vec<Step> {
    let Stack { name, filesystem, options } = stack;
    let key = format!("{number}-{}", filesystem.name);
    let image = request.directory.join(format!("lodestone-{id}-{key}.img"));
    let point = own.join(&key);
    let kind = filesystem.name.to_owned();
    let mut all: Vec<String> = filesystem.options.iter().map(|option| (*option).to_owned()).collect();
    all.extend(options.iter().cloned());
    let objects = [
        Object::Image { stack: key.clone(), path: image.clone(), bytes: request.bytes },
        Object::Loop { stack: key.clone(), image: image.clone(), bytes: request.bytes },
        Object::Filesystem {
            stack: key.clone(),
            image: image.clone(),
            kind: kind.clone(),
            // The longest label of xfs has twelve characters.
            label: format!("lode{id}"),
        },
        Object::Directory { stack: key.clone(), path: point.clone() },
        Object::Mount { stack: key, image, kind, point, options: all },
    ];
    objects.into_iter().map(|object| Step { stack: name.clone(), object }).collect()
}

/// Steps as the lines of a shell script that makes, and one that removes.
pub fn shown(steps: &[Step]) -> (Vec<String>, Vec<String>) {
    let mut variables: Vec<&str> = Vec::new();
    let (mut make, mut remove) = (Vec::new(), Vec::new());
    for Step { object, .. } in steps {
        if matches!(object, Object::Loop { .. }) {
            variables.push(object.stack());
        }
        let device = format!("$loop{}", variables.len());
        let typed = object.typed(&device);
        make.push(match object {
            Object::Loop { .. } => format!("loop{}=$({typed})", variables.len()),
            _ => typed,
        });
        remove.extend(object.undone(&device));
    }
    remove.reverse();
    (make, remove)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_what_a_person_would_type() {
        let request =
            Request::parse("image:/mnt/usb disk:1G", "ext4,btrfs(noatime)", Path::new("/here")).unwrap();
        let (make, remove) = shown(&plan(&request, "abcd2345", Path::new("/var/lib/lodestone/stacks")));
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
        assert_eq!(remove[2], "losetup --detach $loop2");
        assert_eq!(remove.last().unwrap(), "rmdir /var/lib/lodestone/stacks/abcd2345");
    }
}
