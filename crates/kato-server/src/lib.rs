//! A KATO server: KATO 3.10.1's HTTP and WebSocket API over a [`kato_service::Service`], for clients in any language.
//!
//! * [`Server::builder`] sets limits and switches; [`ServerBuilder::bind`] opens the port; [`BoundServer::serve`] answers until it
//!   is told to stop, then finishes what it has begun and closes the service.
//! * [`ServerBuilder::router`] is the same as an [`axum::Router`], for tests and for programs that have more to serve.
//!
//! ```
//! use kato_server::Server;
//! use kato_service::{Service, ServiceOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Service::in_memory(ServiceOptions::default());
//! let server = Server::builder(service).with_addr(([127, 0, 0, 1], 0).into()).bind().await?;
//! assert_ne!(server.local_addr().port(), 0);
//! // A program waits for a signal instead.
//! let stop = async {};
//! server.serve(stop).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//!
//! * An answer with status 200 to a write means that it is as durable as [`kato_service::Durability`] says.
//! * What has begun runs to its end, whether or not the client still listens: a lost connection never leaves half an operation.
//!   Only predictions, which change nothing, end when nobody waits for them.
//! * No node keeps others waiting: threads are shared out by node.
//! * Memory is bounded: bodies, connections, requests, streams of events and series of figures all have limits. Beyond them a
//!   request is answered with status 503 or 413 and has not acted.
//! * A web page is not a user: without a token, requests that a page elsewhere has a browser send are refused.
//! * Answers name no files of the server: what an operator must know to mend something is in the log, under the trace id of the
//!   answer.
//! * No async thread matches patterns, waits for a session or touches a disk.
//!
//! The feature `tls` has the server speak HTTPS itself: `ServerBuilder::with_tls`.
//!
//! Logs go to the crate `tracing`, one event a request with its trace id; bodies and tokens never do.

mod access;
mod api;
mod app;
mod auth;
mod bodies;
mod budget;
mod call;
mod connection;
mod cors;
mod dispatch;
mod error;
mod events;
mod held;
mod json;
mod meters;
mod openapi;
mod options;
mod query;
mod refusal;
mod repeated;
mod reply;
mod routes;
mod server;
mod stall;
mod timestamp;
#[cfg(feature = "tls")]
mod tls;
mod validate;
mod workers;

pub use error::ServerError;
pub use server::{BoundServer, Server, ServerBuilder, Stopped};
