//! Parsing of strings: escapes, control characters, surrogates.

use super::parse::Parser;
use super::{Malformed, Text};

const BAD_UNICODE: &str = "Invalid \\uXXXX escape";

impl Parser<'_> {
    /// Parses a string whose opening quote is next.
    pub(super) fn string(&mut self) -> Result<Text, Malformed> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        let mut has_lone_surrogate = false;
        loop {
            // Characters below the space must be escaped in JSON; they end the run only to be
            // refused.
            let plain = self
                .rest()
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .ok_or_else(|| self.syntax("Unterminated string starting at", start))?;
            text.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text {
                        text,
                        has_lone_surrogate,
                    });
                }
                Some(b'\\') => {
                    let c = self.escape(start)?;
                    has_lone_surrogate |= c.is_none();
                    text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                _ => return Err(self.syntax("Invalid control character at", self.at)),
            }
        }
    }

    /// Parses an escape whose backslash is next: a character, or `None` for half of a surrogate
    /// pair.
    fn escape(&mut self, string_start: usize) -> Result<Option<char>, Malformed> {
        let backslash = self.at;
        self.at += 1;
        let plain = match self.peek() {
            None => return Err(self.syntax("Unterminated string starting at", string_start)),
            Some(b'u') => return self.unicode_escape(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) => return Err(self.syntax("Invalid \\escape", backslash)),
        };
        self.at += 1;
        Ok(Some(plain))
    }

    /// Parses the escape of a UTF-16 unit, or of two that are a surrogate pair.
    fn unicode_escape(&mut self) -> Result<Option<char>, Malformed> {
        let u = self.at;
        let first = self
            .four_digits(u)
            .ok_or_else(|| self.syntax(BAD_UNICODE, u))?;
        self.at += 5;
        // A character, or a low surrogate without a high one before it, for which `from_u32`
        // returns `None`.
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first));
        }
        if !self.rest().starts_with("\\u") {
            return Ok(None);
        }
        let u = self.at + 1;
        let second = self
            .four_digits(u)
            .ok_or_else(|| self.syntax(BAD_UNICODE, u))?;
        // The second escape is no low surrogate: it stays unread and counts on its own.
        if !(0xdc00..0xe000).contains(&second) {
            return Ok(None);
        }
        self.at += 6;
        Ok(char::from_u32(
            0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
        ))
    }

    /// Returns the number after the letter `u` at `u`.
    fn four_digits(&self, u: usize) -> Option<u32> {
        let digits = self.text.get(u + 1..u + 5)?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }
}
