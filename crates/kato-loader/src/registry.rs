//! Datasets by short names: those built in, and those that a user adds in a file.

mod builtin;
mod duration;
mod entry;
mod error;
mod file;

use std::path::Path;

pub use self::duration::format_duration;
pub use self::entry::DatasetEntry;
pub use self::error::RegistryError;

/// How alike two keys must be, from 0 to 1, for one to be offered in place of the other.
const MIN_SIMILARITY: f64 = 0.75;

/// An ordered collection of [`DatasetEntry`]s, each under a key of its own.
///
/// [`builtin`](Self::builtin) holds nine public corpora; [`read_toml`](Self::read_toml) adds a
/// user's own, or replaces entries of the same key where they stand. Nothing is opened or looked up
/// on a network: an entry only says where a dataset is and which of its fields is the text.
///
/// # The file
///
/// One `[[dataset]]` table per entry. `key` and `source` are required; any other key than these is
/// refused.
///
/// ```toml
/// [[dataset]]
/// key = "letters"                      # letters, digits, `_`, `-` and `.`
/// source = "letters/**/*.jsonl.zst"    # whatever the loader takes: a path, a glob, a location such as hf://…
/// text_field = "body"                  # default: "text"
/// id_field = "letter_id"               # default: none, documents are named `file#record`
/// rows = 120_000                       # default: unknown; an estimate will do
/// description = "Letters, 1850 to 1900"
/// ```
///
/// A relative path is relative to the folder of the file that names it.
///
/// # Examples
///
/// ```
/// use kato_loader::registry::Registry;
///
/// let mut registry = Registry::builtin();
/// registry.parse_toml(
///     "datasets.toml",
///     r#"
///     [[dataset]]
///     key = "letters"
///     source = "letters.jsonl"
///     text_field = "body"
///     "#,
/// )?;
/// assert_eq!(registry.entries().len(), 10);
/// assert_eq!(registry.require("letters")?.text_field, "body");
/// assert_eq!(registry.require("wikitext")?.rows, Some(1_801_350));
///
/// let error = registry.require("wikitexts").unwrap_err();
/// assert!(error.to_string().contains("did you mean `wikitext`?"));
/// # Ok::<(), kato_loader::registry::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    entries: Vec<DatasetEntry>,
}

impl Registry {
    /// Creates a registry without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a registry of the nine datasets that every installation knows.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            entries: builtin::entries(),
        }
    }

    /// Adds an entry at the end, or puts it where the entry of the same key stands; returns the
    /// entry replaced.
    pub fn insert(&mut self, entry: DatasetEntry) -> Option<DatasetEntry> {
        match self.entries.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => Some(std::mem::replace(old, entry)),
            None => {
                self.entries.push(entry);
                None
            }
        }
    }

    /// Inserts all entries of another registry, in its order.
    pub fn merge(&mut self, other: Self) {
        for entry in other.entries {
            self.insert(entry);
        }
    }

    /// Inserts the entries of a TOML file, in its order; relative paths become relative to the
    /// file's folder.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not TOML, holds an unknown key, a value that is not
    /// allowed, or one key twice. The registry is then unchanged.
    pub fn read_toml(&mut self, path: impl AsRef<Path>) -> Result<(), RegistryError> {
        self.merge(file::read(path.as_ref())?);
        Ok(())
    }

    /// Inserts the entries of a text in the form of a file, whose name is used in errors only.
    ///
    /// # Errors
    ///
    /// As [`read_toml`](Self::read_toml).
    pub fn parse_toml(&mut self, name: &str, toml: &str) -> Result<(), RegistryError> {
        self.merge(file::parse(name, toml)?);
        Ok(())
    }

    /// Returns the entry of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&DatasetEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the entry of a key that has to exist.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Unknown`], with the closest key and all keys there are.
    pub fn require(&self, key: &str) -> Result<&DatasetEntry, RegistryError> {
        self.get(key).ok_or_else(|| RegistryError::Unknown {
            key: key.to_owned(),
            closest: self.closest(key).map(|entry| entry.key.clone()),
            known: self.entries.iter().map(|entry| entry.key.clone()).collect(),
        })
    }

    /// Returns the entries in the order in which they were added; one that replaced another stands in
    /// its place.
    #[must_use]
    pub fn entries(&self) -> &[DatasetEntry] {
        &self.entries
    }

    /// Returns the entry whose key is most like a word, for "did you mean", or `None` when none is
    /// like it.
    ///
    /// Case, and `-` or blanks in place of `_`, make no difference.
    #[must_use]
    pub fn closest(&self, word: &str) -> Option<&DatasetEntry> {
        let word = normalised(word);
        let mut closest = None;
        let mut best = MIN_SIMILARITY;
        for entry in &self.entries {
            let similarity = similarity(&normalised(&entry.key), &word);
            // Strictly more, so that of equally similar keys the first is offered.
            if similarity > best {
                (closest, best) = (Some(entry), similarity);
            }
        }
        closest
    }
}

/// Returns how alike two words are, from 0 to 1.
///
/// A word within the other, as in `the_pile`, is alike however different the beginnings are.
fn similarity(a: &str, b: &str) -> f64 {
    // Jaro–Winkler favours common beginnings and would miss it. Shorter words are part of too many
    // others.
    let is_part = a.len().min(b.len()) >= 3 && (a.contains(b) || b.contains(a));
    let floor = if is_part { 0.9 } else { 0.0 };
    strsim::jaro_winkler(a, b).max(floor)
}

/// Returns a key in lower case with `_` for every separator.
fn normalised(key: &str) -> String {
    key.to_lowercase().replace(['-', ' '], "_")
}
