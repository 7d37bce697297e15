//! The card of a dataset in the text of its `README.md`: YAML between two lines of `---`.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Longest card that is read, in bytes.
const MAX_BYTES: usize = 4 << 20;
/// Values that a card may have, counting those that it repeats by reference.
const MAX_VALUES: usize = 200_000;
/// Depth to which values may be nested.
const MAX_DEPTH: usize = 64;

/// Returns the card; `None` if there is none, or if it is no YAML, or too large.
pub(super) fn card(readme: &str) -> Option<Value> {
    let text = readme.strip_prefix('\u{feff}').unwrap_or(readme);
    let mut lines = text.split_inclusive('\n');
    let is_mark = |line: &str| line.trim_end() == "---";
    if !lines.next().is_some_and(is_mark) {
        return None;
    }
    let mut yaml = String::new();
    loop {
        match lines.next()? {
            line if is_mark(line) => break,
            line => yaml.push_str(line),
        }
        if yaml.len() > MAX_BYTES {
            return None;
        }
    }
    parse(&yaml)
}

/// Parses YAML into the values that JSON has. Scalars are texts, except for true, false and null.
fn parse(yaml: &str) -> Option<Value> {
    let mut reader = Reader {
        parser: Parser::new_from_str(yaml),
        anchors: Vec::new(),
        left: MAX_VALUES,
    };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            event => return reader.value(event, 0),
        }
    }
}

/// Values that are being read.
struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Values with an anchor, by its number, and how many values each holds.
    anchors: Vec<(usize, Value, usize)>,
    /// Values that may still come.
    left: usize,
}

impl<'a> Reader<'a> {
    /// Returns the next event; `None` at the end or at an error.
    fn next(&mut self) -> Option<Event<'a>> {
        let (event, _) = self.parser.next_event()?.ok()?;
        Some(event)
    }

    /// Returns the value that begins with an event.
    fn value(&mut self, event: Event<'a>, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let before = self.left;
        self.left = self.left.checked_sub(1)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
                (Value::Array(items), anchor)
            }
            Event::MappingStart(anchor, _) => {
                let mut fields = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => break,
                        event => self.value(event, depth + 1)?,
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    let key = match key {
                        Value::String(key) => key,
                        other => other.to_string(),
                    };
                    fields.insert(key, value);
                }
                (Value::Object(fields), anchor)
            }
            Event::Alias(anchor) => {
                let found = self.anchors.iter().rev().find(|(id, ..)| *id == anchor);
                let (_, value, size) = found?;
                // A few lines of references stand for more values than there is memory.
                self.left = self.left.checked_sub(*size)?;
                return Some(value.clone());
            }
            _ => return None,
        };
        if anchor > 0 {
            let size = before - self.left;
            self.left = self.left.checked_sub(size)?;
            self.anchors.push((anchor, value.clone(), size));
        }
        Some(value)
    }
}

/// Returns the value of a scalar.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    match (style, text) {
        (ScalarStyle::Plain, "true" | "True" | "TRUE") => Value::Bool(true),
        (ScalarStyle::Plain, "false" | "False" | "FALSE") => Value::Bool(false),
        (ScalarStyle::Plain, "" | "~" | "null" | "Null" | "NULL") => Value::Null,
        (_, text) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_stands_between_two_lines() {
        let readme = "---\nlicense: mit\nconfigs:\n- config_name: en\n  default: true\n  data_files:\n  - split: train\n    \
                      path: \"en/*.jsonl\"\n---\n# Corpus\n";
        let expected = json!({
            "license": "mit",
            "configs": [{
                "config_name": "en", "default": true, "data_files": [{"split": "train", "path": "en/*.jsonl"}]
            }],
        });
        assert_eq!(card(readme), Some(expected.clone()));
        assert_eq!(card(&readme.replace('\n', "\r\n")), Some(expected.clone()));
        assert_eq!(card(&format!("\u{feff}{readme}")), Some(expected));
        for none in [
            "",
            "# Corpus",
            "---\nlicense: mit\n",
            "\n---\na: b\n---\n",
            "---\n[\n---\n",
            "---\n---\n",
        ] {
            assert_eq!(card(none), None, "{none}");
        }
    }

    #[test]
    fn references_are_followed_as_far_as_there_is_room() {
        assert_eq!(
            card("---\na: &x [1, 2]\nb: *x\n---\n"),
            Some(json!({"a": ["1", "2"], "b": ["1", "2"]}))
        );
        let mut bomb = "---\na0: &a0 [x]\n".to_owned();
        for n in 1..40 {
            bomb += &format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1);
        }
        assert_eq!(card(&(bomb + "---\n")), None);
        let deep = format!("---\na: {}\n---\n", "[".repeat(100_000));
        assert_eq!(card(&deep), None);
    }
}
