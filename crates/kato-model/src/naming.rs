//! Names of knowledge bases and of patterns: their parts, the text of which the latter are the
//! SHA-1, and the fast way to those of patterns with one symbol per event, from prepared text
//! fragments.

use std::fmt;

use crate::hex;
pub use crate::literal::{write_events_literal, write_symbol_literal};
use crate::name::PatternName;
pub use crate::name::{NAME_PREFIX, ParsePatternNameError, Prefixed};
pub use crate::processor_id::{processor_id, processor_id_in};
pub use crate::run_name::InvalidRunName;

/// The text between events in the hashed text. Prepared fragments end with it; the last one is cut
/// off again.
const SEPARATOR: &[u8; 2] = b", ";
/// A fragment up to this long is copied as one block of this size: a few moves instead of a call
/// with a length.
const BLOCK_COPY: usize = 32;
/// Bytes in a block of SHA-1.
const BLOCK: usize = 64;
/// Most bytes that SHA-1 adds to a text: a bit, the length, and zeros up to the end of a block.
const MAX_PADDING: usize = 1 + size_of::<u64>() + BLOCK - 1;
/// Room behind a text: for the padding, or for a block copy that overshoots.
const TAIL: usize = if MAX_PADDING > BLOCK_COPY {
    MAX_PADDING
} else {
    BLOCK_COPY
};
/// The initial state of SHA-1 (FIPS 180-4, section 5.3.1).
const INITIAL_STATE: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

/// The hashed text of every symbol of a vocabulary as an event of its own, by number.
///
/// Escaping is done once here, so that naming a chunk of symbols is only copying and one SHA-1.
///
/// # Examples
///
/// ```
/// use kato_model::naming::LiteralTable;
///
/// let table = LiteralTable::new(["a", "it's"]);
/// assert_eq!(table.fragment(1), Some(br#"["it's"]"#.as_slice()));
/// assert_eq!(table.fragment(2), None);
/// ```
#[derive(Clone)]
pub struct LiteralTable {
    /// All fragments, each followed by the separator, and `BLOCK_COPY` bytes more so that a block
    /// copy can overshoot.
    bytes: Vec<u8>,
    /// Start of each fragment, and one past the last separator: one entry more than symbols.
    starts: Vec<usize>,
}

impl LiteralTable {
    /// Prepares the symbols; the first gets number 0.
    #[must_use]
    pub fn new<I>(symbols: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut text = String::new();
        let mut starts = vec![0];
        for symbol in symbols {
            text.push('[');
            write_symbol_literal(symbol.as_ref(), &mut text);
            text.push_str("], ");
            starts.push(text.len());
        }
        let mut bytes = text.into_bytes();
        bytes.resize(bytes.len() + BLOCK_COPY, 0);
        Self { bytes, starts }
    }

    /// Returns the text of the symbol as a whole event, for example `['a']`; `None` for a number
    /// that is not in the table.
    #[must_use]
    pub fn fragment(&self, id: u32) -> Option<&[u8]> {
        let (start, end) = self.range(id)?;
        self.bytes.get(start..end - SEPARATOR.len())
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns whether there are no symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns where the fragment starts and where its separator ends.
    fn range(&self, id: u32) -> Option<(usize, usize)> {
        let id = usize::try_from(id).ok()?;
        Some((*self.starts.get(id)?, *self.starts.get(id + 1)?))
    }
}

impl fmt::Debug for LiteralTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiteralTable")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Working memory of [`name_of_ids`] and [`name_of_names`]; keep one per thread and reuse it.
///
/// It holds nothing between calls that changes a result.
#[derive(Debug, Clone, Default)]
pub struct NameScratch {
    /// Only ever grows; what it holds is left over from earlier texts.
    bytes: Vec<u8>,
}

impl NameScratch {
    /// Opens a text that has at most `text_len` bytes with its brackets.
    fn open(&mut self, text_len: usize) -> Text<'_> {
        // Old bytes need no clearing: the text overwrites them up to its end, and `finish` the
        // padding behind it.
        if self.bytes.len() < text_len + TAIL {
            self.bytes.resize(text_len + TAIL, 0);
        }
        self.bytes[0] = b'[';
        Text {
            bytes: &mut self.bytes,
            len: 1,
        }
    }
}

/// The error for a number that is not in the table that the names are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "name a pattern: symbol {id} is not in the table of {table_len} symbols; build the table from the same vocabulary"
)]
pub struct UnknownSymbolId {
    /// The number asked for.
    pub id: u32,
    /// Number of symbols in the table.
    pub table_len: usize,
}

/// Returns the name of the pattern whose events are these symbols, one symbol per event.
///
/// Equal to [`PatternName::of_events`] over the symbols themselves.
///
/// # Errors
///
/// [`UnknownSymbolId`] for the first number that is not in the table.
///
/// # Examples
///
/// ```
/// use kato_model::PatternName;
/// use kato_model::naming::{LiteralTable, NameScratch, name_of_ids};
///
/// let table = LiteralTable::new(["a", "b"]);
/// let name = name_of_ids(&table, &[0, 1, 0], &mut NameScratch::default())?;
/// assert_eq!(name, PatternName::of_events(&[["a"], ["b"], ["a"]]));
/// # Ok::<(), kato_model::naming::UnknownSymbolId>(())
/// ```
pub fn name_of_ids(
    table: &LiteralTable,
    ids: &[u32],
    scratch: &mut NameScratch,
) -> Result<PatternName, UnknownSymbolId> {
    // The first pass checks every number and adds up the lengths, so that the second one has room
    // for all fragments and cannot fail.
    let mut text_len = "[]".len();
    for &id in ids {
        let (start, end) = table.range(id).ok_or(UnknownSymbolId {
            id,
            table_len: table.len(),
        })?;
        text_len += end - start;
    }
    let mut text = scratch.open(text_len);
    for (start, end) in ids.iter().filter_map(|id| table.range(*id)) {
        text.push(&table.bytes[start..], end - start);
    }
    Ok(text.finish())
}

/// Returns the name of the pattern whose events are these pattern names, each (with its prefix) the
/// one symbol of an event.
///
/// Equal to [`PatternName::of_events`] over the prefixed texts.
///
/// # Examples
///
/// ```
/// use kato_model::PatternName;
/// use kato_model::naming::{NameScratch, name_of_names};
///
/// let child = PatternName::of_events(&[["a"], ["b"]]);
/// let name = name_of_names(&[child, child], &mut NameScratch::default());
/// let symbol = child.prefixed().to_string();
/// assert_eq!(name, PatternName::of_events(&[[&symbol], [&symbol]]));
/// ```
#[must_use]
pub fn name_of_names(children: &[PatternName], scratch: &mut NameScratch) -> PatternName {
    let mut text = scratch.open("[]".len() + children.len() * NAME_FRAGMENT);
    for child in children {
        text.push_name(child);
    }
    text.finish()
}

/// The text that opens an event that holds one pattern name. Nothing in a name is ever escaped, so
/// the text around the digits is fixed.
const NAME_OPEN: &[u8; 7] = b"['PTRN|";
const _: () = assert!(NAME_PREFIX.len() + 2 == NAME_OPEN.len());
/// The text that closes it, with the separator.
const NAME_CLOSE: &[u8; 4] = b"'], ";
const NAME_FRAGMENT: usize = NAME_OPEN.len() + hex::HEX_LEN + NAME_CLOSE.len();

/// A text being written. A value of its own, so that the position stays in a register while bytes
/// are written.
struct Text<'a> {
    /// Long enough for the finished text and `TAIL` bytes.
    bytes: &'a mut [u8],
    len: usize,
}

impl Text<'_> {
    /// Appends the first `len` bytes of `source`.
    #[inline]
    fn push(&mut self, source: &[u8], len: usize) {
        let room = &mut self.bytes[self.len..];
        // A fixed number of bytes is moved by a few instructions. What the block copies beyond the
        // fragment is overwritten by the next fragment or by the padding; `TAIL` and the spare
        // bytes of the table leave room for it at either end.
        match (
            source.first_chunk::<BLOCK_COPY>(),
            room.first_chunk_mut::<BLOCK_COPY>(),
        ) {
            (Some(block), Some(room)) if len <= BLOCK_COPY => *room = *block,
            _ => room[..len].copy_from_slice(&source[..len]),
        }
        self.len += len;
    }

    /// Appends an event that holds one pattern name.
    #[inline]
    fn push_name(&mut self, name: &PatternName) {
        let room = &mut self.bytes[self.len..self.len + NAME_FRAGMENT];
        let (open, rest) = room.split_at_mut(NAME_OPEN.len());
        let (digits, close) = rest.split_at_mut(hex::HEX_LEN);
        open.copy_from_slice(NAME_OPEN);
        digits.copy_from_slice(&hex::encode(name.as_bytes()));
        close.copy_from_slice(NAME_CLOSE);
        self.len += NAME_FRAGMENT;
    }

    /// Closes the list and hashes the text.
    ///
    /// The padding is written in place and the compression function called once over all blocks:
    /// for texts of one or two blocks the bookkeeping of a streaming hasher costs as much as the
    /// hash.
    #[inline]
    fn finish(self) -> PatternName {
        let Self { bytes, mut len } = self;
        // A pattern without events has no separator to cut off.
        if len > 1 {
            len -= SEPARATOR.len();
        }
        bytes[len] = b']';
        len += 1;
        // The padding of SHA-1 (FIPS 180-4, section 5.1.1): a 1 bit, zeros, and the length of the
        // text in bits as 64 bits, big-endian, up to a whole number of blocks.
        let padded_len = (len + 1 + size_of::<u64>()).next_multiple_of(BLOCK);
        // More zeros than needed, but a fixed number of them.
        let padding = &mut bytes[len..len + MAX_PADDING];
        padding.fill(0);
        padding[0] = 0x80;
        let n_bits = 8 * len as u64;
        bytes[padded_len - size_of::<u64>()..padded_len].copy_from_slice(&n_bits.to_be_bytes());

        let mut state = INITIAL_STATE;
        sha1::block_api::compress(&mut state, bytes[..padded_len].as_chunks().0);
        let mut digest = [0; hex::DIGEST_LEN];
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = word.to_be_bytes();
        }
        PatternName::from_bytes(digest)
    }
}
