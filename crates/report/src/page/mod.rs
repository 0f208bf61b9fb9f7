//! A report as one HTML file: its style, script, charts and data are inside, and nothing is fetched.

use analyse::{Pairing, Series};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::{Candidate, Inventory, Severity, Target};

use crate::answer::answers;
use crate::answer::headroom::headroom_section;
use crate::answer::requirements::requirement_sections;
use crate::chart::{Chart, charts, history, requirement_charts, style};
use crate::document::pairs::AllPairs;
use crate::document::remarks::remarks;
use crate::document::run::{circumstances, figure_sections};
use crate::document::tables::{overview_table, step_table};
use crate::document::text::TextStyle;
use crate::document::{Align, Cell, Column, Document, Section, Table, Tone, imported};
use crate::export::json::run_export;
use crate::export::offsets::has_offsets;
use crate::frame::Frame;
use crate::health::{Condition, health, health_sections};
use crate::targets::targets_text;
use crate::terminal::{escape_json, escape_text};
use crate::view::{AnalysedRun, when};
use crate::words::{command, short};

pub(crate) const PAGE_STYLE: &str = include_str!("page.css");
pub(crate) const SCRIPT: &str = include_str!("page.js");
/// What the overview's figures are.
const FIGURE_WORDS: &str = "The figure is the bandwidth; of small random transfers and of metadata, operations per second; of a fixed load, the p99 latency.";
/// What its ratios are, where there are several targets.
const RATIO_WORDS: &str = "Ratios are to the baseline, with their 95 % interval.";
/// Tables with more columns than this become a card for each row on a telephone.
const MOST_SIDE_BY_SIDE: usize = 3;
/// Tables with more columns than this have less room between them.
const MOST_AT_EASE: usize = 10;
/// Row names longer than this are wrapped.
const LONG_NAME: usize = 20;
/// Charts of a kind shown without unfolding.
const SHOWN_CHARTS: usize = 2;
/// Nothing may be fetched, whatever a name contains.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The page of one run: the answer, the tables, the findings, the charts, the circumstances, how to repeat it.
pub fn run_page(analysed: &AnalysedRun<'_>) -> String {
    let title = run_title(analysed);
    let body = html! {
        (header(&title, &answers(analysed)))
        main { (run_section(analysed, 2)) }
    };
    whole(&title, &body)
}

/// The page of several runs: their comparison, then each run.
pub fn runs_page(runs: &[AnalysedRun<'_>], comparison: &Document) -> String {
    let over_time = history(runs);
    let body = html! {
        (header(&comparison.title, &comparison.answer))
        main {
            section {
                h2 { "Comparison" }
                (sections(&comparison.sections, 3))
                @if !over_time.is_empty() {
                    h3 { "Charts" }
                    (all_charts(&over_time, 4))
                }
            }
            @for analysed in runs {
                section {
                    h2 { (run_title(analysed)) }
                    @for text in answers(analysed) { p { (text) } }
                    (run_section(analysed, 3))
                }
            }
        }
    };
    whole(&comparison.title, &body)
}

/// A page of charts, grouped under headings.
pub fn gallery_page(title: &str, words: &str, parts: &[(String, Vec<Chart>)]) -> String {
    let body = html! {
        (header(title, &[words.to_owned()]))
        main {
            @for (heading, charts) in parts {
                section {
                    h2 { (heading) }
                    @for chart in charts { (figure(chart, 3)) }
                }
            }
        }
    };
    whole(title, &body)
}

pub(crate) fn run_title(analysed: &AnalysedRun<'_>) -> String {
    let started = &analysed.run.started;
    let at = when(started.started_unix_ns, &analysed.view.time_zone);
    if analysed.run.is_imported() {
        return format!("Run {} · imported {at}", started.id);
    }
    // An anonymised run has no host name.
    let host = Some(started.machine_names()).filter(|names| !names.is_empty());
    let host = host.map_or_else(String::new, |names| format!(" · {names}"));
    format!("Run {} · suite {}{host} · {at}", started.id, started.plan.suite)
}

/// The whole file. Control and invisible characters are escaped, such as `\u{202e}`.
fn whole(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, POLICY, &html! { style { (PreEscaped(style())) (PreEscaped(PAGE_STYLE)) } }))
            body {
                (body)
                div #tip role="status" {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    format!("{}\n", escape_text(&page.into_string()))
}

/// The head of a page of this title, with what may be fetched and its style.
pub(crate) fn head(title: &str, policy: &str, style: &Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="generator" content="Lodestone";
            link rel="icon" href="data:,";
            title { (short(title, 120)) }
            (style)
        }
    }
}

pub(crate) fn header(title: &str, answers: &[String]) -> Markup {
    html! {
        header {
            h1 { (short(title, 300)) }
            div.answer { @for answer in answers { p { (answer) } } }
        }
    }
}

/// The charts on the page of a run. Of those that show all its figures it has only one: the one in which their pattern is seen
/// best.
pub fn page_charts(analysed: &AnalysedRun<'_>) -> Vec<Chart> {
    /// Of more targets than these, bars are too many for a pattern to be seen.
    const FEW: usize = 4;
    const ALL_FIGURES: [&str; 4] = ["labels", "matrix", "profile", "bars"];
    let mut all = charts(analysed);
    let has = |kind: &&str| all.iter().any(|chart| chart.kind == *kind);
    let targets = analysed.run.started.targets.len();
    let is_best = |kind: &&str| match *kind {
        "matrix" => targets > FEW,
        "profile" => targets == 1,
        _ => true,
    };
    let best = ALL_FIGURES.into_iter().filter(has).find(is_best);
    all.retain(|chart| !ALL_FIGURES.contains(&chart.kind) || Some(chart.kind) == best);
    // It is above the figures.
    all.retain(|chart| !["requirements", "headroom"].contains(&chart.kind));
    all
}

/// Everything of a run below its answer, with headings of the given level.
pub(crate) fn run_section(analysed: &AnalysedRun<'_>, level: u8) -> Markup {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    let id = format!("run-{}", safe_id(&run.started.id));
    let several = run.started.targets.len() > 1;
    let pictures = page_charts(analysed);
    let facts =
        if run.is_imported() { imported::facts(run, analysis) } else { circumstances(run, analysis, view) };
    html! {
        section {
            (good_enough(analysed, level))
            (heading(level, if several { "Comparison" } else { "Figures" }))
            (figures(analysed, level + 1))
            (findings(analysed, level))
            @if !pictures.is_empty() {
                (heading(level, "Charts"))
                (toggles(&run.started.targets, &pictures))
                (all_charts(&pictures, level + 1))
            }
            (heading(level, "Circumstances"))
            (sections(&[Section::Facts(facts)], level + 1))
            (disk_health(analysed, level + 1))
            (stacks(analysed))
            (repeat(analysed, level, &id))
            (data(analysed, &id))
        }
    }
}

/// What was required, with its picture.
fn good_enough(analysed: &AnalysedRun<'_>, level: u8) -> Markup {
    let mut tables = requirement_sections(analysed);
    tables.extend(headroom_section(analysed));
    html! {
        @if !tables.is_empty() {
            (heading(level, "Good enough?"))
            @for chart in requirement_charts(analysed) { (figure(&chart, level + 1)) }
            (sections(&tables, level + 1))
        }
    }
}

/// The table of the answer, and behind a fold all figures.
fn figures(analysed: &AnalysedRun<'_>, level: u8) -> Markup {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    let frame = Frame::of_run(run, analysis, view);
    let steps = frame.steps.iter().filter_map(|step| step_table(&frame, step));
    let is_alone = run.started.targets.len() == 1;
    let series = Series::of_run(run, &analysis.measurements);
    let plan = &run.started.plan;
    let pairs = AllPairs::on_page(vec![run], &series, Pairing::within(plan), plan.margin());
    let overview = overview_table(&frame).filter(|_| !is_alone);
    html! {
        (sections(&figure_sections(analysed), level))
        p.small { (FIGURE_WORDS) }
        details {
            summary { "All figures of every step" }
            @if let Some(overview) = &overview {
                (table(overview))
                p.small { (RATIO_WORDS) }
            }
            @for step in steps { (table(&step)) }
        }
        @if let Some(pairs) = pairs {
            details {
                summary { "Every pair of targets" }
                (sections(&pairs, level + 1))
            }
        }
    }
}

fn heading(level: u8, text: &str) -> Markup {
    match level {
        2 => html! { h2 { (text) } },
        3 => html! { h3 { (text) } },
        _ => html! { h4 { (text) } },
    }
}

/// The most important finding of each kind, and all of them behind a fold.
fn findings(analysed: &AnalysedRun<'_>, level: u8) -> Markup {
    let AnalysedRun { run, analysis, .. } = *analysed;
    let [first, all] = [false, true].map(|all| remarks(run, &analysis.findings, all));
    let first: Vec<Section> = first.into_iter().filter(|s| matches!(s, Section::Remark { .. })).collect();
    html! {
        @if !first.is_empty() {
            (heading(level, "Findings"))
            (sections(&first, level + 1))
        }
        @if first != all {
            details {
                summary { "All " (all.len()) " findings" }
                (sections(&all, level + 1))
            }
        }
    }
}

/// The buttons that show and hide targets in the charts.
fn toggles(targets: &[Target], charts: &[Chart]) -> Markup {
    let has_marks = |(i, _): &(usize, &Target)| {
        let mark = format!(" data-t=\"{i}\"");
        charts.iter().any(|chart| chart.wide.contains(&mark) && chart.narrow.contains(&mark))
    };
    let marked: Vec<(usize, &Target)> = targets.iter().enumerate().filter(has_marks).collect();
    html! {
        @if marked.len() > 1 {
            div.tools role="group" aria-label="Targets in the charts" {
                @for (i, target) in marked {
                    button.chart.{ "c" (i % 8) } type="button" aria-pressed="true" data-target=(i) {
                        (short(&target.name, 60))
                    }
                }
            }
        }
    }
}

/// All charts in their order; of a kind with many, all but the first are behind a fold.
fn all_charts(charts: &[Chart], level: u8) -> Markup {
    html! {
        @for of_kind in charts.chunk_by(|a, b| a.kind == b.kind) {
            @let shown = if of_kind.len() > SHOWN_CHARTS + 1 { SHOWN_CHARTS } else { of_kind.len() };
            @let (first, others) = of_kind.split_at(shown);
            @for chart in first { (figure(chart, level)) }
            @if !others.is_empty() {
                details {
                    summary {
                        (of_kind[0].title.split(" (").next().unwrap_or_default()) ": "
                        (others.len()) " more charts"
                    }
                    @for chart in others { (figure(chart, level)) }
                }
            }
        }
    }
}

pub(crate) fn figure(chart: &Chart, level: u8) -> Markup {
    html! {
        figure data-kind=(chart.kind) data-name=(chart.name) {
            (heading(level, &chart.title))
            (chart.wide) (chart.narrow)
            figcaption { (chart.caption) }
        }
    }
}

/// The health of the disks below the targets, if one of them says something.
fn disk_health(analysed: &AnalysedRun<'_>, level: u8) -> Markup {
    let layers = analysed.run.started.targets.iter().flat_map(|target| &target.stack);
    let all = health(layers, analysed.view.units);
    if all.iter().all(|health| health.condition == Condition::Unknown) {
        return html! {};
    }
    html! { (heading(level, "Health of the disks")) (sections(&health_sections(&all), level + 1)) }
}

/// The layers below each target, as `lodestone targets` shows them.
fn stacks(analysed: &AnalysedRun<'_>) -> Markup {
    let started = &analysed.run.started;
    let candidate = |target: &Target| Candidate {
        path: target.path.clone(),
        also: Vec::new(),
        kind: target.kind,
        size_bytes: (target.size_bytes > 0).then_some(target.size_bytes),
        free_bytes: (target.free_bytes > 0).then_some(target.free_bytes),
        remark: None,
        stack: target.stack.clone(),
    };
    let on = |machine: u32| {
        let there = started.targets.iter().filter(|t| t.host == machine && !t.stack.is_empty());
        (machine, there.map(candidate).collect::<Vec<_>>())
    };
    let trees = started.machines().into_iter().map(on).filter(|(_, candidates)| !candidates.is_empty());
    let style = TextStyle { width: 110, color: false };
    let tree = |(machine, candidates)| {
        let host = started.machine(machine).clone();
        let inventory = Inventory { host, candidates, left_out: 0, unseen: Vec::new() };
        targets_text(&inventory, analysed.view.units, style).to_string().trim_end().to_owned()
    };
    let trees: Vec<String> = trees.map(tree).collect();
    html! {
        @if !trees.is_empty() {
            pre.stacks tabindex="0" aria-label="Stacks" { (trees.join("\n\n")) }
        }
    }
}

fn repeat(analysed: &AnalysedRun<'_>, level: u8, id: &str) -> Markup {
    let (title, words) = if analysed.run.is_imported() {
        ("How it was imported", "The same files, imported in the same way with Lodestone ")
    } else {
        ("How to repeat it", "The same work in the same order on the same targets, with Lodestone ")
    };
    html! {
        (heading(level, title))
        p { (words) (analysed.run.started.version) ":" }
        pre id={ (id) "-command" } { (command(analysed.run)) }
        div.tools { button type="button" data-copy={ (id) "-command" } { "Copy the command" } }
    }
}

/// The run's data with the buttons that download them.
fn data(analysed: &AnalysedRun<'_>, id: &str) -> Markup {
    let json = run_export(analysed);
    let csv = crate::csv(analysed.run, &analysed.analysis.measurements);
    let data = harmless_json(&serde_json::json!({ "json": json, "csv": csv }).to_string());
    let name = safe_id(&analysed.run.started.id);
    // The script makes the CSV of the offsets from the JSON, which contains them.
    let offsets =
        has_offsets(analysed.run).then_some(("offsets", "-offsets.csv", "Download the offsets as CSV"));
    let forms = [("json", ".json", "Download the data as JSON"), ("csv", ".csv", "Download the data as CSV")];
    html! {
        div.tools role="group" aria-label="Data of this page" {
            @for (form, end, words) in forms.into_iter().chain(offsets) {
                button type="button" data-download={ (id) "-data" } data-form=(form)
                    data-name={ "lodestone-" (name) (end) } { (words) }
            }
        }
        script #{ (id) "-data" } type="application/json" { (PreEscaped(data)) }
    }
}

/// JSON that cannot end the script element that holds it: without `<`, control and invisible characters.
pub(crate) fn harmless_json(json: &str) -> String {
    escape_json(json).replace('<', "\\u003c")
}

/// Letters, digits and dashes of a text: a log may claim any id.
fn safe_id(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
}

pub(crate) fn sections(sections: &[Section], level: u8) -> Markup {
    let is_remark = |section: &Section| matches!(section, Section::Remark { .. });
    html! {
        @for group in sections.chunk_by(|a, b| is_remark(a) == is_remark(b)) {
            @if is_remark(&group[0]) {
                ul.remarks { @for remark in group { (section(remark, level)) } }
            } @else {
                @for part in group { (section(part, level)) }
            }
        }
    }
}

fn section(section: &Section, level: u8) -> Markup {
    match section {
        Section::Heading(text) => heading(level, text),
        Section::Text(text) => html! { @if !text.is_empty() { p { (text) } } },
        Section::Facts(facts) => html! {
            dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        },
        Section::Table(of) => table(of),
        Section::Folded { summary, sections: folded } => html! {
            details {
                summary { (summary) }
                (sections(folded, level))
            }
        },
        Section::Remark { severity, about, message, advice } => {
            let class = match severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            html! {
                li class=(class) {
                    b { (severity.name()) } " " (about) ": " (message)
                    @if let Some(advice) = advice { " " span.advice { "→ " (advice) } }
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let is_right = |i: usize| table.columns[i].align == Align::Right;
    let shown: Vec<usize> = (0..table.columns.len()).filter(|i| !table.columns[*i].is_mark()).collect();
    let mark = |row: &[Cell], i: usize| {
        let is_mark = table.columns.get(i + 1).is_some_and(Column::is_mark);
        row.get(i + 1).filter(|_| is_mark).cloned()
    };
    html! {
        div.scroll role="region" tabindex="0" aria-label=(table.title) {
            table.cards[shown.len() > MOST_SIDE_BY_SIDE].dense[shown.len() > MOST_AT_EASE] {
                caption { (table.title) }
                thead {
                    tr {
                        @for i in &shown {
                            @let column = &table.columns[*i];
                            @let is_marked = table.columns.get(i + 1).is_some_and(Column::is_mark);
                            th.right[is_right(*i)].spare[column.spare].marked[is_marked] scope="col" { (column.heading) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for i in shown.iter().copied().filter(|i| *i < row.len()) {
                                @if i < table.stub {
                                    (row_name(&row[i], is_right(i)))
                                } @else {
                                    (cell(&row[i], &table.columns[i], mark(row, i).as_ref()))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn tone_class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Dim => Some("tone-dim"),
        Tone::Good => Some("tone-good"),
        Tone::Bad => Some("tone-bad"),
        Tone::Open => Some("tone-open"),
    }
}

/// The class attribute, if there is a class.
fn classes<const N: usize>(classes: [Option<&str>; N]) -> Option<String> {
    let words: Vec<&str> = classes.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn row_name(cell: &Cell, is_right: bool) -> Markup {
    let long = (cell.text.chars().count() > LONG_NAME).then_some("long");
    let class = classes([Some("name"), long, is_right.then_some("right"), tone_class(cell.tone)]);
    html! { th class=[class] scope="row" title=(cell.text) { (content(cell)) } }
}

fn content(cell: &Cell) -> Markup {
    match &cell.link {
        Some(link) => html! { a href=(link) { (cell.text) } },
        None => html! { (cell.text) },
    }
}

/// A figure with its mark, and its source in attributes for programs that read the page.
fn cell(cell: &Cell, column: &Column, mark: Option<&Cell>) -> Markup {
    let is_right = column.align == Align::Right;
    let class = classes([
        is_right.then_some("right"),
        tone_class(cell.tone),
        column.spare.then_some("spare"),
        mark.map(|_| "marked"),
    ]);
    let source =
        cell.provenance.as_ref().map(|p| format!("{} {} {}", p.step, p.operation.name(), p.metric.name()));
    let value = cell.value.filter(|_| source.is_some()).map(|value| value.to_string());
    html! {
        td class=[class] data-from=[source] data-value=[value] data-h=(column.heading) {
            (content(cell))
            @if let Some(mark) = mark {
                " " span class=[classes([Some("mark"), tone_class(mark.tone)])] { (mark.text) }
            }
        }
    }
}
