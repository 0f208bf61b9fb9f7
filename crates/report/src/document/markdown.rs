//! A document for a forum, a wiki or a pull request.

use crate::document::{Align, Document, Section, Table};
use crate::terminal::escape_line;

/// The document as Markdown (CommonMark with GitHub's tables).
pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    for sentence in &document.answer {
        out.push_str(&format!("\n{}\n", escaped(sentence)));
    }
    document.sections.iter().for_each(|section| push_section(&mut out, section));
    out
}

fn push_section(out: &mut String, section: &Section) {
    match section {
        Section::Heading(heading) => out.push_str(&format!("\n## {}\n", escaped(heading))),
        Section::Text(text) => out.push_str(&format!("\n{}\n", escaped(text))),
        Section::Facts(facts) => {
            out.push('\n');
            for (name, value) in facts {
                out.push_str(&format!("- **{}**: {}\n", escaped(name), escaped(value)));
            }
        }
        Section::Table(table) => push_table(out, table),
        Section::Folded { sections, .. } => sections.iter().for_each(|section| push_section(out, section)),
        Section::Remark { severity, about, message, advice } => {
            let (about, message) = (escaped(about), escaped(message));
            out.push_str(&format!("\n- **{}** {about}: {message}\n", severity.name()));
            if let Some(advice) = advice {
                out.push_str(&format!("  → {}\n", escaped(advice)));
            }
        }
    }
}

fn push_table(out: &mut String, table: &Table) {
    out.push_str(&format!("\n### {}\n\n", escaped(&table.title)));
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(table.columns.iter().map(|c| escaped(&c.heading)).collect()));
    let side = |align| if align == Align::Left { ":--" } else { "--:" };
    out.push_str(&line(table.columns.iter().map(|c| side(c.align).to_owned()).collect()));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|cell| escaped(&cell.text)).collect()));
    }
}

/// Text in which all Markdown and HTML is escaped.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape_line(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_meaning_in_markdown_or_html_are_only_text() {
        assert_eq!(escaped("a|b*<script>`x`"), "a\\|b\\*&lt;script&gt;\\`x\\`");
    }
}
