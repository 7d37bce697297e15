//! An index's own texts, which lie in their order.

use std::ops::Range;

use kato_columns::View;
use kato_model::PatternName;
use kato_model::naming::NAME_PREFIX;

use super::super::numbers::NumbersView;
use super::FrozenIndex;
use crate::frozen::columns::lower_bound_near;

/// Hexadecimal digits of a number of 64 bits.
const DIGITS: usize = 16;

impl FrozenIndex {
    /// Returns whether a text is that of one of its own symbols.
    pub(in crate::frozen) fn is_own_text(&self, own: u32, text: &str) -> bool {
        let (start, len) = self.text_offsets.view().range(own as usize);
        len == text.len() && self.texts.view().slice(start, len) == text.as_bytes()
    }

    /// Returns one of its own texts.
    pub(in crate::frozen) fn own_text(&self, own: u32) -> &str {
        let texts = self.texts.view();
        str::from_utf8(self.own_texts().get(own as usize)).unwrap_or_else(|_| {
            texts.raise_damage();
            ""
        })
    }

    /// Returns the place of a text among its own.
    pub(in crate::frozen) fn own_text_place(&self, text: &str) -> Option<u32> {
        let texts = self.own_texts();
        let place = texts.first_not_below(0..texts.len, text.as_bytes());
        (place < texts.len && texts.get(place) == text.as_bytes()).then_some(place as u32)
    }

    /// Returns the place of a name among its own texts, as [`own_text_place`](Self::own_text_place) does: names are
    /// spread evenly, so that few places are read of the many that they have where a node stands alone.
    ///
    /// Where names come in order, `near` is 0 at first, and after that what the call before has left there.
    pub(in crate::frozen) fn own_name_place(
        &self,
        name: &PatternName,
        near: Option<&mut usize>,
    ) -> Option<u32> {
        let texts = self.own_texts();
        let names = self.name_texts.get_or_init(|| {
            let prefix = NAME_PREFIX.as_bytes();
            let first = texts.first_not_below(0..texts.len, prefix);
            first..texts.first_such(first..texts.len, |text| !text.starts_with(prefix))
        });
        let wanted = name.leading_u64();
        let key = |place: usize| leading_u64(texts.get(names.start + place));
        // As many are before it as its share of all numbers is.
        let share = ((u128::from(wanted) * names.len() as u128) >> u64::BITS) as usize;
        let from = near.as_deref().copied().unwrap_or(share);
        let first = lower_bound_near(from, names.len(), wanted, key);
        if let Some(near) = near {
            *near = first;
        }
        // Nearly always there is none other with the same leading digits.
        let same = (first..names.len()).take_while(|&place| key(place) == wanted);
        let mut places = same.map(|place| names.start + place);
        let place = places.find(|&place| {
            let text = str::from_utf8(texts.get(place)).unwrap_or_default();
            PatternName::from_symbol(text) == Some(*name)
        });
        place.map(|place| place as u32)
    }

    fn own_texts(&self) -> Texts<'_> {
        Texts {
            offsets: self.text_offsets.view(),
            texts: self.texts.view(),
            len: (self.n_texts - self.first_text) as usize,
        }
    }
}

/// Texts in their order.
#[derive(Clone, Copy)]
struct Texts<'a> {
    offsets: NumbersView<'a>,
    texts: View<'a>,
    len: usize,
}

impl<'a> Texts<'a> {
    fn get(self, place: usize) -> &'a [u8] {
        let (start, len) = self.offsets.range(place);
        self.texts.slice(start, len)
    }

    /// Returns the first place of a range whose text is no less than another one, or the end.
    fn first_not_below(self, range: Range<usize>, text: &[u8]) -> usize {
        self.first_such(range, |held| held >= text)
    }

    /// Returns the first place of a range from which on all texts are such, or the end.
    fn first_such(self, range: Range<usize>, is_such: impl Fn(&[u8]) -> bool) -> usize {
        let Range {
            start: mut lo,
            end: mut hi,
        } = range;
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            match is_such(self.get(middle)) {
                true => hi = middle,
                false => lo = middle + 1,
            }
        }
        lo
    }
}

/// Returns the first digits behind the prefix of names as a number, so that numbers are in order where texts are:
/// [`PatternName::leading_u64`] for a name.
fn leading_u64(text: &[u8]) -> u64 {
    let digits = text.get(NAME_PREFIX.len()..).unwrap_or_default();
    let mut number = 0_u64;
    for place in 0..DIGITS {
        let rest = 4 * (DIGITS - place) as u32;
        // What is no digit stands for the least, or the greatest, of the digits between which it lies.
        let digit = match digits.get(place).copied().unwrap_or(0) {
            digit @ b'0'..=b'9' => digit - b'0',
            digit @ b'a'..=b'f' => digit - b'a' + 10,
            ..b'0' => return number.unbounded_shl(rest),
            b':'..b'a' => return (number << 4 | 10).unbounded_shl(rest - 4),
            _ => return (number + 1).unbounded_shl(rest).wrapping_sub(1),
        };
        number = number << 4 | u64::from(digit);
    }
    number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_in_order_where_texts_are(
            mut texts in prop::collection::vec("[0-9:@a-gz/ ]{0,4}", 2..40),
            digits in "[0-9a-f]{40}",
        ) {
            texts.sort();
            let numbers: Vec<u64> = texts.iter().map(|text| leading_u64(format!("{NAME_PREFIX}{text}").as_bytes())).collect();
            prop_assert!(numbers.is_sorted(), "{texts:?} {numbers:x?}");
            let name: PatternName = digits.parse().unwrap();
            prop_assert_eq!(leading_u64(name.prefixed().to_string().as_bytes()), name.leading_u64());
        }
    }
}
