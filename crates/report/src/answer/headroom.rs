//! How much the storage carries: what the searches have found, in sentences and a table.

use analyse::{Headroom, Judgement};
use model::{Metric, Target};

use crate::answer::LONGEST_NAME;
use crate::answer::requirements::{figure_of, figure_with_interval, limit_of};
use crate::document::{Align, Cell, Column, Section, Table};
use crate::view::AnalysedRun;
use crate::words::{listed, short};

/// A load without digits that say nothing.
pub(crate) fn load_words(load: f64) -> String {
    let text = format!("{load:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A load with its unit, such as `64 members of etcd` or `1 member of etcd`.
fn loads(load: f64, unit: &str) -> String {
    let (first, rest) = unit.split_at(unit.find(' ').unwrap_or(unit.len()));
    let first = if load == 1.0 { first.strip_suffix('s').unwrap_or(first) } else { first };
    format!("{} {first}{rest}", load_words(load))
}

/// What a search has found, such as `64 members of etcd (96 are too many)`.
fn found(headroom: &Headroom) -> String {
    let Headroom { unit, carried, too_much, highest, .. } = headroom;
    match (carried, too_much) {
        (Some(most), Some(more)) => {
            format!("{} ({} are too many)", loads(*most, unit), load_words(*more))
        }
        (Some(most), None) if most == highest => {
            format!("{} (more were not tried)", loads(*most, unit))
        }
        (Some(most), None) => format!("at least {}", loads(*most, unit)),
        (None, Some(more)) if *more <= 1.0 => format!("no {unit}"),
        (None, Some(more)) => format!("fewer than {}", loads(*more, unit)),
        (None, None) => format!("{unit}: how many could not be decided"),
    }
}

/// What each target carries.
pub(crate) fn headroom_sentences(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let sentence = |target: &Target| {
        let own: Vec<&Headroom> =
            analysed.analysis.headrooms.iter().filter(|h| h.target == target.name).collect();
        let (told, open): (Vec<&Headroom>, Vec<&Headroom>) =
            own.into_iter().partition(|h| h.carried.is_some() || h.too_much.is_some());
        let name = short(&target.name, LONGEST_NAME);
        let told: Vec<String> = told.into_iter().map(found).collect();
        let carries = (!told.is_empty()).then(|| format!("{name} carries {}.", listed(&told)));
        let open: Vec<String> = open.into_iter().map(|h| h.unit.clone()).collect();
        let open = (!open.is_empty()).then(|| {
            format!("How many {} {name} carries could not be decided in the time available.", listed(&open))
        });
        carries.into_iter().chain(open).collect::<Vec<_>>()
    };
    if analysed.analysis.headrooms.is_empty() {
        return Vec::new();
    }
    analysed.run.started.targets.iter().flat_map(sentence).collect()
}

/// What is required of a load, besides that it is worked off.
fn latency(judgements: &[Judgement]) -> Option<&Judgement> {
    judgements.iter().find(|judgement| judgement.requirement.metric != Metric::Iops)
}

/// The latency under a load, with its interval.
pub(crate) fn figure_at(analysed: &AnalysedRun<'_>, headroom: &Headroom, load: Option<f64>) -> String {
    let tried = headroom.tried.iter().find(|(tried, _)| Some(*tried) == load);
    let judgement = tried.and_then(|(_, judgements)| latency(judgements));
    let figure = judgement.and_then(|j| Some((&j.requirement, j.figure?)));
    figure.map_or_else(|| "–".to_owned(), |(r, figure)| figure_with_interval(r, figure, analysed.view))
}

/// The table of what the targets carry.
pub(crate) fn headroom_section(analysed: &AnalysedRun<'_>) -> Option<Section> {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    if analysis.headrooms.is_empty() {
        return None;
    }
    let is_alone = run.started.targets.len() == 1;
    let (left, right) = (|name| Column::new(name, Align::Left), |name| Column::new(name, Align::Right));
    let mut columns = vec![left("load")];
    columns.extend((!is_alone).then(|| left("target")));
    let stub = columns.len();
    columns.extend([right("carried"), right("too many"), left("required"), right("when carried (95 %)")]);
    let number = |load: Option<f64>| Cell {
        value: load,
        ..Cell::text(load.map_or_else(|| "–".to_owned(), load_words))
    };
    let row = |headroom: &Headroom| {
        let required = headroom.tried.first().and_then(|(_, judgements)| latency(judgements));
        let required = required.map_or_else(String::new, |j| {
            format!("{} {}", figure_of(&j.requirement), limit_of(&j.requirement, view))
        });
        let mut cells = vec![Cell::text(headroom.unit.as_str())];
        cells.extend((!is_alone).then(|| Cell::text(short(&headroom.target, LONGEST_NAME))));
        cells.extend([
            number(headroom.carried),
            number(headroom.too_much),
            Cell::text(required),
            Cell::text(figure_at(analysed, headroom, headroom.carried)),
        ]);
        cells
    };
    let rows = analysis.headrooms.iter().map(row).collect();
    Some(Section::Table(Table { title: "How much it carries".to_owned(), columns, stub, rows }))
}
