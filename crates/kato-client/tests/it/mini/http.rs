//! The miniature's HTTP: finds the fault for a request and lets it happen.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use serde_json::Value;

use super::world::Asked;
use super::{Fault, Shared};

pub(super) fn app(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    note(&shared, &method, &uri);
    let fault = shared.faults.lock().unwrap().pop().unwrap_or(Fault::None);
    let act = {
        let shared = Arc::clone(&shared);
        move || act(&shared, &method, &uri, &headers, &body)
    };
    match fault {
        Fault::None => whole(act()),
        Fault::Refuse => refuse(StatusCode::SERVICE_UNAVAILABLE),
        Fault::ActThenRefuse => {
            act();
            refuse(StatusCode::SERVICE_UNAVAILABLE)
        }
        Fault::Cut => cut(),
        Fault::ActThenCut => {
            act();
            cut()
        }
        Fault::ActLate => {
            let late = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(4)).await;
                act();
            });
            shared.late.lock().unwrap().push(late);
            refuse(StatusCode::GATEWAY_TIMEOUT)
        }
        Fault::Limit => refuse(StatusCode::TOO_MANY_REQUESTS),
        Fault::Expire => {
            shared.world.lock().unwrap().sessions.clear();
            whole(act())
        }
    }
}

fn note(shared: &Shared, method: &Method, uri: &Uri) {
    let path: Vec<_> = uri
        .path()
        .split('/')
        .map(|part| {
            if part.starts_with("session-") {
                "{id}"
            } else {
                part
            }
        })
        .collect();
    let line = format!("{method} {}", path.join("/"));
    shared.seen.lock().unwrap().push(line);
}

fn act(
    shared: &Shared,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> (u16, Value, bool) {
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let node = uri
        .query()
        .and_then(|query| query.strip_prefix("node_id="))
        .unwrap_or_default();
    let asked = Asked {
        method: method.as_str(),
        path: uri.path().trim_matches('/').split('/').collect(),
        node,
        key: headers
            .get(kato_protocol::IDEMPOTENCY_KEY)
            .map(|key| key.to_str().unwrap()),
        body: &body,
    };
    shared.world.lock().unwrap().act(&asked)
}

fn whole((status, body, replayed): (u16, Value, bool)) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(kato_protocol::IDEMPOTENCY_REPLAYED, replayed.to_string())
        .body(Body::from(body.to_string()))
        .unwrap()
}

fn refuse(status: StatusCode) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("retry-after", "0")
        .body(Body::from("Service Unavailable"))
        .unwrap()
}

fn cut() -> Response<Body> {
    let broken = std::io::Error::other("cut");
    let pieces = [Ok(Bytes::from_static(b"{\"status\":")), Err(broken)];
    Response::new(Body::from_stream(futures_util::stream::iter(pieces)))
}
