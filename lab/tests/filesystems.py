"""A short run on each kind of filesystem: it measures every step and leaves nothing behind, whatever the filesystem
does not support (unnamed open files, direct I/O, allocation without writing)."""

import json

from machine import Disk

MAKE = {
    "ext4": "mkfs.ext4 -q -F {disk} && mount -t ext4 {disk} /mnt",
    "xfs": "mkfs.xfs -q -f {disk} && mount -t xfs {disk} /mnt",
    "btrfs": "mkfs.btrfs -q -f {disk} && mount -t btrfs {disk} /mnt",
    "f2fs": "mkfs.f2fs -q -f {disk} && mount -t f2fs {disk} /mnt",
    "vfat": "mkfs.vfat -F 32 {disk} && mount -t vfat {disk} /mnt",
    "exfat": "mkfs.exfat {disk} && mount -t exfat {disk} /mnt",
    "ntfs3": "mkfs.ntfs -q -Q -F {disk} && mount -t ntfs3 {disk} /mnt",
    "fuseblk": "modprobe fuse && mkfs.ntfs -q -Q -F {disk} && ntfs-3g {disk} /mnt",
    "tmpfs": "mount -t tmpfs -o size=256m tmpfs /mnt",
}

# NTFS shows its directories as writable by all users; root needs permission to measure in such a directory.
ALLOWED = {name: "--allow-unsafe-directory" for name in ("ntfs3", "fuseblk")}

CONTENT = "ls -A /mnt; sync -f /mnt; df --output=used -k /mnt | tail -n 1"


def every_filesystem(lab):
    each_of(lab, MAKE)


def one_without_unnamed_files(lab):
    each_of(lab, ["vfat"])


def each_of(lab, names):
    with lab.machine(disks={"disk": Disk("virtio", "1G")}) as machine:
        disk = machine.disk("disk")
        kinds = machine.sh("lodestone stack kinds")
        told = {line.split()[0]: line for line in kinds.splitlines() if line[0] != " "}
        for name in names:
            if "as large as its pages" in told.get(name, ""):
                lab.equal("one that this kernel cannot mount is f2fs, and `stack kinds` says why", name, "f2fs", kinds)
                continue
            machine.sh(MAKE[name].format(disk=disk))
            one_filesystem(lab, machine, name)
            machine.sh("umount /mnt")


def one_filesystem(lab, machine, name):
    before = machine.sh(CONTENT)
    options = f"--suite quick --size 8M --runtime 100ms --rounds 1 --quiet --json {ALLOWED.get(name, '')}"
    result = machine.run(f"lodestone run /mnt {options}")
    lab.equal(f"{name}: a run succeeds", result.code, 0, result.err)
    run = result.json()
    steps = {step["id"] for step in run["steps"]}
    measured = {repeat["step"] for repeat in run["repeats"] if repeat["outcome"] == "completed"}
    lab.equal(f"{name}: all {len(steps)} steps are measured", measured, steps, json.dumps(run["repeats"]))
    layers = [layer["name"] for layer in run["targets"][0]["stack"]]
    lab.check(f"{name}: the record names the filesystem", name in layers, layers)
    left_nothing(lab, machine, f"{name}: the run leaves nothing behind", before)
    killed_run(lab, machine, name, before)


def killed_run(lab, machine, name, before):
    """A run that is killed while it measures may leave named files where unnamed ones are not supported; `clean`
    removes them."""
    options = f"--rw randread --size 8M --runtime 10m --rounds 1 --store /tmp/killed --quiet {ALLOWED.get(name, '')}"
    job = machine.start(f"lodestone run /mnt {options}")
    # The run measures as soon as the log has an interval.
    machine.sh("until grep -qs event.:.interval /tmp/killed/runs/*.jsonl; do sleep 0.2; done")
    machine.sh("busybox killall -9 lodestone")
    machine.wait(job)
    result = machine.run("lodestone clean --store /tmp/killed; rm -r /tmp/killed")
    lab.equal(f"{name}: after a kill `clean` succeeds", result.code, 0, result.out + result.err)
    left_nothing(lab, machine, f"{name}: after a kill and `clean` nothing is left", before)


def left_nothing(lab, machine, what, before):
    after = machine.sh(CONTENT)
    (*files_before, used_before), (*files, used) = before.splitlines(), after.splitlines()
    # A filesystem may use some space for its own growth: less than the test data cannot be the test data.
    lab.check(what, files == files_before and int(used) < int(used_before) + 4096, f"before:\n{before}\nafter:\n{after}")


TESTS = [every_filesystem]
SMOKE = [one_without_unnamed_files]
ARM = TESTS
