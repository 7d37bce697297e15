//! The words that a thread has met, with their ids.

/// Places that a word may have. More find rare words more often, and look for new ones longer.
const WAYS: usize = 4;

/// The ids of words of up to 31 bytes, known by their bytes and not by a hash; 2.5 MiB, however
/// many words come.
pub(super) struct WordCache {
    /// Nearly all words have at most 15 bytes. In small places more of them stay close to the
    /// processor, which is what the time of a look-up depends on.
    short: Table<1, 7, { 1 << 14 }>,
    long: Table<2, 15, { 1 << 11 }>,
}

/// Words of fewer than 16 times `N` bytes that have at most `IDS` ids. A word's hash names the one
/// set that it may be in.
struct Table<const N: usize, const IDS: usize, const SETS: usize> {
    sets: Box<[Set<N, IDS>; SETS]>,
}

/// Words that share places, those that are asked for more often in front.
#[derive(Clone)]
#[repr(align(64))]
struct Set<const N: usize, const IDS: usize>([Slot<N, IDS>; WAYS]);

#[derive(Clone, Copy)]
struct Slot<const N: usize, const IDS: usize> {
    /// The word; no word's is that of an empty slot, as its length would be 0.
    key: [u128; N],
    n_ids: u16,
    ids: [u16; IDS],
}

impl WordCache {
    pub(super) fn new() -> Self {
        Self {
            short: Table::new(),
            long: Table::new(),
        }
    }

    /// Appends the ids of the word that is the first `len` bytes of `text`; `encode` appends those
    /// of one that is not here.
    #[inline]
    pub(super) fn append(
        &mut self,
        text: &[u8],
        len: usize,
        ids: &mut Vec<u32>,
        encode: impl FnOnce(&[u8], &mut Vec<u32>),
    ) {
        match len {
            0..16 => self.short.append(text, len, ids, encode),
            16..32 => self.long.append(text, len, ids, encode),
            _ => encode(&text[..len], ids),
        }
    }
}

impl<const N: usize, const IDS: usize, const SETS: usize> Table<N, IDS, SETS> {
    fn new() -> Self {
        let empty = Slot {
            key: [0; N],
            n_ids: 0,
            ids: [0; IDS],
        };
        let sets = vec![Set([empty; WAYS]); SETS].into_boxed_slice();
        Self {
            sets: sets.try_into().ok().expect("there are as many"),
        }
    }

    #[inline]
    fn append(
        &mut self,
        text: &[u8],
        len: usize,
        ids: &mut Vec<u32>,
        encode: impl FnOnce(&[u8], &mut Vec<u32>),
    ) {
        let key = key(text, len);
        let set = &mut self.sets[hash(key) as usize % SETS];
        let before = ids.len();
        match set.find(key) {
            Some(slot) => slot.append_to(ids),
            None => {
                encode(&text[..len], ids);
                set.insert(key, &ids[before..]);
            }
        }
    }
}

impl<const N: usize, const IDS: usize> Set<N, IDS> {
    #[inline]
    fn find(&mut self, key: [u128; N]) -> Option<&Slot<N, IDS>> {
        let slots = &mut self.0;
        if slots[0].key == key {
            return Some(&slots[0]);
        }
        let at = (1..WAYS).find(|&at| slots[at].key == key)?;
        slots.swap(at - 1, at);
        Some(&slots[at - 1])
    }

    /// Keeps a word in the first place that is empty, or else in the last one, unless its ids are
    /// too many.
    fn insert(&mut self, key: [u128; N], ids: &[u32]) {
        if ids.len() > IDS {
            return;
        }
        let empty = self.0.iter().position(|slot| slot.n_ids == 0);
        let slot = &mut self.0[empty.unwrap_or(WAYS - 1)];
        slot.key = key;
        slot.n_ids = ids.len() as u16;
        for (kept, &id) in slot.ids.iter_mut().zip(ids) {
            *kept = u16::try_from(id).expect("GPT-2 has 50,257 ids");
        }
    }
}

impl<const N: usize, const IDS: usize> Slot<N, IDS> {
    #[inline]
    fn append_to(&self, ids: &mut Vec<u32>) {
        let n = usize::from(self.n_ids);
        match self.ids.first_chunk::<4>() {
            // Always four, as a copy of unknown length would have to wait for the length.
            Some(four) if n <= 4 => {
                let after = ids.len() + n;
                ids.extend_from_slice(&four.map(u32::from));
                ids.truncate(after);
            }
            _ => ids.extend(self.ids[..n].iter().copied().map(u32::from)),
        }
    }
}

/// Masks that leave the first bytes of sixteen, little endian.
const FIRST: [u128; 17] = {
    let mut masks = [0; 17];
    let mut n = 1;
    while n < 17 {
        masks[n] = (masks[n - 1] << 8) | 0xFF;
        n += 1;
    }
    masks
};

/// Returns the first `len` bytes of `text` as numbers: zeros after them, `len` in the last byte.
#[inline]
fn key<const N: usize>(text: &[u8], len: usize) -> [u128; N] {
    let mut copy = [[0; 16]; N];
    // Reading what follows the word, and masking it, is quicker than copying the word.
    let bytes = text.as_chunks().0.first_chunk::<N>().unwrap_or_else(|| {
        copy.as_flattened_mut()[..len].copy_from_slice(&text[..len]);
        &copy
    });
    let (mut key, mut rest) = ([0; N], len);
    for (number, &bytes) in key.iter_mut().zip(bytes) {
        let n = rest.min(16);
        *number = u128::from_le_bytes(bytes) & FIRST[n];
        rest -= n;
    }
    key[N - 1] |= (len as u128) << 120;
    key
}

/// Returns a hash. Words that have the same cost each other time and nothing else.
#[inline]
fn hash<const N: usize>(key: [u128; N]) -> u64 {
    let fold = |hash: u64, number: u128| {
        // Digits of π, so that no word makes a factor 0 by chance.
        let low = u128::from(number as u64 ^ 0x243F_6A88_85A3_08D3);
        let high = u128::from((number >> 64) as u64 ^ 0x1319_8A2E_0370_7344);
        let product = low * high;
        hash.rotate_left(21) ^ (product as u64) ^ ((product >> 64) as u64)
    };
    key.into_iter().fold(0, fold)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Table, WAYS, WordCache, hash, key};

    /// Returns what is appended for a word whose ids would be `new` if it were not here.
    fn append(cache: &mut WordCache, word: &[u8], new: &[u32]) -> Vec<u32> {
        let mut ids = vec![7];
        cache.append(word, word.len(), &mut ids, |given, ids| {
            assert_eq!(given, word);
            ids.extend_from_slice(new);
        });
        assert_eq!(ids.remove(0), 7);
        ids
    }

    #[test]
    fn words_keep_their_ids() {
        let mut cache = WordCache::new();
        for len in 1..40 {
            for n_ids in 1..=len {
                let word = [n_ids as u8].repeat(len);
                let ids: Vec<u32> = (0..n_ids as u32).map(|n| 50_256 - n).collect();
                assert_eq!(append(&mut cache, &word, &ids), ids);
                let most = if len < 16 { 7 } else { 15 };
                let kept = len < 32 && n_ids <= most;
                let expected = if kept { ids } else { vec![1] };
                assert_eq!(append(&mut cache, &word, &[1]), expected, "{len} {n_ids}");
            }
        }
    }

    #[test]
    fn new_words_drive_out_the_last_and_not_those_that_are_asked_for() {
        let mut cache = WordCache::new();
        let set = |word: &[u8]| hash(key::<1>(word, word.len())) as usize % (1 << 14);
        let rivals: Vec<[u8; 4]> = (0u32..)
            .map(u32::to_le_bytes)
            .filter(|word| set(word) == 0)
            .take(WAYS + 1)
            .collect();
        for word in &rivals[..WAYS] {
            append(&mut cache, word, &[1]);
        }
        let mut is_here = |word: &[u8]| append(&mut cache, word, &[2]) == [1];
        // The last one comes one place nearer to the front, and the new one takes its place.
        assert!(is_here(&rivals[WAYS - 1]));
        assert!(!is_here(&rivals[WAYS]));
        assert!(is_here(&rivals[WAYS - 1]));
        assert!(is_here(&rivals[0]));
        assert!(!is_here(&rivals[WAYS - 2]));
    }

    #[test]
    fn its_size_is_as_documented() {
        let bytes =
            |cache: &WordCache| size_of_val(&*cache.short.sets) + size_of_val(&*cache.long.sets);
        assert_eq!(bytes(&WordCache::new()), 5 << 19);
        assert_eq!(size_of_val(&Table::<1, 7, 2>::new().sets[0]), WAYS * 32);
    }

    proptest! {
        #[test]
        fn keys_are_equal_when_words_are(
            one in prop::collection::vec(0u8..2, 1..32),
            other in prop::collection::vec(0u8..2, 1..32),
            rest in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let key_of = |word: &[u8]| key::<2>(word, word.len());
            prop_assert_eq!(key_of(&one) == key_of(&other), one == other);
            prop_assert_eq!(key::<2>(&[&one[..], &rest].concat(), one.len()), key_of(&one));
            if one.len() < 16 && other.len() < 16 {
                let key_of = |word: &[u8]| key::<1>(word, word.len());
                prop_assert_eq!(key_of(&one) == key_of(&other), one == other);
            }
        }
    }
}
