//! Idempotency keys: which request a key belongs to, and what was answered.

use std::collections::{HashMap, VecDeque};
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

/// Keys that a service without a journal knows at most; the latest ones.
const MAX_IN_MEMORY: usize = 100_000;

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
    /// Keys of requests that are carried out right now, or wait for the journal. Without a journal:
    /// all that are known.
    by_key: HashMap<Vec<u8>, Known>,
    /// Without a journal: the keys that are done, in the order in which they were done, and when
    /// each is forgotten.
    in_memory: VecDeque<(Micros, Vec<u8>)>,
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

/// A key that belongs to a request; dropping it before [`keep`](Self::keep) gives it back.
#[derive(Debug)]
pub(crate) struct Claimed {
    shared: Arc<Shared>,
    key: Vec<u8>,
    digest: Digest,
    /// When it is forgotten.
    until: Micros,
    is_kept: bool,
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
        if key.is_empty()
            || key.len() > MAX_LENGTH
            || !key.bytes().all(|byte| byte.is_ascii_graphic())
        {
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
            is_kept: false,
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
        let is_old = |(until, _): &mut (Micros, Vec<u8>)| *until <= now;
        let mut n_forgotten = 0;
        while let Some(oldest) = known.in_memory.pop_front_if(is_old) {
            n_forgotten += usize::from(known.forget(oldest));
        }
        n_forgotten
    }
}

/// Reads the record of a key.
fn read(journal: &Journal, key: &[u8]) -> Result<Option<KeyRecord>, ServiceError> {
    let stored = journal.tables().get(Table::Keys, key)?;
    stored.map(|bytes| KeyRecord::read(key, &bytes)).transpose()
}

impl AllKnown {
    /// Keeps a key in memory alone, in place of the oldest if there are too many.
    fn keep(&mut self, until: Micros, key: Vec<u8>) {
        self.in_memory.push_back((until, key));
        if self.in_memory.len() > MAX_IN_MEMORY
            && let Some(oldest) = self.in_memory.pop_front()
        {
            self.forget(oldest);
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
    /// journal.
    pub(crate) fn keep(mut self, answer: StoredAnswer, entry: Option<&mut Entry>) {
        self.is_kept = true;
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
            entry.on_written = Some(Box::new(move || drop(shared.lock().by_key.remove(&key))));
        }
        // Also with a journal: until its record is written, the answer is found here.
        let known = Known {
            digest: self.digest,
            done: Some(record),
        };
        let mut all = self.shared.lock();
        all.by_key.insert(self.key.clone(), known);
        if !is_journaled {
            all.keep(self.until, self.key.clone());
        }
        drop(all);
        self.shared.changed.notify_all();
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.is_kept {
            // The request has failed: whoever waits with the same key is now the first.
            self.shared.lock().by_key.remove(&self.key);
            self.shared.changed.notify_all();
        }
    }
}
