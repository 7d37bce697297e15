//! Takes one or two fields out of a JSON object without building the rest of it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Sink;

/// What a field's path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValue {
    /// Nothing, or null.
    Nothing,
    /// Text, now in the sink.
    Text,
    /// Something else, in words.
    Other(&'static str),
}

/// Appends the text at `text_path`, and the id at `id_path`, to the sink; returns what was found at
/// each.
///
/// A path is a key, or keys joined by dots; a key equal to the whole path is taken as well. When a
/// key is repeated, the last one counts. Integers are taken as ids too.
pub(super) fn extract(
    line: &str,
    text_path: &str,
    id_path: Option<&str>,
    sink: &mut Sink<'_>,
) -> serde_json::Result<(FieldValue, FieldValue)> {
    let mut found = FoundFields {
        text_start: sink.text.len(),
        sink,
        text: FieldValue::Nothing,
        id: FieldValue::Nothing,
    };
    let mut deserializer = serde_json::Deserializer::from_str(line);
    deserializer.deserialize_map(Object {
        text: Some(text_path),
        id: id_path,
        found: &mut found,
    })?;
    // A line is one object: anything behind it makes the line malformed.
    deserializer.end()?;
    Ok((found.text, found.id))
}

/// What was found so far.
struct FoundFields<'s, 'b> {
    sink: &'s mut Sink<'b>,
    text_start: usize,
    text: FieldValue,
    id: FieldValue,
}

impl FoundFields<'_, '_> {
    /// Forgets what an earlier key of the same name held: the last one counts.
    fn clear(&mut self, wanted: Wanted<'_>) {
        // Also where the field lies inside the value: the later object may not have it.
        if wanted.text != Target::Elsewhere {
            self.sink.text.truncate(self.text_start);
            self.text = FieldValue::Nothing;
        }
        if wanted.id != Target::Elsewhere {
            self.sink.id.clear();
            self.id = FieldValue::Nothing;
        }
    }

    /// Takes a string as text, as id, or as both.
    fn set_text(&mut self, wanted: Wanted<'_>, value: &str) {
        if wanted.text == Target::Here {
            self.sink.text.push_str(value);
            self.text = FieldValue::Text;
        }
        self.set_id(wanted, value);
    }

    /// Takes a value as id.
    fn set_id(&mut self, wanted: Wanted<'_>, value: &str) {
        if wanted.id == Target::Here {
            self.sink.id.push_str(value);
            self.id = FieldValue::Text;
        }
    }

    /// Notes that the value is neither text nor null.
    fn set_other(&mut self, wanted: Wanted<'_>, found: &'static str) {
        if wanted.text == Target::Here {
            self.text = FieldValue::Other(found);
        }
        if wanted.id == Target::Here {
            self.id = FieldValue::Other(found);
        }
    }
}

/// Where a field lies, seen from a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target<'p> {
    /// Not in this value.
    Elsewhere,
    /// It is this value.
    Here,
    /// At this path inside it.
    Inside(&'p str),
}

impl<'p> Target<'p> {
    /// Returns where the field at `path` lies, seen from the value of a key.
    fn new(path: Option<&'p str>, key: &str) -> Self {
        // A key that equals the whole path is the field, dots or not; one that equals its beginning
        // up to a dot leads to it.
        match path.and_then(|path| path.strip_prefix(key)) {
            None => Self::Elsewhere,
            Some("") => Self::Here,
            Some(rest) => rest.strip_prefix('.').map_or(Self::Elsewhere, Self::Inside),
        }
    }

    /// Returns the path inside the value, if the field lies there.
    fn path(self) -> Option<&'p str> {
        match self {
            Self::Inside(path) => Some(path),
            Self::Here | Self::Elsewhere => None,
        }
    }
}

/// Where both fields lie, seen from a value.
#[derive(Clone, Copy)]
struct Wanted<'p> {
    text: Target<'p>,
    id: Target<'p>,
}

/// Visits an object, given the paths from it to the fields.
struct Object<'p, 'f, 's, 'b> {
    text: Option<&'p str>,
    id: Option<&'p str>,
    found: &'f mut FoundFields<'s, 'b>,
}

impl<'de> Visitor<'de> for Object<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let keys = Key {
            text: self.text,
            id: self.id,
        };
        while let Some(wanted) = map.next_key_seed(keys)? {
            match (wanted.text, wanted.id) {
                // Checked to be JSON, and never built.
                (Target::Elsewhere, Target::Elsewhere) => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => map.next_value_seed(Value {
                    wanted,
                    found: &mut *self.found,
                })?,
            }
        }
        Ok(())
    }
}

/// Compares a key with the paths, without keeping it.
#[derive(Clone, Copy)]
struct Key<'p> {
    text: Option<&'p str>,
    id: Option<&'p str>,
}

impl<'de, 'p> DeserializeSeed<'de> for Key<'p> {
    type Value = Wanted<'p>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Wanted<'p>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'p> Visitor<'_> for Key<'p> {
    type Value = Wanted<'p>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Wanted<'p>, E> {
        Ok(Wanted {
            text: Target::new(self.text, key),
            id: Target::new(self.id, key),
        })
    }
}

/// Visits a value that is, or contains, a wanted field.
struct Value<'p, 'f, 's, 'b> {
    wanted: Wanted<'p>,
    found: &'f mut FoundFields<'s, 'b>,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.found.clear(self.wanted);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.found.set_text(self.wanted, value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        // Null is as good as no field: what was found so far was cleared.
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.found.set_other(self.wanted, "a boolean");
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        // A number is not text, but an integer will do as an id: the second call then replaces what
        // the first has noted.
        self.found.set_other(self.wanted, "a number");
        self.found.set_id(self.wanted, &value.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.found.set_other(self.wanted, "a number");
        self.found.set_id(self.wanted, &value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.found.set_other(self.wanted, "a number");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.found.set_other(self.wanted, "an array");
        // The deserializer insists on being read to the end of the array.
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.found.set_other(self.wanted, "an object");
        Object {
            text: self.wanted.text.path(),
            id: self.wanted.id.path(),
            found: self.found,
        }
        .visit_map(map)
    }
}
