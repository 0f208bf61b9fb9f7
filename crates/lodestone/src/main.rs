//! `lodestone`: which of these disks, filesystems, encryptions or machines is faster, by how much, and
//! is the difference real?

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use host::Roots;
use lodestone::cli::{Cli, Command};
use lodestone::failure::Failure;
use lodestone::{commands, interrupt, output};

/// Stack size of the working thread. The main thread's is set by `ulimit -s`, which may be far too small.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let work = std::thread::Builder::new().name("lodestone".into()).stack_size(STACK_BYTES).spawn(work);
    let ended = match work {
        Ok(work) => work.join(),
        Err(error) => {
            let why = format!(
                "cannot start a thread: {error}; check the limits on processes and memory with `ulimit -a`"
            );
            return output::fail(&Failure::failed(why).because(&error), true);
        }
    };
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn work() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(error) = interrupt::survive_file_size_limit() {
        let failure = Failure::failed(format!("cannot handle the signal SIGXFSZ: {error}")).because(&error);
        return output::fail(&failure, cli.verbose);
    }
    host::raise_limits();
    if host::trusts_the_counter(&Roots::default()) {
        engine::read_the_counter();
    }
    let result = match &cli.command {
        Command::Run(args) => commands::run::run(&cli, args),
        Command::Watch(args) => commands::timers::watch_by(&cli, args),
        Command::Targets(args) => commands::targets::targets(&cli, args),
        Command::Suites(args) => commands::suites::suites(args),
        Command::Profiles(args) => commands::suites::profiles(args),
        Command::List(args) => commands::results::list(&cli, args),
        Command::Show(args) => commands::results::show(&cli, args),
        Command::Compare(args) => commands::compare::compare(&cli, args),
        Command::History(args) => commands::history::history(&cli, args),
        Command::Site(args) => commands::site::site(&cli, args),
        Command::Export(args) => commands::export::export(&cli, args),
        Command::Import(args) => commands::import::import(&cli, args),
        Command::Push(args) => commands::push::push(&cli, args),
        Command::Pull(args) => commands::pull::pull(&cli, args),
        Command::Agent => commands::agent::agent(),
        Command::Crosscheck(args) => commands::crosscheck::crosscheck(&cli, args),
        Command::Report(args) => commands::report::report(&cli, args),
        Command::Clean(args) => commands::clean::clean(&cli, args),
        Command::Stack(args) => commands::stack::stack(&args.what),
        Command::Selftest(args) if args.install => commands::lacks::lacks(&cli),
        Command::Selftest(_) => commands::selftest::selftest(&cli),
        Command::Rm(args) => commands::remove::remove(&cli, args),
        Command::Completions(args) => commands::generated::completions(args.shell),
        Command::Man => commands::generated::man(),
        Command::Schema(args) => commands::generated::schema(args.of),
    };
    match result {
        Ok(code) => code,
        Err(failure) => output::fail(&failure, cli.verbose),
    }
}

/// `--version --verbose` in either order; all else is the parser's.
fn usage(error: &clap::Error) -> ExitCode {
    let is_asked = |word: std::ffi::OsString| word == "--verbose" || word == "-v";
    if error.kind() == ErrorKind::DisplayVersion && std::env::args_os().skip(1).any(is_asked) {
        return match output::print(commands::lacks::version()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => output::fail(&failure, true),
        };
    }
    output::usage(error)
}
