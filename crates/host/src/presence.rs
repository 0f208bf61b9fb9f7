//! Detects other runs in progress on this machine.
//!
//! A run binds a socket in Linux's abstract namespace, which is visible to everybody in `/proc/net/unix`, needs
//! no world-writable directory, and disappears with the process however that ends. Runs in other network
//! namespaces (containers) are not visible.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::Roots;

const PREFIX: &str = "lodestone-run/";

/// The mark of a run; the run counts as in progress until it is dropped.
#[derive(Debug)]
pub struct Presence {
    name: String,
    _socket: UnixListener,
}

/// Marks run `id` as in progress.
///
/// # Errors
/// The kernel's error, if the socket cannot be bound.
pub fn announce(id: &str) -> io::Result<Presence> {
    let name = format!("{PREFIX}{}/{id}", std::process::id());
    let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    Ok(Presence { name, _socket: socket })
}

/// IDs of the other runs in progress.
pub fn others(roots: &Roots, own: Option<&Presence>) -> Vec<String> {
    let table = std::fs::read(roots.proc.join("net/unix")).unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    listed(&table, own.map_or("", |p| p.name.as_str()))
}

fn listed(table: &str, own: &str) -> Vec<String> {
    let mut ids: Vec<String> = table
        .lines()
        .filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'))
        .filter(|name| *name != own)
        .filter_map(|name| name.strip_prefix(PREFIX)?.split_once('/').map(|(_, id)| id.to_owned()))
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sees_others_until_they_end_but_not_itself() {
        let roots = Roots::default();
        // Another process may run this test at the same time.
        let [my_id, other_id] = ["mine", "other"].map(|id| format!("{id}-{}", std::process::id()));
        let mine = announce(&my_id).unwrap();
        let other = announce(&other_id).unwrap();
        let seen = others(&roots, Some(&mine));
        assert!(seen.contains(&other_id) && !seen.contains(&my_id));
        drop(other);
        // A program that another test is just starting may hold a copy for a moment.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while others(&roots, Some(&mine)).contains(&other_id) {
            assert!(std::time::Instant::now() < deadline, "it is still there");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[test]
    fn sockets_of_others_are_ignored() {
        let table = "Num RefCount\n0000: 00000002 00000000 00010000 0001 01 123 @/tmp/.X11-unix/X0\n\
                     0000: 00000002 00000000 00010000 0001 01 124 /run/systemd/notify\n\
                     0000: 00000002 00000000 00010000 0001 01 125 @lodestone-run/77/abc\n";
        assert_eq!(listed(table, ""), ["abc"]);
        assert!(listed(table, "lodestone-run/77/abc").is_empty());
    }
}
