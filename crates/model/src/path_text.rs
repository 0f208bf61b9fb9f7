//! Lossless text form of paths.
//!
//! A path is a sequence of bytes; JSON and the log hold text. A path in valid UTF-8 is written unchanged. Any other
//! path is written as `bytes:` and the path, in which `%` and each byte that is not part of valid UTF-8 are
//! percent-encoded: the directory named by the bytes FF FE in `/mnt` is `bytes:/mnt/%FF%FE`. A path that itself begins
//! with `bytes:` is written in this form too, so different paths have different texts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Prefix of the text of a percent-encoded path.
const PREFIX: &str = "bytes:";

/// The text of a path or another string of the operating system. Different strings have different texts.
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    match path.as_ref().to_str() {
        Some(text) if !text.starts_with(PREFIX) => text.to_owned(),
        _ => format!("{PREFIX}{}", escaped(path.as_ref(), true)),
    }
}

/// The string for a text that [`path_text`] made.
pub fn path_from_text(text: &str) -> OsString {
    let Some(escaped) = text.strip_prefix(PREFIX) else { return text.into() };
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits =
            tail.get(..2).filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// A name for display: valid UTF-8 unchanged, other bytes percent-encoded. Different names may have the same text, such
/// as the byte FF and the text `%FF`.
pub fn name_text(name: &OsStr) -> String {
    escaped(name, false)
}

fn escaped(text: &OsStr, percent_too: bool) -> String {
    let mut escaped = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        match percent_too {
            true => escaped.push_str(&chunk.valid().replace('%', "%25")),
            false => escaped.push_str(chunk.valid()),
        }
        for byte in chunk.invalid() {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Writes and reads a path in the form of [`path_text`]: `#[serde(with = "crate::path_text::as_text")]`.
pub mod as_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{PathBuf, path_from_text, path_text};

    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(path: &PathBuf, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&path_text(path))
    }

    /// # Errors
    /// The value is not a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        String::deserialize(deserializer).map(|text| path_from_text(&text).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utf8_is_kept_and_other_bytes_are_percent_encoded() {
        assert_eq!(path_text("/mnt/50%41 ü"), "/mnt/50%41 ü");
        assert_eq!(path_text(OsStr::from_bytes(b"/mnt/\xff\xfe/5%")), "bytes:/mnt/%FF%FE/5%25");
        assert_eq!(path_text("bytes:x"), "bytes:bytes:x");
        assert_eq!(path_from_text("bytes:/5%+F%zz%"), "/5%+F%zz%", "text that is not an escape is kept");
        assert_eq!(path_from_text("/mnt/50%41"), "/mnt/50%41", "logs of older versions hold such paths");
        assert_eq!(name_text(OsStr::from_bytes(b"\xff\xfe")), "%FF%FE");
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(bytes in prop::collection::vec(prop_oneof![Just(b'%'), Just(b'b'), any::<u8>()], 0..40)) {
            for bytes in [bytes.clone(), [b"bytes:", &bytes[..]].concat()] {
                let path = OsString::from_vec(bytes);
                prop_assert_eq!(path_from_text(&path_text(&path)), path);
            }
        }
    }
}
