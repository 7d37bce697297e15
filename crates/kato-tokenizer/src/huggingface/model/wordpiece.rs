//! WordPiece: the longest token that a word begins with, and again for what is left of it.

use super::{Ids, Unknown};
use crate::huggingface::error::{DefinitionError, TextError};
use crate::huggingface::fields::Fields;
use crate::huggingface::limits::Work;
use crate::huggingface::trie::{Node, Trie};

/// The model.
pub(in crate::huggingface) struct WordPiece {
    trie: Trie,
    unknown: Unknown,
    /// Where tokens that go on with a word begin; none when there are no such tokens.
    continuing: Option<Node>,
    /// A longer word is unknown.
    max_chars: u64,
}

impl WordPiece {
    pub(super) fn from_json(fields: Fields<'_>, ids: &Ids) -> Result<Self, DefinitionError> {
        let prefix = fields.text("continuing_subword_prefix")?;
        let trie = Trie::new(ids.iter().map(|(token, &id)| (&**token, id)))?;
        Ok(Self {
            unknown: Unknown::of(fields.text("unk_token")?, ids),
            continuing: trie.node(prefix.as_bytes()),
            max_chars: fields.number("max_input_chars_per_word")?,
            trie,
        })
    }

    /// Appends the ids of a word.
    pub(super) fn word(
        &self,
        word: &str,
        ids: &mut Vec<u32>,
        work: &mut Work,
    ) -> Result<(), TextError> {
        if word.chars().count() as u64 > self.max_chars {
            ids.push(self.unknown.id(word)?);
            return Ok(());
        }
        let before = ids.len();
        let mut start = 0;
        while start < word.len() {
            let mut node = if start == 0 { Some(0) } else { self.continuing };
            let mut longest = None;
            let mut taken = 0;
            for &byte in &word.as_bytes()[start..] {
                node = node.and_then(|node| self.trie.child(node, byte));
                let Some(node) = node else { break };
                taken += 1;
                if let Some(id) = self.trie.id(node) {
                    longest = Some((id, taken));
                }
            }
            work.take(taken as u64 + 1)?;
            let Some((id, len)) = longest else {
                // One part that is unknown makes the whole word so.
                ids.truncate(before);
                ids.push(self.unknown.id(word)?);
                return Ok(());
            };
            ids.push(id);
            start += len;
        }
        Ok(())
    }
}
