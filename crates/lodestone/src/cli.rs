//! The command line. Parsing touches nothing outside the arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Parser, Subcommand, ValueEnum};
use plan::RunOptionSpec;

use crate::failure::exit_codes_help;

mod history;
mod machines;
mod push;
mod require;
mod schema;
mod site;
mod stack;
mod watch;

pub use history::{HistoryArgs, HistoryForm};
pub use machines::{MachineArgs, ReachArgs};
pub use push::{PullArgs, PushArgs, RunPushArgs};
pub use require::{ProfilesArgs, ProfilesCommand, RequireArgs};
pub use schema::{SchemaArgs, SchemaOf};
pub use site::SiteArgs;
pub use stack::{Making, PreconditionWord, StackArgs, StackCommand};
pub use watch::{InstallArgs, WATCH_FLAGS, WatchArgs, WatchCommand, WatchedArgs};

/// A storage benchmark for Linux that answers with evidence: which of these disks, filesystems or
/// machines is faster, by how much, and is the difference real?
#[derive(Debug, Parser)]
#[command(name = "lodestone", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = exit_codes_help())]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,

    /// Directory in which runs are stored [default: $XDG_DATA_HOME/lodestone, else
    /// ~/.local/share/lodestone]
    #[arg(long, hide_short_help = true, global = true, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Use every readable line of a damaged log, including those after the first damaged line (show, compare, export,
    /// report)
    #[arg(long, hide_short_help = true, global = true)]
    pub accept_damage: bool,

    /// When to use colours in tables and progress
    #[arg(long, hide_short_help = true, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub color: When,

    /// Unit prefixes for bytes: MB (10^6) or MiB (2^20)
    #[arg(long, global = true, value_enum, default_value_t = UnitWord::Si, value_name = "UNITS")]
    pub units: UnitWord,

    /// After an error, print the errors that caused it; with --version, what this program is built from
    #[arg(long, short, global = true)]
    pub verbose: bool,

    /// Do not show progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Unit prefixes for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitWord {
    /// 1 MB is 1,000,000 bytes.
    Si,
    /// 1 MiB is 1,048,576 bytes.
    Iec,
    /// Rates of imported results in the unit in which they were printed.
    AsPublished,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure one or more targets, interleaved, and compare them
    Run(Box<RunArgs>),
    /// Run again and again, and tell when something has changed
    Watch(Box<WatchArgs>),
    /// Show this machine's storage, down to the disks: everything that can be measured
    Targets(TargetsArgs),
    /// List the suites, show one, or explain the options that a suite may set
    Suites(SuitesArgs),
    /// List what storage can be required to be good enough for, or show one such profile
    Profiles(ProfilesArgs),
    /// List the stored runs
    List(ListArgs),
    /// Show the result of a run
    Show(ShowArgs),
    /// Compare runs, including runs of different machines
    Compare(CompareArgs),
    /// Tell what changed in the stored runs, when, and what changed of the machine at the same time
    History(HistoryArgs),
    /// Write a run, or a comparison of several, as an HTML page with charts for any browser
    Report(ReportArgs),
    /// Write pages of all runs, their machines and what changed, for any web server; only what is new is made
    Site(SiteArgs),
    /// Export a run as JSON, CSV, Markdown or one chart, or for InfluxDB or Prometheus
    Export(ExportArgs),
    /// Import the output of other storage benchmarks as a run
    Import(ImportArgs),
    /// Write runs to a PostgreSQL database
    Push(PushArgs),
    /// Read runs from a PostgreSQL database into the store
    Pull(PullArgs),
    /// Run the classic tools and Lodestone in turn on the same storage, and check whether their figures agree
    Crosscheck(CrosscheckArgs),
    /// Find and remove the leftovers of killed runs
    Clean(CleanArgs),
    /// Do on this machine what a run on another one orders; `run HOST:PATH` starts it by itself
    #[command(hide = true)]
    Agent,
    /// Show how storage stacks are made, which there are, and remove those of killed runs
    Stack(StackArgs),
    /// Measure the load generator itself: clock, timers and its highest rates on this machine
    Selftest(SelftestArgs),
    /// Remove stored runs: their logs and their pages
    Rm(RmArgs),
    /// Write a shell's completions to standard output
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write the manual page to standard output
    #[command(hide = true)]
    Man,
    /// Write the JSON Schema of an export to standard output
    Schema(SchemaArgs),
}

/// Arguments of `selftest`.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Instead say what is missing on this machine for which use, and how to get it
    #[arg(long)]
    pub install: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub struct RunArgs {
    /// Directories, files or block devices to measure, as PATH, HOST:PATH on another machine, or NAME= before either
    /// [default: the current directory]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<OsString>,

    /// Make storage stacks, measure them in turn, and remove them (root): where they are made, as image:SIZE for image files of
    /// this size each in the current directory, image:DIRECTORY:SIZE, or block devices by commas, which --overwrite must name too;
    /// HOST:GROUND is on another machine, which serves it to this one by iscsi, nvmet-tcp or nfs
    #[arg(long, value_name = "[HOST:]GROUND", requires = "stack", conflicts_with = "targets", help_heading = STACKS)]
    pub on: Option<String>,

    /// The stacks to make, by commas, each from its lowest layer to its filesystem: ext4, luks+btrfs, 'raid1(luks)+xfs',
    /// 'btrfs(compress=zstd:1)'; `lodestone stack kinds` lists what they can be made of
    #[arg(long, value_name = "STACK,STACK…", requires = "on", help_heading = STACKS)]
    pub stack: Option<String>,

    /// How they are made.
    #[command(flatten)]
    pub making: Making,

    /// Leave the stacks as they stand, until `lodestone stack destroy` removes them
    #[arg(long, hide_short_help = true, requires = "stack", help_heading = STACKS)]
    pub leave: bool,

    /// Suite to run.
    #[arg(long, short, value_name = "NAME|FILE,…", help = suite_help())]
    pub suite: Option<OsString>,

    /// Requirements.
    #[command(flatten)]
    pub require: RequireArgs,

    /// Run the jobs of a fio job file with Lodestone's own engines; without TARGET, the file names the targets.
    /// FILE may be - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    pub fio: Option<PathBuf>,

    /// Run only these steps of the suite; a name stands for the step with this id, or for all whose ids begin with it
    #[arg(long, alias = "step", alias = "steps", value_name = "STEP,STEP…", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Leave out these steps
    #[arg(long, value_name = "STEP,STEP…", value_delimiter = ',')]
    pub skip: Vec<String>,

    /// Run the steps with another program, as far as it can; Lodestone still controls rounds, order and data
    #[arg(long, hide_short_help = true, value_enum, value_name = "PROGRAM")]
    pub via: Option<ViaProgram>,

    /// Options of the whole run, from the planner's table.
    #[command(flatten)]
    pub run_options: RunOptions,

    /// How repeats are summarised in one figure
    #[arg(long, hide_short_help = true, value_enum, value_name = "RULE", default_value = plan::DEFAULT_SUMMARY)]
    pub summary: SummaryRule,

    /// Target that the others are compared with [default: the first]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Say something of all targets, such as encryption=luks, or of one, such as usb:encryption=luks: labels tell runs apart
    /// in tables, and what a label costs is computed
    #[arg(long = "label", hide_short_help = true, value_name = "[TARGET:]KEY=VALUE")]
    pub labels: Vec<String>,

    /// Allow a file or block device to be overwritten: repeat its path here, then name everything on it that would be
    /// destroyed, separated by commas. May be given several times. Write `\,` for a comma in a name, unless the whole
    /// value is an existing path
    #[arg(long, value_name = "PATH[,WHAT…]")]
    pub overwrite: Vec<String>,

    /// Other machines.
    #[command(flatten)]
    pub machines: MachineArgs,

    /// As root, also measure in a directory that another user owns, or that others can write to without a sticky bit
    #[arg(long, hide_short_help = true)]
    pub allow_unsafe_directory: bool,

    /// Seed of all random numbers, to repeat a run exactly
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub seed: Option<u32>,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Write only the result, as JSON, to standard output
    #[arg(long, conflicts_with = "dry_run")]
    pub json: bool,

    /// Show the tables of every step, the circumstances and all findings, not only the answer
    #[arg(long, alias = "all-findings")]
    pub details: bool,

    /// Pushing to a database.
    #[command(flatten)]
    pub push: RunPushArgs,

    /// Do not write the HTML report
    #[arg(long, hide_short_help = true)]
    pub no_report: bool,

    /// Options of the workload, from the planner's table.
    #[command(flatten)]
    pub options: WorkloadOptions,
}

const STACKS: &str = "Storage stacks that are made and removed";

const RUN_HELP: &str = "\
Examples:
  lodestone run                            the current directory's storage, in a minute and a half
  lodestone run /mnt/ssd /mnt/usb          two disks, interleaved, with verdicts
  lodestone run ssd=/mnt/a usb=/mnt/b --suite full --budget 1h
  lodestone run /mnt/ssd --rw randread --bs 4k --iodepth 1,8,64 --runtime 10s
  lodestone run /mnt/ssd --only rand-read,rand-write
  lodestone run /mnt/ssd --require etcd    good enough for etcd?
  lodestone run /mnt/ssd --fio job.fio     the jobs of a fio job file
  lodestone run /mnt/ssd --via fio         the same steps, run by fio itself
  lodestone run --on image:4G --stack ext4,xfs,btrfs    three filesystems, made, compared and removed (root)
  lodestone run pi1:/mnt/ssd pi2:/mnt/sd /home    three machines, the others by ssh
  lodestone run --together --clients 1,2,4 -i nodes -l all:/mnt/nfs    how a shared storage scales
  lodestone run -i hosts.yml -l cloud-a:/data -l cloud-b:/data    two groups of an inventory
  lodestone run /dev/sdb                   reads only
  lodestone run /dev/sdb --overwrite /dev/sdb    also writes: destroys what is on it";

fn suite_help() -> String {
    format!(
        "Suite to run: the name of a built-in suite, a TOML file, or - for standard input; several, separated by commas, run \
         as one [default: {}; with --rw: the one workload that the options describe]",
        plan::DEFAULT_SUITE
    )
}

/// The options that `run -h` shows; `--help` shows all.
const USUAL: [&str; 11] =
    ["rounds", "budget", "margin", "rw", "rwmixread", "bs", "iodepth", "jobs", "size", "runtime", "engine"];

/// What other programs call an option.
fn aliases(name: &str) -> &'static [&'static str] {
    match name {
        "rounds" => &["repeats"],
        "runtime" => &["time"],
        "jobs" => &["threads", "numjobs"],
        "engine" => &["ioengine"],
        _ => &[],
    }
}

/// fio's name for the share of writes; its complement is the option.
const SHARE_OF_WRITES: &str = "rwmixwrite";

const WORKLOAD: &str = "Workload options, which override the suite";

/// The options of a whole run as given on the command line, with their values, in the order of the planner's table.
#[derive(Debug, Default)]
pub struct RunOptions(pub Vec<(&'static RunOptionSpec, String)>);

impl Args for RunOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        plan::RUN_OPTIONS.iter().fold(command, |command, option| {
            let arg = Arg::new(option.flag).short((option.flag == "rounds").then_some('n'));
            command.arg(
                arg.long(option.flag)
                    .visible_aliases(aliases(option.flag))
                    .hide_short_help(!USUAL.contains(&option.flag))
                    .help_heading("Rounds, time and verdicts")
                    .value_name(option.value)
                    .help(option.help_with_default())
                    .allow_hyphen_values(true),
            )
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for RunOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = plan::RUN_OPTIONS
            .iter()
            .filter_map(|option| matches.get_one::<String>(option.flag).map(|text| (option, text.clone())));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = <Self as clap::FromArgMatches>::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The options of a workload as given on the command line: keys of the planner's table with their
/// values, in the order of the table.
#[derive(Debug, Default)]
pub struct WorkloadOptions(pub Vec<(&'static str, String)>);

impl Args for WorkloadOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        let command = plan::OPTIONS.iter().fold(command, |command, option| {
            let help = format!("{} [suite default: {}]", option.help, option.default);
            let long_help = format!(
                "{}\n\nAllowed: {}.\nSuite default: {}.",
                option.help, option.allowed, option.default
            );
            command.arg(
                Arg::new(option.key)
                    .long(option.flag())
                    .visible_aliases(aliases(option.key))
                    .hide_short_help(!USUAL.contains(&option.key))
                    .value_name(option.value)
                    .help(help)
                    .long_help(long_help)
                    .help_heading(WORKLOAD)
                    .allow_hyphen_values(true),
            )
        });
        command.arg(
            Arg::new(SHARE_OF_WRITES)
                .long(SHARE_OF_WRITES)
                .value_name("PERCENT")
                .value_parser(clap::value_parser!(u8).range(0..=100))
                .help("Share of writes in a mix: 100 less --rwmixread")
                .help_heading(WORKLOAD)
                .hide_short_help(true)
                .conflicts_with("rwmixread"),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for WorkloadOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = plan::OPTIONS.iter().filter_map(|option| {
            matches.get_one::<String>(option.key).map(|text| (option.key, text.clone()))
        });
        let writes = matches.get_one::<u8>(SHARE_OF_WRITES);
        let reads = writes.map(|percent| ("rwmixread", (100 - percent).to_string()));
        Ok(Self(given.chain(reads).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = <Self as clap::FromArgMatches>::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A program that can run steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViaProgram {
    /// The installed fio.
    Fio,
}

/// Arguments of `crosscheck`.
#[derive(Debug, Args)]
#[command(after_long_help = CROSSCHECK_HELP)]
pub struct CrosscheckArgs {
    /// Directory, file or block device to measure on; a file or device is only read [default: the current directory]
    #[arg(value_name = "TARGET")]
    pub target: Option<OsString>,

    /// Tools to compare with.
    #[arg(long, value_name = "TOOL,TOOL…", value_delimiter = ',', help = with_help())]
    pub with: Vec<String>,

    /// Run only these checks, such as fio-randread-d16 or dd-write-fsync, or only these steps of a check, such as bonnie-seeks
    #[arg(long, value_name = "CHECK,CHECK…", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Number of repeats of each check, by the tool and by Lodestone [default: until its rates are decided, or the budget ends]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,

    /// How long to go on at most [default: 30m, without --rounds]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,

    /// Size of the test data of each check
    #[arg(long, value_name = "SIZE", default_value = plan::checks::DEFAULT_SIZE)]
    pub size: String,

    /// Runtime of one repeat, for checks that end by time
    #[arg(long, value_name = "TIME", default_value = plan::checks::DEFAULT_RUNTIME)]
    pub runtime: String,

    /// As root, also measure in a directory that another user owns, or that others can write to without a sticky bit
    #[arg(long)]
    pub allow_unsafe_directory: bool,

    /// Seed of Lodestone's random numbers and of the order
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,

    /// Output format
    #[arg(long, short, value_enum, default_value_t = CrosscheckForm::Text)]
    pub format: CrosscheckForm,

    /// Show a stored crosscheck instead of running one
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "with", "only", "seed", "rounds", "budget"])]
    pub show: Option<OsString>,
}

const CROSSCHECK_HELP: &str = "\
Each tool works on Lodestone's own file where it supports that, else in a private directory that is removed.
A tool that is not installed is reported with its Debian package, and the others run. Tools are found through PATH.

Examples:
  lodestone crosscheck                                 all tools, in the current directory
  lodestone crosscheck /mnt/ssd --with fio,dd --rounds 10
  lodestone crosscheck --show last --format md
";

/// The output format of a crosscheck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CrosscheckForm {
    /// Tables for the terminal.
    Text,
    /// Tables in Markdown.
    Md,
    /// Every figure, in the published schema.
    Json,
}

/// Arguments of `targets`.
#[derive(Debug, Args)]
pub struct TargetsArgs {
    /// Directories, files or block devices to show [default: all storage of this machine]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Also show storage that is rarely measured: empty devices, images, and what programs mounted for themselves
    #[arg(long, conflicts_with = "paths")]
    pub all: bool,

    /// Show only the health of the disks, the worst first: SMART and NVMe wear, temperature, errors and hours, and whether
    /// arrays are complete
    #[arg(long)]
    pub health: bool,

    /// Show what is behind the paths, such as which volume of which cloud, with the evidence: what the firmware and the disks
    /// say of themselves, and latency, limits and burst credit from stored runs
    #[arg(long, requires = "paths", conflicts_with_all = ["health", "all"])]
    pub explain: bool,

    /// Print JSON, with the health
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `suites`.
#[derive(Debug, Args)]
pub struct SuitesArgs {
    /// What to show [default: a list of the suites]
    #[command(subcommand)]
    pub command: Option<SuitesCommand>,
}

/// What to show about suites.
#[derive(Debug, Subcommand)]
pub enum SuitesCommand {
    /// List the suites
    List,
    /// Print the text of a suite, as a starting point for your own
    Show {
        /// Name of the suite
        name: String,
    },
    /// List every option that a suite may set, with its meaning, default and allowed values
    Options,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show only the last N of the runs
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Only runs of this machine
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only runs of this suite
    #[arg(long, short, value_name = "NAME")]
    pub suite: Option<String>,

    /// Only runs that began on this day or later (2026-11-24), or within this time (7d, 12h)
    #[arg(long, value_name = "DATE|TIME")]
    pub since: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Runs: ids or prefixes of ids, last, or last~1 for the one before
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,

    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run: its id or a prefix of it, last, last~1 for the one before, or a log file; with --layout also several
    #[arg(default_value = "last", value_name = "RUN")]
    pub runs: Vec<OsString>,

    /// Show the telemetry of each step instead of the result
    #[arg(long, conflicts_with_all = ["baseline", "summary", "layout"])]
    pub telemetry: bool,

    /// Show the tables of every step, the circumstances and all findings, not only the answer
    #[arg(long, alias = "all-findings")]
    pub details: bool,

    /// Compare every target with every other, not only with the baseline
    #[arg(long, conflicts_with_all = ["baseline", "details", "layout", "telemetry"])]
    pub pairs: bool,

    /// Show the result as JSON, as `export` does
    #[arg(long, conflicts_with_all = ["details", "layout", "pairs", "telemetry"])]
    pub json: bool,

    /// How repeats are summarised in one figure
    #[arg(long, value_enum, value_name = "RULE", default_value = plan::DEFAULT_SUMMARY)]
    pub summary: SummaryRule,

    /// Target that the others are compared with [default: as in the run]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Layout of the figures.
    #[command(flatten)]
    pub layout: LayoutArgs,
}

/// Layout of the figures.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    /// Layout of the figures
    #[arg(long, value_enum, value_name = "LAYOUT", default_value_t = LayoutWord::Steps)]
    pub layout: LayoutWord,

    /// With --layout matrix and scores: labels of the rows (step, target, run, host, operation, bs, iodepth, jobs, rw,
    /// direct, tool, filesystem, device, and those of imported files) [default: step; with scores, target]
    #[arg(long, value_name = "LABEL,LABEL…", value_delimiter = ',', requires = "layout")]
    pub rows: Vec<String>,

    /// With --layout matrix: labels of the columns [default: target; of several runs also host, or run]
    #[arg(long, value_name = "LABEL,LABEL…", value_delimiter = ',', requires = "layout")]
    pub columns: Vec<String>,

    /// With --layout matrix and scores: headline, or operations separated by slashes, each followed by a colon and a
    /// metric unless that is bandwidth, such as write/read or read:lat_p99
    #[arg(long, value_name = "CELL", default_value = "headline", requires = "layout")]
    pub cell: String,
}

/// A layout of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayoutWord {
    /// A table for each step, with findings.
    Steps,
    /// One table with labels as rows and columns.
    Matrix,
    /// One table with a row for each target, a column for each figure, the score last.
    Scores,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs: ids or prefixes of ids, last, last~1, or log files
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<OsString>,

    /// Targets that differ by less than this count as the same [default: as in the first run]
    #[arg(long, value_name = "PERCENT", conflicts_with = "layout")]
    pub margin: Option<String>,

    /// Baseline of the comparison, as RUN:TARGET [default: the first target of the first run]
    #[arg(long, value_name = "RUN:TARGET", conflicts_with = "layout")]
    pub baseline: Option<String>,

    /// Show the tables of every step, too, not only the answer
    #[arg(long, conflicts_with = "layout")]
    pub details: bool,

    /// Compare every target with every other, not only with the baseline
    #[arg(long, conflicts_with_all = ["baseline", "by_hour", "details", "layout"])]
    pub pairs: bool,

    /// Show only whether speed depends on the hour of the day, for three or more runs of one plan
    #[arg(long, conflicts_with = "layout")]
    pub by_hour: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "layout")]
    pub json: bool,

    /// Layout of the figures.
    #[command(flatten)]
    pub layout: LayoutArgs,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Runs: ids or prefixes of ids, last, last~1, or log files; several are compared
    #[arg(default_value = "last", value_name = "RUN")]
    pub runs: Vec<OsString>,

    /// HTML file to write, or - for standard output [default: a file in the store, named after the runs]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite FILE if it exists; a report written by Lodestone is overwritten without this flag
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store),
    /// omit the command line and all messages, and report what was replaced. The suite, step ids and titles remain
    #[arg(long)]
    pub anonymous: bool,

    /// How repeats are summarised in one figure
    #[arg(long, value_enum, value_name = "RULE", default_value = plan::DEFAULT_SUMMARY)]
    pub summary: SummaryRule,

    /// With several runs: targets that differ by less than this count as the same [default: as in the first run]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<String>,

    /// Baseline of the comparison: a target's name; with several runs, RUN:TARGET [default: as in the first run]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run: its id or a prefix of it, last, last~1 for the one before, or a log file
    #[arg(default_value = "last", value_name = "RUN")]
    pub run: OsString,

    /// Output format
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    pub format: Format,

    /// With --format svg and png: the chart, such as bars, timeline or latency-1 [default: the first]
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,

    /// Width of a chart; below 784, its parts are stacked [default: 964]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u16).range(320..=2400))]
    pub width: Option<u16>,

    /// With --format png: pixels of the file per pixel of --width, 0.25 to 8 [default: 2]
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    pub scale: Option<f64>,

    /// With --format png: light on black. An SVG follows the viewer's colour scheme
    #[arg(long)]
    pub dark: bool,

    /// Export the telemetry of each step instead of the result
    #[arg(long, conflicts_with_all = ["baseline", "summary", "layout"])]
    pub telemetry: bool,

    /// Export offset, size and latency of each operation instead of the result, as CSV, for runs that log them
    #[arg(long, conflicts_with_all = ["baseline", "telemetry", "summary", "layout"])]
    pub offsets: bool,

    /// How repeats are summarised in one figure
    #[arg(long, value_enum, value_name = "RULE", default_value = plan::DEFAULT_SUMMARY)]
    pub summary: SummaryRule,

    /// Target that the others are compared with [default: as in the run]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Layout of the figures.
    #[command(flatten)]
    pub layout: LayoutArgs,

    /// Replace the names of the host, targets, paths, servers and volumes with pseudonyms (constant within a store),
    /// omit the command line and all messages, and report what was replaced. The suite, step ids and titles remain
    #[arg(long)]
    pub anonymous: bool,

    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Names every tool of the checks.
fn with_help() -> String {
    let tools: Vec<&str> = plan::checks::TOOLS.iter().map(|tool| tool.word).collect();
    format!("Tools to compare with: {} [default: all]", tools.join(", "))
}

/// Parses `--scale` of a PNG.
fn scale(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.25..=8.0).contains(&factor) { Ok(factor) } else { Err("it is not between 0.25 and 8".to_owned()) }
}

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_long_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// Files and directories with outputs.
    #[arg(value_name = "PATH", required = true, help = paths_help())]
    pub paths: Vec<PathBuf>,

    /// Label of all results, such as host=node1
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,

    /// Labels of the directory levels below PATH, from the top down, such as device/machine; `-` for no label, `repeat` for
    /// repeats of one target [default: device, level2, level3, …, but parts such as run1 or 2024-05-01 are repeats]
    #[arg(long, value_name = "KEY/KEY…", allow_hyphen_values = true)]
    pub path_labels: Option<String>,

    /// Import files again that an earlier import contains: those with the same path and content
    #[arg(long)]
    pub again: bool,

    /// Show what would be imported, and store nothing
    #[arg(long, conflicts_with = "layout")]
    pub dry_run: bool,

    /// Show the tables of every step, the circumstances and all findings, not only the answer
    #[arg(long, conflicts_with_all = ["dry_run", "layout"])]
    pub details: bool,

    /// How repeats are summarised in one figure
    #[arg(long, value_enum, value_name = "RULE", default_value = plan::DEFAULT_SUMMARY)]
    pub summary: SummaryRule,

    /// Layout of the figures, if they are shown at once.
    #[command(flatten)]
    pub layout: LayoutArgs,
}

/// Names every importer.
fn paths_help() -> String {
    let tools = record::import::tools();
    let (last, others) = tools.split_last().expect("there are importers");
    format!(
        "Files with the output of {} or {last}, or directories of such files; - for standard input",
        others.join(", ")
    )
}

const IMPORT_HELP: &str = "\
Results with equal labels and equal work are repeats; different labels make different targets. A directory or the
start of a file's name that is a block size (4M) or names a filesystem (ext4Luks) becomes the label bs or filesystem.

Examples:
  lodestone import sysbench.txt
  lodestone import results/ --path-labels device/machine
  lodestone import results/ --layout matrix --rows device,bs --columns filesystem --cell write/read
  dd if=/dev/zero of=f bs=1M count=1024 conv=fsync 2>&1 | tee dd.txt; lodestone import dd.txt --label device=ssd

Limits: 32 MiB, 1,000,000 lines and an hour of reading per file; 100,000 entries and 64 levels of directories; 100,000
results per import. Only regular files are read. Files with the same content are repeats; the same file named twice
counts once. Implausible figures are left out: docs/imports.md lists the limits.";

/// How repeats are summarised in one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryRule {
    /// The mean, with Student's t interval.
    Mean,
    /// The median, with a bootstrap interval.
    Median,
    /// The mean without the best and the worst repeat.
    Trimmed,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Everything, in the published schema.
    Json,
    /// One row per repeat and metric.
    Csv,
    /// Tables and findings.
    Md,
    /// One chart as vector graphics.
    Svg,
    /// One chart in pixels.
    Png,
    /// One line of InfluxDB line protocol per repeat and metric, and per requirement.
    Influx,
    /// Estimates and verdicts as gauges in Prometheus' text format.
    Prometheus,
    /// What was required of the storage as JUnit XML, for build servers.
    Junit,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Directories to search, in addition to the current one and those that stored runs have measured
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,

    /// Only list the leftovers
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
