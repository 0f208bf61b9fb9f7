//! Why a database cannot be used, and what to do about it.

use postgres::error::SqlState;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The server does not answer.
    #[error("the server does not answer; check its address, and whether it runs")]
    Silent,
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
            // The library asks for a password before it sends one.
            let is_missing =
                error.to_string().contains("password missing") || words(&error).contains("password missing");
            return if is_missing { Self::NotLetIn(error) } else { Self::Refused(error) };
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
