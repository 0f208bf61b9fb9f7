//! The flags of a Raspberry Pi's firmware where the kernel has no file for them, as on a Raspberry Pi 5: by the firmware's own
//! program, which is started only between repeats.

use super::change_filter::{ChangeFilter, Sample};
use super::throttling::{self, PiFlags};
use super::{Pace, Probe, Reader};
use crate::Roots;

pub(super) const PROBE: Probe = Probe {
    name: "firmware",
    what: "throttle flags of a Raspberry Pi whose kernel has no file for them, between repeats",
    label: |key| Some(format!("firmware: {key}")),
    pace: Pace::BetweenRepeats,
    begin: |scene, filter| {
        throttling::asked(scene.roots)?;
        Some(Box::new(Firmware::new(scene.roots, filter)))
    },
};

/// The program is not started more often: each start takes some milliseconds.
const APART_NS: u64 = 5_000_000_000;

struct Firmware {
    roots: Roots,
    flags: PiFlags,
    last_ns: Option<u64>,
}

impl Firmware {
    fn new(roots: &Roots, filter: &mut ChangeFilter) -> Self {
        Self { roots: roots.clone(), flags: PiFlags::new(filter), last_ns: None }
    }
}

impl Reader for Firmware {
    fn read(&mut self, sample: &mut Sample<'_>) {
        if self.last_ns.is_some_and(|last_ns| sample.at_ns.saturating_sub(last_ns) < APART_NS) {
            return;
        }
        self.last_ns = Some(sample.at_ns);
        if let Some(flags) = throttling::asked(&self.roots) {
            self.flags.put(sample, flags);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn the_firmwares_program_is_asked_where_the_kernel_has_no_file() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none(), "no program");
        tree.program("vcgencmd", "throttled=0x50005\n", 0);
        let mut probe = Driven::begin(&PROBE, &tree, &[]).unwrap();
        assert_eq!(
            probe.at(0),
            ["undervoltage 1 1", "capped 0 1", "throttled 1 1", "soft_limit 0 1", "seen 1 1"]
        );
        tree.file("said/vcgencmd", "throttled=0x50000\n");
        assert!(probe.at(2).is_empty(), "too soon");
        assert_eq!(probe.at(6), ["undervoltage 0 1", "throttled 0 1"]);
        assert_eq!(PROBE.pace, Pace::BetweenRepeats);

        tree.file("said/vcgencmd", "VCHI initialization failed\n");
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none(), "it may not use the firmware");
        tree.file("said/vcgencmd", "throttled=0x0\n");
        tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
        assert!(Driven::begin(&PROBE, &tree, &[]).is_none(), "the kernel has a file");
    }
}
