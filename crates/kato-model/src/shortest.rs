//! Shortest decimals that read back as the same number, as Python and numpy choose them.

/// Returns the shortest scientific form, for example `1.5e-7`.
pub(crate) fn scientific(value: f64) -> String {
    let shortest = format!("{value:e}");
    let number = shortest
        .split_once('e')
        .map_or(shortest.as_str(), |(number, _)| number);
    let precision = fraction_len(number);
    even_on_tie(value, format!("{value:.precision$e}")).unwrap_or(shortest)
}

/// Returns the shortest form without exponent, for example `0.25`; whole numbers have no point.
pub(crate) fn positional(value: f64) -> String {
    let shortest = value.to_string();
    let precision = fraction_len(&shortest);
    even_on_tie(value, format!("{value:.precision$}")).unwrap_or(shortest)
}

/// Returns the number of digits after the point.
fn fraction_len(number: &str) -> usize {
    number
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len())
}

/// Returns the exact value rounded to as many digits as the shortest form, if it reads back as the
/// value.
///
/// Of two shortest decimals that are equally near to the value, the standard library writes the
/// upper one, Python and numpy the even one. That is the exact value rounded to as many digits,
/// unless it reads back as another number: below a power of two the nearest decimal may lie outside
/// the range of the value.
fn even_on_tie(value: f64, rounded: String) -> Option<String> {
    (rounded.parse() == Ok(value)).then_some(rounded)
}

#[cfg(test)]
mod tests {
    use super::{positional, scientific};

    #[test]
    fn ties_go_to_the_even_digit() {
        assert_eq!(
            positional(934_566_896_489_606.0 + 0.25),
            "934566896489606.2"
        );
        assert_eq!(positional(67_108_864.0 + 1.0 / 512.0), "67108864.00195312");
        assert_eq!(
            scientific(2_026_285_814_339_279.0 + 0.25),
            "2.0262858143392792e15"
        );
    }

    #[test]
    fn the_nearest_decimal_is_not_taken_when_it_is_another_number() {
        assert_eq!(scientific(2.0_f64.powi(-44)), "5.684341886080802e-14");
    }

    #[test]
    fn digits_end_where_the_number_is_told_apart() {
        for (value, expected) in [
            (0.0, "0e0"),
            (-0.0, "-0e0"),
            (5e-324, "5e-324"),
            (0.1, "1e-1"),
        ] {
            assert_eq!(scientific(value), expected);
        }
        for (value, expected) in [(0.0, "0"), (-0.0, "-0"), (2.0, "2"), (-0.1, "-0.1")] {
            assert_eq!(positional(value), expected);
        }
    }
}
