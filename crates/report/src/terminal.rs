//! Escapes text for a terminal. Names of files, hosts, steps and targets are untrusted: a terminal executes control
//! characters, reorders text at bidirectional controls and hides zero-width characters. This module replaces all such
//! characters by visible escapes, such as `\x1b` and `\u{202e}`.
//!
//! # Invariants
//! * [`TerminalText`] escapes every text added to it; only the renderers of this crate add colour sequences. The binary
//!   prints nothing else, so a string that nobody escaped explicitly is still escaped.
//! * Widths are those of the escaped text.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Deref;

use anstyle::Style;

/// Text that is safe to print: a terminal executes, reorders and hides nothing in it, except for the colour sequences
/// of this crate's renderers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalText(String);

impl TerminalText {
    /// Adds other text, which is escaped unless it is a [`TerminalText`].
    pub fn push(&mut self, text: impl Into<Self>) {
        self.0.push_str(&text.into().0);
    }

    /// Adds text, styled if `color` is set. Control characters, including line ends and tabs, are escaped.
    pub(crate) fn paint(&mut self, text: &str, style: Style, color: bool) {
        let text = escape_line(text);
        if color && style != Style::new() && !text.trim().is_empty() {
            let _ = write!(self.0, "{style}{text}{style:#}");
        } else {
            self.0.push_str(&text);
        }
    }

    /// Removes trailing spaces and ends the line.
    pub(crate) fn end_line(&mut self) {
        let kept = self.0.trim_end_matches(' ').len();
        self.0.truncate(kept);
        self.0.push('\n');
    }

    /// The text without leading line feeds.
    pub(crate) fn without_leading_lines(self) -> Self {
        Self(self.0.trim_start_matches('\n').to_owned())
    }
}

impl Deref for TerminalText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TerminalText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for TerminalText {
    fn from(text: &str) -> Self {
        Self(escape_text(text).into_owned())
    }
}

impl From<&String> for TerminalText {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for TerminalText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// Escapes text for one line or cell: every control or invisible character, including line ends and tabs.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, misleads)
}

/// Escapes text of several lines: as [`escape_line`], but keeps line feeds and tabs. A carriage return before a line
/// feed is dropped.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    let layout = |c: char| misleads(c) && !matches!(c, '\n' | '\t');
    match text.contains("\r\n") {
        true => Cow::Owned(escape(&text.replace("\r\n", "\n"), layout).into_owned()),
        false => escape(text, layout),
    }
}

/// Escapes bytes of a file for a terminal: as [`escape_text`], and a byte that is not UTF-8 becomes `\xff`.
pub fn escape_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escape_text(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Escapes the same characters in JSON in its own notation, such as `\u202e`. They can only occur in strings.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    let wanted = |c: char| misleads(c) && !matches!(c, '\n' | '\t');
    replace(json, wanted, |out, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// True for a character that can mislead a terminal or a reader: control characters (C0, DEL, C1), characters that
/// renderers may ignore (`Default_Ignorable_Code_Point` of Unicode 16: zero-width characters, bidirectional controls,
/// fillers, variation selectors, tags), line and paragraph separators, and interlinear annotations.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn escape(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    replace(text, wanted, |out, c| {
        let _ = match u32::from(c) {
            code @ 0..0x80 => write!(out, "\\x{code:02x}"),
            code => write!(out, "\\u{{{code:x}}}"),
        };
    })
}

fn replace<'a>(
    text: &'a str,
    wanted: impl Fn(char) -> bool,
    mut write: impl FnMut(&mut String, char),
) -> Cow<'a, str> {
    if !text.contains(&wanted) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if wanted(c) { write(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::grid::width;
    use crate::document::text::{TextStyle, text};
    use crate::document::{Align, Cell, Column, Document, Section, Table};

    /// Every character that must not reach the terminal: the control sets of ECMA-48 and Unicode's bidirectional
    /// controls and zero-width characters, listed independently of the implementation.
    fn hostile() -> Vec<char> {
        let mut all: Vec<char> = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').collect();
        all.extend("\u{200e}\u{200f}\u{61c}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}".chars());
        all.extend("\u{2066}\u{2067}\u{2068}\u{2069}\u{2028}\u{2029}\u{200b}\u{200c}\u{200d}".chars());
        all.extend("\u{2060}\u{feff}\u{ad}\u{180e}\u{3164}\u{fff9}\u{fffa}\u{fffb}".chars());
        all.extend('\u{e0000}'..='\u{e007f}');
        all
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for c in hostile() {
            let line = escape_line(&format!("a{c}b")).into_owned();
            assert!(!line.contains(c) && line.starts_with("a\\") && line.ends_with('b'), "{c:?}: {line}");
            assert_eq!(escape_line(&line), line, "escaping again changes nothing");
            assert_eq!(width(&format!("a{c}b")), line.len(), "the width is that of the escaped text");
            let kept = matches!(c, '\n' | '\t');
            assert_eq!(escape_text(&format!("a{c}b")).contains(c), kept, "{c:?}");
            assert!(kept || !escape_json(&format!("\"{c}\"")).contains(c), "{c:?}");
        }
        assert_eq!(escape_line("\u{1b}[31m\u{9b}\u{202e}"), "\\x1b[31m\\u{9b}\\u{202e}");
        assert_eq!(escape_bytes(b"a\xff\x1b\n"), "a\\xff\\x1b\n");
        assert_eq!(escape_text("a\r\nb\rc"), "a\nb\\x0dc");
        let plain = "µs 磁盘 é “x” → 😀 \u{5d0}\u{627}";
        assert!(matches!(escape_line(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}\u{7f}\u{e0041}\u{2028}\n" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escape_json(&text);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn every_part_of_a_document_is_escaped() {
        let bad: String = hostile().into_iter().collect();
        let table = Table {
            title: bad.clone(),
            columns: vec![Column::new(bad.clone(), Align::Right), Column::new("b", Align::Left)],
            stub: 1,
            rows: vec![vec![Cell::text(bad.clone()), Cell::text(bad.clone()).tone(crate::Tone::Bad)]],
        };
        let document = Document {
            title: bad.clone(),
            answer: vec![bad.clone()],
            sections: vec![
                Section::Heading(bad.clone()),
                Section::Text(bad.clone()),
                Section::Facts(vec![(bad.clone(), bad.clone())]),
                Section::Folded { summary: "more", sections: vec![Section::Table(table)] },
                Section::Remark {
                    severity: model::Severity::Error,
                    about: bad.clone(),
                    message: bad.clone(),
                    advice: Some(bad.clone()),
                },
            ],
        };
        let shown = text(&document, TextStyle { width: 80, color: false });
        let found: Vec<char> = shown.chars().filter(|c| hostile().contains(c) && *c != '\n').collect();
        assert_eq!(found, []);
        let markdown = crate::markdown(&document);
        assert!(!markdown.chars().any(|c| hostile().contains(&c) && c != '\n'));
        let coloured = text(&document, TextStyle { width: 80, color: true });
        let commands = coloured.split('\u{1b}').skip(1);
        for command in commands {
            let rest = command
                .strip_prefix('[')
                .unwrap()
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            assert!(rest.starts_with('m'), "only colours: {command:?}");
        }
    }

    #[test]
    fn a_plain_string_is_escaped_in_coloured_text() {
        let mut out = TerminalText::default();
        out.paint("\u{1b}[8mx", Style::new().bold(), true);
        out.push("\u{1b}]0;title\u{7}\n");
        assert_eq!(&*out, "\u{1b}[1m\\x1b[8mx\u{1b}[0m\\x1b]0;title\\x07\n");
    }
}
