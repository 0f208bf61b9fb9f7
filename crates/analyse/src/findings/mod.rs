//! What the figures mean: rules that report only what the evidence supports.
//!
//! Each rule is a pure function over a [`RuleContext`]. To add one, write a function in the file of its
//! topic, an entry in [`RULES`] (`rules.rs`) and rows in the table of cases (`cases/`). What importers remark has no
//! rule: a remark says itself how much it matters and what to do.

mod background;
mod cache;
mod card;
#[cfg(test)]
mod cases;
mod cliff;
mod context;
mod failures;
mod heat;
mod imported;
mod kind;
mod layers;
mod link;
mod makings;
mod processor;
mod repeats;
mod rules;
mod size;
mod stalled;
mod stalls;
mod sweeps;
mod syncs;
mod tools;
mod words;

use model::{Evidence, Finding, Severity, Subject};

pub(crate) use context::RuleContext;
use context::{evidence, memory_filesystem, subject, total};
pub use link::link_name;
pub use rules::RULES;

/// One rule.
pub struct Rule {
    /// Its short stable name.
    pub name: &'static str,
    /// The condition that makes it report, for the documentation.
    pub speaks_when: &'static str,
    /// What to do about it, unless the finding has more specific advice.
    pub advice: &'static str,
    /// Its findings are never merged: each is true of one step or target only.
    pub is_told_apart: bool,
    apply: fn(&Rule, &RuleContext<'_>) -> Vec<Finding>,
}

/// All findings of a run, the most important first: by severity, then by how much they change the answer, then in the
/// order of the rules.
pub(crate) fn findings(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.apply)(rule, context)).collect();
    found.extend(imported::remarks(context));
    stalled::one_story(&mut found, context);
    found.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.effect.total_cmp(&a.effect)));
    found
}

impl Rule {
    fn finding(
        &self,
        severity: Severity,
        subject: Subject,
        message: String,
        evidence: Vec<Evidence>,
    ) -> Finding {
        let advice = Some(self.advice).filter(|advice| !advice.is_empty()).map(str::to_owned);
        Finding { rule: self.name.to_owned(), severity, subject, message, advice, effect: 0.0, evidence }
    }
}
