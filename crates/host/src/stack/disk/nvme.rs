//! NVMe: over PCIe with its lanes, or over a network; with one or several controllers.

use std::fs;
use std::path::{Path, PathBuf};

use model::fact;

use super::{Facts, giga};
use crate::stack::{entries, link_name, number};
use crate::{Roots, read_line};

pub(super) fn facts(roots: &Roots, directory: &Path, facts: &mut Facts) {
    let controllers = controllers(directory);
    let Some(first) =
        controllers.iter().find(|c| state(c).is_none_or(|s| s == "live")).or(controllers.first())
    else {
        return;
    };
    if controllers.len() > 1 {
        facts.number(fact::PATHS, controllers.len() as u64);
        facts.file("path selection", directory.join("device/iopolicy"));
    }
    let live = controllers.iter().filter(|c| state(c).is_none_or(|state| state == "live")).count();
    facts.number(fact::PATHS_LOST, Some((controllers.len() - live) as u64).filter(|lost| *lost > 0));
    let transport = read_line(first.join("transport"));
    facts.put(fact::TRANSPORT, transport.clone());
    facts.put(
        fact::DRIVER,
        link_name(first.join("device/driver")).filter(|_| transport.as_deref() == Some("pcie")),
    );
    let address = read_line(first.join("address")).unwrap_or_default();
    let part = |name: &str| address.split(',').find_map(|part| part.strip_prefix(name)).map(str::to_owned);
    facts.server(roots, part("traddr=").filter(|_| transport.as_deref() != Some("pcie")));
    facts.put("port", part("trsvcid="));
    facts.put(fact::VENDOR, None);
    let function = first.join("device");
    let id = |file: &str| Some(read_line(function.join(file))?.trim_start_matches("0x").to_owned());
    facts.put(
        fact::PCI_ID,
        id("vendor").zip(id("device")).map(|(vendor, device)| format!("{vendor}:{device}")),
    );
    pcie(&function, facts);
}

/// With several controllers, or where several are possible, the disk belongs to a subsystem that links to them.
fn controllers(directory: &Path) -> Vec<PathBuf> {
    let Ok(device) = fs::canonicalize(directory.join("device")) else { return Vec::new() };
    if device.join("transport").exists() {
        return vec![device];
    }
    let linked = entries(&device).into_iter().filter(|place| place.join("transport").exists());
    linked.filter_map(|place| fs::canonicalize(place).ok()).collect()
}

fn state(controller: &Path) -> Option<String> {
    read_line(controller.join("state"))
}

/// The current link and the disk's limits. A slot with fewer lanes or a bad contact shows here.
fn pcie(function: &Path, facts: &mut Facts) {
    let rate = |file: &str| giga(&read_line(function.join(file))?);
    // 0 or 255 if the link is down or virtual.
    let lanes = |file: &str| number(function.join(file)).filter(|lanes| (1..=32).contains(lanes));
    let pairs = [
        (fact::LINK_SPEED, fact::LANES, rate("current_link_speed"), lanes("current_link_width")),
        (fact::HIGHEST_LINK_SPEED, fact::HIGHEST_LANES, rate("max_link_speed"), lanes("max_link_width")),
    ];
    for (speed, width, rate, lanes) in pairs {
        facts.number(speed, rate.zip(lanes).map(|(rate, lanes)| rate * lanes));
        facts.number(width, lanes);
    }
}
