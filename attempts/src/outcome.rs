//! The outcome of a number of attempts.

use std::collections::BTreeMap;
use std::fmt;

/// Most failures stored with their description.
const MAX_DESCRIBED: usize = 10;

/// The outcome of one attempt: a permitted one, such as "refused", or what is wrong.
pub type Verdict = Result<&'static str, String>;

/// The outcome of a number of attempts.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Attempts made.
    pub attempts: u64,
    /// Number of attempts for each permitted outcome, such as "refused".
    pub counts: BTreeMap<&'static str, u64>,
    /// Descriptions of the first failed attempts, each with the seed and number to repeat it.
    pub failures: Vec<String>,
    /// Number of failed attempts.
    pub failed: u64,
}

impl Outcome {
    /// Counts one attempt with a permitted outcome.
    pub fn count(&mut self, how: &'static str) {
        self.attempts += 1;
        *self.counts.entry(how).or_default() += 1;
    }

    /// Counts one failed attempt.
    pub fn fail(&mut self, description: String) {
        self.attempts += 1;
        self.failed += 1;
        if self.failures.len() < MAX_DESCRIBED {
            self.failures.push(description);
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempts", self.attempts)?;
        for (how, count) in &self.counts {
            write!(f, ", {count} {how}")?;
        }
        write!(f, ", {} failed", self.failed)?;
        self.failures.iter().try_for_each(|failure| write!(f, "\n  {failure}"))
    }
}
