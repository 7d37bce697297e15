//! Pages of other origins, where they are allowed: as Starlette's middleware answers them, with
//! credentials. Where they are not, see `access`.

use kato_model::KatoGeneration;
use kato_server::ServerBuilder;
use kato_service::{Service, ServiceOptions};
use serde_json::json;

use crate::support::{Answer, Request, Running};

const ORIGIN: &str = "https://page.example";

/// A service of the last generation that lets pages send credentials.
fn service() -> Service {
    let options = ServiceOptions::default().with_generation(KatoGeneration::V3_10);
    Service::in_memory(options)
}

/// A server as open as KATO.
async fn open() -> Running {
    Running::of(service(), |builder| builder.with_cors(true)).await
}

fn preflight(method: &str) -> Request {
    Request::new("OPTIONS", "/sessions")
        .header("origin", ORIGIN)
        .header("access-control-request-method", method)
}

fn cors(answer: &Answer) -> Vec<(&str, &str)> {
    let headers = answer.headers.iter();
    let mut cors: Vec<_> = headers
        .filter(|(name, _)| name.starts_with("access-control-") || name == "vary")
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    cors.sort_unstable();
    cors
}

#[tokio::test]
async fn a_preflight_allows_every_header_and_the_known_methods() {
    let server = open().await;
    for method in ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] {
        let request = preflight(method).header("access-control-request-headers", "X-One, x-two");
        let answer = server.send(request).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "OK"));
        assert_eq!(
            cors(&answer),
            [
                ("access-control-allow-credentials", "true"),
                ("access-control-allow-headers", "X-One, x-two"),
                (
                    "access-control-allow-methods",
                    "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
                ),
                ("access-control-allow-origin", ORIGIN),
                ("access-control-max-age", "600"),
                ("vary", "Origin"),
            ]
        );
    }
    for method in ["TRACE", "post", ""] {
        let answer = server.send(preflight(method)).await;
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (400, "Disallowed CORS method"),
            "{method}"
        );
        assert_eq!(answer.header("access-control-allow-origin"), Some(ORIGIN));
        assert_eq!(answer.header("access-control-allow-headers"), None);
    }
}

#[tokio::test]
async fn without_its_headers_options_is_a_method_like_others() {
    let server = open().await;
    let plain = server.send(Request::new("OPTIONS", "/sessions")).await;
    assert_eq!((plain.status, plain.header("allow")), (405, Some("POST")));
    assert_eq!(cors(&plain), []);
    let no_method = Request::new("OPTIONS", "/sessions").header("origin", ORIGIN);
    assert_eq!(server.send(no_method).await.status, 405);
    let no_origin =
        Request::new("OPTIONS", "/sessions").header("access-control-request-method", "GET");
    assert_eq!(server.send(no_origin).await.status, 405);
}

#[tokio::test]
async fn answers_name_the_origin_only_to_requests_with_cookies() {
    let server = open().await;
    let any = [
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-origin", "*"),
    ];
    let get = |target| Request::new("GET", target).header("origin", ORIGIN);
    assert_eq!(cors(&server.send(get("/")).await), any);
    assert_eq!(cors(&server.send(get("/nowhere")).await), any);
    assert_eq!(cors(&server.send(get("/sessions/none/stm")).await), any);
    let with_cookie = server.send(get("/").header("cookie", "a=b")).await;
    assert_eq!(
        cors(&with_cookie),
        [
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-origin", ORIGIN),
            ("vary", "Origin"),
        ]
    );
    assert_eq!(cors(&server.get("/").await), []);
}

#[tokio::test]
async fn a_preflight_needs_no_token_and_what_follows_does() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| {
        builder.with_token("secret").with_cors(true)
    })
    .await;
    assert_eq!(server.send(preflight("POST")).await.status, 200);
    let refused = Request::new("POST", "/sessions").header("origin", ORIGIN);
    let refused = server.send(refused.json(&json!({"node_id": "n"}))).await;
    // Pages must be able to read why.
    assert_eq!(
        (
            refused.status,
            refused.header("access-control-allow-origin")
        ),
        (401, Some("*"))
    );
}

#[tokio::test]
async fn one_origin_can_be_allowed_alone() {
    for token in [None, Some("secret")] {
        let service = Service::in_memory(ServiceOptions::default());
        let server = Running::of(service, |builder| {
            let builder = builder.with_allowed_origin(ORIGIN);
            token.into_iter().fold(builder, ServerBuilder::with_token)
        })
        .await;
        let asked = server.send(preflight("POST")).await;
        assert_eq!(
            (asked.status, asked.header("access-control-allow-origin")),
            (200, Some(ORIGIN))
        );
        let get = |origin| Request::new("GET", "/").header("origin", origin);
        assert_eq!(
            cors(&server.send(get(ORIGIN)).await),
            [
                ("access-control-allow-credentials", "true"),
                ("access-control-allow-origin", ORIGIN),
                ("vary", "Origin"),
            ]
        );
        let other = server.send(get("https://other.example")).await;
        assert_eq!(
            (other.status, cors(&other)),
            (if token.is_some() { 200 } else { 403 }, vec![])
        );
    }
}

#[tokio::test]
async fn with_a_token_pages_elsewhere_are_told_nothing_and_need_the_token() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| builder.with_token("secret")).await;
    let refused = server.send(preflight("POST")).await;
    assert_eq!((refused.status, cors(&refused)), (401, vec![]));
    let answer = server
        .send(Request::new("GET", "/").header("origin", ORIGIN))
        .await;
    assert_eq!((answer.status, cors(&answer)), (200, vec![]));
    // By whatever name it is asked.
    let authorized = Request::new("GET", "/status")
        .host("kato.example")
        .header("authorization", "Bearer secret");
    assert_eq!(server.send(authorized).await.status, 200);
}
