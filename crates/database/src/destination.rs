//! Where a database is: an address, and the password from it, the environment or a password file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};

use crate::encryption::Encryption;
use crate::password::{SCHEMES, stripped, without_parameters};

/// Where Debian's and most other servers have their socket.
const SOCKETS: &str = "/var/run/postgresql";
/// Time limit of a connection, unless the address says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What is sent and not acknowledged within this time ends the connection: the machine of the server may be gone.
const SILENCE: Duration = Duration::from_secs(60);

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// It is not an address of a database.
    #[error(
        "`{shown}` is not an address of a PostgreSQL database ({reason}); write \
         postgres://USER@HOST:PORT/DATABASE, or postgres:///DATABASE?host=DIRECTORY for a Unix socket"
    )]
    NotAnAddress {
        /// The address without a password.
        shown: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A database that can be connected to.
#[derive(Clone)]
pub struct Destination {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
    /// The trusted certificates.
    pub(crate) roots: Option<Vec<u8>>,
    /// The file of them that the address names.
    roots_file: Option<PathBuf>,
    shown: String,
}

/// Only the address without a password.
impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Destination {
    /// Parses an address.
    ///
    /// # Errors
    /// [`DestinationError`].
    pub fn parse(address: &str) -> Result<Self, DestinationError> {
        let shown = stripped(address, address.find("://").map_or(0, |at| at + 3));
        // A parameter that is unknown may be a password with a typing error.
        let place = without_parameters(&shown, |_| true);
        let wrong = |reason: String| DestinationError::NotAnAddress { shown: place.clone(), reason };
        if !SCHEMES.iter().any(|scheme| address.starts_with(scheme)) {
            return Err(wrong("it does not begin with postgres://".to_owned()));
        }
        let encryption = match parameter(address, "sslmode") {
            None => Encryption::default(),
            Some(mode) => {
                let known = Encryption::ALL.into_iter().find(|(name, _)| *name == mode);
                let names = Encryption::ALL.map(|(name, _)| name).join(", ");
                known.ok_or_else(|| wrong(format!("sslmode is one of {names}")))?.1
            }
        };
        let roots_file =
            parameter(address, "sslrootcert").map(|text| PathBuf::from(OsString::from_vec(unescaped(text))));
        // The library knows neither all modes nor the file.
        let plain = without_parameters(address, |key| key == "sslmode" || key == "sslrootcert");
        let mut config: Config = plain.parse().map_err(|error: postgres::Error| {
            wrong(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            config.host_path(SOCKETS);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        if config.get_application_name().is_none() {
            config.application_name("lodestone");
        }
        // As in libpq, what goes through a Unix socket is not encrypted, whatever the mode.
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        let encryption = if is_local { Encryption::Disable } else { encryption };
        config.ssl_mode(match encryption {
            Encryption::Disable => SslMode::Disable,
            Encryption::Prefer => SslMode::Prefer,
            Encryption::Require | Encryption::VerifyCa | Encryption::VerifyFull => SslMode::Require,
        });
        Ok(Self { config, encryption, roots: None, roots_file, shown })
    }

    /// The file with the certificates of trusted authorities that the address names (`sslrootcert`).
    pub fn roots_file(&self) -> Option<&Path> {
        self.roots_file.as_deref().filter(|_| self.encryption != Encryption::Disable)
    }

    /// The same database, with these certificates (PEM) trusted.
    pub fn with_roots(mut self, pem: Vec<u8>) -> Self {
        self.roots = Some(pem);
        self
    }

    /// False if the mode demands certificates and there are none.
    pub fn has_enough_roots(&self) -> bool {
        self.roots.is_some() || !self.encryption.needs_roots()
    }

    /// The address without a password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// True if the address itself has a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The same database for this user, unless the address names one.
    pub fn with_user(mut self, user: &str) -> Self {
        if self.config.get_user().is_none() {
            self.config.user(user);
        }
        self
    }

    /// The same database with this password, unless there is one already.
    pub fn with_password(mut self, password: &str) -> Self {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// The same database with the password of the first line that matches it in a password file (`~/.pgpass`), if one does.
    pub fn with_password_file(self, text: &str) -> Self {
        match self.password_in(text) {
            Some(password) => self.with_password(&password),
            None => self,
        }
    }

    /// "The Password File" in PostgreSQL's manual: `host:port:database:user:password`, `*` for anything, `\` before `:` and `\`.
    fn password_in(&self, text: &str) -> Option<String> {
        let config = &self.config;
        let user = config.get_user().unwrap_or_default();
        let host = match config.get_hosts().first()? {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) if path.as_os_str() == SOCKETS => "localhost".to_owned(),
            Host::Unix(path) => path.to_string_lossy().into_owned(),
        };
        let port = config.get_ports().first().unwrap_or(&5432).to_string();
        let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(fields).find_map(|fields| {
            let (password, own) = fields.split_last().filter(|(_, own)| own.len() == wanted.len())?;
            let is_it = own.iter().zip(wanted).all(|(own, wanted)| own == "*" || own == wanted);
            is_it.then(|| password.clone())
        })
    }
}

/// The fields of a line of a password file.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let last = fields.len() - 1;
        match c {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            _ => fields[last].push(c),
        }
    }
    fields
}

/// The value of a parameter of an address.
fn parameter<'a>(address: &'a str, name: &str) -> Option<&'a str> {
    let (_, parameters) = address.rsplit_once('?')?;
    let pairs = parameters.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next_back()
}

/// The bytes of a value in which `%2F` stands for `/`.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_shows_no_password() {
        let destination = Destination::parse("postgres://me:secret@db/runs").unwrap();
        assert!(destination.has_password());
        assert_eq!(format!("{destination:?}"), "postgres://me@db/runs");
    }

    #[test]
    fn what_is_not_an_address_is_refused_without_its_password() {
        for address in
            ["mysql://me:secret@db", "postgres://me:secret@db:port/runs", "postgres://db/runs?no=secret"]
        {
            let error = Destination::parse(address).unwrap_err().to_string();
            assert!(error.contains("is not an address of a PostgreSQL database"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let error = Destination::parse("postgres://me:secret@db/runs?sslmode=on").unwrap_err().to_string();
        assert!(error.contains("verify-full") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn the_mode_and_the_certificates_come_from_the_address() {
        let of = |address: &str| {
            let destination = Destination::parse(address).unwrap();
            (destination.encryption, destination.roots_file().map(Path::to_path_buf))
        };
        assert_eq!(of("postgres://db/runs"), (Encryption::Prefer, None));
        let named = of("postgres://db/runs?sslrootcert=a%20b%2fc.crt&user=me&sslmode=verify-ca");
        assert_eq!(named, (Encryption::VerifyCa, Some("a b/c.crt".into())));
        let local = of("postgres:///runs?host=/run/postgresql&sslmode=verify-full&sslrootcert=x");
        assert_eq!(local, (Encryption::Disable, None));
        assert!(!Destination::parse("postgres://db/runs?sslmode=verify-full").unwrap().has_enough_roots());
        assert_eq!(unescaped("100%"), b"100%");
    }

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let file = "# comment\nother:5432:runs:me:one\ndb:*:ru\\:ns:me:t\\:w\\\\o:x\n*:*:*:me:three\nlocalhost:5432:*:me:four\n";
        let password = |address: &str| Destination::parse(address).unwrap().password_in(file);
        assert_eq!(password("postgres://me@db:5433/ru%3Ans").as_deref(), Some("t:w\\o:x"));
        assert_eq!(password("postgres://me@other/runs").as_deref(), Some("one"));
        assert_eq!(password("postgres://me@other/any").as_deref(), Some("three"));
        assert_eq!(password("postgres://you@other/any"), None);
        let both = Destination::parse("postgres://me:own@db/runs").unwrap().with_password_file(file);
        assert_eq!(both.config.get_password(), Some(&b"own"[..]));
    }
}
