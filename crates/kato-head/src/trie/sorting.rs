//! Sorting millions of numbers in place.

/// Numbers up to which comparing them is quicker than telling them apart by a byte.
const FEW: usize = 1 << 8;

/// Sorts numbers: by their highest byte, then those of one byte by the next one, and few by comparing them. What lies
/// together is read together, which takes half the time of comparing all.
pub(super) fn sort(numbers: &mut [u128]) {
    sort_by_byte(numbers, u128::BITS - 8);
}

/// Sorts numbers that are equal above a byte, which is given by its lowest bit.
fn sort_by_byte(numbers: &mut [u128], low_bit: u32) {
    if numbers.len() <= FEW {
        numbers.sort_unstable();
        return;
    }
    let byte_of = |number: u128| usize::from((number >> low_bit) as u8);
    let mut ends = [0; 256];
    for &number in &*numbers {
        ends[byte_of(number)] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    // Of each byte the place where the next number is to go that has it.
    let mut next: [usize; 256] = std::array::from_fn(|byte| match byte.checked_sub(1) {
        Some(before) => ends[before],
        None => 0,
    });
    for byte in 0..256 {
        while next[byte] < ends[byte] {
            // Each number that does not belong here goes where it does, and what was there comes next.
            let place = next[byte];
            let mut number = numbers[place];
            let mut found = byte_of(number);
            while found != byte {
                std::mem::swap(&mut number, &mut numbers[next[found]]);
                next[found] += 1;
                found = byte_of(number);
            }
            numbers[place] = number;
            next[byte] += 1;
        }
    }
    let Some(lower) = low_bit.checked_sub(8) else {
        return;
    };
    let mut start = 0;
    for end in ends {
        sort_by_byte(&mut numbers[start..end], lower);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn numbers_are_sorted(
            // Many that share their highest bytes, and some that are equal.
            mut numbers in prop::collection::vec(
                (0..4u128, 0..3u128, any::<u16>(), prop::bool::weighted(0.3)),
                0..3_000,
            )
            .prop_map(|parts| {
                let number = |(high, middle, low, is_low): (u128, u128, u16, bool)| {
                    let low = if is_low { u128::from(low) } else { u128::from(low) << 40 };
                    high << 126 | middle << 90 | low
                };
                parts.into_iter().map(number).collect::<Vec<u128>>()
            }),
        ) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers);
            prop_assert_eq!(numbers, expected);
        }
    }
}
