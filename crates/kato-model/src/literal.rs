//! The Python list-of-lists literal of a pattern: the text whose SHA-1 is the pattern's name.

use std::fmt::Write as _;

use crate::printable::is_printable;

/// Appends a symbol as the string literal that Python's `repr` gives (Python 3.10, Unicode 13.0).
///
/// The quote is `'`, or `"` when the symbol holds a `'` and no `"`. Backslash, the quote in use,
/// TAB, LF, CR and every non-printable character are escaped; all others stand for themselves.
///
/// # Examples
///
/// ```
/// let mut text = String::new();
/// kato_model::naming::write_symbol_literal("it's\n", &mut text);
/// assert_eq!(text, r#""it's\n""#);
/// ```
pub fn write_symbol_literal(symbol: &str, out: &mut String) {
    let quote = if symbol.contains('\'') && !symbol.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    // Most symbols need no escape and are copied whole. A `"` is no exception: it is the quote in
    // use only around symbols that do not contain it.
    if symbol
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'\''))
    {
        out.push_str(symbol);
    } else {
        symbol
            .chars()
            .for_each(|character| write_character(character, quote, out));
    }
    out.push(quote);
}

/// Appends a pattern's events as Python's `repr` of the list of lists, for example
/// `[['a'], ['b', 'c']]`.
///
/// # Examples
///
/// ```
/// let mut text = String::new();
/// kato_model::naming::write_events_literal(&[vec!["a"], vec!["b", "c"]], &mut text);
/// assert_eq!(text, "[['a'], ['b', 'c']]");
/// ```
pub fn write_events_literal<E, S>(events: &[E], out: &mut String)
where
    E: AsRef<[S]>,
    S: AsRef<str>,
{
    const BRACKETS: [char; 2] = ['[', ']'];
    write_list(BRACKETS, events, out, |event, out| {
        write_list(BRACKETS, event.as_ref(), out, |symbol, out| {
            write_symbol_literal(symbol.as_ref(), out);
        });
    });
}

/// Appends the opening bracket, the items joined by `, `, and the closing bracket.
pub(crate) fn write_list<T>(
    [open, close]: [char; 2],
    items: &[T],
    out: &mut String,
    mut write_item: impl FnMut(&T, &mut String),
) {
    out.push(open);
    for (item_idx, item) in items.iter().enumerate() {
        if item_idx > 0 {
            out.push_str(", ");
        }
        write_item(item, out);
    }
    out.push(close);
}

/// Appends a character as it stands between quotes, escaped where `repr` escapes it.
fn write_character(character: char, quote: char, out: &mut String) {
    match character {
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\\' => out.push_str("\\\\"),
        // Always `'`: a `"` is chosen as the quote only where the symbol has none.
        _ if character == quote => out.extend(['\\', quote]),
        _ if is_printable(character) => out.push(character),
        _ => write_escape(u32::from(character), out),
    }
}

/// Appends the shortest of Python's three fixed-width escapes that holds the code point.
fn write_escape(code_point: u32, out: &mut String) {
    let written = match code_point {
        0..0x100 => write!(out, "\\x{code_point:02x}"),
        0x100..0x1_0000 => write!(out, "\\u{code_point:04x}"),
        _ => write!(out, "\\U{code_point:08x}"),
    };
    written.expect("writing into a String cannot fail");
}
