//! Random mutations of text and bytes, such as a failing disk, a careless editor or an attacker may cause.

use rand::{Rng, RngExt};

/// A mutation of non-empty bytes.
type Way = fn(&mut Vec<u8>, &mut dyn Rng);

/// Applies one random mutation to `bytes` and returns its name. The result may equal the input.
pub fn mutate(bytes: &mut Vec<u8>, rng: &mut impl Rng) -> &'static str {
    const WAYS: [(&str, Way); 10] = [
        ("a flipped bit", |bytes, rng| flip_bit(bytes, rng)),
        ("a changed byte", |bytes, rng| change_byte(bytes, rng)),
        ("a changed digit", |bytes, rng| change_digit(bytes, rng)),
        ("swapped lines", swap_lines),
        ("a repeated line", double_line),
        ("a removed line", remove_line),
        ("a cut end", cut_end),
        ("a removed span", remove_span),
        ("a huge number", huge_number),
        ("other text", other_text),
    ];
    let (name, change) = WAYS[rng.random_range(0..WAYS.len())];
    if !bytes.is_empty() {
        change(bytes, rng);
    }
    name
}

fn flip_bit(bytes: &mut [u8], rng: &mut dyn Rng) {
    let at = rng.random_range(0..bytes.len());
    bytes[at] ^= 1 << rng.random_range(0..8);
}

fn change_byte(bytes: &mut [u8], rng: &mut dyn Rng) {
    let at = rng.random_range(0..bytes.len());
    bytes[at] = rng.random();
}

/// Replaces a short span by random bytes, half of them printable.
fn other_text(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    let from = rng.random_range(0..bytes.len());
    let to = rng.random_range(from..=bytes.len().min(from + 200));
    let byte = |rng: &mut dyn Rng| if rng.random() { rng.random() } else { rng.random_range(b' '..=b'~') };
    let other: Vec<u8> = (0..rng.random_range(0..200)).map(|_| byte(rng)).collect();
    bytes.splice(from..to, other);
}

/// Positions of ASCII digits.
fn digits(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, b)| b.is_ascii_digit()).map(|(at, _)| at).collect()
}

fn change_digit(bytes: &mut [u8], rng: &mut dyn Rng) {
    let digits = digits(bytes);
    if !digits.is_empty() {
        bytes[digits[rng.random_range(0..digits.len())]] = b'0' + rng.random_range(0..10u8);
    }
}

fn huge_number(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    let digits = digits(bytes);
    if !digits.is_empty() {
        let at = digits[rng.random_range(0..digits.len())];
        let texts: [&[u8]; 4] = [b"1e308", b"99999999999999999999", b"-1", b"NaN"];
        bytes.splice(at..=at, texts[rng.random_range(0..texts.len())].iter().copied());
    }
}

/// Applies `change` to the lines, each with its line feed.
fn with_lines(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Vec<&[u8]>)) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    change(&mut lines);
    *bytes = lines.concat();
}

fn swap_lines(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    with_lines(bytes, |lines| {
        let (a, b) = (rng.random_range(0..lines.len()), rng.random_range(0..lines.len()));
        lines.swap(a, b);
    });
}

fn double_line(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    with_lines(bytes, |lines| {
        let line = lines[rng.random_range(0..lines.len())];
        lines.insert(rng.random_range(0..=lines.len()), line);
    });
}

fn remove_line(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    with_lines(bytes, |lines| {
        lines.remove(rng.random_range(0..lines.len()));
    });
}

fn cut_end(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    bytes.truncate(rng.random_range(0..bytes.len()));
}

fn remove_span(bytes: &mut Vec<u8>, rng: &mut dyn Rng) {
    let from = rng.random_range(0..bytes.len());
    let to = rng.random_range(from..=bytes.len().min(from + 1000));
    bytes.drain(from..to);
}
