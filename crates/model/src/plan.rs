//! What will be done: steps, rounds, and when to stop.

use serde::{Deserialize, Serialize};

use crate::{EngineChoice, Metric, Mix, Operation, Requirement, Workload};

/// A run, decided in every detail but the places and the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Digest of everything below: two runs with the same id did the same work.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// The steps, in the order in which they are shown.
    pub steps: Vec<Step>,
    /// What the storage must reach, if the question is whether it is good enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Steps of which the run seeks the highest load that the storage carries, instead of measuring all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<Ladder>,
    /// How often each step is repeated.
    pub rounds: Rounds,
    /// The steps of a round follow each other in their order, because one prepares what the next finds. Otherwise
    /// their order is drawn anew for each round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_order: bool,
    /// The rounds end before their number is reached, as soon as this step's figure is steady on every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<String>,
    /// They end too as soon as so many times the size of its data set was written on every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_written: Option<u32>,
    /// Targets whose ratio lies from 1/(1 + margin) to 1 + margin are the same; in parts per million.
    #[serde(default = "default_margin_ppm")]
    pub margin_ppm: u32,
    /// How often each target was made: round r is measured on making r modulo this, and how the makings of a target differ is part
    /// of what its figures rest on.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub makings: u32,
    /// Longest time, in nanoseconds, that laying out one target's test files may take where their
    /// size is left open.
    pub layout_limit_ns: u64,
    /// Nanoseconds for the whole run, if the user has set both a number of rounds and a budget: the run ends at
    /// whichever is reached first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
}

/// Targets within 3 % are the same unless the user says otherwise, in parts per million. A log without a margin was
/// written when this was the only one: another default needs a new log format.
pub const DEFAULT_MARGIN_PPM: u32 = 30_000;

fn one() -> u32 {
    1
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

fn default_margin_ppm() -> u32 {
    DEFAULT_MARGIN_PPM
}

impl Plan {
    /// A plan of these steps and rounds, in any order, without an id, a time limit or another end.
    pub fn of_steps(suite: &str, steps: Vec<Step>, rounds: Rounds) -> Self {
        Self {
            id: String::new(),
            suite: suite.to_owned(),
            steps,
            requirements: Vec::new(),
            ladders: Vec::new(),
            rounds,
            in_order: false,
            until_steady: None,
            until_written: None,
            margin_ppm: default_margin_ppm(),
            makings: one(),
            layout_limit_ns: 0,
            budget_ns: None,
        }
    }

    /// [`Plan::margin_ppm`] as a share.
    pub fn margin(&self) -> f64 {
        f64::from(self.margin_ppm) / 1e6
    }

    /// The step with this id, if there is one.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The ladder that a step is a rung of, if it is one.
    pub fn ladder_of(&self, step: &str) -> Option<&Ladder> {
        self.ladders.iter().find(|ladder| ladder.rungs.iter().any(|rung| rung.step == step))
    }
}

/// Steps that differ in the load that they offer: the storage carries one if it meets what is required of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// What the load is counted in, such as `members of etcd`.
    pub unit: String,
    /// The steps, from the lowest load to the highest.
    pub rungs: Vec<Rung>,
}

impl Ladder {
    /// Rungs that a search by halves looks at, at most.
    pub fn most_probes(&self) -> u32 {
        self.rungs.len().checked_ilog2().map_or(0, |halvings| halvings + 1)
    }
}

/// A step of a [`Ladder`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Its id.
    pub step: String,
    /// Its load, in the unit of the ladder.
    pub load: f64,
}

/// How often everything is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    /// So many times.
    Fixed(u32),
    /// Until every comparison is decided or precise enough, and no longer than the time allows.
    Auto {
        /// Nanoseconds for the whole run, layout included.
        budget_ns: u64,
        /// Half the width of an interval that is precise enough, in parts per million of the figure. 0 if only the
        /// time ends the rounds, as in logs that do not say it.
        #[serde(default)]
        precision_ppm: u32,
    },
}

/// One workload with its preparation and its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Short name, unique within a plan.
    pub id: String,
    /// What a person reads, such as `Random read, 4 KiB, depth 32`.
    pub title: String,
    /// What must be true of the data set before the step.
    pub prepare: Preparation,
    /// What is done.
    pub workload: Workload,
    /// With which engine.
    pub engine: EngineChoice,
    /// When a repeat ends.
    pub stop: Stop,
    /// Nanoseconds after the ramp to which repeats may be shortened: the run chooses their length between this and
    /// `stop.time_ns`. `None` if every repeat is as long as `stop` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_ns: Option<u64>,
    /// Nanoseconds at the start of a repeat that do not count. A shortened repeat has a shorter one.
    pub ramp_ns: u64,
    /// Nanoseconds covered by one interval record.
    pub interval_ns: u64,
    /// Errors after which a repeat is given up. The first one by default.
    pub max_errors: u64,
    /// What runs at the same time, each with its own engine, data and end. The figures of the step are those of all
    /// together, and so are its title, ramp and intervals; `beside` is empty in these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent: Vec<Step>,
    /// Where another program did the work: the operations it tells of, each with the metric in which it is judged.
    /// Empty where Lodestone did it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<(Operation, Metric)>,
}

impl Step {
    /// The step itself and what runs beside it.
    pub fn parts(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(self).chain(&self.concurrent)
    }

    /// Seconds that one repeat takes by its limits, without the time to open, settle and close.
    pub fn seconds(&self) -> f64 {
        let part = |step: &Self| {
            let modifiers = &step.workload.modifiers;
            let least_ns = modifiers.again.map_or(5_000_000_000, |again| again.least_ns);
            modifiers.start_delay_ns + step.ramp_ns + step.stop.time_ns.unwrap_or(least_ns)
        };
        self.parts().map(part).max().unwrap_or(0) as f64 / 1e9
    }

    /// The operations that have figures, those beside it included, in the order in which they are shown.
    pub fn operations(&self) -> Vec<Operation> {
        if !self.foreign.is_empty() {
            return self.foreign.iter().map(|(operation, _)| *operation).collect();
        }
        let own = self.workload.operations();
        let others = self.concurrent.iter().flat_map(|step| step.workload.operations());
        let more: Vec<Operation> = others.filter(|o| !own.contains(o)).collect();
        let more = Operation::ALL.into_iter().filter(|o| more.contains(o));
        own.iter().copied().chain(more).collect()
    }

    /// True if each block of the data can be worked on only once: the first write to a new file allocates,
    /// the first trim gives back. Then a repeat ends, at the latest, when all data are used up.
    pub fn uses_data_up(&self) -> bool {
        self.prepare == Preparation::Fresh || matches!(self.workload.mix, Mix::Trim)
    }
}

/// What must be true of the data set before a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preparation {
    /// Completely written and synced, so that reads read data and writes overwrite.
    #[default]
    Written,
    /// New, empty files for each repeat, so that writes allocate.
    Fresh,
    /// New files for each repeat whose space is reserved, so that the first write of each block only takes it over.
    Reserved,
}

/// When a repeat ends: at whichever is reached first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Nanoseconds after the ramp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Bytes moved by all jobs together, the ramp included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Operations started by all jobs together, the ramp included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Times that each job has moved as many bytes as its part of the data has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
}
