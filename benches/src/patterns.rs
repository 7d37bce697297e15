//! Patterns without text: chunks of random tokens under their names.

use std::fmt;
use std::sync::Arc;

use kato_model::naming::{LiteralTable, NameScratch, name_of_ids};
use kato_model::{LearnBatch, PatternName, SymbolTable};
use kato_tokenizer::gpt2;

/// Tokens of a pattern: a chunk of the lowest level.
pub const N_SYMBOLS: usize = 5;

/// Learn calls of which one repeats an earlier one. Real text repeats between 4 and 18 %.
const REPEAT_EVERY: u64 = 10;

/// Stream of learn calls at one node, the same in every run.
pub struct RandomPatterns {
    vocabulary: Arc<SymbolTable>,
    literals: LiteralTable,
    scratch: NameScratch,
    /// Number of the next call.
    next: u64,
    /// Names that were handed out.
    asked: u64,
}

impl fmt::Debug for RandomPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomPatterns")
            .field("next", &self.next)
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

impl Default for RandomPatterns {
    fn default() -> Self {
        let tokenizer = gpt2();
        let vocabulary = kato_tokenizer::Tokenizer::vocabulary(&tokenizer);
        let tokens = || (0..vocabulary.len() as u32).map(|id| vocabulary.get(id).unwrap_or(""));
        Self {
            vocabulary: Arc::new(tokens().collect()),
            literals: LiteralTable::new(tokens()),
            scratch: NameScratch::default(),
            next: 0,
            asked: 0,
        }
    }
}

impl RandomPatterns {
    /// Returns a batch of the next `n_calls` learn calls.
    #[must_use]
    pub fn batch(&mut self, n_calls: u64) -> LearnBatch {
        let mut batch = LearnBatch::with_vocabulary(1, Arc::clone(&self.vocabulary));
        for call in self.next..self.next + n_calls {
            let tokens = self.tokens_of(pattern_of(call));
            let name = self.name_of(&tokens);
            batch.learn_tokens(name, &tokens);
        }
        self.next += n_calls;
        batch
    }

    /// Returns names of learned patterns, in random order, others in every call.
    #[must_use]
    pub fn names(&mut self, n_names: u64) -> Vec<PatternName> {
        let drawn = self.asked..self.asked + n_names;
        self.asked = drawn.end;
        drawn
            .map(|idx| {
                let tokens = self.tokens_of(pattern_of(mix(idx, 77) % self.next.max(1)));
                self.name_of(&tokens)
            })
            .collect()
    }

    /// Returns a pattern's tokens: a function of the pattern, not of the call, so that a repeat has the
    /// same ones.
    fn tokens_of(&self, pattern: u64) -> [u32; N_SYMBOLS] {
        // The remainder fits, as the vocabulary is numbered by 32 bits.
        std::array::from_fn(|idx| (mix(pattern, idx as u64) % self.vocabulary.len() as u64) as u32)
    }

    fn name_of(&mut self, tokens: &[u32]) -> PatternName {
        name_of_ids(&self.literals, tokens, &mut self.scratch).expect("tokens of the vocabulary")
    }
}

/// Returns the pattern of a learn call, by the number of the first call that learned it.
fn pattern_of(call: u64) -> u64 {
    match call % REPEAT_EVERY {
        // Any call before this one that is no repeat itself, so that one step leads to the pattern.
        0 if call > 0 => match mix(call, 78) % call {
            earlier if earlier % REPEAT_EVERY == 0 => earlier + 1,
            earlier => earlier,
        },
        _ => call,
    }
}

/// Hashes two numbers to one: the finalizer of SplitMix64.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(b.wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_calls_repeats_and_every_name_was_learned() {
        let mut patterns = RandomPatterns::default();
        let sealed = patterns.batch(20_000).seal();
        let node = sealed.node(0);
        assert!((18_000..=18_001).contains(&node.len()), "{}", node.len());
        let learned: std::collections::HashSet<_> =
            node.patterns().map(|pattern| pattern.name).collect();
        let (first, second) = (patterns.names(1_000), patterns.names(1_000));
        assert_ne!(first, second);
        let mut asked = first.iter().chain(&second);
        assert!(asked.all(|name| learned.contains(name)));
    }
}
