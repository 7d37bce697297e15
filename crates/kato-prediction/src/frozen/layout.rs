//! The columns of a node's index, and what has to be known to read them.

pub use kato_columns::LayoutError;
use serde::{Deserialize, Serialize};

use crate::SymbolId;
use crate::page_class::{LengthClass, PageClass};

/// The byte of the column of frequencies that stands for a frequency in the table of large ones.
pub const LARGE_FREQUENCY: u8 = u8::MAX;

/// A column of a node's index. Numbers are little-endian.
///
/// Columns named `…Starts` are *offsets*: one more than there are things; a thing ends where the next begins.
/// They and the columns of keys and followers are [packed](super::numbers::BLOCK_NUMBERS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Column {
    /// By rank: the 20 bytes of the name; ascending.
    Names,
    /// By rank: where the pattern's symbols begin, in symbols.
    SymbolStarts,
    /// The numbers of the symbols, [`NodeLayout::symbol_bytes`] each.
    Symbols,
    /// By rank: the frequency in a byte, [`LARGE_FREQUENCY`] for those in the table of large ones.
    Frequencies,
    /// The ranks with a large frequency, ascending.
    LargeRanks,
    /// Their frequencies, 8 bytes each.
    LargeFrequencies,
    /// The ranks of patterns with an event of other than one symbol, ascending.
    EventRanks,
    /// Where their lengths begin, in lengths.
    EventStarts,
    /// Numbers of symbols of events.
    EventLengths,
    /// Where the texts begin, in bytes.
    TextStarts,
    /// The texts, UTF-8, ascending.
    Texts,
    /// By text: the number of patterns that hold it (4 bytes) and its occurrences over all learns
    /// (8 bytes).
    TextCounts,
    /// The ranks of patterns of the indexes that this one adds to which were learned again, ascending.
    LearnedRanks,
    /// The learns of those that this index adds, 8 bytes each.
    LearnedFrequencies,
    /// The places of texts of the indexes that this one adds to which it counts as well, ascending.
    LowerTexts,
    /// What it adds to the counts of those, as in [`TextCounts`](Self::TextCounts).
    LowerTextCounts,
    /// For each class, the numbers of the symbols that patterns of the class hold, ascending.
    HeldKeys,
    /// Where their lists begin, in bytes.
    HeldStarts,
    /// By class and symbol: the ranks of the patterns that hold it, ascending and packed; in the lowest node
    /// with the [signature](super::SignatureShape) of each, if its class has some.
    HeldLists,
    /// For each class, the numbers of the symbols that patterns of the class begin with and that more than
    /// [`LONGEST_UNSIGNED_LIST`](super::LONGEST_UNSIGNED_LIST) of them hold, ascending.
    FirstKeys,
    /// Where their lists begin, in bytes.
    FirstStarts,
    /// By class and symbol: the ranks of the patterns that begin with it, ascending and packed.
    FirstLists,
    /// For each class, the numbers of the symbols of which followers are listed, ascending.
    PairKeys,
    /// Where their followers begin, in followers.
    PairKeyStarts,
    /// By class and symbol: the numbers of the symbols that follow it and whose pairs are listed, ascending.
    PairFollowers,
    /// By follower: where the lists begin, in bytes.
    PairStarts,
    /// By class, symbol and follower: the ranks of the patterns in which the two are neighbours,
    /// ascending and packed, with the [signature](super::SignatureShape) of each, if their class has some.
    PairLists,
}

impl Column {
    /// All columns.
    pub const ALL: [Self; 27] = [
        Self::Names,
        Self::SymbolStarts,
        Self::Symbols,
        Self::Frequencies,
        Self::LargeRanks,
        Self::LargeFrequencies,
        Self::EventRanks,
        Self::EventStarts,
        Self::EventLengths,
        Self::TextStarts,
        Self::Texts,
        Self::TextCounts,
        Self::LearnedRanks,
        Self::LearnedFrequencies,
        Self::LowerTexts,
        Self::LowerTextCounts,
        Self::HeldKeys,
        Self::HeldStarts,
        Self::HeldLists,
        Self::FirstKeys,
        Self::FirstStarts,
        Self::FirstLists,
        Self::PairKeys,
        Self::PairKeyStarts,
        Self::PairFollowers,
        Self::PairStarts,
        Self::PairLists,
    ];

    /// Returns the name, as files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::SymbolStarts => "symbol_starts",
            Self::Symbols => "symbols",
            Self::Frequencies => "frequencies",
            Self::LargeRanks => "large_ranks",
            Self::LargeFrequencies => "large_frequencies",
            Self::EventRanks => "event_ranks",
            Self::EventStarts => "event_starts",
            Self::EventLengths => "event_lengths",
            Self::TextStarts => "text_starts",
            Self::Texts => "texts",
            Self::TextCounts => "text_counts",
            Self::LearnedRanks => "learned_ranks",
            Self::LearnedFrequencies => "learned_frequencies",
            Self::LowerTexts => "lower_texts",
            Self::LowerTextCounts => "lower_text_counts",
            Self::HeldKeys => "held_keys",
            Self::HeldStarts => "held_starts",
            Self::HeldLists => "held_lists",
            Self::FirstKeys => "first_keys",
            Self::FirstStarts => "first_starts",
            Self::FirstLists => "first_lists",
            Self::PairKeys => "pair_keys",
            Self::PairKeyStarts => "pair_key_starts",
            Self::PairFollowers => "pair_followers",
            Self::PairStarts => "pair_starts",
            Self::PairLists => "pair_lists",
        }
    }
}

/// What has to be known of a node to read its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeLayout {
    /// Patterns; their ranks are their places in name order, behind those of the indexes that this one
    /// adds to.
    pub n_patterns: u64,
    /// Patterns of the node below, of all its indexes: symbols below this number are their ranks.
    pub n_below: u64,
    /// Texts, those of the indexes that this one adds to first: symbols from `n_below` on are their places.
    pub n_texts: u64,
    /// Symbols that occur in a pattern, in those of the indexes that this one adds to included.
    pub n_symbols: u64,
    /// Bytes of a symbol's number: 2, 3 or 4, as few as all fit into.
    pub symbol_bytes: u64,
    /// Followers that are listed, of all symbols in all classes.
    pub n_followers: u64,
    /// The classes of patterns that there are.
    pub classes: Vec<ClassLayout>,
}

impl NodeLayout {
    /// Creates the layout of a node with so many symbols, as yet without patterns.
    #[must_use]
    pub fn new(n_below: u64, n_texts: u64) -> Self {
        Self {
            n_below,
            n_texts,
            symbol_bytes: match n_below + n_texts {
                0..=0x1_0000 => 2,
                0x1_0001..=0x100_0000 => 3,
                _ => 4,
            },
            ..Self::default()
        }
    }
}

/// The patterns of one class: the places of its symbols in the columns of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassLayout {
    /// Which patterns these are.
    pub class: ClassKey,
    /// Its part of [`Column::HeldKeys`]: first and one past the last.
    pub held: [u64; 2],
    /// Its part of [`Column::FirstKeys`].
    pub first: [u64; 2],
    /// Its part of [`Column::PairKeys`].
    pub pairs: [u64; 2],
    /// Patterns that hold a symbol from which on its pairs with others of as many are listed: of fewer, those
    /// that hold it are looked at.
    pub least_pair_list: u64,
}

impl ClassLayout {
    /// Creates a class without symbols.
    #[must_use]
    pub const fn new(class: ClassKey) -> Self {
        Self {
            class,
            held: [0; 2],
            first: [0; 2],
            pairs: [0; 2],
            least_pair_list: 0,
        }
    }
}

/// A class of patterns: those of about one length, with or without anything unusual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassKey {
    /// The shortest length of the class: up to 32 every length has its own, above that there are
    /// four classes to each doubling.
    pub shortest: u64,
    /// Whether every event holds one symbol and no two neighbours are equal.
    pub is_plain: bool,
}

impl ClassKey {
    /// Returns the class of a pattern, given by the numbers of its symbols.
    ///
    /// `event_lengths` is `None` when every event holds one symbol.
    ///
    /// ```
    /// use kato_prediction::frozen::ClassKey;
    ///
    /// assert_eq!(ClassKey::of(&[1, 2, 1], None), ClassKey { shortest: 3, is_plain: true });
    /// assert_eq!(ClassKey::of(&[1, 1], None), ClassKey { shortest: 2, is_plain: false });
    /// assert_eq!(ClassKey::of(&[7; 50], None), ClassKey { shortest: 48, is_plain: false });
    /// ```
    #[must_use]
    pub fn of(symbols: &[u32], event_lengths: Option<&[u32]>) -> Self {
        let is_plain = event_lengths.is_none() && symbols.windows(2).all(|pair| pair[0] != pair[1]);
        Self {
            shortest: *LengthClass::from_length(symbols.len()).lengths().start() as u64,
            is_plain,
        }
    }

    /// Returns the class as pages have it; `None` if no class has this shortest length.
    pub(crate) fn page_class(self) -> Option<PageClass> {
        let shortest = usize::try_from(self.shortest).ok()?;
        let lengths = LengthClass::from_length(shortest);
        (shortest > 0 && *lengths.lengths().start() == shortest).then_some(PageClass {
            lengths,
            is_plain: self.is_plain,
        })
    }
}

/// The bit that marks the id of a pattern name among [`SymbolId`]s.
const NAME: u32 = 1 << 31;

/// Returns the id of the symbol with a number.
#[inline]
pub(crate) fn id_of(number: u32, n_below: u32) -> SymbolId {
    match number.checked_sub(n_below) {
        None => SymbolId(NAME | number),
        Some(text) => SymbolId(text),
    }
}

/// Returns the number of the symbol with an id; `None` if the node has no such symbol.
#[inline]
pub(crate) fn number_of(id: SymbolId, n_below: u32, n_texts: u32) -> Option<u32> {
    let idx = id.0 & !NAME;
    match id.0 & NAME {
        0 => (idx < n_texts).then(|| n_below + idx),
        _ => (idx < n_below).then_some(idx),
    }
}
