//! What people and programs read: tables in text and Markdown, exports in JSON and CSV.
//!
//! # Invariants
//! * Pure: events and figures in, bytes out. Nothing is printed here, no file is opened, no clock read.
//! * Every cell with a figure has its source ([`Provenance`]).
//! * Names of targets and steps are harmless: their control characters never reach a terminal (`terminal.rs`),
//!   and what has a meaning in Markdown, CSV or HTML is escaped.

mod answer;
mod backing;
pub mod chart;
mod crosscheck;
mod document;
mod export;
mod figures;
mod frame;
mod health;
mod history;
mod layer_words;
mod page;
mod pivot;
#[cfg(feature = "schema")]
pub mod schemas;
mod scores;
mod site;
mod targets;
mod telemetry;
mod terminal;
mod view;
mod words;

pub use answer::requirements::why as requirement_words;
pub use backing::{Explanation, explanation_document};
pub use crosscheck::{CROSSCHECK_SCHEMA, CrosscheckExport, crosscheck_document, crosscheck_export};
pub use document::by_hour::{Cycle, by_hour_sections, cycle_document, hour_and_day};
pub use document::compared::comparison_document;
pub use document::markdown::markdown;
pub use document::pairs::{AllPairs, pairs_document};
pub use document::run::run_document;
pub use document::text::{TextStyle, table_text, text};
pub use document::{Align, Cell, Column, Document, Provenance, Section, Table, Tone};
pub use export::anonymous::{Anonymiser, PseudonymKey};
pub use export::csv::csv;
pub use export::json;
pub use export::junit::junit;
pub use export::matrix::{Layout, MatrixError, RunWithAnalysis, matrix_csv, matrix_table};
pub use export::offsets::{OFFSETS_COLUMNS, has_offsets, offsets_csv};
pub use export::past_series::{history_influx, history_prometheus};
pub use export::score_table::{ScoreLayout, score_csv, score_table};
pub use export::series::{influx, prometheus};
pub use figures::{Units, display_bytes, display_iops, display_ns, display_rate, units_as_published};
pub use health::{Condition, Health, health_document};
pub use history::{Followed, HISTORY_SCHEMA, HistoryExport, PastRun, history_document, history_export};
pub use page::{gallery_page, page_charts, run_page, runs_page};
pub use site::{SITE_PARTS, Site, SitePage, SiteRun};
pub use targets::{CandidateFacts, TARGETS_SCHEMA, TargetsExport, targets_export, targets_text};
pub use telemetry::{
    TELEMETRY_SCHEMA, TelemetryExport, TelemetryFacts, telemetry_csv, telemetry_document, telemetry_export,
};
pub use terminal::{TerminalText, escape_bytes, escape_line, escape_text};
pub use view::{AnalysedRun, ComparedRuns, RunView, when};
pub use words::figure_words as figure_title;
