"""Known latency: a disk with a fixed delay (scsi_debug), under a clock that does not depend on the host's load.

There are two references. The block layer's own time stamps of the same operations (its trace events: issued, completed,
to a microsecond) give the device's latency; only the way through the kernel and back comes on top, about 12 µs here.
fio's log of every operation, with the same engine and depth, gives the latency in user space; both programs make the
same system calls, so they must agree within one per cent whatever the delay.
"""

import json
import re
import statistics

TRACE = "/sys/kernel/tracing"
DELAYS_NS = [200_000, 1_000_000, 5_000_000, 10_000_000]
ENGINES = ["psync", "libaio", "io_uring"]
# Nanoseconds of virtual time for the way of a call to the block layer and back.
WAY_NS = 20_000

SETUP = f"""
modprobe scsi_debug delay=0 ndelay=1000000 dev_size_mb=64 max_queue=64
until [ -b /dev/sda ]; do sleep 0.1; done
mount -t tracefs tracefs {TRACE}
echo 16384 >{TRACE}/buffer_size_kb
echo 1 >{TRACE}/events/block/block_rq_issue/enable
echo 1 >{TRACE}/events/block/block_rq_complete/enable
"""


def known_latency(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        for delay in DELAYS_NS:
            machine.sh(f"echo {delay} >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
            for engine in ENGINES:
                for depth in (1, 8):
                    lab.measured(one_latency, lab, machine, delay, engine, depth)


def one_latency(lab, machine, delay, engine, depth):
    # A synchronous engine has one operation in flight for each job.
    many = f"--jobs {depth}" if engine == "psync" else f"--iodepth {depth}"
    name = f"{delay / 1e6:g} ms, {engine}, depth {depth}"
    p50 = figures(run(machine, f"--engine {engine} {many} --ops {200 * depth} --runtime none"))["lat_p50"]
    own = statistics.median(done - issued for issued, done in traced(machine).values())
    reference = statistics.median(fio(machine, engine, depth))
    evidence = f"reported {p50}, fio {reference}, block layer {own}, set {delay} ns"
    lab.check(f"{name}: p50 within 1 % of what fio logs", abs(p50 / reference - 1) < 0.01, evidence)
    # A median of the histogram may be 1/256 off; the trace has microseconds.
    lowest, highest = own * (1 - 1 / 256) - 1000, own * 1.01 + WAY_NS
    lab.check(f"{name}: p50 is the device's latency plus the way to it", lowest < p50 < highest, evidence)


def stall(lab):
    """One command of an open loop is lost; the kernel aborts it after its timeout and sends it again. All operations
    that were due meanwhile have waited since their due time."""
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        machine.sh("echo 1 >/sys/block/sda/device/timeout; echo 1 >/sys/block/sda/device/eh_timeout")
        # Warm-up: a page fault of the program on the host's disk would be a stall of its own.
        run(machine, "--engine psync --ops 200 --runtime none")
        for loop in ("open", "closed"):
            lab.measured(one_stall, lab, machine, loop)


def one_stall(lab, machine, loop):
    per_second, seconds, service_ns = 200, 10, 1_000_000
    pace = f"--rate-iops {per_second} --runtime {seconds}s" if loop == "open" else "--ops 2000 --runtime none"
    job = machine.start(f"{COMMAND} --engine psync {pace}")
    # In the first half of the run, so that the waiting operations complete before the end.
    machine.sh("sleep 2; for file in /sys/kernel/debug/scsi_debug/*/error; do echo '0 -1 0x28' >$file; done")
    result = machine.wait(job)
    lab.equal(f"{loop} loop: a lost command is not a failure", result.code, 0, result.err)
    found = figures(result.json())
    spans = traced(machine).values()
    longest = max(done - issued for issued, done in spans)
    evidence = f"{found}, longest {longest}"
    # In an open loop, the operation may have been due while the script above used the processor, some 12 ms earlier.
    most = 1.05 if loop == "open" else 1.01
    lab.check(f"{loop} loop: the longest is the stall", 0.99 < found["lat_max"] / longest < most, evidence)
    lab.check(f"{loop} loop: the stall is a second or more", longest > 1e9, evidence)
    if loop == "closed":
        lab.check("closed loop: p99.9 does not show it", found["lat_p99.9"] < 2 * service_ns, evidence)
        return
    # The i-th operation after the lost one has been due i periods later and is served i services after
    # it: it waits stall − i (period − service). Of 2000, rank 1998 is p99.9, 1980 p99, 1900 p95.
    service = statistics.median(done - issued for issued, done in spans)
    gain = 1e9 / per_second - service
    for metric, better in (("lat_p99.9", 2), ("lat_p99", 20), ("lat_p95", 100)):
        due = found["lat_max"] - better * gain
        about = f"{metric} {found[metric]}, due {due}; {evidence}"
        lab.check(f"open loop: {metric} matches the computed value", abs(found[metric] / due - 1) < 0.01, about)


COMMAND = (
    f"echo >{TRACE}/trace; lodestone run /dev/sda --rw randread --rounds 1 --quiet --json --telemetry off"
)


def run(machine, options):
    return json.loads(machine.sh(f"{COMMAND} {options}"))


def figures(run):
    return {m["metric"]: m["estimate"] for m in run["measurements"]}


def traced(machine):
    """For each offset read in blocks of 4 KiB, nanoseconds of the first issue and the last completion."""
    event = re.compile(r" (\d+\.\d+): block_rq_(issue|complete): .* (\d+) \+ 8 ")
    spans = {}
    for line in machine.sh(f"cat {TRACE}/trace").splitlines():
        if match := event.search(line):
            at = round(float(match[1]) * 1e9)
            if match[2] == "issue":
                spans.setdefault(match[3], [at, at])
            elif match[3] in spans:
                spans[match[3]][1] = at
    return spans


def fio(machine, engine, depth):
    """Nanoseconds of each operation, from fio's log."""
    many = f"--thread --numjobs={depth}" if engine == "psync" else f"--iodepth={depth}"
    machine.sh(
        "cd /tmp; rm -f log_*; fio --name=log --filename=/dev/sda --rw=randread --bs=4k --direct=1 --norandommap "
        f"--ioengine={engine} {many} --number_ios=200 --write_lat_log=/tmp/log --output=/tmp/fio"
    )
    return [int(line.split(",")[1]) for line in machine.sh("cat /tmp/log_lat.*.log").splitlines()]


TESTS = [known_latency, stall]
