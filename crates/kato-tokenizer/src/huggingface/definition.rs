//! The text of a `tokenizer.json`: within its budgets, and with a fingerprint.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::error::DefinitionError;
use super::limits::{MAX_FILE_BYTES, MAX_VALUES};

/// The parts of a file that decide ids and token strings.
const FINGERPRINTED_PARTS: [&str; 4] = ["added_tokens", "model", "normalizer", "pre_tokenizer"];

/// What a counting that runs over its budget says; it leads to an error of its own.
const TOO_MANY: &str = "too many values";

/// Parses the text of a `tokenizer.json`.
pub(super) fn parse(json: &str) -> Result<Value, DefinitionError> {
    if json.len() > MAX_FILE_BYTES {
        return Err(DefinitionError::TooLarge);
    }
    // Counts before any of them takes memory, of which a value takes many times that of its text.
    let mut left = MAX_VALUES;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    match Count(&mut left).deserialize(&mut deserializer) {
        Err(error) if error.to_string().starts_with(TOO_MANY) => {
            return Err(DefinitionError::TooManyValues);
        }
        counted => counted?,
    }
    let value: Value = serde_json::from_str(json)?;
    let version = value.get("version").and_then(Value::as_str);
    match version {
        _ if !value.is_object() => Err(DefinitionError::NoVocabulary),
        None | Some("1.0" | "2.0") => Ok(value),
        Some(version) => Err(DefinitionError::Version(version.chars().take(40).collect())),
    }
}

/// What an object counts beside its members, as it takes as much memory as so many values.
const OBJECT: usize = 16;

/// Counts the values and keys of a JSON text.
struct Count<'a>(&'a mut usize);

impl Count<'_> {
    fn take<E: Error>(&mut self, n: usize) -> Result<(), E> {
        *self.0 = self.0.checked_sub(n).ok_or_else(|| E::custom(TOO_MANY))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.take(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Count(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.take(OBJECT)?;
        while members.next_key_seed(Count(self.0))?.is_some() {
            members.next_value_seed(Count(self.0))?;
        }
        Ok(())
    }
}

/// Hashes the parts of a definition that decide ids and token strings.
pub(super) fn fingerprint(value: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"kato tokenizer 1");
    for part in FINGERPRINTED_PARTS {
        hash(part, &value[part], &mut hasher);
    }
    hasher.finalize().to_hex().to_string()
}

/// Hashes a value so that the order of keys, absent versus null, and the two spellings of a
/// merge do not matter.
fn hash(key: &str, value: &Value, hasher: &mut blake3::Hasher) {
    // With kind and length, so that no two different values feed the same bytes.
    let mut text = |kind: u8, text: &str| {
        hasher
            .update(&[kind])
            .update(&(text.len() as u64).to_le_bytes())
            .update(text.as_bytes());
    };
    match value {
        Value::Null => text(b'n', ""),
        Value::Bool(flag) => text(b'b', if *flag { "1" } else { "0" }),
        Value::Number(number) => text(b'd', &number.to_string()),
        Value::String(string) => text(b's', string),
        Value::Array(items) => match &items[..] {
            [Value::String(left), Value::String(right)] if key == "merge" => {
                text(b's', &format!("{left} {right}"))
            }
            items => {
                text(b'a', &items.len().to_string());
                let key = if key == "merges" { "merge" } else { "" };
                items.iter().for_each(|item| hash(key, item, hasher));
            }
        },
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text(b'o', &members.len().to_string());
            for (key, value) in members {
                hasher
                    .update(&(key.len() as u64).to_le_bytes())
                    .update(key.as_bytes());
                hash(key, value, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{fingerprint, parse};
    use crate::huggingface::limits::MAX_VALUES;

    #[test]
    fn spelling_of_the_file_does_not_change_the_fingerprint() {
        let pairs = json!({"model": {"merges": [["a", "b"]], "unk": null, "vocab": {"a": 0, "b": 1}}, "version": "1.0"});
        let joined = json!({"model": {"vocab": {"b": 1, "a": 0}, "merges": ["a b"]}, "decoder": {"type": "x"}});
        assert_eq!(fingerprint(&pairs), fingerprint(&joined));
        let other = json!({"model": {"vocab": {"b": 0, "a": 1}, "merges": ["a b"]}});
        assert_ne!(fingerprint(&pairs), fingerprint(&other));
    }

    #[test]
    fn what_is_no_definition_is_refused_with_a_reason() {
        let check = |json: &str, reason: &str| {
            let error = parse(json).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        check("", "not JSON");
        check("[]", "`model.vocab` is missing");
        check(r#"{"version":"3.0"}"#, "format `3.0`");
        check(&"[".repeat(1_000_000), "not JSON");
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        check(&many, "more than the 4194304 values");
        check(&" ".repeat((1 << 26) + 1), "67108864 bytes");
    }
}
