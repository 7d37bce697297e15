//! Reads the numbers that Python writes into JSON and that JSON does not have: NaN and infinities.

/// What Python writes, and a number of JSON that is as long and no integer, which would do as an id.
const NUMBERS: [(&str, &str); 2] = [("NaN", "0.5"), ("Infinity", "0.500000")];

/// Returns a line with numbers of JSON in place of those that only Python has, or nothing where it
/// has none outside of strings. Columns stay what they are.
pub(crate) fn replaced(line: &str) -> Option<String> {
    let mut replaced = String::new();
    let (mut done, mut in_string) = (0, false);
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
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
