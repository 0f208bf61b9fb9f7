//! How people read the series of telemetry.

/// What people call the series of one probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLabels {
    /// As in [`crate::Reading::probe`].
    pub probe: &'static str,
    /// The label of the series with a key; `None` for one that is only in the exports.
    pub label: fn(&str) -> Option<String>,
}

/// The key of a series as words: `sda.read_wait` is `sda read wait`.
pub fn series_words(key: &str) -> String {
    let parts = key.rsplit_once('.');
    parts.map_or(key.to_owned(), |(of, what)| format!("{of} {}", what.replace('_', " ")))
}
