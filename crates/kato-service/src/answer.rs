//! The requests and answers of the service.

pub mod asking;

use std::time::{Duration, SystemTime};

use kato_engine::node::{NodeTotals, PurgeOutcome, RetireOutcome, UnretireOutcome};
use kato_engine::session::{Observed, SequenceOutcome};
use kato_engine::{LearnOutcome, SessionConfig};
use kato_head::Explanation;
use kato_model::{EmotiveMap, Event};
use kato_prediction::Predictions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request for a new session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewSession {
    /// The id of its node.
    pub node_id: String,
    /// Data of the client's own, which comes back with the session.
    pub metadata: Map<String, Value>,
    /// Seconds that it lives without a write; 0 and `None` mean
    /// [`session_ttl`](crate::ServiceOptions::session_ttl).
    pub ttl_seconds: Option<u64>,
    /// Settings that differ from the defaults. As in KATO, one that is out of range makes all of
    /// them count as not given up to 5.x, and refuses the session from 6.x on.
    pub config: Option<Map<String, Value>>,
}

impl NewSession {
    /// Creates a request for a session with a node, with defaults for the rest.
    pub fn new(node_id: impl Into<String>) -> Self {
        Self {
            node_id: node_id.into(),
            ..Self::default()
        }
    }
}

/// A session as it is now.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionView {
    /// Its id: `session-`, 32 hexadecimal digits, `-`, milliseconds since 1970.
    pub session_id: String,
    /// Its node.
    pub node_id: String,
    /// When it was created.
    pub created_at: SystemTime,
    /// When it ends without a further write.
    pub expires_at: SystemTime,
    /// Seconds that it lives without a write.
    pub ttl_seconds: u64,
    /// Whole seconds left until it ends.
    pub remaining_seconds: u64,
    /// The metadata that it was created with.
    pub metadata: Map<String, Value>,
    /// Its settings, all of them.
    pub config: SessionConfig,
}

/// A session in a list: what an administrator needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActiveSession {
    /// Its id.
    pub session_id: String,
    /// Its node.
    pub node_id: String,
    /// When it was created.
    pub created_at: SystemTime,
    /// When an operation used it last, reads included; after a restart, when it was last written
    /// to, as its end tells.
    pub last_used_at: SystemTime,
    /// When it ends without a further write.
    pub expires_at: SystemTime,
    /// Seconds that it lives without a write.
    pub ttl_seconds: u64,
}

/// A page of the list of sessions that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPage {
    /// Those of a node, given by any of its ids; `None` for all.
    pub node_id: Option<String>,
    /// Those whose ids are greater than this one: the last of the page before; empty for the first
    /// page.
    pub after: String,
    /// Sessions at most.
    pub limit: usize,
}

/// The answer to whether a session exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionExistence {
    /// It exists and has not expired.
    pub exists: bool,
    /// It is there and has expired.
    pub expired: bool,
}

/// The outcome of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ObserveOutcome {
    /// The session's node.
    pub node_id: String,
    /// Made for this observation: `obs-` and 32 hexadecimal digits.
    pub unique_id: String,
    /// The answer of the session.
    pub observed: Observed,
}

/// The outcome of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SequenceAnswer {
    /// The session's node.
    pub node_id: String,
    /// The answer of the session; every step has a unique id, `seq-obs-` and 32 hexadecimal digits
    /// where none was given.
    pub outcome: SequenceOutcome,
}

/// The outcome of a learn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LearnAnswer {
    /// The session's node.
    pub node_id: String,
    /// The pattern, if any.
    pub outcome: LearnOutcome,
    /// Events that were learned.
    pub events: usize,
}

/// The outcome of retiring patterns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetireAnswer {
    /// The session's node.
    pub node_id: String,
    /// What became of the names.
    pub outcome: RetireOutcome,
}

/// The outcome of un-retiring patterns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnretireAnswer {
    /// The session's node.
    pub node_id: String,
    /// What became of the names.
    pub outcome: UnretireOutcome,
}

/// The outcome of purging patterns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PurgeAnswer {
    /// The session's node.
    pub node_id: String,
    /// What became of the patterns.
    pub outcome: PurgeOutcome,
}

/// The outcome of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchOutcome {
    /// The session's node.
    pub node_id: String,
    /// One for each sequence, in order.
    pub outcomes: Vec<LearnOutcome>,
}

/// The state of a session as KATO's `cognition-data` shows it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cognition {
    /// The session's node.
    pub node_id: String,
    /// Predictions with the service's default settings; none where the session's
    /// `process_predictions` is off.
    pub predictions: Predictions,
    /// The emotives that were observed last; empty if none.
    pub emotives: EmotiveMap,
    /// The short-term memory, oldest event first.
    pub short_term_memory: Vec<Event>,
    /// Observations since the session began or was cleared.
    pub time: u64,
}

/// The outcome of finalising a node's training.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalizeAnswer {
    /// The session's node.
    pub node_id: String,
    /// Patterns whose entropies were computed.
    pub patterns: usize,
    /// The time that it took.
    pub took: Duration,
}

/// A node that the service knows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeView {
    /// The name of its knowledge base.
    pub processor_id: String,
    /// The node id that came first for it.
    pub node_id: String,
    /// When it came first.
    pub created_at: SystemTime,
    /// When a session or a look-up used it last.
    pub last_accessed: SystemTime,
    /// Numbers of what it knows; `None` while it is not in memory.
    pub totals: Option<NodeTotals>,
    /// The state of its knowledge base.
    pub storage: NodeStorage,
}

/// The state of a node's knowledge base, as far as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeStorage {
    /// It is not in memory, and nothing was found damaged since it was last loaded, if it was.
    Unread,
    /// Nothing that it knows is in a store on the disk.
    Unwritten,
    /// It is served as of this commit, with what the journal has beyond it.
    Whole {
        /// The number of the commit.
        commit: u64,
        /// What was damaged when it was opened, and had a second copy; names files.
        healed: Option<String>,
    },
    /// It was found damaged, and was not loaded since: what needs what is lost of it is refused, or
    /// all where it cannot be opened.
    Damaged {
        /// What is whole, and what is lost; names no file.
        reason: String,
    },
}

/// A question what comes next in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextQuestion {
    /// Most probable symbols that are listed; 1,000 at most. Default 10.
    pub top: usize,
    /// Symbols whose probability is asked for, whether or not they are among those; 100 at most.
    pub symbols: Vec<String>,
    /// Ids of the nodes above the session's, from the bottom up; 15 at most. Their patterns count
    /// where they hold n-grams across the patterns of the nodes below.
    pub above: Vec<String>,
    /// Whether the symbols asked for are explained; without any, the most probable one.
    pub explain: bool,
    /// Patterns that explanations name for each count, those with the most occurrences; 100 at
    /// most, and at most ten symbols explained. Default 0: none, which is much faster, as naming
    /// looks at every pattern.
    pub patterns: usize,
    /// Whether the history teaches first how far to trust the experts: each of its events in turn, as
    /// in [`kato_head::Head::learn_weights`]. What the session itself has taught its node is known
    /// by heart there, and trusted too far.
    pub fit: bool,
}

impl NextQuestion {
    /// Most symbols that are listed.
    pub const MAX_TOP: usize = 1000;

    /// Most symbols that are asked for by name.
    pub const MAX_SYMBOLS: usize = 100;

    /// Most nodes above the session's.
    pub const MAX_ABOVE: usize = 15;
}

impl Default for NextQuestion {
    fn default() -> Self {
        Self {
            top: 10,
            symbols: Vec::new(),
            above: Vec::new(),
            explain: false,
            patterns: 0,
            fit: false,
        }
    }
}

/// What comes next in a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NextOutcome {
    /// Events of the history that was read.
    pub history: usize,
    /// The nodes whose patterns were counted, from the lowest up.
    pub levels: Vec<CountedNode>,
    /// What can come next: the symbols that are known, and one for all others.
    pub outcomes: usize,
    /// The most probable symbols, the most probable first.
    pub next: Vec<(String, f64)>,
    /// The probability that an unknown symbol comes: one that no pattern of the lowest level that counts holds alone
    /// in an event.
    pub other: f64,
    /// The symbols that were asked for, in the order of the question.
    pub asked: Vec<AskedSymbol>,
    /// Explanations, if they were asked for: of those of them that are known, or of the most probable symbol
    /// where none were asked for.
    pub explanations: Vec<Explanation>,
}

/// A node whose patterns were counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedNode {
    /// Its id.
    pub node_id: String,
    /// Its patterns, retired ones included.
    pub patterns: u64,
}

/// The probability of a symbol that was asked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AskedSymbol {
    /// The symbol.
    pub symbol: String,
    /// Whether a pattern of the lowest level that counts holds it alone in an event.
    pub is_known: bool,
    /// Its probability; that of all unknown symbols together, if it is one.
    pub probability: f64,
}
