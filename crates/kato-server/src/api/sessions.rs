//! Handlers of the work in a session: observing, learning, clearing, predicting.

use std::collections::BTreeMap;

use kato_engine::session::{Percept, SequenceStep};
use kato_engine::vectors::VectorSource;
use kato_model::{EmotiveMap, Event, PatternName};
use kato_prediction::Prediction;
use kato_prediction::prediction::FutureShare;
use kato_protocol::observation::{LearnResult, ObservationResult, VectorMatch, VectorSearch};
use kato_protocol::prediction::PredictionsAnswer;
use kato_protocol::sequence::{SequenceItemResult, SequenceResult};
use kato_protocol::session::{Cleared, FinalizedTraining};
use kato_service::ServiceError;
use serde::Serialize;
use serde_json::{Value, json};

use super::acknowledged;
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Handles `POST /sessions/{session_id}/observe`.
pub(crate) fn observe(app: &App, call: &Call) -> Outcome {
    let observation = bodies::observation(&call.headers, &call.body)?;
    let receipt = app
        .service
        .observe(call.param(), observation, call.key(app)?)?;
    let session_id = call.param().to_owned();
    let answers_search = app.options.generation.answers_vector_search();
    Ok(acknowledged(receipt, move |outcome| {
        Reply::ok(&ObservationResult {
            status: "okay".to_owned(),
            session_id,
            // KATO puts the node id here, not the processor id.
            processor_id: Some(outcome.node_id),
            stm_length: outcome.observed.stm_length,
            time: outcome.observed.time,
            unique_id: Some(outcome.unique_id),
            auto_learned_pattern: outcome.observed.auto_learned.map(symbol_of),
            vector_search: answers_search
                .then(|| outcome.observed.vector_search.as_deref().map(search_of)),
        })
    }))
}

/// Handles `POST /sessions/{session_id}/observe-sequence`.
pub(crate) fn observe_sequence(app: &App, call: &Call) -> Outcome {
    let sequence = bodies::sequence(&call.headers, &call.body)?;
    let isolated = sequence.clear_stm_between;
    let receipt = app
        .service
        .observe_sequence(call.param(), sequence, call.key(app)?)?;
    Ok(acknowledged(receipt, move |answer| {
        let outcome = answer.outcome;
        Reply::ok(&SequenceResult {
            status: "completed".to_owned(),
            processor_id: Some(answer.node_id),
            observations_processed: outcome.steps.len(),
            initial_stm_length: outcome.initial_stm_length,
            final_stm_length: outcome.final_stm_length,
            results: outcome.steps.into_iter().enumerate().map(step).collect(),
            // Learns that taught nothing are listed as well, with an empty name, as in KATO.
            auto_learned_patterns: outcome.learned.iter().map(ToString::to_string).collect(),
            final_learned_pattern: outcome.final_learned.map(|learned| learned.to_string()),
            isolated,
        })
    }))
}

/// Describes what the search for vectors found.
fn search_of(found: &kato_engine::VectorSearchAccount) -> VectorSearch {
    let matches = found.matches.iter().map(|found| VectorMatch {
        vctr_id: found.name.to_string(),
        rank: found.rank,
        raw_score: found.raw_score,
        source: match found.source {
            VectorSource::SelfAppended => "self_appended".to_owned(),
            _ => "vector_index".to_owned(),
        },
    });
    VectorSearch {
        query_vctr_id: found.query.to_string(),
        requested_limit: found.requested_limit,
        search_performed: found.search_performed,
        // The only measure that there is.
        metric: "euclidean".to_owned(),
        score_direction: "lower_is_better".to_owned(),
        matches: matches.collect(),
    }
}

/// Describes the result of one observation of a sequence.
fn step((sequence_position, step): (usize, SequenceStep)) -> SequenceItemResult {
    SequenceItemResult {
        status: "okay".to_owned(),
        sequence_position,
        stm_length: step.stm_length,
        time: step.time,
        unique_id: step.unique_id,
        auto_learned_pattern: step.auto_learned.map(symbol_of),
    }
}

/// Returns the name of a pattern with its prefix, as the levels above use it as a symbol.
fn symbol_of(name: PatternName) -> String {
    name.prefixed().to_string()
}

/// Handles `GET /sessions/{session_id}/stm`.
pub(crate) fn stm(app: &App, call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Answer<'a> {
        stm: &'a [Event],
        session_id: &'a str,
        length: usize,
    }

    // Written where it is: it may be hundreds of megabytes, of which each request that asks at the
    // same time would have a copy, and only what is written is paid for.
    app.service.with_stm(call.param(), |stm| {
        call.written(&Answer {
            stm,
            session_id: call.param(),
            length: stm.len(),
        })
    })?
}

/// Handles `POST /sessions/{session_id}/learn`.
pub(crate) fn learn(app: &App, call: &Call) -> Outcome {
    let receipt = app.service.learn(call.param(), call.key(app)?)?;
    let session_id = call.param().to_owned();
    let tells_events = app.options.generation.learn_tells_events();
    Ok(acknowledged(receipt, move |learned| {
        let pattern_name = learned.outcome.to_string();
        // Otherwise always 0: up to 5.x KATO counts the events after it has cleared them.
        let events = if tells_events { learned.events } else { 0 };
        Reply::ok(&LearnResult {
            status: "learned".to_owned(),
            message: format!("Learned pattern {pattern_name} from {events} events"),
            pattern_name,
            session_id,
            processor_id: None,
        })
    }))
}

/// Handles `POST /sessions/{session_id}/clear-stm`.
pub(crate) fn clear_stm(app: &App, call: &Call) -> Outcome {
    let receipt = app.service.clear_stm(call.param(), call.key(app)?)?;
    Ok(acknowledged(receipt, cleared(call, None)))
}

/// Handles `POST /sessions/{session_id}/clear-all`.
pub(crate) fn clear_all(app: &App, call: &Call) -> Outcome {
    let receipt = app.service.clear_all(call.param(), call.key(app)?)?;
    Ok(acknowledged(receipt, cleared(call, Some("all"))))
}

/// Returns what answers a request to clear, once the write is durable.
fn cleared(call: &Call, scope: Option<&'static str>) -> impl FnOnce(()) -> Reply + use<> {
    let session_id = call.param().to_owned();
    move |()| {
        Reply::ok(&Cleared {
            status: "cleared".to_owned(),
            session_id,
            scope: scope.map(str::to_owned),
        })
    }
}

/// Handles `GET /sessions/{session_id}/predictions`.
pub(crate) fn predictions(app: &App, call: &Call) -> Outcome {
    reserve_copy(app, call)?;
    let found = paid(
        call,
        app.service.predictions_unless(call.param(), &call.cancel),
    )?;
    call.written(&PredictionsAnswer::<Prediction, FutureShare> {
        count: found.predictions.len(),
        predictions: found.predictions,
        future_potentials: Some(found.future_potentials),
        session_id: call.param().to_owned(),
        // These three are null in every known version.
        processor_id: None,
        time: None,
        unique_id: None,
    })
}

/// Handles `POST /sessions/{session_id}/finalize-training`.
pub(crate) fn finalize_training(app: &App, call: &Call) -> Outcome {
    let finalized = app.service.finalize_training(call.param())?;
    let patterns = finalized.patterns;
    // Milliseconds with two digits after the point, as KATO has them.
    let time_ms = (finalized.took.as_secs_f64() * 100_000.0).round() / 100.0;
    Ok(Reply::ok(&FinalizedTraining {
        status: "completed".to_owned(),
        patterns_processed: patterns as u64,
        time_ms,
        session_id: call.param().to_owned(),
        node_id: finalized.node_id,
        message: format!(
            "Computed Shannon entropy and TF vectors for {patterns} patterns in {time_ms}ms"
        ),
    })
    .into())
}

/// Handles `GET /sessions/{session_id}/percept-data`.
pub(crate) fn percept_data(app: &App, call: &Call) -> Outcome {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Last {
        Observed(Percept),
        // Before the first observation KATO answers an object without keys.
        Nothing {},
    }

    #[derive(Serialize)]
    struct Answer<'a> {
        percept_data: Last,
        session_id: &'a str,
        node_id: String,
    }

    let node_id = app.service.session(call.param())?.node_id;
    reserve_copy(app, call)?;
    let percept = app.service.percept(call.param())?;
    call.written(&Answer {
        percept_data: percept.map_or(Last::Nothing {}, Last::Observed),
        session_id: call.param(),
        node_id,
    })
}

/// Handles `GET /sessions/{session_id}/cognition-data`.
pub(crate) fn cognition_data(app: &App, call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Data<'a> {
        predictions: &'a [Prediction],
        emotives: &'a EmotiveMap,
        symbols: Vec<&'a String>,
        command: &'static str,
        // Always empty in KATO: types that have no other value say so.
        metadata: BTreeMap<String, ()>,
        path: [(); 0],
        strings: [(); 0],
        vectors: [(); 0],
        short_term_memory: &'a [Event],
        time: u64,
    }

    #[derive(Serialize)]
    struct Answer<'a> {
        cognition_data: Data<'a>,
        session_id: &'a str,
        node_id: &'a str,
    }

    reserve_copy(app, call)?;
    let cognition = paid(
        call,
        app.service.cognition_unless(call.param(), &call.cancel),
    )?;
    let events = cognition.short_term_memory.iter();
    call.written(&Answer {
        cognition_data: Data {
            predictions: &cognition.predictions.predictions,
            emotives: &cognition.emotives,
            symbols: events.flat_map(|event| event.symbols()).collect(),
            command: "",
            metadata: BTreeMap::new(),
            path: [],
            strings: [],
            vectors: [],
            short_term_memory: &cognition.short_term_memory,
            time: cognition.time,
        },
        session_id: call.param(),
        node_id: &cognition.node_id,
    })
}

/// Returns what a prediction came to. One for which there was no memory says only that it was
/// cancelled.
pub(super) fn paid<T>(call: &Call, outcome: Result<T, ServiceError>) -> Result<T, Refusal> {
    call.resources.check_parts()?;
    outcome.map_err(Refusal::from)
}

/// Pays for a copy of what a session remembers, which its answer is made from while other
/// operations of the session go on.
pub(super) fn reserve_copy(app: &App, call: &Call) -> Result<(), Refusal> {
    let bytes = app.service.session_bytes(call.param());
    call.resources.reserve(bytes).map_err(Refusal::from)
}

/// Returns the empty data of the endpoints that those of sessions have replaced.
pub(crate) fn no_cognition() -> Value {
    json!({
        "predictions": [],
        "emotives": {},
        "symbols": [],
        "command": "",
        "metadata": {},
        "path": [],
        "strings": [],
        "vectors": [],
        "short_term_memory": [],
    })
}
