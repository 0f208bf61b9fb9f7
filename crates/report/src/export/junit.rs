//! The requirements of a run as JUnit XML, which build servers show: a suite for each profile on each target, a case for each
//! requirement.

use analyse::{Judgement, Standing};
use maud::{Markup, PreEscaped, html};

use crate::answer::requirements::{Profile, by_profile, figure_of, limit_of, why};
use crate::terminal::escape_text;
use crate::view::AnalysedRun;

/// The requirements of a run; `None` where nothing is required. A missed requirement is a failure, an undecided one is skipped.
pub fn junit(analysed: &AnalysedRun<'_>) -> Option<String> {
    let judgements = &analysed.analysis.judgements;
    if judgements.is_empty() {
        return None;
    }
    let profiles = by_profile(analysed);
    let all = judgements.iter();
    let seconds = analysed.run.finished.as_ref().map_or(0.0, |f| f.at_ns as f64 / 1e9);
    let seconds = format!("{seconds:.3}");
    let page = html! {
        testsuites name="lodestone" tests=(judgements.len()) failures=(count(all.clone(), Standing::Missed))
            skipped=(count(all, Standing::Undecided)) time=(seconds) {
            @for profile in &profiles { (suite(analysed, profile)) }
        }
    };
    let declaration = PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    Some(
        escape_text(&format!("{}{}\n", declaration.0, page.into_string().replace("><", ">\n<"))).into_owned(),
    )
}

fn count<'a>(judgements: impl Iterator<Item = &'a Judgement>, standing: Standing) -> usize {
    judgements.filter(|judgement| judgement.standing == standing).count()
}

fn suite(analysed: &AnalysedRun<'_>, profile: &Profile<'_>) -> Markup {
    let own = || profile.judgements.iter().copied();
    html! {
        testsuite name=(format!("{} on {}", profile.name, profile.target)) tests=(profile.judgements.len())
            failures=(count(own(), Standing::Missed)) skipped=(count(own(), Standing::Undecided)) {
            @for judgement in own() { (case(analysed, judgement)) }
        }
    }
}

fn case(analysed: &AnalysedRun<'_>, judgement: &Judgement) -> Markup {
    let r = &judgement.requirement;
    let name = format!("{}: {} {}", r.step, figure_of(r), limit_of(r, analysed.view));
    let told = format!("{}: {}", judgement.standing.name(), why(analysed, judgement));
    html! {
        testcase classname=(format!("{}.{}", r.profile, judgement.target)) name=(name) {
            @match judgement.standing {
                Standing::Met => {},
                Standing::Missed => failure message=(told) {},
                Standing::Undecided => skipped message=(told) {},
            }
            system-out { (told) ". Source of the limit: " (r.source) }
        }
    }
}
