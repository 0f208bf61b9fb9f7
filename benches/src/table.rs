//! Medians, ranges, and tables in Markdown.

/// Several values of one figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<f64>);

impl Values {
    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The largest, or NaN if there are no values.
    pub fn largest(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// The median, or NaN if there are no values.
    pub fn median(&self) -> f64 {
        match self.0.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => self.0[n / 2],
            n => f64::midpoint(self.0[n / 2 - 1], self.0[n / 2]),
        }
    }

    /// Median and range, each shown by `show`.
    pub fn shown(&self, show: impl Fn(f64) -> String) -> String {
        match (self.0.first(), self.0.last()) {
            (Some(low), Some(high)) => format!("{} [{}–{}]", show(self.median()), show(*low), show(*high)),
            _ => "–".to_owned(),
        }
    }
}

/// Operations per second with a unit prefix.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 1e6 => format!("{:.2} M", r / 1e6),
        r if r >= 1e3 => format!("{:.1} k", r / 1e3),
        r => format!("{r:.0}"),
    }
}

/// A ratio to two places, or a dash.
pub fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { "–".to_owned() }
}

/// A table in Markdown.
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}\n", " :-- |".repeat(head.len()));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&head) + &rule + &rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_and_an_even_number() {
        let mut sample = Values::default();
        assert!(sample.median().is_nan());
        for value in [3.0, 1.0, 2.0] {
            sample.push(value);
        }
        assert_eq!(sample.median(), 2.0);
        sample.push(10.0);
        assert_eq!(sample.median(), 2.5);
        assert_eq!(sample.shown(|v| format!("{v}")), "2.5 [1–10]");
    }

    #[test]
    fn a_table_has_a_head_a_rule_and_rows() {
        let rows = [vec!["x".to_owned(), "1".to_owned()]];
        assert_eq!(markdown(&["a", "b"], &rows), "| a | b |\n| :-- | :-- |\n| x | 1 |\n");
    }
}
