//! Names are found where they are, however alike they begin.

use proptest::collection::btree_set;
use proptest::prelude::*;

use super::*;
use crate::frozen::{DamageWatch, checked};

/// Names of which many have the same leading bytes, as those of attackers may.
fn name() -> impl Strategy<Value = PatternName> {
    (0..3_u8, 0..6_u8).prop_map(|(leading, last)| {
        let mut bytes = [0; 20];
        (bytes[7], bytes[19]) = (leading, last);
        PatternName::from_bytes(bytes)
    })
}

proptest! {
    #[test]
    fn a_name_has_the_rank_of_its_place(held in btree_set(name(), 0..12), sought in name()) {
        let bytes: Vec<u8> = held.iter().flat_map(|name| *name.as_bytes()).collect();
        let column = checked(bytes, &DamageWatch::default());
        let found = rank_of(column.view(), held.len() as u32, &sought);
        let expected = held.iter().position(|name| *name == sought);
        prop_assert_eq!(found, expected.map(|rank| rank as u32));
    }
}
