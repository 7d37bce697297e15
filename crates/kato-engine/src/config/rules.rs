//! The values that settings may have, by generation, and what is answered to others.

mod numbers;

use kato_model::KatoGeneration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use self::numbers::{Count, Integer, Number, OptionalNumber, Threshold, Whole};
use super::{FILTERS, StmMode};

/// The upper end of ranges that have none.
pub(super) const MAX: u64 = u64::MAX;

/// The values that a setting may have.
pub(super) trait Rule {
    type Setting;

    /// Reads a value; `None` if its type is wrong.
    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<Self::Setting>;

    /// Returns whether a value is in range.
    fn allows(&self, _: &Self::Setting, _: KatoGeneration) -> bool {
        true
    }

    /// Returns whether KATO answers a value as it was given, whatever it counts as.
    fn keeps_what_is_given(&self) -> bool {
        true
    }

    /// Returns what a value must be, in KATO's words where it has any. Nothing asks a rule that takes every
    /// value.
    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        String::new()
    }
}

pub(super) struct Flag;

impl Rule for Flag {
    type Setting = bool;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<bool> {
        value.as_bool()
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        "Must be a boolean (true/false)".to_owned()
    }
}

/// Any value, which counts as Python takes it: nothing, zero and what is empty is false.
pub(super) struct Truth;

impl Rule for Truth {
    type Setting = bool;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<bool> {
        Some(match value {
            Value::Null => false,
            Value::Bool(flag) => *flag,
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(entries) => !entries.is_empty(),
        })
    }
}

/// A string; what is not `ROLLING` counts as `CLEAR`.
pub(super) struct Mode;

impl Rule for Mode {
    type Setting = StmMode;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<StmMode> {
        // KATO takes any string, and treats all but one as the default.
        value.as_str().map(|mode| match mode {
            "ROLLING" => StmMode::Rolling,
            _ => StmMode::Clear,
        })
    }

    fn keeps_what_is_given(&self) -> bool {
        false
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        "Must be a string".to_owned()
    }
}

/// One of some values, by their names.
pub(super) struct Named<'a, T>(pub(super) &'a [T]);

impl<T: Serialize + DeserializeOwned> Rule for Named<'_, T> {
    type Setting = T;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<T> {
        // A map of one key would be read as well.
        let name = value.is_string().then_some(value)?;
        T::deserialize(name).ok()
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        let names = self
            .0
            .iter()
            .filter_map(|value| match serde_json::to_value(value) {
                Ok(Value::String(name)) => Some(name),
                _ => None,
            });
        format!("Must be one of: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The name of an emotive, or `null` for unset. KATO does not look at it: what is no text names the emotive
/// that is written so, and what Python takes for false names none.
pub(super) struct OptionalText;

impl Rule for OptionalText {
    type Setting = Option<String>;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<Option<String>> {
        Some(match value {
            Value::String(text) => Some(text.clone()),
            value => Truth.read(value, generation)?.then(|| value.to_string()),
        })
    }
}

/// A list of names of filters.
pub(super) struct Filters;

impl Filters {
    /// Returns the filters that a generation has, in the order in which it lists them.
    fn known(generation: KatoGeneration) -> Vec<&'static str> {
        match generation.has_no_length_filter() {
            true => vec!["minhash", "jaccard", "bloom", "rapidfuzz"],
            false => FILTERS.map(|(name, _)| name).to_vec(),
        }
    }

    fn strings(value: &Value) -> Option<Vec<String>> {
        let names = value.as_array()?.iter();
        names.map(|name| name.as_str().map(str::to_owned)).collect()
    }
}

impl Rule for Filters {
    type Setting = Vec<String>;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<Vec<String>> {
        // From 6.x on names are checked whenever they are given.
        let checked = |names: &Vec<String>| {
            !generation.has_no_length_filter() || self.allows(names, generation)
        };
        Self::strings(value).filter(checked)
    }

    fn allows(&self, names: &Vec<String>, generation: KatoGeneration) -> bool {
        let known = Self::known(generation);
        names.iter().all(|name| known.contains(&name.as_str()))
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        let known = Self::known(generation);
        if !generation.has_no_length_filter() {
            return format!("Must be a list of: {}", known.join(", "));
        }
        let Some(names) = Self::strings(value) else {
            return "Must be a list of filter names".to_owned();
        };
        let unknown = names.iter().filter(|name| !known.contains(&name.as_str()));
        let quoted: Vec<String> = unknown.map(|name| format!("'{name}'")).collect();
        format!(
            "Unknown filter(s): {}. Valid filters: {}.",
            quoted.join(", "),
            known.join(", ")
        )
    }
}
