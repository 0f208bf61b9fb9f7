//! Target directories in which another user may exchange what a run makes. Whatever is exchanged, a run changes nothing but its
//! own files; but root has more to lose than figures, so that he is asked first.

use host::writers::other_writers;
use model::{Severity, Target, TargetKind};

use crate::failure::Failure;
use crate::session::Session;

/// A target's name, and what is to be said of it.
pub(super) type Noticed = (String, String);

/// Looks who else may write to the target directories.
///
/// # Errors
/// Somebody else may, this user is root, and `allowed` is not given; or a directory cannot be looked at.
pub(super) fn check(targets: &[Target], allowed: bool) -> Result<Vec<Noticed>, Failure> {
    let mut noticed = Vec::new();
    for target in targets.iter().filter(|target| target.kind == TargetKind::Directory) {
        let path = target.path.display();
        let who = other_writers(&target.path)
            .map_err(|e| Failure::usage(format!("cannot look at `{path}`: {e}; name another directory")))?;
        let Some(who) = who else { continue };
        if host::is_root() && !allowed {
            return Err(Failure::usage(format!(
                "`{path}` is not measured as root: {who}, so that another user could exchange the files of the run; \
                 name a directory that only root may write to, measure as the user who owns it, or go on with \
                 --allow-unsafe-directory"
            )));
        }
        let message = format!("another user may exchange the files of the run in {path}: {who}");
        noticed.push((target.name.clone(), message));
    }
    Ok(noticed)
}

/// Notes in the run what was noticed.
pub(super) fn note(session: &mut Session<'_>, noticed: Vec<Noticed>) {
    for (target, message) in noticed {
        session.note(Severity::Warning, "unsafe-directory", Some(target), message);
    }
}
