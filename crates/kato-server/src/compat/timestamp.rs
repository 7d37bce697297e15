//! Times as KATO writes them: ISO 8601 with microseconds in one of three forms, or seconds since
//! 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// Formats a time like `2026-11-20T22:09:35.069089Z`.
pub(crate) fn iso_z(at: SystemTime) -> String {
    let mut text = iso_local(at);
    text.push('Z');
    text
}

/// Formats a time like `2026-11-20T22:09:35.069089+00:00`.
pub(crate) fn iso_offset(at: SystemTime) -> String {
    let mut text = iso_local(at);
    text.push_str("+00:00");
    text
}

/// Formats a time like `2026-11-20T22:09:35.069089`, without a zone: KATO writes its local time
/// there, which is UTC in its containers.
pub(crate) fn iso_local(at: SystemTime) -> String {
    // The formatter has no form for times before 1970 and after 9999; a clock may still be set to
    // them.
    let at = at.clamp(UNIX_EPOCH, UNIX_EPOCH + MAX);
    let mut text = humantime::format_rfc3339_micros(at).to_string();
    // The `Z`.
    text.pop();
    text
}

/// The last second of the year 9999.
const MAX: std::time::Duration = std::time::Duration::from_secs(253_402_300_799);

/// Returns the seconds since 1970.
pub(crate) fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
