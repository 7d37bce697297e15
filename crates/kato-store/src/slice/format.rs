//! The bytes of a slice: its head, the frames of its blocks, and its records.

use kato_model::PatternName;

use crate::embedded::{Dictionary, Extras, push_varint, take_slice, take_varint, width_for};

/// First bytes of a slice.
pub(super) const MAGIC: [u8; 8] = *b"KATOSLC1";

/// Bytes before the dictionary: magic, number of texts, bytes of the dictionary, its CRC-32, and the
/// CRC-32 of all before.
pub(super) const HEAD_BYTES: usize = 8 + 8 + 8 + 4 + 4;

/// Bytes before a block: number of patterns, bytes of the block, CRC-32 of both and the block.
pub(super) const FRAME_BYTES: usize = 4 + 4 + 4;

/// Number of patterns in a full block. Blocks are read whole and in order, so they are larger than
/// those of a segment, in which single patterns are looked up.
pub(super) const BLOCK_PATTERNS: usize = 1024;

/// Bytes above which a block ends early, so that its size fits its frame.
pub(super) const BLOCK_BYTES: usize = 64 << 20;

/// Bytes of a name among the symbols of a record, with the zero in front of it.
const NAME_BYTES: usize = 1 + PatternName::BYTES;

/// One symbol of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SliceSymbol {
    /// Text, by its rank in the dictionary.
    Text(u32),
    /// A pattern.
    Name(PatternName),
}

/// The symbols of a record as they lie in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedSymbols<'a> {
    n_symbols: usize,
    has_names: bool,
    bytes: &'a [u8],
}

/// A record as it lies in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct SliceRecord<'a> {
    pub(super) frequency: u64,
    pub(super) symbols: PackedSymbols<'a>,
    /// Encoded [`Extras`]; empty where there are none.
    pub(super) extras: &'a [u8],
}

/// Encodes a head with its dictionary; `None` if a text has 4 GiB or more.
pub(super) fn encode_head<'a>(
    texts: impl Iterator<Item = &'a str> + Clone,
) -> Option<(Vec<u8>, u64)> {
    let n_texts = texts.clone().count() as u64;
    let dictionary = Dictionary::encode(texts)?;
    let mut bytes = Vec::with_capacity(HEAD_BYTES + dictionary.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&n_texts.to_le_bytes());
    bytes.extend_from_slice(&(dictionary.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&dictionary).to_le_bytes());
    let crc32 = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc32.to_le_bytes());
    bytes.extend_from_slice(&dictionary);
    Some((bytes, n_texts))
}

/// Returns the CRC-32 of a block with its frame.
pub(super) fn block_crc32(n_patterns: u32, parts: [&[u8]; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&n_patterns.to_le_bytes());
    let length = parts[0].len() + parts[1].len();
    hasher.update(&(length as u64).to_le_bytes());
    hasher.update(parts[0]);
    hasher.update(parts[1]);
    hasher.finalize()
}

/// Appends a record.
pub(super) fn push_record(out: &mut Vec<u8>, record: &SliceRecord<'_>) {
    let SliceRecord {
        frequency,
        symbols,
        extras,
    } = *record;
    let has_extras = !extras.is_empty();
    push_header(
        out,
        symbols.n_symbols,
        symbols.has_names,
        frequency,
        has_extras,
    );
    out.extend_from_slice(symbols.bytes);
    if has_extras {
        push_varint(out, extras.len() as u64);
        out.extend_from_slice(extras);
    }
}

/// Appends the beginning of a record.
fn push_header(
    out: &mut Vec<u8>,
    n_symbols: usize,
    has_names: bool,
    frequency: u64,
    has_extras: bool,
) {
    let repeated = frequency != 1;
    push_varint(
        out,
        (n_symbols as u64) << 3
            | u64::from(has_names) << 2
            | u64::from(has_extras) << 1
            | u64::from(repeated),
    );
    if repeated {
        push_varint(out, frequency);
    }
}

impl<'a> SliceRecord<'a> {
    /// Takes one record off the front of `bytes`; `None` if they are not a record.
    pub(super) fn take(bytes: &mut &'a [u8], width: usize) -> Option<Self> {
        let header = take_varint(bytes)?;
        let frequency = match header & 1 {
            0 => 1,
            _ => take_varint(bytes)?,
        };
        let has_names = header & 4 != 0;
        let n_symbols = usize::try_from(header >> 3).ok()?;
        let symbols = if has_names {
            let start = *bytes;
            for _ in 0..n_symbols {
                take_symbol(bytes)?;
            }
            &start[..start.len() - bytes.len()]
        } else {
            take_slice(bytes, n_symbols.checked_mul(width)?)?
        };
        let extras = if header & 2 != 0 {
            let length = usize::try_from(take_varint(bytes)?).ok()?;
            take_slice(bytes, length)?
        } else {
            &[]
        };
        Some(Self {
            frequency,
            symbols: PackedSymbols {
                n_symbols,
                has_names,
                bytes: symbols,
            },
            extras,
        })
    }

    /// Returns the extras; `None` if their bytes are not extras.
    pub(super) fn decode_extras(&self) -> Option<Extras> {
        match self.extras {
            [] => Some(Extras::default()),
            bytes => Extras::decode(bytes),
        }
    }
}

impl<'a> PackedSymbols<'a> {
    /// Packs symbols into `packed`, numbers of texts in so many bytes where there is no name.
    pub(super) fn pack(symbols: &[SliceSymbol], width: usize, packed: &'a mut Vec<u8>) -> Self {
        let is_name = |symbol: &SliceSymbol| matches!(symbol, SliceSymbol::Name(_));
        let has_names = symbols.iter().any(is_name);
        packed.clear();
        for symbol in symbols {
            match symbol {
                // As in a segment: the width holds every number of the dictionary.
                SliceSymbol::Text(number) if !has_names => {
                    packed.extend_from_slice(&number.to_le_bytes()[..width]);
                }
                SliceSymbol::Text(number) => push_varint(packed, u64::from(*number) + 1),
                SliceSymbol::Name(name) => {
                    packed.push(0);
                    packed.extend_from_slice(name.as_bytes());
                }
            }
        }
        Self {
            n_symbols: symbols.len(),
            has_names,
            bytes: packed,
        }
    }

    /// Returns whether there is no number of a text, so that the bytes mean the same in any slice.
    pub(super) fn are_names_alone(&self) -> bool {
        // A number of a text is shorter than a name.
        self.has_names && self.bytes.len() == self.n_symbols * NAME_BYTES
    }

    /// Shows every symbol; `None` if one does not decode or `show` returns it.
    pub(super) fn unpack(
        &self,
        width: usize,
        mut show: impl FnMut(SliceSymbol) -> Option<()>,
    ) -> Option<()> {
        if self.has_names {
            let mut bytes = self.bytes;
            for _ in 0..self.n_symbols {
                show(take_symbol(&mut bytes)?)?;
            }
            return Some(());
        }
        // The widths that there are one by one, as a number of a known width is one instruction.
        match width {
            1 => unpack_texts::<1>(self.bytes, show),
            2 => unpack_texts::<2>(self.bytes, show),
            3 => unpack_texts::<3>(self.bytes, show),
            _ => unpack_texts::<4>(self.bytes, show),
        }
    }
}

/// Shows numbers of texts of so many bytes each.
fn unpack_texts<const WIDTH: usize>(
    bytes: &[u8],
    mut show: impl FnMut(SliceSymbol) -> Option<()>,
) -> Option<()> {
    for bytes in bytes.as_chunks::<WIDTH>().0 {
        let mut number = [0; 4];
        number[..WIDTH].copy_from_slice(bytes);
        show(SliceSymbol::Text(u32::from_le_bytes(number)))?;
    }
    Some(())
}

/// Takes one symbol of a record with names off the front.
fn take_symbol(bytes: &mut &[u8]) -> Option<SliceSymbol> {
    match take_varint(bytes)? {
        0 => {
            let name = take_slice(bytes, PatternName::BYTES)?;
            Some(SliceSymbol::Name(PatternName::from_bytes(
                name.try_into().ok()?,
            )))
        }
        number => u32::try_from(number - 1).ok().map(SliceSymbol::Text),
    }
}

/// Returns the number of bytes of a text's number in records without names.
pub(super) fn text_width(n_texts: u64) -> usize {
    width_for(n_texts)
}
