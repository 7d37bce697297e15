//! Handlers for what nodes have learned: patterns, symbols, affinities.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::Metadata;
use kato_protocol::node::{
    NodeAffinities, NodeSymbols, PatternAnswer, PatternBody, PatternLookup, SymbolAffinity,
    SymbolStats,
};
use kato_protocol::session::StoredEmotives;
use serde_json::json;

use super::sessions::no_cognition;
use crate::app::App;
use crate::call::Call;
use crate::reply::{Outcome, Reply};

/// Handles `GET /pattern/{pattern_id}`.
pub(crate) fn pattern(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    let asked = call.param();
    let found = app.service.pattern(&node_id, asked)?;
    let pattern = match found {
        Some(record) => PatternLookup::Okay {
            pattern: PatternBody {
                name: record.pattern.name().prefixed().to_string(),
                length: record.pattern.length(),
                pattern_data: record
                    .pattern
                    .events()
                    .iter()
                    .map(|e| e.symbols().to_vec())
                    .collect(),
                frequency: record.frequency,
                emotives: StoredEmotives(record.emotives),
                metadata: listed(&record.metadata),
            },
        },
        // Status 200 all the same: KATO reports a pattern that does not exist in the body alone.
        None => PatternLookup::Error {
            message: format!(
                "Pattern {} not found",
                // KATO's message names the pattern without its prefix, in whatever form it was
                // asked for.
                asked.strip_prefix("PTRN|").unwrap_or(asked)
            ),
        },
    };
    call.written(&PatternAnswer {
        pattern,
        node_id: app.service.processor_id(&node_id),
    })
}

/// Converts metadata into lists of values by key.
fn listed(metadata: &Metadata) -> BTreeMap<String, Vec<String>> {
    let entry = |(key, values): (&str, &BTreeSet<String>)| {
        (key.to_owned(), values.iter().cloned().collect())
    };
    metadata.iter().map(entry).collect()
}

/// Handles `GET /symbols/stats`.
pub(crate) fn symbols(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    let symbols = app.service.symbols(&node_id)?.into_iter();
    let stats = symbols.map(|(name, counts)| {
        let stats = SymbolStats {
            name: name.clone(),
            frequency: counts.frequency,
            pattern_member_frequency: counts.n_patterns,
        };
        (name, stats)
    });
    call.written(&NodeSymbols {
        symbols: stats.collect(),
        node_id: app.service.processor_id(&node_id),
    })
}

/// Handles `GET /symbols/affinity`.
pub(crate) fn affinities(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    call.written(&NodeAffinities {
        affinities: app.service.affinities(&node_id)?.into_iter().collect(),
        node_id: app.service.processor_id(&node_id),
    })
}

/// Handles `GET /symbols/{symbol}/affinity`.
pub(crate) fn affinity(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    Ok(Reply::ok(&SymbolAffinity {
        symbol: call.param().to_owned(),
        affinity: app.service.affinity(&node_id, call.param())?,
        node_id: app.service.processor_id(&node_id),
    })
    .into())
}

/// Handles `GET /percept-data`, which in 3.10.1 has no data any more.
pub(crate) fn percept_data(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "percept_data": {},
        "node_id": app.service.processor_id(&call.node_id()),
        "warning": deprecated("percept-data"),
    }))
    .into())
}

/// Handles `GET /cognition-data`, which in 3.10.1 has no data any more.
pub(crate) fn cognition_data(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "cognition_data": no_cognition(),
        "node_id": app.service.processor_id(&call.node_id()),
        "warning": deprecated("cognition-data"),
    }))
    .into())
}

/// Returns KATO's notice that an endpoint is deprecated.
fn deprecated(name: &str) -> String {
    format!(
        "This endpoint is deprecated. Use /sessions/{{session_id}}/{name} for session-aware data."
    )
}
