//! Runs of one plan by the hour of the day at which they started.

use analyse::{ByHour, HourFigure, HoursVerdict, TargetByHour};
use jiff::tz::TimeZone;

use crate::document::{Align, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{display_percent, display_ratio};

/// Local hour of a time, 0 to 23, and the number of its local day.
pub fn hour_and_day(unix_ns: i64, time_zone: &TimeZone) -> (u8, i64) {
    let at = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    let local = at.to_zoned(time_zone.clone()).datetime();
    let seconds = local.date().to_zoned(TimeZone::UTC).map_or(0, |midnight| midnight.timestamp().as_second());
    (u8::try_from(local.hour()).unwrap_or_default(), seconds.div_euclid(86_400))
}

const HOURS: [&str; 24] = [
    "0 h", "1 h", "2 h", "3 h", "4 h", "5 h", "6 h", "7 h", "8 h", "9 h", "10 h", "11 h", "12 h", "13 h",
    "14 h", "15 h", "16 h", "17 h", "18 h", "19 h", "20 h", "21 h", "22 h", "23 h",
];

/// The answer for each target, then the tables.
pub fn by_hour_document(runs: usize, targets: &[TargetByHour]) -> Document {
    Document {
        title: format!("{runs} runs by hour of the day"),
        answer: targets.iter().map(answer).collect(),
        sections: targets.iter().map(|target| Section::Table(table(target))).collect(),
    }
}

/// A table and an answer for each target.
pub fn by_hour_sections(targets: &[TargetByHour]) -> Vec<Section> {
    let mut sections = Vec::new();
    for target in targets {
        if sections.is_empty() {
            sections.push(Section::Heading("By hour of the day".into()));
        }
        sections.push(Section::Table(table(target)));
        sections.push(Section::Text(answer(target)));
    }
    sections
}

/// A row for each step, a column for each hour.
fn table(target: &TargetByHour) -> Table {
    let hours: &[HourFigure] = target.steps.first().map_or(&[], |(_, step)| &step.hours);
    let mut columns = vec![Column::new("step", Align::Left)];
    columns.extend(hours.iter().map(|h| Column::new(HOURS[usize::from(h.hour) % 24], Align::Right)));
    columns.push(Column::new("verdict", Align::Left));
    let mut runs = vec![Cell::text("runs")];
    runs.extend(hours.iter().map(|h| Cell::text(h.runs.to_string())));
    runs.push(Cell::default());
    let row = |(name, step): &(String, ByHour)| {
        let mut row = vec![Cell::text(name.clone())];
        row.extend(step.hours.iter().map(|h| speed_cell(h, step.verdict)));
        row.push(verdict_cell(step));
        row
    };
    let rows = std::iter::once(runs).chain(target.steps.iter().map(row)).collect();
    let title =
        format!("{}: speed at each hour ÷ speed at the other hours, {} runs", target.target, target.runs);
    Table { title, columns, stub: 1, rows }
}

fn speed_cell(hour: &HourFigure, verdict: HoursVerdict) -> Cell {
    if !hour.speed.value.is_finite() {
        return Cell::default();
    }
    let slower = verdict == HoursVerdict::Differ && hour.is_slower();
    let tone = if slower { Tone::Bad } else { Tone::Plain };
    Cell { value: Some(hour.speed.value), ..Cell::text(display_ratio(hour.speed.value)) }.tone(tone)
}

fn verdict_cell(step: &ByHour) -> Cell {
    match step.verdict {
        HoursVerdict::Differ => Cell::text("hours differ").tone(Tone::Bad),
        HoursVerdict::NotShown => Cell::text("no difference found"),
        HoursVerdict::TooFew { missing } => Cell::text(format!("too few runs, +{missing}")).tone(Tone::Open),
        HoursVerdict::OneHour => Cell::text("one hour only").tone(Tone::Dim),
    }
}

fn answer(target: &TargetByHour) -> String {
    let differ: Vec<&(String, ByHour)> =
        target.steps.iter().filter(|(_, s)| s.verdict == HoursVerdict::Differ).collect();
    let missing = target.steps.iter().filter_map(|(_, s)| match s.verdict {
        HoursVerdict::TooFew { missing } => Some(missing),
        _ => None,
    });
    let said = if !differ.is_empty() {
        let steps: Vec<String> = differ.iter().map(|(name, step)| slow_hours(name, step)).collect();
        format!(
            "{} is not equally fast at all hours: {}. Over all steps, at most one such answer in twenty is wrong.",
            target.target,
            steps.join("; ")
        )
    } else if target.steps.iter().all(|(_, s)| s.verdict == HoursVerdict::OneHour) {
        return "All these runs started in the same hour of the day, so hours cannot be compared.".into();
    } else if let Some(missing) = missing.max() {
        format!(
            "{}: there are too few runs to show whether the hours differ: about {missing} more, spread evenly over these \
    hours, could.",
            target.target
        )
    } else {
        format!("{}: no difference between the hours was found.", target.target)
    };
    let within = target.steps.iter().all(|(_, s)| s.within_days);
    let how = if within {
        "Hours are compared within days"
    } else {
        "Most days have runs at one hour only, so differences between days cannot be separated from those between \
    hours"
    };
    format!("{said} {how}.")
}

/// Which hours are slower by how much.
fn slow_hours(name: &str, step: &ByHour) -> String {
    let slower: Vec<String> = step
        .hours
        .iter()
        .filter(|h| h.is_slower())
        .filter_map(|h| {
            let (low, high) = h.speed.interval?;
            let [by, least, most] = [h.speed.value, high, low].map(|speed| display_percent(1.0 - speed));
            let hour = HOURS[usize::from(h.hour) % 24];
            Some(format!(
                "{by} slower at {hour} than at the other hours (95 %: {} to {most})",
                least.trim_end_matches(" %")
            ))
        })
        .collect();
    match slower.is_empty() {
        true => format!("{name} (no single hour stands out)"),
        false => format!("{name} is {}", slower.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Estimate;

    fn figure(hour: u8, value: f64, interval: (f64, f64)) -> HourFigure {
        HourFigure { hour, runs: 6, speed: Estimate { value, interval: Some(interval) } }
    }

    fn target(verdict: HoursVerdict) -> TargetByHour {
        let hours = vec![figure(8, 1.25, (1.1, 1.4)), figure(20, 0.8, (0.71, 0.91))];
        let step = ByHour { hours, within_days: true, p: 0.01, verdict };
        TargetByHour { target: "disk".into(), plan: "p".into(), runs: 12, steps: vec![("read".into(), step)] }
    }

    fn shown(verdict: HoursVerdict) -> String {
        let sections = by_hour_sections(&[target(verdict)]);
        let document = Document::new("t", sections);
        crate::markdown(&document)
    }

    #[test]
    fn slow_hours_are_named_with_how_much() {
        let text = shown(HoursVerdict::Differ);
        assert!(text.contains("| read | 1.25 | 0.80 | hours differ |"), "{text}");
        assert!(text.contains("| runs | 6 | 6 |"), "{text}");
        assert!(
            text.contains("read is 20 % slower at 20 h than at the other hours (95 %: 9.0 to 29 %)"),
            "{text}"
        );
        assert!(text.contains("within days"), "{text}");
    }

    #[test]
    fn nothing_is_claimed_that_was_not_found() {
        for (verdict, words) in [
            (HoursVerdict::NotShown, "no difference between the hours was found"),
            (HoursVerdict::TooFew { missing: 4 }, "about 4 more"),
            (HoursVerdict::OneHour, "hours cannot be compared"),
        ] {
            let text = shown(verdict);
            assert!(text.contains(words) && !text.contains("not equally fast"), "{text}");
        }
        assert_eq!(by_hour_sections(&[]), []);
    }

    #[test]
    fn hours_and_days_are_local() {
        let berlin = TimeZone::fixed(jiff::tz::offset(2));
        let evening = 23 * 3_600 * 1_000_000_000;
        assert_eq!(hour_and_day(evening, &TimeZone::UTC), (23, 0));
        assert_eq!(hour_and_day(evening, &berlin), (1, 1));
        assert_eq!(hour_and_day(-1, &TimeZone::UTC), (23, -1));
    }
}
