//! A report as sections with text and tables, independent of the output format.

pub(crate) mod by_hour;
pub(crate) mod circumstances;
pub(crate) mod compared;
pub(crate) mod grid;
pub(crate) mod imported;
pub(crate) mod markdown;
pub(crate) mod pairs;
pub(crate) mod remarks;
pub(crate) mod run;
pub(crate) mod stalls;
pub(crate) mod tables;
pub(crate) mod text;

use std::borrow::Cow;

use model::{Metric, Operation, Severity};

/// The source of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The run's id.
    pub run: String,
    /// The target's name.
    pub target: String,
    /// The step's id.
    pub step: String,
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
}

/// The meaning of a cell's colour, which its text states, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary.
    #[default]
    Plain,
    /// Of less importance.
    Dim,
    /// Better.
    Good,
    /// Worse.
    Bad,
    /// Not known.
    Open,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What is shown.
    pub text: String,
    /// The meaning of its colour.
    pub tone: Tone,
    /// The figure behind the text, unrounded.
    pub value: Option<f64>,
    /// The source of the figure.
    pub provenance: Option<Provenance>,
    /// The page that it leads to, where there are several pages.
    pub link: Option<String>,
}

impl Cell {
    /// A cell with text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A cell that leads to another page.
    pub fn linked(text: impl Into<String>, link: impl Into<String>) -> Self {
        Self { link: Some(link.into()), ..Self::text(text) }
    }

    /// The same cell in another tone.
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub heading: Cow<'static, str>,
    /// Its alignment.
    pub align: Align,
    /// It stays with the previous column.
    pub joined: bool,
    /// It can be left out where there is no room.
    pub spare: bool,
}

impl Column {
    /// A column that may start a new part.
    pub fn new(heading: impl Into<Cow<'static, str>>, align: Align) -> Self {
        Self { heading: heading.into(), align, joined: false, spare: false }
    }

    /// A column that stays with the previous one.
    pub fn joined(heading: impl Into<Cow<'static, str>>, align: Align) -> Self {
        Self { joined: true, ..Self::new(heading, align) }
    }

    /// The same column, to be left out where there is no room.
    pub fn spare(self) -> Self {
        Self { spare: true, ..self }
    }

    /// True if it is a mark of the figure in the column before it.
    pub fn is_mark(&self) -> bool {
        self.joined && self.heading.is_empty()
    }
}

/// One table. If it is too wide, the last columns move to a part below.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Number of columns that name the row; they are repeated in each part.
    pub stub: usize,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Names with their values, one per line.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Parts that a page shows once their summary is chosen.
    Folded {
        /// What they are; text and Markdown do not need it.
        summary: &'static str,
        /// The parts.
        sections: Vec<Section>,
    },
    /// A remark with its severity and subject.
    Remark {
        /// Its severity.
        severity: Severity,
        /// Its subject and its rule.
        about: String,
        /// Its message.
        message: String,
        /// What to do.
        advice: Option<String>,
    },
}

/// A whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What it comes to, in sentences. A terminal shows them before the title.
    pub answer: Vec<String>,
    /// Its parts.
    pub sections: Vec<Section>,
}

impl Document {
    /// A document without an answer.
    pub fn new(title: impl Into<String>, sections: Vec<Section>) -> Self {
        Self { title: title.into(), answer: Vec::new(), sections }
    }
}
