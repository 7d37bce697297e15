//! The stream of events of a server.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::rt::TokioIo;
use kato_protocol::event::ServerEvent;
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tower_service::Service as _;

use crate::ClientError;
use crate::connect::Connection;
use crate::transport::Pool;

const PATH: &str = "/ws/events";

/// The question whether the connection is alive, and the answer to it: texts of KATO's own, not the
/// control frames of WebSocket.
const PING: &str = "ping";
const PONG: &str = "pong";

/// An event with its time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TimedEvent {
    /// Time of the event, ISO 8601: UTC, except in the first event, which has the server's local
    /// time without a zone.
    pub timestamp: String,
    /// The event.
    pub event: ServerEvent,
}

/// The events of a server as they happen, returned by
/// [`KatoClient::events`](crate::KatoClient::events).
///
/// Ends when the connection ends; events until the next connection are lost, and connecting again
/// is up to the caller. The first event is a snapshot of the server.
pub struct EventStream {
    socket: WebSocketStream<TokioIo<Connection>>,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

impl EventStream {
    /// Opens the stream of a server.
    pub(crate) async fn open(pool: &Pool) -> Result<Self, ClientError> {
        let target = pool.base.below(&["ws", "events"]);
        let uri = target.uri()?;
        let mut request = target
            .socket_uri()?
            .into_client_request()
            .map_err(|error| not_connected(error.into()))?;
        for (name, value) in &pool.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        let mut connector = pool.connector.clone();
        let timeout = connector.timeout();
        let opening = async {
            let connection = connector.call(uri).await.map_err(not_connected)?;
            let connection = TokioIo::new(connection);
            tokio_tungstenite::client_async(request, connection)
                .await
                .map_err(not_open)
        };
        // Bounds the opening alone: an open stream may be silent for as long as nothing happens.
        let (socket, _) =
            tokio::time::timeout(timeout, opening)
                .await
                .map_err(|_| ClientError::Timeout {
                    method: "GET",
                    path: PATH.to_owned(),
                })??;
        Ok(Self { socket })
    }

    /// Asks the server for a sign of life. Its answer is no event; a connection that is dead ends
    /// the stream.
    ///
    /// # Errors
    ///
    /// [`ClientError::Interrupted`] if the connection has ended.
    pub async fn ping(&mut self) -> Result<(), ClientError> {
        self.socket.send(Message::text(PING)).await.map_err(broken)
    }

    /// Returns the next event; `None` after the connection was closed.
    pub async fn next_event(&mut self) -> Option<Result<TimedEvent, ClientError>> {
        self.next().await
    }
}

impl Stream for EventStream {
    type Item = Result<TimedEvent, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let message = match ready!(self.socket.poll_next_unpin(cx)) {
                Some(Ok(message)) => message,
                Some(Err(
                    tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed,
                ))
                | None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(broken(error)))),
            };
            match message {
                Message::Text(text) if text.as_str() == PONG => {}
                Message::Text(text) => return Poll::Ready(Some(event(&text))),
                Message::Close(_) => return Poll::Ready(None),
                // KATO sends none of these as events; pings are answered by the library.
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// Parses an event with its time.
fn event(text: &str) -> Result<TimedEvent, ClientError> {
    let not_read = |error: serde_json::Error| ClientError::Decode {
        method: "GET",
        path: PATH.to_owned(),
        source: Box::new(error),
    };
    let value: Value = serde_json::from_str(text).map_err(not_read)?;
    // Beside the event's own keys, and so not a part of its type.
    let timestamp = value["timestamp"].as_str().unwrap_or_default().to_owned();
    let event = serde_json::from_value(value).map_err(not_read)?;
    Ok(TimedEvent { timestamp, event })
}

/// Creates the error of a stream that was not opened though the request was sent.
fn not_open(error: tungstenite::Error) -> ClientError {
    use tungstenite::Error;
    use tungstenite::error::ProtocolError;
    match error {
        Error::Http(response) => ClientError::Status {
            status: response.status().as_u16(),
            method: "GET",
            path: PATH.to_owned(),
            detail: "the server does not open a stream of events".to_owned(),
        },
        Error::Io(_)
        | Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::HandshakeIncomplete) => broken(error),
        // There is an answer, of something that is no such stream.
        error => ClientError::Decode {
            method: "GET",
            path: PATH.to_owned(),
            source: Box::new(error),
        },
    }
}

/// Creates the error of a connection that was not made.
fn not_connected(source: Box<dyn std::error::Error + Send + Sync>) -> ClientError {
    ClientError::Connect {
        method: "GET",
        path: PATH.to_owned(),
        source,
    }
}

/// Creates the error of a stream that broke, be it before it was open.
fn broken(error: tungstenite::Error) -> ClientError {
    ClientError::Interrupted {
        method: "GET",
        path: PATH.to_owned(),
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_typed_and_unknown_ones_kept() {
        let check = |text: &str| event(text).expect("an event");
        let made = check(
            r#"{"event_type":"session.created","timestamp":"2026-11-20T22:09:33+00:00",
                "data":{"session_id":"s","node_id":"n","created_at":"t"}}"#,
        );
        assert_eq!(made.timestamp, "2026-11-20T22:09:33+00:00");
        assert!(matches!(made.event, ServerEvent::SessionCreated(_)));
        let new = check(r#"{"event_type":"moon.rise","timestamp":"t","data":{}}"#);
        assert!(matches!(new.event, ServerEvent::Other(_)));
        assert!(event("no json").is_err());
    }
}
