//! What is secret in an address, and messages without it.

use std::error::Error as StdError;
use std::fmt;

/// A message of the server or the driver, without secrets.
#[derive(Debug)]
struct RedactedMessage(String);

impl fmt::Display for RedactedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for RedactedMessage {}

/// The texts that may not appear in errors: what stands before the `@` of an address, in every
/// spelling.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Creates the set of texts that are to be hidden.
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        // The longest first: a shorter one that is part of it would leave the rest of it standing.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    /// Returns a message as an error, without secrets.
    pub(crate) fn redacted(&self, message: &str) -> Box<dyn StdError + Send + Sync> {
        Box::new(RedactedMessage(self.hide(message)))
    }

    /// Replaces all secrets in a text.
    fn hide(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}
