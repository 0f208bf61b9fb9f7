"""The program on 64-bit Arm, with pages of 4 or 16 KiB: its clock, its engines, its logs on another processor, and the unit
tests of the crates, where LODESTONE_LAB_TESTS names the directory with their programs."""

import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess

from machine import Disk, Failed

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/lodestone"
MOUNT = "mkfs.ext4 -q -F {disk} && mount -t ext4 {disk} /mnt"


def counter(lab):
    """The time is that of the processor's counter, whose tick is known."""
    with lab.machine() as machine:
        text = machine.sh("lodestone selftest")
        lab.check("the kernel's clock source is the processor's counter", "arch_sys_counter" in text, text)
        tick = re.search(r"a tick ([0-9.]+) ns", text)
        # QEMU's counter runs at 62.5 MHz, or from version 9 on at 1 GHz.
        lab.check("its tick is 16 or 1 ns", tick and float(tick[1]) in (16.0, 1.0), text)
        # In a second of a workload the clock of its workers and that of the kernel pass the same time.
        run = machine.sh("lodestone run /root --rw randread --size 8M --runtime 1s --rounds 2 --quiet --json")
        repeats = [r["outcome"] for r in json.loads(run)["repeats"]]
        lab.equal("a run that is timed by it completes", repeats, ["completed"] * 2, run[:500])


def engines(lab):
    """Every engine moves verified data with direct I/O, also where a block is smaller than a page."""
    with lab.machine(disks={"disk": Disk("nvme", "1G")}) as machine:
        machine.sh(MOUNT.format(disk=machine.disk("disk")))
        pages = machine.sh("lodestone run /mnt --rw read --size 1M --runtime none --ops 1 --rounds 1 --quiet --json")
        pages = json.loads(pages)["run"]["host"]["facts"]["page size"]
        expected = "16384" if "16k" in pathlib.Path(lab.image).name else "4096"
        lab.equal("the kernel's pages have the size of its flavour", pages, expected)
        for engine in ("io_uring", "libaio", "psync", "mmap"):
            for block in ("512", "4k", "64k"):
                direct = "false" if engine == "mmap" else "true"
                result = machine.run(
                    f"lodestone run /mnt --engine {engine} --rw randrw --bs {block} --size 8M --runtime none --io-size 4M"
                    f" --direct {direct} --verify true --iodepth 8 --rounds 1 --quiet --json"
                )
                done = result.json()["repeats"] if result.code == 0 else []
                told = [(r["engine"], r["direct"], r["outcome"]) for r in done]
                wanted = [(engine, engine != "mmap", "completed")]
                lab.equal(f"{engine}, blocks of {block}", told, wanted, result.err[-800:] + result.out[:300])


def logs(lab):
    """A log has the same figures on both processors, to the last bit."""
    measure = "lodestone run . --rw randrw --size 8M --runtime 200ms --rounds 3 --quiet --store"
    export = "lodestone export --format json --store"
    with lab.machine() as machine:
        def here(command, store):
            words = command.replace("lodestone", str(HERE), 1).split()
            done = subprocess.run([*words, machine.share / store], cwd=machine.home, capture_output=True, text=True)
            if done.returncode:
                raise Failed(f"{command}: {done.stderr}")
            return done.stdout.strip()

        machine.sh(f"{measure} /lab/arm")
        here(measure, "x86-64")
        for store in ("arm", "x86-64"):
            both = machine.sh(f"{export} /lab/{store}"), here(export, store)
            differ = "\n".join(difflib.unified_diff(*(text.splitlines() for text in both), n=1, lineterm=""))
            lab.equal(f"a log from {store} says the same on both", differ, "")
            lab.check("all of it", '"measurements"' in both[0], both[0][:500])


def unit_tests(lab):
    """The unit tests of the crates, built for this processor."""
    place = os.environ.get("LODESTONE_LAB_TESTS")
    if not place:
        print("SKIPPED arm.unit_tests: LODESTONE_LAB_TESTS names no programs", flush=True)
        return
    with lab.machine(disks={"disk": Disk("virtio", "1G")}, memory=2048) as machine:
        # Some start a shell, which the machine's programs do without, and some mount images.
        machine.sh("ln -sf bash /bin/sh; modprobe loop")
        # Some write beside their source, because a disk is there, and some read it.
        subprocess.run(["git", "archive", "-o", machine.share / "source.tar", "HEAD"], cwd=ROOT, check=True)
        machine.sh(f"mkfs.ext4 -q -F {machine.disk('disk')} && mkdir -p {ROOT} && mount -t ext4 {machine.disk('disk')} {ROOT}")
        machine.sh(f"tar -xf /lab/source.tar -C {ROOT}")
        for program in sorted(pathlib.Path(place).iterdir()):
            subprocess.run(["cp", program, machine.share / "tests"], check=True)
            result = machine.run(f"cd {ROOT} && RUST_BACKTRACE=0 /lab/tests --test-threads 1")
            passed = re.findall(r"test result: .*", result.out)
            lab.equal(f"{program.name}: {passed}", result.code, 0, result.out[-3000:] + result.err[-1000:])


def package(lab):
    """The package in Debian on Arm: installed by apt-get, it measures that machine's disk with io_uring and answers."""
    deb = os.environ.get("LODESTONE_LAB_DEB")
    if not deb:
        print("SKIPPED arm.package: LODESTONE_LAB_DEB names no package", flush=True)
        return
    with lab.machine(disks={"disk": Disk("nvme", "2G")}) as machine:
        subprocess.run([ROOT / "packaging/root", "arm64", machine.share / "root.tar"], check=True)
        shutil.copy(deb, machine.share / "lodestone.deb")
        machine.sh(MOUNT.format(disk=machine.disk("disk")))
        machine.sh("tar -xf /lab/root.tar -C /mnt && cp /lab/lodestone.deb /mnt/root/lodestone_arm64.deb")
        machine.sh("for place in proc sys dev; do mount --rbind /$place /mnt/$place; done")
        told = machine.sh("chroot /mnt apt-get install -y /root/lodestone_arm64.deb 2>&1")
        lab.check("apt-get installs it", "Setting up lodestone" in told, told)
        run = "chroot /mnt env -C /root HOME=/root lodestone run --suite quick --budget 60s --quiet"
        answer = machine.sh(run)
        lab.check("a run answers", "Random read, 4 KiB, depth 32" in answer, answer)
        engine = machine.sh("chroot /mnt env HOME=/root lodestone show --details")
        lab.check("with io_uring", "io_uring" in engine, engine)
        pages = machine.sh("cd /mnt/root && ls .local/share/lodestone/reports/*.html")
        lab.check("and writes a page", pages.endswith(".html"), pages)
        print(f"{told}\n{answer}", flush=True)


ARM = [counter, engines, logs, unit_tests, package]
