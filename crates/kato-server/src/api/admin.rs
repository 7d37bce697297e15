//! Handlers for administrators: the list of sessions, and backups.

use axum::http::StatusCode;
use kato_service::answer::{ListedSession, SessionPage};
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Most sessions of one page.
const PAGE: i64 = 1000;

/// Handles `GET /admin/sessions`.
pub(crate) fn list_sessions(app: &App, call: &Call) -> Outcome {
    let limit = query::integer(&call.query, "limit", 100)?.clamp(1, PAGE);
    let page = SessionPage {
        node_id: query::parameter(&call.query, "node_id").filter(|id| !id.is_empty()),
        after: query::parameter(&call.query, "after").unwrap_or_default(),
        // Clamped to 1 and above, so the conversion cannot fail.
        limit: usize::try_from(limit).unwrap_or(1),
    };
    let sessions = app.service.list_sessions(&page);
    // A page that is not full is the last one. A full one may be the last as well: the page behind
    // it is then empty.
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

/// Handles `POST /admin/backups`: copies the running service into a new directory below the one
/// that was set for backups.
pub(crate) fn back_up(app: &App, _call: &Call) -> Outcome {
    let Some(backups) = &app.options.backups else {
        let detail =
            "there is no directory for backups; start the server with one (`serve --backups DIR`)";
        return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
    };
    let at = app.service.options().clock.now();
    // Not all file systems allow colons in names.
    let name = timestamp::iso_z(at).replace(':', "-");
    let dir = backups.join(&name);
    // Should two copies get the same name, the second one is refused: the service copies into no
    // directory that holds anything.
    app.service.backup(&dir)?;
    tracing::info!(dir = %dir.display(), "copied");
    Ok(Reply::json(
        StatusCode::CREATED,
        &json!({"backup": name, "created_at": timestamp::iso_z(at)}),
    )
    .into())
}
