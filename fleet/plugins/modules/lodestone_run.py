#!/usr/bin/python
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures storage of the managed host, unless its store already has a completed run of the same question."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lodestone_run
short_description: Measure storage with Lodestone
version_added: 0.1.0
description:
  - Runs C(lodestone run) on the managed host and returns where the log is, the answer and the figures.
  - A completed run with the same command line and the same plan that is in the store of the host is returned instead
    of measuring again. Runs that failed, were interrupted or left a target
      out do not count.
  - What is mounted at a path is not part of the question. After a disk or card was changed, use O(force).
author:
  - The authors of Lodestone
options:
  targets:
    description:
      - Directories, files or block devices to measure, as a list of V(PATH) or V(NAME=PATH), or as a dictionary of names
        and paths. They are measured in one run, interleaved.
      - A path is on the managed host. A V(HOST:PATH) is reached from there, by C(ssh).
    type: raw
    required: true
  suite:
    description: Name of a built-in suite, or path of a TOML file on the managed host. The program's default is V(quick).
    type: str
  only:
    description: Run only these steps of the suite.
    type: list
    elements: str
    default: []
  skip:
    description: Leave out these steps of the suite.
    type: list
    elements: str
    default: []
  repeats:
    description: Number of repeats of each step, or V(auto). The default is the suite's.
    type: str
    aliases: [rounds]
  budget:
    description: Time for the whole run, such as V(150s). Without it, the suite's or the program's default applies.
    type: str
  labels:
    description: Labels of all targets, or of one target where the key is V(TARGET:KEY). They tell runs apart in tables.
    type: dict
    default: {}
  overwrite:
    description:
      - What may be overwritten, each as V(PATH) or V(PATH,WHAT) as for C(--overwrite).
      - Without it, files and block devices are only read.
    type: list
    elements: str
    default: []
  extra_args:
    description: Further arguments of C(lodestone run). They are part of the question.
    type: list
    elements: str
    default: []
  force:
    description: Measure even if the store has a run of the same question.
    type: bool
    default: false
  max_age:
    description: Measure if the run of the same question began longer ago than this, such as V(12h) or V(7d).
    type: str
  executable:
    description: The program, as a path or as a name that is looked up in C(PATH).
    type: str
    default: lodestone
  store:
    description: Directory in which runs are stored. The default is that of the program for the user that runs it.
    type: path
  metrics:
    description: Metrics to return in RV(figures).
    type: list
    elements: str
    default: [bandwidth, iops, lat_mean, lat_p99]
attributes:
  check_mode:
    description: Says what would be measured and how long it takes, and measures nothing.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
  platform:
    description: Linux
    platforms: linux
    support: full
notes:
  - Ansible ends a lost connection without ending the module, so that a run goes on to its end on the host.
"""

EXAMPLES = r"""
- name: Compare two storages of this host
  lodestone.fleet.lodestone_run:
    targets:
      ssd: /mnt/ssd
      card: /home
    suite: pi
    repeats: 5
    labels:
      host: "{{ inventory_hostname }}"
  register: measured

- name: Show the answer
  ansible.builtin.debug:
    var: measured.answer

- name: Measure every week, also a file that may be overwritten
  lodestone.fleet.lodestone_run:
    targets: [/srv/scratch, /srv/image]
    overwrite: [/srv/image]
    budget: 5m
    max_age: 7d
"""

RETURN = r"""
run_id:
  description: Identifier of the run.
  returned: when a run was recorded or found
  type: str
  sample: g5kfd3fg
log:
  description: Path of the run's log on the managed host.
  returned: when a run was recorded or found
  type: str
  sample: /home/pi/.local/share/lodestone/runs/20261127T033700Z-g5kfd3fg.jsonl.gz
answer:
  description: The sentences with which the result of the run begins.
  returned: when a run was recorded or found
  type: str
  sample: ssd is 3.1 to 44 times as fast as card in all 8 figures.
figures:
  description: The figures of the run with their 95 % intervals; at first the scores, where the suite has one.
  returned: when a run was recorded or found
  type: list
  elements: dict
  contains:
    target:
      description: Name of the target.
      type: str
    step:
      description: Identifier of the step; none for a score.
      type: str
    operation:
      description: Operation, such as V(read), V(write) or V(sync); none for a score.
      type: str
    figure:
      description: Metric, such as V(bandwidth) or V(lat_p99), or V(score).
      type: str
    value:
      description: Estimate over all repeats.
      type: float
    unit:
      description: Unit of the value and of the interval.
      type: str
    interval:
      description: Ends of the interval, none where the repeats do not give one.
      type: list
      elements: float
started:
  description: When the run began.
  returned: when a run was recorded or found
  type: str
  sample: '2026-11-27T03:37:00Z'
seconds:
  description: Duration of the run.
  returned: when a run was recorded or found
  type: float
msg:
  description: What was done; in check mode, the plan of the run, with the duration of a round.
  returned: always
  type: str
command:
  description: The command that measures.
  returned: always
  type: list
  elements: str
"""

import json
import os
import re

from ansible.module_utils.basic import AnsibleModule


class Lodestone:
    """The program with one store."""

    def __init__(self, module: AnsibleModule, executable: str, store: str) -> None:
        self.module, self.executable, self.store = module, executable, store

    def command(self, *arguments: str) -> list[str]:
        return [self.executable, "--store", self.store, *arguments]

    def call(self, *arguments: str) -> tuple[int, str, str]:
        return self.module.run_command(self.command(*arguments))

    def output(self, *arguments: str) -> str:
        code, out, error = self.call(*arguments)
        if code:
            self.module.fail_json(msg=error.strip(), rc=code, command=self.command(*arguments))
        return out

    def runs(self, since: str | None) -> list[dict]:
        return json.loads(self.output("list", "--json", *(["--since", since] if since else [])))


def question(parameters: dict) -> list[str]:
    """The arguments of the run that measures. They identify it in the store."""
    targets = parameters["targets"]
    if isinstance(targets, dict):
        targets = [f"{name}={path}" for name, path in targets.items()]
    elif isinstance(targets, str):
        targets = [targets]
    arguments = ["run", "--json", "--quiet", "--no-report"]
    for option in ("suite", "repeats", "budget"):
        if parameters[option] is not None:
            arguments += [f"--{option}", parameters[option]]
    for option in ("only", "skip"):
        if parameters[option]:
            arguments += [f"--{option}", ",".join(parameters[option])]
    for key, value in parameters["labels"].items():
        arguments += ["--label", f"{key}={value}"]
    for consent in parameters["overwrite"]:
        arguments += ["--overwrite", consent]
    return [*arguments, *parameters["extra_args"], "--", *(str(target) for target in targets)]


def default_store() -> str:
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "lodestone")


def is_whole(run: dict) -> bool:
    """Whether every target was measured and nothing failed. A run that could measure nothing is completed, too."""
    measured = {repeat["target"] for repeat in run["repeats"]}
    return (
        run["run"]["outcome"] == "completed"
        and all(target["name"] in measured for target in run["targets"])
        and all(repeat["outcome"] == "completed" for repeat in run["repeats"])
        and not any(entry["severity"] == "error" for entry in run["notes"] + run["findings"])
    )


def reasons(run: dict) -> list[str]:
    """What the run says of its failure, each once."""
    said = [note["message"] for note in run["notes"] if note["severity"] != "info"]
    said += [finding["message"] for finding in run["findings"] if finding["severity"] == "error"]
    said += [repeat["failure"] for repeat in run["repeats"] if repeat["failure"]]
    return list(dict.fromkeys(said))


def earlier(program: Lodestone, arguments: list[str], plan: str, max_age: str | None) -> dict | None:
    """The newest completed run of this question."""
    listed = [run for run in program.runs(max_age) if run["state"] == "completed" and run["plan"] == plan]
    for entry in sorted(listed, key=lambda run: run["started_unix_ns"], reverse=True):
        run = json.loads(program.output("export", entry["id"]))
        if run["run"]["command"][-len(arguments) :] == arguments and is_whole(run):
            return run
    return None


def figures(run: dict, metrics: list[str]) -> list[dict]:
    scores = [
        {
            "target": finding["subject"]["target"],
            "step": None,
            "operation": None,
            "figure": "score",
            "value": evidence["value"],
            "unit": evidence["unit"],
            "interval": None,
        }
        for finding in run["findings"]
        for evidence in finding["evidence"]
        if evidence["what"] == "score"
    ]
    return scores + [
        {
            "target": measurement["target"],
            "step": measurement["step"],
            "operation": measurement["operation"],
            "figure": measurement["metric"],
            "value": measurement["estimate"],
            "unit": measurement["unit"],
            "interval": None if measurement["low"] is None else [measurement["low"], measurement["high"]],
        }
        for measurement in run["measurements"]
        if measurement["metric"] in metrics
    ]


def result(program: Lodestone, run: dict, metrics: list[str]) -> dict:
    identifier = run["run"]["id"]
    log = next(entry["log"] for entry in program.runs(None) if entry["id"] == identifier)
    return {
        "run_id": identifier,
        "log": os.path.join(program.store, "runs", log),
        "answer": "\n".join(run["answer"]),
        "figures": figures(run, metrics),
        "started": run["run"]["started"],
        "seconds": run["run"]["seconds"],
    }


def measure(module: AnsibleModule, program: Lodestone, arguments: list[str]) -> dict:
    code, out, error = program.call(*arguments)
    command = program.command(*arguments)
    try:
        run = json.loads(out)
    except ValueError:
        module.fail_json(msg=error.strip() or out.strip(), rc=code, command=command)
    outcome = result(program, run, module.params["metrics"])
    if code:
        module.fail_json(msg="\n".join([error.strip(), *reasons(run)]), rc=code, command=command, **outcome)
    return outcome


def main() -> None:
    texts = {name: {"type": "str"} for name in ("suite", "budget", "max_age")}
    lists = {name: {"type": "list", "elements": "str", "default": []} for name in ("only", "skip", "overwrite", "extra_args")}
    module = AnsibleModule(
        argument_spec={
            **texts,
            **lists,
            "targets": {"type": "raw", "required": True},
            "repeats": {"type": "str", "aliases": ["rounds"]},
            "labels": {"type": "dict", "default": {}},
            "force": {"type": "bool", "default": False},
            "executable": {"type": "str", "default": "lodestone"},
            "store": {"type": "path"},
            "metrics": {"type": "list", "elements": "str", "default": ["bandwidth", "iops", "lat_mean", "lat_p99"]},
        },
        supports_check_mode=True,
    )
    parameters = module.params
    if not parameters["targets"]:
        module.fail_json(msg="targets is empty; name at least one directory, file or block device")
    executable = module.get_bin_path(parameters["executable"])
    arguments = question(parameters)
    program = Lodestone(module, executable or parameters["executable"], parameters["store"] or default_store())
    command = program.command(*arguments)
    if executable is None:
        what = f"cannot find the program `{parameters['executable']}` on this host"
        if module.check_mode:
            module.exit_json(changed=True, msg=f"{what}; would measure once it is installed", command=command)
        what += "; install it with the role lodestone.fleet.install, or name it with executable"
        module.fail_json(msg=what, command=command)

    # Refuses what cannot be measured before anything is looked up or measured.
    plan = program.output("run", "--dry-run", *arguments[1:])
    plan_id = re.search(r"\(plan ([0-9a-f]+)\)", plan)
    found = None
    if plan_id and not parameters["force"]:
        found = earlier(program, arguments, plan_id.group(1), parameters["max_age"])
    if found:
        outcome = result(program, found, parameters["metrics"])
        module.exit_json(changed=False, msg=f"measured before, at {outcome['started']}", command=command, **outcome)
    if module.check_mode:
        module.exit_json(changed=True, msg="would measure: " + plan.split("\n\n")[0], command=command)
    module.exit_json(changed=True, msg="measured", command=command, **measure(module, program, arguments))


if __name__ == "__main__":
    main()
