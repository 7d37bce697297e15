//! What is given for settings: read by their rules, and kept as it was written where KATO answers it so.

use std::collections::BTreeMap;

use kato_model::KatoGeneration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConfigError;
use super::change::{has_setting, is_named};
use super::rules::{Flag, Rule};

/// KATO's former name of `sort_symbols`, which it still checks and does nothing with.
pub(super) const SORT: &str = "sort";

/// What was given for settings that count as something else, by name: `true` for the number 1, or a text
/// where any value does. KATO keeps and answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct AsGiven(BTreeMap<String, Value>);

impl AsGiven {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Takes over what a change gives for a setting, which may be nothing of note.
    pub(super) fn replace(&mut self, name: &str, change: &mut Self) {
        match change.0.remove(name) {
            Some(value) => self.0.insert(name.to_owned(), value),
            None => self.0.remove(name),
        };
    }

    /// Returns about how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let values = self.0.iter();
        // A value of a list or a map takes some tens of bytes more than its text.
        values
            .map(|(name, value)| 64 + name.len() + 16 * value.to_string().len())
            .sum()
    }
}

/// A reading of given settings, which collects what is refused.
pub(super) struct Reading<'g> {
    given: &'g Map<String, Value>,
    generation: KatoGeneration,
    is_creation: bool,
    messages: BTreeMap<String, String>,
    as_given: AsGiven,
}

impl<'g> Reading<'g> {
    pub(super) fn new(
        given: &'g Map<String, Value>,
        generation: KatoGeneration,
        is_creation: bool,
    ) -> Self {
        let mut reading = Self {
            given,
            generation,
            is_creation,
            messages: BTreeMap::new(),
            as_given: AsGiven::default(),
        };
        reading.check_sort();
        reading
    }

    /// Checks a key that has no setting.
    fn check_sort(&mut self) {
        let is_checked = !self.is_creation || self.generation.refuses_at_creation();
        if let Some(value) = self.given.get(SORT).filter(|value| !value.is_boolean())
            && is_checked
        {
            let message = Flag.message(value, self.generation);
            self.messages.insert(SORT.to_owned(), message);
        }
    }

    /// Reads a setting if it is given, and if the generation has it. Its range is checked when KATO does so:
    /// of some settings `always`.
    pub(super) fn setting<R: Rule>(
        &mut self,
        name: &str,
        (rule, always): (R, bool),
        default: R::Setting,
    ) -> Option<R::Setting>
    where
        R::Setting: Serialize,
    {
        let value = self.given.get(name)?;
        if !has_setting(name, self.generation) {
            return None;
        }
        // What has no check of its own is unset by it.
        if value.is_null() && !is_named(name) {
            return Some(default);
        }
        let is_checked = always || self.is_creation || self.generation.checks_all_settings();
        let read = rule
            .read(value, self.generation)
            .filter(|read| !is_checked || rule.allows(read, self.generation));
        match &read {
            Some(read) if rule.keeps_what_is_given() && !is_answered_alike(read, value) => {
                self.as_given.0.insert(name.to_owned(), value.clone());
            }
            Some(_) => {}
            None => {
                let message = rule.message(value, self.generation);
                self.messages.insert(name.to_owned(), message);
            }
        }
        read
    }

    /// Returns what is to be kept as it was given, or what is refused.
    pub(super) fn finish(self) -> Result<AsGiven, ConfigError> {
        refused(self.messages).map(|()| self.as_given)
    }
}

/// Returns whether a setting is answered as it was given.
fn is_answered_alike(setting: &impl Serialize, given: &Value) -> bool {
    match (serde_json::to_value(setting), given) {
        (Ok(Value::Number(own)), Value::Number(given)) => own.as_f64() == given.as_f64(),
        (Ok(own), given) => own == *given,
        (Err(_), _) => true,
    }
}

/// Fails if there are messages.
pub(super) fn refused(messages: BTreeMap<String, String>) -> Result<(), ConfigError> {
    match messages.is_empty() {
        true => Ok(()),
        false => Err(ConfigError { messages }),
    }
}
