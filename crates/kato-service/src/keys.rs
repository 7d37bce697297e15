//! Idempotency keys: which request a key belongs to, and what was answered.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::ServiceError;
use crate::clock::Micros;
use crate::journal::{
    Entry, Journal, KeyRecord, StoredAnswer, Table, key_of_key, key_of_time, old_key_of_key,
};

/// A digest of what a request asks, by which its repetition is known.
///
/// 128 bits: a digest is compared only with that of the request that had the same key before. Two
/// different requests with one digest are met by chance once in 2¹²⁸ such pairs; whoever searches
/// for them, in 2⁶⁴ steps, gets their own first answer.
pub(crate) type Digest = [u8; 16];

/// Longest key, in bytes.
const MAX_LENGTH: usize = 255;

/// Keys that a service without a journal knows at most; those that it would forget last.
const MAX_IN_MEMORY: usize = 100_000;

/// Times of keys that are written together when they are restored.
const RESTORED_AT_ONCE: usize = if cfg!(test) { 2 } else { 10_000 };

/// Computes the digest of a method with its body.
pub(crate) fn digest(method: &str, body: &impl Serialize) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(method.as_bytes());
    // No method contains a zero byte: where it ends and the body begins is beyond doubt.
    hasher.update(&[0]);
    serde_json::to_writer(&mut hasher, body)
        .expect("a body is plain data, and hashing cannot fail");
    let mut digest = Digest::default();
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Returns whether a text may be a key.
fn is_valid(key: &str) -> bool {
    !key.is_empty() && key.len() <= MAX_LENGTH && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// All keys of a service. A key is scoped by the node's knowledge base: a client whose session
/// ended can repeat a request from another one.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<AllKnown>,
    /// Notified when a request ends.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct AllKnown {
    /// Keys of requests that are carried out right now, or wait for the journal. Without a
    /// journal: all that are known.
    by_key: HashMap<Vec<u8>, Known>,
    /// Without a journal: the keys that are done, in the order in which they are forgotten, and
    /// when each is.
    in_memory: BTreeSet<(Micros, Vec<u8>)>,
}

#[derive(Debug)]
struct Known {
    digest: Digest,
    /// `None` while the request is carried out.
    done: Option<KeyRecord>,
}

/// The result of claiming a key for a request.
pub(crate) enum Claim {
    /// The request is the first with this key.
    New(Claimed),
    /// The request was carried out; the answer. Its record may still be on its way to the disk.
    Seen(StoredAnswer),
}

/// A key that belongs to a request; dropping it before its answer is [published](Kept::publish)
/// gives it back.
#[derive(Debug)]
pub(crate) struct Claimed {
    shared: Arc<Shared>,
    key: Vec<u8>,
    digest: Digest,
    /// When it is forgotten.
    until: Micros,
    is_published: bool,
}

/// A key whose request was carried out.
#[derive(Debug)]
#[must_use = "repetitions wait until the answer is published"]
pub(crate) struct Kept {
    claimed: Claimed,
    record: KeyRecord,
    is_journaled: bool,
}

impl Keys {
    /// Claims a key for a request; waits for an earlier request with the same key to end.
    pub(crate) fn claim(
        &self,
        journal: Option<&Journal>,
        scope: &str,
        key: &str,
        digest: Digest,
        (now, retention): (Micros, Duration),
    ) -> Result<Claim, ServiceError> {
        if !is_valid(key) {
            return Err(ServiceError::KeyInvalid);
        }
        let reused = || ServiceError::KeyReused {
            key: key.to_owned(),
        };
        let stored_key = key_of_key(scope, key);
        let is_young = |record: &KeyRecord| now < record.until;
        let mut known = self.shared.lock();
        loop {
            match known.by_key.get(&stored_key) {
                Some(Known {
                    done: Some(record), ..
                }) if !is_young(record) => {
                    // Its time is over, and nobody has removed it yet.
                    known.by_key.remove(&stored_key);
                }
                Some(Known { digest: first, .. }) if *first != digest => return Err(reused()),
                Some(Known {
                    done: Some(record), ..
                }) => return Ok(Claim::Seen(record.answer.clone())),
                // The first request decides: if it succeeds, this one gets its answer; if it fails,
                // this one is carried out.
                Some(Known { done: None, .. }) => {
                    let waited = self.shared.changed.wait(known);
                    known = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        known
            .by_key
            .insert(stored_key.clone(), Known { digest, done: None });
        drop(known);
        let claimed = Claimed {
            shared: Arc::clone(&self.shared),
            key: stored_key,
            digest,
            until: now.plus(retention),
            is_published: false,
        };
        // Read only now that the key is in the map: a key leaves the map when its record is
        // written, so one of the two has it.
        let Some(journal) = journal else {
            return Ok(Claim::New(claimed));
        };
        let mut stored = read(journal, &claimed.key)?;
        // Format version 1 has another form of key; its records hold until they are forgotten.
        if stored.is_none() {
            stored = read(journal, &old_key_of_key(scope, key))?;
        }
        // Where the claim is not returned it is dropped, which gives the key back and wakes who
        // waits for it.
        match stored.filter(is_young) {
            None => Ok(Claim::New(claimed)),
            Some(record) if record.digest == digest => Ok(Claim::Seen(record.answer)),
            Some(_) => Err(reused()),
        }
    }

    /// Forgets keys that only memory knows and that are too old; returns how many.
    pub(crate) fn forget(&self, now: Micros) -> usize {
        let mut known = self.shared.lock();
        let mut n_forgotten = 0;
        while known
            .in_memory
            .first()
            .is_some_and(|(until, _)| *until <= now)
            && let Some(first) = known.in_memory.pop_first()
        {
            n_forgotten += usize::from(known.forget(first));
        }
        n_forgotten
    }
}

/// Adds the times of the keys that have none, so that they are forgotten in time.
pub(crate) fn restore_times(journal: &Journal) -> Result<(), ServiceError> {
    let tables = journal.tables();
    let mut entry = Entry::default();
    for row in tables.prefix(Table::Keys, &[]) {
        let (key, value) = row?;
        let until = KeyRecord::read(&key, &value)?.until;
        let time_key = key_of_time(until, &key);
        if tables.get(Table::KeyTimes, &time_key)?.is_none() {
            entry.put(Table::KeyTimes, time_key, Vec::new());
        }
        // In parts, so that memory is bounded: there is one for each key, whatever has one before.
        if entry.changes.len() >= RESTORED_AT_ONCE {
            journal.append_and_wait(std::mem::take(&mut entry))?;
        }
    }
    journal.append_and_wait(entry)
}

/// Reads the record of a key.
fn read(journal: &Journal, key: &[u8]) -> Result<Option<KeyRecord>, ServiceError> {
    let stored = journal.tables().get(Table::Keys, key)?;
    stored.map(|bytes| KeyRecord::read(key, &bytes)).transpose()
}

impl AllKnown {
    /// Keeps a key in memory alone, in place of the one that is forgotten next if there are too
    /// many.
    fn keep(&mut self, until: Micros, key: Vec<u8>) {
        self.in_memory.insert((until, key));
        if self.in_memory.len() > MAX_IN_MEMORY
            && let Some(next) = self.in_memory.pop_first()
        {
            self.forget(next);
        }
    }

    /// Forgets a key, unless it was used anew since then; returns whether it did.
    fn forget(&mut self, (until, key): (Micros, Vec<u8>)) -> bool {
        let known = self.by_key.get(&key).and_then(|known| known.done.as_ref());
        let is_same = known.is_some_and(|record| record.until == until);
        if is_same {
            self.by_key.remove(&key);
        }
        is_same
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, AllKnown> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claimed {
    /// Keeps the key with the answer, as part of the request's journal entry where there is a
    /// journal. Repetitions get the answer once it is [published](Kept::publish).
    pub(crate) fn keep(self, answer: StoredAnswer, entry: Option<&mut Entry>) -> Kept {
        let record = KeyRecord {
            digest: self.digest,
            until: self.until,
            answer,
        };
        let is_journaled = entry.is_some();
        if let Some(entry) = entry {
            entry.put(Table::Keys, self.key.clone(), record.to_bytes());
            entry.put(
                Table::KeyTimes,
                key_of_time(self.until, &self.key),
                Vec::new(),
            );
            let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
            // Called once the record is written: from then on the journal answers for the key.
            entry.on_written = Some(Box::new(move || {
                shared.lock().by_key.remove(&key);
                shared.changed.notify_all();
            }));
        }
        Kept {
            claimed: self,
            record,
            is_journaled,
        }
    }
}

impl Kept {
    /// Lets repetitions of the request have its answer. To be called when the request's entry is in
    /// the journal's queue: what a repetition waits for must come behind it.
    pub(crate) fn publish(self) {
        let Self {
            mut claimed,
            record,
            is_journaled,
        } = self;
        claimed.is_published = true;
        let until = record.until;
        let mut all = claimed.shared.lock();
        // Also with a journal: until its record is written, the answer is found here. Once it is,
        // the key has gone from here, or belongs to a repetition that reads the journal.
        if let Some(known) = all.by_key.get_mut(&claimed.key)
            && known.done.is_none()
            && known.digest == record.digest
        {
            known.done = Some(record);
        }
        if !is_journaled {
            all.keep(until, claimed.key.clone());
        }
        drop(all);
        claimed.shared.changed.notify_all();
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.is_published {
            // The request has failed: whoever waits with the same key is now the first.
            self.shared.lock().by_key.remove(&self.key);
            self.shared.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn keys_in_memory_are_forgotten_by_their_own_time_and_not_behind_older_ones() {
        let keys = Keys::default();
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        for (key, retention) in [("batch", minutes(60)), ("learn", minutes(15))] {
            let times = (Micros(0), retention);
            match keys.claim(None, "n_kato", key, Digest::default(), times) {
                Ok(Claim::New(claimed)) => claimed.keep(StoredAnswer::whole(&()), None).publish(),
                _ => panic!("{key} is not known"),
            }
        }
        let after = |duration| Micros(0).plus(duration);
        assert_eq!(keys.forget(after(minutes(16))), 1);
        assert_eq!(keys.shared.lock().by_key.len(), 1);
        assert_eq!(keys.forget(after(minutes(61))), 1);
    }

    #[test]
    fn a_repetition_gets_the_answer_only_when_it_is_published() {
        let keys = Keys::default();
        let claim = || {
            let times = (Micros(0), Duration::from_secs(60));
            keys.claim(None, "n_kato", "key", Digest::default(), times)
        };
        let Ok(Claim::New(claimed)) = claim() else {
            panic!("the key is not known");
        };
        let kept = claimed.keep(StoredAnswer::whole(&()), Some(&mut Entry::default()));
        // Whoever comes now finds the key without an answer, and waits.
        assert!(
            keys.shared
                .lock()
                .by_key
                .values()
                .all(|known| known.done.is_none())
        );
        let is_published = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let repetition = scope.spawn(|| {
                let seen = matches!(claim(), Ok(Claim::Seen(_)));
                seen && is_published.load(Ordering::SeqCst)
            });
            is_published.store(true, Ordering::SeqCst);
            kept.publish();
            assert!(repetition.join().unwrap());
        });
    }

    #[test]
    fn a_key_whose_answer_is_not_published_is_given_back() {
        let keys = Keys::default();
        let claim = || {
            let times = (Micros(0), Duration::from_secs(60));
            keys.claim(None, "n_kato", "key", Digest::default(), times)
        };
        let Ok(Claim::New(claimed)) = claim() else {
            panic!("the key is not known");
        };
        drop(claimed.keep(StoredAnswer::whole(&()), None));
        assert!(matches!(claim(), Ok(Claim::New(_))));
    }
}
