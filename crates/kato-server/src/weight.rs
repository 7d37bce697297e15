//! Estimating the memory that parsing a body will take, from its brackets and commas while it
//! arrives.

// The figures are upper bounds: `tests/memory` measures bodies of every shape against them.

/// Bytes for each byte of a body: itself, its texts as they are parsed, as they are handed on, and
/// as the journal takes them.
const BYTE: usize = 10;

/// Bytes for each comma, colon and list, and so for each value and key: at most a text of its own,
/// in a list that has doubled its room.
const VALUE: usize = 128;

/// Bytes for each object: a tree of one entry has room for eleven.
const OBJECT: usize = 768;

/// Upper bound of the weight of a byte in the events that learn-batch takes: empty ones, `[],`
/// again and again, weigh 95⅓. Metadata of nothing but empty objects weighs more, and counts for
/// itself.
pub(crate) const BATCH_BYTE: usize = 96;

/// The weight of a body, computed part by part.
///
/// The weight is at least what parsing takes at its peak: parsing stops at the first character that
/// is not JSON, and before it every value has its comma, colon or bracket.
#[derive(Debug, Default)]
pub(crate) struct Weight {
    state: State,
}

/// The state of the scan at the end of a part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    Outside,
    InText,
    /// After a backslash.
    InEscape,
    /// The body is not UTF-8, and the meaning of its bytes is not looked at.
    Wide,
}

impl Weight {
    /// Returns the weight that the next part of the body adds.
    pub(crate) fn of_part(&mut self, part: &[u8]) -> usize {
        let mut weight = part.len().saturating_mul(BYTE);
        if self.state == State::Start && !part.is_empty() {
            // No UTF-8 begins like this: it is UTF-16, or no text at all.
            let is_wide = matches!(part, [0xfe | 0xff, ..]);
            self.state = if is_wide { State::Wide } else { State::Outside };
        }
        if self.state == State::Wide {
            // A character takes two bytes, and each may be an object.
            return weight.saturating_add(part.len().saturating_mul(OBJECT / 2));
        }
        // The state survives the end of a part, because a part may end within a text or an escape.
        for byte in part {
            self.state = match (self.state, byte) {
                (State::InText, b'"') => State::Outside,
                (State::InText, b'\\') => State::InEscape,
                (State::InText | State::InEscape, _) => State::InText,
                (_, b'"') => State::InText,
                (state, byte) => {
                    weight = weight.saturating_add(match byte {
                        b'{' => OBJECT,
                        b'[' | b',' | b':' => VALUE,
                        _ => 0,
                    });
                    state
                }
            };
        }
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(parts: &[&[u8]]) -> usize {
        let mut weight = Weight::default();
        parts.iter().map(|part| weight.of_part(part)).sum()
    }

    #[test]
    fn what_counts_is_outside_of_texts() {
        let text = br#"{"a,[\"{":["\\",0]}"#;
        let expected = text.len() * BYTE + OBJECT + 3 * VALUE;
        assert_eq!(weight(&[text]), expected);
        for at in 0..text.len() {
            let (left, right) = text.split_at(at);
            assert_eq!(weight(&[left, b"", right]), expected, "cut at {at}");
        }
    }

    #[test]
    fn no_events_of_a_batch_weigh_more_than_is_allowed_for() {
        let sequences = [
            r#"{"events":[[""]]},"#.repeat(1000),
            r#"{"events":[[]]},"#.repeat(1000),
            r#"{"events":[]},"#.repeat(1000),
            format!("{{\"events\":[{}[]]}},", "[],".repeat(10_000)),
            format!("{{\"events\":[[{}\"\"]]}},", "\"\",".repeat(10_000)),
        ];
        for sequences in sequences {
            let weighs = weight(&[sequences.as_bytes()]);
            assert!(weighs <= sequences.len() * BATCH_BYTE, "{weighs}");
        }
    }

    #[test]
    fn a_text_of_another_encoding_weighs_as_much_as_it_may() {
        let wide: Vec<u8> = "\u{feff}[{},{}]"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert!(weight(&[&wide[..1], &wide[1..]]) > 2 * OBJECT + 2 * VALUE);
    }
}
