//! Machines that are not at hand, from their places in sysfs down to the words of each layer. What the emulated ones say
//! was read off real kernels.

use super::*;
use crate::testing::Tree;

fn made(mountinfo: &str) -> Tree {
    let tree = Tree::new();
    tree.file("proc/self/mountinfo", mountinfo);
    tree
}

fn line(layers: &[Layer]) -> String {
    let show = |l: &Layer| format!("{}{} {:?}", "  ".repeat(l.level as usize), l.name, l.kind);
    layers.iter().map(show).collect::<Vec<_>>().join("\n")
}

#[test]
fn ext4_on_lvm_on_luks_on_raid_on_partitions_is_seen_down_to_the_disks() {
    let made = made("30 1 253:1 / /data rw,noatime - ext4 /dev/mapper/vg-data rw,data=ordered\n");
    made.device(
        "virtual/block/dm-1",
        "253:1",
        &[("dm/uuid", "LVM-abc"), ("dm/name", "vg-data"), ("size", "100")],
    );
    made.device("virtual/block/dm-0", "253:0", &[("dm/uuid", "CRYPT-LUKS2-def"), ("dm/name", "secret")]);
    made.device("virtual/block/md0", "9:0", &[("md/level", "raid1"), ("md/chunk_size", "0")]);
    for (disk, number) in [("sda", 0), ("sdb", 16)] {
        let place = format!("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/{disk}");
        let files = [
            ("device/model", "WDC WD10\n"),
            ("queue/scheduler", "none [mq-deadline] kyber\n"),
            ("queue/rotational", "1\n"),
        ];
        made.device(&place, &format!("8:{number}"), &files);
        let part = format!("{place}/{disk}1");
        made.device(
            &part,
            &format!("8:{}", number + 1),
            &[("partition", "1"), ("start", "2048"), ("size", "4096")],
        );
        made.slave("virtual/block/md0", &part);
    }
    made.slave("virtual/block/dm-1", "virtual/block/dm-0");
    made.slave("virtual/block/dm-0", "virtual/block/md0");

    let layers = stack_of_path(&made.roots(), Path::new("/data/files"));
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
fn a_btrfs_names_all_its_members() {
    let made = made("30 1 0:55 / /pool rw - btrfs /dev/sdb rw,space_cache=v2\n");
    for (disk, number) in [("sdb", "8:16"), ("sdc", "8:32")] {
        let place = format!("pci0000:00/usb1/1-1/host2/block/{disk}");
        made.device(&place, number, &[]);
        made.file(&format!("sys/fs/btrfs/1234/devices/{disk}/dev"), number);
    }
    let layers = stack_of_path(&made.roots(), Path::new("/pool"));
    assert_eq!(line(&layers), "btrfs Filesystem\n  sdb Disk\n  sdc Disk");
    assert_eq!(layers[1].facts["link"], "usb");
}

#[test]
fn a_loop_device_leads_on_to_the_file_behind_it() {
    let made = made("20 1 254:0 / / rw - ext4 /dev/vda rw\n30 1 7:0 / /mnt/loop rw - xfs /dev/loop0 rw\n");
    made.device("pci0000:00/virtio0/block/vda", "254:0", &[("device/vendor", "0x1af4\n")]);
    made.device(
        "virtual/block/loop0",
        "7:0",
        &[("loop/backing_file", "/images/disk.img\n"), ("loop/dio", "0\n")],
    );
    let layers = stack_of_path(&made.roots(), Path::new("/mnt/loop/x"));
    assert_eq!(line(&layers), "xfs Filesystem\n  loop0 Loop\n    ext4 Filesystem\n      vda Disk");
    assert!(!layers[3].facts.contains_key("vendor"), "a PCI number is no vendor name");
}

#[test]
fn a_loop_on_itself_ends() {
    let made = made("30 1 7:0 / / rw - ext4 /dev/loop0 rw\n");
    made.device("virtual/block/loop0", "7:0", &[("loop/backing_file", "/disk.img")]);
    assert!(stack_of_path(&made.roots(), Path::new("/")).len() < 50);
}

#[test]
fn network_and_memory_filesystems_have_no_device() {
    let made =
        made("30 1 0:40 / /net rw - nfs4 server:/export rw,vers=4.2\n31 1 0:41 / /run rw - tmpfs tmpfs rw\n");
    let layers = stack_of_path(&made.roots(), Path::new("/net"));
    assert_eq!((layers.len(), layers[0].kind), (1, LayerKind::Network));
    assert_eq!(layers[0].facts["source"], "server:/export");
    assert_eq!(line(&stack_of_path(&made.roots(), Path::new("/run"))), "tmpfs Filesystem");
}
