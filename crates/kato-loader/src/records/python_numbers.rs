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
                let found = NUMBERS
                    .iter()
                    .find(|(name, _)| bytes[at..].starts_with(name.as_bytes()));
                if let Some((name, number)) = found {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_are_replaced() {
        let line = r#"{"NaN": "NaN \" Infinity", "a": NaN, "b": [-Infinity, 1], "c\\": Infinity}"#;
        let expected =
            r#"{"NaN": "NaN \" Infinity", "a": 0.5, "b": [-0.500000, 1], "c\\": 0.500000}"#;
        assert_eq!(replaced(line).unwrap(), expected);
        assert_eq!(replaced(r#"{"a": "NaN"}"#), None);
    }
}
