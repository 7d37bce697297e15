//! The map of a `Precompiled` normalizer: SentencePiece's own table from parts of a text to what replaces them.

use unicode_segmentation::UnicodeSegmentation;

use super::error::{DefinitionError, TextError};
use super::limits::MAX_CHARSMAP_BYTES;

/// Longer clusters of characters are looked up character by character.
const MAX_CLUSTER_BYTES: usize = 5;

/// A double array over the bytes of what is replaced, and the replacements, each ended by a zero.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// Reads a map from its Base64.
    pub(super) fn new(base64: &str) -> Result<Self, DefinitionError> {
        if base64.len() > MAX_CHARSMAP_BYTES {
            return Err(DefinitionError::LargeCharsmap);
        }
        Self::from_bytes(&decoded(base64).ok_or(DefinitionError::BadCharsmap)?)
            .ok_or(DefinitionError::BadCharsmap)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let units = u32::from_le_bytes(*len) as usize / 4;
        let (units, replacements) = rest.split_at_checked(units.checked_mul(4)?)?;
        let units: Vec<u32> = (units.as_chunks::<4>().0.iter())
            .map(|&unit| u32::from_le_bytes(unit))
            .collect();
        (!units.is_empty()).then_some(())?;
        Some(Self {
            units,
            replacements: str::from_utf8(replacements).ok()?.to_owned(),
        })
    }

    /// Calls `push` with each part of the text and what replaces it, `None` where it is left.
    pub(super) fn for_each(
        &self,
        text: &str,
        mut push: impl FnMut(&str, Option<&str>) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        for cluster in text.graphemes(true) {
            if cluster.len() <= MAX_CLUSTER_BYTES
                && let Some(replacement) = self.replacement(cluster)?
            {
                push(cluster, Some(replacement))?;
                continue;
            }
            for (at, character) in cluster.char_indices() {
                let part = &cluster[at..at + character.len_utf8()];
                push(part, self.replacement(part)?)?;
            }
        }
        Ok(())
    }

    /// Returns what replaces the shortest beginning of `part` that is in the table, and with it all of `part`.
    fn replacement(&self, part: &str) -> Result<Option<&str>, TextError> {
        let unit = |at: usize| self.units.get(at).copied().ok_or(TextError::BadCharsmap);
        let offset = |unit: u32| ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize;
        let mut at = offset(unit(0)?);
        for byte in part.bytes().take_while(|&byte| byte != 0) {
            at ^= usize::from(byte);
            let here = unit(at)?;
            // The upper bit marks a value, which no byte leads to.
            if here & (1 << 31 | 0xFF) != u32::from(byte) {
                return Ok(None);
            }
            at ^= offset(here);
            if here >> 8 & 1 == 1 {
                let start = (unit(at)? & !(1 << 31)) as usize;
                let rest = self.replacements.get(start..);
                let rest = rest.ok_or(TextError::BadCharsmap)?;
                return Ok(rest.split('\0').next());
            }
        }
        Ok(None)
    }
}

/// Returns the bytes of a text in Base64, with its padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        }))
    };
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for (n, group) in groups.iter().enumerate() {
        let padding = match group {
            [_, _, b'=', b'='] => 2,
            [_, _, _, b'='] => 1,
            _ => 0,
        };
        if padding > 0 && n + 1 < groups.len() {
            return None;
        }
        let digits = group[..4 - padding].iter().map(|&byte| digit(byte));
        let value = digits
            .into_iter()
            .try_fold(0u32, |value, digit| Some(value << 6 | digit?))?;
        let value = value << (6 * padding);
        bytes.extend_from_slice(&value.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Charsmap, decoded};

    #[test]
    fn base64_is_read_with_its_padding() {
        let check = |text, expected: Option<&[u8]>| {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        };
        check("", Some(b""));
        check("YQ==", Some(b"a"));
        check("YWI=", Some(b"ab"));
        check("YWJj", Some(b"abc"));
        check("+/8=", Some(&[0xFB, 0xFF]));
        check("YQ", None);
        check("YQ==YWJj", None);
        check("Y?==", None);
    }

    #[test]
    fn damaged_maps_are_refused_or_an_error_of_the_text() {
        assert!(Charsmap::new("").is_err());
        assert!(Charsmap::new("/////w==").is_err());
        // One unit that leads far away.
        let far = Charsmap::from_bytes(&[4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F]).unwrap();
        assert!(far.for_each("a", |_, _| Ok(())).is_err());
    }
}
