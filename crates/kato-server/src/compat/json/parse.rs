//! The grammar of Python's `json.loads`, with its messages and positions.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Json;

/// Most levels of lists and maps in each other. Python's limit is some 1,000; this one leaves room
/// for the levels of the files that store the values, and bounds the stack that the parser takes.
const MAX_DEPTH: usize = 100;

/// The reason why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A character that is not legal there.
    Syntax {
        message: &'static str,
        /// Number of characters (not bytes) before it.
        position: usize,
    },
    /// The text is not UTF-8, nested too deeply, or holds a number of thousands of digits: Python
    /// fails without a position.
    Unreadable { reason: &'static str },
}

/// Parses a body that is one JSON value.
pub(crate) fn parse(body: &[u8]) -> Result<Json, Malformed> {
    let text = decode(body)?;
    let mut parser = Parser {
        text: &text,
        at: 0,
        depth: 0,
    };
    parser.skip_blanks();
    let value = parser.value()?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.syntax("Extra data", parser.at));
    }
    Ok(value)
}

/// Decodes UTF-8, with or without a byte order mark, and UTF-16 with one. A text in another
/// encoding begins with other bytes than any JSON.
fn decode(body: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    const UNREADABLE: Malformed = Malformed::Unreadable {
        reason: "it is not UTF-8",
    };
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, half) = bytes.as_chunks();
        let units = units.iter().map(|pair| unit(*pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        // Half a unit at the end, or half a surrogate pair: what was meant there is not known, and
        // must not be learned as something else.
        match text {
            Ok(text) if half.is_empty() => Ok(Cow::Owned(text)),
            _ => Err(UNREADABLE),
        }
    };
    match body {
        [0xff, 0xfe, rest @ ..] => return wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return wide(rest, u16::from_be_bytes),
        _ => {}
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    std::str::from_utf8(body)
        .map(Cow::Borrowed)
        .map_err(|_| UNREADABLE)
}

/// A position in the text.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    /// Bytes that were read, always at the edge of a character.
    pub(super) at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Returns the next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the text that was not read yet.
    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Creates the error of a character at a position in bytes.
    pub(super) fn syntax(&self, message: &'static str, at: usize) -> Malformed {
        // Counted only now, because Python's positions are in characters and errors are rare.
        let before = self.text.get(..at).unwrap_or(self.text);
        Malformed::Syntax {
            message,
            position: before.chars().count(),
        }
    }

    /// Skips whitespace: the four characters of JSON, not those of Unicode.
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Parses a value.
    fn value(&mut self) -> Result<Json, Malformed> {
        match self.peek() {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'{') => self.nested(Self::map),
            Some(b'[') => self.nested(Self::list),
            _ => self.literal(),
        }
    }

    /// Parses a literal or a number.
    fn literal(&mut self) -> Result<Json, Malformed> {
        const LITERALS: [(&str, Json); 6] = [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("NaN", Json::Float(f64::NAN)),
            ("Infinity", Json::Float(f64::INFINITY)),
            ("-Infinity", Json::Float(f64::NEG_INFINITY)),
        ];
        // Before numbers, because `-Infinity` begins like one.
        for (name, value) in LITERALS {
            if self.rest().starts_with(name) {
                self.at += name.len();
                return Ok(value);
            }
        }
        self.number()
    }

    /// Parses a list or a map, one level deeper.
    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Json, Malformed>,
    ) -> Result<Json, Malformed> {
        if self.depth == MAX_DEPTH {
            return Err(Malformed::Unreadable {
                reason: "lists and objects may be nested 100 levels deep",
            });
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Parses a list whose bracket was read.
    fn list(&mut self) -> Result<Json, Malformed> {
        let mut items = Vec::new();
        if self.ends_with(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_blanks();
            if self.ends_with(b']') {
                return Ok(Json::List(items));
            }
            self.expect(b',', "Expecting ',' delimiter")?;
        }
    }

    /// Parses a map whose bracket was read.
    fn map(&mut self) -> Result<Json, Malformed> {
        const NAME: &str = "Expecting property name enclosed in double quotes";
        let mut entries = Vec::new();
        // By key, so that a map of many keys does not take quadratic time.
        let mut places = HashMap::new();
        if self.ends_with(b'}') {
            return Ok(Json::Map(entries));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax(NAME, self.at));
            }
            let key = self.string()?;
            self.skip_blanks();
            self.expect(b':', "Expecting ':' delimiter")?;
            let value = self.value()?;
            match places.get(&key.text) {
                // As in Python: a key that comes again keeps its place and gets the later value.
                Some(&place) => {
                    let (_, old): &mut (_, Json) = &mut entries[place];
                    *old = value;
                }
                None => {
                    places.insert(key.text.clone(), entries.len());
                    entries.push((key, value));
                }
            }
            self.skip_blanks();
            if self.ends_with(b'}') {
                return Ok(Json::Map(entries));
            }
            self.expect(b',', "Expecting ',' delimiter")?;
        }
    }

    /// Takes the closing bracket, if it is next.
    fn ends_with(&mut self, bracket: u8) -> bool {
        let ends = self.peek() == Some(bracket);
        self.at += usize::from(ends);
        ends
    }

    /// Takes a delimiter and the whitespace after it.
    fn expect(&mut self, delimiter: u8, message: &'static str) -> Result<(), Malformed> {
        if self.peek() != Some(delimiter) {
            return Err(self.syntax(message, self.at));
        }
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_text_is_read_as_a_whole_or_not_at_all() {
        let wide = |units: &[u16]| -> Vec<u8> {
            let marked = [&[0xfeff][..], units].concat();
            marked.iter().flat_map(|unit| unit.to_le_bytes()).collect()
        };
        let list = wide(&[u16::from(b'['), u16::from(b']')]);
        assert_eq!(parse(&list), Ok(Json::List(Vec::new())));
        let unreadable = Err(Malformed::Unreadable {
            reason: "it is not UTF-8",
        });
        assert_eq!(parse(&[&*list, b" "].concat()), unreadable);
        let lone = wide(&[u16::from(b'"'), 0xd800, u16::from(b'"')]);
        assert_eq!(parse(&lone), unreadable);
    }
}
