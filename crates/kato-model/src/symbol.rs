//! Symbols as knowledge bases hold them: text, or the name of a pattern.

use std::fmt;

use crate::PatternName;

/// One symbol of a pattern.
///
/// In observations and in KATO's records every symbol is a string. Above level 0 nearly all of them
/// are pattern names, which take 20 bytes here instead of the 45 of their text. [`Symbol::from`] a
/// string and `Display` are inverse to each other, so no string is lost.
///
/// ```
/// use kato_model::Symbol;
///
/// let name = Symbol::from("PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
/// assert!(matches!(name, Symbol::Name(_)));
/// assert_eq!(name.to_string(), "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
/// assert_eq!(Symbol::from("Ġcat"), Symbol::Text("Ġcat".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    // The order of the variants is that of symbol counts: all text before all names.
    /// Any text that is not exactly `PTRN|` and 40 lower-case hexadecimal digits.
    Text(Box<str>),
    /// The name of a pattern.
    Name(PatternName),
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        PatternName::from_symbol(text).map_or_else(|| Self::Text(text.into()), Self::Name)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Name(name) => name.prefixed().fmt(f),
        }
    }
}
