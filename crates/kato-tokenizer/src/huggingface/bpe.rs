//! Byte-level BPE without hashes standing in for words: slower than the engine, and exact.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use tokenizers::pipeline::{PipelineTokenizer, PreTokenizer, PreTokenizerScratch, Segment, Span};
use tokenizers::pipeline::{SpecialSegmentIterator, normalize_all};

/// Merges by the ids of the two parts: the rank, lower first, and the id that they become.
pub(super) type Merges = HashMap<(u32, u32), (u32, u32), RandomState>;

/// The merge rules of a byte-level model.
pub(super) struct Bpe {
    /// The id of each single byte.
    pub(super) bytes: [Option<u32>; 256],
    pub(super) merges: Merges,
    /// Words that are taken whole although no merges lead to them, in models that ask for it.
    pub(super) whole: HashMap<Vec<u8>, u32, RandomState>,
}

impl Bpe {
    /// Encodes `text` as the engine does, step for step, except for the words themselves.
    pub(super) fn encode_into(
        &self,
        pipeline: &PipelineTokenizer,
        text: &str,
        ids: &mut Vec<u32>,
    ) -> tokenizers::Result<()> {
        let added = pipeline.get_added_vocabulary();
        let (mut spans, mut scratch) = (Vec::new(), PreTokenizerScratch::default());
        // Added tokens are cut out twice: here those that are defined for the text as written, and
        // below those that are defined for normalized text.
        for raw in SpecialSegmentIterator::new(text, added, false, false) {
            let (raw, offset) = match raw {
                Segment::SpecialToken(id) => {
                    ids.push(id);
                    continue;
                }
                Segment::Text { text, input_offset } => (text, input_offset),
            };
            let normalized = normalize_all(pipeline.get_normalizers(), raw, offset)?;
            for segment in SpecialSegmentIterator::new(&normalized, added, true, false) {
                match segment {
                    Segment::SpecialToken(id) => ids.push(id),
                    Segment::Text { text, .. } => {
                        self.words(pipeline, text, &mut spans, &mut scratch, ids)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the ids of the words into which the engine's pre-tokenizer splits a text.
    fn words(
        &self,
        pipeline: &PipelineTokenizer,
        text: &str,
        spans: &mut Vec<Span>,
        scratch: &mut PreTokenizerScratch,
        ids: &mut Vec<u32>,
    ) -> tokenizers::Result<()> {
        if u32::try_from(text.len()).is_err() {
            return Err("a text of more than 4 GiB cannot be tokenized at once".into());
        }
        spans.clear();
        pipeline
            .get_pre_tokenizer()
            .pre_tokenize(text, scratch, spans)?;
        for span in spans {
            self.word(&text.as_bytes()[span.range()], ids)?;
        }
        Ok(())
    }

    /// Appends the ids of one word: the lowest rank is merged first, the leftmost of equals.
    ///
    /// Complexity: O(n log n).
    fn word(&self, word: &[u8], ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        if let Some(&id) = self.whole.get(word) {
            ids.push(id);
            return Ok(());
        }
        let mut parts = Vec::with_capacity(word.len());
        for (at, &byte) in word.iter().enumerate() {
            let id = self.bytes[usize::from(byte)].ok_or("a byte of the text has no token")?;
            parts.push(Part {
                id,
                before: at.checked_sub(1),
                after: at + 1,
                alive: true,
            });
        }
        // By rank, then by position. Entries are never removed when a merge makes them stale; they
        // are recognised when they are taken.
        let mut queue = BinaryHeap::new();
        for left in 0..parts.len() {
            self.consider(&parts, left, &mut queue);
        }
        while let Some(Reverse((_, left, pair, merged))) = queue.pop() {
            let right = parts[left].after;
            let current = parts[left]
                .alive
                .then(|| Some((parts[left].id, parts.get(right)?.id)))
                .flatten();
            if current != Some(pair) {
                continue; // one of the two was merged with another neighbour meanwhile
            }
            parts[right].alive = false;
            parts[left] = Part {
                id: merged,
                after: parts[right].after,
                ..parts[left]
            };
            let after = parts[left].after;
            if let Some(next) = parts.get_mut(after) {
                next.before = Some(left);
            }
            // The new part has new pairs with both of its neighbours.
            self.consider(&parts, left, &mut queue);
            if let Some(before) = parts[left].before {
                self.consider(&parts, before, &mut queue);
            }
        }
        ids.extend(parts.iter().filter(|part| part.alive).map(|part| part.id));
        Ok(())
    }

    /// Queues the merge of the part at `left` with the one after it, if there is such a rule.
    fn consider(&self, parts: &[Part], left: usize, queue: &mut BinaryHeap<Candidate>) {
        let Some(right) = parts.get(parts[left].after) else {
            return;
        };
        let pair = (parts[left].id, right.id);
        if let Some(&(rank, merged)) = self.merges.get(&pair) {
            queue.push(Reverse((rank, left, pair, merged)));
        }
    }
}

/// A possible merge: rank, position of the left part, the two ids, and the id that they become.
type Candidate = Reverse<(u32, usize, (u32, u32), u32)>;

/// A run of bytes with an id, in a list linked by position.
#[derive(Clone, Copy)]
struct Part {
    id: u32,
    before: Option<usize>,
    after: usize,
    alive: bool,
}
