//! Expressions against Oniguruma, as `tests/data/record.py` recorded it by Hugging Face's library.

use super::{MAX_DEPTH, Regex, RegexError};
use crate::huggingface::limits::{Overrun, Work};

/// Returns the parts into which an expression splits a text, without those of no characters.
fn split(regex: &Regex, text: &str) -> Result<Vec<String>, Overrun> {
    let mut parts = Vec::new();
    let mut last = 0;
    regex.find_all(text, &mut Work::of(text.len()), |_, start, end| {
        parts.extend([&text[last..start], &text[start..end]].map(str::to_owned));
        last = end;
        Ok::<_, Overrun>(())
    })?;
    parts.push(text[last..].to_owned());
    parts.retain(|part| !part.is_empty());
    Ok(parts)
}

#[test]
fn expressions_split_as_with_oniguruma_or_are_refused() {
    let recorded = match std::env::var_os("KATO_EXPRESSIONS") {
        Some(file) => std::fs::read_to_string(file).unwrap(),
        None => include_str!("../../../tests/data/expressions.jsonl").to_owned(),
    };
    let (mut compared, mut refused) = (0, 0);
    let mut wrong = String::new();
    for row in recorded.lines() {
        let (pattern, text, expected): (String, String, Option<Vec<String>>) =
            serde_json::from_str(row).unwrap();
        // Where Oniguruma has no answer, as it gave up or does not know the expression, there is none to compare with.
        let Some(expected) = expected else { continue };
        match Regex::new(&pattern) {
            Ok(regex) => {
                compared += 1;
                let parts = split(&regex, &text);
                if parts.as_ref() != Ok(&expected) {
                    wrong += &format!("{pattern:?} {text:?}\n  {parts:?}\n  {expected:?}\n");
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(
        compared > 250 && refused < compared,
        "{compared} compared, {refused} refused"
    );
}

#[test]
fn what_is_not_supported_is_named() {
    let check = |pattern: &str, reason: &str| {
        let error = Regex::new(pattern).unwrap_err().to_string();
        assert!(error.contains(reason), "{pattern}: {error}");
    };
    check(r"(a)\1", "`\\1`");
    check(r"\k<n>", "`\\k`");
    check(r"\X", "`\\X`");
    check(r"\K", "`\\K`");
    check(r"\G", "`\\G`");
    check(r"(?x: a )", "`(?x:`");
    check(r"(?~a)", "`(?~a`");
    check("(*FAIL)", "`(*`");
    check(r"\p{Greek_And_Coptic_Block}", "the property");
    check(r"\p{L=x}", "the property");
    check("(?i:ß)", "beyond ASCII");
    check("(?i)[é]", "beyond ASCII");
    check("(?i:ss)", "`ss`");
    check("(?i:f[a-z])", "`ss`");
    check("a{2}?", "interval of one number");
    check("(?:a|b?){2}", "may match nothing");
    check("a{1001}", "1000 repetitions");
    check("a**", "a repetition of a repetition");
    check("^*", "assertion");
    check("(?<=a*)b", "a look behind");
    check("[]a]", "begins with `]`");
    check(r"[\w-z]", "`-`");
    check("*a", "nothing to repeat");
    check("(a", "without a `)`");
    check("a)", "without a `(`");
    check("[a", "no end");
    check("a\\", "ends with");
    check(r"\x{110000}", "code");
}

#[test]
fn large_expressions_are_refused() {
    let check = |pattern: &str| {
        let error = Regex::new(pattern).unwrap_err();
        assert!(matches!(error, RegexError::TooLarge), "{error}");
    };
    check(&"a".repeat(20_000));
    check(&format!(
        "{}a{}",
        "(".repeat(MAX_DEPTH),
        ")".repeat(MAX_DEPTH)
    ));
    check(&format!(
        "{}a{}",
        "[".repeat(MAX_DEPTH + 1),
        "]".repeat(MAX_DEPTH + 1)
    ));
    check("(?:(?:(?:ab){100}){100}){100}");
    let many: String = ('a'..='\u{fff}')
        .filter(|c| c.is_alphabetic())
        .map(|c| format!("[{c}x]"))
        .collect();
    check(&many);
}

#[test]
fn catastrophic_expressions_end_with_an_error() {
    let long = "a".repeat(200);
    for pattern in [
        "(a+)+b",
        "(a|a)*b",
        "(a|aa)+$b",
        "(?=(a+)+b)",
        "(?>(a*)*b)",
        "(?:a*?)*?b",
        "(a*)*(a*)*(a*)*b",
    ] {
        let regex = Regex::new(pattern).unwrap();
        assert_eq!(split(&regex, &long), Err(Overrun::Steps), "{pattern}");
    }
    // Places to go back to are bounded as well.
    let regex = Regex::new("(?:a|b)*c").unwrap();
    let error = split(&regex, &"ab".repeat(2_000_000)).unwrap_err();
    assert!(matches!(error, Overrun::Places(_)), "{error}");
}
