//! Cross-origin requests: any origin, method and header, as Starlette's middleware answers them.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::reply::Reply;

const METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// The answer if the request is a preflight.
pub(crate) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Reply> {
    let origin = headers.get(header::ORIGIN)?;
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    if method != Method::OPTIONS {
        return None;
    }
    let known = METHODS
        .split(", ")
        .any(|method| method.as_bytes() == wanted.as_bytes());
    let mut reply = if known {
        Reply::text(StatusCode::OK, "OK")
    } else {
        Reply::text(StatusCode::BAD_REQUEST, "Disallowed CORS method")
    };
    let fixed = [
        (header::VARY, "Origin"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
    ];
    for (name, value) in fixed {
        reply = reply.with_header(name, HeaderValue::from_static(value));
    }
    reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    if let Some(names) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    Some(reply)
}

/// Adds what an answer to a cross-origin request carries.
pub(crate) fn allow(request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(origin) = request.get(header::ORIGIN) else {
        return;
    };
    answer.insert(
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        HeaderValue::from_static("true"),
    );
    // Browsers accept no wildcard in answers to requests with cookies.
    let allowed = if request.contains_key(header::COOKIE) {
        answer.append(header::VARY, HeaderValue::from_static("Origin"));
        origin.clone()
    } else {
        HeaderValue::from_static("*")
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
}
