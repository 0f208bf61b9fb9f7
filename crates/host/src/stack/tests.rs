//! Other machines as fixtures, from their sysfs directories to the displayed facts of each layer. The content of
//! the emulated ones was read from real kernels.

use super::*;
use crate::testing::Tree;

fn mounted_tree(mountinfo: &str) -> Tree {
    let tree = Tree::new();
    tree.file("proc/self/mountinfo", mountinfo);
    tree
}

fn line(layers: &[Layer]) -> String {
    let show = |l: &Layer| format!("{}{} {:?}", "  ".repeat(l.level as usize), l.name, l.kind);
    layers.iter().map(show).collect::<Vec<_>>().join("\n")
}

#[test]
fn ext4_on_lvm_on_luks_on_raid_on_partitions() {
    let tree = mounted_tree("30 1 253:1 / /data rw,noatime - ext4 /dev/mapper/vg-data rw,data=ordered\n");
    tree.device(
        "virtual/block/dm-1",
        "253:1",
        &[("dm/uuid", "LVM-abc"), ("dm/name", "vg-data"), ("size", "100")],
    );
    tree.device("virtual/block/dm-0", "253:0", &[("dm/uuid", "CRYPT-LUKS2-def"), ("dm/name", "secret")]);
    tree.device("virtual/block/md0", "9:0", &[("md/level", "raid1"), ("md/chunk_size", "0")]);
    for (disk, number) in [("sda", 0), ("sdb", 16)] {
        let place = format!("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/{disk}");
        let files = [
            ("device/model", "WDC WD10\n"),
            ("queue/scheduler", "none [mq-deadline] kyber\n"),
            ("queue/rotational", "1\n"),
        ];
        tree.device(&place, &format!("8:{number}"), &files);
        let part = format!("{place}/{disk}1");
        tree.device(
            &part,
            &format!("8:{}", number + 1),
            &[("partition", "1"), ("start", "2048"), ("size", "4096")],
        );
        tree.slave("virtual/block/md0", &part);
    }
    tree.slave("virtual/block/dm-1", "virtual/block/dm-0");
    tree.slave("virtual/block/dm-0", "virtual/block/md0");

    let layers = stack_of_path(&tree.roots(), Path::new("/data/files"));
    let expected = "ext4 Filesystem\n  dm-1 Lvm\n    dm-0 Crypt\n      md0 Raid\n        sda1 Partition\n          sda Disk\n        sdb1 Partition\n          sdb Disk";
    assert_eq!(line(&layers), expected);
    let disk = layers.iter().find(|l| l.name == "sda").unwrap();
    assert_eq!(disk.facts["model"], "WDC WD10");
    assert_eq!(disk.facts["scheduler"], "mq-deadline");
    assert_eq!(disk.facts["link"], "ata");
    assert_eq!(layers[4].facts["start byte"], "1048576");
    assert_eq!(layers[0].facts["options"], "rw,noatime,data=ordered");
}

#[test]
fn a_btrfs_lists_all_its_members() {
    let tree = mounted_tree("30 1 0:55 / /pool rw - btrfs /dev/sdb rw,space_cache=v2\n");
    for (disk, number) in [("sdb", "8:16"), ("sdc", "8:32")] {
        let place = format!("pci0000:00/usb1/1-1/host2/block/{disk}");
        tree.device(&place, number, &[]);
        tree.file(&format!("sys/fs/btrfs/1234/devices/{disk}/dev"), number);
    }
    let layers = stack_of_path(&tree.roots(), Path::new("/pool"));
    assert_eq!(line(&layers), "btrfs Filesystem\n  sdb Disk\n  sdc Disk");
    assert_eq!(layers[1].facts["link"], "usb");
}

#[test]
fn a_loop_device_leads_to_its_backing_file() {
    let tree =
        mounted_tree("20 1 254:0 / / rw - ext4 /dev/vda rw\n30 1 7:0 / /mnt/loop rw - xfs /dev/loop0 rw\n");
    tree.device("pci0000:00/virtio0/block/vda", "254:0", &[("device/vendor", "0x1af4\n")]);
    tree.device(
        "virtual/block/loop0",
        "7:0",
        &[("loop/backing_file", "/images/disk.img\n"), ("loop/dio", "0\n")],
    );
    let layers = stack_of_path(&tree.roots(), Path::new("/mnt/loop/x"));
    assert_eq!(line(&layers), "xfs Filesystem\n  loop0 Loop\n    ext4 Filesystem\n      vda Disk");
    assert!(!layers[3].facts.contains_key("vendor"), "a PCI number is not a vendor name");
}

#[test]
fn a_loop_on_itself_ends() {
    let tree = mounted_tree("30 1 7:0 / / rw - ext4 /dev/loop0 rw\n");
    tree.device("virtual/block/loop0", "7:0", &[("loop/backing_file", "/disk.img")]);
    assert!(stack_of_path(&tree.roots(), Path::new("/")).len() < 50);
}

#[test]
fn network_and_memory_filesystems_have_no_device() {
    let tree = mounted_tree(
        "30 1 0:40 / /net rw - nfs4 server:/export rw,vers=4.2\n31 1 0:41 / /run rw - tmpfs tmpfs rw\n",
    );
    let layers = stack_of_path(&tree.roots(), Path::new("/net"));
    assert_eq!((layers.len(), layers[0].kind), (1, LayerKind::Network));
    assert_eq!(layers[0].facts["source"], "server:/export");
    assert_eq!(line(&stack_of_path(&tree.roots(), Path::new("/run"))), "tmpfs Filesystem");
}

/// The facts of one layer with these names, separated by bars; `-` for a missing one.
fn reported_facts(layers: &[Layer], name: &str, facts: &[&str]) -> String {
    let layer =
        layers.iter().find(|layer| layer.name == name).unwrap_or_else(|| panic!("no {name} in {layers:#?}"));
    let fact = |fact: &&str| layer.facts.get(*fact).map_or("-", String::as_str);
    facts.iter().map(fact).collect::<Vec<_>>().join(" | ")
}

/// The layers of a single device.
fn device(tree: &Tree, number: (u32, u32)) -> Vec<Layer> {
    stack_of_device(&tree.roots(), number)
}

/// A page of vital product data with these bytes from the fifth on.
fn page(number: u8, rest: &[u8]) -> String {
    // Fixtures hold text; these pages have no byte above 127.
    String::from_utf8([&[0, number, 0, rest.len() as u8], rest].concat()).unwrap()
}

#[test]
fn a_queue_reports_its_limits() {
    let tree = mounted_tree("");
    let files = [
        ("size", "2097152\n"),
        ("queue/scheduler", "none [mq-deadline] \n"),
        ("queue/nr_requests", "256\n"),
        ("queue/max_sectors_kb", "1280\n"),
        ("queue/logical_block_size", "512\n"),
        ("queue/physical_block_size", "4096\n"),
        ("queue/optimal_io_size", "0\n"),
        ("queue/write_cache", "write back\n"),
        ("queue/discard_max_bytes", "2147483136\n"),
        ("queue/discard_granularity", "512\n"),
        ("queue/wbt_lat_usec", "75000\n"),
        ("ro", "1\n"),
        ("serial", "labroot\n"),
    ];
    tree.device("pci0000:00/0000:00:01.0/virtio0/block/vda", "254:0", &files);
    tree.link(
        "sys/devices/pci0000:00/0000:00:01.0/virtio0/block/vda/device",
        "sys/devices/pci0000:00/0000:00:01.0/virtio0",
    );
    tree.file("sys/devices/pci0000:00/0000:00:01.0/virtio0/vendor", "0x1af4\n");
    tree.driver("pci0000:00/0000:00:01.0/virtio0", "virtio_blk");
    tree.driver("pci0000:00/0000:00:01.0", "virtio-pci");
    let layers = device(&tree, (254, 0));
    let names = [
        "size",
        "scheduler",
        "requests",
        "largest request",
        "logical block",
        "physical block",
        "optimal I/O size",
    ];
    assert_eq!(
        reported_facts(&layers, "vda", &names),
        "1073741824 | mq-deadline | 256 | 1310720 | 512 | 4096 | -"
    );
    let names = [
        "write cache",
        "discard granularity",
        "write-back throttling",
        "read only",
        "link",
        "driver",
        "serial",
        "vendor",
    ];
    assert_eq!(
        reported_facts(&layers, "vda", &names),
        "write back | 512 | 75000 | 1 | virtio | virtio_blk | root | -"
    );
    tree.file("sys/devices/pci0000:00/0000:00:01.0/virtio0/block/vda/queue/discard_max_bytes", "0\n");
    assert_eq!(reported_facts(&device(&tree, (254, 0)), "vda", &["discard granularity"]), "0");
}

#[test]
fn sata_disks_report_their_link_rate_and_rotation() {
    for (rate, bits, can, most) in [
        ("1.5 Gbps", "1500000000", 0x0e, "6000000000"),
        ("3.0 Gbps", "3000000000", 0x06, "3000000000"),
        ("6.0 Gbps", "6000000000", 0x0e, "6000000000"),
        ("<unknown>", "-", 0x02, "1500000000"),
    ] {
        let tree = mounted_tree("");
        let place = "pci0000:00/0000:00:1f.2/ata5/host5/target5:0:0/5:0:0:0/block/sdd";
        let of = "sys/devices/pci0000:00/0000:00:1f.2/ata5/host5/target5:0:0/5:0:0:0";
        tree.device(place, "8:48", &[("queue/rotational", "1\n")]);
        tree.link(&format!("sys/devices/{place}/device"), of);
        for (file, text) in [
            ("vendor", "ATA     \n".to_owned()),
            ("model", "QEMU HARDDISK   \n".to_owned()),
            ("rev", "2.5+\n".to_owned()),
            ("queue_depth", "32\n".to_owned()),
            ("vpd_pgb1", page(0xb1_u8 & 0x7f, &[0x1c, 0x20, 0, 0])),
            ("vpd_pg80", page(0, b"   WD-WX12345678")),
        ] {
            tree.file(&format!("{of}/{file}"), &text);
        }
        tree.driver("pci0000:00/0000:00:1f.2/ata5/host5/target5:0:0/5:0:0:0", "sd");
        tree.driver("pci0000:00/0000:00:1f.2", "ahci");
        tree.file("sys/class/ata_link/link5/sata_spd", &format!("{rate}\n"));
        tree.file("sys/class/ata_link/link5/hw_sata_spd_limit", "6.0 Gbps\n");
        assert_eq!(
            reported_facts(&device(&tree, (8, 48)), "sdd", &["highest link speed"]),
            "-",
            "the port's limit alone"
        );
        // Word 76 of the disk's identification: the supported rates.
        let identify = [vec![0; 60 + 152], vec![can, 0]].concat();
        tree.file(&format!("{of}/vpd_pg89"), &String::from_utf8(identify).unwrap());
        let layers = device(&tree, (8, 48));
        let names = ["link", "link speed", "highest link speed", "driver", "rotation rate", "serial"];
        assert_eq!(
            reported_facts(&layers, "sdd", &names),
            format!("ata | {bits} | {most} | ahci | 7200 | 5678")
        );
        let names = ["vendor", "model", "firmware", "device queue depth", "rotational (hint)"];
        assert_eq!(reported_facts(&layers, "sdd", &names), "- | QEMU HARDDISK | 2.5+ | 32 | 1");
    }
}

#[test]
fn a_disk_behind_a_usb_bridge_reports_its_own_link_speed() {
    for (speed, driver, bits) in [
        ("480", "usb-storage", "480000000"),
        ("5000", "uas", "5000000000"),
        ("12", "usb-storage", "12000000"),
    ] {
        let tree = mounted_tree("");
        let hub = "pci0000:00/0000:00:07.0/usb2";
        let bridge = format!("{hub}/2-1");
        let scsi = format!("{bridge}/2-1:1.0/host7/target7:0:0/7:0:0:0");
        let place = format!("{scsi}/block/sdf");
        tree.device(&place, "8:80", &[("removable", "1\n"), ("queue/rotational", "1\n")]);
        tree.link(&format!("sys/devices/{place}/device"), &format!("sys/devices/{scsi}"));
        for (file, text) in [
            (format!("{hub}/idVendor"), "1d6b\n"),
            (format!("{hub}/speed"), "10000\n"),
            (format!("{bridge}/idVendor"), "46f4\n"),
            (format!("{bridge}/idProduct"), "0001\n"),
            (format!("{bridge}/manufacturer"), "QEMU\n"),
            (format!("{bridge}/product"), "QEMU USB HARDDRIVE\n"),
            (format!("{bridge}/version"), " 3.00\n"),
            (format!("{bridge}/speed"), &format!("{speed}\n")),
        ] {
            tree.file(&format!("sys/devices/{file}"), text);
        }
        tree.driver(&scsi, "sd");
        tree.driver(&format!("{bridge}/2-1:1.0"), driver);
        tree.driver(&bridge, "usb");
        tree.driver("pci0000:00/0000:00:07.0", "xhci_hcd");
        let names = ["link", "link speed", "hub speed", "driver", "bridge", "bridge name", "removable"];
        let expected = format!("usb | {bits} | 10000000000 | {driver} | 46f4:0001 | QEMU USB HARDDRIVE | 1");
        assert_eq!(reported_facts(&device(&tree, (8, 80)), "sdf", &names), expected);
    }
}

fn card(kind: &str, files: &[(&str, &str)]) -> Tree {
    let tree = mounted_tree("");
    let card = "pci0000:00/0000:00:08.0/mmc_host/mmc0/mmc0:4567";
    tree.device(&format!("{card}/block/mmcblk0"), "179:0", &[("size", "2097152\n"), ("removable", "0\n")]);
    tree.link(&format!("sys/devices/{card}/block/mmcblk0/device"), &format!("sys/devices/{card}"));
    tree.file(&format!("sys/devices/{card}/type"), kind);
    files.iter().for_each(|(file, text)| tree.file(&format!("sys/devices/{card}/{file}"), text));
    tree.driver(card, "mmcblk");
    tree.driver("pci0000:00/0000:00:08.0", "sdhci-pci");
    tree
}

#[test]
fn an_sd_card_reports_its_vendor_classes_and_bus_mode() {
    let classes = format!(
        "{}04{}30{}02{}",
        "00".repeat(8),
        "00".repeat(5),
        "1e".to_owned() + &"00".repeat(5),
        "00".repeat(42)
    );
    let files = [
        ("name", "QEMU!\n"),
        ("csd", "002600325f59e3ffffffdfff92600000\n"),
        ("oemid", "0x5859\n"),
        ("manfid", "0x0000aa\n"),
        ("date", "02/2006\n"),
        ("serial", "0xdeadbeef\n"),
        ("fwrev", "0x1\n"),
        ("hwrev", "0x0\n"),
        ("ssr", &classes),
    ];
    let tree = card("SD\n", &files);
    let names =
        ["link", "type", "name", "manfid", "oemid", "date", "serial", "firmware", "driver", "speed classes"];
    let expected = "mmc | SD | QEMU! | 0x0000aa | 0x5859 | 02/2006 | beef | 0x1 | sdhci-pci | C10 U3 V30 A2";
    assert_eq!(reported_facts(&device(&tree, (179, 0)), "mmcblk0", &names), expected);
    assert_eq!(
        reported_facts(&device(&tree, (179, 0)), "mmcblk0", &["capacity by CSD", "link speed", "bus mode"]),
        "- | - | -"
    );

    let ios = "clock:\t\t208000000 Hz\nactual clock:\t200000000 Hz\nvdd:\t\t21 (3.3 ~ 3.4 V)\nbus width:\t2 (4 bits)\ntiming spec:\t6 (sd uhs SDR104)\n";
    tree.file("sys/kernel/debug/mmc0/ios", ios);
    assert_eq!(
        reported_facts(&device(&tree, (179, 0)), "mmcblk0", &["link speed", "bus mode"]),
        "800000000 | sd uhs SDR104"
    );
    tree.file(
        "sys/kernel/debug/mmc0/ios",
        &ios.replace("6 (sd uhs SDR104)", "7 (sd uhs DDR50)").replace("200000000", "50000000"),
    );
    assert_eq!(reported_facts(&device(&tree, (179, 0)), "mmcblk0", &["link speed"]), "400000000");

    // A card of 1 GiB whose size claims 64.
    let place = "sys/devices/pci0000:00/0000:00:08.0/mmc_host/mmc0/mmc0:4567/block/mmcblk0/size";
    tree.file(place, "134217728\n");
    assert_eq!(reported_facts(&device(&tree, (179, 0)), "mmcblk0", &["capacity by CSD"]), "1073741824");
}

#[test]
fn an_emmc_reports_its_used_life() {
    let files = [
        ("name", "DG4016\n"),
        ("manfid", "0x000045\n"),
        ("life_time", "0x02 0x01\n"),
        ("pre_eol_info", "0x01\n"),
        ("cmdq_en", "1\n"),
    ];
    let tree = card("MMC\n", &files);
    let names = ["type", "name", "life used in tenths", "spare blocks", "command queue", "speed classes"];
    assert_eq!(
        reported_facts(&device(&tree, (179, 0)), "mmcblk0", &names),
        "MMC | DG4016 | 0x02 0x01 | 0x01 | 1 | -"
    );
}

/// An NVMe controller with its PCIe attributes.
fn controller(tree: &Tree, number: u32, lanes: &str, rate: &str) -> String {
    let function = format!("pci0000:00/0000:00:0{number}.0");
    let controller = format!("{function}/nvme/nvme{number}");
    for (file, text) in [
        ("transport", "pcie\n"),
        ("state", "live\n"),
        ("model", "Samsung SSD 980 PRO 1TB                 \n"),
        ("serial", "S5GXNX0R000042A     \n"),
        ("firmware_rev", "5B2QGXA7\n"),
        ("address", "0000:00:06.0\n"),
    ] {
        tree.file(&format!("sys/devices/{controller}/{file}"), text);
    }
    tree.link(&format!("sys/devices/{controller}/device"), &format!("sys/devices/{function}"));
    for (file, text) in [
        ("current_link_width", lanes),
        ("max_link_width", "4"),
        ("current_link_speed", rate),
        ("max_link_speed", "8.0 GT/s PCIe"),
        ("vendor", "0x144d"),
        ("device", "0xa80a"),
    ] {
        tree.file(&format!("sys/devices/{function}/{file}"), &format!("{text}\n"));
    }
    tree.driver(&function, "nvme");
    controller
}

const NVME: [&str; 8] =
    ["link", "transport", "link speed", "lanes", "highest link speed", "highest lanes", "driver", "serial"];

#[test]
fn an_nvme_disk_in_a_narrow_slot_reports_its_own_limits() {
    let tree = mounted_tree("");
    let place = controller(&tree, 6, "1", "8.0 GT/s PCIe");
    tree.device(&format!("{place}/nvme6n1"), "259:0", &[]);
    tree.link(&format!("sys/devices/{place}/nvme6n1/device"), &format!("sys/devices/{place}"));
    let layers = device(&tree, (259, 0));
    assert_eq!(
        reported_facts(&layers, "nvme6n1", &NVME),
        "nvme | pcie | 8000000000 | 1 | 32000000000 | 4 | nvme | 042A"
    );
    assert_eq!(
        reported_facts(&layers, "nvme6n1", &["model", "firmware", "server", "PCI id"]),
        "Samsung SSD 980 PRO 1TB | 5B2QGXA7 | - | 144d:a80a"
    );
}

#[test]
fn an_nvme_disk_with_several_paths_is_found_by_its_subsystem() {
    let tree = mounted_tree("");
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    tree.device(&format!("{subsystem}/nvme0n1"), "259:0", &[]);
    tree.link(&format!("sys/devices/{subsystem}/nvme0n1/device"), &format!("sys/devices/{subsystem}"));
    tree.file(&format!("sys/devices/{subsystem}/model"), "Samsung SSD 980 PRO 1TB\n");
    tree.file(&format!("sys/devices/{subsystem}/serial"), "S5GXNX0R000042A\n");
    tree.file(&format!("sys/devices/{subsystem}/iopolicy"), "numa\n");
    for number in [1, 2] {
        let place = controller(&tree, number, "4", "8.0 GT/s PCIe");
        tree.link(&format!("sys/devices/{subsystem}/nvme{number}"), &format!("sys/devices/{place}"));
    }
    let layers = device(&tree, (259, 0));
    assert_eq!(
        reported_facts(&layers, "nvme0n1", &NVME),
        "nvme | pcie | 32000000000 | 4 | 32000000000 | 4 | nvme | 042A"
    );
    assert_eq!(
        reported_facts(&layers, "nvme0n1", &["paths", "path selection", "paths lost"]),
        "2 | numa | -"
    );
    tree.file("sys/devices/pci0000:00/0000:00:02.0/nvme/nvme2/state", "connecting\n");
    assert_eq!(reported_facts(&device(&tree, (259, 0)), "nvme0n1", &["paths", "paths lost"]), "2 | 1");
}

/// A tree with an NVMe disk over a network, and the place of its controller's address.
fn nvme_over_tcp() -> (Tree, String) {
    let tree = mounted_tree("");
    let place = "virtual/nvme-fabrics/ctl/nvme1";
    tree.device(&format!("{place}/nvme1n1"), "259:1", &[]);
    tree.link(&format!("sys/devices/{place}/nvme1n1/device"), &format!("sys/devices/{place}"));
    tree.file(&format!("sys/devices/{place}/transport"), "tcp\n");
    (tree, format!("sys/devices/{place}/address"))
}

#[test]
fn nvme_over_a_network_reports_its_server() {
    let (tree, address) = nvme_over_tcp();
    tree.file(&address, "traddr=192.0.2.1,trsvcid=4420,src_addr=192.0.2.9\n");
    assert_eq!(
        reported_facts(&device(&tree, (259, 1)), "nvme1n1", &["transport", "server", "port", "link speed"]),
        "tcp | 192.0.2.1 | 4420 | -"
    );
}

#[test]
fn a_server_is_here_if_it_has_one_of_this_machines_addresses() {
    let (tree, address) = nvme_over_tcp();
    let table = "Main:\n  +-- 192.0.2.0/24 2 0 2\n     |-- 192.0.2.0\n        /24 link UNICAST\n     |-- 192.0.2.9\n        /32 host LOCAL\n";
    tree.file("proc/net/fib_trie", table);
    tree.file("proc/net/if_inet6", "20010db8000000000000000000000009 02 40 00 80     eth0\n");
    for (server, is_here) in [
        ("192.0.2.9", "yes"),
        ("192.0.2.1", "-"),
        ("192.0.2.0", "-"),
        ("127.0.0.1", "yes"),
        ("2001:db8::9", "yes"),
        ("2001:db8::1", "-"),
        ("[::1]", "yes"),
        ("localhost", "yes"),
        ("nas", "-"),
    ] {
        tree.file(&address, &format!("traddr={server},trsvcid=4420\n"));
        let reported = reported_facts(&device(&tree, (259, 1)), "nvme1n1", &["server is this machine"]);
        assert_eq!(reported, is_here, "{server}");
    }
}

#[test]
fn an_iscsi_disk_reports_target_portal_and_session() {
    let tree = mounted_tree("");
    let scsi = "platform/host3/session7/target3:0:0/3:0:0:0";
    tree.device(&format!("{scsi}/block/sdc"), "8:32", &[]);
    tree.link(&format!("sys/devices/{scsi}/block/sdc/device"), &format!("sys/devices/{scsi}"));
    for (file, text) in [
        ("iscsi_session/session7/targetname", "iqn.2026-01.lab:t1\n"),
        ("iscsi_session/session7/state", "LOGGED_IN\n"),
        ("iscsi_session/session7/recovery_tmo", "120\n"),
        ("iscsi_connection/connection7:0/address", "192.0.2.5\n"),
        ("iscsi_connection/connection7:0/persistent_address", "nas.example\n"),
        ("iscsi_connection/connection7:0/port", "3260\n"),
        ("scsi_host/host3/proc_name", "iscsi_tcp\n"),
    ] {
        tree.file(&format!("sys/class/{file}"), text);
    }
    let names = ["link", "target name", "session state", "server", "port", "recovery time-out", "driver"];
    let expected = "iscsi | iqn.2026-01.lab:t1 | LOGGED_IN | 192.0.2.5 | 3260 | 120 | iscsi_tcp";
    assert_eq!(reported_facts(&device(&tree, (8, 32)), "sdc", &names), expected);
}

#[test]
fn compressed_memory_reports_its_algorithm() {
    let tree = mounted_tree("");
    let files = [
        ("comp_algorithm", "lzo [zstd] lz4\n"),
        ("backing_dev", "none\n"),
        ("mem_limit", "0\n"),
        ("size", "4096\n"),
    ];
    tree.device("virtual/block/zram0", "252:0", &files);
    let names = ["link", "compression", "backing file", "zram limit"];
    assert_eq!(reported_facts(&device(&tree, (252, 0)), "zram0", &names), "zram | zstd | - | -");
}

#[test]
fn a_degraded_array_reports_its_missing_members() {
    let tree = mounted_tree("");
    let files = [
        ("md/level", "raid5\n"),
        ("md/chunk_size", "524288\n"),
        ("md/raid_disks", "3\n"),
        ("md/degraded", "1\n"),
        ("md/sync_action", "recover\n"),
        ("md/array_state", "active\n"),
        ("md/bitmap/location", "none\n"),
        ("md/dev-sda1/state", "in_sync\n"),
        ("md/dev-sdb1/state", "faulty,blocked\n"),
        ("md/dev-sdd1/state", "spare\n"),
    ];
    tree.device("virtual/block/md0", "9:0", &files);
    let names =
        ["level", "chunk", "members", "degraded", "sync action", "failed members", "spares", "bitmap"];
    assert_eq!(
        reported_facts(&device(&tree, (9, 0)), "md0", &names),
        "raid5 | 524288 | 3 | 1 | recover | sdb1 | sdd1 | -"
    );
    tree.file("sys/devices/virtual/block/md0/md/degraded", "0\n");
    assert_eq!(reported_facts(&device(&tree, (9, 0)), "md0", &["degraded"]), "-");
}

/// LUKS on an array, LVM on that, and a btrfs on the volume.
fn deep() -> Tree {
    let tree = mounted_tree("30 1 0:55 /data /pool rw - btrfs /dev/mapper/my--vg-data rw,subvol=/data\n");
    tree.device("virtual/block/dm-1", "253:1", &[("dm/uuid", "LVM-abcdef"), ("dm/name", "my--vg-data")]);
    tree.device(
        "virtual/block/dm-0",
        "253:0",
        &[("dm/uuid", "CRYPT-LUKS2-0123-secret"), ("dm/name", "secret")],
    );
    tree.device("virtual/block/md0", "9:0", &[("md/level", "raid1"), ("md/raid_disks", "2")]);
    for (disk, minor) in [("sda", 0), ("sdb", 16)] {
        let place = format!("pci0000:00/ata{}/host0/target0:0:0/0:0:0:0/block/{disk}", minor / 16 + 1);
        tree.device(&place, &format!("8:{minor}"), &[("queue/physical_block_size", "4096\n")]);
        let part = format!("{place}/{disk}1");
        let files = [("partition", "1\n"), ("start", if minor == 0 { "2048\n" } else { "63\n" })];
        tree.device(&part, &format!("8:{}", minor + 1), &files);
        tree.slave("virtual/block/md0", &part);
    }
    tree.slave("virtual/block/dm-1", "virtual/block/dm-0");
    tree.slave("virtual/block/dm-0", "virtual/block/md0");
    tree.file("sys/fs/btrfs/1234/devices/dm-1/dev", "253:1\n");
    tree.file("sys/fs/btrfs/1234/allocation/data/single/used_bytes", "1\n");
    tree.file("sys/fs/btrfs/1234/allocation/data/total_bytes", "1\n");
    tree.file("sys/fs/btrfs/1234/allocation/metadata/dup/used_bytes", "1\n");
    tree.file("sys/fs/btrfs/1234/checksum", "crc32c (crc32c-intel)\n");
    tree
}

#[test]
fn luks_on_raid_under_lvm_under_btrfs() {
    let tree = deep();
    let layers = stack_of_path(&tree.roots(), Path::new("/pool/x"));
    let expected = "btrfs Filesystem\n  dm-1 Lvm\n    dm-0 Crypt\n      md0 Raid\n        sda1 Partition\n          sda Disk\n        sdb1 Partition\n          sdb Disk";
    assert_eq!(line(&layers), expected);
    assert_eq!(
        reported_facts(&layers, "btrfs", &["data profile", "metadata profile", "checksum"]),
        "single | dup | crc32c"
    );
    assert_eq!(
        reported_facts(&layers, "dm-1", &["volume group", "logical volume", "mapping"]),
        "my-vg | data | my--vg-data"
    );
    assert_eq!(reported_facts(&layers, "dm-0", &["encryption", "mapping", "cipher"]), "LUKS2 | secret | -");
    assert_eq!(
        reported_facts(&layers, "sda1", &["alignment", "start byte", "physical block"]),
        "1048576 | 1048576 | 4096"
    );
    assert_eq!(
        reported_facts(&layers, "sdb1", &["alignment", "start byte"]),
        "512 | 32256",
        "the traditional start at sector 63"
    );

    tree.script(
        "dmsetup",
        "[ \"$1 $2\" = 'table --' ] || exit 3\ncase $3 in\nsecret) echo '0 100 crypt aes-xts-plain64 0000000000000000 0 9:0 32768 1 sector_size:4096';;\n*) echo '0 100 linear 253:0 2048';;\nesac\n",
    );
    let layers = stack_of_path(&tree.roots(), Path::new("/pool/x"));
    assert_eq!(
        reported_facts(&layers, "dm-0", &["cipher", "encryption sector", "table"]),
        "aes-xts-plain64 | 4096 | crypt"
    );
    assert_eq!(reported_facts(&layers, "dm-1", &["table", "volume group"]), "linear | my-vg");
}

#[test]
fn zfs_lists_the_members_that_zpool_reports() {
    let tree = mounted_tree("30 1 0:60 / /tank rw,noatime - zfs tank/home rw,xattr\n");
    tree.file("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
    let layers = stack_of_path(&tree.roots(), Path::new("/tank"));
    assert_eq!(
        reported_facts(&layers, "zfs", &["pool", "pool state", "members", "source"]),
        "tank | ONLINE | - | tank/home"
    );
    for (disk, minor) in [("sdy", 0), ("sdz", 16)] {
        tree.device(
            &format!("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/{disk}"),
            &format!("65:{minor}"),
            &[],
        );
    }
    let output = "  pool: tank\n state: DEGRADED\nconfig:\n\n\tNAME\tSTATE\n\ttank        DEGRADED 0 0 0\n\t  mirror-0  DEGRADED 0 0 0\n\t    /dev/sdy  ONLINE 0 0 0\n\t    /dev/sdz  FAULTED 0 0 0\n";
    tree.program("zpool", output, 0);
    let layers = stack_of_path(&tree.roots(), Path::new("/tank"));
    assert_eq!(line(&layers), "zfs Filesystem\n  sdy Disk\n  sdz Disk");
    let names = ["pool state", "members", "degraded", "pool layout"];
    assert_eq!(reported_facts(&layers, "zfs", &names), "DEGRADED | 2 | 1 | mirror-0: sdy sdz");
}

#[test]
fn network_shares_report_server_version_and_transport() {
    let tree = mounted_tree(
        "30 1 0:40 / /nfs rw - nfs4 nas:/export rw,vers=4.2,proto=tcp,addr=192.0.2.7\n\
         31 1 0:41 / /smb rw - cifs //nas.example/share rw,vers=3.1.1,username=me,domain=home,addr=192.0.2.8\n\
         32 1 0:42 / /host rw - 9p tag rw,trans=virtio,version=9p2000.L\n",
    );
    let names = ["link", "server", "protocol version", "transport", "source"];
    for (path, name, expected) in [
        ("/nfs", "nfs4", "nfs | 192.0.2.7 | 4.2 | tcp | nas:/export"),
        ("/smb", "cifs", "smb | 192.0.2.8 | 3.1.1 | - | //nas.example/share"),
        ("/host", "9p", "9p | - | - | virtio | tag"),
    ] {
        let layers = stack_of_path(&tree.roots(), Path::new(path));
        assert_eq!((layers.len(), layers[0].kind), (1, LayerKind::Network));
        assert_eq!(reported_facts(&layers, name, &names), expected);
    }
    let share = stack_of_path(&tree.roots(), Path::new("/smb"));
    assert_eq!(reported_facts(&share, "cifs", &["link speed"]), "-");
    tree.file(
        "proc/net/route",
        "Iface Destination\neth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n",
    );
    for (speed, expected) in [("2500\n", "2500000000"), ("-1\n", "-")] {
        tree.file("sys/class/net/eth0/speed", speed);
        let share = stack_of_path(&tree.roots(), Path::new("/smb"));
        assert_eq!(reported_facts(&share, "cifs", &["link speed"]), expected);
    }
    assert_eq!(
        reported_facts(&share, "cifs", &["options"]),
        "rw,vers=3.1.1,addr=192.0.2.8",
        "user names are removed"
    );
}

#[test]
fn a_cache_in_front_of_a_disk_is_a_layer_of_its_own() {
    let tree = mounted_tree("");
    let files =
        [("bcache/cache_mode", "writethrough [writeback] writearound none\n"), ("bcache/state", "dirty\n")];
    tree.device("virtual/block/bcache0", "252:0", &files);
    tree.device("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda", "8:0", &[]);
    tree.slave("virtual/block/bcache0", "pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda");
    let layers = device(&tree, (252, 0));
    assert_eq!(line(&layers), "bcache0 Lvm\n  sda Disk");
    assert_eq!(reported_facts(&layers, "bcache0", &["table", "cache mode"]), "bcache | writeback");
}

#[test]
fn multipath_and_lvm_arrays_are_recognised_without_a_table() {
    let tree = mounted_tree("");
    tree.device("virtual/block/dm-3", "253:3", &[("dm/uuid", "mpath-36001405"), ("dm/name", "mpatha")]);
    for (disk, minor) in [("sda", 0), ("sdb", 16)] {
        let place = format!("pci0000:00/host{minor}/rport-1:0-0/target1:0:0/1:0:0:0/block/{disk}");
        tree.device(&place, &format!("8:{minor}"), &[]);
        tree.slave("virtual/block/dm-3", &place);
    }
    let layers = device(&tree, (253, 3));
    assert_eq!(line(&layers), "dm-3 Lvm\n  sda Disk\n  sdb Disk");
    assert_eq!(reported_facts(&layers, "dm-3", &["paths", "mapping"]), "2 | mpatha");
    assert_eq!(reported_facts(&layers, "sda", &["link"]), "fc");

    tree.device("virtual/block/dm-5", "253:5", &[("dm/uuid", "LVM-abc"), ("dm/name", "vg-safe")]);
    tree.device("virtual/block/dm-4", "253:4", &[("dm/uuid", "LVM-def"), ("dm/name", "vg-safe_rimage_0")]);
    tree.slave("virtual/block/dm-5", "virtual/block/dm-4");
    assert_eq!(line(&device(&tree, (253, 5))), "dm-5 Raid\n  dm-4 Lvm");
}
