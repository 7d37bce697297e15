//! Text files that the program reads: a byte order mark, which editors on Windows write, is no part
//! of the text.

use std::io;
use std::path::Path;

/// Reads a file of text without its byte order mark.
///
/// # Errors
///
/// When it cannot be read, or is not UTF-8.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path).map(without_mark)
}

/// Returns a text without the byte order mark that it may begin with.
#[must_use]
pub(crate) fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_at_the_beginning_is_dropped() {
        let dropped = |text: &str| without_mark(text.to_owned());
        assert_eq!(dropped("\u{feff}a"), "a");
        assert_eq!(dropped("\u{feff}"), "");
        assert_eq!(dropped("a\u{feff}"), "a\u{feff}");
        assert_eq!(dropped(""), "");
    }
}
