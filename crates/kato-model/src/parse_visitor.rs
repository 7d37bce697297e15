//! Reading values that are texts without copying the texts.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};

/// A visitor that parses the text it is shown, wherever that lies.
///
/// Names are read by the million, and `Cow` would copy each: as serde reads it, it owns its text.
pub(crate) struct ParseVisitor<T>(PhantomData<T>);

impl<T> ParseVisitor<T> {
    /// Creates a visitor.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for ParseVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use crate::PatternName;

    #[test]
    fn texts_with_and_without_escapes_are_read_and_others_refused() {
        let plain = "\"b98534b32c1d7489d4ce1a48724aa65aeecbdba9\"";
        let escaped = plain.replacen('b', "\\u0062", 1);
        let name: PatternName = serde_json::from_str(plain).unwrap();
        assert_eq!(serde_json::from_str::<PatternName>(&escaped).unwrap(), name);
        assert_eq!(
            serde_json::from_value::<PatternName>(serde_json::Value::from(&plain[1..41])).unwrap(),
            name
        );
        let error = serde_json::from_str::<PatternName>("7")
            .unwrap_err()
            .to_string();
        assert!(error.contains("expected a string"), "{error}");
    }
}
