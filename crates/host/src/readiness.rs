//! Checks whether the machine is ready for a measurement: quiet devices, nothing that slows the processors, a
//! steady clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{DeviceActivity, Layer, LayerKind, MachineCpu, fact};
use rustix::time::{ClockId, clock_gettime};

use crate::probes::{hottest, throttled};
use crate::stack::entries;
use crate::{Counters, Roots, machine_cpu, read_line};

/// A device that moves fewer bytes per second counts as quiet: an occasional log line.
const QUIET_BYTES_PER_SECOND: f64 = 1e6;
/// A device that is busy for less than this share of the time counts as quiet.
const QUIET_SHARE: f64 = 0.1;
/// Smallest step of the wall clock worth a note, in nanoseconds.
pub const CLOCK_STEP_NS: i64 = 50_000_000;

/// How long the kernel may look at an ext4 filesystem after its mount.
const LOOK: Duration = Duration::from_secs(10);

/// The topic of [`background_work`].
pub const BACKGROUND_WORK: &str = "background-work";

/// A device's activity for others while nothing was requested here.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// The device's name.
    pub device: String,
    /// Bytes per second read.
    pub read_rate: f64,
    /// Bytes per second written.
    pub write_rate: f64,
    /// Share of the time, from 0 to 1, in which it was busy.
    pub busy: f64,
}

/// The devices that were not quiet between two snapshots `elapsed_ns` apart.
pub fn disturbances(before: &Counters, after: &Counters, elapsed_ns: u64) -> Vec<Disturbance> {
    let seconds = (elapsed_ns.max(1)) as f64 / 1e9;
    let disturbance = |device: DeviceActivity| Disturbance {
        read_rate: device.read_bytes as f64 / seconds,
        write_rate: (device.written_bytes + device.discarded_bytes) as f64 / seconds,
        busy: device.busy_ns as f64 / 1e9 / seconds,
        device: device.name,
    };
    let is_loud =
        |d: &Disturbance| d.read_rate + d.write_rate > QUIET_BYTES_PER_SECOND || d.busy > QUIET_SHARE;
    after.since(before).devices.into_iter().map(disturbance).filter(is_loud).collect()
}

/// A reason not to measure now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// Its topic, as a short stable name.
    pub topic: &'static str,
    /// A sentence.
    pub message: String,
}

/// Background work of the kernel on the devices of a stack.
pub fn background_work(roots: &Roots, stack: &[Layer]) -> Vec<Concern> {
    let mut found = Vec::new();
    if stack.iter().any(|layer| layer.name == "ext4") && has_lazy_initialisation(roots) {
        found.push(
            "the kernel initialises an ext4 filesystem in the background (ext4lazyinit), as it does for a while after one is made or mounted; it may be this filesystem; the work ends by itself".to_owned(),
        );
    }
    for layer in stack {
        let (work, name) = match layer.kind {
            LayerKind::Raid => (array_work(roots, &layer.name), &layer.name),
            LayerKind::Filesystem if layer.name == "btrfs" => (btrfs_work(roots, stack), &layer.name),
            _ => continue,
        };
        found.extend(work.map(|work| format!("{name} has background activity: {work}")));
    }
    found.into_iter().map(|message| Concern { topic: BACKGROUND_WORK, message }).collect()
}

/// Arrays, pools and filesystems of a stack with missing members.
pub fn degraded_layers(roots: &Roots, stack: &[Layer]) -> Vec<Concern> {
    let count = |path: PathBuf| read_line(path)?.parse::<u64>().ok();
    let lacks = |name: &str, missing: u64, members: u64| {
        (missing > 0).then(|| format!("{name} lacks {missing} of its {members} members"))
    };
    let message = |layer: &Layer| match (layer.kind, layer.name.as_str()) {
        (LayerKind::Raid, name) => {
            let md = roots.sys.join("class/block").join(name).join("md");
            lacks(name, count(md.join("degraded"))?, count(md.join("raid_disks"))?)
        }
        (LayerKind::Filesystem, "btrfs") => {
            let devices = entries(&btrfs_set(roots, stack)?.join("devinfo"));
            let missing = devices.iter().filter(|device| count(device.join("missing")) == Some(1)).count();
            lacks("btrfs", missing as u64, devices.len() as u64)
        }
        (LayerKind::Filesystem, "zfs") => {
            let pool = layer.facts.get(fact::POOL)?;
            let state = read_line(roots.proc.join("spl/kstat/zfs").join(pool).join("state"))?;
            (state != "ONLINE").then(|| format!("the pool {pool} is {state}"))
        }
        _ => None,
    };
    let concern = |message| Concern {
        topic: "array-degraded",
        message: format!("{message}; figures measured in this state describe a degraded array"),
    };
    stack.iter().filter_map(message).map(concern).collect()
}

/// One thread serves all ext4 filesystems of the machine. After every mount it looks at the filesystem for some seconds, also where nothing
/// is to be initialised (Linux 5.9 and later read the bitmaps of blocks ahead), so that a new one says nothing.
fn has_lazy_initialisation(roots: &Roots) -> bool {
    let processes = entries(&roots.proc).into_iter();
    let numbered = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
    };
    let is_it = |path: &PathBuf| read_line(path.join("comm")).as_deref() == Some("ext4lazyinit");
    processes.filter(numbered).filter(is_it).any(|path| age(roots, &path).is_none_or(|age| age >= LOOK))
}

/// For how long a process has been there.
fn age(roots: &Roots, process: &Path) -> Option<Duration> {
    let stat = read_line(process.join("stat"))?;
    // The fields after the name, of which the first is the third of all (proc_pid_stat(5)).
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()?;
    let uptime: f64 = read_line(roots.proc.join("uptime"))?.split_whitespace().next()?.parse().ok()?;
    let began = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    Duration::try_from_secs_f64(uptime - began).ok()
}

/// Background work of an md array: `resync`, `recover`, `check`, `repair`, `reshape`, with its progress.
fn array_work(roots: &Roots, name: &str) -> Option<String> {
    let md = roots.sys.join("class/block").join(name).join("md");
    let Some(action) = read_line(md.join("sync_action")) else { return mdstat_work(roots, name) };
    if matches!(action.as_str(), "idle" | "frozen") {
        return None;
    }
    // `1234 / 5678` sectors, or `none`.
    let completed = read_line(md.join("sync_completed")).unwrap_or_default();
    let share = completed.split_once('/').and_then(|(done, all)| {
        Some(done.trim().parse::<f64>().ok()? / all.trim().parse::<f64>().ok()? * 100.0)
    });
    Some(share.map_or(action.clone(), |percent| format!("{action}, {percent:.0} % done")))
}

/// Background work from `/proc/mdstat`: below the line of the array, a line such as `[==>....]  resync = 12.6%
/// (37043392/292945152) finish=127.5min`.
fn mdstat_work(roots: &Roots, name: &str) -> Option<String> {
    let text = fs::read_to_string(roots.proc.join("mdstat")).ok()?;
    let mut lines = text.lines().skip_while(|line| line.split_whitespace().next() != Some(name)).skip(1);
    let of_array = lines.by_ref().take_while(|line| line.starts_with(' '));
    for line in of_array {
        for action in ["resync", "recovery", "check", "repair", "reshape"] {
            let Some((_, rest)) = line.split_once(action) else { continue };
            let percent = rest.trim_start_matches([' ', '=']).split_whitespace().next().unwrap_or_default();
            return Some(format!("{action}, {percent} done"));
        }
    }
    None
}

/// The exclusive operation of btrfs (Linux 5.10): balance, or adding or replacing a device. A scrub is not among
/// them; it appears as a device that is not quiet.
fn btrfs_work(roots: &Roots, stack: &[Layer]) -> Option<String> {
    let operation = read_line(btrfs_set(roots, stack)?.join("exclusive_operation"));
    operation.filter(|operation| !matches!(operation.as_str(), "none" | "balance paused"))
}

/// The sysfs directory of the btrfs filesystem that the devices of a stack belong to.
fn btrfs_set(roots: &Roots, stack: &[Layer]) -> Option<PathBuf> {
    let holds = |set: &PathBuf| stack.iter().any(|layer| set.join("devices").join(&layer.name).exists());
    entries(&roots.sys.join("fs/btrfs")).into_iter().find(holds)
}

/// Reasons why the whole machine is slow: governor, battery, throttling.
pub fn slowness(roots: &Roots) -> Vec<Concern> {
    let mut found = Vec::new();
    found.extend(governor(roots));
    if is_on_battery(roots) {
        let message = "the machine runs on battery and may save power at the cost of speed; plug it in";
        found.push(Concern { topic: "battery", message: message.to_owned() });
    }
    let (throttled, _) = throttled(roots);
    if !throttled.is_empty() {
        let message = format!("the processors are already slowed before the run: {}", throttled.join(", "));
        found.push(Concern { topic: "throttled", message });
    }
    found
}

/// Reasons to leave a measurement for later that could be made at any time: battery, throttling, a temperature above `warmest` °C, other
/// work. Watches the machine for `during`.
pub fn unfit(roots: &Roots, warmest: Option<f64>, during: Duration) -> Vec<Concern> {
    /// Share of the processors' time from which a machine counts as busy.
    const BUSY: f64 = 0.5;
    let mut found: Vec<Concern> = slowness(roots);
    found.retain(|concern| ["battery", "throttled"].contains(&concern.topic));
    let hot = warmest.and_then(|warmest| hottest(roots).filter(|(_, celsius)| *celsius > warmest));
    found.extend(
        hot.map(|(sensor, celsius)| Concern {
            topic: "hot",
            message: format!("{sensor} has {celsius:.0} °C"),
        }),
    );
    let before = machine_cpu(roots);
    std::thread::sleep(during);
    if let Some(share) = before.zip(machine_cpu(roots)).and_then(|(before, after)| worked(&before, &after))
        && share > BUSY
    {
        let message = format!("other programs use {:.0} % of the processors", share * 100.0);
        found.push(Concern { topic: "busy", message });
    }
    found
}

/// The share of the processors' time that was worked between two readings.
fn worked(before: &MachineCpu, after: &MachineCpu) -> Option<f64> {
    let idle = |cpu: &MachineCpu| cpu.idle_ns + cpu.iowait_ns;
    let all = |cpu: &MachineCpu| idle(cpu) + cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.steal_ns;
    let whole = all(after).checked_sub(all(before)).filter(|ns| *ns > 0)?;
    Some(1.0 - idle(after).saturating_sub(idle(before)) as f64 / whole as f64)
}

fn governor(roots: &Roots) -> Option<Concern> {
    let policies = entries(&roots.sys.join("devices/system/cpu/cpufreq"));
    let is_slow = |policy: &&PathBuf| {
        let read = |name: &str| read_line(policy.join(name)).unwrap_or_default();
        let is_powersave = read("scaling_governor") == "powersave";
        // For drivers that choose by themselves, the governor only means that they may choose; their preference
        // decides (Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst).
        match read("scaling_driver").as_str() {
            "intel_pstate" | "amd-pstate-epp" => read("energy_performance_preference") == "power",
            _ => is_powersave,
        }
    };
    let slow = policies.iter().filter(is_slow).count();
    (slow > 0).then(|| Concern {
        topic: "governor",
        message: format!(
            "{slow} of {} clock policies save power (governor powersave): the processors may run at their lowest clock; `cpupower frequency-set -g performance` changes that",
            policies.iter().filter(|policy| policy.join("scaling_governor").exists()).count()
        ),
    })
}

/// True if a battery of the machine itself, not of a mouse, is being discharged.
fn is_on_battery(roots: &Roots) -> bool {
    entries(&roots.sys.join("class/power_supply")).iter().any(|supply| {
        let is = |name: &str, value: &str| read_line(supply.join(name)).as_deref() == Some(value);
        is("type", "Battery") && is("status", "Discharging") && !is("scope", "Device")
    })
}

/// Nanoseconds by which the wall clock is ahead of the monotonic clock. Both are slewed alike, so it changes only
/// when the wall clock is set.
pub fn wall_clock_ahead_ns() -> i64 {
    let read = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    // An interruption between the two readings lengthens the span: the shortest of three counts.
    let offsets = (0..3).map(|_| {
        let (before, wall, after) =
            (read(ClockId::Monotonic), read(ClockId::Realtime), read(ClockId::Monotonic));
        (after - before, wall - before - (after - before) / 2)
    });
    offsets.min_by_key(|(span, _)| *span).map_or(0, |(_, ahead)| ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;
    use crate::testing::{Tree, disk};
    use std::collections::BTreeMap;

    fn layer(kind: LayerKind, name: &str) -> Layer {
        Layer { kind, name: name.into(), level: 0, device: None, facts: BTreeMap::new() }
    }

    fn messages(found: Vec<Concern>) -> Vec<String> {
        found.into_iter().map(|concern| concern.message).collect()
    }

    #[test]
    fn a_device_is_quiet_despite_an_occasional_log_line() {
        let tree = Tree::new();
        let stack = [disk("sda", (8, 0)), disk("sdb", (8, 16))];
        let counters = |read_sectors: u64, busy_ms: u64| {
            tree.file("sys/dev/block/8:0/stat", &format!("9 0 {read_sectors} 0 0 0 8 0 0 {busy_ms} 0"));
            tree.file("sys/dev/block/8:16/stat", "0 0 0 0 0 0 0 0 0 0 0");
            snapshot(&tree.roots(), &stack)
        };
        let before = counters(0, 0);
        assert!(disturbances(&before, &counters(8, 2), 300_000_000).is_empty());
        let loud = disturbances(&before, &counters(6000, 30), 300_000_000);
        assert_eq!(loud.len(), 1);
        assert_eq!((loud[0].device.as_str(), loud[0].read_rate.round()), ("sda", 10_240_000.0));
        let seeking = disturbances(&before, &counters(16, 150), 300_000_000);
        assert_eq!(seeking[0].busy, 0.5);
    }

    #[test]
    fn lazy_initialisation_concerns_ext4_only() {
        let tree = Tree::new();
        let ext4 = [layer(LayerKind::Filesystem, "ext4")];
        tree.file("proc/12/comm", "bash\n");
        assert!(background_work(&tree.roots(), &ext4).is_empty());
        tree.file("proc/40/comm", "ext4lazyinit\n");
        assert_eq!(background_work(&tree.roots(), &ext4).len(), 1);
        let second = rustix::param::clock_ticks_per_second();
        let fields = "0 ".repeat(18);
        tree.file("proc/40/stat", &format!("40 (ext4lazyinit) S {fields}{} 0 0\n", 100 * second));
        for (uptime, is_told) in [("103.02 60.1\n", false), ("140.50 70.0\n", true)] {
            tree.file("proc/uptime", uptime);
            assert_eq!(background_work(&tree.roots(), &ext4).len(), usize::from(is_told), "{uptime}");
        }
        assert!(background_work(&tree.roots(), &[layer(LayerKind::Filesystem, "xfs")]).is_empty());
    }

    #[test]
    fn a_resyncing_array_reports_its_progress() {
        let tree = Tree::new();
        let stack = [layer(LayerKind::Raid, "md0")];
        let work = || messages(background_work(&tree.roots(), &stack));
        tree.file(
            "proc/mdstat",
            "Personalities : [raid1]\nmd1 : active raid1 sdd1[1] sdc1[0]\n      [==>....]  check = 50.0% (1/2) finish=1min\n\
             md0 : active raid1 sdb1[1] sda1[0]\n      292945152 blocks [2/2] [UU]\n      [==>....]  resync = 12.6% (37/292) finish=127.5min\n\n",
        );
        assert_eq!(work(), ["md0 has background activity: resync, 12.6% done"]);
        tree.file("sys/class/block/md0/md/sync_action", "idle\n");
        assert_eq!(work(), Vec::<String>::new());
        tree.file("sys/class/block/md0/md/sync_action", "check\n");
        tree.file("sys/class/block/md0/md/sync_completed", "250 / 1000\n");
        assert_eq!(work(), ["md0 has background activity: check, 25 % done"]);
    }

    #[test]
    fn a_stack_with_missing_members_is_reported() {
        let tree = Tree::new();
        let mut pool = layer(LayerKind::Filesystem, "zfs");
        pool.facts.insert(fact::POOL.to_owned(), "tank".to_owned());
        let btrfs = layer(LayerKind::Filesystem, "btrfs");
        let stack = [layer(LayerKind::Raid, "md0"), btrfs, disk("sdb", (8, 16)), pool];
        tree.file("sys/class/block/md0/md/raid_disks", "3\n");
        let state = |degraded: u32, missing: u32, pool: &str| {
            tree.file("sys/class/block/md0/md/degraded", &format!("{degraded}\n"));
            tree.file("sys/fs/btrfs/aaaa/devices/sdb/dev", "8:16");
            tree.file("sys/fs/btrfs/aaaa/devinfo/1/missing", "0\n");
            tree.file("sys/fs/btrfs/aaaa/devinfo/2/missing", &format!("{missing}\n"));
            tree.file("proc/spl/kstat/zfs/tank/state", &format!("{pool}\n"));
            let reported = messages(degraded_layers(&tree.roots(), &stack));
            reported.iter().map(|message| message.split(';').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(state(0, 0, "ONLINE"), Vec::<String>::new());
        let all =
            ["md0 lacks 1 of its 3 members", "btrfs lacks 1 of its 2 members", "the pool tank is DEGRADED"];
        assert_eq!(state(1, 1, "DEGRADED"), all);
    }

    #[test]
    fn a_balancing_btrfs_is_reported_if_the_target_is_on_it() {
        let tree = Tree::new();
        let stack = [layer(LayerKind::Filesystem, "btrfs"), disk("sdb", (8, 16))];
        tree.file("sys/fs/btrfs/aaaa/devices/sdz/dev", "65:0");
        tree.file("sys/fs/btrfs/aaaa/exclusive_operation", "balance\n");
        tree.file("sys/fs/btrfs/bbbb/devices/sdb/dev", "8:16");
        tree.file("sys/fs/btrfs/bbbb/exclusive_operation", "none\n");
        assert!(background_work(&tree.roots(), &stack).is_empty());
        tree.file("sys/fs/btrfs/bbbb/exclusive_operation", "device replace\n");
        let reported = messages(background_work(&tree.roots(), &stack));
        assert_eq!(reported, ["btrfs has background activity: device replace"]);
    }

    #[test]
    fn powersave_is_reported_only_if_it_means_the_lowest_clock() {
        let tree = Tree::new();
        let policy = |driver: &str, governor: &str, preference: &str| {
            let place = "sys/devices/system/cpu/cpufreq/policy0";
            tree.file(&format!("{place}/scaling_driver"), driver);
            tree.file(&format!("{place}/scaling_governor"), governor);
            tree.file(&format!("{place}/energy_performance_preference"), preference);
            slowness(&tree.roots()).iter().map(|c| c.topic).collect::<Vec<_>>()
        };
        assert_eq!(policy("acpi-cpufreq", "powersave", ""), ["governor"]);
        assert!(policy("cpufreq-dt", "ondemand", "").is_empty());
        assert!(policy("intel_pstate", "powersave", "balance_performance").is_empty());
        assert_eq!(policy("amd-pstate-epp", "powersave", "power"), ["governor"]);
    }

    #[test]
    fn a_hot_and_a_busy_machine_are_no_place_to_measure() {
        let tree = Tree::new();
        let zone = "sys/class/thermal/thermal_zone0";
        tree.file(&format!("{zone}/type"), "cpu-thermal\n");
        tree.file(&format!("{zone}/temp"), "71500\n");
        let topics = |warmest| -> Vec<&str> {
            unfit(&tree.roots(), warmest, Duration::ZERO).iter().map(|concern| concern.topic).collect()
        };
        assert!(topics(None).is_empty());
        assert!(topics(Some(80.0)).is_empty());
        assert_eq!(topics(Some(70.0)), ["hot"]);
        let cpu = |user_ns: u64, idle_ns: u64| MachineCpu {
            user_ns,
            system_ns: 0,
            irq_ns: 0,
            steal_ns: 0,
            iowait_ns: 0,
            idle_ns,
        };
        assert_eq!(worked(&cpu(10, 10), &cpu(40, 20)), Some(0.75));
        assert_eq!(worked(&cpu(10, 10), &cpu(10, 10)), None);
    }

    #[test]
    fn the_battery_of_a_laptop_counts_but_not_of_a_mouse() {
        let tree = Tree::new();
        let battery = |name: &str, status: &str, scope: &str| {
            let place = format!("sys/class/power_supply/{name}");
            tree.file(&format!("{place}/type"), "Battery\n");
            tree.file(&format!("{place}/status"), status);
            tree.file(&format!("{place}/scope"), scope);
            slowness(&tree.roots()).iter().map(|c| c.topic).collect::<Vec<_>>()
        };
        assert!(battery("hidpp_battery_0", "Discharging\n", "Device\n").is_empty());
        assert!(battery("BAT0", "Charging\n", "System\n").is_empty());
        assert_eq!(battery("BAT0", "Discharging\n", "System\n"), ["battery"]);
    }

    #[test]
    fn a_throttled_board_is_reported() {
        let tree = Tree::new();
        tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "50000\n");
        assert!(slowness(&tree.roots()).is_empty(), "only present flags count");
        tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
        assert_eq!(slowness(&tree.roots())[0].topic, "throttled");
    }

    #[test]
    fn the_wall_clock_keeps_its_offset() {
        // The clock may be set between two readings.
        let pairs: Vec<(i64, i64)> =
            (0..10).map(|_| (wall_clock_ahead_ns(), wall_clock_ahead_ns())).collect();
        assert!(pairs.iter().any(|(first, second)| (first - second).abs() < CLOCK_STEP_NS), "{pairs:?}");
    }
}
