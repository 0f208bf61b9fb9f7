//! `lodestone targets`: this machine's storage, down to the disks.

use std::process::ExitCode;

use host::{Roots, inventory, inventory_of};
use report::json;

use super::units;
use crate::cli::{Cli, TargetsArgs};
use crate::failure::Failure;
use crate::output;

/// Shows all storage that can be measured here, or the named paths, or the health of its disks.
///
/// # Errors
/// A named path is not a directory, file or block device.
pub fn targets(cli: &Cli, args: &TargetsArgs) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let found = match args.paths.is_empty() {
        true => inventory(&roots, args.all),
        false => inventory_of(&roots, &args.paths).map_err(Failure::usage)?,
    };
    let (units, style) = (units(cli, None), output::style(cli.color));
    let text = if args.json {
        json::pretty(&report::targets_export(&found, units)).into()
    } else if args.health {
        report::text(&report::health_document(&found, units), style)
    } else {
        report::targets_text(&found, units, style)
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}
