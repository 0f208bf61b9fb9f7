//! Detects slowed processors: by heat, or by an insufficient power supply.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::change_filter::{ChangeFilter, Counter, Sample, SeriesId};
use super::temperature::hwmon;
use super::{KernelFile, Probe, Reader, SLOW, Scene};
use crate::programs::ask;
use crate::stack::entries;
use crate::{Roots, read_line};

pub(super) const PROBE: Probe = Probe {
    name: "throttling",
    what: "throttle events of x86, throttle flags of a Raspberry Pi, cooling that slows processors",
    label: |key| match key {
        "core" | "package" => Some(format!("throttle events: {key}")),
        _ => Some(format!("throttling: {key}")),
    },
    pace: SLOW,
    begin: |scene, filter| {
        let throttling = Throttling {
            events: events(scene, filter),
            pi: pi_file(scene.roots)
                .map(|file| Pi { file: KernelFile::new(file), flags: PiFlags::new(filter) }),
            alarm: pi_alarm(scene.roots)
                .map(|file| (KernelFile::new(file), filter.series(UNDERVOLTAGE, "1"))),
            cooling: cooling(scene.roots)
                .into_iter()
                .filter_map(|c| {
                    Some((
                        KernelFile::readable(c.state)?,
                        c.most,
                        filter.series(format!("cooling.{}", c.kind), "1"),
                    ))
                })
                .collect(),
        };
        let is_used = !throttling.events.is_empty()
            || throttling.pi.is_some()
            || throttling.alarm.is_some()
            || !throttling.cooling.is_empty();
        is_used.then(|| Box::new(throttling) as Box<dyn Reader>)
    },
};

const UNDERVOLTAGE: &str = "undervoltage";
/// Flags that the firmware of a Raspberry Pi reports for the present.
const PI_FLAGS: [(&str, u32); 4] = [(UNDERVOLTAGE, 0), ("capped", 1), ("throttled", 2), ("soft_limit", 3)];
/// The same four flags since the last reset, 16 bits higher.
const PI_SEEN: u32 = 0xf_0000;
/// How long the firmware's program may take.
const LONGEST_ANSWER: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 500 });

struct Throttling {
    /// Events so far, summed over the files, with their rate.
    events: Vec<(Vec<KernelFile>, Counter)>,
    pi: Option<Pi>,
    /// The alarm of a Raspberry Pi whose kernel has no file with all flags.
    alarm: Option<(KernelFile, SeriesId)>,
    /// Cooling devices that slow processors, with their highest state.
    cooling: Vec<(KernelFile, f64, SeriesId)>,
}

struct Pi {
    file: KernelFile,
    flags: PiFlags,
}

/// The series of the flags of a Raspberry Pi.
pub(super) struct PiFlags {
    now: [SeriesId; PI_FLAGS.len()],
    seen: SeriesId,
}

impl PiFlags {
    pub fn new(filter: &mut ChangeFilter) -> Self {
        Self { now: PI_FLAGS.map(|(key, _)| filter.series(key, "1")), seen: filter.series("seen", "1") }
    }

    pub fn put(&self, sample: &mut Sample<'_>, flags: u32) {
        for (series, (_, bit)) in self.now.into_iter().zip(PI_FLAGS) {
            sample.put(series, f64::from(flags >> bit & 1));
        }
        sample.put(self.seen, f64::from(u8::from(flags & PI_SEEN != 0)));
    }
}

impl Reader for Throttling {
    fn read(&mut self, sample: &mut Sample<'_>) {
        for (files, counter) in &mut self.events {
            let events = files.iter_mut().filter_map(KernelFile::number::<u64>).sum();
            counter.put(sample, events, 1.0);
        }
        if let Some(pi) = &mut self.pi
            && let Some(flags) = pi.file.text().and_then(pi_flags)
        {
            pi.flags.put(sample, flags);
        }
        if let Some((file, series)) = &mut self.alarm
            && let Some(is_on) = file.number::<u8>()
        {
            sample.put(*series, f64::from(is_on.min(1)));
        }
        for (file, most, series) in &mut self.cooling {
            if let Some(state) = file.number::<f64>() {
                sample.put(*series, state / *most);
            }
        }
    }
}

/// x86 counters: per core, and per package, each of which is read once.
fn events(scene: &Scene<'_>, filter: &mut ChangeFilter) -> Vec<(Vec<KernelFile>, Counter)> {
    let (mut cores, mut packages, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for processor in entries(&scene.roots.sys.join("devices/system/cpu")) {
        let counts = processor.join("thermal_throttle");
        cores.extend(KernelFile::readable(counts.join("core_throttle_count")));
        let package = read_line(processor.join("topology/physical_package_id"));
        if !seen.contains(&package)
            && let Some(file) = KernelFile::readable(counts.join("package_throttle_count"))
        {
            seen.push(package);
            packages.push(file);
        }
    }
    let groups = [("core", cores), ("package", packages)].into_iter().filter(|(_, files)| !files.is_empty());
    groups.map(|(key, files)| (files, Counter::new(filter.series(key, "1/s")))).collect()
}

/// The firmware driver's file, whose path differs between models.
fn pi_file(roots: &Roots) -> Option<PathBuf> {
    let mut places = vec![roots.sys.join("devices/platform")];
    for _ in 0..3 {
        places = places.iter().flat_map(|place| entries(place)).filter(|place| place.is_dir()).collect();
        let firmware = places.iter().filter(|place| place.to_string_lossy().ends_with("firmware"));
        if let Some(file) = firmware.map(|place| place.join("get_throttled")).find(|file| file.exists()) {
            return Some(file);
        }
        // Only buses and their members; the rest of the tree is large.
        places
            .retain(|place| place.file_name().is_some_and(|name| name.to_string_lossy().starts_with("soc")));
    }
    None
}

/// Without [`pi_file`], the alarm for low voltage in the last two seconds, which every kernel for a Raspberry Pi has
/// (Documentation/hwmon/raspberrypi-hwmon.rst).
fn pi_alarm(roots: &Roots) -> Option<PathBuf> {
    if pi_file(roots).is_some() {
        return None;
    }
    let (place, _) = hwmon(roots).into_iter().find(|(_, name)| name == "rpi_volt")?;
    Some(place.join("in0_lcrit_alarm")).filter(|file| file.exists())
}

/// The flags of a Raspberry Pi as its firmware's program says them; `None` where the kernel has a file for them, or without an
/// answer. Owners of a Raspberry Pi 5 report that it has no such file; only the kernels of Raspberry Pi OS make it at all.
pub(super) fn asked(roots: &Roots) -> Option<u32> {
    if pi_file(roots).is_some() {
        return None;
    }
    let output = ask(roots, "vcgencmd", &["get_throttled"], LONGEST_ANSWER)?;
    pi_flags(output.text.trim().strip_prefix("throttled=")?)
}

/// The flags of a Raspberry Pi, by whatever tells most of them.
fn pi_flags_now(roots: &Roots) -> Option<u32> {
    let by_file = || pi_flags(&fs::read_to_string(pi_file(roots)?).ok()?);
    let by_alarm = || read_line(pi_alarm(roots)?)?.parse::<u32>().ok();
    by_file().or_else(|| asked(roots)).or_else(by_alarm)
}

/// Hexadecimal digits, on some kernels after `0x`.
fn pi_flags(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// A cooling device that slows processors.
struct Cooling {
    kind: String,
    state: PathBuf,
    most: f64,
}

fn cooling(roots: &Roots) -> Vec<Cooling> {
    let all = entries(&roots.sys.join("class/thermal")).into_iter();
    let found = all.filter_map(|place| {
        let kind = read_line(place.join("type"))?;
        let slows =
            ["cpufreq", "Processor", "cpuidle", "intel_powerclamp"].iter().any(|word| kind.contains(word));
        let most = read_line(place.join("max_state"))?.parse::<f64>().ok().filter(|most| *most > 0.0)?;
        slows.then(|| Cooling { kind, state: place.join("cur_state"), most })
    });
    found.collect()
}

/// What slows the processors now, each in a few words, and whether a Raspberry Pi has detected any of its reasons since boot.
pub(crate) fn throttled(roots: &Roots) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let flags = pi_flags_now(roots).unwrap_or(0);
    let words = ["supply voltage too low", "clock capped", "throttled", "too warm for the full clock"];
    found.extend(
        words.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, w)| (*w).to_owned()),
    );
    for device in cooling(roots) {
        let state = read_line(&device.state).and_then(|state| state.parse::<f64>().ok());
        // Powerclamp reads -1 when it is off.
        if state.is_some_and(|state| state > 0.0) {
            found.push(format!("cooling by {} is on", device.kind));
        }
    }
    (found, flags & PI_SEEN != 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn raspberry_pi_flags_are_read_from_any_firmware_path() {
        for place in ["soc/soc:firmware", "soc@107c000000/soc@107c000000:firmware"] {
            let tree = Tree::new();
            assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
            let file = format!("sys/devices/platform/{place}/get_throttled");
            tree.file(&file, "0\n");
            let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
            assert_eq!(
                probe.at(0),
                ["undervoltage 0 1", "capped 0 1", "throttled 0 1", "soft_limit 0 1", "seen 0 1"]
            );
            assert!(throttled(&tree.roots()).0.is_empty());
            tree.file(&file, "50005\n");
            assert_eq!(probe.at(5), ["undervoltage 1 1", "throttled 1 1", "seen 1 1"]);
            assert_eq!(throttled(&tree.roots()).0.len(), 2);
            tree.file(&file, "0x80008\n");
            assert_eq!(probe.at(10), ["undervoltage 0 1", "throttled 0 1", "soft_limit 1 1"]);
        }
    }

    #[test]
    fn without_a_file_for_its_flags_a_raspberry_pi_has_an_alarm() {
        let tree = Tree::new();
        tree.file("sys/class/hwmon/hwmon0/name", "cpu_thermal\n");
        tree.file("sys/class/hwmon/hwmon1/name", "rpi_volt\n");
        tree.file("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "0\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["undervoltage 0 1"]);
        assert!(throttled(&tree.roots()).0.is_empty());
        tree.file("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
        assert_eq!(probe.at(5), ["undervoltage 1 1"]);
        assert_eq!(throttled(&tree.roots()).0, ["supply voltage too low"]);
        assert!(!throttled(&tree.roots()).1);
        tree.program("vcgencmd", "throttled=0xe0006\n", 0);
        assert_eq!(throttled(&tree.roots()).0, ["clock capped", "throttled"]);
        assert!(throttled(&tree.roots()).1);
    }

    #[test]
    fn throttle_events_count_each_package_once() {
        let tree = Tree::new();
        let processor = |number: u32, core: u64, package: u64| {
            let place = format!("sys/devices/system/cpu/cpu{number}");
            tree.file(&format!("{place}/thermal_throttle/core_throttle_count"), &format!("{core}\n"));
            tree.file(&format!("{place}/thermal_throttle/package_throttle_count"), &format!("{package}\n"));
            tree.file(&format!("{place}/topology/physical_package_id"), "0\n");
        };
        processor(0, 5, 9);
        processor(1, 5, 9);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        probe.at(0);
        processor(0, 15, 29);
        processor(1, 25, 29);
        assert_eq!(probe.at(10), ["core 3 1/s", "package 2 1/s"]);
    }

    #[test]
    fn only_cooling_that_slows_processors_counts() {
        let tree = Tree::new();
        let device = |number: u32, kind: &str, state: &str| {
            let place = format!("sys/class/thermal/cooling_device{number}");
            tree.file(&format!("{place}/type"), kind);
            tree.file(&format!("{place}/max_state"), "4\n");
            tree.file(&format!("{place}/cur_state"), state);
        };
        device(0, "thermal-cpufreq-0\n", "1\n");
        device(1, "pwm-fan\n", "3\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["cooling.thermal-cpufreq-0 0.25 1"]);
        assert_eq!(throttled(&tree.roots()).0, ["cooling by thermal-cpufreq-0 is on"]);
        device(0, "thermal-cpufreq-0\n", "0\n");
        assert!(throttled(&tree.roots()).0.is_empty());
    }
}
