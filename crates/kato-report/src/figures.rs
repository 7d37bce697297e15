//! Figures as people read them: short, with a unit.

/// Returns bytes, by powers of 1,000.
///
/// ```
/// assert_eq!(kato_report::figures::bytes(1_234_567.0), "1.23 MB");
/// ```
#[must_use]
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// Returns an amount without a unit: 0.25, 12 k, 3.4 M.
#[must_use]
pub fn count(count: f64) -> String {
    match count.abs() {
        // Three digits of it would be zeros.
        v if v > 0.0 && v < 0.005 => format!("{count:.1e}"),
        _ => scaled(count, &["", "k", "M", "G", "T"])
            .trim_end()
            .to_owned(),
    }
}

/// Returns a duration.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        // Zero has no magnitude by which a unit could be chosen.
        0.0 => (0.0, "s"),
        s if s < 1e-6 => (seconds * 1e9, "ns"),
        s if s < 1e-3 => (seconds * 1e6, "µs"),
        s if s < 1.0 => (seconds * 1e3, "ms"),
        s if s < 120.0 => (seconds, "s"),
        s if s < 7200.0 => (seconds / 60.0, "min"),
        s if s < 172_800.0 => (seconds / 3600.0, "h"),
        _ => (seconds / 86_400.0, "d"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Returns a share of 1.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(100.0 * share))
}

/// Returns the median: of an even number of values the mean of the two in the middle; `None` of none.
///
/// ```
/// use kato_report::figures::median;
///
/// assert_eq!(median([3.0, 1.0, 2.0, 10.0]), Some(2.5));
/// assert_eq!(median([]), None);
/// ```
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let lower = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// Returns a value in the largest unit of which it has at least one.
fn scaled(value: f64, units: &[&str]) -> String {
    let (mut scaled, mut at) = (value, 0);
    // 999.5 is the least that rounds to 1000, which the next unit shows as 1.
    while scaled.abs() >= 999.5 && at + 1 < units.len() {
        scaled /= 1000.0;
        at += 1;
    }
    let unit = units.get(at).copied().unwrap_or_default();
    format!("{} {unit}", three_digits(scaled))
}

/// Returns a value with all digits in front of the point, and behind it as many of two as make three
/// in all, without zeros at the end.
#[must_use]
pub fn three_digits(value: f64) -> String {
    // The limits are where rounding adds a digit: 9.995 becomes 10.0 and 99.95 becomes 100.
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        0.0 => 0,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(999_999.0), "1 MB");
        assert_eq!(count(12_345.0), "12.3 k");
        assert_eq!(count(7.0), "7");
        assert_eq!(count(0.25), "0.25");
        assert_eq!(count(0.0004), "4.0e-4");
        assert_eq!(count(0.0), "0");
        assert_eq!(seconds(0.000_045), "45 µs");
        assert_eq!(seconds(90.0), "90 s");
        assert_eq!(seconds(3600.0), "60 min");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
