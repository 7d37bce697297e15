//! Cuts poems into chunks of one length at most.

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;

/// How poems are cut into chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ChunkOptions {
    /// Tokens of a chunk at most; 50 by default.
    pub window: usize,
    /// Tokens that a chunk has in common with the one before it; 10 by default.
    pub overlap: usize,
    /// Tokens of a poem at least, 5 by default; shorter ones are left out and counted.
    pub min_tokens: usize,
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self {
            window: 50,
            overlap: 10,
            min_tokens: 5,
        }
    }
}

impl ChunkOptions {
    /// Checks that chunks can be cut so.
    ///
    /// # Errors
    ///
    /// When the window is 0 or above 10,000, or the overlap is no smaller.
    pub fn check(&self) -> Result<(), PoetryError> {
        check_setting(
            (1..=10_000).contains(&self.window),
            "chunks.window",
            &self.window,
            "from 1 to 10,000 tokens",
        )?;
        check_setting(
            self.overlap < self.window,
            "chunks.overlap",
            &self.overlap,
            "smaller than `chunks.window`",
        )?;
        Ok(())
    }

    /// Returns where the chunks of a poem of so many tokens begin: every `window − overlap` tokens,
    /// until one reaches the end. None for a poem that is too short.
    ///
    /// Every chunk but the first has more than `overlap` tokens of its own poem, so that none holds
    /// only what the one before it held.
    pub fn starts(&self, n_tokens: usize) -> impl Iterator<Item = usize> + use<> {
        let step = self.window.saturating_sub(self.overlap).max(1);
        // A chunk that begins at the overlap's length before the end or later would hold nothing new.
        let end = n_tokens.saturating_sub(self.overlap).max(1);
        let is_long_enough = n_tokens >= self.min_tokens.max(1);
        (0..if is_long_enough { end } else { 0 }).step_by(step)
    }
}

/// A part of a poem that is encoded as one vector.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Position of its poem among the poems.
    pub poem: usize,
    /// Position of its first token in the poem.
    pub start: usize,
    /// The numbers of its tokens, at most a window of them.
    pub ids: Vec<u32>,
}

/// Cuts a poem, given as the numbers of its tokens.
///
/// ```
/// use kato_poetry::chunks::{ChunkOptions, chunks_of};
///
/// let ids: Vec<u32> = (0..95).collect();
/// let chunks = chunks_of(7, &ids, &ChunkOptions::default());
/// let parts: Vec<_> = chunks.iter().map(|chunk| (chunk.start, chunk.ids.len())).collect();
/// assert_eq!(parts, [(0, 50), (40, 50), (80, 15)]);
/// assert!(chunks_of(7, &ids[..4], &ChunkOptions::default()).is_empty());
/// ```
#[must_use]
pub fn chunks_of(poem: usize, ids: &[u32], options: &ChunkOptions) -> Vec<Chunk> {
    let cut = |start: usize| Chunk {
        poem,
        start,
        ids: ids[start..ids.len().min(start + options.window)].to_vec(),
    };
    options.starts(ids.len()).map(cut).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunks_cover_a_poem_with_the_overlap_asked_for(
            n_tokens in 0_usize..400,
            window in 1_usize..60,
            overlap in 0_usize..60,
            min_tokens in 0_usize..20,
        ) {
            let options = ChunkOptions { window, overlap, min_tokens };
            prop_assert_eq!(options.check().is_ok(), overlap < window);
            prop_assume!(overlap < window);
            let ids: Vec<u32> = (0..n_tokens as u32).collect();
            let chunks = chunks_of(0, &ids, &options);
            prop_assert_eq!(chunks.is_empty(), n_tokens < min_tokens.max(1));
            let mut covered = 0;
            for (index, chunk) in chunks.iter().enumerate() {
                prop_assert_eq!(&chunk.ids[..], &ids[chunk.start..chunk.start + chunk.ids.len()]);
                prop_assert!(chunk.ids.len() <= window);
                if index > 0 {
                    prop_assert_eq!(covered - chunk.start, overlap);
                    prop_assert!(chunk.ids.len() > overlap, "nothing new");
                }
                covered = chunk.start + chunk.ids.len();
            }
            prop_assert!(chunks.is_empty() || covered == n_tokens);
        }
    }

    #[test]
    fn impossible_settings_are_named() {
        let error = |window, overlap| {
            let options = ChunkOptions {
                window,
                overlap,
                min_tokens: 5,
            };
            options.check().unwrap_err().to_string()
        };
        assert!(error(0, 0).contains("`chunks.window` is 0"));
        assert!(error(10, 10).contains("`chunks.overlap` is 10"));
    }
}
