"""No user data is overwritten without full consent, whatever the kind of storage: a run that names only the target is
refused and changes nothing, the refusal names everything that would be destroyed, and with the advice in it the same
run is allowed. A use that cannot be named, because only the kernel knows it, must end first."""

import re

from machine import Failed

RUN = "lodestone run {target} --overwrite {named} --rw write --bs 64k --size 1M --ops 16 --runtime none --rounds 1 --quiet --no-report"

# `disk NAME` makes a loop device of 320 MiB in memory, as $NAME.
SETUP = """
modprobe -a loop dm_mod dm_crypt dm_thin_pool dm_multipath dm_round_robin raid1 bcache xfs btrfs ext4
mkdir -p /images
mount -t tmpfs -o size=700m images /images
printf secret >/tmp/key
"""
FUNCTIONS = """
disk() {
    truncate -s 320M /images/$1
    eval "$1=$(losetup ${2:-} --find --show /images/$1)"
    echo "$1=${!1}" >>/tmp/disks
}
point() { mkdir -p /mnt/$1; }
touch /tmp/disks
. /tmp/disks
luks="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
"""


class Kind:
    """How a target comes into use (`use`) and what the refusal must then name; how the use ends (`rest`) and which
    signatures (`marks`) the refusal must name afterwards. `unnamed`: while the target is in use, no consent is enough,
    and the refusal contains this text."""

    def __init__(self, name, target, use, names, rest="", marks=None, unnamed=None, live=False):
        self.name, self.target, self.use, self.names = name, target, use, names
        self.rest, self.marks, self.unnamed, self.live = rest, marks, unnamed, live


DM = r"/dev/dm-\d+"


def array(version):
    name = f"md{version.replace('.', '')}"
    make = f"mdadm --quiet --create /dev/{name} --metadata={version} --level=1 --raid-devices=2 --run --assume-clean --bitmap=none"
    return Kind(
        f"a member of RAID1, metadata {version}",
        f"{name}a",
        f"disk {name}a; disk {name}b; {make} ${name}a ${name}b 2>/dev/null",
        [r"/dev/md\d+", "md raid"],
        f"mdadm --quiet --stop /dev/{name}",
        ["md raid"],
    )


def luks(version):
    name = f"luks{version}"
    return Kind(
        f"LUKS{version}",
        name,
        f"disk {name}; cryptsetup -q luksFormat --type {name} $luks ${name} /tmp/key\n"
        f"cryptsetup open --key-file /tmp/key ${name} {name}; mkfs.ext4 -q /dev/mapper/{name}\n"
        f"point {name}; mount -o ro /dev/mapper/{name} /mnt/{name}",
        [DM, f"/mnt/{name}", "luks"],
        f"umount /mnt/{name}; cryptsetup close {name}",
        ["luks"],
        live=True,
    )


# Filesystems are mounted read-only: on a writable mount the kernel itself writes between two checks of the content.

# Layers that the kernel builds on devices.
LAYERS = [
    Kind(
        "a physical volume of LVM",
        "lvm",
        "disk lvm; pvcreate -q $lvm; vgcreate -q group $lvm; lvcreate -q -y -Zn -L 64M -n data group",
        [DM, "lvm"],
        "vgchange -q -an group",
        ["lvm"],
    ),
    Kind(
        "a thin pool of LVM",
        "thin",
        "disk thin; pvcreate -q $thin; vgcreate -q slim $thin; lvcreate -q -y -Zn -L 100M -T slim/pool\n"
        "lvcreate -q -y -V 200M -T slim/pool -n data; mkfs.ext4 -q /dev/mapper/slim-data\n"
        "point thin; mount -o ro /dev/mapper/slim-data /mnt/thin",
        [DM, "/mnt/thin", "lvm"],
        "umount /mnt/thin; vgchange -q -an slim",
        ["lvm"],
        live=True,
    ),
    Kind(
        "the metadata of a thin pool created manually",
        "meta",
        "disk meta; disk pooled; dmsetup create bare --table \"0 204800 thin-pool $meta $pooled 128 0\"; dmsetup mknodes\n"
        "dmsetup message bare 0 create_thin 0",
        [DM],
        "dmsetup remove --retry bare",
        ["dm-thin metadata"],
    ),
    luks(1),
    luks(2),
    Kind(
        "LUKS2 with a detached header, open",
        "detached",
        "disk detached; truncate -s 16M /images/header\n"
        "cryptsetup -q luksFormat --type luks2 $luks --header /images/header $detached /tmp/key\n"
        "cryptsetup open --key-file /tmp/key --header /images/header $detached detached",
        [DM],
        "cryptsetup close detached",
        # Such a device looks like random data: naming it is enough.
        [],
    ),
    *(array(version) for version in ("0.90", "1.0", "1.1", "1.2")),
    Kind(
        "the backing device of bcache",
        "backing",
        "disk backing; disk cache; make-bcache -C $cache -B $backing >/dev/null\n"
        "for d in $backing $cache; do echo $d >/sys/fs/bcache/register || true; done\n"
        "until [ -b /dev/bcache0 ]; do sleep 0.1; done",
        ["/dev/bcache0", "bcache"],
    ),
    Kind(
        "the cache of bcache",
        "cache",
        "",
        ["/dev/bcache0", "bcache"],
        "echo 1 >/sys/block/bcache0/bcache/stop; for s in /sys/fs/bcache/*-*; do echo 1 >$s/stop; done\n"
        "until [ ! -e /sys/block/bcache0 ] && ! ls -d /sys/fs/bcache/*-* >/dev/null 2>&1; do sleep 0.1; done",
        ["bcache"],
    ),
]

# Uses of a device, and devices that share its data.
USES = [
    Kind(
        "an external log of xfs",
        "log",
        "disk log; disk logged; mkfs.xfs -q -f -l logdev=$log,size=64m $logged; point log\n"
        "mount -o ro,logdev=$log $logged /mnt/log",
        ["/mnt/log", "xfs log"],
        "umount /mnt/log",
        ["xfs log"],
        live=True,
    ),
    Kind(
        "an external journal of ext4",
        "journal",
        "disk journal; disk journalled; mke2fs -q -F -b 4096 -O journal_dev $journal; point journal\n"
        "mke2fs -q -F -t ext4 -b 4096 -J device=$journal $journalled; mount -o ro $journalled /mnt/journal",
        ["external journal"],
        "umount /mnt/journal",
        ["external journal"],
        unnamed="it is the external journal of a mounted filesystem",
    ),
    Kind("swap", "swap", "disk swap; mkswap -q $swap; swapon $swap", ["swap"], "swapoff $swap", ["swap"], live=True),
    Kind(
        "a member of a mounted btrfs",
        "second",
        "disk first; disk second; mkfs.btrfs -q -f -d raid1 -m raid1 $first $second; btrfs device scan >/dev/null\n"
        "point btrfs; mount -o ro $first /mnt/btrfs",
        ["/mnt/btrfs", "btrfs"],
        "umount /mnt/btrfs; btrfs device scan --forget",
        ["btrfs"],
        live=True,
    ),
    # Debian does not ship the ZFS module: this writes a label as specified, only in the second half of the disk.
    Kind(
        "a label of ZFS",
        "zfs",
        "disk zfs; printf '\\x0c\\xb1\\xba\\0\\0\\0\\0\\0' | dd of=$zfs bs=1 seek=$((320 * 1048576 - 262144 + 131072 + 5120)) status=none",
        ["zfs"],
    ),
    *(
        Kind(
            f"a disk with partitions by {label.upper()}",
            label,
            f"disk {label} --partscan; printf 'label: {kind}\\n,100M\\n,100M\\n' | sfdisk -q ${label}\n"
            f"partx -u ${label}; until [ -b ${{{label}}}p2 ]; do sleep 0.1; done\n"
            f"mkfs.ext4 -q ${{{label}}}p2; point {label}; mount -o ro ${{{label}}}p2 /mnt/{label}",
            [rf"/dev/loop\d+p1", rf"/dev/loop\d+p2", f"/mnt/{label}", label],
            f"umount /mnt/{label}",
            [rf"/dev/loop\d+p1", rf"/dev/loop\d+p2", label],
            live=True,
        )
        for label, kind in (("gpt", "gpt"), ("mbr", "dos"))
    ),
    Kind(
        "a partition that is mounted",
        "part",
        "disk parts --partscan; printf 'label: gpt\\n,100M\\n,100M\\n' | sfdisk -q $parts; partx -u $parts\n"
        "until [ -b ${parts}p2 ]; do sleep 0.1; done; echo part=${parts}p1 >>/tmp/disks; . /tmp/disks\n"
        "mkfs.ext4 -q ${parts}p1; point part; mount -o ro ${parts}p1 /mnt/part",
        ["/mnt/part", "ext2/3/4"],
        "umount /mnt/part",
        ["ext2/3/4"],
        live=True,
    ),
    Kind(
        "a file under a loop device with LVM on it",
        "file",
        "disk under; pvcreate -q $under; vgcreate -q below $under; lvcreate -q -y -Zn -L 64M -n data below\n"
        "echo file=/images/under >>/tmp/disks",
        [r"/dev/loop\d+", DM],
        "vgchange -q -an below; losetup -d $under",
        [],
    ),
    # The disk has two paths and is mounted through the other one.
    Kind(
        "another path to a disk that is mounted",
        "path",
        "modprobe scsi_debug dev_size_mb=64 add_host=2 vpd_use_hostno=0\n"
        "until [ -b /dev/sda ] && [ -b /dev/sdb ]; do sleep 0.1; done; echo path=/dev/sdb >>/tmp/disks\n"
        "mkfs.ext4 -q /dev/sda; point path; mount -o ro /dev/sda /mnt/path",
        ["/dev/sda", "/mnt/path", "ext2/3/4"],
        "umount /mnt/path",
        ["/dev/sda", "ext2/3/4"],
        live=True,
    ),
    Kind(
        "a path of a multipath device",
        "path",
        "sectors=$(blockdev --getsz /dev/sda); paths=\"$(cat /sys/block/sda/dev) 1000 $(cat /sys/block/sdb/dev) 1000\"\n"
        "dmsetup create many --table \"0 $sectors multipath 0 0 1 1 round-robin 0 2 1 $paths\"; dmsetup mknodes",
        [DM, "/dev/sda"],
        "dmsetup remove --retry many",
        ["/dev/sda"],
    ),
    Kind(
        "a disk that is exported over the network",
        "exported",
        "disk exported; bash /lab/iscsi $exported",
        [],
        "iscsiadm -m node -u >/dev/null 2>&1; cd /sys/kernel/config/target; rm iscsi/*/tpgt_1/lun/lun_0/port\n"
        "rmdir iscsi/iqn*/tpgt_1/lun/lun_0 iscsi/iqn*/tpgt_1/np/* iscsi/iqn*/tpgt_1 iscsi/iqn* core/iblock_0/disk",
        [],
        unnamed="a disk exported over the network",
    ),
    Kind(
        "a disk that is mounted in another namespace",
        "apart",
        "disk apart; mkfs.ext4 -q $apart; point apart; mkfifo /tmp/end\n"
        "unshare -m bash -c \"mount -o ro $apart /mnt/apart && touch /tmp/apart && read end </tmp/end\" >/dev/null 2>&1 </dev/null &\n"
        "until [ -e /tmp/apart ]; do sleep 0.1; done",
        [r"/proc/\d+/root/mnt/apart", "ext2/3/4"],
        "echo end >/tmp/end; until ! grep -qs /mnt/apart /proc/[0-9]*/mountinfo; do sleep 0.1; done",
        ["ext2/3/4"],
        live=True,
    ),
]


def layers(lab):
    of_all(lab, LAYERS)


def uses(lab):
    of_all(lab, USES)


def one_layer(lab):
    of_all(lab, [luks(2)])


def of_all(lab, kinds):
    with lab.machine(memory=1536) as machine:
        machine.sh(SETUP)
        for kind in kinds:
            try:
                one_kind(lab, machine, kind)
            except Failed as failed:
                lab.check(f"{kind.name}: can be set up here", False, failed)


def one_kind(lab, machine, kind):
    machine.sh(f"{FUNCTIONS}{kind.use}\nsync")
    target = machine.sh(f"{FUNCTIONS}echo ${kind.target}")
    if kind.unnamed:
        for what in kind.names:
            named(lab, machine, f"{kind.name}: carries {what}", target, [what])
        every = ",".join([target, *kind.names])
        refused = machine.run(RUN.format(target=target, named=f"'{every}'"))
        lab.equal(f"{kind.name}: in use, no consent is enough", refused.code, 2, refused.out + refused.err)
        lab.check(f"{kind.name}: the refusal reports that it is in use", kind.unnamed in refused.err, refused.err)
    else:
        consented(lab, machine, kind.name, target, kind.names, dry=kind.live or kind.rest)
    if kind.rest:
        machine.sh(f"{FUNCTIONS}{kind.rest}")
        consented(lab, machine, f"{kind.name}, at rest", target, kind.marks)


def content(machine, target):
    return machine.sh(f"head -c 2M {target} | md5sum; tail -c 2M {target} | md5sum")


def named(lab, machine, what, target, names):
    """Checks that a run that names only the target is refused and changes nothing; returns the refusal's advice."""
    before = content(machine, target)
    refused = machine.run(RUN.format(target=target, named=target))
    lab.equal(f"{what}: without consent for it the run is refused", refused.code, 2, refused.out + refused.err)
    advice = re.search(r"it holds (.*); to destroy all of this, pass --overwrite (.*)$", refused.err, re.M)
    carried = re.sub(r" \([^)]*\)", "", advice[1]).split(", ") if advice else []
    missing = [name for name in names if not any(re.fullmatch(name, known) for known in carried)]
    is_complete = not missing and len(carried) == len(set(carried))
    lab.check(f"{what}: the refusal names each thing to be destroyed once", is_complete, f"{missing} of {refused.err}")
    lab.equal(f"{what}: the refused run changes nothing", content(machine, target), before)
    return advice and advice[2]


def consented(lab, machine, what, target, names, dry=False):
    """Checks that a run is refused without full consent and allowed with the refusal's advice. `dry`: a dry run only."""
    advice = named(lab, machine, what, target, names) if names else target
    before = content(machine, target)
    allowed = machine.run(RUN.format(target=target, named=advice) + (" --dry-run" if dry else ""))
    lab.equal(f"{what}: with the advice in the refusal the run is allowed", allowed.code, 0, allowed.out + allowed.err)
    if not dry:
        lab.check(f"{what}: the allowed run overwrites it", content(machine, target) != before)


TESTS = [layers, uses]
SMOKE = [one_layer]
