//! Runs of one plan by the hour of the day, or the day of the week, at which they started.

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

/// Day of the week of a time, Monday 0, and the number of its local week.
pub fn weekday_and_week(unix_ns: i64, time_zone: &TimeZone) -> (u8, i64) {
    // The first day of 1970 was a Thursday.
    let since_monday = hour_and_day(unix_ns, time_zone).1 + 3;
    (u8::try_from(since_monday.rem_euclid(7)).unwrap_or_default(), since_monday.div_euclid(7))
}

/// What comes again, and in the times of which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// The hours of a day.
    Day,
    /// The days of a week.
    Week,
}

const HOURS: [&str; 24] = [
    "0 h", "1 h", "2 h", "3 h", "4 h", "5 h", "6 h", "7 h", "8 h", "9 h", "10 h", "11 h", "12 h", "13 h",
    "14 h", "15 h", "16 h", "17 h", "18 h", "19 h", "20 h", "21 h", "22 h", "23 h",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl Cycle {
    /// Which of its times a moment belongs to, and the number of its day or week.
    pub fn place(self, unix_ns: i64, time_zone: &TimeZone) -> (u8, i64) {
        match self {
            Self::Day => hour_and_day(unix_ns, time_zone),
            Self::Week => weekday_and_week(unix_ns, time_zone),
        }
    }

    fn time(self, number: u8) -> &'static str {
        match self {
            Self::Day => HOURS[usize::from(number) % 24],
            Self::Week => DAYS[usize::from(number) % 7],
        }
    }

    /// Its times, as they are called together.
    fn times(self) -> &'static str {
        match self {
            Self::Day => "hours",
            Self::Week => "days",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Day => "by hour of the day",
            Self::Week => "by day of the week",
        }
    }
}

/// The answer for each target, then the tables.
pub fn cycle_document(cycle: Cycle, runs: usize, targets: &[TargetByHour]) -> Document {
    Document {
        title: format!("{runs} runs {}", cycle.title()),
        answer: targets.iter().map(|target| answer(cycle, target)).collect(),
        sections: targets.iter().map(|target| Section::Table(table(cycle, target))).collect(),
    }
}

/// A table and an answer for each target.
pub fn by_hour_sections(targets: &[TargetByHour]) -> Vec<Section> {
    let mut sections = Vec::new();
    for target in targets {
        if sections.is_empty() {
            sections.push(Section::Heading("By hour of the day".into()));
        }
        sections.push(Section::Table(table(Cycle::Day, target)));
        sections.push(Section::Text(answer(Cycle::Day, target)));
    }
    sections
}

/// A row for each step, a column for each hour.
fn table(cycle: Cycle, target: &TargetByHour) -> Table {
    let hours: &[HourFigure] = target.steps.first().map_or(&[], |(_, step)| &step.hours);
    let mut columns = vec![Column::new("step", Align::Left)];
    columns.extend(hours.iter().map(|h| Column::new(cycle.time(h.hour), Align::Right)));
    columns.push(Column::new("verdict", Align::Left));
    let mut runs = vec![Cell::text("runs")];
    runs.extend(hours.iter().map(|h| Cell::text(h.runs.to_string())));
    runs.push(Cell::default());
    let row = |(name, step): &(String, ByHour)| {
        let mut row = vec![Cell::text(name.clone())];
        row.extend(step.hours.iter().map(|h| speed_cell(h, step.verdict)));
        row.push(verdict_cell(cycle, step));
        row
    };
    let rows = std::iter::once(runs).chain(target.steps.iter().map(row)).collect();
    let (on, time) = if cycle == Cycle::Day { ("at", "hour") } else { ("on", "day") };
    let title = format!(
        "{}: speed {on} each {time} ÷ speed {on} the other {time}s, {} runs",
        target.target, target.runs
    );
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

fn verdict_cell(cycle: Cycle, step: &ByHour) -> Cell {
    match step.verdict {
        HoursVerdict::Differ => Cell::text(format!("{} differ", cycle.times())).tone(Tone::Bad),
        HoursVerdict::NotShown => Cell::text("no difference found"),
        HoursVerdict::TooFew { missing } => Cell::text(format!("too few runs, +{missing}")).tone(Tone::Open),
        HoursVerdict::OneHour => {
            Cell::text(format!("one {} only", cycle.times().trim_end_matches('s'))).tone(Tone::Dim)
        }
    }
}

fn answer(cycle: Cycle, target: &TargetByHour) -> String {
    let times = cycle.times();
    let differ: Vec<&(String, ByHour)> =
        target.steps.iter().filter(|(_, s)| s.verdict == HoursVerdict::Differ).collect();
    let missing = target.steps.iter().filter_map(|(_, s)| match s.verdict {
        HoursVerdict::TooFew { missing } => Some(missing),
        _ => None,
    });
    let said = if !differ.is_empty() {
        let steps: Vec<String> = differ.iter().map(|(name, step)| slow_times(cycle, name, step)).collect();
        let at_all = if cycle == Cycle::Day { "at all hours" } else { "on all days of the week" };
        format!(
            "{} is not equally fast {at_all}: {}. Over all steps, at most one such answer in twenty is wrong.",
            target.target,
            steps.join("; ")
        )
    } else if target.steps.iter().all(|(_, s)| s.verdict == HoursVerdict::OneHour) {
        return match cycle {
            Cycle::Day => {
                "All these runs started in the same hour of the day, so hours cannot be compared.".into()
            }
            Cycle::Week => {
                "All these runs started on the same day of the week, so days cannot be compared.".into()
            }
        };
    } else if let Some(missing) = missing.max() {
        format!(
            "{}: there are too few runs to show whether the {times} differ: about {missing} more, spread evenly over \
             these {times}, could.",
            target.target
        )
    } else {
        format!("{}: no difference between the {times} was found.", target.target)
    };
    let within = target.steps.iter().all(|(_, s)| s.within_days);
    let how = match (cycle, within) {
        (Cycle::Day, true) => "Hours are compared within days",
        (Cycle::Week, true) => "Days are compared within weeks",
        (Cycle::Day, false) => {
            "Most days have runs at one hour only, so differences between days cannot be separated from those between \
             hours"
        }
        (Cycle::Week, false) => {
            "Most weeks have runs on one day only, so differences between weeks cannot be separated from those between \
             the days of a week"
        }
    };
    format!("{said} {how}.")
}

/// Which hours or days are slower by how much.
fn slow_times(cycle: Cycle, name: &str, step: &ByHour) -> String {
    let slower: Vec<String> = step
        .hours
        .iter()
        .filter(|h| h.is_slower())
        .filter_map(|h| {
            let (low, high) = h.speed.interval?;
            let [by, least, most] = [h.speed.value, high, low].map(|speed| display_percent(1.0 - speed));
            let when = match cycle {
                Cycle::Day => format!("at {} than at the other hours", cycle.time(h.hour)),
                Cycle::Week => format!("on {}s than on the other days", cycle.time(h.hour)),
            };
            Some(format!("{by} slower {when} (95 %: {} to {most})", least.trim_end_matches(" %")))
        })
        .collect();
    match slower.is_empty() {
        true => format!("{name} (no single {} stands out)", cycle.times().trim_end_matches('s')),
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
    fn days_of_the_week_have_their_own_words() {
        let text = |verdict| crate::markdown(&cycle_document(Cycle::Week, 12, &[target(verdict)]));
        let differ = text(HoursVerdict::Differ);
        // The made hours 8 and 20 are a Tuesday and a Sunday.
        assert!(
            differ.contains("on all days of the week: read is 20 % slower on Sundays than on the other days")
        );
        assert!(differ.contains("| days differ |") && differ.contains("within weeks"), "{differ}");
        assert!(text(HoursVerdict::TooFew { missing: 4 }).contains("spread evenly over these days"));
    }

    #[test]
    fn hours_and_days_are_local() {
        let berlin = TimeZone::fixed(jiff::tz::offset(2));
        let evening = 23 * 3_600 * 1_000_000_000;
        assert_eq!(hour_and_day(evening, &TimeZone::UTC), (23, 0));
        assert_eq!(hour_and_day(evening, &berlin), (1, 1));
        assert_eq!(hour_and_day(-1, &TimeZone::UTC), (23, -1));
        // 1970-01-01 was a Thursday, and the Monday after it began a week.
        assert_eq!(weekday_and_week(0, &TimeZone::UTC), (3, 0));
        assert_eq!(weekday_and_week(4 * 86_400_000_000_000, &TimeZone::UTC), (0, 1));
        assert_eq!(weekday_and_week(-4 * 86_400_000_000_000, &TimeZone::UTC), (6, -1));
    }
}
