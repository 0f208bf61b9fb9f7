//! USB: the bridge between the port and the disk, and the speed of its connection.

use std::path::Path;

use model::fact;

use super::{Facts, upward};
use crate::read_line;

pub(super) fn facts(directory: &Path, facts: &mut Facts) {
    // The nearest node with a vendor is the device's own; the next is its hub.
    let Some(bridge) = upward(directory, |place| place.join("idVendor").exists()) else { return };
    let read = |file: &str| read_line(bridge.join(file));
    facts.put(fact::BRIDGE, read("idVendor").zip(read("idProduct")).map(|(v, p)| format!("{v}:{p}")));
    // Some repeat the vendor in the product's name.
    let name = match (read("manufacturer"), read("product")) {
        (Some(maker), Some(product)) if !product.starts_with(&maker) => Some(format!("{maker} {product}")),
        (maker, product) => product.or(maker),
    };
    facts.put(fact::BRIDGE_NAME, name);
    facts.number(fact::LINK_SPEED, read("speed").and_then(|speed| bits(&speed)));
    facts.put("USB version", read("version"));
    let hub = bridge.parent().filter(|hub| hub.join("idVendor").exists());
    facts.number("hub speed", hub.and_then(|hub| bits(&read_line(hub.join("speed"))?)));
}

/// The kernel reports megabits per second, `1.5` for the lowest speed.
fn bits(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    (value > 0.0 && value < 1e7).then(|| (value * 1e6).round() as u64)
}
