"""What a finding is about is provoked, and the finding must speak of it, of the right target, and of no other."""

from machine import Disk, Failed
from tests.dying import EXT4, TWO_DISKS, medium_errors

RUN = "lodestone run --quiet --json --all-findings "
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


def speaks(lab, what, rules, rule, words, target=None):
    said = [(whom, text) for whom, text in rules.get(rule, []) if target in (None, whom) and words in text]
    lab.check(f"{what}: {rule}" + (f", {words}" if words else ""), said, rules)


def silent(lab, what, rules, rule, target):
    lab.check(f"{what}: no {rule} of {target}", not [t for t, _ in rules.get(rule, []) if t == target], rules)


def burst_credit(lab):
    """A disk with 2 MB/s, and credit for four seconds at 8 MB/s."""
    limits = {"throttling_bps_read": 2_000_000, "throttling_bps_read_max": 8_000_000, "throttling_bps_read_max_length": 4}
    with lab.machine(disks={"throttled": Disk("virtio", "256M", **limits)}) as machine:
        options = "--rw read --bs 64k --iodepth 4 --size 64M --runtime 15s --rounds 1"
        rules = found(machine, f"throttled={machine.disk('throttled')} {options}")
        speaks(lab, "burst credit used up", rules, "read-cliff", "to 2.", "throttled")


def encryption(lab):
    """dm-crypt above a disk that costs nothing: its data are not even copied."""
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
        # Long enough for a look at the kernel's threads while they are busy.
        options = "--rw read --bs 1M --iodepth 2 --size 32M --runtime 6s --rounds 3"
        rules = found(machine, f"plain=/dev/sda locked=/dev/mapper/opened {options}")
        speaks(lab, "encryption", rules, "kernel-threads-saturated", "dm-crypt", "locked")
        speaks(lab, "encryption", rules, "layer-cost", "encryption (dm-crypt)", "locked")
        silent(lab, "encryption", rules, "kernel-threads-saturated", "plain")


def background(lab):
    """Somebody writes to one of two disks."""
    with lab.machine(virtual=True) as machine:
        machine.sh(TWO_DISKS + EXT4)
        machine.start("while dd if=/dev/zero of=/bad/other bs=64k count=64 oflag=direct conv=notrunc; do :; done")
        options = "--rw randread --size 4M --runtime 2s --rate-iops 100 --rounds 3"
        rules = found(machine, f"quiet=/good busy=/bad {options}")
        speaks(lab, "background writer", rules, "background-traffic", "while the workload only read", "busy")
        speaks(lab, "background writer", rules, "background-before", "", "busy")
        silent(lab, "background writer", rules, "background-traffic", "quiet")
        # Of a workload that writes itself, nobody can say during a repeat who wrote; between them one can.
        rules = found(machine, f"quiet=/good busy=/bad {options.replace('randread', 'randwrite')}")
        speaks(lab, "background writer", rules, "background-between-repeats", "", "busy")
        silent(lab, "background writer", rules, "background-between-repeats", "quiet")


def heat(lab):
    """A sensor whose value can be set, in the place of the processor's own, which the machine has not."""
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
        speaks(lab, "from 25 to 85 °C", found(machine, options), "temperature-rose", "85")


def disguised(lab):
    """A volume behind virtio that does 120 operations a second like a spinning disk, and one that the host has in
    its memory; both say the same of themselves."""
    disks = {
        "like-a-disk": Disk("virtio", "256M", throttling_iops_total=120, throttling_bps_total=120_000_000),
        "in-memory": Disk("virtio", "256M", cache="writeback"),
    }
    with lab.machine(disks=disks) as machine:
        for name in disks:
            device = machine.disk(name)
            rules = found(machine, f"{name}={device} --overwrite {device} --suite quick --size 32M --runtime 1s --rounds 3")
            if name == "like-a-disk":
                speaks(lab, name, rules, "behaves-like", "a spinning disk", name)
                continue
            said = rules.get("behaves-like", [])
            wrong = [text for _, text in said if "spinning" in text.split("(")[0] or "SD card" in text.split("(")[0]]
            lab.check(f"{name}: is not taken for a spinning disk or a card", said and not wrong, rules)


def lies(lab):
    """A disk that forgets what is written, one that fails now and then, and one whose syncs are too cheap for what it
    says of its cache."""
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
        speaks(lab, "a disk that drops writes", rules, "data-corrupted", "256 of 256 checked blocks", "liar")
        machine.sh(f"dmsetup remove --retry liar; {medium_errors('0x28', -5)}")
        options = "--rw randread --size 4M --runtime 1s --rate-iops 100 --max-errors 10 --rounds 1"
        rules = found(machine, f"worn=/dev/sdb {options}", code=3)
        speaks(lab, "five medium errors", rules, "operation-errors", "5 × No data available", "worn")
        options = "--rw randwrite --fdatasync 1 --size 4M --runtime 200ms --rounds 3"
        rules = found(machine, f"cheap=/dev/cheap --overwrite /dev/cheap {options}")
        speaks(lab, "a cache that empties itself at once", rules, "sync-too-cheap", "", "cheap")


TESTS = [burst_credit, encryption, background, heat, disguised, lies]
# What storage behaves like shows in real time only where nothing else takes the processors.
ALONE = [burst_credit, disguised]
# What a busy host does to a machine can hide what was provoked.
MEASURED = TESTS
