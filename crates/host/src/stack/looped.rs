//! Loop devices: files as disks.

use std::path::{Path, PathBuf};

use model::fact;

use super::{Facts, number};
use crate::read_line;

/// The kernel's mark for a file whose name was removed.
const DELETED: &str = " (deleted)";

pub(super) fn facts(directory: &Path, facts: &mut Facts) {
    facts.file(fact::BACKING_FILE, directory.join("loop/backing_file"));
    facts.file(fact::LOOP_DIRECT, directory.join("loop/dio"));
    facts.number("offset", number(directory.join("loop/offset")).filter(|offset| *offset > 0));
}

/// True for the kernel's name of a loop device.
pub(super) fn is_loop_name(directory: &Path) -> bool {
    let number = directory.file_name().and_then(|name| name.to_str()?.strip_prefix("loop"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The backing file of the device.
pub(super) fn file(directory: &Path) -> Option<PathBuf> {
    let file = read_line(directory.join("loop/backing_file"))?;
    Some(PathBuf::from(file.strip_suffix(DELETED).unwrap_or(&file)))
}
