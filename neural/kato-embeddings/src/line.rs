//! Parses one line: a word, and the numbers of its vector.

use memchr::{memchr2, memchr2_iter, memrchr2};

use crate::bad_line::BadLineReason;
use crate::element::Number;
use crate::options::Options;

/// Content of a line that is not bad.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// No word: the line is empty or holds blanks.
    Blank,
    /// A word that is not in the vocabulary.
    LeftOut,
    /// A word, whose vector was appended.
    Word(&'a str),
}

/// Returns whether a byte separates fields.
pub(crate) fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Returns a line without its break and without blanks at its end.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    let is_kept = |byte: &u8| !is_separator(*byte) && *byte != b'\r' && *byte != b'\n';
    let end = line.iter().rposition(is_kept).map_or(0, |at| at + 1);
    &line[..end]
}

/// Returns the fields of a line, from the last to the first.
pub(crate) fn fields_from_end(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = trimmed(line);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = memrchr2(b' ', b'\t', rest).map_or(0, |at| at + 1);
        let field = &rest[start..];
        rest = trimmed(&rest[..start]);
        Some(field).filter(|field| !field.is_empty())
    })
}

/// Returns whether all of a field is a number, finite or not.
pub(crate) fn is_number(field: &[u8]) -> bool {
    f64::read_prefix(field).is_some_and(|(_, end)| end == field.len())
}

/// Reads a line, and appends its vector of `dims` numbers if its word is wanted. On an error
/// nothing is appended.
///
/// Where there is a header the dimensions are certain, and `may_be_blank` says that a word may be of
/// blanks alone, or a line break, which stands in the text as an empty line and a line without a
/// word.
pub(crate) fn read_line<'a, E: Number>(
    line: &'a [u8],
    dims: usize,
    may_be_blank: bool,
    options: &Options,
    vectors: &mut Vec<E>,
) -> Result<Line<'a>, BadLineReason> {
    let line = trimmed(line);
    if line.is_empty() {
        return Ok(Line::Blank);
    }
    let is_left_out =
        |word: &str| matches!(&options.vocabulary, Some(wanted) if !wanted.contains(word));
    let n_before = vectors.len();
    // The fast path, which nearly all lines take: one word, then the numbers.
    if let Some(at) = memchr2(b' ', b'\t', line)
        && at > 0
    {
        // A filter that leaves out most words must not cost the parsing of their numbers.
        if options.vocabulary.is_some() && memchr2_iter(b' ', b'\t', &line[at..]).count() == dims {
            let word = word_of(&line[..at])?;
            if is_left_out(word) {
                return Ok(Line::LeftOut);
            }
        }
        if read_numbers(&line[at..], dims, vectors) {
            let word = word_of(&line[..at]).inspect_err(|_| vectors.truncate(n_before))?;
            if is_left_out(word) {
                vectors.truncate(n_before);
                return Ok(Line::LeftOut);
            }
            return Ok(Line::Word(word));
        }
        vectors.truncate(n_before);
    }
    // The slow path, for words with blanks, and for bad lines, whose fault it finds.
    let word = match blank_word(line).filter(|_| may_be_blank) {
        Some((word, numbers)) if read_numbers(numbers, dims, vectors) => word_of(word)?,
        _ => {
            vectors.truncate(n_before);
            read_from_end(line, dims, vectors).inspect_err(|_| vectors.truncate(n_before))?
        }
    };
    if is_left_out(word) {
        vectors.truncate(n_before);
        return Ok(Line::LeftOut);
    }
    Ok(Line::Word(word))
}

/// Cuts a line that begins with blanks into a word of blanks and its numbers, in front of which one
/// blank stands.
fn blank_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let n_blanks = line.iter().take_while(|&&byte| is_separator(byte)).count();
    match n_blanks.checked_sub(1)? {
        // No word is empty: this one is the break that ends the line before.
        0 => Some((b"\n", line)),
        at => Some(line.split_at(at)),
    }
}

/// Returns a word as text.
fn word_of(bytes: &[u8]) -> Result<&str, BadLineReason> {
    str::from_utf8(bytes).map_err(|_| BadLineReason::NotUtf8)
}

/// Appends numbers, and returns whether there are exactly `dims`, all finite, and nothing else.
#[inline]
fn read_numbers<E: Number>(mut rest: &[u8], dims: usize, vectors: &mut Vec<E>) -> bool {
    for _ in 0..dims {
        let n_blanks = rest.iter().take_while(|&&byte| is_separator(byte)).count();
        if n_blanks == 0 {
            return false;
        }
        rest = &rest[n_blanks..];
        let Some((number, end)) = E::read_prefix(rest) else {
            return false;
        };
        if !number.is_finite() {
            return false;
        }
        vectors.push(number);
        rest = &rest[end..];
    }
    rest.is_empty()
}

/// Takes the last `dims` fields as numbers, and what is in front of them, blanks included, as the
/// word.
fn read_from_end<'a, E: Number>(
    line: &'a [u8],
    dims: usize,
    vectors: &mut Vec<E>,
) -> Result<&'a str, BadLineReason> {
    let n_fields = fields_from_end(line).count();
    let n_numbers = || {
        fields_from_end(line)
            .take(n_fields - 1)
            .take_while(|field| is_number(field))
            .count()
    };
    let wrong_count = |found| BadLineReason::FieldCount {
        found,
        expected: dims,
    };
    // The line is not empty, so that it has at least one field.
    if n_fields <= dims {
        return Err(wrong_count(n_fields - 1));
    }
    // Words may have blanks, but one that seems to end with a number is rather a vector that is too
    // long.
    if n_fields > dims + 1 && fields_from_end(line).nth(dims).is_some_and(is_number) {
        return Err(wrong_count(n_numbers()));
    }
    let mut word = line;
    for field in fields_from_end(line).take(dims) {
        match E::read_prefix(field) {
            Some((number, end)) if end == field.len() => {
                if !number.is_finite() {
                    return Err(BadLineReason::not_finite(field));
                }
                vectors.push(number);
            }
            _ => return Err(BadLineReason::not_number(field)),
        }
        word = trimmed(&word[..word.len() - field.len()]);
    }
    let first = vectors.len() - dims;
    // The fields were read from the last to the first.
    vectors[first..].reverse();
    let n_blanks = word.iter().take_while(|&&byte| is_separator(byte)).count();
    word_of(&word[n_blanks..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8], expected: Result<(&str, &[f32]), BadLineReason>) {
        let mut vectors = vec![9.0];
        let read = read_line::<f32>(line, 2, false, &Options::default(), &mut vectors);
        let shown = String::from_utf8_lossy(line);
        match expected {
            Ok((word, vector)) => {
                assert_eq!(read, Ok(Line::Word(word)), "{shown:?}");
                assert_eq!(vectors[1..], *vector, "{shown:?}");
            }
            Err(reason) => {
                assert_eq!(read, Err(reason), "{shown:?}");
                assert_eq!(vectors, [9.0], "{shown:?}: nothing is left behind");
            }
        }
    }

    fn count(found: usize) -> Result<(&'static str, &'static [f32]), BadLineReason> {
        Err(BadLineReason::FieldCount { found, expected: 2 })
    }

    fn not_number(field: &str) -> Result<(&'static str, &'static [f32]), BadLineReason> {
        Err(BadLineReason::NotNumber {
            field: field.to_owned(),
        })
    }

    fn not_finite(field: &str) -> Result<(&'static str, &'static [f32]), BadLineReason> {
        Err(BadLineReason::NotFinite {
            field: field.to_owned(),
        })
    }

    #[test]
    fn a_line_is_a_word_and_its_numbers() {
        check(b"the 0.5 -1", Ok(("the", &[0.5, -1.0])));
        check(b"the\t0.5\t-1\r\n", Ok(("the", &[0.5, -1.0])));
        check(b"the  0.5 \t -1.25e1  ", Ok(("the", &[0.5, -12.5])));
        check(
            "na\u{ef}ve\u{a0}x +.5 5.".as_bytes(),
            Ok(("na\u{ef}ve\u{a0}x", &[0.5, 5.0])),
        );
        check(b"1 2 3", Ok(("1", &[2.0, 3.0])));
        check(b"nan 2 3", Ok(("nan", &[2.0, 3.0])));
    }

    #[test]
    fn words_may_have_blanks() {
        check(b". . . 1 2", Ok((". . .", &[1.0, 2.0])));
        check(
            b"at name@domain.com 1 2",
            Ok(("at name@domain.com", &[1.0, 2.0])),
        );
        check(b"a  b 1 2", Ok(("a  b", &[1.0, 2.0])));
        check(b" a 1 2", Ok(("a", &[1.0, 2.0])));
        check(b"5 a 1 2", Ok(("5 a", &[1.0, 2.0])));
    }

    #[test]
    fn behind_a_header_a_word_may_be_of_blanks_or_a_line_break() {
        let read = |line: &'static [u8]| {
            let mut vector = Vec::new();
            let read = read_line::<f32>(line, 2, true, &Options::default(), &mut vector);
            read.map(|line| (line, vector))
        };
        let word = |word, vector: [f32; 2]| Ok((Line::Word(word), vector.to_vec()));
        assert_eq!(read(b"  1 2\n"), word(" ", [1.0, 2.0]));
        assert_eq!(read(b" \t 1 2"), word(" \t", [1.0, 2.0]));
        assert_eq!(read(b" 1 2 \n"), word("\n", [1.0, 2.0]));
        assert_eq!(read(b" a 1 2"), word("a", [1.0, 2.0]));
        assert_eq!(read(b"1 1 2"), word("1", [1.0, 2.0]));
        assert!(read(b" 1\n").is_err());
        assert!(read(b" 1 2 3\n").is_ok_and(|(line, _)| line == Line::Word("1")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        check(b"the", count(0));
        check(b"the 0.5", count(1));
        check(b" 0.5 1", count(1));
        check(b"the 0.5 1 2", count(3));
        check(b"the 0.5 1 2 3", count(4));
        check(b"the 0.5 x", not_number("x"));
        check(b"the 0.5x 1", not_number("0.5x"));
        check(b"the 0,5 1", not_number("0,5"));
        check(b"the nan 1", not_finite("nan"));
        check(b"the 1 -inf", not_finite("-inf"));
        check(b"the 1 1e39", not_finite("1e39"));
        check(b"th\xff 1 2", Err(BadLineReason::NotUtf8));
        check(b"a th\xff 1 2", Err(BadLineReason::NotUtf8));
        check(b"the 1 \xff", not_number("\u{fffd}"));
    }

    #[test]
    fn blank_lines_and_words_left_out_give_nothing() {
        let options = Options {
            vocabulary: Some(["a b".into(), "c".into()].into_iter().collect()),
            ..Options::default()
        };
        let read =
            |line: &'static [u8]| read_line::<f32>(line, 2, false, &options, &mut Vec::new());
        assert_eq!(read(b" \t \r\n"), Ok(Line::Blank));
        assert_eq!(read(b"a 1 2"), Ok(Line::LeftOut));
        assert_eq!(read(b"a  1 2"), Ok(Line::LeftOut));
        assert_eq!(read(b"a c 1 2"), Ok(Line::LeftOut));
        assert_eq!(read(b"a b 1 2"), Ok(Line::Word("a b")));
        assert_eq!(read(b"c 1 2"), Ok(Line::Word("c")));
        assert!(read(b"d 1").is_err(), "a line that was cut off is noticed");
        assert!(read(b"\xff 1 2").is_err());
    }
}
