//! Temperatures of the processors, from thermal zones and hwmon.

use std::fs;
use std::path::{Path, PathBuf};

use super::change_filter::{ChangeFilter, Sample, SeriesId};
use super::{KernelFile, Probe, Reader, SLOW};
use crate::stack::entries;
use crate::{Roots, read_line};

pub(super) const PROBE: Probe = Probe {
    name: "temperature",
    what: "temperatures of processors and of the board's thermal zones",
    label: |key| Some(format!("temperature: {key}")),
    pace: SLOW,
    begin: |scene, filter| {
        let mut found = zones(scene.roots);
        found.extend(processors(scene.roots));
        Temperatures::over(found, filter)
    },
};

/// hwmon drivers of processors.
const PROCESSORS: [&str; 6] =
    ["coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal", "scpi_sensors"];
/// Sensors of whole processors, by the names that these drivers use. If one exists, those of single cores are
/// omitted: they would fill the log.
const WHOLE: [&str; 3] = ["Package", "Tctl", "Tdie"];

/// A temperature sensor.
#[derive(Debug)]
pub(super) struct Sensor {
    /// Its display name.
    pub key: String,
    /// In thousandths of a degree Celsius.
    pub path: PathBuf,
}

/// Sensors that are read in turn.
pub(super) struct Temperatures(Vec<(KernelFile, SeriesId)>);

impl Temperatures {
    /// Reads those sensors that are readable.
    pub fn over(sensors: Vec<Sensor>, filter: &mut ChangeFilter) -> Option<Box<dyn Reader>> {
        let mut watched: Vec<(KernelFile, SeriesId)> = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        for sensor in sensors {
            let Some(file) = KernelFile::readable(sensor.path) else { continue };
            // Two sockets or zones of one kind have the same name.
            let same = keys.iter().filter(|key| **key == sensor.key).count();
            let key = if same > 0 { format!("{}#{}", sensor.key, same + 1) } else { sensor.key.clone() };
            keys.push(sensor.key);
            watched.push((file, filter.series(key, "°C")));
        }
        (!watched.is_empty()).then(|| Box::new(Self(watched)) as Box<dyn Reader>)
    }
}

impl Reader for Temperatures {
    fn read(&mut self, sample: &mut Sample<'_>) {
        for (file, series) in &mut self.0 {
            if let Some(thousandths) = file.number::<i64>() {
                sample.put(*series, thousandths as f64 / 1000.0);
            }
        }
    }
}

/// The warmest sensor of the processors and the board, with its temperature in °C.
pub(crate) fn hottest(roots: &Roots) -> Option<(String, f64)> {
    let all = zones(roots).into_iter().chain(processors(roots));
    let read = |sensor: Sensor| {
        let thousandths: f64 = read_line(&sensor.path)?.parse().ok()?;
        Some((sensor.key, thousandths / 1000.0))
    };
    all.filter_map(read).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn zones(roots: &Roots) -> Vec<Sensor> {
    let zones = entries(&roots.sys.join("class/thermal")).into_iter();
    let sensor = |zone: PathBuf| Some(Sensor { key: read_line(zone.join("type"))?, path: zone.join("temp") });
    zones.filter(|path| named(path, "thermal_zone")).filter_map(sensor).collect()
}

fn processors(roots: &Roots) -> Vec<Sensor> {
    let mut found = Vec::new();
    for (place, name) in hwmon(roots).into_iter().filter(|(_, name)| PROCESSORS.contains(&name.as_str())) {
        // A thermal zone also appears as hwmon.
        let device = fs::canonicalize(place.join("device")).unwrap_or_default();
        if device.iter().any(|part| part.to_string_lossy().starts_with("thermal_zone")) {
            continue;
        }
        let sensors = sensors(&place, &name);
        let is_whole = |sensor: &Sensor| WHOLE.iter().any(|whole| sensor.key.contains(whole));
        let has_whole = sensors.iter().any(is_whole);
        found.extend(sensors.into_iter().filter(|sensor| !has_whole || is_whole(sensor)));
    }
    found
}

/// The hwmon devices with the names of their drivers.
pub(super) fn hwmon(roots: &Roots) -> Vec<(PathBuf, String)> {
    let all = entries(&roots.sys.join("class/hwmon")).into_iter();
    all.filter_map(|place| read_line(place.join("name")).map(|name| (place, name))).collect()
}

/// The sensors of one hwmon device, named `name.label`.
pub(super) fn sensors(place: &Path, name: &str) -> Vec<Sensor> {
    let mut found = Vec::new();
    for path in entries(place) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(number) = file.strip_prefix("temp").and_then(|rest| rest.strip_suffix("_input")) else {
            continue;
        };
        let label = read_line(place.join(format!("temp{number}_label")));
        let label = label.unwrap_or_else(|| format!("temp{number}"));
        found.push(Sensor { key: format!("{name}.{label}"), path: path.clone() });
    }
    found
}

fn named(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn thermal_zones_of_boards_are_read_once() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none());
        tree.file("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        tree.file("sys/class/thermal/thermal_zone0/temp", "48312\n");
        tree.file("sys/class/thermal/cooling_device0/type", "fan\n");
        tree.file("sys/class/hwmon/hwmon0/name", "cpu_thermal\n");
        tree.file("sys/class/hwmon/hwmon0/temp1_input", "48312\n");
        tree.link("sys/class/hwmon/hwmon0/device", "sys/devices/virtual/thermal/thermal_zone0");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(probe.at(0), ["cpu-thermal 48.31 °C"]);
        tree.file("sys/class/thermal/thermal_zone0/temp", "-1500\n");
        assert_eq!(probe.at(5), ["cpu-thermal -1.5 °C"]);
    }

    #[test]
    fn a_processor_with_many_cores_is_read_as_a_whole() {
        let tree = Tree::new();
        for socket in 0..2 {
            let place = format!("sys/class/hwmon/hwmon{socket}");
            tree.file(&format!("{place}/name"), "coretemp\n");
            tree.file(&format!("{place}/temp1_label"), "Package id 0\n");
            tree.file(&format!("{place}/temp1_input"), &format!("6{socket}000\n"));
            tree.file(&format!("{place}/temp2_label"), "Core 0\n");
            tree.file(&format!("{place}/temp2_input"), "55000\n");
        }
        tree.file("sys/class/hwmon/hwmon2/name", "iwlwifi_1\n");
        tree.file("sys/class/hwmon/hwmon2/temp1_input", "30000\n");
        tree.file("sys/class/hwmon/hwmon3/name", "k10temp\n");
        tree.file("sys/class/hwmon/hwmon3/temp1_input", "70125\n");
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        let expected =
            ["coretemp.Package id 0 60 °C", "coretemp.Package id 0#2 61 °C", "k10temp.temp1 70.13 °C"];
        assert_eq!(probe.at(0), expected);
    }
}
