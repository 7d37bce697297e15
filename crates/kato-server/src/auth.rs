//! Bearer tokens.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use blake3::Hash;

use crate::refusal::Refusal;
use crate::reply::Reply;

/// The tokens that open the server; none means that it is open.
///
/// Only hashes are kept, so that no dump or log shows a token, and comparing hashes takes the same time whatever differs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens(Vec<Hash>);

impl Tokens {
    pub(crate) fn add(&mut self, token: &str) {
        self.0.push(blake3::hash(token.as_bytes()));
    }

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

    fn opens(&self, token: &[u8]) -> bool {
        let found = blake3::hash(token);
        // All are compared, so that the time does not tell which one it was.
        self.0
            .iter()
            .fold(false, |opens, known| opens | (*known == found))
    }
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}
