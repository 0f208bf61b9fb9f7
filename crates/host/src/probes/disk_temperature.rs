//! Temperatures of the disks. A query is a command to the disk, and a SATA disk finishes everything in its queue
//! before it responds: therefore disks are queried only between repeats.

use std::fs;
use std::path::PathBuf;

use model::Layer;

use super::temperature::{Sensor, Temperatures, hwmon, sensors};
use super::{Pace, Probe, Scene};
use crate::Roots;

pub(super) const PROBE: Probe = Probe {
    name: "disk_temperature",
    what: "temperatures of the stacks' disks, between repeats",
    label: |key| Some(format!("temperature: {key}")),
    pace: Pace::BetweenRepeats,
    begin: |scene, filter| Temperatures::over(disks(scene), filter),
};

/// hwmon drivers of disks.
const DISKS: [&str; 2] = ["nvme", "drivetemp"];

/// Paths of the temperatures of these layers' disks, in thousandths of a degree Celsius.
pub(crate) fn disk_sensors(roots: &Roots, layers: &[Layer]) -> Vec<PathBuf> {
    disks(&Scene { roots, layers }).into_iter().map(|sensor| sensor.path).collect()
}

fn disks(scene: &Scene<'_>) -> Vec<Sensor> {
    let mut found: Vec<Sensor> = Vec::new();
    let all: Vec<(PathBuf, String, PathBuf)> = hwmon(scene.roots)
        .into_iter()
        .filter(|(_, name)| DISKS.contains(&name.as_str()))
        .filter_map(|(place, name)| fs::canonicalize(place.join("device")).ok().map(|of| (place, name, of)))
        .collect();
    for layer in scene.layers {
        let Some((major, minor)) = layer.device else { continue };
        let link = scene.roots.sys.join(format!("dev/block/{major}:{minor}"));
        let Ok(disk) = fs::canonicalize(link) else { continue };
        for (place, _, _) in all.iter().filter(|(_, name, of)| is_of(&disk, name, of)) {
            let new = sensors(place, &layer.name);
            found.extend(
                new.into_iter()
                    .filter(|sensor| found.iter().all(|s| s.path != sensor.path))
                    .collect::<Vec<_>>(),
            );
        }
    }
    found
}

/// True if the hwmon device of a driver at `of` belongs to the disk: the disk is below it or, for an NVMe disk
/// with several paths, which is elsewhere, is named after it.
fn is_of(disk: &std::path::Path, driver: &str, of: &std::path::Path) -> bool {
    if disk.starts_with(of) {
        // A partition is below its disk, which is examined as well.
        return !disk.join("partition").exists();
    }
    let (Some(disk), Some(of)) = (disk.file_name(), of.file_name()) else { return false };
    let rest = disk.to_str().zip(of.to_str()).and_then(|(disk, of)| disk.strip_prefix(of)?.strip_prefix('n'));
    driver == "nvme" && rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::{Tree, disk};

    #[test]
    fn each_disk_has_its_own_sensors_and_others_are_ignored() {
        let tree = Tree::new();
        let disks = [
            ("8:0", "sys/devices/pci0/ata1/0:0:0:0/block/sda", "sys/devices/pci0/ata1/0:0:0:0", "drivetemp"),
            (
                "259:0",
                "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
                "sys/devices/pci1/nvme/nvme0",
                "nvme",
            ),
            ("8:16", "sys/devices/pci0/ata2/0:0:0:0/block/sdb", "sys/devices/pci0/ata2/0:0:0:0", "drivetemp"),
        ];
        for (i, (number, place, owner, driver)) in disks.iter().enumerate() {
            tree.link(&format!("sys/dev/block/{number}"), place);
            let hwmon = format!("sys/class/hwmon/hwmon{i}");
            tree.file(&format!("{hwmon}/name"), driver);
            tree.file(&format!("{hwmon}/temp1_input"), &format!("3{i}000\n"));
            tree.link(&format!("{hwmon}/device"), owner);
        }
        tree.file("sys/class/hwmon/hwmon1/temp1_label", "Composite\n");
        tree.link("sys/dev/block/8:1", "sys/devices/pci0/ata1/0:0:0:0/block/sda/sda1");
        tree.file("sys/devices/pci0/ata1/0:0:0:0/block/sda/sda1/partition", "1\n");
        let layers = [disk("sda1", (8, 1)), disk("sda", (8, 0)), disk("nvme0n1", (259, 0))];
        let mut probe = Driven::begin(&PROBE, &tree, &layers).unwrap();
        assert_eq!(probe.at(0), ["sda.temp1 30 °C", "nvme0n1.Composite 31 °C"]);
        assert_eq!(PROBE.pace, Pace::BetweenRepeats);
    }
}
