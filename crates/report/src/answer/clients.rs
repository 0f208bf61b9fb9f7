//! Clients that work together on one storage: how it scales with their number, how evenly they share it, and how exactly they
//! began at one moment.

use analyse::{ClientShare, Clients, Curve, ENOUGH, Knee, Shares, Starts, headline_operations};
use model::{Operation, Step};

use crate::answer::decided::times;
use crate::answer::{LONGEST_NAME, TOLD};
use crate::document::{Align, Cell, Column, Section, Table};
use crate::figures::{display_ns, display_percent, display_ratio};
use crate::frame::Frame;
use crate::view::AnalysedRun;
use crate::words::{figure_name, figure_words, listed, short};

/// Clients that share this evenly are not worth a sentence.
const FAIR: f64 = 0.95;

/// The sentences of a run whose targets are clients that work together; none of another run.
pub(crate) fn client_sentences(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let Some(clients) = &analysed.analysis.clients else { return Vec::new() };
    let words = |step: &str, operation: Operation| {
        Some(figure_words(analysed.run.started.plan.step(step)?, operation))
    };
    let mut sentences = Vec::new();
    let mut knees: Vec<(Knee, Vec<&Curve>)> = Vec::new();
    for curve in &clients.curves {
        let is_alike =
            |other: &Curve| (other.knee, other.falls_to.is_some()) == (curve.knee, curve.falls_to.is_some());
        match knees.iter_mut().find(|(_, curves)| is_alike(curves[0])) {
            Some((_, alike)) => alike.push(curve),
            None => knees.push((curve.knee, vec![curve])),
        }
    }
    // What is known comes before what is not.
    knees.sort_by_key(|(knee, _)| matches!(knee, Knee::Between(..)));
    for (knee, curves) in &knees {
        let figures: Vec<String> = curves.iter().filter_map(|c| words(&c.step, c.operation)).collect();
        sentences.push(knee_sentence(*knee, curves, &figures));
    }
    if knees.is_empty() {
        sentences.extend(together(analysed));
    }
    sentences.extend(least_fair(analysed, clients, words));
    sentences
}

/// What the clients of the only target do together.
fn together(analysed: &AnalysedRun<'_>) -> Option<String> {
    let frame = Frame::of_run(analysed.run, analysed.analysis, analysed.view);
    let target = analysed.run.started.targets.first()?;
    let of = |step: &Step, operation: Operation| {
        let figure = frame.step(step).headline(&target.name, operation).text;
        (!figure.is_empty()).then(|| format!("{figure} at {}", figure_words(step, operation)))
    };
    let steps = analysed.run.started.plan.steps.iter();
    let all =
        steps.flat_map(|step| headline_operations(step).into_iter().map(move |operation| (step, operation)));
    let figures: Vec<String> = all.filter_map(|(step, operation)| of(step, operation)).take(TOLD).collect();
    let name = short(&target.name, LONGEST_NAME);
    (!figures.is_empty()).then(|| format!("{name} together do {}.", listed(&figures)))
}

fn knee_sentence(knee: Knee, curves: &[&Curve], figures: &[String]) -> String {
    let figures = match figures {
        many if many.len() > 4 => format!("{} figures", many.len()),
        few => listed(few),
    };
    let most = display_percent(ENOUGH);
    match knee {
        Knee::Beyond(count) => {
            let gains: Vec<f64> = curves.iter().filter_map(|curve| gain(curve)).collect();
            let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = gains.iter().copied().fold(0.0, f64::max);
            let gain = match (times(least), times(greatest)) {
                (low, high) if low == high => high,
                (low, high) => format!("{low} to {high}"),
            };
            let first = curves[0].points[0].0;
            format!(
                "At {figures} the throughput grows up to {}: {gain} times that of {}.",
                count_words(count),
                count_words(first)
            )
        }
        Knee::At(count) => {
            let have = if count == 1 { "has" } else { "have" };
            let least = curves.iter().filter_map(|curve| curve.falls_to).fold(f64::INFINITY, f64::min);
            let more = match curves[0].points.last() {
                Some((most, ..)) if least < 1.0 => {
                    format!("{} have {}", count_words(*most), down_to(least, curves.len()))
                }
                _ => "more gain little".to_owned(),
            };
            format!(
                "At {figures} {} {have} {most} or more of the highest throughput; {more}.",
                count_words(count)
            )
        }
        Knee::Between(from, to) => format!(
            "At {figures}, {from} to {to} clients are needed for {most} of the highest throughput; the exact number is undecided."
        ),
    }
}

/// What is left of the highest throughput, in one figure or in the worst of several.
fn down_to(share: f64, figures: usize) -> String {
    let share = display_percent(share);
    if figures == 1 { format!("only {share} of it") } else { format!("less, down to {share} of it") }
}

/// How many times the throughput of the fewest clients the most have.
fn gain(curve: &Curve) -> Option<f64> {
    Some(curve.points.last()?.2 / curve.points.first()?.2)
}

fn count_words(count: u32) -> String {
    format!("{count} client{}", if count == 1 { "" } else { "s" })
}

/// The figure that clients share least evenly, if they do not share it evenly.
fn least_fair(
    analysed: &AnalysedRun<'_>,
    clients: &Clients,
    words: impl Fn(&str, Operation) -> Option<String>,
) -> Option<String> {
    let unfair = clients.shares.iter().filter(|shares| shares.fairness < FAIR);
    let worst = unfair.min_by(|a, b| a.fairness.total_cmp(&b.fairness))?;
    let (slowest, fastest) = extremes(worst)?;
    let name = |client: &ClientShare| analysed.run.started.machine_name(client.host);
    Some(format!(
        "The clients do not share evenly: at {} with {}, {} did {} of the work and {} {}.",
        words(&worst.step, worst.operation)?,
        count_words(worst.clients.len() as u32),
        short(name(fastest), LONGEST_NAME),
        display_percent(fastest.share),
        short(name(slowest), LONGEST_NAME),
        display_percent(slowest.share)
    ))
}

/// The clients that did least and most.
fn extremes(shares: &Shares) -> Option<(&ClientShare, &ClientShare)> {
    let by_share = |a: &&ClientShare, b: &&ClientShare| a.share.total_cmp(&b.share);
    Some((shares.clients.iter().min_by(by_share)?, shares.clients.iter().max_by(by_share)?))
}

/// How the most clients share each figure, and how exactly all began at one moment; with `all` for every number of clients.
pub(crate) fn client_sections(analysed: &AnalysedRun<'_>, all: bool) -> Vec<Section> {
    let Some(clients) = &analysed.analysis.clients else { return Vec::new() };
    let targets = &analysed.run.started.targets;
    let most = targets.iter().max_by_key(|target| target.clients.len());
    let shown = targets.iter().filter(|target| target.clients.len() > 1);
    let shown = shown.filter(|target| all || most.is_some_and(|most| most.name == target.name));
    let mut sections: Vec<Section> = shown
        .filter_map(|target| shares_table(analysed, clients, &target.name, target.clients.len()))
        .map(Section::Table)
        .collect();
    sections.extend(starts_line(&clients.starts).map(Section::Text));
    sections
}

fn shares_table(analysed: &AnalysedRun<'_>, clients: &Clients, target: &str, count: usize) -> Option<Table> {
    let headings = ["slowest client", "share", "fastest client", "share", "fairness", "worst p99"];
    let align = [Align::Left, Align::Right, Align::Left, Align::Right, Align::Right, Align::Right];
    let mut columns = vec![Column::new("", Align::Left)];
    columns.extend(headings.into_iter().zip(align).map(|(heading, align)| Column::new(heading, align)));
    let name = |client: &ClientShare| short(analysed.run.started.machine_name(client.host), LONGEST_NAME);
    let row = |step: &Step, shares: &Shares| {
        let (slowest, fastest) = extremes(shares)?;
        let share = |client: &ClientShare| Cell {
            value: Some(client.share),
            ..Cell::text(display_percent(client.share))
        };
        let p99 = shares.clients.iter().filter_map(|client| client.p99_ns).max();
        let p99 = p99.map_or_else(Cell::default, |ns| Cell {
            value: Some(ns as f64),
            ..Cell::text(display_ns(ns as f64))
        });
        let fairness = Cell { value: Some(shares.fairness), ..Cell::text(display_ratio(shares.fairness)) };
        Some(vec![
            Cell::text(figure_name(step, shares.operation)),
            Cell::text(name(slowest)),
            share(slowest),
            Cell::text(name(fastest)),
            share(fastest),
            fairness,
            p99,
        ])
    };
    let of_target = clients.shares.iter().filter(|shares| shares.target == target);
    let rows: Vec<Vec<Cell>> =
        of_target.filter_map(|shares| row(analysed.run.started.plan.step(&shares.step)?, shares)).collect();
    let title = format!(
        "How {} share the work: even would be {} each, and fairness 1",
        count_words(count as u32),
        display_percent(1.0 / count as f64)
    );
    (!rows.is_empty()).then_some(Table { title, columns, stub: 1, rows })
}

/// How far apart clients began and ended: those of the target whose starts were farthest apart.
fn starts_line(starts: &[Starts]) -> Option<String> {
    let worst = starts.iter().max_by_key(|starts| starts.skew_ns)?;
    let of = match starts {
        [_] => "The".to_owned(),
        _ => format!("{}: the", short(&worst.target, LONGEST_NAME)),
    };
    Some(format!(
        "{of} clients began within {} of each other (median of {} repeats; at most {}), known to within {}; the last to end \
         was {} after the first (median). What counts is the time in which all measured.",
        display_ns(worst.skew_ns as f64),
        worst.repeats,
        display_ns(worst.most_skew_ns as f64),
        display_ns(worst.within_ns as f64),
        display_ns(worst.ends_ns as f64)
    ))
}
