//! Turns UTF-16 into UTF-8 while it is read.

use std::io::{self, Read};

use crate::looks::Utf16;

/// Bytes that are read at a time.
const STEP_BYTES: usize = 64 << 10;

/// The text of a stream of UTF-16, as UTF-8.
pub(super) struct Utf16Reader<R> {
    source: R,
    order: Utf16,
    /// Bytes that were read and are not yet turned: at most a unit and a half.
    units: Vec<u8>,
    text: io::Cursor<Vec<u8>>,
    has_ended: bool,
}

impl<R: Read> Utf16Reader<R> {
    /// Creates a reader of the units behind the byte order mark, or with it: it becomes that of
    /// UTF-8.
    pub(super) fn new(source: R, order: Utf16) -> Self {
        Self {
            source,
            order,
            units: Vec::new(),
            text: io::Cursor::default(),
            has_ended: false,
        }
    }

    /// Turns what is there, but for the first half of a pair that is not complete.
    fn turn(&mut self) -> io::Result<()> {
        let of_bytes = |pair: &[u8]| match self.order {
            Utf16::LittleEndian => u16::from_le_bytes([pair[0], pair[1]]),
            Utf16::BigEndian => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let mut n_units = self.units.len() / 2;
        let is_high = |unit: u16| (0xD800..0xDC00).contains(&unit);
        if !self.has_ended
            && n_units > 0
            && is_high(of_bytes(&self.units[2 * n_units - 2..2 * n_units]))
        {
            n_units -= 1;
        }
        let units = self.units[..2 * n_units].chunks_exact(2).map(of_bytes);
        let text: Result<String, _> = char::decode_utf16(units).collect();
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let text = text.map_err(|_| invalid("UTF-16 with half of a pair"))?;
        self.units.drain(..2 * n_units);
        if self.has_ended && !self.units.is_empty() {
            return Err(invalid("UTF-16 with half of a unit at its end"));
        }
        self.text = io::Cursor::new(text.into_bytes());
        Ok(())
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.has_ended {
                return Ok(read);
            }
            let held = self.units.len();
            self.units.resize(held + STEP_BYTES, 0);
            let read = self.source.read(&mut self.units[held..]);
            // Also where the read failed: what was put behind is not of the file.
            self.units.truncate(held + *read.as_ref().unwrap_or(&0));
            self.has_ended = read? == 0;
            self.turn()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives few bytes at a time, as pipes do.
    struct Dripping<'a>(&'a [u8], usize);

    impl Read for Dripping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn read(bytes: &[u8], order: Utf16, step: usize) -> io::Result<String> {
        let mut text = String::new();
        Utf16Reader::new(Dripping(bytes, step), order).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn pairs_are_put_together_wherever_reads_end() {
        let text = "\u{FEFF}a\u{1F600}b漢\u{10FFFF}\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for step in 1..8 {
            assert_eq!(read(&little, Utf16::LittleEndian, step).unwrap(), text);
            assert_eq!(read(&big, Utf16::BigEndian, step).unwrap(), text);
        }
    }

    #[test]
    fn halves_are_refused() {
        for bytes in [&b"a\0b"[..], b"\x3D\xD8", b"\x3D\xD8a\0", b"\0\xDE"] {
            for step in 1..5 {
                let error = read(bytes, Utf16::LittleEndian, step).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?} {step}");
            }
        }
    }
}
