//! The part of a batch that concerns one pattern.

use std::borrow::Cow;

use kato_model::{AttributeLimits, Attributes, Event, FirstSeen, PatternName, Symbol};
use kato_store::StoredPattern;
use serde::{Deserialize, Serialize};

/// A symbol, compact in a blob; ordered as [`Symbol`] is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum CompactSymbol {
    Text(Box<str>),
    Name([u8; PatternName::BYTES]),
}

impl CompactSymbol {
    /// Returns the symbol as the database has it.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Name(name) => Cow::Owned(PatternName::from_bytes(*name).prefixed().to_string()),
        }
    }
}

impl From<Symbol> for CompactSymbol {
    fn from(symbol: Symbol) -> Self {
        match symbol {
            Symbol::Text(text) => Self::Text(text),
            Symbol::Name(name) => Self::Name(*name.as_bytes()),
        }
    }
}

impl From<CompactSymbol> for Symbol {
    fn from(symbol: CompactSymbol) -> Self {
        match symbol {
            CompactSymbol::Text(text) => Self::Text(text),
            CompactSymbol::Name(name) => Self::Name(PatternName::from_bytes(name)),
        }
    }
}

/// One pattern with what was learned about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PatternDelta {
    pub(crate) name: [u8; PatternName::BYTES],
    pub(crate) frequency: u64,
    pub(crate) symbols: Vec<CompactSymbol>,
    /// Symbols of each event; `None` when every event holds one.
    pub(crate) event_lengths: Option<Box<[u32]>>,
    pub(crate) first_seen: Option<FirstSeen>,
    /// Metadata, emotives and affinity, if there are any.
    #[serde(with = "as_json")]
    pub(crate) attributes: Option<Box<Attributes>>,
}

impl PatternDelta {
    /// Returns what a stored pattern counts: all that is taken away when it is forgotten, however large
    /// its document has become.
    pub(crate) fn counted(pattern: StoredPattern) -> Self {
        let mut counted = Self::from(pattern);
        if let Some(attributes) = counted.attributes.take()
            && !attributes.affinity.is_empty()
        {
            counted.attributes = Some(Box::new(Attributes {
                affinity: attributes.affinity,
                ..Attributes::default()
            }));
        }
        counted
    }

    /// Returns the pattern's name.
    pub(crate) fn name(&self) -> PatternName {
        PatternName::from_bytes(self.name)
    }

    /// Adds what another batch taught about the same pattern.
    pub(crate) fn merge(&mut self, other: Self, limits: &AttributeLimits) {
        // Equal names have equal content, as a name is the SHA-1 of it: only the rest is merged.
        self.frequency = self.frequency.saturating_add(other.frequency);
        self.first_seen = match (self.first_seen, other.first_seen) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if let Some(more) = other.attributes {
            self.attributes.get_or_insert_default().merge(*more, limits);
        }
    }

    /// Returns the symbols of each event.
    pub(crate) fn events(&self) -> impl Iterator<Item = &[CompactSymbol]> {
        Event::split(&self.symbols, self.event_lengths.as_deref())
    }

    /// Returns the bytes of the pattern's document, at most.
    pub(crate) fn document_bytes(&self) -> u64 {
        /// Bytes of a type, a length, the digits of an index, and their ends; twice, as every
        /// symbol has its event.
        const SYMBOL: usize = 2 * 20;
        const DOCUMENT: usize = 512;

        let symbols: usize = self
            .symbols
            .iter()
            .map(|symbol| match symbol {
                CompactSymbol::Text(text) => text.len(),
                // The prefix `PTRN|` and 40 hexadecimal digits.
                CompactSymbol::Name(_) => 45,
            } + SYMBOL)
            .sum();
        let events = self.event_lengths.as_ref().map_or(0, |events| events.len());
        let attributes = self
            .attributes
            .as_ref()
            .map_or(0, |attributes| 2 * attributes.heap_bytes());
        (DOCUMENT + symbols + events * SYMBOL + attributes) as u64
    }
}

impl From<StoredPattern> for PatternDelta {
    /// Returns a stored pattern as if a batch had taught it, so that more can be merged into it.
    fn from(pattern: StoredPattern) -> Self {
        let attributes = Attributes {
            // Frequency and event lengths have fields of their own.
            extra_frequency: 0,
            event_lengths: None,
            metadata: pattern.metadata,
            emotives: pattern.emotives,
            affinity: pattern.affinity,
        };
        Self {
            name: *pattern.name.as_bytes(),
            frequency: pattern.frequency,
            symbols: pattern
                .symbols
                .into_iter()
                .map(CompactSymbol::from)
                .collect(),
            event_lengths: pattern.event_lengths,
            first_seen: pattern.first_seen,
            attributes: (attributes != Attributes::default()).then(|| Box::new(attributes)),
        }
    }
}

/// Attributes leave out what is empty, which only a format that names its fields can read back.
mod as_json {
    use kato_model::Attributes;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(
        attributes: &Option<Box<Attributes>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = attributes.as_ref().map(serde_json::to_string).transpose();
        text.map_err(S::Error::custom)?.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<Attributes>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let read = |text: String| serde_json::from_str(&text).map(Box::new);
        text.map(read).transpose().map_err(D::Error::custom)
    }
}
