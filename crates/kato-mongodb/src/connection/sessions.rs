//! The sessions of transactions: a fixed number, named in the run's record, so that the next writer
//! can end what a crash left open.

use std::sync::{Arc, Mutex, PoisonError};

use kato_store::StoreError;
use mongodb::ClientSession;
use mongodb::bson::{Document, doc};

use super::operation_error::OperationError;
use super::server::Server;

/// The sessions of a writer.
#[derive(Default)]
pub(crate) struct Sessions {
    /// Those that no bulk uses now.
    idle: Mutex<Vec<ClientSession>>,
    /// The ids of all of them, as the server has them.
    ids: Vec<Document>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    /// Starts as many sessions as bulks are in flight.
    pub(crate) async fn open(server: &Server, number: usize) -> Result<Self, StoreError> {
        let mut idle = Vec::with_capacity(number);
        for _ in 0..number {
            idle.push(session(server).await?);
        }
        let ids = idle.iter().map(|session| session.id().clone()).collect();
        Ok(Self {
            idle: Mutex::new(idle),
            ids,
        })
    }

    /// Returns the ids of all sessions, for the record of the run.
    pub(crate) fn ids(&self) -> &[Document] {
        &self.ids
    }

    /// Takes an idle session, or starts one.
    pub(crate) async fn take(&self, server: &Server) -> Result<ClientSession, StoreError> {
        let idle = self.idle().pop();
        match idle {
            Some(session) => Ok(session),
            None => session(server).await,
        }
    }

    /// Gives a session back.
    pub(crate) fn put(&self, session: ClientSession) {
        self.idle().push(session);
    }

    /// Locks the sessions that no bulk uses now.
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<ClientSession>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a session.
async fn session(server: &Server) -> Result<ClientSession, StoreError> {
    let start = || async { server.session().await };
    server.retry("start a session", start).await
}

/// Ends sessions of a writer that is gone, with the transactions that it left open: they would hold
/// their documents for a minute.
pub(crate) async fn end_sessions(server: &Arc<Server>, ids: &[Document]) {
    if ids.is_empty() {
        return;
    }
    let admin = server.database("admin");
    if let Err(error) = admin.run_command(doc! {"killSessions": ids}).await {
        // Without the right to do so, or without an answer, the server's own limit ends them a
        // minute later.
        let error = OperationError::from(error);
        tracing::debug!(
            code = error.code(),
            "sessions of the last writer are not ended"
        );
    }
}
