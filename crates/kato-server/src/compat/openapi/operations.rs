//! Names, parameters, answers and refusals of all operations.

use axum::http::Method;
use kato_protocol::extension::{
    AskBatchRequest, BackupMade, BatchAnswer, Extensions, LearnBatchRequest, LearnBatchResult,
    NextAnswer, ReplaceRunRecord, RunRecord, RunRecordReplaced, SessionList,
};
use kato_protocol::monitoring::{
    CacheInvalidated, CacheStats, Concurrency, ConnectionPools, DistributedStm, Health,
    MetricHistory, Metrics, Stats, Status,
};
use kato_protocol::node::{NodeAffinities, NodeSymbols, PatternAnswer, SymbolAffinity};
use kato_protocol::observation::{LearnResult, Observation, ObservationResult, Stm};
use kato_protocol::percept::{Gene, GenesUpdated, PerceptAnswer, SessionCognition};
use kato_protocol::prediction::{FuturePotential, PredictionsAnswer};
use kato_protocol::retirement::{
    PatternCount, PatternIds, PurgeRequest, Purged, Retired, Unretired,
};
use kato_protocol::sequence::{Sequence, SequenceResult};
use kato_protocol::session::{
    Cleared, ConfigAnswer, ConfigUpdated, CreateSession, Deleted, Exists, Extended,
    FinalizedTraining, Root, SessionCount, SessionInfo,
};
use serde_json::{Map, Value};

use super::schemas::{ConfigChange, GenesUpdate, SchemaOf, of};
use crate::compat::validate::MAX_TTL_SECONDS;

/// One operation of the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) summary: &'static str,
    pub(super) body: Option<SchemaOf>,
    /// Parameters of the query, with their types.
    pub(super) query: &'static [(&'static str, Kind)],
    pub(super) answer: SchemaOf,
    pub(super) form: Form,
    pub(super) takes_key: bool,
    /// Whether it may learn a pattern.
    pub(super) teaches: bool,
    /// The status of an answer that is no refusal.
    pub(super) status: &'static str,
    /// Statuses of refusals, beside those that all operations of its shape have.
    pub(super) refusals: &'static [&'static str],
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Text,
    /// JSON, or text for those who ask an extended server for it.
    JsonOrText,
    /// Lines of JSON, of which the answer is one.
    Lines,
}

/// The type of a parameter of the query.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// A text that may be there as often as this.
    Texts(u32),
    Integer,
    /// An integer of at most this.
    AtMost(i64),
    /// An integer from 0 to this.
    UpTo(i64),
    Flag,
}

const NODE: &[(&str, Kind)] = &[("node_id", Kind::Text)];
const MINUTES: &[(&str, Kind)] = &[("minutes", Kind::Integer)];

/// Creates an operation without parameters.
const fn op(summary: &'static str, answer: SchemaOf) -> Operation {
    Operation {
        summary,
        body: None,
        query: &[],
        answer,
        form: Form::Json,
        takes_key: false,
        teaches: false,
        status: "200",
        refusals: &[],
    }
}

impl Operation {
    /// Sets the schema of the body.
    const fn body(self, schema: SchemaOf) -> Self {
        Self {
            body: Some(schema),
            ..self
        }
    }

    /// Sets the parameters of the query.
    const fn query(self, query: &'static [(&'static str, Kind)]) -> Self {
        Self { query, ..self }
    }

    /// Marks an operation that takes an idempotency key.
    const fn keyed(self) -> Self {
        Self {
            takes_key: true,
            ..self
        }
    }

    /// Marks an operation that may learn a pattern, and takes an idempotency key.
    const fn teaches(self) -> Self {
        Self {
            teaches: true,
            ..self.keyed()
        }
    }

    /// Adds statuses of refusals.
    const fn refuses(self, refusals: &'static [&'static str]) -> Self {
        Self { refusals, ..self }
    }

    /// Marks an operation that creates something and says so by its status.
    const fn creates(self) -> Self {
        Self {
            status: "201",
            ..self
        }
    }

    /// Marks an operation whose answer is plain text.
    const fn text(self) -> Self {
        Self {
            form: Form::Text,
            ..self
        }
    }

    /// Marks an operation whose answer has a line for each question.
    const fn lines(self) -> Self {
        Self {
            form: Form::Lines,
            ..self
        }
    }

    /// Marks an operation whose answer is plain text for those who ask for it.
    const fn also_text(self) -> Self {
        Self {
            form: Form::JsonOrText,
            ..self
        }
    }
}

/// Returns the description of a route's operation.
pub(super) fn for_route(method: &Method, template: &str) -> Operation {
    let method = method.as_str();
    of_session(method, template)
        .or_else(|| of_lesson(method, template))
        .or_else(|| of_retirement(method, template))
        .or_else(|| of_question(method, template))
        .or_else(|| of_node(method, template))
        .or_else(|| of_server(method, template))
        // Cannot be reached by a route: a test checks that every route has a summary.
        .unwrap_or_else(|| op("", of::<()>))
}

/// Returns the description of an operation that makes, changes or ends a session.
fn of_session(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("POST", "/sessions") => op("Make a session", of::<SessionInfo>).body(of::<CreateSession>),
        ("GET", "/sessions/count") => op("Number of sessions", of::<SessionCount>),
        ("GET", "/sessions/{session_id}") => op("A session", of::<SessionInfo>),
        ("DELETE", "/sessions/{session_id}") => op("Delete a session", of::<Deleted>),
        ("GET", "/sessions/{session_id}/exists") => op(
            "Whether a session exists; does not prolong it",
            of::<Exists>,
        ),
        ("GET", "/sessions/{session_id}/config") => op("Settings in effect", of::<ConfigAnswer>),
        ("POST", "/sessions/{session_id}/config") => {
            op("Change settings", of::<ConfigUpdated>).body(of::<ConfigChange>)
        }
        ("POST", "/sessions/{session_id}/extend") => op("Prolong a session", of::<Extended>)
            .query(&[("ttl_seconds", Kind::AtMost(MAX_TTL_SECONDS))])
            .refuses(&["413"]),
        _ => return None,
    })
}

/// Returns the description of an operation that observes, learns or forgets in a session.
fn of_lesson(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("POST", "/sessions/{session_id}/observe") => op("Observe", of::<ObservationResult>)
            .body(of::<Observation>)
            .teaches(),
        ("POST", "/sessions/{session_id}/learn") => op(
            "Learn the short-term memory as a pattern",
            of::<LearnResult>,
        )
        .teaches()
        .refuses(&["400"]),
        ("POST", "/sessions/{session_id}/clear-stm") => {
            op("Empty the short-term memory", of::<Cleared>).keyed()
        }
        ("POST", "/sessions/{session_id}/clear-all") => {
            op("Delete what the node has learned", of::<Cleared>).keyed()
        }
        ("POST", "/sessions/{session_id}/observe-sequence") => op(
            "Observe several observations in order",
            of::<SequenceResult>,
        )
        .body(of::<Sequence>)
        .teaches(),
        ("POST", "/sessions/{session_id}/finalize-training") => op(
            "Compute the entropies of all patterns of the node",
            of::<FinalizedTraining>,
        ),
        ("POST", "/sessions/{session_id}/learn-batch") => {
            op("Learn many sequences, all or none", of::<LearnBatchResult>)
                .body(of::<LearnBatchRequest>)
                .teaches()
        }
        _ => return None,
    })
}

/// Returns the description of an operation that takes patterns back.
fn of_retirement(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("POST", "/sessions/{session_id}/patterns/retire") => op(
            "Retire patterns of the node: they are predicted no more, nor learned again",
            of::<Retired>,
        )
        .body(of::<PatternIds>)
        .keyed(),
        ("POST", "/sessions/{session_id}/patterns/un-retire") => {
            op("Un-retire patterns of the node", of::<Unretired>)
                .body(of::<PatternIds>)
                .keyed()
        }
        ("POST", "/sessions/{session_id}/patterns/purge") => op(
            "Delete retired patterns of the node, with all that was counted for them",
            of::<Purged>,
        )
        .body(of::<PurgeRequest>)
        .keyed(),
        ("GET", "/patterns/count") => op("Number of patterns of a node", of::<PatternCount>)
            .query(&[("node_id", Kind::Text), ("flush", Kind::Flag)]),
        _ => return None,
    })
}

/// Returns the description of an operation that asks a session.
fn of_question(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("GET", "/sessions/{session_id}/stm") => op("The short-term memory", of::<Stm>),
        ("GET", "/sessions/{session_id}/predictions") => op(
            "What the short-term memory resembles, and what would come next",
            of::<PredictionsAnswer<Map<String, Value>, FuturePotential>>,
        )
        .query(&[("unique_id", Kind::Text)])
        .refuses(&["504"]),
        ("GET", "/sessions/{session_id}/percept-data") => {
            op("The last observation", of::<PerceptAnswer>)
        }
        ("GET", "/sessions/{session_id}/cognition-data") => {
            op("What goes on in the session", of::<SessionCognition>).refuses(&["504"])
        }
        ("POST", "/sessions/{session_id}/ask-batch") => op(
            "Ask many questions; the answers come in their order, one a line, as they are made",
            of::<BatchAnswer<Map<String, Value>, FuturePotential>>,
        )
        .body(of::<AskBatchRequest>)
        .lines()
        .refuses(&["504"]),
        ("GET", "/sessions/{session_id}/next") => op(
            "What comes next, with which probability, and why; patterns are named of ten symbols at most",
            of::<NextAnswer>,
        )
        .query(&[
            ("top", Kind::UpTo(1000)),
            ("symbol", Kind::Texts(100)),
            ("above", Kind::Texts(15)),
            ("explain", Kind::Flag),
            ("patterns", Kind::UpTo(100)),
            ("fit", Kind::Flag),
        ])
        .refuses(&["504"]),
        _ => return None,
    })
}

/// Returns the description of an operation on what a node knows.
fn of_node(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("GET", "/pattern/{pattern_id}") => {
            op("A pattern of a node", of::<PatternAnswer>).query(NODE)
        }
        ("GET", "/percept-data") => op("Deprecated: always empty", of::<PerceptAnswer>).query(NODE),
        ("GET", "/cognition-data") => {
            op("Deprecated: always empty", of::<SessionCognition>).query(NODE)
        }
        ("GET", "/symbols/affinity") => {
            op("Affinities of all symbols of a node", of::<NodeAffinities>).query(NODE)
        }
        ("GET", "/symbols/stats") => {
            op("Counts of all symbols of a node", of::<NodeSymbols>).query(NODE)
        }
        ("GET", "/symbols/{symbol}/affinity") => {
            op("Affinity of a symbol", of::<SymbolAffinity>).query(NODE)
        }
        ("POST", "/genes/update") => op("Set genes of a node (2025-10)", of::<GenesUpdated>)
            .body(of::<GenesUpdate>)
            .query(NODE),
        ("GET", "/gene/{gene_name}") => op("A gene of a node (2025-10)", of::<Gene>).query(NODE),
        _ => return None,
    })
}

/// Returns the description of an operation on the server, its runs and its figures.
fn of_server(method: &str, template: &str) -> Option<Operation> {
    Some(match (method, template) {
        ("GET", "/") => op("The service and its version", of::<Root>),
        ("GET", "/health") => op("Whether the server is well", of::<Health>),
        ("GET", "/status") => op("Sessions and nodes", of::<Status>),
        ("GET", "/runs/{run}") => op("The record of a training run", of::<RunRecord>),
        ("PUT", "/runs/{run}") => op(
            "Replace the record of a training run, where it has this version",
            of::<RunRecordReplaced>,
        )
        .body(of::<ReplaceRunRecord>)
        .refuses(&["409"]),
        ("GET", "/metrics") => op("Figures of the server", of::<Metrics>).also_text(),
        ("GET", "/metrics/prometheus") => {
            op("Figures as Prometheus reads them", of::<String>).text()
        }
        ("GET", "/metrics/{metric_name}") => {
            op("One time series", of::<MetricHistory>).query(MINUTES)
        }
        ("GET", "/stats") => op("Figures and all time series", of::<Stats>).query(MINUTES),
        ("GET", "/concurrency") => op("Requests at a time", of::<Concurrency>),
        ("GET", "/cache/stats") => op("There is no cache", of::<CacheStats>),
        ("POST", "/cache/invalidate") => {
            op("There is no cache", of::<CacheInvalidated>).query(&[("session_id", Kind::Text)])
        }
        ("GET", "/distributed-stm/stats") => op("There is no Redis", of::<DistributedStm>),
        ("GET", "/connection-pools") => op("State of the storage", of::<ConnectionPools>),
        ("GET", "/admin/sessions") => op("The sessions there are, page by page", of::<SessionList>)
            .query(&[
                ("node_id", Kind::Text),
                ("after", Kind::Text),
                ("limit", Kind::Integer),
            ]),
        ("POST", "/admin/backups") => op("Copy everything into a new directory", of::<BackupMade>)
            .creates()
            .refuses(&["404", "409"]),
        ("GET", "/extensions") => op("What the server offers beyond KATO", of::<Extensions>),
        _ => return None,
    })
}
