//! The health of disks, arrays and pools: what a person would worry about first.

use std::collections::BTreeSet;

use model::{Inventory, Layer, LayerKind, fact};
use serde::Serialize;

use crate::document::{Align, Cell, Column, Document, Section, Table, Tone};
use crate::export::json::word;
use crate::figures::{Units, display_bytes};
use crate::layer_words::disk_kind;

/// Percent of its life from which a disk is called worn.
const WORN: u64 = 80;
/// °C from which flash, and a hard disk, is called hot: few are made for more than 70 and 60 °C.
const HOT_FLASH: f64 = 70.0;
const HOT_HARD_DISK: f64 = 55.0;

/// How a disk, an array or a pool is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It fails or is about to: data are in danger.
    Failing,
    /// It works, but something will need attention.
    Attention,
    /// It says nothing about itself.
    Unknown,
    /// Nothing is wrong by its own account.
    Good,
}

/// The health of a disk, an array or a pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Its name, such as `sda`.
    pub name: String,
    /// Its kind, maker's name and size.
    pub what: String,
    /// `failing`, `attention`, `unknown` or `good`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub condition: Condition,
    /// What to worry about, the most urgent first.
    pub worries: Vec<String>,
    /// Percent of its life that is used up; for cards and eMMC the lower end of a tenth, and 100 if it is exceeded.
    pub life_used_percent: Option<u64>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// Hours that it has run.
    pub hours: Option<u64>,
}

/// The health of all disks, arrays and pools among these layers, each once, the worst first.
pub fn health<'a>(layers: impl Iterator<Item = &'a Layer>, units: Units) -> Vec<Health> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<Health> = Vec::new();
    for layer in layers {
        let is_array = layer.facts.contains_key(fact::DEGRADED) || layer.facts.contains_key(fact::POOL_STATE);
        let is_told = layer.kind == LayerKind::Disk || layer.kind == LayerKind::Raid || is_array;
        if is_told && seen.insert((layer.device, layer.name.clone())) {
            found.push(of_layer(layer, units));
        }
    }
    found.sort_by_key(|health| health.condition);
    found
}

fn of_layer(layer: &Layer, units: Units) -> Health {
    let get = |name: &str| layer.facts.get(name).map(String::as_str);
    let number = |name: &str| get(name)?.parse::<u64>().ok();
    let kind = match layer.kind {
        LayerKind::Disk => disk_kind(&layer.facts),
        LayerKind::Raid => get(fact::LEVEL).unwrap_or("array").to_owned(),
        _ => get(fact::POOL).map_or_else(|| word(&layer.kind), |pool| format!("pool {pool}")),
    };
    let size = number(fact::SIZE).map(|bytes| display_bytes(bytes, units));
    let model = get(fact::MODEL).or(get(fact::CARD_NAME)).map(str::to_owned);
    let what = [Some(kind), model, size].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let temperature = get(fact::TEMPERATURE).and_then(|text| text.parse::<f64>().ok());
    let life = number(fact::WEAR).or_else(|| get(fact::CARD_WEAR).and_then(card_wear));
    let (danger, attention) = worries(layer, life, temperature);
    let knows =
        [fact::HEALTH, fact::WEAR, fact::CARD_WEAR, fact::MEDIA_ERRORS, fact::REALLOCATED, fact::POOL_STATE];
    let is_known = layer.kind == LayerKind::Raid || knows.iter().any(|name| layer.facts.contains_key(*name));
    let condition = match (danger.is_empty(), attention.is_empty(), is_known) {
        (false, ..) => Condition::Failing,
        (_, false, _) => Condition::Attention,
        (.., false) => Condition::Unknown,
        _ => Condition::Good,
    };
    Health {
        name: layer.name.clone(),
        what,
        condition,
        worries: danger.into_iter().chain(attention).collect(),
        life_used_percent: life,
        temperature,
        hours: number(fact::HOURS),
    }
}

/// The lower end of the used life in percent, of the cells that are worn more.
fn card_wear(text: &str) -> Option<u64> {
    let tenth = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    text.split_whitespace()
        .filter_map(tenth)
        .filter(|tenths| *tenths > 0)
        .max()
        .map(|tenths| (tenths - 1) * 10)
}

/// What endangers the data, and what needs attention.
fn worries(layer: &Layer, life: Option<u64>, temperature: Option<f64>) -> (Vec<String>, Vec<String>) {
    let get = |name: &str| layer.facts.get(name).map(String::as_str);
    let number = |name: &str| get(name)?.parse::<u64>().ok();
    let count = |name: &str| number(name).filter(|n| *n > 0);
    let (mut danger, mut attention) = (Vec::new(), Vec::new());
    if get(fact::HEALTH) == Some("failed") {
        danger.push("it says that it is failing: copy what matters off it now".to_owned());
    }
    if let Some(missing) = count(fact::DEGRADED) {
        let members = if missing == 1 { "member is" } else { "members are" };
        danger.push(format!("{missing} of its {members} missing: one more failure may lose everything"));
    }
    if let Some(state) = get(fact::POOL_STATE).filter(|state| *state != "ONLINE") {
        danger.push(format!("the pool is {state}; `zpool status` says why"));
    }
    if let Some(names) = get(fact::FAILED_MEMBERS) {
        danger.push(format!("failed members: {names}"));
    }
    if let Some(n) = count(fact::PENDING) {
        danger.push(format!(
            "{n} {} be read any more",
            if n == 1 { "sector cannot" } else { "sectors cannot" }
        ));
    }
    let spare = number(fact::SPARE).zip(number(fact::LEAST_SPARE));
    if let Some((left, least)) = spare.filter(|(left, least)| left < least) {
        danger.push(format!(
            "only {left} % of its spare blocks are left, less than the {least} % that it needs"
        ));
    }
    match get(fact::CARD_SPARE).map(|text| text.trim_start_matches("0x").trim_start_matches('0')) {
        Some("3") => danger.push("90 % of its spare blocks are used".to_owned()),
        Some("2") => attention.push("80 % of its spare blocks are used".to_owned()),
        _ => {}
    }
    if let Some(n) = count(fact::MEDIA_ERRORS) {
        attention.push(format!("{n} errors of the medium since it was made"));
    }
    if let Some(n) = count(fact::REALLOCATED) {
        attention.push(format!("{n} sectors were replaced by spare ones; if this grows, replace the disk"));
    }
    match life {
        Some(percent) if percent >= 100 => {
            attention.push("the life that its maker promises is used up".to_owned());
        }
        Some(percent) if percent >= WORN => attention.push(format!("{percent} % of its life is used up")),
        _ => {}
    }
    let is_hard_disk = get(fact::ROTATION_RATE).is_some_and(|rate| rate != "none");
    let hot = if is_hard_disk { HOT_HARD_DISK } else { HOT_FLASH };
    if let Some(celsius) = temperature.filter(|celsius| *celsius >= hot) {
        attention.push(format!("at {celsius} °C it is hot, and may slow down"));
    }
    if let Some(n) = count(fact::LINK_ERRORS) {
        attention.push(format!("{n} errors on its cable since it was made; if this grows, change the cable"));
    }
    if layer.facts.contains_key(fact::SLEEPING) {
        attention.push("it sleeps and was not woken, so it told nothing".to_owned());
    }
    (danger, attention)
}

/// The health as a table with the worries below it, the worst first. Empty without a disk that says something.
pub(crate) fn health_sections(all: &[Health]) -> Vec<Section> {
    let rows = all.iter().map(|health| {
        let (text, tone) = match health.condition {
            Condition::Failing => ("FAILING", Tone::Bad),
            Condition::Attention => ("needs attention", Tone::Open),
            Condition::Unknown => ("not known", Tone::Dim),
            Condition::Good => ("good", Tone::Good),
        };
        let shown = |text: Option<String>| match text {
            Some(text) => Cell::text(text),
            None => Cell::text("-").tone(Tone::Dim),
        };
        vec![
            Cell::text(&health.name),
            Cell::text(text).tone(tone),
            shown(health.life_used_percent.map(|percent| format!("{percent} %"))),
            shown(health.temperature.map(|celsius| format!("{celsius} °C"))),
            shown(health.hours.map(|hours| format!("{hours} h"))),
            Cell::text(&health.what),
        ]
    });
    let columns = vec![
        Column::new("disk", Align::Left),
        Column::new("health", Align::Left),
        Column::new("life used", Align::Right),
        Column::new("temperature", Align::Right),
        Column::new("has run", Align::Right),
        Column::new("what it is", Align::Left),
    ];
    let worries = all.iter().filter(|health| !health.worries.is_empty());
    let worries: Vec<_> = worries.map(|health| (health.name.clone(), health.worries.join("; "))).collect();
    let table = Table { title: "the worst first".to_owned(), columns, stub: 1, rows: rows.collect() };
    let mut sections = vec![Section::Table(table)];
    if !worries.is_empty() {
        sections.extend([Section::Heading("what to worry about".to_owned()), Section::Facts(worries)]);
    }
    sections
}

/// The health of all disks of a machine: one sentence, a table, the worries, and what could not be learnt.
pub fn health_document(inventory: &Inventory, units: Units) -> Document {
    let all = health(inventory.candidates.iter().flat_map(|candidate| &candidate.stack), units);
    let named = |condition: Condition| -> Vec<&str> {
        all.iter().filter(|h| h.condition == condition).map(|h| h.name.as_str()).collect()
    };
    let sentence = |condition: Condition, one: &str, several: &str| {
        let names = named(condition);
        let verb = if names.len() == 1 { one } else { several };
        (!names.is_empty()).then(|| format!("{} {verb}.", listed(&names)))
    };
    let mut sentences: Vec<String> = [
        sentence(Condition::Failing, "is failing", "are failing"),
        sentence(Condition::Attention, "needs attention", "need attention"),
        sentence(Condition::Good, "is good by its own account", "are good by their own account"),
        sentence(Condition::Unknown, "tells nothing of its health", "tell nothing of their health"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if all.is_empty() {
        sentences.push("Lodestone finds no disk here.".to_owned());
    }
    let mut sections = if all.is_empty() { Vec::new() } else { health_sections(&all) };
    if !inventory.unseen.is_empty() {
        sections.push(Section::Heading("what could not be read".to_owned()));
        sections.extend(inventory.unseen.iter().cloned().map(Section::Text));
    }
    let title = format!("health of the disks of {}", inventory.host.name);
    Document { title, answer: vec![sentences.join(" ")], sections }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
