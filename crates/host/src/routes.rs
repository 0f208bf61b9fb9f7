//! The network interface that leads to a server, and its speed.

use std::fs;
use std::net::IpAddr;

use crate::{Roots, read_line};

/// Bits per second of the interface that leads to a server, by its address, as its driver reports it; virtual
/// ones report none.
pub(crate) fn speed_to(roots: &Roots, server: &str) -> Option<u64> {
    let interface = Routes::read(roots).interface(server.parse().ok()?)?;
    let megabits: i64 = read_line(roots.sys.join("class/net").join(interface).join("speed"))?.parse().ok()?;
    // -1 while there is no link.
    u64::try_from(megabits).ok().filter(|m| *m > 0)?.checked_mul(1_000_000)
}

/// True if a server is this machine itself, by one of its own addresses.
pub(crate) fn is_own(roots: &Roots, server: &str) -> bool {
    let Ok(address) = server.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
        return server == "localhost";
    };
    let text = |name: &str| fs::read_to_string(roots.proc.join("net").join(name)).unwrap_or_default();
    let is_assigned = match address {
        IpAddr::V4(address) => {
            // The address stands in a line of its own, before `/32 host LOCAL`.
            let (wanted, table) = (format!("|-- {address}"), text("fib_trie"));
            let mut pairs = table.lines().zip(table.lines().skip(1));
            pairs.any(|(line, next)| line.trim() == wanted && next.trim() == "/32 host LOCAL")
        }
        IpAddr::V6(address) => {
            let wanted = format!("{:032x}", address.to_bits());
            text("if_inet6").lines().any(|line| line.split_ascii_whitespace().next() == Some(&wanted))
        }
    };
    address.is_loopback() || is_assigned
}

/// The kernel's routes: destination, bits of its prefix, interface.
pub(crate) struct Routes(Vec<(IpAddr, u32, String)>);

impl Routes {
    /// The current routes.
    pub fn read(roots: &Roots) -> Self {
        let text = |name: &str| fs::read_to_string(roots.proc.join("net").join(name)).unwrap_or_default();
        let mut routes: Vec<_> = text("route").lines().filter_map(route_v4).collect();
        routes.extend(text("ipv6_route").lines().filter_map(route_v6));
        Self(routes)
    }

    /// The interface of the longest matching prefix.
    pub fn interface(&self, to: IpAddr) -> Option<String> {
        let fits = |(destination, bits, _): &&(IpAddr, u32, String)| match (destination, to) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= *bits,
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= *bits,
            _ => false,
        };
        let best = self.0.iter().filter(fits).max_by_key(|(_, bits, _)| *bits)?;
        Some(best.2.clone())
    }
}

/// `eth0 0002A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0`; the numbers are as in memory, in network order.
fn route_v4(line: &str) -> Option<(IpAddr, u32, String)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let bits = |word: &&str| Some(u32::from_be_bytes(u32::from_str_radix(word, 16).ok()?.to_ne_bytes()));
    let (destination, mask) = (bits(words.get(1)?)?, bits(words.get(7)?)?);
    Some((IpAddr::V4(destination.into()), mask.count_ones(), (*words.first()?).to_owned()))
}

/// Destination, prefix length and more in hexadecimal digits; the interface comes last.
fn route_v6(line: &str) -> Option<(IpAddr, u32, String)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let destination = u128::from_str_radix(words.first()?, 16).ok()?;
    let interface = words.get(9).filter(|name| **name != "lo")?;
    Some((
        IpAddr::V6(destination.into()),
        u32::from_str_radix(words.get(1)?, 16).ok()?,
        (*interface).to_owned(),
    ))
}
