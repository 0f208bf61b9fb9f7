//! Agreement of another program's figures with Lodestone's own, measured in turn on the same storage.

use model::{
    CheckedFigure, CheckedWork, Comparison, Estimate, Measurement, MeasurementKey, Metric, OWN_TARGET,
    Operation, TOOLS_TARGET, Verdict,
};

use crate::Analysis;

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
    /// The other program's estimate over its repeats; `None` if it gave none.
    pub tool: Option<Estimate>,
    /// Lodestone's estimate.
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

fn measured(all: &[Measurement], target: &str, step: &str, figure: &CheckedFigure) -> Option<Estimate> {
    let key = MeasurementKey { target, step, operation: figure.operation, metric: figure.metric };
    key.find_in(all).map(|m| m.estimate)
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
}
