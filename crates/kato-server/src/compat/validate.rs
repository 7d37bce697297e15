//! Checks of request data with pydantic's rules, words and order: all faults of a request are
//! found, each with its place.

mod fault;
mod scalar;

use kato_engine::Observation;
use kato_model::{EmotiveMap, MetadataValue};
use kato_protocol::error::ValidationDetail;
use serde_json::{Value, json};

pub(crate) use self::fault::{
    DICT_TYPE, FINITE_NUMBER, Fault, LIST_TYPE, MISSING, MODEL_TYPE, NOT_NEGATIVE, STRING_TYPE,
    STRING_UNICODE, TOO_GREAT, TOO_MANY_ERRORS,
};
pub(crate) use self::scalar::{as_bool, as_float, as_integer, bool_of_text, integer_of_text};
use crate::compat::json::{Excerpts, Json, Malformed, Text, excerpt_of_place, field};

/// Longest lifetime of a session: a hundred years, in seconds.
pub(crate) const MAX_TTL_SECONDS: i64 = 3_153_600_000;

/// Most faults that are listed: a request may have one for every item.
const MAX_DETAILS: usize = 100;

/// Collects the faults of a request, each with its place. Stops checking once there are more than
/// it lists.
///
/// A value with a fault is replaced by a default, so that the check can go on; `finish` makes sure
/// that no such value is ever used.
#[derive(Debug)]
pub(crate) struct Check {
    loc: Vec<Value>,
    details: Vec<ValidationDetail>,
    excerpts: Excerpts,
    /// Whether there are more faults than are listed, or parts that were not checked.
    is_cut: bool,
}

impl Check {
    /// Creates a check of the `body`, the `query` or the `path`.
    pub(crate) fn new(part: &str) -> Self {
        Self {
            loc: vec![Value::from(part)],
            details: Vec::new(),
            excerpts: Excerpts::default(),
            is_cut: false,
        }
    }

    /// Returns the value if no fault was found, else all faults.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Vec<ValidationDetail>> {
        if self.details.is_empty() {
            return Ok(value);
        }
        if self.is_cut {
            self.details
                .push(detail(TOO_MANY_ERRORS, &self.loc, Value::Null, None));
        }
        Err(self.details)
    }

    /// Adds a fault of an input.
    pub(crate) fn fault(&mut self, fault: Fault, input: &Json) {
        if !self.is_over() {
            // Excerpts cost time and memory, so they are made only for faults that are listed.
            let input = self.excerpts.of(input);
            self.fault_with(fault, input, None);
        }
    }

    /// Adds a fault as [`fault`](Self::fault) does, with an input that is short.
    pub(crate) fn fault_with(&mut self, fault: Fault, input: Value, ctx: Option<Value>) {
        if !self.is_over() {
            self.details.push(detail(fault, &self.loc, input, ctx));
        }
    }

    /// Adds a fault whose message depends on the input, as [`fault`](Self::fault) does.
    pub(crate) fn fault_saying(
        &mut self,
        (kind, message): (&str, String),
        input: &Json,
        ctx: Value,
    ) {
        if !self.is_over() {
            let input = self.excerpts.of(input);
            self.details.push(ValidationDetail {
                kind: kind.to_owned(),
                loc: excerpt_of_place(&self.loc),
                msg: message,
                input,
                ctx: Some(ctx),
            });
        }
    }

    /// Returns whether nothing more is to be checked because nothing more would be listed.
    fn is_over(&mut self) -> bool {
        let is_full = self.details.len() >= MAX_DETAILS;
        self.is_cut |= is_full;
        is_full
    }

    /// Checks a part.
    pub(crate) fn at<T>(
        &mut self,
        place: impl Into<Value>,
        look: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.loc.push(place.into());
        let value = look(self);
        self.loc.pop();
        value
    }

    /// Checks a field if it is there.
    pub(crate) fn field<'m, T: Default>(
        &mut self,
        map: &'m [(Text, Json)],
        name: &str,
        look: impl FnOnce(&mut Self, &'m Json) -> T,
    ) -> T {
        match field(map, name) {
            Some(value) => self.at(name, |check| look(check, value)),
            None => T::default(),
        }
    }

    /// Checks a field that must be there.
    pub(crate) fn required<T: Default>(
        &mut self,
        map: &[(Text, Json)],
        name: &str,
        look: impl FnOnce(&mut Self, &Json) -> T,
    ) -> T {
        match field(map, name) {
            Some(value) => self.at(name, |check| look(check, value)),
            None => {
                if !self.is_over() {
                    // pydantic shows the object in which the field is missing.
                    let input = self.excerpts.of_map(map);
                    self.at(name, |check| check.fault_with(MISSING, input, None));
                }
                T::default()
            }
        }
    }

    /// Checks a string.
    pub(crate) fn string(&mut self, value: &Json) -> String {
        match value {
            Json::Text(text) => self.text(text),
            other => {
                self.fault(STRING_TYPE, other);
                String::new()
            }
        }
    }

    /// Checks that a text has no half of a surrogate pair, which no UTF-8 could store.
    fn text(&mut self, text: &Text) -> String {
        if text.has_lone_surrogate {
            let input = self.excerpts.of_text(&text.text);
            self.fault_with(STRING_UNICODE, input, None);
        }
        text.text.clone()
    }

    /// Checks a value that may also be `null`.
    pub(crate) fn optional<'v, T>(
        &mut self,
        value: &'v Json,
        look: impl FnOnce(&mut Self, &'v Json) -> T,
    ) -> Option<T> {
        (*value != Json::Null).then(|| look(self, value))
    }

    /// Checks a list and its items.
    pub(crate) fn list<T>(
        &mut self,
        value: &Json,
        mut look: impl FnMut(&mut Self, &Json) -> T,
    ) -> Vec<T> {
        let Json::List(items) = value else {
            self.fault(LIST_TYPE, value);
            return Vec::new();
        };
        let mut looked_at = Vec::with_capacity(items.len());
        for (idx, item) in items.iter().enumerate() {
            if self.is_over() {
                break;
            }
            looked_at.push(self.at(idx, |check| look(check, item)));
        }
        looked_at
    }

    /// Checks a map.
    pub(crate) fn map<'v>(&mut self, value: &'v Json) -> &'v [(Text, Json)] {
        match value {
            Json::Map(entries) => entries,
            other => {
                self.fault(DICT_TYPE, other);
                &[]
            }
        }
    }

    /// Checks a map whose keys are known.
    pub(crate) fn model<'v>(&mut self, value: &'v Json) -> Option<&'v [(Text, Json)]> {
        match value {
            Json::Map(entries) => Some(entries),
            other => {
                self.fault(MODEL_TYPE, other);
                None
            }
        }
    }

    /// Checks a number that is neither infinite nor NaN: KATO accepts those and fails later.
    fn finite(&mut self, value: &Json) -> f64 {
        match as_float(value) {
            Ok(number) if number.is_finite() => number,
            Ok(_) => {
                self.fault(FINITE_NUMBER, value);
                0.0
            }
            Err(fault) => {
                self.fault(fault, value);
                0.0
            }
        }
    }

    /// Checks a boolean.
    pub(crate) fn boolean(&mut self, value: &Json) -> bool {
        as_bool(value).unwrap_or_else(|fault| {
            self.fault(fault, value);
            false
        })
    }

    /// Checks a list of strings.
    pub(crate) fn strings(&mut self, value: &Json) -> Vec<String> {
        self.list(value, Self::string)
    }

    /// Checks emotives: finite numbers by name.
    pub(crate) fn emotives(&mut self, value: &Json) -> EmotiveMap {
        let mut emotives = EmotiveMap::new();
        for (key, value) in self.map(value) {
            if self.is_over() {
                break;
            }
            let name = key.text.clone();
            let number = self.at(name.clone(), |check| {
                check.text(key);
                check.finite(value)
            });
            emotives.insert(name, number);
        }
        emotives
    }

    /// Checks metadata: any JSON by name.
    pub(crate) fn metadata<M: FromIterator<(String, MetadataValue)>>(&mut self, value: &Json) -> M {
        let entries = self.any_entries(value).iter();
        entries
            .map(|(key, value)| (key.text.clone(), value.to_metadata()))
            .collect()
    }

    /// Checks a map from any keys to any values.
    pub(crate) fn any_entries<'j>(&mut self, value: &'j Json) -> &'j [(Text, Json)] {
        let entries = self.map(value);
        for (key, value) in entries {
            if self.is_over() {
                return &[];
            }
            self.at(key.text.clone(), |check| {
                check.text(key);
                check.any(value);
            });
        }
        entries
    }

    /// Checks any JSON for halves of surrogate pairs.
    fn any(&mut self, value: &Json) {
        match value {
            Json::Text(text) => {
                self.text(text);
            }
            Json::List(items) => {
                for (idx, item) in items.iter().enumerate() {
                    if self.is_over() {
                        return;
                    }
                    self.at(idx, |check| check.any(item));
                }
            }
            Json::Map(entries) => {
                for (key, value) in entries {
                    if self.is_over() {
                        return;
                    }
                    self.at(key.text.clone(), |check| {
                        check.text(key);
                        check.any(value);
                    });
                }
            }
            Json::Null | Json::Bool(_) | Json::Integer(_) | Json::Float(_) => {}
        }
    }

    /// Checks an observation.
    pub(crate) fn observation(&mut self, map: &[(Text, Json)]) -> Observation {
        Observation {
            strings: self.field(map, "strings", Self::strings),
            vectors: self.field(map, "vectors", |check, value| {
                check.list(value, |check, vector| check.list(vector, Self::finite))
            }),
            emotives: self.field(map, "emotives", Self::emotives),
            metadata: self.field(map, "metadata", Self::metadata),
        }
    }
}

/// Returns the seconds if they are a possible lifetime: KATO fails for those that are negative or
/// reach beyond its calendar.
pub(crate) fn ttl_in_range(check: &mut Check, seconds: i128, input: &Value) -> i64 {
    // 0 stands for a value with a fault: it is never used, because the faults are returned instead.
    match i64::try_from(seconds) {
        Ok(seconds) if (0..=MAX_TTL_SECONDS).contains(&seconds) => return seconds,
        _ if seconds < 0 => {
            let ctx = json!({"ge": 0});
            check.fault_with(NOT_NEGATIVE, input.clone(), Some(ctx));
        }
        _ => {
            let ctx = json!({"le": MAX_TTL_SECONDS});
            check.fault_with(TOO_GREAT, input.clone(), Some(ctx));
        }
    }
    0
}

/// Describes a fault at a place, with no more than the beginning of a place of long keys.
fn detail(fault: Fault, loc: &[Value], input: Value, ctx: Option<Value>) -> ValidationDetail {
    ValidationDetail {
        kind: fault.kind.to_owned(),
        loc: excerpt_of_place(loc),
        msg: fault.message.to_owned(),
        input,
        ctx,
    }
}

/// Returns FastAPI's description of a body that is no JSON, if it tells the position.
pub(crate) fn malformed(error: &Malformed) -> Option<ValidationDetail> {
    let Malformed::Syntax { message, position } = error else {
        return None;
    };
    Some(ValidationDetail {
        kind: "json_invalid".to_owned(),
        // FastAPI puts the position where an index would be.
        loc: vec![Value::from("body"), Value::from(*position)],
        msg: "JSON decode error".to_owned(),
        input: Value::Object(serde_json::Map::new()),
        ctx: Some(json!({"error": message})),
    })
}
