//! Handlers for the life of sessions: creating, looking up, configuring, extending, deleting.

use kato_model::KatoGeneration;
use kato_protocol::session::{
    ConfigAnswer, ConfigUpdated, Deleted, Exists, Extended, SessionCount, SessionInfo,
};
use kato_service::ServiceError;
use kato_service::answer::SessionView;

use super::{acknowledged, acknowledged_to_the_end};
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Handles `POST /sessions`.
pub(crate) fn create(app: &App, call: &Call) -> Outcome {
    let new = bodies::new_session(&call.headers, &call.body, max_kept_bytes(app))?;
    let generation = app.options.generation;
    let receipt = app
        .service
        .create_session(new)
        .map_err(|error| match error {
            ServiceError::Config(error) => Refusal::settings(&error, generation),
            error => error.into(),
        })?;
    let events = app.events.clone();
    Ok(acknowledged_to_the_end(receipt, move |view| {
        // KATO announces a session before its creator gets the answer.
        events.session_created(&view.session_id, &view.node_id, view.created_at);
        // The whole lifetime here, what is left of it in later answers: KATO's meaning of the field
        // differs in the same way.
        let ttl_seconds = view.ttl_seconds;
        Reply::ok(&described(view, ttl_seconds, generation))
    }))
}

/// Handles `GET /sessions/count`.
pub(crate) fn count(app: &App, _call: &Call) -> Outcome {
    let active_session_count = app.service.n_sessions() as u64;
    Ok(Reply::ok(&SessionCount {
        active_session_count,
    })
    .into())
}

/// Handles `GET /sessions/{session_id}`.
pub(crate) fn info(app: &App, call: &Call) -> Outcome {
    let view = app.service.session(call.param())?;
    let ttl_seconds = view.remaining_seconds;
    let described = described(view, ttl_seconds, app.options.generation);
    Ok(Reply::ok(&described).into())
}

/// Handles `GET /sessions/{session_id}/exists`.
pub(crate) fn exists(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&Exists {
        exists: app.service.exists(call.param()).exists,
        // KATO forgets a session at the moment at which it expires, so it never answers `true`.
        expired: false,
        session_id: call.param().to_owned(),
    })
    .into())
}

/// Handles `DELETE /sessions/{session_id}`.
pub(crate) fn delete(app: &App, call: &Call) -> Outcome {
    let receipt = app.service.delete_session(call.param())?;
    let events = app.events.clone();
    let session_id = call.param().to_owned();
    Ok(acknowledged_to_the_end(receipt, move |()| {
        events.session_destroyed(&session_id);
        Reply::ok(&Deleted {
            status: "deleted".to_owned(),
            session_id,
        })
    }))
}

/// Handles `GET /sessions/{session_id}/config`.
pub(crate) fn config(app: &App, call: &Call) -> Outcome {
    let config = app.service.config(call.param())?;
    Ok(Reply::ok(&ConfigAnswer {
        session_id: call.param().to_owned(),
        config: config.settings(app.options.generation),
    })
    .into())
}

/// Handles `POST /sessions/{session_id}/config`.
pub(crate) fn update_config(app: &App, call: &Call) -> Outcome {
    let limits = (max_kept_bytes(app), app.options.generation);
    let change = bodies::settings(&call.headers, &call.body, limits)?;
    let receipt = app.service.update_config(call.param(), change)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, |()| {
        Reply::ok(&ConfigUpdated {
            status: "okay".to_owned(),
            message: "Configuration updated".to_owned(),
            session_id,
        })
    }))
}

/// Handles `POST /sessions/{session_id}/extend`.
pub(crate) fn extend(app: &App, call: &Call) -> Outcome {
    let asked = query::ttl_seconds(&call.query, "ttl_seconds", 3600)?;
    // A time before now ends the session, as now does.
    let receipt = app.service.extend_session(call.param(), asked.max(0))?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, move |seconds| {
        Reply::ok(&Extended {
            status: "extended".to_owned(),
            session_id,
            // What was granted, which may be less than what was asked for.
            ttl_seconds: i64::try_from(seconds).unwrap_or(i64::MAX).min(asked),
        })
    }))
}

/// Returns the most bytes that are kept of metadata or settings.
fn max_kept_bytes(app: &App) -> usize {
    app.service.options().max_kept_bytes
}

/// Describes a session with the lifetime that the answer is to show.
fn described(view: SessionView, ttl_seconds: u64, generation: KatoGeneration) -> SessionInfo {
    SessionInfo {
        session_id: view.session_id,
        node_id: view.node_id,
        created_at: timestamp::iso_z(view.created_at),
        expires_at: timestamp::iso_z(view.expires_at),
        ttl_seconds: i64::try_from(ttl_seconds).unwrap_or(i64::MAX),
        metadata: view.metadata,
        session_config: view.config.settings(generation),
    }
}
