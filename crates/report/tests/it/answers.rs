//! The answer that a terminal and a page begin with: sentences made of decided comparisons, one table, few findings.

use analyse::{Analysis, Estimator, analyse, headline};
use jiff::tz::TimeZone;
use model::{
    Better, Comparison, Evidence, Finding, LayerKind, Metric, Note, Run, Severity, Subject, Unseen, Verdict,
    fact,
};
use report::{ComparedRuns, RunView, Section, TextStyle, Units, comparison_document, run_document, text};

pub(crate) fn view(details: bool) -> RunView {
    RunView { units: Units::Decimal, baseline: "one".into(), time_zone: TimeZone::UTC, details }
}

/// The fixture's analysis with these speeds and verdicts in its nine figures: random reads, reads and writes of a mix (both
/// latencies), durable writes, sequential writes, and four of metadata.
fn judged(run: &Run, figures: [(f64, Verdict); 9]) -> Analysis {
    let mut analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
    let plan = &run.started.plan;
    analysis.comparisons.retain(|c| headline(plan.step(&c.step).unwrap(), c.operation) == Some(c.metric));
    assert_eq!(analysis.comparisons.len(), figures.len());
    analysis.comparisons.sort_by_key(|c| plan.steps.iter().position(|s| s.id == c.step));
    for (c, (speed, verdict)) in analysis.comparisons.iter_mut().zip(figures) {
        c.ratio.value = if c.metric.better() == Better::Lower { 1.0 / speed } else { speed };
        c.verdict = verdict;
        c.more_rounds = None;
    }
    analysis
}

fn answer(run: &Run, analysis: &Analysis) -> String {
    run_document(run, analysis, &view(false)).answer.join("\n")
}

const SAME: (f64, Verdict) = (1.0, Verdict::Same);
const OPEN: (f64, Verdict) = (1.1, Verdict::Undecided);

#[test]
fn the_sentence_counts_what_is_decided_and_names_what_differs() {
    let run = crate::fixture();
    let of = |figures| answer(&run, &judged(&run, figures));
    let mut mixed = [SAME; 9];
    (mixed[0], mixed[4]) = ((1.17, Verdict::Faster), (0.86, Verdict::Slower));
    (mixed[5], mixed[6]) = (OPEN, OPEN);
    assert_eq!(
        of(mixed),
        "two and one are the same in 5 of 9 figures and undecided in 2; two is 17 % faster at random read (4 KiB, depth 4) \
         and 14 % slower at sequential write (64 KiB, buffered)."
    );
    assert_eq!(of([SAME; 9]), "two and one are the same in all 9 figures (within 3 %).");
    assert_eq!(of([OPEN; 9]), "two and one cannot be told apart yet in any of 9 figures.");
    let mut few = [OPEN; 9];
    few[1] = (1.25, Verdict::Faster);
    assert_eq!(
        of(few),
        "two is 25 % faster than one at read of random mix 75/25 (4 KiB, depth 8, 2000/s offered); 8 figures are undecided.",
        "a p99 of four fifths is a quarter faster"
    );
    let mut both = [(1.5, Verdict::Faster); 9];
    both[..3].fill((0.5, Verdict::Slower));
    assert_eq!(of(both), "two is 50 % faster than one in 6 of 9 figures and 50 % slower in 3 of 9 figures.");
}

#[test]
fn of_two_targets_the_faster_one_is_the_subject() {
    let run = crate::fixture();
    let mut speeds = [(1.3, Verdict::Faster); 9];
    speeds[8].0 = 5.2;
    let faster = answer(&run, &judged(&run, speeds));
    assert_eq!(faster, "two is 1.3 to 5.2 times as fast as one in all 9 figures.");
    let slower = answer(&run, &judged(&run, speeds.map(|(speed, _)| (1.0 / speed, Verdict::Slower))));
    assert_eq!(slower, "one is 1.3 to 5.2 times as fast as two in all 9 figures.");
}

#[test]
fn one_figure_is_told_with_its_interval() {
    let run = crate::fixture();
    let mut analysis = judged(&run, [(0.5, Verdict::Slower); 9]);
    analysis.comparisons.truncate(1);
    analysis.comparisons[0].ratio.interval = Some((0.4, 0.625));
    assert_eq!(
        answer(&run, &analysis),
        "one is 2.0 times as fast as two at random read (4 KiB, depth 4) (95 %: 1.60–2.50×)."
    );
    analysis.comparisons[0].verdict = Verdict::Same;
    analysis.comparisons[0].ratio = model::Estimate { value: 1.01, interval: Some((0.99, 1.02)) };
    assert_eq!(
        answer(&run, &analysis),
        "two and one are the same at random read (4 KiB, depth 4) (1.01 ×; 95 %: 0.99–1.02)."
    );
}

/// Further rounds cannot decide what they are not made for.
#[test]
fn a_target_that_was_given_up_is_told_and_nothing_is_promised_of_it() {
    let mut run = crate::fixture();
    let mut analysis = judged(&run, [OPEN; 9]);
    analysis.comparisons.iter_mut().for_each(|c| c.more_rounds = Some(2000));
    run.notes.push(Note {
        at_ns: 0,
        severity: Severity::Error,
        topic: Note::TARGET_GIVEN_UP.into(),
        target: Some("two".into()),
        message: "its agent was stopped there".into(),
    });
    assert_eq!(
        answer(&run, &analysis),
        "two and one cannot be told apart yet in any of 9 figures.\ntwo was given up during the run: its figures cover \
         only the rounds before that."
    );
    analysis.measurements.retain(|m| m.target != "two");
    assert!(answer(&run, &analysis).ends_with("\ntwo was given up before completing a repeat."));
}

#[test]
fn further_rounds_are_told_as_time() {
    let run = crate::fixture();
    let mut analysis = judged(&run, [OPEN; 9]);
    analysis.comparisons.iter_mut().for_each(|c| c.more_rounds = Some(2000));
    let told = answer(&run, &analysis);
    assert!(told.contains(" (about ") && told.ends_with("would decide)."), "{told}");
    analysis.comparisons[3].more_rounds = None;
    assert!(!answer(&run, &analysis).contains("about"), "one of them is not known");
}

#[test]
fn figures_that_were_measured_once_are_not_called_decided() {
    let run = crate::fixture();
    let mut analysis = judged(&run, [(1.4, Verdict::Undecided); 9]);
    analysis.comparisons.iter_mut().for_each(|c| c.ratio.interval = None);
    assert_eq!(
        answer(&run, &analysis),
        "two is 40 % faster than one in all 9 figures; each was measured only once, so this may be chance."
    );
}

#[test]
fn a_mark_says_by_how_much_a_figure_differs_and_the_legend_what_it_means() {
    let run = crate::fixture();
    let mut figures = [SAME; 9];
    (figures[0], figures[3], figures[4]) = ((0.44, Verdict::Slower), (0.2, Verdict::Slower), OPEN);
    (figures[1], figures[7]) = ((0.2, Verdict::Slower), (1.17, Verdict::Faster));
    let mut analysis = judged(&run, figures);
    let unseen = Unseen { seconds: 3.0, stall_seconds: 0.1, more_seconds: 60.0 };
    analysis.comparisons[8] =
        Comparison { verdict: Verdict::Undecided, unseen: Some(unseen), ..analysis.comparisons[8].clone() };
    let shown = text(&run_document(&run, &analysis, &view(false)), TextStyle { width: 100, color: false });
    let row = |start: &str| shown.lines().find(|l| l.trim_start().starts_with(start)).unwrap().trim_end();
    assert!(row("Random read").ends_with("−56 %"), "{shown}");
    assert!(
        row("Random mix 75/25, 4 KiB, depth 8, 2000/s offered: read").ends_with("5.00×"),
        "a latency: {shown}"
    );
    assert!(row("Random write").ends_with("−80 %") && row("Sequential").ends_with(" ?"), "{shown}");
    assert!(row("Many small files, 20 files of 1 KiB: open").ends_with("+17 %"), "{shown}");
    assert!(row("Many small files, 20 files of 1 KiB: unlink").ends_with("=?"), "{shown}");
    let legend = "= the same within 3 % · =? the same so far · ? undecided · all others differ";
    assert!(shown.contains(legend), "{shown}");
}

#[test]
fn the_answer_comes_first_and_fits_a_screen() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let document = run_document(&run, &analysis, &view(false));
    let shown = text(&document, TextStyle { width: 100, color: false });
    assert!(shown.starts_with(&document.answer[0]), "{shown}");
    assert!(shown.lines().count() <= 40, "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn one_target_is_told_in_the_figures_that_people_compare() {
    let mut run = crate::fixture();
    run.started.targets.retain(|t| t.name == "one");
    run.repeats.retain(|r| r.started.target == "one");
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    assert_eq!(
        answer(&run, &analysis),
        "one (ext4 on vda) writes 863 MB/s in sequence, through the page cache.\n\
         At random it does 36.4k reads of 4 KiB a second with 4 at a time.\n\
         A durable write of 4 KiB takes 97.5 µs, and at most 195 µs in 99 of 100."
    );
}

#[test]
fn direct_io_that_was_not_possible_is_told() {
    let mut run = crate::fixture();
    run.started.targets.retain(|t| t.name == "one");
    run.repeats.retain(|r| r.started.target == "one");
    run.started.plan.steps.iter_mut().for_each(|step| step.workload.direct = true);
    let told = |direct: bool| {
        let mut run = run.clone();
        run.repeats.iter_mut().for_each(|r| r.started.direct = direct);
        answer(&run, &analyse(&run, "one", Estimator::Mean, Units::Decimal))
    };
    assert!(!told(true).contains("page cache"), "{}", told(true));
    assert!(told(false).contains("in sequence, through the page cache."), "{}", told(false));
}

#[test]
fn the_link_that_limits_is_named() {
    let mut run = crate::fixture();
    for target in &mut run.started.targets {
        let disk = target.stack.iter_mut().find(|layer| layer.kind == LayerKind::Disk).unwrap();
        disk.facts.insert(fact::LINK.into(), "usb".into());
        disk.facts.insert(fact::LINK_SPEED.into(), "480000000".into());
    }
    let mut analysis = judged(&run, [SAME; 9]);
    let evidence = |step: &str| {
        Evidence { what: "a rate".into(), value: 40e6, unit: "B/s".into(), scope: None }.in_step(step)
    };
    let finding = |target: &str| Finding {
        rule: "link-bound".into(),
        severity: Severity::Warning,
        subject: Subject { target: Some(target.into()), step: None },
        message: "words that nobody reads back".into(),
        advice: None,
        effect: 0.3,
        evidence: vec![evidence("first"), evidence("second")],
    };
    analysis.findings = vec![finding("one"), finding("two")];
    let told = answer(&run, &analysis);
    assert!(
        told.ends_with(&format!(" is limited by USB 2 in 2 of {} steps.", run.started.plan.steps.len())),
        "{told}"
    );
}

#[test]
fn runs_are_compared_in_the_same_words() {
    let (first, mut second) = (crate::fixture(), crate::fixture());
    second.started.id = "fixture2".into();
    let runs = [&first, &second];
    let mut compared = ComparedRuns { margin: 0.03, ..ComparedRuns::default() };
    for run in runs {
        let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
        let own = analysis.measurements.into_iter().filter(|m| m.target == "one");
        compared.measurements.extend(own.map(|mut m| {
            m.target = format!("{}:{}", run.started.id, m.target);
            m
        }));
    }
    let baseline = "fixture1:one";
    compared.series = analyse::Series::of_run(&first, &compared.measurements);
    compared.comparisons = analyse::compare(&compared.series, baseline, analyse::Pairing::None, 0.03);
    let view = RunView { baseline: baseline.into(), ..view(false) };
    let document = comparison_document(&runs, &compared, &view);
    let mut many = compared.clone();
    for i in 0..9 {
        let copy = |c: &Comparison| Comparison { target: format!("{}{i}", c.target), ..c.clone() };
        many.comparisons.extend(compared.comparisons.iter().map(copy));
    }
    let told = comparison_document(&runs, &many, &view).answer;
    assert_eq!(told.iter().filter(|s| s.contains("cannot be told apart")).count(), 6);
    assert_eq!(told[6], "The table shows 4 more targets.");
    assert_eq!(document.answer.len(), 1);
    assert!(document.answer[0].starts_with("fixture2:one and fixture1:one c"), "{:?}", document.answer);
    let shown = text(&document, TextStyle { width: 100, color: false });
    assert!(
        shown.contains("36.4k IOPS") && shown.contains("190 µs"),
        "rates, and latencies of a given load: {shown}"
    );
    assert!(!shown.contains("verdict"), "the tables of every step are for --details");
    let detailed = comparison_document(&runs, &compared, &RunView { details: true, ..view });
    let folded = |section: &Section| match section {
        Section::Folded { sections, .. } => Some(sections.clone()),
        _ => None,
    };
    let tables = detailed.sections.iter().find_map(folded).unwrap();
    let latency = |section: &Section| {
        let Section::Table(table) = section else { return None };
        let column = table.columns.iter().position(|c| c.heading == "p99")?;
        table.rows.last()?[column].provenance.clone().filter(|_| table.title.contains("andom read"))
    };
    let from = tables.iter().find_map(latency).expect("steps have latencies, with their source");
    assert_eq!((from.run.as_str(), from.target.as_str(), from.metric), ("fixture2", "one", Metric::LatP99));
}

/// A run of the fixture's first target once for each of these names and stacks.
fn on_stacks(stacks: &[(&str, &[(LayerKind, &str)])]) -> String {
    let mut run = crate::fixture();
    let target = run.started.targets[0].clone();
    let repeats = std::mem::take(&mut run.repeats);
    run.started.targets.clear();
    for (name, layers) in stacks {
        let layer = |(level, (kind, name)): (usize, &(LayerKind, &str))| model::Layer {
            kind: *kind,
            name: (*name).to_owned(),
            level: level as u32,
            device: None,
            facts: [(fact::LEVEL.to_owned(), (*name).to_owned())].into(),
        };
        let stack = layers.iter().enumerate().map(layer).collect();
        run.started.targets.push(model::Target { name: (*name).to_owned(), stack, ..target.clone() });
        for repeat in repeats.iter().filter(|repeat| repeat.started.target == target.name) {
            let mut repeat = repeat.clone();
            (*name).clone_into(&mut repeat.started.target);
            run.repeats.push(repeat);
        }
    }
    let analysis = analyse(&run, stacks[0].0, Estimator::Mean, Units::Decimal);
    text(&run_document(&run, &analysis, &view(false)), TextStyle { width: 100, color: false }).to_string()
}

#[test]
fn stacks_that_compete_with_no_other_on_their_devices_are_compared_by_name() {
    use LayerKind::{Crypt, Disk, Filesystem, Raid};
    let (sdb, both) = ((Disk, "sdb"), (Disk, "sdb+sdc"));
    let arrays: [(&str, &[_]); 4] = [
        ("ext4", &[(Filesystem, "ext4"), sdb]),
        ("luks+ext4", &[(Filesystem, "ext4"), (Crypt, "dm-0"), sdb]),
        ("raid0+ext4", &[(Filesystem, "ext4"), (Raid, "raid0"), both]),
        ("raid1(luks)+ext4", &[(Filesystem, "ext4"), (Raid, "raid1"), (Crypt, "dm-1"), both]),
    ];
    let shown = on_stacks(&arrays);
    assert!(!shown.contains("Filesystems compared") && shown.contains("raid1(luks)+ext4"), "{shown}");
    let matrix: [(&str, &[_]); 4] = [
        ("a", &[(Filesystem, "ext4"), sdb]),
        ("b", &[(Filesystem, "xfs"), sdb]),
        ("c", &[(Filesystem, "ext4"), (Raid, "raid0"), both]),
        ("d", &[(Filesystem, "xfs"), (Raid, "raid0"), both]),
    ];
    let shown = on_stacks(&matrix);
    assert!(shown.contains("Filesystems compared") && shown.contains("sdb+sdc"), "{shown}");
}
