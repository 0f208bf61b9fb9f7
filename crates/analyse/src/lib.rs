//! Analysis of runs: measurements with intervals, comparisons with verdicts, findings with evidence.
//!
//! # Invariants
//! * Pure: it opens no file, starts no process and reads no clock. The same log gives the same result.
//! * Only repeats that ended as planned count, and of these only the time after the ramp.
//! * One value per repeat: operations within a repeat depend on each other and are never the basis of an interval.

mod agreement;
mod backing;
mod change;
mod change_points;
mod circumstances;
mod clients;
mod compare;
mod costs;
mod decide;
mod disturbance;
mod findings;
mod groups;
mod history;
mod hours;
mod kinds;
mod ladder;
mod length;
mod limits;
mod measure;
mod odd;
mod percentile;
mod ratio;
mod repeats;
mod requirements;
mod score;
mod sequential;
mod stalls;
mod stats;
mod steady;
mod telemetry;
mod transient;

pub use agreement::{Agreement, CheckedPair, agreements, pi_scores};
pub use backing::{Backing, Clue, MeasuredHere, backing};
pub use change::{Cliff, common_cliff};
pub use change_points::{ChangePoint, Course, Point, RUNS_OF_A_CHANGE, course};
pub use circumstances::{ABSENT, Difference, differences};
pub use clients::{ClientShare, Clients, Curve, ENOUGH, Knee, Shares, Starts};
pub use compare::{Series, Summary, compare, compare_all, headline, headline_operations, summarise};
pub use costs::{ARRAY, Cost, TargetParts, costs, labels_of};
pub use decide::{Aims, Decided, Forecast, decide, out_of_reach};
pub use disturbance::disturbance;
pub use findings::{RULES, Rule, link_name};
pub use groups::{GROUP, GroupMean, Groups, groups};
pub use history::{FigureKey, History, Moment, PastFigure, histories, moments};
pub use hours::{
    ByHour, HourFigure, HoursVerdict, RunAt, TargetByHour, by_hour, histories_by_hour, runs_by_hour,
};
pub use kinds::{KindVerdict, StorageKind, StorageTraits, classify_storage};
pub use ladder::{Headroom, rungs_in_turn};
pub use length::{
    LengthChoice, ROUNDS_TO_CHOOSE, RepeatNoise, ShortAndLong, best_length, length_effect, round_length,
    shortest_for, turns_effect, variance_within,
};
pub use measure::{first_round_that_counts, measurements, repeat_values};
pub use odd::{MACHINES_TO_COMPARE, Odd, OddMachine, odd_machines, odd_ones};
pub use percentile::percentile_by_round;
pub use ratio::Pairing;
pub use repeats::{CHANCE, Modes, RepeatDiagnostics, Trend, diagnose, diagnose_all};
pub use requirements::{Judgement, Sample, Standing, is_required, judge, settled_requirements, unexposed};
pub use score::{PiFigures, pi_score};
pub use stalls::{Loss, exposure};
pub use stats::{Estimator, mean_with_t_interval, means_of_makings};
pub use steady::{SteadyState, steady_state};
pub use telemetry::{StepTelemetry, TelemetryFigure, telemetry};
pub use transient::{TRANSIENT_CHANCE, Transient, Work, transient};

use findings::{RuleContext, findings};
use measure::{Counts, measurements_of};
use model::{Comparison, Finding, Measurement, MeasurementKey, Run, Units};

/// The full analysis of one run.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Every metric of every operation of every step on every target.
    pub measurements: Vec<Measurement>,
    /// For each headline measurement the diagnostics of its repeats; `None` for the others.
    pub diagnostics: Vec<Option<RepeatDiagnostics>>,
    /// Every target against the baseline.
    pub comparisons: Vec<Comparison>,
    /// One figure over all steps for each target except the baseline.
    pub summaries: Vec<Summary>,
    /// Whether the storage is good enough, where that is required.
    pub judgements: Vec<Judgement>,
    /// The highest loads that the targets carry, by target within a ladder.
    pub headrooms: Vec<Headroom>,
    /// What parts of the storage cost, where targets differ in one.
    pub costs: Vec<Cost>,
    /// What machines that work together show.
    pub clients: Option<Clients>,
    /// Groups of machines, where there are several with several machines each.
    pub groups: Option<Groups>,
    /// The findings, the most important first.
    pub findings: Vec<Finding>,
}

impl Analysis {
    /// One measurement.
    pub fn measurement(&self, key: MeasurementKey<'_>) -> Option<&Measurement> {
        key.find_in(&self.measurements)
    }

    /// The diagnostics of the repeats of one measurement, if it is a headline.
    pub fn diagnostics_of(&self, key: MeasurementKey<'_>) -> Option<&RepeatDiagnostics> {
        self.diagnostics.get(key.position_in(&self.measurements)?)?.as_ref()
    }
}

/// Analyses a run: compares its targets with the one called `baseline` and aggregates the repeats by `rule`.
/// The messages of the findings give bytes in `units`.
pub fn analyse(run: &Run, baseline: &str, rule: Estimator, units: Units) -> Analysis {
    let counts = Counts::of(run);
    let measurements = measurements_of(run, rule, &counts);
    let series = Series::of_run(run, &measurements);
    let plan = &run.started.plan;
    let pairing = Pairing::within(plan);
    let comparisons = compare(&series, baseline, pairing, plan.margin());
    let context = RuleContext::new(run, &measurements, &comparisons, &counts, units);
    let findings = findings(&context);
    let (costs, mut diagnostics) = (context.costs, context.diagnostics);
    for (m, diagnostics) in measurements.iter().zip(&mut diagnostics) {
        let is_told = |f: &Finding| {
            let about = (f.subject.target.as_deref(), f.subject.step.as_deref());
            f.rule == "two-modes" && about == (Some(&m.target), Some(&m.step))
        };
        // Where a stall tells why some repeats were slow, they are no second mode: the figure is that of the long run.
        if let Some(diagnostics) = diagnostics.as_mut().filter(|_| !findings.iter().any(is_told)) {
            diagnostics.modes = None;
        }
    }
    let summaries = summarise(plan, &comparisons);
    let groups = groups(run, &measurements, baseline);
    let clients = clients::clients(run, &measurements, &series);
    let judgements = requirements::judgements(run, &measurements, &counts);
    let headrooms = ladder::headrooms(run, &judgements);
    let is_alone = |j: &Judgement| run.started.plan.ladder_of(&j.requirement.step).is_none();
    let judgements: Vec<Judgement> = judgements.into_iter().filter(is_alone).collect();
    Analysis {
        judgements,
        headrooms,
        clients,
        groups,
        summaries,
        comparisons,
        findings,
        costs,
        diagnostics,
        measurements,
    }
}
