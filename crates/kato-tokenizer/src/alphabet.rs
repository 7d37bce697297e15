//! The byte alphabet of GPT-2: one printable character per byte.

/// Returns the byte that `character` stands for, if it is one of the 256.
///
/// Printable ASCII and Latin-1 characters stand for themselves; the other 68 bytes, in order, are
/// U+0100 and following.
pub(crate) fn byte_of(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => u8::try_from(code).ok(),
        code @ 0x100..=0x120 => u8::try_from(code - 0x100).ok(), // 0x00..=0x20
        code @ 0x121..=0x142 => u8::try_from(code - 0x121 + 0x7F).ok(), // 0x7F..=0xA0
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// Returns the character that stands for `byte`.
#[cfg(feature = "huggingface")]
pub(crate) fn char_of(byte: u8) -> char {
    let code = u32::from(byte);
    let code = match byte {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => code,
        0x00..=0x20 => 0x100 + code,
        0x7F..=0xA0 => 0x121 + code - 0x7F,
        0xAD => 0x143,
    };
    char::from_u32(code).unwrap_or_default()
}

/// Returns the bytes that a token string stands for; `None` when a character is
/// not of the alphabet.
#[cfg(feature = "huggingface")]
pub(crate) fn bytes_of(token: &str) -> Option<Vec<u8>> {
    token.chars().map(byte_of).collect()
}

/// Returns the text that the bytes of tokens are, with U+FFFD for what is not UTF-8.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::byte_of;

    #[test]
    fn every_byte_has_exactly_one_character() {
        let mut bytes: Vec<u8> = ('\0'..='\u{FFFF}').filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    #[cfg(feature = "huggingface")]
    fn the_usual_ones() {
        use super::{bytes_of, char_of};

        assert_eq!(bytes_of("Ġcat").as_deref(), Some(&b" cat"[..]));
        assert_eq!(bytes_of("ĊĊ").as_deref(), Some(&b"\n\n"[..]));
        assert_eq!(bytes_of("Ã©").as_deref(), Some("é".as_bytes()));
        assert_eq!(bytes_of("戦"), None);
        for byte in 0..=255 {
            assert_eq!(byte_of(char_of(byte)), Some(byte));
        }
    }
}
