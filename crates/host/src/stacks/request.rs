//! What stacks a user asks for.

use std::path::{Path, PathBuf};

use model::units::{ExactSize, parse_size};

use super::StackError;
use super::filesystems::{FILESYSTEMS, Filesystem};
use crate::Roots;
use crate::programs::find;

/// Bytes that stay free in the directory of the images.
const RESERVE: u64 = 64 << 20;
/// Most stacks at once.
const MOST: usize = 32;

/// Stacks to be made, each in an image of its own.
#[derive(Debug)]
pub struct Request {
    /// Where the images are made.
    pub directory: PathBuf,
    /// Bytes of each image.
    pub bytes: u64,
    /// The stacks, in the order in which they are named.
    pub stacks: Vec<Stack>,
}

/// One stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// As the user wrote it: the name of the target.
    pub name: String,
    /// Its filesystem.
    pub filesystem: &'static Filesystem,
    /// Further mount options.
    pub options: Vec<String>,
}

/// Why a request cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequestError(String);

fn names() -> String {
    FILESYSTEMS.iter().map(|filesystem| filesystem.name).collect::<Vec<_>>().join(", ")
}

impl Request {
    /// Reads `image:SIZE` or `image:DIRECTORY:SIZE`, and stacks such as `ext4`, or `btrfs(compress=zstd)` with mount options, by
    /// commas. Without a directory the images are made in `here`, which must be absolute.
    ///
    /// # Errors
    /// A sentence with what is wrong and what is allowed.
    pub fn parse(on: &str, stacks: &str, here: &Path) -> Result<Self, RequestError> {
        let wrong = |why: &str| RequestError(format!("--on {on}: {why}"));
        let rest = on.strip_prefix("image:").ok_or_else(|| {
            wrong(
                "write image:SIZE, such as image:4G, or image:DIRECTORY:SIZE; stacks are made in image files",
            )
        })?;
        let (directory, size) = match rest.rsplit_once(':') {
            Some((directory, size)) => (here.join(directory), size),
            None => (here.to_owned(), rest),
        };
        let bytes = parse_size(size).map_err(|error| wrong(&error.to_string()))?;
        let stacks = parts(stacks).map(Stack::parse).collect::<Result<Vec<_>, _>>()?;
        if stacks.is_empty() || stacks.len() > MOST {
            return Err(RequestError(format!("--stack: name 1 to {MOST} stacks, such as ext4,xfs")));
        }
        for (i, stack) in stacks.iter().enumerate() {
            let Stack { name, filesystem, .. } = stack;
            if stacks[..i].iter().any(|other| other.name == *name) {
                return Err(RequestError(format!("--stack: {name} is named twice")));
            }
            if bytes < filesystem.least_bytes {
                let least = ExactSize(filesystem.least_bytes);
                return Err(wrong(&format!("{name} needs at least {least}")));
            }
        }
        Ok(Self { directory, bytes, stacks })
    }

    /// The same with the directory's own path, without links.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn located(self) -> Result<Self, StackError> {
        let directory = self.directory.canonicalize().map_err(|error| StackError::Directory {
            directory: self.directory.clone(),
            why: error.to_string(),
        })?;
        Ok(Self { directory, ..self })
    }

    /// Checks that this machine can make it, and this user may.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, roots: &Roots) -> Result<(), StackError> {
        if !crate::is_root() {
            return Err(StackError::NotRoot);
        }
        for (program, package) in [("losetup", "mount"), ("mount", "mount"), ("umount", "mount")] {
            if find(roots, program).is_none() {
                return Err(StackError::Missing { program, what: "each stack".into(), package });
            }
        }
        for Stack { name, filesystem: Filesystem { program, package, .. }, .. } in &self.stacks {
            if find(roots, program).is_none() {
                return Err(StackError::Missing { program, what: name.clone(), package });
            }
        }
        let directory = || self.directory.clone();
        let failed =
            |error: std::io::Error| StackError::Directory { directory: directory(), why: error.to_string() };
        if self.directory.to_str().is_none() {
            return Err(StackError::Directory {
                directory: directory(),
                why: "its path is not UTF-8".into(),
            });
        }
        let free = rustix::fs::statvfs(&self.directory).map_err(|error| failed(error.into()))?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        let needed = self.bytes.saturating_mul(self.stacks.len() as u64).saturating_add(RESERVE);
        if free < needed {
            return Err(StackError::NoSpace { directory: directory(), needed, free });
        }
        Ok(())
    }
}

impl Stack {
    fn parse(text: &str) -> Result<Self, RequestError> {
        let wrong = |why: String| RequestError(format!("--stack {text}: {why}"));
        let (kind, options) = match text.split_once('(') {
            None => (text, Vec::new()),
            Some((kind, rest)) => {
                let inside =
                    rest.strip_suffix(')').ok_or_else(|| wrong("the bracket does not end".into()))?;
                (kind, inside.split(',').map(str::to_owned).collect())
            }
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || "=:._-".contains(c);
        if options.iter().any(|option| option.is_empty() || !option.chars().all(is_word)) {
            return Err(wrong("in brackets there are mount options, such as btrfs(compress=zstd:1)".into()));
        }
        let filesystem = FILESYSTEMS.iter().find(|filesystem| filesystem.name == kind);
        let filesystem = filesystem.ok_or_else(|| wrong(format!("not one of {}", names())))?;
        Ok(Self { name: text.to_owned(), filesystem, options })
    }
}

/// The parts between commas that are not in brackets.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
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

    #[test]
    fn images_and_stacks_are_read_as_people_write_them() {
        let request = parse("image:4G", "ext4, xfs,btrfs(compress=zstd:1,noatime)").unwrap();
        assert_eq!((request.directory.to_str(), request.bytes), (Some("/here"), 4 << 30));
        let names: Vec<&str> = request.stacks.iter().map(|stack| stack.name.as_str()).collect();
        assert_eq!(names, ["ext4", "xfs", "btrfs(compress=zstd:1,noatime)"]);
        assert_eq!(request.stacks[2].options, ["compress=zstd:1", "noatime"]);
        assert_eq!(parse("image:/mnt/a:b:512M", "ext4").unwrap().directory, Path::new("/mnt/a:b"));
        assert_eq!(parse("image:sub:512M", "ext4").unwrap().directory, Path::new("/here/sub"));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_allowed() {
        for (on, stacks, words) in [
            ("4G", "ext4", "write image:SIZE"),
            ("image:lots", "ext4", "lots"),
            ("image:100M", "ext4,xfs", "xfs needs at least 300 MiB"),
            ("image:4G", "ext5", "--stack ext5: not one of ext4, xfs, btrfs"),
            ("image:4G", "ext4,ext4", "ext4 is named twice"),
            ("image:4G", "", "name 1 to 32 stacks"),
            ("image:4G", "ext4(data=journal", "the bracket does not end"),
            ("image:4G", "ext4(a;b)", "mount options"),
            ("image:4G", "ext4()", "mount options"),
        ] {
            let error = parse(on, stacks).unwrap_err();
            assert!(error.contains(words), "{on} {stacks}: {error}");
        }
    }
}
