//! A run that a store has open.

use std::future::Future;
use std::sync::Arc;

use kato_model::AttributeLimits;
use kato_store::{Place, StoreError};

use super::lease::Lease;
use super::run_record::{NodeEntry, RunRecord};
use crate::connection::{Connection, Server};
use crate::error::Error;

/// A run that a store has open: where it lies, what it consists of, and the right to write it.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) connection: Connection,
    /// The run's database.
    pub(crate) database: String,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) limits: AttributeLimits,
    pub(crate) sharded: bool,
    /// `None` for readers.
    lease: Option<Arc<Lease>>,
}

impl OpenRun {
    /// Creates the run of a record. A lease is kept renewed by the caller.
    pub(crate) fn new(
        connection: Connection,
        database: String,
        record: RunRecord,
        lease: Option<Arc<Lease>>,
    ) -> Self {
        Self {
            connection,
            database,
            limits: record.limits(),
            sharded: record.sharded,
            nodes: record.nodes,
            lease,
        }
    }

    /// Returns the server.
    pub(crate) fn server(&self) -> &Arc<Server> {
        self.connection.server()
    }

    /// Runs a conversation with the server while the calling thread waits.
    pub(crate) fn block_on<T, F>(&self, conversation: impl FnOnce(Arc<Server>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.connection.block_on(conversation)
    }

    /// Returns the place of the run, for errors.
    pub(crate) fn place(&self) -> Place {
        self.server().place_of(&[self.database.as_str()])
    }

    /// Returns the names of the databases of the nodes.
    pub(crate) fn node_databases(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.map(|node| node.database.clone()).collect()
    }

    /// Returns the lease of a writer; fails for a store that was opened for reading.
    pub(crate) fn writer(&self) -> Result<&Arc<Lease>, StoreError> {
        self.lease.as_ref().ok_or_else(|| StoreError::ReadOnly {
            place: self.place(),
        })
    }

    /// Returns the error of a writer whose lease was taken over.
    pub(crate) fn lease_lost(&self) -> StoreError {
        Error::LeaseLost.at(self.place())
    }

    /// Gives the lease back, if there is one; see [`Lease::release`].
    pub(crate) fn release(&self) {
        if let Some(lease) = &self.lease {
            lease.release(&self.connection, &self.database);
        }
    }
}
