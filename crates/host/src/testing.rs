//! What the tests of this crate share: tools of the system, and devices and mounts that vanish with a
//! value. What cannot be had here is said aloud.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says aloud, past the test harness, that something could not be tested here.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a tool and returns what it wrote; `None`, said aloud, if it is missing or refuses.
pub fn tool(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            skipped(&format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            None
        }
        Err(error) => {
            skipped(&format!("{program} cannot be started: {error}"));
            None
        }
    }
}

/// A loop device over an image file.
pub struct LoopDevice {
    pub path: String,
}

impl LoopDevice {
    pub fn over(image: &Path) -> Option<Self> {
        Some(Self { path: tool("losetup", &["--find", "--show", image.to_str()?])? })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["--detach", &self.path]);
    }
}

/// A mounted filesystem.
pub struct Mounted {
    pub point: PathBuf,
}

impl Mounted {
    /// Mounts with these arguments on an existing directory or file.
    pub fn on(point: &Path, args: &[&str]) -> Option<Self> {
        tool("mount", &[args, &[point.to_str()?]].concat())?;
        Some(Self { point: point.to_owned() })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = tool("umount", &[self.point.to_str().unwrap_or_default()]);
    }
}
