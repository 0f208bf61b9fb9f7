//! The pages of a site.

use std::collections::BTreeMap;

use analyse::{FigureKey, PastFigure, histories, moments, odd_machines};
use jiff::tz::TimeZone;
use model::{Estimate, Metric, Operation};
use report::{Followed, PastRun, RunView, Site, SitePage, SiteRun, Units};

use crate::pages::{SCREEN, TELEPHONE, Theme, look, tried};

/// Machines, of which the last is slower, and becomes slower still.
const MACHINES: usize = 6;
/// Runs of each.
const RUNS: usize = 24;
const HOUR_NS: i64 = 3_600_000_000_000;

/// The figure of a machine from run to run.
fn figure(machine: usize, metric: Metric) -> (FigureKey, Vec<PastFigure>) {
    let key = FigureKey {
        host: format!("pi{machine}"),
        target: "card".to_owned(),
        step: "read".to_owned(),
        workload: 1,
        operation: Operation::Read,
        metric,
    };
    let past = |turn: usize| {
        // Any noise does.
        let noise = ((turn * 7 + machine * 3) % 11) as f64 / 1_000.0;
        let fallen = if machine == MACHINES - 1 && turn >= RUNS / 2 { 0.8 } else { 1.0 };
        let slow = if machine == MACHINES - 1 { 0.6 } else { 1.0 };
        let value = 40e6 * (1.0 + noise) * fallen * slow;
        let interval = Some((value * 0.98, value * 1.02));
        PastFigure { run: turn * MACHINES + machine, figure: Estimate { value, interval } }
    };
    (key, (0..RUNS).map(past).collect())
}

fn with_site(of: impl FnOnce(&Site<'_>)) {
    let runs: Vec<PastRun> = (0..RUNS * MACHINES)
        .map(|number| PastRun {
            id: format!("run{number}"),
            started_unix_ns: 1_767_225_600_000_000_000 + number as i64 * HOUR_NS,
        })
        .collect();
    let facts: Vec<SiteRun> = (0..runs.len())
        .map(|number| SiteRun {
            places: vec![(
                format!("pi{}", number % MACHINES),
                "card".to_owned(),
                vec!["disk=a rather long name of a card <b>".to_owned()],
            )],
            suite: "quick".to_owned(),
            state: "completed",
            is_imported: false,
        })
        .collect();
    let headlines = histories((0..MACHINES).map(|machine| figure(machine, Metric::Bandwidth)).collect());
    let others = histories((0..MACHINES).map(|machine| figure(machine, Metric::Iops)).collect());
    let title = |history: &analyse::History| (history.key.clone(), "random read (4 KiB)".to_owned());
    let titles: BTreeMap<FigureKey, String> = headlines.iter().map(title).collect();
    let moments: Vec<_> = moments(&headlines).into_iter().map(|moment| (moment, Some(Vec::new()))).collect();
    let view =
        RunView { units: Units::Decimal, baseline: String::new(), time_zone: TimeZone::UTC, details: true };
    let followed = Followed {
        runs: &runs,
        histories: &headlines,
        titles: &titles,
        moments: &moments,
        odd: &odd_machines(&headlines),
        left_out: 0,
        view: &view,
    };
    of(&Site::new("Our cards", &followed, &others, &facts));
}

/// A page with its style and script inside, so that it can be shown in a frame.
fn whole(site: &Site<'_>, page: &SitePage) -> String {
    let content = site.content(page);
    let (before, rest) = content.split_once("<meta http-equiv").expect("a policy");
    let (policy, rest) = rest.split_once('>').unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
    let (head, rest) = rest.split_once("<link rel=\"stylesheet\"").expect("a style");
    let rest = rest.split_once('>').unwrap().1;
    let (body, _) = rest.rsplit_once("<script src=").expect("a script");
    let [style, script] = [SitePage::Style, SitePage::Script].map(|page| site.content(&page));
    format!("{before}{head}<style>{style}</style>{body}<script>{script}</script></body></html>")
}

#[test]
fn every_kind_of_page_is_readable_on_screens_and_telephones_day_and_night() {
    with_site(|site| {
        let (host, target) = ("pi5".to_owned(), "card".to_owned());
        let kinds = [
            SitePage::Machine(host.clone()),
            SitePage::Target(host, target),
            SitePage::Suite("quick".to_owned()),
            SitePage::Period("2026-01".to_owned()),
            SitePage::Figure(0),
            SitePage::Start,
        ];
        let start = site.content(&SitePage::Start);
        assert!(start.contains("pi5 is odd among 6 machines") && start.contains("20 % slower"), "{start}");
        let views =
            [(SCREEN, Theme::Light), (TELEPHONE, Theme::Light), (SCREEN, Theme::Dark), (400, Theme::Dark)];
        for kind in &kinds {
            assert!(site.pages().contains(kind), "{kind:?}");
            for &(width, theme) in tried(&views) {
                let Some(found) = look(&whole(site, kind), width, theme) else { return };
                assert_eq!((&found["width"], &found["images"]), (&width.into(), &0.into()), "{kind:?}");
                let fits = found["scrollWidth"].as_u64() <= found["width"].as_u64();
                assert!(fits, "{kind:?} scrolls sideways at {width}");
                assert_eq!(found["dark"], theme == Theme::Dark);
                let figures = found["figures"].as_array().unwrap();
                let is_drawn = |figure: &serde_json::Value| figure["marks"].as_f64().is_some_and(|n| n > 0.0);
                assert!(figures.iter().all(is_drawn), "{figures:?}");
                let has_figures = matches!(kind, SitePage::Target(..) | SitePage::Figure(_));
                assert_eq!(figures.is_empty(), !has_figures, "{kind:?}");
            }
        }
    });
}
