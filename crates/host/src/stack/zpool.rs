//! The members of a ZFS pool, from `zpool status -LP`.

use std::time::Duration;

use crate::Roots;
use crate::programs::ask;

const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 3 });

/// The reported status of a pool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// `ONLINE`, `DEGRADED`, ….
    pub state: Option<String>,
    groups: Vec<Group>,
}

/// A virtual device, or several single disks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Group {
    /// `mirror-0`, `raidz1-0`; empty for single disks.
    name: String,
    /// `logs`, `cache`, `spares`, `special`; empty for groups that hold the data.
    class: String,
    members: Vec<Member>,
}

/// A disk or file of a pool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its path.
    pub name: String,
    /// `ONLINE`, `FAULTED`, `UNAVAIL`, ….
    pub state: String,
}

/// Queries zpool. `None` if it is not installed, fails or hangs.
pub(super) fn status(roots: &Roots, pool: &str) -> Option<Status> {
    let output = ask(roots, "zpool", &["status", "-LP", "--", pool], TIMEOUT)?;
    (output.code == Some(0)).then(|| parse(&output.text)).filter(|status| status.members().next().is_some())
}

impl Status {
    /// Members that hold the data.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.groups.iter().filter(|group| group.class.is_empty()).flat_map(|group| &group.members)
    }

    /// Members of logs, caches and special devices; spares are unused.
    pub fn helpers(&self) -> impl Iterator<Item = &Member> {
        let groups = self.groups.iter().filter(|group| !group.class.is_empty() && group.class != "spares");
        groups.flat_map(|group| &group.members)
    }

    /// All groups in one line: `mirror-0: sda1 sdb1; cache: nvme0n1p1`.
    pub fn layout(&self) -> Option<String> {
        let group = |group: &Group| {
            let members: Vec<&str> =
                group.members.iter().map(|m| m.name.strip_prefix("/dev/").unwrap_or(&m.name)).collect();
            let heading = [group.class.as_str(), group.name.as_str()];
            let heading: Vec<&str> = heading.into_iter().filter(|part| !part.is_empty()).collect();
            let heading = if heading.is_empty() { "stripe".to_owned() } else { heading.join(" ") };
            format!("{heading}: {}", members.join(" "))
        };
        let groups: Vec<String> = self.groups.iter().filter(|g| !g.members.is_empty()).map(group).collect();
        (!groups.is_empty()).then(|| groups.join("; "))
    }
}

/// Parses the tree under `config:`. Its lines begin with a tab and are indented by two blanks per level; the pool
/// is at the first level, virtual devices at the second. Classes such as `logs` are at the first again.
fn parse(text: &str) -> Status {
    let mut status = Status::default();
    let mut in_tree = false;
    let mut class = String::new();
    for line in text.lines() {
        if let Some(state) = line.trim_start().strip_prefix("state:")
            && !in_tree
        {
            status.state = Some(state.trim().to_owned());
            continue;
        }
        if !in_tree {
            in_tree = line.trim_start().starts_with("NAME");
            continue;
        }
        let Some(rest) = line.strip_prefix('\t') else { continue };
        let level = rest.len() - rest.trim_start_matches(' ').len();
        let mut words = rest.split_ascii_whitespace();
        let (Some(name), state) = (words.next(), words.next()) else { continue };
        if level == 0 {
            // The pool has a state, a class usually does not.
            class = if state.is_none() { name.to_owned() } else { String::new() };
            status.groups.push(Group { class: class.clone(), ..Group::default() });
        } else if !name.starts_with('/') && level == 2 && !is_lost(name) {
            status.groups.push(Group { name: name.to_owned(), class: class.clone(), members: Vec::new() });
        } else if name.starts_with('/') || is_lost(name) {
            if level == 2 && status.groups.last().is_some_and(|group| !group.name.is_empty()) {
                status.groups.push(Group { class: class.clone(), ..Group::default() });
            }
            let member = Member { name: name.to_owned(), state: state.unwrap_or_default().to_owned() };
            if let Some(group) = status.groups.last_mut() {
                group.members.push(member);
            }
        }
    }
    status.groups.retain(|group| !group.members.is_empty());
    status
}

/// A lost member is named by its number.
fn is_lost(name: &str) -> bool {
    name.len() > 10 && name.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIRRORS: &str = "  pool: tank\n state: ONLINE\n  scan: scrub repaired 0B in 00:10:11 with 0 errors on Sun Nov  8 00:34:12 2026\nconfig:\n\n\tNAME                STATE     READ WRITE CKSUM\n\ttank                ONLINE       0     0     0\n\t  mirror-0          ONLINE       0     0     0\n\t    /dev/sda1       ONLINE       0     0     0\n\t    /dev/sdb1       ONLINE       0     0     0\n\t  mirror-1          ONLINE       0     0     0\n\t    /dev/sdc1       ONLINE       0     0     0\n\t    /dev/sdd1       ONLINE       0     0     0\n\tlogs\t\n\t  /dev/nvme0n1p1    ONLINE       0     0     0\n\tcache\n\t  /dev/nvme0n1p2    ONLINE       0     0     0\n\tspares\n\t  /dev/sde1         AVAIL\n\nerrors: No known data errors\n";

    const DEGRADED: &str = "  pool: data\n state: DEGRADED\nstatus: One or more devices could not be used because the label is missing or\n\tinvalid.  Sufficient replicas exist for the pool to continue\naction: Replace the device using 'zpool replace'.\n  see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J\nconfig:\n\n\tNAME                     STATE     READ WRITE CKSUM\n\tdata                     DEGRADED     0     0     0\n\t  raidz1-0               DEGRADED     0     0     0\n\t    /dev/sda1            ONLINE       0     0     0\n\t    12345678901234567890 UNAVAIL      0     0     0  was /dev/sdb1\n\t    /dev/sdc1            ONLINE       0     0     0\n\nerrors: No known data errors\n";

    const STRIPE: &str = "  pool: s\n state: ONLINE\nconfig:\n\n\tNAME          STATE     READ WRITE CKSUM\n\ts             ONLINE       0     0     0\n\t  /dev/vdb1   ONLINE       0     0     0\n\t  /images/a   ONLINE       0     0     0\n";

    fn names<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<&'a str> {
        members.map(|member| member.name.as_str()).collect()
    }

    #[test]
    fn mirrors_with_log_cache_and_spare() {
        let status = parse(MIRRORS);
        assert_eq!(status.state.as_deref(), Some("ONLINE"));
        assert_eq!(names(status.members()), ["/dev/sda1", "/dev/sdb1", "/dev/sdc1", "/dev/sdd1"]);
        assert_eq!(names(status.helpers()), ["/dev/nvme0n1p1", "/dev/nvme0n1p2"]);
        assert_eq!(
            status.layout().unwrap(),
            "mirror-0: sda1 sdb1; mirror-1: sdc1 sdd1; logs: nvme0n1p1; cache: nvme0n1p2; spares: sde1"
        );
    }

    #[test]
    fn a_lost_member_without_a_path_is_counted() {
        let status = parse(DEGRADED);
        assert_eq!(status.state.as_deref(), Some("DEGRADED"));
        assert_eq!(status.members().filter(|m| m.state != "ONLINE").count(), 1);
        assert_eq!(status.members().count(), 3);
        assert_eq!(status.layout().unwrap(), "raidz1-0: sda1 12345678901234567890 sdc1");
    }

    #[test]
    fn disks_and_files_without_redundancy() {
        let status = parse(STRIPE);
        assert_eq!(names(status.members()), ["/dev/vdb1", "/images/a"]);
        assert_eq!(status.layout().unwrap(), "stripe: vdb1 /images/a");
        assert_eq!(parse("no pools available\n"), Status::default());
    }
}
