//! What a refusal shows of the input that it refuses: all of it where it is short, else its beginning.

use serde_json::{Map, Value};

use super::{Json, Text};

/// Bytes that are shown.
const SHOWN: usize = 4096;

/// Bytes that a value counts beside its text.
const VALUE: usize = 8;

/// Stands for what is left out.
const CUT: &str = "…";

impl Json {
    /// The value, or its beginning.
    pub(crate) fn excerpt(&self) -> Value {
        Room(SHOWN).value(self)
    }
}

/// The beginning of a text.
pub(crate) fn excerpt_of_text(text: &str) -> String {
    Room(SHOWN).text(text)
}

/// The beginning of a map.
pub(crate) fn excerpt_of_map(entries: &[(Text, Json)]) -> Value {
    Room(SHOWN).map(entries)
}

/// Bytes that are left to show.
struct Room(usize);

impl Room {
    fn value(&mut self, json: &Json) -> Value {
        self.0 = self.0.saturating_sub(VALUE);
        match json {
            Json::Text(text) => Value::String(self.text(&text.text)),
            Json::List(items) => self.list(items),
            Json::Map(entries) => self.map(entries),
            Json::Null | Json::Bool(_) | Json::Integer(_) | Json::Float(_) => json.to_value(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let shown = text
            .get(..text.floor_char_boundary(self.0))
            .unwrap_or_default();
        self.0 -= shown.len();
        if shown.len() == text.len() {
            return shown.to_owned();
        }
        self.0 = 0;
        format!("{shown}{CUT}")
    }

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
    use crate::json::parse;

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
