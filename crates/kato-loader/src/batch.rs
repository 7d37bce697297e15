//! Batches of documents in one piece of memory, to be handed to another thread.

use std::ops::Range;
use std::sync::Arc;

use crate::cursor::Cursor;
use crate::document::{Document, DocumentId, Place};

/// Text of a batch where nothing speaks for another size, in bytes: as much as keeps threads busy.
pub const DEFAULT_BATCH_BYTES: usize = 512 << 10;

/// Consecutive documents of a corpus, their texts side by side in one buffer.
///
/// Shape: never empty; indices rise, by one unless the loader reads one side of a
/// [`Split`](crate::Split).
#[derive(Clone, Debug)]
pub struct DocumentBatch {
    text: String,
    entries: Vec<Entry>,
    files: Vec<Arc<str>>,
    cursor: Cursor,
}

/// What a batch holds of a document beside its text.
#[derive(Clone, Debug)]
struct Entry {
    index: u64,
    /// Where the text ends in the batch's; it begins where the one before ends.
    end: usize,
    /// Index into `files`.
    file: usize,
    place: Place,
    id: Option<Box<str>>,
}

/// One document inside a [`DocumentBatch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchDocument<'a> {
    /// Position among the documents of the corpus, from 0.
    pub index: u64,
    /// The text, never empty or only white space.
    pub text: &'a str,
    batch: &'a DocumentBatch,
    at: usize,
}

impl BatchDocument<'_> {
    /// Returns the document's name.
    #[must_use]
    pub fn id(&self) -> DocumentId {
        let entry = &self.batch.entries[self.at];
        match &entry.id {
            Some(id) => DocumentId::field(id),
            None => DocumentId::position(Arc::clone(&self.batch.files[entry.file]), entry.place),
        }
    }

    /// Returns a copy that owns its text.
    #[must_use]
    pub fn to_document(&self) -> Document {
        Document::numbered(self.index, self.id(), self.text.to_owned())
    }
}

impl DocumentBatch {
    /// Creates an empty batch with room for `capacity` bytes of text.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            entries: Vec::new(),
            files: Vec::new(),
            cursor: Cursor::default(),
        }
    }

    /// Returns the buffer to which the next document's text is to be appended, before
    /// [`push`](Self::push).
    pub(crate) fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }

    /// Ends the document whose text was appended; an empty id is none.
    pub(crate) fn push(&mut self, index: u64, file: &Arc<str>, place: Place, id: &str) {
        // Consecutive documents are mostly of one file, whose name is kept once. Comparing
        // addresses is enough: the corpus has one name for each file.
        if !self
            .files
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, file))
        {
            self.files.push(Arc::clone(file));
        }
        self.entries.push(Entry {
            index,
            end: self.text.len(),
            file: self.files.len() - 1,
            place,
            id: (!id.is_empty()).then(|| id.into()),
        });
    }

    /// Sets the position behind the last document.
    pub(crate) fn set_cursor(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no document; false for every batch that a loader returns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the sum of the lengths of the texts, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the index of the first document.
    #[must_use]
    pub fn first_index(&self) -> u64 {
        self.entries.first().map_or(0, |entry| entry.index)
    }

    /// Returns the range from the index of the first document to behind that of the last.
    ///
    /// All of them are here, unless the loader reads one side of a [`Split`](crate::Split).
    #[must_use]
    pub fn indices(&self) -> Range<u64> {
        let end = self.entries.last().map_or(0, |entry| entry.index + 1);
        self.first_index()..end
    }

    /// Returns the position behind the last document: where to resume once this batch and all
    /// before it are done.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor.clone()
    }

    /// Returns the document at a position within the batch.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<BatchDocument<'_>> {
        (at < self.len()).then(|| self.document(at))
    }

    /// Returns the documents in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BatchDocument<'_>> {
        (0..self.len()).map(|at| self.document(at))
    }

    /// Returns the document at a position that exists.
    fn document(&self, at: usize) -> BatchDocument<'_> {
        let start = match at {
            0 => 0,
            _ => self.entries[at - 1].end,
        };
        BatchDocument {
            index: self.entries[at].index,
            text: &self.text[start..self.entries[at].end],
            batch: self,
            at,
        }
    }
}
