//! The stream of events over a real WebSocket.

use futures_util::StreamExt as _;
use kato_client::protocol::event::ServerEvent;

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
