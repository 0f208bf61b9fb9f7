"""Requirements on a disk of known latency (scsi_debug): just below the limit, just above it, and beside another program."""

import json

# Nanoseconds that each command takes; the way to the disk and back is about 0.02 ms.
LIMIT = "10ms"
BELOW_NS = 9_700_000
ABOVE_NS = 10_300_000

SETUP = """
modprobe scsi_debug delay=0 ndelay=1000000 dev_size_mb=64 max_queue=64
until [ -b /dev/sda ]; do sleep 0.1; done
"""
STEP = """
[[step]]
id = "{id}"
rw = "randread"
bs = "4KiB"
engine = "psync"
size = "32MiB"
runtime = "=400ms"
ramp = "0s"
"""
BESIDE = """
[[step.concurrent]]
id = "other"
rw = "read"
bs = "64KiB"
engine = "psync"
size = "32MiB"
runtime = "400ms"
ramp = "0s"
"""
REQUIRE = """
[[require]]
step = "{id}"
operation = "read"
metric = "lat_p99"
at_most = "{limit}"
source = "Laboratory: a limit that is known, 2026"
"""


def profile(machine, *parts):
    machine.sh(f"cat >/root/own.toml <<'END'\n{''.join(parts)}\nEND")


def required(machine, *more):
    return machine.run(f"lodestone run /dev/sda --require ./own.toml --budget 90s --quiet {' '.join(more)}")


def near_its_limit(lab):
    """3 % below a limit is met, 3 % above it missed; the exit code says so, and so does JUnit XML."""
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        profile(machine, STEP.format(id="alone"), REQUIRE.format(id="alone", limit=LIMIT))
        for delay, verdict, code in ((BELOW_NS, "met", 0), (ABOVE_NS, "missed", 1)):
            lab.measured(one_verdict, lab, machine, delay, verdict, code)


def one_verdict(lab, machine, delay, verdict, code):
    machine.sh(f"echo {delay} >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
    result = required(machine, "--json")
    told = json.loads(result.out)["requirements"] if result.out else []
    evidence = f"{told}\n{result.err}"
    lab.equal(f"{delay / 1e6:g} ms where {LIMIT} is required", [r["verdict"] for r in told], [verdict], evidence)
    lab.equal(f"{delay / 1e6:g} ms: exit code", result.code, code, evidence)
    figure = told[0]["estimate"] if told else 0
    lab.check(f"{delay / 1e6:g} ms: the p99 is the disk's", abs(figure / delay - 1) < 0.01, evidence)
    junit = machine.sh("lodestone export last --format junit")
    failures = 'failures="1"' if verdict == "missed" else 'failures="0"'
    lab.check(f"{delay / 1e6:g} ms: JUnit XML has {failures}", failures in junit, junit)


def beside_another(lab):
    """A disk with one command at a time is fast enough alone, and not beside another reader: the profile with both is missed."""
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        machine.sh("echo 1 >/sys/block/sda/device/queue_depth")
        machine.sh("echo 6000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
        both = STEP.format(id="alone"), STEP.format(id="beside") + BESIDE
        requirements = [REQUIRE.format(id=id, limit=LIMIT) for id in ("alone", "beside")]
        profile(machine, *both, *requirements)
        lab.measured(two_verdicts, lab, machine)


def two_verdicts(lab, machine):
    result = required(machine)
    lab.equal("exit code", result.code, 1, result.out + result.err)
    lab.check("the answer is the disturbed part", "own: missed" in result.out.splitlines()[0], result.out)
    verdicts = machine.sh("lodestone export last --format json")
    verdicts = {r["step"]: r["verdict"] for r in json.loads(verdicts)["requirements"]}
    lab.equal("each part", verdicts, {"alone": "met", "beside": "missed"}, result.out)


def slower_than_before(lab):
    """A disk whose commands take 5 % longer than in an earlier run is slower by more than 3 %; the same disk is not."""
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        machine.sh("echo 2000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
        profile(machine, STEP.format(id="alone"))
        machine.sh("lodestone run disk=/dev/sda --suite ./own.toml --rounds 60 --quiet")
        for delay, verdict, code in ((2_000_000, "met", 0), (2_100_000, "missed", 1)):
            lab.measured(one_comparison, lab, machine, delay, verdict, code)


def one_comparison(lab, machine, delay, verdict, code):
    machine.sh(f"echo {delay} >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
    first = machine.sh("lodestone list --json")
    earlier = json.loads(first)[0]["id"]
    result = machine.run(f"lodestone run --against {earlier} --rounds auto --budget 120s --margin 3% --quiet --json")
    told = json.loads(result.out)["requirements"] if result.out else []
    evidence = f"{told}\n{result.err}"
    lab.equal(f"{delay / 1e6:g} ms after 2 ms, with a margin of 3 %", [r["verdict"] for r in told], [verdict], evidence)
    lab.equal(f"{delay / 1e6:g} ms after 2 ms: exit code", result.code, code, evidence)
    ratio = told[0]["estimate"] if told else 0
    lab.check(f"{delay / 1e6:g} ms after 2 ms: the ratio is right", abs(ratio * delay / 2e6 - 1) < 0.01, evidence)


LADDER = """
[[step]]
id = "reads"
seek = "reads a second"
rw = "randread"
bs = "4KiB"
engine = "psync"
jobs = 4
size = "32MiB"
runtime = "=400ms"
ramp = "0s"
sweep.rate_iops = [100, 200, 400, 600, 1000, 1500, 2000, 3000]
"""


def carried(lab):
    """A disk that does one command at a time, 800 a second, carries 600 reads a second and not 1000."""
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        machine.sh("echo 1 >/sys/block/sda/device/queue_depth")
        machine.sh("echo 1250000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay")
        profile(machine, LADDER, REQUIRE.format(id="reads", limit="20ms"))
        lab.measured(one_search, lab, machine)


def one_search(lab, machine):
    result = machine.run("lodestone run /dev/sda --suite ./own.toml --budget 180s --quiet --json")
    found = json.loads(result.out)["headrooms"][0] if result.out else {}
    evidence = f"{found}\n{result.err}"
    lab.equal("carried, too much", (found.get("carried"), found.get("too_much")), (600, 1000), evidence)
    lab.equal("exit code", result.code, 0, evidence)


TESTS = [near_its_limit, beside_another, slower_than_before, carried]
MEASURED = ()
