//! Agreement of another program's figures with Lodestone's own, measured in turn on the same storage.

use model::{
    CheckedFigure, CheckedWork, Comparison, Estimate, Measurement, MeasurementKey, Metric, OWN_TARGET,
    Operation, PortableMath, TOOLS_TARGET, Verdict,
};

use crate::Analysis;
use crate::score::{PiFigures, pi_score};
use crate::stats::RobustMean;

/// The result of comparing the same work by two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The ratio is shown to be within the margin.
    Agrees,
    /// The ratio is shown to be beyond the margin: its whole interval is, and the difference survives the correction for the
    /// number of figures compared.
    Differs,
    /// Neither is shown.
    Undecided,
}

impl Agreement {
    /// The result in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
        }
    }
}

/// One figure of the same work by the other program and by Lodestone.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPair<'a> {
    /// The work.
    pub work: &'a CheckedWork,
    /// The figure.
    pub figure: &'a CheckedFigure,
    /// The other program's geometric mean over the rounds that the ratio is of, else its estimate; `None` if it gave none.
    pub tool: Option<Estimate>,
    /// Lodestone's, over the same rounds: the two have the ratio below.
    pub lodestone: Option<Estimate>,
    /// Lodestone's ÷ the other program's, paired by round, with its interval; `None` with fewer than two rounds of both.
    pub ratio: Option<Estimate>,
    /// The result.
    pub agreement: Option<Agreement>,
}

/// Compares the figures of the works, in their order. Works that the run does not have are left out. A ratio is within the
/// margin by two one-sided tests ([`Verdict::Same`]), and beyond it if all of its 95 % interval is and Holm's procedure over
/// the figures finds a difference.
pub fn agreements<'a>(works: &'a [CheckedWork], analysis: &Analysis, margin: f64) -> Vec<CheckedPair<'a>> {
    let mut found = Vec::new();
    for work in works {
        for figure in &work.figures {
            let of = |target: &str| measured(&analysis.measurements, target, &work.step, figure);
            let (tool, lodestone) = (of(TOOLS_TARGET), of(OWN_TARGET));
            if tool.is_none() && lodestone.is_none() {
                continue;
            }
            let [tool, lodestone] = match (tool, lodestone) {
                (Some(tool), Some(own)) => means_of_common_rounds(tool, own).map(Some),
                (tool, own) => [tool, own].map(|m| m.map(|m| m.estimate)),
            };
            let comparison = compared(&analysis.comparisons, &work.step, figure.operation, figure.metric);
            found.push(CheckedPair {
                work,
                figure,
                tool,
                lodestone,
                ratio: comparison.map(|c| c.ratio),
                agreement: comparison.map(|c| judged(c, margin)),
            });
        }
    }
    found
}

/// The score of PiBenchmarks by the other programs' figures and by Lodestone's; `None` unless all of its inputs were measured
/// by both.
pub fn pi_scores(pairs: &[CheckedPair<'_>]) -> Option<[u64; 2]> {
    let of = |step: &str, metric: Metric| {
        let pair = pairs.iter().find(|p| p.work.step == step && p.figure.metric == metric)?;
        Some([pair.tool?.value, pair.lodestone?.value])
    };
    let rate = |step: &str| of(step, Metric::Bandwidth);
    let dd = rate("dd-pi")?;
    let [reads, writes] = ["fio-pi-randread", "fio-pi-randwrite"].map(|step| of(step, Metric::Iops));
    let (reads, writes) = (reads?, writes?);
    let [read, write, random_read, random_write] =
        ["iozone-read", "iozone-write", "iozone-random-read", "iozone-random-write"].map(rate);
    let (read, write, random_read, random_write) = (read?, write?, random_read?, random_write?);
    let score = |i: usize| {
        pi_score(&PiFigures {
            dd_mb_per_second: dd[i] / 1e6,
            fio_random_reads: reads[i],
            fio_random_writes: writes[i],
            iozone_read: read[i] / 1024.0,
            iozone_write: write[i] / 1024.0,
            iozone_random_read: random_read[i] / 1024.0,
            iozone_random_write: random_write[i] / 1024.0,
        })
    };
    Some([score(0), score(1)])
}

fn measured<'m>(
    all: &'m [Measurement],
    target: &str,
    step: &str,
    figure: &CheckedFigure,
) -> Option<&'m Measurement> {
    MeasurementKey { target, step, operation: figure.operation, metric: figure.metric }.find_in(all)
}

/// The geometric means of both over the rounds that their ratio is of: those that both have, from ten on without the lowest
/// and the highest fifth of the ratios. Without such rounds, their estimates.
fn means_of_common_rounds(tool: &Measurement, own: &Measurement) -> [Estimate; 2] {
    let value_of = |round: u32| own.values.iter().find(|(other, _)| *other == round).map(|(_, value)| *value);
    let pair = |(round, tool): &(u32, f64)| Some([tool.portable_ln(), value_of(*round)?.portable_ln()]);
    let mut rounds: Vec<[f64; 2]> = tool.values.iter().filter_map(pair).collect();
    rounds.retain(|logs| logs.iter().all(|log| log.is_finite()));
    rounds.sort_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0])));
    let cut = if tool.metric.percent().is_some() { 0 } else { RobustMean::cut(rounds.len()) };
    let kept = &rounds[cut..rounds.len() - cut];
    if kept.is_empty() {
        return [tool.estimate, own.estimate];
    }
    let mean = |i: usize| kept.iter().map(|logs| logs[i]).sum::<f64>() / kept.len() as f64;
    [0, 1].map(|i| Estimate { value: mean(i).portable_exp(), interval: None })
}

fn compared<'a>(
    all: &'a [Comparison],
    step: &str,
    operation: Operation,
    metric: Metric,
) -> Option<&'a Comparison> {
    all.iter()
        .find(|c| c.target == OWN_TARGET && c.step == step && (c.operation, c.metric) == (operation, metric))
}

fn judged(comparison: &Comparison, margin: f64) -> Agreement {
    let beyond = |(low, high): (f64, f64)| low > 1.0 + margin || high < 1.0 / (1.0 + margin);
    match comparison.verdict {
        Verdict::Same => Agreement::Agrees,
        // The verdict is corrected for the number of figures in the table.
        Verdict::Faster | Verdict::Slower if comparison.ratio.interval.is_some_and(beyond) => {
            Agreement::Differs
        }
        _ => Agreement::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(value: f64, interval: (f64, f64), verdict: Verdict) -> Comparison {
        Comparison {
            step: "x".into(),
            operation: Operation::Read,
            metric: Metric::Iops,
            target: OWN_TARGET.into(),
            baseline: TOOLS_TARGET.into(),
            ratio: Estimate { value, interval: Some(interval) },
            verdict,
            method: "",
            more_rounds: None,
            stalls: None,
            unseen: None,
            inflation: 1.0,
        }
    }

    #[test]
    fn a_ratio_differs_only_wholly_beyond_the_margin() {
        let judge = |value, interval, verdict| judged(&comparison(value, interval, verdict), 0.05);
        assert_eq!(judge(1.01, (0.99, 1.03), Verdict::Same), Agreement::Agrees);
        assert_eq!(judge(1.04, (1.02, 1.06), Verdict::Faster), Agreement::Undecided, "faster, but by 5 %?");
        assert_eq!(judge(1.10, (1.06, 1.14), Verdict::Faster), Agreement::Differs);
        assert_eq!(judge(0.90, (0.86, 0.94), Verdict::Slower), Agreement::Differs);
        assert_eq!(judge(0.90, (0.80, 1.01), Verdict::Undecided), Agreement::Undecided);
        assert_eq!(
            judge(1.5, (1.1, 2.0), Verdict::Undecided),
            Agreement::Undecided,
            "one of many, by chance"
        );
    }

    #[test]
    fn the_columns_have_the_ratio_beside_them() {
        // An odd round at each end; the median of one side and that of the other are not those of one round.
        let tool = [90.0, 121.0, 80.0, 119.0, 122.0, 118.0, 120.0, 85.0, 88.0, 121.0];
        let own = [70.0, 118.0, 79.0, 300.0, 85.0, 117.0, 84.0, 85.8, 87.0, 30.0];
        let rounds = |values: [f64; 10]| (0..).zip(values).collect::<Vec<(u32, f64)>>();
        let series = |target: &str, values: [f64; 10]| crate::Series {
            run: 0,
            target: target.into(),
            step: "x".into(),
            operation: Operation::Read,
            metric: Metric::Iops,
            is_headline: true,
            values: rounds(values),
            exposures: Vec::new(),
            makings: 1,
        };
        let both = [series(OWN_TARGET, own), series(TOOLS_TARGET, tool)];
        let ratio = crate::compare(&both, TOOLS_TARGET, crate::Pairing::ByRound, 0.05)[0].ratio.value;
        let measurement = |target: &str, values: [f64; 10]| Measurement {
            target: target.into(),
            step: "x".into(),
            operation: Operation::Read,
            metric: Metric::Iops,
            method: "",
            values: rounds(values),
            paired: Vec::new(),
            exposures: Vec::new(),
            estimate: Estimate { value: 1.0, interval: None },
        };
        let of = [measurement(TOOLS_TARGET, tool), measurement(OWN_TARGET, own)];
        let [tool, own] = means_of_common_rounds(&of[0], &of[1]);
        assert!((own.value / tool.value / ratio - 1.0).abs() < 1e-9, "{own:?} ÷ {tool:?} is not {ratio}");
    }

    #[test]
    fn the_score_of_pibenchmarks_needs_all_of_its_inputs() {
        let inputs = [
            ("dd-pi", Metric::Bandwidth, 23.7e6),
            ("fio-pi-randread", Metric::Iops, 2500.0),
            ("fio-pi-randwrite", Metric::Iops, 800.0),
            ("iozone-read", Metric::Bandwidth, 9000.0 * 1024.0),
            ("iozone-write", Metric::Bandwidth, 2251.0 * 1024.0),
            ("iozone-random-read", Metric::Bandwidth, 8500.0 * 1024.0),
            ("iozone-random-write", Metric::Bandwidth, 3432.0 * 1024.0),
        ];
        let works = inputs.map(|(step, metric, _)| CheckedWork {
            tool: String::new(),
            step: step.into(),
            title: String::new(),
            command: String::new(),
            defined_cost: true,
            figures: vec![CheckedFigure { operation: Operation::Read, metric, known: None }],
        });
        let pair = |(work, (.., value)): (&'static CheckedWork, (&str, Metric, f64))| {
            let of = |value| Some(Estimate { value, interval: None });
            let figure = &work.figures[0];
            CheckedPair {
                work,
                figure,
                tool: of(value),
                lodestone: of(value * 2.0),
                ratio: None,
                agreement: None,
            }
        };
        let works: &'static [CheckedWork] = Box::leak(Box::new(works));
        let mut pairs: Vec<CheckedPair<'_>> = works.iter().zip(inputs).map(pair).collect();
        assert_eq!(pi_scores(&pairs), Some([1218, 2436]));
        pairs.pop();
        assert_eq!(pi_scores(&pairs), None);
    }
}
