//! Whole boards as fixtures: Raspberry Pi 3, 4 and 5. The paths below /sys are those that owners of such boards have published; the
//! trees are put together from them by hand, with values as such boards have them, and are no dumps of single boards.

use std::path::Path;

use model::fact;

use crate::identity;
use crate::probes::{Occasion, Watch};
use crate::stack::stack_of_path;
use crate::testing::Tree;

/// What the boards differ in besides their storage.
struct Board {
    model: &'static str,
    /// Part number of its cores.
    part: &'static str,
    /// Lowest and highest clock in kHz.
    clocks: (u64, u64),
    /// Directory of the firmware below `sys/devices/platform`, where it has a file with flags.
    firmware: Option<&'static str>,
    /// Where the SD card is below `sys/devices/platform`, and the driver of its slot.
    slot: (&'static str, &'static str),
    /// The slot's clock in Hz, and its mode.
    bus: (u64, &'static str),
}

impl Board {
    /// The board with a card of 32 GB: class 10, UHS grade 3, V30, A2.
    fn tree(&self) -> Tree {
        let tree = Tree::new();
        // The kernel ends this text with a zero.
        tree.file("sys/firmware/devicetree/base/model", &format!("{}\0", self.model));
        let core = format!("BogoMIPS\t: 38.40\nCPU implementer\t: 0x41\nCPU part\t: {}\n\n", self.part);
        let cores: String = (0..4).map(|number| format!("processor\t: {number}\n{core}")).collect();
        tree.file("proc/cpuinfo", &format!("{cores}Revision\t: a020d3\nModel\t\t: {}\n", self.model));
        let policy = "sys/devices/system/cpu/cpufreq/policy0";
        tree.file(&format!("{policy}/scaling_governor"), "ondemand\n");
        tree.file(&format!("{policy}/scaling_min_freq"), &format!("{}\n", self.clocks.0));
        tree.file(&format!("{policy}/scaling_max_freq"), &format!("{}\n", self.clocks.1));
        tree.file("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        tree.file("sys/class/thermal/thermal_zone0/temp", "61322\n");
        tree.file("sys/class/hwmon/hwmon1/name", "rpi_volt\n");
        tree.file("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
        if let Some(firmware) = self.firmware {
            tree.file(&format!("sys/devices/platform/{firmware}/get_throttled"), "50005\n");
        }
        let (slot, driver) = self.slot;
        let card = format!("platform/{slot}/mmc_host/mmc0/mmc0:aaaa");
        let disk = format!("{card}/block/mmcblk0");
        tree.device(&disk, "179:0", &[("size", "62333952\n"), ("queue/rotational", "0\n")]);
        tree.link(&format!("sys/devices/{disk}/device"), &format!("sys/devices/{card}"));
        tree.device(&format!("{disk}/mmcblk0p2"), "179:2", &[("partition", "2"), ("start", "1056768")]);
        let zeros = |bytes: usize| "00".repeat(bytes);
        let ssr = format!("{}04{}301e{}02{}\n", zeros(8), zeros(5), zeros(5), zeros(42));
        for (file, text) in [
            ("type", "SD\n"),
            ("name", "SN32G\n"),
            ("manfid", "0x000003\n"),
            ("oemid", "0x5344\n"),
            ("date", "06/2024\n"),
            ("csd", "400e0032db790000edc87f800a404033\n"),
            ("ssr", &ssr),
        ] {
            tree.file(&format!("sys/devices/{card}/{file}"), text);
        }
        tree.driver(&card, "mmcblk");
        tree.driver(&format!("platform/{slot}"), driver);
        let (hz, mode) = self.bus;
        let ios = format!(
            "clock:\t\t{hz} Hz\nactual clock:\t{hz} Hz\nvdd:\t\t21 (3.3 ~ 3.4 V)\nbus mode:\t2 (push-pull)\nbus \
             width:\t2 (4 bits)\ntiming spec:\t{mode}\n"
        );
        tree.file("sys/kernel/debug/mmc0/ios", &ios);
        tree.file("proc/self/mountinfo", "22 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw\n");
        tree
    }
}

/// A disk behind a USB bridge, whose port is at `port` below `sys/devices/platform`, mounted on /mnt.
fn usb_disk(tree: &Tree, port: &str, speed: &str, driver: &str) {
    let port = format!("platform/{port}");
    let interface = format!("{port}/{}:1.0", port.rsplit('/').next().unwrap());
    let scsi = format!("{interface}/host0/target0:0:0/0:0:0:0");
    let disk = format!("{scsi}/block/sda");
    tree.device(&disk, "8:0", &[("size", "468862128\n"), ("queue/rotational", "0\n")]);
    tree.link(&format!("sys/devices/{disk}/device"), &format!("sys/devices/{scsi}"));
    tree.device(&format!("{disk}/sda1"), "8:1", &[("partition", "1"), ("start", "2048")]);
    for (file, text) in [
        ("idVendor", "174c\n"),
        ("idProduct", "55aa\n"),
        ("manufacturer", "Asmedia\n"),
        ("product", "ASM1153E\n"),
        ("speed", speed),
    ] {
        tree.file(&format!("sys/devices/{port}/{file}"), text);
    }
    tree.file(&format!("sys/devices/{scsi}/model"), "SSD 870 EVO 250G\n");
    tree.driver(&scsi, "sd");
    tree.driver(&interface, driver);
    tree.file(
        "proc/self/mountinfo",
        "22 1 179:2 / / rw shared:1 - ext4 /dev/root rw\n30 22 8:1 / /mnt rw - ext4 /dev/sda1 rw\n",
    );
}

/// Facts of the disk below a path, separated by bars.
fn told(tree: &Tree, path: &str, facts: &[&str]) -> String {
    let layers = stack_of_path(&tree.roots(), Path::new(path));
    let disk = layers.last().unwrap();
    let fact = |fact: &&str| disk.facts.get(*fact).map_or("-", String::as_str);
    format!("{} | {}", disk.name, facts.iter().map(fact).collect::<Vec<_>>().join(" | "))
}

/// What is known of the machine itself.
fn machine(tree: &Tree) -> String {
    let host = identity::identify(&tree.roots());
    let facts =
        [fact::GOVERNOR, fact::LOWEST_CLOCK, fact::HIGHEST_CLOCK, fact::THROTTLED, fact::THROTTLED_BEFORE]
            .map(|fact| host.facts.get(fact).map_or("-", String::as_str));
    format!("{} | {} | {}", host.board.unwrap(), host.cpu, facts.join(" | "))
}

/// The readings of a first poll by probes that a board needs.
fn readings(tree: &Tree) -> Vec<String> {
    let (mut watch, mut readings) = (Watch::begin(&tree.roots(), &[]), Vec::new());
    watch.sample(Occasion::Boundary, &|| 0, &mut readings);
    let own =
        readings.iter().filter(|r| ["temperature", "throttling", "firmware"].contains(&r.probe.as_str()));
    own.filter(|r| r.value != 0.0).map(|r| format!("{}.{} {}", r.probe, r.key, r.value)).collect()
}

const CARD: [&str; 5] = ["name", "speed classes", "link speed", "bus mode", "driver"];
const BRIDGE: [&str; 5] = ["model", "bridge", "link speed", "hub speed", "driver"];

#[test]
fn a_raspberry_pi_3_has_a_slot_of_25_megabytes_a_second_and_usb_2() {
    let board = Board {
        model: "Raspberry Pi 3 Model B Plus Rev 1.3",
        part: "0xd03",
        clocks: (600_000, 1_400_000),
        firmware: Some("soc/soc:firmware"),
        slot: ("soc/3f202000.mmc", "sdhost-bcm2835"),
        bus: (50_000_000, "2 (sd high-speed)"),
    };
    let tree = board.tree();
    let expected = "Raspberry Pi 3 Model B Plus Rev 1.3 | Cortex-A53 | ondemand | 600000000 | 1400000000 | supply voltage too low; throttled | 1";
    assert_eq!(machine(&tree), expected);
    let slot = "mmcblk0 | SN32G | C10 U3 V30 A2 | 200000000 | sd high-speed | sdhost-bcm2835";
    assert_eq!(told(&tree, "/", &CARD), slot);
    let now = ["temperature.cpu-thermal 61.32", "throttling.undervoltage 1", "throttling.throttled 1"];
    assert_eq!(readings(&tree)[..3], now);

    // Its ports are behind two hubs, of which one is in the network chip.
    let root = "soc/3f980000.usb/usb1";
    for (hub, speed) in
        [(root.to_owned(), "480\n"), (format!("{root}/1-1"), "480\n"), (format!("{root}/1-1/1-1.1"), "480\n")]
    {
        tree.file(&format!("sys/devices/platform/{hub}/idVendor"), "0424\n");
        tree.file(&format!("sys/devices/platform/{hub}/speed"), speed);
    }
    usb_disk(&tree, &format!("{root}/1-1/1-1.1/1-1.1.2"), "480\n", "usb-storage");
    let disk = "sda | SSD 870 EVO 250G | 174c:55aa | 480000000 | 480000000 | usb-storage";
    assert_eq!(told(&tree, "/mnt", &BRIDGE), disk);
}

#[test]
fn a_raspberry_pi_4_has_a_slot_with_both_clock_edges_and_usb_3() {
    let board = Board {
        model: "Raspberry Pi 4 Model B Rev 1.4",
        part: "0xd08",
        clocks: (600_000, 1_800_000),
        // A kernel of Debian: it has the alarm, but not the file.
        firmware: None,
        slot: ("emmc2bus/fe340000.mmc", "sdhci-iproc"),
        bus: (50_000_000, "7 (sd uhs DDR50)"),
    };
    let tree = board.tree();
    let expected = "Raspberry Pi 4 Model B Rev 1.4 | Cortex-A72 | ondemand | 600000000 | 1800000000 | supply voltage too low | -";
    assert_eq!(machine(&tree), expected);
    let slot = "mmcblk0 | SN32G | C10 U3 V30 A2 | 400000000 | sd uhs DDR50 | sdhci-iproc";
    assert_eq!(told(&tree, "/", &CARD), slot);
    assert_eq!(readings(&tree), ["temperature.cpu-thermal 61.32", "throttling.undervoltage 1"]);

    let hub = "scb/fd500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0/usb2";
    tree.file(&format!("sys/devices/platform/{hub}/idVendor"), "1d6b\n");
    tree.file(&format!("sys/devices/platform/{hub}/speed"), "5000\n");
    usb_disk(&tree, &format!("{hub}/2-1"), "5000\n", "uas");
    let disk = "sda | SSD 870 EVO 250G | 174c:55aa | 5000000000 | 5000000000 | uas";
    assert_eq!(told(&tree, "/mnt", &BRIDGE), disk);
}

#[test]
fn a_raspberry_pi_5_has_one_lane_for_nvme_and_asks_its_firmware() {
    let board = Board {
        model: "Raspberry Pi 5 Model B Rev 1.0",
        part: "0xd0b",
        clocks: (1_500_000, 2_400_000),
        firmware: None,
        slot: ("axi/1000fff000.mmc", "sdhci-brcmstb"),
        bus: (200_000_000, "6 (sd uhs SDR104)"),
    };
    let tree = board.tree();
    tree.program("vcgencmd", "throttled=0xe0008\n", 0);
    let expected = "Raspberry Pi 5 Model B Rev 1.0 | Cortex-A76 | ondemand | 1500000000 | 2400000000 | too warm for the full clock | 1";
    assert_eq!(machine(&tree), expected);
    let slot = "mmcblk0 | SN32G | C10 U3 V30 A2 | 800000000 | sd uhs SDR104 | sdhci-brcmstb";
    assert_eq!(told(&tree, "/", &CARD), slot);
    let now = [
        "temperature.cpu-thermal 61.32",
        "throttling.undervoltage 1",
        "firmware.soft_limit 1",
        "firmware.seen 1",
    ];
    assert_eq!(readings(&tree), now);

    let function = "platform/axi/1000110000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0";
    let controller = format!("{function}/nvme/nvme0");
    let disk = format!("{controller}/nvme0n1");
    tree.device(&disk, "259:0", &[("size", "1953525168\n"), ("queue/rotational", "0\n")]);
    tree.link(&format!("sys/devices/{disk}/device"), &format!("sys/devices/{controller}"));
    tree.link(&format!("sys/devices/{controller}/device"), &format!("sys/devices/{function}"));
    for (file, text) in [
        (format!("{controller}/transport"), "pcie\n"),
        (format!("{controller}/state"), "live\n"),
        (format!("{controller}/model"), "SHGP31-1000GM\n"),
        (format!("{function}/current_link_speed"), "5.0 GT/s PCIe\n"),
        (format!("{function}/current_link_width"), "1\n"),
        (format!("{function}/max_link_speed"), "8.0 GT/s PCIe\n"),
        (format!("{function}/max_link_width"), "4\n"),
    ] {
        tree.file(&format!("sys/devices/{file}"), text);
    }
    tree.driver(function, "nvme");
    tree.file("proc/self/mountinfo", "22 1 259:0 / / rw shared:1 - ext4 /dev/nvme0n1 rw\n");
    let facts = ["model", "lanes", "highest lanes", "link speed", "highest link speed", "driver"];
    // 5 GT/s carry 8 bits in 10, 8 GT/s 128 in 130.
    let disk = told(&tree, "/", &facts);
    assert_eq!(disk, "nvme0n1 | SHGP31-1000GM | 1 | 4 | 5000000000 | 32000000000 | nvme");
}
