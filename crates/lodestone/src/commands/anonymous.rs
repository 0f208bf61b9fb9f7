//! `--anonymous`: replaces names in runs by pseudonyms, keyed by the store, and reports what was replaced.

use model::Run;
use record::Store;
use report::{Anonymiser, PseudonymKey};

use crate::failure::Failure;
use crate::output;

/// One run and the name of one of its targets, both anonymised.
///
/// # Errors
/// The store has no key and none can be created.
pub(super) fn run(store: &Store, run: &Run, target: &str) -> Result<(Run, String), Failure> {
    let (mut runs, target) = runs(store, std::slice::from_ref(run), target)?;
    Ok((runs.swap_remove(0), target))
}

/// Runs and the name of one of their targets (`run:target` for several runs), anonymised. Prints on standard error what
/// was replaced and left out.
///
/// # Errors
/// The store has no key and none can be created.
pub(super) fn runs(store: &Store, named: &[Run], target: &str) -> Result<(Vec<Run>, String), Failure> {
    let key = store.pseudonym_key().map_err(Failure::failed)?;
    let mut anonymiser = Anonymiser::new(PseudonymKey::new(key));
    let anonymous: Vec<Run> = named.iter().map(|run| anonymiser.run(run)).collect();
    output::say(&format!("lodestone: {}", anonymiser.account()));
    let target = renamed(named, &anonymous, target);
    let target = target.unwrap_or_else(|| anonymous[0].started.baseline.clone());
    Ok((anonymous, target))
}

/// The pseudonym of a target, found by its position in the run.
fn renamed(named: &[Run], anonymous: &[Run], target: &str) -> Option<String> {
    let several = named.len() > 1;
    let names = |run: &Run| -> Vec<String> {
        let (id, targets) = (&run.started.id, &run.started.targets);
        targets.iter().map(|t| if several { format!("{id}:{}", t.name) } else { t.name.clone() }).collect()
    };
    let mut pairs = named.iter().zip(anonymous).flat_map(|(a, b)| names(a).into_iter().zip(names(b)));
    pairs.find(|(name, _)| name == target).map(|(_, pseudonym)| pseudonym)
}
