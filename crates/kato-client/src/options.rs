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
    pub(crate) shares_node_id: bool,
    pub(crate) config: Map<String, Value>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) keep_alive: Option<Duration>,
}

impl SessionOptions {
    /// Creates the settings of a session of the node `node_id`, with the server's defaults.
    ///
    /// ASCII letters, digits and `_` are kept by every server: [others](Self::with_shared_node_id) may be
    /// changed.
    pub fn new(node_id: impl Into<String>) -> Self {
        Self {
            node_id: node_id.into(),
            shares_node_id: false,
            config: Map::new(),
            metadata: Map::new(),
            ttl: None,
            keep_alive: None,
        }
    }

    /// Returns the settings that were given; all others are the server's defaults.
    #[must_use]
    pub const fn config(&self) -> &Map<String, Value> {
        &self.config
    }

    /// Returns the node.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.node_id
    }

    /// Sets whether the node's id may have characters of which the server makes `_`. Default: no, as all ids
    /// that become the same share a knowledge base: of `a-b` and `a.b` every KATO makes `a_b`, and from 5.x on
    /// of `a@b` and `aäb` as well.
    pub const fn with_shared_node_id(mut self, may_be_shared: bool) -> Self {
        self.shares_node_id = may_be_shared;
        self
    }

    /// Sets any setting by its name on the wire. Numbers that the server's generation does not take, and a filter
    /// that it no longer has, are refused before a session is made; of other values the server decides.
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

    /// Sets the least similarity of a prediction, from 0 to 1; for a KATO 6.x above 0.
    pub fn with_recall_threshold(self, threshold: f64) -> Self {
        self.with_setting("recall_threshold", threshold)
    }

    /// Sets the maximum number of predictions in an answer, from 1 to 10000.
    pub fn with_max_predictions(self, n: u64) -> Self {
        self.with_setting("max_predictions", n)
    }

    /// Sets KATO's `persistence`, from 1 to 100. Servers from 3.10 on take it and go by their own; on one of
    /// generation 2025-10 it is the number of emotive maps that a pattern keeps, if this session is the first
    /// to use the node.
    pub fn with_persistence(self, n: u64) -> Self {
        self.with_setting("persistence", n)
    }

    /// Sets whether to predict with every observation (3.10). Switch it off for training.
    pub fn with_process_predictions(self, on: bool) -> Self {
        self.with_setting("process_predictions", on)
    }

    /// Sets whether symbols match as a whole, the default, or character by character (3.10).
    pub fn with_token_matching(self, on: bool) -> Self {
        self.with_setting("use_token_matching", on)
    }

    /// Returns the settings of a session that teaches the same node lessons of so many events, or of any
    /// number for 0.
    pub(crate) fn for_lessons(&self, length: usize) -> Self {
        Self::new(&*self.node_id)
            .with_shared_node_id(self.shares_node_id)
            .with_max_pattern_length(length as u64)
            .with_rolling(false)
            .with_process_predictions(false)
    }

    /// Adds metadata by which the session can be recognised; it comes back with the session.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the time that the session lives without a write, in whole seconds. Not set, it is the
    /// server's, which is an hour unless the server was told otherwise.
    pub const fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Extends the session every so often by a background task, so that it outlives pauses longer
    /// than its TTL, from the first call on that observes, learns, clears or changes settings. Not needed
    /// for correctness: a session that expired is restored. Should be well below the TTL.
    pub const fn with_keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = Some(every);
        self
    }
}
