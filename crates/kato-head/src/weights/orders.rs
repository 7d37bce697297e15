//! How far the orders of the n-grams are trusted, by facts so few that each has its place.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Theta, digits};

/// Binary digits of a count that are told apart, from 0 on.
const COUNTS: usize = 15;

/// Eighths that are told apart, from 0 on.
const VARIETIES: usize = 9;

/// Where the facts of each kind begin among those of one order of the n-grams, and how many there are.
const KINDS: [usize; 5] = [
    0,
    2,
    2 + COUNTS,
    2 + COUNTS + VARIETIES,
    2 + COUNTS + VARIETIES + COUNTS * VARIETIES,
];

/// The facts of one order of the n-grams that decide how far its counts are trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OrderClass {
    /// The length of the context, and whether occurrences are counted.
    order: u8,
    is_last: bool,
    count: u8,
    variety: u8,
}

impl OrderClass {
    /// Sums up what is known of a context of `length` symbols after which `distinct` symbols were
    /// counted `total` times, and whether no longer context was seen.
    pub(crate) fn of(
        length: usize,
        counts_occurrences: bool,
        is_last: bool,
        total: u64,
        distinct: u64,
    ) -> Self {
        let eighths = distinct.saturating_mul(8).checked_div(total).unwrap_or(0);
        Self {
            // Contexts are shorter than 16 symbols.
            order: (length << 1) as u8 | u8::from(counts_occurrences),
            is_last,
            count: digits(total).min(COUNTS as u8 - 1),
            // No more are distinct than there are.
            variety: eighths.min(VARIETIES as u64 - 1) as u8,
        }
    }

    /// Returns the places of the facts.
    #[inline]
    fn places(self) -> [usize; 4] {
        let (count, variety) = (usize::from(self.count), usize::from(self.variety));
        let facts = [
            usize::from(self.is_last),
            count,
            variety,
            count * VARIETIES + variety,
        ];
        let first = usize::from(self.order) * KINDS[4];
        std::array::from_fn(|kind| first + KINDS[kind] + facts[kind])
    }
}

/// Returns the number by which the fact of a place is stored: its kind, the order, and what the fact is.
fn key_of(place: usize) -> u64 {
    let (order, fact) = (place / KINDS[4], place % KINDS[4]);
    let kind = KINDS.partition_point(|&first| first <= fact) - 1;
    let fact = fact - KINDS[kind];
    let fact = match kind {
        3 => ((fact / VARIETIES) << 8) | (fact % VARIETIES),
        _ => fact,
    };
    (kind as u64) << 56 | (order as u64) << 32 | fact as u64
}

/// Returns the place of the fact that is stored by a number; `None` if there is no such fact.
fn place_of(key: u64) -> Option<usize> {
    let byte = |shift: u32| usize::from((key >> shift) as u8);
    let (kind, order, count, fact) = (byte(56), byte(32), byte(8), byte(0));
    let fact = match kind {
        3 => count * VARIETIES + fact,
        _ => fact,
    };
    let place = order * KINDS[4] + KINDS.get(kind)? + fact;
    (key_of(place) == key).then_some(place)
}

/// Learned numbers by place of their fact; what is not held yet has learned nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Orders(Vec<Theta>);

impl Orders {
    /// Returns the sum of what was learned of the facts of a class.
    #[inline]
    pub(super) fn sum(&self, class: OrderClass) -> f64 {
        let values = class.places().map(|place| self.0.get(place));
        let values = values.into_iter().flatten().map(|theta| theta.value);
        // Not `sum`, which is −0 for nothing.
        values.fold(0.0, |sum, value| sum + value)
    }

    /// Takes a step up a gradient with each of the facts of a class.
    #[inline]
    pub(super) fn climb(&mut self, class: OrderClass, gradient: f64, step: f64) {
        let places = class.places();
        if self.0.len() <= places[3] {
            // All facts of this order, of which that one is of the last kind.
            let n_orders = usize::from(class.order) + 1;
            self.0.resize(n_orders * KINDS[4], Theta::default());
        }
        let mut thetas = places.map(|place| self.0[place]);
        Theta::climb_all(&mut thetas, gradient, step);
        for (place, theta) in places.into_iter().zip(thetas) {
            self.0[place] = theta;
        }
    }

    /// Returns all of which something was learned, by place.
    fn learned(&self) -> impl Iterator<Item = (usize, &Theta)> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, theta)| **theta != Theta::default())
    }
}

impl PartialEq for Orders {
    fn eq(&self, other: &Self) -> bool {
        self.learned().eq(other.learned())
    }
}

impl Serialize for Orders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let learned = self.learned().map(|(place, theta)| (key_of(place), theta));
        let sorted: BTreeMap<u64, &Theta> = learned.collect();
        sorted.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Orders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored: BTreeMap<u64, Theta> = BTreeMap::deserialize(deserializer)?;
        let mut orders = Vec::new();
        for (key, theta) in stored {
            let unknown = || D::Error::custom(format!("no fact has the number {key}"));
            let place = place_of(key).ok_or_else(unknown)?;
            if orders.len() <= place {
                orders.resize(place + 1, Theta::default());
            }
            orders[place] = theta;
        }
        Ok(Self(orders))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_is_stored_by_a_number_of_its_own() {
        let keys: BTreeMap<u64, usize> = (0..32 * KINDS[4])
            .map(|place| (key_of(place), place))
            .collect();
        assert_eq!(keys.len(), 32 * KINDS[4]);
        for (key, place) in keys {
            assert_eq!(place_of(key), Some(place));
        }
        // As builds before stored them.
        let class = OrderClass::of(3, true, true, 9, 4);
        let keys = class.places().map(key_of);
        let of = 7 << 32;
        assert_eq!(
            keys,
            [
                of | 1,
                1 << 56 | of | 4,
                2 << 56 | of | 3,
                3 << 56 | of | 4 << 8 | 3
            ]
        );
        for none in [
            2,
            1 << 56 | 15,
            2 << 56 | 9,
            4 << 56,
            3 << 56 | 15 << 8,
            1 << 40 | 1,
        ] {
            assert_eq!(place_of(none), None, "{none:x}");
        }
    }
}
