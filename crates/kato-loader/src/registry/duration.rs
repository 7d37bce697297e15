//! Writes a time in the one unit that suits its size.

use std::time::Duration;

/// Returns a time with one decimal in seconds, minutes, hours or days: `45.0s`, `2.5m`, `1.3h`,
/// `9.6d`.
///
/// The unit is the largest of which the rounded value is at least 1; days have no upper limit.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use kato_loader::registry::format_duration;
///
/// assert_eq!(format_duration(Duration::from_secs(150)), "2.5m");
/// assert_eq!(format_duration(Duration::from_millis(59_960)), "1.0m");
/// ```
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    // How many of a unit make the next one.
    const UNITS: [(&str, f64); 3] = [("s", 60.0), ("m", 60.0), ("h", 24.0)];
    let mut value = duration.as_secs_f64();
    for (unit, next) in UNITS {
        // Decided on the rounded value, or 59.96 s would be shown as 60.0s.
        if (value * 10.0).round() < next * 10.0 {
            return format!("{value:.1}{unit}");
        }
        value /= next;
    }
    format!("{value:.1}d")
}
