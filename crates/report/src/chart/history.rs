//! Runs of one plan over the days and over the hours of the day.

use model::{Metric, Operation};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::svg::{Mark, Svg};
use super::{Chart, Sketch, drawn, metric_words, paged, part};
use crate::document::by_hour::hour_and_day;
use crate::view::AnalysedRun;
use crate::view::{RunView, when};
use crate::words::short;

const HEIGHT: f64 = 220.0;
/// Smallest number of runs.
const FEWEST: usize = 3;
const CAPTION: &str = "Each dot is a run of the same plan with its 95 % interval: on the left by day, on the right by the hour at \
    which it started. A slope on the left suggests ageing or a change of software; a dip on the right suggests \
    other load at the same hour every day.";

/// A run's figure of one target.
#[derive(Clone)]
struct Dot {
    target: usize,
    name: String,
    when: String,
    /// Days since the first run, and hour of the day.
    at: (f64, f64),
    value: f64,
    interval: Option<(f64, f64)>,
}

#[derive(Clone)]
struct Panel {
    title: String,
    metric: Metric,
    by_hour: bool,
    dots: Vec<Dot>,
}

/// The history of the first run's plan; nothing for fewer than three runs of it.
pub fn history(runs: &[AnalysedRun<'_>]) -> Vec<Chart> {
    let Some(first) = runs.first() else { return Vec::new() };
    let alike: Vec<&AnalysedRun<'_>> = runs
        .iter()
        .filter(|l| {
            l.run.started.plan.id == first.run.started.plan.id
                && l.run.started.host.id == first.run.started.host.id
        })
        .collect();
    if alike.len() < FEWEST {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    for target in alike.iter().flat_map(|l| &l.run.started.targets) {
        if !names.contains(&target.name) {
            names.push(target.name.clone());
        }
    }
    let all = panels_of(&alike, &names);
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let of = pages.len();
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let (names, view) = (names.clone(), first.view.clone());
        Sketch::new(part("History", i, of), CAPTION, move |svg| {
            panels(svg, &names, &vec![HEIGHT; page.len()], |svg, i, area| {
                draw_panel(svg, &page[i], &view, area);
            });
        })
    };
    drawn("history", pages.into_iter().enumerate().map(sketch).collect(), super::WIDE)
}

fn panels_of(runs: &[&AnalysedRun<'_>], names: &[String]) -> Vec<Panel> {
    let start = runs.iter().map(|l| l.run.started.started_unix_ns).min().unwrap_or(0);
    let mut found: Vec<(String, Operation, Panel)> = Vec::new();
    for analysed in runs {
        let AnalysedRun { run, view, .. } = **analysed;
        let began = run.started.started_unix_ns;
        let days = began.saturating_sub(start) as f64 / 86_400e9;
        let second = began.div_euclid(1_000_000_000).rem_euclid(3600) as f64;
        let hour = f64::from(hour_and_day(began, &view.time_zone).0) + second / 3600.0;
        for headline in analysed.headlines() {
            let dots = headline.targets.iter().filter_map(|(_, name, m)| {
                let target = names.iter().position(|n| n == name)?;
                let when = when(began, &view.time_zone);
                let (value, interval) = (m.estimate.value, m.estimate.interval);
                Some(Dot { target, name: name.clone(), when, at: (days, hour), value, interval })
            });
            let is_it = |(step, operation, _): &&mut (String, Operation, Panel)| {
                *step == headline.step.id && *operation == headline.operation
            };
            match found.iter_mut().find(is_it) {
                Some((.., panel)) => panel.dots.extend(dots),
                None => {
                    let dots = dots.collect();
                    let panel = Panel {
                        title: headline.title.clone(),
                        metric: headline.metric,
                        by_hour: false,
                        dots,
                    };
                    found.push((headline.step.id.clone(), headline.operation, panel));
                }
            }
        }
    }
    found.into_iter().flat_map(|(.., panel)| [panel.clone(), Panel { by_hour: true, ..panel }]).collect()
}

fn draw_panel(svg: &mut Svg, panel: &Panel, view: &RunView, area: Area) {
    title(svg, &area, &panel.title, metric_words(panel.metric));
    let plot = area.inner(70.0, 40.0, 14.0, 40.0);
    let x_of = |dot: &Dot| if panel.by_hour { dot.at.1 } else { dot.at.0 };
    let (low, high) = range(panel.dots.iter().map(|d| d.value).filter(|v| *v > 0.0)).unwrap_or((1.0, 2.0));
    let places = (plot.bottom(), plot.y);
    let log = high > 20.0 * low;
    let y = if log {
        Scale::log((low * 0.8, high * 1.25), places)
    } else {
        Scale::linear((0.0, high * 1.15), places)
    };
    let last = panel.dots.iter().map(|d| d.at.0).fold(0.0, f64::max);
    let room = (last * 0.03).max(1e-3);
    let x = if panel.by_hour {
        Scale::linear((0.0, 24.0), (plot.x, plot.right()))
    } else {
        Scale::linear((-room, last + room), (plot.x, plot.right()))
    };
    let show = |v: f64| view.display(panel.metric, v);
    let number = |v: f64| if v.fract().abs() < 1e-9 { format!("{v:.0}") } else { format!("{v:.2}") };
    let (ticks, words) = if panel.by_hour {
        ((0..=4).map(|i| f64::from(i * 6)).collect(), "hour of the day")
    } else {
        (x.ticks(6), "days since the first run")
    };
    let across = Axis { scale: x, ticks, words, show: &number };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &show });
    for dot in &panel.dots {
        let px = x.at(x_of(dot));
        let mut tip = format!("{}, {}: {}", short(&dot.name, 60), dot.when, show(dot.value));
        if let Some((low, high)) = dot.interval {
            svg.line((px, y.at(low)), (px, y.at(high)), &Mark::of("spread", dot.target));
            tip.push_str(&format!(", 95 % interval {} to {}", show(low), show(high)));
        }
        svg.dot((px, y.at(dot.value)), 4.0, &Mark::of("dot", dot.target).tip(tip));
    }
}
