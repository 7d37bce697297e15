//! GPT-2's split of a text into words, by hand:
//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.

use std::ops::Range;

use super::unicode::{LETTERS, NUMBERS, SPACES};

/// What the split knows of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Letter,
    Number,
    Space,
}

/// The class of every character, by code point; those beyond the end are [`Class::Other`].
pub(crate) struct Classes(Vec<Class>);

impl Classes {
    pub(crate) fn new() -> Self {
        let mut classes = Vec::new();
        for (runs, class) in [
            (&LETTERS[..], Class::Letter),
            (&NUMBERS[..], Class::Number),
            (&SPACES[..], Class::Space),
        ] {
            for &[first, end] in runs.as_chunks::<2>().0 {
                let (first, end) = (first as usize, end as usize);
                if classes.len() < end {
                    classes.resize(end, Class::Other);
                }
                classes[first..end].fill(class);
            }
        }
        Self(classes)
    }

    #[inline]
    fn of(&self, character: char) -> Class {
        let class = self.0.get(character as usize);
        class.copied().unwrap_or(Class::Other)
    }
}

/// Returns how many ASCII letters `bytes` begins with.
#[inline]
fn ascii_letters(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut n = 0;
    while let Some(&eight) = bytes[n..].first_chunk() {
        let eight = u64::from_le_bytes(eight);
        let lower = (eight | (0x20 * ONES)) & (0x7F * ONES);
        // The upper bit of each byte says: at least `a`, and above `z`.
        let (from_a, above_z) = (lower + 0x1F * ONES, lower + 0x05 * ONES);
        let others = (!from_a | above_z | eight) & (0x80 * ONES);
        if others != 0 {
            return n + others.trailing_zeros() as usize / 8;
        }
        n += 8;
    }
    let rest = bytes[n..].iter();
    n + rest.take_while(|byte| byte.is_ascii_alphabetic()).count()
}

/// The words of a text, in order and without gaps, as ranges of its bytes.
pub(crate) struct Words<'a> {
    classes: &'a Classes,
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(classes: &'a Classes, text: &'a str) -> Self {
        Self {
            classes,
            text,
            at: 0,
        }
    }

    /// Returns class and length of the character at `at`, `None` at the end.
    #[inline]
    fn class_at(&self, at: usize) -> Option<(Class, usize)> {
        let &byte = self.text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return Some((self.classes.of(char::from(byte)), 1));
        }
        let character = self.text[at..].chars().next()?;
        Some((self.classes.of(character), character.len_utf8()))
    }

    /// Returns the end of the characters of one class that begin at `at`.
    #[inline]
    fn end_of(&self, class: Class, at: usize) -> usize {
        let mut others = self.text[at..]
            .char_indices()
            .filter(|&(_, character)| self.classes.of(character) != class);
        others.next().map_or(self.text.len(), |(len, _)| at + len)
    }

    /// Returns the end of the white space at `start`, which leaves its last character to the word
    /// that follows, unless it has no other.
    #[inline]
    fn end_of_spaces(&self, start: usize) -> usize {
        let (mut last, mut at) = (start, start);
        while let Some((Class::Space, len)) = self.class_at(at) {
            last = at;
            at += len;
        }
        if at == self.text.len() || last == start {
            at
        } else {
            last
        }
    }

    /// Returns the end of the word at `start`.
    #[inline]
    fn end_of_word(&self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        // Most words, without a look at the table and without a branch for each letter.
        let from = start + usize::from(*bytes.get(start)? == b' ');
        let letters = ascii_letters(&bytes[from..]);
        if letters > 0 {
            let at = from + letters;
            return Some(match bytes.get(at) {
                Some(next) if !next.is_ascii() => self.end_of(Class::Letter, at),
                _ => at,
            });
        }
        self.end_of_other_word(start)
    }

    /// Returns the end of a word that does not begin with an ASCII letter.
    #[inline]
    fn end_of_other_word(&self, start: usize) -> Option<usize> {
        let (class, len) = self.class_at(start)?;
        let after = start + len;
        Some(match self.text.as_bytes()[start] {
            b' ' => match self.class_at(after) {
                Some((Class::Space, _)) | None => self.end_of_spaces(start),
                Some((class, len)) => self.end_of(class, after + len),
            },
            b'\'' => match &self.text.as_bytes()[after..] {
                [b's' | b't' | b'm' | b'd', ..] => after + 1,
                [b'r' | b'v', b'e', ..] | [b'l', b'l', ..] => after + 2,
                _ => self.end_of(class, after),
            },
            _ if class == Class::Space => self.end_of_spaces(start),
            _ => self.end_of(class, after),
        })
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at = self.end_of_word(start)?;
        Some(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Class, Classes, Words, ascii_letters};

    #[test]
    fn words_are_those_of_the_pattern() {
        let classes = Classes::new();
        let check = |text: &str, expected: &[&str]| {
            let words: Vec<_> = Words::new(&classes, text).map(|word| &text[word]).collect();
            assert_eq!(words, expected, "{text:?}");
        };
        check("", &[]);
        check("It's 2 cats'", &["It", "'s", " 2", " cats", "'"]);
        check(
            "they'll they've we're I'm he'd don't",
            &[
                "they", "'ll", " they", "'ve", " we", "'re", " I", "'m", " he", "'d", " don", "'t",
            ],
        );
        check(
            "'Sam' 'lad' 'rx",
            &["'", "Sam", "'", " '", "lad", "'", " '", "rx"],
        );
        check("a 's !'s 'll", &["a", " '", "s", " !'", "s", " '", "ll"]);
        check("a  b   ", &["a", " ", " b", "   "]);
        check(
            "a\n\n b\t\tc\n",
            &["a", "\n\n", " b", "\t", "\t", "c", "\n"],
        );
        check("a\u{3000} \u{a0}b", &["a", "\u{3000} ", "\u{a0}", "b"]);
        check("1a2.½Ⅷ", &["1", "a", "2", ".", "½Ⅷ"]);
        check(" é東京e\u{301}🦀<", &[" é東京e", "\u{301}🦀<"]);
    }

    #[test]
    fn classes_are_those_of_the_standard_library_of_the_same_unicode() {
        let classes = Classes::new();
        let ascii = |c: char| (c.is_ascii_alphabetic(), c.is_ascii_digit());
        for c in '\0'..='\u{7f}' {
            assert_eq!(
                (
                    classes.of(c) == Class::Letter,
                    classes.of(c) == Class::Number
                ),
                ascii(c),
                "{c:?}"
            );
        }
        for c in '\0'..=char::MAX {
            let class = classes.of(c);
            assert_eq!(class == Class::Space, c.is_whitespace(), "{c:?}");
            if char::UNICODE_VERSION == (17, 0, 0) {
                assert_eq!(class == Class::Number, c.is_numeric(), "{c:?}");
                assert!(class != Class::Letter || c.is_alphabetic(), "{c:?}");
            }
        }
    }

    #[test]
    fn every_byte_is_a_letter_or_not_wherever_it_is() {
        for byte in 0..=255u8 {
            for at in 0..20 {
                let mut bytes = [b'x'; 20];
                bytes[at] = byte;
                let expected = if byte.is_ascii_alphabetic() { 20 } else { at };
                assert_eq!(ascii_letters(&bytes), expected, "{byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn letters_are_counted_as_one_by_one(bytes in "[a-zA-Z@\\[`{\u{80}]{0,40}") {
            let expected = bytes.bytes().take_while(u8::is_ascii_alphabetic).count();
            prop_assert_eq!(ascii_letters(bytes.as_bytes()), expected);
        }

        #[test]
        fn words_have_no_gaps(text in "(\\PC|\\s|[ a-z']){0,40}") {
            let classes = Classes::new();
            let mut at = 0;
            for word in Words::new(&classes, &text) {
                prop_assert!(word.start == at && word.end > at);
                prop_assert!(text.is_char_boundary(word.end));
                at = word.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
