//! The words that a thread has met, with their ids.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most bytes of a word that is kept, and most ids.
const BYTES: usize = 22;
const IDS: usize = 8;
/// Places that a word may be in, those that are asked for more often in front.
const WAYS: usize = 4;
/// How many such sets a thread has: 4 MiB.
const SETS: usize = 1 << 14;

/// Words of all tokenizers of a thread, each in the set that its hash names.
struct Cache(Vec<[Slot; WAYS]>);

/// A word. It is the bytes that are compared; a hash stands for no word.
#[derive(Clone, Copy)]
struct Slot {
    /// Whose word it is; 0 is nobody.
    owner: u64,
    len: u8,
    n_ids: u8,
    word: [u8; BYTES],
    ids: [u32; IDS],
}

const EMPTY: Slot = Slot {
    owner: 0,
    len: 0,
    n_ids: 0,
    word: [0; BYTES],
    ids: [0; IDS],
};

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Cache(Vec::new())) };
}

/// Returns a number that no other tokenizer of this process has.
pub(super) fn new_owner() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Appends the ids of a word; `encode` does so when it is not known.
pub(super) fn append<E>(
    owner: u64,
    word: &str,
    ids: &mut Vec<u32>,
    encode: impl FnOnce(&mut Vec<u32>) -> Result<(), E>,
) -> Result<(), E> {
    if word.len() > BYTES {
        return encode(ids);
    }
    let mut key = [0; BYTES];
    key[..word.len()].copy_from_slice(word.as_bytes());
    let hash = hash(&key);
    CACHE.with_borrow_mut(|Cache(sets)| {
        if sets.is_empty() {
            sets.resize(SETS, [EMPTY; WAYS]);
        }
        let set = &mut sets[hash as usize % SETS];
        let is_here = |slot: &Slot| {
            slot.owner == owner && usize::from(slot.len) == word.len() && slot.word == key
        };
        if let Some(at) = set.iter().position(is_here) {
            let slot = &set[at];
            ids.extend_from_slice(&slot.ids[..usize::from(slot.n_ids)]);
            set.swap(at, at.saturating_sub(1));
            return Ok(());
        }
        let before = ids.len();
        encode(ids)?;
        let new = &ids[before..];
        if new.len() <= IDS {
            let mut kept = [0; IDS];
            kept[..new.len()].copy_from_slice(new);
            // In the first place that is empty, or else in the last one.
            let empty = set.iter().position(|slot| slot.owner == 0);
            set[empty.unwrap_or(WAYS - 1)] = Slot {
                owner,
                len: word.len() as u8,
                n_ids: new.len() as u8,
                word: key,
                ids: kept,
            };
        }
        Ok(())
    })
}

/// Returns a hash. Words that have the same cost each other a place and nothing else.
#[inline]
fn hash(key: &[u8; BYTES]) -> u64 {
    let part = |at: usize| {
        let bytes = key[at..].first_chunk().expect("the key is longer");
        u64::from_le_bytes(*bytes)
    };
    let fold = |one: u64, other: u64| {
        let product = u128::from(one) * u128::from(other);
        (product as u64) ^ ((product >> 64) as u64)
    };
    // Digits of π, so that no word makes a factor 0 by chance.
    let first = fold(
        part(0) ^ 0x243F_6A88_85A3_08D3,
        part(8) ^ 0x1319_8A2E_0370_7344,
    );
    fold(
        first ^ 0xA409_3822_299F_31D0,
        part(BYTES - 8) ^ 0x082E_FA98_EC4E_6C89,
    )
}

#[cfg(test)]
mod tests {
    use super::{BYTES, append, new_owner};

    /// Returns what is appended for a word whose ids would be `new` if it were not here.
    fn ids(owner: u64, word: &str, new: &[u32]) -> Vec<u32> {
        let mut ids = vec![7];
        append(owner, word, &mut ids, |ids| {
            ids.extend_from_slice(new);
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(ids.remove(0), 7);
        ids
    }

    #[test]
    fn words_keep_their_ids_and_no_other_tokenizer_has_them() {
        let (one, other) = (new_owner(), new_owner());
        assert_eq!(ids(one, "word", &[1, 2]), [1, 2]);
        assert_eq!(ids(one, "word", &[3]), [1, 2]);
        assert_eq!(ids(other, "word", &[3]), [3]);
        assert_eq!(ids(one, "word\0", &[4]), [4]);
        assert_eq!(ids(one, "none", &[]), [0; 0]);
        assert_eq!(ids(one, "none", &[5]), [0; 0]);
    }

    #[test]
    fn long_words_and_errors_are_not_kept() {
        let owner = new_owner();
        let long = "x".repeat(BYTES + 1);
        assert_eq!(ids(owner, &long, &[1]), [1]);
        assert_eq!(ids(owner, &long, &[2]), [2]);
        assert_eq!(ids(owner, "many", &[1; 9]), [1; 9]);
        assert_eq!(ids(owner, "many", &[2]), [2]);
        let failed = append(owner, "bad", &mut Vec::new(), |_| Err(()));
        assert_eq!(failed, Err(()));
        assert_eq!(ids(owner, "bad", &[3]), [3]);
    }
}
