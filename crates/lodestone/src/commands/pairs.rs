//! `--pairs`: every target compared with every other.

use analyse::{Pairing, Series};
use model::Run;
use report::AllPairs;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;

/// Every pair of targets.
///
/// # Errors
/// There are too few targets, or too many.
pub(super) fn all_pairs<'a>(
    runs: Vec<&'a Run>,
    series: &'a [Series],
    pairing: Pairing,
    margin: f64,
) -> Result<AllPairs<'a>, Failure> {
    /// A table with more columns is no answer to anybody.
    const MOST: usize = 40;
    AllPairs::new(runs, series, pairing, margin, MOST).map_err(|targets| {
        Failure::usage(match targets {
            0 | 1 => "--pairs compares targets with each other, and there are not two with figures".to_owned(),
            n => format!(
                "--pairs shows at most {MOST} targets, and there are {n}; compare fewer, or omit --pairs to compare them \
                 with a baseline"
            ),
        })
    })
}

pub(super) fn print_pairs(cli: &Cli, pairs: &AllPairs<'_>) -> Result<(), Failure> {
    output::print(report::text(&report::pairs_document(pairs), output::style(cli.color)))
}
