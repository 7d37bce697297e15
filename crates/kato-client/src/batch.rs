//! Learning many sequences with few requests.

mod execute;
mod plan;

use std::sync::Arc;

use kato_model::PatternName;

pub(crate) use execute::{check_names, execute_plan, observations};
pub use plan::{BatchMode, BatchPlan, PlannedRequest};
pub(crate) use plan::{is_plain, name_of, normalized};

use crate::calls::Calls;
use crate::session::Session;
use crate::transport::Transport;
use crate::{KatoGeneration, SessionOptions};

/// The result of [`KatoClient::learn_all`](crate::KatoClient::learn_all).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LearnReport {
    /// The bare name of every item's pattern, in order; `None` for items of fewer than two
    /// symbols, which teach nothing.
    pub names: Vec<Option<PatternName>>,
    /// Number of patterns that were new to the node; `None` if the server does not tell.
    pub new_patterns: Option<u64>,
    /// The requests that the client made meanwhile.
    pub calls: Calls,
}

/// Sessions that only batches use.
#[derive(Debug)]
pub(crate) struct BatchSessions {
    pub(crate) chunk_size: Option<usize>,
    /// A session that learns on its own whenever a chunk is complete.
    runs: Arc<Session>,
    /// A session that learns when told to.
    manual: Arc<Session>,
    /// Whether emotives and metadata outlive a learn on this server.
    outlive: bool,
    /// Whether a learn is a request of its own: at the end of a sequence this server passes over its
    /// failure in silence.
    learns_apart: bool,
    /// Whether emotives or metadata of the last item are still in the manual session.
    has_leftover_attributes: bool,
}

impl BatchSessions {
    /// Creates the sessions of batches for the node of another session; each is made on the server when it is first
    /// used.
    pub(crate) fn new(
        transport: &Transport,
        options: &SessionOptions,
        chunk_size: Option<usize>,
        generation: KatoGeneration,
    ) -> Self {
        let session = |length| Session::new(transport.clone(), options.for_lessons(length));
        Self {
            chunk_size,
            runs: session(chunk_size.unwrap_or(0)),
            manual: session(0),
            outlive: generation.keeps_sessions_apart(),
            learns_apart: generation.can_retire(),
            has_leftover_attributes: false,
        }
    }

    /// Leaves both sessions behind.
    pub(crate) async fn start_over(&self) {
        self.runs.start_over().await;
        self.manual.start_over().await;
    }

    /// Returns both sessions.
    pub(crate) fn into_sessions(self) -> [Arc<Session>; 2] {
        [self.runs, self.manual]
    }
}
