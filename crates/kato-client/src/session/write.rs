//! Carrying out an operation exactly once, or reporting that nobody can tell.

use std::time::Instant;

use hyper::Method;
use kato_advice::retry::Retry;
use kato_protocol::extension::{BatchItem, LearnBatchRequest, LearnBatchResult};
use kato_protocol::session::Cleared;
use uuid::Uuid;

use super::doubt::Verdict;
use super::{MAX_SESSIONS, Operation, Session, State};
use crate::ClientError;
use crate::calls::CallKind;
use crate::transport::{Failure, Meaning};

/// The attempts at one operation that acts once.
#[derive(Debug)]
struct WriteAttempts {
    // One key for all attempts, in whatever session: a server's keys belong to the node, so that
    // an operation can be repeated from the session that replaces a lost one.
    key: String,
    requests: Retry,
    sessions: u32,
    /// Whether an earlier attempt, with the same key, may have acted.
    doubt: bool,
}

impl WriteAttempts {
    /// Creates the state before the first attempt.
    fn new() -> Self {
        Self {
            key: Uuid::new_v4().to_string(),
            requests: Retry::from_start(Instant::now()),
            sessions: 1,
            doubt: false,
        }
    }
}

impl Session {
    /// Carries out an operation on the session.
    pub(crate) async fn write<O: Operation>(&self, op: &O) -> Result<O::Answer, ClientError> {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        let mut attempts = WriteAttempts::new();
        loop {
            let id = self.session_for(state, &attempts, &op.what()).await?;
            // If nothing can be learned, a doubt is resolved by looking or by a new session, and
            // the server need not keep a key.
            let may_learn = op
                .steps()
                .may_learn(state.mirror.n_events(), state.auto_learn());
            let keyed = may_learn && self.transport.server().await?.has_keys();
            let mut call = op.call(self, &id)?;
            call.repeated = attempts.requests.failures() > 0;
            if keyed {
                call = call.key(&attempts.key);
            } else if op.steps().observations.is_empty() && state.mirror.exact_stm().is_none() {
                // A learn: its symbols must be known before, so that the name of the pattern can be
                // asked for whatever happens.
                match self.read_stm(&id).await {
                    Ok(stm) => state.mirror.set_stm(stm),
                    Err(ClientError::SessionNotFound { .. })
                        if attempts.sessions < MAX_SESSIONS =>
                    {
                        attempts.sessions += 1;
                        state.id = None;
                        // The session was lost between the two requests.
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            let failure = match self.transport.once::<O::Answer>(&call).await {
                Ok(answer) => {
                    op.apply(&answer.value, &mut state.mirror);
                    if answer.replayed && attempts.sessions > 1 {
                        // It acted on an earlier session: this one does not have its effect, and
                        // the next one is made from the mirror, which does.
                        self.abandon(state).await;
                    }
                    return Ok(answer.value);
                }
                Err(failure) => failure,
            };
            if failure.meaning == Meaning::Doubtful && !keyed {
                match self.resolve(state, op, &id).await {
                    Verdict::Applied(answer) => return Ok(answer),
                    // Sent again below, in another session: this one was left behind.
                    Verdict::NotDone if failure.is_transient() => {}
                    Verdict::NotDone => return Err(failure.error),
                    Verdict::Unknown => return Err(doubt(state, op.what(), failure.error)),
                }
            }
            self.prepare_retry(state, &mut attempts, keyed, &op.what(), failure)
                .await?;
        }
    }

    /// Sends an operation to a session, and again only while it was certainly not carried out.
    /// Otherwise the session is left alone, also if the caller no longer waits: the next operation
    /// has another.
    pub(crate) async fn write_once<O: Operation>(
        &self,
        id: &str,
        op: &O,
    ) -> Result<O::Answer, ClientError> {
        let mut state = self.state.lock().await;
        let mut retry = Retry::from_start(Instant::now());
        // Forgotten until the answer is here: a future that is dropped meanwhile leaves no session
        // that a later operation could use.
        state.id = None;
        loop {
            let mut call = op.call(self, id)?;
            call.repeated = retry.failures() > 0;
            let failure = match self.transport.once::<O::Answer>(&call).await {
                Ok(answer) => {
                    state.id = Some(id.to_owned());
                    return Ok(answer.value);
                }
                Err(failure) => failure,
            };
            match failure.meaning {
                Meaning::NotDone if self.transport.pause(&mut retry, &failure).await => {}
                Meaning::Doubtful => {
                    return Err(ClientError::OutcomeUnknown {
                        what: op.what(),
                        source: Some(Box::new(failure.error)),
                    });
                }
                Meaning::NotDone | Meaning::Refused | Meaning::SessionGone => {
                    return Err(failure.error);
                }
            }
        }
    }

    /// Returns the session to try in. That there is none is no answer for an operation that may
    /// have acted in another.
    async fn session_for(
        &self,
        state: &mut State,
        attempts: &WriteAttempts,
        what: &str,
    ) -> Result<String, ClientError> {
        match self.id(state).await {
            Err(error) if attempts.doubt => Err(doubt(state, what.to_owned(), error)),
            found => found,
        }
    }

    /// Prepares the next attempt, if there is to be one.
    async fn prepare_retry(
        &self,
        state: &mut State,
        attempts: &mut WriteAttempts,
        keyed: bool,
        what: &str,
        failure: Failure,
    ) -> Result<(), ClientError> {
        attempts.doubt |= keyed && failure.meaning == Meaning::Doubtful;
        match failure.meaning {
            // At once and without a pause: nothing is wrong with the server.
            Meaning::SessionGone if attempts.sessions < MAX_SESSIONS => {
                attempts.sessions += 1;
                state.id = None;
                return Ok(());
            }
            Meaning::NotDone | Meaning::Doubtful
                if self.transport.pause(&mut attempts.requests, &failure).await =>
            {
                return Ok(());
            }
            Meaning::Refused if is_definite(failure.status) && attempts.doubt => {
                // A copy may still be under way, and a server does not remember the key of a
                // request that it refused: what is observed from now on must not be there for it to
                // learn.
                self.abandon(state).await;
            }
            _ if attempts.doubt => return Err(doubt(state, what.to_owned(), failure.error)),
            _ => {}
        }
        Err(failure.error)
    }

    /// Teaches many sequences at once on a server that offers it.
    pub(crate) async fn learn_batch(
        &self,
        sequences: Vec<BatchItem>,
        key: Option<String>,
    ) -> Result<LearnBatchResult, ClientError> {
        let request = LearnBatchRequest { sequences };
        // Serialized once: every attempt sends the same bytes, as its key demands.
        let body = serde_json::to_vec(&request).map_err(|error| ClientError::Config {
            field: "sequences",
            reason: error.to_string(),
        })?;
        let mut state = self.state.lock().await;
        let mut attempts = WriteAttempts::new();
        if let Some(key) = key {
            attempts.key = key;
        }
        let what = format!("learn-batch of {} sequences", request.sequences.len());
        loop {
            let id = self.session_for(&mut state, &attempts, &what).await?;
            let mut call = self
                .call(CallKind::LearnBatch, Method::POST, &id, &["learn-batch"])
                .key(&attempts.key);
            call.body = Some(body.clone());
            call.repeated = attempts.requests.failures() > 0;
            match self.transport.once(&call).await {
                Ok(answer) => return Ok(answer.value),
                Err(failure) => {
                    self.prepare_retry(&mut state, &mut attempts, true, &what, failure)
                        .await?;
                }
            }
        }
    }

    /// Empties the short-term memory.
    pub(crate) async fn clear_stm(&self) -> Result<Cleared, ClientError> {
        let mut state = self.state.lock().await;
        let mut sessions = 1;
        loop {
            let id = self.id(&mut state).await?;
            let mut call = self.call(CallKind::Clear, Method::POST, &id, &["clear-stm"]);
            if self.transport.server().await?.has_keys() {
                call = call.key(&Uuid::new_v4().to_string());
            }
            // To clear twice is to clear, so a lost answer is no reason to ask.
            match self.transport.repeat_noting_doubt(call).await {
                Ok((cleared, late)) => {
                    state.mirror.clear();
                    if late {
                        // A late copy must not clear what is observed from now on.
                        self.abandon(&mut state).await;
                    }
                    return Ok(cleared);
                }
                Err(failure)
                    if failure.meaning == Meaning::SessionGone && sessions < MAX_SESSIONS =>
                {
                    sessions += 1;
                    state.id = None;
                    // The new session is to be empty as well, so there is nothing to restore.
                    state.mirror.clear();
                }
                Err(failure) if failure.meaning == Meaning::Doubtful => {
                    return Err(doubt(&mut state, "clear-stm".to_owned(), failure.error));
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    /// Empties the node's knowledge base and the short-term memory.
    pub(crate) async fn clear_all(&self) -> Result<Cleared, ClientError> {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        let mut attempts = WriteAttempts::new();
        loop {
            let id = self.session_for(state, &attempts, "clear-all").await?;
            let keyed = self.transport.server().await?.has_keys();
            let mut call = self.call(CallKind::Clear, Method::POST, &id, &["clear-all"]);
            call.repeated = attempts.requests.failures() > 0;
            if keyed {
                call = call.key(&attempts.key);
            }
            let failure = match self.transport.once::<Cleared>(&call).await {
                Ok(answer) => {
                    state.mirror.clear();
                    return Ok(answer.value);
                }
                Err(failure) => failure,
            };
            if failure.meaning == Meaning::Doubtful && !keyed {
                // A late copy would delete what is learned from now on: it is shut out before the
                // next attempt.
                if !self.fence(state, &id).await {
                    return Err(doubt(state, "clear-all".to_owned(), failure.error));
                }
                tokio::time::sleep(self.transport.settle()).await;
            }
            self.prepare_retry(state, &mut attempts, keyed, "clear-all", failure)
                .await?;
        }
    }
}

/// Returns whether the server has looked at the key and at the request, so that no earlier attempt
/// has acted.
const fn is_definite(refusal: Option<u16>) -> bool {
    matches!(refusal, None | Some(400 | 409 | 413 | 422))
}

/// Notes a doubt, after which the session accepts no work, and returns its error.
fn doubt(state: &mut State, what: String, error: ClientError) -> ClientError {
    state.doubt = Some(what.clone());
    ClientError::OutcomeUnknown {
        what,
        source: Some(Box::new(error)),
    }
}
