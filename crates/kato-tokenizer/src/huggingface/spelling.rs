//! The bytes that each token spells, and the check whether a list of tokens spells a text.

use crate::{Vocabulary, alphabet};

/// The bytes of every id of a byte-level vocabulary.
pub(super) struct Spelling {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// One token. Most are at most eight bytes long, and comparing those needs one load of the
/// text and nothing else.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// The first eight bytes, little endian, zeros after a shorter token.
    head: u64,
    start: u32,
    len: u32,
}

impl Spelling {
    /// Collects the bytes of every token.
    ///
    /// `added` lists, ascending, the ids whose strings are plain text instead of the byte alphabet.
    pub(super) fn new(vocabulary: &Vocabulary, added: &[u32]) -> Self {
        let mut spelling = Self {
            bytes: Vec::new(),
            entries: vec![Entry::default(); vocabulary.len()],
        };
        for (id, token) in vocabulary.iter() {
            let plain = || token.as_bytes().to_vec();
            let bytes = if added.binary_search(&id).is_ok() {
                plain()
            } else {
                alphabet::bytes_of(token).unwrap_or_else(plain)
            };
            let mut head = [0; 8];
            let short = bytes.len().min(8);
            head[..short].copy_from_slice(&bytes[..short]);
            spelling.entries[id as usize] = Entry {
                head: u64::from_le_bytes(head),
                start: u32::try_from(spelling.bytes.len())
                    .expect("definitions are limited to 1 GiB"),
                len: u32::try_from(bytes.len()).expect("a token is at most 65,535 bytes"),
            };
            spelling.bytes.extend_from_slice(&bytes);
        }
        spelling
    }

    /// Returns whether the tokens, one after the other, are exactly `text`.
    pub(super) fn spells(&self, ids: &[u32], text: &[u8]) -> bool {
        let mut rest = text;
        for &id in ids {
            let Some(entry) = self.entries.get(id as usize) else {
                return false;
            };
            let len = entry.len as usize;
            let same = match rest.first_chunk::<8>() {
                Some(next) if len <= 8 => {
                    // Little endian: bytes of the text beyond the token are the upper ones, which
                    // the shift drops.
                    let unused_bits = 64 - 8 * entry.len;
                    // A shift by 64 overflows for an empty token, that of an unused id, which
                    // spells nothing.
                    len > 0 && (u64::from_le_bytes(*next) ^ entry.head) << unused_bits == 0
                }
                _ => rest.starts_with(self.token_bytes(*entry)),
            };
            if !same {
                return false;
            }
            rest = &rest[len..];
        }
        rest.is_empty()
    }

    /// Returns the text of `ids`, with U+FFFD for what is not UTF-8.
    pub(super) fn text(&self, ids: &[u32]) -> String {
        let entries = ids.iter().filter_map(|&id| self.entries.get(id as usize));
        let bytes: Vec<u8> = entries
            .flat_map(|&entry| self.token_bytes(entry))
            .copied()
            .collect();
        alphabet::text_of(bytes)
    }

    /// Returns the bytes of a token.
    fn token_bytes(&self, entry: Entry) -> &[u8] {
        &self.bytes[entry.start as usize..][..entry.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Spelling;
    use crate::Vocabulary;

    fn spelling() -> Spelling {
        Spelling::new(
            &Vocabulary::from_tokens(["a", "Ġb", "", "<e>", "abcdefgh", "abcdefghi", "b"]),
            &[3],
        )
    }

    #[test]
    fn only_the_exact_text_is_spelled() {
        let check = |ids: &[u32], text: &str, expected| {
            assert_eq!(
                spelling().spells(ids, text.as_bytes()),
                expected,
                "{ids:?} {text:?}"
            );
        };
        check(&[], "", true);
        check(&[0, 1, 3], "a b<e>", true);
        check(&[0, 1, 3], "a b<e", false);
        check(&[0, 1, 3], "a b<e>a", false);
        check(&[4], "abcdefgh", true);
        check(&[4, 0], "abcdefgha", true);
        check(&[5], "abcdefghi", true);
        check(&[5], "abcdefghj", false);
        check(&[0, 6], "ac", false);
        check(&[2], "", true);
        check(&[99], "a", false);
    }

    proptest! {
        #[test]
        fn tokens_spell_their_own_text_and_no_other(ids in prop::collection::vec(0u32..7, 0..20), other in "[ab ]{0,20}") {
            let spelling = spelling();
            let ids: Vec<u32> = ids.into_iter().filter(|&id| id != 2).collect();
            let text = spelling.text(&ids);
            prop_assert!(spelling.spells(&ids, text.as_bytes()));
            prop_assert_eq!(spelling.spells(&ids, other.as_bytes()), text == other);
        }
    }
}
