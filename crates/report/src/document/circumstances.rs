//! Differences between the circumstances of runs.

use analyse::{ABSENT, Difference, differences};
use model::fact::FactUnit;
use model::units::ExactSize;
use model::{Run, fact};

use crate::document::{Align, Cell, Column, Section, Table};
use crate::figures::{Units, display_bytes, display_hz};
use crate::layer_words::bits_words;

/// Each run compared with the first.
pub(crate) fn circumstances_sections(runs: &[&Run], units: Units) -> Vec<Section> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut sections = Vec::new();
    let mut alike = Vec::new();
    for other in others {
        let found = differences(first, other);
        if found.is_empty() {
            alike.push(other.started.id.as_str());
        } else {
            sections.push(Section::Table(table(first, other, &found, units)));
        }
    }
    if !alike.is_empty() {
        sections.push(Section::Heading("Circumstances".into()));
        let text = format!(
            "The recorded circumstances of {} and {} do not differ.",
            first.started.id,
            alike.join(", ")
        );
        sections.push(Section::Text(text));
    }
    sections
}

fn table(first: &Run, other: &Run, found: &[Difference], units: Units) -> Table {
    let rows = found.iter().map(|d| {
        let of = [d.target.as_deref(), d.layer.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let of = if of.is_empty() { "machine".to_owned() } else { of.join(" · ") };
        let value = |text: &str| Cell::text(in_words(&d.what, text, units));
        vec![Cell::text(of), Cell::text(title(&d.what)), value(&d.before), value(&d.after)]
    });
    Table {
        title: format!("Circumstances: {} → {}", first.started.id, other.started.id),
        columns: vec![
            Column::new("of", Align::Left),
            Column::joined("what", Align::Left),
            Column::joined("before", Align::Left),
            Column::joined("after", Align::Left),
        ],
        stub: 1,
        rows: rows.collect(),
    }
}

/// A difference in words, such as `the kernel went from 6.6 to 6.12`.
pub(crate) fn difference_words(d: &Difference, units: Units) -> String {
    let of = [d.layer.as_deref(), d.target.as_deref()].into_iter().flatten().next();
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    let value = |text: &str| in_words(&d.what, text, units);
    let title = title(&d.what);
    let the = if d.what == "version" { "" } else { "the " };
    format!("{the}{title}{of} went from {} to {}", value(&d.before), value(&d.after))
}

fn title(what: &str) -> String {
    match what {
        "version" => "Lodestone".to_owned(),
        fact::OPTIONS => "mount options".to_owned(),
        fact::TEMPERATURE => "temperature at the start".to_owned(),
        what => what.to_owned(),
    }
}

/// The value of a fact with its unit.
fn in_words(what: &str, value: &str, units: Units) -> String {
    let unit = match what {
        "memory" => FactUnit::Bytes,
        what => fact::known(what).map_or(FactUnit::None, |fact| fact.unit),
    };
    match (unit, value.parse::<f64>().ok()) {
        (FactUnit::Bytes, Some(n)) => display_bytes(n as u64, units),
        (FactUnit::ExactBytes, Some(n)) => ExactSize(n as u64).to_string(),
        (FactUnit::BitsPerSecond, Some(n)) => bits_words(n as u64),
        (FactUnit::Hertz, Some(n)) => display_hz(n),
        (FactUnit::Celsius, Some(_)) => format!("{value} °C"),
        (FactUnit::Revolutions, Some(_)) => format!("{value} rpm"),
        (FactUnit::List, _) if value.is_empty() => "–".to_owned(),
        (FactUnit::List, _) => value.replace(',', ", "),
        _ if value == ABSENT => "–".to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_units() {
        let told = |what, value| in_words(what, value, Units::Decimal);
        assert_eq!(told(fact::LINK_SPEED, "480000000"), "480 Mb/s");
        assert_eq!(told(fact::READ_AHEAD, "131072"), "128 KiB");
        assert_eq!(told(fact::DIRTY_LIMIT, "20 %"), "20 %");
        assert_eq!(told(fact::HIGHEST_CLOCK, "1800000000"), "1.80 GHz");
        assert_eq!(told(fact::OPTIONS, ""), "–");
        assert_eq!(told(fact::VIRTUALISATION, "no"), "–");
        assert_eq!(told(fact::SCHEDULER, "none"), "none");
    }
}
