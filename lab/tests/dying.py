"""Storage that fails while it is measured, next to healthy storage. Whatever happens, the run ends by itself, reports
what failed, when, and after how many good operations, measures the healthy target to the end, leaves a complete record
and nothing on the disks, and ends with exit code 3."""

import json
import re

from machine import Broke, Disk

ROUNDS = 4
RUN = (
    f"lodestone run good=/good bad={{target}} --rounds {ROUNDS} --interval 100ms --telemetry 30s --quiet --json "
    "--store /tmp/store {options}"
)
# Few enough operations for an emulated processor.
READS = "--rw randread --size 4M --runtime 2s --rate-iops 100"
WRITES = "--rw randwrite --size 4M --runtime 2s --rate-iops 100"
FRESH = "--rw write --bs 64k --prepare fresh --size 16M --runtime 30s --rate 8MB"
NAMES = "--rw metadata --metadata-files 300 --runtime 500ms"

# Waits until the log shows that the bad target is being measured.
MEASURING = """
until [ -e /tmp/store/runs/*.jsonl ] || [ -e /lab/{job}.code ]; do sleep 0.2; done
tail -n +1 -f --pid=$(busybox pidof lodestone) /tmp/store/runs/*.jsonl 2>/dev/null | busybox awk '
    /"repeat_started".*"target":"bad"/ { split($0, part, /"repeat":|,/); repeat = part[3] }
    repeat != "" && index($0, "\\"interval\\",\\"repeat\\":" repeat ",") { exit }'
"""
FINISHED = "tail -n +1 -f --pid=$(busybox pidof lodestone) /tmp/store/runs/*.jsonl 2>/dev/null | grep -q run_finished"

# Two disks of the same kind: the one on /good stays healthy.
TWO_DISKS = """
modprobe scsi_debug delay=0 ndelay=1000000 dev_size_mb=128 per_host_store=1 add_host=2 max_queue=64
until [ -b /dev/sda ] && [ -b /dev/sdb ]; do sleep 0.1; done
mkfs.ext4 -q /dev/sda
mkdir -p /good /bad
mount /dev/sda /good
modprobe -a dm_mod null_blk
"""
FAULT_OF_SDB = "/sys/kernel/debug/scsi_debug/$(basename $(readlink -f /sys/block/sdb/device))/error"
EXT4 = "mkfs.ext4 -q -F /dev/sdb; mount /dev/sdb /bad"
MAPPED = "dmsetup create mapped --table \"0 $(blockdev --getsz /dev/sdb) linear /dev/sdb 0\"; dmsetup mknodes"


class Failure:
    """How a target is created, how it is measured, how it fails, the text of the failure, how the repeats on it end (c for
    completed, f for failed; a target that can come back is tried three times; a dictionary maps text of the first
    failure to the ends), and how it is removed or repaired without leftovers. `kill` is a script or a function of
    the machine."""

    def __init__(self, name, target, options, kill, message, ends="f", make="", heal=""):
        self.name, self.target, self.options, self.kill = name, target, options, kill
        self.message, self.ends, self.make, self.heal = message, ends, make, heal
        # A device that hangs is resumed, so that its process can end; all others stay failed until the run is over.
        self.hangs = "suspend" in str(kill)


GONE = "returned no data and no error|Input/output error|No such device"
READ_ONLY = "Read-only|Input/output error"
HUNG = "did not come back within"
# A request to a SCSI disk during its removal fails with ENODEV, and the target is given up at once. A later request to
# the filesystem that was shut down fails with EIO, which may be transient.
ONCE_IF_NO_DEVICE = {"No such device": "f", "Input/output error": "fff"}
WAKE = "dmsetup resume mapped"
OFFLINE = "echo offline >/sys/block/sdb/device/state"
ISCSI = "ln -s $(bash /lab/iscsi /dev/sdb) /dev/iscsi"
NO_ISCSI = """
iscsiadm -m node -u >/dev/null 2>&1; rm /dev/iscsi; cd /sys/kernel/config/target; rm iscsi/*/tpgt_1/lun/lun_0/port
rmdir iscsi/iqn*/tpgt_1/lun/lun_0 iscsi/iqn*/tpgt_1/np/* iscsi/iqn*/tpgt_1 iscsi/iqn* core/iblock_0/disk
"""
ISCSI_GOES = "echo 0 >/sys/kernel/config/target/iscsi/*/tpgt_1/enable"
ISCSI_COMES = "echo 1 >$(echo /sys/kernel/config/target/iscsi/*/tpgt_1/enable)"


def medium_errors(command, count):
    """The next commands of this kind fail (1: all, -n: n of them) with a medium error."""
    return f"echo '2 {count} {command} 0 0 0x2 0x3 0x11 0x0' >{FAULT_OF_SDB}"


FAILURES = [
    Failure(
        "medium errors under a device",
        *("/dev/sdb", READS, medium_errors("0x28", 1), "read failed: No data available", "fff"),
        heal=f"echo '- 2 0x28' >{FAULT_OF_SDB}",
    ),
    Failure(
        "medium errors under a filesystem",
        *("/bad", WRITES, medium_errors("0x2a", 1), "write failed: ", "fff", EXT4),
        heal=f"echo '- 2 0x2a' >{FAULT_OF_SDB}; umount /bad",
    ),
    Failure(
        "one medium error",
        *("/dev/sdb", READS, medium_errors("0x28", -1), "read failed: No data available", "fccc"),
    ),
    Failure(
        "bad blocks",
        *("/dev/nullb1", READS, "echo +1000-100000 >/sys/kernel/config/nullb/nullb1/badblocks", "Input/output error"),
        ends="fff",
        make="mkdir /sys/kernel/config/nullb/nullb1; cd /sys/kernel/config/nullb/nullb1; echo 128 >size\n"
        "echo 1 >memory_backed; echo 2 >irqmode; echo 1000000 >completion_nsec; echo 1 >power",
        heal="echo 0 >/sys/kernel/config/nullb/nullb1/power; rmdir /sys/kernel/config/nullb/nullb1",
    ),
    Failure(
        "a device set offline",
        *("/dev/sdb", READS, OFFLINE, GONE, "ff", "", "echo running >/sys/block/sdb/device/state"),
    ),
    Failure(
        "a filesystem on a device set offline",
        *("/bad", WRITES, OFFLINE, f"{GONE}|Read-only", "fff", EXT4),
        heal="umount /bad; echo running >/sys/block/sdb/device/state",
    ),
    Failure(
        "a suspended device, io_uring",
        *("/dev/mapper/mapped", READS, "dmsetup suspend mapped", HUNG, "f", MAPPED, "dmsetup remove --retry mapped"),
    ),
    Failure(
        "a suspended device, psync",
        *("/dev/mapper/mapped", f"{READS} --engine psync", "dmsetup suspend mapped", HUNG, "f"),
        *(MAPPED, "dmsetup remove --retry mapped"),
    ),
    Failure(
        "a suspended device under a filesystem",
        *("/bad", WRITES, "dmsetup suspend --nolockfs mapped", HUNG, "f"),
        make=f"{MAPPED}; mkfs.ext4 -q -F /dev/mapper/mapped; mount /dev/mapper/mapped /bad",
        heal="umount /bad; dmsetup remove --retry mapped",
    ),
    Failure(
        "a filesystem that is full",
        *("/bad", FRESH, "fallocate -l $(($(df --output=avail -k /bad | tail -n 1) - 64))K /bad/others"),
        *("No space left", "f", EXT4, "rm /bad/others; umount /bad"),
    ),
    Failure(
        "a filesystem after an internal error",
        *("/bad", FRESH, "echo 1 >/sys/fs/ext4/sdb/trigger_fs_error", READ_ONLY, "fff"),
        make="mkfs.ext4 -q -F /dev/sdb; mount -o errors=remount-ro /dev/sdb /bad",
        heal="umount /bad",
    ),
    Failure(
        "a filesystem remounted read-only",
        *("/bad", NAMES, "until mount -o remount,ro /bad; do :; done 2>/dev/null", "Read-only", "c*f", EXT4),
        heal="umount /bad",
    ),
    Failure(
        "an iSCSI target lost",
        *("/dev/iscsi", READS, ISCSI_GOES, GONE, "f{1,3}"),
        make=f"{ISCSI}; echo 5 >$(echo /sys/class/iscsi_session/*/recovery_tmo)",
        heal=NO_ISCSI,
    ),
    *[
        Failure(
            *(f"{kind} on a device set offline", "/bad", WRITES, OFFLINE, f"{GONE}|Read-only", "f{1,3}"),
            make=f"mkfs.{kind} -q -f {options} /dev/sdb; mount /dev/sdb /bad",
            heal="umount /bad; echo running >/sys/block/sdb/device/state; wipefs -qa /dev/sdb",
        )
        for kind, options in (("xfs", "--unsupported"), ("btrfs", ""))
    ],
    # These two are last, because the device does not come back under its name.
    Failure(
        "a filesystem on a device removed",
        *("/bad", WRITES, "echo 1 >/sys/block/sdb/device/delete", f"{GONE}|Read-only", ONCE_IF_NO_DEVICE, EXT4),
        heal="umount /bad; echo 0 0 0 >$(echo /sys/bus/pseudo/devices/adapter1/host*/scsi_host/host*/scan)\n"
        "until [ -b /dev/sdb ]; do sleep 0.1; done",
    ),
    Failure("a device removed", "/dev/sdb", READS, "echo 1 >/sys/block/sdb/device/delete", GONE, "f{1,2}"),
]


def devices(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(TWO_DISKS)
        for failing in FAILURES:
            one_failure(lab, machine, failing)


def offline(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(TWO_DISKS)
        one_failure(lab, machine, next(failing for failing in FAILURES if failing.kill == OFFLINE))


# Attempts to unplug a disk, because QEMU itself occasionally fails at it.
MACHINES_TO_TRY = 3


def unplugged(lab):
    """Disks that are unplugged, in real time: a repeat or two may have been good before."""
    for disk in ("usb", "uas", "nvme"):
        for left in reversed(range(MACHINES_TO_TRY)):
            try:
                unplug(lab, disk)
                break
            except Broke as broke:
                print(f"     {lab.test}: {disk}: {broke}; {left} more machine(s) to try", flush=True)
                if left == 0:
                    raise


def unplug(lab, kind):
    with lab.machine(disks={"well": Disk("virtio"), "bad": Disk(kind)}) as machine:
        machine.sh(f"mkfs.ext4 -q {machine.disk('well')}; mkdir -p /good /bad; mount {machine.disk('well')} /good")
        device = f"/sys/block/{machine.disk('bad').removeprefix('/dev/')}/device"
        name, kill = {
            "usb": ("an USB disk no longer authorised", f"echo 0 >$(readlink -f {device}/../../../../..)/authorized"),
            "uas": ("an UAS disk unplugged", lambda m: m.qmp("device_del", id="uas-bad")),
            "nvme": ("an NVMe disk unplugged", lambda m: m.qmp("device_del", id="dev-bad")),
        }[kind]
        one_failure(lab, machine, Failure(name, machine.disk("bad"), READS, kill, GONE, "c*f{1,3}"))


def one_failure(lab, machine, failing):
    name = failing.name
    machine.sh(f"rm -rf /tmp/store\n{failing.make}")
    job = machine.start(RUN.format(target=failing.target, options=failing.options))
    machine.run(MEASURING.replace("{job}", str(job)))
    failing.kill(machine) if callable(failing.kill) else machine.sh(failing.kill)
    # A thread that sleeps in the kernel cannot be ended, but the record is complete without it.
    if failing.hangs:
        machine.run(FINISHED)
        machine.sh(WAKE)
    result = machine.wait(job)
    lab.equal(f"{name}: the run ends by itself with exit code 3", result.code, 3, result.err[-3000:])
    run = result.json()
    repeats = {t: [r for r in run["repeats"] if r["target"] == t] for t in ("good", "bad")}
    ends = {t: "".join(r["outcome"][0] for r in of) for t, of in repeats.items()}
    lab.equal(f"{name}: the other target is measured to the end", ends["good"], "c" * ROUNDS, run["repeats"])
    failure = next((r["failure"] for r in repeats["bad"] if r["failure"]), "")
    expected = failing.ends
    if isinstance(expected, dict):
        expected = next((how for word, how in expected.items() if word in failure), "neither")
    evidence = f"{ends['bad']} is not {expected}: {json.dumps(repeats['bad'], indent=1)}"
    lab.check(f"{name}: the number of attempts is right", re.fullmatch(expected, ends["bad"]), evidence)
    lab.check(f"{name}: the failure is described", re.search(failing.message, failure), failure)
    work = re.search(r"\d+\.\d s into the repeat, after (\d+) good operations", failure)
    between_repeats = ends["bad"].startswith("c") and "could not be opened" in failure
    lab.check(f"{name}: the failure has its time and the number of good operations", between_repeats or work and int(work[1]) > 0, failure)
    record_is_complete(lab, machine, name, run, "storage-failed")
    if failing.heal:
        machine.run(failing.heal)
    nothing_is_left(lab, machine, name)


def record_is_complete(lab, machine, name, run, words=""):
    shown = machine.run("lodestone show last --store /tmp/store")
    lab.check(f"{name}: the run can be shown", shown.code == 0 and words in shown.out, shown.out + shown.err)
    exported = machine.run("lodestone export last --format json --store /tmp/store")
    lab.equal(f"{name}: the record equals the output of the run", exported.json(), run)


def nothing_is_left(lab, machine, name):
    cleaned = machine.run("lodestone clean --store /tmp/store")
    lab.check(f"{name}: `clean` finds nothing", cleaned.code == 0 and "nothing to clean" in cleaned.out, cleaned.out + cleaned.err)
    left = machine.run("ls -A /good /bad; busybox pidof lodestone").out
    lab.equal(f"{name}: no file and no process is left", left.split(), ["/bad:", "/good:", "lost+found"])


TESTS = [devices, unplugged]
SMOKE = [offline]
