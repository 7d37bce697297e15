//! Idempotency keys: which request a key belongs to, and what was answered.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::ServiceError;
use crate::clock::Micros;
use crate::journal::{Entry, Journal, KeyRecord, Table, key_of_key, key_of_time};

/// What a request asks, so that the same one is known again.
pub(crate) type Digest = [u8; 32];

/// Longest key, in bytes.
const MAX_LENGTH: usize = 255;

/// The digest of a method with its body.
pub(crate) fn digest(method: &str, body: &impl Serialize) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(method.as_bytes());
    hasher.update(&[0]);
    serde_json::to_writer(&mut hasher, body)
        .expect("a body is plain data, and hashing cannot fail");
    *hasher.finalize().as_bytes()
}

/// All keys of a service. A key is scoped by the node's knowledge base: a client whose session ended can repeat a request
/// from another one.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Keys of requests that are carried out right now, or wait for the journal. Without a journal: all that are known.
    known: Mutex<HashMap<Vec<u8>, Known>>,
    /// Told when a request ends.
    changed: Condvar,
}

#[derive(Debug)]
struct Known {
    digest: Digest,
    /// `None` while the request is carried out.
    done: Option<KeyRecord>,
}

/// What a key says of a request.
pub(crate) enum Claim {
    /// It is the first with this key.
    New(Claimed),
    /// It was carried out; the answer. Its record may still be on its way to the disk.
    Seen(Vec<u8>),
}

/// A key that is this request's; dropping it before [`keep`](Self::keep) gives it back.
#[derive(Debug)]
pub(crate) struct Claimed {
    shared: Arc<Shared>,
    key: Vec<u8>,
    digest: Digest,
    at: Micros,
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
        (at, retention): (Micros, Duration),
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
        let is_young = |record: &KeyRecord| at.since(record.at) < retention;
        let mut known = self.shared.lock();
        loop {
            match known.get(&stored_key) {
                Some(Known {
                    done: Some(record), ..
                }) if !is_young(record) => {
                    known.remove(&stored_key);
                }
                Some(Known { digest: first, .. }) if *first != digest => return Err(reused()),
                Some(Known {
                    done: Some(record), ..
                }) => return Ok(Claim::Seen(record.answer.clone())),
                Some(Known { done: None, .. }) => {
                    let waited = self.shared.changed.wait(known);
                    known = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        known.insert(stored_key.clone(), Known { digest, done: None });
        drop(known);
        let claimed = Claimed {
            shared: Arc::clone(&self.shared),
            key: stored_key,
            digest,
            at,
            is_kept: false,
        };
        // Only now: what leaves the map has been written before.
        let Some(journal) = journal else {
            return Ok(Claim::New(claimed));
        };
        let stored = journal.tables().get(Table::Keys, &claimed.key)?;
        let stored = stored.map(|bytes| KeyRecord::read(&bytes)).transpose()?;
        match stored.filter(is_young) {
            None => Ok(Claim::New(claimed)),
            Some(record) if record.digest == digest => Ok(Claim::Seen(record.answer)),
            Some(_) => Err(reused()),
        }
    }

    /// Forgets the keys that only memory knows and that are too old; how many.
    pub(crate) fn forget(&self, now: Micros, retention: Duration) -> usize {
        let mut known = self.shared.lock();
        let before = known.len();
        known.retain(|_, known| match &known.done {
            Some(record) => now.since(record.at) < retention,
            None => true,
        });
        before - known.len()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claimed {
    /// Keeps the key with the answer, as part of the request's journal entry where there is a journal.
    pub(crate) fn keep(mut self, answer: Vec<u8>, entry: Option<&mut Entry>) {
        self.is_kept = true;
        let record = KeyRecord {
            digest: self.digest,
            at: self.at,
            answer,
        };
        if let Some(entry) = entry {
            entry.put(Table::Keys, self.key.clone(), record.to_bytes());
            entry.put(Table::KeyTimes, key_of_time(self.at, &self.key), Vec::new());
            let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
            // From then on the journal answers.
            entry.settled = Some(Box::new(move || drop(shared.lock().remove(&key))));
        }
        let known = Known {
            digest: self.digest,
            done: Some(record),
        };
        self.shared.lock().insert(self.key.clone(), known);
        self.shared.changed.notify_all();
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.is_kept {
            self.shared.lock().remove(&self.key);
            self.shared.changed.notify_all();
        }
    }
}
