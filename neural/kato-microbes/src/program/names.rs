//! Names of samples in a line.

use kato_advice::counted;

/// How many names a line shows.
const N_NAMES: usize = 10;

/// Returns how many there are of what `one` names one of, what is said of them, and the first ten; `None` for none.
pub(crate) fn names(one: &str, what: &str, names: &[String]) -> Option<String> {
    let shown: Vec<String> = names
        .iter()
        .take(N_NAMES)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(N_NAMES);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| {
        let n = counted(names.len(), one);
        format!("{n} {what}: {}{rest}", shown.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let all: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        let said = |n: usize| names("sample", "too shallow", &all[..n]);
        assert_eq!(said(0), None);
        assert_eq!(said(1).as_deref(), Some("1 sample too shallow: `0`"));
        let said = said(12).unwrap_or_default();
        assert!(said.starts_with("12 samples too shallow: `0`, ") && said.ends_with(" and 2 more"));
    }
}
