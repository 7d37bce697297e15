//! What an administrator asks for: the sessions there are, a copy of everything.

use axum::http::StatusCode;
use kato_service::{ListedSession, SessionPage};
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::query;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};
use crate::timestamp;

/// Sessions of one page at most.
const PAGE: i64 = 1000;

pub(crate) fn list_sessions(app: &App, call: &Call) -> Outcome {
    let limit = query::integer(&call.query, "limit", 100)?.clamp(1, PAGE);
    let page = SessionPage {
        node_id: query::parameter(&call.query, "node_id").filter(|id| !id.is_empty()),
        after: query::parameter(&call.query, "after").unwrap_or_default(),
        limit: usize::try_from(limit).unwrap_or(1),
    };
    let sessions = app.service.list_sessions(&page);
    let is_full = sessions.len() == page.limit;
    let next = sessions.last().filter(|_| is_full);
    let listed = |session: &ListedSession| {
        json!({
            "session_id": session.session_id,
            "node_id": session.node_id,
            "created_at": timestamp::iso_z(session.created_at),
            "last_used_at": timestamp::iso_z(session.last_used_at),
            "expires_at": timestamp::iso_z(session.expires_at),
            "ttl_seconds": session.ttl_seconds,
        })
    };
    Ok(Reply::ok(&json!({
        "sessions": sessions.iter().map(listed).collect::<Vec<_>>(),
        "active_session_count": app.service.n_sessions(),
        "next": next.map(|last| &last.session_id),
    }))
    .into())
}

/// Copies the running service into a new directory below the one that was set for that.
pub(crate) fn back_up(app: &App, _call: &Call) -> Outcome {
    let Some(backups) = &app.options.backups else {
        let detail =
            "there is no directory for backups; start the server with one (`serve --backups DIR`)";
        return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
    };
    let at = app.service.options().clock.now();
    // Some systems have no colons in names.
    let name = timestamp::iso_z(at).replace(':', "-");
    let dir = backups.join(&name);
    app.service.backup(&dir)?;
    tracing::info!(dir = %dir.display(), "copied");
    Ok(Reply::json(
        StatusCode::CREATED,
        &json!({"backup": name, "created_at": timestamp::iso_z(at)}),
    )
    .into())
}
