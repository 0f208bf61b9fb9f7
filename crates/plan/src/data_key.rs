//! Which steps share test data.

use model::{Data, FileSet, Plan, Step, Target, TargetKind, Workload};

use crate::check::obstacle;

/// What distinguishes one data set from another: steps with equal keys share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// How many files and how large.
    pub files: FileSet,
    /// Their content.
    pub data: Data,
    /// Block size in bytes of a verified set.
    pub verify_block: Option<u32>,
}

impl DataKey {
    /// The data set of a step; `None` for metadata operations.
    pub fn of(step: &Step) -> Option<Self> {
        let w = &step.workload;
        (!w.is_metadata()).then(|| Self {
            files: w.files,
            data: w.data,
            verify_block: w.verify.then_some(if w.writes_data() { w.block.write } else { w.block.read }),
        })
    }
}

/// True if a workload modifies or verifies the data, so that Lodestone must have written them.
pub fn needs_own_data(workload: &Workload) -> bool {
    workload.modifies() && !workload.writes_back() || workload.verify
}

/// For each step of a plan, why it cannot run on a target; `None` where it can.
///
/// A file or a device has room for one data set: as soon as one step overwrites it, the others must use
/// the same data, or they would read another step's.
pub fn obstacles(plan: &Plan, target: &Target) -> Vec<Option<String>> {
    let mut found: Vec<Option<String>> = plan.steps.iter().map(|step| obstacle(step, target)).collect();
    if target.kind == TargetKind::Directory {
        return found;
    }
    let possible = |(step, why): (&'_ Step, &Option<String>)| {
        let needs = |part: &&Step| needs_own_data(&part.workload);
        if why.is_some() { None } else { step.parts().find(needs).cloned() }
    };
    let Some(first) = plan.steps.iter().zip(&found).find_map(possible) else { return found };
    for (step, why) in plan.steps.iter().zip(&mut found) {
        let differs = |part: &Step| DataKey::of(part) != DataKey::of(&first);
        if why.is_none() && step.parts().any(differs) {
            *why = Some(format!(
                "it needs other test data than `{}`, and {} has room for only one set: run it on its own",
                first.id, target.name
            ));
        }
    }
    found
}
