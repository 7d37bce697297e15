#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`MongoStore`] is the store of a run. [`MongoStore::builder`] returns a [`MongoStoreBuilder`],
//!   which creates it, opens it, or adopts what a KATO wrote.
//! * [`Guard`] says how commits are kept exact.
//! * [`Error`] is what an error of the store has for its source.
//! * [`ConnectionFigures`] counts what a store sent and how often it had to try again.
//! * [`MongoRuns`] manages the runs of a server: [`MongoRun`] is one of ours, [`DiscoveredRun`]
//!   stands for databases that belong to none.

// A number that a cast has cut is another number, in documents that nobody checks.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod builder;
mod commit;
mod connection;
mod error;
mod guard;
mod layout;
mod reading;
mod record;
mod runs;
mod staging;
mod store;

pub use builder::MongoStoreBuilder;
pub use connection::ConnectionFigures;
pub use error::Error;
pub use guard::Guard;
pub use runs::{DiscoveredRun, MongoRun, MongoRuns};
pub use store::MongoStore;
