//! The miniature's HTTP: finds the fault for a request and lets it happen.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use serde_json::Value;

use super::world::Asked;
use super::{Fault, SLOWEST, Shared};

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
    shared.tick();
    let fault = shared.faults.lock().unwrap().pop().unwrap_or(Fault::None);
    let path = uri.path().to_owned();
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
        Fault::ActLate(n) => {
            shared.later(n, move || {
                act();
            });
            refuse(StatusCode::GATEWAY_TIMEOUT)
        }
        Fault::Slow(n) => {
            let id = work_of(&path).map(str::to_owned);
            let before = id.and_then(|id| shared.world.lock().unwrap().put_off(&id));
            act();
            if let Some((id, before)) = before {
                let saved = shared.world.lock().unwrap().put(id.clone(), before);
                let world = Arc::clone(&shared);
                shared.later(n.min(SLOWEST), move || {
                    if let Some(saved) = saved {
                        world.world.lock().unwrap().put(id, saved);
                    }
                });
            }
            refuse(StatusCode::GATEWAY_TIMEOUT)
        }
        Fault::BeginLate(begun, ended) => {
            let later = Arc::clone(&shared);
            shared.later(begun, move || {
                let id = work_of(&path).map(str::to_owned);
                let read = id.and_then(|id| later.world.lock().unwrap().put_off(&id));
                let Some((id, read)) = read else {
                    act();
                    return;
                };
                let world = Arc::clone(&later);
                later.later(ended - begun, move || {
                    world.world.lock().unwrap().put(id, read);
                    act();
                });
            });
            refuse(StatusCode::GATEWAY_TIMEOUT)
        }
        Fault::Limit => refuse(StatusCode::TOO_MANY_REQUESTS),
        Fault::Expire => {
            shared.world.lock().unwrap().sessions.clear();
            whole(act())
        }
    }
}

/// The session, for a request that observes or learns.
fn work_of(path: &str) -> Option<&str> {
    let (id, what) = path.strip_prefix("/sessions/")?.split_once('/')?;
    matches!(what, "observe" | "observe-sequence" | "learn").then_some(id)
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
            .get(kato_protocol::extension::IDEMPOTENCY_KEY)
            .map(|key| key.to_str().unwrap()),
        body: &body,
    };
    shared.world.lock().unwrap().act(&asked)
}

fn whole((status, body, replayed): (u16, Value, bool)) -> Response<Body> {
    Response::builder()
        .status(status)
        .header(
            kato_protocol::extension::IDEMPOTENCY_REPLAYED,
            replayed.to_string(),
        )
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
