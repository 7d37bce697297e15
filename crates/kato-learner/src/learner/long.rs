//! Learns a long document level by level in blocks, so that no plan of the whole document is kept
//! beside it.
//!
//! The tokens of all of it are found before anything is counted: what cannot be tokenized leaves the
//! batch as it was. From then on nothing can fail, and each name goes up as soon as it is known.
//! What is learned is the same as by a plan.

use kato_model::batch::{BatchSymbol, Occurrence};
use kato_model::naming::{NameScratch, name_of_ids, name_of_names};
use kato_model::{FirstSeen, LearnBatch, PatternName};

use super::counting::metadata_attributes;
use super::planning::check_length;
use super::timing::NodeTimes;
use super::{HierarchicalConceptLearner, LearnScratch, TextDocument};
use crate::plan::{DocumentPlan, place};
use crate::{LearnError, TailPolicy};

/// Bytes of text from which on a document is long.
pub(super) const LONG_TEXT: usize = 1 << 20;

/// Tokens of a block, but for those of its last passage: one that grew with the document would be
/// copied again and again.
const BLOCK_TOKENS: usize = if cfg!(test) { 64 } else { 1 << 18 };

/// Learn calls of the lowest level after which names go up.
const CALLS_AT_ONCE: usize = 4096;

/// The tokens of some passages, and where the chunks of the lowest level end among them.
#[derive(Debug)]
struct Block {
    tokens: Vec<u32>,
    ends: Vec<u32>,
}

/// A level while a document is learned: the names from below that wait for their chunk.
#[derive(Debug, Default)]
struct Level {
    names: Vec<PatternName>,
    symbols: Vec<Symbol>,
    first_tokens: Vec<u32>,
    n_calls: u64,
}

/// A symbol of a learn call above the lowest level.
#[derive(Debug, Clone, Copy)]
enum Symbol {
    /// A pattern of the level below.
    Below(Occurrence),
    /// A pattern from further down.
    Promoted(PatternName),
}

/// A learn call that was made.
struct Call {
    name: PatternName,
    occurrence: Occurrence,
    first_token: u32,
}

impl Level {
    /// Adds a name from below.
    fn push(&mut self, name: PatternName, symbol: Symbol, first_token: u32) {
        self.names.push(name);
        self.symbols.push(symbol);
        self.first_tokens.push(first_token);
    }

    /// Forgets the first names, which have their chunks.
    fn forget(&mut self, n_names: usize) {
        self.names.drain(..n_names);
        self.symbols.drain(..n_names);
        self.first_tokens.drain(..n_names);
    }
}

impl HierarchicalConceptLearner {
    /// Returns whether a document is learned in blocks.
    pub(super) fn is_long(&self, text: &str) -> bool {
        // The original's oddity of chunks of one name, from which nothing is learned, is left to
        // the plan.
        text.len() >= LONG_TEXT && self.config.nodes.iter().all(|node| node.chunk_size > 1)
    }

    /// Learns a document in blocks, as a call of its own.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; then the batch is as before.
    pub(super) fn learn_long(
        &self,
        document: &TextDocument<'_>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        self.begin_call(scratch);
        let LearnScratch {
            plan, names, times, ..
        } = scratch;
        let n_nodes = self.config.nodes.len();
        plan.clear(n_nodes);
        times.begin(n_nodes);
        times.run(Some(0));
        let (blocks, n_tokens) = self.blocks(document.text, plan, names)?;
        if self.config.recording.provenance {
            batch.record_document(document.document_idx, document.id);
        }
        let mut learning = Learning {
            learner: self,
            document,
            batch,
            names,
            times,
            levels: (0..n_nodes).map(|_| Level::default()).collect(),
            n_before: 0,
        };
        // Each block is dropped when it is counted: what is learned grows meanwhile.
        for block in blocks {
            learning.learn_block(&block)?;
        }
        plan.dropped.single_name_tails += learning.learn_tails();
        times.run(None);
        plan.count_only(n_tokens);
        Ok(())
    }

    /// Finds the tokens of a text, in blocks; returns how many they are as well.
    fn blocks(
        &self,
        text: &str,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(Vec<Block>, usize), LearnError> {
        let mut blocks = Vec::new();
        let mut n_tokens = 0;
        plan.is_unnamed = true;
        self.plan_lowest(text, plan, names, |plan, runs| {
            if plan.tokens.len() >= BLOCK_TOKENS {
                // What may still be joined with the next passage stays.
                let rest = runs.take_open(plan);
                blocks.push(take_block(plan, &mut n_tokens)?);
                plan.tokens = rest;
            }
            Ok(())
        })?;
        blocks.push(take_block(plan, &mut n_tokens)?);
        Ok((blocks, n_tokens))
    }
}

/// A document while it is learned, and where to.
struct Learning<'a, 'd> {
    learner: &'a HierarchicalConceptLearner,
    document: &'a TextDocument<'d>,
    batch: &'a mut LearnBatch,
    names: &'a mut NameScratch,
    times: &'a mut NodeTimes,
    levels: Vec<Level>,
    /// Tokens of the blocks that were learned.
    n_before: u32,
}

impl Learning<'_, '_> {
    /// Learns the next block, and above it all chunks that are full.
    fn learn_block(&mut self, block: &Block) -> Result<(), LearnError> {
        let Block { tokens, ends } = block;
        let mut start = 0;
        for ends in ends.chunks(CALLS_AT_ONCE) {
            self.times.run(Some(0));
            for &end in ends {
                let tokens = &tokens[start as usize..end as usize];
                let name = name_of_ids(&self.learner.literals, tokens, self.names)
                    .map_err(|unknown| self.learner.unknown(unknown.id))?;
                let occurrence = self.batch.learn_tokens(name, tokens);
                let call = Call {
                    name,
                    occurrence,
                    first_token: self.n_before + start,
                };
                self.note(0, &call);
                start = end;
            }
            for node_idx in 1..self.levels.len() {
                self.times.run(Some(node_idx));
                self.learn_full_chunks(node_idx);
            }
        }
        self.n_before += place(tokens.len());
        Ok(())
    }

    /// Learns what is left at the end of the document; returns how many single names are dropped.
    fn learn_tails(&mut self) -> u64 {
        let n_nodes = self.levels.len();
        let mut promoted = None;
        let mut n_dropped = 0;
        for node_idx in 1..n_nodes {
            self.times.run(Some(node_idx));
            if let Some((name, first_token)) = promoted.take() {
                self.levels[node_idx].push(name, Symbol::Promoted(name), first_token);
            }
            self.learn_full_chunks(node_idx);
            let n_left = self.levels[node_idx].names.len();
            if n_left > 1 {
                self.learn_chunk(node_idx, 0, n_left);
            } else if n_left == 1 {
                let level = &self.levels[node_idx];
                let is_top = node_idx + 1 == n_nodes;
                match self.learner.config.tail_policy {
                    TailPolicy::Promote if !is_top => {
                        promoted = Some((level.names[0], level.first_tokens[0]));
                    }
                    // It would wait for the next document of the call, of which there is none.
                    TailPolicy::Carry => {}
                    TailPolicy::Drop | TailPolicy::Promote => n_dropped += 1,
                }
            }
        }
        n_dropped
    }

    /// Makes the learn calls of all chunks of a level that are full.
    fn learn_full_chunks(&mut self, node_idx: usize) {
        let size = self.learner.config.nodes[node_idx].chunk_size;
        let n_full = self.levels[node_idx].names.len() / size;
        for number in 0..n_full {
            self.learn_chunk(node_idx, number * size, size);
        }
        self.levels[node_idx].forget(n_full * size);
    }

    /// Makes the learn call of one chunk of a level above the lowest.
    fn learn_chunk(&mut self, node_idx: usize, start: usize, n_names: usize) {
        let level = &self.levels[node_idx];
        let chunk = start..start + n_names;
        let name = name_of_names(&level.names[chunk.clone()], self.names);
        let first_token = level.first_tokens[start];
        let symbols = &level.symbols[chunk];
        // Literals are added to the batch before it is borrowed for learning.
        let promoted = symbols.iter().find_map(|symbol| match symbol {
            Symbol::Promoted(name) => Some(self.batch.literal(&name.prefixed().to_string())),
            Symbol::Below(_) => None,
        });
        let symbols = symbols.iter().filter_map(|symbol| match symbol {
            Symbol::Below(occurrence) => Some(BatchSymbol::Child(*occurrence)),
            Symbol::Promoted(_) => promoted.map(BatchSymbol::Literal),
        });
        let occurrence = self.batch.learn(node_idx, name, symbols);
        let call = Call {
            name,
            occurrence,
            first_token,
        };
        self.note(node_idx, &call);
    }

    /// Records where a learn call was made, and hands its name up.
    fn note(&mut self, node_idx: usize, call: &Call) {
        let recording = &self.learner.config.recording;
        if recording.provenance {
            let seen = FirstSeen {
                document_idx: self.document.document_idx,
                token_idx: u64::from(call.first_token),
            };
            self.batch
                .record_first_seen(node_idx, call.occurrence, seen);
        }
        let level = &mut self.levels[node_idx];
        // As by a plan, the first call of each level carries the document's metadata.
        if recording.metadata && level.n_calls == 0 {
            let attributes = metadata_attributes(self.document.metadata);
            self.batch.attach(node_idx, call.occurrence, attributes);
        }
        level.n_calls += 1;
        if let Some(above) = self.levels.get_mut(node_idx + 1) {
            above.push(call.name, Symbol::Below(call.occurrence), call.first_token);
        }
    }
}

/// Takes the tokens and chunks that were found since the last block.
fn take_block(plan: &mut DocumentPlan, n_tokens: &mut usize) -> Result<Block, LearnError> {
    let tokens = std::mem::take(&mut plan.tokens);
    *n_tokens += tokens.len();
    // The next block grows in memory that has about the right size, and not from nothing.
    plan.tokens
        .reserve(tokens.len().min(BLOCK_TOKENS + BLOCK_TOKENS / 4));
    check_length(*n_tokens)?;
    Ok(Block {
        tokens,
        ends: std::mem::take(&mut plan.nodes[0].ends),
    })
}

#[cfg(test)]
mod tests {
    use kato_tokenizer::Whitespace;

    use super::*;
    use crate::config::Recording;

    /// Texts whose levels end in every way: with a whole chunk, with a part of one, with a single
    /// name.
    fn texts() -> Vec<String> {
        let words = ["a", "b", "c", "d", "e", "f", "g"];
        let text = |n_words: usize| {
            let words = (0..n_words).map(|at| words[(at * at + at / 3) % words.len()]);
            words.collect::<Vec<_>>().join(" ")
        };
        let mut texts: Vec<String> = (0..140).map(text).collect();
        texts.push((0..30).map(|n| text(n) + "\n\n").collect());
        // Several blocks of the lowest level.
        texts.push((0..600).map(|n| text(n % 97) + "\n\n").collect());
        texts
    }

    /// All that a store would be given.
    fn content(batch: LearnBatch) -> Vec<String> {
        let sealed = batch.seal();
        let mut content = vec![format!("{:?}", sealed.documents())];
        for node_idx in 0..sealed.n_nodes() {
            let node = sealed.node(node_idx);
            content.push(format!("{:?}", node.dictionary().collect::<Vec<_>>()));
            for pattern in node.patterns() {
                let symbols: Vec<_> = pattern.symbols().collect();
                content.push(format!(
                    "{} {} {symbols:?} {:?} {:?}",
                    pattern.name, pattern.frequency, pattern.attributes, pattern.first_seen
                ));
            }
        }
        content
    }

    #[test]
    fn a_document_in_blocks_is_learned_as_by_its_plan() {
        for tail in [TailPolicy::Drop, TailPolicy::Promote, TailPolicy::Carry] {
            for provenance in [false, true] {
                let recording = Recording {
                    provenance,
                    metadata: provenance,
                };
                let words = Whitespace::from_texts(["a b c d e f g"]);
                let learner = HierarchicalConceptLearner::builder(words)
                    .with_chunk_sizes([3, 2, 4, 2])
                    .with_tail_policy(tail)
                    .with_recording(recording)
                    .with_min_paragraph_chars(0)
                    .build()
                    .unwrap();
                for text in texts() {
                    let document = TextDocument {
                        document_idx: 7,
                        id: "id",
                        text: &text,
                        metadata: &[("title", "t")],
                    };
                    let (mut planned, mut blocks) = (learner.new_batch(), learner.new_batch());
                    let (mut one, mut other) = (learner.new_scratch(), learner.new_scratch());
                    learner.learn(document, &mut planned, &mut one).unwrap();
                    learner
                        .learn_long(&document, &mut blocks, &mut other)
                        .unwrap();
                    assert_eq!(one.plan().n_tokens(), other.plan().n_tokens());
                    assert_eq!(one.plan().dropped(), other.plan().dropped(), "{text}");
                    assert_eq!(content(blocks), content(planned), "{text}");
                }
            }
        }
    }

    #[test]
    fn an_id_without_a_token_leaves_the_batch_as_it_was() {
        let words = Whitespace::from_texts(["a b c"]);
        let learner = HierarchicalConceptLearner::builder(words)
            .with_chunk_sizes([2, 2])
            .with_min_paragraph_chars(0)
            .build()
            .unwrap();
        let mut batch = learner.new_batch();
        let mut scratch = learner.new_scratch();
        let document = TextDocument::from("a b c a b c\n\na unknown words");
        assert!(
            learner
                .learn_long(&document, &mut batch, &mut scratch)
                .is_err()
        );
        assert_eq!(batch.learns(0), 0);
        assert!(!learner.is_long("short") && learner.is_long(&"a ".repeat(LONG_TEXT / 2)));
    }
}
