//! A document: a text, its number and its name.

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
    pub(crate) fn new(index: u64, id: DocumentId, text: String) -> Self {
        Self { index, id, text }
    }
}

/// The name of a document: `path#record`, or the value of the id field when one was chosen.
///
/// The record number counts from 1 within its file; in line formats it is the line number. Kept in parts, because writing
/// out a name for each of millions of documents would cost more than reading them; [`Display`](fmt::Display) and
/// serialisation give the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentId(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Position { file: Arc<str>, record: u64 },
    Field(Box<str>),
}

impl DocumentId {
    pub(crate) fn position(file: Arc<str>, record: u64) -> Self {
        Self(Repr::Position { file, record })
    }

    pub(crate) fn field(value: &str) -> Self {
        Self(Repr::Field(value.into()))
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Position { file, record } => write!(f, "{file}#{record}"),
            Repr::Field(value) => f.write_str(value),
        }
    }
}

impl Serialize for DocumentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
