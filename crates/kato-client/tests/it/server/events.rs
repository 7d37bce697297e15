//! The stream of events over a real WebSocket.

use futures_util::StreamExt as _;
use kato_client::protocol::event::ServerEvent;
use kato_client::{ClientError, KatoClient};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Running, session};

#[tokio::test]
async fn sessions_are_seen_to_come_and_go() {
    let server = Running::in_memory(|server| server).await;
    let client = server.builder(session()).build().unwrap();
    let mut events = client.events().await.unwrap();
    let first = events.next_event().await.unwrap().unwrap();
    assert!(
        matches!(first.event, ServerEvent::StateSnapshot(_)),
        "{first:?}"
    );
    events.ping().await.unwrap();
    let id = client.session_id().await.unwrap();
    let made = events.next_event().await.unwrap().unwrap();
    assert!(
        matches!(&made.event, ServerEvent::SessionCreated(made) if made.session_id == id),
        "{made:?}"
    );
    client.close().await.unwrap();
    let gone = events.next_event().await.unwrap().unwrap();
    assert!(
        matches!(&gone.event, ServerEvent::SessionDestroyed(gone) if gone.session_id == id),
        "{gone:?}"
    );
    server.stop().await;
    assert!(
        !matches!(events.next_event().await, Some(Ok(_))),
        "no event after the end"
    );
}

#[tokio::test]
async fn a_stream_takes_the_token_too() {
    let server = Running::in_memory(|server| server.with_token("right")).await;
    let client = server
        .builder(session())
        .with_bearer_token("right")
        .build()
        .unwrap();
    assert!(client.events().await.unwrap().next().await.is_some());
    let stranger = server.builder(session()).build().unwrap();
    assert_eq!(stranger.events().await.unwrap_err().status(), Some(401));
}

#[tokio::test]
async fn what_fails_behind_the_request_is_no_missing_connection() {
    let open = async |answer: Option<&'static str>| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let client = KatoClient::builder(address, session()).build().unwrap();
        let Some(answer) = answer else {
            drop(listener);
            return client.events().await.unwrap_err();
        };
        let served = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await.unwrap());
            }
            connection.write_all(answer.as_bytes()).await.unwrap();
        });
        let error = client.events().await.unwrap_err();
        served.await.unwrap();
        error
    };
    let error = open(None).await;
    assert!(matches!(error, ClientError::Connect { .. }), "{error:?}");
    for cut in ["", "HTTP/1.1 101 Switching Protocols\r\n"] {
        let error = open(Some(cut)).await;
        assert!(
            matches!(error, ClientError::Interrupted { .. }),
            "{error:?}"
        );
    }
    for strange in [
        "no HTTP at all\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let error = open(Some(strange)).await;
        assert!(matches!(error, ClientError::Decode { .. }), "{error:?}");
    }
}
