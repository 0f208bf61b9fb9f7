//! The JSON Schemas of what is exported, as pretty JSON.

use schemars::{JsonSchema, schema_for};

use crate::json::{ComparisonExport, RunExport, pretty};
use crate::{CrosscheckExport, HistoryExport, TargetsExport, TelemetryExport};

fn schema<T: JsonSchema>() -> String {
    pretty(&schema_for!(T))
}

/// Of a run.
pub fn run() -> String {
    schema::<RunExport>()
}

/// Of a comparison.
pub fn comparison() -> String {
    schema::<ComparisonExport>()
}

/// Of telemetry.
pub fn telemetry() -> String {
    schema::<TelemetryExport>()
}

/// Of a history.
pub fn history() -> String {
    schema::<HistoryExport>()
}

/// Of the storage that is found.
pub fn targets() -> String {
    schema::<TargetsExport>()
}

/// Of a crosscheck.
pub fn crosscheck() -> String {
    schema::<CrosscheckExport>()
}
