//! Runs on several machines. The other machines are this one, reached by a script instead of ssh.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::*;

/// A bench whose machine `a` is reached by `env`, and `b` by a script that starts its agent.
struct Machines {
    bench: Bench,
    script: PathBuf,
}

impl Machines {
    /// The script is given the command that starts the agent.
    fn with(script: &str) -> Self {
        let bench = Bench::new();
        bench.instead("reach", script);
        let script = bench.path("programs/reach");
        std::fs::create_dir(bench.path("there")).unwrap();
        Self { bench, script }
    }

    /// A run on a directory of each, with these options.
    fn args(&self, options: &[&str]) -> Vec<String> {
        let [here, there] =
            [self.bench.disk(), self.bench.path("there")].map(|path| path.display().to_string());
        let own = env!("CARGO_BIN_EXE_lodestone");
        let reached = format!("b={}", self.script.display());
        let [here, there] = [format!("a:{here}"), format!("me@b:{there}")];
        let reached = reached.replacen("b=", "me@b=", 1);
        let args = ["run", &here, &there, "--connect", "env", "--connect", &reached, "--remote-program", own];
        let work = ["--rw", "randread", "--bs", "4k", "--size", "4M", "--no-report"];
        args.iter().chain(&work).chain(options).map(|arg| (*arg).to_owned()).collect()
    }

    fn command(&self, options: &[&str]) -> std::process::Command {
        let args = self.args(options);
        self.bench.command(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The process of the agent on `b`, once it has begun.
    fn agent(&self, running: &mut Running) -> u32 {
        let pid = self.bench.path("pid");
        running.until("the agent", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
        std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap()
    }

    #[track_caller]
    fn are_clean(&self) {
        assert_eq!((self.bench.visible(), visible(&self.bench.path("there"))), (Vec::new(), Vec::new()));
    }
}

/// Leaves the number of the agent's process in the directory in which the run was started.
const KNOWN: &str = "echo $$ >pid; exec \"$@\"";

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().filter_map(|item| item[key].as_str()).collect()
}

/// Number of repeats of a target that ended so.
fn count(run: &Value, target: &str, outcome: &str) -> usize {
    let all = run["repeats"].as_array().unwrap().iter();
    all.filter(|repeat| repeat["target"] == target && repeat["outcome"] == outcome).count()
}

#[test]
fn targets_on_other_machines_are_measured_in_one_run() {
    let machines = Machines::with(KNOWN);
    let output = machines.command(&["--rounds", "4", "--runtime", "200ms", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(texts(&run["targets"], "name"), ["a:disk", "b:there"]);
    assert_eq!(texts(&run["targets"], "host"), ["a", "b"]);
    let hosts = &run["run"]["hosts"];
    assert_eq!(texts(hosts, "name"), ["a", "b"]);
    for host in hosts.as_array().unwrap() {
        let (ahead, within) = (&host["clock_ahead_seconds"], &host["clock_within_seconds"]);
        let (ahead, within) = (ahead.as_f64().unwrap(), within.as_f64().unwrap());
        assert!(ahead.abs() <= within && within > 0.0, "one clock is {ahead} ± {within} s ahead of itself");
    }
    for target in ["a:disk", "b:there"] {
        assert_eq!(count(&run, target, "completed"), 4);
    }
    // The scheduler takes turns: neither is always first.
    let rounds: Vec<&str> = texts(&run["repeats"], "target");
    let firsts: Vec<&str> = rounds.chunks(2).map(|round| round[0]).collect();
    assert!(firsts.contains(&"a:disk") && firsts.contains(&"b:there"), "{firsts:?}");
    let id = run["run"]["id"].as_str().unwrap();
    let telemetry = machines.bench.ok(&["export", id, "--telemetry", "--format", "csv"]);
    for (host, target) in [("a", "a:disk"), ("b", "b:there")] {
        assert!(telemetry.contains(&format!("{id},{host},{target},")), "{telemetry}");
    }
    let shown = machines.bench.ok(&["show", id, "--details"]);
    assert!(shown.contains("machine a ") && shown.contains("machine b "), "{shown}");
    machines.are_clean();
}

#[test]
fn a_machine_that_is_lost_is_told_and_the_others_go_on() {
    for signal in ["KILL", "STOP", "TERM"] {
        let machines = Machines::with(KNOWN);
        let options = ["--rounds", "40", "--runtime", "500ms", "--json"];
        let mut running = Running::start(&mut machines.command(&options));
        let agent = machines.agent(&mut running);
        running.until_printed("b:there  Random read");
        testing::signal(agent, signal).unwrap();
        running.until_printed("the run goes on without it");
        running.press();
        let output = running.output();
        let run: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{signal}: {error}: {}", stderr(&output)));
        let given_up =
            run["notes"].as_array().unwrap().iter().find(|n| n["topic"] == "target-given-up").unwrap();
        assert_eq!(given_up["target"], "b:there", "{signal}: {given_up}");
        assert!(count(&run, "b:there", "completed") >= 1, "{signal}: what it had measured is kept");
        assert!(count(&run, "a:disk", "completed") >= 1 && count(&run, "a:disk", "failed") == 0);
        if signal == "STOP" {
            // It goes on when nobody is there any more, and notices; or it has ended with the connection.
            let _ = testing::signal(agent, "CONT");
        }
        until_dead(agent);
        machines.are_clean();
    }
}

/// The repeat was in the result, and the scheduler knew nothing of it.
#[test]
fn a_repeat_counts_whose_machine_is_lost_before_it_has_answered() {
    // The connection ends with what follows the first end of a repeat.
    let script =
        "exec 3<&0; \"$@\" <&3 3<&- | sed -u '/\"event\":\"repeat_finished\"/q' & exec >&- 3<&-; wait";
    let machines = Machines::with(script);
    let output = machines.command(&["--rounds", "3", "--runtime", "100ms", "--json"]).output().unwrap();
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert_eq!((count(&run, "a:disk", "completed"), count(&run, "b:there", "completed")), (3, 1));
    let notes = run["notes"].as_array().unwrap();
    let given_up = notes.iter().find(|note| note["topic"] == "target-given-up").unwrap();
    assert_eq!(given_up["target"], "b:there");
}

#[test]
fn an_agent_ends_with_its_run() {
    let machines = Machines::with(KNOWN);
    let mut running = Running::start(&mut machines.command(&["--rounds", "1000", "--runtime", "1s"]));
    let agent = machines.agent(&mut running);
    running.until_printed("b:there  Random read");
    running.signal("KILL");
    until_dead(agent);
    drop(running.output());
    machines.are_clean();
}

#[test]
fn ctrl_c_ends_all_machines() {
    for together in [None, Some("--together")] {
        let machines = Machines::with(KNOWN);
        let options = ["--rounds", "1000", "--runtime", "100s"];
        let options: Vec<&str> = options.into_iter().chain(together).collect();
        let mut running = Running::start(&mut machines.command(&options));
        let agent = machines.agent(&mut running);
        running.until_printed("laid out on a");
        running.press();
        let output = running.output();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        until_dead(agent);
        machines.are_clean();
    }
}

#[test]
fn ctrl_c_ends_a_connection_that_is_being_made() {
    let machines = Machines::with("echo $$ >pid; exec sleep 1000");
    let mut running = Running::start(&mut machines.command(&["--rounds", "1"]));
    let silent = machines.agent(&mut running);
    running.press();
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("stopped; nothing was measured"), "{}", stderr(&output));
    until_dead(silent);
}

#[test]
fn what_a_machine_should_not_say_is_an_error_and_nothing_else() {
    let sed = |change: &str| format!("\"$@\" | sed -u '{change}'");
    // What b says instead, and what is said of it.
    let unasked = "it sent events of what it was not asked for";
    let cases = [
        ("exit 127".to_owned(), "Lodestone is not installed there"),
        (
            "echo Welcome to b; exec \"$@\"".to_owned(),
            "its shell printed \"Welcome to b\" before the program began",
        ),
        ("exec cat /dev/zero".to_owned(), "a message longer than 16 MiB"),
        ("exec true".to_owned(), "ended with exit code 0"),
        (
            sed("s/\"version\":\"[^\"]*\"/\"version\":\"9.9.9\"/"),
            "its Lodestone is version 9.9.9, and this one",
        ),
        (
            sed("s/\"reply\":\"inspected\"/\"reply\":\"settled\"/"),
            "it sent something other than Lodestone's protocol",
        ),
        (
            sed("s/\"engines\":\\[[^]]*\\]/\"engines\":[]/"),
            "it sent something other than Lodestone's protocol",
        ),
        (sed("s/\"reply\":\"laid_out\"/\"reply\":\"settled\"/"), "it answers what it was not asked"),
        (sed("/repeat_started/s/\"repeat\":[0-9]*/\"repeat\":99/"), unasked),
        (sed("/repeat_started/s/\"target\":\"b:there\"/\"target\":\"a:disk\"/"), unasked),
        (sed("/repeat_finished/s/\"repeat\":[0-9]*/\"repeat\":77/"), unasked),
        (
            sed(
                "s/^{\"event\":\"interval\".*/{\"event\":\"set_aside\",\"at_ns\":1,\"repeats\":[0],\"reason\":\"x\"}/",
            ),
            "lost",
        ),
        (
            sed("s/^{\"event\":\"repeat_finished\".*/\\x1b[2J\\x1b]0;x\\x07/"),
            "it sent something other than Lodestone",
        ),
    ];
    let apart = "its clients did not work at the same time";
    let of_clients = [
        (sed("s/\"reply\":\"ready\"/\"reply\":\"settled\"/"), "it answers what it was not asked"),
        (sed("/repeat_started/d"), unasked),
        (sed("s/\"clients\":\\[[^]]*\\]/\"clients\":[]/"), apart),
        (sed("s/\"began_ns\":[0-9]*/\"began_ns\":18446744073709551615/"), apart),
        // Figures that cannot be are figures: they must only do no harm.
        (sed("s/\"window_ns\":[0-9]*/\"window_ns\":18446744073709551615/"), ""),
        (sed("s/\"size_bytes\":[0-9]*/\"size_bytes\":18446744073709551615/"), ""),
    ];
    let alone = cases.into_iter().map(|(script, message)| (script, message, None));
    let together = of_clients.into_iter().map(|(script, message)| (script, message, Some("--together")));
    for (script, message, together) in alone.chain(together) {
        let machines = Machines::with(&script);
        let options = ["--rounds", "2", "--runtime", "100ms", "--seed", "1"];
        let options: Vec<&str> = options.into_iter().chain(together).collect();
        let output = machines.command(&options).output().unwrap();
        let said = stderr(&output) + &stdout(&output);
        let is_refused = matches!(output.status.code(), Some(2 | 3)) || message.is_empty();
        assert!(is_refused && output.status.code().is_some(), "{script}: {:?}\n{said}", output.status);
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(message), "{script}\n{said}");
        assert!(!said.contains('\x1b') && !said.contains("panicked"), "{script}\n{said}");
        machines.are_clean();
    }
}

#[test]
fn a_program_that_is_sent_runs_there_and_is_gone_afterwards() {
    // The script finds no installed program.
    let machines = Machines::with("[ \"$2\" = agent ] && exit 127; exec \"$@\"");
    let options = ["--rounds", "2", "--runtime", "100ms", "--json"];
    let absent = machines.command(&options).output().unwrap();
    assert!(stderr(&absent).contains("send this one with --send-program"), "{}", stderr(&absent));
    let output = machines.command(&[&options[..], &["--send-program"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(count(&run, "b:there", "completed"), 2);
    assert_eq!(visible(&machines.bench.path("tmp")), Vec::<String>::new(), "nothing is left of the program");
    let other = machines.bench.path("other");
    std::fs::write(&other, "#!/nowhere\n").unwrap();
    let sent = format!("--send-program={}", other.display());
    let refused = machines.command(&[&options[..], &[&sent]].concat()).output().unwrap();
    assert!(stderr(&refused).contains("does not run there"), "{}", stderr(&refused));
    machines.are_clean();
}

#[test]
fn groups_and_variables_of_an_inventory_are_labels() {
    let bench = Bench::new();
    let inventory = bench.path("hosts.ini");
    let text =
        "[east]\ne1 region=eu\ne2\n[west]\nw1 region=us\n[all:vars]\nansible_connection=local\nregion=none\n";
    std::fs::write(&inventory, text).unwrap();
    let [inventory, disk] = [inventory, bench.disk()].map(|path| path.display().to_string());
    let (east, west) = (format!("east,!e2:{disk}"), format!("w*:{disk}"));
    let args = ["run", "-i", &inventory, "-l", &east, "--limit", &west, "--remote-program"];
    let work =
        ["--rw", "randread", "--size", "4M", "--rounds", "1", "--runtime", "100ms", "--no-report", "--json"];
    let run = bench.ok(&[&args[..], &[env!("CARGO_BIN_EXE_lodestone")], &work].concat());
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(texts(&run["targets"], "name"), ["e1:disk", "w1:disk"]);
    let labels: Vec<&Value> =
        run["targets"].as_array().unwrap().iter().map(|target| &target["labels"]).collect();
    assert_eq!(*labels[0], serde_json::json!({"group": "east", "host": "e1", "region": "eu"}));
    assert_eq!(*labels[1], serde_json::json!({"group": "west", "host": "w1", "region": "us"}));
    assert_eq!(run["groups"], Value::Null, "one machine is no sample");
    // Two machines of each group are one.
    let sampled = "[east]\ne[1:2]\n[west]\nw[1:2]\n[all:vars]\nansible_connection=local\n";
    std::fs::write(&inventory, sampled).unwrap();
    let all = format!("all:{disk}");
    let args = ["run", "-i", &inventory, "-l", &all, "--remote-program", env!("CARGO_BIN_EXE_lodestone")];
    let answer = bench.ok(&[&args[..], &work[..work.len() - 1]].concat());
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Each group is judged by its machines (2 of east and 2 of west)"), "{answer}");
    assert!(
        words.contains("Means over the machines of each group, with their difference from east"),
        "{answer}"
    );
    let run: Value = serde_json::from_str(&bench.ok(&["export", "last"])).unwrap();
    assert_eq!(run["groups"]["machines"], serde_json::json!({"east": 2, "west": 2}));
    assert_eq!(run["groups"]["comparisons"][0]["target"], "west");
    let unknown = bench.fails(2, &["run", "-i", &inventory, "-l", "north:/x"]);
    assert!(unknown.contains("no machine or group is named `north`; there are the groups"), "{unknown}");
    assert!(bench.visible().is_empty());
}

#[test]
fn a_run_names_machines_that_are_there() {
    let machines = Machines::with(KNOWN);
    let bench = &machines.bench;
    let disk = bench.disk().display().to_string();
    let absent =
        bench.fails(2, &["run", "a:/", "--connect", "env", "--remote-program", "/nowhere/lodestone"]);
    assert!(absent.contains("a: Lodestone is not installed there"), "{absent}");
    let unknown = bench.fails(2, &["run", "a:/", "--connect", "c=env"]);
    assert!(unknown.contains("no target is on a machine `c`"), "{unknown}");
    let here = bench.fails(2, &["run", &disk, "--connect", "env"]);
    assert!(here.contains("all targets are here"), "{here}");
    let listed = bench.fails(2, &["run", &disk, "-i", "a,b"]);
    assert!(listed.contains("all targets are here"), "{listed}");
    let via = bench.fails(2, &["run", "a:/", "--connect", "env", "--via", "fio"]);
    assert!(via.contains("measured by Lodestone's own engines"), "{via}");
    let own = env!("CARGO_BIN_EXE_lodestone");
    let twice = bench.fails(2, &["run", "x=a:/", "x=a:/tmp", "--connect", "env", "--remote-program", own]);
    assert!(twice.contains("two targets have the name `x`"), "{twice}");
    let gone = bench.fails(2, &["run", "a:/nowhere", "b:/no", "--connect", "env", "--remote-program", own]);
    assert!(gone.contains("a: cannot find `/nowhere`") && gone.contains("b: cannot find `/no`"), "{gone}");
    let (there, reached) = (format!("a:{disk}"), ["--connect", "env", "--remote-program", own]);
    let work = ["--rw", "randread", "--size", "4M", "--rounds", "1", "--runtime", "100ms", "--no-report"];
    bench.ok(&[&["run", &there][..], &reached, &work].concat());
    let again = bench.fails(2, &["run", "--against", "last"]);
    assert!(again.contains("its targets are not on this machine alone"), "{again}");
}

#[test]
fn clients_work_together_and_their_numbers_are_compared() {
    let machines = Machines::with(KNOWN);
    let options = ["--together", "--clients", "1,2", "--rounds", "4", "--runtime", "200ms", "--json"];
    let output = machines.command(&options).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(texts(&run["targets"], "name"), ["1 client", "2 clients"]);
    assert_eq!(texts(&run["run"]["hosts"], "name"), ["a", "b"]);
    assert_eq!([count(&run, "1 client", "completed"), count(&run, "2 clients", "completed")], [4, 4]);
    let clients = &run["clients"];
    let [one, two] = &clients["shares"].as_array().unwrap()[..] else { panic!("{clients}") };
    assert_eq!((texts(&one["clients"], "host"), texts(&two["clients"], "host")), (vec!["a"], vec!["a", "b"]));
    let sum = |key: &str| -> f64 {
        two["clients"].as_array().unwrap().iter().map(|client| client[key].as_f64().unwrap()).sum()
    };
    assert!((sum("share") - 1.0).abs() < 1e-6, "{two}");
    // The figure is what both did together.
    let of_two = |m: &&Value| m["target"] == "2 clients" && m["metric"] == "iops";
    let figure = run["measurements"].as_array().unwrap().iter().find(of_two).unwrap();
    let figure = figure["estimate"].as_f64().unwrap();
    assert!((sum("iops") / figure - 1.0).abs() < 0.01, "{} and {figure}", sum("iops"));
    let [starts] = &clients["starts"].as_array().unwrap()[..] else {
        panic!("only one has several: {clients}")
    };
    assert_eq!((&starts["target"], &starts["repeats"]), (&"2 clients".into(), &4.into()));
    assert!(starts["within_seconds"].as_f64().unwrap() > 0.0, "{starts}");
    assert_eq!(clients["curves"][0]["points"].as_array().unwrap().len(), 2);
    let shown = machines.bench.ok(&["show", run["run"]["id"].as_str().unwrap()]);
    for part in ["How 2 clients share the work", "The clients began within", "1 client"] {
        assert!(shown.contains(part), "{shown}");
    }
    machines.are_clean();
}

#[test]
fn a_client_that_is_lost_ends_what_it_was_part_of_and_nothing_else() {
    let machines = Machines::with(KNOWN);
    let options = ["--together", "--clients", "1,2", "--rounds", "40", "--runtime", "500ms", "--json"];
    let mut running = Running::start(&mut machines.command(&options));
    let agent = machines.agent(&mut running);
    running.until_printed("2 clients  Random read");
    signal(agent, "KILL").unwrap();
    running.until_printed("the run goes on without it");
    running.press();
    let output = running.output();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = run["notes"].as_array().unwrap();
    let given_up = notes.iter().find(|note| note["topic"] == "target-given-up").unwrap();
    assert_eq!(given_up["target"], "2 clients", "{given_up}");
    assert!(given_up["message"].as_str().unwrap().contains("b is lost: "), "{given_up}");
    assert!(count(&run, "1 client", "completed") >= 1 && count(&run, "1 client", "failed") == 0);
    until_dead(agent);
    machines.are_clean();
}

#[test]
fn clients_are_targets_that_work_together() {
    let machines = Machines::with(KNOWN);
    let bench = &machines.bench;
    let disk = bench.disk().display().to_string();
    for (args, complaint) in [
        (&["run", &disk, "--together"][..], "two targets or more"),
        (&["run", &disk, &disk, "--together", "--clients", "1,3"], "there are only 2 targets"),
        (&["run", &disk, &disk, "--clients", "2"], "--together"),
        (&["run", &disk, &disk, "--together", "--clients", "0"], "0"),
        (&["run", &disk, &disk, "--together", "--via", "fio"], "--via"),
    ] {
        let output = bench.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(complaint), "{}", stderr(&output));
    }
    // Clients of this machine, in one directory, each with files of its own.
    let work = [
        "--rw",
        "randread",
        "--bs",
        "4k",
        "--size",
        "1M",
        "--rounds",
        "2",
        "--runtime",
        "50ms",
        "--no-report",
    ];
    let shown = bench.ok(&[&["run", &disk, &disk, "--together"], &work[..]].concat());
    assert!(shown.starts_with("2 clients together do "), "{shown}");
    machines.are_clean();
}
