//! Checking of bearer tokens.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use blake3::Hash;

use crate::refusal::Refusal;
use crate::reply::Reply;

/// The tokens that give access to the server; without any the server is open.
///
/// Only hashes are kept, so that no dump or log shows a token, and comparing hashes takes the same
/// time whatever differs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens(Vec<Hash>);

impl Tokens {
    /// Adds a token.
    pub(crate) fn add(&mut self, token: &str) {
        self.0.push(blake3::hash(token.as_bytes()));
    }

    /// Returns whether a request needs a token.
    pub(crate) fn are_required(&self) -> bool {
        !self.0.is_empty()
    }

    /// Refuses a request without one of the tokens.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.are_required() || bearer(headers).is_some_and(|token| self.opens(token)) {
            return Ok(());
        }
        let body = serde_json::json!({
            "detail": "a bearer token is required: send the header \"Authorization: Bearer <token>\"",
        });
        let reply = Reply::json(StatusCode::UNAUTHORIZED, &body);
        let challenge = HeaderValue::from_static("Bearer");
        Err(reply
            .with_header(header::WWW_AUTHENTICATE, challenge)
            .into())
    }

    /// Returns whether the token is one of those that are known.
    fn opens(&self, token: &[u8]) -> bool {
        let found = blake3::hash(token);
        // No early end of the loop: the time must not tell which token it was.
        self.0
            .iter()
            .fold(false, |opens, known| opens | (*known == found))
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    // The length of `Bearer` and the space. The scheme is case-insensitive in HTTP, the token is
    // not.
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}
