//! What only this process knows: keys of encrypted layers, and what lets the two ends of a network layer trust each other.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How a secret is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretKind {
    /// 32 hexadecimal digits, for CHAP of iSCSI.
    Chap,
    /// As NVMe writes keys for DH-HMAC-CHAP (NVMe Base Specification 2.0, 8.13.5.8): version, no transformation, and base 64 of the
    /// key and its CRC-32.
    DhChap,
}

impl SecretKind {
    /// Its name in a shell.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Chap => "$chap",
            Self::DhChap => "$dhchap",
        }
    }

    /// The line of a shell that makes such a secret.
    pub fn typed(self) -> &'static str {
        match self {
            Self::Chap => "chap=$(head --bytes=16 /dev/urandom | xxd -plain)",
            Self::DhChap => "dhchap=$(nvme gen-dhchap-key)",
        }
    }

    fn written(self, secret: &[u8; 32]) -> String {
        match self {
            Self::Chap => secret[..16].iter().map(|byte| format!("{byte:02x}")).collect(),
            Self::DhChap => {
                let mut key = secret.to_vec();
                key.extend(crc32fast::hash(secret).to_le_bytes());
                format!("DHHC-1:00:{}:", STANDARD.encode(key))
            }
        }
    }
}

/// What only this process knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets<'a> {
    /// The file that has the key of encrypted layers.
    pub key: &'a Path,
    /// What lets the two ends of a network layer trust each other.
    pub secret: &'a [u8; 32],
}

impl Secrets<'_> {
    /// For what needs none, such as undoing.
    pub fn none() -> Secrets<'static> {
        Secrets { key: Path::new(""), secret: &[0; 32] }
    }

    pub(super) fn written(&self, kind: SecretKind) -> String {
        kind.written(self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_written_as_the_protocols_have_it() {
        let secret: [u8; 32] = std::array::from_fn(|i| i as u8);
        assert_eq!(SecretKind::Chap.written(&secret), "000102030405060708090a0b0c0d0e0f");
        // As `nvme check-dhchap-key` accepts it.
        assert_eq!(
            SecretKind::DhChap.written(&secret),
            "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:"
        );
    }
}
