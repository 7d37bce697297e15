//! The records of the journal and their keys; see `docs/file-format.md`.

use std::collections::BTreeSet;

use kato_engine::SessionConfig;
use kato_engine::node::Lesson;
use kato_engine::session::SessionState;
use kato_model::PatternName;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::ServiceError;
use crate::clock::Micros;
use crate::keys::Digest;

/// The identity of a session and its settings. JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionHeader {
    pub(crate) node_id: String,
    pub(crate) created: Micros,
    pub(crate) ttl_seconds: u64,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) config: SessionConfig,
    /// Names of the settings that the session has of its own, and not from its node.
    pub(crate) own: BTreeSet<String>,
}

/// The end of a session, 8 bytes, and its memory, JSON or nothing for a new session.
#[derive(Debug)]
pub(crate) struct StateRecord;

/// A node. JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub(crate) node_id: String,
    pub(crate) created: Micros,
    pub(crate) genes: Map<String, Value>,
}

/// The effect of one operation on the knowledge of a node. Postcard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum LessonsRecord {
    /// It taught the node these lessons.
    Taught(Vec<Lesson>),
    /// It made the node forget everything before it.
    Cleared,
    /// It took patterns back; everything before it is in the store.
    TookBack(TakenBack),
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TakenBack {
    /// These patterns were retired.
    Retired(Vec<PatternName>),
    /// They were un-retired.
    Unretired(Vec<PatternName>),
    /// They were purged.
    Purged(Vec<PatternName>),
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
    /// The part that the request, when it is repeated, does not contain.
    Packed(Vec<u8>),
    /// The error of a request that failed behind something that it has taught, Postcard.
    Refused(Vec<u8>),
}

/// The record of an idempotency key as format version 1 has it, with a longer digest. Postcard.
#[derive(Debug, Deserialize)]
struct OldKeyRecord {
    digest: [u8; 32],
    until: Micros,
    answer: Vec<u8>,
}

impl StateRecord {
    /// Writes a record.
    pub(crate) fn encode(expires: Micros, state: Option<&SessionState>) -> Vec<u8> {
        let mut record = expires.0.to_be_bytes().to_vec();
        if let Some(state) = state {
            serde_json::to_writer(&mut record, state).expect("a state is plain data");
        }
        record
    }

    /// Writes a record of the same memory with another end.
    pub(crate) fn with_expiry(expires: Micros, record: Option<&[u8]>) -> Vec<u8> {
        let mut changed = expires.0.to_be_bytes().to_vec();
        changed.extend_from_slice(
            record
                .and_then(|record| record.get(8..))
                .unwrap_or_default(),
        );
        changed
    }

    /// Reads when the session expires.
    pub(crate) fn expiry(record: &[u8]) -> Option<Micros> {
        let bytes = record.get(..8)?.try_into().ok()?;
        Some(Micros(u64::from_be_bytes(bytes)))
    }

    /// Reads the memory.
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

impl TakenBack {
    /// Returns whether there was nothing to be taken back.
    pub(crate) const fn is_empty(&self) -> bool {
        let (Self::Retired(names) | Self::Unretired(names) | Self::Purged(names)) = self;
        names.is_empty()
    }
}

impl LessonsRecord {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        to_postcard(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ServiceError> {
        from_postcard("read what a node was taught", bytes)
    }

    /// Returns whether these are the bytes of [`Cleared`](Self::Cleared).
    pub(crate) fn is_cleared(bytes: &[u8]) -> bool {
        // Postcard writes a variant without fields as its number, so lessons need not be read for
        // this.
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
        // Keys of version 1 end in a visible character, so the last byte tells the form of the
        // record.
        if key.last() == Some(&END_OF_KEY) {
            return from_postcard(ACTION, bytes);
        }
        let OldKeyRecord {
            digest,
            until,
            answer,
        } = from_postcard(ACTION, bytes)?;
        // The first bytes of a longer BLAKE3 digest are the shorter one, so repetitions are known
        // across versions.
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
    /// Keeps all of an answer.
    pub(crate) fn whole<T: Serialize>(value: &T) -> Self {
        Self::Whole(to_postcard(value))
    }

    /// Keeps what the request does not contain of its answer.
    pub(crate) fn packed<T: Serialize>(value: &T) -> Self {
        Self::Packed(to_postcard(value))
    }

    /// Keeps an error.
    pub(crate) fn refused<T: Serialize>(error: &T) -> Self {
        Self::Refused(to_postcard(error))
    }

    /// Returns the bytes of the answer.
    pub(crate) fn bytes(&self) -> &[u8] {
        let (Self::Whole(bytes) | Self::Packed(bytes) | Self::Refused(bytes)) = self;
        bytes
    }

    /// Reads the value that was made into the bytes of an answer.
    pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ServiceError> {
        from_postcard("read the answer to an idempotency key", bytes)
    }
}

/// Makes the key of a node's lessons: length of the processor id, the processor id, the sequence
/// number. Without a number it is the beginning of all keys of the node.
pub(crate) fn key_of_lessons(processor_id: &str, sequence: Option<u64>) -> Vec<u8> {
    let mut key = scoped(processor_id);
    if let Some(sequence) = sequence {
        // Big-endian: the order of keys is that of the numbers.
        key.extend_from_slice(&sequence.to_be_bytes());
    }
    key
}

/// Returns the sequence number in the key of lessons.
pub(crate) fn sequence_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The end of the key of an idempotency key, which has visible characters alone; those of format
/// version 1 have no end.
const END_OF_KEY: u8 = 0;

/// Makes the key of an idempotency key: length of the processor id, the processor id, the key, its
/// end.
pub(crate) fn key_of_key(processor_id: &str, key: &str) -> Vec<u8> {
    let mut scoped = old_key_of_key(processor_id, key);
    scoped.push(END_OF_KEY);
    scoped
}

/// Makes the key of an idempotency key as format version 1 has it.
pub(crate) fn old_key_of_key(processor_id: &str, key: &str) -> Vec<u8> {
    let mut scoped = scoped(processor_id);
    scoped.extend_from_slice(key.as_bytes());
    scoped
}

/// Makes the key of the time at which an idempotency key is forgotten: the time, then the key's
/// own. Keys are in the order of their times.
pub(crate) fn key_of_time(until: Micros, key: &[u8]) -> Vec<u8> {
    [&until.0.to_be_bytes(), key].concat()
}

/// Returns the parts of the key of a time.
pub(crate) fn time_of(key: &[u8]) -> Option<(Micros, &[u8])> {
    let (time, key) = key.split_first_chunk()?;
    Some((Micros(u64::from_be_bytes(*time)), key))
}

/// Makes the beginning of the keys of a processor id, with which no key of another one begins.
fn scoped(processor_id: &str) -> Vec<u8> {
    // Only the operator's own service name can make a processor id that long: one of 64 KiB would
    // make keys ambiguous and nothing worse.
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
