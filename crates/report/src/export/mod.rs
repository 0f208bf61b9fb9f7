//! Figures for other programs: JSON, CSV, InfluxDB, Prometheus, build servers, tables by label; and runs without names.

pub(crate) mod anonymous;
pub(crate) mod csv;
pub mod json;
pub(crate) mod junit;
pub(crate) mod matrix;
pub(crate) mod offsets;
pub(crate) mod past_series;
pub(crate) mod score_table;
pub(crate) mod series;
