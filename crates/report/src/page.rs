//! A report as one HTML file: its style, script, pictures and data are inside, and nothing is fetched.

use analyse::Analysis;
use model::{Candidate, Inventory, Run, Severity, Target};

use crate::answer::{answers, command};
use crate::chart::svg::{escaped, short};
use crate::chart::{Chart, charts, history, style};
use crate::document::{Align, Cell, Document, Section, Table, Tone};
use crate::imported;
use crate::json::run_export;
use crate::offsets::has_offsets;
use crate::pivot::pivot;
use crate::remarks::remarks;
use crate::run_document::{RunView, circumstances, overview_table, pivot_table, step_table, when};
use crate::targets::targets_text;
use crate::terminal::escape_json;
use crate::text::TextStyle;

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// What the overview's figures are.
const FIGURE_WORDS: &str = "The figure is bandwidth, of work on names operations per second, and p99 latency where the load is given.";
/// What its ratios are, where there are several targets.
const RATIO_WORDS: &str = " Ratios are to the baseline, with their 95 % interval.";
/// Names of more letters than this are broken into lines where they begin a row.
const LONG: usize = 20;
/// As many findings as a person reads at once.
const SHOWN: usize = 6;
/// As many pictures of a kind stand open.
const UNFOLDED: usize = 2;
/// Nothing may be fetched, whatever stands in a name.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A run to be shown, and how it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct AnalysedRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// What its figures say.
    pub analysis: &'a Analysis,
    /// How it is looked at.
    pub view: &'a RunView,
}

/// The page of one run: the answer, the tables, the findings, the pictures, the circumstances, how to repeat it.
pub fn run_page(analysed: AnalysedRun<'_>) -> String {
    let title = run_title(analysed);
    let mut body = header(&title, &answers(analysed));
    body.push_str("<main>\n");
    body.push_str(&run_section(analysed, 2));
    body.push_str("</main>\n");
    whole(&title, &body)
}

/// The page of several runs: what comparing them says, then each.
pub fn runs_page(runs: &[AnalysedRun<'_>], comparison: &Document) -> String {
    // The words under `Overall` are the answer; they stand at the top and not again below.
    let mut answer = Vec::new();
    let mut rest = Vec::new();
    let mut is_answer = false;
    for section in &comparison.sections {
        match section {
            Section::Heading(heading) => is_answer = heading == "Overall",
            Section::Text(text) if is_answer => answer.push(text.clone()),
            _ => {}
        }
        if !is_answer {
            rest.push(section.clone());
        }
    }
    let mut body = header(&comparison.title, &answer);
    body.push_str("<main>\n<section>\n<h2>Comparison</h2>\n");
    push_sections(&mut body, &rest, 3);
    let over_time = history(runs);
    if !over_time.is_empty() {
        push_heading(&mut body, 3, "Pictures");
        push_charts(&mut body, &over_time, 4);
    }
    body.push_str("</section>\n");
    for analysed in runs {
        body.push_str(&format!("<section>\n<h2>{}</h2>\n", escaped(&run_title(*analysed))));
        answers(*analysed).iter().for_each(|text| body.push_str(&format!("<p>{}</p>\n", escaped(text))));
        body.push_str(&run_section(*analysed, 3));
        body.push_str("</section>\n");
    }
    body.push_str("</main>\n");
    whole(&comparison.title, &body)
}

/// A page of pictures, each under a title of its own.
pub fn gallery_page(title: &str, words: &str, parts: &[(String, Vec<Chart>)]) -> String {
    let mut body = header(title, &[words.to_owned()]);
    body.push_str("<main>\n");
    for (heading, charts) in parts {
        body.push_str(&format!("<section>\n<h2>{}</h2>\n", escaped(heading)));
        charts.iter().for_each(|chart| push_chart(&mut body, chart, 3));
        body.push_str("</section>\n");
    }
    body.push_str("</main>\n");
    whole(title, &body)
}

fn run_title(analysed: AnalysedRun<'_>) -> String {
    let started = &analysed.run.started;
    let at = when(started.started_unix_ns, &analysed.view.time_zone);
    if analysed.run.is_imported() {
        return format!("Run {} · imported {at}", started.id);
    }
    // Nobody may know where a run was.
    let host = Some(&started.host.name).filter(|name| !name.is_empty());
    let host = host.map_or_else(String::new, |name| format!(" · {name}"));
    format!("Run {} · suite {}{host} · {at}", started.id, started.plan.suite)
}

fn whole(title: &str, body: &str) -> String {
    let (title, style) = (escaped(&short(title, 120)), style());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"Lodestone\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{style}{PAGE_STYLE}</style>\n</head>\n<body>\n{body}\
         <div id=\"tip\" role=\"status\"></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn header(title: &str, answers: &[String]) -> String {
    let mut text = format!("<header>\n<h1>{}</h1>\n<div class=\"answer\">\n", escaped(&short(title, 300)));
    answers.iter().for_each(|answer| text.push_str(&format!("<p>{}</p>\n", escaped(answer))));
    text.push_str("</div>\n</header>\n");
    text
}

/// Everything of a run below its answer, with headings of the given level.
fn run_section(analysed: AnalysedRun<'_>, level: u8) -> String {
    let AnalysedRun { run, analysis, view } = analysed;
    let id = format!("run-{}", safe_id(&run.started.id));
    let mut out = String::from("<section>\n");
    let several = run.started.targets.len() > 1;
    push_heading(&mut out, level, if several { "Comparison" } else { "Figures" });
    push_figures(&mut out, analysed);
    push_remarks(&mut out, &remarks(run, &analysis.findings, true), level);
    let pictures = charts(run, analysis, view);
    if !pictures.is_empty() {
        push_heading(&mut out, level, "Pictures");
        push_toggles(&mut out, run);
        push_charts(&mut out, &pictures, level + 1);
    }
    push_heading(&mut out, level, "Circumstances");
    let facts =
        if run.is_imported() { imported::facts(run, analysis) } else { circumstances(run, analysis, view) };
    push_sections(&mut out, &[Section::Facts(facts)], level + 1);
    push_stacks(&mut out, analysed);
    push_repeat(&mut out, analysed, level, &id);
    push_data(&mut out, analysed, &id);
    out.push_str("</section>\n");
    out
}

/// The tables: what labels or imported targets say at a glance, every step, and behind a fold all figures.
fn push_figures(out: &mut String, analysed: AnalysedRun<'_>) {
    let AnalysedRun { run, analysis, view } = analysed;
    let pivot = pivot(run, &analysis.measurements);
    let overview = overview_table(run, analysis, view);
    if let Some(pivot) = &pivot {
        push_table(out, &pivot_table(run, analysis, view, pivot));
        out.push_str(&format!("<p class=\"small\">{} {FIGURE_WORDS}</p>\n", pivot.words()));
    } else if let Some(table) = &overview {
        push_table(out, table);
        let ratios = if run.started.targets.len() > 1 { RATIO_WORDS } else { "" };
        out.push_str(&format!("<p class=\"small\">{FIGURE_WORDS}{ratios}</p>\n"));
    }
    out.push_str("<details>\n<summary>All figures of every step</summary>\n");
    if let Some(table) = overview.filter(|_| pivot.is_some()) {
        push_table(out, &table);
    }
    let tables = run.started.plan.steps.iter().filter_map(|step| step_table(run, analysis, step, view));
    tables.for_each(|table| push_table(out, &table));
    out.push_str("</details>\n");
}

fn push_heading(out: &mut String, level: u8, text: &str) {
    out.push_str(&format!("<h{level}>{}</h{level}>\n", escaped(text)));
}

/// The weightiest findings, and the others where they can be unfolded.
fn push_remarks(out: &mut String, remarks: &[Section], level: u8) {
    if remarks.is_empty() {
        return;
    }
    let (first, others) = remarks.split_at(remarks.len().min(SHOWN));
    push_heading(out, level, "Findings");
    push_sections(out, first, level + 1);
    if !others.is_empty() {
        out.push_str(&format!("<details>\n<summary>{} more of less weight</summary>\n", others.len()));
        push_sections(out, others, level + 1);
        out.push_str("</details>\n");
    }
}

fn push_toggles(out: &mut String, run: &Run) {
    if run.started.targets.len() < 2 {
        return;
    }
    out.push_str("<div class=\"tools\" role=\"group\" aria-label=\"Targets in the pictures\">\n");
    for (i, target) in run.started.targets.iter().enumerate() {
        let name = escaped(&short(&target.name, 60));
        out.push_str(&format!(
            "<button type=\"button\" class=\"chart c{}\" aria-pressed=\"true\" data-target=\"{i}\">{name}</button>\n",
            i % 8
        ));
    }
    out.push_str("</div>\n");
}

/// All pictures in their order; of a kind with many only the first, the others where they can be unfolded.
fn push_charts(out: &mut String, charts: &[Chart], level: u8) {
    for of_kind in charts.chunk_by(|a, b| a.kind == b.kind) {
        let open = if of_kind.len() > UNFOLDED + 1 { UNFOLDED } else { of_kind.len() };
        of_kind[..open].iter().for_each(|chart| push_chart(out, chart, level));
        if open < of_kind.len() {
            let (more, title) =
                (of_kind.len() - open, of_kind[0].title.split(" (").next().unwrap_or_default());
            out.push_str(&format!(
                "<details>\n<summary>{}: {more} more pictures</summary>\n",
                escaped(title)
            ));
            of_kind[open..].iter().for_each(|chart| push_chart(out, chart, level));
            out.push_str("</details>\n");
        }
    }
}

fn push_chart(out: &mut String, chart: &Chart, level: u8) {
    let (title, caption) = (escaped(&chart.title), escaped(&chart.caption));
    out.push_str(&format!(
        "<figure data-kind=\"{}\" data-name=\"{}\">\n<h{level}>{title}</h{level}>\n{}{}<figcaption>{caption}</figcaption>\n</figure>\n",
        chart.kind, chart.name, chart.wide, chart.narrow
    ));
}

/// What the targets' bytes pass through, as `lodestone targets` shows it.
fn push_stacks(out: &mut String, analysed: AnalysedRun<'_>) {
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
    let candidates = started.targets.iter().filter(|t| !t.stack.is_empty()).map(candidate).collect();
    let inventory = Inventory { host: started.host.clone(), candidates, left_out: 0, unseen: Vec::new() };
    if !inventory.candidates.is_empty() {
        let style = TextStyle { width: 110, color: false };
        let tree = escaped_lines(&targets_text(&inventory, analysed.view.units, style));
        out.push_str(&format!("<pre class=\"stacks\" tabindex=\"0\" aria-label=\"Stacks\">{tree}</pre>\n"));
    }
}

/// Text of several lines in which nothing is markup.
fn escaped_lines(text: &str) -> String {
    text.trim_end().lines().map(escaped).collect::<Vec<_>>().join("\n")
}

fn push_repeat(out: &mut String, analysed: AnalysedRun<'_>, level: u8, id: &str) {
    let version = escaped(&analysed.run.started.version);
    let (heading, words) = if analysed.run.is_imported() {
        ("How it was imported", format!("The same files in the same way, with Lodestone {version}:"))
    } else {
        (
            "How to repeat it",
            format!("The same work in the same order, on the same targets, with Lodestone {version}:"),
        )
    };
    push_heading(out, level, heading);
    let command = escaped(&command(analysed.run));
    out.push_str(&format!("<p>{words}</p>\n<pre id=\"{id}-command\">{command}</pre>\n"));
    out.push_str(&format!(
        "<div class=\"tools\"><button type=\"button\" data-copy=\"{id}-command\">Copy the command</button></div>\n"
    ));
}

/// The run's data with the buttons that save them.
fn push_data(out: &mut String, analysed: AnalysedRun<'_>, id: &str) {
    let json = run_export(analysed.run, analysed.analysis);
    let csv = crate::csv::csv(analysed.run, &analysed.analysis.measurements);
    let data = serde_json::json!({ "json": json, "csv": csv });
    // Whatever stands in a name must not end the element that holds the data.
    let data = harmless_json(&data.to_string());
    let name = safe_id(&analysed.run.started.id);
    out.push_str("<div class=\"tools\" role=\"group\" aria-label=\"Data of this page\">\n");
    // The script makes the places from the JSON, which has them already.
    let offsets =
        has_offsets(analysed.run).then_some(("offsets", "-offsets.csv", "Download the offsets as CSV"));
    let forms = [("json", ".json", "Download the data as JSON"), ("csv", ".csv", "Download the data as CSV")];
    for (form, end, words) in forms.into_iter().chain(offsets) {
        out.push_str(&format!(
            "<button type=\"button\" data-download=\"{id}-data\" data-form=\"{form}\" data-name=\"lodestone-{name}{end}\">{words}</button>\n"
        ));
    }
    out.push_str(&format!("</div>\n<script type=\"application/json\" id=\"{id}-data\">{data}</script>\n"));
}

/// JSON in which nothing ends the element that holds it or turns the direction of writing.
fn harmless_json(json: &str) -> String {
    escape_json(json).replace('<', "\\u003c")
}

/// Letters, digits and dashes of a text: a log may claim any id.
fn safe_id(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
}

fn push_sections(out: &mut String, sections: &[Section], level: u8) {
    let mut in_list = false;
    for section in sections {
        let is_remark = matches!(section, Section::Remark { .. });
        if is_remark != in_list {
            out.push_str(if is_remark { "<ul class=\"remarks\">\n" } else { "</ul>\n" });
            in_list = is_remark;
        }
        push_section(out, section, level);
    }
    if in_list {
        out.push_str("</ul>\n");
    }
}

fn push_section(out: &mut String, section: &Section, level: u8) {
    match section {
        Section::Heading(heading) => push_heading(out, level, heading),
        Section::Text(text) if text.is_empty() => {}
        Section::Text(text) => out.push_str(&format!("<p>{}</p>\n", escaped(text))),
        Section::Facts(facts) => {
            out.push_str("<dl>\n");
            for (name, value) in facts {
                out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)));
            }
            out.push_str("</dl>\n");
        }
        Section::Table(table) => push_table(out, table),
        Section::Remark { severity, about, message, advice } => {
            let class = match severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            out.push_str(&format!(
                "<li class=\"{class}\"><b>{}</b> {}: {}",
                severity.name(),
                escaped(about),
                escaped(message)
            ));
            if let Some(advice) = advice {
                out.push_str(&format!(" <span class=\"advice\">→ {}</span>", escaped(advice)));
            }
            out.push_str("</li>\n");
        }
    }
}

fn push_table(out: &mut String, table: &Table) {
    let title = escaped(&table.title);
    out.push_str(&format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\">\n<table>\n<caption>{title}</caption>\n<thead><tr>"
    ));
    for column in &table.columns {
        let side = if column.align == Align::Right { " class=\"right\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{side}>{}</th>", escaped(&column.heading)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let right = table.columns.get(i).is_some_and(|c| c.align == Align::Right);
            push_cell(out, cell, i < table.stub, right);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn push_cell(out: &mut String, cell: &Cell, names_row: bool, right: bool) {
    let mut class = String::from(if right { "right" } else { "" });
    class.push_str(match cell.tone {
        Tone::Plain => "",
        Tone::Dim => " tone-dim",
        Tone::Good => " tone-good",
        Tone::Bad => " tone-bad",
        Tone::Open => " tone-open",
    });
    let text = escaped(&cell.text);
    if names_row {
        let long = if cell.text.chars().count() > LONG { " long" } else { "" };
        out.push_str(&format!("<th scope=\"row\" class=\"name{long}{class}\" title=\"{text}\">{text}</th>"));
        return;
    }
    // Where a figure comes from, for whoever reads the page by program.
    let from = cell.provenance.as_ref().map_or_else(String::new, |p| {
        let value = cell.value.map_or_else(String::new, |v| format!(" data-value=\"{v}\""));
        format!(" data-from=\"{} {} {}\"{value}", escaped(&p.step), p.operation.name(), p.metric.name())
    });
    let class = class.trim();
    out.push_str(&format!("<td class=\"{class}\"{from}>{text}</td>"));
}
