//! Loop devices: a file as a disk.

use std::path::{Path, PathBuf};

use model::fact;

use super::{Facts, number};
use crate::read_line;

/// How the kernel marks a file that has no name any more.
const DELETED: &str = " (deleted)";

pub(super) fn facts(directory: &Path, facts: &mut Facts) {
    facts.file(fact::BACKING_FILE, directory.join("loop/backing_file"));
    facts.file(fact::LOOP_DIRECT, directory.join("loop/dio"));
    facts.number("offset", number(directory.join("loop/offset")).filter(|offset| *offset > 0));
}

/// True for the kernel's name of a loop device.
pub(super) fn is_called_so(directory: &Path) -> bool {
    let number = directory.file_name().and_then(|name| name.to_str()?.strip_prefix("loop"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The file behind the device.
pub(super) fn file(directory: &Path) -> Option<PathBuf> {
    let file = read_line(directory.join("loop/backing_file"))?;
    Some(PathBuf::from(file.strip_suffix(DELETED).unwrap_or(&file)))
}
