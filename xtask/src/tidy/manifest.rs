//! Reading Cargo manifests.

use toml::de::{DeTable, DeValue};

/// The names under `[section]` of a manifest.
pub(super) fn names(manifest: &str, section: &str) -> Vec<String> {
    let Ok(table) = DeTable::parse(manifest) else { return Vec::new() };
    let mut value: Option<&DeValue<'_>> = None;
    for (i, part) in section.split('.').enumerate() {
        let within = if i == 0 { Some(table.get_ref()) } else { value.and_then(DeValue::as_table) };
        value = within.and_then(|t| t.get(part)).map(toml::Spanned::get_ref);
    }
    let keys = value.and_then(DeValue::as_table).into_iter().flat_map(|t| t.keys());
    keys.map(|k| k.get_ref().to_string()).collect()
}
