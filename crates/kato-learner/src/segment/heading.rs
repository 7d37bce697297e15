//! Finds the headings of books and articles: the patterns of the original, read from left to right.

use std::ops::Range;

use super::whitespace::is_space;

/// The zeros of the scripts that have digits of their own, which each follow their zero in order. These
/// are the decimal numbers (`Nd`) of Unicode 16: a later version would cut old texts elsewhere.
const ZEROS: [u32; 76] = [
    0x0030, 0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6,
    0x0d66, 0x0de6, 0x0e50, 0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80,
    0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
    0xff10, 0x104a0, 0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450,
    0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50,
    0x11d50, 0x11da0, 0x11f50, 0x16130, 0x16a60, 0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce,
    0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];

/// The numbers of chapters that are words.
const WORDS: [&str; 10] = [
    "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
];

/// Returns what stands behind the heading that a line begins with; or, where there is none, what is left to
/// search.
pub(super) type Rule = fn(&str) -> Result<&str, &str>;

/// Returns where the first heading at or behind `from` lies, with the line break before it.
pub(super) fn find(rule: Rule, text: &str, from: usize) -> Option<Range<usize>> {
    let mut rest = &text[from..];
    while let Some(found) = memchr::memchr(b'\n', rest.as_bytes()) {
        let start = text.len() - rest.len() + found;
        match rule(&rest[found + 1..]) {
            Ok(behind) => return Some(start..text.len() - behind.len()),
            Err(left) => rest = left,
        }
    }
    None
}

/// Reads `#`s and a blank, a number with a full stop and a blank, or `Section` with a number.
pub(super) fn of_article(line: &str) -> Result<&str, &str> {
    let read = || {
        let mark = some(line, |c| c == '#').or_else(|| some(line, is_digit)?.strip_prefix('.'));
        if let Some(rest) = mark {
            return rest.strip_prefix(is_space);
        }
        let number = some(line.strip_prefix("Section")?, is_space)?;
        some(number, is_digit)?.strip_prefix([':', '\n'])
    };
    read().ok_or(line)
}

/// Reads `Chapter` or `CHAPTER` with a number, white space before it included.
pub(super) fn of_book(line: &str) -> Result<&str, &str> {
    // The line breaks before a word all lead to it, so that it is met once.
    let word = line.trim_start_matches(is_space);
    let read = || {
        let name = word.strip_prefix("Chapter");
        let number = some(name.or_else(|| word.strip_prefix("CHAPTER"))?, is_space)?;
        some(number, is_digit)
            .or_else(|| some(number, |c| matches!(c, 'I' | 'V' | 'X')))
            .or_else(|| WORDS.iter().find_map(|word| number.strip_prefix(word)))?
            .strip_prefix([':', '\n'])
    };
    read().ok_or(word)
}

/// Returns what stands behind one or more characters of a kind.
fn some(text: &str, is_of_kind: impl Fn(char) -> bool) -> Option<&str> {
    let rest = text.trim_start_matches(is_of_kind);
    (rest.len() < text.len()).then_some(rest)
}

/// Returns whether a character is a decimal number in any script.
fn is_digit(c: char) -> bool {
    let c = u32::from(c);
    let n_before = ZEROS.partition_point(|&zero| zero <= c);
    n_before > 0 && c - ZEROS[n_before - 1] < 10
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// The headings as the original states them; its white space has four characters more than `\s` here.
    const ARTICLE: &str = r"\n(?:#+B|\d+\.B|SectionB+\d+[:\n])";
    const BOOK: &str = r"\nB*(?:Chapter|CHAPTER)B+(?:\d+|[IVX]+|One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten)[:\n]";

    fn original(pattern: &str) -> Regex {
        Regex::new(&pattern.replace('B', r"[\s\x1c-\x1f]")).unwrap()
    }

    #[test]
    fn digits_are_those_of_the_original() {
        let digit = Regex::new(r"^\d$").unwrap();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            assert_eq!(
                is_digit(c),
                digit.is_match(c.encode_utf8(&mut buffer)),
                "{c:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn headings_are_found_where_the_original_finds_them(
            parts in prop::collection::vec(prop::sample::select(vec![
                "\n", "\n", "\n", " ", "\u{1c}", "\u{a0}", "#", "##", ".", ":", "1", "٣", "²", "XI", "L", "One", "Ten", "Eleven",
                "Chapter", "CHAPTER", "chapter", "Section", "Chapter ", "Section ", "a",
            ]), 0..24),
        ) {
            let text = parts.concat();
            for (rule, pattern) in [(of_article as Rule, ARTICLE), (of_book, BOOK)] {
                let pattern = original(pattern);
                let mut from = 0;
                loop {
                    let found = find(rule, &text, from);
                    prop_assert_eq!(&found, &pattern.find_at(&text, from).map(|found| found.range()));
                    let Some(found) = found else { break };
                    from = found.end;
                }
            }
        }
    }
}
