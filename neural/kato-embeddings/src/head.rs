//! Reads how a file begins: whether it has a header, and how many numbers a vector has.

use std::path::Path;

use crate::error::EmbeddingsError;
use crate::line::{fields_from_end, is_number, trimmed};
use crate::options::{Layout, Options};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How files of other kinds begin, and what to do with them.
const OTHERS: [(&[u8], &str); 9] = [
    (b"PK\x03\x04", "it is a ZIP archive; unpack it"),
    (
        b"BZh",
        "it is compressed by bzip2, which is not supported; decompress it",
    ),
    (
        b"\xfd7zXZ\0",
        "it is compressed by xz, which is not supported; decompress it",
    ),
    (
        b"PAR1",
        "it is Parquet; write its words and numbers as text",
    ),
    (
        b"\x93NUMPY",
        "it is an array of numpy, which has no words; write them as text",
    ),
    (
        b"GGUF",
        "it is a model; write its words and vectors as text",
    ),
    (b"\xff\xfe", "it is UTF-16; convert it to UTF-8"),
    (b"\xfe\xff", "it is UTF-16; convert it to UTF-8"),
    (
        b"version https://git-lfs",
        "it is a pointer of Git LFS; fetch the file itself, by `git lfs pull`",
    ),
];

/// Bytes behind a header among which one of a binary form is found.
const BINARY_WITHIN: usize = 4096;

/// Lines behind the first that are looked at, at most, to see whether it is a header.
const LOOKED_AT: usize = 1000;

/// What the first lines of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Numbers of a vector; at least 1.
    pub(crate) dims: usize,
    /// Bytes in front of the first line that holds a vector: byte order mark and header.
    pub(crate) n_bytes: usize,
    /// Lines among them, from 0.
    pub(crate) n_lines: u64,
    /// Words that the header announces.
    pub(crate) announced: Option<u64>,
}

/// Reads the head of a text that begins with `text`, which ends with a whole line.
pub(crate) fn read_head(
    path: &Path,
    text: &[u8],
    options: &Options,
) -> Result<Head, EmbeddingsError> {
    let wrong = |reason| EmbeddingsError::not_vectors(path, reason);
    // GloVe is published as ZIP archives, and a user may well forget to unpack one.
    let other = OTHERS.iter().find(|(magic, _)| text.starts_with(magic));
    if let Some((_, what)) = other {
        return Err(wrong(what));
    }
    let start = if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    };
    let mut lines = Lines { text, at: start };
    let mut n_lines = 0;
    let first = loop {
        let line = lines.next().ok_or(wrong("it has no lines"))?;
        n_lines += 1;
        if !trimmed(line).is_empty() {
            break line;
        }
    };
    let behind = lines.at;
    let header = match options.layout {
        Layout::Glove => None,
        Layout::Word2Vec => Some(header(first).ok_or(wrong(
            "its first line is not `words dimensions`; if it has no header, use `Layout::Glove`",
        ))?),
        Layout::Auto => header(first).filter(|&(_, dims)| {
            // Two whole numbers may also be a word and its vector of one number: then all lines
            // behind have a word and one number, too, and nothing else.
            let is_of_one = |line: &[u8]| {
                let mut fields = fields_from_end(line).take(3);
                let is_number = fields.next().is_some_and(is_number);
                is_number && fields.count() == 1
            };
            let mut filled = lines
                .filter(|line| !trimmed(line).is_empty())
                .take(LOOKED_AT)
                .peekable();
            dims == 1 || filled.peek().is_none() || !filled.all(is_of_one)
        }),
    };
    if let Some((announced, dims)) = header {
        // No text has this byte, and numbers in binary soon have.
        if text[behind..]
            .iter()
            .take(BINARY_WITHIN)
            .any(|byte| *byte == 0)
        {
            return Err(wrong(
                "behind its header it is word2vec's binary form; convert it to text",
            ));
        }
        if let Some(expected) = options.dims.filter(|expected| expected.get() != dims) {
            return Err(EmbeddingsError::Dims {
                path: path.to_owned(),
                found: dims,
                expected: expected.get(),
            });
        }
        return Ok(Head {
            dims,
            n_bytes: behind,
            n_lines,
            announced: Some(announced),
        });
    }
    let n_fields = fields_from_end(first).count();
    let of_first_line = || {
        fields_from_end(first)
            // The first field is the word, even if it looks like a number.
            .take(n_fields - 1)
            .take_while(|field| is_number(field))
            .count()
    };
    let dims = options.dims.map_or_else(of_first_line, |dims| dims.get());
    if dims == 0 {
        return Err(wrong(
            "its first line does not end with a number; a text has a word and its numbers on each line, separated by blanks",
        ));
    }
    Ok(Head {
        dims,
        n_bytes: start,
        n_lines: 0,
        announced: None,
    })
}

/// Returns the words and dimensions that a line announces, if it can be a header.
fn header(line: &[u8]) -> Option<(u64, usize)> {
    let mut fields = fields_from_end(line);
    let (dims, words) = (whole(fields.next()?)?, whole(fields.next()?)?);
    // No vector is larger than a line may be.
    let dims = usize::try_from(dims)
        .ok()
        .filter(|dims| (1..=crate::blocks::MAX_LINE_BYTES).contains(dims))?;
    fields.next().is_none().then_some((words, dims))
}

/// Parses digits and nothing else: `parse` alone would accept a sign.
fn whole(field: &[u8]) -> Option<u64> {
    let is_whole = field.iter().all(u8::is_ascii_digit);
    str::from_utf8(field)
        .ok()
        .filter(|_| is_whole)?
        .parse()
        .ok()
}

/// Lines of a text, with their breaks.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        self.at += length;
        Some(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, layout: Layout, expected: Option<(usize, usize, u64, Option<u64>)>) {
        let options = Options {
            layout,
            ..Options::default()
        };
        let expected = expected.map(|(dims, n_bytes, n_lines, announced)| Head {
            dims,
            n_bytes,
            n_lines,
            announced,
        });
        let head = read_head(Path::new("x"), text.as_bytes(), &options).ok();
        assert_eq!(head, expected, "{text:?}, {layout:?}");
    }

    #[test]
    fn a_header_is_two_whole_numbers_unless_all_vectors_are_of_one() {
        use Layout::{Auto, Glove, Word2Vec};
        check("a 1 2\nb 1 2\n", Auto, Some((2, 0, 0, None)));
        check("2 3\na 1 2 3\n", Auto, Some((3, 4, 1, Some(2))));
        check("2 3\r\n\na 1 2 3\n", Auto, Some((3, 5, 1, Some(2))));
        check("\n2 3\na 1 2 3\n", Auto, Some((3, 5, 2, Some(2))));
        check("\u{feff}2 3\na 1 2 3\n", Auto, Some((3, 7, 1, Some(2))));
        check("\u{feff}a 1\n", Auto, Some((1, 3, 0, None)));
        // A word that is a line break, or blank; a line that is bad.
        check("2 2\n\n 1 2\na 3 4\n", Auto, Some((2, 4, 1, Some(2))));
        check("3 2\n  1 2\na 3 4\n", Auto, Some((2, 4, 1, Some(3))));
        check("2 3\na 1\nb 1 2 3\n", Auto, Some((3, 4, 1, Some(2))));
        check("2 3\na\n", Auto, Some((3, 4, 1, Some(2))));
        check("1 1\na 1\n", Auto, Some((1, 4, 1, Some(1))));
        // Vectors of one number, with numbers as words.
        check("2 2\na 3\n5 6\n", Auto, Some((1, 0, 0, None)));
        check("2 3\n4 5\n", Auto, Some((1, 0, 0, None)));
        check("0 3\n", Auto, Some((3, 4, 1, Some(0))));
        check("2 3\na 1 2 3\n", Glove, Some((1, 0, 0, None)));
        check("2 3\n4 5\n", Word2Vec, Some((3, 4, 1, Some(2))));
        check("a 1 2\n", Word2Vec, None);
        check("2 0\n", Word2Vec, None);
        check("2 99999999999999999999\n", Word2Vec, None);
        check(". . . 1 2\n", Auto, Some((2, 0, 0, None)));
        check("word\n", Auto, None);
        check("2 3\n</s> \0\0\u{1}?", Auto, None);
        check("", Auto, None);
        check("\n \n", Auto, None);
        check("PK\u{3}\u{4} 1 2\n", Auto, None);
        check("BZh91AY 1 2\n", Auto, None);
        check(
            "version https://git-lfs.github.com/spec/v1\nsize 7\n",
            Auto,
            None,
        );
    }
}
