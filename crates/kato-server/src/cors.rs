//! Cross-origin headers for pages that are allowed: any method and header, as Starlette's
//! middleware has them.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::options::Options;
use crate::reply::Reply;

const METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// Returns the origin of the page that sent the request, if the page may read the answer.
fn allowed_origin<'h>(options: &Options, request: &'h HeaderMap) -> Option<&'h HeaderValue> {
    let origin = request.get(header::ORIGIN)?;
    let is_listed = || {
        let origin = origin.to_str();
        origin.is_ok_and(|origin| options.allowed.has_origin(origin))
    };
    (options.cors || is_listed()).then_some(origin)
}

/// Answers a preflight request; returns `None` for any other request.
pub(crate) fn preflight(options: &Options, method: &Method, headers: &HeaderMap) -> Option<Reply> {
    let origin = allowed_origin(options, headers)?;
    // Without this header OPTIONS is a method like others, and most routes answer it with 405.
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
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    // Starlette sends the same headers with its refusal of a method.
    for (name, value) in fixed {
        reply = reply.with_header(name, HeaderValue::from_static(value));
    }
    let credentials = allows_credentials(options);
    if credentials {
        let allow = HeaderValue::from_static("true");
        reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, allow);
    }
    let allowed = match credentials {
        false => HeaderValue::from_static("*"),
        true => {
            reply = reply.with_header(header::VARY, HeaderValue::from_static("Origin"));
            origin.clone()
        }
    };
    reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    // Echoed, because a wildcard does not count in requests with credentials.
    if let Some(names) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        reply = reply.with_header(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    Some(reply)
}

/// Returns whether pages of allowed origins may send credentials: those that were named always may.
fn allows_credentials(options: &Options) -> bool {
    !(options.cors && options.generation.refuses_credentials())
}

/// Adds the headers that the answer to a cross-origin request carries.
pub(crate) fn allow(options: &Options, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(origin) = allowed_origin(options, request) else {
        return;
    };
    let credentials = allows_credentials(options);
    if credentials {
        answer.insert(
            header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        );
    }
    // Browsers accept no wildcard for requests with cookies, and where only some origins are
    // allowed it would be untrue.
    let with_cookies = credentials && request.contains_key(header::COOKIE);
    let allowed = if with_cookies || !options.cors {
        // The answer depends on the origin now, and a cache must not give it to another one.
        answer.append(header::VARY, HeaderValue::from_static("Origin"));
        origin.clone()
    } else {
        HeaderValue::from_static("*")
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
}
