//! Whether the storage is good enough: the verdicts on what was required, in sentences and tables.

use analyse::{Judgement, Standing};
use model::{Estimate, Metric, Operation, Reference, Requirement, Run, Target};

use crate::answer::{LONGEST_NAME, in_time, time_of_rounds};
use crate::document::{Align, Cell, Column, Section, Table, Tone};
use crate::figures::{display_ratio, with_one_unit};
use crate::view::{AnalysedRun, RunView};
use crate::words::{listed, short, step_words};

/// The profiles of a run, in the order in which they were asked for.
fn profiles<'a>(analysed: &AnalysedRun<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let plan = &analysed.run.started.plan;
    for requirement in plan.requirements.iter().filter(|r| plan.ladder_of(&r.step).is_none()) {
        if !names.contains(&requirement.profile.as_str()) {
            names.push(&requirement.profile);
        }
    }
    names
}

/// What was found of a profile on a target.
pub(crate) struct Profile<'a> {
    pub name: &'a str,
    pub target: &'a str,
    pub standing: Standing,
    pub judgements: Vec<&'a Judgement>,
}

impl<'a> Profile<'a> {
    /// The judgement that decides: of those that stand as the profile the one with the least headroom.
    fn tightest(&self) -> Option<&'a Judgement> {
        let of = self.judgements.iter().filter(|j| j.standing == self.standing);
        // What is met with nothing at all is as far from its limit as can be.
        let without = if self.standing == Standing::Met { f64::INFINITY } else { 0.0 };
        let headroom = |j: &Judgement| j.headroom.unwrap_or(without);
        of.copied().min_by(|a, b| headroom(a).total_cmp(&headroom(b)))
    }
}

/// Every profile on every target, by target within a profile.
pub(crate) fn by_profile<'a>(analysed: &AnalysedRun<'a>) -> Vec<Profile<'a>> {
    let AnalysedRun { run, analysis, .. } = *analysed;
    let of = |name: &'a str| {
        let is_judged = move |target: &&'a Target| {
            run.started.plan.requirements.iter().any(|r| r.profile == name && r.is_of(&target.name))
        };
        run.started.targets.iter().filter(is_judged).map(move |target| {
            let own = |j: &&Judgement| j.requirement.profile == name && j.target == target.name;
            let judgements: Vec<&Judgement> = analysis.judgements.iter().filter(own).collect();
            let standing = Standing::of_all(judgements.iter().map(|j| j.standing));
            Profile { name, target: &target.name, standing, judgements }
        })
    };
    profiles(analysed).into_iter().flat_map(of).collect()
}

/// What a requirement is about, such as `p99 of syncs`.
pub(crate) fn figure_of(requirement: &Requirement) -> String {
    let operations = match requirement.operation {
        Operation::DurableWrite => "durable writes".to_owned(),
        Operation::Read | Operation::Write | Operation::Sync => format!("{}s", requirement.operation),
        other => format!("{other} operations"),
    };
    match requirement.metric {
        Metric::Iops | Metric::Bandwidth => format!("rate of {operations}"),
        Metric::StalledShare => format!("time that {operations} lost in stalls"),
        Metric::Spread => format!("spread of the rate of {operations}"),
        Metric::Mismatches => format!("number of mismatches in {operations}"),
        other => format!("{} of {operations}", other.name().trim_start_matches("lat_")),
    }
}

/// The same with the subject of its step, such as `write-ahead log: the p99 of syncs`.
fn figure_in_step(run: &Run, requirement: &Requirement) -> String {
    let step = run.started.plan.step(&requirement.step).map(step_words).unwrap_or_default();
    let subject = step.split(" (").next().unwrap_or_default();
    format!("{subject}: the {}", figure_of(requirement))
}

/// A value in the unit of a requirement's metric, or as a share.
fn shown(requirement: &Requirement, value: f64, view: &RunView) -> String {
    match requirement.relative_to {
        None => view.display(requirement.metric, value),
        Some(_) => format!("{:.1} %", value * 100.0),
    }
}

/// What a limit is a share of: the name of a target, or the id of a run.
pub(crate) fn reference_of(requirement: &Requirement) -> Option<&str> {
    requirement.relative_to.as_ref().map(|reference| match reference {
        Reference::Target(name) => name.as_str(),
        Reference::Run(earlier) => earlier.run.as_str(),
    })
}

/// The limit, without digits that say nothing.
fn limit_words(requirement: &Requirement, view: &RunView) -> String {
    let shown = shown(requirement, requirement.limit, view);
    let (number, unit) =
        shown.split_at(shown.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(shown.len()));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

/// The limit with its side, such as `≤ 10 ms`.
pub(crate) fn limit_of(requirement: &Requirement, view: &RunView) -> String {
    let of =
        reference_of(requirement).map_or_else(String::new, |of| format!(" of {}", short(of, LONGEST_NAME)));
    format!("{} {}{of}", requirement.bound.sign(), limit_words(requirement, view))
}

/// A figure with its interval, such as `1.20 ms (1.10–1.30)`.
pub(crate) fn figure_with_interval(requirement: &Requirement, figure: Estimate, view: &RunView) -> String {
    let shown = |value: f64| shown(requirement, value, view);
    let interval = figure.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({})", with_one_unit(&shown(low), "–", &shown(high)))
    });
    format!("{}{interval}", shown(figure.value))
}

fn is_to_a_run(requirement: &Requirement) -> bool {
    matches!(requirement.relative_to, Some(Reference::Run(_)))
}

/// Each profile in a sentence.
pub(crate) fn requirement_sentences(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let all = by_profile(analysed);
    let is_alone = analysed.run.started.targets.len() == 1;
    let sentence = |name: &str| {
        let own: Vec<&Profile<'_>> = all.iter().filter(|p| p.name == name).collect();
        match own.as_slice() {
            [only] if is_alone => alone(analysed, only),
            several => on_several(analysed, name, several),
        }
    };
    profiles(analysed).into_iter().map(sentence).collect()
}

fn alone(analysed: &AnalysedRun<'_>, profile: &Profile<'_>) -> String {
    let name = short(profile.name, LONGEST_NAME);
    let Some(judgement) = profile.tightest() else { return format!("{name}: nothing is required.") };
    let why = why(analysed, judgement);
    let others = profile.judgements.len() - 1;
    let others = match (profile.standing, others) {
        (Standing::Met, 1) => "; the other figure has more headroom".to_owned(),
        (Standing::Met, 2..) => format!("; the other {others} figures have more headroom"),
        _ => String::new(),
    };
    format!("{name}: {}; {why}{others}.", profile.standing.name())
}

/// The figure that decides, the limit, and what would decide if it is open.
pub fn why(analysed: &AnalysedRun<'_>, judgement: &Judgement) -> String {
    let AnalysedRun { run, view, .. } = *analysed;
    let requirement = &judgement.requirement;
    let several = run
        .started
        .plan
        .requirements
        .iter()
        .any(|other| other.profile == requirement.profile && other.step != requirement.step);
    let what =
        if several { figure_in_step(run, requirement) } else { format!("the {}", figure_of(requirement)) };
    let required = match requirement.metric {
        Metric::Mismatches => "none is allowed".to_owned(),
        _ => format!("{} {} is required", requirement.bound.words(), limit_words(requirement, view)),
    };
    let Some(figure) = judgement.figure else {
        return format!("{what} was not measured; {required}");
    };
    let of = match &requirement.relative_to {
        None => String::new(),
        Some(Reference::Target(name)) => format!(" of that on {}", short(name, LONGEST_NAME)),
        Some(Reference::Run(earlier)) => format!(" of that in {}", earlier.run),
    };
    let shown = format!("{}{of}", figure_with_interval(requirement, figure, view));
    let more = || {
        let seconds = time_of_rounds(run, &requirement.step, judgement.more_rounds?, &[&judgement.target]);
        in_time(Some(seconds))
    };
    let open = match (judgement.standing, judgement.fewest_operations) {
        (Standing::Met | Standing::Missed, _) => String::new(),
        (Standing::Undecided, None) if judgement.more_rounds.is_none() && is_to_a_run(requirement) => {
            "; what the earlier run has is too little to tell".to_owned()
        }
        (Standing::Undecided, Some(fewest)) => {
            let more = more().map_or_else(String::new, |more| format!("; {more}"));
            format!("; {} operations cannot tell, {fewest} could{more}", judgement.operations)
        }
        (Standing::Undecided, None) => more().map_or_else(String::new, |more| format!("; {more}")),
    };
    format!("{what} is {shown}, {required}{open}")
}

fn on_several(analysed: &AnalysedRun<'_>, name: &str, profiles: &[&Profile<'_>]) -> String {
    let mut parts = Vec::new();
    for standing in [Standing::Met, Standing::Missed, Standing::Undecided] {
        let own: Vec<&&Profile<'_>> = profiles.iter().filter(|p| p.standing == standing).collect();
        if own.is_empty() {
            continue;
        }
        let named: Vec<String> = own
            .iter()
            .map(|p| {
                let target = short(p.target, LONGEST_NAME);
                match p.tightest().filter(|_| standing != Standing::Met) {
                    Some(judgement) => format!("{target} ({})", why(analysed, judgement)),
                    None => target,
                }
            })
            .collect();
        parts.push(format!("{} on {}", standing.name(), listed(&named)));
    }
    format!("{}: {}.", short(name, LONGEST_NAME), listed(&parts))
}

/// The tables: of several targets profiles × targets first, then every requirement with its figures.
pub(crate) fn requirement_sections(analysed: &AnalysedRun<'_>) -> Vec<Section> {
    if analysed.analysis.judgements.is_empty() {
        return Vec::new();
    }
    let is_alone = analysed.run.started.targets.len() == 1;
    let matrix = (!is_alone).then(|| Section::Table(profiles_table(analysed)));
    let each = is_alone || analysed.view.details;
    let each = each.then(|| Section::Table(requirements_table(analysed)));
    matrix.into_iter().chain(each).collect()
}

/// Profiles × targets: the verdict, with the least headroom.
fn profiles_table(analysed: &AnalysedRun<'_>) -> Table {
    let all = by_profile(analysed);
    let targets = &analysed.run.started.targets;
    let column = |name: &str| Column::new(short(name, LONGEST_NAME), Align::Left);
    let columns =
        std::iter::once(Column::new("profile", Align::Left)).chain(targets.iter().map(|t| column(&t.name)));
    let cell =
        |profile: &Profile<'_>| verdict_cell(profile.standing, profile.tightest().and_then(|j| j.headroom));
    let row = |name: &str| {
        let of = |target: &Target| all.iter().find(|p| p.name == name && p.target == target.name);
        let own = targets.iter().map(|target| of(target).map_or_else(|| Cell::text("–"), cell));
        std::iter::once(Cell::text(short(name, LONGEST_NAME))).chain(own).collect()
    };
    Table {
        title: "Good enough? Each profile, with how many times as good as required its nearest figure is"
            .to_owned(),
        columns: columns.collect(),
        stub: 1,
        rows: profiles(analysed).into_iter().map(row).collect(),
    }
}

/// Every requirement on every target.
fn requirements_table(analysed: &AnalysedRun<'_>) -> Table {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    let is_alone = run.started.targets.len() == 1;
    let has_several = profiles(analysed).len() > 1;
    let left = |name: &'static str| Column::new(name, Align::Left);
    let right = |name: &'static str| Column::new(name, Align::Right);
    let mut columns: Vec<Column> = has_several.then(|| left("profile")).into_iter().collect();
    columns.push(left("figure"));
    columns.extend((!is_alone).then(|| left("target")));
    let stub = columns.len();
    columns.extend([right("required"), right("measured (95 %)"), left("verdict, headroom")]);
    columns.push(right("operations").spare());
    let row = |j: &Judgement| {
        let r = &j.requirement;
        let profile = has_several.then(|| Cell::text(short(&r.profile, LONGEST_NAME)));
        let mut cells: Vec<Cell> = profile.into_iter().collect();
        cells.push(Cell::text(format!("{}: {}", r.step, figure_of(r))));
        cells.extend((!is_alone).then(|| Cell::text(short(&j.target, LONGEST_NAME))));
        let figure = j.figure.map_or_else(|| "–".to_owned(), |figure| figure_with_interval(r, figure, view));
        cells.extend([
            Cell::text(limit_of(r, view)),
            Cell { value: j.figure.map(|figure| figure.value), ..Cell::text(figure) },
            verdict_cell(j.standing, j.headroom),
            Cell::text(j.operations.to_string()),
        ]);
        cells
    };
    let rows = analysis.judgements.iter().map(row).collect();
    Table { title: "Requirements".to_owned(), columns, stub, rows }
}

/// A verdict, and how many times as good as required the figure is.
fn verdict_cell(standing: Standing, headroom: Option<f64>) -> Cell {
    let tone = match standing {
        Standing::Met => Tone::Good,
        Standing::Missed => Tone::Bad,
        Standing::Undecided => Tone::Open,
    };
    let by = headroom.map_or_else(String::new, |headroom| format!(" {}×", display_ratio(headroom)));
    Cell::text(format!("{}{by}", standing.name())).tone(tone)
}
