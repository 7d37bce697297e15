//! Stores and lessons that several tests use.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kato_model::{AttributeLimits, RunName};
use kato_mongo_server::{ServerOptions, is_installed, shared};
use kato_mongodb::{Guard, MongoStore, MongoStoreBuilder};
use kato_store::conformance::Fixture;
use serde_json::Value;

/// A server for all tests, with transactions; `None` where none is installed.
pub(crate) fn server() -> Option<String> {
    is_installed().then(|| shared(ServerOptions::default()))
}

/// A name that no other run has.
pub(crate) fn fresh_run() -> RunName {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    format!("t{}_{number}", std::process::id()).parse().unwrap()
}

pub(crate) fn builder(uri: &str, run: &RunName, guard: Guard) -> MongoStoreBuilder {
    MongoStore::builder(uri, run.clone())
        .with_guard(guard)
        .with_patience(Duration::from_secs(20))
}

/// Stores in runs of their own on one server.
pub(crate) struct OnServer {
    pub(crate) uri: String,
    pub(crate) guard: Guard,
}

impl Fixture for OnServer {
    type Store = MongoStore;

    fn create(&self, nodes: &[&str], configuration: Value, limits: AttributeLimits) -> MongoStore {
        let builder = builder(&self.uri, &fresh_run(), self.guard).with_limits(limits);
        builder.with_chunk(50).create(nodes, configuration).unwrap()
    }

    fn reopen(&self, store: MongoStore) -> MongoStore {
        let run = store.run().clone();
        drop(store);
        builder(&self.uri, &run, self.guard)
            .with_chunk(50)
            .open()
            .unwrap()
    }
}
