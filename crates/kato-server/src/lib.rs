#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`Server::builder`] takes a [`kato_service::Service`] and returns the settings: limits,
//!   tokens, what web pages may do, which groups of endpoints exist.
//! * [`ServerBuilder::bind`] opens the port; [`BoundServer::serve`] answers requests until it is
//!   told to stop, then finishes what has begun, closes the service and returns how it [`Stopped`].
//! * [`ServerBuilder::router`] is the same as an [`axum::Router`], for tests and for programs that
//!   serve more than KATO.
//! * [`ServerError`] says why a server did not start or did not end well.

mod access;
mod api;
mod app;
mod auth;
mod backups;
mod bodies;
mod budget;
mod call;
mod compat;
mod connection;
mod cors;
mod dispatch;
mod error;
mod events;
mod in_flight;
mod lines;
mod log_throttle;
mod meters;
mod options;
mod refusal;
mod reply;
mod resources;
mod routes;
mod server;
mod stall;
#[cfg(feature = "tls")]
mod tls;
mod weight;
mod workers;

pub use error::ServerError;
pub use server::{BoundServer, Server, ServerBuilder, Stopped};
