//! Encryption by dm-crypt. Keys are never requested, and a key in the output is discarded.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{LayerKind, Target, fact};

use super::Facts;
use crate::Roots;
use crate::programs::{self, ask};

const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// The format as cryptsetup names it in the prefix of the uuid: `CRYPT-LUKS2-…`.
pub(super) fn format(uuid: &str) -> Option<String> {
    let kind = uuid.strip_prefix("CRYPT-")?.split('-').next()?;
    match kind {
        "LUKS1" | "LUKS2" => Some(kind.to_owned()),
        "PLAIN" => Some("plain".to_owned()),
        "TCRYPT" => Some("TrueCrypt or VeraCrypt".to_owned()),
        "BITLK" => Some("BitLocker".to_owned()),
        "FVAULT2" => Some("FileVault".to_owned()),
        "LOOPAES" => Some("loop-AES".to_owned()),
        // Verity and integrity protect but do not encrypt.
        _ => None,
    }
}

/// Cipher, key length and sector size: from the mapping's table, else from cryptsetup.
pub(super) fn facts(roots: &Roots, name: &str, table: &str, facts: &mut Facts) {
    if from_table(table, facts) {
        return;
    }
    let output = ask(roots, "cryptsetup", &["status", "--", name], TIMEOUT);
    if let Some(output) = output.filter(|output| output.code == Some(0)) {
        from_status(&output.text, facts);
    }
}

/// Adds to the encrypted layers of targets what their ciphers do in memory: what encryption costs at most, and whether it is the cipher
/// that costs it. Takes two seconds or so for each cipher, which `announce` is to say before; nothing is done where there is
/// none, or where cryptsetup is not installed.
pub fn measure_ciphers(roots: &Roots, targets: &mut [Target], announce: impl FnOnce()) {
    /// Each direction takes about a second, and longer on a slow board.
    const LONGEST: Duration = Duration::from_secs(20);
    let mut known: BTreeMap<(String, String), Option<(u64, u64)>> = BTreeMap::new();
    let layers = targets.iter_mut().flat_map(|target| &mut target.stack);
    let mut encrypted = layers.filter(|layer| layer.kind == LayerKind::Crypt).peekable();
    if encrypted.peek().is_none() || programs::find(roots, "cryptsetup").is_none() {
        return;
    }
    announce();
    for layer in encrypted {
        let get = |name: &str| layer.facts.get(name).cloned();
        let Some(cipher) = get(fact::CIPHER).zip(get(fact::KEY_BITS)) else { continue };
        let rates = known.entry(cipher).or_insert_with_key(|(cipher, bits)| {
            let arguments = ["benchmark", "--cipher", cipher, "--key-size", bits];
            from_benchmark(&ask(roots, "cryptsetup", &arguments, LONGEST)?.text)
        });
        let Some((encrypts, decrypts)) = *rates else { continue };
        layer.facts.insert(fact::ENCRYPTION_RATE.to_owned(), encrypts.to_string());
        layer.facts.insert(fact::DECRYPTION_RATE.to_owned(), decrypts.to_string());
    }
}

/// `    aes-xts        512b      1890.0 MiB/s      1893.2 MiB/s`, after a line of titles. In bytes per second.
fn from_benchmark(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().rfind(|line| !line.trim_start().starts_with('#') && line.contains("MiB/s"))?;
    let mut rates = line.split_ascii_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let mut next = || Some((rates.next()? * f64::from(1 << 20)) as u64).filter(|rate| *rate > 0);
    next().zip(next())
}

/// `start length crypt cipher key iv-offset device offset [count options…]`
/// (Documentation/admin-guide/device-mapper/dm-crypt.rst of the kernel).
fn from_table(table: &str, facts: &mut Facts) -> bool {
    let words: Vec<&str> = table.lines().next().unwrap_or_default().split_ascii_whitespace().collect();
    let (Some(&"crypt"), Some(cipher)) = (words.get(2), words.get(3)) else { return false };
    facts.put(fact::CIPHER, (*cipher).to_owned());
    facts.number(fact::KEY_BITS, words.get(4).and_then(|key| key_bits(key)));
    let options = words.get(9..).unwrap_or_default();
    let sector = options.iter().find_map(|option| option.strip_prefix("sector_size:")?.parse().ok());
    facts.number(fact::CRYPT_SECTOR, sector.unwrap_or(512));
    facts.put(fact::ENCRYPTION_OPTIONS, flags(options.iter().copied()));
    true
}

/// A key in the kernel's keyring has the form `:bytes:kind:name`; any other is in hexadecimal digits.
fn key_bits(key: &str) -> Option<u64> {
    match key.strip_prefix(':') {
        Some(rest) => rest.split(':').next()?.parse::<u64>().ok()?.checked_mul(8),
        None => Some(key.len() as u64 * 4).filter(|bits| *bits > 4),
    }
}

/// The lines `  name:  value` of `cryptsetup status`.
fn from_status(text: &str, facts: &mut Facts) {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.trim().split_once(':')?;
            (key == name).then(|| value.trim().to_owned())
        })
    };
    let count = |name: &str| value(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok();
    facts.put(fact::CIPHER, value("cipher"));
    facts.number(fact::KEY_BITS, count("keysize"));
    facts.number(fact::CRYPT_SECTOR, count("sector size"));
    facts.put(fact::ENCRYPTION_OPTIONS, flags(value("flags").unwrap_or_default().split_ascii_whitespace()));
}

/// Options that affect speed or what reaches the disk.
fn flags<'a>(options: impl Iterator<Item = &'a str>) -> Option<String> {
    const WORTH: [&str; 10] = [
        "allow_discards",
        "discards",
        "same_cpu_crypt",
        "submit_from_crypt_cpus",
        "no_read_workqueue",
        "no_write_workqueue",
        "high_priority",
        "integrity",
        "same-cpu-crypt",
        "submit-from-crypt-cpus",
    ];
    let found: Vec<&str> = options.filter(|option| WORTH.contains(option)).collect();
    (!found.is_empty()).then(|| found.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_facts(table: &str) -> String {
        let mut facts = Facts::default();
        assert!(from_table(table, &mut facts));
        format!("{:?}", facts.0)
    }

    #[test]
    fn a_table_yields_cipher_sector_and_options_but_no_key() {
        let key = "c0ffee".repeat(10) + "c0ff";
        let line = format!(
            "0 2064384 crypt aes-xts-plain64 {key} 0 9:0 32768 3 allow_discards no_read_workqueue sector_size:4096\n"
        );
        let output = shown_facts(&line);
        assert!(!output.contains("c0ffee"), "{output}");
        let expected = r#"{"cipher": "aes-xts-plain64", "encryption options": "allow_discards,no_read_workqueue", "encryption sector": "4096", "key bits": "256"}"#;
        assert_eq!(output, expected);
        let output = shown_facts("0 100 crypt aes-cbc-essiv:sha256 :64:logon:cryptsetup:abc-d0 0 8:1 4096");
        assert!(output.contains(r#""key bits": "512""#) && output.contains(r#"sector": "512""#), "{output}");
        assert!(!output.contains("logon"));
        assert!(!from_table("0 100 linear 8:1 0", &mut Facts::default()));
        assert!(!from_table("", &mut Facts::default()));
    }

    #[test]
    fn a_benchmark_says_what_a_cipher_does_in_memory() {
        let text = "# Tests are approximate using memory only (no storage IO).\n# Algorithm |       Key |      Encryption |      Decryption\n    aes-xts        512b      1890.0 MiB/s      1893.5 MiB/s\n";
        assert_eq!(from_benchmark(text), Some((1_981_808_640, 1_985_478_656)));
        let refused = "Cipher aes-nix (with 512 bits key) is not available.\n";
        assert_eq!(from_benchmark(refused), None);
        assert_eq!(from_benchmark("    aes-xts        512b         N/A      1893.5 MiB/s\n"), None);
    }

    #[test]
    fn cryptsetup_yields_the_same_facts() {
        let status = "/dev/mapper/secret is active and is in use.\n  type:    LUKS2\n  cipher:  aes-xts-plain64\n  keysize: 512 bits\n  key location: keyring\n  device:  /dev/sda2\n  sector size:  4096\n  offset:  32768 sectors\n  size:    2064384 sectors\n  mode:    read/write\n  flags:   discards no_read_workqueue\n";
        let mut facts = Facts::default();
        from_status(status, &mut facts);
        let values: Vec<&str> = facts.0.values().map(String::as_str).collect();
        assert_eq!(values, ["aes-xts-plain64", "discards,no_read_workqueue", "4096", "512"]);
    }

    #[test]
    fn the_format_is_read_from_the_uuid() {
        assert_eq!(format("CRYPT-LUKS2-0123-secret").unwrap(), "LUKS2");
        assert_eq!(format("CRYPT-PLAIN-swap").unwrap(), "plain");
        assert_eq!(format("CRYPT-VERITY-0123-root"), None);
        assert_eq!(format("LVM-abc"), None);
    }
}
