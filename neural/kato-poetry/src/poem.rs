//! A poem, and where it stood.

use serde::{Deserialize, Serialize};

/// A poem as it was read: its text, and whatever is known of it.
///
/// Line breaks part lines, and lines of white space alone part stanzas.
///
/// ```
/// use kato_poetry::Poem;
///
/// let poem = Poem::new("Roses are red,\nViolets are blue.").with_title("Roses");
/// assert_eq!(poem.to_string(), "Roses");
/// assert_eq!(Poem::new("\nTyger Tyger\n").to_string(), "Tyger Tyger");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Poem {
    /// Its title, where the source tells it.
    pub title: Option<String>,
    /// Who wrote it, where the source tells it.
    pub author: Option<String>,
    /// Its lines.
    pub text: String,
    /// Where it was read, such as `sonnets.txt, line 12`; empty for text that was handed in.
    pub place: String,
}

impl Poem {
    /// Creates a poem out of text alone.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            title: None,
            author: None,
            text: text.into(),
            place: String::new(),
        }
    }

    /// Gives it a title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says where it was read.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }
}

impl std::fmt::Display for Poem {
    /// Writes what a reader calls the poem: its title, or else its first line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first_line = || {
            self.text
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
        };
        let name = self.title.as_deref().or_else(first_line);
        f.write_str(name.unwrap_or("(empty)"))
    }
}
