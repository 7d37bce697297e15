//! Descriptions of records that could not become documents.

mod fault;

use std::error::Error;
use std::fmt;

use kato_advice::{Advice, ErrorKind, counted};
use serde::{Deserialize, Serialize};

pub(crate) use self::fault::Fault;

/// A foreign error kept as the cause of ours.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// One entry of the ledger: a record, or a stretch of records, that did not become a document.
///
/// Serialises to one flat JSON object, so that a ledger can be kept as JSON Lines.
///
/// # Examples
///
/// ```
/// use kato_loader::{OnBadRecord, StreamingDatasetLoader};
///
/// let lines = "{\"text\": \"kept\"}\n{\"title\": \"no text\"}\n";
/// let mut loader = StreamingDatasetLoader::builder()
///     .with_reader("rows.jsonl", lines.as_bytes())
///     .on_bad_record(OnBadRecord::Skip)
///     .build()?;
/// assert_eq!(loader.by_ref().count(), 1);
///
/// let ledger = loader.take_bad_records();
/// assert_eq!(ledger[0].line, Some(2));
/// assert_eq!(
///     ledger[0].to_string(),
///     "rows.jsonl, line 2, byte 17: field `text` is missing or null"
/// );
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadRecord {
    /// Name of the file as the corpus lists it.
    pub file: String,
    /// Number of the record in its file, from 1; absent when the whole file is concerned, and where a
    /// file is read from the middle and nobody has counted what lies in front, as in shuffled order.
    /// In line formats this is the line number, in CSV it does not count the header.
    pub record: Option<u64>,
    /// Line on which the record begins, from 1; absent where a format has no lines or, as in
    /// shuffled order, they are not counted.
    pub line: Option<u64>,
    /// Offset of the record's first byte in the file, decompressed and in UTF-8; absent where it is not
    /// known.
    pub byte_offset: Option<u64>,
    /// How much did not become documents because of this.
    pub lost: SkippedExtent,
    /// Why the record could not become a document.
    #[serde(flatten)]
    pub reason: BadReason,
}

/// How much a ledger entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkippedExtent {
    /// One record.
    Record,
    /// This many consecutive records, beginning with the one named.
    Records(u64),
    /// Everything from here to the end of the file; how many records that is cannot be known.
    RestOfFile,
    /// Everything from here to the end of the block (see [`Order`](crate::Order)), where blocks are
    /// read on their own.
    RestOfBlock,
}

impl SkippedExtent {
    /// Returns the number of records, where it is known; otherwise 1, for the one that was met.
    pub(crate) fn n_records(self) -> u64 {
        match self {
            Self::Records(number) => number,
            Self::Record | Self::RestOfFile | Self::RestOfBlock => 1,
        }
    }
}

/// Why a record could not become a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BadReason {
    /// The text is not UTF-8.
    InvalidUtf8 {
        /// Number of valid bytes in front of the first invalid one, counted from the beginning of
        /// the record or field.
        valid_bytes: u64,
    },
    /// The line is not one JSON object.
    MalformedJson {
        /// What the parser found.
        message: String,
        /// Byte of the line at which it stopped, from 1.
        column: u64,
    },
    /// The field is absent or null.
    MissingField {
        /// Name of the field.
        field: String,
    },
    /// The field holds something else than text or, where it is to be the id, nothing.
    NotText {
        /// Name of the field.
        field: String,
        /// What it holds.
        found: String,
    },
    /// The header or schema of the file has no such column.
    MissingColumn {
        /// Name of the column.
        field: String,
        /// The first columns that there are, comma-separated.
        columns: String,
    },
    /// The row has another number of fields than the header.
    FieldCount {
        /// Fields in the header.
        expected: u64,
        /// Fields in the row.
        found: u64,
    },
    /// A quoted field is still open at the end of the file.
    UnclosedQuote,
    /// Text stands behind the closing quote of a field, as where a quote is missing in front of it: of this row and
    /// the next one, perhaps.
    TextBehindQuote,
    /// The record is longer than allowed.
    TooLarge {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The compressed stream or Parquet file is damaged or cut off.
    Corrupt {
        /// What the decoder found.
        message: String,
    },
    /// The file looks like something else than what it was to be read as.
    AnotherFormat {
        /// What it was to be read as.
        read_as: String,
        /// What it looks like.
        looks_like: String,
    },
    /// The file was to be read as plain text, and its first rows are those of a table.
    Table {
        /// What stands between the fields: a comma, a semicolon, a vertical bar or a tab.
        delimiter: char,
        /// Fields of each row.
        fields: u64,
        /// Rows that were looked at.
        rows: u64,
    },
    /// The file was to be read as plain text, and tags or time codes stand among its words.
    Markup {
        /// What it looks like: HTML, XML or subtitles.
        what: String,
    },
    /// The file is of a kind that is not read.
    Unsupported {
        /// What it is.
        what: String,
        /// What can be done instead.
        instead: String,
    },
    /// A decompressor needs a larger window than it may hold.
    WindowTooLarge {
        /// What it needs, in bytes, where that is known.
        needed_bytes: Option<u64>,
        /// What it may hold, in bytes.
        limit_bytes: u64,
    },
    /// A page of a Parquet file is larger than allowed.
    PageTooLarge {
        /// Bytes of the page, decompressed.
        page_bytes: u64,
        /// What is allowed, in bytes.
        limit_bytes: u64,
    },
    /// The file, or the last of several that one input stands for, ends and no text was found.
    NoText,
    /// The file cannot be opened or read.
    Unreadable {
        /// What the system, the server or the source said.
        message: String,
    },
    /// The file has another size than when the loader was built, or has been written to since.
    Changed {
        /// Bytes when the loader was built.
        expected_bytes: u64,
        /// Bytes that were read.
        found_bytes: u64,
    },
    /// The file ends in front of the position to resume from.
    EndsBeforeCursor,
}

impl BadReason {
    /// Returns what has happened, without its text.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidUtf8 { .. }
            | Self::MalformedJson { .. }
            | Self::MissingField { .. }
            | Self::NotText { .. }
            | Self::MissingColumn { .. }
            | Self::FieldCount { .. }
            | Self::UnclosedQuote
            | Self::TextBehindQuote
            | Self::TooLarge { .. }
            | Self::AnotherFormat { .. }
            | Self::Table { .. }
            | Self::Markup { .. } => ErrorKind::Malformed,
            Self::NoText => ErrorKind::Empty,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Unsupported { .. } | Self::WindowTooLarge { .. } | Self::PageTooLarge { .. } => {
                ErrorKind::Unsupported
            }
            Self::Changed { .. } => ErrorKind::Conflict,
            Self::EndsBeforeCursor => ErrorKind::OtherCorpus,
            Self::Unreadable { .. } => ErrorKind::Other,
        }
    }

    /// Returns what to do about it.
    ///
    /// ```
    /// use kato_loader::bad_record::BadReason;
    ///
    /// assert_eq!(
    ///     BadReason::UnclosedQuote.advice().to_string(),
    ///     "list and skip such records with `OnBadRecord::Skip`, or repair the file: what was begun with it begins anew then, as another corpus"
    /// );
    /// ```
    #[must_use]
    pub fn advice(&self) -> Advice {
        const SKIP: &str = "list and skip such records with `OnBadRecord::Skip`";
        const TEXT: &str = "read it as plain text with `Format::Text`";
        Advice::new(match self {
            Self::AnotherFormat { .. } => &[
                "say what it is with `with_format` and `with_compression`",
                "leave it out",
            ],
            Self::Table { delimiter, .. } => match delimiter {
                ',' => &["read it as a table with `Format::Csv`", TEXT, "leave it out"],
                '\t' => &["read it as a table with `Format::Tsv`", TEXT, "leave it out"],
                _ => &["write it with commas to read it as a table", TEXT, "leave it out"],
            },
            Self::Markup { .. } => &["take the text out of it first", TEXT, "leave it out"],
            Self::Unsupported { .. } => &[SKIP],
            Self::NoText => &["check where it comes from", "allow it with `allow_empty`"],
            Self::WindowTooLarge { .. } => &["allow it with `with_max_window_bytes`"],
            Self::PageTooLarge { .. } => &[
                "allow larger ones with `with_max_record_bytes`: a page may have four times as many bytes",
                "write the file with smaller pages",
            ],
            Self::MissingField { .. } | Self::NotText { .. } | Self::MissingColumn { .. } => &[
                "name the text field with `with_text_field`, and that of names with `with_id_field`",
                SKIP,
            ],
            Self::TooLarge { .. } => &[
                "allow longer ones with `with_max_record_bytes`",
                "cut plain text with `with_text_unit`",
                SKIP,
            ],
            Self::Changed { .. } => {
                &["leave the files alone while they are read, then start again"]
            }
            Self::EndsBeforeCursor => &["resume with the corpus the cursor was taken from"],
            // It is a file of the corpus then, of which nothing is learned later either.
            Self::Unreadable { .. } => &[
                "make the file readable",
                "list and skip it for good with `OnBadRecord::Skip`",
            ],
            Self::InvalidUtf8 { .. } => &[
                SKIP,
                "repair the file, or convert it to UTF-8: what was begun with it begins anew then, as another corpus",
            ],
            Self::MalformedJson { .. }
            | Self::FieldCount { .. }
            | Self::UnclosedQuote
            | Self::TextBehindQuote
            // What was learned of the file as it was is no beginning of what it is then.
            | Self::Corrupt { .. } => &[
                SKIP,
                "repair the file: what was begun with it begins anew then, as another corpus",
            ],
        })
    }
}

impl fmt::Display for BadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUtf8 { valid_bytes } => {
                write!(f, "text is not valid UTF-8 after {valid_bytes} bytes")
            }
            Self::MalformedJson { message, column } => {
                write!(f, "not a JSON object: {message} (column {column})")
            }
            Self::MissingField { field } => write!(f, "field `{field}` is missing or null"),
            Self::NotText { field, found } => write!(f, "field `{field}` holds {found}, not text"),
            Self::MissingColumn { field, columns } => {
                write!(f, "no column `{field}` among {columns}")
            }
            Self::FieldCount { expected, found } => {
                write!(f, "{found} fields where the header has {expected}")
            }
            Self::UnclosedQuote => f.write_str("a quoted field is never closed"),
            Self::TextBehindQuote => {
                f.write_str("text stands behind the closing quote of a field: is a quote missing?")
            }
            Self::TooLarge { limit_bytes } => {
                write!(f, "record is longer than {limit_bytes} bytes")
            }
            Self::Corrupt { message } => write!(f, "data is damaged or cut off: {message}"),
            Self::AnotherFormat {
                read_as,
                looks_like,
            } => write!(
                f,
                "was to be read as {read_as}, and looks like {looks_like}"
            ),
            Self::Table {
                delimiter,
                fields,
                rows,
            } => {
                let delimiters = match delimiter {
                    ',' => "commas",
                    ';' => "semicolons",
                    '|' => "vertical bars",
                    _ => "tabs",
                };
                write!(
                    f,
                    "was to be read as plain text, and looks like a table: its first {rows} rows have {fields} fields each, with {delimiters} between them"
                )
            }
            Self::Markup { what } => {
                let among = match what.as_str() {
                    "subtitles" => "numbers and times",
                    _ => "tags",
                };
                write!(
                    f,
                    "was to be read as plain text, and looks like {what}: its {among} would be learned like words"
                )
            }
            Self::Unsupported { what, instead } => {
                write!(f, "this is {what}, which is not read: {instead}")
            }
            Self::NoText => f.write_str("no text is in it"),
            Self::WindowTooLarge {
                needed_bytes: Some(needed),
                limit_bytes,
            } => write!(
                f,
                "decompressing it needs a window of {needed} bytes, and {limit_bytes} are allowed"
            ),
            Self::WindowTooLarge {
                needed_bytes: None,
                limit_bytes,
            } => write!(
                f,
                "decompressing it needs a window of more than the {limit_bytes} bytes that are allowed"
            ),
            Self::PageTooLarge {
                page_bytes,
                limit_bytes,
            } => write!(
                f,
                "a page has {page_bytes} bytes, and {limit_bytes} are allowed"
            ),
            Self::Unreadable { message } => write!(f, "file cannot be read: {message}"),
            Self::Changed {
                expected_bytes,
                found_bytes,
            } if expected_bytes == found_bytes => {
                write!(
                    f,
                    "file was written to after the start, its size is the same"
                )
            }
            Self::Changed {
                expected_bytes,
                found_bytes,
            } => write!(
                f,
                "file had {expected_bytes} bytes at the start, {found_bytes} when read"
            ),
            Self::EndsBeforeCursor => f.write_str("file ends before the position to resume from"),
        }
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.line, self.record) {
            (Some(line), _) => write!(f, ", line {line}")?,
            (None, Some(record)) => write!(f, ", row {record}")?,
            (None, None) => {}
        }
        if let Some(byte) = self.byte_offset {
            write!(f, ", byte {byte}")?;
        }
        write!(f, ": {}", self.reason)?;
        match self.lost {
            SkippedExtent::Record => Ok(()),
            SkippedExtent::Records(n) => write!(f, " ({} lost)", counted(n, "record")),
            SkippedExtent::RestOfFile => f.write_str(" (rest of the file lost)"),
            SkippedExtent::RestOfBlock => f.write_str(" (rest of the block lost)"),
        }
    }
}
