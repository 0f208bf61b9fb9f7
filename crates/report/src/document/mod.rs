//! A report before it takes a form: sections with text and tables.

pub(crate) mod by_hour;
pub(crate) mod circumstances;
pub(crate) mod grid;
pub(crate) mod imported;
pub(crate) mod markdown;
pub(crate) mod remarks;
pub(crate) mod run;
pub(crate) mod text;

use std::borrow::Cow;

use model::{Metric, Operation, Severity};

/// Where a figure comes from.
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

/// What a cell's colour may say, if there is colour; its text always says it too.
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
    /// What its colour says.
    pub tone: Tone,
    /// The figure behind the text, unrounded.
    pub value: Option<f64>,
    /// Where that comes from.
    pub provenance: Option<Provenance>,
}

impl Cell {
    /// A cell with text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same cell in another tone.
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// On which side a column's cells stand.
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
    /// Its side.
    pub align: Align,
    /// It belongs to the column before it and is not parted from it.
    pub joined: bool,
}

impl Column {
    /// A column that may stand anywhere.
    pub fn new(heading: impl Into<Cow<'static, str>>, align: Align) -> Self {
        Self { heading: heading.into(), align, joined: false }
    }

    /// A column that stays with the one before it.
    pub fn joined(heading: impl Into<Cow<'static, str>>, align: Align) -> Self {
        Self { heading: heading.into(), align, joined: true }
    }
}

/// One table. Where it is too wide, columns behind the first few move below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// How many columns at the left name the row and are repeated when the table is broken.
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
    /// Names with their values, a line each.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A remark with its weight and what it is about.
    Remark {
        /// How much it matters.
        severity: Severity,
        /// Whom it is about, and the rule that speaks.
        about: String,
        /// What it says.
        message: String,
        /// What to do about it.
        advice: Option<String>,
    },
}

/// A whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Its parts.
    pub sections: Vec<Section>,
}
