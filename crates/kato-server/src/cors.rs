//! Cross-origin requests of pages that are allowed: any method and header, as Starlette's middleware answers them.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::options::Options;
use crate::reply::Reply;

const METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// The origin of the page that sent the request, if its answer is one that the page may read.
fn allowed_origin<'h>(options: &Options, request: &'h HeaderMap) -> Option<&'h HeaderValue> {
    let origin = request.get(header::ORIGIN)?;
    let is_listed = || {
        let origin = origin.to_str();
        origin.is_ok_and(|origin| options.allowed.has_origin(origin))
    };
    (options.cors || is_listed()).then_some(origin)
}

/// The answer if the request is a preflight.
pub(crate) fn preflight(options: &Options, method: &Method, headers: &HeaderMap) -> Option<Reply> {
    let origin = allowed_origin(options, headers)?;
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
pub(crate) fn allow(options: &Options, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(origin) = allowed_origin(options, request) else {
        return;
    };
    answer.insert(
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        HeaderValue::from_static("true"),
    );
    // Browsers accept no wildcard in answers to requests with cookies, and where not all are allowed it would say too much.
    let allowed = if request.contains_key(header::COOKIE) || !options.cors {
        answer.append(header::VARY, HeaderValue::from_static("Origin"));
        origin.clone()
    } else {
        HeaderValue::from_static("*")
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
}
