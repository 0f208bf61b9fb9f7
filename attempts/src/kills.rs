//! `kill -9` at random moments of every command: each log stays readable, the index is rebuilt from all of them, each
//! output file is complete, old or new, and nothing is left on the targets: of a run at once, of all others after `clean`.
//!
//! # Invariants
//! * The moments are drawn from the command's undisturbed duration, which is measured again for each batch.
//! * The checks use what a user sees: the program's output and the names in directories.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::outcome::Outcome;

/// Kills per batch. The commands' durations are measured before each batch; the store is deleted after it.
const BATCH: u64 = 70;
const COMMANDS: [&str; 7] = ["run", "import", "report", "export", "list", "clean", "crosscheck"];
/// Output of dd on standard error.
const IMPORTED: &str =
    "512+0 records in\n512+0 records out\n536870912 bytes (537 MB, 512 MiB) copied, 2.5 s, 215 MB/s\n";
/// Files that commands write to a path given by the user.
const FILES: [&str; 2] = ["page.html", "run.json"];
/// Interval of the checks whether the children of a killed program have ended.
const POLL: Duration = Duration::from_millis(2);

/// Targets, a store and the commands' input and output files, below one directory.
struct Bench<'a> {
    program: &'a Path,
    root: &'a Path,
}

/// Kills the program's commands `count` times in the directory `root`, which must be empty, and returns the outcome.
/// The same seed draws the same fractions of a command's duration.
///
/// # Errors
/// The program cannot be started or fails without being killed, or a file cannot be created.
pub fn kills(program: &Path, root: &Path, count: u64, seed: u64) -> io::Result<Outcome> {
    let bench = Bench { program, root };
    for directory in ["one", "two", "out"] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::write(root.join("dd.txt"), IMPORTED)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut outcome = Outcome::default();
    while outcome.attempts < count {
        let whole: Vec<Duration> =
            COMMANDS.iter().map(|command| bench.whole(command)).collect::<io::Result<_>>()?;
        let known = names(&root.join("store"))?;
        for _ in 0..BATCH.min(count - outcome.attempts) {
            let number = outcome.attempts as usize % COMMANDS.len();
            let moment = whole[number].mul_f64(rng.random_range(0.0..1.2));
            let was_killed = bench.kill(COMMANDS[number], moment)?;
            let troubles = bench.troubles(COMMANDS[number], &known)?;
            if troubles.is_empty() {
                outcome.count(if was_killed { COMMANDS[number] } else { "ended before the kill" });
            } else {
                let (command, troubles) = (COMMANDS[number], troubles.join("; "));
                let share = moment.as_secs_f64() / whole[number].as_secs_f64();
                outcome.fail(format!(
                    "seed {seed}, attempt {}: {command} killed after {moment:?} ({share:.2} of its duration): \
                     {troubles}",
                    outcome.attempts
                ));
            }
        }
        bench.remove_store()?;
    }
    Ok(outcome)
}

impl Bench<'_> {
    fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    fn arguments(&self, command: &str) -> Vec<String> {
        const SMALL: &str = "--quiet --settle 0s --size 4M --rounds 1 --rw randrw --bs 4k --runtime none --ops 400 --ramp 0s --interval 10ms";
        const CHECK: &str = "--quiet --with dd --only dd-write-fsync --rounds 1 --size 16MiB --runtime 1s";
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (one, two) = (self.path("one"), self.path("two"));
        let mut arguments = vec![command.to_owned()];
        match command {
            "run" => arguments.extend([vec![one, two], words(SMALL)].concat()),
            "import" => arguments.extend([self.path("dd.txt"), "--again".to_owned()]),
            "report" => arguments.extend(["last".to_owned(), "-o".to_owned(), self.path("out/page.html")]),
            "export" => {
                arguments.extend(["last", "-o", &self.path("out/run.json"), "--force"].map(str::to_owned))
            }
            "clean" => arguments.extend([one, two]),
            "crosscheck" => arguments.extend([vec![one], words(CHECK)].concat()),
            _ => {}
        }
        arguments.extend(["--store".to_owned(), self.path("store")]);
        arguments
    }

    fn command(&self, command: &str) -> Command {
        let mut started = Command::new(self.program);
        started.args(self.arguments(command)).current_dir(self.root).stdin(Stdio::null());
        started
    }

    /// The undisturbed duration of a command.
    fn whole(&self, command: &str) -> io::Result<Duration> {
        let mut prepared = self.command(command);
        let began = Instant::now();
        let output = prepared.output()?;
        let took = began.elapsed();
        if output.status.success() {
            return Ok(took);
        }
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(io::Error::other(format!("{command} fails without being killed, {}: {words}", output.status)))
    }

    /// Kills a command at this moment. True if it had not ended before. Returns after its children have ended too.
    fn kill(&self, command: &str, moment: Duration) -> io::Result<bool> {
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let mut prepared = self.command(command);
        let mut child = prepared.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
        std::thread::sleep(moment);
        child.kill()?;
        let was_killed = child.wait()?.signal().is_some();
        while group_lives(child.id()) {
            std::thread::sleep(POLL);
        }
        Ok(was_killed)
    }

    /// Everything that is wrong after a kill. `known` has the names in the store before any kill.
    fn troubles(&self, command: &str, known: &BTreeSet<String>) -> io::Result<Vec<String>> {
        let mut troubles = Vec::new();
        // Files without a name vanish with the program; `clean` has nothing to do with them.
        let is_nameless = command == "run";
        for directory in ["one", "two"].iter().filter(|_| is_nameless) {
            let visible = names(&self.root.join(directory))?;
            if !visible.is_empty() {
                troubles.push(format!("{directory} has visible files before `clean`: {visible:?}"));
            }
        }
        let mut ask = |arguments: &[&str]| -> io::Result<Output> {
            let mut command = Command::new(self.program);
            command.args(arguments).arg("--store").arg(self.root.join("store")).current_dir(self.root);
            let output = command.stdin(Stdio::null()).output()?;
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            if !output.status.success() || words.contains("is damaged") {
                troubles.push(format!(
                    "`{}` ended with {}: {}",
                    arguments.join(" "),
                    output.status,
                    words.trim()
                ));
            }
            Ok(output)
        };
        let found = String::from_utf8_lossy(&ask(&["list"])?.stdout).into_owned();
        let (begun, half) = self.begun_logs()?;
        for path in &begun {
            ask(&["show", &path.display().to_string(), "--color", "never"])?;
            // A log that is readable need not be read again after later kills.
            fs::remove_file(path)?;
        }
        ask(&["clean", &self.path("one"), &self.path("two")])?;
        // The next commands need a run in the store, because the logs were removed.
        self.whole("import")?;
        if names(&self.root.join("out"))?.iter().any(|name| !FILES.contains(&name.as_str())) {
            // The next call of a killed command removes its leftovers next to the output file.
            self.whole("report")?;
            self.whole("export")?;
        }
        troubles.extend(half.map(|name| format!("the store has half a compressed log: {name}")));
        if !begun.is_empty() && !found.starts_with(&format!("{} run", begun.len())) {
            troubles.push(format!("{} logs have a whole line, but `list` prints {found}", begun.len()));
        }
        let more: Vec<String> = names(&self.root.join("store"))?.difference(known).cloned().collect();
        if !more.is_empty() {
            troubles.push(format!("the store has leftovers: {more:?}"));
        }
        self.check_files(&mut troubles)?;
        Ok(troubles)
    }

    /// The logs with a whole line; one without holds nothing yet. And a compressed log that is not complete, which was
    /// removed. Of a log that the kill left in both forms, only the compressed one remains.
    fn begun_logs(&self) -> io::Result<(Vec<PathBuf>, Option<String>)> {
        let runs = self.root.join("store/runs");
        let mut logs = names(&runs)?;
        let half = logs.extract_if(.., |name| name.starts_with('.')).next();
        if let Some(half) = &half {
            fs::remove_file(runs.join(half))?;
        }
        let doubled: Vec<String> =
            logs.iter().filter_map(|name| logs.get(name.strip_suffix(".gz")?)).cloned().collect();
        for name in &doubled {
            logs.remove(name);
            fs::remove_file(runs.join(name))?;
        }
        let has_begun = |path: &PathBuf| {
            let mut line = String::new();
            let text = fs::File::open(path).and_then(record::decompressed);
            text.and_then(|mut text| text.read_line(&mut line)).is_ok() && line.ends_with('\n')
        };
        Ok((logs.iter().map(|log| runs.join(log)).filter(has_begun).collect(), half))
    }

    /// Checks that output files are complete and that no leftovers are next to them or on the targets.
    fn check_files(&self, troubles: &mut Vec<String>) -> io::Result<()> {
        for directory in ["one", "two"] {
            let left = names(&self.root.join(directory))?;
            if !left.is_empty() {
                troubles.push(format!("{directory} has leftovers after `clean`: {left:?}"));
                // Each fault counts only once.
                fs::remove_dir_all(self.root.join(directory))?;
                fs::create_dir(self.root.join(directory))?;
            }
        }
        for (directory, known) in [("out", &FILES[..]), ("store/reports", &[])] {
            for name in names(&self.root.join(directory))? {
                let path = self.root.join(directory).join(&name);
                let is_page = name.ends_with(".html");
                if !known.contains(&name.as_str()) && (!known.is_empty() || !is_page) {
                    troubles.push(format!("{directory} has a leftover: {name}"));
                    fs::remove_file(&path)?;
                    continue;
                }
                let end = if is_page { "</html>" } else { "}" };
                if !fs::read_to_string(&path)?.trim_end().ends_with(end) {
                    troubles.push(format!("{directory}/{name} is cut off"));
                    fs::remove_file(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the store, so that the next batch begins with a new one.
    fn remove_store(&self) -> io::Result<()> {
        fs::remove_dir_all(self.root.join("store"))
    }
}

/// Sorted names in a directory; empty if the directory does not exist.
fn names(directory: &Path) -> io::Result<BTreeSet<String>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        entries => entries?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect(),
    }
}

/// True while a process of this process group is alive and not a zombie. The tools that a killed program had started
/// end on their own.
fn group_lives(group: u32) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.into_iter().any(|stat| {
        // After the command's closing bracket: state, parent, process group (proc(5)).
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
        fields.first().is_some_and(|state| *state != "Z")
            && fields.get(2) == Some(&group.to_string().as_str())
    })
}
