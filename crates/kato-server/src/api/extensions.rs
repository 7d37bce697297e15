//! Handlers of what this server offers beyond KATO.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use kato_engine::LearnOutcome;
use kato_model::RunName;
use kato_protocol::extension::{
    BatchItemResult, Extensions, LearnBatchExtension, LearnBatchResult, RunRecord,
    RunRecordReplaced,
};
use serde_json::json;

use super::acknowledged;
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Handles `GET /extensions`.
pub(crate) fn describe(app: &App, _call: &Call) -> Outcome {
    let prometheus = ("prometheus".to_owned(), json!("/metrics/prometheus"));
    let sessions = ("sessions".to_owned(), json!("/admin/sessions"));
    let next = ("next".to_owned(), json!("/sessions/{session_id}/next"));
    let ask_batch = (
        "ask_batch".to_owned(),
        json!("/sessions/{session_id}/ask-batch"),
    );
    let backups = ("backups".to_owned(), json!("/admin/backups"));
    Ok(Reply::ok(&Extensions {
        run_records: true,
        server: "kato-rs".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        learn_batch: Some(LearnBatchExtension {
            max_sequences: app.service.options().max_batch_sequences,
            // Not simply the largest body: a batch of this size is read whatever its events weigh.
            max_bytes: app.options.max_batch_bytes(),
        }),
        idempotency_keys: true,
        other: BTreeMap::from([prometheus, sessions, next, ask_batch, backups]),
    })
    .into())
}

/// Handles `GET /runs/{run}`.
pub(crate) fn run_record(app: &App, call: &Call) -> Outcome {
    let run = run_name(call)?;
    let Some(found) = app.service.run_record(&run)? else {
        let detail = format!("there is no record of run {run}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
    };
    call.written(&RunRecord {
        version: found.version,
        record: found.record,
    })
}

/// Handles `PUT /runs/{run}`.
pub(crate) fn replace_run_record(app: &App, call: &Call) -> Outcome {
    let (version, record) = bodies::run_record(&call.headers, &call.body)?;
    // The call returns when the record is durable, so there is no receipt to wait for.
    let version = app
        .service
        .replace_run_record(&run_name(call)?, version, record)?;
    Ok(Reply::ok(&RunRecordReplaced { version }).into())
}

/// Parses the name of a run from the path.
fn run_name(call: &Call) -> Result<RunName, Refusal> {
    let name = call.param().parse::<RunName>();
    name.map_err(|error| Refusal::of_part(&["path", "run"], error.to_string()))
}

/// Handles `POST /sessions/{session_id}/learn-batch`.
pub(crate) fn learn_batch(app: &App, call: &Call) -> Outcome {
    let lessons = bodies::lessons(&call.headers, &call.body)?;
    let receipt = app
        .service
        .learn_batch(call.param(), lessons, call.key(app)?)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, |batch| {
        Reply::ok(&LearnBatchResult {
            status: "learned".to_owned(),
            session_id,
            node_id: batch.node_id,
            results: batch.outcomes.into_iter().map(result).collect(),
        })
    }))
}

/// Describes the result of one sequence of a batch.
fn result(outcome: LearnOutcome) -> BatchItemResult {
    BatchItemResult {
        pattern_name: outcome.to_string(),
        new: matches!(outcome, LearnOutcome::New(_)),
    }
}
