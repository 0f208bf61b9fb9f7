//! Reading TOML tables with their locations.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Problem, SourceLocation, listed, nearest};

/// A table's entries in the order of the text.
pub(crate) fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(Spanned<&'a str>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (Spanned::new(key.span(), key.get_ref().as_ref()), value)).collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

pub(crate) fn unknown<'a>(
    key: &str,
    span: Range<usize>,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Problem {
    let problem = Problem::error(SourceLocation::Suite(span), format!("unknown key `{key}`"));
    let guess = nearest(key, known.clone()).map(|word| format!("did you mean `{word}`? "));
    problem.help(format!("{}allowed here: {}", guess.unwrap_or_default(), listed(known)))
}

/// A value that is neither a list nor a table, as a user would write it on the command line.
pub(crate) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}
