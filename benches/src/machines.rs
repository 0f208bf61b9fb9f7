//! What an agent costs: figures of a file through an agent beside those without one, and a run with many agents.

use std::io;
use std::process::Command;

use serde_json::Value;

use crate::measured;
use crate::setting::{DISK_BYTES, Setting, make};
use crate::table::markdown;

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub struct MachinesArgs {
    /// What is measured and where; --rounds is that of the run with many agents
    #[command(flatten)]
    setting: Setting,
    /// Budget of the run on one file, with and without an agent
    #[arg(long, value_name = "TIME", default_value = "120s")]
    budget: String,
    /// Agents in the run with many
    #[arg(long, value_name = "N", default_value_t = 500)]
    agents: usize,
}

/// Measures one file through an agent and without, in turn, in one run; then runs with many agents, each of which
/// transfers nothing.
///
/// # Errors
/// A run fails, or prints unexpected output.
pub fn machines(args: &MachinesArgs) -> io::Result<String> {
    Ok(format!("{}\n{}", beside(args)?, many(args)?))
}

/// Options that reach a machine of any name by starting the agent here.
fn reach(args: &MachinesArgs) -> [String; 4] {
    let lodestone = args.setting.programs.lodestone();
    ["--connect", "env", "--remote-program", &lodestone].map(str::to_owned)
}

/// The figures of storage, and those of the engine that touches none, where nothing but the processor counts.
fn beside(args: &MachinesArgs) -> io::Result<String> {
    let storage = one(args, &["--budget", &args.budget])?;
    let nothing = "--rw randread --engine noop --rounds 40 --runtime 500ms";
    let nothing = one(args, &nothing.split(' ').collect::<Vec<_>>())?;
    let mut rows = Vec::new();
    for (run, has_user_time) in [(&storage, false), (&nothing, true)] {
        for comparison in
            run["comparisons"].as_array().into_iter().flatten().filter(|c| c["metric"] == "bandwidth")
        {
            let number = |key: &str| comparison[key].as_f64().unwrap_or(f64::NAN);
            let word = |key: &str| comparison[key].as_str().unwrap_or_default().to_owned();
            let ratio = format!("{:.3} ({:.3}–{:.3})", number("ratio"), number("low"), number("high"));
            let [here, agent] = ["here", "agent"].map(|target| user_time(run, target).unwrap_or(f64::NAN));
            // The kernel counts user time by its clock ticks, of which a repeat that waits for storage has too few.
            let user = if has_user_time { format!("{:.2}", agent / here) } else { "–".to_owned() };
            let step = if has_user_time { "nothing (engine noop)".to_owned() } else { word("step") };
            rows.push(vec![step, word("operation"), ratio, word("verdict"), user]);
        }
    }
    let head = [
        "step",
        "operation",
        "rate through an agent ÷ without (95 %)",
        "verdict",
        "user time per operation, ratio",
    ];
    Ok(markdown(&head, &rows))
}

/// Nanoseconds of user time per operation of the first step on a target.
fn user_time(run: &Value, target: &str) -> Option<f64> {
    let all = run["measurements"].as_array()?.iter();
    let mut own = all.filter(|m| m["target"] == target && m["metric"] == "cpu_user_per_io");
    own.next()?["estimate"].as_f64()
}

/// A run on one file, through an agent and without: two files of one disk may differ.
fn one(args: &MachinesArgs, options: &[&str]) -> io::Result<Value> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let file = scratch.path().join("data");
    make(&file, DISK_BYTES)?;
    let file = file.display();
    let output = Command::new(args.setting.programs.lodestone())
        .args(["run", &format!("here={file}"), &format!("agent=x:{file}")])
        .args(["--overwrite", &file.to_string(), "--overwrite", &format!("x:{file}")])
        .args(options)
        .args(reach(args))
        .arg("--store")
        .arg(scratch.path().join("store"))
        .args(["--json", "--quiet", "--no-report"])
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn many(args: &MachinesArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let (place, store) = (scratch.path(), scratch.path().join("store"));
    let targets = (0..args.agents).map(|n| format!("h{n}:{}", place.display()));
    let work = "--rw randread --engine noop --size 64k --runtime 20ms --ramp 0s --settle 0s --telemetry off --no-report --json --quiet";
    let rounds = args.setting.turns.rounds.to_string();
    let all: Vec<String> = ["run".to_owned()]
        .into_iter()
        .chain(targets)
        .chain(reach(args))
        .chain(work.split(' ').map(str::to_owned))
        .chain(["--rounds".to_owned(), rounds, "--store".to_owned(), store.display().to_string()])
        .collect();
    let cost = measured::run(&args.setting.programs.lodestone(), &all)?;
    let run: Value = serde_json::from_str(&cost.stdout)?;
    let repeats = run["repeats"].as_array().map_or(0, Vec::len);
    let took = run["run"]["seconds"].as_f64().unwrap_or(f64::NAN);
    let row = vec![
        args.agents.to_string(),
        repeats.to_string(),
        format!("{:.1}", cost.wall.as_secs_f64()),
        format!("{:.1}", took),
        format!("{:.0}", repeats as f64 / took),
        format!("{:.1}", (cost.user_ns + cost.system_ns) as f64 / 1e9),
        format!("{:.0}", cost.peak_bytes as f64 / 1e6),
    ];
    let head = [
        "agents",
        "repeats of 20 ms",
        "all, s",
        "the run, s",
        "repeats per second",
        "processor time of all, s",
        "peak memory of the largest process, MB",
    ];
    Ok(markdown(&head, &[row]))
}
