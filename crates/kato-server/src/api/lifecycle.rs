//! Sessions: made, looked up, configured, prolonged, deleted.

use kato_engine::SessionConfig;
use kato_protocol::{
    ConfigAnswer, ConfigUpdated, Deleted, Exists, Extended, SessionCount, SessionInfo,
};
use kato_service::SessionView;
use serde_json::{Map, Value};

use super::{acknowledged, acknowledged_to_the_end};
use crate::app::App;
use crate::bodies;
use crate::call::Call;
use crate::query;
use crate::reply::{Outcome, Reply};
use crate::timestamp;

pub(crate) fn create(app: &App, call: &Call) -> Outcome {
    let new = bodies::new_session(&call.headers, &call.body, max_kept_bytes(app))?;
    let receipt = app.service.create_session(new)?;
    let events = app.events.clone();
    Ok(acknowledged_to_the_end(receipt, move |view| {
        events.session_created(&view.session_id, &view.node_id, view.created_at);
        let ttl_seconds = view.ttl_seconds;
        Reply::ok(&described(view, ttl_seconds))
    }))
}

pub(crate) fn count(app: &App, _call: &Call) -> Outcome {
    let active_session_count = app.service.n_sessions() as u64;
    Ok(Reply::ok(&SessionCount {
        active_session_count,
    })
    .into())
}

pub(crate) fn info(app: &App, call: &Call) -> Outcome {
    let view = app.service.session(call.param())?;
    let ttl_seconds = view.remaining_seconds;
    Ok(Reply::ok(&described(view, ttl_seconds)).into())
}

pub(crate) fn exists(app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&Exists {
        exists: app.service.exists(call.param()).exists,
        // KATO forgets a session in the moment in which it expires.
        expired: false,
        session_id: call.param().to_owned(),
    })
    .into())
}

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

pub(crate) fn config(app: &App, call: &Call) -> Outcome {
    let config = app.service.config(call.param())?;
    Ok(Reply::ok(&ConfigAnswer {
        session_id: call.param().to_owned(),
        config: config_map(&config),
    })
    .into())
}

pub(crate) fn update_config(app: &App, call: &Call) -> Outcome {
    let changes = bodies::settings(&call.headers, &call.body, max_kept_bytes(app))?;
    let receipt = app.service.update_config(call.param(), &changes)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, |()| {
        Reply::ok(&ConfigUpdated {
            status: "okay".to_owned(),
            message: "Configuration updated".to_owned(),
            session_id,
        })
    }))
}

pub(crate) fn extend(app: &App, call: &Call) -> Outcome {
    let ttl_seconds = query::ttl_seconds(&call.query, "ttl_seconds", 3600)?;
    let receipt = app.service.extend_session(call.param(), ttl_seconds)?;
    let session_id = call.param().to_owned();
    Ok(acknowledged(receipt, |seconds| {
        Reply::ok(&Extended {
            status: "extended".to_owned(),
            session_id,
            ttl_seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        })
    }))
}

fn max_kept_bytes(app: &App) -> usize {
    app.service.options().max_kept_bytes
}

fn described(view: SessionView, ttl_seconds: u64) -> SessionInfo {
    SessionInfo {
        session_id: view.session_id,
        node_id: view.node_id,
        created_at: timestamp::iso_z(view.created_at),
        expires_at: timestamp::iso_z(view.expires_at),
        ttl_seconds: i64::try_from(ttl_seconds).unwrap_or(i64::MAX),
        metadata: view.metadata,
        session_config: config_map(&view.config),
    }
}

fn config_map(config: &SessionConfig) -> Map<String, Value> {
    let value = serde_json::to_value(config).expect("a configuration is plain data");
    // It is a struct, so it is an object.
    value.as_object().cloned().unwrap_or_default()
}
