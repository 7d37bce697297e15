//! The bytes of one pattern's record inside a block.
//!
//! `varint(n_symbols << 2 | has_extras << 1 | repeated)`, then `varint(frequency)` if repeated, the
//! symbols at the node's fixed width, and `varint(length)` + extras if there are any.

use std::num::NonZeroU32;

use kato_model::{AttributeLimits, Attributes, FirstSeen};

/// The part of a record beside symbols and frequency.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extras {
    pub(crate) first_seen: Option<FirstSeen>,
    pub(crate) attributes: Option<Box<Attributes>>,
}

impl Extras {
    /// Returns whether there is nothing beside symbols and frequency.
    pub(crate) fn is_empty(&self) -> bool {
        self.first_seen.is_none() && self.attributes.is_none()
    }

    /// Returns whether there is nothing that learn calls add to: at most how events are cut.
    pub(crate) fn tells_content_alone(&self) -> bool {
        let of_content = |attributes: &Attributes| Attributes {
            event_lengths: attributes.event_lengths.clone(),
            ..Attributes::default()
        };
        let attributes = self.attributes.as_deref();
        self.first_seen.is_none() && attributes.is_none_or(|it| *it == of_content(it))
    }

    /// Merges what another batch holds of the same pattern; commutative.
    pub(crate) fn merge(&mut self, other: Self, limits: &AttributeLimits) {
        self.first_seen = match (self.first_seen, other.first_seen) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        match (&mut self.attributes, other.attributes) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs, limits),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }

    /// Appends the bytes of the extras.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let flags = u8::from(self.first_seen.is_some()) | u8::from(self.attributes.is_some()) << 1;
        out.push(flags);
        if let Some(seen) = self.first_seen {
            push_varint(out, seen.document_idx);
            push_varint(out, seen.token_idx);
        }
        // Last, because the JSON has no length of its own: it takes the rest of the extras.
        if let Some(attributes) = &self.attributes {
            let json = serde_json::to_vec(attributes)
                .expect("maps with text keys and finite numbers are JSON");
            out.extend_from_slice(&json);
        }
    }

    /// Decodes extras; `None` if the bytes are not extras.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        bytes = rest;
        let mut extras = Self::default();
        if flags & 1 != 0 {
            extras.first_seen = Some(FirstSeen {
                document_idx: take_varint(&mut bytes)?,
                token_idx: take_varint(&mut bytes)?,
            });
        }
        if flags & 2 != 0 {
            extras.attributes = Some(Box::new(serde_json::from_slice(bytes).ok()?));
        }
        Some(extras)
    }
}

/// One record, its symbols still packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawRecord<'a> {
    pub(crate) frequency: u64,
    /// `n_symbols` numbers of the node's width, little-endian.
    pub(crate) symbols: &'a [u8],
    extras: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// Takes one record off the front of `bytes`; `None` if they are not a record.
    pub(crate) fn take(bytes: &mut &'a [u8], width: usize) -> Option<Self> {
        let header = take_varint(bytes)?;
        let frequency = if header & 1 != 0 {
            take_varint(bytes)?
        } else {
            1
        };
        // The header of a forged record may announce any number of symbols.
        let symbols = take_slice(
            bytes,
            usize::try_from(header >> 2).ok()?.checked_mul(width)?,
        )?;
        let extras = if header & 2 != 0 {
            let length = usize::try_from(take_varint(bytes)?).ok()?;
            take_slice(bytes, length)?
        } else {
            &[]
        };
        Some(Self {
            frequency,
            symbols,
            extras,
        })
    }

    /// Returns the frequency where there is nothing else beside the symbols; `None` also where it is 0 or
    /// beyond 32 bits.
    pub(crate) fn plain_frequency(&self) -> Option<NonZeroU32> {
        let frequency = u32::try_from(self.frequency).ok()?;
        NonZeroU32::new(frequency).filter(|_| self.extras.is_empty())
    }

    /// Returns the extras; `None` if their bytes are not extras.
    pub(crate) fn extras(&self) -> Option<Extras> {
        // Extras have at least their flags, so no bytes means that there are none.
        if self.extras.is_empty() {
            Some(Extras::default())
        } else {
            Extras::decode(self.extras)
        }
    }

    /// Appends the symbols.
    pub(crate) fn push_symbols(&self, width: usize, out: &mut Vec<u32>) {
        match width {
            1 => unpack::<1>(self.symbols, out),
            2 => unpack::<2>(self.symbols, out),
            3 => unpack::<3>(self.symbols, out),
            _ => unpack::<4>(self.symbols, out),
        }
    }

    /// Unpacks the symbols.
    pub(crate) fn symbols(&self, width: usize) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        // Not by copying into four bytes, which is a call of `memcpy` for every symbol.
        self.symbols.chunks_exact(width).map(|bytes| match *bytes {
            [a] => u32::from(a),
            [a, b] => u32::from_le_bytes([a, b, 0, 0]),
            [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => unreachable!("a number takes one to four bytes"),
        })
    }
}

/// Appends a record.
pub(crate) fn push_record(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    frequency: u64,
    symbols: &[u32],
    width: usize,
    extras: &Extras,
) {
    // Nearly all patterns are learned once: the frequency 1 takes a bit instead of a byte.
    let repeated = frequency != 1;
    push_varint(
        out,
        (symbols.len() as u64) << 2 | u64::from(!extras.is_empty()) << 1 | u64::from(repeated),
    );
    if repeated {
        push_varint(out, frequency);
    }
    // The width holds every number of the node, so the bytes that are left out are zeros.
    match width {
        1 => push_symbols::<1>(out, symbols),
        2 => push_symbols::<2>(out, symbols),
        3 => push_symbols::<3>(out, symbols),
        _ => push_symbols::<4>(out, symbols),
    }
    if !extras.is_empty() {
        scratch.clear();
        extras.encode(scratch);
        push_varint(out, scratch.len() as u64);
        out.extend_from_slice(scratch);
    }
}

/// Appends packed symbols of a width that the compiler knows.
fn unpack<const WIDTH: usize>(symbols: &[u8], out: &mut Vec<u32>) {
    out.extend(symbols.as_chunks::<WIDTH>().0.iter().map(|symbol| {
        let mut bytes = [0; 4];
        bytes[..WIDTH].copy_from_slice(symbol);
        u32::from_le_bytes(bytes)
    }));
}

/// Appends symbols of a width that the compiler knows, which spares a call of `memcpy` for each.
fn push_symbols<const WIDTH: usize>(out: &mut Vec<u8>, symbols: &[u32]) {
    out.reserve(symbols.len() * WIDTH);
    for symbol in symbols {
        let bytes = symbol.to_le_bytes();
        out.extend_from_slice(&bytes[..WIDTH]);
    }
}

/// Returns the number of bytes that hold every number below `count`: 1 to 4.
pub(crate) fn width_for(count: u64) -> usize {
    match count {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ => 4,
    }
}

/// Appends an unsigned LEB128 number.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    // The top bit of a byte says that more follow, whatever the number has in its place.
    while value >= 0x80 {
        let [lowest, ..] = value.to_le_bytes();
        out.push(lowest | 0x80);
        value >>= 7;
    }
    let [last, ..] = value.to_le_bytes();
    out.push(last);
}

/// Takes an unsigned LEB128 number off the front; `None` if it does not end within ten bytes, or
/// does not fit 64 bits.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        // Of a tenth byte only the lowest bit fits. Writers set no others, and to drop them would
        // read another number than the bytes say.
        if bits > u64::MAX >> shift {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes a number of bytes off the front.
pub(crate) fn take_slice<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_reads_back_as_it_was_written(
            frequency in any::<u64>(),
            symbols in prop::collection::vec(any::<u16>(), 0..40),
            seen in prop::option::of((any::<u64>(), any::<u64>())),
        ) {
            let symbols: Vec<u32> = symbols.into_iter().map(u32::from).collect();
            let extras = Extras {
                first_seen: seen.map(|(document_idx, token_idx)| FirstSeen { document_idx, token_idx }),
                attributes: None,
            };
            for width in 2..=4 {
                let mut bytes = Vec::new();
                push_record(&mut bytes, &mut Vec::new(), frequency, &symbols, width, &extras);
                let mut rest = bytes.as_slice();
                let record = RawRecord::take(&mut rest, width).unwrap();
                prop_assert!(rest.is_empty());
                prop_assert_eq!(record.frequency, frequency);
                prop_assert_eq!(record.symbols(width).collect::<Vec<_>>(), symbols.clone());
                prop_assert_eq!(record.extras().unwrap(), extras.clone());
            }
        }

        #[test]
        fn any_bytes_are_a_record_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64), width in 1_usize..=4) {
            let mut rest = bytes.as_slice();
            if let Some(record) = RawRecord::take(&mut rest, width) {
                let _ = record.extras();
                prop_assert!(record.symbols(width).len() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_none() {
        let nine = [0xff_u8; 9];
        for (last, expected) in [
            (0x00, Some(u64::MAX >> 1)),
            (0x01, Some(u64::MAX)),
            (0x02, None),
            (0x7f, None),
            (0x81, None),
        ] {
            let bytes = [nine.as_slice(), &[last]].concat();
            assert_eq!(take_varint(&mut bytes.as_slice()), expected, "{last:#x}");
        }
    }

    #[test]
    fn widths_hold_every_number_below_the_count() {
        assert_eq!(
            [0, 1, 256, 257, 65_536, 65_537, 1 << 24, (1 << 24) + 1].map(width_for),
            [1, 1, 1, 2, 2, 3, 3, 4]
        );
    }

    #[test]
    fn a_short_pattern_of_tokens_takes_one_byte_beside_its_symbols() {
        let mut bytes = Vec::new();
        push_record(
            &mut bytes,
            &mut Vec::new(),
            1,
            &[1, 2, 3, 4, 5],
            2,
            &Extras::default(),
        );
        assert_eq!(bytes.len(), 11);
    }
}
