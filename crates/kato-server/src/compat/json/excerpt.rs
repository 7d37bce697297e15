//! Excerpts of refused input: all of it if it is short, else its beginning.

use serde_json::{Map, Value};

use super::{Json, Text};

/// Bytes of input that an excerpt shows, however many there are.
const SHOWN: usize = 4096;

/// Bytes that the first excerpts of an answer show together.
const SHOWN_FIRST: usize = 64 * 1024;

/// Bytes that every value counts beside its text, so that a list of a million empty texts is cut as
/// well.
const VALUE: usize = 8;

/// The mark for what is left out.
const CUT: &str = "…";

impl Json {
    /// Returns the value, or its beginning.
    pub(crate) fn excerpt(&self) -> Value {
        Room(SHOWN).value(self)
    }
}

/// The excerpts of one answer. KATO shows all of an input, and this does until it has shown much: a hundred
/// faults may each have the same large object for their input.
#[derive(Debug)]
pub(crate) struct Excerpts {
    left: usize,
}

impl Default for Excerpts {
    fn default() -> Self {
        Self { left: SHOWN_FIRST }
    }
}

impl Excerpts {
    /// Returns the value, or its beginning.
    pub(crate) fn of(&mut self, json: &Json) -> Value {
        self.show(|room| room.value(json))
    }

    /// Returns the text, or its beginning.
    pub(crate) fn of_text(&mut self, text: &str) -> Value {
        self.show(|room| Value::from(room.text(text)))
    }

    /// Returns the map, or its beginning.
    pub(crate) fn of_map(&mut self, entries: &[(Text, Json)]) -> Value {
        self.show(|room| room.map(entries))
    }

    fn show(&mut self, show: impl FnOnce(&mut Room) -> Value) -> Value {
        let most = self.left.max(SHOWN);
        let mut room = Room(most);
        let shown = show(&mut room);
        self.left = self.left.saturating_sub(most - room.0);
        shown
    }
}

/// Returns the text, or its beginning.
pub(crate) fn excerpt_of_text(text: &str) -> String {
    Room(SHOWN).text(text)
}

/// Returns the keys and positions that lead to a place, with the beginning of keys that are long
/// together: a hundred faults may lie behind the same hundred keys.
pub(crate) fn excerpt_of_place(place: &[Value]) -> Vec<Value> {
    let mut room = Room(SHOWN);
    let step = |step: &Value| match step {
        Value::String(key) => Value::from(room.text(key)),
        position => position.clone(),
    };
    place.iter().map(step).collect()
}

/// The number of bytes that may still be shown.
struct Room(usize);

impl Room {
    /// Returns as much of a value as there is room for.
    fn value(&mut self, json: &Json) -> Value {
        self.0 = self.0.saturating_sub(VALUE);
        match json {
            Json::Text(text) => Value::String(self.text(&text.text)),
            Json::List(items) => self.list(items),
            Json::Map(entries) => self.map(entries),
            Json::Null | Json::Bool(_) | Json::Integer(_) | Json::Float(_) => json.to_value(),
        }
    }

    /// Returns as much of a text as there is room for.
    fn text(&mut self, text: &str) -> String {
        let shown = text
            .get(..text.floor_char_boundary(self.0))
            .unwrap_or_default();
        // Cannot underflow: no more was taken than there was room.
        self.0 -= shown.len();
        if shown.len() == text.len() {
            return shown.to_owned();
        }
        // A few bytes may be left before a character that did not fit; nothing behind it may use
        // them.
        self.0 = 0;
        format!("{shown}{CUT}")
    }

    /// Returns as many items of a list as there is room for.
    fn list(&mut self, items: &[Json]) -> Value {
        let mut shown = Vec::new();
        for item in items {
            if self.0 == 0 {
                shown.push(Value::from(CUT));
                break;
            }
            shown.push(self.value(item));
        }
        Value::Array(shown)
    }

    /// Returns as many entries of a map as there is room for.
    fn map(&mut self, entries: &[(Text, Json)]) -> Value {
        let mut shown = Map::new();
        for (key, value) in entries {
            if self.0 == 0 {
                shown.insert(CUT.to_owned(), Value::from(CUT));
                break;
            }
            let key = self.text(&key.text);
            shown.insert(key, self.value(value));
        }
        Value::Object(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::json::parse;

    #[test]
    fn a_place_is_shown_up_to_a_size_however_deep_it_lies() {
        let short = [Value::from("body"), Value::from("events"), Value::from(3)];
        assert_eq!(excerpt_of_place(&short), short);
        let long = vec![Value::from("k".repeat(3_000)); 100];
        let shown = Value::from(excerpt_of_place(&long)).to_string();
        assert!(shown.len() < 2 * SHOWN && shown.contains(CUT), "{shown}");
    }

    #[test]
    fn an_answer_shows_long_input_until_it_has_shown_much() {
        let long = parse(format!("\"{}\"", "x".repeat(40_000)).as_bytes()).unwrap();
        let mut excerpts = Excerpts::default();
        let lengths: Vec<_> = (0..4)
            .map(|_| excerpts.of(&long).as_str().unwrap().len())
            .collect();
        let cut = CUT.len();
        let second = SHOWN_FIRST - 40_000 - 2 * VALUE;
        let least = SHOWN - VALUE;
        assert_eq!(lengths, [40_000, second + cut, least + cut, least + cut]);
    }

    #[test]
    fn short_input_is_shown_as_it_is_and_long_input_is_cut() {
        let excerpt = |text: &str| parse(text.as_bytes()).unwrap().excerpt();
        let short = r#"{"a":[1,null,"x",{"b":[]}],"c":"y"}"#;
        assert_eq!(excerpt(short).to_string(), short);
        for long in [
            format!("\"{}\"", "é".repeat(100_000)),
            format!("[{}0]", "0,".repeat(100_000)),
            format!("[[{}[]]]", "[],".repeat(100_000)),
            format!("{{\"{}\":[{}0]}}", "k".repeat(5_000), "0,".repeat(100_000)),
        ] {
            let shown = excerpt(&long).to_string();
            assert!(shown.len() < 2 * SHOWN && shown.contains(CUT), "{shown}");
        }
    }
}
