//! Sizes and durations as people write them.
//!
//! A size follows the convention of storage tools: a bare letter is a power of 1024 (`4k` is 4096
//! bytes, as for fio, dd and iozone), and so is `KiB`; only the written-out decimal unit `kB`, `MB`,
//! `GB` is a power of 1000. A duration is a number with a unit; a bare number is seconds.

use std::fmt;

use jiff::SignedDuration;
use parse_size::Config;

/// A number of things in words, such as `1 step` or `4 steps`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Powers for bytes where they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// 1 MB is 10^6 bytes, as on the label of a disk.
    #[default]
    Decimal,
    /// 1 MiB is 2^20 bytes.
    Binary,
    /// Every rate in one unit, and operations per second without prefix, as programs print them.
    Fixed(RateUnit),
}

impl Units {
    /// How many of a unit are one of the next larger.
    pub fn base(self) -> f64 {
        match self {
            Self::Binary | Self::Fixed(RateUnit::Kibi | RateUnit::Mebi | RateUnit::Gibi) => 1024.0,
            Self::Decimal | Self::Fixed(_) => 1000.0,
        }
    }
}

/// A unit of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// kB/s
    Kilo,
    /// KiB/s
    Kibi,
    /// MB/s
    Mega,
    /// MiB/s
    Mebi,
    /// GB/s
    Giga,
    /// GiB/s
    Gibi,
}

impl RateUnit {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Kilo, Self::Kibi, Self::Mega, Self::Mebi, Self::Giga, Self::Gibi];

    /// Bytes per second.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Kilo => 1e3,
            Self::Kibi => 1024.0,
            Self::Mega => 1e6,
            Self::Mebi => 1_048_576.0,
            Self::Giga => 1e9,
            Self::Gibi => 1_073_741_824.0,
        }
    }

    /// Such as `MiB/s`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kilo => "kB/s",
            Self::Kibi => "KiB/s",
            Self::Mega => "MB/s",
            Self::Mebi => "MiB/s",
            Self::Giga => "GB/s",
            Self::Gibi => "GiB/s",
        }
    }
}

/// Why a size or duration could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not a size.
    #[error(
        "`{0}` is not a size; write bytes or a number with k, M, G, T (powers of 1024) or kB, MB, GB, TB (powers of 1000), such as 4k, 1MiB, 1.5G"
    )]
    Size(String),
    /// The text is not a duration.
    #[error(
        "`{0}` is not a duration; write seconds or a number with a unit, such as 90, 1.5s, 300ms, 10m, 2h"
    )]
    Duration(String),
}

/// The digits of the largest size, that of a file: 2^63 − 1. parse-size 1.1 overflows when it rounds a number whose
/// digits fill 64 bits (`18446744073709551.6155`).
const MOST_DIGITS: usize = 19;

/// Reads a size in bytes, such as `512`, `4k`, `1MiB`, `1.5G` or `10MB`.
///
/// # Errors
/// [`UnitError::Size`] if the text is not a size, has more than 19 digits or is more than a file can have (2^63 − 1).
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    if trimmed.bytes().filter(u8::is_ascii_digit).count() > MOST_DIGITS {
        return Err(UnitError::Size(text.to_owned()));
    }
    let decimal = trimmed.len() >= 2 && {
        let tail = trimmed.as_bytes();
        let (before, last) = (tail[tail.len() - 2], tail[tail.len() - 1]);
        last.eq_ignore_ascii_case(&b'b') && before.is_ascii_alphabetic()
    };
    let config = if decimal { Config::new().with_decimal() } else { Config::new().with_binary() };
    let bytes = config.parse_size(trimmed).ok().filter(|&bytes| i64::try_from(bytes).is_ok());
    bytes.ok_or_else(|| UnitError::Size(text.to_owned()))
}

/// Reads a duration in nanoseconds, such as `5`, `1.5s`, `300ms`, `10m` or `1h30m`.
///
/// # Errors
/// [`UnitError::Duration`] if the text is no duration, is negative, or does not fit 64 bits.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let trimmed = text.trim();
    if let Ok(seconds) = trimmed.parse::<f64>() {
        let ns = seconds * 1e9;
        // 2^64 ns; a float compares exactly with a power of two.
        let fits = ns.is_finite() && (0.0..18_446_744_073_709_551_616.0).contains(&ns);
        return if fits { Ok(ns.round() as u64) } else { Err(error()) };
    }
    let duration: SignedDuration = trimmed.parse().map_err(|_| error())?;
    u64::try_from(duration.as_nanos()).map_err(|_| error())
}

/// A size shown with its largest binary unit that divides it, such as `4 KiB` or `1536 B`.
///
/// Used for sizes that somebody chose (block and file sizes), which are whole numbers of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactSize(pub u64);

impl fmt::Display for ExactSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (name, shift) in UNITS {
            if self.0 >= 1 << shift && self.0.is_multiple_of(1 << shift) {
                return f.pad(&format!("{} {name}", self.0 >> shift));
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

/// A duration shown in its most readable unit with up to three decimals, such as `300 ms`, `1.5 s`,
/// `2 min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortDuration(pub u64);

impl fmt::Display for ShortDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let (value, unit) = match ns {
            0..1_000 => (ns as f64, "ns"),
            1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
            1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
            _ if ns < 120_000_000_000 => (ns as f64 / 1e9, "s"),
            _ if ns < 7_200_000_000_000 => (ns as f64 / 60e9, "min"),
            _ => (ns as f64 / 3600e9, "h"),
        };
        let digits = format!("{value:.3}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{digits} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_follow_the_convention_of_storage_tools() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("4kB", 4000),
            ("4KB", 4000),
            ("1m", 1 << 20),
            ("1MB", 1_000_000),
            ("1.5G", 3 << 29),
            ("512B", 512),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_told_with_an_example() {
        let filling_64_bits = "18446744073709551.61551";
        for text in ["", "k", "-4k", "4q", "4kk", "four", "99999999999T", "4k,8k", "10.3e", filling_64_bits] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("4k"), "{error}");
        }
    }

    #[test]
    fn durations_take_units_or_seconds() {
        for (text, ns) in [
            ("5", 5_000_000_000),
            ("0.25", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("300ms", 300_000_000),
            ("10m", 600_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("20us", 20_000),
        ] {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "soon", "-5", "-1s", "inf", "NaN", "1e30"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn chosen_sizes_and_durations_are_shown_as_chosen() {
        assert_eq!(ExactSize(4096).to_string(), "4 KiB");
        assert_eq!(ExactSize(1 << 30).to_string(), "1 GiB");
        assert_eq!(ExactSize(1000).to_string(), "1000 B");
        assert_eq!(ShortDuration(1_500_000_000).to_string(), "1.5 s");
        assert_eq!(ShortDuration(300_000_000).to_string(), "300 ms");
        assert_eq!(ShortDuration(18_400).to_string(), "18.4 µs");
        assert_eq!(ShortDuration(600_000_000_000).to_string(), "10 min");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_size(&text);
            let _ = parse_duration_ns(&text);
        }

        #[test]
        fn a_shown_size_reads_back(bytes in 0u64..1 << 50) {
            prop_assert_eq!(parse_size(&ExactSize(bytes).to_string()), Ok(bytes));
        }
    }
}
