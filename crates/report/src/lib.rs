//! What people and programs read: tables in text and Markdown, exports in JSON and CSV.
//!
//! # Invariants
//! * Pure: events and figures in, bytes out. Nothing is printed here, no file is opened, no clock read.
//! * Every cell that shows a figure can say where it comes from ([`Provenance`]).
//! * Names of targets and steps are harmless: their control characters never reach a terminal (`terminal.rs`),
//!   and what has a meaning in Markdown or CSV is escaped.

mod anonymous;
mod answer;
mod by_hour;
pub mod chart;
mod circumstances;
mod crosscheck;
mod csv;
mod document;
mod figures;
mod grid;
mod imported;
pub mod json;
mod layer_words;
mod markdown;
mod matrix;
mod offsets;
mod page;
mod pivot;
mod remarks;
mod run_document;
mod score_table;
mod scores;
mod series;
mod targets;
mod telemetry;
mod terminal;
mod text;

pub use anonymous::{Anonymiser, PseudonymKey};
pub use by_hour::{by_hour_sections, hour_and_day};
pub use crosscheck::{
    CROSSCHECK_SCHEMA, CrosscheckExport, crosscheck_document, crosscheck_export, crosscheck_schema,
};
pub use csv::csv;
pub use document::{Align, Cell, Column, Document, Provenance, Section, Table, Tone};
pub use figures::{Units, display_iops, display_ns, display_rate};
pub use markdown::markdown;
pub use matrix::{Layout, MatrixError, matrix_csv, matrix_table};
pub use offsets::{OFFSETS_COLUMNS, has_offsets, offsets_csv};
pub use page::{AnalysedRun, gallery_page, run_page, runs_page};
pub use run_document::{RunView, comparison_document, run_document, when};
pub use score_table::{ScoreLayout, score_csv, score_table};
pub use series::{influx, prometheus};
pub use targets::{
    CandidateFacts, TARGETS_SCHEMA, TargetsExport, targets_export, targets_schema, targets_text,
};
pub use telemetry::{
    TELEMETRY_SCHEMA, TelemetryExport, TelemetryFacts, telemetry_csv, telemetry_document, telemetry_export,
    telemetry_schema,
};
pub use terminal::{TerminalText, escape_bytes, escape_line, escape_text};
pub use text::{TextStyle, table_text, text};
