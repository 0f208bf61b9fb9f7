//! What the user overrides in a run of a suite.

use std::time::Duration;

use model::units::{ExactSize, parse_size};

use crate::options::option;
use crate::parse::Setting;
use crate::problem::SourceLocation;
use crate::values::names_step;

/// What the user overrides or adds in a run of a suite.
#[derive(Clone, Debug, Default)]
pub struct RunOverrides {
    /// Options that override the suite's.
    pub settings: Vec<Setting>,
    /// Options with several values, each of which makes a step.
    pub sweeps: Vec<Vec<Setting>>,
    /// Steps to run; all if there are none. A name stands for the step with this id, or all whose ids begin with it and a dash.
    pub only: Vec<String>,
    /// Steps to leave out.
    pub skip: Vec<String>,
    /// A fixed number of rounds.
    pub rounds: Option<u32>,
    /// As many rounds as the budget allows, also where the suite fixes them.
    pub rounds_auto: bool,
    /// Nanoseconds for the whole run.
    pub budget_ns: Option<u64>,
    /// Factor for the times of all steps that are not overridden; their ramps too.
    pub scale: Option<f64>,
    /// Half the width of an interval that is precise enough, in parts per million of the figure.
    pub precision_ppm: Option<u32>,
    /// Largest difference between equivalent targets, in parts per million.
    pub margin_ppm: Option<u32>,
    /// How often telemetry is read.
    pub telemetry: Option<Telemetry>,
    /// The longest wait for quiet devices before the first round.
    pub settle: Option<Duration>,
}

/// How often telemetry is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// Never.
    Off,
    /// Once in this time.
    Every(Duration),
}

impl Telemetry {
    /// The time between two readings; `None` for never.
    pub fn period(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Every(period) => Some(period),
        }
    }
}

impl RunOverrides {
    /// Adds an override from a command-line flag, or a sweep if it has several values (`1,8,64` or `4k..1m`). `None` if there
    /// is no such option.
    pub fn set(&mut self, key: &str, text: &str) -> Option<()> {
        let option = option(key)?;
        let setting =
            |text: String| Setting { key: option.key, text, location: SourceLocation::Flag(option.flag()) };
        match several(option.key, text) {
            Some(values) => self.sweeps.push(values.into_iter().map(setting).collect()),
            None => self.settings.push(setting(text.to_owned())),
        }
        Some(())
    }

    /// True if a step with this id is to run.
    pub(crate) fn wants(&self, id: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| names_step(name, id));
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.skip)
    }
}

/// Options whose values may be a range of sizes or of numbers, and those that may also be a list: a comma has no other
/// meaning there.
const RANGES: [&str; 4] = ["bs", "iodepth", "jobs", "rwmixread"];
const LISTS: [&str; 3] = ["iodepth", "jobs", "rwmixread"];

/// The values of a list such as `1,8,64`, or of a range such as `4k..1m`, in which each is twice the one before. `None` for
/// a single value, and for a range that is none, whose text is then refused as a value.
fn several(key: &str, text: &str) -> Option<Vec<String>> {
    if let Some((from, to)) = text.split_once("..").filter(|_| RANGES.contains(&key)) {
        let [from, to] = [from, to].map(|end| parse_size(end.trim()).ok());
        let (from, to) = (from.filter(|from| *from > 0)?, to?);
        let doubled = std::iter::successors(Some(from), |value| value.checked_mul(2));
        let values: Vec<u64> = doubled.take_while(|value| *value <= to).collect();
        // The end is one of them, also if it is not a double.
        let end = values.last().filter(|last| **last < to).map(|_| to);
        let shown = |value: u64| {
            if key == "bs" { ExactSize(value).to_string().replace(' ', "") } else { value.to_string() }
        };
        return (!values.is_empty()).then(|| values.into_iter().chain(end).map(shown).collect());
    }
    let is_list = text.contains(',') && LISTS.contains(&key);
    is_list.then(|| text.split(',').map(|part| part.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_of_a_flag_are_sweeps() {
        let of = |key: &str, text: &str| several(key, text).map(|values| values.join(" "));
        assert_eq!(of("iodepth", "1,8, 64").as_deref(), Some("1 8 64"));
        assert_eq!(of("bs", "4k..32k").as_deref(), Some("4KiB 8KiB 16KiB 32KiB"));
        assert_eq!(of("jobs", "1..6").as_deref(), Some("1 2 4 6"), "the end is one of them");
        assert_eq!(of("bs", "4k,64k"), None, "reads and writes");
        assert_eq!(of("bs", "4k"), None);
        assert_eq!(of("iodepth", "8..1"), None, "refused as a value");
        assert_eq!(of("iodepth", "0..8"), None, "refused as a value");
        assert_eq!(of("data", "random,zeros"), None);
    }

    #[test]
    fn a_name_stands_for_a_step_or_a_group() {
        let wants = |only: &[&str], skip: &[&str], id: &str| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            RunOverrides { only: owned(only), skip: owned(skip), ..RunOverrides::default() }.wants(id)
        };
        assert!(wants(&[], &[], "seq-read") && wants(&["rand-read"], &[], "rand-read-d1"));
        assert!(!wants(&["rand"], &["rand-read-d1"], "rand-read-d1"));
        assert!(!wants(&["rand-re"], &[], "rand-read"), "a part of a word is no name");
    }
}
