//! Byte pair encoding over characters, with all that a definition may ask for.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Ids, Model, Unknown, byte_tokens};
use crate::alphabet;
use crate::bpe::{Bpe, Merges};
use crate::huggingface::error::{DefinitionError, TextError};
use crate::huggingface::fields::Fields;

/// Byte pair encoding over characters.
pub(in crate::huggingface) struct CharBpe {
    ids: Arc<Ids>,
    rules: Bpe,
    /// What the characters behind the first, and the last one, are looked up with.
    prefix: String,
    suffix: String,
    unknown: Unknown,
    /// Unknown characters one after the other are one token.
    fuse_unknown: bool,
    /// Tokens that stand for the bytes of unknown characters.
    bytes: Option<Box<[Option<u32>; 256]>>,
    /// A word that is a token is that token, whatever the merges make of it.
    whole: bool,
}

/// Reads the model.
pub(super) fn from_json(
    fields: Fields<'_>,
    ids: &Arc<Ids>,
    byte_level: bool,
) -> Result<Model, DefinitionError> {
    let dropout = fields.get("dropout").map_or(Some(0.0), Value::as_f64);
    if dropout != Some(0.0) {
        return Err(DefinitionError::unsupported(
            fields.part,
            "a dropout, by which the same text has other tokens each time,",
        ));
    }
    let prefix = fields
        .text_or_empty("continuing_subword_prefix")?
        .to_owned();
    let suffix = fields.text_or_empty("end_of_word_suffix")?.to_owned();
    let unknown = match fields.get("unk_token") {
        None => Unknown::None,
        Some(_) => Unknown::of(fields.text("unk_token")?, ids),
    };
    let whole = fields.bool_or("ignore_merges", false)?;
    let byte_fallback = fields.bool_or("byte_fallback", false)?;
    let fuse_unknown = fields.bool_or("fuse_unk", false)?;
    let merges = fields.get("merges").and_then(Value::as_array);
    let merges = merges.ok_or_else(|| DefinitionError::field(fields.part, "merges", "a list"))?;
    let merges = read_merges(merges, ids, &prefix)?;
    let mut rules = Bpe {
        bytes: [None; 256],
        merges,
        whole: HashMap::default(),
    };
    if byte_level && prefix.is_empty() && suffix.is_empty() {
        for (byte, id) in (0u8..=255).zip(&mut rules.bytes) {
            let mut buffer = [0; 4];
            *id = (ids.get(&*alphabet::char_of(byte).encode_utf8(&mut buffer))).copied();
        }
        // Every word is known then, so nothing else of the definition counts.
        if rules.bytes.iter().all(Option::is_some) {
            if whole {
                let spelled = ids
                    .iter()
                    .filter_map(|(token, &id)| Some((alphabet::bytes_of(token)?, id)));
                rules.whole = spelled.collect();
            }
            return Ok(Model::ByteBpe(Box::new(rules)));
        }
    }
    Ok(Model::CharBpe(Box::new(CharBpe {
        ids: Arc::clone(ids),
        rules,
        prefix,
        suffix,
        unknown,
        fuse_unknown,
        bytes: byte_fallback.then(|| byte_tokens(ids)),
        whole,
    })))
}

/// Reads the merges, of pairs or of texts with a blank between the two; of equal ones the last counts.
fn read_merges(list: &[Value], ids: &Ids, prefix: &str) -> Result<Merges, DefinitionError> {
    let mut merges = Merges::with_capacity_and_hasher(list.len(), Default::default());
    let mut rank = 0u32;
    let mut made = String::new();
    for (n, merge) in list.iter().enumerate() {
        let (left, right) = match merge {
            Value::String(text) if text.starts_with("#version") => continue,
            Value::String(text) => text
                .split_once(' ')
                .filter(|(_, right)| !right.contains(' ')),
            Value::Array(pair) => match &pair[..] {
                [left, right] => left.as_str().zip(right.as_str()),
                _ => None,
            },
            _ => None,
        }
        .ok_or(DefinitionError::BadMerge(n))?;
        let id = |token: &str| {
            let known = ids.get(token).copied();
            known
                .ok_or_else(|| DefinitionError::MergeOfUnknown(n, token.chars().take(40).collect()))
        };
        let pair = (id(left)?, id(right)?);
        // The prefix is cut off by its length, whatever stands there.
        let rest = right.get(prefix.len()..).filter(|rest| !rest.is_empty());
        made.clear();
        made.push_str(left);
        made.push_str(rest.ok_or(DefinitionError::BadMerge(n))?);
        merges.insert(pair, (rank, id(&made)?));
        rank += 1;
    }
    Ok(merges)
}

impl CharBpe {
    /// Appends the ids of a word.
    pub(super) fn word(&self, word: &str, ids: &mut Vec<u32>) -> Result<(), TextError> {
        if self.whole
            && let Some(&id) = self.ids.get(word)
        {
            ids.push(id);
            return Ok(());
        }
        let before = ids.len();
        // An unknown-token that has not been written yet, as it may still be fused with the next.
        let mut unknown = None;
        let mut spelled = String::new();
        for (start, character) in word.char_indices() {
            let end = start + character.len_utf8();
            let (first, last) = (start == 0, end == word.len());
            let part = &word[start..end];
            let part = if (first || self.prefix.is_empty()) && (!last || self.suffix.is_empty()) {
                part
            } else {
                spelled.clear();
                if !first {
                    spelled.push_str(&self.prefix);
                }
                spelled.push_str(part);
                if last {
                    spelled.push_str(&self.suffix);
                }
                &spelled
            };
            if let Some(&id) = self.ids.get(part) {
                ids.extend(unknown.take());
                ids.push(id);
                continue;
            }
            if let Some(bytes) = &self.bytes {
                let n = ids.len();
                let known = part.bytes().map_while(|byte| bytes[usize::from(byte)]);
                ids.extend(known);
                if ids.len() - n == part.len() {
                    // Those before an unknown-token that waits, as with Hugging Face.
                    continue;
                }
                ids.truncate(n);
            }
            // Without an unknown-token the character has no token at all.
            if !matches!(self.unknown, Unknown::None) {
                if !self.fuse_unknown {
                    ids.extend(unknown.take());
                }
                if unknown.is_none() {
                    unknown = Some(self.unknown.id(part)?);
                }
            }
        }
        ids.extend(unknown);
        self.rules.merge(ids, before);
        Ok(())
    }
}
