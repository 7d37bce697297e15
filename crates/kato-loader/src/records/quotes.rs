//! Follows the quotes of a delimited row, to find what stands behind the closing one of a field.

/// Where in a row the bytes have led.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote that closes a field, or begins a doubled one.
    Closing,
    /// Behind blanks that follow a closing quote.
    Closed,
}

/// The quotes of a row.
///
/// The parser takes what follows a closing quote for more of the field. So does whoever lost a quote: its row and
/// the next one become one, of as many fields as each, and nobody would notice.
pub(crate) struct Quotes {
    delimiter: u8,
    place: Place,
    is_broken: bool,
}

impl Quotes {
    /// Creates one in front of a row.
    pub(crate) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            place: Place::FieldStart,
            is_broken: false,
        }
    }

    /// Begins a row.
    pub(super) fn begin(&mut self) {
        *self = Self::new(self.delimiter);
    }

    /// Follows more bytes of the row.
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        let is_plain = matches!(self.place, Place::FieldStart | Place::Plain);
        if is_plain && memchr::memchr(b'"', bytes).is_none() {
            if let Some(&last) = bytes.last() {
                self.place = self.behind(last);
            }
            return;
        }
        for &byte in bytes {
            self.place = self.behind(byte);
        }
    }

    /// Follows one more byte; returns whether a field begins behind it.
    pub(crate) fn pass(&mut self, byte: u8) -> bool {
        self.place = self.behind(byte);
        self.place == Place::FieldStart
    }

    /// Returns the place behind a byte.
    fn behind(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (Place::Quoted, b'"') => Place::Closing,
            (Place::Quoted, _) | (Place::Closing | Place::FieldStart, b'"') => Place::Quoted,
            (_, b'\r' | b'\n') => Place::FieldStart,
            (_, byte) if byte == self.delimiter => Place::FieldStart,
            (Place::FieldStart | Place::Plain, _) => Place::Plain,
            (Place::Closing | Place::Closed, b' ' | b'\t') => Place::Closed,
            (Place::Closing | Place::Closed, _) => {
                self.is_broken = true;
                Place::Plain
            }
        }
    }

    /// Returns whether a quoted field is open.
    pub(crate) fn is_open(&self) -> bool {
        self.place == Place::Quoted
    }

    /// Returns whether text stands behind a closing quote; blanks may.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }
}
