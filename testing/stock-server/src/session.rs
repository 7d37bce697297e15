//! Session as KATO saves it: one object, read as a whole and written as a whole.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kato_protocol::observation::EmotiveValues;
use kato_protocol::percept::PerceptData;
use kato_protocol::session::SessionInfo;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config;
use crate::values::Generation;

/// Entries of a session's lists that are saved, the latest ones.
pub(crate) const MAX_ENTRIES: usize = 1000;

/// Session in the store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) node_id: String,
    /// Milliseconds since 1970, as all times here.
    pub(crate) created_at: u64,
    pub(crate) expires_at: u64,
    pub(crate) ttl_seconds: u64,
    pub(crate) metadata: Map<String, Value>,
    /// Settings that were made, and no others.
    pub(crate) config: Map<String, Value>,
    pub(crate) stm: Vec<Vec<String>>,
    /// Emotives and metadata for the next learn. In 2025-10 the node gathers instead.
    pub(crate) gathered: Gathered,
    pub(crate) time: u64,
    pub(crate) percept: Option<PerceptData>,
}

/// Emotives and metadata that the next learned pattern gets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Gathered {
    pub(crate) emotives: Vec<EmotiveValues>,
    pub(crate) metadata: Vec<Map<String, Value>>,
}

impl Gathered {
    /// Adds what an observation has.
    pub(crate) fn observe(&mut self, emotives: &EmotiveValues, metadata: &Map<String, Value>) {
        if !emotives.is_empty() {
            self.emotives.push(emotives.clone());
        }
        if !metadata.is_empty() {
            self.metadata.push(metadata.clone());
        }
    }
}

impl Session {
    /// Returns what is saved: the latest entries, with the time to live of a write.
    pub(crate) fn saved(mut self, now: u64) -> Self {
        keep_last(&mut self.stm);
        keep_last(&mut self.gathered.emotives);
        keep_last(&mut self.gathered.metadata);
        self.expires_at = now.saturating_add(self.ttl_seconds.saturating_mul(1000));
        self
    }

    /// Returns the session as answers show it.
    pub(crate) fn info(&self, generation: Generation, ttl_seconds: u64) -> SessionInfo {
        SessionInfo {
            session_id: self.id.clone(),
            node_id: self.node_id.clone(),
            created_at: timestamp(self.created_at),
            expires_at: timestamp(self.expires_at),
            ttl_seconds: i64::try_from(ttl_seconds).unwrap_or(i64::MAX),
            metadata: self.metadata.clone(),
            session_config: config::shown(generation, &self.config),
        }
    }

    /// Leaves what clear-stm leaves of a session.
    pub(crate) fn clear(&mut self, generation: Generation) {
        self.stm.clear();
        self.gathered = Gathered::default();
        self.percept = None;
        if generation != Generation::October2025 {
            self.time = 0;
        }
    }
}

/// Drops all but the latest entries.
fn keep_last<T>(entries: &mut Vec<T>) {
    entries.drain(..entries.len().saturating_sub(MAX_ENTRIES));
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time in ISO 8601 and UTC; the last moment of the year 9999 for any time beyond it.
fn timestamp(millis: u64) -> String {
    // Python's `datetime` ends with the year 9999, and a session may be asked to live longer.
    const LATEST: u64 = 253_402_300_799_999;
    let time = UNIX_EPOCH + Duration::from_millis(millis.min(LATEST));
    humantime::format_rfc3339_micros(time).to_string()
}
