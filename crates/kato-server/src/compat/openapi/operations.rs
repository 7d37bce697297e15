//! Names, parameters and answers of all operations.

use axum::http::Method;

/// One operation of the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) summary: &'static str,
    /// Name of the body's schema.
    pub(super) body: Option<&'static str>,
    /// Parameters of the query, with their types.
    pub(super) query: &'static [(&'static str, &'static str)],
    /// Name of the answer's schema.
    pub(super) answer: &'static str,
    pub(super) is_text: bool,
    pub(super) takes_key: bool,
    /// The status of an answer that is no refusal.
    pub(super) status: &'static str,
}

const NODE: &[(&str, &str)] = &[("node_id", "string")];
const MINUTES: &[(&str, &str)] = &[("minutes", "integer")];

/// Creates an operation without parameters.
const fn op(summary: &'static str, answer: &'static str) -> Operation {
    Operation {
        summary,
        body: None,
        query: &[],
        answer,
        is_text: false,
        takes_key: false,
        status: "200",
    }
}

impl Operation {
    /// Sets the schema of the body.
    const fn body(self, schema: &'static str) -> Self {
        Self {
            body: Some(schema),
            ..self
        }
    }

    /// Sets the parameters of the query.
    const fn query(self, query: &'static [(&'static str, &'static str)]) -> Self {
        Self { query, ..self }
    }

    /// Marks an operation that takes an idempotency key.
    const fn keyed(self) -> Self {
        Self {
            takes_key: true,
            ..self
        }
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
            is_text: true,
            ..self
        }
    }
}

/// Returns the description of a route's operation.
pub(super) fn for_route(method: &Method, template: &str) -> Operation {
    match (method.as_str(), template) {
        ("GET", "/") => op("The service and its version", "Root"),
        ("GET", "/health") => op("Whether the server is well", "Monitoring"),
        ("GET", "/status") => op("Sessions and nodes", "Monitoring"),
        ("POST", "/sessions") => op("Make a session", "Session").body("CreateSession"),
        ("GET", "/sessions/count") => op("Number of sessions", "SessionCount"),
        ("GET", "/sessions/{session_id}") => op("A session", "Session"),
        ("DELETE", "/sessions/{session_id}") => op("Delete a session", "Deleted"),
        ("GET", "/sessions/{session_id}/exists") => {
            op("Whether a session exists; does not prolong it", "Exists")
        }
        ("GET", "/sessions/{session_id}/config") => op("Settings in effect", "Config"),
        ("POST", "/sessions/{session_id}/config") => {
            op("Change settings", "ConfigUpdated").body("ConfigChange")
        }
        ("POST", "/sessions/{session_id}/extend") => {
            op("Prolong a session", "Extended").query(&[("ttl_seconds", "integer")])
        }
        ("POST", "/sessions/{session_id}/observe") => op("Observe", "ObservationResult")
            .body("Observation")
            .keyed(),
        ("GET", "/sessions/{session_id}/stm") => op("The short-term memory", "Stm"),
        ("POST", "/sessions/{session_id}/learn") => {
            op("Learn the short-term memory as a pattern", "LearnResult").keyed()
        }
        ("POST", "/sessions/{session_id}/clear-stm") => {
            op("Empty the short-term memory", "Cleared").keyed()
        }
        ("POST", "/sessions/{session_id}/clear-all") => {
            op("Delete what the node has learned", "Cleared").keyed()
        }
        ("POST", "/sessions/{session_id}/observe-sequence") => {
            op("Observe several observations in order", "SequenceResult")
                .body("Sequence")
                .keyed()
        }
        ("GET", "/sessions/{session_id}/predictions") => op(
            "What the short-term memory resembles, and what would come next",
            "Predictions",
        )
        .query(&[("unique_id", "string")]),
        ("POST", "/sessions/{session_id}/finalize-training") => op(
            "Compute the entropies of all patterns of the node",
            "FinalizedTraining",
        ),
        ("GET", "/sessions/{session_id}/percept-data") => op("The last observation", "PerceptData"),
        ("GET", "/sessions/{session_id}/cognition-data") => {
            op("What goes on in the session", "CognitionData")
        }
        ("POST", "/sessions/{session_id}/learn-batch") => {
            op("Learn many sequences, all or none", "LearnBatchResult")
                .body("LearnBatch")
                .keyed()
        }
        ("GET", "/sessions/{session_id}/next") => {
            op("What comes next, with which probability, and why", "Next").query(&[
                ("top", "integer"),
                ("symbol", "string"),
                ("above", "string"),
                ("explain", "boolean"),
                ("patterns", "integer"),
                ("fit", "boolean"),
            ])
        }
        ("GET", "/pattern/{pattern_id}") => op("A pattern of a node", "PatternAnswer").query(NODE),
        ("GET", "/percept-data") => op("Deprecated: always empty", "Monitoring").query(NODE),
        ("GET", "/cognition-data") => op("Deprecated: always empty", "Monitoring").query(NODE),
        ("GET", "/symbols/affinity") => {
            op("Affinities of all symbols of a node", "NodeAffinities").query(NODE)
        }
        ("GET", "/symbols/stats") => {
            op("Counts of all symbols of a node", "NodeSymbols").query(NODE)
        }
        ("GET", "/symbols/{symbol}/affinity") => {
            op("Affinity of a symbol", "SymbolAffinity").query(NODE)
        }
        ("GET", "/runs/{run}") => op("The record of a training run", "RunRecord"),
        ("PUT", "/runs/{run}") => op(
            "Replace the record of a training run, where it has this version",
            "RunRecordReplaced",
        )
        .body("RunRecord"),
        ("GET", "/metrics") => op("Figures of the server", "Monitoring"),
        ("GET", "/metrics/prometheus") => {
            op("Figures as Prometheus reads them", "Monitoring").text()
        }
        ("GET", "/metrics/{metric_name}") => op("One time series", "Monitoring").query(MINUTES),
        ("GET", "/stats") => op("Figures and all time series", "Monitoring").query(MINUTES),
        ("GET", "/concurrency") => op("Requests at a time", "Monitoring"),
        ("GET", "/cache/stats") => op("There is no cache", "Monitoring"),
        ("POST", "/cache/invalidate") => {
            op("There is no cache", "Monitoring").query(&[("session_id", "string")])
        }
        ("GET", "/distributed-stm/stats") => op("There is no Redis", "Monitoring"),
        ("GET", "/connection-pools") => op("State of the storage", "Monitoring"),
        ("POST", "/genes/update") => op("Set genes of a node (2025-10)", "GenesUpdated")
            .body("GenesUpdate")
            .query(NODE),
        ("GET", "/gene/{gene_name}") => op("A gene of a node (2025-10)", "Gene").query(NODE),
        ("GET", "/admin/sessions") => {
            op("The sessions there are, page by page", "Sessions").query(&[
                ("node_id", "string"),
                ("after", "string"),
                ("limit", "integer"),
            ])
        }
        ("POST", "/admin/backups") => {
            op("Copy everything into a new directory", "Backup").creates()
        }
        ("GET", "/extensions") => op("What the server offers beyond KATO", "Extensions"),
        // Cannot be reached by a route: a test checks that every route has a summary.
        _ => op("", ""),
    }
}
