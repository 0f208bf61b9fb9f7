//! What a number of attempts came to.

use std::collections::BTreeMap;
use std::fmt;

/// How many failures are kept with their description.
const KEPT: usize = 10;

/// What a number of attempts came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Attempts made.
    pub attempts: u64,
    /// How many attempts ended in each permitted way, such as "refused".
    pub counts: BTreeMap<&'static str, u64>,
    /// Descriptions of the first attempts that ended in a way that must not be, each with what it takes to repeat it.
    pub failures: Vec<String>,
    /// Attempts that ended in a way that must not be.
    pub failed: u64,
}

impl Outcome {
    /// Counts one attempt that ended in a permitted way.
    pub fn count(&mut self, how: &'static str) {
        self.attempts += 1;
        *self.counts.entry(how).or_default() += 1;
    }

    /// Counts one attempt that ended in a way that must not be.
    pub fn fail(&mut self, description: String) {
        self.attempts += 1;
        self.failed += 1;
        if self.failures.len() < KEPT {
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
