//! Visits of a node: all its content, source by source, without an allocation for each pattern.

use std::fmt;
use std::ops::ControlFlow;

use kato_model::{Attributes, FirstSeen, PatternName, Symbol};
use sha1::{Digest as _, Sha1};

use crate::Tombstones;

/// A receiver of a node's content as its store holds it, for example to load an index. See
/// [`PatternStore::visit`].
///
/// A store keeps what it was taught in *sources*, an [`EmbeddedStore`](crate::EmbeddedStore) in one
/// a segment. Every source numbers its symbols on its own and holds a name once, but **several
/// sources may hold one name**: the visitor adds frequencies up and merges the rest, as
/// [`Attributes::merge`] does. Names ascend within a source.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::ops::ControlFlow;
///
/// use kato_model::batch::BatchSymbol;
/// use kato_model::{LearnBatch, PatternName, Symbol};
/// use kato_store::visit::{SourceSymbols, VisitedPattern};
/// use kato_store::{MemoryStore, PatternStore, PatternVisitor};
///
/// #[derive(Default)]
/// struct CountSymbols(BTreeMap<Symbol, u64>);
///
/// impl PatternVisitor for CountSymbols {
///     fn pattern(&mut self, symbols: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
///         for symbol in pattern.symbols.iter().filter_map(|&number| symbols.get(number)) {
///             *self.0.entry(symbol.to_symbol()).or_default() += pattern.frequency;
///         }
///         ControlFlow::Continue(())
///     }
/// }
///
/// let store = MemoryStore::new(&["node0"], serde_json::json!(null));
/// let mut batch = LearnBatch::new(1);
/// let symbols = ["a", "b", "a"].map(|text| BatchSymbol::Literal(batch.literal(text)));
/// batch.learn(0, PatternName::of_events(&[["a"], ["b"], ["a"]]), symbols);
/// store.commit(vec![store.stage(batch.seal())?], serde_json::json!(null))?;
///
/// let mut counts = CountSymbols::default();
/// store.visit(0, &mut counts)?;
/// assert_eq!(counts.0, BTreeMap::from([(Symbol::from("a"), 2), (Symbol::from("b"), 1)]));
/// # Ok::<(), kato_store::StoreError>(())
/// ```
///
/// [`PatternStore::visit`]: crate::PatternStore::visit
pub trait PatternVisitor {
    /// Receives the symbols of a source that begins.
    ///
    /// What was remembered of the numbers of the source before is void from here on. Does nothing
    /// by default.
    ///
    /// `n_patterns` is the number of patterns that follow, at least one. `Break` ends the visit.
    fn source(&mut self, symbols: &SourceSymbols<'_>, n_patterns: u64) -> ControlFlow<()> {
        let _ = (symbols, n_patterns);
        ControlFlow::Continue(())
    }

    /// Receives, before anything else, the name of a pattern that is no longer in the sources that a visit
    /// [passes over](crate::PatternStore::visit_beyond), and was when something was derived from them.
    /// Returns whether it is taken back there; if not, the visit ends, as those sources are not what they
    /// were. Not by default.
    fn deleted(&mut self, name: PatternName) -> bool {
        let _ = name;
        false
    }

    /// Receives one pattern of the source that began last.
    ///
    /// `Break` ends the visit.
    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()>;
}

/// The symbols of one source by number, `0..len`. Every symbol has one number; not every number
/// needs to be in use.
#[derive(Debug, Clone, Copy)]
pub struct SourceSymbols<'a> {
    /// Numbers from 0 on.
    names: &'a [PatternName],
    /// Numbers after those.
    texts: &'a [&'a str],
}

impl<'a> SourceSymbols<'a> {
    /// Numbers the names from 0 on and the texts after them. Both are distinct, and no text is one
    /// of the names.
    #[must_use]
    pub fn new(names: &'a [PatternName], texts: &'a [&'a str]) -> Self {
        Self { names, texts }
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len() + self.texts.len()
    }

    /// Returns whether there are no symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the symbol of a number; `None` for numbers from `len` on.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<SymbolRef<'a>> {
        let number = number as usize;
        match self.names.get(number) {
            Some(name) => Some(SymbolRef::Name(*name)),
            None => {
                let text = *self.texts.get(number - self.names.len())?;
                // A source holds the name of a pattern as text if it lacks that pattern; visitors
                // get one symbol for both.
                Some(PatternName::from_symbol(text).map_or(SymbolRef::Text(text), SymbolRef::Name))
            }
        }
    }
}

/// A borrowed [`Symbol`]. `Display` writes its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolRef<'a> {
    /// Any text that is not the name of a pattern.
    Text(&'a str),
    /// The name of a pattern.
    Name(PatternName),
}

impl SymbolRef<'_> {
    /// Returns the symbol as a value of its own.
    #[must_use]
    pub fn to_symbol(self) -> Symbol {
        match self {
            Self::Text(text) => Symbol::Text(text.into()),
            Self::Name(name) => Symbol::Name(name),
        }
    }
}

impl fmt::Display for SymbolRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Name(name) => name.prefixed().fmt(f),
        }
    }
}

/// A pattern as one source holds it.
#[derive(Debug, Clone, Copy)]
pub struct VisitedPattern<'a> {
    /// Its name.
    pub name: PatternName,
    /// All learn calls that the source counts: `extra_frequency` of the attributes is 0.
    pub frequency: u64,
    /// All symbols, event after event, by their numbers in [`SourceSymbols`]; all of them are
    /// there.
    pub symbols: &'a [u32],
    /// Earliest sighting in the source, if provenance was recorded.
    pub first_seen: Option<FirstSeen>,
    /// Event lengths, metadata, emotives and affinity, where there are any.
    pub attributes: Option<&'a Attributes>,
}

impl VisitedPattern<'_> {
    /// Returns the number of symbols of each event; `None` when every event holds one.
    #[must_use]
    pub fn event_lengths(&self) -> Option<&[u32]> {
        self.attributes?.event_lengths.as_deref()
    }

    /// Returns the symbols of each event, in order.
    pub fn events(&self) -> impl Iterator<Item = &[u32]> {
        let lengths = self.event_lengths();
        let n_events = lengths.map_or(self.symbols.len(), <[u32]>::len);
        let mut rest = self.symbols;
        (0..n_events).map(move |event| {
            let length = lengths.map_or(1, |lengths| lengths[event] as usize);
            // A store that breaks its contract may tell of more symbols than it shows.
            let (event, others) = rest.split_at(length.min(rest.len()));
            rest = others;
            event
        })
    }
}

/// A receiver of all content of an embedded store in name order, node by node from the bottom up;
/// see [`EmbeddedStore::visit_in_order`].
///
/// [`EmbeddedStore::visit_in_order`]: crate::EmbeddedStore::visit_in_order
pub trait OrderedVisitor {
    /// Receives the symbols of a node that begins.
    fn node(&mut self, node: &OrderedNode<'_>);

    /// Receives one pattern of the node that began last; names ascend and are distinct.
    ///
    /// Its symbols are numbers of [`OrderedNode`]. `Break` ends the visit.
    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()>;

    /// Receives the digests of what was shown, after the last pattern of the last node.
    fn end(&mut self, _content: &StoredContent) {}
}

/// The symbols of one node by number: those below `n_below` are the patterns of the node below by
/// their place in name order, those from there on are texts. Every symbol has one number.
#[derive(Debug, Clone, Copy)]
pub struct OrderedNode<'a> {
    /// The node's place from the bottom of the hierarchy.
    pub node_idx: usize,
    /// Number of patterns of the node below.
    pub n_below: u32,
    /// The texts, ascending; each is in use.
    pub texts: &'a [&'a str],
}

/// A digest of what a store holds. `Display` writes 40 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 20]);

impl ContentDigest {
    /// Creates a digest from its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Reads what `Display` writes; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        // The name of a pattern is a SHA-1 as well, and is written alike.
        let name: PatternName = text.parse().ok()?;
        let digest = Self(*name.as_bytes());
        (digest.to_string() == text).then_some(digest)
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns the digest of this on top of something else, such as an index that adds to another.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        let mut digest = Sha1::new();
        digest.update(b"kato content over 1");
        digest.update(below.0);
        digest.update(self.0);
        Self(digest.finalize().into())
    }

    /// Returns the digest of this without the patterns that are retired, given the tombstones of every node:
    /// of what is derived from the others alone. What was purged is not there anyway.
    #[must_use]
    pub fn without(&self, tombstones: &[Tombstones]) -> Self {
        let mut digest = Sha1::new();
        digest.update(b"kato content without 1");
        digest.update(self.0);
        let mut is_all = true;
        for (node_idx, of_node) in (0u64..).zip(tombstones) {
            for name in of_node.unpurged() {
                is_all = false;
                digest.update(node_idx.to_le_bytes());
                digest.update(name.as_bytes());
            }
        }
        match is_all {
            true => *self,
            false => Self(digest.finalize().into()),
        }
    }
}

/// The digests of what a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredContent {
    /// The digest of all of it.
    pub digest: ContentDigest,
    /// The digest of every source, ascending; equal sources count each.
    pub sources: Vec<ContentDigest>,
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
