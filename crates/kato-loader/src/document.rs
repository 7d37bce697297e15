//! Documents: a text, its number and its name.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// One text of a corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Document {
    /// Position among the documents of the corpus, from 0: the sample index.
    pub index: u64,
    /// A name that is the same on every read of the same corpus.
    pub id: DocumentId,
    /// The text, never empty or only white space.
    pub text: String,
}

impl Document {
    /// Creates a document.
    pub(crate) fn new(index: u64, id: DocumentId, text: String) -> Self {
        Self { index, id, text }
    }
}

/// The name of a document: `path#record`, or the value of the id field when one was chosen.
///
/// The record number counts from 1 within its file; in line formats it is the line number. Where
/// lines are not counted, because a file is read out of order or in shards, the name is
/// `path@byte`, the offset of the line. Kept in parts, because writing out a name for each of
/// millions of documents would cost more than reading them; [`Display`](fmt::Display) and
/// serialisation give the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentId(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Position { file: Arc<str>, place: Place },
    Field(Box<str>),
}

/// Where in its file a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Its number, from 1.
    Record(u64),
    /// The offset of its first byte.
    Byte(u64),
}

impl DocumentId {
    /// Creates the name of a document that has no id: its file and where it lies there.
    pub(crate) fn position(file: Arc<str>, place: Place) -> Self {
        Self(Repr::Position { file, place })
    }

    /// Creates the name of a document from its id.
    pub(crate) fn field(value: &str) -> Self {
        Self(Repr::Field(value.into()))
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Position { file, place } => match place {
                Place::Record(record) => write!(f, "{file}#{record}"),
                Place::Byte(byte) => write!(f, "{file}@{byte}"),
            },
            Repr::Field(value) => f.write_str(value),
        }
    }
}

impl Serialize for DocumentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
