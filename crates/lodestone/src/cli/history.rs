//! The flags of `history`.

use clap::{Args, ValueEnum};

/// Arguments of `history`.
#[derive(Debug, Default, Args)]
pub struct HistoryArgs {
    /// Only runs on this machine
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only runs of this suite
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,

    /// Only runs since then: a date such as 2026-11-24, or a time before now such as 90d or 12h
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Only targets of this name, by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub target: Vec<String>,

    /// Only these steps, by commas: ids, or the beginnings of ids that a sweep made
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub step: Vec<String>,

    /// Only targets with this label; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<String>,

    /// Follow this metric, such as lat_p99, instead of the figure that the tables show
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,

    /// Show whether speed depends on the hour of the day
    #[arg(long)]
    pub by_hour: bool,

    /// Show whether speed depends on the day of the week
    #[arg(long, conflicts_with = "by_hour")]
    pub by_weekday: bool,

    /// Output format
    #[arg(long, short, value_enum, default_value_t = HistoryForm::Text, conflicts_with_all = ["by_hour", "by_weekday"])]
    pub format: HistoryForm,

    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with_all = ["by_hour", "by_weekday", "format"])]
    pub json: bool,
}

impl HistoryArgs {
    /// The form that is asked for.
    pub fn form(&self) -> HistoryForm {
        if self.json { HistoryForm::Json } else { self.format }
    }
}

/// The form of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HistoryForm {
    /// Sentences and a table for the terminal.
    #[default]
    Text,
    /// Every value and change, in the published schema.
    Json,
    /// Each figure as it is now and its changes, in InfluxDB's line protocol.
    Influx,
    /// Each figure as it is now and its changes, as gauges in Prometheus' text format.
    Prometheus,
}
