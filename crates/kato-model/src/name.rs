//! Pattern names: the SHA-1 by which patterns are stored, found and referred to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};

use crate::hex;
use crate::literal::write_events_literal;
use crate::parse_visitor::ParseVisitor;

/// The prefix of the hash wherever a pattern name is itself a symbol, and in the answers of
/// `learn`.
pub const NAME_PREFIX: &str = "PTRN|";

/// The name of a pattern: SHA-1 of the Python literal of its events.
///
/// Two patterns have the same name exactly when they have the same symbols in the same events in
/// the same order (up to SHA-1 collisions). The order of names is that of their text.
///
/// Text: `Display` and serde write the bare 40 lower-case hexadecimal digits, as databases hold
/// them; [`prefixed`](Self::prefixed) writes the form that symbols have. Reading accepts both.
/// Upper-case digits are refused: KATO never writes them, and symbols are compared character by
/// character.
///
/// # Examples
///
/// ```
/// use kato_model::PatternName;
///
/// let name = PatternName::of_events(&[["a"], ["b"], ["c"]]);
/// assert_eq!(name.to_string(), "b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
/// assert_eq!(name.prefixed().to_string(), "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
/// assert_eq!("PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9".parse(), Ok(name));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatternName([u8; hex::DIGEST_LEN]);

impl PatternName {
    /// Returns the name of the pattern with these events, in the order given: events are not sorted
    /// here.
    ///
    /// Complexity: linear in the length of the text. To name many patterns of one symbol per event,
    /// see [`name_of_ids`](crate::naming::name_of_ids) and
    /// [`name_of_names`](crate::naming::name_of_names).
    #[must_use]
    pub fn of_events<E, S>(events: &[E]) -> Self
    where
        E: AsRef<[S]>,
        S: AsRef<str>,
    {
        // Room for a short token with its quotes and brackets in every event.
        let mut text = String::with_capacity(16 * events.len());
        write_events_literal(events, &mut text);
        Self(Sha1::digest(text).into())
    }

    /// Creates the name with these 20 bytes, as [`as_bytes`](Self::as_bytes) returned them.
    #[must_use]
    pub const fn from_bytes(digest: [u8; hex::DIGEST_LEN]) -> Self {
        Self(digest)
    }

    /// Number of bytes of a name.
    pub const BYTES: usize = hex::DIGEST_LEN;

    /// Returns the first eight bytes as a number, ordered as names are.
    ///
    /// They are enough to distinguish nearly all names.
    #[must_use]
    pub const fn leading_u64(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        // Big-endian, so that numbers compare as the bytes do.
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Returns the 20 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; hex::DIGEST_LEN] {
        &self.0
    }

    /// Returns the name that a symbol refers to: `Some` only for `PTRN|` and exactly 40 lower-case
    /// hexadecimal digits.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_model::PatternName;
    ///
    /// assert!(PatternName::from_symbol("PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9").is_some());
    /// assert_eq!(PatternName::from_symbol("b98534b32c1d7489d4ce1a48724aa65aeecbdba9"), None);
    /// assert_eq!(PatternName::from_symbol("PTRN|x"), None);
    /// ```
    #[must_use]
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        hex::decode(symbol.strip_prefix(NAME_PREFIX)?).map(Self)
    }

    /// Returns a `Display` adapter for the form that symbols have: `PTRN|` and the 40 digits.
    #[must_use]
    pub const fn prefixed(&self) -> Prefixed<'_> {
        Prefixed(self)
    }
}

impl fmt::Display for PatternName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(&self.0);
        // `pad` honours width and precision, so that `{name:.8}` shortens a name. Hexadecimal
        // digits are ASCII, so the conversion cannot fail.
        f.pad(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for PatternName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PatternName({self})")
    }
}

impl FromStr for PatternName {
    type Err = ParsePatternNameError;

    /// Reads 40 lower-case hexadecimal digits, with or without one leading `PTRN|`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(NAME_PREFIX).unwrap_or(text);
        hex::decode(digits)
            .map(Self)
            .ok_or_else(|| ParsePatternNameError {
                text: text.to_owned(),
            })
    }
}

impl Serialize for PatternName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PatternName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ParseVisitor::new())
    }
}

/// Writes a [`PatternName`] with its prefix; made by [`PatternName::prefixed`].
#[derive(Debug, Clone, Copy)]
pub struct Prefixed<'a>(&'a PatternName);

impl fmt::Display for Prefixed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME_PREFIX}{}", self.0)
    }
}

/// The error for a text that is not a pattern name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "read {text:?} as a pattern name: give 40 lower-case hexadecimal digits, with or without a leading PTRN|"
)]
pub struct ParsePatternNameError {
    text: String,
}
