//! What is known of the server behind a pool of connections.

use kato_protocol::extension::Extensions;

use crate::KatoGeneration;

/// The facts about the server behind a pool of connections.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) generation: KatoGeneration,
    pub(crate) extensions: Option<Extensions>,
}

impl Server {
    /// Returns whether the server honours idempotency keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.extensions
            .as_ref()
            .is_some_and(|extensions| extensions.idempotency_keys)
    }
}
