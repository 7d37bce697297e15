//! Snapshots, comparisons and clean-ups as text for people.

mod cleanup;
mod comparison;
mod snapshot;

pub(crate) use cleanup::Cleanup;

/// Formats a number with few digits, or as a dash where nothing was counted.
fn number(number: Option<f64>) -> String {
    match number {
        None => "–".to_owned(),
        // Below 1e15 an `f64` holds every whole number exactly, and a `u64` has room for it.
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            // `HumanCount` takes no negative numbers, so the sign is written apart.
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", indicatif::HumanCount(number.abs() as u64))
        }
        Some(number) => format!("{number:.3}"),
    }
}

/// Formats a share as per cent, or as a dash where there is none.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_nothing_is_a_dash() {
        for (given, expected) in [
            (None, "–"),
            (Some(0.0), "0"),
            (Some(-1234.0), "-1,234"),
            (Some(0.123_45), "0.123"),
            (Some(f64::MAX), &format!("{:.3}", f64::MAX)),
        ] {
            assert_eq!(number(given), expected);
        }
        assert_eq!(percent(Some(-0.333)), "-33.3 %");
    }
}
