//! The arguments of `schema`.

use clap::{Args, ValueEnum};

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Export that the schema describes
    #[arg(value_enum, default_value_t = SchemaOf::Run)]
    pub of: SchemaOf,
}

/// The outputs that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// `export --format json` and `run --json`.
    Run,
    /// `compare --json`.
    Comparison,
    /// `export --telemetry --format json`.
    Telemetry,
    /// `history --json`.
    History,
    /// `targets --json`.
    Targets,
    /// `crosscheck --format json`.
    Crosscheck,
}
