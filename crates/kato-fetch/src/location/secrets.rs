//! Locations without what grants access, for people to see.

use url::Url;

use super::is_store_scheme;

/// Query parameters, in lower case, that grant access to whoever has them.
const SECRET_PARAMETERS: [&str; 12] = [
    "signature",
    "sig",
    "token",
    "access_token",
    "key",
    "api_key",
    "apikey",
    "policy",
    "key-pair-id",
    "awsaccesskeyid",
    "expires",
    "credential",
];

/// Returns a text that may be a URL as [`redacted`] does. Of one that does not parse, user,
/// password, query and fragment are left out whatever they hold.
pub(crate) fn without_secrets(text: &str) -> String {
    let of_store = text.split_once("://").filter(|(scheme, rest)| {
        // As it was written: a key is no part of a URL, and has no secrets.
        let has_user = rest
            .split('/')
            .next()
            .is_some_and(|name| name.contains(':'));
        is_store_scheme(&scheme.to_ascii_lowercase()) && !has_user
    });
    if of_store.is_some() {
        return text.to_owned();
    }
    if let Ok(url) = Url::parse(text) {
        return redacted(&url);
    }
    let shown = text.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = text.split_once("://") else {
        return shown.to_owned();
    };
    // The Hub's have no password, and an `@` before a revision.
    if scheme.eq_ignore_ascii_case("hf") {
        return shown.to_owned();
    }
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may hold a character that should have been escaped: what stands before that is its
    // beginning then, and not a host.
    if behind.contains('@') {
        return format!("{scheme}://…");
    }
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// Returns a URL without user, password, fragment, and the parameters of its query that grant
/// access.
pub(crate) fn redacted(url: &Url) -> String {
    let mut shown = url.clone();
    // Both fail only for URLs that can have neither.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    if url.query().is_some() {
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_secret(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if kept.is_empty() {
            shown.set_query(None);
        // Writing the pairs again may spell them differently, and the result is the file's name: a
        // query without secrets stays as it is.
        } else if kept.len() < url.query_pairs().count() {
            shown.query_pairs_mut().clear().extend_pairs(kept);
        }
    }
    shown.into()
}

/// Returns whether a query parameter grants access: those of signed URLs of S3, Google Cloud
/// Storage and Azure, and some general ones.
fn is_secret(parameter: &str) -> bool {
    let name = parameter.to_ascii_lowercase();
    name.starts_with("x-amz-")
        || name.starts_with("x-goog-")
        || name.starts_with("x-ms-")
        || SECRET_PARAMETERS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_what_is_no_url_are_not_shown() {
        for (text, expected) in [
            ("https://me:secret@x y/a?b=c", "https://x y/a"),
            ("https://me:sec/ret@x.org/a", "https://…"),
            ("https://me:sec?ret@x.org/a", "https://…"),
            ("https://me:sec#ret@x.org/a", "https://…"),
            ("a/b?sig=secret", "a/b"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }
}
