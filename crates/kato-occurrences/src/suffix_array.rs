//! Sorts the suffixes of a text of numbers, in time and memory proportional to its length, whatever it
//! repeats.
//!
//! Suffixes are sorted by induction: where a suffix is followed by a larger one and its predecessor is not
//! (a *valley*), it is sorted by recursion on the text of these places, and all others follow from those by
//! one pass upwards and one downwards.

/// The mark of a place that holds no suffix yet.
const EMPTY: u32 = u32::MAX;

/// Returns where the suffixes of a text begin, in their order.
///
/// Symbols are below `n_symbols`, the text has fewer than 2³² − 1 of them, and ends with a 0 that is
/// nowhere else.
pub(crate) fn suffix_array(text: &[u32], n_symbols: usize) -> Vec<u32> {
    // A lone 0 is no valley, as nothing is in front of it, and nothing would be sorted by it.
    if text.len() < 2 {
        return vec![0; text.len()];
    }
    let mut suffixes = vec![EMPTY; text.len()];
    sort(text, n_symbols, &mut suffixes);
    suffixes
}

/// The kinds of a text's suffixes, a bit each: whether a suffix is smaller than the one after it.
struct Kinds(Vec<u64>);

impl Kinds {
    fn of(text: &[u32]) -> Self {
        let mut kinds = Self(vec![0; text.len().div_ceil(64)]);
        let mut is_smaller = true;
        for at in (0..text.len()).rev() {
            is_smaller = match text.get(at + 1) {
                None => true,
                Some(next) => text[at] < *next || text[at] == *next && is_smaller,
            };
            kinds.0[at / 64] |= u64::from(is_smaller) << (at % 64);
        }
        kinds
    }

    fn is_smaller(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn is_valley(&self, at: usize) -> bool {
        at > 0 && self.is_smaller(at) && !self.is_smaller(at - 1)
    }
}

fn sort(text: &[u32], n_symbols: usize, suffixes: &mut [u32]) {
    let kinds = Kinds::of(text);
    let mut counts = vec![0u32; n_symbols];
    for &symbol in text {
        counts[symbol as usize] += 1;
    }
    suffixes.fill(EMPTY);
    let mut tails = ends(&counts);
    for at in (1..text.len()).filter(|&at| kinds.is_valley(at)) {
        push_back(suffixes, &mut tails, text, at);
    }
    induce(text, &kinds, &counts, suffixes);
    let n_valleys = sort_valleys(text, &kinds, suffixes);
    suffixes[n_valleys..].fill(EMPTY);
    // From the last on: a place is never behind where its suffix belongs.
    let mut tails = ends(&counts);
    for idx in (0..n_valleys).rev() {
        let at = std::mem::replace(&mut suffixes[idx], EMPTY) as usize;
        push_back(suffixes, &mut tails, text, at);
    }
    induce(text, &kinds, &counts, suffixes);
}

/// Returns where the suffixes of each symbol end.
fn ends(counts: &[u32]) -> Vec<u32> {
    let sum = |end: &mut u32, &count: &u32| {
        *end += count;
        Some(*end)
    };
    counts.iter().scan(0, sum).collect()
}

/// Puts a suffix at the end of the room that is left for its symbol.
fn push_back(suffixes: &mut [u32], tails: &mut [u32], text: &[u32], at: usize) {
    let tail = &mut tails[text[at] as usize];
    *tail -= 1;
    suffixes[*tail as usize] = at as u32;
}

/// Puts all suffixes in their places, given the order of the valleys.
fn induce(text: &[u32], kinds: &Kinds, counts: &[u32], suffixes: &mut [u32]) {
    let mut heads: Vec<u32> = ends(counts);
    for (head, count) in heads.iter_mut().zip(counts) {
        *head -= count;
    }
    for idx in 0..suffixes.len() {
        let at = suffixes[idx];
        if at == EMPTY || at == 0 || kinds.is_smaller(at as usize - 1) {
            continue;
        }
        let head = &mut heads[text[at as usize - 1] as usize];
        suffixes[*head as usize] = at - 1;
        *head += 1;
    }
    let mut tails = ends(counts);
    for idx in (0..suffixes.len()).rev() {
        let at = suffixes[idx];
        if at != EMPTY && at != 0 && kinds.is_smaller(at as usize - 1) {
            push_back(suffixes, &mut tails, text, at as usize - 1);
        }
    }
}

/// Sorts the valleys to the front, given an order by the text up to the next valley; returns their number.
fn sort_valleys(text: &[u32], kinds: &Kinds, suffixes: &mut [u32]) -> usize {
    let mut n_valleys = 0;
    for idx in 0..suffixes.len() {
        let at = suffixes[idx];
        if kinds.is_valley(at as usize) {
            suffixes[n_valleys] = at;
            n_valleys += 1;
        }
    }
    // Equal stretches get equal numbers. There is room for them behind the valleys, of which no two are
    // neighbours.
    let (valleys, numbers) = suffixes.split_at_mut(n_valleys);
    numbers.fill(EMPTY);
    let mut n_numbers = 0;
    let mut before = None;
    for &at in &*valleys {
        let at = at as usize;
        if !before.is_some_and(|before| are_equal(text, kinds, before, at)) {
            n_numbers += 1;
            before = Some(at);
        }
        numbers[at / 2] = n_numbers - 1;
    }
    let reduced: Vec<u32> = numbers.iter().copied().filter(|&n| n != EMPTY).collect();
    if (n_numbers as usize) < n_valleys {
        sort(&reduced, n_numbers as usize, valleys);
    } else {
        for (idx, &number) in (0..).zip(&reduced) {
            valleys[number as usize] = idx;
        }
    }
    drop(reduced);
    let places = (1..text.len()).filter(|&at| kinds.is_valley(at));
    let places: Vec<u32> = places.map(|at| at as u32).collect();
    for valley in valleys {
        *valley = places[*valley as usize];
    }
    n_valleys
}

/// Returns whether two stretches from a valley to the next are equal.
fn are_equal(text: &[u32], kinds: &Kinds, a: usize, b: usize) -> bool {
    let mut length = 0;
    // The 0 at the end is in one of them at most, so neither is left.
    loop {
        let (a, b) = (a + length, b + length);
        if text[a] != text[b] || kinds.is_smaller(a) != kinds.is_smaller(b) {
            return false;
        }
        if length > 0 && (kinds.is_valley(a) || kinds.is_valley(b)) {
            return kinds.is_valley(a) && kinds.is_valley(b);
        }
        length += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn suffixes_are_sorted(
            symbols in prop_oneof![
                prop::collection::vec(1u32..3, 0..200),
                prop::collection::vec(1u32..50, 0..200),
                (prop::collection::vec(1u32..4, 1..9), 1usize..30).prop_map(|(part, n)| part.repeat(n)),
            ],
        ) {
            let mut text = symbols;
            text.push(0);
            let mut expected: Vec<u32> = (0..text.len() as u32).collect();
            expected.sort_by_key(|&at| &text[at as usize..]);
            prop_assert_eq!(suffix_array(&text, 50), expected);
        }
    }
}
