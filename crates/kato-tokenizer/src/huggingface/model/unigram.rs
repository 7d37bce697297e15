//! Unigram: of all ways to cut a word into tokens the one of the highest score.

use std::sync::Arc;

use serde_json::Value;

use super::{Ids, Loaded, Model, Unknown, byte_tokens, check_number, check_token};
use crate::huggingface::error::{DefinitionError, TextError};
use crate::huggingface::fields::Fields;
use crate::huggingface::limits::Work;
use crate::huggingface::trie::Trie;

/// How much lower than the lowest score an unknown character counts.
const UNKNOWN_PENALTY: f64 = 10.0;

/// The model.
pub(in crate::huggingface) struct Unigram {
    trie: Trie,
    scores: Vec<f64>,
    ids: Arc<Ids>,
    unknown: Option<u32>,
    unknown_score: f64,
    bytes: Option<Box<[Option<u32>; 256]>>,
}

/// Reads the model and its tokens.
pub(super) fn from_json(fields: Fields<'_>, vocab: &Value) -> Result<Loaded, DefinitionError> {
    let entries = vocab.as_array().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or(DefinitionError::NoVocabulary)?;
    check_number(entries.len())?;
    let (mut tokens, mut scores) = (Vec::new(), Vec::new());
    let mut ids = Ids::default();
    for (id, entry) in (0u32..).zip(entries) {
        let pair = match entry.as_array().map(Vec::as_slice) {
            Some([token, score]) => token.as_str().zip(score.as_f64()),
            _ => None,
        };
        let (token, score) =
            pair.ok_or_else(|| DefinitionError::field(fields.part, "vocab", "tokens and scores"))?;
        check_token(token)?;
        ids.insert(token.into(), id);
        tokens.push(token.to_owned());
        scores.push(score);
    }
    let ids = Arc::new(ids);
    let unknown = match fields.get("unk_id") {
        None => None,
        Some(_) => Some(
            u32::try_from(fields.number("unk_id")?)
                .ok()
                .filter(|&id| (id as usize) < tokens.len())
                .ok_or_else(|| {
                    DefinitionError::field(fields.part, "unk_id", "the id of a token")
                })?,
        ),
    };
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let byte_fallback = fields.bool_or("byte_fallback", false)?;
    let listed = tokens.iter().map(String::as_str).zip(0u32..);
    let unigram = Unigram {
        trie: Trie::new(listed.filter(|(token, _)| !token.is_empty()))?,
        unknown,
        unknown_score: lowest - UNKNOWN_PENALTY,
        bytes: byte_fallback.then(|| byte_tokens(&ids)),
        scores,
        ids: Arc::clone(&ids),
    };
    Ok(Loaded {
        model: Model::Unigram(Box::new(unigram)),
        n_tokens: u32::try_from(tokens.len()).unwrap_or(u32::MAX),
        tokens,
        ids,
    })
}

/// The best way to cut a word up to some byte.
#[derive(Clone, Copy)]
struct Best {
    score: f64,
    /// Where the last token begins; none where no token ends.
    start: Option<u32>,
    id: u32,
}

impl Unigram {
    /// Appends the ids of a word.
    pub(super) fn word(
        &self,
        word: &str,
        ids: &mut Vec<u32>,
        work: &mut Work,
    ) -> Result<(), TextError> {
        let best = self.best(word, work)?;
        let first = ids.len();
        // From the end to the beginning, to be turned round.
        let mut end = word.len();
        while end > 0 {
            let mut last = best[end];
            let mut start = last.start.unwrap_or_default() as usize;
            if Some(last.id) != self.unknown {
                ids.push(last.id);
            } else {
                // Unknown characters one after the other are looked up as one.
                while start > 0 && Some(best[start].id) == self.unknown {
                    last = best[start];
                    start = last.start.unwrap_or_default() as usize;
                }
                self.unknown(&word[start..end], last.id, ids);
            }
            end = start;
        }
        ids[first..].reverse();
        Ok(())
    }

    /// Returns for every place of a word the best way to cut what is before it.
    fn best(&self, word: &str, work: &mut Work) -> Result<Vec<Best>, TextError> {
        let none = Best {
            score: 0.0,
            start: None,
            id: 0,
        };
        let mut best = vec![none; word.len() + 1];
        for (start, character) in word.char_indices() {
            let before = best[start].score;
            let mut reach = |end: usize, score: f64, id: u32| {
                let score = score + before;
                let best = &mut best[end];
                if best.start.is_none() || score > best.score {
                    *best = Best {
                        score,
                        start: Some(start as u32),
                        id,
                    };
                }
            };
            let after = start + character.len_utf8();
            let (mut node, mut has_single) = (0, false);
            let mut end = start;
            for &byte in &word.as_bytes()[start..] {
                let Some(child) = self.trie.child(node, byte) else {
                    break;
                };
                (node, end) = (child, end + 1);
                if let Some(id) = self.trie.id(node) {
                    reach(end, self.scores[id as usize], id);
                    has_single |= end == after;
                }
            }
            if !has_single {
                let unknown = self.unknown.map_or(Unknown::None, Unknown::Id);
                reach(after, self.unknown_score, unknown.id(&word[start..after])?);
            }
            work.take((end - start) as u64 + 1)?;
        }
        Ok(best)
    }

    /// Appends the ids of unknown characters, the last one first.
    fn unknown(&self, part: &str, unknown: u32, ids: &mut Vec<u32>) {
        if let Some(&id) = self.ids.get(part) {
            ids.push(id);
            return;
        }
        if let Some(bytes) = &self.bytes {
            let n = ids.len();
            ids.extend((part.bytes().rev()).map_while(|byte| bytes[usize::from(byte)]));
            if ids.len() - n == part.len() {
                return;
            }
            ids.truncate(n);
        }
        ids.push(unknown);
    }
}
