//! Fuzz target for requests of strangers.
//!
//! Whatever they send, the server answers, never with an error of its own, and takes no more memory
//! than bodies are charged.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use kato_server::Server;
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceOptions};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service as _;

use crate::allocated::within;
use crate::input::Input;

/// Requests to one server, at most.
const REQUESTS: usize = 5;

/// Memory of a request beside that of its body: a thread, an answer, what the first one of its kind
/// makes.
const MEMORY: usize = 6 << 20;

const ROUTES: [(&str, &str); 17] = [
    ("POST", "/sessions"),
    ("POST", "/sessions/SESSION/observe"),
    ("POST", "/sessions/SESSION/observe-sequence"),
    ("POST", "/sessions/SESSION/learn-batch"),
    ("POST", "/sessions/SESSION/config"),
    ("POST", "/sessions/SESSION/learn"),
    ("POST", "/sessions/SESSION/extend?ttl_seconds=NUMBER"),
    ("POST", "/genes/update?node_id=n"),
    ("PUT", "/runs/TEXT"),
    ("GET", "/sessions/SESSION/predictions"),
    ("GET", "/sessions/SESSION/stm"),
    ("GET", "/pattern/TEXT?node_id=n"),
    ("GET", "/symbols/TEXT/affinity?node_id=n"),
    ("GET", "/symbols/stats?node_id=n"),
    ("GET", "/admin/sessions?limit=NUMBER&after=TEXT"),
    ("GET", "/metrics/TEXT?minutes=NUMBER"),
    (
        "GET",
        "/sessions/SESSION/next?top=NUMBER&symbol=TEXT&explain=true&patterns=2&fit=true",
    ),
];

/// Keys of bodies, each of which means something somewhere.
const KEYS: [&str; 32] = [
    "strings",
    "vectors",
    "emotives",
    "metadata",
    "unique_id",
    "node_id",
    "config",
    "observations",
    "sequences",
    "events",
    "learn_after_each",
    "learn_at_end",
    "clear_stm_between",
    "ttl_seconds",
    "genes",
    "max_pattern_length",
    "recall_threshold",
    "stm_mode",
    "max_predictions",
    "persistence",
    "sort_symbols",
    "process_predictions",
    "filter_pipeline",
    "rank_sort_algo",
    "use_token_matching",
    "fuzzy_token_threshold",
    "version",
    "record",
    "joy",
    "",
    "title",
    "__proto__",
];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_current_thread().enable_time().build();
    built.expect("a runtime is made")
});

/// Sends a few requests to a server of its own.
///
/// # Panics
///
/// When a request ends in an error of the server's, or takes more memory than its body is charged.
pub fn http(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let service = Service::in_memory(ServiceOptions::default());
    let created = service.create_session(NewSession::new("n"));
    let session = created
        .and_then(kato_service::Receipt::wait)
        .expect("there is room for one");
    let router = Server::builder(service).router();
    let mut router = router.expect("there is no token that could be wrong");
    // Something stays of the answers to earlier requests, so that the charges add up.
    let mut charged = MEMORY;
    for _ in 0..=input.below(REQUESTS) {
        let (method, template) = input.choose(&ROUTES);
        let target = target(&mut input, template).replace("SESSION", &session.session_id);
        let body = body(&mut input);
        charged += charge(&body);
        let kind = input.choose(&[
            "application/json",
            "text/plain",
            "application/x-www-form-urlencoded",
        ]);
        let shown = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        let request = Request::builder()
            .method(method)
            .uri(&target)
            .header("host", "localhost")
            .header(
                "content-type",
                if input.below(8) > 0 {
                    "application/json"
                } else {
                    kind
                },
            );
        let request = request.body(Body::from(body));
        let request = request.expect("its target is percent-encoded");
        let status = within(charged, || RUNTIME.block_on(answer(router.call(request))));
        assert!(
            // 503 and 507 are refusals: a limit was reached.
            status < 500 || matches!(status, 503 | 507),
            "{status}: {method} {target} {shown}"
        );
    }
}

/// Returns the status of an answer that was read to its end.
async fn answer<E: std::fmt::Debug>(
    response: impl Future<Output = Result<Response<Body>, E>>,
) -> u16 {
    let (head, body) = response.await.expect("it never fails").into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("it is in memory");
    let kind = head
        .headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    if kind == Some("application/json") {
        serde_json::from_slice::<serde_json::Value>(&body).expect("it is JSON");
    }
    head.status.as_u16()
}

/// Returns what a body is charged (docs/server.md, what bounds what).
fn charge(body: &[u8]) -> usize {
    let count = |wanted: &[u8]| body.iter().filter(|byte| wanted.contains(byte)).count();
    10 * body.len() + 128 * (1 + count(b",[:")) + 768 * count(b"{")
}

/// Makes the path and query of a request.
fn target(input: &mut Input<'_>, template: &str) -> String {
    let mut target = template.to_owned();
    if target.contains("TEXT") {
        let mut text = String::new();
        // Every byte is escaped, so that any text is a segment of a path. An empty one would be
        // another route.
        for byte in input.text().bytes() {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
        target = target.replace("TEXT", if text.is_empty() { "x" } else { &text });
    }
    let number = input.choose(&[
        "1",
        "0",
        "-1",
        "1e9",
        "999999999999999999999",
        "NaN",
        "0x10",
        " 7",
        "%00",
    ]);
    target.replace("NUMBER", &number.replace(' ', "%20"))
}

/// Makes a body: any bytes, none, many times the same, or JSON, damaged or not.
fn body(input: &mut Input<'_>) -> Vec<u8> {
    match input.below(10) {
        0 => input.bytes(),
        1 => Vec::new(),
        2 => repeated(input).into_bytes(),
        kind => {
            let mut body = String::new();
            value(input, 0, &mut body);
            let mut body = body.into_bytes();
            if kind == 3 {
                crate::damage::damage(input, &mut body);
            }
            body
        }
    }
}

/// Makes the same small thing many times, which is cheap to send and expensive to keep.
fn repeated(input: &mut Input<'_>) -> String {
    let n = 1 << input.below(14);
    let mut item = String::new();
    value(input, 3, &mut item);
    let key = input.choose(&KEYS);
    let items = |separator: &str, item: &str| vec![item; n].join(separator);
    match input.below(4) {
        0 => format!("{{\"{key}\":[{}]}}", items(",", &item)),
        1 => "[".repeat(n),
        2 => format!("{{{}}}", items(",", &format!("\"\":{item}"))),
        _ => format!("{{\"{key}\":{{\"{}\":{item}}}}}", "x".repeat(n)),
    }
}

/// Makes a value of JSON, or what looks like one.
fn value(input: &mut Input<'_>, depth: usize, out: &mut String) {
    // Behind this depth there are no more lists and objects, so that a value ends.
    let kinds = if depth > 5 { 5 } else { 9 };
    match input.below(kinds) {
        0 => out.push_str(input.choose(&["null", "true", "false"])),
        1 => out.push_str(input.choose(&[
            "0",
            "-0",
            "1",
            "1.5",
            "1e400",
            "-1e-400",
            "9007199254740993",
            "18446744073709551616",
            "NaN",
            "Infinity",
            "01",
            "1.",
        ])),
        2 | 3 => {
            let text = input.text();
            out.push_str(&serde_json::to_string(&text).expect("text has a form in JSON"));
        }
        4 => {
            let frequent = input.choose(&[
                "\"a\"",
                "\"b\"",
                "\"\\ud800\"",
                "\"\\u0000\"",
                "\"PTRN|x\"",
                "\"LEARN\"",
            ]);
            out.push_str(frequent);
        }
        5 | 6 => {
            out.push('[');
            for idx in 0..input.below(5) {
                if idx > 0 {
                    out.push(',');
                }
                value(input, depth + 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for idx in 0..input.below(6) {
                if idx > 0 {
                    out.push(',');
                }
                let key = input.choose(&KEYS);
                write!(out, "\"{key}\":").expect("a string takes everything");
                value(input, depth + 1, out);
            }
            out.push('}');
        }
    }
}
