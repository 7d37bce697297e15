//! The grammar of Python's `json.loads`, with its messages and positions.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Json;

/// Levels of lists and maps in each other. Python's limit is some 1,000; ours leaves room for the files that keep the values.
const MAX_DEPTH: usize = 100;

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A character that is not legal there.
    Syntax {
        message: &'static str,
        /// Characters (not bytes) before it.
        position: usize,
    },
    /// Not UTF-8, nested too deeply, or a number of thousands of digits: Python gives up without a position.
    Unreadable { reason: &'static str },
}

/// Reads one JSON value from a body.
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

/// UTF-8, with or without byte order mark. A text in another encoding of Unicode begins with other bytes than any JSON.
fn decode(body: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        Cow::Owned(
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        )
    };
    match body {
        [0xff, 0xfe, rest @ ..] => return Ok(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => return Ok(wide(rest, u16::from_be_bytes)),
        _ => {}
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    std::str::from_utf8(body)
        .map(Cow::Borrowed)
        .map_err(|_| Malformed::Unreadable {
            reason: "it is not UTF-8",
        })
}

/// A place in the text.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    /// Bytes read so far, always at the edge of a character.
    pub(super) at: usize,
    depth: usize,
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn syntax(&self, message: &'static str, at: usize) -> Malformed {
        let before = self.text.get(..at).unwrap_or(self.text);
        Malformed::Syntax {
            message,
            position: before.chars().count(),
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, Malformed> {
        match self.peek() {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'{') => self.nested(Self::map),
            Some(b'[') => self.nested(Self::list),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<Json, Malformed> {
        const LITERALS: [(&str, Json); 6] = [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("NaN", Json::Float(f64::NAN)),
            ("Infinity", Json::Float(f64::INFINITY)),
            ("-Infinity", Json::Float(f64::NEG_INFINITY)),
        ];
        for (name, value) in LITERALS {
            if self.rest().starts_with(name) {
                self.at += name.len();
                return Ok(value);
            }
        }
        self.number()
    }

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

    fn map(&mut self) -> Result<Json, Malformed> {
        const NAME: &str = "Expecting property name enclosed in double quotes";
        let mut entries = Vec::new();
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

    /// Takes the bracket that closes, if it is there.
    fn ends_with(&mut self, bracket: u8) -> bool {
        let ends = self.peek() == Some(bracket);
        self.at += usize::from(ends);
        ends
    }

    /// Takes a delimiter and the blanks after it.
    fn expect(&mut self, delimiter: u8, message: &'static str) -> Result<(), Malformed> {
        if self.peek() != Some(delimiter) {
            return Err(self.syntax(message, self.at));
        }
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }
}
