//! Handlers of the OpenAPI document and the page that shows it.

use axum::http::StatusCode;

use crate::app::App;
use crate::call::Call;
use crate::reply::{Outcome, Reply};

/// The page, complete in itself: it loads the document and nothing else.
const PAGE: &str = include_str!("documents/page.html");

/// Handles `GET /openapi.json`.
pub(crate) fn openapi(app: &App, _call: &Call) -> Outcome {
    Ok(Reply::new(
        StatusCode::OK,
        Some("application/json"),
        app.openapi.clone(),
    )
    .into())
}

/// Handles `GET /docs` and `GET /redoc`.
pub(crate) fn page(_app: &App, _call: &Call) -> Outcome {
    Ok(Reply::new(StatusCode::OK, Some("text/html; charset=utf-8"), PAGE).into())
}
