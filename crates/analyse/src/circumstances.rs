//! Differences between the circumstances of two runs: machine, storage, temperature. They may explain a figure that
//! changed.
//!
//! Only facts that both runs know are compared: a cipher that only the run made as root knows is no difference.

use std::collections::BTreeMap;

use model::{Host, Layer, Run, Target, fact};

/// The kernel's total memory varies slightly from boot to boot; a difference is reported from this share on.
const MEMORY_SHARE: f64 = 0.01;
/// A temperature difference is reported above this many °C.
const WARMER: f64 = 5.0;

/// The value of an absent fact.
pub const ABSENT: &str = "no";

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The target, by its name in the second run; `None` for the machine.
    pub target: Option<String>,
    /// The layer of its stack, or the sensor.
    pub layer: Option<String>,
    /// The name of a fact, such as `scheduler`, or `kernel`, `memory`, `stack`, `options`, `temperature`.
    pub what: String,
    /// Its value in the first run, in the fact's own unit.
    pub before: String,
    /// Its value in the second run.
    pub after: String,
}

/// The differences between the circumstances of two runs: of the machine first, then of each target from the top down,
/// then temperatures at the start that are more than 5 °C apart.
pub fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let mut found = Vec::new();
    if a.started.version != b.started.version {
        let [before, after] = [a, b].map(|run| run.started.version.clone());
        found.push(Difference { target: None, layer: None, what: "version".to_owned(), before, after });
    }
    for (x, y) in machines(a, b) {
        machine(x, y, &mut found);
    }
    for (before, after) in pairs(&a.started.targets, &b.started.targets) {
        let mut of_target = Vec::new();
        stacks(before, after, &mut of_target);
        for difference in of_target {
            // A layer below several targets is reported once.
            let same = |known: &&Difference| {
                (&known.layer, &known.what, &known.before, &known.after)
                    == (&difference.layer, &difference.what, &difference.before, &difference.after)
            };
            if !found.iter().any(|known| same(&known)) {
                found.push(difference);
            }
        }
    }
    temperatures(a, b, &mut found);
    found
}

/// The machines that two runs share, by name; of runs on one machine each, these.
fn machines<'a>(a: &'a Run, b: &'a Run) -> Vec<(&'a Host, &'a Host)> {
    let (x, y) = (a.started.machines(), b.started.machines());
    if let ([before], [after]) = (x.as_slice(), y.as_slice()) {
        return vec![(a.started.machine(*before), b.started.machine(*after))];
    }
    let named =
        |after: &u32| x.iter().find(|x| a.started.machine_name(**x) == b.started.machine_name(*after));
    let pair = |after: &u32| Some((a.started.machine(*named(after)?), b.started.machine(*after)));
    y.iter().filter_map(pair).collect()
}

fn machine(x: &Host, y: &Host, found: &mut Vec<Difference>) {
    let mut report = |what: &str, before: String, after: String| {
        if before != after {
            found.push(Difference { target: None, layer: None, what: what.to_owned(), before, after });
        }
    };
    if x.id != y.id {
        // Two installations with the same name are two machines.
        let name = |host: &Host| format!("{} ({})", host.name, host.id);
        report("machine", name(x), name(y));
    }
    report("kernel", x.kernel.clone(), y.kernel.clone());
    report("architecture", x.architecture.clone(), y.architecture.clone());
    report("cpu", x.cpu.clone(), y.cpu.clone());
    report("cpus", x.cpus.to_string(), y.cpus.to_string());
    let most = x.memory_bytes.max(y.memory_bytes) as f64;
    if x.memory_bytes.abs_diff(y.memory_bytes) as f64 > MEMORY_SHARE * most {
        report("memory", x.memory_bytes.to_string(), y.memory_bytes.to_string());
    }
    for (what, before, after) in [("board", &x.board, &y.board), ("os", &x.os, &y.os)] {
        if let (Some(before), Some(after)) = (before, after) {
            report(what, before.clone(), after.clone());
        }
    }
    for (what, before, after) in changed(&x.facts, &y.facts) {
        report(&what, before, after);
    }
}

/// Facts that both sides have and that differ. Those that are there only if they apply count as "no" where they are absent, if
/// both sides have any facts at all.
fn changed(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<(String, String, String)> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let value = |facts: &BTreeMap<String, String>, name: &str| {
        let absent = || fact::known(name).filter(|fact| fact.absent_is_no).map(|_| ABSENT.to_owned());
        facts.get(name).cloned().or_else(absent)
    };
    let both = names.into_iter().filter_map(|name| Some((name.clone(), value(a, name)?, value(b, name)?)));
    both.filter(|(_, before, after)| before != after).collect()
}

/// Pairs of targets with the same name; if each run has only one target, these two, whatever their names.
fn pairs<'a>(a: &'a [Target], b: &'a [Target]) -> Vec<(&'a Target, &'a Target)> {
    if let ([before], [after]) = (a, b) {
        return vec![(before, after)];
    }
    b.iter().filter_map(|after| Some((a.iter().find(|before| before.name == after.name)?, after))).collect()
}

fn stacks(a: &Target, b: &Target, found: &mut Vec<Difference>) {
    let shape = |target: &Target| -> Vec<_> {
        target
            .stack
            .iter()
            .map(|layer| (layer.level, layer.kind, filesystem(layer).map(str::to_owned)))
            .collect()
    };
    let alike = shape(a) == shape(b);
    if !alike {
        found.push(Difference {
            target: Some(b.name.clone()),
            layer: None,
            what: "stack".to_owned(),
            before: a.stack_line(),
            after: b.stack_line(),
        });
    }
    if a.direct != b.direct {
        let word = |direct: bool| if direct { "possible" } else { "refused" }.to_owned();
        found.push(Difference {
            target: Some(b.name.clone()),
            layer: None,
            what: "direct I/O".to_owned(),
            before: word(a.direct),
            after: word(b.direct),
        });
    }
    for (i, after) in b.stack.iter().enumerate() {
        // Names of disks differ between boots; in stacks of the same shape the position identifies the layer.
        let before = match alike {
            true => a.stack.get(i),
            false => a.stack.iter().find(|layer| (layer.kind, &layer.name) == (after.kind, &after.name)),
        };
        if let Some(before) = before {
            layers(before, after, &b.name, found);
        }
    }
}

/// A filesystem's name is its type; a device's name identifies nothing.
fn filesystem(layer: &Layer) -> Option<&str> {
    layer.device.is_none().then_some(layer.name.as_str())
}

fn layers(a: &Layer, b: &Layer, target: &str, found: &mut Vec<Difference>) {
    for (what, before, after) in changed(&a.facts, &b.facts) {
        if fact::known(&what).is_some_and(|fact| fact.is_location || fact.is_fleeting) {
            continue;
        }
        let (before, after) = match what.as_str() {
            fact::OPTIONS => (only_in(&before, &after), only_in(&after, &before)),
            _ => (before, after),
        };
        // The order of options does not matter.
        if before != after {
            let (target, layer) = (Some(target.to_owned()), Some(b.name.clone()));
            found.push(Difference { target, layer, what, before, after });
        }
    }
}

/// The mount options that only the first list has.
fn only_in(options: &str, other: &str) -> String {
    let other: Vec<&str> = other.split(',').collect();
    let own: Vec<&str> = options.split(',').filter(|option| !other.contains(option)).collect();
    own.join(",")
}

fn temperatures(a: &Run, b: &Run, found: &mut Vec<Difference>) {
    let (before, after) = (at_start(a), at_start(b));
    for (sensor, (target, warm)) in after {
        let Some((_, cool)) = before.get(&sensor) else { continue };
        if (warm - cool).abs() > WARMER {
            found.push(Difference {
                target,
                layer: Some(sensor.2),
                what: fact::TEMPERATURE.to_owned(),
                before: cool.to_string(),
                after: warm.to_string(),
            });
        }
    }
}

/// The first reading of each sensor, by machine, probe and key, with the target whose disk it measures.
fn at_start(run: &Run) -> BTreeMap<(u32, String, String), (Option<String>, f64)> {
    let mut first: BTreeMap<(u32, String, String), (u64, f64)> = BTreeMap::new();
    for reading in
        run.readings.iter().filter(|r| matches!(r.probe.as_str(), "temperature" | "disk_temperature"))
    {
        let sensor = (reading.host, reading.probe.clone(), reading.key.clone());
        let known = first.entry(sensor).or_insert((reading.at_ns, reading.value));
        if reading.at_ns < known.0 {
            *known = (reading.at_ns, reading.value);
        }
    }
    let target = |host: u32, probe: &str, key: &str| {
        let disk = key.split('.').next().filter(|_| probe == "disk_temperature")?;
        let on =
            |target: &&Target| target.host == host && target.stack.iter().any(|layer| layer.name == disk);
        run.started.targets.iter().find(on).map(|target| target.name.clone())
    };
    first
        .into_iter()
        .map(|(sensor, (_, value))| {
            let of = target(sensor.0, &sensor.1, &sensor.2);
            (sensor, (of, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{run, workload};
    use model::{LayerKind, Reading};

    fn layer(kind: LayerKind, name: &str, level: u32, facts: &[(&str, &str)]) -> Layer {
        Layer {
            kind,
            name: name.into(),
            level,
            device: (kind != LayerKind::Filesystem).then_some((8, level)),
            facts: facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        }
    }

    /// A run on ext4 on a SATA disk.
    fn base() -> Run {
        let mut run = run(workload());
        run.started.targets[0].stack = vec![
            layer(
                LayerKind::Filesystem,
                "ext4",
                0,
                &[("options", "rw,relatime"), ("mount point", "/mnt"), ("source", "/dev/sda")],
            ),
            layer(
                LayerKind::Disk,
                "sda",
                1,
                &[
                    ("scheduler", "mq-deadline"),
                    ("link speed", "6000000000"),
                    ("serial", "456X"),
                    ("temperature", "30"),
                    ("power-on hours", "10"),
                ],
            ),
        ];
        run.started.host.facts =
            [("governor", "performance"), ("swap", "0")].map(|(k, v)| (k.into(), v.into())).into();
        run.readings = vec![
            reading("temperature", "cpu-thermal", 0, 40.0),
            reading("disk_temperature", "sda.temp1", 0, 30.0),
        ];
        run
    }

    fn reading(probe: &str, key: &str, at_ns: u64, value: f64) -> Reading {
        Reading { at_ns, probe: probe.into(), key: key.into(), value, unit: "°C".into(), host: 0 }
    }

    fn disk(run: &mut Run) -> &mut BTreeMap<String, String> {
        &mut run.started.targets[0].stack[1].facts
    }

    fn words(a: &Run, b: &Run) -> Vec<String> {
        let word = |d: Difference| {
            let layer = d.layer.map_or_else(String::new, |layer| format!("{layer} "));
            format!("{layer}{}: {} → {}", d.what, d.before, d.after)
        };
        differences(a, b).into_iter().map(word).collect()
    }

    #[test]
    fn changes_are_reported() {
        type Change = fn(&mut Run);
        let cases: [(Change, &str); 18] = [
            (|r| r.started.host.kernel = "6.99".into(), "kernel: 6.18 → 6.99"),
            (|r| r.started.host.architecture = "aarch64".into(), "architecture: x86_64 → aarch64"),
            (|r| r.started.host.cpu = "Other".into(), "cpu: Test → Other"),
            (|r| r.started.host.memory_bytes *= 2, "memory: 1073741824 → 2147483648"),
            (|r| r.started.host.board = Some("Pi 5".into()), "board: Pi 4 → Pi 5"),
            (|r| r.started.version = "9".into(), "version: 0.1.0 → 9"),
            (
                |r| drop(r.started.host.facts.insert("governor".into(), "powersave".into())),
                "governor: performance → powersave",
            ),
            (
                |r| drop(r.started.host.facts.insert("virtualisation".into(), "kvm".into())),
                "virtualisation: no → kvm",
            ),
            (
                |r| drop(disk(r).insert("scheduler".into(), "none".into())),
                "sda scheduler: mq-deadline → none",
            ),
            (
                |r| drop(disk(r).insert("link speed".into(), "1500000000".into())),
                "sda link speed: 6000000000 → 1500000000",
            ),
            (|r| drop(disk(r).insert("serial".into(), "999Y".into())), "sda serial: 456X → 999Y"),
            (|r| drop(disk(r).insert("degraded".into(), "1".into())), "sda degraded: no → 1"),
            (
                |r| {
                    drop(
                        r.started.targets[0].stack[0]
                            .facts
                            .insert("options".into(), "noatime,rw,discard".into()),
                    )
                },
                "ext4 options: relatime → noatime,discard",
            ),
            (|r| r.started.targets[0].stack[0].name = "xfs".into(), "stack: ext4 on sda → xfs on sda"),
            (|r| r.started.targets[0].direct = false, "direct I/O: possible → refused"),
            (|r| r.readings[0].value = 45.5, "cpu-thermal temperature: 40 → 45.5"),
            (|r| r.readings[1].value = 21.0, "sda.temp1 temperature: 30 → 21"),
            (
                |r| {
                    r.started.host.id = "other".into();
                    r.started.host.name = "b".into();
                },
                "machine: a (here) → b (other)",
            ),
        ];
        let mut a = base();
        a.started.host = Host {
            id: "here".into(),
            name: "a".into(),
            kernel: "6.18".into(),
            architecture: "x86_64".into(),
            cpu: "Test".into(),
            cpus: 2,
            memory_bytes: 1 << 30,
            board: Some("Pi 4".into()),
            os: None,
            facts: a.started.host.facts.clone(),
        };
        a.started.version = "0.1.0".into();
        a.started.targets[0].direct = true;
        for (change, expected) in cases {
            let mut b = a.clone();
            change(&mut b);
            assert_eq!(words(&a, &b), [expected]);
        }
    }

    #[test]
    fn irrelevant_changes_are_not_reported() {
        type Change = fn(&mut Run);
        let cases: [(Change, &str); 11] = [
            (|_| {}, "nothing changed"),
            (|r| r.started.host.memory_bytes += 4096, "memory differs from boot to boot"),
            (|r| r.started.targets[0].free_bytes /= 2, "free space"),
            (|r| drop(disk(r).insert("temperature".into(), "50".into())), "a temperature from SMART"),
            (|r| drop(disk(r).insert("power-on hours".into(), "11".into())), "time goes by"),
            (|r| drop(disk(r).insert("firmware".into(), "2".into())), "the other run did not know it"),
            (|r| r.started.targets[0].stack[1].name = "sdb".into(), "the same disk after a boot"),
            (
                |r| drop(r.started.targets[0].stack[0].facts.insert("options".into(), "relatime,rw".into())),
                "options in another order",
            ),
            (
                |r| drop(r.started.targets[0].stack[0].facts.insert("mount point".into(), "/media".into())),
                "another mount point",
            ),
            (|r| r.readings[0].value = 44.9, "hardly warmer"),
            (
                |r| {
                    r.readings.push(reading("temperature", "cpu-thermal", 5, 90.0));
                },
                "warmer later",
            ),
        ];
        for (change, why) in cases {
            let (a, mut b) = (base(), base());
            change(&mut b);
            assert_eq!(words(&a, &b), Vec::<String>::new(), "{why}");
            assert_eq!(words(&b, &a), Vec::<String>::new(), "{why}");
        }
        let (a, mut b) = (base(), base());
        b.started.host.facts.clear();
        assert!(words(&a, &b).is_empty(), "a log from before there were such facts");
    }

    #[test]
    fn shared_layers_are_reported_once_and_by_target_name() {
        let two = |scheduler: &str| {
            let mut run = base();
            disk(&mut run).insert("scheduler".into(), scheduler.into());
            let mut second = run.started.targets[0].clone();
            second.name = "second".into();
            run.started.targets.push(second);
            run
        };
        let (a, mut b) = (two("none"), two("bfq"));
        assert_eq!(words(&a, &b), ["sda scheduler: none → bfq"]);
        b.started.targets.iter_mut().for_each(|target| target.name.push('x'));
        assert!(words(&a, &b).is_empty());
    }
}
