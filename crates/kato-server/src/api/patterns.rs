//! Handlers for patterns that are counted, retired, un-retired and purged.

use kato_engine::node::PurgeStatus;
use kato_model::PatternName;
use kato_protocol::retirement::{PatternCount, Purged, Retired, Unretired};

use super::acknowledged;
use crate::app::App;
use crate::bodies::patterns as bodies;
use crate::call::Call;
use crate::compat::query;
use crate::reply::{Outcome, Reply};

/// Bytes that a purged pattern takes in an answer, at most.
const PURGED: usize = 64;

/// Handles `GET /patterns/count`.
pub(crate) fn count(app: &App, call: &Call) -> Outcome {
    // What was learned counts at once, so there is nothing to wait for: only its form is checked.
    query::boolean(&call.query, "flush", false)?;
    // Unlike elsewhere an empty id is one: KATO tells it from none here.
    let named = query::parameter(&call.query, "node_id");
    let node_id = named.unwrap_or_else(|| call.node_id());
    Ok(Reply::ok(&PatternCount {
        pattern_count: app.service.n_patterns(&node_id)?,
        node_id: app.service.processor_id(&node_id),
    })
    .into())
}

/// Handles `POST /sessions/{session_id}/patterns/retire`.
pub(crate) fn retire(app: &App, call: &Call) -> Outcome {
    let named = bodies::named(&call.headers, &call.body)?;
    let requested = named.requested as u64;
    let receipt = app
        .service
        .retire(call.param(), &named.names, call.key(app)?)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, move |answer| {
        Reply::ok(&Retired {
            status: "okay".to_owned(),
            session_id,
            node_id: answer.node_id,
            requested,
            retired: texts(&answer.outcome.retired),
            already_retired: texts(&answer.outcome.already_retired),
        })
    }))
}

/// Handles `POST /sessions/{session_id}/patterns/un-retire`.
pub(crate) fn unretire(app: &App, call: &Call) -> Outcome {
    let named = bodies::named(&call.headers, &call.body)?;
    let requested = named.requested as u64;
    let receipt = app
        .service
        .unretire(call.param(), &named.names, call.key(app)?)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, move |answer| {
        Reply::ok(&Unretired {
            status: "okay".to_owned(),
            session_id,
            node_id: answer.node_id,
            requested,
            un_retired: texts(&answer.outcome.un_retired),
            not_retired: texts(&answer.outcome.not_retired),
        })
    }))
}

/// Handles `POST /sessions/{session_id}/patterns/purge`.
pub(crate) fn purge(app: &App, call: &Call) -> Outcome {
    let (names, max_patterns) = bodies::purge(&call.headers, &call.body)?;
    if names.is_none() {
        // The answer is larger than the body here. Paid for before anything is purged, so that what was
        // carried out is not refused.
        call.resources
            .reserve(max_patterns.saturating_mul(PURGED))?;
    }
    let receipt =
        app.service
            .purge(call.param(), names.as_deref(), max_patterns, call.key(app)?)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, |answer| {
        let outcome = answer.outcome;
        let status = match outcome.status() {
            PurgeStatus::NothingToPurge => "nothing_to_purge",
            PurgeStatus::Completed => "completed",
            // What a later version may add is neither.
            _ => "partial",
        };
        let failed = outcome.failed.iter();
        Reply::ok(&Purged {
            status: status.to_owned(),
            session_id,
            node_id: answer.node_id,
            purged: texts(&outcome.purged),
            failed: failed
                .map(|(name, why)| (name.to_string(), why.clone()))
                .collect(),
            remaining: outcome.remaining as u64,
        })
    }))
}

/// Returns names as answers have them.
fn texts(names: &[PatternName]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
