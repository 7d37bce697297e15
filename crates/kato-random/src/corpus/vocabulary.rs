//! The vocabulary of a sample: its distinct words, spelled as they stand inside a JSON string, and
//! rare words made of their parts.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

/// Longer words are cut, so that one document cannot grow without bound: bytes.
const MAX_WORD_BYTES: usize = 128;
/// Characters of a word's beginning or end that rare words are made of.
const FRAGMENT_CHARS: usize = 3;
/// Different beginnings, and as many ends, kept for rare words.
const MAX_FRAGMENTS: usize = 256;

/// Spellings of at most this many bytes, nearly all, are copied as a block of that size: a length
/// known to the compiler halves the time that a corpus takes.
const BLOCK_BYTES: usize = 16;

/// The kind of a word, which decides what may stand in its place and whether a paragraph may end
/// behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Made of letters only: a rare word can replace it.
    Plain,
    /// Ends with a full stop, exclamation or question mark: a paragraph can end behind it.
    SentenceEnd,
    /// Anything else.
    Other,
}

/// A distinct word: all that the chain needs of it in 16 bytes, so that a step takes one cache
/// line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// Where its spelling starts in the vocabulary's text.
    start: u32,
    /// Where its group starts in the model's list of followers.
    pub(crate) group_start: u32,
    /// Words in that group: as many as the sample has of this one.
    pub(crate) group_len: u32,
    /// Bytes of the spelling, gap included.
    len: u16,
    /// Bytes of the gap: 1 for a blank, 2 for an escaped line break.
    pub(crate) gap_len: u8,
    pub(crate) class: Class,
}

/// Distinct words by id, in the order of their first appearance.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// Every word as it stands inside a JSON string, with the gap behind it; a block longer than
    /// that.
    text: Vec<u8>,
    pub(crate) words: Vec<Word>,
    heads: Fragments,
    tails: Fragments,
}

impl Vocabulary {
    /// Returns the word as it stands inside a JSON string, with a blank or an escaped line break
    /// behind it.
    pub(crate) fn spelling(&self, word: Word) -> &[u8] {
        let start = word.start as usize;
        &self.text[start..start + usize::from(word.len)]
    }

    /// Appends the word's spelling to `out`.
    #[inline]
    pub(crate) fn spell(&self, word: Word, out: &mut Vec<u8>) {
        let len = usize::from(word.len);
        if len > BLOCK_BYTES {
            out.extend_from_slice(self.spelling(word));
            return;
        }
        let start = word.start as usize;
        let end = out.len() + len;
        // More than the spelling is copied and cut off again. The slice stays within the text,
        // because `build` adds a block behind the last word.
        out.extend_from_slice(&self.text[start..start + BLOCK_BYTES]);
        out.truncate(end);
    }

    /// Appends the rare word of this rank to `out`, with the gap of `word`; nearly all ranks give
    /// different words.
    pub(crate) fn spell_rare(&self, rank: u32, word: Word, out: &mut Vec<u8>) {
        self.spell_rank(rank, out);
        let spelling = self.spelling(word);
        out.extend_from_slice(&spelling[spelling.len() - usize::from(word.gap_len)..]);
    }

    /// Appends the letters of the rare word of this rank, without a gap.
    fn spell_rank(&self, rank: u32, out: &mut Vec<u8>) {
        let (heads, tails) = (self.heads.kept.as_slice(), self.tails.kept.as_slice());
        if heads.is_empty() {
            // No word of the sample is long enough to give parts.
            out.extend_from_slice(rank.to_string().as_bytes());
            return;
        }
        // A number written in digits, the first a beginning and all others ends. Fragments are
        // distinct and of one length, so different digits give different words.
        let mut rest = rank as usize;
        out.extend_from_slice(heads[rest % heads.len()].as_bytes());
        rest /= heads.len();
        loop {
            // Not empty where `heads` is not: the first word that gives a beginning gives an end,
            // too.
            out.extend_from_slice(tails[rest % tails.len()].as_bytes());
            rest /= tails.len();
            // A single tail would never use the rank up.
            if rest == 0 || tails.len() == 1 {
                return;
            }
        }
    }

    /// Adds a new word, spelled and escaped, with the gap behind it.
    fn push(&mut self, word: &str, breaks_line: bool) {
        let start = self.text.len();
        push_escaped(word, &mut self.text);
        let gap: &[u8] = if breaks_line { b"\\n" } else { b" " };
        self.text.extend_from_slice(gap);
        let class = class_of(word);
        self.words.push(Word {
            // Fits, as `CorpusModel` uses 64 MiB of a sample: escaping makes at most 6 bytes of
            // one, and so does a byte that is no UTF-8, so they become less than 4 GiB.
            start: start as u32,
            group_start: 0,
            group_len: 0,
            // Fits: a word has at most 128 bytes, which escaping makes 768, and a gap 2.
            len: (self.text.len() - start) as u16,
            gap_len: gap.len() as u8,
            class,
        });
        if class == Class::Plain {
            self.keep_fragments(word);
        }
    }

    /// Keeps the beginning and the end of a word for rare words, if it is long enough for both.
    fn keep_fragments(&mut self, word: &str) {
        let mut starts = word.char_indices().map(|(start, _)| start);
        // The beginning and the end must not overlap, so the word needs at least six characters.
        let Some(head_end) = starts.clone().nth(FRAGMENT_CHARS) else {
            return;
        };
        if let Some(tail_start) = starts
            .nth_back(FRAGMENT_CHARS - 1)
            .filter(|&start| start >= head_end)
        {
            self.heads.keep(&word[..head_end]);
            self.tails.keep(&word[tail_start..]);
        }
    }
}

/// Returns the class of a word.
fn class_of(word: &str) -> Class {
    // Only words of letters alone are replaced by rare ones and give parts to them, so punctuation
    // stays where the sample has it.
    if word.chars().all(char::is_alphabetic) {
        Class::Plain
    } else if word
        .trim_end_matches(['"', '\'', ')'])
        .ends_with(['.', '!', '?'])
    {
        Class::SentenceEnd
    } else {
        Class::Other
    }
}

/// Appends a word as it stands inside a JSON string.
fn push_escaped(word: &str, out: &mut Vec<u8>) {
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend_from_slice(&[b'\\', c as u8]),
            // JSON allows these characters only as escapes. White space among them separates words
            // and does not come here.
            '\0'..='\x1f' => {
                write!(out, "\\u{:04x}", c as u32).expect("a vector takes every write")
            }
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// The first few distinct beginnings, or ends, of words.
#[derive(Debug, Default)]
struct Fragments {
    kept: Vec<Box<str>>,
    seen: HashSet<Box<str>>,
}

impl Fragments {
    /// Keeps a fragment, unless it is kept already or there are [`MAX_FRAGMENTS`].
    fn keep(&mut self, fragment: &str) {
        if self.kept.len() < MAX_FRAGMENTS && !self.seen.contains(fragment) {
            self.seen.insert(fragment.into());
            self.kept.push(fragment.into());
        }
    }
}

/// A builder that gives every distinct word of a sample its id.
#[derive(Debug, Default)]
pub(crate) struct VocabularyBuilder<'a> {
    ids: HashMap<(&'a str, bool), u32>,
    vocabulary: Vocabulary,
}

impl<'a> VocabularyBuilder<'a> {
    /// Calls `each` with the ids of the pieces of `word`: one, unless the word is overlong.
    pub(crate) fn add(&mut self, word: &'a str, breaks_line: bool, mut each: impl FnMut(u32)) {
        let mut rest = word;
        while rest.len() > MAX_WORD_BYTES {
            // A character has at most 4 bytes, so the piece is not empty and the loop ends.
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(MAX_WORD_BYTES));
            // A piece in the middle of a word is followed by a blank, whatever follows the word.
            each(self.id(piece, false));
            rest = behind;
        }
        each(self.id(rest, breaks_line));
    }

    /// Returns the id of a word with its gap, which is a new one at its first appearance.
    fn id(&mut self, word: &'a str, breaks_line: bool) -> u32 {
        // Ids in use are below this, so the entry is new if and only if it holds it.
        let next = self.vocabulary.words.len() as u32;
        let id = *self.ids.entry((word, breaks_line)).or_insert(next);
        if id == next {
            self.vocabulary.push(word, breaks_line);
        }
        id
    }

    /// Returns the vocabulary, ready to be spelled from.
    pub(crate) fn build(mut self) -> Vocabulary {
        // For `spell`, which copies a whole block from the start of a word, also of the last one.
        self.vocabulary.text.extend_from_slice(&[0; BLOCK_BYTES]);
        self.vocabulary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(words: &[&'static str]) -> Vocabulary {
        let mut builder = VocabularyBuilder::default();
        words
            .iter()
            .for_each(|word| builder.add(word, false, |_| {}));
        builder.build()
    }

    #[test]
    fn spellings_are_json() {
        for word in [
            "plain",
            "\"quoted\"",
            "back\\slash",
            "\u{1}\u{1f}",
            "é𝔸\u{7f}",
        ] {
            let vocabulary = vocabulary(&["first", word]);
            let json = [b"\"", vocabulary.spelling(vocabulary.words[1]), b"\""].concat();
            assert_eq!(
                serde_json::from_slice::<String>(&json).unwrap(),
                format!("{word} ")
            );
        }
    }

    #[test]
    fn overlong_words_are_cut_between_characters() {
        let word = "é".repeat(150);
        let mut builder = VocabularyBuilder::default();
        let mut n_pieces = 0;
        builder.add(&word, true, |_| n_pieces += 1);
        assert_eq!(n_pieces, 3);
        let vocabulary = builder.build();
        // 64 + 64 + 22 characters; the first two pieces are the same word.
        let gaps: Vec<_> = vocabulary.words.iter().map(|word| word.gap_len).collect();
        assert_eq!(gaps, [1, 2]);
    }

    #[test]
    fn rare_words_differ_by_rank() {
        let rare = |vocabulary: &Vocabulary, rank| {
            let mut out = Vec::new();
            vocabulary.spell_rank(rank, &mut out);
            String::from_utf8(out).unwrap()
        };
        let words = vocabulary(&["Robert", "actors", "British", "."]);
        assert_eq!(rare(&words, 0), "Robert");
        assert_eq!(rare(&words, 4), "actors");
        let distinct: HashSet<_> = (0..1000).map(|rank| rare(&words, rank)).collect();
        assert!(distinct.len() > 990, "{}", distinct.len());
        assert_eq!(rare(&vocabulary(&["."]), 17), "17");
        assert_eq!(rare(&vocabulary(&["Robert"]), u32::MAX), "Robert");
    }
}
