//! Writes floats of states as text, so that every format gives them back to the bit.
//!
//! As numbers they would not survive all: `serde_json` may read the number beside unless its
//! feature `float_roundtrip` is on, and has none for NaN and infinities. A resumed run must be
//! bit-equal.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// For fields of type `f64` and `f32`.
pub(crate) fn serialize<F: std::fmt::Display, S: Serializer>(
    value: &F,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // The shortest text that is read as the same number.
    serializer.collect_str(value)
}

/// For fields of type `f64` and `f32`.
pub(crate) fn deserialize<'de, F, D>(deserializer: D) -> Result<F, D::Error>
where
    F: std::str::FromStr,
    D: Deserializer<'de>,
{
    parse(&String::deserialize(deserializer)?)
}

fn parse<F: std::str::FromStr, E: Error>(text: &str) -> Result<F, E> {
    text.parse().map_err(|_| {
        E::custom(format!(
            "{text:?} is no number; write it as a text of digits"
        ))
    })
}

/// For fields of type `Option<f64>`.
pub(crate) mod option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|value| value.to_string()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| super::parse(&text)).transpose()
    }
}
