//! A document for a terminal.

use anstyle::{AnsiColor, Style};
use model::Severity;

use crate::document::grid::{gap, padding, parts, width, wrapped};
use crate::document::{Align, Cell, Document, Section, Table, Tone};
use crate::terminal::TerminalText;

/// Width and colours of text.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Columns of the terminal.
    pub width: usize,
    /// With colours.
    pub color: bool,
}

/// The document as text.
pub fn text(document: &Document, style: TextStyle) -> TerminalText {
    let mut writer = Writer { out: TerminalText::default(), style };
    for sentence in &document.answer {
        writer.section(&Section::Text(sentence.clone()));
    }
    if !document.answer.is_empty() {
        writer.out.push("\n");
    }
    writer.line(&document.title, Style::new().bold());
    for section in &document.sections {
        writer.section(section);
    }
    writer.out
}

/// A single table as text.
pub fn table_text(table: &Table, style: TextStyle) -> TerminalText {
    let mut writer = Writer { out: TerminalText::default(), style };
    writer.table(table);
    writer.out.without_leading_lines()
}

struct Writer {
    out: TerminalText,
    style: TextStyle,
}

impl Writer {
    fn paint(&mut self, text: &str, style: Style) {
        self.out.paint(text, style, self.style.color);
    }

    /// A text padded to a width; only the text has the colour.
    fn field(&mut self, text: &str, to: usize, align: Align, style: Style) {
        let (before, behind) = padding(text, to, align);
        self.out.push(&before);
        self.paint(text, style);
        self.out.push(&behind);
    }

    fn line(&mut self, text: &str, style: Style) {
        self.paint(text, style);
        self.end_line();
    }

    /// Ends the line without trailing blanks.
    fn end_line(&mut self) {
        self.out.end_line();
    }

    fn section(&mut self, section: &Section) {
        match section {
            Section::Heading(heading) => {
                self.out.push("\n");
                self.line(heading, Style::new().bold());
            }
            Section::Text(text) => {
                for line in wrapped(text, self.style.width) {
                    self.line(&line, Style::new());
                }
            }
            Section::Facts(facts) => self.facts(facts),
            Section::Table(table) => self.table(table),
            Section::Folded { sections, .. } => sections.iter().for_each(|section| self.section(section)),
            Section::Remark { severity, about, message, advice } => {
                self.remark(*severity, about, message, advice.as_deref());
            }
        }
    }

    fn facts(&mut self, facts: &[(String, String)]) {
        let names = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, value) in facts {
            let indent = names + 2;
            for (i, line) in
                wrapped(value, self.style.width.saturating_sub(indent).max(20)).iter().enumerate()
            {
                let name = if i == 0 { name.as_str() } else { "" };
                self.field(name, indent, Align::Left, Style::new().dimmed());
                self.line(line, Style::new());
            }
        }
    }

    fn table(&mut self, table: &Table) {
        self.out.push("\n");
        self.line(&table.title, Style::new().bold());
        let indent = "  ";
        let parts = parts(table, self.style.width.saturating_sub(indent.len()));
        // One of several parts has only the rows that have something in its columns.
        let has_cell = |row: &[Cell], columns: &[usize]| {
            columns
                .iter()
                .filter(|c| **c >= table.stub)
                .any(|c| row.get(*c).is_some_and(|cell| !cell.text.is_empty()))
        };
        for part in &parts {
            let columns: Vec<_> = part.columns.iter().zip(&part.widths).collect();
            self.out.push(indent);
            for (column, width) in &columns {
                let column = &table.columns[**column];
                self.field(&column.heading, **width, column.align, Style::new().dimmed());
                self.out.push(gap());
            }
            self.end_line();
            for row in table.rows.iter().filter(|row| parts.len() == 1 || has_cell(row, &part.columns)) {
                let names = row.first().map_or_else(Vec::new, |name| match columns.first() {
                    Some((0, to)) if table.stub == 1 && width(&name.text) > **to => wrapped(&name.text, **to),
                    _ => vec![name.text.clone()],
                });
                self.out.push(indent);
                for (column, width) in &columns {
                    let Some(cell) = row.get(**column) else { continue };
                    let text = names.first().filter(|_| **column == 0).unwrap_or(&cell.text);
                    self.field(text, **width, table.columns[**column].align, tone(cell.tone));
                    self.out.push(gap());
                }
                self.end_line();
                for rest in names.iter().skip(1) {
                    self.out.push(indent);
                    self.line(rest, row.first().map_or_else(Style::new, |name| tone(name.tone)));
                }
            }
        }
    }

    fn remark(&mut self, severity: Severity, about: &str, message: &str, advice: Option<&str>) {
        let style = match severity {
            Severity::Error => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            Severity::Warning => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
            Severity::Info => Style::new().fg_color(Some(AnsiColor::Blue.into())),
        };
        let indent = 9;
        self.field(severity.name(), indent, Align::Left, style);
        self.line(about, Style::new().bold());
        let width = self.style.width.saturating_sub(indent).max(20);
        for line in wrapped(message, width) {
            self.out.push(" ".repeat(indent));
            self.line(&line, Style::new());
        }
        let advice = advice.map_or_else(String::new, |advice| format!("→ {advice}"));
        for line in wrapped(&advice, width).iter().filter(|line| !line.is_empty()) {
            self.out.push(" ".repeat(indent));
            self.line(line, Style::new().dimmed());
        }
    }
}

pub(crate) fn tone(tone: Tone) -> Style {
    let colored = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().dimmed(),
        Tone::Good => colored(AnsiColor::Green),
        Tone::Bad => colored(AnsiColor::Red),
        Tone::Open => colored(AnsiColor::Yellow),
    }
}
