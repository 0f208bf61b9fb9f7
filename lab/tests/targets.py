"""`lodestone targets` identifies each kind of disk, each filesystem and each layer between correctly, without udev."""

from machine import Disk

PLAIN = {f"plain-{kind}": kind for kind in ("virtio", "hdd", "ssd", "sata", "nvme", "usb", "uas", "sd")}
MEMBERS = ["stripe-a", "stripe-b", "mirror-a", "mirror-b", "single-a", "single-b", "volume", "parts"]

# Facts of the only layer of each emulated disk; None for a fact that must be absent.
DISKS = {
    "virtio": {"link": "virtio", "driver": "virtio_blk", "rotation rate": None},
    "hdd": {"link": "scsi", "rotation rate": "7200", "model": "QEMU HARDDISK"},
    "ssd": {"link": "scsi", "rotation rate": "none", "rotational (hint)": "0"},
    "sata": {"link": "ata", "driver": "ahci", "temperature": "31"},
    "nvme": {"link": "nvme", "transport": "pcie", "temperature": "50", "model": "QEMU NVMe Ctrl"},
    "usb": {"link": "usb", "driver": "usb-storage", "link speed": "5000000000"},
    "uas": {"link": "usb", "driver": "uas", "link speed": "5000000000"},
    "sd": {"link": "mmc", "type": "SD", "name": "QEMU!"},
}

SETUP = """
mkdir -p /mnt/{stack,mirror,healthy,volume,locked,f2fs,exfat,fat,ntfs,zram,iscsi,null,tmp}
modprobe -a dm_mod dm_crypt raid0 raid1 loop zram
luks="--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000"
printf secret >/tmp/key
exec >/tmp/made 2>&1

mdadm --quiet --create /dev/md0 --level=0 --chunk=64 --raid-devices=2 --run $stripe_a $stripe_b
cryptsetup -q luksFormat $luks /dev/md0 /tmp/key
cryptsetup open --key-file /tmp/key /dev/md0 opened
pvcreate -q /dev/mapper/opened
vgcreate -q group /dev/mapper/opened
lvcreate -q -y -L 400M -n data group
mkfs.btrfs -q /dev/group/data
mount /dev/group/data /mnt/stack

mdadm --quiet --create /dev/md1 --level=1 --raid-devices=2 --run --assume-clean --bitmap=none $mirror_a $mirror_b
mdadm --quiet /dev/md1 --fail $mirror_b
mdadm --quiet /dev/md1 --remove $mirror_b
mkfs.ext4 -q /dev/md1
mount -o noatime /dev/md1 /mnt/mirror

mdadm --quiet --create /dev/md2 --level=1 --raid-devices=2 --run --assume-clean --bitmap=none $single_a $single_b
mkfs.ext4 -q /dev/md2
mount /dev/md2 /mnt/healthy

pvcreate -q $volume
vgcreate -q plain $volume
lvcreate -q -y -L 400M -n xfs plain
mkfs.xfs -q /dev/plain/xfs
mount /dev/plain/xfs /mnt/volume

addpart $parts 1 63 800000
cryptsetup -q luksFormat $luks --sector-size 4096 ${parts}1 /tmp/key
cryptsetup open --key-file /tmp/key ${parts}1 locked
mkfs.ext4 -q /dev/mapper/locked
mount /dev/mapper/locked /mnt/locked

mount -t tmpfs -o size=600m tmpfs /mnt/tmp
on_loop() {
    truncate -s 128M /mnt/tmp/$1.img
    loop=$(losetup -f --show /mnt/tmp/$1.img)
    $2 $loop
    mount -t $3 $loop /mnt/$1
}
on_loop f2fs "mkfs.f2fs -q" f2fs
on_loop exfat mkfs.exfat exfat
on_loop fat "mkfs.vfat -F 32" vfat
on_loop ntfs "mkfs.ntfs -q -Q -F" ntfs3

echo 64M >/sys/block/zram0/disksize
mkfs.ext4 -q /dev/zram0
mount /dev/zram0 /mnt/zram

modprobe null_blk nr_devices=1 memory_backed=1 gb=1
mkfs.ext4 -q /dev/nullb0
mount /dev/nullb0 /mnt/null

truncate -s 64M /mnt/tmp/disk.img
disk=$(bash /lab/iscsi /mnt/tmp/disk.img)
mkfs.ext4 -q $disk
mount $disk /mnt/iscsi
"""

# For each mount point its layers from the top down: kind, name if the test chooses it, facts.
ON_TMPFS = [("loop", None, {}), ("filesystem", "tmpfs", {"mount point": "/mnt/tmp"})]
LUKS = {"encryption": "LUKS2", "cipher": "aes-xts-plain64", "key bits": "512"}
VIRTIO = ("disk", None, {"link": "virtio"})
STACKS = {
    "/mnt/stack": [
        ("filesystem", "btrfs", {"data profile": "single"}),
        ("lvm", None, {"volume group": "group", "logical volume": "data", "table": "linear"}),
        ("crypt", None, {**LUKS, "mapping": "opened", "encryption sector": "512"}),
        ("raid", "md0", {"level": "raid0", "members": "2", "chunk": "65536", "degraded": None}),
        VIRTIO,
        VIRTIO,
    ],
    "/mnt/mirror": [
        ("filesystem", "ext4", {"options": "rw,noatime"}),
        ("raid", "md1", {"level": "raid1", "members": "2", "degraded": "1"}),
        VIRTIO,
    ],
    "/mnt/healthy": [
        ("filesystem", "ext4", {}),
        ("raid", "md2", {"level": "raid1", "members": "2", "degraded": None}),
        VIRTIO,
        VIRTIO,
    ],
    "/mnt/volume": [
        ("filesystem", "xfs", {}),
        ("lvm", None, {"volume group": "plain", "logical volume": "xfs"}),
        VIRTIO,
    ],
    "/mnt/locked": [
        ("filesystem", "ext4", {}),
        ("crypt", None, {**LUKS, "mapping": "locked", "encryption sector": "4096"}),
        ("partition", None, {"start byte": "32256", "alignment": "512"}),
        VIRTIO,
    ],
    "/mnt/f2fs": [("filesystem", "f2fs", {}), *ON_TMPFS],
    "/mnt/exfat": [("filesystem", "exfat", {}), *ON_TMPFS],
    "/mnt/fat": [("filesystem", "vfat", {}), *ON_TMPFS],
    "/mnt/ntfs": [("filesystem", "ntfs3", {}), *ON_TMPFS],
    "/mnt/zram": [("filesystem", "ext4", {}), ("disk", "zram0", {"link": "zram"})],
    "/mnt/null": [("filesystem", "ext4", {}), ("disk", "nullb0", {"link": "null"})],
    "/mnt/iscsi": [
        ("filesystem", "ext4", {}),
        ("disk", None, {"link": "iscsi", "server": "127.0.0.1", "target name": "iqn.2026-01.lab:disk"}),
    ],
    "/mnt/tmp": [("filesystem", "tmpfs", {})],
}


def names(lab):
    disks = {name: Disk(kind, "256M") for name, kind in PLAIN.items()}
    disks |= {name: Disk("virtio", "512M") for name in MEMBERS}
    with lab.machine(disks=disks) as machine:
        variables = "\n".join(f"{name.replace('-', '_')}={machine.disk(name)}" for name in disks)
        machine.sh(variables + SETUP)
        found = machine.run("lodestone targets --json")
        lab.equal("targets succeeds", found.code, 0, found.err)
        targets = {target["path"]: target for target in found.json()["targets"]}
        for name, kind in PLAIN.items():
            a_disk(lab, kind, targets.get(machine.disk(name)))
        for path, layers in STACKS.items():
            a_stack(lab, path, layers, targets.get(path))
        mirror = targets["/mnt/mirror"]["stack"][-1]["name"]
        lab.equal("the disk that remains in the mirror is the right one", f"/dev/{mirror}", machine.disk("mirror-a"))
        text = machine.run("lodestone targets")
        lab.check("the text names all mount points", text.code == 0 and all(path in text.out for path in STACKS), text.out)


def differs(facts, expected):
    """The facts that differ from the expected ones."""
    return {key: facts.get(key) for key, value in expected.items() if facts.get(key) != value}


def a_disk(lab, kind, target):
    layers = target["stack"] if target else []
    named = [layer["kind"] for layer in layers] == ["disk"] and not differs(layers[0]["facts"], DISKS[kind])
    lab.check(f"an emulated {kind} disk", named and target["kind"] == "block_device", target)


def a_stack(lab, path, expected, target):
    layers = target["stack"] if target else []
    same = len(layers) == len(expected) and all(
        layer["kind"] == kind and name in (None, layer["name"]) and not differs(layer["facts"], facts)
        for layer, (kind, name, facts) in zip(layers, expected)
    )
    called = " on ".join(name or kind for kind, name, _ in expected)
    lab.check(f"{path}: {called}", same, target)


TESTS = [names]
SMOKE = TESTS
ARM = TESTS
