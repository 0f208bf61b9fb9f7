//! The checksums of a log. Each line is a JSON object that ends with its number and a checksum:
//! `…,"seq":7,"sum":"0123456789abcdef"}`. The checksum is XXH3-64 over the line's bytes before `,"sum":`, seeded with
//! the checksum of the previous line (0 for the first line). The chain therefore detects a changed, missing, repeated
//! or moved line.
//!
//! The checksums guard against failing storage and careless editing. They are not signatures: anyone who changes a log
//! on purpose can recompute them.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use twox_hash::XxHash3_64;

const NUMBER_KEY: &[u8] = b",\"seq\":";
const SUM_KEY: &[u8] = b",\"sum\":\"";
const SUM_DIGITS: usize = 16;
const END: &[u8] = b"\"}";

/// One damaged line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub kind: DamageKind,
}

/// What is wrong with a line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// Its content does not match its checksum.
    Changed,
    /// It has no readable checksum.
    Unreadable,
    /// The compressed file cannot be read from here on.
    Compressed,
    /// Its checksum matches, but this version does not recognise the event.
    Unknown,
    /// Lines before it are missing or out of order.
    Missing {
        /// The number of the first such line.
        first: u64,
        /// The number of the last such line.
        last: u64,
    },
    /// It has the number of an earlier line: it is a copy of that line, exact or altered.
    Doubled {
        /// The earlier line's number.
        of: u64,
    },
    /// It belongs earlier in the log.
    OutOfOrder {
        /// The line's own number.
        number: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} ", self.line)?;
        match &self.kind {
            DamageKind::Compressed => {
                f.write_str("cannot be decompressed: the file was changed or cut off here")
            }
            DamageKind::Changed => f.write_str("does not match its checksum: it was changed"),
            DamageKind::Unreadable => f.write_str("cannot be read: it was changed"),
            DamageKind::Unknown => {
                f.write_str("is intact, but this version of Lodestone does not recognise its event")
            }
            DamageKind::Missing { first, last } if first == last => {
                write!(f, "is out of sequence: line {first} is missing or out of order")
            }
            DamageKind::Missing { first, last } => {
                write!(f, "is out of sequence: lines {first} to {last} are missing or out of order")
            }
            DamageKind::Doubled { of } => write!(f, "repeats line {of}"),
            DamageKind::OutOfOrder { number } => write!(f, "is out of order: it was line {number}"),
        }
    }
}

/// Number and checksum of the most recent line.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    number: u64,
    sum: u64,
}

impl Chain {
    /// Appends the number and checksum to the JSON object that starts at `from`, then ends the line.
    pub fn seal(&mut self, lines: &mut Vec<u8>, from: usize) {
        debug_assert_eq!(lines.last(), Some(&b'}'), "an event is an object");
        lines.pop();
        self.number += 1;
        lines.extend_from_slice(NUMBER_KEY);
        let _ = write!(lines, "{}", self.number);
        self.sum = XxHash3_64::oneshot_with_seed(self.sum, &lines[from..]);
        lines.extend_from_slice(SUM_KEY);
        let _ = write!(lines, "{:016x}", self.sum);
        lines.extend_from_slice(END);
        lines.push(b'\n');
    }
}

/// Number and checksum read from a line.
struct Seal<'a> {
    number: u64,
    sum: u64,
    /// The bytes that the checksum covers.
    covered: &'a [u8],
}

impl<'a> Seal<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line).strip_suffix(END)?;
        let (line, digits) = line.split_at_checked(line.len().checked_sub(SUM_DIGITS)?)?;
        let covered = line.strip_suffix(SUM_KEY)?;
        let sum = hexadecimal(digits)?;
        let at = covered.windows(NUMBER_KEY.len()).rposition(|window| window == NUMBER_KEY)?;
        let number = str::from_utf8(&covered[at + NUMBER_KEY.len()..]).ok()?.parse().ok()?;
        Some(Self { number, sum, covered })
    }
}

/// Parses lower-case hexadecimal digits, the only form that the writer produces.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let is_written = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let text = digits.iter().all(is_written).then_some(digits)?;
    u64::from_str_radix(str::from_utf8(text).ok()?, 16).ok()
}

/// Checks the lines of a log in sequence.
#[derive(Debug, Default)]
pub(crate) struct ChainChecker {
    chain: Chain,
    /// Numbers of all lines read so far.
    numbers: BTreeSet<u64>,
    /// The checksum of the previous line is unknown, because that line has none.
    is_blind: bool,
}

impl ChainChecker {
    /// Checks the next line, including its line feed.
    ///
    /// # Errors
    /// The kind of damage.
    pub fn check(&mut self, line: &[u8]) -> Result<(), DamageKind> {
        let Some(seal) = Seal::of(line) else {
            self.is_blind = true;
            self.chain.number = self.chain.number.saturating_add(1);
            return Err(DamageKind::Unreadable);
        };
        // A damaged line may carry the number `u64::MAX`.
        let expected = self.chain.number.saturating_add(1);
        let before = self.chain.sum;
        let is_repeated = !self.numbers.insert(seal.number);
        let found = if is_repeated {
            Err(DamageKind::Doubled { of: seal.number })
        } else if seal.number < expected {
            Err(DamageKind::OutOfOrder { number: seal.number })
        } else if seal.number > expected {
            Err(DamageKind::Missing { first: expected, last: seal.number - 1 })
        } else if !self.is_blind && XxHash3_64::oneshot_with_seed(before, seal.covered) != seal.sum {
            Err(DamageKind::Changed)
        } else {
            Ok(())
        };
        // The line after a copy continues from the line before the copy.
        if !is_repeated || seal.number >= expected {
            (self.chain.number, self.chain.sum, self.is_blind) = (seal.number, seal.sum, false);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(count: usize) -> Vec<Vec<u8>> {
        let (mut chain, mut lines) = (Chain::default(), Vec::new());
        for n in 0..count {
            let mut line = format!("{{\"event\":\"note\",\"n\":{n}}}").into_bytes();
            chain.seal(&mut line, 0);
            lines.push(line);
        }
        lines
    }

    fn checked(lines: &[Vec<u8>]) -> Vec<Result<(), DamageKind>> {
        let mut checker = ChainChecker::default();
        lines.iter().map(|line| checker.check(line)).collect()
    }

    #[test]
    fn a_sealed_line_is_json_with_its_fields_unchanged() {
        let line = &sealed(1)[0];
        let value: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!((&value["n"], &value["seq"]), (&0.into(), &1.into()));
        assert_eq!(value["sum"].as_str().unwrap().len(), SUM_DIGITS);
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        let whole = sealed(5);
        assert!(checked(&whole).iter().all(Result::is_ok));
        let changed = |at: usize, line: &[u8]| {
            let mut lines = whole.clone();
            lines[at] = line.to_vec();
            checked(&lines)
        };
        let altered = String::from_utf8(whole[2].clone()).unwrap().replace("\"n\":2", "\"n\":3");
        assert_eq!(changed(2, altered.as_bytes())[2], Err(DamageKind::Changed));
        assert_eq!(changed(2, b"{}\n")[2], Err(DamageKind::Unreadable));
        let mut lines = whole.clone();
        lines.drain(1..3);
        assert_eq!(checked(&lines)[1], Err(DamageKind::Missing { first: 2, last: 3 }));
        lines.clone_from(&whole);
        lines.insert(3, whole[1].clone());
        assert_eq!(checked(&lines)[3], Err(DamageKind::Doubled { of: 2 }));
        assert!(checked(&lines)[4..].iter().all(Result::is_ok), "the lines after the copy are in order");
        lines.clone_from(&whole);
        lines.swap(1, 3);
        assert_eq!(checked(&lines)[1], Err(DamageKind::Missing { first: 2, last: 3 }));
        assert_eq!(checked(&lines)[2], Err(DamageKind::OutOfOrder { number: 3 }));
    }

    /// The checker must not overflow on `u64::MAX`.
    #[test]
    fn a_number_changed_to_the_maximum_is_damage() {
        let mut lines = sealed(4);
        let largest = format!("\"seq\":{}", u64::MAX);
        lines[1] = String::from_utf8(lines[1].clone()).unwrap().replace("\"seq\":2", &largest).into_bytes();
        lines[2] = b"{}\n".to_vec();
        let found = checked(&lines);
        assert_eq!(found[1], Err(DamageKind::Missing { first: 2, last: u64::MAX - 1 }));
        assert_eq!(found[2..], [Err(DamageKind::Unreadable), Err(DamageKind::OutOfOrder { number: 4 })]);
    }

    /// The line has the expected number.
    #[test]
    fn a_line_of_another_log_is_damage() {
        let mut lines = sealed(3);
        let mut other = Chain::default();
        for n in 7..10 {
            let mut line = format!("{{\"event\":\"note\",\"n\":{n}}}").into_bytes();
            other.seal(&mut line, 0);
            lines[n - 7] = if n == 8 { line } else { std::mem::take(&mut lines[n - 7]) };
        }
        assert_eq!(checked(&lines)[1], Err(DamageKind::Changed));
    }
}
