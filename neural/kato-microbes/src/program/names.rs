//! Names of samples in a line.

/// How many names a line shows.
const N_NAMES: usize = 10;

/// Returns how many names there are and the first ten, or `None` for none.
pub(crate) fn names(what: &str, names: &[String]) -> Option<String> {
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
    (!names.is_empty()).then(|| format!("{} {what}: {}{rest}", names.len(), shown.join(", ")))
}
