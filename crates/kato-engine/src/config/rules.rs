//! The values that settings may have, by generation, and what is answered to others.

use kato_model::KatoGeneration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

    /// Returns what a value must be, in KATO's words where it has any.
    fn message(&self, value: &Value, generation: KatoGeneration) -> String;
}

/// A whole number in a range. Booleans count as 0 and 1, as in Python.
pub(super) struct Whole(pub(super) u64, pub(super) u64);

impl Rule for Whole {
    type Setting = u64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<u64> {
        // Written as an integer in the JSON: KATO refuses 2.0.
        value.as_bool().map(u64::from).or_else(|| value.as_u64())
    }

    fn allows(&self, number: &u64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        match *self {
            Self(0, MAX) => "Must be a non-negative integer".to_owned(),
            Self(min, MAX) => format!("Must be an integer of at least {min}"),
            Self(min, max) => format!("Must be an integer between {min} and {max}"),
        }
    }
}

/// A number in a range. Booleans count as 0 and 1.
pub(super) struct Number(pub(super) f64, pub(super) f64);

impl Rule for Number {
    type Setting = f64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<f64> {
        let flag = value.as_bool().map(|flag| f64::from(u8::from(flag)));
        flag.or_else(|| value.as_f64())
    }

    fn allows(&self, number: &f64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        match *self {
            Self(min, f64::MAX) => format!("Must be a number of at least {min:?}"),
            Self(min, max) => format!("Must be a number between {min:?} and {max:?}"),
        }
    }
}

/// A recall threshold: from 0 to 1, and from 6.x on above 0 and no boolean.
pub(super) struct Threshold;

impl Rule for Threshold {
    type Setting = f64;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<f64> {
        match generation.needs_common_symbols() {
            true => value.as_f64(),
            false => Number(0.0, 1.0).read(value, generation),
        }
    }

    fn allows(&self, threshold: &f64, generation: KatoGeneration) -> bool {
        (0.0..=1.0).contains(threshold) && !(generation.needs_common_symbols() && *threshold == 0.0)
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        match generation.needs_common_symbols() {
            true => "Must be a number greater than 0.0 and at most 1.0. A threshold of 0 accepts every pattern regardless of similarity and is never a useful setting.".to_owned(),
            false => Number(0.0, 1.0).message(value, generation),
        }
    }
}

/// A whole number in a range, and no boolean.
pub(super) struct Integer(pub(super) u64, pub(super) u64);

impl Rule for Integer {
    type Setting = u64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<u64> {
        value.as_u64()
    }

    fn allows(&self, number: &u64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        Whole(self.0, self.1).message(value, generation)
    }
}

/// As [`Number`], or `null` for unset.
pub(super) struct OptionalNumber(pub(super) f64, pub(super) f64);

impl Rule for OptionalNumber {
    type Setting = Option<f64>;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<Option<f64>> {
        match value {
            Value::Null => Some(None),
            value => Number(self.0, self.1).read(value, generation).map(Some),
        }
    }

    fn allows(&self, number: &Option<f64>, generation: KatoGeneration) -> bool {
        number.is_none_or(|number| Number(self.0, self.1).allows(&number, generation))
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        format!(
            "{}, or null",
            Number(self.0, self.1).message(value, generation)
        )
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

/// Any string, or `null` for unset.
pub(super) struct OptionalText;

impl Rule for OptionalText {
    type Setting = Option<String>;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<Option<String>> {
        match value {
            Value::Null => Some(None),
            value => value.as_str().map(|text| Some(text.to_owned())),
        }
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        "Must be a string or null".to_owned()
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
