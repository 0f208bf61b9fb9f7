//! Tables whose cells may be blank: a value belongs to the heading under which it ends.

/// No tool has more columns.
const MOST_HEADINGS: usize = 32;

/// The column in characters at which each word of a line ends, with the word.
pub(crate) fn ends(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(' ') {
        at += word.chars().count();
        if !word.is_empty() {
            found.push((at, word));
        }
        at += 1;
    }
    found
}

/// The words of a line, each at the index of the heading above it; words under no heading are ignored. A word may end
/// `off` characters away, because long values push the rest of the line to the right.
pub(crate) fn under<'a>(headings: &[usize], line: &'a str, off: usize) -> Vec<Option<&'a str>> {
    let headings = &headings[..headings.len().min(MOST_HEADINGS)];
    let mut cells = vec![None; headings.len()];
    let mut shift = 0isize;
    for (end, word) in ends(line) {
        let column = end as isize - shift;
        let near = (0..headings.len()).min_by_key(|i| (headings[*i] as isize - column).abs());
        if let Some(i) =
            near.filter(|i| (headings[*i] as isize - column).unsigned_abs() <= off && cells[*i].is_none())
        {
            cells[i] = Some(word);
            shift = (end as isize - headings[i] as isize).max(0);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_stay_blank() {
        let headings: Vec<usize> = ends("  a    b    c").into_iter().map(|(end, _)| end).collect();
        assert_eq!(under(&headings, "  1         3", 2), [Some("1"), None, Some("3")]);
        assert_eq!(under(&headings, "      12", 2), [None, Some("12"), None]);
    }
}
