//! The checksum by which a log is known in a database.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// SHA-256 of a log's text.
pub type Checksum = [u8; 32];

/// The checksum of a text that is read to its end.
///
/// # Errors
/// An I/O error of `text`.
pub fn checksum(mut text: impl Read) -> io::Result<Checksum> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match text.read(&mut buffer) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(n) => digest.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-4.
    #[test]
    fn it_is_sha_256() {
        let sum = checksum(&b"abc"[..]).unwrap();
        assert_eq!(sum[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(sum[28..], [0xf2, 0x00, 0x15, 0xad]);
    }
}
