//! The colours of everything that is drawn, by their meaning.

/// A colour, which is another one on a dark page than on a light one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One of six that can be told apart with any kind of colour vision; after these they repeat.
    Nth(usize),
    /// What is as it should be.
    Good,
    /// What may be as it should be.
    Fair,
    /// What is not as it should be.
    Bad,
    /// What matters less.
    Muted,
    /// What hardly matters.
    Faint,
}

impl Color {
    /// Returns the class that gives an element this colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Nth(n) => ["c0", "c1", "c2", "c3", "c4", "c5"][n % 6],
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Muted => "muted",
            Self::Faint => "faint",
        }
    }
}
