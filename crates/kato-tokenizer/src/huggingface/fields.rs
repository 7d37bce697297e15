//! Members of the objects of a definition, by name and kind.

use serde_json::Value;

use super::error::DefinitionError;
use super::limits::{MAX_AFFIX_BYTES, MAX_NESTING, MAX_STEPS};

/// An object of a definition, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) part: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Fields<'a> {
    /// Returns a member, `None` when it is missing or null.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn bool(self, name: &'static str) -> Result<bool, DefinitionError> {
        let value = self.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| DefinitionError::field(self.part, name, "true or false"))
    }

    pub(super) fn bool_or(
        self,
        name: &'static str,
        default: bool,
    ) -> Result<bool, DefinitionError> {
        match self.get(name) {
            None => Ok(default),
            Some(_) => self.bool(name),
        }
    }

    pub(super) fn number(self, name: &'static str) -> Result<u64, DefinitionError> {
        let value = self.get(name).and_then(Value::as_u64);
        value.ok_or_else(|| DefinitionError::field(self.part, name, "a number from 0"))
    }

    /// Returns a text of a length that may be put into others.
    pub(super) fn text(self, name: &'static str) -> Result<&'a str, DefinitionError> {
        let text = self.get(name).and_then(Value::as_str);
        let text = text.ok_or_else(|| DefinitionError::field(self.part, name, "a text"))?;
        if text.len() > MAX_AFFIX_BYTES {
            return Err(DefinitionError::long(self.part, name, text.len()));
        }
        Ok(text)
    }

    pub(super) fn text_or_empty(self, name: &'static str) -> Result<&'a str, DefinitionError> {
        match self.get(name) {
            None => Ok(""),
            Some(_) => self.text(name),
        }
    }

    pub(super) fn char(self, name: &'static str) -> Result<char, DefinitionError> {
        let mut characters = self.text(name)?.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(DefinitionError::field(self.part, name, "one character")),
        }
    }

    pub(super) fn kind(self) -> Result<&'a str, DefinitionError> {
        self.text("type")
    }

    /// Returns the error of a kind that is not known.
    pub(super) fn unknown(self) -> DefinitionError {
        let kind = self.kind().unwrap_or_default();
        DefinitionError::unsupported(self.part, format!("the type `{kind}`"))
    }
}

/// Calls `step` with every step of the part of a definition, those of sequences one after the other.
pub(super) fn for_each_step(
    part: &'static str,
    value: &Value,
    members: &'static str,
    step: &mut impl FnMut(Fields<'_>) -> Result<(), DefinitionError>,
) -> Result<(), DefinitionError> {
    let mut n = 0;
    visit(part, value, members, MAX_NESTING, &mut |fields| {
        n += 1;
        if n > MAX_STEPS {
            return Err(DefinitionError::TooManySteps(part));
        }
        step(fields)
    })
}

fn visit(
    part: &'static str,
    value: &Value,
    members: &'static str,
    depth: usize,
    step: &mut impl FnMut(Fields<'_>) -> Result<(), DefinitionError>,
) -> Result<(), DefinitionError> {
    let fields = Fields { part, value };
    if value.is_null() {
        return Ok(());
    }
    if fields.kind()? != "Sequence" {
        return step(fields);
    }
    if depth == 0 {
        return Err(DefinitionError::TooDeep(part));
    }
    let list = fields.get(members).and_then(Value::as_array);
    let list = list.ok_or_else(|| DefinitionError::field(part, members, "a list"))?;
    list.iter().try_for_each(|value| {
        if value.is_null() {
            return Err(DefinitionError::field(part, "type", "a text"));
        }
        visit(part, value, members, depth - 1, step)
    })
}
