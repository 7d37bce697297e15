//! Documents: a text, its number and its name.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// One text of a corpus, as a loader hands it out or as a source of one's own gives it.
///
/// ```
/// use kato_loader::Document;
///
/// let named = Document::new("It was the best of times.").with_id("tale/1");
/// assert_eq!(named, Document::from(("tale/1", "It was the best of times.")));
/// assert_eq!(Document::from("a text").id.to_string(), "");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Document {
    /// Position among the documents of the corpus, from 0: the sample index. A loader gives it, and
    /// ignores that of a source.
    pub index: u64,
    /// A name that is the same on every read of the same corpus. Where that of a source is empty, the
    /// loader names the document by its place.
    pub id: DocumentId,
    /// The text; from a loader never empty or only white space.
    pub text: String,
}

impl Document {
    /// Creates a document without a number or a name.
    pub fn new(text: impl Into<String>) -> Self {
        Self::numbered(0, DocumentId::field(""), text.into())
    }

    /// Sets the name.
    #[must_use]
    pub fn with_id(mut self, id: impl AsRef<str>) -> Self {
        self.id = DocumentId::field(id.as_ref());
        self
    }

    /// Creates a document of a corpus.
    pub(crate) fn numbered(index: u64, id: DocumentId, text: String) -> Self {
        Self { index, id, text }
    }
}

impl From<&str> for Document {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Document {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// A name and a text.
impl<I: AsRef<str>, T: Into<String>> From<(I, T)> for Document {
    fn from((id, text): (I, T)) -> Self {
        Self::new(text).with_id(id)
    }
}

/// The name of a document: `path#record`, or the value of the id field when one was chosen, or what a source
/// of one's own calls it.
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

    /// Returns whether it is no name: that of a document which its source did not name.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Field(value) if value.is_empty())
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
