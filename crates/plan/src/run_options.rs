//! The options of a whole run, and what holds where the user sets none: one table, from which flags, their help and the
//! parsing of their values derive. [`crate::OPTIONS`] is the table for the workloads.

use std::time::Duration;

use model::units::{ShortDuration, parse_duration_ns};

use crate::overrides::{RunOverrides, Telemetry};
use crate::problem::{Problem, SourceLocation};
use crate::values::parts_per_million;

pub use model::DEFAULT_MARGIN_PPM;

/// The target of a run that names none.
pub const DEFAULT_TARGET: &str = ".";
/// The suite of a run that names none.
pub const DEFAULT_SUITE: &str = "quick";
/// How repeats are summarised in one figure.
pub const DEFAULT_SUMMARY: &str = "mean";
/// A confidence interval of ± 2 % is precise enough, in parts per million.
pub const DEFAULT_PRECISION_PPM: u32 = 20_000;
/// Nanoseconds per target for a run with rounds `auto`.
pub const DEFAULT_BUDGET_NS: u64 = 90_000_000_000;
/// How often telemetry is read.
pub const DEFAULT_TELEMETRY: Telemetry = Telemetry::Every(Duration::from_secs(1));
/// The longest wait for quiet devices before the first round.
pub const DEFAULT_SETTLE: Duration = Duration::from_secs(5);

/// The shortest telemetry period: in less, the kernel's counters of CPU time hardly change.
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);

/// One option of a whole run.
#[derive(Debug)]
pub struct RunOptionSpec {
    /// The flag, without its dashes.
    pub flag: &'static str,
    /// Placeholder for the value in a usage line.
    pub value: &'static str,
    /// One-line help text.
    pub help: &'static str,
    /// What holds without the flag; `None` if nothing else does.
    pub default: Option<fn() -> String>,
    /// Allowed values.
    pub allowed: &'static str,
    /// Parses a value into the overrides.
    set: fn(&mut RunOverrides, &str) -> Result<(), String>,
}

/// All options of a whole run, in the order of the help.
pub static RUN_OPTIONS: &[RunOptionSpec] = &[
    RunOptionSpec {
        flag: "rounds",
        value: "N|auto",
        help: "Number of repeats of each step, or auto: repeat until every comparison is decided or precise enough, within \
               the budget",
        default: Some(|| "the suite's, else auto".to_owned()),
        allowed: "a whole number from 1, or auto",
        set: |overrides, text| {
            overrides.rounds_auto = text == "auto";
            if !overrides.rounds_auto {
                let rounds = text.parse().ok().filter(|n| *n > 0);
                overrides.rounds = Some(rounds.ok_or_else(|| format!("`{text}` is not a number of rounds"))?);
            }
            Ok(())
        },
    },
    RunOptionSpec {
        flag: "precision",
        value: "PERCENT",
        help: "With rounds auto: half-width of a confidence interval that is precise enough",
        default: Some(|| percent(DEFAULT_PRECISION_PPM)),
        allowed: "a percentage from 0.01% to 100%, such as 2%",
        set: |overrides, text| share(text).map(|ppm| overrides.precision_ppm = Some(ppm)),
    },
    RunOptionSpec {
        flag: "margin",
        value: "PERCENT",
        help: "Targets that differ by less than this count as the same",
        default: Some(|| percent(DEFAULT_MARGIN_PPM)),
        allowed: "a percentage from 0.01% to 100%, such as 2%",
        set: |overrides, text| share(text).map(|ppm| overrides.margin_ppm = Some(ppm)),
    },
    RunOptionSpec {
        flag: "decide",
        value: "PERCENT",
        help: "Ask for verdicts at this margin: the same as --rounds auto --margin PERCENT; after a few rounds the run tells \
               how long it will take",
        default: None,
        allowed: "a percentage from 0.01% to 100%, such as 5%",
        set: |overrides, text| {
            if overrides.rounds.is_some() || overrides.margin_ppm.is_some() {
                return Err(
                    "it stands for --rounds auto and --margin, and one of them is given too".to_owned()
                );
            }
            overrides.rounds_auto = true;
            share(text).map(|ppm| overrides.margin_ppm = Some(ppm))
        },
    },
    RunOptionSpec {
        flag: "budget",
        value: "TIME",
        help: "Time for the whole run, including the layout of the test files",
        default: Some(|| format!("the suite's, else {} for each target", time(DEFAULT_BUDGET_NS))),
        allowed: "a duration such as 90s, 10m or 2h",
        set: |overrides, text| match parse_duration_ns(text).map_err(|e| e.to_string())? {
            0 => Err("a budget of 0 leaves no time to measure".to_owned()),
            ns => {
                overrides.budget_ns = Some(ns);
                Ok(())
            }
        },
    },
    RunOptionSpec {
        flag: "scale",
        value: "FACTOR",
        help: "Multiply the times of all steps by this factor, such as 0.05",
        default: None,
        allowed: "a number from 0.0001 to 10000, such as 0.05",
        set: |overrides, text| {
            overrides.scale = text.parse().ok().filter(|factor| (1e-4..=1e4).contains(factor));
            overrides.scale.map(|_| ()).ok_or_else(|| format!("`{text}` is not a factor"))
        },
    },
    RunOptionSpec {
        flag: "telemetry",
        value: "TIME|off",
        help: "Period of the telemetry readings (processors, devices, temperatures, other processes): a time from 100ms, or \
               off",
        default: Some(|| DEFAULT_TELEMETRY.period().map_or("off".to_owned(), |p| time(p.as_nanos() as u64))),
        allowed: "a time from 100ms to 1h, such as 1s, or off",
        set: |overrides, text| telemetry(text).map(|telemetry| overrides.telemetry = Some(telemetry)),
    },
    RunOptionSpec {
        flag: "settle",
        value: "TIME",
        help: "Longest wait before the first round for devices that are busy with other I/O; at most a tenth of the expected \
               time of the run",
        default: Some(|| time(DEFAULT_SETTLE.as_nanos() as u64)),
        allowed: "a duration such as 30s, or 0s not to wait",
        set: |overrides, text| {
            let ns = parse_duration_ns(text).map_err(|e| e.to_string())?;
            overrides.settle = Some(Duration::from_nanos(ns));
            Ok(())
        },
    },
];

impl RunOptionSpec {
    /// The help text with the default.
    pub fn help_with_default(&self) -> String {
        match self.default {
            Some(default) => format!("{} [default: {}]", self.help, default()),
            None => self.help.to_owned(),
        }
    }

    /// Parses the flag's value into the overrides.
    ///
    /// # Errors
    /// The value is not allowed.
    pub fn set(&self, overrides: &mut RunOverrides, text: &str) -> Result<(), Problem> {
        (self.set)(overrides, text).map_err(|message| {
            Problem::error(SourceLocation::Flag(self.flag.to_owned()), message).help(self.allowed)
        })
    }
}

/// The option of a run with this flag.
pub fn run_option(flag: &str) -> Option<&'static RunOptionSpec> {
    RUN_OPTIONS.iter().find(|option| option.flag == flag)
}

fn share(text: &str) -> Result<u32, String> {
    parts_per_million(text).ok_or_else(|| format!("`{text}` is not a valid share"))
}

fn telemetry(text: &str) -> Result<Telemetry, String> {
    if text == "off" {
        return Ok(Telemetry::Off);
    }
    let period = parse_duration_ns(text).ok().map(Duration::from_nanos);
    let period = period.filter(|period| (SHORTEST_PERIOD..=LONGEST_PERIOD).contains(period));
    period.map(Telemetry::Every).ok_or_else(|| format!("`{text}` is not a valid period"))
}

/// A share in parts per million, as a user writes it.
fn percent(ppm: u32) -> String {
    format!("{}%", f64::from(ppm) / 1e4)
}

/// A duration, as a user writes it.
fn time(ns: u64) -> String {
    ShortDuration(ns).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(flag: &str, text: &str) -> Result<RunOverrides, Problem> {
        let mut overrides = RunOverrides::default();
        run_option(flag).unwrap().set(&mut overrides, text).map(|()| overrides)
    }

    #[test]
    fn the_help_shows_defaults_as_users_write_them() {
        let default = |flag: &str| run_option(flag).unwrap().default.unwrap()();
        assert_eq!(default("budget"), "the suite's, else 90s for each target");
        assert_eq!(
            set("precision", &default("precision")).unwrap().precision_ppm,
            Some(DEFAULT_PRECISION_PPM)
        );
        assert_eq!(set("margin", &default("margin")).unwrap().margin_ppm, Some(DEFAULT_MARGIN_PPM));
        assert_eq!(set("telemetry", &default("telemetry")).unwrap().telemetry, Some(DEFAULT_TELEMETRY));
        assert_eq!(set("settle", &default("settle")).unwrap().settle, Some(DEFAULT_SETTLE));
    }

    #[test]
    fn options_accept_their_limits_and_refuse_values_beyond() {
        for (flag, allowed, refused) in [
            ("rounds", &["1", "auto"][..], &["0", "-1", "some"][..]),
            ("precision", &["0.01%", "2 %", "100"], &["0", "100.1%", "much"]),
            ("margin", &["0.01%", "100%"], &["0.001%", "101%"]),
            ("decide", &["0.01%", "5 %"], &["0", "101%"]),
            ("budget", &["1s", "2h"], &["0", "long"]),
            ("scale", &["0.0001", "10000"], &["0", "10001", "half"]),
            ("telemetry", &["100ms", "1h", "off"], &["99ms", "2h", "never"]),
            ("settle", &["0s", "1h"], &["-1s", "long"]),
        ] {
            for text in allowed {
                assert!(set(flag, text).is_ok(), "--{flag} {text}");
            }
            for text in refused {
                let problem = set(flag, text).unwrap_err();
                assert_eq!(problem.location, SourceLocation::Flag(flag.to_owned()));
                assert!(problem.help.is_some(), "--{flag} {text}");
            }
        }
    }
}
