//! The text of another program's output, and the numbers in it.

/// A piece of a line, without terminal control sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The line in the file, from 1.
    pub number: u32,
    pub text: String,
}

/// An output as its lines. Text that a carriage return would have overwritten on a terminal is a separate line with
/// the same number.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    pub(crate) lines: Vec<Line>,
    /// The raw content, for binary formats.
    pub(crate) raw: &'a [u8],
}

impl<'a> Text<'a> {
    /// Splits a file into lines. Invalid UTF-8 is replaced.
    pub fn new(raw: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        let mut lines = Vec::new();
        for (i, line) in text.split('\n').enumerate() {
            let number = u32::try_from(i + 1).unwrap_or(u32::MAX);
            for piece in line.split('\r').filter(|piece| !piece.is_empty()) {
                lines.push(Line { number, text: without_controls(piece) });
            }
        }
        Self { lines, raw }
    }

    /// Number of the last line.
    pub(crate) fn last_number(&self) -> u32 {
        self.lines.last().map_or(0, |line| line.number)
    }
}

/// A text without escape sequences (ECMA-48) and without control characters other than the tab.
fn without_controls(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // A control sequence ends with a letter or one of @ ` { | } ~.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // The selection of a character set has one more character.
                Some('(' | ')') => drop(chars.next()),
                _ => {}
            },
            '\t' => clean.push('\t'),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

/// A number with its rounding error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Num {
    pub value: f64,
    pub error: f64,
}

impl Num {
    pub fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// The number in another unit.
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, error: self.error * factor.abs() }
    }

    pub fn minus(self, other: Self) -> Self {
        Self { value: self.value - other.value, error: self.error + other.error }
    }

    /// The quotient; `None` if the divisor may be 0.
    pub fn over(self, divisor: Self) -> Option<Self> {
        let low = divisor.value - divisor.error;
        if low <= 0.0 || !low.is_finite() {
            return None;
        }
        let value = self.value / divisor.value;
        let high = (self.value + self.error) / low;
        Some(Self { value, error: (high - value).abs() })
    }

    /// The same number, if the program that printed it truncated instead of rounding.
    pub fn truncated(self) -> Self {
        Self { error: self.error * 2.0, ..self }
    }
}

/// Parses the number at the start of a text, with a decimal point or comma and perhaps an exponent; returns it and the
/// rest. `None` if there is none, or it is not finite.
pub(crate) fn number(text: &str) -> Option<(Num, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(at);
    at += whole;
    let mut decimals = 0;
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        decimals = digits(at + 1);
        // A comma or full stop without a digit after it ends a sentence.
        at += if decimals > 0 { decimals + 1 } else { 0 };
    }
    if whole + decimals == 0 {
        return None;
    }
    let mantissa_end = at;
    let mut exponent = 0;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let count = digits((at + 1 + sign).min(bytes.len()));
        if count > 0 && count < 4 {
            exponent = text[at + 1..at + 1 + sign + count].parse().ok()?;
            at += 1 + sign + count;
        }
    }
    let mantissa: f64 = text[..mantissa_end].replace(',', ".").parse().ok()?;
    let scale = 10f64.powi(exponent);
    let error = 0.5 * 10f64.powi(-i32::try_from(decimals).ok()?) * scale;
    let value = mantissa * scale;
    (value.is_finite() && error.is_finite()).then(|| (Num { value, error }, &text[at..]))
}

/// Parses the integer at the start of a text, which was counted, not rounded; returns it and the rest.
pub(crate) fn count(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The trimmed text after a label, anywhere in the line.
pub(crate) fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.split_once(label).map(|(_, rest)| rest.trim())
}

/// Power of 1024 of a size's letter.
pub(crate) fn binary(letter: char) -> Option<f64> {
    let power = "kmgtpe".find(letter.to_ascii_lowercase())?;
    Some(1024f64.powi(power as i32 + 1))
}

/// Power of 1000 of a size's letter.
pub(crate) fn decimal(letter: char) -> Option<f64> {
    let power = "kmgtpe".find(letter.to_ascii_lowercase())?;
    Some(1000f64.powi(power as i32 + 1))
}

/// A size in bytes whose letters are powers of 1024 in any spelling: `16Kb`, `2GiB`, `4096B`, `4k`.
pub(crate) fn binary_size(text: &str) -> Option<(Num, &str)> {
    let (num, rest) = number(text.trim_start())?;
    let unit = rest.trim_start();
    let scale = unit.chars().next().and_then(binary);
    let word_end = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
    match scale {
        Some(scale) if word_end <= 3 => Some((num.times(scale), &unit[word_end..])),
        _ if unit.starts_with(['b', 'B']) && word_end == 1 => Some((Num::exact(num.value), &unit[1..])),
        _ => Some((Num::exact(num.value), rest)),
    }
}

/// Bytes for a field of the model; 0 means unknown.
pub(crate) fn bytes(num: Num) -> u64 {
    if num.value.is_finite() && num.value > 0.0 { num.value.round() as u64 } else { 0 }
}

/// Block size for a field of the model.
pub(crate) fn block(bytes: f64) -> Option<u32> {
    (bytes >= 1.0 && bytes <= f64::from(u32::MAX)).then_some(bytes as u32)
}

/// A block size as text: `4 KiB`.
pub(crate) fn block_words(bytes: u32) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_locale_are_read_with_their_rounding() {
        let read = |text| number(text).map(|(n, rest)| (n.value, n.error, rest));
        assert_eq!(read("17,3846 s"), Some((17.3846, 0.000_05, " s")));
        assert_eq!(read("6.978e-05 s"), Some((6.978e-5, 0.000_5e-5, " s")));
        assert_eq!(read("12MB"), Some((12.0, 0.5, "MB")));
        assert_eq!(read("12, then"), Some((12.0, 0.5, ", then")));
        assert_eq!(read("MB"), None);
        assert_eq!(
            read("9e999"),
            Some((9.0 * 10f64.powi(999), f64::INFINITY, "")).filter(|(v, ..)| v.is_finite())
        );
    }

    #[test]
    fn colours_are_removed_and_overwritten_lines_are_split() {
        let text = Text::new("\u{1b}[33mone\u{1b}(B\u{1b}[m\ntwo\rthree\n".as_bytes());
        let lines: Vec<(u32, &str)> = text.lines.iter().map(|l| (l.number, l.text.as_str())).collect();
        assert_eq!(lines, [(1, "one"), (2, "two"), (2, "three")]);
    }

    #[test]
    fn sizes_with_a_letter_are_powers_of_1024() {
        let read = |text| binary_size(text).unwrap().0.value;
        assert_eq!(
            [read("16Kb"), read("2GiB"), read("4096B"), read("4M"), read("17")],
            [16384.0, 2147483648.0, 4096.0, 4194304.0, 17.0]
        );
    }
}
