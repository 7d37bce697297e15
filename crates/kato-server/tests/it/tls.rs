//! HTTPS that the server speaks itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kato_server::{Server, ServerError};
use kato_service::{Service, ServiceOptions};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Request, Running};

fn in_memory() -> Service {
    Service::in_memory(ServiceOptions::default())
}

/// Writes a certificate that signs itself and its key; a client that trusts it.
fn certify(dir: &Path) -> TlsConnector {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(dir.join("certificate.pem"), made.cert.pem()).unwrap();
    fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn secure(dir: &Path) -> Running {
    let timeout = Duration::from_secs(3);
    Running::of(in_memory(), |builder| {
        let builder = builder.with_read_timeout(timeout).with_max_connections(1);
        builder.with_tls(dir.join("certificate.pem"), dir.join("key.pem"))
    })
    .await
}

/// Sends a request on a connection of its own; the whole answer.
async fn ask(server: &Running, client: &TlsConnector, request: Request) -> String {
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = client.connect(name, stream).await.unwrap();
    let request = request.header("connection", "close");
    stream.write_all(&request.bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn requests_are_answered_over_tls_to_those_who_trust_the_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let client = certify(dir.path());
    let server = secure(dir.path()).await;
    let session = Request::new("POST", "/sessions").json(&json!({"node_id": "n"}));
    let answer = ask(&server, &client, session).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let answer = ask(&server, &client, Request::new("GET", "/health/")).await;
    assert!(
        answer.contains("location: https://localhost/health\r\n"),
        "{answer}"
    );

    let stranger = certify(dir.path());
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    assert!(stranger.connect(name, stream).await.is_err());
    assert!(server.stop().await.unwrap().is_ok());
}

#[tokio::test]
async fn whoever_shakes_no_hands_holds_up_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let client = certify(dir.path());
    let server = secure(dir.path()).await;
    // The only place is taken for as long as a handshake may take.
    let silent = TcpStream::connect(server.addr).await.unwrap();
    let answer = ask(&server, &client, Request::new("GET", "/health")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let mut plain = server.connect().await;
    plain
        .stream
        .write_all(&Request::new("GET", "/health").bytes())
        .await
        .unwrap();
    assert!(
        plain.answer(false).await.is_none(),
        "it is no longer plain HTTP"
    );
    drop(silent);
}

#[tokio::test]
async fn files_that_are_no_certificate_or_key_are_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    certify(dir.path());
    fs::write(dir.path().join("empty"), "").unwrap();
    for (certificate, key, wrong) in [
        ("missing", "key.pem", "missing"),
        ("empty", "key.pem", "empty"),
        ("certificate.pem", "certificate.pem", "certificate.pem"),
        ("certificate.pem", "missing", "missing"),
    ] {
        let builder = Server::builder(in_memory()).with_addr(([127, 0, 0, 1], 0).into());
        let bound = builder
            .with_tls(dir.path().join(certificate), dir.path().join(key))
            .bind()
            .await;
        let Err(ServerError::Tls { path, .. }) = bound else {
            panic!("{certificate} and {key} are taken");
        };
        assert_eq!(path, dir.path().join(wrong));
    }
}
