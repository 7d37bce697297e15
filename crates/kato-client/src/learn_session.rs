//! Teaching a server without idempotency keys: every request is sent once, and if nobody can tell
//! whether it acted, that is the answer.

use std::sync::Arc;

use hyper::Method;
use kato_model::PatternName;
use kato_protocol::Sequence;
use kato_protocol::extension::BatchItem;
use kato_protocol::node::NodeSymbols;
use kato_protocol::session::Deleted;
use serde::de::IgnoredAny;

use crate::batch::{check_names, is_plain, name_of, normalized, observations};
use crate::calls::CallKind;
use crate::session::{Learn, Session};
use crate::transport::{Failure, Meaning};
use crate::{ClientError, KatoClient, KatoGeneration};

/// Bytes of a node's symbols that are read to find out whether there are any.
const BLANK_BYTES: usize = 64 << 10;

/// A session that teaches patterns, one request at a time, for callers that find out themselves
/// what a request without an answer has done.
///
/// A stock KATO learns a request chunk by chunk, stores each at once, and goes on when nobody
/// listens any more. What a request without an answer has done can therefore be found out only
/// chunk by chunk, by asking for the patterns once the server is done with it.
/// [`learn_all`](KatoClient::learn_all) cannot do that for its caller, because it does not know who
/// else teaches the node.
///
/// Protocol: [`request_len`](Self::request_len) returns how many items go together,
/// [`id`](Self::id) the session that they go to, so that it can be written down before, and
/// [`learn`](Self::learn) sends them once. After [`ClientError::OutcomeUnknown`] the session is
/// left alone: [`KatoClient::fence`] waits until nothing of it is at work any more, and the next
/// [`id`](Self::id) is another one.
///
/// ```no_run
/// use kato_client::protocol::extension::BatchItem;
/// use kato_client::{ClientError, KatoClient};
///
/// # async fn example(client: KatoClient, items: Vec<BatchItem>) -> Result<(), ClientError> {
/// let mut session = client.learn_session(4).await?;
/// let mut rest = items.as_slice();
/// while !rest.is_empty() {
///     let (now, later) = rest.split_at(session.request_len(rest, 50));
///     let id = session.id(now).await?;
///     match session.learn(&id, now).await {
///         Ok(()) => rest = later,
///         Err(ClientError::OutcomeUnknown { .. }) => {
///             client.fence(&id).await?;
///             // Ask for the patterns of `now` until they change no more, and go on with what is missing.
///             todo!()
///         }
///         Err(error) => return Err(error),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LearnSession {
    chunk_size: usize,
    generation: KatoGeneration,
    /// A session that learns on its own whenever a chunk is complete.
    runs: Arc<Session>,
    /// A session that learns when told to.
    manual: Arc<Session>,
    /// A session of one item.
    alone: Arc<Session>,
    /// Whether emotives or metadata of an item are still in the manual session, where the next
    /// pattern would get them.
    has_leftover_attributes: bool,
    /// Whether the server was found to have lost a session since that was last asked.
    has_lost_session: bool,
}

impl LearnSession {
    /// Returns how many of the items, from the first on, one request teaches: at least one, if
    /// there are any, and at most `most`.
    ///
    /// On a server of generation 3.10 or later neighbours of exactly the chunk size, one symbol an
    /// event, without emotives or metadata, go together, and a shorter one may end them. All others,
    /// and all on a server of the 2025-10 generation, go alone.
    #[must_use]
    pub fn request_len(&self, items: &[BatchItem], most: usize) -> usize {
        // At least one, so that a caller's loop makes progress, and 0 only for no items.
        let most = most.clamp(1, items.len().max(1)).min(items.len());
        if !self.generation.keeps_sessions_apart() {
            return most.min(1);
        }
        let is_whole = |item: &&BatchItem| self.goes_together(item) && self.is_whole(item);
        let whole = items[..most].iter().take_while(is_whole).count();
        match items[..most].get(whole) {
            // A shorter item may end the request, because the learn at the end takes it; an odd
            // item goes alone.
            Some(item) if whole == 0 || self.goes_together(item) => whole + 1,
            _ => whole,
        }
    }

    /// Returns the session that a request with these items goes to; creates it if there is none.
    ///
    /// # Errors
    ///
    /// When the session cannot be made.
    pub async fn id(&mut self, items: &[BatchItem]) -> Result<String, ClientError> {
        let session = self.session_for(items);
        let is_manual = Arc::ptr_eq(&session, &self.manual);
        if is_manual && self.has_leftover_attributes {
            let before = session.state.lock().await.id.clone();
            if session.clear_stm().await.is_err() {
                // A new session has nothing of it.
                session.start_over().await;
            }
            self.has_leftover_attributes = false;
            // A session that was gone was made again, under another id.
            let after = session.state.lock().await.id.clone();
            self.has_lost_session |= before.is_some() && after.is_some() && before != after;
        }
        let mut state = session.state.lock().await;
        session.id(&mut state).await
    }

    /// Teaches the items with one request, which is sent again only if it was certainly not carried
    /// out; on a KATO 6.x, what is no whole chunk is learned by a second request.
    ///
    /// Each item must have two symbols or more.
    ///
    /// # Errors
    ///
    /// [`ClientError::OutcomeUnknown`] when the first items, all of them or none may have been
    /// learned, or may be learned later; [`ClientError::SessionNotFound`] when there is no such
    /// session any more, and nothing was learned; [`ClientError::NameMismatch`] when the server
    /// learned something else; refusals; no connection.
    pub async fn learn(&mut self, id: &str, items: &[BatchItem]) -> Result<(), ClientError> {
        let items: Vec<BatchItem> = items.iter().map(normalized).collect();
        let names: Vec<Option<PatternName>> = items.iter().map(name_of).collect();
        let Some(last) = items.last() else {
            return Ok(());
        };
        let session = self.session_for(&items);
        let is_manual = Arc::ptr_eq(&session, &self.manual);
        // Whole chunks are learned as they are completed; there would be nothing left to learn.
        let has_rest = is_manual || !self.is_whole(last);
        // A learn at the end of a sequence that fails is passed over in silence. Asked for by itself, it
        // says why: of servers that retire patterns that has to be known.
        let learns_apart = self.generation.can_retire();
        let observations = items.iter().flat_map(observations).map(Into::into);
        let sequence = Sequence {
            observations: observations.collect(),
            learn_at_end: has_rest && !learns_apart,
            ..Sequence::default()
        };
        if is_manual && self.generation.keeps_sessions_apart() {
            // Before the request: whatever becomes of it, the next item starts clean.
            self.has_leftover_attributes = items.iter().any(|item| !is_plain(item));
        }
        let answer = session.write_once(id, &sequence).await?;
        let mut found = answer.auto_learned_patterns;
        if has_rest && learns_apart {
            let learned = session.write_once(id, &Learn).await;
            let learned = learned.map_err(|error| match error {
                // Lost between the two: the others were learned.
                ClientError::SessionNotFound { .. } if items.len() > 1 => {
                    ClientError::OutcomeUnknown {
                        what: format!("learning {} patterns", items.len()),
                        source: Some(Box::new(error)),
                    }
                }
                error => error,
            });
            found.push(learned?.pattern_name);
        }
        check_names(names, found.iter().map(String::as_str))
    }

    /// Returns a new session for [`learn_alone`](Self::learn_alone).
    ///
    /// # Errors
    ///
    /// When the session cannot be made.
    pub async fn id_alone(&self) -> Result<String, ClientError> {
        self.alone.start_over().await;
        let mut state = self.alone.state.lock().await;
        self.alone.id(&mut state).await
    }

    /// Teaches one item, with a request that observes and one that learns, so that the server says why
    /// it cannot be learned: where chunks are learned as they are completed, a pattern that it has
    /// retired is to it one failure like another.
    ///
    /// # Errors
    ///
    /// [`ClientError::Retired`], and as [`learn`](Self::learn).
    pub async fn learn_alone(&self, id: &str, item: &BatchItem) -> Result<(), ClientError> {
        let item = normalized(item);
        let sequence = Sequence {
            observations: observations(&item).map(Into::into).collect(),
            ..Sequence::default()
        };
        self.alone.write_once(id, &sequence).await?;
        let learned = self.alone.write_once(id, &Learn).await?;
        check_names([name_of(&item)], [learned.pattern_name.as_str()])
    }

    /// Returns whether [`id`](Self::id) has found since the last call that the server had lost a
    /// session: then it may have lost what it learned as well. A loss that
    /// [`learn`](Self::learn) meets is its error.
    pub fn take_lost_session(&mut self) -> bool {
        std::mem::take(&mut self.has_lost_session)
    }

    /// Ends the sessions on the server, as far as possible.
    pub async fn close(self) {
        self.runs.start_over().await;
        self.manual.start_over().await;
        self.alone.start_over().await;
    }

    /// Returns the session for a request with these items.
    fn session_for(&self, items: &[BatchItem]) -> Arc<Session> {
        let together = self.generation.keeps_sessions_apart()
            && items.iter().all(|item| self.goes_together(item));
        Arc::clone(if together { &self.runs } else { &self.manual })
    }

    /// Returns whether an item may be part of a sequence that is learned chunk by chunk.
    fn goes_together(&self, item: &BatchItem) -> bool {
        is_plain(item)
            && item.events.len() <= self.chunk_size
            && item.events.iter().all(|event| event.len() == 1)
    }

    /// Returns whether an item is exactly one chunk long.
    fn is_whole(&self, item: &BatchItem) -> bool {
        item.events.len() == self.chunk_size
    }
}

impl KatoClient {
    /// Creates a session that teaches this client's node items of `chunk_size` events and others;
    /// see [`LearnSession`].
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or is no KATO server.
    pub async fn learn_session(&self, chunk_size: usize) -> Result<LearnSession, ClientError> {
        let options = &self.session.options;
        let session = |length| Session::new(self.transport.clone(), options.for_lessons(length));
        Ok(LearnSession {
            chunk_size,
            generation: self.generation().await?,
            runs: session(chunk_size),
            manual: session(0),
            alone: session(0),
            has_leftover_attributes: false,
            has_lost_session: false,
        })
    }

    /// Waits until a session is not at work, as far as the server tells, and ends it: requests for
    /// it that come later find none.
    ///
    /// A KATO handles one request of a session after the other, so a question that waits its turn
    /// is answered when everything before it is done. That does not cover a server of several
    /// processes, each with turns of its own, nor a request that was overtaken on its way.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or does not end the session.
    pub async fn fence(&self, session_id: &str) -> Result<(), ClientError> {
        // A read that takes the lock of the session, as observing and learning do.
        let path = ["sessions", session_id, "predictions"];
        let call = self
            .transport
            .call(CallKind::Predictions, Method::GET, &path);
        match self.transport.repeat::<IgnoredAny>(call).await {
            Ok(_) => {}
            Err(failure) if is_gone(&failure) => return Ok(()),
            // A refusal is no answer to the question, but it had its turn.
            Err(failure) if failure.status.is_some() => {}
            Err(failure) => return Err(failure.error),
        }
        let call = self
            .transport
            .call(CallKind::Session, Method::DELETE, &path[..2]);
        match self.transport.repeat::<Deleted>(call).await {
            Ok(_) => Ok(()),
            Err(failure) if is_gone(&failure) => Ok(()),
            Err(failure) => Err(failure.error),
        }
    }

    /// Returns whether the node knows no symbol, as one that has learned nothing; `None` if the server
    /// cannot tell (2025-10).
    ///
    /// # Errors
    ///
    /// No connection; a refusal.
    pub async fn is_blank(&self) -> Result<Option<bool>, ClientError> {
        if !self.generation().await?.tells_symbols() {
            return Ok(None);
        }
        let mut call = self
            .transport
            .call(CallKind::Node, Method::GET, &["symbols", "stats"])
            .query("node_id", self.node_id());
        call.max_bytes = Some(BLANK_BYTES);
        match self.transport.repeat::<NodeSymbols>(call).await {
            Ok(found) => Ok(Some(found.symbols.is_empty())),
            Err(failure) => match failure.error {
                // More symbols than the client reads are certainly some.
                ClientError::TooLong { .. } => Ok(Some(false)),
                error => Err(error),
            },
        }
    }
}

/// Returns whether there is no such session, also if the text that says so was cut.
fn is_gone(failure: &Failure) -> bool {
    failure.meaning == Meaning::SessionGone || matches!(failure.status, Some(404 | 410))
}
