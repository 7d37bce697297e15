//! Recorded results of the original: one JSON object per line of a file in `tests/data`.

use serde::de::DeserializeOwned;

/// All rows of a file.
pub(crate) fn rows<T: DeserializeOwned>(lines: &str) -> Vec<T> {
    let rows: Vec<T> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!rows.is_empty());
    rows
}

/// Equal to 1e-9, relative or absolute.
pub(crate) fn is_close(a: f64, b: f64) -> bool {
    is_within(1e-9, a, b)
}

/// Equal to a bound, relative or absolute.
pub(crate) fn is_within(bound: f64, a: f64, b: f64) -> bool {
    let largest = f64::max(a.abs(), b.abs());
    // Beside an infinite one every difference would be within the bound.
    a == b || largest.is_finite() && (a - b).abs() <= bound * f64::max(1.0, largest)
}
