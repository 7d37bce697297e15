//! The records of the journal and their keys; see `docs/file-format.md`.

use std::collections::BTreeSet;

use kato_engine::{Lesson, SessionConfig, SessionState};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::ServiceError;
use crate::clock::Micros;
use crate::keys::Digest;

/// Who a session is, and its settings. JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHeader {
    pub(crate) node_id: String,
    pub(crate) created: Micros,
    pub(crate) ttl_seconds: u64,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) config: SessionConfig,
    /// Settings that the session has of its own, and not from its node.
    pub(crate) own: BTreeSet<String>,
}

/// When a session expires, 8 bytes, and what it remembers, JSON or nothing for a new session.
#[derive(Debug)]
pub(crate) struct StateRecord;

/// A node. JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub(crate) node_id: String,
    pub(crate) created: Micros,
    pub(crate) genes: Map<String, Value>,
}

/// What one operation did to a node's knowledge. Postcard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum LessonsRecord {
    /// It taught these.
    Taught(Vec<Lesson>),
    /// It made the node forget everything before.
    Cleared,
}

/// A request that was carried out under an idempotency key. Postcard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyRecord {
    pub(crate) digest: Digest,
    /// When the key is forgotten.
    pub(crate) until: Micros,
    pub(crate) answer: StoredAnswer,
}

/// The first answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum StoredAnswer {
    /// All of it, Postcard.
    Whole(Vec<u8>),
    /// What the request, when it is repeated, does not tell.
    Packed(Vec<u8>),
}

/// The record of an idempotency key as format version 1 has it, with a longer digest. Postcard.
#[derive(Debug, Deserialize)]
struct OldKeyRecord {
    digest: [u8; 32],
    until: Micros,
    answer: Vec<u8>,
}

impl StateRecord {
    pub(crate) fn of(expires: Micros, state: Option<&SessionState>) -> Vec<u8> {
        let mut record = expires.0.to_be_bytes().to_vec();
        if let Some(state) = state {
            serde_json::to_writer(&mut record, state).expect("a state is plain data");
        }
        record
    }

    /// The same memory with another end.
    pub(crate) fn with_expiry(expires: Micros, record: Option<&[u8]>) -> Vec<u8> {
        let mut changed = expires.0.to_be_bytes().to_vec();
        changed.extend_from_slice(
            record
                .and_then(|record| record.get(8..))
                .unwrap_or_default(),
        );
        changed
    }

    pub(crate) fn expiry(record: &[u8]) -> Option<Micros> {
        let bytes = record.get(..8)?.try_into().ok()?;
        Some(Micros(u64::from_be_bytes(bytes)))
    }

    pub(crate) fn state(record: &[u8]) -> Result<SessionState, ServiceError> {
        match record.get(8..) {
            None | Some([]) => Ok(SessionState::default()),
            Some(json) => from_json("read a session's memory", json),
        }
    }
}

impl SessionHeader {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        to_json(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ServiceError> {
        from_json("read a session", bytes)
    }
}

impl NodeRecord {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        to_json(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ServiceError> {
        from_json("read a node", bytes)
    }
}

impl LessonsRecord {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        to_postcard(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ServiceError> {
        from_postcard("read what a node was taught", bytes)
    }

    /// Whether these are the bytes of [`Cleared`](Self::Cleared).
    pub(crate) fn is_cleared(bytes: &[u8]) -> bool {
        // The number of the variant.
        bytes == [1]
    }
}

impl KeyRecord {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        to_postcard(self)
    }

    /// Reads the record under a key of [`key_of_key`] or [`old_key_of_key`].
    pub(crate) fn read(key: &[u8], bytes: &[u8]) -> Result<Self, ServiceError> {
        const ACTION: &str = "read an idempotency key";
        if key.last() == Some(&END_OF_KEY) {
            return from_postcard(ACTION, bytes);
        }
        let OldKeyRecord {
            digest,
            until,
            answer,
        } = from_postcard(ACTION, bytes)?;
        // The first bytes of a longer BLAKE3 digest are the shorter one.
        let (digest, _) = digest
            .split_first_chunk()
            .ok_or_else(|| ServiceError::corrupt(ACTION, "its digest"))?;
        Ok(Self {
            digest: *digest,
            until,
            answer: StoredAnswer::Whole(answer),
        })
    }
}

impl StoredAnswer {
    pub(crate) fn whole<T: Serialize>(value: &T) -> Self {
        Self::Whole(to_postcard(value))
    }

    pub(crate) fn packed<T: Serialize>(value: &T) -> Self {
        Self::Packed(to_postcard(value))
    }

    /// The value that was made into the answer's bytes.
    pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ServiceError> {
        from_postcard("read the answer to an idempotency key", bytes)
    }
}

/// Key of a node's lessons: length of the processor id, the processor id, the sequence number.
pub(crate) fn key_of_lessons(processor_id: &str, sequence: Option<u64>) -> Vec<u8> {
    let mut key = scoped(processor_id);
    if let Some(sequence) = sequence {
        key.extend_from_slice(&sequence.to_be_bytes());
    }
    key
}

/// The sequence number in the key of lessons.
pub(crate) fn sequence_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// Ends the key of an idempotency key, which has visible characters alone; those of format version 1 have no end.
const END_OF_KEY: u8 = 0;

/// Key of an idempotency key: length of the processor id, the processor id, the key, its end.
pub(crate) fn key_of_key(processor_id: &str, key: &str) -> Vec<u8> {
    let mut scoped = old_key_of_key(processor_id, key);
    scoped.push(END_OF_KEY);
    scoped
}

/// [`key_of_key`] as format version 1 has it.
pub(crate) fn old_key_of_key(processor_id: &str, key: &str) -> Vec<u8> {
    let mut scoped = scoped(processor_id);
    scoped.extend_from_slice(key.as_bytes());
    scoped
}

/// Key of the time at which an idempotency key is forgotten: the time, then the key's own.
pub(crate) fn key_of_time(until: Micros, key: &[u8]) -> Vec<u8> {
    [&until.0.to_be_bytes(), key].concat()
}

/// The parts of [`key_of_time`].
pub(crate) fn time_of(key: &[u8]) -> Option<(Micros, &[u8])> {
    let (time, key) = key.split_first_chunk()?;
    Some((Micros(u64::from_be_bytes(*time)), key))
}

/// No processor id's records begin with another's whole scope.
fn scoped(processor_id: &str) -> Vec<u8> {
    // Service names are the operator's; one of 64 KiB would make keys ambiguous and nothing worse.
    let length = u16::try_from(processor_id.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes(), processor_id.as_bytes()].concat()
}

fn to_json<T: Serialize>(record: &T) -> Vec<u8> {
    serde_json::to_vec(record).expect("records are plain data with text keys")
}

fn from_json<T: DeserializeOwned>(action: &'static str, bytes: &[u8]) -> Result<T, ServiceError> {
    serde_json::from_slice(bytes).map_err(|error| ServiceError::corrupt(action, error))
}

fn to_postcard<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_stdvec(record).expect("records are plain data of known length")
}

fn from_postcard<T: DeserializeOwned>(
    action: &'static str,
    bytes: &[u8],
) -> Result<T, ServiceError> {
    postcard::from_bytes(bytes).map_err(|error| ServiceError::corrupt(action, error))
}
