//! Reading the body of a request: not too much, and not for ever.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time;

use crate::app::App;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::routes::Route;

/// Bytes a second that a client must send at least, once the time-out has passed.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// Reads the body of a route that has one.
pub(super) async fn read(
    app: &App,
    route: &Route,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, Refusal> {
    let limit = app.options.max_body_bytes;
    let too_large = || {
        let detail = format!(
            "the body has more than {limit} bytes, the most that the server takes; send less at a time"
        );
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    if !route.has_body {
        return Ok(Bytes::new());
    }
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    if announced
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > limit as u64)
    {
        return Err(too_large());
    }
    let mut body = Limited::new(body, limit);
    let mut read = Vec::new();
    let started = time::Instant::now();
    loop {
        // Slow clients may be slow, but not for ever.
        let grace = Duration::from_secs(read.len() as u64 / MIN_BYTES_PER_SECOND);
        let deadline = started + app.options.read_timeout + grace;
        match time::timeout_at(deadline, body.frame()).await {
            Ok(None) => return Ok(read.into()),
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                if read.is_empty() && announced == Some(data.len().to_string().as_str()) {
                    return Ok(data);
                }
                read.extend_from_slice(&data);
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_large()),
            Ok(Some(Err(error))) => {
                tracing::debug!(%error, "a body broke off");
                return Err(Refusal::new(
                    StatusCode::BAD_REQUEST,
                    "the body broke off; send it again",
                ));
            }
            Err(_) => {
                let detail = "the body did not arrive in time; send it again";
                let close = HeaderValue::from_static("close");
                let reply = Reply::from(Refusal::new(StatusCode::REQUEST_TIMEOUT, detail));
                return Err(reply.with_header(header::CONNECTION, close).into());
            }
        }
    }
}
