//! What the storage of machines that are not at hand looks like to people.

use std::collections::BTreeMap;

use model::{Candidate, Host, Inventory, Layer, LayerKind, TargetKind};
use report::{TextStyle, Units, targets_export, targets_text};

fn facts(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

fn layer(level: u32, kind: LayerKind, name: &str, text: &str) -> Layer {
    let mounted = matches!(kind, LayerKind::Filesystem) || text.contains("mount point");
    // Devices differ by their names here.
    let number = name.bytes().fold(0u32, |sum, byte| (sum * 31 + u32::from(byte)) % 99_991);
    Layer { kind, name: name.into(), level, device: (!mounted).then_some((8, number)), facts: facts(text) }
}

fn candidate(path: &str, space: Option<(u64, u64)>, remark: Option<&str>, stack: Vec<Layer>) -> Candidate {
    let kind = if path.starts_with("/dev/") { TargetKind::BlockDevice } else { TargetKind::Directory };
    Candidate {
        path: path.into(),
        also: Vec::new(),
        kind,
        size_bytes: space.map(|(size, _)| size),
        free_bytes: space.filter(|_| kind == TargetKind::Directory).map(|(_, free)| free),
        remark: remark.map(str::to_owned),
        stack,
    }
}

/// A degraded mirror with everything on top of it, one member on a bad cable, the other misaligned.
fn pool() -> Candidate {
    use LayerKind::{Crypt, Disk, Filesystem, Lvm, Partition, Raid};
    let stack = vec![
        layer(
            0,
            Filesystem,
            "btrfs",
            "mount point=/pool; options=rw,noatime,compress=zstd:3; data profile=single; metadata profile=dup; checksum=crc32c",
        ),
        layer(
            1,
            Lvm,
            "dm-1",
            "volume group=my-vg; logical volume=data; mapping=my--vg-data; size=4000000000000; table=linear; discard granularity=0",
        ),
        layer(
            2,
            Crypt,
            "dm-0",
            "encryption=LUKS2; mapping=secret; size=4000000000000; cipher=aes-xts-plain64; key bits=512; encryption sector=4096",
        ),
        layer(
            3,
            Raid,
            "md0",
            "level=raid1; members=3; degraded=1; sync action=recover; size=4000000000000; state=active; bitmap=+8",
        ),
        layer(
            4,
            Partition,
            "sda1",
            "partition=1; size=4000785932288; alignment=1048576; physical block=4096; start byte=1048576",
        ),
        layer(
            5,
            Disk,
            "sda",
            "link=ata; model=WDC WD40EFRX-68N32N0; size=4000787030016; rotation rate=5400; link speed=1500000000; highest link speed=6000000000; driver=ahci; firmware=82.00A82; serial=0042; scheduler=mq-deadline; requests=64; largest request=1310720; logical block=512; physical block=4096; write cache=write back; device queue depth=32; SMART health=failed; temperature=36; power-on hours=50000; reallocated sectors=128; link errors=17; discard granularity=0",
        ),
        layer(
            4,
            Partition,
            "sdb1",
            "partition=1; size=4000785932288; alignment=512; physical block=4096; start byte=32256",
        ),
        layer(
            5,
            Disk,
            "sdb",
            "link=usb; vendor=JMicron; model=Generic; size=4000787030016; link speed=480000000; USB version=2.10; driver=usb-storage; bridge=152d:0578; bridge name=JMicron External Disk; sleeping=1; scheduler=mq-deadline; requests=2",
        ),
    ];
    candidate("/pool", Some((4_000_000_000_000, 1_234_000_000_000)), None, stack)
}

fn inventory() -> Inventory {
    use LayerKind::{Disk, Filesystem, Network};
    let nvme = "link=nvme; transport=pcie; model=Samsung SSD 980 PRO 1TB; size=1000204886016; link speed=8000000000; lanes=1; highest link speed=64000000000; highest lanes=4; driver=nvme; firmware=5B2QGXA7; serial=042A; scheduler=none; requests=1023; largest request=131072; logical block=512; physical block=512; write cache=write back; discard granularity=512; SMART health=passed; temperature=41; life used=3; media errors=0";
    let root = vec![
        layer(0, Filesystem, "ext4", "mount point=/; options=rw,relatime"),
        layer(1, Disk, "nvme0n1", nvme),
    ];
    let again = vec![
        layer(0, Filesystem, "xfs", "mount point=/mnt/image; options=rw"),
        layer(
            1,
            LayerKind::Loop,
            "loop0",
            "size=314572800; backing file=/disk.img; direct I/O to the file=0",
        ),
        layer(2, Filesystem, "ext4", "mount point=/; options=rw,relatime"),
        layer(3, Disk, "nvme0n1", nvme),
    ];
    let nas = "mount point=/mnt/nas; link=nfs; server=192.0.2.7; protocol version=4.2; transport=tcp; source=nas:/export; options=rw,hard";
    let zfs = "mount point=/tank; pool=tank; source=tank/home; pool state=DEGRADED; members=2; degraded=1; pool layout=mirror-0: sdy sdz; cache: nvme1n1; options=rw,noatime";
    let card = "link=mmc; type=SD; name=SD64G; size=64000000000; driver=sdhci-pci; manfid=0x000003; oemid=0x5344; date=02/2021; serial=beef; speed classes=C10 U3 A2; capacity by CSD=8000000000; bus mode=sd uhs DDR50; link speed=400000000";
    let iscsi = "link=iscsi; vendor=LIO-ORG; model=d0; size=107374182400; server=192.0.2.5; port=3260; target name=iqn.2026-01.lab:t1; session state=FAILED; driver=iscsi_tcp";
    Inventory {
        host: Host {
            name: "bench".into(),
            board: Some("Raspberry Pi 5 Model B Rev 1.0".into()),
            cpu: "Cortex-A76".into(),
            cpus: 4,
            memory_bytes: 8 << 30,
            kernel: "6.12.9".into(),
            facts: facts(
                "governor=ondemand; lowest clock=1500000000; highest clock=2400000000; throttled=throttled",
            ),
            ..Host::default()
        },
        candidates: vec![
            candidate("/", Some((1_000_000_000_000, 512_000_000_000)), None, root),
            candidate("/mnt/image", Some((300_000_000, 280_000_000)), None, again),
            candidate("/mnt/nas", None, Some("does not respond"), vec![layer(0, Network, "nfs4", nas)]),
            pool(),
            candidate("/tank", Some((8_000_000_000_000, 1)), None, vec![layer(0, Filesystem, "zfs", zfs)]),
            candidate(
                "/dev/mmcblk0",
                Some((64_000_000_000, 0)),
                Some("not mounted"),
                vec![layer(0, Disk, "mmcblk0", card)],
            ),
            candidate(
                "/dev/sdi",
                Some((107_374_182_400, 0)),
                Some("not mounted"),
                vec![layer(0, Disk, "sdi", iscsi)],
            ),
        ],
        left_out: 6,
        unseen: vec!["smartctl does not support the USB bridge of sdb.".into()],
    }
}

fn shown(width: usize, color: bool) -> String {
    targets_text(&inventory(), Units::Decimal, TextStyle { width, color }).to_string()
}

#[test]
fn trees_for_a_wide_terminal() {
    insta::assert_snapshot!(shown(110, false));
}

#[test]
fn trees_for_a_narrow_terminal_keep_within_it_and_lose_nothing() {
    let words = |text: &str| {
        let mut words: Vec<String> =
            text.split(|c: char| c.is_whitespace() || "│├└─·".contains(c)).map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    let narrow = shown(60, false);
    assert_eq!(words(&narrow), words(&shown(110, false)));
    for line in narrow.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
}

#[test]
fn colours_only_repeat_what_the_words_say() {
    let coloured = shown(110, true);
    assert_ne!(coloured, shown(110, false));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, shown(110, false));
}

#[test]
fn nothing_in_a_name_reaches_the_terminal_as_a_command() {
    let mut inventory = inventory();
    inventory.candidates[0].path = "/mnt/\u{1b}[2J".into();
    inventory.candidates[0].stack[1].facts.insert("model".into(), "\u{1b}]0;x\u{7}".into());
    let text = targets_text(&inventory, Units::Decimal, TextStyle { width: 100, color: false });
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
}

#[test]
fn the_export_has_the_facts_as_they_are() {
    let export = serde_json::to_value(targets_export(&inventory(), Vec::new(), Units::Decimal)).unwrap();
    assert_eq!(export["targets"][0]["stack"][1]["facts"]["link speed"], "8000000000");
    assert_eq!(export["targets"][2]["free"], serde_json::Value::Null);
    assert_eq!(export["host"]["facts"]["governor"], "ondemand");
}

fn disks() -> Inventory {
    let disk = |name: &str, text: &str| {
        candidate(&format!("/dev/{name}"), None, None, vec![layer(0, LayerKind::Disk, name, text)])
    };
    Inventory {
        host: Host { name: "attic".into(), ..Host::default() },
        candidates: vec![
            disk(
                "nvme1n1",
                "link=nvme; model=KIOXIA EXCERIA; size=1000204886016; SMART health=passed; life used=7; temperature=44; power-on hours=913; spare blocks left=100; critical spare blocks=5",
            ),
            disk(
                "mmcblk1",
                "link=mmc; type=MMC; name=BJTD4R; life used in tenths=0x0a 0x03; spare blocks=0x01",
            ),
            disk(
                "sdc",
                "link=ata; rotation rate=7200; model=ST4000DM004; SMART health=failed; pending sectors=24; temperature=58; power-on hours=41234; link errors=3",
            ),
            disk("vdb", "link=virtio; size=1000000000"),
            disk(
                "nvme2n1",
                "link=nvme; SMART health=passed; life used=104; spare blocks left=4; critical spare blocks=10",
            ),
        ],
        left_out: 0,
        unseen: vec!["smartctl reported no health status of vdb.".into()],
    }
}

#[test]
fn health_begins_with_what_fails() {
    let text = report::text(
        &report::health_document(&disks(), Units::Decimal),
        TextStyle { width: 100, color: false },
    );
    insta::assert_snapshot!(text.to_string());
    let json = serde_json::to_value(targets_export(&disks(), Vec::new(), Units::Decimal)).unwrap();
    let conditions: Vec<&str> =
        json["health"].as_array().unwrap().iter().map(|h| h["condition"].as_str().unwrap()).collect();
    assert_eq!(conditions, ["failing", "failing", "attention", "unknown", "good"]);
    assert_eq!(json["health"][2]["life_used_percent"], 90, "the worse of both kinds of cells");
}
