//! Writes BSON straight into bytes: bulks hold thousands of documents of a few kinds.

use std::io::Write as _;

use mongodb::bson::RawDocumentBuf;

/// A document being written. Keys hold no NUL; whoever passes keys from outside sees to that.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Where the open documents begin.
    open: Vec<usize>,
}

impl Writer {
    /// A document without keys.
    pub(crate) fn new() -> Self {
        let mut writer = Self {
            bytes: Vec::new(),
            open: Vec::new(),
        };
        writer.begin();
        writer
    }

    pub(crate) fn document(&mut self, key: &str, content: impl FnOnce(&mut Self)) {
        self.key(0x03, key);
        self.nest(content);
    }

    pub(crate) fn array(&mut self, key: &str, content: impl FnOnce(&mut Self)) {
        self.key(0x04, key);
        self.nest(content);
    }

    /// A document as the element of an array.
    pub(crate) fn document_at(&mut self, idx: usize, content: impl FnOnce(&mut Self)) {
        self.index(0x03, idx);
        self.nest(content);
    }

    /// An array as the element of an array.
    pub(crate) fn array_at(&mut self, idx: usize, content: impl FnOnce(&mut Self)) {
        self.index(0x04, idx);
        self.nest(content);
    }

    /// A document as the element of an array, if `content` says that it is to stay.
    pub(crate) fn element_if(&mut self, idx: usize, content: impl FnOnce(&mut Self) -> bool) {
        let start = self.bytes.len();
        let mut stays = false;
        self.document_at(idx, |out| stays = content(out));
        if !stays {
            self.bytes.truncate(start);
        }
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.key(0x02, key);
        self.text_value(text);
    }

    pub(crate) fn text_at(&mut self, idx: usize, text: &str) {
        self.index(0x02, idx);
        self.text_value(text);
    }

    pub(crate) fn double(&mut self, key: &str, value: f64) {
        self.key(0x01, key);
        self.bytes.extend(value.to_le_bytes());
    }

    /// A whole number in the smaller type that holds it, as KATO's driver writes numbers.
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

    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.key(0x08, key);
        self.bytes.push(u8::from(value));
    }

    pub(crate) fn null(&mut self, key: &str) {
        self.key(0x0a, key);
    }

    pub(crate) fn binary(&mut self, key: &str, value: &[u8]) {
        self.key(0x05, key);
        self.bytes.extend((value.len() as u32).to_le_bytes());
        self.bytes.push(0);
        self.bytes.extend(value);
    }

    /// The finished document.
    pub(crate) fn finish(mut self) -> RawDocumentBuf {
        self.end();
        RawDocumentBuf::from_bytes(self.bytes).expect("what was begun was ended")
    }

    fn nest(&mut self, content: impl FnOnce(&mut Self)) {
        self.begin();
        content(self);
        self.end();
    }

    fn begin(&mut self) {
        self.open.push(self.bytes.len());
        self.bytes.extend([0; 4]);
    }

    fn end(&mut self) {
        self.bytes.push(0);
        let start = self.open.pop().expect("every end has its begin");
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn key(&mut self, kind: u8, key: &str) {
        self.bytes.push(kind);
        self.bytes.extend(key.as_bytes());
        self.bytes.push(0);
    }

    fn index(&mut self, kind: u8, idx: usize) {
        self.bytes.push(kind);
        write!(self.bytes, "{idx}").expect("writing into a Vec cannot fail");
        self.bytes.push(0);
    }

    fn text_value(&mut self, text: &str) {
        self.bytes.extend((text.len() as u32 + 1).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }
}
