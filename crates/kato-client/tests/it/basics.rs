//! What a client sends, and what its errors say.

use std::time::Duration;

use kato_client::calls::CallKind;
use kato_client::protocol::Observation;
use kato_client::{ClientError, KatoClient, KatoGeneration, SessionOptions};

use crate::mini::{Fault, Kind, Mini};

#[tokio::test]
async fn nothing_is_sent_before_the_first_call_and_the_session_is_deleted_in_the_end() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    assert!(mini.requests().is_empty());
    client
        .observe(Observation::strings(["b", "a"]))
        .await
        .unwrap();
    assert_eq!(client.stm().await.unwrap().stm, [["a", "b"]]);
    assert_eq!(mini.n_sessions(), 1);
    client.close().await.unwrap();
    assert_eq!(mini.n_sessions(), 0);
}

#[tokio::test]
async fn a_dropped_client_deletes_its_session() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.observe(Observation::strings(["a"])).await.unwrap();
    drop(client);
    while mini.n_sessions() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn forks_have_sessions_of_their_own() {
    let mini = Mini::start(Kind::Stock).await;
    let one = mini.client();
    let two = one.fork();
    one.observe(Observation::strings(["a"])).await.unwrap();
    assert_eq!(two.stm().await.unwrap().length, 0);
    assert_ne!(
        one.session_id().await.unwrap(),
        two.session_id().await.unwrap()
    );
    assert_eq!(two.calls().of(CallKind::Observe), 0);
}

#[tokio::test]
async fn generations_and_extensions_are_found_out_once() {
    for (kind, generation, extended) in [
        (Kind::Stock, KatoGeneration::V3_10, false),
        (Kind::October2025, KatoGeneration::October2025, false),
        (Kind::KatoRs, KatoGeneration::V3_10, true),
    ] {
        let mini = Mini::start(kind).await;
        let client = mini.client();
        assert_eq!(client.generation().await.unwrap(), generation);
        assert_eq!(client.extensions().await.unwrap().is_some(), extended);
        assert_eq!(client.fork().generation().await.unwrap(), generation);
        assert_eq!(mini.requests(), ["GET /", "GET /extensions"]);
    }
}

#[tokio::test]
async fn a_refusal_is_not_repeated() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    let error = client.learn().await.unwrap_err();
    assert_eq!(error.status(), Some(400));
    assert!(!error.may_have_acted());
    assert_eq!(client.calls().of(CallKind::Learn), 1);
    let error = client
        .update_genes(serde_json::Map::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Unsupported { .. }));
}

#[tokio::test]
async fn reads_are_repeated() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.session_id().await.unwrap();
    mini.fail(&[Fault::Refuse, Fault::Cut, Fault::Limit]);
    assert_eq!(client.stm().await.unwrap().length, 0);
    assert_eq!(client.calls().retries, 3);
}

#[tokio::test]
async fn no_server_is_a_connection_error_without_secrets() {
    // Bound and closed again: nobody listens there.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let policy = crate::mini::impatient().with_attempts(2);
    let client = KatoClient::builder(url, SessionOptions::new("n"))
        .with_bearer_token("hush-hush")
        .with_connect_timeout(Duration::from_secs(1))
        .with_retry(policy)
        .build()
        .unwrap();
    let error = client
        .observe(Observation::strings(["a"]))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Connect { .. }), "{error:?}");
    assert!(!format!("{error:?} {error} {client:?}").contains("hush"));
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let check = |url: &str, field: &str| {
        let error = KatoClient::builder(url, SessionOptions::new("n"))
            .build()
            .unwrap_err();
        match error {
            ClientError::Config { field: found, .. } => assert_eq!(found, field),
            error => panic!("{error}"),
        }
    };
    check("localhost:8000", "base_url");
    check("ftp://localhost", "base_url");
    check("http://user:secret@localhost", "base_url");
    let error = KatoClient::builder("http://localhost", SessionOptions::new("n"))
        .with_root_certificate("no PEM")
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("root_certificate"));
}
