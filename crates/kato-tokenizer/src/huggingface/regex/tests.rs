//! Expressions against what Oniguruma makes of them.

use super::Regex;
use crate::huggingface::limits::{Overrun, Work};

fn all(pattern: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    Regex::new(pattern)
        .unwrap()
        .find_all::<Overrun>(text, &mut Work::of(text.len()), |_, start, end| {
            found.push(text[start..end].to_owned());
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn simple() {
    assert_eq!(all("a+", "aa b a"), ["aa", "a"]);
}
