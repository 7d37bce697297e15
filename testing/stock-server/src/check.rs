//! Checks of JSON values against KATO's models. What is wrong is gathered, with its place, in
//! pydantic's words.

use kato_protocol::Observation;
use kato_protocol::observation::EmotiveValues;
use kato_protocol::sequence::SequenceItem;
use serde_json::{Map, Value, json};

pub(crate) const NO_MODEL: &str =
    "Input should be a valid dictionary or object to extract fields from";

/// Faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Check(pub(crate) Vec<Value>);

/// Place in a body, as a chain of keys and indices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    within: Option<&'a Self>,
    key: Option<&'a str>,
    idx: usize,
}

/// Place of the body as a whole.
pub(crate) const BODY: At<'static> = At {
    within: None,
    key: Some("body"),
    idx: 0,
};

impl<'a> At<'a> {
    /// Returns the place of a key within this one.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        let within = Some(self);
        Self {
            within,
            key: Some(key),
            idx: 0,
        }
    }

    /// Returns the place of an element within this one.
    fn idx(&'a self, idx: usize) -> Self {
        let within = Some(self);
        Self {
            within,
            key: None,
            idx,
        }
    }

    /// Returns the place as pydantic writes it.
    fn path(&self) -> Vec<Value> {
        let mut path = self.within.map(At::path).unwrap_or_default();
        path.push(self.key.map_or_else(|| json!(self.idx), |key| json!(key)));
        path
    }
}

impl Check {
    /// Adds a fault.
    pub(crate) fn fail(&mut self, kind: &str, at: At<'_>, msg: &str, input: &Value) {
        self.0
            .push(json!({"type": kind, "loc": at.path(), "msg": msg, "input": input}));
    }

    /// Adds the fault that a field is missing, and returns a value in its place.
    pub(crate) fn missing<T: Default>(&mut self, name: &str, within: &Value) -> T {
        self.fail("missing", BODY.key(name), "Field required", within);
        // Checking goes on with some value, because KATO lists all faults of a body at once.
        T::default()
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, value: &Value, at: At<'_>) -> String {
        match value {
            Value::String(text) => return text.clone(),
            other => self.fail("string_type", at, "Input should be a valid string", other),
        }
        String::new()
    }

    /// Reads a number.
    fn number(&mut self, value: &Value, at: At<'_>) -> f64 {
        match value {
            Value::Number(number) => return number.as_f64().unwrap_or_default(),
            // Pydantic's lax mode takes booleans and texts for numbers.
            Value::Bool(is_one) => return f64::from(u8::from(*is_one)),
            Value::String(text) => match text.trim().parse() {
                Ok(number) => return number,
                Err(_) => {
                    let msg = "Input should be a valid number, unable to parse string as a number";
                    self.fail("float_parsing", at, msg, value);
                }
            },
            other => self.fail("float_type", at, "Input should be a valid number", other),
        }
        0.0
    }

    /// Reads a whole number that is not negative.
    pub(crate) fn integer(&mut self, value: &Value, at: At<'_>) -> Option<u64> {
        // Pydantic takes `7.0` for an integer, but not `5.5`.
        let whole = value.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0);
        match value {
            Value::String(text) => match text.trim().parse() {
                Ok(number) => return Some(number),
                Err(_) => {
                    let msg =
                        "Input should be a valid integer, unable to parse string as an integer";
                    self.fail("int_parsing", at, msg, value);
                }
            },
            Value::Number(_) => match value.as_u64().or(whole.map(|x| x as u64)) {
                Some(number) => return Some(number),
                None => {
                    let msg =
                        "Input should be a valid integer, got a number with a fractional part";
                    self.fail("int_from_float", at, msg, value);
                }
            },
            other => self.fail("int_type", at, "Input should be a valid integer", other),
        }
        None
    }

    /// Reads a boolean, false if there is none.
    pub(crate) fn flag(&mut self, value: Option<&Value>, name: &str) -> bool {
        match value {
            None => {}
            Some(Value::Bool(flag)) => return *flag,
            Some(other) => {
                let msg = "Input should be a valid boolean";
                self.fail("bool_type", BODY.key(name), msg, other);
            }
        }
        false
    }

    /// Reads a list, empty if there is none.
    pub(crate) fn list<T>(
        &mut self,
        value: Option<&Value>,
        at: At<'_>,
        mut item: impl FnMut(&mut Self, &Value, At<'_>) -> T,
    ) -> Vec<T> {
        match value {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                items
                    .map(|(idx, value)| item(self, value, at.idx(idx)))
                    .collect()
            }
            Some(other) => {
                self.fail("list_type", at, "Input should be a valid list", other);
                Vec::new()
            }
        }
    }

    /// Reads a map, empty if there is none.
    fn map(&mut self, value: Option<&Value>, at: At<'_>) -> Map<String, Value> {
        match value {
            None => {}
            Some(Value::Object(map)) => return map.clone(),
            Some(other) => self.fail("dict_type", at, "Input should be a valid dictionary", other),
        }
        Map::new()
    }

    /// Reads a map that may be null.
    pub(crate) fn map_or_null(
        &mut self,
        value: Option<&Value>,
        name: &str,
    ) -> Option<Map<String, Value>> {
        let value = value.filter(|value| !value.is_null())?;
        Some(self.map(Some(value), BODY.key(name)))
    }

    /// Reads an observation of a sequence.
    pub(crate) fn item(&mut self, value: &Value, at: At<'_>) -> SequenceItem {
        let unique_id = value.get("unique_id").filter(|id| !id.is_null());
        let unique_id = unique_id.map(|id| self.text(id, at.key("unique_id")));
        SequenceItem {
            observation: self.observation(value, at),
            // An empty id counts as not given.
            unique_id: unique_id.filter(|id| !id.is_empty()),
        }
    }

    /// Reads an observation.
    pub(crate) fn observation(&mut self, value: &Value, at: At<'_>) -> Observation {
        if !value.is_object() {
            self.fail("model_attributes_type", at, NO_MODEL, value);
            return Observation::default();
        }
        let emotives = self.map(value.get("emotives"), at.key("emotives"));
        let emotives: EmotiveValues = emotives
            .iter()
            .map(|(name, value)| {
                let within = at.key("emotives");
                (name.clone(), self.number(value, within.key(name)))
            })
            .collect();
        Observation {
            strings: self.list(value.get("strings"), at.key("strings"), Self::text),
            vectors: self.list(
                value.get("vectors"),
                at.key("vectors"),
                |check, vector, at| check.list(Some(vector), at, Self::number),
            ),
            emotives,
            metadata: self.map(value.get("metadata"), at.key("metadata")),
        }
    }
}
