"""Each test provokes an effect; the finding must report it, for the right target and no other."""

from machine import Disk, Failed
from tests.dying import EXT4, TWO_DISKS, medium_errors

RUN = "lodestone run --quiet --json --details "
DRIVER = "/sys/bus/pseudo/drivers/scsi_debug"


def found(machine, options, code=0):
    """The findings of a run with this exit code: the target and the message for each rule."""
    rules = {}
    result = machine.run(RUN + options)
    if result.code != code:
        raise Failed(f"exit code {result.code} instead of {code} with {options}:\n{result.err[-2000:]}")
    for finding in result.json()["findings"]:
        rules.setdefault(finding["rule"], []).append((finding["subject"].get("target"), finding["message"]))
    return rules


def fires(lab, what, rules, rule, words, target=None):
    found = [(of, text) for of, text in rules.get(rule, []) if target in (None, of) and words in text]
    lab.check(f"{what}: {rule}" + (f", {words}" if words else ""), found, rules)


def silent(lab, what, rules, rule, target):
    lab.check(f"{what}: no {rule} for {target}", not [t for t, _ in rules.get(rule, []) if t == target], rules)


def burst_credit(lab):
    """A disk with 2 MB/s, and burst credit for four seconds at 8 MB/s."""
    limits = {"throttling_bps_read": 2_000_000, "throttling_bps_read_max": 8_000_000, "throttling_bps_read_max_length": 4}
    with lab.machine(disks={"throttled": Disk("virtio", "256M", **limits)}) as machine:
        options = "--rw read --bs 64k --iodepth 4 --size 64M --runtime 15s --rounds 1"
        rules = found(machine, f"throttled={machine.disk('throttled')} {options}")
        fires(lab, "burst credit used up", rules, "read-cliff", "to 2.", "throttled")


def encryption(lab):
    """dm-crypt above a disk without cost: its data are not even copied."""
    with lab.machine(virtual=True) as machine:
        machine.sh(
            "modprobe -a dm_mod dm_crypt\n"
            "modprobe scsi_debug delay=0 dev_size_mb=64 per_host_store=1 add_host=2\n"
            "until [ -b /dev/sda ] && [ -b /dev/sdb ]; do sleep 0.1; done\n"
            "head -c 64 /dev/urandom >/tmp/key\n"
            "cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/sdb /tmp/key\n"
            "cryptsetup open --key-file /tmp/key /dev/sdb opened\n"
            f"echo 1 >{DRIVER}/fake_rw"
        )
        # Long enough for a sample of the kernel's threads while they are busy.
        options = "--rw read --bs 1M --iodepth 2 --size 32M --runtime 6s --rounds 3"
        rules = found(machine, f"plain=/dev/sda locked=/dev/mapper/opened {options}")
        fires(lab, "encryption", rules, "kernel-threads-saturated", "dm-crypt", "locked")
        fires(lab, "encryption", rules, "layer-cost", "encryption (dm-crypt)", "locked")
        silent(lab, "encryption", rules, "kernel-threads-saturated", "plain")


def background(lab):
    """Another process writes to one of two disks."""
    with lab.machine(virtual=True) as machine:
        machine.sh(TWO_DISKS + EXT4)
        machine.start("while dd if=/dev/zero of=/bad/other bs=64k count=64 oflag=direct conv=notrunc; do :; done")
        options = "--rw randread --size 4M --runtime 2s --rate-iops 100 --rounds 3"
        rules = found(machine, f"quiet=/good busy=/bad {options}")
        fires(lab, "background writer", rules, "background-traffic", "while the workload only read", "busy")
        fires(lab, "background writer", rules, "background-before", "", "busy")
        silent(lab, "background writer", rules, "background-traffic", "quiet")
        # If the workload itself writes, the writer is unknown during a repeat, but not between repeats.
        rules = found(machine, f"quiet=/good busy=/bad {options.replace('randread', 'randwrite')}")
        fires(lab, "background writer", rules, "background-between-repeats", "", "busy")
        silent(lab, "background writer", rules, "background-between-repeats", "quiet")


def heat(lab):
    """A sensor with a settable value instead of the processor's own, which the machine does not have."""
    with lab.machine(virtual=True) as machine:
        machine.sh(
            TWO_DISKS + "modprobe -a i2c_dev lm75\n"
            "modprobe i2c_stub chip_addr=0x48\n"
            "i2cset -y 0 0x48 0 0x0019 w\n"
            "echo lm75 0x48 >/sys/bus/i2c/devices/i2c-0/new_device\n"
            "sensor=$(echo /sys/bus/i2c/devices/0-0048/hwmon/hwmon*/temp1_input)\n"
            "sensor=$(readlink -f $sensor)\n"
            "mount -t tmpfs tmpfs /sys/class/hwmon\n"
            "mkdir /sys/class/hwmon/hwmon0\n"
            "echo coretemp >/sys/class/hwmon/hwmon0/name\n"
            "echo 'Package id 0' >/sys/class/hwmon/hwmon0/temp1_label\n"
            "ln -s $sensor /sys/class/hwmon/hwmon0/temp1_input"
        )
        options = "/good --rw randread --size 4M --runtime 2s --rate-iops 100 --rounds 6"
        cool = found(machine, options)
        lab.check("25 °C all the time: no temperature-rose", "temperature-rose" not in cool, cool)
        machine.start("sleep 6; for t in 23 2d 37 41 4b 55; do i2cset -f -y 0 0x48 0 0x00$t w; sleep 1; done")
        fires(lab, "from 25 to 85 °C", found(machine, options), "temperature-rose", "85")


def disguised(lab):
    """A virtio volume with 120 operations per second, like a spinning disk, and one in the host's memory; both report
    the same properties."""
    disks = {
        "like-a-disk": Disk("virtio", "256M", throttling_iops_total=120, throttling_bps_total=120_000_000),
        "in-memory": Disk("virtio", "256M", cache="writeback"),
    }
    with lab.machine(disks=disks) as machine:
        for name in disks:
            device = machine.disk(name)
            rules = found(machine, f"{name}={device} --overwrite {device} --suite quick --size 32M --runtime 1s --rounds 3")
            if name == "like-a-disk":
                fires(lab, name, rules, "behaves-like", "a spinning disk", name)
                continue
            reported = rules.get("behaves-like", [])
            wrong = [text for _, text in reported if "spinning" in text.split("(")[0] or "SD card" in text.split("(")[0]]
            lab.check(f"{name}: is not classified as a spinning disk or a card", not wrong, rules)


def lies(lab):
    """A disk that drops writes, one that fails occasionally, and one whose syncs are too cheap for the cache that it
    reports."""
    with lab.machine(virtual=True) as machine:
        machine.sh(
            f"{TWO_DISKS} modprobe dm_flakey\n"
            "sectors=$(blockdev --getsz /dev/sdb)\n"
            "dmsetup create liar --table \"0 $sectors flakey /dev/sdb 0 0 3600 1 drop_writes\"\n"
            "dmsetup mknodes\n"
            "mkdir /sys/kernel/config/nullb/cheap\n"
            "cd /sys/kernel/config/nullb/cheap\n"
            "echo 64 >size; echo 1 >memory_backed; echo 8 >cache_size; echo 1 >power"
        )
        options = "--rw randwrite --verify true --size 1M --ops 200 --runtime none --rounds 1"
        rules = found(machine, f"liar=/dev/mapper/liar --overwrite /dev/mapper/liar {options}", code=3)
        fires(lab, "a disk that drops writes", rules, "data-corrupted", "256 of 256 checked blocks", "liar")
        machine.sh(f"dmsetup remove --retry liar; {medium_errors('0x28', -5)}")
        options = "--rw randread --size 4M --runtime 1s --rate-iops 100 --max-errors 10 --rounds 1"
        rules = found(machine, f"worn=/dev/sdb {options}", code=3)
        fires(lab, "five medium errors", rules, "operation-errors", "5 × No data available", "worn")
        options = "--rw randwrite --fdatasync 1 --size 4M --runtime 200ms --rounds 3"
        rules = found(machine, f"cheap=/dev/cheap --overwrite /dev/cheap {options}")
        fires(lab, "a cache that empties itself at once", rules, "sync-too-cheap", "", "cheap")


TESTS = [burst_credit, encryption, background, heat, disguised, lies]
# In real time these need processors without other load.
ALONE = [burst_credit, disguised]
# What a busy host does to a machine can hide what was provoked.
MEASURED = TESTS
