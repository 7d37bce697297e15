//! The event stream at `/ws/events`.

use std::process;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kato_protocol::event::{ServerEvent, SessionCreated, SessionDestroyed, StateSnapshot};
use kato_service::Service;
use serde_json::Value;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};
use tokio::time::{self, Instant, MissedTickBehavior};

use crate::api::health::storage_status;
use crate::compat::timestamp;
use crate::options::Options;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// Path of the stream.
pub(crate) const PATH: &str = "/ws/events";

/// Most events by which a client may be behind before it is dropped.
const BACKLOG: usize = 1024;

/// Longest time that a client may take to accept a message, unless the server's own write time-out
/// is shorter.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Shortest time between pings: an interval of zero is a panic in tokio.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// Largest message that a client may send: it has nothing to say but `ping`.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Upper bound of the number of clients: more than a machine has ports.
const MAX_CLIENTS: u32 = 1 << 16;

/// The sender of events to all clients.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    sender: broadcast::Sender<Utf8Bytes>,
    places: Arc<Semaphore>,
    n_places: u32,
    closing: watch::Sender<bool>,
}

impl Events {
    /// Creates a stream with places for so many clients.
    pub(crate) fn new(max_clients: usize) -> Self {
        let n_places = u32::try_from(max_clients)
            .unwrap_or(u32::MAX)
            .min(MAX_CLIENTS);
        Self {
            sender: broadcast::Sender::new(BACKLOG),
            places: Arc::new(Semaphore::new(n_places as usize)),
            n_places,
            closing: watch::Sender::new(false),
        }
    }

    /// Announces a session that was created.
    pub(crate) fn session_created(&self, session_id: &str, node_id: &str, at: SystemTime) {
        self.send(|| {
            ServerEvent::SessionCreated(SessionCreated {
                session_id: session_id.to_owned(),
                node_id: node_id.to_owned(),
                created_at: timestamp::iso_offset(at),
            })
        });
    }

    /// Announces a session that was deleted.
    pub(crate) fn session_destroyed(&self, session_id: &str) {
        self.send(|| {
            ServerEvent::SessionDestroyed(SessionDestroyed {
                session_id: session_id.to_owned(),
                destroyed_at: timestamp::iso_offset(SystemTime::now()),
                reason: "explicit_delete".to_owned(),
            })
        });
    }

    /// Tells all streams to end: each client gets a close message.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Waits until all streams have ended. To be called after [`close`](Self::close).
    pub(crate) async fn finish(&self) {
        // Each stream holds one place, so all places are free when no stream is left.
        let all = self.places.acquire_many(self.n_places).await;
        drop(all.expect("the places of streams are never closed"));
    }

    /// Returns the number of clients.
    pub(crate) fn n_clients(&self) -> usize {
        self.sender.receiver_count()
    }

    /// Sends an event to all clients, if there are any.
    fn send(&self, event: impl FnOnce() -> ServerEvent) {
        if self.n_clients() > 0 {
            let text = message(&event(), &timestamp::iso_offset(SystemTime::now()));
            // An error means that the last client has gone in the meantime.
            let _ = self.sender.send(text);
        }
    }
}

/// Returns the event as it is sent, with its time.
fn message(event: &ServerEvent, timestamp: &str) -> Utf8Bytes {
    let mut value = serde_json::to_value(event).expect("events are plain data");
    if let Value::Object(map) = &mut value {
        map.insert("timestamp".to_owned(), Value::from(timestamp));
    }
    value.to_string().into()
}

/// Returns whether the request asks for a WebSocket.
pub(crate) fn is_handshake(method: &Method, headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE);
    method == Method::GET
        && upgrade.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Answers the handshake.
pub(crate) async fn accept(
    events: &Events,
    options: &Options,
    service: &Service,
    parts: &mut Parts,
    path: &str,
) -> Response {
    // Starlette refuses the handshake of a WebSocket that it has no route for with 403, not with
    // 404.
    if path != PATH {
        return StatusCode::FORBIDDEN.into_response();
    }
    // Taken before the handshake and held until the stream ends, so that handshakes under way count
    // as well.
    let Ok(place) = Arc::clone(&events.places).try_acquire_owned() else {
        let refusal = Refusal::overloaded("there are as many event streams as the server allows");
        return Reply::from(refusal)
            .in_form_of(options.generation)
            .into_response(false, None);
    };
    let stream = Stream {
        // Before the handshake is complete, so that no event between it and the first message is
        // missed.
        events: events.sender.subscribe(),
        closing: events.closing.subscribe(),
        silence: options.event_timeout,
        within: options.write_timeout.min(SEND_TIMEOUT),
        service: service.clone(),
        tells_worker: options.generation.tells_worker(),
        _place: place,
    };
    match WebSocketUpgrade::from_request_parts(parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_MESSAGE_BYTES)
            // A frame is read as a whole before it counts as a part of a message: without this
            // bound of its own each client could make the server hold 16 MiB.
            .max_frame_size(MAX_MESSAGE_BYTES)
            .on_upgrade(move |socket| stream.serve(socket)),
        Err(rejection) => rejection.into_response(),
    }
}

/// The stream of one client.
struct Stream {
    events: broadcast::Receiver<Utf8Bytes>,
    closing: watch::Receiver<bool>,
    /// Longest time that the client may be silent.
    silence: Duration,
    /// Longest time that it may take to accept a message.
    within: Duration,
    service: Service,
    tells_worker: bool,
    _place: OwnedSemaphorePermit,
}

impl Stream {
    /// Serves one client until it goes or falls behind, or the server stops.
    async fn serve(self, mut socket: WebSocket) {
        let Self {
            mut events,
            mut closing,
            silence,
            within,
            ..
        } = self;
        let mut heard = Instant::now();
        let mut pings = time::interval((silence / 2).max(LEAST_INTERVAL));
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick of an interval is immediate.
        pings.tick().await;
        if !send(
            &mut socket,
            Message::Text(snapshot(&self.service, self.tells_worker)),
            within,
        )
        .await
        {
            return;
        }
        while !*closing.borrow() {
            let answer = tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => Message::Text(event),
                    // Events were overwritten before this client took them. A stream with a gap would
                    // look like a whole one, so it ends: code 1013, try again later.
                    Err(broadcast::error::RecvError::Lagged(n_missed)) => {
                        tracing::warn!(n_missed, "an event stream fell behind and is closed");
                        return close(&mut socket, 1013, "too slow", within).await;
                    }
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                message = socket.recv() => {
                    // Any message is a sign of life, also the answer to a ping.
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) if text.as_str() == "ping" => Message::text("pong"),
                        // Pings of the protocol itself are answered by the library.
                        Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => continue,
                        Some(Ok(Message::Close(_))) => {
                            // The library answers it when it is asked for what follows.
                            let _ = time::timeout(within, socket.recv()).await;
                            return;
                        }
                        Some(Err(_)) => {
                            return close(&mut socket, 1002, "no WebSocket message, or a long one", within).await;
                        }
                        None => return,
                    }
                }
                _ = pings.tick() => {
                    if heard.elapsed() >= silence {
                        tracing::debug!("a client of the event stream is silent and is dropped");
                        return close(&mut socket, 1011, "no answer to a ping", within).await;
                    }
                    Message::Ping(Bytes::new())
                }
                // The condition of the loop ends it, with a close message.
                _ = closing.changed() => continue,
            };
            if !send(&mut socket, answer, within).await {
                return;
            }
        }
        // What was announced before the server began to close is sent before it says so.
        while let Some(event) = next_queued(&mut events) {
            let Ok(event) = event else {
                return close(&mut socket, 1013, "too slow", within).await;
            };
            if !send(&mut socket, Message::Text(event), within).await {
                return;
            }
        }
        // 1012 announces a restart, so a client knows that it may connect again.
        close(&mut socket, 1012, "the server is shutting down", within).await;
    }
}

/// Returns the message with which a stream begins.
fn snapshot(service: &Service, tells_worker: bool) -> Utf8Bytes {
    let snapshot = ServerEvent::StateSnapshot(StateSnapshot {
        active_sessions: service.n_sessions() as u64,
        system_status: storage_status(service).to_owned(),
        worker_pid: tells_worker.then(process::id),
    });
    // KATO stamps this one message with its local time, without a zone.
    message(&snapshot, &timestamp::iso_local(SystemTime::now()))
}

/// Returns the next event that waits, if one does; an error where events were overwritten.
fn next_queued(
    events: &mut broadcast::Receiver<Utf8Bytes>,
) -> Option<Result<Utf8Bytes, TryRecvError>> {
    match events.try_recv() {
        Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        event => Some(event),
    }
}

/// Sends a message; returns `false` if the client has gone or does not take it in time.
async fn send(socket: &mut WebSocket, message: Message, within: Duration) -> bool {
    matches!(
        time::timeout(within, socket.send(message)).await,
        Ok(Ok(()))
    )
}

/// Sends a close message. Whether the client takes it does not matter: the stream ends anyway.
async fn close(socket: &mut WebSocket, code: u16, reason: &'static str, within: Duration) {
    let frame = CloseFrame {
        code,
        reason: Utf8Bytes::from_static(reason),
    };
    send(socket, Message::Close(Some(frame)), within).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_when_the_stream_ends_is_still_sent() {
        let events = Events::new(1);
        let mut stream = events.sender.subscribe();
        for id in ["first", "second"] {
            events.session_destroyed(id);
        }
        events.close();
        for id in ["first", "second"] {
            let event = next_queued(&mut stream).unwrap().unwrap();
            assert!(event.as_str().contains(id));
        }
        assert!(next_queued(&mut stream).is_none());
    }
}
