//! Sizes as people write them: `100MB`, `4GiB`.

use std::str::FromStr;

use crate::numbers::counted;

/// A number of bytes; parses from a whole number with an optional unit.
///
/// Units: `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) and `KiB`, `MiB`, `GiB`, `TiB` (powers of
/// 1024), in any case, with or without a blank before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

/// The error of a text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no size: write a whole number of bytes below 16 EiB with an optional unit, such as 500kB, 100MB or 4GiB"
)]
pub(crate) struct ParseByteSizeError(String);

impl ByteSize {
    /// Returns it as memory: more than a process can address is as much as it can.
    pub(crate) fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Everything behind the last digit is the unit, so a fraction such as `1.5GB` leaves `1.5`,
        // which is no whole number.
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text[digits.len()..].trim().to_ascii_lowercase();
        let factor = match unit.as_str() {
            "" | "b" => Some(1),
            "kb" => Some(1_000),
            "mb" => Some(1_000_000),
            "gb" => Some(1_000_000_000),
            "tb" => Some(1_000_000_000_000),
            "kib" => Some(1 << 10),
            "mib" => Some(1 << 20),
            "gib" => Some(1 << 30),
            "tib" => Some(1_u64 << 40),
            _ => None,
        };
        let count = digits.trim().parse::<u64>().ok();
        count
            .zip(factor)
            .and_then(|(count, factor)| count.checked_mul(factor))
            .map(Self)
            .ok_or_else(|| ParseByteSizeError(text.to_owned()))
    }
}

/// Parses an amount of memory: as other sizes, but a small number needs its unit, as nobody means bytes.
///
/// # Errors
///
/// When the text is no size, or a number below a million without a unit.
pub(crate) fn memory(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text
        .parse()
        .map_err(|error: ParseByteSizeError| error.to_string())?;
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    match has_unit || size.0 >= 1_000_000 {
        _ if size.0 == 0 => above_zero(text),
        true => Ok(size),
        false => Err(format!(
            "that is {}: write the unit, as in {}MiB",
            counted(size.0, "byte"),
            size.0
        )),
    }
}

/// Parses the size of what holds something: a text, or what is carried in a second.
///
/// # Errors
///
/// When the text is no size, or that of nothing.
pub(crate) fn above_zero(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Ok(ByteSize(0)) => Err("give a size above 0, such as 100MB".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse() {
        for (text, n_bytes) in [
            ("0", 0),
            ("17", 17),
            ("17b", 17),
            ("3kB", 3_000),
            (" 3 KIB ", 3_072),
            ("100MB", 100_000_000),
            ("2mib", 2 << 20),
            ("1GB", 1_000_000_000),
            ("4GiB", 4 << 30),
            ("1TB", 1_000_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(n_bytes)), "{text}");
        }
    }

    #[test]
    fn a_small_amount_of_memory_needs_its_unit() {
        assert_eq!(memory("100B"), Ok(ByteSize(100)));
        assert_eq!(memory("268435456"), Ok(ByteSize(268_435_456)));
        let told = "that is 10 bytes: write the unit, as in 10MiB";
        assert_eq!(memory("10"), Err(told.to_owned()));
        let told = "give a size above 0, such as 100MB";
        for nothing in ["0", "0MiB"] {
            assert_eq!(memory(nothing), Err(told.to_owned()));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "MB",
            "-1",
            "1.5GB",
            "1 XB",
            "1GBs",
            "99999999TiB",
            "99999999999999999999",
        ] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("`{text}` is no size"))
            );
        }
    }
}
