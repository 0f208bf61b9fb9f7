"""Storage that fails in part: arrays that lose members during the measurement, layers that corrupt data, servers that
disappear and return. An error masked by redundancy or by waiting is reported but is not a failure; lost data gives exit
code 3. The other target of the run is always measured to the end."""

import json
import re

from tests.dying import FINISHED, GONE, HUNG, ISCSI, ISCSI_COMES, ISCSI_GOES, MEASURING, NAMES, NO_ISCSI, READS, ROUNDS
from tests.dying import RUN, TWO_DISKS, WRITES, nothing_is_left, record_is_complete

# The disk of the good target, and four for arrays. Background initialisation is switched off.
FIVE_DISKS = """
modprobe scsi_debug delay=0 ndelay=1000000 dev_size_mb=64 per_host_store=1 add_host=5 max_queue=64
until [ -b /dev/sda ] && [ -b /dev/sdb ] && [ -b /dev/sdc ] && [ -b /dev/sdd ] && [ -b /dev/sde ]; do sleep 0.1; done
mkfs.ext4 -q -E lazy_itable_init=0 /dev/sda
mkdir -p /good /bad
mount /dev/sda /good
modprobe -a raid1 raid456
"""
CREATE = "mdadm --quiet --create /dev/md0 --run --assume-clean --bitmap=none"
MIRROR = f"{CREATE} --level=1 --raid-devices=2 /dev/sdb /dev/sdc"
# The resync to the spare is throttled, so that it lasts until the end of the run.
WITH_A_SPARE = f"{MIRROR}; mdadm --quiet /dev/md0 --add /dev/sdd; cd /sys/block/md0/md; echo 1 >sync_speed_min; echo 100 >sync_speed_max"
PARITY = f"{CREATE} --level=5 --raid-devices=3 /dev/sdb /dev/sdc /dev/sdd"
ON_EXT4 = "mkfs.ext4 -q -E lazy_itable_init=0 -F /dev/md0; mount /dev/md0 /bad"
# The array may still be open at the first attempt to stop it.
STOP = (
    "umount /bad 2>/dev/null; for disk in b c d e; do echo running >/sys/block/sd$disk/device/state; done\n"
    "until mdadm --quiet --stop /dev/md0; do sleep 0.1; done; mdadm --quiet --zero-superblock /dev/sd[b-e]"
)
ALL_WELL = "c" * ROUNDS
DEGRADED = ("array-degraded", r"md0 lacks 1 of its \d members")


def faulty(disk):
    return f"mdadm --quiet /dev/md0 --fail /dev/{disk}"


def offline(*disks):
    return "\n".join(f"echo offline >/sys/block/{disk}/device/state" for disk in disks)


def flaky(features):
    """Switches the mapped device to dm-flakey on /dev/sdb with these features."""
    return (
        f'dmsetup load mapped --table "0 $(blockdev --getsz /dev/sdb) flakey /dev/sdb 0 0 3600 {features}"\n'
        "dmsetup resume --noflush --nolockfs mapped; dmsetup mknodes"
    )


class Trouble:
    """How a target is set up and measured, and what happens to it; how its repeats end (c for completed, f for failed)
    and the text of the failure; the expected notes and findings, each by topic or rule and text; and how the target is
    removed without leftovers."""

    def __init__(self, name, target, options, happens, ends, make, heal, message="", notes=(), findings=()):
        self.name, self.target, self.options, self.happens, self.ends = name, target, options, happens, ends
        self.make, self.heal, self.message, self.notes, self.findings = make, heal, message, notes, findings
        self.during, self.is_lost = "bad", False
        # Corruption is a finding of severity error, which gives exit code 3 like a failed repeat.
        self.code = 3 if "f" in ends or "data-corrupted" in dict(findings) else 0


ARRAYS = [
    Trouble(
        *("a mirror with a member offline", "/bad", WRITES, offline("sdb"), ALL_WELL, f"{MIRROR}; {ON_EXT4}", STOP),
        notes=[DEGRADED],
    ),
    Trouble(
        *("a mirror with all members offline", "/dev/md0", READS, offline("sdb", "sdc"), "f{1,3}", MIRROR, STOP),
        message=GONE,
    ),
    Trouble(
        *("RAID 5 with a member offline", "/bad", WRITES, offline("sdc"), ALL_WELL, f"{PARITY}; {ON_EXT4}", STOP),
        notes=[DEGRADED],
    ),
    Trouble(
        *("RAID 5 with two members offline", "/dev/md0", READS, offline("sdb", "sdc"), "f{1,3}", PARITY, STOP),
        message=GONE,
    ),
    Trouble(
        *("a mirror that takes a spare for a faulty member", "/dev/md0", READS, faulty("sdc"), ALL_WELL, WITH_A_SPARE, STOP),
        notes=[DEGRADED, ("background-begun", "md0 has background activity: recover")],
    ),
]


def arrays(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(FIVE_DISKS)
        for trouble in ARRAYS:
            one_trouble(lab, machine, trouble)


MAPPED = 'dmsetup create mapped --table "0 $(blockdev --getsz /dev/sdb) linear /dev/sdb 0"; dmsetup mknodes'
UNMAP = "umount /bad 2>/dev/null; dmsetup remove --retry mapped; wipefs -qa /dev/sdb"
VERIFIED = "--rw randwrite --verify true --size 1M --runtime 500ms --rate-iops 100"
DEVICE = f"{VERIFIED} --overwrite /dev/mapper/mapped"
# Sets the 100th byte of every read or write to 1; flags 0 means every request.
SPOILT_READS, SPOILT_WRITES = "5 corrupt_bio_byte 100 r 1 0", "5 corrupt_bio_byte 100 w 1 0"
CORRUPTED = [("data-corrupted", r"\d+ of \d+ checked blocks were not what had been written")]
SPOILT = [
    Trouble(
        *("writes refused to a device", "/dev/mapper/mapped", f"{WRITES} --overwrite /dev/mapper/mapped"),
        *(flaky("1 error_writes"), "fff", MAPPED, UNMAP),
        message="write failed: Input/output error",
    ),
    *[
        Trouble(
            *(f"writes refused below {kind}", "/bad", WRITES, flaky("1 error_writes"), "fff"),
            *(f"{MAPPED}; {make} /dev/mapper/mapped; mount /dev/mapper/mapped /bad", UNMAP),
            message=f"{GONE}|Read-only",
        )
        for kind, make in (
            ("ext4", "mkfs.ext4 -q -F"),
            ("xfs", "mkfs.xfs -q -f --unsupported"),
            ("btrfs", "mkfs.btrfs -q -f"),
        )
    ],
    Trouble(
        *("a device that corrupts what is read", "/dev/mapper/mapped", DEVICE, flaky(SPOILT_READS), ALL_WELL),
        *(MAPPED, UNMAP),
        findings=CORRUPTED,
    ),
    Trouble(
        *("a device that corrupts what is written", "/dev/mapper/mapped", DEVICE, flaky(SPOILT_WRITES), ALL_WELL),
        *(MAPPED, UNMAP),
        findings=CORRUPTED,
    ),
    Trouble(
        *("ext4 on a device that corrupts what is read", "/bad", VERIFIED, flaky(SPOILT_READS), "[cf]{3,4}"),
        *(f"{MAPPED}; mkfs.ext4 -q -F /dev/mapper/mapped; mount /dev/mapper/mapped /bad", UNMAP),
        findings=CORRUPTED,
    ),
    Trouble(
        # Btrfs detects the corruption itself: data that cannot be read back counts as corrupted too.
        *("btrfs on a device that corrupts what is read", "/bad", VERIFIED, flaky(SPOILT_READS), "[cf]{3,4}"),
        *(f"{MAPPED}; mkfs.btrfs -q -f /dev/mapper/mapped; mount /dev/mapper/mapped /bad", UNMAP),
        findings=[("data-corrupted", "cannot be read back")],
    ),
]


def spoilt(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(f"{TWO_DISKS} modprobe -a dm_flakey xfs btrfs")
        for trouble in SPOILT:
            one_trouble(lab, machine, trouble)


# An NFS server in the same machine. After a restart clients have ten seconds to reclaim their open files.
EXPORT = """
mkfs.ext4 -q -F /dev/sdb
mkdir -p /srv
mount /dev/sdb /srv
modprobe -a nfsd nfsv4
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -i -o rw,async,no_root_squash,fsid=0,insecure,no_subtree_check 127.0.0.1:/srv
rpc.mountd -N 3
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo 10 >/proc/fs/nfsd/nfsv4leasetime
rpc.nfsd -N 3 2
"""
SERVER_GOES, SERVER_COMES = "rpc.nfsd 0", "rpc.nfsd -N 3 2"


def mounted(how):
    return f"mount -t nfs4 -o vers=4.2,{how},timeo=10,retrans=1 127.0.0.1:/ /bad"


GONE_OR_LATE = f"{GONE}|timed out"


class Absence(Trouble):
    """A server that disappears and returns after `seconds`, or only after the run (None). A hard mount blocks the
    process in the kernel until then, but the record is complete without it. `during` names the target that is being
    measured when the server disappears."""

    def __init__(self, name, options, how, seconds, ends, message="", during="bad"):
        happens = SERVER_GOES if seconds is None else f"{SERVER_GOES}; sleep {seconds}; {SERVER_COMES}"
        notes = [] if seconds else [("target-given-up", "the run goes on without it")]
        heal = "lodestone clean --store /tmp/store; umount /bad; ls -A /srv >/tmp/left"
        super().__init__(name, "/bad", options, happens, ends, mounted(how), heal, message, notes)
        self.during, self.is_lost = during, seconds is None
        self.code = 3 if self.is_lost else 0


AWAY_AND_BACK = Trouble(
    *("an iSCSI target that comes back", "/dev/iscsi", READS, f"{ISCSI_GOES}; sleep 5; {ISCSI_COMES}", ALL_WELL),
    *(ISCSI, NO_ISCSI),
)
ABSENCES = [
    Absence("an NFS server that comes back", WRITES, "hard", 20, ALL_WELL),
    # A hang between two repeats must be handled too: opening a file waits for the server.
    Absence("an NFS server lost, mounted soft", READS, "softerr", None, "f{0,3}", GONE_OR_LATE),
    Absence("an NFS server lost, mounted hard", READS, "hard", None, "f", HUNG),
    Absence("an NFS server lost between repeats", READS, "hard", None, "c{0,3}", during="good"),
    Absence("an NFS server lost, names", NAMES, "hard", None, "c*f", HUNG),
]


def servers(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(TWO_DISKS)
        one_trouble(lab, machine, AWAY_AND_BACK)
        machine.sh(EXPORT)
        for absence in ABSENCES:
            one_trouble(lab, machine, absence)


def one_trouble(lab, machine, trouble):
    name = trouble.name
    machine.sh(f"rm -rf /tmp/store\n{trouble.make}")
    job = machine.start(RUN.format(target=trouble.target, options=trouble.options))
    machine.run(MEASURING.replace("{job}", str(job)).replace('"bad"', f'"{trouble.during}"'))
    machine.sh(trouble.happens)
    if trouble.is_lost:
        machine.run(FINISHED)
        machine.sh(SERVER_COMES)
    result = machine.wait(job)
    lab.equal(f"{name}: the run ends by itself with exit code {trouble.code}", result.code, trouble.code, result.err[-3000:])
    run = result.json()
    repeats = {t: [r for r in run["repeats"] if r["target"] == t] for t in ("good", "bad")}
    ends = {t: "".join(r["outcome"][0] for r in of) for t, of in repeats.items()}
    lab.equal(f"{name}: the other target is measured to the end", ends["good"], ALL_WELL, run["repeats"])
    evidence = f"{ends['bad']} is not {trouble.ends}: {json.dumps(repeats['bad'], indent=1)}"
    lab.check(f"{name}: its repeats end as expected", re.fullmatch(trouble.ends, ends["bad"]), evidence)
    messages(lab, trouble, run, [r["failure"] for r in repeats["bad"] if r["failure"]])
    record_is_complete(lab, machine, name, run)
    if trouble.heal:
        machine.run(trouble.heal)
    nothing_is_left(lab, machine, name)
    if isinstance(trouble, Absence):
        lab.equal(f"{name}: nothing is left on the server", machine.sh("cat /tmp/left"), "lost+found")


def messages(lab, trouble, run, failures):
    name = trouble.name
    if trouble.message and failures:
        failure = failures[0]
        lab.check(f"{name}: the failure is described", re.search(trouble.message, failure), failure)
        work = re.search(r"after \d+ good operations|could not be opened|did not come back", failure)
        lab.check(f"{name}: the failure has the number of good operations", work, failure)
    for topic, words in trouble.notes:
        found = [n for n in run["notes"] if n["topic"] == topic and n["target"] == "bad" and re.search(words, n["message"])]
        lab.equal(f"{name}: {topic} is noted once", len(found), 1, run["notes"])
    for rule, words in trouble.findings:
        found = [f for f in run["findings"] if f["rule"] == rule and f["subject"].get("target") == "bad"]
        holds = found and found[0]["severity"] == "error" and re.search(words, found[0]["message"])
        lab.check(f"{name}: {rule} is found", holds, run["findings"])
    about_good = [f for f in run["findings"] if f["severity"] == "error" and f["subject"].get("target") == "good"]
    lab.check(f"{name}: there is no error finding about the other target", not about_good, about_good)


TESTS = [arrays, spoilt, servers]
