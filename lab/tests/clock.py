"""Steps of the wall clock by years, in either direction: before a run, during it and between two runs. Durations and
rates do not depend on the clock, a step is reported, and logs, lists, comparisons and reports work at any date that
Linux accepts: from 1970 to 2232."""

import json
import re

SETUP = """
modprobe scsi_debug delay=0 ndelay=1000000 dev_size_mb=16
until [ -b /dev/sda ]; do sleep 0.1; done
"""
# A read takes one millisecond plus the kernel's overhead.
OPERATIONS, LEAST_SECONDS, MOST_SECONDS = 300, 0.3, 0.6
RUN = (
    f"lodestone run disk=/dev/sda --rw randread --size 4M --ops {OPERATIONS} --runtime none --rounds 3 --interval 100ms "
    "--quiet --json --store /tmp/store"
)
# Each run begins at the first date; if there is a second date, the clock is set to it during the measurement.
DATES = [
    ("2026-11-22 20:00:00", None),
    ("2026-11-22 21:00:00", "2104-02-29 12:00:00"),
    ("2104-03-01 12:00:00", "1999-12-31 23:59:59"),
    ("1970-01-02 00:00:00", "2231-12-30 00:00:00"),
    ("2231-12-31 01:00:00", "1970-01-03 00:00:00"),
    # The next second overflows a signed 32-bit integer.
    ("2038-01-19 03:14:07", None),
]
DAY_NS = 86_400 * 10**9
# The clock is set when the run's log has its first interval.
MEASURING = """
until log=$(ls /tmp/store/runs/*.jsonl 2>/dev/null | grep -vxF "$(cat /tmp/known)") && grep -q event.:.interval $log; do sleep 0.05; done
"""


def set_by_years(lab):
    with lab.machine(virtual=True) as machine:
        machine.sh(SETUP)
        runs = [one_run(lab, machine, *dates) for dates in DATES]
        lists(lab, machine, runs)
        ids = " ".join(run["id"] for run in runs)
        commands = [f"compare {ids}", f"compare --by-hour {ids}", f"report {ids} -o /tmp/page.html", "list", "clean"]
        commands += [f"{command} {run['id']}" for command in ("show", "report", "export -f csv") for run in runs]
        for command in commands:
            result = machine.run(f"lodestone {command} --store /tmp/store")
            output = result.out + result.err
            works = result.code == 0 and "panicked" not in output
            lab.check(f"lodestone {command.replace(ids, 'ALL')} works", works, output)


def one_run(lab, machine, before, meanwhile):
    name = f"{before}, then {meanwhile}" if meanwhile else before
    machine.sh(f"ls /tmp/store/runs/*.jsonl >/tmp/known 2>/dev/null || true; date -s '{before}'")
    job = machine.start(RUN)
    if meanwhile:
        machine.sh(f"{MEASURING} date -s '{meanwhile}'")
    result = machine.wait(job)
    lab.equal(f"{name}: the run succeeds", result.code, 0, result.err)
    run = result.json()
    steps = [note["message"] for note in run["notes"] if note["topic"] == "clock-stepped"]
    lab.equal(f"{name}: a clock step is reported", len(steps), 1 if meanwhile else 0, run["notes"])
    if meanwhile:
        direction = "by +" if meanwhile > before else "by -"
        lab.check(f"{name}: the report has the right direction", direction in steps[0], steps)
    rate = next(m["estimate"] for m in run["measurements"] if m["metric"] == "iops")
    is_right = OPERATIONS / MOST_SECONDS < rate < OPERATIONS / LEAST_SECONDS
    lab.check(f"{name}: the rate is that of the device", is_right, rate)
    log = machine.sh(f"ls /tmp/store/runs/*-{run['run']['id']}.jsonl.gz")
    day = before[:10].replace("-", "")
    lab.check(f"{name}: the log's name has the start date", re.search(rf"/{day}T\d{{6}}Z-[a-z0-9]+\.jsonl\.gz$", log), log)
    events = [json.loads(line) for line in machine.sh(f"busybox zcat {log}").splitlines()]
    durations = [event["window_ns"] / 1e9 for event in events if event["event"] == "repeat_finished"]
    right = len(durations) == 3 and all(LEAST_SECONDS < seconds < MOST_SECONDS for seconds in durations)
    lab.check(f"{name}: the repeats last as long as their operations", right, durations)
    times = [event.get("at_ns", 0) for event in events]
    lab.check(f"{name}: no event has a time in the future", all(0 <= at < DAY_NS for at in times), times)
    return {"id": run["run"]["id"], "log": log, "began": before}


def lists(lab, machine, runs):
    """Checks that runs and log names sort by date."""
    by_date = [run["id"] for run in sorted(runs, key=lambda run: run["began"])]
    listed = json.loads(machine.sh("lodestone list --json --store /tmp/store"))
    lab.equal("all runs are listed by date", [run["id"] for run in listed], by_date, listed)
    names = [re.search(r"-([a-z0-9]+)\.jsonl", name)[1] for name in machine.sh("ls /tmp/store/runs").split()]
    lab.equal("the names of the logs sort by date", names, by_date)
    shown = json.loads(machine.sh("lodestone export last --store /tmp/store"))
    lab.equal("`last` is the run with the latest date", shown["run"]["id"], by_date[-1])


TESTS = [set_by_years]
