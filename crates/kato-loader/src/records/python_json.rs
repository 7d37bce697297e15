//! Reads what Python writes into JSON and JSON does not have: NaN and infinities, and halves of
//! surrogate pairs.

/// What Python writes, and a number of JSON that is as long and no integer, which would do as an id.
const NUMBERS: [(&str, &str); 2] = [("NaN", "0.5"), ("Infinity", "0.500000")];

/// Stands for half of a surrogate pair, which no text can hold: a field that was asked for and holds
/// it is bad.
pub(crate) const HALF: char = '\u{FFFE}';

/// Returns a line with numbers of JSON in place of those that only Python has, and with [`HALF`] in
/// place of halves of surrogate pairs, or nothing where it has neither. Columns stay what they are.
pub(crate) fn replaced(line: &str) -> Option<String> {
    let mut replaced = String::new();
    let (mut done, mut in_string) = (0, false);
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => match surrogate(&bytes[at..]) {
                // Behind the first half of a pair its second is skipped with it.
                Some(0xD800..0xDC00)
                    if matches!(surrogate(&bytes[at + 6..]), Some(0xDC00..0xE000)) =>
                {
                    at += 11;
                }
                Some(_) => {
                    replaced.push_str(&line[done..at]);
                    replaced.push_str("\\uFFFE");
                    at += 6;
                    done = at;
                    continue;
                }
                None => at += 1,
            },
            b'"' => in_string = !in_string,
            b'N' | b'I' if !in_string => {
                let rest = &bytes[at..];
                let found = NUMBERS
                    .iter()
                    .find(|(name, _)| rest.starts_with(name.as_bytes()));
                if let Some((name, number)) = found
                    && is_apart(&bytes[..at], rest.get(name.len()), *name == "Infinity")
                {
                    replaced.push_str(&line[done..at]);
                    replaced.push_str(number);
                    at += name.len();
                    done = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (done > 0).then(|| replaced + &line[done..])
}

/// Returns the half of a surrogate pair that bytes begin with an escape of.
fn surrogate(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let unit = digits
        .iter()
        .try_fold(0, |unit, byte| Some(unit * 16 + digit(byte)?))?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

/// Returns whether a number stands for itself, between what is in front of it and what is behind it;
/// some may have a minus.
fn is_apart(before: &[u8], behind: Option<&u8>, may_be_negative: bool) -> bool {
    let before = match may_be_negative {
        true => before.strip_suffix(b"-").unwrap_or(before),
        false => before,
    };
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || b".+-_".contains(byte);
    !before.last().is_some_and(joins) && !behind.is_some_and(joins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_pairs_stay() {
        for (line, expected) in [
            (r#"{"\ud800": 1}"#, Some(r#"{"\uFFFE": 1}"#)),
            (r#"{"a\uDC00b\ud83d": 1}"#, Some(r#"{"a\uFFFEb\uFFFE": 1}"#)),
            (
                r#"["\ud83d\ude00\ud83d"]"#,
                Some(r#"["\ud83d\ude00\uFFFE"]"#),
            ),
            (r#"["\ud83d\ude00"]"#, None),
            (r#"["\\ud800"]"#, None),
            (r#"["\ud80"]"#, None),
        ] {
            assert_eq!(replaced(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn only_values_are_replaced() {
        let line = r#"{"NaN": "NaN \" Infinity", "a": NaN, "b": [-Infinity, 1], "c\\": Infinity}"#;
        let expected =
            r#"{"NaN": "NaN \" Infinity", "a": 0.5, "b": [-0.500000, 1], "c\\": 0.500000}"#;
        assert_eq!(replaced(line).unwrap(), expected);
        for line in [
            r#"{"a": "NaN"}"#,
            "[1NaN]",
            "[NaN1]",
            "[-NaN]",
            "[--Infinity]",
            "[Infinity.5]",
        ] {
            assert_eq!(replaced(line), None, "{line}");
        }
    }
}
