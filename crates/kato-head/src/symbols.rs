//! The symbols that can come next, by number.

use std::fmt;
use std::sync::Arc;

use foldhash::quality::RandomState;
use hashbrown::HashMap;

use crate::HeadError;

/// A symbol of a [`Head`](crate::Head), by number. Numbers are those of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

impl SymbolId {
    /// Returns the number, which is the symbol's place in a
    /// [`Distribution`](crate::Distribution).
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Symbols by number, and numbers by symbol.
#[derive(Clone)]
pub(crate) struct Symbols {
    // Symbols come from users, so the hasher is keyed at random.
    ids: HashMap<Arc<str>, u32, RandomState>,
    texts: Vec<Arc<str>>,
    /// Whether a symbol that nobody has named yet can come next.
    is_open: bool,
}

impl Symbols {
    /// Creates the symbols of a vocabulary; without one nothing is known yet, and anything can
    /// come.
    pub(crate) fn new(
        vocabulary: Option<&mut dyn Iterator<Item = &str>>,
    ) -> Result<Self, HeadError> {
        let mut symbols = Self {
            ids: HashMap::default(),
            texts: Vec::new(),
            is_open: vocabulary.is_none(),
        };
        for symbol in vocabulary.into_iter().flatten() {
            symbols.intern(symbol)?;
        }
        Ok(symbols)
    }

    /// Creates the symbols of some texts, by their places, and of a vocabulary.
    pub(crate) fn from_texts<'t>(
        texts: impl Iterator<Item = &'t str>,
        vocabulary: Option<&mut dyn Iterator<Item = &str>>,
    ) -> Result<Self, HeadError> {
        let mut symbols = Self::new(None)?;
        for text in texts {
            symbols.intern(text)?;
        }
        symbols.is_open = vocabulary.is_none();
        for symbol in vocabulary.into_iter().flatten() {
            symbols.intern(symbol)?;
        }
        Ok(symbols)
    }

    /// Returns the number of things that can come next: all symbols and, if there may be others,
    /// one that stands for these.
    pub(crate) fn n_outcomes(&self) -> usize {
        self.texts.len() + usize::from(self.is_open)
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn id(&self, symbol: &str) -> Option<SymbolId> {
        self.ids.get(symbol).copied().map(SymbolId)
    }

    pub(crate) fn text(&self, id: SymbolId) -> Option<&str> {
        self.texts.get(id.index()).map(|text| &**text)
    }

    /// Returns the number of a symbol, which gets one if it is new.
    pub(crate) fn intern(&mut self, symbol: &str) -> Result<u32, HeadError> {
        if let Some(&id) = self.ids.get(symbol) {
            return Ok(id);
        }
        let id = u32::try_from(self.texts.len()).ok();
        // The highest numbers have meanings of their own.
        let id = id.filter(|&id| id < u32::MAX - 2);
        let id = id.ok_or(HeadError::TooManySymbols)?;
        let text: Arc<str> = symbol.into();
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        Ok(id)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        // A shared text has two counters.
        let texts: usize = self.texts.iter().map(|text| text.len() + 16).sum();
        texts + self.texts.capacity() * size_of::<Arc<str>>() + self.ids.allocation_size()
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols")
            .field("len", &self.len())
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}
