//! The ends of the patterns of a level in a working file: what an n-gram that crosses a border can reach.

use std::path::PathBuf;

use kato_columns::map::Map;

use super::CountsError;
use super::scratch::ScratchWriter;
use crate::collect::BREAK;

/// The first and the last symbols of the patterns of a level in a working file, the same number of bytes
/// for each.
pub(super) struct EdgeWriter {
    out: ScratchWriter,
    size: EdgeSize,
}

pub(super) struct EdgeFile {
    map: Map,
    size: EdgeSize,
}

/// How many symbols the ends of a pattern have at most on each side, and the bytes of a symbol.
#[derive(Clone, Copy)]
pub(super) struct EdgeSize {
    pub(super) reach: usize,
    pub(super) symbol_bytes: usize,
}

impl EdgeSize {
    /// Returns the bytes of the ends of a pattern: how many symbols there are, and the symbols.
    const fn bytes(self) -> usize {
        1 + 2 * self.reach * self.symbol_bytes
    }
}

impl EdgeWriter {
    pub(super) fn create(path: PathBuf, size: EdgeSize) -> Result<Self, CountsError> {
        let out = ScratchWriter::create(path)?;
        Ok(Self { out, size })
    }

    /// Appends the symbols of a pattern, or what is left of them; see [`Edges::insert`].
    pub(super) fn push(&mut self, symbols: &[u32]) -> Result<(), CountsError> {
        let EdgeSize {
            reach,
            symbol_bytes,
        } = self.size;
        let (first, last) = match symbols.len() <= 2 * reach {
            true => (symbols, &[][..]),
            false => (&symbols[..reach], &symbols[symbols.len() - reach..]),
        };
        const WIDEST: EdgeSize = EdgeSize {
            reach: crate::options::MAX_ORDER,
            symbol_bytes: 4,
        };
        let mut bytes = [0u8; WIDEST.bytes()];
        // At most 30.
        bytes[0] = (first.len() + last.len()) as u8;
        let parts = bytes[1..].chunks_exact_mut(symbol_bytes);
        for (part, symbol) in parts.zip(first.iter().chain(last)) {
            // No symbol has all of these bits, but the break has.
            part.copy_from_slice(&symbol.to_le_bytes()[..symbol_bytes]);
        }
        self.out.push(&bytes[..self.size.bytes()])
    }

    pub(super) fn finish(self) -> Result<EdgeFile, CountsError> {
        let map = self.out.finish()?;
        map.advise_random();
        Ok(EdgeFile {
            map,
            size: self.size,
        })
    }
}

impl EdgeFile {
    fn bytes_of(&self, place: u32) -> &[u8] {
        let bytes = self.size.bytes();
        let start = place as usize * bytes;
        self.map.get(start..start + bytes).unwrap_or_default()
    }

    /// Returns how many symbols the ends of a pattern have.
    pub(super) fn length(&self, place: u32) -> u8 {
        self.bytes_of(place).first().copied().unwrap_or(0)
    }

    /// Reads the ends of a pattern, of so many symbols.
    pub(super) fn read(&self, place: u32, length: u8, symbols: &mut Vec<u32>) {
        symbols.clear();
        let bytes = self.bytes_of(place).get(1..).unwrap_or_default();
        let width = self.size.symbol_bytes;
        let parts = bytes.chunks_exact(width).take(length.into());
        symbols.extend(parts.map(|part| {
            let mut symbol = [0; 4];
            symbol[..width].copy_from_slice(part);
            match u32::from_le_bytes(symbol) {
                all if all == BREAK >> (32 - 8 * width) => BREAK,
                symbol => symbol,
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_as_they_were_written_in_every_width() {
        let dir = tempfile::tempdir().unwrap();
        for symbol_bytes in 1..=4_usize {
            let largest = (BREAK >> (32 - 8 * symbol_bytes)) - 1;
            let patterns: [Vec<u32>; 4] = [
                vec![],
                vec![largest, BREAK, 0],
                vec![0, 1, largest, BREAK, largest, 2],
                vec![largest, 1, BREAK, 9, 9, 9, BREAK, 1, largest],
            ];
            let size = EdgeSize {
                reach: 3,
                symbol_bytes,
            };
            let mut writer = EdgeWriter::create(dir.path().join("edges"), size).unwrap();
            for pattern in &patterns {
                writer.push(pattern).unwrap();
            }
            let file = writer.finish().unwrap();
            let mut found = Vec::new();
            for (place, pattern) in (0..).zip(&patterns) {
                file.read(place, file.length(place), &mut found);
                let expected = match pattern.len() {
                    ..=6 => pattern.clone(),
                    len => [&pattern[..3], &pattern[len - 3..]].concat(),
                };
                assert_eq!(found, expected, "{symbol_bytes} bytes");
            }
        }
    }
}
