//! BSON that is written straight into bytes: bulks hold thousands of documents of a few kinds.

use std::io::Write as _;

use mongodb::bson::{RawDocument, RawDocumentBuf};

/// A document that is being written. Keys hold no NUL; whoever passes keys from outside sees to
/// that.
#[derive(Debug)]
pub(crate) struct BsonWriter {
    bytes: Vec<u8>,
    /// The positions at which the open documents begin.
    open: Vec<usize>,
}

impl BsonWriter {
    /// Creates a document without keys.
    pub(crate) fn new() -> Self {
        let mut writer = Self {
            bytes: Vec::new(),
            open: Vec::new(),
        };
        writer.begin();
        writer
    }

    /// Writes a document under a key.
    pub(crate) fn document(&mut self, key: &str, content: impl FnOnce(&mut Self)) {
        self.key(0x03, key);
        self.nest(content);
    }

    /// Writes an array under a key.
    pub(crate) fn array(&mut self, key: &str, content: impl FnOnce(&mut Self)) {
        self.key(0x04, key);
        self.nest(content);
    }

    /// Writes a document as the element of an array.
    pub(crate) fn document_at(&mut self, idx: usize, content: impl FnOnce(&mut Self)) {
        self.index(0x03, idx);
        self.nest(content);
    }

    /// Writes an array as the element of an array.
    pub(crate) fn array_at(&mut self, idx: usize, content: impl FnOnce(&mut Self)) {
        self.index(0x04, idx);
        self.nest(content);
    }

    /// Writes a finished document as the element of an array.
    pub(crate) fn raw_document_at(&mut self, idx: usize, document: &RawDocument) {
        self.index(0x03, idx);
        self.bytes.extend(document.as_bytes());
    }

    /// Writes a text under a key.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.key(0x02, key);
        self.text_value(text);
    }

    /// Writes a text as the element of an array.
    pub(crate) fn text_at(&mut self, idx: usize, text: &str) {
        self.index(0x02, idx);
        self.text_value(text);
    }

    /// Writes a floating-point number.
    pub(crate) fn double(&mut self, key: &str, value: f64) {
        self.key(0x01, key);
        self.bytes.extend(value.to_le_bytes());
    }

    /// Writes a whole number in the smaller type that holds it, as KATO's driver writes numbers.
    pub(crate) fn integer(&mut self, key: &str, value: i64) {
        match i32::try_from(value) {
            Ok(value) => {
                self.key(0x10, key);
                self.bytes.extend(value.to_le_bytes());
            }
            Err(_) => {
                self.key(0x12, key);
                self.bytes.extend(value.to_le_bytes());
            }
        }
    }

    /// Writes a truth value.
    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.key(0x08, key);
        self.bytes.push(u8::from(value));
    }

    /// Writes that there is no value.
    pub(crate) fn null(&mut self, key: &str) {
        self.key(0x0a, key);
    }

    /// Writes bytes, of the generic subtype.
    pub(crate) fn binary(&mut self, key: &str, value: &[u8]) {
        self.key(0x05, key);
        self.bytes.extend(length(value.len()));
        self.bytes.push(0);
        self.bytes.extend(value);
    }

    /// Returns the bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the finished document.
    pub(crate) fn finish(mut self) -> RawDocumentBuf {
        self.end();
        RawDocumentBuf::from_bytes(self.bytes).expect("what was begun was ended")
    }

    /// Writes what is between the beginning and the end of a document or array.
    fn nest(&mut self, content: impl FnOnce(&mut Self)) {
        self.begin();
        content(self);
        self.end();
    }

    /// Leaves room for a length, which is known at the end.
    fn begin(&mut self) {
        self.open.push(self.bytes.len());
        self.bytes.extend([0; 4]);
    }

    /// Ends the innermost open document, and fills in its length.
    fn end(&mut self) {
        self.bytes.push(0);
        let start = self.open.pop().expect("every end has its begin");
        // The length counts itself and the closing zero.
        let length = length(self.bytes.len() - start);
        self.bytes[start..start + 4].copy_from_slice(&length);
    }

    /// Writes an element's type, by its number in the specification of BSON, and its key.
    fn key(&mut self, kind: u8, key: &str) {
        self.bytes.push(kind);
        self.bytes.extend(key.as_bytes());
        self.bytes.push(0);
    }

    /// Writes an element's type and its place in an array, which BSON keeps as a decimal key.
    fn index(&mut self, kind: u8, idx: usize) {
        self.bytes.push(kind);
        write!(self.bytes, "{idx}").expect("writing into a Vec cannot fail");
        self.bytes.push(0);
    }

    /// Writes the bytes of a text behind its key.
    fn text_value(&mut self, text: &str) {
        // The length counts the closing zero.
        self.bytes.extend(length(text.len() + 1));
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }
}

/// Returns a length as BSON has it.
fn length(bytes: usize) -> [u8; 4] {
    // Bulks are cut at a few MiB, and no single upsert takes more than a document may.
    let length = u32::try_from(bytes).expect("what is written has some MiB at most");
    length.to_le_bytes()
}
