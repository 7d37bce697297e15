//! White space as the original sees it: the set shared by Python's `str.strip`, `str.split` and the
//! regex class `\s`.

/// Returns whether `c` is white space to Python: Unicode's `White_Space` or one of the four
/// separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Returns `text` without white space at both ends.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns the words of `text`: maximal runs without white space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(is_space).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_the_one_of_python() {
        // [c for c in map(chr, range(0x110000)) if c.isspace()] of CPython 3.
        let expected: Vec<char> = ('\u{9}'..='\u{d}')
            .chain('\u{1c}'..='\u{20}')
            .chain(['\u{85}', '\u{a0}', '\u{1680}'])
            .chain('\u{2000}'..='\u{200a}')
            .chain(['\u{2028}', '\u{2029}', '\u{202f}', '\u{205f}', '\u{3000}'])
            .collect();
        let found: Vec<char> = ('\0'..=char::MAX).filter(|&c| is_space(c)).collect();
        assert_eq!(found, expected);
    }
}
