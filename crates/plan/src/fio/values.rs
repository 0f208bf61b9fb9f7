//! Values of fio job files: numbers with suffixes, times, ranges, percentages, shares.
//!
//! fio's HOWTO defines the suffixes under "Parameter types": with `kb_base=1024`, the default, `k` is 1024 and `ki` is
//! 1000; with `kb_base=1000` it is the reverse. An expression in brackets is computed.

use model::PortableMath;

/// The meaning of a bare letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KbBase {
    /// `k` is 1024, `ki` is 1000: the default.
    Binary,
    /// `k` is 1000, `ki` is 1024.
    Decimal,
}

/// A size: bytes, or a share of a size that is known later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    Bytes(u64),
    Percent(f64),
}

impl KbBase {
    /// A whole number with an optional suffix, such as `4k`, `1MiB`, `0x10` or `(2*4k)`.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn number(self, text: &str) -> Result<u64, String> {
        let wrong = || format!("`{text}` is not a number such as 512, 4k or 1m");
        let value = Expression { text: text.trim(), at: 0, base: self }.whole().ok_or_else(wrong)?;
        if (0.0..9.3e18).contains(&value) { Ok(value.round() as u64) } else { Err(wrong()) }
    }

    /// A number that may be negative, as in the skip of `rw=read:-8k`.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn signed(self, text: &str) -> Result<i64, String> {
        let (negative, digits) = match text.trim().strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let value = i64::try_from(self.number(digits)?).map_err(|e| e.to_string())?;
        Ok(if negative { -value } else { value })
    }

    /// A size in bytes or, with a percent sign, a share.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn size(self, text: &str) -> Result<Size, String> {
        match text.trim().strip_suffix('%') {
            Some(percent) => {
                let value: Option<f64> = percent.trim().parse().ok().filter(|p| (0.0..=100.0).contains(p));
                value.map(Size::Percent).ok_or_else(|| format!("`{text}` is not a share from 0% to 100%"))
            }
            None => self.number(text).map(Size::Bytes),
        }
    }

    /// One to three numbers for reads, writes and trims. An omitted one is the one before it.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn by_direction(self, text: &str) -> Result<[u64; 3], String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > 3 {
            return Err(format!(
                "`{text}` has {} values; give at most three, for read, write and trim",
                parts.len()
            ));
        }
        let mut values = Vec::new();
        for part in &parts {
            values.push(if part.is_empty() { None } else { Some(self.number(part)?) });
        }
        let first =
            values.iter().copied().flatten().next().ok_or_else(|| format!("`{text}` has no value"))?;
        let read = values[0].unwrap_or(first);
        let write = values.get(1).copied().flatten().unwrap_or(read);
        let trim = values.get(2).copied().flatten().unwrap_or(write);
        Ok([read, write, trim])
    }

    /// A range such as `4k-16k`: its ends, the smaller first.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn range(self, text: &str) -> Result<(u64, u64), String> {
        let (low, high) =
            text.split_once(['-', ':']).ok_or_else(|| format!("`{text}` is not a range such as 4k-16k"))?;
        let (low, high) = (self.number(low)?, self.number(high)?);
        Ok((low.min(high), low.max(high)))
    }

    /// The shares of one direction of `bssplit`, such as `4k/60:64k/40`, as bytes and percent. Sizes without a
    /// percentage share the remainder evenly.
    ///
    /// # Errors
    /// A message that describes the error.
    pub fn split(self, text: &str) -> Result<Vec<(u64, f64)>, String> {
        let mut found = Vec::new();
        for part in text.split(':') {
            let (size, percent) = part.split_once('/').unwrap_or((part, ""));
            let percent = match percent.trim().trim_end_matches('%') {
                "" => None,
                text => Some(text.parse::<f64>().map_err(|_| format!("`{part}` is not SIZE/PERCENT"))?),
            };
            found.push((self.number(size)?, percent));
        }
        let given: f64 = found.iter().filter_map(|(_, percent)| *percent).sum();
        let open = found.iter().filter(|(_, percent)| percent.is_none()).count();
        if given > 100.01 || (open == 0 && given < 99.99) {
            return Err(format!("the shares of `{text}` add up to {given} %, not to 100 %"));
        }
        let rest = (100.0 - given) / open.max(1) as f64;
        Ok(found.into_iter().map(|(size, percent)| (size, percent.unwrap_or(rest))).collect())
    }
}

/// A time in nanoseconds. A bare number counts in `unit_ns`: seconds for most options, microseconds for some.
///
/// # Errors
/// A message that describes the error.
pub(super) fn time(text: &str, unit_ns: f64) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time such as 30, 30s, 5m, 100ms or 50us");
    let trimmed = text.trim().to_lowercase();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let unit_ns = match unit.trim() {
        "" => unit_ns,
        "d" => 86_400e9,
        "h" => 3_600e9,
        "m" => 60e9,
        "s" => 1e9,
        "ms" | "msec" => 1e6,
        "us" | "usec" => 1e3,
        "ns" | "nsec" => 1.0,
        _ => return Err(wrong()),
    };
    let ns = value * unit_ns;
    if ns < 1.8e19 { Ok(ns.round() as u64) } else { Err(wrong()) }
}

/// Yes or no: an option without a value is yes.
///
/// # Errors
/// A message that describes the error.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text.trim().to_lowercase().as_str() {
        "" | "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        other => other.parse::<i64>().map(|n| n != 0).map_err(|_| format!("`{text}` is neither 0 nor 1")),
    }
}

/// A sum of products of powers, read from left to right.
struct Expression<'a> {
    text: &'a str,
    at: usize,
    base: KbBase,
}

impl Expression<'_> {
    /// Deepest nesting of brackets.
    const DEPTH: u32 = 32;

    fn whole(mut self) -> Option<f64> {
        let value = self.sum(0)?;
        self.spaces();
        (self.at == self.text.len()).then_some(value)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, letters: &[char]) -> Option<char> {
        self.spaces();
        let next = self.rest().chars().next().filter(|c| letters.contains(c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn sum(&mut self, depth: u32) -> Option<f64> {
        let mut value = self.product(depth)?;
        while let Some(operator) = self.take(&['+', '-']) {
            let other = self.product(depth)?;
            value = if operator == '+' { value + other } else { value - other };
        }
        Some(value)
    }

    fn product(&mut self, depth: u32) -> Option<f64> {
        let mut value = self.power(depth)?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let other = self.power(depth)?;
            value = match operator {
                '*' => value * other,
                '/' if other != 0.0 => (value / other).trunc(),
                '%' if other != 0.0 => value % other,
                _ => return None,
            };
        }
        Some(value)
    }

    fn power(&mut self, depth: u32) -> Option<f64> {
        let value = self.atom(depth)?;
        match self.take(&['^']) {
            Some(_) => Some(value.portable_powf(self.power(depth)?)),
            None => Some(value),
        }
    }

    fn atom(&mut self, depth: u32) -> Option<f64> {
        if depth > Self::DEPTH {
            return None;
        }
        if self.take(&['(']).is_some() {
            let value = self.sum(depth + 1)?;
            self.take(&[')'])?;
            return Some(value);
        }
        self.spaces();
        let hex = self.rest().strip_prefix("0x").or(self.rest().strip_prefix("0X"));
        if let Some(digits) = hex {
            let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let value = u64::from_str_radix(&digits[..end], 16).ok()?;
            self.at += 2 + end;
            return Some(value as f64);
        }
        let end = self.rest().find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(self.rest().len());
        let value: f64 = self.rest()[..end].parse().ok()?;
        self.at += end;
        Some(value * self.suffix()?)
    }

    /// The factor of a suffix; 1 if there is none.
    fn suffix(&mut self) -> Option<f64> {
        let end = self.rest().find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest().len());
        let suffix = self.rest()[..end].to_lowercase();
        self.at += end;
        let unit = suffix.strip_suffix('b').unwrap_or(&suffix);
        let (letter, marked) = unit.strip_suffix('i').map_or((unit, false), |letter| (letter, true));
        let power = match letter {
            "" if !marked => return Some(1.0),
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            "p" => 5,
            _ => return None,
        };
        let binary = (self.base == KbBase::Binary) != marked;
        Some(if binary { 1024f64.powi(power) } else { 1000f64.powi(power) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KbBase::{Binary, Decimal};

    #[test]
    fn a_bare_letter_is_a_power_of_1024_unless_kb_base_is_1000() {
        for (text, binary, decimal) in [
            ("512", 512, 512),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4ki", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("2g", 2 << 30, 2_000_000_000),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("0x10", 16, 16),
            ("0xff", 255, 255),
            ("1.5k", 1536, 1500),
            ("(2*4k)", 8192, 8000),
            ("5*1024*1024*8/8", 5 << 20, 5 << 20),
            ("(1+2)*3", 9, 9),
            ("2^10", 1024, 1024),
            ("10 % 4", 2, 2),
        ] {
            assert_eq!((Binary.number(text), Decimal.number(text)), (Ok(binary), Ok(decimal)), "{text}");
        }
        for text in ["", "k", "4x", "4k4", "(4", "4/0", "1-2", "-1", "1e99999", "4 k k", "ï"] {
            assert!(Binary.number(text).is_err(), "{text}");
        }
        assert!(Binary.number(&"(".repeat(100_000)).is_err(), "the stack does not overflow");
    }

    #[test]
    fn an_omitted_direction_takes_the_value_before_it() {
        for (text, expected) in [
            ("4k", [4096, 4096, 4096]),
            ("4k,8k", [4096, 8192, 8192]),
            ("4k,8k,16k", [4096, 8192, 16384]),
            (",8k", [8192, 8192, 8192]),
            ("4k,,16k", [4096, 4096, 16384]),
        ] {
            assert_eq!(Binary.by_direction(text), Ok(expected), "{text}");
        }
        assert!(Binary.by_direction("1,2,3,4").is_err() && Binary.by_direction(",").is_err());
    }

    #[test]
    fn ranges_percentages_and_skips() {
        assert_eq!(Binary.range("16k-4k"), Ok((4096, 16384)));
        assert_eq!(Binary.range("4k:8k"), Ok((4096, 8192)));
        assert!(Binary.range("4k").is_err());
        assert_eq!(Binary.size("50%"), Ok(Size::Percent(50.0)));
        assert_eq!(Binary.size("1g"), Ok(Size::Bytes(1 << 30)));
        assert!(Binary.size("101%").is_err() && Binary.size("x%").is_err());
        assert_eq!((Binary.signed("-8k"), Binary.signed("112k")), (Ok(-8192), Ok(114_688)));
    }

    #[test]
    fn omitted_shares_split_the_remainder() {
        assert_eq!(Binary.split("4k/60:64k/40"), Ok(vec![(4096, 60.0), (65536, 40.0)]));
        assert_eq!(Binary.split("4k/10:8k:16k"), Ok(vec![(4096, 10.0), (8192, 45.0), (16384, 45.0)]));
        assert_eq!(Binary.split("1024k/"), Ok(vec![(1 << 20, 100.0)]));
        for text in ["4k/60", "4k/60:8k/50", "4k/x", "x/10"] {
            assert!(Binary.split(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bare_time_has_the_unit_of_its_option() {
        for (text, ns) in [
            ("30", 30_000_000_000),
            ("30s", 30_000_000_000),
            ("5m", 300_000_000_000),
            ("2h", 7_200_000_000_000),
            ("1d", 86_400_000_000_000),
            ("100ms", 100_000_000),
            ("50us", 50_000),
            ("50usec", 50_000),
            ("1.5", 1_500_000_000),
        ] {
            assert_eq!(time(text, 1e9), Ok(ns), "{text}");
        }
        assert_eq!(time("500000", 1e3), Ok(500_000_000));
        assert!(time("5 weeks", 1e9).is_err() && time("", 1e9).is_err() && time("9999999999d", 1e9).is_err());
    }

    #[test]
    fn an_option_without_a_value_is_yes() {
        for (text, value) in
            [("", true), ("1", true), ("0", false), ("true", true), ("false", false), ("2", true)]
        {
            assert_eq!(boolean(text), Ok(value), "{text}");
        }
        assert!(boolean("maybe").is_err());
    }
}
