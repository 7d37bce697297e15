//! The way of a request through the server: limits, access, cross-origin rules, token, session,
//! route, handler, answer.

mod body;

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use kato_prediction::Cancel;
use uuid::Uuid;

use crate::app::App;
use crate::call::Call;
use crate::compat::query;
use crate::compat::routing::{self, RouteMatch};
use crate::meters::known_method;
use crate::options::Options;
use crate::refusal::Refusal;
use crate::reply::{Answer, Cause, Outcome, Reply};
use crate::resources::{RequestResources, paid_by};
use crate::routes::{self, Route};
use crate::workers::Work;
use crate::{access, cors, events};

pub(crate) const TRACE_ID: HeaderName = HeaderName::from_static("x-trace-id");
const SESSION_ID: HeaderName = HeaderName::from_static("x-session-id");

/// Bytes of a trace id that are logged.
const LOGGED_BYTES: usize = 128;

/// Answers one request.
pub(crate) async fn handle(app: Arc<App>, request: Request) -> Response {
    let started = Instant::now();
    let (mut parts, mut body) = request.into_parts();
    let trace_id = trace_id(&parts.headers);
    // So that whatever logs something of this request has it.
    parts.headers.insert(TRACE_ID, trace_id.clone());
    let mut info = RequestInfo::default();
    // Before anything of the request is read: to refuse must stay cheap when there is too much to
    // do.
    let mut response = match app.in_flight.try_acquire() {
        Some(permit) => {
            let resources = RequestResources::new(
                app.request_memory.share(),
                app.answer_memory.share(),
                permit,
            );
            answer(&app, &mut parts, &mut body, &mut info, &resources).await
        }
        None => {
            let limit = app.in_flight.limit();
            let detail = format!(
                "the server is answering {limit} requests already, the most that it takes at a time"
            );
            Reply::from(Refusal::overloaded(&detail))
                .in_form_of(app.options.generation)
                .into_response(false, None)
        }
    };
    let headers = response.headers_mut();
    // Also on refusals, so that a page that may use the server can read why. A preflight has
    // brought headers of its own.
    if !info.is_preflight {
        cors::allow(&app.options, &parts.headers, headers);
    }
    if let Some(id) = info.session_header(&parts.headers) {
        headers.insert(SESSION_ID, id);
    }
    // `answer` has taken the body if the route reads one; what is still here belongs to nobody and
    // must not be taken for the next request.
    if !body::discard(&app, &parts.headers, body) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::SERVER, HeaderValue::from_static("kato-rs"));
    headers.insert(TRACE_ID, trace_id.clone());
    let took = started.elapsed();
    let status = response.status();
    if let Some(cause) = response.extensions_mut().remove() {
        match status.is_client_error() {
            true => log_refusal(&app, &trace_id, &cause),
            false => log_failure(&app, Some(&trace_id), &cause, "request failed"),
        }
    }
    // By the template, not the path: clients choose paths, and the number of series must be
    // bounded.
    app.meters.count(&parts.method, info.template, status, took);
    tracing::info!(
        trace_id = logged(&trace_id),
        // Clients may make up methods, of any length.
        method = known_method(&parts.method),
        route = info.template,
        status = status.as_u16(),
        duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "request"
    );
    response
}

/// Facts about a request that are found on its way.
struct RequestInfo {
    /// The route's path, with parameters in braces; bounded in number, unlike paths.
    template: &'static str,
    is_preflight: bool,
    session: Session,
}

/// The session that the path names.
enum Session {
    /// The path names none that must exist.
    Free,
    Exists(HeaderValue),
    Missing,
}

impl Default for RequestInfo {
    fn default() -> Self {
        Self {
            template: "(none)",
            is_preflight: false,
            session: Session::Free,
        }
    }
}

impl RequestInfo {
    /// Returns the session id for the answer's header: that of the path, else the one that the
    /// request names, whether or not there is such a session.
    fn session_header(&self, request: &HeaderMap) -> Option<HeaderValue> {
        match &self.session {
            Session::Exists(id) => return Some(id.clone()),
            Session::Missing => return None,
            Session::Free if self.is_preflight => return None,
            Session::Free => {}
        }
        let named = request.get(SESSION_ID).filter(|id| !id.is_empty());
        named.cloned().or_else(|| session_cookie(request))
    }
}

/// Returns the session id of the request's cookies.
fn session_cookie(headers: &HeaderMap) -> Option<HeaderValue> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    let id = cookies
        .split(';')
        .find_map(|cookie| cookie.trim().strip_prefix("session_id="))?;
    HeaderValue::from_str(id).ok().filter(|id| !id.is_empty())
}

/// Returns the trace id that the request names, or a new one.
fn trace_id(headers: &HeaderMap) -> HeaderValue {
    let named = headers.get(TRACE_ID).filter(|id| !id.is_empty());
    named.cloned().unwrap_or_else(|| {
        let id = format!("kato-{}", Uuid::new_v4().simple());
        HeaderValue::try_from(id).expect("letters and digits are a header value")
    })
}

/// Logs why something failed, unless there are too many such lines.
///
/// A cause may name files of the server, so it goes into the log alone, where the trace id finds it.
pub(crate) fn log_failure(
    app: &App,
    trace_id: Option<&HeaderValue>,
    Cause(cause): &Cause,
    failed: &str,
) {
    if let Some(n_left_out) = app.failed_requests.should_log() {
        let trace_id = trace_id.map(logged);
        tracing::error!(trace_id, cause, n_left_out, "{failed}");
    }
}

/// Logs why a request was refused, where its answer does not say it, unless there are too many such lines.
fn log_refusal(app: &App, trace_id: &HeaderValue, Cause(cause): &Cause) {
    if let Some(n_left_out) = app.refused_requests.should_log() {
        let trace_id = logged(trace_id);
        tracing::warn!(trace_id, cause, n_left_out, "request refused");
    }
}

/// Returns as much of a trace id as the log gets: the client's own may be as long as a head.
pub(crate) fn logged(trace_id: &HeaderValue) -> &str {
    // Visible ASCII, so that every byte is the end of a character.
    let id = trace_id.to_str().unwrap_or_default();
    id.get(..LOGGED_BYTES).unwrap_or(id)
}

/// Answers a request up to its HTTP form. Takes the body if the route reads one, and leaves it
/// otherwise.
async fn answer(
    app: &Arc<App>,
    parts: &mut Parts,
    body: &mut Body,
    info: &mut RequestInfo,
    resources: &Arc<RequestResources>,
) -> Response {
    if let Err(refusal) = access::check(&app.options, &parts.method, &parts.uri, &parts.headers) {
        return Reply::from(refusal).into_response(parts.method == Method::HEAD, Some(resources));
    }
    // Before the token: browsers send preflights without credentials, whatever the request behind
    // them will carry.
    if let Some(reply) = cors::preflight(&app.options, &parts.method, &parts.headers) {
        info.is_preflight = true;
        return reply.into_response(false, Some(resources));
    }
    // Decoded once, and used by the check of the token and by the routes alike, so that no spelling
    // of a path means one thing here and another there.
    let path = query::decode(parts.uri.path());
    // Those two are for probes, which have no token; they tell nothing that was learned.
    if !matches!(path.as_str(), "/" | "/health")
        && let Err(refusal) = app.options.tokens.check(&parts.headers)
    {
        return Reply::from(refusal).into_response(parts.method == Method::HEAD, Some(resources));
    }
    if events::is_handshake(&parts.method, &parts.headers) {
        info.template = events::PATH;
        return events::accept(&app.events, &app.options, &app.service, parts, &path).await;
    }
    let reply = match route(app, parts, body, (&path, resources), info).await {
        Ok(Answer::Now(reply)) => reply,
        // Waiting for the journal, with the request's place and memory held.
        Ok(Answer::Later(reply)) => reply.await,
        Ok(Answer::Lines(lines)) => {
            // What was read of the request is worked off, or kept by the lines.
            return lines.into_response(app, resources);
        }
        Err(refusal) => refusal.into(),
    };
    // Only reads can be refused here: what a write answers costs no more than its body did, or was paid
    // for before it began.
    let reply = match resources.charge_answer(reply.len()) {
        Ok(()) => reply,
        Err(error) => Refusal::from(error).into(),
    };
    reply
        .in_form_of(app.options.generation)
        .into_response(parts.method == Method::HEAD, Some(resources))
}

/// Finds the route and runs its handler.
async fn route(
    app: &Arc<App>,
    parts: &Parts,
    body: &mut Body,
    (path, resources): (&str, &Arc<RequestResources>),
    info: &mut RequestInfo,
) -> Result<Answer, Refusal> {
    let found = routing::find(routes::active(&app.options), &parts.method, path);
    if let RouteMatch::Route(route, _) | RouteMatch::WrongMethod(route) = &found {
        info.template = route.template;
    }
    // KATO's middleware looks the session up before routing, so an unknown session comes before an
    // unknown path or method.
    let guarded = routing::guarded_session(&parts.method, path).map(str::to_owned);
    let (session, outcome) = match found {
        RouteMatch::Route(route, params) => {
            let call = Call {
                params,
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: match route.has_body {
                    // `take` leaves an empty body behind, which tells `discard` that there is
                    // nothing to read over.
                    true => body::read(app, mem::take(body), &resources.request).await?,
                    false => Bytes::new(),
                },
                resources: Arc::clone(resources),
                headers: parts.headers.clone(),
                cancel: paid_by(resources),
            };
            let node = node_of(app, route, &call);
            let cancel = call.cancel.clone();
            let act = move |app: &App| (route.handler)(app, &call);
            in_session(app, guarded, (route.work, &node, &cancel), act).await?
        }
        elsewhere => {
            let reply = no_route(app, parts, elsewhere);
            // Nothing to do but to look the session up, if the path has one.
            let work = if guarded.is_some() {
                Work::Short
            } else {
                Work::Light
            };
            let act = move |_: &App| Ok(reply.into());
            in_session(app, guarded, (work, "", &Cancel::never()), act).await?
        }
    };
    info.session = session;
    outcome
}

/// Looks up the session of the path, then acts, both on a thread that may block.
async fn in_session(
    app: &Arc<App>,
    id: Option<String>,
    (work, node, cancel): (Work, &str, &Cancel),
    act: impl FnOnce(&App) -> Outcome + Send + 'static,
) -> Result<(Session, Outcome), Refusal> {
    let app_of_job = Arc::clone(app);
    let job = move || {
        let session = match &id {
            // The look-up blocks, too: it removes a session that has expired, which is a write.
            Some(id) if !app_of_job.service.check(id) => {
                return (Session::Missing, Err(Refusal::no_session(id)));
            }
            // Ids of sessions that exist were made by the service and are valid header values.
            Some(id) => HeaderValue::from_str(id).map_or(Session::Free, Session::Exists),
            None => Session::Free,
        };
        (session, act(&app_of_job))
    };
    app.workers.run(work, node, cancel, job).await
}

/// Returns the knowledge base that a request works on, by which threads are shared out; empty if
/// there is none or it is unknown.
fn node_of(app: &App, route: &Route, call: &Call) -> String {
    if route.template.starts_with("/sessions/{") {
        // Without a check whether it has expired: that belongs on a thread that may block.
        let of_session = app.service.processor_id_of_session(call.param());
        return of_session.unwrap_or_default();
    }
    match route.is_of_node() {
        true => app.service.processor_id(&call.node_id()),
        false => String::new(),
    }
}

/// Answers a request that no route takes.
fn no_route(app: &App, parts: &Parts, found: RouteMatch) -> Reply {
    match found {
        RouteMatch::WrongMethod(route) => {
            let detail = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            let allow = HeaderValue::try_from(routing::allow(routes::active(&app.options), route));
            let allow = allow.expect("methods are letters");
            Reply::from(detail).with_header(header::ALLOW, allow)
        }
        RouteMatch::Redirect(path) => {
            redirect(&app.options, parts, &path).unwrap_or_else(|| Refusal::not_found().into())
        }
        RouteMatch::Route(..) | RouteMatch::Nothing => Refusal::not_found().into(),
    }
}

/// Redirects to the path without trailing slashes, at the host that the client named.
fn redirect(options: &Options, parts: &Parts, path: &str) -> Option<Reply> {
    let host = parts.headers.get(header::HOST)?.to_str().ok()?;
    let query = parts
        .uri
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let scheme = if options.is_https() { "https" } else { "http" };
    let location = format!("{scheme}://{host}{}{query}", query::encode_path(path));
    let location = HeaderValue::from_str(&location).ok()?;
    // 307 has the client repeat method and body.
    let reply = Reply::empty(StatusCode::TEMPORARY_REDIRECT);
    Some(reply.with_header(header::LOCATION, location))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_gets_the_beginning_of_a_long_trace_id() {
        let long = HeaderValue::try_from("x".repeat(60_000)).unwrap();
        assert_eq!(logged(&long).len(), LOGGED_BYTES);
        assert_eq!(logged(&HeaderValue::from_static("kato-1")), "kato-1");
    }
}
