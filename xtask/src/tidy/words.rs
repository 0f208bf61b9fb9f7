//! Words that the field does not use, listed with its terms in `xtask/words.toml`.

use std::fs;
use std::path::Path;

use proc_macro2::{Ident, TokenStream, TokenTree};
use toml::de::{DeTable, DeValue};

use super::{files, relative};

const LIST: &str = "xtask/words.toml";
/// What other programs printed, what the project said before, and the list itself.
const EXEMPT: [&str; 6] =
    [LIST, "xtask/src/tidy/tests.rs", "fixtures/", "fuzz/seeds/", "CHANGELOG.md", "docs/adr/"];

/// A word and the term to use instead.
struct Word {
    text: String,
    term: String,
    section: Section,
}

/// What counts as the word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// A whole word with its case, anywhere.
    Identifiers,
    /// An identifier of Rust code; in prose the word is common.
    Types,
    /// Any text, in any case.
    Phrases,
}

pub(super) fn check(root: &Path, found: &mut Vec<String>) {
    let list = fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let words = match read(&list) {
        Ok(words) => words,
        Err(error) => {
            found.push(format!("{LIST}: {error}"));
            return;
        }
    };
    for path in files(root, &["rs", "md", "toml", "py", "js"]) {
        let name = relative(root, &path);
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut report = |line: usize, word: &Word| {
            found.push(format!("{name}:{line}: instead of \"{}\": {}", word.text, word.term));
        };
        if name.ends_with(".rs") {
            let types: Vec<&Word> = words.iter().filter(|word| word.section == Section::Types).collect();
            // A file that cannot be read as Rust is reported by the check of the code.
            let tokens = text.parse().unwrap_or_default();
            idents(tokens, &mut |ident| {
                for word in types.iter().filter(|word| *ident == word.text) {
                    report(ident.span().start().line, word);
                }
            });
        }
        for (i, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for word in words.iter().filter(|word| word.is_in(line, &lower)) {
                report(i + 1, word);
            }
        }
    }
}

fn read(list: &str) -> Result<Vec<Word>, String> {
    let table = DeTable::parse(list).map_err(|error| error.to_string())?;
    let mut words = Vec::new();
    let sections =
        [("identifiers", Section::Identifiers), ("types", Section::Types), ("phrases", Section::Phrases)];
    for (name, section) in sections {
        let entries = table.get_ref().get(name).and_then(|value| value.get_ref().as_table());
        for (text, term) in entries.ok_or_else(|| format!("there is no [{name}]"))? {
            let DeValue::String(term) = term.get_ref() else {
                return Err(format!("{}: not a text", text.get_ref()));
            };
            words.push(Word { text: text.get_ref().to_string(), term: term.to_string(), section });
        }
    }
    Ok(words)
}

fn idents(tokens: TokenStream, each: &mut impl FnMut(&Ident)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => idents(group.stream(), each),
            TokenTree::Ident(ident) => each(&ident),
            _ => {}
        }
    }
}

impl Word {
    fn is_in(&self, line: &str, lower: &str) -> bool {
        match self.section {
            Section::Types => return false,
            Section::Phrases => return lower.contains(&self.text),
            Section::Identifiers => {}
        }
        // The name of a field in logs of before.
        if line.contains(&format!("alias = \"{}\"", self.text)) {
            return false;
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        line.match_indices(&self.text)
            .any(|(at, text)| !line[..at].ends_with(is_part) && !line[at + text.len()..].starts_with(is_part))
    }
}
