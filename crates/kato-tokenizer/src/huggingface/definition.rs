//! A parsed `tokenizer.json`: checked, fingerprinted, brought to the format that the engine reads.

use std::collections::HashMap;

use serde_json::Value;
use thiserror::Error;

use crate::alphabet;
use crate::bpe::{Bpe, Merges};

/// Most bytes of a file. The limits keep a damaged file from asking for absurd memory.
const MAX_FILE_BYTES: usize = 1 << 30;

/// Ids are below this.
const MAX_IDS: u64 = 1 << 24;

/// Most bytes of a token.
const MAX_TOKEN_BYTES: usize = u16::MAX as usize;

/// The parts of a file that decide ids and token strings.
const FINGERPRINTED_PARTS: [&str; 4] = ["added_tokens", "model", "normalizer", "pre_tokenizer"];

/// The error of a file that is no definition of a tokenizer.
#[derive(Debug, Error)]
pub(super) enum DefinitionError {
    #[error("the file has {0} bytes, more than the {MAX_FILE_BYTES} supported")]
    TooLarge(usize),
    #[error("it is not JSON")]
    Json(#[from] serde_json::Error),
    #[error("it cannot be brought to format 2.0")]
    Convert(#[from] tokenizers::ConvertError),
    #[error("`model.vocab` is missing or empty")]
    NoVocabulary,
    #[error("token `{0}` has no id below {MAX_IDS}")]
    BadId(String),
    #[error("a token is {0} bytes long, more than the {MAX_TOKEN_BYTES} supported")]
    LongToken(usize),
}

/// A definition that passed the checks.
pub(super) struct Definition {
    /// The definition in format 2.0, whatever was read.
    canonical: Value,
    fingerprint: String,
    id_bound: u32,
}

impl Definition {
    /// Parses and checks the text of a `tokenizer.json`.
    pub(super) fn parse(json: &str) -> Result<Self, DefinitionError> {
        if json.len() > MAX_FILE_BYTES {
            return Err(DefinitionError::TooLarge(json.len()));
        }
        let mut value: Value = serde_json::from_str(json)?;
        // Of the file as written: a later version of the converter must not change the fingerprint.
        let fingerprint = fingerprint(&value);
        tokenizers::canonicalize_value(&mut value)?;
        // Checks ids and lengths before the engine reads them and allocates by them.
        let id_bound = id_bound(&value)?;
        Ok(Self {
            canonical: value,
            fingerprint,
            id_bound,
        })
    }

    pub(super) fn canonical_json(&self) -> String {
        self.canonical.to_string()
    }

    pub(super) fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    /// Returns a number that no id reaches; the highest ids below it may be unused.
    pub(super) fn id_bound(&self) -> u32 {
        self.id_bound
    }

    /// Returns the merge rules, when the model is byte-level BPE whose tokens spell
    /// nothing but the text.
    pub(super) fn byte_level_bpe(&self) -> Option<Bpe> {
        let model = &self.canonical["model"];
        let affix = |key: &str| model[key].as_str().is_some_and(|affix| !affix.is_empty());
        let plain = model["type"] == "BPE" && model["byte_level"] == true;
        // An affix is part of a token's string and not of the text, so such tokens
        // cannot be checked.
        if !plain || affix("continuing_subword_prefix") || affix("end_of_word_suffix") {
            return None;
        }
        let vocabulary = model["vocab"].as_object()?;
        let id = |token: &str| u32::try_from(vocabulary.get(token)?.as_u64()?).ok();
        let mut bytes = [None; 256];
        let mut whole = HashMap::default();
        for token in vocabulary.keys() {
            // A token outside of the alphabet spells no bytes, so no word leads to it.
            let Some(spelled) = alphabet::bytes_of(token) else {
                continue;
            };
            if let [byte] = spelled[..] {
                bytes[usize::from(byte)] = id(token);
            }
            if model["ignore_merges"] == true {
                whole.insert(spelled, id(token)?);
            }
        }
        let mut merges = Merges::default();
        for (rank, merge) in (0u32..).zip(model["merges"].as_array()?) {
            let (left, right) = (merge[0].as_str()?, merge[1].as_str()?);
            merges.insert(
                (id(left)?, id(right)?),
                (rank, id(&format!("{left}{right}"))?),
            );
        }
        Some(Bpe {
            bytes,
            merges,
            whole,
        })
    }
}

/// Checks all tokens and returns a number that no id reaches.
fn id_bound(value: &Value) -> Result<u32, DefinitionError> {
    let vocabulary = &value["model"]["vocab"];
    let mut bound = 0;
    let mut check_token = |token: &str, id: Option<u64>| {
        // The beginning of the token suffices for the message, as a token may be
        // of any length here.
        let id = id
            .filter(|&id| id < MAX_IDS)
            .ok_or_else(|| DefinitionError::BadId(token.chars().take(40).collect()))?;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(DefinitionError::LongToken(token.len()));
        }
        bound = bound.max(id + 1);
        Ok(())
    };
    match vocabulary {
        // BPE, WordPiece and WordLevel map tokens to ids; Unigram lists tokens in the order of ids.
        Value::Object(entries) if !entries.is_empty() => {
            entries
                .iter()
                .try_for_each(|(token, id)| check_token(token, id.as_u64()))?;
        }
        Value::Array(entries) if !entries.is_empty() => {
            (0u64..).zip(entries).try_for_each(|(id, entry)| {
                check_token(entry[0].as_str().unwrap_or_default(), Some(id))
            })?;
        }
        _ => return Err(DefinitionError::NoVocabulary),
    }
    let added = value["added_tokens"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for token in added {
        check_token(
            token["content"].as_str().unwrap_or_default(),
            token["id"].as_u64(),
        )?;
    }
    // The engine numbers added tokens itself, at worst each one above the vocabulary.
    u32::try_from(bound + added.len() as u64).map_err(|_| DefinitionError::NoVocabulary)
}

/// Hashes the parts of a definition that decide ids and token strings.
fn fingerprint(value: &Value) -> String {
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

    use super::{Definition, fingerprint};

    #[test]
    fn spelling_of_the_file_does_not_change_the_fingerprint() {
        let pairs = json!({"model": {"merges": [["a", "b"]], "unk": null, "vocab": {"a": 0, "b": 1}}, "version": "1.0"});
        let joined = json!({"model": {"vocab": {"b": 1, "a": 0}, "merges": ["a b"]}, "decoder": {"type": "x"}});
        assert_eq!(fingerprint(&pairs), fingerprint(&joined));
        let other = json!({"model": {"vocab": {"b": 0, "a": 1}, "merges": ["a b"]}});
        assert_ne!(fingerprint(&pairs), fingerprint(&other));
    }

    #[test]
    fn damaged_files_are_refused_with_a_reason() {
        let check = |json: &str, reason: &str| {
            let error = Definition::parse(json).err().expect(reason).to_string();
            assert!(error.contains(reason), "{error}");
        };
        check("", "not JSON");
        check("[]", "format 2.0");
        check("{}", "format 2.0");
        check(
            r#"{"model":{"type":"BPE","merges":[],"vocab":{}}}"#,
            "missing or empty",
        );
        check(
            r#"{"model":{"type":"WordLevel","vocab":{"a":4294967295}}}"#,
            "`a` has no id",
        );
        check(
            r#"{"model":{"type":"WordLevel","vocab":{"a":-1}}}"#,
            "`a` has no id",
        );
        let long = format!(
            r#"{{"model":{{"type":"WordLevel","vocab":{{"{}":0}}}}}}"#,
            "a".repeat(65_536)
        );
        check(&long, "65536 bytes long");
    }
}
