"""A virtual machine with the disks that a test needs, and a shell in it.

The machine is deleted at its end. `virtual=True` gives it a clock that counts instructions, one per
nanosecond, instead of time: idling costs nothing, and the machine's figures do not depend on the load of the
host. QEMU serves emulated disks in real time, so only disks inside the guest (scsi_debug, null_blk)
have a meaningful latency there.
"""

import functools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).parent

# Seconds after which something counts as hung. The machine may share its processors with compilers, so this is
# many times the usual duration.
WATCHDOG = 1800

MODULES = {
    "virtio": "virtio_blk",
    "hdd": "virtio_scsi sd_mod",
    "ssd": "virtio_scsi sd_mod",
    "sata": "ahci sd_mod",
    "nvme": "nvme",
    "usb": "xhci_pci usb_storage sd_mod",
    "uas": "xhci_pci uas sd_mod",
    "sd": "sdhci_pci mmc_block",
}


@functools.cache
def hardware_virtualisation(kernel):
    """Whether KVM works here. /dev/kvm may exist and still reject QEMU's requests, or accept them and execute nothing.
    The probe therefore boots a kernel without a root filesystem: it must panic, and QEMU must exit within 20 s. If the
    virtual processor fails earlier, QEMU exits without the panic message."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    machine = "qemu-system-x86_64 -M q35 -accel kvm -cpu max -m 256 -nodefaults -no-user-config -display none -no-reboot"
    arguments = ["-serial", "stdio", "-kernel", kernel, "-append", "console=ttyS0 quiet panic=-1 reboot=t"]
    try:
        probe = subprocess.run(machine.split() + arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return False
    return probe.returncode == 0 and b"Kernel panic" in probe.stdout


class Hung(Exception):
    """The machine or a command in it did not end."""


class Broke(Exception):
    """QEMU itself failed, so the result says nothing about the tested program."""


class Failed(Exception):
    """A command in the machine ended with an error that the test did not expect."""


class Disk:
    """An emulated disk: its kind (a key of MODULES), its size, QEMU's options for its drive such as
    `throttling.iops-total=100`. Its name is its serial number."""

    def __init__(self, kind, size="1G", **drive):
        self.kind, self.size, self.drive = kind, size, drive

    def arguments(self, name, index, image):
        cache = self.drive.pop("cache", "unsafe")
        drive = "".join(f",{key.replace('_', '.', 1).replace('_', '-')}={value}" for key, value in self.drive.items())
        yield "-drive", f"if=none,id={name},format=raw,cache={cache},discard=unmap,file={image}{drive}"
        serial = f"drive={name},serial={name}"
        match self.kind:
            case "virtio":
                yield "-device", f"virtio-blk-pci,id=dev-{name},{serial}"
            case "hdd" | "ssd":
                rotation = {"hdd": 7200, "ssd": 1}[self.kind]
                yield "-device", f"virtio-scsi-pci,id=bus-{name}"
                yield "-device", f"scsi-hd,bus=bus-{name}.0,id=dev-{name},{serial},rotation_rate={rotation}"
            case "sata":
                yield "-device", f"ich9-ahci,id=bus-{name}"
                yield "-device", f"ide-hd,bus=bus-{name}.0,id=dev-{name},{serial}"
            case "nvme":
                yield "-device", f"pcie-root-port,id=port-{name},chassis={index + 1}"
                yield "-device", f"nvme,bus=port-{name},id=dev-{name},{serial}"
            case "usb":
                yield "-device", f"qemu-xhci,id=bus-{name}"
                yield "-device", f"usb-storage,id=dev-{name},bus=bus-{name}.0,{serial},removable=on"
            case "uas":
                yield "-device", f"qemu-xhci,id=bus-{name}"
                yield "-device", f"usb-uas,id=uas-{name},bus=bus-{name}.0"
                yield "-device", f"scsi-hd,bus=uas-{name}.0,id=dev-{name},{serial}"
            case "sd":
                yield "-device", f"sdhci-pci,id=bus-{name}"
                yield "-device", f"sd-card,id=dev-{name},drive={name}"


class Result:
    """The output and the exit code of a command."""

    def __init__(self, out, err, code):
        self.out, self.err, self.code = out, err, code

    def json(self):
        return json.loads(self.out)


class Machine:
    """A running machine. Use it in a `with` statement."""

    def __init__(self, image, program, disks=None, virtual=False, memory=1024, wire=None):
        """`wire` is the path of a socket by which its only network interface, eth0, is connected to another machine's; the
        first of the two, which makes the socket, has a number of 1 in `(path, number)`, and the other 2."""
        self.disks, self.wire = disks or {}, wire
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lodestone-lab-"))
        try:
            self._begin(image, program, virtual, memory)
        except BaseException:
            shutil.rmtree(self.home, ignore_errors=True)
            raise

    def _begin(self, image, program, virtual, memory):
        self.share = self.home / "share"
        self.share.mkdir()
        for name in ("init", "disk", "iscsi"):
            shutil.copy(HERE / "guest" / name, self.share / name)
        shutil.copy(program, self.share / "lodestone")
        self.number = 0
        self.paths = {}
        arguments = self._arguments(image, virtual, memory)
        self.errors = open(self.home / "qemu.errors", "w+")
        # If the laboratory is killed, its machines end too.
        self.command = ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "19", *arguments]
        self._power_on()

    def _power_on(self):
        self.qemu = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors
        )

    def _arguments(self, image, virtual, memory):
        quiet = "quiet panic=-1 nokaslr mitigations=off no_timer_check tsc=reliable cryptomgr.notests"
        if "arm64" in pathlib.Path(image).name:
            # The core of a Raspberry Pi 5; its predecessors have no pages of 16 KiB.
            machine, console = "qemu-system-aarch64 -M virt -accel tcg -cpu cortex-a76", "ttyAMA0"
        else:
            accelerated = not virtual and hardware_virtualisation(f"{image}/vmlinux")
            machine = f"qemu-system-x86_64 -M q35 -accel {'kvm' if accelerated else 'tcg'} -cpu max"
            console = "ttyS0"
        drive = f"if=none,id=root,format=raw,readonly=on,file={image}/root.img"
        arguments = [
            *machine.split(),
            *("-m", str(memory), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", f"{image}/vmlinux", "-initrd", f"{image}/initrd"),
            *("-append", f"console={console} {quiet} random.trust_cpu=on reboot=t net.ifnames=0"),
            *("-chardev", f"file,id=console,path={self.home}/console", "-serial", "chardev:console"),
            *("-qmp", f"unix:{self.home}/qmp,server=on,wait=off"),
            *("-drive", drive, "-device", "virtio-blk-pci,drive=root,serial=lodestone-lab"),
            *("-fsdev", f"local,id=lab,path={self.share},security_model=none,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab", "-device", "virtio-rng-pci"),
            *("-chardev", f"socket,id=port,path={self.home}/port,server=on,wait=off"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port,name=lab"),
        ]
        if self.wire:
            path, number = self.wire
            kind = f"stream,id=wire,addr.type=unix,addr.path={path},server={'on' if number == 1 else 'off'}"
            arguments += ["-netdev", kind, "-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0{number}"]
        if virtual:
            arguments += ["-icount", "shift=0,sleep=off"]
        for index, (name, disk) in enumerate(self.disks.items()):
            path = self.home / f"{name}.raw"
            subprocess.run(["truncate", "-s", disk.size, path], check=True)
            for pair in disk.arguments(name, index, path):
                arguments += pair
        return arguments

    def _boot(self):
        self.port = self._connect("port")
        self.answers = self.port.makefile()
        self._answer()
        modules = {module for disk in self.disks.values() for module in MODULES[disk.kind].split()}
        if modules:
            self.sh(f"modprobe -a {' '.join(sorted(modules))}")

    def power_cut(self):
        """Ends the machine at once and starts it again: its disks keep what reached them, their names may change."""
        self.qemu.kill()
        self.qemu.wait()
        self.port.close()
        for name in ("port", "qmp"):
            (self.home / name).unlink(missing_ok=True)
        self.paths.clear()
        self._power_on()
        self._boot()

    def __enter__(self):
        try:
            self._boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.port.sendall(b"end\n")
            self.qemu.wait(30)
        except (AttributeError, OSError, subprocess.TimeoutExpired):
            self.qemu.kill()
            self.qemu.wait()
        self.errors.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _connect(self, name):
        end = time.monotonic() + WATCHDOG
        while True:
            client = socket.socket(socket.AF_UNIX)
            try:
                client.connect(str(self.home / name))
                return client
            except OSError:
                client.close()
                if self.qemu.poll() is not None or time.monotonic() > end:
                    raise Hung(f"QEMU does not start: {(self.home / 'qemu.errors').read_text()}") from None
                time.sleep(0.02)

    def _answer(self):
        """The next line that the machine sends."""
        self.port.settimeout(WATCHDOG)
        try:
            line = self.answers.readline()
        except OSError:
            line = ""
        if not line:
            raise Hung(f"the machine does not answer; its last output:\n{self.last_output()}")
        return line.split()

    def last_output(self, lines=15):
        """The end of the kernel's console and of QEMU's error messages."""
        texts = [path.read_text(errors="replace") for path in (self.home / "console", self.home / "qemu.errors")]
        return "\n".join("\n".join(texts).splitlines()[-lines:])

    def _script(self, text):
        self.number += 1
        (self.share / f"{self.number}.sh").write_text(text + "\n")
        return self.number

    def _result(self, number, code):
        out, err = ((self.share / f"{number}.{end}").read_text(errors="replace") for end in ("out", "err"))
        return Result(out, err, int(code))

    def run(self, text):
        """Runs a bash script and returns its result, whatever its exit code."""
        number = self._script(text)
        self.port.sendall(f"{number}\n".encode())
        answered, code = self._answer()
        assert int(answered) == number
        return self._result(number, code)

    def sh(self, text):
        """Runs a bash script, whose every line must succeed, and returns its output."""
        result = self.run(f"set -eo pipefail\n{text}")
        if result.code:
            raise Failed(f"exit code {result.code} of:\n{text}\n{result.out[-2000:]}{result.err[-2000:]}")
        return result.out.strip()

    def start(self, text):
        """Starts a script in the background and returns its number; `wait` with it waits for its end."""
        number = self._script(text)
        here = f"/lab/{number}"
        self.run(f"(bash {here}.sh >{here}.out 2>{here}.err; echo $? >{here}.new; mv {here}.new {here}.code) &")
        return number

    def wait(self, number):
        """Waits for the end of a script from `start`."""
        end = time.monotonic() + WATCHDOG
        code = self.share / f"{number}.code"
        while not code.exists():
            if time.monotonic() > end or self.qemu.poll() is not None:
                raise Hung(f"does not end: {(self.share / f'{number}.sh').read_text()}\n{self.last_output()}")
            time.sleep(0.05)
        return self._result(number, code.read_text())

    def disk(self, name):
        """The path of an emulated disk, found by its serial number: names differ between starts."""
        if name not in self.paths:
            kind = self.disks[name].kind
            self.paths[name] = self.sh(f"bash /lab/disk {'-' if kind == 'sd' else name}")
        return self.paths[name]

    def qmp(self, command, **arguments):
        """Sends QEMU a command, such as unplugging a disk. Raises `Broke` if QEMU fails at it."""
        try:
            with self._connect("qmp") as client, client.makefile("rw") as stream:
                stream.readline()
                for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                    self._ask(stream, request)
        except (ConnectionError, EOFError) as error:
            code = self.qemu.wait(WATCHDOG)
            raise Broke(f"QEMU ended with {code} at {command}: {error!r}\n{self.last_output()}") from error

    @staticmethod
    def _ask(stream, request):
        stream.write(json.dumps(request) + "\n")
        stream.flush()
        while True:
            if not (line := stream.readline()):
                raise EOFError("no answer")
            reply = json.loads(line)
            if "error" in reply:
                raise Failed(f"QEMU refuses {request['execute']}: {reply['error']['desc']}")
            if "return" in reply:
                return
