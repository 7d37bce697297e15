//! What a result depends on, as a digest.

use std::fmt::Display;
use std::path::Path;

use kato_neural::run::RunError;

use crate::error::MicrobesError;

/// Changed whenever the same key would mean another result.
const VERSION: u32 = 2;

/// All that a result depends on: contents of files, and settings by name.
///
/// ```
/// use kato_microbes::cache::Key;
///
/// let key = |depth: u64| Key::new("distances").with("depth", depth).name();
/// assert_eq!(key(5), key(5));
/// assert_ne!(key(5), key(6));
/// ```
#[derive(Debug, Clone)]
pub struct Key {
    kind: &'static str,
    hasher: blake3::Hasher,
}

impl Key {
    /// Begins a key of one kind of result.
    #[must_use]
    pub fn new(kind: &'static str) -> Self {
        let hasher = blake3::Hasher::new();
        let key = Self { kind, hasher };
        key.with("kind", kind).with("version", VERSION)
    }

    /// Adds a setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        let text = format!("{name}={value}");
        // Lengths keep neighbours apart: `a=1`, `b` is not `a=`, `1b`.
        self.hasher.update(&(text.len() as u64).to_le_bytes());
        self.hasher.update(text.as_bytes());
        self
    }

    /// Adds the content of a file, whatever its name.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn with_file(self, path: &Path) -> Result<Self, MicrobesError> {
        let bytes = std::fs::read(path).map_err(RunError::file("read", path))?;
        Ok(self.with("file", blake3::hash(&bytes)))
    }

    /// Returns the name of the result.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.kind, self.hasher.finalize())
    }
}
