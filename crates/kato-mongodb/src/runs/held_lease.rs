//! Leases that keep writers away from a run while it is copied or deleted.

use std::sync::Arc;

use kato_store::StoreError;

use crate::connection::{Server, Sessions};
use crate::record::{Lease, RunRecord, acquire, renew_while_open};

/// The lease of a run, renewed until it ends.
pub(crate) struct HeldLease {
    server: Arc<Server>,
    database: String,
    lease: Arc<Lease>,
    pub(crate) record: RunRecord,
}

impl HeldLease {
    /// Takes the lease of a run. To be called by a conversation only: renewing is a task of the
    /// connection.
    pub(crate) async fn acquire(server: &Arc<Server>, database: &str) -> Result<Self, StoreError> {
        let (lease, record) = acquire(server, database, &Sessions::default()).await?;
        let lease = Arc::new(lease);
        let renew = renew_while_open(
            Arc::downgrade(&lease),
            Arc::clone(server),
            database.to_owned(),
        );
        tokio::spawn(renew);
        Ok(Self {
            server: Arc::clone(server),
            database: database.to_owned(),
            lease,
            record,
        })
    }

    /// Returns the databases of the nodes.
    pub(crate) fn databases(&self) -> Vec<String> {
        let nodes = self.record.nodes.iter();
        nodes.map(|node| node.database.clone()).collect()
    }

    /// Gives the lease back.
    pub(crate) async fn end(self) {
        self.lease.end(&self.server, &self.database).await;
    }
}

/// Drops databases, in the order given.
pub(crate) async fn drop_databases(
    server: &Arc<Server>,
    names: &[String],
) -> Result<(), StoreError> {
    for name in names {
        let drop = || async { Ok(server.database(name).drop().await?) };
        server.retry("delete a run", drop).await?;
    }
    Ok(())
}
