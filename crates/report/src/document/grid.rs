//! The layout of a table in lines of a given width.

use unicode_width::UnicodeWidthStr;

use crate::document::{Align, Table};
use crate::terminal::escape_line;

/// Blanks between columns.
const GAP: usize = 2;
/// Names of rows are wrapped at this width or a wider one.
const NARROWEST_NAME: usize = 24;

/// One printed part of a table: which columns it has and how wide they are.
pub(crate) struct Part {
    pub columns: Vec<usize>,
    pub widths: Vec<usize>,
}

/// Width of a text on a terminal, in columns.
pub(crate) fn width(text: &str) -> usize {
    escape_line(text).width()
}

/// Splits a table's columns into parts that fit the width; each part starts with the
/// stub, which names the rows. A long name is wrapped where that saves a part.
pub(crate) fn parts(table: &Table, available: usize) -> Vec<Part> {
    let whole = parts_with(table, available, usize::MAX);
    if whole.len() < 2 || table.stub != 1 {
        return whole;
    }
    let wrapped = parts_with(table, available, (2 * available / 5).max(NARROWEST_NAME));
    if wrapped.len() < whole.len() { wrapped } else { whole }
}

/// The same with the first column at most this wide.
fn parts_with(table: &Table, available: usize, widest_name: usize) -> Vec<Part> {
    let needed = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(&cell.text));
        let most = if column == 0 { widest_name } else { usize::MAX };
        cells.chain([width(&table.columns[column].heading)]).max().unwrap_or(0).min(most)
    };
    let stub: Vec<usize> = (0..table.stub).collect();
    let stub_width: usize = stub.iter().map(|c| needed(*c) + GAP).sum();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for block in blocks(table) {
        let wanted: usize = block.clone().map(|c| needed(c) + GAP).sum();
        if parts.is_empty() || wanted > left {
            parts.push(stub.clone());
            // The last column needs no gap behind it.
            left = (available + GAP).saturating_sub(stub_width);
        }
        left = left.saturating_sub(wanted);
        parts.last_mut().expect("a part was just made").extend(block);
    }
    if parts.is_empty() {
        parts.push(stub);
    }
    let measured =
        |columns: Vec<usize>| Part { widths: columns.iter().map(|c| needed(*c)).collect(), columns };
    parts.into_iter().map(measured).collect()
}

/// The columns after the stub, in groups that stay together.
fn blocks(table: &Table) -> Vec<std::ops::Range<usize>> {
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    for column in table.stub..table.columns.len() {
        match blocks.last_mut() {
            Some(block) if table.columns[column].joined => block.end = column + 1,
            _ => blocks.push(column..column + 1),
        }
    }
    blocks
}

/// The padding of a text to a width: before and after it.
pub(crate) fn padding(text: &str, to: usize, align: Align) -> (String, String) {
    let blanks = " ".repeat(to.saturating_sub(width(text)));
    match align {
        Align::Left => (String::new(), blanks),
        Align::Right => (blanks, String::new()),
    }
}

/// The blanks between two columns.
pub(crate) fn gap() -> String {
    " ".repeat(GAP)
}

/// Units that stay on the line of their number.
const UNITS: [&str; 22] = [
    "%", "×", "B/s", "kB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s", "ns", "µs", "ms", "s", "min", "kB",
    "MB", "GB", "KiB", "MiB", "GiB", "IOPS", "°C",
];

/// Breaks a text into lines of at most `available` columns at blanks, but not before a unit; longer words stay whole.
pub(crate) fn wrapped(text: &str, available: usize) -> Vec<String> {
    let text = escape_line(text);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= available {
            line.push(' ');
            line.push_str(word);
        } else {
            let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
            let number = line
                .rsplit_once(' ')
                .filter(|(_, last)| is_unit && last.ends_with(|c: char| c.is_ascii_digit()));
            match number.map(|(before, number)| (before.len(), format!("{number} {word}"))) {
                Some((kept, amount)) => {
                    line.truncate(kept);
                    lines.push(amount);
                }
                None => lines.push(word.to_owned()),
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Column};
    use proptest::prelude::*;

    fn table(columns: usize, cell: &str) -> Table {
        Table {
            title: String::new(),
            columns: vec![Column::new("heading", Align::Right); columns],
            stub: 1,
            rows: vec![vec![Cell::text(cell); columns]; 2],
        }
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrapped("it costs 4 to 19 % of speed", 17), ["it costs 4 to", "19 % of speed"]);
        assert_eq!(wrapped("about 900 MB/s, or so", 11), ["about", "900 MB/s,", "or so"]);
        assert_eq!(wrapped("1234567 %", 8), ["1234567", "%"], "there is no word to keep");
    }

    proptest! {
        #[test]
        fn every_column_is_shown_once_and_parts_fit_where_they_can(columns in 1usize..20, available in 20usize..200) {
            let table = table(columns, "12345678");
            let parts = parts(&table, available);
            let shown: Vec<usize> = parts.iter().flat_map(|p| p.columns[1..].to_vec()).collect();
            prop_assert_eq!(shown, (1..columns).collect::<Vec<_>>());
            for part in &parts {
                let used: usize = part.widths.iter().map(|w| w + GAP).sum::<usize>() - GAP;
                prop_assert!(used <= available || part.columns.len() <= 2, "{used} of {available}");
            }
        }

        #[test]
        fn wrapping_loses_no_word(text in "[a-z ]{0,200}", available in 1usize..80) {
            let lines = wrapped(&text, available);
            let joined = lines.join(" ");
            let (kept, given): (Vec<_>, Vec<_>) = (joined.split_whitespace().collect(), text.split_whitespace().collect());
            prop_assert_eq!(kept, given);
        }
    }

    #[test]
    fn a_long_name_is_wrapped_where_that_saves_a_part() {
        let mut long = table(4, "12345678");
        long.rows[0][0] = Cell::text("random write of 4 KiB records, depth 1, fdatasync each");
        let widths = |available| {
            let parts = parts(&long, available);
            (parts.len(), parts[0].widths[0])
        };
        assert_eq!(widths(100), (1, 54));
        assert_eq!(widths(80), (1, 32));
        assert_eq!(widths(40), (3, 54), "narrower names would save no part");
    }

    #[test]
    fn wide_characters_and_control_characters_are_measured_as_shown() {
        assert_eq!(width("µs"), 2);
        assert_eq!(width("磁盘"), 4);
        assert_eq!(width("\u{1b}[31m"), 8, "the escape is shown as text");
        assert_eq!(padding("µs", 4, Align::Right), ("  ".into(), String::new()));
    }
}
