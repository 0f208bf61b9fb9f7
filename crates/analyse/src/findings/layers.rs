//! The cost of a layer, where two targets of a run differ by one layer.

use model::units::counted;
use model::{Comparison, Finding, Layer, LayerKind, PortableMath, Severity, Subject, Target, Verdict, fact};

use super::context::Ended;
use super::words::{list, rate};
use super::{Rule, RuleContext, evidence, total};
use crate::costs::Cost;
use crate::stats::{mean_and_deviation, t_quantile};

/// Processor time of the whole machine for each byte moved, in nanoseconds.
fn work_per_byte(r: &Ended<'_>) -> Option<f64> {
    let machine = r.finished.machine?;
    let (read, written) = r.moved();
    let busy = total([machine.user_ns, machine.system_ns, machine.irq_ns].into_iter());
    let moved = read.saturating_add(written);
    (moved > 0 && busy > 0).then(|| busy as f64 / moved as f64)
}

/// Processor time per byte with the layer ÷ without it, over the paired rounds of all steps, with its 95 % interval.
fn work_ratio(context: &RuleContext<'_>, target: &Target, plain: &Target) -> Option<(f64, f64, f64)> {
    let mut logs = Vec::new();
    for pair in context.transfers_on(target) {
        let Some(other) = context.transfers_on(plain).find(|p| p.step.id == pair.step.id) else { continue };
        let ratio = |r: &Ended<'_>| {
            let base = other.repeats.iter().find(|o| o.round() == r.round())?;
            Some((work_per_byte(r)? / work_per_byte(base)?).portable_ln())
        };
        // One value for each step: its rounds are not independent of each other.
        logs.extend(pair.median(ratio));
    }
    let (mean, deviation) = mean_and_deviation(&logs)?;
    let n = logs.len() as f64;
    let half = t_quantile(0.975, n - 1.0) * deviation / n.sqrt();
    Some((mean.portable_exp(), (mean - half).portable_exp(), (mean + half).portable_exp()))
}

/// The filesystem that a target's loop device has its file in.
fn filesystem_below(target: &Target) -> Option<&str> {
    let of = |kind: LayerKind| target.stack.iter().filter(move |layer| layer.kind == kind);
    let lowest = of(LayerKind::Loop).map(|layer| layer.level).max()?;
    of(LayerKind::Filesystem).find(|layer| layer.level > lowest).map(|layer| layer.name.as_str())
}

pub(super) fn in_a_file(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let all: Vec<(&Target, &str)> =
        context.targets().filter_map(|target| Some((target, filesystem_below(target)?))).collect();
    let mut below: Vec<&str> = all.iter().map(|(_, below)| *below).collect();
    below.sort_unstable();
    below.dedup();
    let finding = |below: &str| {
        let on_it = all.iter().filter(|(_, other)| *other == below);
        let names: Vec<String> = on_it.map(|(target, _)| target.name.clone()).collect();
        let message = match &names[..] {
            [name] => format!("{name} stands in a file of {below}: its figures include that filesystem"),
            _ => format!(
                "{} stand in files of {below}: their figures include that filesystem, so that the ratios between them are nearer to 1 than on the disk itself",
                list(&names)
            ),
        };
        let figures = vec![evidence(format!("targets in files of {below}"), names.len() as f64, "1")];
        // How much is not known.
        rule.finding(Severity::Info, Subject::default(), message, figures).changing(0.3)
    };
    below.into_iter().map(finding).collect()
}

pub(super) fn layer_cost(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let named = |name: &str| context.run.started.targets.iter().find(|t| t.name == name);
    let finding = |of: &Cost| {
        // The effect of a cache on either side is no cost of a layer.
        let is_the_layers = |c: &&Comparison| {
            let mut sides = context
                .completed()
                .filter(|p| p.step.id == c.step && (p.target.name == of.target || p.target.name == of.plain));
            sides.all(super::cache::reached_the_devices)
        };
        let is_decided = |c: &&Comparison| matches!(c.verdict, Verdict::Faster | Verdict::Slower);
        let decided: Vec<&Comparison> =
            of.comparisons.iter().filter(is_the_layers).filter(is_decided).collect();
        let (target, plain) = (named(&of.target)?, named(&of.plain)?);
        (!decided.is_empty()).then(|| cost(rule, context, (target, plain, &of.of), &decided))
    };
    context.costs.iter().filter_map(finding).collect()
}

/// The cipher of a target's encrypted layer, and the bytes per second that a core encrypts and decrypts with it in memory.
fn cipher_of(target: &Target) -> Option<(&str, f64, f64)> {
    target.stack.iter().find_map(|layer| {
        let get = |name: &str| layer.facts.get(name);
        let bytes = |name: &str| get(name)?.parse().ok();
        Some((get(fact::CIPHER)?.as_str(), bytes(fact::ENCRYPTION_RATE)?, bytes(fact::DECRYPTION_RATE)?))
    })
}

fn cost(
    rule: &Rule,
    context: &RuleContext<'_>,
    (target, plain, layer): (&Target, &Target, &str),
    decided: &[&Comparison],
) -> Finding {
    let in_words = |c: &&Comparison| {
        let (low, high) = c.ratio.interval.unwrap_or((c.ratio.value, c.ratio.value));
        let change = |ratio: f64| (ratio - 1.0) * 100.0;
        format!(
            "{} in {} {:+.0} % ({:+.0} to {:+.0})",
            match c.metric {
                model::Metric::Bandwidth => format!("{} bandwidth", c.operation.name().replace('_', " ")),
                model::Metric::Iops => format!("{} operations", c.operation),
                _ => format!("{} p99", c.operation),
            },
            c.step,
            change(c.ratio.value),
            change(low),
            change(high)
        )
    };
    let mut largest: Vec<&Comparison> = decided.to_vec();
    largest.sort_by(|a, b| b.ratio.value.portable_ln().abs().total_cmp(&a.ratio.value.portable_ln().abs()));
    let largest_four: Vec<String> = largest.iter().take(4).map(in_words).collect();
    let more = match largest.len() {
        0..=4 => String::new(),
        n => format!(", and differences in {}", counted(n - 4, "more step")),
    };
    let mut message =
        format!("{layer} ({} against {}): {}{more}", target.name, plain.name, list(&largest_four));
    let mut figures: Vec<model::Evidence> = Vec::new();
    for c in &largest {
        figures.push(
            evidence(format!("{} ÷ {}, {}", c.target, c.baseline, c.metric), c.ratio.value, "1")
                .in_step(&c.step),
        );
    }
    if let Some((ratio, low, high)) = work_ratio(context, target, plain) {
        figures.push(evidence("processor time per byte ÷ without the layer", ratio, "1"));
        if low > 1.0 || high < 1.0 {
            message.push_str(&format!(
                "; processor time per byte is {ratio:.2} times as much ({low:.2} to {high:.2})"
            ));
        }
    }
    if let Some((cipher, encrypts, decrypts)) = cipher_of(target).filter(|_| cipher_of(plain).is_none()) {
        let in_words = |bytes: f64| rate(context.units, bytes);
        message.push_str(&format!(
            "; in memory, one core encrypts {} and decrypts {} with {cipher}",
            in_words(encrypts),
            in_words(decrypts)
        ));
        figures.push(evidence(format!("encryption with {cipher} in memory, one core"), encrypts, "B/s"));
        figures.push(evidence(format!("decryption with {cipher} in memory, one core"), decrypts, "B/s"));
    }
    let effect = largest.first().map_or(0.0, |c| 1.0 - c.ratio.value.min(c.ratio.value.recip()));
    let about = Subject { target: Some(target.name.clone()), step: None };
    rule.finding(Severity::Info, about, message, figures).changing(effect)
}

pub(super) fn served_here(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let here = |layer: &&Layer| layer.facts.contains_key(fact::SERVER_HERE);
    let all: Vec<(&Target, &Layer)> =
        context.targets().filter_map(|target| Some((target, target.stack.iter().find(here)?))).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = all.iter().map(|(target, _)| target.name.clone()).collect();
    let (are, their) = if names.len() == 1 { ("is", "its") } else { ("are", "their") };
    let cached = match all.iter().any(|(_, layer)| layer.kind == LayerKind::Network) {
        true => "; reads over NFS may come from the server's page cache",
        false => "",
    };
    let message = format!(
        "{} {are} served by this machine itself; client and server share its processors and memory, and no network lies between them: {their} figures show what the protocol costs, not what another server gives{cached}",
        list(&names)
    );
    let figures = vec![evidence("targets that this machine serves".to_owned(), names.len() as f64, "1")];
    // How much is not known.
    vec![rule.finding(Severity::Info, Subject::default(), message, figures).changing(0.3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cipher_is_told_with_what_it_does_in_memory() {
        let layer = |facts: &[(&str, &str)]| Layer {
            level: 1,
            kind: LayerKind::Crypt,
            name: "dm-0".to_owned(),
            device: None,
            facts: facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        let mut target =
            crate::measure::tests::run(crate::measure::tests::workload()).started.targets.remove(0);
        let cipher = (fact::CIPHER, "aes-xts-plain64");
        target.stack = vec![layer(&[cipher])];
        assert_eq!(cipher_of(&target), None, "its rates are not known");
        let rates = [(fact::ENCRYPTION_RATE, "1981808640"), (fact::DECRYPTION_RATE, "1985478656")];
        target.stack.push(layer(&[cipher, rates[0], rates[1]]));
        assert_eq!(cipher_of(&target), Some(("aes-xts-plain64", 1_981_808_640.0, 1_985_478_656.0)));
    }
}
