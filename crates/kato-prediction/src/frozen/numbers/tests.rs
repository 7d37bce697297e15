//! Numbers are read as they were packed.

use proptest::prelude::*;

use super::*;
use crate::frozen::{DamageWatch, checked};

proptest! {
    #[test]
    fn what_was_packed_is_read(
        steps in prop_oneof![
            3 => proptest::collection::vec(prop_oneof![6 => 0..9_u64, 1 => 0..1_000_000_u64, 1 => 0..1_u64 << 36], 1..700),
            // All on their line, which take no bits.
            1 => (0..1_u64 << 36, 1..700_usize).prop_map(|(step, n)| vec![step; n]),
        ],
        ends_at in proptest::option::of(0..700_usize),
    ) {
        // They begin anew at most once, as those of several classes do.
        let mut last = 0;
        let numbers = steps.iter().enumerate().map(|(at, step)| {
            last = if Some(at) == ends_at { *step } else { last + step };
            last
        });
        let numbers: Vec<u64> = numbers.collect();
        let (mut packer, mut bytes) = (NumberPacker::default(), Vec::new());
        numbers.iter().for_each(|&number| packer.push(number, &mut bytes));
        packer.finish(&mut bytes);
        let damage = DamageWatch::default();
        let packed = PackedNumbers::new(checked(bytes, &damage), numbers.len()).unwrap();
        let view = packed.view();
        for (idx, &number) in numbers.iter().enumerate() {
            prop_assert_eq!(view.get(idx), number);
            if let Some(length) = numbers.get(idx + 1).and_then(|end| end.checked_sub(number)) {
                prop_assert_eq!(view.range(idx), (number as usize, length as usize));
            }
        }
        prop_assert!(!damage.is_found());
    }
}
