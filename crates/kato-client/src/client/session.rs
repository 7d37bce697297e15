//! Work of a client in its session.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use kato_protocol::extension::{AskBatchRequest, BatchAnswer, NextAnswer, NextQuery};
use kato_protocol::observation::{LearnResult, ObservationResult, Stm};
use kato_protocol::percept::{PerceptAnswer, SessionCognition};
use kato_protocol::prediction::{FuturePotential, PredictionsAnswer};
use kato_protocol::sequence::SequenceResult;
use kato_protocol::session::{
    Cleared, ConfigAnswer, Exists, Extended, FinalizedTraining, SessionInfo,
};
use kato_protocol::{Observation, Prediction, Sequence};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::KatoClient;
use crate::call::Call;
use crate::calls::CallKind;
use crate::session::Learn;
use crate::{ClientError, KatoGeneration};

/// Predictions as typed values.
pub type TypedPredictions = PredictionsAnswer<Prediction, FuturePotential>;

/// The answer to a question of a batch, with predictions of all known versions.
pub type TypedBatchAnswer = BatchAnswer<Prediction, FuturePotential>;

impl KatoClient {
    /// Observes: adds an event to the short-term memory, if there is a symbol or a vector.
    ///
    /// # Errors
    ///
    /// [`ClientError::OutcomeUnknown`] if the answer was lost and the server could not tell;
    /// refusals; no connection.
    pub async fn observe(
        &self,
        observation: Observation,
    ) -> Result<ObservationResult, ClientError> {
        let session = Arc::clone(&self.session);
        self.detached("observe", async move { session.write(&observation).await })
            .await
    }

    /// Observes several observations in one request, in order, and learns as `sequence` says.
    ///
    /// A server of generation 3.10 or later carries the sequence out and keeps its effect on the
    /// session all or nothing; patterns that it has learned before a failure stay.
    ///
    /// # Errors
    ///
    /// As for [`observe`](Self::observe).
    pub async fn observe_sequence(
        &self,
        sequence: Sequence,
    ) -> Result<SequenceResult, ClientError> {
        let session = Arc::clone(&self.session);
        self.detached(
            "observe-sequence",
            async move { session.write(&sequence).await },
        )
        .await
    }

    /// Learns the short-term memory and empties it.
    ///
    /// # Errors
    ///
    /// As for [`observe`](Self::observe); status 400 if the short-term memory is empty.
    pub async fn learn(&self) -> Result<LearnResult, ClientError> {
        let session = Arc::clone(&self.session);
        self.detached("learn", async move { session.write(&Learn).await })
            .await
    }

    /// Empties the short-term memory and forgets emotives and metadata that no pattern has yet.
    ///
    /// # Errors
    ///
    /// Refusals; no connection; [`ClientError::OutcomeUnknown`] if it may have acted or not.
    pub async fn clear_stm(&self) -> Result<Cleared, ClientError> {
        let session = Arc::clone(&self.session);
        self.detached("clear-stm", async move { session.clear_stm().await })
            .await
    }

    /// Empties the node's knowledge base, for all of its sessions, and this session's short-term
    /// memory.
    ///
    /// # Errors
    ///
    /// As for [`clear_stm`](Self::clear_stm).
    pub async fn clear_all(&self) -> Result<Cleared, ClientError> {
        let session = Arc::clone(&self.session);
        self.detached("clear-all", async move { session.clear_all().await })
            .await
    }

    /// Changes settings of the session, here and wherever it is made anew.
    ///
    /// # Errors
    ///
    /// [`ClientError::Config`] for a number that the server's generation does not take, before it is sent;
    /// status 400 with the server's reasons: then nothing has changed. No connection; other refusals.
    pub async fn update_config(&self, changes: Map<String, Value>) -> Result<(), ClientError> {
        let session = Arc::clone(&self.session);
        self.detached(
            "config",
            async move { session.update_config(&changes).await },
        )
        .await
    }

    /// Returns the session's id; creates the session if there is none.
    ///
    /// # Errors
    ///
    /// When the session cannot be made.
    pub async fn session_id(&self) -> Result<String, ClientError> {
        let mut state = self.session.state.lock().await;
        self.session.id(&mut state).await
    }

    /// Returns the session as the server sees it.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn session_info(&self) -> Result<SessionInfo, ClientError> {
        self.read(CallKind::Session, Method::GET, &[]).await
    }

    /// Returns all settings in effect. The 2025-10 generation tells only those that were set, and
    /// not all of them.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn config(&self) -> Result<Map<String, Value>, ClientError> {
        match self.generation().await?.keeps_sessions_apart() {
            false => Ok(self.session_info().await?.session_config),
            true => {
                let answer: ConfigAnswer = self
                    .read(CallKind::Session, Method::GET, &["config"])
                    .await?;
                Ok(answer.config)
            }
        }
    }

    /// Returns whether the server still has the session; does not extend it. `false` before the
    /// first use.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn session_exists(&self) -> Result<bool, ClientError> {
        // Copied out, so that asking neither holds the lock nor creates the session.
        let id = self.session.state.lock().await.id.clone();
        let Some(id) = id else {
            return Ok(false);
        };
        let path = ["sessions", &id, "exists"];
        let call = self.transport.call(CallKind::Session, Method::GET, &path);
        let answer: Exists = self.transport.repeat(call).await?;
        Ok(answer.exists)
    }

    /// Lets the session live for `ttl` (whole seconds) from now on, up to its next write; then its
    /// own TTL counts again.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn extend(&self, ttl: Duration) -> Result<Extended, ClientError> {
        let seconds = ttl.as_secs().to_string();
        let query = [("ttl_seconds", seconds.as_str())];
        self.session
            // Not a read, but as harmless to repeat: it sets the same time again.
            .read(CallKind::Session, Method::POST, &["extend"], &query)
            .await
    }

    /// Returns the short-term memory.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn stm(&self) -> Result<Stm, ClientError> {
        self.read(CallKind::Stm, Method::GET, &["stm"]).await
    }

    /// Returns predictions for the short-term memory, best first.
    ///
    /// A server of the 2025-10 generation answers what the node's last observation, by any session,
    /// brought.
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn predictions(&self) -> Result<TypedPredictions, ClientError> {
        self.predictions_as().await
    }

    /// Returns predictions as any type: `serde_json::Value` for all that the server sends.
    ///
    /// # Errors
    ///
    /// No connection; a refusal; [`ClientError::Decode`] if the answer is not of the type.
    pub async fn predictions_as<P: DeserializeOwned, F: DeserializeOwned>(
        &self,
    ) -> Result<PredictionsAnswer<P, F>, ClientError> {
        self.read(CallKind::Predictions, Method::GET, &["predictions"])
            .await
    }

    /// Returns which symbols come next, with which probability and why, by the counts of what the
    /// node and the nodes above it have learned. Only kato-rs servers answer this.
    ///
    /// The context is what the server's session observed since it was made or cleared. A session
    /// that had to be made anew has its short-term memory, and nothing before it.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by another server, or with its extensions switched off; no
    /// connection; a refusal, such as of a node that there is not.
    pub async fn next(&self, query: NextQuery) -> Result<NextAnswer, ClientError> {
        self.needs_extension("next", "next").await?;
        let pairs = query.pairs();
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        self.session
            .read(CallKind::Predictions, Method::GET, &["next"], &pairs)
            .await
    }

    /// Asks many questions in one request, each as in a fresh session with the settings of this one,
    /// and returns the answers in the order of the questions. A question that has none is an
    /// [`Error`](kato_protocol::extension::BatchAnswer::Error) in its place. Only kato-rs servers
    /// answer this.
    ///
    /// The server sends answers while it makes them; they are collected here, up to
    /// [`with_max_answer_bytes`](crate::KatoClientBuilder::with_max_answer_bytes).
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by another server, or with its extensions switched off; no
    /// connection; a refusal of all questions, such as of a node above that there is not.
    pub async fn ask_batch(
        &self,
        request: AskBatchRequest,
    ) -> Result<Vec<TypedBatchAnswer>, ClientError> {
        self.ask_batch_as(request).await
    }

    /// Asks many questions as [`ask_batch`](Self::ask_batch) does, with predictions and futures of
    /// any type: `serde_json::Value` for all that the server sends.
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::Decode`] if an answer is not of the type.
    pub async fn ask_batch_as<P: DeserializeOwned, F: DeserializeOwned>(
        &self,
        request: AskBatchRequest,
    ) -> Result<Vec<BatchAnswer<P, F>>, ClientError> {
        self.needs_extension("ask-batch", "ask_batch").await?;
        let make = |call: Call| Ok(call.json(&request)?.lines());
        self.session
            .ask(CallKind::Predictions, Method::POST, &["ask-batch"], make)
            .await
    }

    /// Checks that the server has something beyond KATO, under its name in the list of extensions.
    async fn needs_extension(&self, what: &'static str, name: &str) -> Result<(), ClientError> {
        let extensions = self.extensions().await?;
        if extensions.is_some_and(|offered| offered.other.contains_key(name)) {
            return Ok(());
        }
        Err(ClientError::Unsupported {
            what,
            generation: self.generation().await?,
        })
    }

    /// Returns the last observation: of the session (3.10), or of the node by any session
    /// (2025-10).
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn percept(&self) -> Result<PerceptAnswer, ClientError> {
        match self.generation().await?.keeps_sessions_apart() {
            false => self.node_get(&["percept-data"], &[]).await,
            true => {
                self.read(CallKind::Node, Method::GET, &["percept-data"])
                    .await
            }
        }
    }

    /// Returns short-term memory, predictions and emotives: of the session (3.10), or of the node
    /// (2025-10).
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn cognition(&self) -> Result<SessionCognition, ClientError> {
        match self.generation().await?.keeps_sessions_apart() {
            false => self.node_get(&["cognition-data"], &[]).await,
            true => {
                self.read(CallKind::Node, Method::GET, &["cognition-data"])
                    .await
            }
        }
    }

    /// Computes the entropies of all patterns of the node (3.10).
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] by a server of the 2025-10 generation; no connection; a
    /// refusal.
    pub async fn finalize_training(&self) -> Result<FinalizedTraining, ClientError> {
        self.needs("finalize-training", KatoGeneration::tells_symbols)
            .await?;
        // A repetition computes the same entropies again.
        self.read(CallKind::Node, Method::POST, &["finalize-training"])
            .await
    }

    /// Leaves the session and all that it remembers, any doubt included; the next call creates a
    /// fresh one with the same settings.
    pub async fn start_over(&self) {
        self.session.start_over().await;
    }

    /// Asks something of the session that may be asked again.
    async fn read<T: DeserializeOwned>(
        &self,
        kind: CallKind,
        method: Method,
        tail: &[&str],
    ) -> Result<T, ClientError> {
        self.session.read(kind, method, tail, &[]).await
    }

    /// Checks that the server is of a generation that has something.
    pub(super) async fn needs(
        &self,
        what: &'static str,
        has: impl FnOnce(KatoGeneration) -> bool,
    ) -> Result<(), ClientError> {
        let found = self.generation().await?;
        if has(found) {
            return Ok(());
        }
        Err(ClientError::Unsupported {
            what,
            generation: found,
        })
    }
}
