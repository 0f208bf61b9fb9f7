//! `run --against`: what an earlier run gives to a new one: the steps, the targets, and the limits.

use std::ffi::OsString;

use analyse::{Estimator, Series, headline, headline_operations, measurements};
use model::{
    Better, Bound, EarlierFigure, Measurement, Plan, Reference, Requirement, Rounds, Run, Step, Target,
};

use super::compare::is_same;
use super::{results, store};
use crate::cli::{Cli, RunArgs};
use crate::failure::Failure;

/// Half the width of an interval that tells whether a limit is kept, as a share of the distance from the earlier figure to it.
const PRECISION: f64 = 0.3;

/// Parts per million of a whole.
const WHOLE_PPM: u32 = 1_000_000;

/// The run that another one is measured by.
pub(super) struct Earlier {
    pub run: Run,
    measurements: Vec<Measurement>,
}

impl Earlier {
    /// The run that the arguments name, if they name one.
    ///
    /// # Errors
    /// There is no such run, or it has no figures.
    pub(super) fn find(cli: &Cli, args: &RunArgs) -> Result<Option<Self>, Failure> {
        let Some(name) = &args.require.against else { return Ok(None) };
        let run = results::find(&store(cli)?, name)?;
        let measurements = measurements(&run, Estimator::Mean);
        match measurements.is_empty() {
            true => Err(Failure::usage(format!("--against: run {} has no figures", run.started.id))),
            false => Ok(Some(Self { run, measurements })),
        }
    }

    fn id(&self) -> &str {
        &self.run.started.id
    }

    /// Its targets, as they would be typed.
    ///
    /// # Errors
    /// They are on other machines, or are no places of a file system.
    pub(super) fn targets(&self) -> Result<Vec<OsString>, Failure> {
        let started = &self.run.started;
        let is_here = |target: &Target| {
            target.host == 0 && target.clients.is_empty() && !target.path.as_os_str().is_empty()
        };
        if !started.targets.iter().all(is_here) {
            let message = format!("--against {}: its targets are not on this machine alone", self.id());
            return Err(Failure::usage(format!("{message}; name the targets to measure")));
        }
        let typed = |target: &Target| {
            let mut typed = OsString::from(format!("{}=", target.name));
            typed.push(&target.path);
            typed
        };
        Ok(started.targets.iter().map(typed).collect())
    }

    /// Requires of each target that no figure is worse than it was by more than the plan's margin, and makes the intervals of rounds
    /// `auto` narrow enough to tell.
    ///
    /// # Errors
    /// A target has no counterpart, or there is no figure of any step.
    pub(super) fn require(&self, plan: &mut Plan, targets: &[Target]) -> Result<(), Failure> {
        if plan.margin_ppm >= WHOLE_PPM {
            return Err(Failure::usage(
                "--margin 100%: then a figure may be anything; use less with --against",
            ));
        }
        let mut all = Vec::new();
        for target in targets {
            let of = self.counterpart(target)?;
            let same = |step: &&Step| self.run.started.plan.step(&step.id).is_some_and(|s| is_same(s, step));
            for step in plan.steps.iter().filter(same) {
                all.extend(self.requirements(step, target, of, plan.margin_ppm));
            }
        }
        if all.is_empty() {
            return Err(Failure::usage(format!(
                "--against {}: none of its steps is among those to be measured, so nothing can be compared",
                self.id()
            )));
        }
        plan.requirements.extend(all);
        if let Rounds::Auto { precision_ppm, .. } = &mut plan.rounds {
            *precision_ppm = (*precision_ppm).min((f64::from(plan.margin_ppm) * PRECISION) as u32);
        }
        Ok(())
    }

    /// The target of the earlier run that one is measured by: that with its name, or the only one.
    fn counterpart(&self, target: &Target) -> Result<&str, Failure> {
        let there = &self.run.started.targets;
        let found = there.iter().find(|other| other.name == target.name).or(match there.as_slice() {
            [only] => Some(only),
            _ => None,
        });
        found.map(|found| found.name.as_str()).ok_or_else(|| {
            let names: Vec<&str> = there.iter().map(|target| target.name.as_str()).collect();
            Failure::usage(format!(
                "--against {}: it has no target `{}`; its targets are {}: name yours like the one it stands for, as in {}=PATH",
                self.id(),
                target.name,
                names.join(", "),
                names[0]
            ))
        })
    }

    fn requirements(&self, step: &Step, target: &Target, of: &str, margin_ppm: u32) -> Vec<Requirement> {
        let figure = |operation| {
            let metric = headline(step, operation)?;
            let is_it = |m: &&Measurement| {
                m.target == of && m.step == step.id && m.operation == operation && m.metric == metric
            };
            let series = Series::of(&self.run, step, self.measurements.iter().find(is_it)?);
            let (bound, limit) = match metric.better() {
                Better::Lower => (Bound::AtMost, f64::from(WHOLE_PPM + margin_ppm) / f64::from(WHOLE_PPM)),
                _ => (Bound::AtLeast, f64::from(WHOLE_PPM - margin_ppm) / f64::from(WHOLE_PPM)),
            };
            let earlier = EarlierFigure {
                run: self.id().to_owned(),
                started_unix_ns: self.run.started.started_unix_ns,
                of: of.to_owned(),
                target: target.name.clone(),
                values: series.values,
                exposures: series.exposures,
                makings: series.makings,
            };
            Some(Requirement {
                profile: format!("as fast as {}", self.id()),
                step: step.id.clone(),
                operation,
                metric,
                bound,
                limit,
                relative_to: Some(Reference::Run(Box::new(earlier))),
                source: format!("run {}, target {of}", self.id()),
            })
        };
        headline_operations(step).into_iter().filter_map(figure).collect()
    }
}
