//! Events: the symbols that were observed together.

use serde::{Deserialize, Serialize};

use crate::vector::VectorName;

/// The symbols of one observation.
///
/// A symbol is any string, compared character by character. An observed event holds vector symbols
/// first, then strings; each group is sorted by code point, and the groups are never mixed.
/// Duplicates and empty strings stay.
///
/// Reading through serde keeps the stored order.
///
/// # Examples
///
/// ```
/// use kato_model::Event;
///
/// let event = Event::new(["z", "", "a", "10", "2"]);
/// assert_eq!(event.symbols(), ["", "10", "2", "a", "z"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Event {
    symbols: Vec<String>,
}

impl Event {
    /// Returns the symbols of each event of a pattern, given how many each has; `None` is one each.
    ///
    /// Lengths that ask for more symbols than there are make an event of those that are left, and empty ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_model::Event;
    ///
    /// let split = |lengths| Event::split(&["a", "b", "c"], lengths).collect::<Vec<_>>();
    /// assert_eq!(split(Some(&[2, 1])), [&["a", "b"][..], &["c"]]);
    /// assert_eq!(split(None), [["a"], ["b"], ["c"]]);
    /// ```
    pub fn split<'a, T>(
        symbols: &'a [T],
        lengths: Option<&'a [u32]>,
    ) -> impl Iterator<Item = &'a [T]> {
        let n_events = lengths.map_or(symbols.len(), <[u32]>::len);
        let mut rest = symbols;
        (0..n_events).map(move |event_idx| {
            let length = lengths.map_or(1, |lengths| lengths[event_idx] as usize);
            // Lengths may come from a damaged file: they cannot panic here.
            let (event, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = after;
            event
        })
    }

    /// Creates the event of an observation of strings alone.
    #[must_use]
    pub fn new<I>(strings: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self::with_vectors([], strings)
    }

    /// Creates the event of an observation of vectors, by their names, and strings.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_model::{Event, VectorName};
    ///
    /// let vector = VectorName::of_vector(&[1.0, 2.0, 3.0]);
    /// let event = Event::with_vectors([vector], ["zeta", "alpha"]);
    /// assert_eq!(event.symbols(), [&vector.to_string(), "alpha", "zeta"]);
    /// ```
    #[must_use]
    pub fn with_vectors<V, I>(vectors: V, strings: I) -> Self
    where
        V: IntoIterator<Item = VectorName>,
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let mut symbols: Vec<String> = vectors.into_iter().map(|name| name.to_string()).collect();
        let n_vectors = symbols.len();
        symbols.extend(strings.into_iter().map(Into::into));
        // KATO never mixes the two groups, even where a string sorts before `VCTR|`. Comparing
        // `String`s compares UTF-8 bytes, which is the order of code points.
        let (vectors, strings) = symbols.split_at_mut(n_vectors);
        vectors.sort_unstable();
        strings.sort_unstable();
        Self { symbols }
    }

    /// Creates an event whose symbols stay in the order given: one that was stored, or observed
    /// with sorting switched off.
    #[must_use]
    pub const fn in_given_order(symbols: Vec<String>) -> Self {
        Self { symbols }
    }

    /// Returns the symbols, in the order that counts for the pattern's name.
    #[must_use]
    pub fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// Returns the symbols, without the event.
    #[must_use]
    pub fn into_symbols(self) -> Vec<String> {
        self.symbols
    }

    /// Returns the number of symbols, duplicates included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Returns whether there are no symbols; an observation without any adds no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

impl AsRef<[String]> for Event {
    fn as_ref(&self) -> &[String] {
        &self.symbols
    }
}
