//! Handlers for what nodes have learned: patterns, symbols, affinities.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use kato_model::{EmotiveMap, Event, Metadata};
use kato_prediction::IndexedSymbolCounts;
use kato_protocol::node::{PatternAnswer, PatternBody, PatternLookup, SymbolAffinity};
use kato_protocol::session::StoredEmotives;
use kato_service::ServiceError;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::sessions::no_cognition;
use crate::app::App;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Bytes that a symbol and its counts take beside its text while all of them are copied and sorted,
/// roughly.
const SYMBOL: usize = 160;

/// Bytes that a map of emotives takes beside its entries, roughly.
const EMOTIVES: usize = 384;

/// Bytes that an emotive and its sum take beside its name, roughly.
const EMOTIVE: usize = 96;

/// Handles `GET /pattern/{pattern_id}`.
pub(crate) fn pattern(app: &App, call: &Call) -> Outcome {
    let node_id = call.node_id();
    let asked = call.param();
    call.resources
        .reserve(app.service.bytes_of_pattern(&node_id, asked)?)?;
    let found = app.service.pattern(&node_id, asked)?;
    let pattern = match found {
        Some(record) => PatternLookup::Okay {
            pattern: PatternBody {
                name: record.pattern.name().prefixed().to_string(),
                length: record.pattern.length(),
                pattern_data: record
                    .pattern
                    .into_events()
                    .into_iter()
                    .map(Event::into_symbols)
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
                match app.options.generation.names_missing_patterns_as_asked() {
                    true => asked,
                    false => asked.strip_prefix("PTRN|").unwrap_or(asked),
                }
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
    #[derive(Serialize)]
    struct Answer<'a> {
        symbols: SymbolList<'a>,
        node_id: String,
    }

    let node_id = call.node_id();
    let copy = || app.service.symbols(&node_id);
    let symbols = paid_copy(app, call, (&node_id, SYMBOL), copy, |symbols| {
        symbols.keys().map(|symbol| SYMBOL + symbol.len()).sum()
    })?;
    call.written(&Answer {
        symbols: SymbolList(&symbols),
        node_id: app.service.processor_id(&node_id),
    })
}

/// Handles `GET /symbols/affinity`.
pub(crate) fn affinities(app: &App, call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Answer<'a> {
        affinities: &'a BTreeMap<String, EmotiveMap>,
        node_id: String,
    }

    let node_id = call.node_id();
    let copy = || app.service.affinities(&node_id);
    // Most symbols have none, so that their number says nothing.
    let affinities = paid_copy(app, call, (&node_id, 0), copy, |affinities| {
        let bytes = affinities.iter().map(|(symbol, sums)| {
            let sums = sums.keys().map(|emotive| EMOTIVE + emotive.len());
            SYMBOL + symbol.len() + EMOTIVES + sums.sum::<usize>()
        });
        bytes.sum()
    })?;
    call.written(&Answer {
        affinities: &affinities,
        node_id: app.service.processor_id(&node_id),
    })
}

/// Copies something of all symbols of a node and pays for the copy: first by the number of symbols,
/// each of which takes at least so many bytes, and by what it measures when it is there.
fn paid_copy<T>(
    app: &App,
    call: &Call,
    (node_id, least): (&str, usize),
    copy: impl FnOnce() -> Result<T, ServiceError>,
    bytes: impl FnOnce(&T) -> usize,
) -> Result<T, Refusal> {
    // Without the lock, also because it may bring the node into memory.
    let n_symbols = usize::try_from(app.service.n_symbols(node_id)?).unwrap_or(usize::MAX);
    call.resources.reserve(n_symbols.saturating_mul(least))?;
    // The lengths of texts are not known before: what is not paid for is one copy, whoever asks.
    let _one_at_a_time = app.copying.lock().unwrap_or_else(PoisonError::into_inner);
    let copied = copy()?;
    call.resources.reserve(bytes(&copied))?;
    Ok(copied)
}

/// The counts of symbols as KATO lists them, written from where they are: a map of such entries
/// would have every text twice more.
struct SymbolList<'a>(&'a BTreeMap<String, IndexedSymbolCounts>);

impl Serialize for SymbolList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stats<'a> {
            name: &'a str,
            frequency: u64,
            pattern_member_frequency: u64,
        }

        serializer.collect_map(self.0.iter().map(|(name, counts)| {
            let stats = Stats {
                name,
                frequency: counts.frequency,
                pattern_member_frequency: counts.n_patterns,
            };
            (name, stats)
        }))
    }
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

/// Handles `GET /percept-data`, which has no data any more.
pub(crate) fn percept_data(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "percept_data": {},
        "node_id": app.service.processor_id(&call.node_id()),
        "warning": deprecated(app, "percept-data"),
    }))
    .into())
}

/// Handles `GET /cognition-data`, which has no data any more.
pub(crate) fn cognition_data(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "cognition_data": no_cognition(),
        "node_id": app.service.processor_id(&call.node_id()),
        "warning": deprecated(app, "cognition-data"),
    }))
    .into())
}

/// Returns KATO's notice that an endpoint is deprecated.
fn deprecated(app: &App, name: &str) -> String {
    let what = match app.options.generation.notices_are_short() {
        true => "",
        false => "This endpoint is deprecated. ",
    };
    format!("{what}Use /sessions/{{session_id}}/{name} for session-aware data.")
}
