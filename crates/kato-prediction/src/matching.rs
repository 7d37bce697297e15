//! Comparison of sequences: matching blocks, common subsequences, similarity of
//! symbols and of texts.
//!
//! A prediction is cut into past, present and future by [`matching_blocks`]; whether it is
//! one at all is decided by its similarity, [`token_similarity`] or [`character_similarity`].
//! For any two sequences
//!
//! ```text
//! symbols of the blocks  ≤  longest common subsequence  ≤  overlap of the multisets of symbols
//! ```
//!
//! Time and memory are bounded for any input: see the functions. Formulas: KATO 3.10.1.

mod blocks;
mod fuzzy;
mod grams;
mod lcs;
mod similarity;

pub(crate) use blocks::matching_blocks_unless;
pub use blocks::{MatchingBlock, matching_blocks};
pub use fuzzy::{FuzzyMatch, fuzzy_matches};
pub(crate) use lcs::lcs_length_unless;
pub use lcs::{LcsProfile, lcs_length};
pub use similarity::{CharacterProfile, character_similarity, token_similarity};
