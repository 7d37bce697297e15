//! A web page is not a user: what a browser sends for pages elsewhere is refused.

use kato_service::{Service, ServiceOptions};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::events::handshake;
use crate::support::{Request, Running};

/// What a page can have a browser send without asking first.
fn requests(id: &str) -> [Request; 5] {
    let session = |what: &str| format!("/sessions/{id}/{what}");
    [
        Request::new("POST", &session("clear-all")),
        Request::new("POST", &session("observe")).body(*b"{\"strings\":[\"theirs\"]}"),
        Request::new("GET", &session("stm")),
        Request::new("GET", "/health"),
        Request::new("DELETE", &format!("/sessions/{id}")),
    ]
}

async fn in_memory(
    configure: impl FnOnce(kato_server::ServerBuilder) -> kato_server::ServerBuilder,
) -> Running {
    Running::of(Service::in_memory(ServiceOptions::default()), configure).await
}

/// All requests are refused, and none of them acts.
async fn are_refused(server: &Running, of_page: impl Fn(Request) -> Request, says: &str) {
    let id = server.session("n").await;
    let stm = Request::new("GET", &format!("/sessions/{id}/stm"));
    let observe = Request::new("POST", &format!("/sessions/{id}/observe"));
    server
        .send(observe.json(&json!({"strings": ["ours"]})))
        .await;
    for request in requests(&id).into_iter().chain([handshake("/ws/events")]) {
        let answer = server.send(of_page(request.clone())).await;
        assert_eq!(answer.status, 403, "{request:?}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(says), "{detail}");
        let opened = answer
            .headers
            .iter()
            .any(|(name, _)| name.starts_with("access-control"));
        assert!(!opened, "{request:?}");
    }
    assert_eq!(server.send(stm).await.json()["stm"], json!([["ours"]]));
}

#[tokio::test]
async fn requests_of_pages_elsewhere_are_refused() {
    let server = in_memory(|builder| builder).await;
    let port = server.addr.port();
    let neighbour = format!("http://127.0.0.1:{}", port ^ 1);
    for origin in [
        "https://page.example",
        "null",
        "http://localhost.page.example",
        "http://localhost:3000",
        "",
        &neighbour,
    ] {
        let own = format!("127.0.0.1:{port}");
        are_refused(
            &server,
            |request| request.host(&own).header("origin", origin),
            "pages of",
        )
        .await;
    }
    let preflight = Request::new("OPTIONS", "/sessions")
        .header("origin", "https://page.example")
        .header("access-control-request-method", "POST");
    assert_eq!(server.send(preflight).await.status, 403);
    // An image or a script has no origin.
    for site in ["cross-site", "same-site"] {
        let of_page = |request: Request| {
            let request = request.header("sec-fetch-site", site);
            request.header("sec-fetch-mode", "no-cors")
        };
        are_refused(&server, of_page, "pages elsewhere").await;
    }
}

#[tokio::test]
async fn requests_by_a_name_that_a_page_made_lead_here_are_refused() {
    let server = in_memory(|builder| builder).await;
    for host in [
        "page.example",
        "page.example:8000",
        "127.0.0.1.page.example",
        "192.168.7.7:8000",
    ] {
        // Its page is one of the server's, as the browser sees it.
        let origin = format!("http://{host}");
        are_refused(
            &server,
            |request| request.host(host).header("origin", &origin),
            "by the name",
        )
        .await;
        are_refused(&server, |request| request.host(host), "by the name").await;
    }
    // A second name, or one in the target, is no way around.
    are_refused(
        &server,
        |request| request.header("host", "page.example"),
        "by the name",
    )
    .await;
    let mut connection = server.connect().await;
    let absolute = b"GET http://page.example/health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    connection.stream.write_all(absolute).await.unwrap();
    assert_eq!(connection.answer(false).await.unwrap().status, 403);
}

#[tokio::test]
async fn programs_the_servers_own_pages_and_links_are_as_welcome_as_ever() {
    let server = in_memory(|builder| builder.with_allowed_host("kato.example")).await;
    let port = server.addr.port();
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "LocalHost",
        "kato.example",
    ] {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let get = || Request::new("GET", "/docs").host(&host);
            assert_eq!(server.send(get()).await.status, 200, "{host}");
            let own_page = get()
                .header("origin", &format!("http://{host}"))
                .header("sec-fetch-site", "same-origin");
            assert_eq!(server.send(own_page).await.status, 200, "{host}");
            let behind_tls = get().header("origin", &format!("https://{host}"));
            assert_eq!(server.send(behind_tls).await.status, 200, "{host}");
            let link = get()
                .header("sec-fetch-site", "cross-site")
                .header("sec-fetch-mode", "navigate");
            assert_eq!(server.send(link).await.status, 200, "{host}");
        }
    }
    let mut connection = server.connect().await;
    let without_host = b"GET /health HTTP/1.0\r\n\r\n";
    connection.stream.write_all(without_host).await.unwrap();
    assert_eq!(connection.answer(false).await.unwrap().status, 200);
}

#[tokio::test]
async fn whoever_asks_for_katos_openness_gets_it() {
    let server = in_memory(|builder| builder.with_cors(true)).await;
    let of_page = |request: Request| {
        let request = request
            .host("page.example")
            .header("sec-fetch-site", "cross-site");
        request.header("origin", "https://page.example")
    };
    let id = server.session("n").await;
    for request in requests(&id) {
        let answer = server.send(of_page(request)).await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (200, Some("*"))
        );
    }
    assert_eq!(
        server.send(of_page(handshake("/ws/events"))).await.status,
        101
    );
}
