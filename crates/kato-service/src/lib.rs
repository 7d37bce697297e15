#![doc = include_str!("../README.md")]
//!
//! ## Where to start
//!
//! Start with [`Service::open`], or with [`Service::in_memory`] for one that forgets everything.
//!
//! * [`Service`] serves sessions by id over the knowledge bases of their nodes, in memory or in a
//!   directory.
//! * A [`Receipt`] stands for a write that is done and not yet durable; its value comes out once it
//!   is as durable as [`Durability`] asks.
//! * [`Service::next`] says what comes next in a session, with which probability, and why.
//! * [`ServiceOptions`] sets limits, defaults and intervals; a [`Clock`] tells the time that
//!   sessions live by.
//! * [`Service::maintain`] does periodic work, [`Service::write_indexes`] writes the
//!   [indexes](indexes) that nodes are opened over, [`Service::backup`] copies a running service.
//! * [`Service::health`], [`Service::figures`] and [`Service::losses`] are for monitoring; when
//!   storage has failed, writes are refused with [`ServiceError::StorageFailed`].
//!
//! Methods block their thread: call them off the threads that an async runtime needs. Only
//! [`Receipt::acknowledged`] waits without blocking.
//!
//! [`Clock`]: clock::Clock

pub mod answer;
pub mod backups;
mod charge;
pub mod clock;
mod compact_json;
mod descriptors;
mod directory_lock;
mod disk_room;
mod error;
pub mod figures;
mod files;
mod genes;
mod heads;
mod index_writers;
pub mod indexes;
mod journal;
mod keys;
mod loss;
mod node;
mod nodes;
mod options;
mod receipt;
mod runs;
mod service;
mod session;
mod sessions;
mod steps;

pub use descriptors::Descriptors;
pub use error::{ServiceError, StorageFailure};
pub use options::{Durability, ServiceOptions};
pub use receipt::Receipt;
pub use runs::VersionedRecord;
pub use service::{MaintenanceReport, Service};
