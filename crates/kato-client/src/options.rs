//! The settings of a session.

use std::time::Duration;

use serde_json::{Map, Value};

/// The settings of a client's session, used again if the session has to be created anew.
///
/// # Examples
///
/// ```
/// use kato_client::SessionOptions;
///
/// let options = SessionOptions::new("node0")
///     .with_max_pattern_length(8)
///     .with_recall_threshold(0.3);
/// assert_eq!(options.config()["max_pattern_length"], 8);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "options do nothing until a client is made with them"]
pub struct SessionOptions {
    pub(crate) node_id: String,
    pub(crate) config: Map<String, Value>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) keep_alive: Option<Duration>,
}

impl SessionOptions {
    /// Creates the settings of a session of the node `node_id`, with the server's defaults.
    pub fn new(node_id: impl Into<String>) -> Self {
        Self {
            node_id: node_id.into(),
            config: Map::new(),
            metadata: Map::new(),
            ttl: None,
            keep_alive: None,
        }
    }

    /// Returns the settings that differ from the server's defaults.
    #[must_use]
    pub const fn config(&self) -> &Map<String, Value> {
        &self.config
    }

    /// Returns the node.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.node_id
    }

    /// Sets any setting by its name on the wire. The server decides whether it accepts the value.
    pub fn with_setting(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.insert(key.into(), value.into());
        self
    }

    /// Sets the number of events after which the short-term memory is learned automatically; 0 for
    /// never.
    pub fn with_max_pattern_length(self, events: u64) -> Self {
        self.with_setting("max_pattern_length", events)
    }

    /// Sets whether an automatic learn keeps all but the oldest event (`ROLLING`) or none
    /// (`CLEAR`).
    pub fn with_rolling(self, rolling: bool) -> Self {
        self.with_setting("stm_mode", if rolling { "ROLLING" } else { "CLEAR" })
    }

    /// Sets the least similarity of a prediction, from 0 to 1.
    pub fn with_recall_threshold(self, threshold: f64) -> Self {
        self.with_setting("recall_threshold", threshold)
    }

    /// Sets the maximum number of predictions in an answer, from 1 to 10000.
    pub fn with_max_predictions(self, n: u64) -> Self {
        self.with_setting("max_predictions", n)
    }

    /// Sets the number of emotive maps that a pattern keeps, from 1 to 100.
    pub fn with_persistence(self, n: u64) -> Self {
        self.with_setting("persistence", n)
    }

    /// Sets whether to predict with every observation (3.10). Switch it off for training.
    pub fn with_process_predictions(self, on: bool) -> Self {
        self.with_setting("process_predictions", on)
    }

    /// Sets whether symbols match as a whole (3.10) or character by character.
    pub fn with_token_matching(self, on: bool) -> Self {
        self.with_setting("use_token_matching", on)
    }

    /// Adds metadata by which the session can be recognised; it comes back with the session.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the time that the session lives without a write, in whole seconds; the server's default
    /// (an hour) if not set.
    pub const fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Extends the session every so often by a background task, so that it outlives pauses longer
    /// than its TTL. Not needed for correctness: a session that expired is restored. Should be well
    /// below the TTL.
    pub const fn with_keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = Some(every);
        self
    }
}
