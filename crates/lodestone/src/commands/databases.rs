//! Which database an address names, and how it is entered: by the password in the address, PGPASSWORD, or a password file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use database::{DatabaseError, Destination};

use crate::failure::Failure;
use crate::output;

/// The database that `flag` names.
///
/// # Errors
/// It is not an address that can be used.
pub(super) fn destination(flag: &str, address: &str) -> Result<Destination, Failure> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let parsed = Destination::parse(address)
        .map_err(|error| Failure::usage(format!("{flag}: {error}")).because(&error))?;
    let parsed = with_roots(flag, parsed)?;
    let named = match set("PGUSER").or_else(|| set("USER")).or_else(|| set("LOGNAME")) {
        Some(user) => parsed.with_user(&user),
        None => parsed,
    };
    if named.has_password() {
        return Ok(named);
    }
    Ok(match set("PGPASSWORD") {
        Some(password) => named.with_password(&password),
        None => match password_file() {
            Some(text) => named.with_password_file(&text),
            None => named,
        },
    })
}

/// The database with the certificates of authorities that its address names, or else those of `~/.postgresql/root.crt` if there are any, as
/// PostgreSQL's own programs have it.
fn with_roots(flag: &str, destination: Destination) -> Result<Destination, Failure> {
    let destination = match destination.roots_file().map(PathBuf::from) {
        Some(path) => {
            let cannot = |error| {
                Failure::usage(format!("{flag}: cannot read sslrootcert {}: {error}", path.display()))
            };
            let (pem, _) = record::input::read(&path).map_err(cannot)?;
            destination.with_roots(pem)
        }
        None => {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            match home.and_then(|home| record::input::read(&home.join(".postgresql/root.crt")).ok()) {
                Some((pem, _)) => destination.with_roots(pem),
                None => destination,
            }
        }
    };
    if destination.has_enough_roots() {
        return Ok(destination);
    }
    Err(Failure::usage(format!("{flag}: {}", DatabaseError::NoRoots)))
}

/// The text of the password file, if there is one that nobody else can read, as PostgreSQL's own programs demand.
fn password_file() -> Option<String> {
    let named = std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))?;
    let mode = fs::metadata(&path).ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        output::say(&format!(
            "lodestone: {} is ignored because others can read it; `chmod 0600 {}`",
            path.display(),
            path.display()
        ));
        return None;
    }
    let (bytes, _) = record::input::read(&path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The failure of a database.
pub(super) fn failure(doing: &str, destination: &Destination, error: &DatabaseError) -> Failure {
    Failure::failed(format!("cannot {doing} {}: {error}", destination.shown())).because(error)
}
