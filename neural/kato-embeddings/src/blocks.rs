//! Cuts a text into blocks of whole lines, mapped or decompressed.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::{memchr, memrchr};

/// Text that a worker takes at once: small enough to balance, large enough to make the handover
/// cheap.
const BLOCK_BYTES: usize = 1 << 20;

/// Longest line: 64 MiB. Anything longer is not a vector.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// Whole lines, with the offset of the first one in the text.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) offset: u64,
    pub(crate) text: Cow<'a, [u8]>,
}

/// Reason why there is no next block.
#[derive(Debug)]
pub(crate) enum BlockError {
    /// A line does not end.
    LineTooLong,
    /// The decoder gave up behind this many bytes of text.
    Corrupt(u64, io::Error),
}

/// Blocks of a text, in order. Nothing follows an error.
pub(crate) struct Blocks<'a> {
    source: Source<'a>,
    offset: u64,
}

/// Origin of the text.
enum Source<'a> {
    Mapped(&'a [u8]),
    Decoded {
        decoder: Box<dyn Read + Send + 'a>,
        /// Bytes decoded behind the last line end.
        rest: Vec<u8>,
    },
    Ended,
}

impl<'a> Blocks<'a> {
    /// Creates the blocks of a file, which is decompressed if it begins as gzip and Zstandard do.
    /// Text cannot begin so.
    pub(crate) fn of(file: &'a [u8]) -> io::Result<Self> {
        let decoded = |decoder: Box<dyn Read + Send + 'a>| Source::Decoded {
            decoder,
            rest: Vec::new(),
        };
        let source = if file.starts_with(GZIP_MAGIC) {
            // A gzip file may have several members (RFC 1952, 2.2), which are one text.
            decoded(Box::new(flate2::bufread::MultiGzDecoder::new(file)))
        } else if file.starts_with(ZSTD_MAGIC) {
            decoded(Box::new(zstd::Decoder::with_buffer(file)?))
        } else {
            Source::Mapped(file)
        };
        Ok(Self { source, offset: 0 })
    }

    /// Returns the next block, which is not empty.
    pub(crate) fn next(&mut self) -> Result<Option<Block<'a>>, BlockError> {
        let text = match &mut self.source {
            Source::Mapped(file) => cut(file).map(Cow::Borrowed),
            Source::Decoded { decoder, rest } => decode(decoder, rest, self.offset).map(Cow::Owned),
            Source::Ended => return Ok(None),
        };
        // A decoder that has failed might go on with other bytes.
        let text = text.inspect_err(|_| self.source = Source::Ended)?;
        if text.is_empty() {
            self.source = Source::Ended;
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += text.len() as u64;
        Ok(Some(Block { offset, text }))
    }
}

/// Takes whole lines from the front of a mapped file.
fn cut<'a>(file: &mut &'a [u8]) -> Result<&'a [u8], BlockError> {
    let behind = file.get(BLOCK_BYTES..).unwrap_or_default();
    // Without a bound, the search of a binary file would read all of it.
    let searched = &behind[..behind.len().min(MAX_LINE_BYTES)];
    let length = match memchr(b'\n', searched) {
        Some(at) => BLOCK_BYTES + at + 1,
        None if searched.len() == MAX_LINE_BYTES => return Err(BlockError::LineTooLong),
        None => file.len(),
    };
    let (block, rest) = file.split_at(length);
    *file = rest;
    Ok(block)
}

/// Decodes until there is a block. What follows its last line end is left in `rest`.
fn decode(decoder: &mut dyn Read, rest: &mut Vec<u8>, offset: u64) -> Result<Vec<u8>, BlockError> {
    let mut block = std::mem::take(rest);
    let mut wanted = BLOCK_BYTES;
    loop {
        let missing = wanted.saturating_sub(block.len()) as u64;
        let read = Read::take(&mut *decoder, missing).read_to_end(&mut block);
        if let Err(error) = read {
            return Err(BlockError::Corrupt(offset + block.len() as u64, error));
        }
        // The text has ended, with or without a line break.
        if block.len() < wanted {
            return Ok(block);
        }
        if let Some(at) = memrchr(b'\n', &block) {
            *rest = block.split_off(at + 1);
            return Ok(block);
        }
        if block.len() >= MAX_LINE_BYTES {
            return Err(BlockError::LineTooLong);
        }
        // Doubled, because every round searches the whole block again.
        wanted *= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn text() -> Vec<u8> {
        let line = |n: usize| format!("{n} {}\n", "x".repeat(n % 5000));
        let mut text: Vec<u8> = (0..2000).flat_map(|n| line(n).into_bytes()).collect();
        text.extend(std::iter::repeat_n(b'y', 3 * BLOCK_BYTES));
        text.extend(b"\nno line end");
        text
    }

    fn check(file: &[u8]) {
        let mut blocks = Blocks::of(file).unwrap();
        let mut joined = Vec::new();
        let mut ends_with_line = true;
        while let Some(block) = blocks.next().unwrap() {
            assert!(ends_with_line, "a block in the middle ends with a line");
            assert_eq!(block.offset, joined.len() as u64);
            joined.extend_from_slice(&block.text);
            ends_with_line = joined.ends_with(b"\n");
        }
        assert!(joined == text());
        assert!(blocks.next().unwrap().is_none());
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn blocks_are_the_text() {
        check(&text());
        let whole = text();
        let (front, back) = whole.split_at(1000);
        check(&[gzip(front), gzip(back)].concat());
        check(&zstd::encode_all(text().as_slice(), 1).unwrap());
        assert!(Blocks::of(b"").unwrap().next().unwrap().is_none());
    }

    #[test]
    fn an_archive_that_is_cut_off_is_an_error() {
        for archive in [
            gzip(&text()),
            zstd::encode_all(text().as_slice(), 1).unwrap(),
        ] {
            for length in [5, archive.len() / 2, archive.len() - 1] {
                let mut blocks = Blocks::of(&archive[..length]).unwrap();
                let end = loop {
                    match blocks.next() {
                        Ok(Some(_)) => {}
                        end => break end,
                    }
                };
                assert!(
                    matches!(end, Err(BlockError::Corrupt(..))),
                    "{length} bytes"
                );
                assert!(
                    blocks.next().unwrap().is_none(),
                    "nothing is behind an error"
                );
            }
        }
    }

    #[test]
    fn lines_have_a_limit() {
        let endless = vec![b'x'; BLOCK_BYTES + MAX_LINE_BYTES];
        let is_refused = |file: &[u8]| {
            let next = Blocks::of(file).unwrap().next();
            matches!(next, Err(BlockError::LineTooLong))
        };
        assert!(is_refused(&endless));
        assert!(is_refused(
            &zstd::encode_all(endless.as_slice(), 1).unwrap()
        ));
    }
}
