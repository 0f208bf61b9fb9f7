//! A small kernel file that is read repeatedly.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Most of these files are shorter; a longer one grows the buffer once.
const FIRST_BUFFER: usize = 256;
/// No file that is read here is longer.
const LONGEST: usize = 4 << 20;

/// A file of /proc or /sys, opened when it is first read and kept open.
#[derive(Debug)]
pub(super) struct KernelFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl KernelFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: None, buffer: Vec::new() }
    }

    /// A file that can be read now, else `None`.
    pub fn readable(path: impl Into<PathBuf>) -> Option<Self> {
        let mut file = Self::new(path);
        file.bytes().is_some().then_some(file)
    }

    /// The current content; `None` if it cannot be read, for example after its device or process has gone. The
    /// next poll then opens it again.
    pub fn bytes(&mut self) -> Option<&[u8]> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if self.buffer.is_empty() {
            self.buffer.resize(FIRST_BUFFER, 0);
        }
        let file = self.file.as_ref()?;
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                if length >= LONGEST {
                    break;
                }
                self.buffer.resize(2 * length, 0);
            }
            match file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(n) => length += n,
                Err(_) => {
                    self.file = None;
                    return None;
                }
            }
        }
        Some(&self.buffer[..length])
    }

    /// The current content as text.
    pub fn text(&mut self) -> Option<&str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// The current content as a number.
    pub fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        self.text()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_read_returns_the_current_content_of_any_length() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counter");
        let mut file = KernelFile::new(&path);
        assert_eq!(file.text(), None);
        std::fs::write(&path, "12\n").unwrap();
        assert_eq!(file.number::<u64>(), Some(12));
        let long = "x".repeat(10_000);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(file.text(), Some(long.as_str()));
        std::fs::write(&path, "-7\n").unwrap();
        assert_eq!(file.number::<i64>(), Some(-7));
        std::fs::write(&path, [0xff, b'\n']).unwrap();
        assert_eq!(file.text(), None);
        assert_eq!(file.bytes().map(<[u8]>::len), Some(2));
    }
}
