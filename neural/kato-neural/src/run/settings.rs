//! All settings of a run, as one TOML file holds them.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{RunError, SettingChange, write_text};

/// The settings of a run: one table of a TOML file for each part. What the file does not name has its
/// default; a name that there is not is an error.
pub trait RunSettings: Serialize + DeserializeOwned {
    /// Returns whether a setting, by its name with its table, may be written to in the folder of a run that has begun.
    /// All others decide what the run learns or how it is judged: [`RunFolder::settings`](super::RunFolder::settings)
    /// refuses others than it was begun with.
    fn may_change(&self, name: &str) -> bool;

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

/// Returns what may not change and differs between the settings that a run was begun with and those that it has.
pub(super) fn changes<S: RunSettings>(begun: &S, now: &S) -> Result<Vec<SettingChange>, String> {
    let table = |settings| Table::try_from(settings).map_err(|error| error.to_string());
    let mut found = Vec::new();
    differences("", &table(begun)?, &table(now)?, &mut found);
    found.retain(|change| !begun.may_change(&change.name));
    Ok(found)
}

fn differences(prefix: &str, was: &Table, is: &Table, found: &mut Vec<SettingChange>) {
    let added = is.keys().filter(|name| !was.contains_key(*name));
    for key in was.keys().chain(added) {
        let name = format!("{prefix}{key}");
        match (was.get(key), is.get(key)) {
            (Some(Value::Table(was)), Some(Value::Table(is))) => {
                differences(&format!("{name}."), was, is, found);
            }
            (was, is) if was != is => found.push(SettingChange {
                name,
                was: was.map(Value::to_string),
                is: is.map(Value::to_string),
            }),
            _ => {}
        }
    }
}

pub(super) fn refused(path: &Path) -> impl FnOnce(String) -> RunError {
    let path = path.to_owned();
    |reason| RunError::Settings { path, reason }
}
