//! Description of lines that gave no vector.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes of a field that a reason quotes at most.
const QUOTED_BYTES: usize = 40;

/// Line that gave no vector: where it is, and why.
///
/// It is read and written as one flat JSON object, so that a list can be kept as JSON Lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadLine {
    /// Number of the line, from 1, a header included.
    pub line: u64,
    /// Offset of its first byte in the decompressed file.
    pub byte_offset: u64,
    /// Reason why it gave none.
    #[serde(flatten)]
    pub reason: BadLineReason,
}

/// Reason why a line gave no vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BadLineReason {
    /// More or fewer numbers than the other lines have.
    FieldCount {
        /// Numbers on the line.
        found: usize,
        /// Numbers of a vector.
        expected: usize,
    },
    /// A field that should be a number is not one.
    NotNumber {
        /// The field, cut off after 40 bytes; what is not UTF-8 is replaced.
        field: String,
    },
    /// A number is infinite, not a number, or too large for its type.
    NotFinite {
        /// The field, cut off likewise.
        field: String,
    },
    /// The word is not UTF-8.
    NotUtf8,
    /// The header announces another number of words than the file has lines.
    HeaderCount {
        /// Words announced.
        announced: u64,
        /// Lines that are neither blank nor the header.
        found: u64,
    },
}

impl BadLineReason {
    /// Creates the reason for a field that is not a number.
    pub(crate) fn not_number(field: &[u8]) -> Self {
        Self::NotNumber {
            field: quoted(field),
        }
    }

    /// Creates the reason for a field that is not a finite number.
    pub(crate) fn not_finite(field: &[u8]) -> Self {
        Self::NotFinite {
            field: quoted(field),
        }
    }
}

/// Returns the beginning of a field as text.
fn quoted(field: &[u8]) -> String {
    // A field may be cut within a character, or not be text at all.
    String::from_utf8_lossy(&field[..field.len().min(QUOTED_BYTES)]).into_owned()
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, byte {}: {}",
            self.line, self.byte_offset, self.reason
        )
    }
}

impl fmt::Display for BadLineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldCount { found, expected } => {
                write!(
                    f,
                    "a vector has a length of {expected} here, and this line one of {found}"
                )
            }
            Self::NotNumber { field } => write!(f, "`{field}` is not a number"),
            Self::NotFinite { field } => write!(f, "`{field}` is not a finite number"),
            Self::NotUtf8 => f.write_str("the word is not UTF-8"),
            Self::HeaderCount { announced, found } => {
                write!(
                    f,
                    "the header announces {announced} words, {found} lines follow"
                )
            }
        }
    }
}
