//! The key of a store's pseudonyms: random bytes that are generated once and never leave the store.

use std::fs::File;
use std::io::{self, Read};

use crate::directory::StoreError;
use crate::store::Store;

const FILE: &str = "pseudonyms.key";
/// Length in bytes.
const BYTES: usize = 16;

impl Store {
    /// The key of this store's pseudonyms, generated on first use. Only the store's owner can read it.
    ///
    /// # Errors
    /// [`StoreError::Directory`] if it cannot be created or read, or is not a regular file of the right length.
    pub fn pseudonym_key(&self) -> Result<[u8; BYTES], StoreError> {
        let path = self.directory().join(FILE);
        self.writable()?.secret(FILE, random).map_err(|source| StoreError::Directory { path, source })
    }
}

fn random() -> io::Result<[u8; BYTES]> {
    let mut key = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn each_store_has_its_own_private_key() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(&root.path().join("store")).unwrap();
        let key = store.pseudonym_key().unwrap();
        let path = root.path().join("store").join(FILE);
        let second = Store::open(&root.path().join("store")).unwrap();
        assert_eq!(second.pseudonym_key().unwrap(), key);
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            3,
            "the key, the marker and the logs"
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let other = Store::open(&root.path().join("other")).unwrap();
        assert_ne!(other.pseudonym_key().unwrap(), key);

        let elsewhere = root.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(store.pseudonym_key().is_err(), "a link is not followed");
    }
}
