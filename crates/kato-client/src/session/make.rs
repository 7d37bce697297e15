//! Creating the session, and creating it again in the state that the server lost.

use std::time::Instant;

use hyper::Method;
use kato_advice::retry::Retry;
use kato_protocol::observation::Stm;
use kato_protocol::sequence::SequenceResult;
use kato_protocol::session::{CreateSession, SessionInfo};
use kato_protocol::{Observation, Sequence};
use serde_json::{Map, Value, json};

use super::{Session, State};
use crate::calls::CallKind;
use crate::transport::Meaning;
use crate::{ClientError, KatoGeneration, checks};

/// Most observations that are restored with one request.
const REPLAYED_AT_ONCE: usize = 250;

/// The reason why there is no session.
#[derive(Debug)]
pub(super) enum CreateError {
    /// Another attempt with a new session may succeed. The half-made one teaches the node nothing.
    Retryable(ClientError),
    /// Another attempt would fail as well.
    Permanent(ClientError),
}

impl From<ClientError> for CreateError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::SessionNotFound { .. } => Self::Retryable(error),
            error => Self::Permanent(error),
        }
    }
}

impl Session {
    /// Creates a new session in the mirrored state. Whatever fails on the way, the half-made
    /// session is only abandoned.
    pub(super) async fn make(&self, state: &mut State) -> Result<String, CreateError> {
        let generation = self.transport.generation().await?;
        if !self.options.shares_node_id {
            checks::node_id(&self.options.node_id, generation)?;
        }
        let mut config = state.wanted.clone();
        checks::settings(&config, Some(generation))?;
        let mut info = self.create(&config).await?;
        state.effective = info.session_config.clone();
        state.effective.extend(config.clone());
        let limit = state.auto_learn().max_pattern_length.unwrap_or(0);
        // The limit may have been lowered below what is remembered. Replaying must then not learn;
        // otherwise it never reaches the limit.
        let hold = limit > 0 && state.mirror.n_events() as u64 >= limit;
        if hold {
            // A session that never had the limit: a request that lifts it could be late, and lift
            // it for good.
            self.delete_best_effort(&info.session_id).await;
            config.insert("max_pattern_length".to_owned(), json!(0));
            info = self.create(&config).await?;
        }
        let id = info.session_id;
        state.late_config = false;
        let mut unconfirmed = config;
        unconfirmed.retain(|key, value| info.session_config.get(key) != Some(value));
        if !unconfirmed.is_empty() {
            // A server that refuses one of the settings of a new session drops all of them
            // silently, but reports it when asked like this.
            let late = self.configure(&id, &unconfirmed).await?;
            // A late copy would set the limit to 0 again after it is switched on below.
            if late && hold {
                let what = "restoring the session".to_owned();
                return Err(CreateError::Retryable(ClientError::OutcomeUnknown {
                    what,
                    source: None,
                }));
            }
            state.late_config = late;
        }
        if !state.mirror.is_empty() {
            self.restore(&id, state, generation).await?;
        } else if generation.keeps_sessions_apart() {
            // Time is the session's in 3.10 and starts again; in 2025-10 it is the node's and goes
            // on.
            state.mirror.time = 0;
        }
        // Only when everything is restored, so that nothing of it was learned.
        if hold {
            let on = Map::from_iter([("max_pattern_length".to_owned(), json!(limit))]);
            state.late_config |= self.configure(&id, &on).await?;
        }
        Ok(id)
    }

    /// Asks the server for a session with these settings.
    async fn create(&self, config: &Map<String, Value>) -> Result<SessionInfo, ClientError> {
        let request = CreateSession {
            node_id: self.options.node_id.clone(),
            metadata: self.options.metadata.clone(),
            ttl_seconds: self.options.ttl.map(|ttl| ttl.as_secs()),
            config: (!config.is_empty()).then(|| config.clone()),
        };
        let call = self
            .transport
            .call(CallKind::Session, Method::POST, &["sessions"])
            .json(&request)?;
        // Safe to repeat: if two are made, the first one is never used and expires.
        Ok(self.transport.repeat(call).await?)
    }

    /// Changes settings; returns whether a copy of the request may still be under way.
    pub(super) async fn configure(
        &self,
        id: &str,
        config: &Map<String, Value>,
    ) -> Result<bool, ClientError> {
        let call = self
            .call(CallKind::Session, Method::POST, id, &["config"])
            .json(&json!({ "config": config }))?;
        let (_, doubt) = self.transport.repeat_noting_doubt::<Value>(call).await?;
        Ok(doubt)
    }

    /// Observes again what the mirror holds.
    async fn restore(
        &self,
        id: &str,
        state: &mut State,
        generation: KatoGeneration,
    ) -> Result<(), CreateError> {
        // In 2025-10 the node still has the emotives and metadata; observed again they would count
        // twice.
        let observations = state.mirror.replay(generation.keeps_sessions_apart());
        for piece in observations.chunks(REPLAYED_AT_ONCE) {
            state.mirror.time = self.replay(id, piece).await?;
        }
        // What is restored is compared, because everything that follows relies on it.
        if state.mirror.n_events() > 0 {
            let found = self.read_stm(id).await?;
            if !state.mirror.agrees(&found) {
                return Err(CreateError::Permanent(ClientError::NotRestored {
                    session_id: id.to_owned(),
                }));
            }
            state.mirror.set_stm(found);
        }
        Ok(())
    }

    /// Observes once more; returns the session's time after it.
    async fn replay(&self, id: &str, observations: &[Observation]) -> Result<u64, CreateError> {
        let sequence = Sequence {
            observations: observations.iter().cloned().map(Into::into).collect(),
            ..Sequence::default()
        };
        let mut call = self
            .call(
                CallKind::ObserveSequence,
                Method::POST,
                id,
                &["observe-sequence"],
            )
            .json(&sequence)?;
        let mut retry = Retry::from_start(Instant::now());
        loop {
            let failure = match self.transport.once::<SequenceResult>(&call).await {
                Ok(answer) => return Ok(answer.value.results.last().map_or(0, |last| last.time)),
                Err(failure) => failure,
            };
            match failure.meaning {
                Meaning::NotDone => {
                    if !self.transport.pause(&mut retry, &failure).await {
                        return Err(failure.error.into());
                    }
                    call.repeated = true;
                }
                // Nothing was learned, so the next session simply starts afresh: whether this copy
                // acts does not matter.
                Meaning::Doubtful
                    if failure.is_transient()
                        && self.transport.pause(&mut retry, &failure).await =>
                {
                    return Err(CreateError::Retryable(failure.error));
                }
                _ => return Err(failure.error.into()),
            }
        }
    }

    /// Returns the short-term memory of a session.
    pub(super) async fn read_stm(&self, id: &str) -> Result<Vec<Vec<String>>, ClientError> {
        let call = self.call(CallKind::Stm, Method::GET, id, &["stm"]);
        let stm: Stm = self.transport.repeat(call).await?;
        Ok(stm.stm)
    }
}
