#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Advice`] is what errors return; [`in_words`] puts a program's names into any text, and [`counted`] a number
//! with its noun. An [`ErrorClass`] is what a caller can do without reading any, and an [`ErrorKind`] what has happened. With
//! the feature `retry`, `retry` says whether to try again, and after how long.

mod class;
mod kind;
#[cfg(feature = "retry")]
pub mod retry;

use std::fmt;

pub use class::ErrorClass;
pub use kind::ErrorKind;

/// Ways out of an error, each of which helps. A library's settings stand in them in backticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    ways: &'static [&'static str],
}

impl Advice {
    /// Creates advice out of ways, the best first.
    #[must_use]
    pub const fn new(ways: &'static [&'static str]) -> Self {
        Self { ways }
    }

    /// Returns the settings of the library that the ways name.
    pub fn settings(&self) -> impl Iterator<Item = &'static str> {
        self.ways.iter().flat_map(|way| quoted(way))
    }

    /// Returns the ways in the words of a program, which `option` knows for each setting; ways with a
    /// setting that it has no option for are left out. `None` when none is left.
    #[must_use]
    pub fn in_words<'a>(&self, option: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let ways = self.ways.iter();
        let ways = ways.filter(|way| quoted(way).all(|setting| option(setting).is_some()));
        let ways: Vec<String> = ways.map(|way| in_words(way, &option)).collect();
        (!ways.is_empty()).then(|| joined(&ways))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&joined(self.ways))
    }
}

/// Returns a text in which the settings that `option` knows are replaced, backticks included; what
/// else stands in backticks stays.
///
/// ```
/// let option = |setting: &str| (setting == "with_shard").then_some("--shard");
/// let text = "option `with_shard` of `a.txt` is out of range";
/// assert_eq!(
///     kato_advice::in_words(text, option),
///     "option --shard of `a.txt` is out of range"
/// );
/// ```
#[must_use]
pub fn in_words<'a>(text: &str, option: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut parts = text.split('`').peekable();
    let mut words = String::with_capacity(text.len());
    let mut is_quoted = false;
    while let Some(part) = parts.next() {
        // A last part without its closing backtick is not quoted.
        let is_closed = parts.peek().is_some();
        match option(part).filter(|_| is_quoted && is_closed) {
            Some(option) => words.push_str(option),
            None if is_quoted => {
                words.push('`');
                words.push_str(part);
                if is_closed {
                    words.push('`');
                }
            }
            None => words.push_str(part),
        }
        is_quoted = !is_quoted;
    }
    words
}

/// Counts things in words: `1 document`, `1,200 documents`.
#[must_use]
pub fn counted(count: impl TryInto<u64>, one: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        count => format!("{} {one}s", grouped(count)),
    }
}

/// Returns the digits of a number in groups of three: `1,200`.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns what stands in backticks.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// Joins ways: by commas, the last by "or".
fn joined(ways: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (number, way) in ways.iter().enumerate() {
        let between = match (number, ways.len() - number) {
            (0, _) => "",
            (_, 1) => ", or ",
            _ => ", ",
        };
        text += between;
        text += way.as_ref();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(setting: &str) -> Option<&'static str> {
        match setting {
            "a" => Some("--a"),
            "A::B" => Some("--b c"),
            _ => None,
        }
    }

    #[test]
    fn ways_without_an_option_are_left_out() {
        let advice = Advice::new(&["do `a` and `A::B`", "do `x`", "do nothing"]);
        assert_eq!(
            advice.in_words(option).as_deref(),
            Some("do --a and --b c, or do nothing")
        );
        assert_eq!(advice.settings().collect::<Vec<_>>(), ["a", "A::B", "x"]);
        assert_eq!(Advice::new(&["do `x`"]).in_words(option), None);
        assert_eq!(Advice::new(&["do"]).to_string(), "do");
    }

    #[test]
    fn one_thing_is_not_several() {
        for (count, words) in [
            (0, "0 learn calls"),
            (1, "1 learn call"),
            (999, "999 learn calls"),
            (1_200, "1,200 learn calls"),
            (10_020_300, "10,020,300 learn calls"),
        ] {
            assert_eq!(counted(count, "learn call"), words);
        }
        assert_eq!(counted(-1, "byte"), counted(u64::MAX, "byte"));
    }

    #[test]
    fn only_known_names_in_backticks_are_replaced() {
        for (text, words) in [
            ("a `a` a", "a --a a"),
            ("`x` `a`", "`x` --a"),
            ("`a", "`a"),
            ("``", "``"),
            ("`a``a`", "--a--a"),
            ("", ""),
        ] {
            assert_eq!(in_words(text, option), words);
        }
    }
}
