"""Runs on other machines, by OpenSSH: two servers in network and time namespaces, each with a filesystem of its own at the same
path. They are killed, frozen, cut off and full; what they had measured is kept, the others go on, and nothing is left on them."""

import json
import re
import statistics

from machine import Disk

NAMES = ("pi", "nas")
SETUP = """
modprobe -a veth bridge sch_netem ext4
[ -e /bin/sh ] || ln -s bash /bin/sh
grep -q ^sshd: /etc/passwd || echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
mkdir -p /run/sshd /srv /etc/ssh/lab /tmp/store
chown -R 0:0 /etc/ssh /run/sshd
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/lab/id
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/lab/host
ip link set lo up
ip link add lab0 type bridge
ip addr add 10.78.0.254/24 dev lab0
ip link set lab0 up
"""
# Each has a monotonic clock of its own, some thousands of seconds ahead.
SERVER = """
ip netns add {name}
ip link add {name} type veth peer name eth0 netns {name}
ip link set {name} master lab0 up
ip -n {name} addr add 10.78.0.{number}/24 dev eth0
ip -n {name} link set eth0 up
ip -n {name} link set lo up
mkfs.ext4 -q -F {disk}
cat >>/etc/ssh/ssh_config <<X
Host {name}
  HostName 10.78.0.{number}
  IdentityFile /etc/ssh/lab/id
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
X
cat >/tmp/{name} <<X
hostname {name}
mount {disk} /srv
exec /usr/sbin/sshd -D -e -f /dev/null -h /etc/ssh/lab/host -o ListenAddress=10.78.0.{number} -o PidFile=none -o UsePAM=no \\
  -o AuthorizedKeysFile=/etc/ssh/lab/id.pub -o PermitRootLogin=prohibit-password -o StrictModes=no
X
setsid ip netns exec {name} unshare --mount --uts --pid --fork --mount-proc --time --monotonic {number}000 bash /tmp/{name} \\
  >/tmp/{name}.log 2>&1 </dev/null &
until grep -q listening -i /tmp/{name}.log; do sleep 0.1; done
"""
RUN = (
    "lodestone run pi:/srv nas:/srv --rw randread --bs 4k --size 8M --runtime 500ms --ramp 0s --settle 0s --no-report --json "
    "--store /tmp/store --allow-unsafe-directory "
)
# The agents, and what is in the filesystem of a machine.
AGENTS = "pgrep -f ' agent$' || true"
UNTIL_GONE = "until [ -z \"$(pgrep -f ' agent$')\" ]; do sleep 0.2; done"
INSIDE = "nsenter --target $(ip netns pids {name} | head -n 1) --mount"
# Signals to the processes of the second machine whose command line has these words.
SIGNAL = """
for process in $(ip netns pids nas); do
    tr '\\0' ' ' </proc/$process/cmdline | grep -q '{words}' && kill -{signal} $process
done
true
"""
UNDER_WAY = """
until [ $(grep -s '"repeat_started"' /tmp/store/runs/*.jsonl | grep -c '"nas:srv"') -ge 2 ]; do sleep 0.1; done
"""


def servers(machine):
    machine.sh(SETUP)
    for number, name in enumerate(NAMES, 1):
        machine.sh(SERVER.format(name=name, number=number, disk=machine.disk(name)))


def lab_machine(lab):
    return lab.machine(disks={name: Disk("virtio", "256M") for name in NAMES}, memory=2048)


def left(machine):
    """What is in the filesystems of the two."""
    found = [machine.sh(f"{INSIDE.format(name=name)} ls -A /srv").split() for name in NAMES]
    return [name for names in found for name in names if name != "lost+found"]


def outcomes(run, target):
    return [repeat["outcome"] for repeat in run["repeats"] if repeat["target"] == target]


def by_ssh(lab):
    """Both are measured in turn, and their clocks are known within the bound that is stated, also over slow links."""
    with lab_machine(lab) as machine:
        servers(machine)
        # Once the installed program, and once one that is sent.
        for delay, program in ((None, ""), ((20, 5), "--remote-program nosuch --send-program")):
            if delay:
                down, up = delay
                machine.sh(f"tc qdisc add dev nas root netem delay {down}ms; ip netns exec nas tc qdisc add dev eth0 root netem delay {up}ms")
            how = f"{delay[0]} ms there and {delay[1]} ms back" if delay else "by the bridge"
            result = machine.run(f"{RUN} --rounds 3 {program}")
            lab.equal(f"{how}: the run succeeds", result.code, 0, result.err)
            run = result.json()
            for target in ("pi:srv", "nas:srv"):
                lab.equal(f"{how}: {target} was measured", outcomes(run, target), ["completed"] * 3)
            for host in run["run"]["hosts"]:
                # Namespaces share the clock of the day, so that the truth is 0.
                ahead, within = host["clock_ahead_seconds"], host["clock_within_seconds"]
                lab.check(f"{how}: {host['name']} is {ahead:.6f} ± {within:.6f} s ahead", abs(ahead) <= within, host)
            if delay:
                slow = next(host for host in run["run"]["hosts"] if host["name"] == "nas")
                lab.check("the bound is no less than half of the round trip", slow["clock_within_seconds"] > 0.0124, slow)
            lab.equal(f"{how}: no agent is left", machine.sh(AGENTS), "")
            lab.equal(f"{how}: nothing is left on either", left(machine), [])


FAULTS = {
    "its agent is killed": SIGNAL.format(words=" agent *$", signal="KILL"),
    "its agent is frozen": SIGNAL.format(words=" agent *$", signal="STOP"),
    "its server ends the connection": SIGNAL.format(words="sshd: root", signal="KILL"),
    "its link is cut": "ip link set nas down",
}
MENDED = SIGNAL.format(words=" agent *$", signal="CONT") + "ip link set nas up"


def lost(lab):
    """Whatever becomes of one machine, the other goes on, and the one is clean as soon as it can be."""
    with lab_machine(lab) as machine:
        servers(machine)
        for fault, command in FAULTS.items():
            machine.sh("rm -rf /tmp/store")
            job = machine.start(RUN + "--rounds 12")
            machine.sh(UNDER_WAY)
            machine.sh(command)
            result = machine.wait(job)
            lab.equal(f"{fault}: the run ends with a failure", result.code, 3, result.err)
            run = result.json()
            lab.equal(f"{fault}: the other was measured to the end", outcomes(run, "pi:srv"), ["completed"] * 12, result.err)
            told = [note for note in run["notes"] if note["topic"] == "target-given-up"]
            lab.check(f"{fault}: it is told", len(told) == 1 and "nas is lost" in told[0]["message"], run["notes"])
            lab.check(f"{fault}: what it had measured is kept", "completed" in outcomes(run, "nas:srv"), run["repeats"])
            machine.sh(MENDED)
            machine.sh(UNTIL_GONE)
            lab.equal(f"{fault}: nothing is left on either", left(machine), [])


def full(lab):
    """A filesystem without room is told before anything is measured there; the other machine is measured."""
    with lab_machine(lab) as machine:
        servers(machine)
        machine.sh(f"{INSIDE.format(name='nas')} dd if=/dev/zero of=/srv/fill bs=1M count=400 status=none || true")
        result = machine.run(RUN + "--rounds 2")
        run = result.json()
        lab.equal("the run ends with a failure", result.code, 3, result.err)
        lab.equal("the other was measured", outcomes(run, "pi:srv"), ["completed"] * 2)
        told = json.dumps(run["notes"])
        lab.check("it is told that there is no room", "are free in /srv" in told or "No space left" in told, told)
        lab.equal("nothing but what was there is left", left(machine), ["fill"])


TOGETHER = (
    "lodestone run --together pi:/srv nas:/srv --rw randread --bs 4k --size 8M --ramp 0s --settle 0s --no-report --json "
    "--store /tmp/store --allow-unsafe-directory "
)
# What the kernel hands to the two disks, on its own clock.
TRACE = """
[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
cd /sys/kernel/tracing
echo 16384 >buffer_size_kb
echo mono >trace_clock
echo 'rwbs ~ "R*"' >events/block/block_rq_issue/filter
echo 1 >events/block/block_rq_issue/enable
"""
ISSUED = re.compile(r" (\d+)\.(\d{6}): block_rq_issue: (\d+,\d+) ")
# Repeats are farther apart than their operations.
APART = 0.06
# From the moment at which a worker knows that it has begun to that at which the kernel hands its operation to the disk.
ISSUE = 0.0005


def first_reads(machine, name, repeats):
    """When each repeat of a machine handed its first operation to the disk, in seconds of the kernel's clock. What was read before
    the first of them is left out."""
    device = machine.sh(f"lsblk -n -o MAJ:MIN {machine.disk(name)}").strip().replace(":", ",")
    issued = ISSUED.findall(machine.sh("cat /sys/kernel/tracing/trace"))
    times = [int(seconds) + int(part) / 1e6 for seconds, part, of in issued if of == device]
    return [time for before, time in zip([0.0, *times], times) if time - before > APART][-repeats:]


def begun(machine):
    """The starts of each repeat as the log has them: for each client the moment and its bound, in seconds."""
    log = machine.sh("busybox zcat /tmp/store/runs/*.gz")
    ends = [json.loads(line) for line in log.splitlines() if '"repeat_finished"' in line]
    return [[(part["began_ns"] / 1e9, part["within_ns"] / 1e9) for part in end["clients"]] for end in ends]


def starts(lab):
    """The clients begin at one moment, and how far apart they began is known within the bound that is stated: the kernel's own clock
    says when each disk had its first operation."""
    with lab_machine(lab) as machine:
        servers(machine)
        for delay, rounds in ((None, 60), ((20, 5), 40)):
            if delay:
                down, up = delay
                machine.sh(f"tc qdisc add dev nas root netem delay {down}ms; ip netns exec nas tc qdisc add dev eth0 root netem delay {up}ms")
            how = f"{delay[0]} ms there and {delay[1]} ms back" if delay else "by the bridge"
            machine.sh("rm -rf /tmp/store")
            # Traced from here on: the files are made with writes.
            machine.sh(f"{TRACE} echo >trace")
            # An operation each 20 ms.
            result = machine.run(f"{TOGETHER} --rounds {rounds} --runtime 100ms --rate-iops 50 --engine psync --telemetry off")
            lab.equal(f"{how}: the run succeeds", result.code, 0, result.err)
            logged = begun(machine)
            pi, nas = (first_reads(machine, name, rounds) for name in NAMES)
            lab.equal(f"{how}: the kernel saw every repeat begin", [len(pi), len(nas), len(logged)], [rounds] * 3)
            skews, wrong = [], []
            for here, there, ((a, a_bound), (b, b_bound)) in zip(pi, nas, logged):
                skews.append(abs(here - there))
                error = abs((a - b) - (here - there))
                if error > a_bound + b_bound + ISSUE:
                    wrong.append((error, a_bound + b_bound))
            median, most = statistics.median(skews), max(skews)
            lab.equal(f"{how}: the bound holds the truth in {rounds} of {rounds} starts", wrong, [])
            told = f"{how}: by the kernel, the clients begin within {1e3 * median:.3f} ms of each other (median; at most {1e3 * most:.1f})"
            # Half of the difference between the ways there and back cannot be known; emulated processors take milliseconds themselves.
            lab.check(told, median < (0.010 if delay else 0.005), skews)
            lab.equal(f"{how}: nothing is left on either", left(machine), [])


# An NFS server on the machine that both machines are connected to.
NFS = """
modprobe -a nfsd nfsv4
mkdir -p /export /proc/fs/nfsd /var/lib/nfs
mount -t tmpfs tmpfs /export
chmod 755 /export
[ -e /proc/fs/nfsd/threads ] || mount -t nfsd nfsd /proc/fs/nfsd
touch /etc/exports /var/lib/nfs/etab /var/lib/nfs/rmtab
rpc.mountd -N 3 -N 2
rpc.nfsd -N 3 -V 4.2 8
exportfs -o rw,no_root_squash,insecure,fsid=78 10.78.0.0/24:/export
"""
MOUNT = "{inside} sh -c 'mkdir -p /tmp/{name}; mount -t nfs4 -o nosharecache 10.78.0.254:/export /mnt'"


def shared(lab):
    """Several clients work together on one NFS server: what they do together, how it grows with their number, and how they share it."""
    with lab_machine(lab) as machine:
        servers(machine)
        machine.sh(NFS)
        for name in NAMES:
            machine.sh(MOUNT.format(inside=INSIDE.format(name=name), name=name))
        command = (
            "lodestone run --together --clients 1,2 pi:/mnt nas:/mnt --only seq-write,rand-read --size 32M --budget 40s "
            "--settle 0s --no-report --store /tmp/store --allow-unsafe-directory"
        )
        result = machine.run(command)
        lab.equal("the run succeeds", result.code, 0, result.err)
        print(result.out)
        for words in ("1 client", "2 clients", "How 2 clients share the work", "began within", "highest throughput|grows up to"):
            lab.check(f"the answer has `{words}`", any(word in result.out for word in words.split("|")), result.out)
        run = json.loads(machine.sh("lodestone export last --store /tmp/store"))
        clients = run["clients"]
        for curve in clients["curves"]:
            lab.equal(f"{curve['step']} has a figure for each number of clients", [count for count, _ in curve["points"]], [1, 2])
        for shares in clients["shares"]:
            hosts = [client["host"] for client in shares["clients"]]
            lab.equal(f"{shares['step']}, {shares['target']}: each contributes", hosts, list(NAMES[: len(hosts)]))
        lab.equal("nothing is left on the server", machine.sh("ls -A /export"), "")


TESTS = [by_ssh, lost, full, starts, shared]
