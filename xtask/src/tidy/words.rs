//! Words that the field does not use, listed with its terms in `xtask/words.toml`.

use std::fs;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{files, relative};

const LIST: &str = "xtask/words.toml";
/// What other programs printed, what the project said before, and the list itself.
const EXEMPT: [&str; 5] = [LIST, "fixtures/", "fuzz/seeds/", "CHANGELOG.md", "docs/adr/"];

/// A word and the term to use instead.
struct Word {
    text: String,
    term: String,
    is_identifier: bool,
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
        for (i, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for word in words.iter().filter(|word| word.is_in(line, &lower)) {
                found.push(format!("{name}:{}: instead of \"{}\": {}", i + 1, word.text, word.term));
            }
        }
    }
}

fn read(list: &str) -> Result<Vec<Word>, String> {
    let table = DeTable::parse(list).map_err(|error| error.to_string())?;
    let mut words = Vec::new();
    for (section, is_identifier) in [("identifiers", true), ("phrases", false)] {
        let entries = table.get_ref().get(section).and_then(|value| value.get_ref().as_table());
        for (text, term) in entries.ok_or_else(|| format!("there is no [{section}]"))? {
            let DeValue::String(term) = term.get_ref() else {
                return Err(format!("{}: not a text", text.get_ref()));
            };
            words.push(Word { text: text.get_ref().to_string(), term: term.to_string(), is_identifier });
        }
    }
    Ok(words)
}

impl Word {
    fn is_in(&self, line: &str, lower: &str) -> bool {
        if !self.is_identifier {
            return lower.contains(&self.text);
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        line.match_indices(&self.text)
            .any(|(at, text)| !line[..at].ends_with(is_part) && !line[at + text.len()..].starts_with(is_part))
    }
}
