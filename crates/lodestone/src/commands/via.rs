//! `run --via fio`: which steps fio can run, and how it runs them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use host::Roots;
use model::{EngineChoice, EngineKind, Mix, Plan, Preparation, Step, Target, TargetKind};
use plan::AUTO_SIZE_BYTES;
use plan::checks::TOOLS;
use plan::fio::{JobTarget, write};

use crate::cli::ViaProgram;
use crate::executor::{Driver, TargetState};
use crate::failure::Failure;

/// The program that runs the steps, and the steps that it cannot run.
pub(super) struct Via {
    program: PathBuf,
    /// Steps with the reasons.
    refused: Vec<(String, String)>,
}

impl Via {
    /// Finds the program and checks the steps.
    ///
    /// # Errors
    /// It is not installed, or can run none of them.
    pub fn new(
        via: ViaProgram,
        roots: &Roots,
        plan: &Plan,
        targets: &[Target],
        best: EngineKind,
    ) -> Result<Self, Failure> {
        let ViaProgram::Fio = via;
        if !plan.ladders.is_empty() {
            return Err(Failure::usage(
                "--via fio: the suite seeks the highest load, which takes the latencies that Lodestone's own engines tell",
            ));
        }
        let install = TOOLS.iter().find(|tool| tool.word == "fio").map_or("", |tool| tool.install);
        let program = host::programs::find_by_path(roots, "fio")
            .ok_or_else(|| Failure::usage(format!("--via fio: fio is not installed; {install}")))?;
        let mut refused = Vec::new();
        for step in &plan.steps {
            let why = reasons(step, targets, best);
            if !why.is_empty() {
                refused.push((step.id.clone(), why.join("; ")));
            }
        }
        if refused.len() == plan.steps.len() {
            let all: Vec<String> = refused.iter().map(|(id, why)| format!("  {id}: {why}")).collect();
            return Err(Failure::usage(format!(
                "--via fio: fio can run none of the steps\n{}",
                all.join("\n")
            )));
        }
        Ok(Self { program, refused })
    }

    /// Makes the program run the repeats of a target.
    pub fn drive(&self, state: &mut TargetState, plan: &Plan) {
        let is_refused = |id: &String| self.refused.iter().any(|(refused, _)| refused == id);
        let steps: BTreeSet<String> =
            plan.steps.iter().map(|s| s.id.clone()).filter(|id| !is_refused(id)).collect();
        state.only = Some(steps);
        state.driver = Driver::Fio(self.program.clone());
    }

    /// What is left out, in sentences without their full stops.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.refused.iter().map(|(id, why)| format!("left out: {id}: {why}"))
    }

    /// The steps that fio would run, and those that are left out.
    pub fn dry_run(&self, plan: &Plan) -> String {
        let mut text = format!("\nby {}:\n", self.program.display());
        for step in &plan.steps {
            match self.refused.iter().find(|(id, _)| *id == step.id) {
                Some((id, why)) => text.push_str(&format!("left out: {id}: {why}\n")),
                None => text.push_str(&format!("as a job: {}\n", step.id)),
            }
        }
        text
    }
}

/// Why fio cannot run a step on these targets; nothing if it can.
fn reasons(step: &Step, targets: &[Target], best: EngineKind) -> Vec<String> {
    let mut step = step.clone();
    resolve_engine(&mut step, best);
    let job_targets: Vec<JobTarget> = step
        .parts()
        .map(|part| JobTarget::Directory { bytes: part.workload.files.size_bytes.unwrap_or(AUTO_SIZE_BYTES) })
        .collect();
    let mut why = write(&step, &job_targets).err().unwrap_or_default();
    let is_directory = targets.iter().any(|target| target.kind == TargetKind::Directory);
    if step.parts().any(|part| part.workload.verify) {
        why.push("fio cannot verify blocks that Lodestone has stamped, nor Lodestone fio's".to_owned());
    }
    if is_directory && step.parts().any(|part| matches!(part.workload.mix, Mix::Trim)) {
        why.push("fio trims devices, not files".to_owned());
    }
    if step.concurrent.iter().any(|part| part.prepare != Preparation::Written && !part.workload.is_metadata())
    {
        why.push("--via fio does not support new files for concurrent steps".to_owned());
    }
    why
}

/// Names the engine that `auto` stands for.
fn resolve_engine(step: &mut Step, best: EngineKind) {
    if step.engine == EngineChoice::Auto {
        step.engine = EngineChoice::Only(best);
    }
    step.concurrent.iter_mut().for_each(|other| resolve_engine(other, best));
}
