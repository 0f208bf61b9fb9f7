//! Health of a disk, from `smartctl --json` (smartmontools 7 and later).

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Layer, fact};
use serde_json::Value;

use crate::programs::{ask, find};
use crate::stack::is_asked_for_health;
use crate::{Roots, read_line};

/// A disk behind a bad cable may block smartctl for a long time.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 5 });
/// No disk works outside this range, in °C; SCSI disks without a sensor report 0.
const BELIEVABLE: std::ops::RangeInclusive<f64> = 1.0..=120.0;

/// Why a disk's health is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unknown {
    /// smartctl is not installed.
    NotInstalled,
    /// Root is required.
    NotPermitted,
    /// smartctl does not support this bridge.
    Bridge,
    /// The disk reports no health, or did not respond in time.
    Silent,
}

/// Adds health and temperature to the disks among these layers, and queries each disk once, however many stacks
/// it is in. Returns each disk of unknown health with the reason.
pub(crate) fn add_once<'a>(
    roots: &Roots,
    layers: impl Iterator<Item = &'a mut Layer>,
) -> Vec<(String, Unknown)> {
    let mut known: BTreeMap<(u32, u32), BTreeMap<String, String>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for layer in layers {
        let Some(device) = layer.device else { continue };
        if let Some(facts) = known.get(&device) {
            layer.facts = facts.clone();
            continue;
        }
        unknown.extend(add_health(roots, std::slice::from_mut(layer)));
        add_temperature(roots, std::slice::from_mut(layer));
        known.insert(device, layer.facts.clone());
    }
    unknown
}

/// Adds the health that the disks among these layers report. Sleeping disks are not woken. Returns each disk of
/// unknown health with the reason.
fn add_health(roots: &Roots, layers: &mut [Layer]) -> Vec<(String, Unknown)> {
    let mut unknown = Vec::new();
    for layer in layers.iter_mut().filter(|layer| is_asked_for_health(layer)) {
        match health(roots, &layer.name) {
            // The kernel's facts take precedence: through a bridge, smartctl may report the disk or the bridge.
            Ok(facts) => {
                for (name, value) in facts {
                    layer.facts.entry(name).or_insert(value);
                }
            }
            Err(why) => unknown.push((layer.name.clone(), why)),
        }
    }
    unknown
}

fn health(roots: &Roots, disk: &str) -> Result<BTreeMap<String, String>, Unknown> {
    if find(roots, "smartctl").is_none() {
        return Err(Unknown::NotInstalled);
    }
    let node = format!("/dev/{disk}");
    // For a sleeping disk, `-n standby` ends without a command to it.
    let output =
        ask(roots, "smartctl", &["--json", "-n", "standby", "-a", &node], TIMEOUT).ok_or(Unknown::Silent)?;
    parse(&output.text)
}

/// The facts in smartctl's output. Its exit code is a set of flags, some of which only describe the past, so the
/// text alone decides.
fn parse(json: &str) -> Result<BTreeMap<String, String>, Unknown> {
    let json: Value = serde_json::from_str(json).map_err(|_| Unknown::Silent)?;
    if let Some(known) = complaint(&json) {
        return known;
    }
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        value.into_iter().for_each(|value| drop(facts.insert(name.to_owned(), value)));
    };
    let whole = |value: &Value| value.as_u64().map(|n| n.to_string());
    let passed = json["smart_status"]["passed"].as_bool();
    put(fact::HEALTH, passed.map(|passed| if passed { "passed" } else { "failed" }.to_owned()));
    let temperature = json["temperature"]["current"].as_f64().filter(|c| BELIEVABLE.contains(c));
    put(fact::TEMPERATURE, temperature.map(|celsius| celsius.to_string()));
    put(fact::HOURS, whole(&json["power_on_time"]["hours"]));
    let nvme = &json["nvme_smart_health_information_log"];
    put(
        fact::WEAR,
        whole(&nvme["percentage_used"]).or_else(|| whole(&json["scsi_percentage_used_endurance_indicator"])),
    );
    put(fact::SPARE, whole(&nvme["available_spare"]));
    put(fact::LEAST_SPARE, whole(&nvme["available_spare_threshold"]));
    put(fact::MEDIA_ERRORS, whole(&nvme["media_errors"]));
    // Reallocated sectors, pending sectors, cable errors: 5, 197 and 199 with all vendors.
    put(fact::REALLOCATED, attribute(&json, 5).or_else(|| whole(&json["scsi_grown_defect_list"])));
    put(fact::PENDING, attribute(&json, 197));
    put(fact::LINK_ERRORS, attribute(&json, 199));
    let rotation = json["rotation_rate"].as_u64();
    put(fact::ROTATION_RATE, rotation.map(|rpm| if rpm == 0 { "none".to_owned() } else { rpm.to_string() }));
    put(fact::FIRMWARE, json["firmware_version"].as_str().map(str::to_owned));
    put("model behind the bridge", json["model_name"].as_str().map(str::to_owned));
    for (name, which) in [(fact::DISK_LINK_SPEED, "current"), (fact::DISK_HIGHEST_LINK_SPEED, "max")] {
        let speed = &json["interface_speed"][which];
        let bits = speed["units_per_second"].as_u64().zip(speed["bits_per_unit"].as_u64());
        put(name, bits.map(|(units, bits)| units.saturating_mul(bits).to_string()));
    }
    if facts.is_empty() { Err(Unknown::Silent) } else { Ok(facts) }
}

/// The meaning of a message with which smartctl declined or failed to query the disk.
fn complaint(json: &Value) -> Option<Result<BTreeMap<String, String>, Unknown>> {
    let messages = json["smartctl"]["messages"].as_array()?;
    let mentions = |words: &str| {
        messages.iter().filter_map(|m| m["string"].as_str()).any(|text| text.to_lowercase().contains(words))
    };
    if mentions("standby mode") || mentions("sleep mode") {
        return Some(Ok(BTreeMap::from([(fact::SLEEPING.to_owned(), "1".to_owned())])));
    }
    if mentions("permission denied") || mentions("operation not permitted") {
        return Some(Err(Unknown::NotPermitted));
    }
    mentions("unknown usb bridge").then_some(Err(Unknown::Bridge))
}

/// The raw value of an ATA attribute.
fn attribute(json: &Value, id: u64) -> Option<String> {
    let table = json["ata_smart_attributes"]["table"].as_array()?;
    let row = table.iter().find(|row| row["id"].as_u64() == Some(id))?;
    row["raw"]["value"].as_u64().map(|n| n.to_string())
}

/// Degrees Celsius from the kernel's hwmon sensor of the disk, for those that smartctl did not query.
fn add_temperature(roots: &Roots, layers: &mut [Layer]) {
    for layer in layers.iter_mut().filter(|layer| is_asked_for_health(layer)) {
        if layer.facts.contains_key(fact::TEMPERATURE) || layer.facts.contains_key(fact::SLEEPING) {
            continue;
        }
        let sensors = crate::probes::disk_sensors(roots, std::slice::from_ref(layer));
        let read = |path: &std::path::PathBuf| {
            read_line(path)?.parse::<f64>().ok().map(|thousandths| thousandths / 1e3)
        };
        let celsius = sensors.first().and_then(read).filter(|celsius| BELIEVABLE.contains(celsius));
        if let Some(celsius) = celsius {
            layer.facts.insert(fact::TEMPERATURE.to_owned(), celsius.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Tree, disk};

    const NVME: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},"device":{"name":"/dev/nvme0n1","type":"nvme","protocol":"NVMe"},"model_name":"Samsung SSD 980 PRO 1TB","serial_number":"S5GXNX0R000000A","firmware_version":"5B2QGXA7","smart_status":{"passed":true,"nvme":{"value":0}},"nvme_smart_health_information_log":{"critical_warning":0,"temperature":41,"available_spare":100,"available_spare_threshold":10,"percentage_used":3,"media_errors":0},"temperature":{"current":41},"power_on_time":{"hours":4321}}"#;
    const SATA: &str = r#"{"smartctl":{"exit_status":64,"messages":[]},"model_family":"Western Digital Red","model_name":"WDC WD40EFRX-68N32N0","serial_number":"WD-WCC7K0000000","firmware_version":"82.00A82","rotation_rate":5400,"interface_speed":{"max":{"sata_value":14,"string":"6.0 Gb/s","units_per_second":60,"bits_per_unit":100000000},"current":{"sata_value":2,"string":"3.0 Gb/s","units_per_second":30,"bits_per_unit":100000000}},"smart_status":{"passed":false},"ata_smart_attributes":{"table":[{"id":5,"name":"Reallocated_Sector_Ct","raw":{"value":128,"string":"128"}},{"id":194,"name":"Temperature_Celsius","raw":{"value":36}},{"id":197,"raw":{"value":2}},{"id":199,"raw":{"value":17}}]},"power_on_time":{"hours":50000},"temperature":{"current":36}}"#;
    const SCSI: &str = r#"{"smartctl":{"exit_status":4},"device":{"protocol":"SCSI"},"scsi_vendor":"QEMU","smart_status":{"passed":true},"temperature":{"current":0,"drive_trip":0}}"#;
    const BRIDGE: &str = r#"{"smartctl":{"exit_status":1,"messages":[{"string":"/dev/sdf: Unknown USB bridge [0x46f4:0x0001 (0x000)]","severity":"error"}]}}"#;
    const ASLEEP: &str = r#"{"smartctl":{"exit_status":2,"messages":[{"string":"Device is in STANDBY mode, exit(2)","severity":"information"}]}}"#;
    const REFUSED: &str = r#"{"smartctl":{"exit_status":2,"messages":[{"string":"Smartctl open device: /dev/sda failed: Permission denied","severity":"error"}]}}"#;

    #[test]
    fn nvme_reports_health_wear_and_temperature() {
        let facts = parse(NVME).unwrap();
        let names = [
            fact::HEALTH,
            fact::TEMPERATURE,
            fact::WEAR,
            fact::HOURS,
            fact::MEDIA_ERRORS,
            fact::SPARE,
            fact::LEAST_SPARE,
        ];
        assert_eq!(names.map(|n| facts[n].as_str()), ["passed", "41", "3", "4321", "0", "100", "10"]);
        assert!(!facts.values().any(|value| value.contains("S5GX")), "no serial number");
    }

    #[test]
    fn sata_reports_failing_sectors_a_slow_link_and_rotation() {
        let facts = parse(SATA).unwrap();
        let reported_values =
            [fact::HEALTH, fact::REALLOCATED, fact::PENDING, fact::LINK_ERRORS, fact::ROTATION_RATE]
                .map(|n| facts[n].as_str());
        assert_eq!(reported_values, ["failed", "128", "2", "17", "5400"]);
        assert_eq!(
            (facts["disk link speed"].as_str(), facts["disk highest link speed"].as_str()),
            ("3000000000", "6000000000")
        );
    }

    #[test]
    fn zero_degrees_are_not_a_temperature() {
        let facts = parse(SCSI).unwrap();
        assert_eq!(facts[fact::HEALTH], "passed");
        assert!(!facts.contains_key(fact::TEMPERATURE));
    }

    #[test]
    fn a_disk_that_cannot_be_queried_has_a_reason() {
        assert_eq!(parse(BRIDGE), Err(Unknown::Bridge));
        assert_eq!(parse(REFUSED), Err(Unknown::NotPermitted));
        assert_eq!(parse(ASLEEP).unwrap(), BTreeMap::from([("sleeping".into(), "1".into())]));
        assert_eq!(parse("smartctl: not json"), Err(Unknown::Silent));
    }

    #[test]
    fn smartctl_queries_real_disks_and_does_not_override_the_kernel() {
        let tree = Tree::new();
        let linked = |name: &str, link: &str| {
            let mut layer = disk(name, (8, 0));
            layer.facts.insert(fact::LINK.into(), link.into());
            layer
        };
        let mut layers = [linked("sda", "ata"), linked("vda", "virtio")];
        layers[0].facts.insert(fact::FIRMWARE.into(), "0A82".into());
        assert_eq!(add_health(&tree.roots(), &mut layers), [("sda".to_owned(), Unknown::NotInstalled)]);
        tree.program("smartctl", SATA, 64);
        assert!(add_health(&tree.roots(), &mut layers).is_empty());
        assert_eq!(
            (layers[0].facts[fact::HEALTH].as_str(), layers[0].facts[fact::FIRMWARE].as_str()),
            ("failed", "0A82")
        );
        assert_eq!(layers[1].facts.len(), 1);
    }
}
