//! Texts without the password that an address in them may have.

/// How an address begins.
pub(crate) const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A text in which an address has no password any more; a text without an address is unchanged. What could be a part of a password is
/// left out, too: one may contain characters that an address would have to escape.
pub fn without_password(text: &str) -> String {
    let begin = SCHEMES.iter().filter_map(|scheme| Some(text.find(scheme)? + scheme.len())).min();
    begin.map_or_else(|| text.to_owned(), |begin| stripped(text, begin))
}

/// A text without the password of the address whose credentials begin there.
pub(crate) fn stripped(text: &str, begin: usize) -> String {
    let (start, rest) = text.split_at(begin);
    let rest = match rest.rsplit_once('@') {
        Some((credentials, place)) => {
            let user = credentials.split_once(':').map_or(credentials, |(user, _)| user);
            format!("{user}@{place}")
        }
        None => rest.to_owned(),
    };
    let rest = without_parameters(&rest, |key| key.ends_with("password"));
    format!("{start}{rest}")
}

/// An address without these parameters.
pub(crate) fn without_parameters(address: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let Some((place, parameters)) = address.split_once('?') else { return address.to_owned() };
    let is_kept = |pair: &&str| !pair.split('=').next().is_some_and(&is_left_out);
    let kept: Vec<&str> = parameters.split('&').filter(is_kept).collect();
    if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        for (address, shown) in [
            ("postgres://me:secret@db:5433/runs", "postgres://me@db:5433/runs"),
            ("--push=postgresql://me:se:cr@et/@db/runs?a=b", "--push=postgresql://me@db/runs?a=b"),
            ("postgres://db/runs?password=secret&user=me", "postgres://db/runs?user=me"),
            ("postgres:///runs?password=secret", "postgres:///runs"),
            ("postgres://db:5433/runs", "postgres://db:5433/runs"),
            ("lodestone", "lodestone"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
