//! The word model of a sample: which words follow which, how paragraphs begin and how long they
//! are.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::SplitMix64;

use super::error::CorpusError;
use super::rng::{below, scale};
use super::vocabulary::{Class, Vocabulary, VocabularyBuilder, Word};

/// Bytes of a sample that are used; what comes after them is not read, which bounds the memory.
pub const MAX_SAMPLE_BYTES: u64 = 64 << 20;

/// Odds, of 65,536, that a word is followed by any word of the sample, not by one that followed it
/// there.
const JUMP_ODDS: u64 = 655;
/// Odds, of 65,536, that a word of letters is replaced by a rare one.
const RARE_ODDS: u64 = 1_311;
/// Rare words have ranks below 2 to this power; each power of two is equally likely, which is
/// Zipf's law with exponent 1.
const RARE_RANK_BITS: u32 = 32;

/// The word statistics of a sample; made by [`read`](Self::read) or
/// [`from_text`](Self::from_text).
#[derive(Debug)]
pub struct CorpusModel {
    vocabulary: Vocabulary,
    /// For every word the words that followed it, as often as they did, grouped by the first word.
    /// As a whole: every word of the sample, as often as it occurs.
    followers: Vec<u32>,
    /// First words of the paragraphs.
    openings: Vec<u32>,
    /// Words in the paragraphs, same order.
    lengths: Vec<u32>,
}

impl CorpusModel {
    /// Builds the model of the first [`MAX_SAMPLE_BYTES`] of a text file; bytes that are no UTF-8
    /// become U+FFFD.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Read`] when the file cannot be read, [`CorpusError::Empty`] when it has no
    /// words.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CorpusError> {
        let path = path.as_ref();
        let text = read_sample(path).map_err(|source| CorpusError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_sample(&String::from_utf8_lossy(&text))
    }

    /// Builds the model of a text, of which the first [`MAX_SAMPLE_BYTES`] are used.
    ///
    /// Words are what stands between white space, and paragraphs are separated by blank lines.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Empty`] when the text has no words.
    pub fn from_text(text: &str) -> Result<Self, CorpusError> {
        Self::from_sample(beginning(text, MAX_SAMPLE_BYTES))
    }

    /// Builds the model of a text that is short enough for 32-bit numbers.
    fn from_sample(text: &str) -> Result<Self, CorpusError> {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.read_line(line);
        }
        reader.end_paragraph();
        if reader.words.is_empty() {
            return Err(CorpusError::Empty);
        }
        let mut vocabulary = reader.builder.build();
        let followers = group_followers(&reader.words, &mut vocabulary.words);
        Ok(Self {
            vocabulary,
            followers,
            openings: reader.openings,
            lengths: reader.lengths,
        })
    }

    /// Appends one document's text to `out`, escaped for a JSON string, until it adds `n_bytes` or
    /// a word more.
    pub(crate) fn write_document(
        &self,
        random: &mut SplitMix64,
        n_bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let limit = out.len() + n_bytes;
        loop {
            self.write_paragraph(random, limit, out);
            if out.len() >= limit {
                return;
            }
            out.extend_from_slice(b"\\n\\n");
        }
    }

    /// Appends a paragraph of a length that the sample has, or up to a quarter more if that ends it
    /// with a sentence.
    ///
    /// It ends early when `out` reaches `limit`.
    fn write_paragraph(&self, random: &mut SplitMix64, limit: usize, out: &mut Vec<u8>) {
        // A draw of whole lengths, not of a mean, so that the paragraphs of the corpus are as
        // uneven as those of the sample.
        let n_words = pick(&self.lengths, random.next_u64() as u32);
        let n_most = n_words + n_words / 4;
        let mut word = self.word(&self.openings, random.next_u64() as u32);
        for i in 1.. {
            // Each choice of this step takes bits of its own, so the choices are independent: 16
            // for a rare word, 16 for a jump, 32 for the word that follows.
            let bits = random.next_u64();
            if word.class == Class::Plain && bits & 0xffff < RARE_ODDS {
                self.vocabulary.spell_rare(rare_rank(random), word, out);
            } else {
                self.vocabulary.spell(word, out);
            }
            let may_end = i >= n_words && word.class == Class::SentenceEnd;
            if may_end || i >= n_most || out.len() >= limit {
                // Every spelling ends with its gap, also that of a rare word, which takes the gap
                // of the word in whose place it stands. A paragraph ends without one.
                out.truncate(out.len() - usize::from(word.gap_len));
                return;
            }
            // Without jumps every pair of neighbours would be one of the sample.
            let followers = if (bits >> 16) & 0xffff < JUMP_ODDS {
                self.followers.as_slice()
            } else {
                // Never empty: the sample is taken as a ring, so every word has a follower.
                self.group(word)
            };
            word = self.word(followers, (bits >> 32) as u32);
        }
    }

    /// Returns the words that followed `word` in the sample.
    fn group(&self, word: Word) -> &[u32] {
        let start = word.group_start as usize;
        &self.followers[start..start + word.group_len as usize]
    }

    /// Returns the word of an id chosen from a list.
    fn word(&self, ids: &[u32], bits: u32) -> Word {
        self.vocabulary.words[pick(ids, bits) as usize]
    }
}

/// Returns one item of a list that is not empty, chosen by 32 uniform bits.
fn pick(items: &[u32], bits: u32) -> u32 {
    items[scale(bits, items.len() as u32) as usize]
}

/// Draws a rank with density 1/rank, by integers alone, because floating-point logarithms differ
/// between platforms.
fn rare_rank(random: &mut SplitMix64) -> u32 {
    // A uniform power of two with uniform bits below it: the chance of a rank halves from each
    // power to the next, as 1/rank does.
    let power = below(random, RARE_RANK_BITS);
    (1 << power) | (random.next_u64() as u32 & ((1 << power) - 1))
}

/// Reads the beginning of a file, up to [`MAX_SAMPLE_BYTES`].
fn read_sample(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?
        .take(MAX_SAMPLE_BYTES)
        .read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the beginning of a text, of at most so many bytes.
fn beginning(text: &str, most: u64) -> &str {
    // A machine whose addresses are shorter has no text that is longer.
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    &text[..text.floor_char_boundary(most)]
}

/// Collects the words behind the occurrences of every word, grouped by it.
///
/// The sample's last word is followed by its first.
fn group_followers(sample: &[u32], words: &mut [Word]) -> Vec<u32> {
    // A counting sort: sizes of the groups, their starts, then every follower in its place. The
    // groups lie in one list, which is also the list for jumps.
    for &id in sample {
        words[id as usize].group_len += 1;
    }
    let mut start = 0;
    for word in words.iter_mut() {
        word.group_start = start;
        start += word.group_len;
    }
    let mut free: Vec<u32> = words.iter().map(|word| word.group_start).collect();
    let mut followers = vec![0; sample.len()];
    for (i, &id) in sample.iter().enumerate() {
        let slot = &mut free[id as usize];
        // The ring closes here: without a follower of the last word the chain could come to a dead
        // end.
        followers[*slot as usize] = sample[(i + 1) % sample.len()];
        *slot += 1;
    }
    followers
}

/// A reader that collects a sample line by line.
#[derive(Debug, Default)]
struct Reader<'a> {
    builder: VocabularyBuilder<'a>,
    words: Vec<u32>,
    openings: Vec<u32>,
    lengths: Vec<u32>,
    /// Words read before the current paragraph.
    n_before: usize,
    /// The last word read: what follows it decides whether it ends a line inside a paragraph.
    held: Option<&'a str>,
}

impl<'a> Reader<'a> {
    /// Reads a line; a blank one ends the paragraph.
    fn read_line(&mut self, line: &'a str) {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else {
            self.end_paragraph();
            return;
        };
        // The line begins with a word, so the held word, if any, ended a line within the paragraph.
        self.release(true);
        self.held = Some(first);
        for word in words {
            self.release(false);
            self.held = Some(word);
        }
    }

    /// Ends the current paragraph, unless it has no words.
    fn end_paragraph(&mut self) {
        self.release(false);
        if let Some(&opening) = self.words.get(self.n_before) {
            self.openings.push(opening);
            self.lengths.push((self.words.len() - self.n_before) as u32);
            self.n_before = self.words.len();
        }
    }

    /// Adds the held word, with what follows it, to the vocabulary and to the sample.
    fn release(&mut self, breaks_line: bool) {
        if let Some(word) = self.held.take() {
            self.builder
                .add(word, breaks_line, |id| self.words.push(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_ends_between_characters() {
        for (most, expected) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (9, "aéb")] {
            assert_eq!(beginning("aéb", most), expected);
        }
    }

    #[test]
    fn followers_are_those_of_the_text() {
        let model = CorpusModel::from_text("a b a c\n \n\nb\nd").unwrap();
        let words = &model.vocabulary.words;
        let spelling =
            |&id: &u32| str::from_utf8(model.vocabulary.spelling(words[id as usize])).unwrap();
        let after = |id: usize| {
            model
                .group(words[id])
                .iter()
                .map(spelling)
                .collect::<Vec<_>>()
        };
        // Ids in order of appearance: a, b, c, b before a line break, d.
        assert_eq!(after(0), ["b ", "c "]);
        assert_eq!(after(1), ["a "]);
        assert_eq!(after(2), ["b\\n"]);
        assert_eq!(after(3), ["d "]);
        assert_eq!(after(4), ["a "]);
        assert_eq!(model.openings, [0, 3]);
        assert_eq!(model.lengths, [4, 2]);
    }

    #[test]
    fn a_text_without_words_is_refused() {
        for text in ["", " \n\n\t"] {
            assert!(matches!(
                CorpusModel::from_text(text),
                Err(CorpusError::Empty)
            ));
        }
    }

    #[test]
    fn a_missing_sample_is_named() {
        let error = CorpusModel::read(Path::new("no/such/sample")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the sample no/such/sample: name a readable text file"
        );
    }

    #[test]
    fn rare_ranks_are_spread_over_the_powers_of_two() {
        let mut random = SplitMix64::from_seed(1);
        let mut n_per_power = [0; RARE_RANK_BITS as usize];
        for _ in 0..32_000 {
            n_per_power[rare_rank(&mut random).ilog2() as usize] += 1;
        }
        assert!(
            n_per_power.iter().all(|n| (800..1200).contains(n)),
            "{n_per_power:?}"
        );
    }
}
