//! A node's text symbols inside a segment: sorted, numbered by rank.

/// Text symbols in code-point order.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    text: String,
    /// End of each symbol's text in `text`; always the end of a character.
    ends: Vec<usize>,
}

impl Dictionary {
    /// Decodes every length as a little-endian `u32`, then all text; `None` if they do not add up.
    pub(crate) fn decode(bytes: &[u8], n_literals: usize) -> Option<Self> {
        let (lengths, text) = bytes.split_at_checked(n_literals.checked_mul(4)?)?;
        let text = str::from_utf8(text).ok()?.to_owned();
        let mut ends = Vec::with_capacity(n_literals);
        let mut end = 0_usize;
        for length in lengths.chunks_exact(4) {
            end = end.checked_add(u32::from_le_bytes(length.try_into().ok()?) as usize)?;
            // `get` slices the text at the ends, which would panic within a character.
            if !text.is_char_boundary(end) {
                return None;
            }
            ends.push(end);
        }
        (end == text.len()).then_some(Self { text, ends })
    }

    /// Returns the bytes of a dictionary; `None` if the length of a text does not fit 32 bits.
    pub(crate) fn encode<'a>(literals: impl Iterator<Item = &'a str> + Clone) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for literal in literals.clone() {
            bytes.extend_from_slice(&encode_length(literal.len())?);
        }
        literals.for_each(|literal| bytes.extend_from_slice(literal.as_bytes()));
        Some(bytes)
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text with this rank.
    pub(crate) fn get(&self, rank: usize) -> Option<&str> {
        let end = *self.ends.get(rank)?;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        Some(&self.text[start..end])
    }

    /// Returns all texts in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|rank| self.get(rank))
    }
}

/// Returns the bytes of a text's length; `None` if it does not fit.
fn encode_length(length: usize) -> Option<[u8; 4]> {
    // A length that is cut would shift all texts behind it, in a file whose checksums match.
    u32::try_from(length).ok().map(u32::to_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_reads_back_and_refuses_other_bytes() {
        let literals = ["", "a", "Ġcat", "Ġ猫"];
        let bytes = Dictionary::encode(literals.into_iter()).unwrap();
        let dictionary = Dictionary::decode(&bytes, 4).unwrap();
        assert_eq!(dictionary.iter().collect::<Vec<_>>(), literals);
        assert!(Dictionary::decode(&bytes, 3).is_none());
        assert!(Dictionary::decode(&bytes[..bytes.len() - 1], 4).is_none());
        assert!(Dictionary::decode(&bytes, usize::MAX).is_none());
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_length_that_does_not_fit_is_refused_and_not_cut() {
        assert_eq!(encode_length(u32::MAX as usize), Some([0xff; 4]));
        assert_eq!(encode_length(u32::MAX as usize + 1), None);
    }
}
