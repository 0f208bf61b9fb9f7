//! Names of files: of what a log may call anything, and what every filesystem and web server can take.

use twox_hash::XxHash3_64;

/// Characters of a name as it is, at most.
const MOST: usize = 60;

/// A file name of letters, digits and dashes. What it cannot say as it is gets a digest, so that no two things share one, not even where
/// case does not matter.
pub(super) fn name(parts: &[&str]) -> String {
    let whole = parts.join("-");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let plain = |c: char| if is_plain(c.to_ascii_lowercase()) { c.to_ascii_lowercase() } else { '-' };
    let mut text = String::new();
    for c in whole.chars().map(plain).take(MOST) {
        if c != '-' || !text.ends_with('-') {
            text.push(c);
        }
    }
    let text = text.trim_matches('-');
    // One part that is its own name needs no digest.
    if parts.len() == 1 && text == whole && !text.is_empty() {
        return text.to_owned();
    }
    let digest = XxHash3_64::oneshot(format!("{parts:?}").as_bytes());
    let between = if text.is_empty() { "" } else { "-" };
    format!("{text}{between}{digest:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_differ() {
        assert_eq!(name(&["pi4"]), "pi4");
        assert_eq!(name(&["2026-11"]), "2026-11");
        let all = [
            name(&["Pi4"]),
            name(&["pi4 "]),
            name(&["../../etc/passwd"]),
            name(&["", ""]),
            name(&[""]),
            name(&["pi", "4"]),
            name(&["pi-4"]),
            name(&["x".repeat(300).as_str()]),
            name(&["データ"]),
            name(&["<script>"]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(one.len() < 90 && one.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{one}");
            assert!(!one.is_empty() && !all[..i].contains(one), "{one}");
        }
    }
}
