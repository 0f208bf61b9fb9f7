//! The commands, each in a module: resolve what the arguments name, act, print.

mod against;
pub mod agent;
mod anonymous;
#[cfg(feature = "postgres")]
mod changes;
pub mod clean;
pub mod compare;
mod copies;
pub mod crosscheck;
#[cfg(feature = "postgres")]
mod databases;
mod dry_run;
mod engines;
pub mod export;
mod fio;
pub mod generated;
pub mod history;
pub mod import;
pub mod lacks;
mod layouts;
mod machines;
mod pairs;
mod problems;
#[cfg(feature = "postgres")]
pub mod pull;
#[cfg(feature = "postgres")]
pub mod push;
#[cfg(feature = "postgres")]
mod pushed_rows;
pub mod remove;
pub mod report;
pub mod results;
pub mod run;
pub mod selftest;
pub mod site;
pub mod stack;
mod stack_server;
mod suite_source;
pub mod suites;
pub mod targets;
pub mod timers;
mod unsafe_directories;
mod verdict;
mod via;
mod watch;
#[cfg(not(feature = "postgres"))]
pub mod without_postgres;

#[cfg(not(feature = "postgres"))]
pub use self::{without_postgres as pull, without_postgres as push};

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::report::{RunView, Units, units_as_published};
use analyse::Estimator;
use model::Run;
use record::{OnDamage, Store};

use crate::cli::{Cli, SummaryRule, UnitWord};
use crate::failure::Failure;

/// The store of runs.
fn store(cli: &Cli) -> Result<Store, Failure> {
    Ok(with_damage(cli, Store::open(&store_directory(cli)?).map_err(Failure::failed)?))
}

/// The same store, with the treatment of damaged logs that the arguments ask for.
fn with_damage(cli: &Cli, store: Store) -> Store {
    store.with_damage(if cli.accept_damage { OnDamage::Accept } else { OnDamage::Stop })
}

fn store_directory(cli: &Cli) -> Result<PathBuf, Failure> {
    if let Some(directory) = &cli.store {
        return Ok(directory.clone());
    }
    default_store().ok_or_else(|| {
        Failure::usage(
            "cannot find a directory for the store: neither XDG_DATA_HOME nor HOME is set; use --store DIR",
        )
    })
}

fn default_store() -> Option<PathBuf> {
    user_directory("XDG_DATA_HOME", ".local/share")
}

/// The directory for this program that a variable names, or that a path below the home directory is.
fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    // The XDG Base Directory Specification: a relative path counts as unset.
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = set(variable).or_else(|| Some(set("HOME")?.join(below_home)));
    base.map(|base| base.join("lodestone"))
}

/// Labels of the form `KEY=VALUE`.
///
/// # Errors
/// One has another form.
fn given_labels(texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (key, value) =
            text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())?;
        Some((key.to_owned(), value.to_owned()))
    };
    texts
        .iter()
        .map(|text| {
            pair(text).ok_or_else(|| {
                Failure::usage(format!("--label {text}: write KEY=VALUE, such as --label device=ssd"))
            })
        })
        .collect()
}

/// The rule that the user chose for summarising repeats.
fn estimator(rule: SummaryRule) -> Estimator {
    match rule {
        SummaryRule::Mean => Estimator::Mean,
        SummaryRule::Median => Estimator::Median,
        SummaryRule::Trimmed => Estimator::Trimmed,
    }
}

/// The units in which the results of a run are shown.
fn units(cli: &Cli, run: Option<&Run>) -> Units {
    match cli.units {
        UnitWord::Si => Units::Decimal,
        UnitWord::Iec => Units::Binary,
        UnitWord::AsPublished => run.map_or(Units::Decimal, units_as_published),
    }
}

/// The view of a run's results with the given baseline.
fn view(cli: &Cli, run: Option<&Run>, baseline: &str) -> RunView {
    RunView {
        units: units(cli, run),
        baseline: baseline.to_owned(),
        time_zone: jiff::tz::TimeZone::system(),
        details: false,
    }
}
