//! Handlers of the OpenAPI document and the page that shows it.

use axum::http::StatusCode;

use crate::app::App;
use crate::call::Call;
use crate::compat::openapi;
use crate::reply::{Outcome, Reply};

/// The page, complete in itself: it loads the document and nothing else.
const PAGE: &str = include_str!("documents/page.html");

/// Handles `GET /openapi.json`.
pub(crate) fn openapi(app: &App, _call: &Call) -> Outcome {
    // The routes do not change while the server runs, so one document serves all requests.
    let document = app
        .openapi
        .get_or_init(|| openapi::document(&app.routes).to_string().into());
    Ok(Reply::new(StatusCode::OK, Some("application/json"), document.clone()).into())
}

/// Handles `GET /docs` and `GET /redoc`.
pub(crate) fn page(_app: &App, _call: &Call) -> Outcome {
    Ok(Reply::new(StatusCode::OK, Some("text/html; charset=utf-8"), PAGE).into())
}
