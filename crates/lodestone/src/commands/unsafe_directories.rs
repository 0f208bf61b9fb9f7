//! Target directories in which another user could replace the files of a run. Even then, a run changes only its own
//! files; root must consent first, because root risks more than wrong figures.

use host::writers::other_writers;
use model::{Severity, Target, TargetKind};

use crate::executor::Local;
use crate::failure::Failure;

/// A target's name, and the warning about it.
pub(super) type Noticed = (String, String);

/// Checks which other users can write to the target directories.
///
/// # Errors
/// Another user can, this user is root, and `allowed` is false; or a directory cannot be opened.
pub(super) fn check(targets: &[Target], allowed: bool) -> Result<Vec<Noticed>, Failure> {
    let mut noticed = Vec::new();
    for target in targets.iter().filter(|target| target.kind == TargetKind::Directory) {
        let path = target.path.display();
        let who = other_writers(&target.path).map_err(|e| {
            Failure::usage(format!("cannot open the directory `{path}`: {e}; name another one")).because(&e)
        })?;
        let Some(who) = who else { continue };
        if host::is_root() && !allowed {
            return Err(Failure::usage(format!(
                "cannot measure `{path}` as root: {who}, so another user could replace the files of the run; \
                 name a directory that only root can write to, run as the owner of the directory, or pass \
                 --allow-unsafe-directory"
            )));
        }
        let message = format!("another user could replace the files of the run in {path}: {who}");
        noticed.push((target.name.clone(), message));
    }
    Ok(noticed)
}

/// Records the warnings in the run.
pub(super) fn note(executor: &mut Local<'_>, noticed: Vec<Noticed>) {
    for (target, message) in noticed {
        executor.note(Severity::Warning, "unsafe-directory", Some(target), message);
    }
}
