//! Tells from its first bytes what a file looks like, whatever it is called.

mod markup;
mod sampled_rows;

use serde::de::IgnoredAny;

pub(crate) use self::markup::{Markup, MarkupSample, Verdict};
pub(crate) use self::sampled_rows::{SampledRows, Table};
use crate::options::{Compression, Format};
use crate::records::python_json;

/// Bytes of a file that are looked at, at most.
pub(crate) const HEAD_BYTES: usize = 4 << 10;

/// Rows of the same number of fields that make a table of tabs, where nothing else says so.
const TABLE_ROWS: usize = 4;

/// What the first bytes of a file look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Nothing is there.
    Empty,
    /// Something that is compressed in a way that is read.
    Compressed(Compression),
    /// Records of a format that is read.
    Records(Format),
    /// Text of 16 bits a character, behind its mark.
    Utf16(Utf16),
    /// Rows of as many tabs each, which may be a table and may be prose.
    Rows,
    /// Rows that are a table, though neither a name nor a column says so.
    Table(Table),
    /// Text with tags or time codes in it.
    Markup(Markup),
    /// Something that is not read.
    Foreign(Foreign),
    /// Text of no other kind, or something that its reader will refuse.
    Text,
}

/// Something that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// What it is, in words that follow "it looks like".
    pub(crate) what: &'static str,
    /// What can be done instead.
    pub(crate) instead: &'static str,
    /// Whether it is text, and could be meant as such.
    pub(crate) is_text: bool,
}

/// The order of the two bytes of a unit of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Utf16 {
    LittleEndian,
    BigEndian,
}

/// First bytes of files that are not read, and what they are: the longest first where one begins as
/// another does.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"PARE", "encrypted Parquet"),
    (b"ARROW1", "an Arrow file"),
    (b"\xFF\xFF\xFF\xFF", "an Arrow stream"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!\x1A\x07", "a RAR archive"),
    (b"\x04\x22\x4D\x18", "lz4"),
    (b"\x02\x21\x4C\x18", "lz4"),
    (b"\xFF\x06\0\0sNaPpY", "snappy"),
    (b"LZIP", "lzip"),
    (b"\x1F\x9D", "compress (.Z)"),
    (b"\x5D\0\0", "lzma"),
    (b"!<arch>\n", "an ar archive"),
    (b"%PDF-", "a PDF document"),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        "an old Office document",
    ),
    (b"{\\rtf", "an RTF document"),
    (b"\x89PNG\r\n\x1A\n", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"RIFF", "a RIFF file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"\x7FELF", "a program"),
    (b"\x89HDF\r\n\x1A\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"GGUF", "a GGUF model"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
    (b"\0asm", "a WebAssembly module"),
];

/// First bytes of the text that stands for a large file in a repository.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

const TAKE_OUT: &str = "take the text out of it first, or leave it out";
const CONVERT: &str = "convert it to UTF-8";
const ONE_A_LINE: &str = "write one object a line";
const NOT_ALONE: &str = "JSON with more behind an object in its line";

/// First bytes of text of 32 bits a character.
const UTF32_MARKS: [&[u8]; 2] = [b"\xFF\xFE\0\0", b"\0\0\xFE\xFF"];

/// First bytes of compressed streams that are read.
const COMPRESSED: &[(&[u8], Compression)] = &[
    (b"\x1F\x8B", Compression::Gzip),
    (b"\x28\xB5\x2F\xFD", Compression::Zstd),
    (b"BZh", Compression::Bzip2),
    (b"\xFD7zXZ\0", Compression::Xz),
];

/// Returns what the first bytes of a file look like; `is_whole` says that nothing is behind them.
///
/// `text_field` is the name of the column that a table should have.
pub(crate) fn look(head: &[u8], is_whole: bool, text_field: &str) -> Looks {
    if head.is_empty() {
        return Looks::Empty;
    }
    if UTF32_MARKS.iter().any(|mark| head.starts_with(mark)) {
        return foreign("UTF-32 text", CONVERT);
    }
    if let Some(order) = utf16_of(head) {
        return Looks::Utf16(order);
    }
    if let Some(compression) = compression_of(head) {
        return Looks::Compressed(compression);
    }
    if head.starts_with(b"PAR1") && (head.get(4) == Some(&0x15) || is_binary(head)) {
        return Looks::Records(Format::Parquet);
    }
    let is_foreign = |(magic, _): &&(&[u8], &str)| head.starts_with(magic);
    if let Some((magic, what)) = FOREIGN.iter().find(is_foreign)
        && (!magic.is_ascii() || magic.len() > 4 || is_binary(head))
    {
        return match magic.is_ascii() && is_utf8(head) && !is_binary(head) {
            // A text that begins so, too.
            true => foreign_text(what, TAKE_OUT),
            false => foreign(what, TAKE_OUT),
        };
    }
    if head.get(257..262) == Some(b"ustar") {
        return foreign("a tar archive", TAKE_OUT);
    }
    if is_unmarked_utf16(head) {
        return foreign("UTF-16 text without a byte order mark", CONVERT);
    }
    if is_binary(head) {
        return foreign("binary data", TAKE_OUT);
    }
    if head.starts_with(LFS_POINTER) {
        return foreign_text(
            "a pointer of Git LFS",
            "fetch what it points to, with `git lfs pull`",
        );
    }
    let text = without_mark(head);
    json(text, is_whole)
        .or_else(|| table(text, is_whole, text_field))
        .unwrap_or(Looks::Text)
}

/// Returns the order of the bytes of UTF-16 that first bytes are the mark of, if they are one.
pub(crate) fn utf16_of(head: &[u8]) -> Option<Utf16> {
    match head {
        // One of its marks begins with one of UTF-16.
        _ if UTF32_MARKS.iter().any(|mark| head.starts_with(mark)) => None,
        [0xFF, 0xFE, ..] => Some(Utf16::LittleEndian),
        [0xFE, 0xFF, ..] => Some(Utf16::BigEndian),
        _ => None,
    }
}

/// Returns the compression that first bytes stand for, if it is one that is read.
pub(crate) fn compression_of(head: &[u8]) -> Option<Compression> {
    // A skippable frame of zstd, as `pzstd` and seekable archives begin with.
    if head.len() >= 4 && head[0] & 0xF0 == 0x50 && head[1..4] == *b"\x2A\x4D\x18" {
        return Some(Compression::Zstd);
    }
    let found = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic));
    found.map(|(_, compression)| *compression)
}

/// Returns the text behind a byte order mark of UTF-8.
fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head)
}

/// Returns whether bytes hold a zero: no text in UTF-8 does, as it is written.
fn is_binary(head: &[u8]) -> bool {
    memchr::memchr(0, head).is_some()
}

/// Returns whether bytes are UTF-8, but for a character that they cut off.
fn is_utf8(head: &[u8]) -> bool {
    match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// Returns whether bytes read as UTF-16, in one of its orders: characters of text alone, of which a tenth at least
/// are ASCII, as blanks and digits are in any language.
fn is_unmarked_utf16(head: &[u8]) -> bool {
    let units = head.as_chunks().0;
    let reads = |unit: fn([u8; 2]) -> u16| {
        let (mut n_ascii, mut n_read, mut n_round) = (0, 0, 0);
        let characters = char::decode_utf16(units.iter().map(|bytes| unit(*bytes)));
        for read in characters {
            n_read += 1;
            match read {
                Ok('\t' | '\n' | '\r' | ' '..='~') => n_ascii += 1,
                Ok(character) if character.is_control() => return false,
                // Those whose lower byte is zero are rare; zeros that part texts stand anywhere.
                Ok(character) => n_round += usize::from(u32::from(character) % 256 == 0),
                // Only the last may be cut off.
                Err(_) if n_read == units.len() => {}
                Err(_) => return false,
            }
        }
        n_ascii >= 2 && 10 * n_ascii >= n_read && 8 * n_round <= n_ascii
    };
    is_binary(head) && (reads(u16::from_le_bytes) || reads(u16::from_be_bytes))
}

/// Returns what stands behind a value that begins and ends in the first line, but for blanks.
fn behind_in_line(text: &[u8], end: usize) -> Option<u8> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    line.get(end..)?.trim_ascii_start().first().copied()
}

/// Tells objects of JSON, one a line, and other JSON.
fn json(text: &[u8], is_whole: bool) -> Option<Looks> {
    let text = text.trim_ascii_start();
    if text.starts_with(b"\x1E{") {
        return Some(foreign_text("JSON behind record separators", ONE_A_LINE));
    }
    let (first, rest) = text.split_first()?;
    let next = rest.trim_ascii_start().first();
    let is_likely = match first {
        b'{' => matches!(next, Some(b'"' | b'}')),
        b'[' => matches!(next, Some(b'{' | b'[' | b'"')),
        _ => false,
    };
    if !is_likely {
        return None;
    }
    let array = foreign_text("a JSON array", ONE_A_LINE);
    let (line, has_end) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], true),
        None => (text, is_whole),
    };
    let parse = |line: &[u8]| match serde_json::from_slice::<IgnoredAny>(line) {
        Ok(_) => true,
        // Cut off by the end of what is looked at, and well formed up to there.
        Err(error) => error.is_eof() && !has_end,
    };
    let of_python = || {
        let line = std::str::from_utf8(line).ok()?;
        python_json::replaced(line)
    };
    let is_one_value = parse(line) || of_python().is_some_and(|line| parse(line.as_bytes()));
    if is_one_value {
        return Some(match first {
            b'{' => Looks::Records(Format::JsonLines),
            _ => array,
        });
    }
    // One value over several lines is JSON as far as it goes.
    let mut all = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_json = match all.next()? {
        Ok(_) => match behind_in_line(text, all.byte_offset()) {
            None => true,
            Some(_) if *first == b'[' => true,
            Some(b',' | b'{') => return Some(foreign_text(NOT_ALONE, ONE_A_LINE)),
            // Prose that begins with an example, or a line that its reader refuses.
            Some(_) => false,
        },
        Err(error) => error.is_eof() && !is_whole,
    };
    is_json.then_some(match first {
        b'{' => foreign_text("JSON over several lines", ONE_A_LINE),
        _ => array,
    })
}

/// Tells a table by the name of its text column, or by rows of as many tabs.
fn table(text: &[u8], is_whole: bool, text_field: &str) -> Option<Looks> {
    let lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    // The last line may be cut off by the end of what is looked at.
    let n_whole = match is_whole {
        true => lines.len(),
        false => lines.len() - 1,
    };
    let lines = &lines[..n_whole];
    let header = lines.first()?.trim_ascii_end();
    for (delimiter, format) in [(b',', Format::Csv), (b'\t', Format::Tsv)] {
        let mut fields = header.split(|byte| *byte == delimiter);
        let is_text = |field: &[u8]| {
            let bare = field
                .strip_prefix(b"\"")
                .and_then(|field| field.strip_suffix(b"\""));
            bare.unwrap_or(field) == text_field.as_bytes()
        };
        if fields.clone().count() > 1 && fields.any(is_text) {
            return Some(Looks::Records(format));
        }
    }
    let tabs = |line: &&[u8]| memchr::memchr_iter(b'\t', line).count();
    let rows = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let mut rows = rows.map(tabs).take(TABLE_ROWS);
    let first = rows.next().filter(|n| *n > 0)?;
    let n_alike = rows.filter(|n| *n == first).count();
    (n_alike + 1 == TABLE_ROWS).then_some(Looks::Rows)
}

/// Returns the looks of something that is no text.
fn foreign(what: &'static str, instead: &'static str) -> Looks {
    Looks::Foreign(Foreign {
        what,
        instead,
        is_text: false,
    })
}

/// Returns the looks of text that stands for something else.
fn foreign_text(what: &'static str, instead: &'static str) -> Looks {
    Looks::Foreign(Foreign {
        what,
        instead,
        is_text: true,
    })
}

impl Looks {
    /// Returns what it is, in words that follow "it looks like".
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Empty => "an empty file",
            Self::Compressed(compression) => compression.name(),
            Self::Records(format) => format.name(),
            Self::Rows => "a table of tabs",
            Self::Table(_) => "a table",
            Self::Markup(markup) => markup.what(),
            Self::Utf16(_) => "UTF-16 text",
            Self::Foreign(foreign) => foreign.what,
            Self::Text => "plain text",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(head: &[u8]) -> &'static str {
        look(head, true, "text").what()
    }

    #[test]
    fn bytes_say_what_they_are() {
        let cases: [(&[u8], &str); 44] = [
            (b"", "an empty file"),
            (b"It was the best of times.", "plain text"),
            (b"\xEF\xBB\xBFIt was.", "plain text"),
            ("Es war einmal, \u{0}?".as_bytes(), "binary data"),
            (b"{\"text\": \"a\"}\n", "JSON Lines"),
            (b"\xEF\xBB\xBF{\"text\": \"a\"}", "JSON Lines"),
            (b"\n\n  {\"a\": NaN, \"text\": \"a\"}\n{}", "JSON Lines"),
            (b"{}\n{}\n", "JSON Lines"),
            (b"{\n  \"text\": \"a\"\n}\n", "JSON over several lines"),
            (b"{\"a\":\n1}", "JSON over several lines"),
            (b"{\"a\": 1},\n{\"a\": 2},\n", NOT_ALONE),
            (b"{\"a\": 1} {\"a\": 2}\n", NOT_ALONE),
            (b"[\"a\"], [\"b\"]\n", "a JSON array"),
            (b"{\"a\": 1} is an example.\n", "plain text"),
            (
                b"\x1E{\"a\": 1}\n\x1E{\"a\": 2}\n",
                "JSON behind record separators",
            ),
            (b"[{\"text\": \"a\"},\n{\"text\": \"b\"}]", "a JSON array"),
            (b"[\n  \"a\"\n]", "a JSON array"),
            (b"[1] Smith et al.", "plain text"),
            (b"[\"Quoted\" he said", "plain text"),
            (b"{{Infobox}}", "plain text"),
            (b"{braces} in prose", "plain text"),
            (b"id,text\n1,a\n", "comma-separated values"),
            (b"id,\"text\"\r\n1,a\r\n", "comma-separated values"),
            (b"id\ttext\n1\ta\n", "tab-separated values"),
            (b"text\na, b\n", "plain text"),
            (b"1\ta\n2\tb\n3\tc\n4\td\n", "a table of tabs"),
            (b"1\ta\n2\tb\n3\tc\n4 d\n", "plain text"),
            (b"\x1F\x8B\x08\0", "gzip"),
            (b"\x28\xB5\x2F\xFD\x04", "zstd"),
            (b"\x50\x2A\x4D\x18\0", "zstd"),
            (b"BZh91AY", "bzip2"),
            (b"\xFD7zXZ\0\0", "xz"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"PK\x03\x04\x14\0", "a zip archive"),
            (b"ORCHIDS are flowers", "plain text"),
            (b"\xFF\xFEa\0", "UTF-16 text"),
            (b"a\0b\0c\0", "UTF-16 text without a byte order mark"),
            (
                b"I\0t\0 \0w\0a\0s\0 \0\x14\x20 \0l\0a\0t\0e\0.\0\n\0",
                "UTF-16 text without a byte order mark",
            ),
            (
                b"\x04\x1C\x04\x3E\x04\x39\0 \x04\x34\x04\x34\x04\x4F\0\n",
                "UTF-16 text without a byte order mark",
            ),
            (
                b"one.txt\0two.md\0three.rs\0four.toml\0five.c\0",
                "binary data",
            ),
            (b"\x01\0\x02\0\x03\0\x04\0", "binary data"),
            (b"ARROW1 is how they begin", "an Arrow file"),
            (b"\xFF\xFE\0\0a\0\0\0", "UTF-32 text"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                "a pointer of Git LFS",
            ),
        ];
        for (head, what) in cases {
            assert_eq!(looks(head), what, "{}", head.escape_ascii());
        }
    }

    #[test]
    fn what_begins_as_no_text_does_can_be_meant_as_text_where_it_is_some() {
        let is_text = |head: &[u8]| match look(head, true, "text") {
            Looks::Foreign(foreign) => foreign.is_text,
            other => panic!("{other:?}"),
        };
        assert!(is_text(b"ARROW1 is how they begin"));
        assert!(is_text("{\\rtf is no text, \u{e9}".as_bytes()));
        assert!(!is_text(b"ARROW1\0\0\xFF\xFF"));
        assert!(!is_text(b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n"));
    }

    #[test]
    fn what_is_cut_off_is_taken_for_what_it_begins_as() {
        assert_eq!(look(b"{\"text\": \"a", false, "text").what(), "JSON Lines");
        assert_eq!(
            look(b"[{\"text\": \"a", false, "text").what(),
            "a JSON array"
        );
        assert_eq!(look(b"id,tex", false, "text").what(), "plain text");
    }
}
