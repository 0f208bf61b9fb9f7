"""Storage stacks that `run` makes: every kind can be made, measured and removed, in images and on disks; whatever happens in
between, afterwards nothing of them is left, and other disks are as before."""

import os
import random
import re
import tempfile

from machine import Disk

# Every kind, alone and on each other.
IN_IMAGES = [
    "ext4,xfs,btrfs,f2fs,vfat,exfat,ntfs,ntfs-3g",
    "luks+ext4,luks1+ext4,plain(cipher=aes-cbc-essiv:sha256,key=256)+ext4,luks(sector=4096,no-read-workqueue)+xfs,luks+btrfs",
    "raid0(chunk=64K)+ext4,raid1(luks)+xfs,raid5+ext4,raid6+ext4",
    "raid10(layout=f2)+ext4,raid1(bitmap=internal,resync)+ext4,raid0(raid1)+ext4",
    "lvm+ext4,lvm-stripe(stripe=128K)+ext4,lvm-raid1+ext4,lvm-thin+xfs",
    "lvm-raid5+ext4,lvm-raid10+ext4,lvm+lvm-thin+ext4",
    "integrity+ext4,raid1(integrity(no-journal))+ext4,luks+lvm+ext4",
    "btrfs-raid0,btrfs-raid1(luks),btrfs-raid5,btrfs-raid10(compress=zstd:1)",
    "iscsi+ext4,nvmet-tcp+ext4,nfs(ext4),iscsi(queue-depth=4)+luks+xfs,nvmet-tcp(queues=1,digest)+btrfs",
    "raid1(iscsi)+ext4,raid0(nvmet-tcp(queue-size=64))+ext4,luks+nfs(xfs,nconnect=2),iscsi+nfs(btrfs),nvmet-tcp+iscsi+ext4,luks+nvmet-tcp+xfs",
]
ON_DISKS = "ext4,luks+ext4,btrfs,luks+btrfs,raid0+ext4,raid1+ext4,lvm-stripe+xfs,btrfs-raid1,iscsi+ext4,nvmet-tcp+ext4,nfs(ext4),ntfs,vfat"

# NTFS shows its directories as writable by all users; root needs permission to measure in such a directory.
SHORT = "--makings 1 --quiet --no-report --telemetry off --rw randrw --bs 4k --size 8M --ramp 0s --settle 0s --allow-unsafe-directory"

WATCHED = SHORT.replace("--telemetry off", "--telemetry 200ms")

# All that a stack can leave: devices of the kernel, mounts, journals, images, what the programs keep.
STATE = """
[ ! -e /run/udev/control ] || udevadm settle
ls /sys/block | grep -v -e '^ram' -e '^loop' | sort
dmsetup ls
grep -s active /proc/mdstat || true
losetup --list --noheadings --output BACK-FILE
cat /proc/mounts
ls -d /sys/class/iscsi_session/* /sys/class/nvme/* 2>/dev/null || true
cat /var/lib/nfs/etab
(busybox find /sys/kernel/config/nvmet /sys/kernel/config/target/core /sys/kernel/config/target/iscsi -type d || true) | sort
(busybox find /ground /var/lib/lodestone /etc/iscsi /etc/lvm /run/lvm /run/cryptsetup /run/lock /run/udev/rules.d /dev/mapper /dev/md /dev/shm ! -type d 2>/dev/null || true) | sort
"""
SIGNATURES = "for disk in {disks}; do wipefs --no-act --noheadings $disk; done"


# What a distribution starts by itself: modules that a state is taken of, iscsid, and the NFS server.
SERVICES = """
modprobe -a ext4 loop dm_mod md_mod nvmet nvmet_tcp target_core_mod target_core_iblock iscsi_target_mod iscsi_tcp nfsd
mkdir -p /sys/kernel/config/target/iscsi /run/lock/iscsi /etc/iscsi/nodes /etc/iscsi/static /proc/fs/nfsd
echo InitiatorName=iqn.2026-01.lab:host >/etc/iscsi/initiatorname.iscsi
iscsid >/dev/null 2>&1
until grep -q ISCSIADM /proc/net/unix; do sleep 0.1; done
mount -t nfsd nfsd /proc/fs/nfsd
touch /var/lib/nfs/etab /var/lib/nfs/rmtab /run/lock/iscsi/lock
rpc.mountd -N 3 -N 2
rpc.nfsd -N 3 -V 4.2 4
"""


# udev with the rules of md, LVM and the device mapper, which assemble and activate what they see.
UDEV = """
mkdir -p /run/udev
/lib/systemd/systemd-udevd --daemon
udevadm trigger
udevadm settle
echo unset DM_DISABLE_UDEV >/run/environment
"""
RUN = "touch /run/environment; . /run/environment; export STATE_DIRECTORY=/ground/state;"


def grounds(lab, machine, udev=""):
    """Makes a filesystem for images and journals."""
    disk = machine.disk("ground")
    machine.sh(f"{SERVICES} {udev} mkfs.ext4 -q -F {disk}; mkdir -p /ground; mount {disk} /ground; mkdir /ground/state")


def in_images(lab):
    """Every kind is made in images, measured with verification, and removed."""
    with lab.machine(disks={"ground": Disk("virtio", "12G")}, memory=2048) as machine:
        grounds(lab, machine)
        kinds = machine.sh("lodestone stack kinds")
        missing = [line for line in kinds.splitlines() if line[0] != " " and "can be made" not in line]
        lab.equal("the machine can make every kind", missing, [], kinds)
        named = {line.split()[0] for line in kinds.splitlines() if line[0] != " "}
        tried = {word for stacks in IN_IMAGES for word in stacks.replace("(", "+").replace(")", "+").replace(",", "+").split("+")}
        lab.equal("every kind is tried here", named - tried, {"luks2"})
        for stacks in IN_IMAGES:
            measured(lab, machine, "image:/ground:420M", stacks, "")


def refused(lab, machine, case, run, remedy):
    """A run is refused, and the refusal says what to do."""
    result = machine.run(run)
    lab.equal(f"{case} it is refused", result.code, 2, result.err)
    lab.check(f"{case} it is said what to do", remedy in result.err, result.err)


def on_disks(lab):
    """Two disks hold all layouts side by side, each in a region of its own; another disk keeps its content. udev runs."""
    disks = {name: Disk("virtio", "5G") for name in ("first", "second")}
    with lab.machine(disks={"ground": Disk("virtio", "1G"), "other": Disk("virtio", "64M"), **disks}, memory=2048) as machine:
        grounds(lab, machine, UDEV)
        other = machine.disk("other")
        machine.sh(f"mkfs.ext4 -q -F -L precious {other}")
        checksum = machine.sh(f"sha256sum {other}")
        first, second = machine.disk("first"), machine.disk("second")
        on = f"{first},{second}"
        run = f"lodestone run --on {on} --stack ext4,raid1+ext4 {SHORT}"
        refused(lab, machine, "without permission", run, f"--overwrite {on}")
        machine.sh(f"mkfs.xfs -q {first}")
        refused(lab, machine, "with something on it that was not named", f"{run} --overwrite {on}", f"--overwrite {on},xfs")
        lab.equal("it is still there", machine.sh(f"blkid -p -s TYPE -o value {first}"), "xfs")
        measured(lab, machine, on, ON_DISKS, f"--overwrite {on},xfs")
        lab.equal("the disks are empty", machine.sh(SIGNATURES.format(disks=f"{first} {second}")), "")
        lab.equal("the other disk is as before", machine.sh(f"sha256sum {other}"), checksum)


def left_standing(lab, machine, stacks):
    """Makes stacks and leaves them. Returns the state before."""
    grounds(lab, machine)
    before = machine.sh(STATE)
    made = machine.run(f"{RUN} lodestone run --on image:/ground:300M --stack '{stacks}' {SHORT} --ops 16 --runtime none --rounds 1 --leave")
    lab.equal(f"{stacks}: made and left", made.code, 0, made.err)
    return before


def served_alone(lab):
    """What is served over the network while stacks stand is closed to others on the machine, who know all that is public."""
    with lab.machine(disks={"ground": Disk("virtio", "2G")}, memory=2048) as machine:
        before = left_standing(lab, machine, "iscsi+ext4,nvmet-tcp+ext4")
        address = "traddr=127.0.0.1,trsvcid=$(cat /sys/kernel/config/nvmet/ports/*/addr_trsvcid)"
        name = "nqn=$(ls /sys/kernel/config/nvmet/subsystems),transport=tcp"
        host = "hostnqn=nqn.2014-08.org.nvmexpress:uuid:6c6f6465-7374-4f6e-8e00-000000000005,hostid=6c6f6465-7374-4f6e-8e00-000000000005"
        other = machine.run(f'echo "{name},{address},{host}" >/dev/nvme-fabrics')
        lab.check("another NVMe host gets no controller", other.code != 0 and "error" in other.err, other.err)
        node = "iscsiadm --mode node --targetname $(basename /sys/kernel/config/target/iscsi/iqn*) --portal 127.0.0.1:$(ls /sys/kernel/config/target/iscsi/iqn*/tpgt_1/np | cut -d: -f2),1"
        record = "$(busybox find /etc/iscsi/nodes -name default)"
        lab.equal("the record of the iSCSI target is root's", machine.sh(f"stat --format %a:%U {record}"), "600:root")
        other = machine.run(f"{node} --logout && busybox sed -i '/auth/d' {record} && {node} --login")
        lab.equal("another iSCSI host without the secret is refused", other.code, 24, other.err)
        left = machine.run(f"{RUN} lodestone stack destroy --all")
        lab.equal("they are removed", left.code, 0, left.err)
        lab.equal("nothing is left", machine.sh(STATE), before)


# The server of two machines, and the client, which reaches it as `nas`.
SERVER = """
modprobe -a virtio_net null_blk
ip addr add 10.79.0.1/24 dev eth0
ip addr add fd79::1/64 dev eth0 nodad
ip link set eth0 up
[ -e /bin/sh ] || ln -s bash /bin/sh
grep -q ^sshd: /etc/passwd || echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
mkdir -p /run/sshd /etc/ssh/lab
chown -R 0:0 /etc/ssh /run/sshd
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/lab/id
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/lab/host
/usr/sbin/sshd -f /dev/null -h /etc/ssh/lab/host -o PidFile=none -o UsePAM=no -o AuthorizedKeysFile=/etc/ssh/lab/id.pub \\
  -o PermitRootLogin=prohibit-password -o StrictModes=no -o SetEnv='DM_DISABLE_UDEV=1 STATE_DIRECTORY=/ground/state'
"""
CLIENT = """
modprobe virtio_net
ip addr add 10.79.0.2/24 dev eth0
ip addr add fd79::2/64 dev eth0 nodad
ip link set eth0 up
[ -e /bin/sh ] || ln -s bash /bin/sh
mkdir -p /etc/ssh
chown -R 0:0 /etc/ssh
cat >/etc/ssh/id
chmod 600 /etc/ssh/id
cat >/etc/ssh/ssh_config <<X
Host nas
  HostName 10.79.0.1
  IdentityFile /etc/ssh/id
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel INFO
X
"""
# What goes over the network at different heights, with layers on both sides.
SERVED = "iscsi+ext4,luks+nvmet-tcp+xfs,nfs(ext4,nconnect=2),iscsi(queue-depth=8)+luks+ext4,raid1(nvmet-tcp)+ext4,luks+nfs(xfs)"
# The same by the other protocol of the internet.
SERVED_BY_IPV6 = "iscsi(address=fd79::1)+ext4,nvmet-tcp(address=fd79::1)+ext4,nfs(ext4,address=fd79::1)"


def two_machines(lab, trial):
    """Calls `trial` with a server, a client, and a function that checks that both are as at the beginning; where one has a killed
    program, `stack destroy --all` there comes first."""
    with tempfile.TemporaryDirectory(prefix="lodestone-wire-") as directory:
        wire = f"{directory}/wire"
        disks = {"ground": Disk("virtio", "6G"), "disk": Disk("virtio", "2G")}
        with lab.machine(disks=disks, memory=2048, wire=(wire, 1)) as server:
            with lab.machine(disks={"ground": Disk("virtio", "1G")}, memory=2048, wire=(wire, 2)) as client:
                for machine in (server, client):
                    grounds(lab, machine)
                server.sh(SERVER)
                key = server.sh("cat /etc/ssh/lab/id")
                client.sh(CLIENT.replace("cat >/etc/ssh/id\n", f"cat >/etc/ssh/id <<X\n{key}\nX\n"))
                before = [machine.sh(STATE) for machine in (server, client)]

                def nothing_is_left(what, by_hand=None):
                    if by_hand:
                        left = by_hand.run(f"{RUN} lodestone stack destroy --all")
                        lab.equal(f"{what}: `stack destroy --all` succeeds", left.code, 0, left.err)
                    server.sh("until [ -z \"$(pgrep -f 'lodestone agent')\" ]; do sleep 0.2; done")
                    for machine, name, state in zip((server, client), ("the server", "the client"), before):
                        found = machine.sh(STATE)
                        lab.check(f"{what}: nothing is left on {name}", found == state, f"before:\n{state}\nafter:\n{found}")

                trial(server, client, nothing_is_left)


def served_by_another(lab):
    """What is below the network is made on another machine, by OpenSSH, and what is above it here."""
    two_machines(lab, lambda *machines: between_machines(lab, *machines))


def between_machines(lab, server, client, nothing_is_left):
    run, end = f"{RUN} lodestone run", "--ops 64 --runtime none --rounds 1 --verify true --json"
    result = client.run(f"{run} --on nas:image:/ground:420M --stack '{SERVED}' {SHORT} {end}")
    lab.equal("a run on another machine's images succeeds", result.code, 0, result.err)
    told = result.json()
    done = {repeat["target"] for repeat in told["repeats"] if repeat["outcome"] == "completed"}
    lab.equal("each stack is measured", done, set(re.findall(r"(?:[^,(]|\([^)]*\))+", SERVED)), told["repeats"])
    rules = {finding["rule"] for finding in told["findings"]}
    lab.check("no finding says that this machine serves to itself", "served-here" not in rules, rules)
    notes = [note["message"] for note in told["notes"]]
    lab.check("the record says where the storage is, and how it was made there",
              any("the storage is on nas" in note for note in notes) and any(note.startswith("there: cryptsetup") for note in notes), notes)
    nothing_is_left("after a run")

    result = client.run(f"{run} --on nas:image:/ground:420M --stack '{SERVED_BY_IPV6}' {SHORT} {end}")
    lab.equal("a run over IPv6 succeeds", result.code, 0, result.err)
    made = [note["message"] for note in result.json()["notes"] if "fd79::" in note["message"]]
    lab.check("each kind is served and reached over it", all(any(part in note for note in made) for part in ("np/[fd79::1]:", "--login", "traddr=fd79::1,", "[fd79::2]:/", "[fd79::1]:/")), made)
    nothing_is_left("after a run over IPv6")

    disk = server.disk("disk")
    there = f"{run} --on nas:{disk} --stack iscsi+ext4 {SHORT} {end}"
    refused(lab, client, "without permission", there, f"--overwrite nas:{disk}")
    server.sh(f"mkfs.ext4 -q -F {disk}")
    refused(lab, client, "with something on it that was not named", f"{there} --overwrite nas:{disk}", f"--overwrite nas:{disk},ext2/3/4")
    server.sh(f"wipefs --all --quiet {disk}")
    failed = client.run(f"{run} --on nas:image:/ground:420M --stack 'nfs({FAILING})' {SHORT} {end}")
    lab.equal("a step that fails there is a failure of the run", failed.code, 3, failed.err)
    nothing_is_left("after a failure there")
    without = f"{run} --on nas:{disk} --stack ext4 --overwrite nas:{disk} {SHORT} {end}"
    refused(lab, client, "without a network", without, "iscsi, nvmet-tcp and nfs")
    result = client.run(
        f"{run} --on nas:{disk} --stack 'luks+iscsi(address=10.79.0.1)+ext4' --with-layers --overwrite nas:{disk} {WATCHED} {end}"
    )
    lab.equal("with permission a run on its disk succeeds", result.code, 0, result.err)
    told = result.json()
    lab.equal("the server stands among the machines", ([host["name"] for host in told["run"]["hosts"]], {target["server"] for target in told["targets"]}), (["nas"], {"nas"}))
    log = client.sh("busybox zcat $(ls -t $HOME/.local/share/lodestone/runs/*.jsonl.gz | busybox head -1)")
    watched = set(re.findall(r'\[\d+,"(\w+)","[^"]*","[^"]*",1\]', log))
    lab.check("its processors and memory are watched", {"cpu", "memory"} <= watched, watched)
    names = [target["name"] for target in told["targets"]]
    lab.equal("without its layers it still goes over the network", names, ["iscsi(address=10.79.0.1)+ext4", "luks+iscsi(address=10.79.0.1)+ext4"])
    lab.equal("the disk is empty", server.sh(SIGNATURES.format(disks=disk)), "")
    nothing_is_left("after a run on a disk")

    plan = client.run(f"{run} --on nas:image:/ground:420M --stack iscsi+ext4 --dry-run {SHORT}")
    lab.check("a dry run says what is done on which machine", plan.code == 0 and "# on nas:\n" in plan.out and "# here, with" in plan.out, plan.out + plan.err)


def one_side_is_lost(lab):
    """However a run on another machine's storage ends, in the end both are as before, the server without anybody's doing as long as
    its agent lives."""
    two_machines(lab, lambda *machines: losing_one_side(lab, *machines))


def losing_one_side(lab, server, client, nothing_is_left):
    endless = f"--on nas:image:/ground:420M --stack 'luks+iscsi+ext4,raid1(nvmet-tcp)+ext4,nfs(ext4)' {WATCHED} --runtime 100ms --rounds 10000"
    for what, end, code, by_hand in (
        ("Ctrl-C", lambda: client.run("busybox killall -INT lodestone"), 130, None),
        ("a killed run", lambda: client.run("busybox killall -KILL lodestone"), 137, client),
        # What is served is the kernel's: the run goes on, and says in the end what it could not remove.
        ("a killed agent", lambda: (server.run("busybox killall -KILL lodestone"), client.run("busybox killall -INT lodestone")), 3, server),
    ):
        client.run("rm -rf $HOME/.local/share/lodestone/runs")
        job = client.start(f"{RUN} exec lodestone run {endless}")
        client.sh(f"until ls $HOME/.local/share/lodestone/runs/*.jsonl >/dev/null 2>&1 || [ -e /lab/{job}.code ]; do sleep 0.1; done")
        end()
        result = client.wait(job)
        lab.equal(f"{what}: the run ends", result.code, code, result.err)
        nothing_is_left(what, by_hand)
        log = client.sh("cd $HOME/.local/share/lodestone/runs\n(busybox zcat *.gz 2>/dev/null || cat *.jsonl)")
        lab.equal(f"{what}: whether the record says that the server was lost", "is no longer watched" in log, by_hand is server, log[-2000:])


def members_lost(lab):
    """An array whose members are gone, because their server is, is removed too."""
    with lab.machine(disks={"ground": Disk("virtio", "2G")}, memory=2048) as machine:
        before = left_standing(lab, machine, "raid1(nvmet-tcp)+ext4")
        machine.sh("rm /sys/kernel/config/nvmet/ports/*/subsystems/*\nuntil [ -z \"$(ls /sys/class/nvme)\" ]; do sleep 0.2; done")
        left = machine.run(f"{RUN} lodestone stack destroy --all")
        lab.equal("it is removed without its members", left.code, 0, left.err + machine.run("cat /run/mdadm/map /proc/mdstat; ls -l /sys/block/md*/slaves").out)
        found = machine.sh(STATE)
        lab.check("nothing is left", found == before, f"before:\n{before}\nafter:\n{found}\n" + machine.run("cat /run/mdadm/map /proc/mdstat; ls -l /sys/block/md*/slaves").out)


def zones(lab):
    """A disk whose second half is slower: equal stacks are not told apart, and the finding about their makings speaks; with one
    making of each, where they lie is taken for a difference."""
    halves = {"fast": Disk("virtio", "600M", throttling_iops_total=800), "slow": Disk("virtio", "600M", throttling_iops_total=400)}
    with lab.machine(disks=halves, memory=2048) as machine:
        fast, slow = machine.disk("fast"), machine.disk("slow")
        machine.sh("modprobe -a ext4 dm_mod")
        sectors = int(machine.sh(f"blockdev --getsz {fast}"))
        table = f"0 {sectors} linear {fast} 0\\n{sectors} {sectors} linear {slow} 0"
        machine.sh(f"printf '{table}\\n' | dmsetup create zoned")
        disk = "$(readlink -f /dev/mapper/zoned)"
        run = f"lodestone run --on {disk} --stack 'ext4,ext4(relatime)' --overwrite {disk} --quiet --no-report --json --settle 0s"
        work = "--rw randread --bs 4k --iodepth 8 --size 16M --runtime 1s --ramp 200ms"
        once = machine.run(f"{run} {work} --makings 1 --rounds 6").json()
        verdicts = {c["verdict"] for c in once["comparisons"] if c["metric"] == "bandwidth"}
        lab.equal("made once, the one in the slower half is called slower", verdicts, {"slower"}, once["comparisons"])
        result = machine.run(f"{run} {work} --makings 4 --rounds 16")
        lab.equal("a run with four makings succeeds", result.code, 0, result.err)
        several = result.json()
        verdicts = {c["verdict"] for c in several["comparisons"] if c["metric"] == "bandwidth"}
        lab.check("made four times, they are the same or undecided", verdicts <= {"same", "undecided"}, several["comparisons"])
        rules = {finding["rule"] for finding in several["findings"]}
        lab.check("the finding about the makings speaks", "makings-differ" in rules, several["findings"])
        shown = machine.run(f"lodestone run --on {disk} --overwrite {disk} --stack ext4 --by-region {work} --rounds 8 --quiet --no-report --settle 0s")
        lab.equal("a run by region succeeds", shown.code, 0, shown.err)
        lab.check("it has a figure of each region", re.search(r"depth 8( +[78]\d\d IOPS){4}( +[34]\d\d IOPS){4}", shown.out), shown.out)


def known_cost(lab):
    """Encryption on a disk that takes 10 ms for each request, with a cipher whose rate in memory is known: the cost that is reported
    is within 5 % of what these two give. A slow cipher, so that what the benchmark of the cipher itself takes does not matter."""
    with lab.machine(virtual=True, memory=1500) as machine:
        machine.sh(
            "modprobe -a ext4 dm_mod dm_crypt algif_skcipher serpent_generic\n"
            "modprobe scsi_debug delay=0 ndelay=10000000 dev_size_mb=256 max_queue=64\n"
            "until [ -b /dev/sda ]; do sleep 0.1; done"
        )
        benchmark = "cryptsetup benchmark --cipher serpent-xts --key-size 512 | tail -1"
        # The first time it loads what it needs.
        machine.sh(benchmark)
        rates = [float(word) * 2**20 for word in machine.sh(benchmark).replace("MiB/s", "").split()[2:]]
        run = "lodestone run --on /dev/sda --stack 'ext4,luks(cipher=serpent-xts-plain64,sector=4096)+ext4' --overwrite /dev/sda"
        for kind, rate in (("write", rates[0]), ("read", rates[1])):
            work = f"--rw {kind} --bs 256k --size 24M --ops 48 --runtime none --rounds 3 --ramp 0s --settle 0s --quiet --no-report --makings 1 --json"
            result = machine.run(f"{run} {work}")
            lab.equal(f"{kind}: a run succeeds", result.code, 0, result.err)
            told = result.json()
            [cost] = [c for of in told["costs"] for c in of["comparisons"] if c["metric"] == "bandwidth"]
            [plain] = [m["estimate"] for m in told["measurements"] if m["target"] == "ext4" and m["metric"] == "bandwidth"]
            block = 256 * 1024
            alone, cipher = block / plain, block / rate
            expected = cipher / (alone + cipher)
            reported = 1 - cost["ratio"]
            evidence = f"reported {reported:.3f}, expected {expected:.3f}: {alone * 1e3:.2f} ms without, {cipher * 1e3:.2f} ms for the cipher"
            lab.check(f"{kind}: the request takes the disk's 10 ms and little more", 0.010 < alone < 0.013, evidence)
            lab.check(f"{kind}: the reported cost is within 5 % of the known one ({evidence})", abs(reported / expected - 1) < 0.05)


def measured(lab, machine, on, stacks, options):
    """A run on these stacks succeeds, with every stack as a target, and leaves nothing behind."""
    before = machine.sh(STATE)
    end = "--ops 64 --runtime none --rounds 1 --verify true --json"
    result = machine.run(f"{RUN} lodestone run --on {on} --stack '{stacks}' {options} {SHORT} {end}")
    lab.equal(f"{stacks}: a run succeeds", result.code, 0, result.err)
    if result.code == 0:
        run = result.json()
        done = [repeat["target"] for repeat in run["repeats"] if repeat["outcome"] == "completed"]
        lab.equal(f"{stacks}: each is measured", len(set(done)), len(run["targets"]), run["repeats"])
        says = any(finding["rule"] == "served-here" for finding in run["findings"])
        served = any(name in stacks for name in ("iscsi", "nvmet-tcp", "nfs("))
        lab.equal(f"{stacks}: where this machine serves to itself, a finding says so", says, served, run["findings"])
    lab.equal(f"{stacks}: nothing is left", machine.sh(STATE), before)


# How many random stacks with faults each of the two tests of faults tries, and which.
ATTEMPTS = int(os.environ.get("LODESTONE_LAB_ATTEMPTS", "5"))
SEED = int(os.environ.get("LODESTONE_LAB_SEED", "1"))

LAYERS = {1: ["luks", "luks1", "plain", "integrity", "lvm", "lvm-thin", "iscsi", "nvmet-tcp"], 2: ["raid0", "raid1", "raid1(bitmap=internal)", "lvm-stripe", "lvm-raid1"]}
FILESYSTEMS = ["ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs", "ntfs-3g"]
# Those that the kernel's NFS server takes.
SHARED = ["ext4", "xfs", "btrfs"]
FAILING = "ext4(no_such_option=1)"


def some_stack(rng, devices):
    """A random stack of at most four layers on at most this many devices."""
    layers = []
    for _ in range(rng.randrange(4)):
        count = rng.choice([1, 1, 2] if devices >= 2 else [1])
        devices //= count
        layers.append(rng.choice(LAYERS[count]))
    if devices >= 2 and rng.random() < 0.2:
        return "+".join([*layers, "btrfs-raid1"])
    if len(layers) < 3 and rng.random() < 0.2:
        return f"nfs({'+'.join([*layers, rng.choice(SHARED)])})"
    return "+".join([*layers, rng.choice(FILESYSTEMS)])


def some_stacks(rng, devices):
    return list(dict.fromkeys(some_stack(rng, devices) for _ in range(rng.choice([1, 1, 2]))))


def faults_in_images(lab):
    """Random stacks in images, each with a fault at a random step. udev runs."""
    with lab.machine(disks={"ground": Disk("virtio", "6G"), "other": Disk("virtio", "64M")}, memory=2048) as machine:
        faults(lab, machine, random.Random(SEED), lambda: "image:/ground:420M", [], 4, UDEV)


def faults_on_disks(lab):
    """The same on two disks, without udev."""
    pair = {name: Disk("virtio", "1G") for name in ("first", "second")}
    with lab.machine(disks={"ground": Disk("virtio", "1G"), "other": Disk("virtio", "64M"), **pair}, memory=2048) as machine:
        faults(lab, machine, random.Random(SEED + 1), lambda: f"{machine.disk('first')},{machine.disk('second')}", pair, 2)


def faults(lab, machine, rng, on, pair, devices, udev=""):
    grounds(lab, machine, udev)
    machine.sh(f"mkfs.ext4 -q -F -L precious {machine.disk('other')}")
    checksum = machine.sh(f"sha256sum <{machine.disk('other')}")
    before = machine.sh(STATE)
    ends = {}
    for number in range(ATTEMPTS):
        stacks = some_stacks(rng, devices)
        end = rng.choice(["itself", "failure", "Ctrl-C", "kill", "kill", "power cut", "power cut"])
        if end == "failure":
            stacks.insert(rng.randrange(len(stacks) + 1), FAILING)
        moment = rng.randrange(1, 10 * len(stacks) + 4)
        options = f"--overwrite {on()}" if pair else ""
        what = f"{number + 1} of seed {SEED}, {','.join(stacks)} {on()}, {end} at line {moment}"
        ended = one_fault(machine, udev, f"--on {on()} --stack '{','.join(stacks)}' {options} {SHORT}", end, moment)
        ends[ended] = ends.get(ended, 0) + 1
        left = machine.run(f"{RUN} lodestone stack destroy --all")
        state = machine.sh(STATE)
        signatures = machine.sh(SIGNATURES.format(disks=" ".join(machine.disk(name) for name in pair))) if pair else ""
        if ended.startswith("unexpected") or left.code or state != before or signatures:
            lab.check(what, False, f"{ended}; destroy ended with {left.code}: {left.err}\nbefore:\n{before}\nafter:\n{state}\n{signatures}")
            return
    counts = ", ".join(f"{ends[end]} {end}" for end in sorted(ends))
    lab.check(f"{ATTEMPTS} random stacks leave nothing: {counts}", True)
    lab.equal("another disk is as before", machine.sh(f"sha256sum <{machine.disk('other')}"), checksum)


def one_fault(machine, udev, options, end, moment):
    """A run that ends in this way when its journal has this many lines, or when it measures. Returns how it ended."""
    rounds = "--ops 16 --runtime none --rounds 1" if end in ("itself", "failure") else "--runtime 100ms --rounds 10000"
    machine.run("rm -rf $HOME/.local/share/lodestone/runs")
    job = machine.start(f"{RUN} exec lodestone run {options} {rounds}")
    if end in ("itself", "failure"):
        result = machine.wait(job)
        known = {("itself", 0): "measured", ("failure", 3): "with a step that fails"}
        return known.get((end, result.code)) or f"unexpected {result.code}: {result.err}"
    # As many lines as asked for, or the log of a run that measures, or its end.
    machine.sh(
        f"until [ $(cat /ground/state/stacks/*.journal 2>/dev/null | wc -l) -ge {moment} ] || [ -e /lab/{job}.code ]"
        " || ls $HOME/.local/share/lodestone/runs/*.jsonl >/dev/null 2>&1; do sleep 0.02; done"
    )
    if end == "power cut":
        machine.power_cut()
        machine.sh(f"{SERVICES} {udev} mkdir -p /ground; mount {machine.disk('ground')} /ground")
        return "cut off"
    signal = {"Ctrl-C": "INT", "kill": "KILL"}[end]
    machine.run(f"busybox killall -{signal} lodestone")
    result = machine.wait(job)
    known = {("Ctrl-C", 130): "interrupted", ("kill", 137): "killed"}
    return known.get((end, result.code)) or f"unexpected {result.code}: {result.err}"


TESTS = [in_images, on_disks, served_alone, served_by_another, one_side_is_lost, members_lost, zones, known_cost, faults_in_images, faults_on_disks]
SMOKE = [faults_in_images, faults_on_disks]
