//! Logs in the format of gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::input::{InputError, MOST_LOG_BYTES};

/// The first bytes of a file of gzip (RFC 1952).
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The text of a log, whether it is compressed or not; of a compressed one at most [`MOST_LOG_BYTES`].
///
/// # Errors
/// An I/O error of `reader`.
pub fn decompressed<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::new(reader);
    if !reader.fill_buf()?.starts_with(&MAGIC) {
        return Ok(Box::new(reader));
    }
    Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader).take(MOST_LOG_BYTES))))
}

/// True for what a decompressor returns for bytes that were changed or cut off, and not for an error of the file.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<InputError>());
    let is_of_the_file = error.raw_os_error().is_some() || own.is_some();
    !is_of_the_file && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// Compresses what `write` writes into `file`, and syncs it to stable storage.
pub(crate) fn compress(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut encoder = GzEncoder::new(file, Compression::default());
    write(&mut encoder)?;
    encoder.finish()?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_decompressor_finds_is_damage() {
        let damaged =
            decompressed(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff][..]).unwrap().read(&mut [0; 9]);
        assert!(is_damage(&damaged.unwrap_err()));
        assert!(!is_damage(&InputError::TooLong(1).into()));
        // EINVAL.
        assert!(!is_damage(&io::Error::from_raw_os_error(22)));
    }
}
