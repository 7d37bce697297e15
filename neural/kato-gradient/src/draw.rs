//! Makes random streams out of a seed and the place in the training that they are for.

use kato_random::SplitMix64;

/// Keeps streams apart that have the same seed and place but another purpose.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum Purpose {
    Shuffle = 1,
    BatchOrder = 2,
}

/// Returns the generator for one purpose at one place.
///
/// Every word is mixed before the next is added, so that neighbouring seeds and places share
/// nothing. What it gives is part of results and never changes.
pub(crate) fn stream(seed: u64, purpose: Purpose, place: &[u64]) -> SplitMix64 {
    let mut mixed = SplitMix64::from_seed(seed).next_u64();
    for word in std::iter::once(&(purpose as u64)).chain(place) {
        // The exclusive or is a bijection of the word, and so is the mixing: two places of one
        // seed that differ in their last word never share a stream.
        mixed = SplitMix64::from_seed(mixed ^ word).next_u64();
    }
    SplitMix64::from_seed(mixed)
}

/// Shuffles with the algorithm of Fisher and Yates, in Durstenfeld's form (CACM 7, 1964).
pub(crate) fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    // From the end: each place is drawn for once, and the order of draws never changes.
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}
