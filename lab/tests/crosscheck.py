"""The classic tools and Lodestone on a disk with a fixed delay, under a clock that counts instructions: where one operation
follows another, only the method can differ."""

import json

# At greater depths this machine's processor is the limit, and the check would compare the generators.
CHECKS = "fio-randread-d1,fio-randwrite-d1,dd-read-direct,ioping-read,sysbench-rndrd,hdparm-direct"
DISK = """
modprobe scsi_debug delay=0 ndelay=200000 dev_size_mb=256 max_queue=64
until [ -b /dev/sda ]; do sleep 0.1; done
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda
mkdir -p /mnt; mount /dev/sda /mnt; mkdir /mnt/x
"""


def one_at_a_time(lab):
    with lab.machine(virtual=True, memory=1500) as machine:
        machine.sh(DISK)
        options = f"--only {CHECKS} --runtime 1s --size 16MiB --format json --quiet"
        # Warm-up: a page fault of a program on the host's disk would distort a round.
        machine.sh(f"lodestone crosscheck /mnt/x {options} --rounds 2")
        lab.measured(all_agree, lab, machine, options)


def all_agree(lab, machine, options):
    found = json.loads(machine.sh(f"lodestone crosscheck /mnt/x {options} --rounds 3"))["figures"]
    lab.equal("every check has its figures", {f["step"] for f in found}, set(CHECKS.split(",")), found)
    for figure in found:
        # Too few operations here for the slowest of a hundred.
        if figure["metric"] in ("lat_p95", "lat_p99"):
            continue
        what = f"{figure['step']}: {figure['operation']} {figure['metric']} agrees"
        # hdparm touches what it has read while its clock runs, which is about 5 % in this machine.
        near = figure["step"] == "hdparm-direct" and 1 < figure["ratio"] < 1.1
        lab.check(what, figure["verdict"] == "agrees" or near, figure)
    lab.equal("nothing is left", machine.sh("ls -A /mnt/x"), "")


def etcds_line(lab):
    """The published line for etcd: the p99 of its fdatasync is that of `run --require etcd`."""
    with lab.machine(virtual=True, memory=1500) as machine:
        machine.sh(DISK)
        options = "--only fio-etcd --format json --quiet"
        machine.sh(f"lodestone crosscheck /mnt/x {options} --rounds 2")
        lab.measured(p99_agrees, lab, machine, options)


def p99_agrees(lab, machine, options):
    found = json.loads(machine.sh(f"lodestone crosscheck /mnt/x {options} --rounds 3"))["figures"]
    ratios = {f["metric"]: f["ratio"] for f in found}
    for metric in ("lat_p50", "lat_p99"):
        near = metric in ratios and abs(ratios[metric] - 1) < 0.05
        lab.check(f"fdatasync of etcd's line: {metric} within 5 % of fio's", near, found)


TESTS = [one_at_a_time, etcds_line]
