//! The first words of pages of synthetic runs, whose truth is known.

use browser::made;
use model::{Run, Step};

/// The sentences at the head of a page.
fn answer(run: &Run) -> Vec<String> {
    let page = browser::page(run);
    let (_, rest) = page.split_once("<div class=\"answer\">").unwrap();
    let (answer, _) = rest.split_once("</div>").unwrap();
    answer.split("</p>").filter_map(|part| Some(part.strip_prefix("<p>")?.to_owned())).collect()
}

/// The same run with only these targets and steps.
fn only(mut run: Run, targets: &[&str], is_kept: impl Fn(&Step) -> bool) -> Run {
    run.started.targets.retain(|t| targets.contains(&t.name.as_str()));
    run.started.baseline = targets[0].to_owned();
    run.started.plan.steps.retain(is_kept);
    let steps = &run.started.plan.steps;
    run.repeats.retain(|r| {
        targets.contains(&r.started.target.as_str()) && steps.iter().any(|s| s.id == r.started.step)
    });
    run
}

#[test]
fn what_limits_the_fastest_follows_the_first_sentence() {
    let run = only(made::quick(), &["sd-card", "usb-ssd"], |s| s.id.starts_with("seq"));
    let answer = answer(&run);
    assert_eq!(
        answer,
        [
            "usb-ssd is 9.7 to 10 times as fast as sd-card in both figures.",
            "usb-ssd is limited by USB at 5 Gb/s in every step."
        ]
    );
}

#[test]
fn a_limit_in_some_steps_is_not_stated_for_all() {
    let run = only(made::quick(), &["sd-card", "usb-ssd"], |_| true);
    let answer = answer(&run);
    assert_eq!(answer[1], "usb-ssd is limited by USB at 5 Gb/s in 4 of 6 steps.");
}

#[test]
fn limits_of_slower_targets_and_unknown_links_are_omitted() {
    // The card is at the end of its bus too, but it is not what the sentence is about.
    let mut run = only(made::quick(), &["sd-card", "usb-ssd"], |_| true);
    for layer in run.started.targets[1].stack.iter_mut() {
        layer.facts.clear();
    }
    let answer = answer(&run);
    assert!(answer.iter().all(|sentence| !sentence.contains("is limited by")), "{answer:?}");
}

#[test]
fn a_link_below_what_it_could_be_is_a_sentence_of_its_own() {
    let mut run = only(made::quick(), &["sd-card", "usb-ssd"], |_| true);
    let disk = run.started.targets[1].stack.last_mut().unwrap();
    disk.facts.insert(model::fact::HIGHEST_LINK_SPEED.into(), "10000000000".into());
    let answer = answer(&run);
    assert!(
        answer.iter().any(|s| s.starts_with("usb-ssd: the link to sda runs at 5 Gb/s, 50 % of the 10 Gb/s")),
        "{answer:?}"
    );
}

#[test]
fn twelve_targets_are_ranked_in_three_sentences() {
    let answer = answer(&made::many());
    // Copies of one disk cannot be told apart.
    assert_eq!(
        answer[0],
        "Of 12 targets, nvme, nvme-2, nvme-3 and nvme-4 are the fastest, or within 3 % of the fastest, in all 7 figures."
    );
    assert!(answer[1].starts_with("Overall, nvme-4 is 4.46 times as fast as usb-ssd, "), "{answer:?}");
    assert_eq!(answer.len(), 3);
    assert!(answer.iter().all(|sentence| sentence.len() < 200), "{answer:?}");
}
