//! Parsing of numbers.

use super::parse::Parser;
use super::{Integer, Json, Malformed};

/// Most digits of an integer that Python converts (`sys.int_info.default_max_str_digits`).
const MAX_DIGITS: usize = 4300;

impl Parser<'_> {
    /// Parses a number: as many characters as belong to one. What follows is an error of the
    /// surrounding grammar.
    pub(super) fn number(&mut self) -> Result<Json, Malformed> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            let tail = bytes.get(from..).unwrap_or_default();
            tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let sign = usize::from(bytes.first() == Some(&b'-'));
        // No digit follows a leading zero: of `01` the 0 is the number, and the 1 is what follows.
        let whole = if bytes.get(sign) == Some(&b'0') {
            1
        } else {
            digits(sign)
        };
        if whole == 0 {
            return Err(self.syntax("Expecting value", self.at));
        }
        let integer_end = sign + whole;
        let mut end = integer_end;
        // A point or an `e` without digits behind it is not part of the number, in Python's grammar
        // too.
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let text = self.rest().get(..end).unwrap_or_default();
        let value = if end > integer_end {
            // Python and Rust agree on what a decimal number means, also on one that is too large.
            Json::Float(text.parse().unwrap_or(f64::INFINITY))
        } else if whole > MAX_DIGITS {
            // Python has this limit because the conversion takes quadratic time.
            return Err(Malformed::Unreadable {
                reason: "an integer may have 4300 digits",
            });
        } else {
            let small = text.parse().map(Integer::Small);
            Json::Integer(small.unwrap_or_else(|_| Integer::Large(text.to_owned())))
        };
        self.at += end;
        Ok(value)
    }
}
