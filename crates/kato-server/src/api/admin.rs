//! Handlers for administrators: the list of sessions, and backups.

use std::path::Path;
use std::sync::TryLockError;

use axum::http::StatusCode;
use kato_advice::counted;
use kato_protocol::extension::{BackupMade, ListedSession, SessionList};
use kato_service::answer::{self, SessionPage};

use crate::app::App;
use crate::backups::Backups;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::dispatch::{TRACE_ID, logged};
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
    Ok(Reply::ok(&SessionList {
        next: next.map(|last| last.session_id.clone()),
        active_session_count: app.service.n_sessions() as u64,
        sessions: sessions.into_iter().map(listed).collect(),
    })
    .into())
}

/// Describes a session of the list.
fn listed(session: answer::ActiveSession) -> ListedSession {
    ListedSession {
        session_id: session.session_id,
        node_id: session.node_id,
        created_at: timestamp::iso_z(session.created_at),
        last_used_at: timestamp::iso_z(session.last_used_at),
        expires_at: timestamp::iso_z(session.expires_at),
        ttl_seconds: session.ttl_seconds,
    }
}

/// Handles `POST /admin/backups`: copies the running service into a new directory below the one
/// that was set for backups.
pub(crate) fn back_up(app: &App, call: &Call) -> Outcome {
    let options = &app.options.backups;
    let Some(backups) = &options.dir else {
        let detail =
            "there is no directory for backups; start the server with one (`serve --backups DIR`)";
        return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
    };
    // One at a time: requests that are repeated must not pile up copies.
    let _backing_up = match app.backing_up.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let detail = "a backup is being made; wait for it";
            return Err(Refusal::new(StatusCode::CONFLICT, detail));
        }
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
    };
    let before = list(backups)?;
    if before.len() >= options.max && !options.prunes {
        return Err(too_many(&before, options.max));
    }
    let at = app.service.options().clock.now();
    // Not all file systems allow colons in names.
    let name = timestamp::iso_z(at).replace(':', "-");
    let dir = backups.join(&name);
    // Should two copies get the same name, the second one is refused: the service copies into no
    // directory that holds anything.
    let report = app.service.backup(&dir)?;
    let trace_id = call.headers.get(TRACE_ID).map(logged);
    tracing::info!(trace_id, dir = %dir.display(), "copied");
    for loss in &report.losses {
        tracing::error!(trace_id, dir = %dir.display(), %loss, "a part could not be copied");
    }
    if !report.foreign.is_empty() {
        tracing::warn!(trace_id, names = ?report.foreign, "passed over what is no knowledge base");
    }
    if options.prunes
        && let Err(error) = list(backups)?.prune(options.max, &dir)
    {
        // The new one is there all the same.
        tracing::warn!(trace_id, %error, "an old backup cannot be removed");
    }
    Ok(Reply::json(
        StatusCode::CREATED,
        &BackupMade {
            backup: name,
            created_at: timestamp::iso_z(at),
            bytes: report.bytes,
            knowledge_bases: report.knowledge_bases,
            // They name nodes, and files below the directory of knowledge bases.
            losses: report.losses.iter().map(ToString::to_string).collect(),
            passed_over: report.foreign,
            backups: list(backups)?.len(),
            max_backups: options.max,
        },
    )
    .into())
}

/// Lists the backups in a directory.
fn list(dir: &Path) -> Result<Backups, Refusal> {
    Backups::list(dir).map_err(|error| {
        let detail = "the directory of backups cannot be listed; the server's log says why";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
            .caused_by(format!("list {}: {error}", dir.display()))
    })
}

/// Refuses another backup where there are as many as there may be.
fn too_many(found: &Backups, max: usize) -> Refusal {
    if max == 0 {
        let detail = "no backup may be made, as `serve --max-backups` is 0: start the server with a larger number, or with `--prune-backups`, which keeps the newest";
        return Refusal::new(StatusCode::INSUFFICIENT_STORAGE, detail);
    }
    let first = found.first_to_remove().and_then(|dir| dir.file_name());
    let first = first.unwrap_or_default().to_string_lossy();
    let detail = format!(
        "the directory of backups holds {}, and {max} may be there (`serve --max-backups`): remove {first:?} first, or have the oldest removed (`serve --prune-backups`)",
        counted(found.len(), "backup"),
    );
    Refusal::new(StatusCode::INSUFFICIENT_STORAGE, detail)
}
