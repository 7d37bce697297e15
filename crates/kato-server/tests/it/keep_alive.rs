//! Connections stay usable whatever body a request brings: what no route reads is read over, within
//! bounds.

use std::time::Duration;

use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time;

use crate::support::{Answer, Connection, Request, Running};

/// Times between head and body of a request.
const GAPS: [u64; 3] = [0, 1, 20];

/// Routes that the document of the others does not list.
const DOCS: [&str; 3] = ["/openapi.json", "/docs", "/redoc"];

fn in_memory() -> Service {
    Service::in_memory(ServiceOptions::default())
}

/// A request whose head and body are packets of their own.
async fn send_apart(connection: &mut Connection, request: &Request, gap: u64) -> Answer {
    let bytes = request.bytes();
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    connection.stream.set_nodelay(true).unwrap();
    connection.stream.write_all(&bytes[..head]).await.unwrap();
    if gap > 0 {
        time::sleep(Duration::from_millis(gap)).await;
    }
    // A connection that was closed may break here already.
    connection.stream.write_all(&bytes[head..]).await.ok();
    let answer = connection.answer(request.is_head()).await;
    answer.unwrap_or_else(|| panic!("{request:?} with {gap} ms before its body is not answered"))
}

/// Sends the request in two packets, each gap on a connection of its own, and another request
/// behind it; the answer's status.
async fn check(server: &Running, request: &Request) -> u16 {
    let mut status = 0;
    for gap in GAPS {
        let mut connection = server.connect().await;
        let answer = send_apart(&mut connection, request, gap).await;
        status = answer.status;
        let how = format!("after {status} to {request:?} with {gap} ms before its body");
        assert_eq!(answer.header("connection"), None, "{how}");
        connection.stream.write_all(&health().bytes()).await.ok();
        let next = connection.answer(false).await;
        let next = next.unwrap_or_else(|| panic!("the connection is closed {how}"));
        assert!(next.json()["status"].is_string(), "{how}");
    }
    status
}

fn health() -> Request {
    Request::new("GET", "/health")
}

/// Method and path of every route of a server.
async fn routes(server: &Running) -> Vec<(String, String)> {
    let document = server.get("/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap();
    let listed = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(|method| (method.to_uppercase(), path.clone()))
    });
    let docs = DOCS.map(|path| ("GET".to_owned(), path.to_owned()));
    listed.chain(docs).collect()
}

/// A path of the template.
fn path(template: &str, session: &str) -> String {
    let segment = |segment: &str| match segment {
        "{session_id}" => session.to_owned(),
        parameter if parameter.starts_with('{') => "x".to_owned(),
        fixed => fixed.to_owned(),
    };
    let segments: Vec<_> = template.split('/').map(segment).collect();
    segments.join("/")
}

#[tokio::test]
async fn every_route_leaves_a_connection_that_takes_the_next_request() {
    let server = Running::memory().await;
    let routes = routes(&server).await;
    assert!(routes.len() > 40, "{routes:?}");
    for (method, template) in routes {
        for session in [server.session("n").await.as_str(), "nobody"] {
            let request = Request::new(&method, &path(&template, session));
            let status = check(&server, &request.clone().json(&json!({}))).await;
            assert!(status < 500, "{status} to {request:?}");
            // Neither what is sent in parts of unknown number, nor what is no JSON.
            check(&server, &request.clone().body(b"no JSON".to_vec())).await;
            check(&server, &request.chunked(b"{}")).await;
        }
    }
}

#[tokio::test]
async fn so_does_every_refusal() {
    let server = Running::of(in_memory(), |builder| builder.with_token("secret")).await;
    let secret = |request: Request| request.header("authorization", "Bearer secret");
    let made = secret(Request::new("POST", "/sessions")).json(&json!({"node_id": "n"}));
    let id = server.send(made).await.json()["session_id"].clone();
    let of_session = |what: &str| format!("/sessions/{}/{what}", id.as_str().unwrap());
    let no_key = Request::new("POST", &of_session("learn")).header("idempotency-key", "\u{e9}");
    let preflight = Request::new("OPTIONS", "/sessions")
        .header("origin", "http://elsewhere")
        .header("access-control-request-method", "POST");
    for (request, status) in [
        (Request::new("POST", "/sessions"), 401),
        (Request::new("DELETE", "/nowhere"), 401),
        (secret(Request::new("POST", "/nowhere")), 404),
        (secret(Request::new("POST", "/sessions/nobody/learn")), 404),
        (secret(Request::new("PUT", "/status")), 405),
        (secret(Request::new("PATCH", &of_session("learn"))), 405),
        (secret(Request::new("POST", &of_session("learn/"))), 307),
        (secret(Request::new("POST", &of_session("learn"))), 400),
        (
            secret(Request::new("POST", &of_session("extend?ttl_seconds=x"))),
            422,
        ),
        (secret(no_key), 422),
        (preflight, 401),
        (secret(crate::events::handshake("/ws")), 403),
    ] {
        let found = check(&server, &request.clone().json(&json!({}))).await;
        assert_eq!(found, status, "{request:?}");
        // Larger than all buffers on the way, yet moderate.
        let long = request.clone().body(vec![b' '; 2 << 20]);
        assert_eq!(check(&server, &long).await, status, "{request:?}");
    }
}

#[tokio::test]
async fn so_does_a_server_with_too_much_to_do() {
    let server = Running::of(in_memory(), |builder| {
        builder.with_max_concurrent_requests(0)
    })
    .await;
    for gap in GAPS {
        let mut connection = server.connect().await;
        let learn = Request::new("POST", "/sessions/s/learn").json(&json!({}));
        for _ in 0..2 {
            let answer = send_apart(&mut connection, &learn, gap).await;
            assert_eq!((answer.status, answer.header("connection")), (503, None));
        }
    }
}

// On several threads, so that the server may see a head before its body is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_that_always_sends_head_and_body_apart_needs_one_connection() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let post = |what: &str, body: Value| {
        Request::new("POST", &format!("/sessions/{id}/{what}")).json(&body)
    };
    let requests = [
        post("observe", json!({"strings": ["a"]})),
        post("observe", json!({"strings": ["b"]})),
        post("learn", json!({})),
        post("clear-stm", json!({})),
        post("finalize-training", json!({})),
        post("extend", json!({})),
    ];
    let mut connection = server.connect().await;
    for round in 0..100 {
        for request in &requests {
            let answer = send_apart(&mut connection, request, 0).await;
            assert_eq!(answer.status, 200, "{request:?} in round {round}");
        }
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_that_nobody_wants_ends_its_connection() {
    let server = Running::of(in_memory(), |builder| builder.with_max_body_bytes(1000)).await;
    let long = vec![b' '; 1001];
    for target in ["/cache/invalidate", "/nowhere"] {
        // Announced, it is not read at all.
        let mut connection = server.connect().await;
        let announced = Request::new("POST", target).body(long.clone());
        let head = &announced.bytes()[..announced.bytes().len() - long.len()];
        connection.stream.write_all(head).await.unwrap();
        let answer = connection.answer(false).await.unwrap();
        assert!(answer.status < 500);
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(connection.answer(false).await.is_none());

        // In parts, it is read to the limit.
        let mut connection = server.connect().await;
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        connection.stream.write_all(head.as_bytes()).await.unwrap();
        assert!(connection.answer(false).await.unwrap().status < 500);
        let part = format!("3e9\r\n{}\r\n", " ".repeat(1001));
        connection.stream.write_all(part.as_bytes()).await.unwrap();
        assert!(connection.answer(false).await.is_none());
    }
}

#[tokio::test]
async fn a_body_that_nobody_wants_is_not_waited_for_for_ever() {
    let timeout = Duration::from_secs(3);
    let server = Running::of(in_memory(), |builder| {
        builder
            .with_read_timeout(timeout)
            .with_max_concurrent_requests(1)
    })
    .await;
    let mut connection = server.connect().await;
    let head =
        b"POST /cache/invalidate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    connection.stream.write_all(head).await.unwrap();
    // The answer does not wait for it at all, nor does it hold up other requests.
    let began = time::Instant::now();
    assert_eq!(connection.answer(false).await.unwrap().status, 200);
    // Its place is given back a moment after its answer was read.
    while server.get("/health").await.status != 200 {
        tokio::task::yield_now().await;
    }
    assert!(began.elapsed() < timeout);
    assert!(connection.answer(false).await.is_none());
    assert!(began.elapsed() >= timeout / 2);
}

#[tokio::test]
async fn a_body_is_asked_for_only_where_it_is_wanted() {
    let server = Running::memory().await;
    let id = server.session("n").await;
    let asking = |what: &str| {
        let request = Request::new("POST", &format!("/sessions/{id}/{what}"));
        request
            .header("expect", "100-continue")
            .body(*b"{\"strings\":[\"a\"]}")
    };
    let head = |request: &Request| {
        let bytes = request.bytes();
        bytes[..bytes.len() - 17].to_vec()
    };

    let mut connection = server.connect().await;
    let observe = asking("observe");
    connection.stream.write_all(&head(&observe)).await.unwrap();
    assert_eq!(connection.answer(false).await.unwrap().status, 100);
    connection
        .stream
        .write_all(b"{\"strings\":[\"a\"]}")
        .await
        .unwrap();
    assert_eq!(connection.answer(false).await.unwrap().status, 200);
    let next = connection.send(&health()).await;
    assert_eq!(next.status, 200);

    // The client need not send it, so nobody could tell what comes next.
    for (what, status) in [("clear-stm", 200), ("nowhere", 404)] {
        let mut connection = server.connect().await;
        connection
            .stream
            .write_all(&head(&asking(what)))
            .await
            .unwrap();
        let answer = connection.answer(false).await.unwrap();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (status, Some("close"))
        );
        assert!(connection.answer(false).await.is_none());
    }
}
