//! Questions of a client about what its node has learned.

use hyper::Method;
use kato_model::PatternName;
use kato_protocol::node::{
    NodeAffinities, NodeSymbols, PatternAnswer, PatternBody, PatternLookup, SymbolAffinity,
};
use kato_protocol::observation::EmotiveValues;
use kato_protocol::percept::{Gene, GenesUpdated};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::KatoClient;
use crate::calls::CallKind;
use crate::{ClientError, KatoGeneration};

impl KatoClient {
    /// Returns a pattern of the node; `None` if it has none of that name.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn pattern(&self, name: &PatternName) -> Result<Option<PatternBody>, ClientError> {
        let answer: PatternAnswer = self.node_get(&["pattern", &name.to_string()], &[]).await?;
        Ok(match answer.pattern {
            PatternLookup::Okay { pattern } => Some(pattern),
            PatternLookup::Error { .. } => None,
        })
    }

    /// Returns counts of all symbols of the node (3.10).
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by a server of the 2025-10 generation; no connection; a
    /// refusal.
    pub async fn symbols(&self) -> Result<NodeSymbols, ClientError> {
        self.needs("symbols/stats", KatoGeneration::tells_symbols)
            .await?;
        self.node_get(&["symbols", "stats"], &[]).await
    }

    /// Returns affinities of all symbols of the node (3.10).
    ///
    /// # Errors
    ///
    /// As for [`symbols`](Self::symbols).
    pub async fn affinities(&self) -> Result<NodeAffinities, ClientError> {
        self.needs("symbols/affinity", KatoGeneration::tells_symbols)
            .await?;
        self.node_get(&["symbols", "affinity"], &[]).await
    }

    /// Returns the affinity of one symbol of the node (3.10); empty if it has none.
    ///
    /// # Errors
    ///
    /// As for [`symbols`](Self::symbols).
    pub async fn affinity(&self, symbol: &str) -> Result<EmotiveValues, ClientError> {
        if !is_path_segment(symbol) {
            // Any text can be a symbol, but not every text can be asked for in a path.
            let all = self.affinities().await?;
            return Ok(all.affinities.get(symbol).cloned().unwrap_or_default());
        }
        self.needs("symbols/{symbol}/affinity", KatoGeneration::tells_symbols)
            .await?;
        let answer: SymbolAffinity = self.node_get(&["symbols", symbol, "affinity"], &[]).await?;
        Ok(answer.affinity)
    }

    /// Changes settings of the node for all of its sessions (2025-10).
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by a server of another generation, except one of kato-rs with its
    /// extensions switched on; no connection; a refusal.
    pub async fn update_genes(
        &self,
        genes: Map<String, Value>,
    ) -> Result<GenesUpdated, ClientError> {
        self.may_have_genes().await?;
        let call = self
            .transport
            .call(CallKind::Node, Method::POST, &["genes", "update"])
            .query("node_id", self.node_id())
            // Wrapped, so that a gene that is called `genes` is not taken for the wrapper.
            .json(&json!({ "genes": genes }))?;
        Ok(self.transport.repeat(call).await?)
    }

    /// Returns a setting of the node (2025-10); `None` if there is none of that name.
    ///
    /// # Errors
    ///
    /// As for [`update_genes`](Self::update_genes).
    pub async fn gene(&self, name: &str) -> Result<Option<Value>, ClientError> {
        self.may_have_genes().await?;
        if !is_path_segment(name) {
            return Ok(None);
        }
        match self.node_get::<Gene>(&["gene", name], &[]).await {
            Ok(gene) => Ok(Some(gene.value)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks that the server may have genes: a kato-rs server has them in addition to the
    /// endpoints of 3.10.
    async fn may_have_genes(&self) -> Result<(), ClientError> {
        let server = self.transport.server().await?;
        if server.extensions.is_some() {
            return Ok(());
        }
        self.needs("genes", |found| !found.keeps_sessions_apart())
            .await
    }

    /// Asks something about the node.
    pub(super) async fn node_get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let mut call = self
            .transport
            .call(CallKind::Node, Method::GET, path)
            .query("node_id", self.node_id());
        for (name, value) in query {
            call = call.query(name, value);
        }
        Ok(self.transport.repeat(call).await?)
    }
}

/// Returns whether a text can stand between two slashes. The empty text, `.` and `..` cannot, nor
/// can a slash, which servers read as one however it is encoded.
pub(super) fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains('/')
}
