//! The words that a thread has met, with their ids.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::FixedState;

/// Most bytes of a word that is kept, and most ids.
const BYTES: usize = 22;
const IDS: usize = 8;
/// How many words are kept by a thread.
const WORDS: usize = 1 << 14;

/// Words of all tokenizers of a thread, each in the one place that its hash names.
struct Cache(Vec<Slot>);

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
    let hash = FixedState::with_seed(owner).hash_one(word);
    CACHE.with_borrow_mut(|Cache(slots)| {
        if slots.is_empty() {
            slots.resize(WORDS, EMPTY);
        }
        let slot = &mut slots[hash as usize % WORDS];
        if slot.owner == owner && usize::from(slot.len) == word.len() && slot.word == key {
            ids.extend_from_slice(&slot.ids[..usize::from(slot.n_ids)]);
            return Ok(());
        }
        let before = ids.len();
        encode(ids)?;
        let new = &ids[before..];
        if new.len() <= IDS {
            let mut kept = [0; IDS];
            kept[..new.len()].copy_from_slice(new);
            *slot = Slot {
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
