//! Times on the command line.

use std::time::Duration;

/// Parses a time in seconds, with a fraction if need be.
///
/// # Errors
///
/// When the text is no number, or a number that is no time.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| wrong(text))?;
    Duration::try_from_secs_f64(number).map_err(|_| wrong(text))
}

/// Returns the text of the error.
fn wrong(text: &str) -> String {
    format!("{text:?} is no time: give seconds, such as 10 or 0.5")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_taken() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        for text in ["", "-1", "soon", "NaN", "inf", "1e300"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
