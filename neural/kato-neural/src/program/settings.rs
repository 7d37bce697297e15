//! Settings out of a file and of flags, of which flags count more.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use toml::{Table, Value};

use super::CommandFailure;
use crate::run::{RunSettings, override_setting, parse_value};

/// A value that a flag gives to a setting.
pub trait SettingFlag {
    /// Returns it as a file of settings has it.
    fn to_value(&self) -> Value;
}

impl SettingFlag for String {
    fn to_value(&self) -> Value {
        Value::String(self.clone())
    }
}

impl SettingFlag for f64 {
    fn to_value(&self) -> Value {
        Value::Float(*self)
    }
}

impl SettingFlag for u64 {
    /// Returns the number as TOML has them; one that is too large is out of every range.
    fn to_value(&self) -> Value {
        Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl SettingFlag for u32 {
    fn to_value(&self) -> Value {
        u64::from(*self).to_value()
    }
}

impl SettingFlag for usize {
    fn to_value(&self) -> Value {
        (*self as u64).to_value()
    }
}

/// Returns what a flag gives to its setting, if it was given.
#[must_use]
pub fn setting_flag(value: &Option<impl SettingFlag>) -> Option<Value> {
    value.as_ref().map(SettingFlag::to_value)
}

/// Returns what a switch gives to its setting where it was given.
#[must_use]
pub fn setting_switch(is_given: bool) -> Option<Value> {
    is_given.then_some(Value::Boolean(true))
}

/// Returns the settings of a command, over those of a file if there is one, as [`settings_table`] does.
///
/// # Errors
///
/// As for [`settings_table`], when the file cannot be read, and where there is no such setting.
pub fn command_settings<S: RunSettings>(
    file: Option<&Path>,
    flags: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    sets: &[String],
) -> Result<S, CommandFailure> {
    // Read alone first, so that an error names a line of the file.
    let file = file.map(S::read).transpose()?;
    let table = settings_table(file.as_ref(), flags, sets)?;
    table.try_into().map_err(|error| wrong_setting(&error))
}

/// Returns a table of settings, over those of a file if there is one: first `flags`, of which those
/// that were not given are passed over, then `sets`, each `NAME=VALUE`.
///
/// # Errors
///
/// [`CommandFailure::Usage`] of a set that is none, and of a name below a setting that has no parts.
pub fn settings_table(
    file: Option<&impl Serialize>,
    flags: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    sets: &[String],
) -> Result<Table, CommandFailure> {
    let mut table = match file {
        Some(settings) => Table::try_from(settings).map_err(|error| wrong_setting(&error))?,
        None => Table::new(),
    };
    for (name, value) in flags {
        if let Some(value) = value {
            override_setting(&mut table, name, value).map_err(CommandFailure::Usage)?;
        }
    }
    for set in sets {
        let Some((name, value)) = set.split_once('=') else {
            let text = format!("--set {set}: it has to be NAME=VALUE");
            return Err(CommandFailure::Usage(text));
        };
        let value = parse_value(value.trim());
        override_setting(&mut table, name.trim(), value).map_err(CommandFailure::Usage)?;
    }
    Ok(table)
}

/// Returns the failure of settings that there are not.
#[must_use]
pub fn wrong_setting(error: &dyn Display) -> CommandFailure {
    let text = error.to_string();
    CommandFailure::Usage(format!("a setting is wrong: {}", text.trim_end()))
}
