//! Why a database cannot be used, and what to do about it.

use postgres::error::SqlState;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The server does not answer.
    #[error("the server does not answer; check its address, and whether it runs")]
    Silent,
    /// The mode demands certificates, and there are none.
    #[error(
        "sslmode=verify-ca and verify-full need the certificates of trusted authorities: name a file in the address \
         (sslrootcert=FILE), or put them into ~/.postgresql/root.crt"
    )]
    NoRoots,
    /// They cannot be used.
    #[error("the certificates of trusted authorities cannot be used ({0}); a file in PEM format is needed")]
    BadRoots(String),
    /// The server's certificate is not one of a trusted authority, or not for this host.
    #[error(
        "the certificate of the server is not trusted ({}); correct the name of the host or sslrootcert, or do without \
         the check: sslmode=require without sslrootcert",
        words(.0)
    )]
    NotTrusted(#[source] postgres::Error),
    /// The server offers no encryption.
    #[error(
        "the server offers no encryption, and the address demands it; set `ssl = on` there, or use a tunnel: \
         `ssh -L 5433:localhost:5432 HOST`, then postgres://USER@localhost:5433/DATABASE"
    )]
    NotEncrypted(#[source] postgres::Error),
    /// The password is wrong or missing.
    #[error(
        "the server does not let this user in ({}); give the password in PGPASSWORD, or in ~/.pgpass with mode 0600",
        words(.0)
    )]
    NotLetIn(#[source] postgres::Error),
    /// There is no such database.
    #[error("{}; make it with `createdb`, or correct the address", words(.0))]
    NoDatabase(#[source] postgres::Error),
    /// The user may not do this.
    #[error("{}; grant it to this user, or connect as another one", words(.0))]
    NotPermitted(#[source] postgres::Error),
    /// Any other error.
    #[error("{}", words(.0))]
    Refused(#[source] postgres::Error),
    /// A later version of the program made the schema.
    #[error(
        "its schema `lodestone` has version {found}, and this version of Lodestone supports only versions up to \
         {supported}; nothing was written; use a newer version"
    )]
    TooNew {
        /// Its version.
        found: i32,
        /// The version of this program.
        supported: i32,
    },
    /// It has no schema.
    #[error("it has no schema `lodestone`, so there are no runs in it; `lodestone push --to` writes some")]
    Empty,
}

impl From<postgres::Error> for DatabaseError {
    fn from(error: postgres::Error) -> Self {
        let Some(code) = error.code() else {
            // The library asks for a password before it sends one. It has no codes for what it finds itself.
            return match words(&error) {
                words if words.contains("password missing") => Self::NotLetIn(error),
                words if words.contains("invalid peer certificate") => Self::NotTrusted(error),
                words if words.contains("server does not support TLS") => Self::NotEncrypted(error),
                _ => Self::Refused(error),
            };
        };
        match code {
            code if *code == SqlState::INVALID_PASSWORD => Self::NotLetIn(error),
            code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Self::NotLetIn(error),
            code if *code == SqlState::INVALID_CATALOG_NAME => Self::NoDatabase(error),
            code if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::NotPermitted(error),
            _ => Self::Refused(error),
        }
    }
}

/// What an error says, with its details.
fn words(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(refusal) => {
            let detail = refusal.detail().map_or_else(String::new, |detail| format!(" ({detail})"));
            format!("{}{detail}", refusal.message())
        }
        None => {
            let mut words = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(error) = source {
                let text = error.to_string();
                if !words.contains(&text) {
                    words = format!("{words}: {text}");
                }
                source = error.source();
            }
            words
        }
    }
}
