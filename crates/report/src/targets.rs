//! The storage of a machine as trees: what can be measured, and all layers below it.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use model::{Candidate, Host, Inventory, Layer, fact};
use serde::Serialize;

use crate::backing::Explanation;
use crate::document::Tone;
use crate::document::grid::{width, wrapped};
use crate::document::text::{TextStyle, tone};
use crate::export::json::{HostFacts, LayerFacts, host_facts, layer_facts};
use crate::figures::{Units, display_bytes, display_hz};
use crate::health::{Health, health};
use crate::layer_words::{Phrase, describe};
use crate::terminal::TerminalText;

/// Name and version of the format of `targets --json`.
pub const TARGETS_SCHEMA: &str = "lodestone.targets.v1";

/// Blanks between a layer's name and its description.
const GAP: usize = 2;
/// Minimum width of descriptions in columns.
const NARROWEST: usize = 30;
const BETWEEN: &str = " · ";

/// All storage of a machine as text.
pub fn targets_text(inventory: &Inventory, units: Units, style: TextStyle) -> TerminalText {
    let mut writer = Writer { out: TerminalText::default(), units, style, told: BTreeSet::new() };
    writer.paragraph(&machine(inventory, units), Style::new().dimmed());
    let offset =
        inventory.candidates.iter().flat_map(|c| &c.stack).map(|l| 3 * l.level as usize + 3 + width(&l.name));
    let offset = offset.max().unwrap_or(0).min(style.width / 3) + GAP;
    for candidate in &inventory.candidates {
        writer.candidate(candidate, offset);
    }
    if inventory.candidates.is_empty() {
        writer.paragraph("Lodestone finds no storage here.", Style::new());
    }
    writer.rest(inventory);
    writer.out
}

/// The machine in one line.
fn machine(inventory: &Inventory, units: Units) -> String {
    let host = &inventory.host;
    let mut parts = vec![host.name.clone()];
    parts.extend(host.board.clone());
    parts.push(format!("{} × {}", host.cpus, host.cpu));
    parts.push(display_bytes(host.memory_bytes, units));
    parts.push(format!("Linux {}", host.kernel));
    parts.extend(bearings(host, units));
    parts.join(BETWEEN)
}

/// What else affects figures: clocks, virtualisation, throttling.
pub(crate) fn bearings(host: &Host, units: Units) -> Vec<String> {
    let get = |name: &str| host.facts.get(name).map(String::as_str);
    let hz = |name: &str| get(name)?.parse::<f64>().ok().map(display_hz);
    let mut parts = Vec::new();
    parts.extend(
        hz(fact::LOWEST_CLOCK).zip(hz(fact::HIGHEST_CLOCK)).map(|(low, high)| format!("{low} to {high}")),
    );
    parts.extend(get(fact::GOVERNOR).map(|governor| format!("governor {governor}")));
    parts.extend(get(fact::VIRTUALISATION).map(|kind| match kind {
        "yes" => "virtual machine".to_owned(),
        kind => format!("virtual machine ({kind})"),
    }));
    parts.extend(get(fact::CONTAINER).map(|kind| match kind {
        "yes" => "in a container".to_owned(),
        kind => format!("in a container ({kind})"),
    }));
    let limit = get(fact::MEMORY_LIMIT).and_then(|bytes| bytes.parse().ok());
    parts.extend(limit.map(|bytes| format!("may use {} of memory", display_bytes(bytes, units))));
    parts.extend(get(fact::THROTTLED).map(str::to_owned));
    parts.extend(get(fact::THROTTLED_BEFORE).map(|_| "throttled earlier, since boot".to_owned()));
    parts.extend(get(fact::MITIGATIONS).map(|state| format!("mitigations {state}")));
    parts
}

struct Writer {
    out: TerminalText,
    units: Units,
    style: TextStyle,
    /// Devices and mount points that have been described.
    told: BTreeSet<String>,
}

impl Writer {
    fn paint(&mut self, text: &str, style: Style) {
        self.out.paint(text, style, self.style.color);
    }

    fn paragraph(&mut self, text: &str, style: Style) {
        for line in wrapped(text, self.style.width) {
            self.paint(&line, style);
            self.out.push("\n");
        }
    }

    /// The argument for `run`, its free space, and the tree.
    fn candidate(&mut self, candidate: &Candidate, offset: usize) {
        self.out.push("\n");
        self.paint(&candidate.path.display().to_string(), Style::new().bold());
        let bytes = |bytes: u64| display_bytes(bytes, self.units);
        let space = match (candidate.free_bytes, candidate.size_bytes) {
            (Some(free), Some(size)) if size > 0 => Some(format!("{} of {} free", bytes(free), bytes(size))),
            (_, Some(size)) if size > 0 && candidate.stack.first().is_none_or(|l| l.device.is_none()) => {
                Some(bytes(size))
            }
            _ => None,
        };
        if let Some(space) = space {
            self.paint(&format!("  {space}"), Style::new());
        }
        if let Some(remark) = &candidate.remark {
            self.paint(&format!("  {remark}"), tone(Tone::Open));
        }
        self.out.push("\n");
        if !candidate.also.is_empty() {
            let also: Vec<String> = candidate.also.iter().map(|path| path.display().to_string()).collect();
            self.paragraph(&format!("also mounted at {}", also.join(", ")), Style::new().dimmed());
        }
        for (at, layer) in candidate.stack.iter().enumerate() {
            self.layer(&candidate.stack, at, layer, offset);
        }
    }

    fn layer(&mut self, stack: &[Layer], at: usize, layer: &Layer, offset: usize) {
        let level = layer.level as usize;
        // A rail continues below a layer while another layer of its level follows before a higher one.
        let goes_on = |level: usize| {
            let rest = stack[at + 1..].iter().map(|l| l.level as usize);
            rest.take_while(|l| *l >= level).any(|l| l == level)
        };
        let rail = |level: usize| if goes_on(level) { "│  " } else { "   " };
        let mut rails: String = (0..level).map(rail).collect();
        let first = format!("{rails}{}", if goes_on(level) { "├─ " } else { "└─ " });
        rails.push_str(rail(level));
        // The rail to the first layer below starts below the name.
        rails.push(if stack.get(at + 1).is_some_and(|next| next.level > layer.level) { '│' } else { ' ' });
        let lines = self.lines(layer);
        let available = self.style.width.saturating_sub(offset).max(NARROWEST);
        let lines: Vec<Vec<Phrase>> = lines.into_iter().flat_map(|line| broken(line, available)).collect();
        self.paint(&first, Style::new().dimmed());
        self.paint(&layer.name, Style::new().fg_color(Some(AnsiColor::Cyan.into())));
        let used = width(&first) + width(&layer.name);
        // A name that reaches into the descriptions has its own line.
        if used + GAP > offset && !lines.is_empty() {
            self.out.push("\n");
        } else {
            self.out.push(" ".repeat(offset.saturating_sub(used)));
        }
        for (i, line) in lines.iter().enumerate() {
            if i > 0 || used + GAP > offset {
                self.paint(&rails, Style::new().dimmed());
                self.out.push(" ".repeat(offset.saturating_sub(width(&rails))));
            }
            self.phrases(line);
        }
        if lines.is_empty() {
            self.end_line();
        }
    }

    /// The description of a layer; in full only the first time.
    fn lines(&mut self, layer: &Layer) -> Vec<Vec<Phrase>> {
        let dim = |text: String| Phrase { text, tone: Tone::Dim };
        let point = layer.facts.get(fact::MOUNT_POINT).filter(|_| layer.device.is_none());
        let which = layer.device.map(|(major, minor)| format!("{major}:{minor}")).or_else(|| point.cloned());
        let again = which.is_some_and(|which| !self.told.insert(which));
        match (again, point) {
            (true, Some(point)) => vec![vec![dim(format!("at {point}, described above"))]],
            (true, None) => vec![vec![dim("described above".to_owned())]],
            (false, Some(point)) if layer.level > 0 => {
                let mut lines = describe(layer, self.units);
                lines.insert(0, vec![Phrase { text: format!("at {point}"), tone: Tone::Plain }]);
                lines
            }
            (false, _) => describe(layer, self.units),
        }
    }

    fn phrases(&mut self, line: &[Phrase]) {
        for (i, phrase) in line.iter().enumerate() {
            if i > 0 {
                self.paint(BETWEEN, Style::new().dimmed());
            }
            self.paint(&phrase.text, tone(phrase.tone));
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        self.out.end_line();
    }

    /// What is omitted, once.
    fn rest(&mut self, inventory: &Inventory) {
        if !inventory.unseen.is_empty() || inventory.left_out > 0 {
            self.out.push("\n");
        }
        for sentence in &inventory.unseen {
            self.paragraph(sentence, Style::new());
        }
        if inventory.left_out > 0 {
            let text = format!(
                "{} more, which are empty or rarely measured, are shown by --all.",
                inventory.left_out
            );
            self.paragraph(&text, Style::new().dimmed());
        }
    }
}

/// A line of phrases, wrapped to the width. A phrase that is too long is broken at its blanks.
fn broken(line: Vec<Phrase>, available: usize) -> Vec<Vec<Phrase>> {
    let mut lines: Vec<Vec<Phrase>> = vec![Vec::new()];
    let mut used = 0;
    for phrase in line {
        for (i, part) in wrapped(&phrase.text, available).into_iter().enumerate() {
            let wide = width(&part);
            let fits = used + width(BETWEEN) + wide <= available;
            let part = Phrase { text: part, tone: phrase.tone };
            match lines.last_mut() {
                Some(last) if last.is_empty() || (fits && i == 0) => {
                    used += wide + if last.is_empty() { 0 } else { width(BETWEEN) };
                    last.push(part);
                }
                _ => {
                    used = wide;
                    lines.push(vec![part]);
                }
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The storage of a machine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "The storage that Lodestone finds"))]
pub struct TargetsExport {
    /// Name and version of this format: `lodestone.targets.v1`.
    pub schema: &'static str,
    /// The machine.
    pub host: HostFacts,
    /// Mounted filesystems by mount point, then devices that carry nothing mounted.
    pub targets: Vec<CandidateFacts>,
    /// The health of their disks, arrays and pools, the worst first.
    pub health: Vec<Health>,
    /// What is behind the paths; empty unless that was asked.
    pub explanations: Vec<Explanation>,
    /// Number of candidates omitted because they are rarely measured.
    pub left_out: usize,
    /// What could not be read, and what is needed to read it.
    pub unseen: Vec<String>,
}

/// Storage that can be measured.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateFacts {
    /// The argument for `lodestone run`.
    pub path: String,
    /// Other mount points of the same filesystem.
    pub also: Vec<String>,
    /// What it is.
    pub kind: model::TargetKind,
    /// Bytes of the filesystem, file or device; `null` if not known.
    pub size: Option<u64>,
    /// Bytes of a filesystem that an ordinary user may still write.
    pub free: Option<u64>,
    /// Why it can only be measured in part or not at all.
    pub remark: Option<String>,
    /// Its layers, from the top down.
    pub stack: Vec<LayerFacts>,
}

/// All storage of a machine, for programs.
pub fn targets_export(inventory: &Inventory, explanations: Vec<Explanation>, units: Units) -> TargetsExport {
    let candidate = |candidate: &Candidate| CandidateFacts {
        path: model::path_text(&candidate.path),
        also: candidate.also.iter().map(model::path_text).collect(),
        kind: candidate.kind,
        size: candidate.size_bytes,
        free: candidate.free_bytes,
        remark: candidate.remark.clone(),
        stack: candidate.stack.iter().map(layer_facts).collect(),
    };
    TargetsExport {
        schema: TARGETS_SCHEMA,
        host: host_facts(&inventory.host),
        targets: inventory.candidates.iter().map(candidate).collect(),
        health: health(inventory.candidates.iter().flat_map(|candidate| &candidate.stack), units),
        explanations,
        left_out: inventory.left_out,
        unseen: inventory.unseen.clone(),
    }
}
