//! The export format: versioned, with a JSON Schema made from the types in `schema.rs`.
//!
//! Numbers are plain numbers in the unit that their field's description names; an unknown value is `null`. Fields may be
//! added within a version; a change of meaning makes a new version.

mod convert;
mod schema;

use serde::Serialize;

pub use convert::{comparison_export, run_export, run_facts, word};
pub(crate) use convert::{host_facts, layer_facts, requirement_facts};
pub use schema::*;

/// Any export as pretty JSON with a final line feed. Control and invisible characters are escaped, such as `\u202e`.
pub fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut text = crate::terminal::escape_json(&text).into_owned();
    text.push('\n');
    text
}
