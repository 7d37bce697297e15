//! Text as part of HTML and SVG.

/// Returns text with the letters written out to which HTML and XML give a meaning.
///
/// Quotes are among them, because the result also stands in attributes. Letters that XML does not
/// allow at all are replaced, or a browser would refuse the whole drawing.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(c),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_breaks_out_of_the_page() {
        assert_eq!(escaped("<a b='&\">"), "&lt;a b=&#39;&amp;&quot;&gt;");
        assert_eq!(
            escaped("a\0b\x1b\u{ffff}\n"),
            "a\u{fffd}b\u{fffd}\u{fffd}\n"
        );
    }
}
