//! Other users who may rename or remove the content of a directory.
//!
//! Only the directory itself is checked. The owner of a directory above it may replace it as a whole, which leads a run
//! to another directory but does not affect what the run already holds open.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::{DIRECTORY, Identity};

/// The reason why other users may rename and remove what this user creates in a directory, as a clause; `None` if only
/// root may.
///
/// # Errors
/// The kernel's, if the directory cannot be examined.
pub fn other_writers(directory: &Path) -> io::Result<Option<String>> {
    let directory = openat(CWD, directory, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(writers_of(&Identity::of(directory)?))
}

pub(crate) fn writers_of(directory: &Identity) -> Option<String> {
    writers(directory, rustix::process::geteuid().as_raw())
}

fn writers(directory: &Identity, user: u32) -> Option<String> {
    const STICKY: u32 = 0o1000;
    // The owner of a directory may remove every name in it, even with the sticky bit.
    if directory.owner != user && directory.owner != 0 {
        return Some(format!("it belongs to user ID {}", directory.owner));
    }
    if directory.permissions & STICKY != 0 {
        return None;
    }
    // A user private group has the user's ID and no other members.
    let is_own_group = user != 0 && directory.group == user;
    match directory.permissions {
        mode if mode & 0o002 != 0 => Some("it is world-writable and has no sticky bit".to_owned()),
        mode if mode & 0o020 != 0 && !is_own_group => {
            Some(format!("it is writable by group ID {} and has no sticky bit", directory.group))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// The message to `user` about a directory with this owner, group and mode.
    fn message(user: u32, (owner, group): (u32, u32), permissions: u32) -> Option<String> {
        let any = tempfile::tempdir().unwrap();
        let mut found = Identity::of(fs::File::open(any.path()).unwrap()).unwrap();
        (found.owner, found.group, found.permissions) = (owner, group, permissions);
        writers(&found, user)
    }

    #[test]
    fn only_its_user_and_root_may_write_to_a_safe_directory() {
        for (user, owner, mode) in [
            (0, (0, 0), 0o755),
            (0, (0, 0), 0o1777),
            (0, (0, 5), 0o1775),
            (1000, (0, 0), 0o755),
            (1000, (0, 0), 0o1777),
            (1000, (1000, 1000), 0o700),
            (1000, (1000, 1000), 0o775),
        ] {
            assert_eq!(message(user, owner, mode), None, "{user} {owner:?} {mode:o}");
        }
        for (user, owner, mode, words) in [
            (0, (1000, 1000), 0o700, "user ID 1000"),
            (0, (1000, 0), 0o1777, "user ID 1000"),
            (0, (0, 0), 0o777, "world-writable"),
            (0, (0, 0), 0o775, "group ID 0"),
            (1000, (1001, 1000), 0o777, "user ID 1001"),
            (1000, (1000, 100), 0o775, "group ID 100"),
        ] {
            let message = message(user, owner, mode).unwrap_or_default();
            assert!(message.contains(words), "{user} {owner:?} {mode:o}: {message}");
        }
    }

    #[test]
    fn writers_are_read_from_the_directory_itself() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(other_writers(directory.path()).unwrap(), None);
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(other_writers(directory.path()).unwrap().unwrap().contains("world-writable"));
        assert!(other_writers(&directory.path().join("none")).is_err());
    }
}
