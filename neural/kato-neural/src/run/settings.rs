//! All settings of a run, as one TOML file holds them.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{RunError, write_text};

/// The settings of a run: one table of a TOML file for each part. What the file does not name has its
/// default; a name that there is not is an error.
pub trait RunSettings: Serialize + DeserializeOwned {
    /// Reads settings from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no TOML, or names a setting that there is not.
    fn read(path: &Path) -> Result<Self, RunError> {
        let text = fs::read_to_string(path).map_err(RunError::file("read", path))?;
        Self::from_toml(&text).map_err(refused(path))
    }

    /// Reads settings from text.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, with its line, in words.
    fn from_toml(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Writes all settings as text.
    ///
    /// # Errors
    ///
    /// What TOML cannot hold, in words, such as a path that is no text.
    fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    /// Writes all settings to a file.
    ///
    /// # Errors
    ///
    /// When one of them cannot be kept there, or the file cannot be written.
    fn write(&self, path: &Path) -> Result<(), RunError> {
        // What could not be read again would be no run.
        let text = self
            .to_toml()
            .and_then(|text| Self::from_toml(&text).map(|_| text));
        write_text(path, &text.map_err(refused(path))?)
    }
}

fn refused(path: &Path) -> impl FnOnce(String) -> RunError {
    let path = path.to_owned();
    |reason| RunError::Settings { path, reason }
}
