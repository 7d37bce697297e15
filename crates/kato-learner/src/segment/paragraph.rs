//! Finds paragraphs: text between blank lines, stripped, short ones dropped and counted.

use std::iter::FusedIterator;

use memchr::memchr;

use super::whitespace::{is_space, strip};

/// Shortest paragraph, in characters, that the original learns from.
pub const ORIGINAL_MIN_PARAGRAPH_CHARS: usize = 10;

/// One paragraph of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paragraph<'a> {
    /// The text, without white space at its ends; never empty.
    pub text: &'a str,
    /// Position of the first byte of [`text`](Self::text), in bytes from the start of the
    /// document.
    pub offset: usize,
}

/// Counts of what a [`Paragraphs`] iterator has left out so far.
///
/// White space between paragraphs is no loss and not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedParagraphs {
    /// Paragraphs shorter than the minimum.
    pub n_paragraphs: u64,
    /// Characters (code points) of those paragraphs.
    pub n_chars: u64,
}

/// An iterator over the paragraphs of a text, in order: pieces between blank lines that have a
/// minimum length.
///
/// A blank line is a newline, optional white space and another newline, where white space is what
/// Python's `\s` and `str.strip` mean by it (Unicode's, and U+001C to U+001F). Paragraphs with
/// fewer than `min_chars` code points are skipped and counted; pieces without any text are neither
/// yielded nor counted.
///
/// **Complexity**: one pass; newlines are found with `memchr`, nothing is copied.
///
/// ```
/// use kato_learner::segment::Paragraphs;
///
/// let mut paragraphs = Paragraphs::new("First paragraph.\n \nToo short\n\n Second paragraph.\n", 10);
/// let texts: Vec<_> = paragraphs.by_ref().map(|paragraph| paragraph.text).collect();
/// assert_eq!(texts, ["First paragraph.", "Second paragraph."]);
/// assert_eq!(paragraphs.dropped().n_chars, 9);
/// ```
#[derive(Debug, Clone)]
pub struct Paragraphs<'a> {
    text: &'a str,
    /// Start of the piece to return next, in bytes of `text`.
    at: usize,
    /// Position of `text` in its document.
    base: usize,
    min_chars: usize,
    dropped: DroppedParagraphs,
}

impl<'a> Paragraphs<'a> {
    /// Creates an iterator over the paragraphs of `text` with at least `min_chars` characters;
    /// offsets count from the start of `text`.
    #[must_use]
    pub fn new(text: &'a str, min_chars: usize) -> Self {
        Self::at_offset(text, 0, min_chars)
    }

    /// Creates an iterator as [`new`](Self::new) does, for a `text` that starts `base` bytes into
    /// its document.
    pub(crate) fn at_offset(text: &'a str, base: usize, min_chars: usize) -> Self {
        Self {
            text,
            at: 0,
            base,
            min_chars,
            dropped: DroppedParagraphs::default(),
        }
    }

    /// Returns what was left out so far; complete once the iterator has returned `None`.
    #[must_use]
    pub fn dropped(&self) -> DroppedParagraphs {
        self.dropped
    }

    /// Returns the next piece between blank lines, with its position, and moves behind the blank
    /// lines that follow it.
    fn next_piece(&mut self) -> (usize, &'a str) {
        let start = self.at;
        let mut search = start;
        while let Some(found) = memchr(b'\n', &self.text.as_bytes()[search..]) {
            let newline = search + found;
            let run = newline + blank_len(&self.text[newline..]);
            // The separator ends with the last newline of the white space; what comes after it is
            // stripped anyway. A byte that equals a newline is one, as UTF-8 uses ASCII bytes for
            // nothing else.
            let is_blank_line = self.text.as_bytes()[newline + 1..run].contains(&b'\n');
            if is_blank_line {
                self.at = run;
                return (start, &self.text[start..newline]);
            }
            // White space that was looked at is skipped, so the pass stays linear in the text's
            // length.
            search = run;
        }
        self.at = self.text.len();
        (start, &self.text[start..])
    }
}

impl<'a> Iterator for Paragraphs<'a> {
    type Item = Paragraph<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.text.len() {
            let (start, piece) = self.next_piece();
            // The offset is that of the stripped text, as the piece may begin with white space.
            let n_leading = piece.len() - piece.trim_start_matches(is_space).len();
            let text = strip(piece);
            if text.is_empty() {
                continue;
            }
            if has_at_least(text, self.min_chars) {
                return Some(Paragraph {
                    text,
                    offset: self.base + start + n_leading,
                });
            }
            self.dropped.n_paragraphs += 1;
            self.dropped.n_chars += text.chars().count() as u64;
        }
        None
    }
}

impl FusedIterator for Paragraphs<'_> {}

/// Returns the length in bytes of the white space at the start of `text`.
fn blank_len(text: &str) -> usize {
    let ascii = text
        .bytes()
        .take_while(|byte| matches!(byte, 9..=13 | 0x1c..=0x20))
        .count();
    match text.as_bytes().get(ascii) {
        None | Some(..0x80) => ascii,
        // Rare: only here can white space beyond ASCII follow.
        Some(_) => text.len() - text[ascii..].trim_start_matches(is_space).len(),
    }
}

/// Returns whether `text` has at least `min_chars` code points.
fn has_at_least(text: &str, min_chars: usize) -> bool {
    // A code point has 1 to 4 bytes, so that counting is needed for lengths near the minimum only.
    match text.len() {
        n_bytes if n_bytes < min_chars => false,
        n_bytes if n_bytes / 4 >= min_chars => true,
        _ => text.chars().count() >= min_chars,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[track_caller]
    fn check(text: &str, min_chars: usize, expected: &[(usize, &str)], dropped: (u64, u64)) {
        let mut paragraphs = Paragraphs::new(text, min_chars);
        let found: Vec<_> = paragraphs.by_ref().map(|p| (p.offset, p.text)).collect();
        assert_eq!(found, expected);
        let left_out = paragraphs.dropped();
        assert_eq!((left_out.n_paragraphs, left_out.n_chars), dropped);
    }

    #[test]
    fn blank_lines_separate_paragraphs() {
        check("", 0, &[], (0, 0));
        check(" \n\n \n", 0, &[], (0, 0));
        check("one\nline", 0, &[(0, "one\nline")], (0, 0));
        check("one\n\ntwo", 0, &[(0, "one"), (5, "two")], (0, 0));
        check(
            "one \n \t \r\n two\n",
            0,
            &[(0, "one"), (11, "two")],
            (0, 0),
        );
        check(
            "\n\none\n\n\n\ntwo\n\n",
            0,
            &[(2, "one"), (9, "two")],
            (0, 0),
        );
        check("one\r\n\r\ntwo", 0, &[(0, "one"), (7, "two")], (0, 0));
        check("one\r\rtwo", 0, &[(0, "one\r\rtwo")], (0, 0));
    }

    #[test]
    fn white_space_is_that_of_python() {
        check("a\n\u{1c}\u{1f}\nb", 0, &[(0, "a"), (5, "b")], (0, 0));
        check(
            "a\n\u{85}\u{a0}\u{3000}\nb",
            0,
            &[(0, "a"), (10, "b")],
            (0, 0),
        );
        // Zero-width space is no white space.
        check("a\n\u{200b}\nb", 0, &[(0, "a\n\u{200b}\nb")], (0, 0));
        check("\u{2003}a\u{1d}", 0, &[(3, "a")], (0, 0));
    }

    #[test]
    fn short_paragraphs_are_dropped_and_counted_in_characters() {
        check("123456789\n\n1234567890", 10, &[(11, "1234567890")], (1, 9));
        check("ééééééééé\n\néééééééééé", 10, &[(20, "éééééééééé")], (1, 9));
        check("𝔸𝔸\n\nab\n\nabc", 3, &[(14, "abc")], (2, 4));
    }

    /// The rule as the original states it: split with a regex, strip, keep what is long enough.
    fn oracle(text: &str, min_chars: usize) -> (Vec<&str>, DroppedParagraphs) {
        static BLANK_LINE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\n[\s\x1c-\x1f]*\n").unwrap());
        let mut dropped = DroppedParagraphs::default();
        let mut kept = Vec::new();
        for piece in BLANK_LINE
            .split(text)
            .map(strip)
            .filter(|piece| !piece.is_empty())
        {
            let n_chars = piece.chars().count();
            if n_chars < min_chars {
                dropped.n_paragraphs += 1;
                dropped.n_chars += n_chars as u64;
            } else {
                kept.push(piece);
            }
        }
        (kept, dropped)
    }

    proptest! {
        #[test]
        fn paragraphs_equal_the_regex_split(text in "([ab.é𝔸]|[ \t\r\n\n\n\u{1c}\u{85}\u{a0}\u{200b}]){0,60}", min_chars in 0..8usize) {
            let mut paragraphs = Paragraphs::new(&text, min_chars);
            let found: Vec<_> = paragraphs.by_ref().map(|p| p.text).collect();
            let (kept, dropped) = oracle(&text, min_chars);
            prop_assert_eq!(found, kept);
            prop_assert_eq!(paragraphs.dropped(), dropped);
        }

        #[test]
        fn paragraphs_and_white_space_cover_the_text(text in "[ab\n\n\n \u{2003}é]{0,60}") {
            let mut at = 0;
            for paragraph in Paragraphs::new(&text, 0) {
                prop_assert_eq!(strip(&text[at..paragraph.offset]), "");
                at = paragraph.offset + paragraph.text.len();
                prop_assert_eq!(&text[paragraph.offset..at], paragraph.text);
            }
            prop_assert_eq!(strip(&text[at..]), "");
        }

        #[test]
        fn length_test_counts_code_points(text in "[aé€𝔸]{0,20}", min_chars in 0..24usize) {
            prop_assert_eq!(has_at_least(&text, min_chars), text.chars().count() >= min_chars);
        }
    }
}
