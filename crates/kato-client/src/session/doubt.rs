//! Resolving an operation without an answer, on a server without idempotency keys: did it act?
//!
//! **What may have happened.** The request never arrived; it arrived and acted, and the answer was
//! lost; it is still on its way or still being carried out, and will act later. Repeating it
//! blindly doubles it in the second and third case.
//!
//! **Generation 3.10: looking.** An observe or a sequence saves its session once, as a whole, at
//! its end, and adds one to the session's time for every observation; a learn saves an empty
//! short-term memory. Nobody else uses the session. So a look at time (or, for a learn, the
//! short-term memory) that shows the state *after* proves that it acted. A look that shows the
//! state *before* proves only that it has not been saved yet.
//!
//! **Without learning in reach** the operation changes nothing but its session. If it is not saved
//! yet, the session is abandoned, a new one gets the mirrored state, and the operation is carried
//! out there. Whatever a late copy does to the old session, nobody sees it.
//!
//! **With learning in reach** a late copy would teach the node. Let t be the longest time that a
//! server goes on with a request (`settle`). The frequency of the first pattern that the operation
//! would learn is read; then the session is watched for t: had the pattern been learned before the
//! reading, the session would be saved by now, and seen. Then the session is deleted: what arrives
//! later finds none. What has begun before ends within t, so after that the frequency is read
//! again. If the pattern does not exist, or its frequency is what it was, then the first learn has
//! not happened and, since a request learns in order, none has. Otherwise somebody has learned the
//! pattern, and nobody can tell who: the outcome is unknown. Chunks of single symbols are first
//! resolved in another way (`neutralize_late_copy`), which works even if others teach the node the
//! same patterns.
//!
//! **Generation 2025-10.** Time belongs to the node, and an empty short-term memory may be shown as
//! another session's. Only these looks count: an empty one after a learn that had something to
//! learn, and a non-empty one that is what the operation leaves while the one before was not empty
//! and different. That no look shows the state after proves nothing, so an unchanged frequency
//! proves nothing either: only that the pattern does not exist at all does. Emotives and metadata
//! accumulate in the node: an observation that has any and was not seen to act stays unknown,
//! because abandoning its session does not undo it.

use std::time::{Duration, Instant};

use hyper::Method;
use kato_model::naming::NAME_PREFIX;
use kato_protocol::node::{PatternAnswer, PatternLookup};
use kato_protocol::percept::SessionCognition;
use kato_protocol::session::Deleted;

use super::{Operation, Session, State};
use crate::calls::CallKind;
use crate::forecast::Forecast;
use crate::mirror::{Mirror, SERVER_KEEPS};
use crate::transport::Meaning;
use crate::{ClientError, KatoGeneration};

/// Number of looks at a session while it is watched.
const LOOKS: u32 = 8;

/// The result of resolving a doubt.
#[derive(Debug)]
pub(super) enum Verdict<A> {
    // With the answer that was lost, rebuilt.
    Applied(A),
    /// It did not act and never will: the session is left behind.
    NotDone,
    Unknown,
}

/// A session as the server shows it.
#[derive(Debug)]
pub(super) enum Look {
    Seen {
        time: Option<u64>,
        stm: Vec<Vec<String>>,
    },
    Gone,
    Unreachable,
}

impl Session {
    /// Finds out whether `op`, sent to session `id`, acted.
    pub(super) async fn resolve<O: Operation>(
        &self,
        state: &mut State,
        op: &O,
        id: &str,
    ) -> Verdict<O::Answer> {
        let Ok(generation) = self.transport.generation().await else {
            return Verdict::Unknown;
        };
        let steps = op.steps();
        let started = Instant::now();
        // The cheapest case first: it acted, and only the answer was lost.
        let mut look = self.look(generation, id).await;
        let forecast = Forecast::compute(&state.mirror, state.auto_learn(), &steps);
        if let Some(answer) =
            self.applied_answer(state, op, id, generation, &look, forecast.as_ref())
        {
            return Verdict::Applied(answer);
        }
        // Without a forecast what it learns is unknown, and so has to be counted as in reach.
        let in_reach = steps.may_learn(state.mirror.n_events(), state.auto_learn())
            && forecast
                .as_ref()
                .is_none_or(|forecast| forecast.first_pattern().is_some());
        // Whether leaving the session behind also undoes what an observation has added.
        let undone = generation.keeps_sessions_apart() || !steps.have_attributes();
        if !in_reach {
            self.abandon(state).await;
            return if undone {
                Verdict::NotDone
            } else {
                Verdict::Unknown
            };
        }
        // Something could be learned whose name is not known on this side, so no frequency can be
        // asked for.
        let Some(forecast) = forecast else {
            return Verdict::Unknown;
        };
        let Some(pattern) = forecast.first_pattern() else {
            return Verdict::Unknown;
        };
        // Before the watching: see the module's documentation for why the order matters.
        let Ok(before) = self.frequency(pattern).await else {
            return Verdict::Unknown;
        };
        look = self.watch(state, op, id, generation, &forecast).await;
        if let Some(answer) = self.applied_answer(state, op, id, generation, &look, Some(&forecast))
        {
            return Verdict::Applied(answer);
        }
        // A session that could not be seen to the end may have been saved unseen, and then an
        // unchanged frequency proves nothing.
        let watched = generation.keeps_sessions_apart() && matches!(look, Look::Seen { .. });
        let can_neutralize = watched && state.mirror.n_events() == 0 && steps.are_single_symbols();
        if can_neutralize
            && let Some(verdict) = self.neutralize_late_copy(state, op, id, &forecast).await
        {
            return verdict;
        }
        // From here on no copy that arrives finds the session. One that has begun has `settle` to
        // end.
        if !self.fence(state, id).await {
            return Verdict::Unknown;
        }
        tokio::time::sleep(self.transport.settle()).await;
        let after = self.frequency(pattern).await;
        tracing::debug!(elapsed = ?started.elapsed(), "resolved a doubtful request");
        match after {
            Ok(None) if undone => Verdict::NotDone,
            Ok(after) if undone && watched && after == before => Verdict::NotDone,
            _ => Verdict::Unknown,
        }
    }

    /// Looks at the session until the operation shows, the session is gone, or the server has had
    /// all of its time: the last look begins after that.
    async fn watch<O: Operation>(
        &self,
        state: &State,
        op: &O,
        id: &str,
        generation: KatoGeneration,
        forecast: &Forecast,
    ) -> Look {
        let settle = self.transport.settle();
        let started = Instant::now();
        loop {
            let is_last = started.elapsed() >= settle;
            let look = self.look(generation, id).await;
            let is_applied = proves_applied(op, &state.mirror, generation, &look, forecast);
            if is_last || is_applied || matches!(look, Look::Gone) {
                return look;
            }
            tokio::time::sleep(pause(settle)).await;
        }
    }

    /// Deletes the session, and returns whether it is certainly gone.
    pub(super) async fn fence(&self, state: &mut State, id: &str) -> bool {
        state.id = None;
        let call = self.call(CallKind::Session, Method::DELETE, id, &[]);
        match self.transport.repeat::<Deleted>(call).await {
            Ok(_) => true,
            Err(failure) => failure.meaning == Meaning::SessionGone,
        }
    }

    /// Returns the answer if the look proves that the operation acted; the mirror then has the
    /// state that the look shows.
    pub(super) fn applied_answer<O: Operation>(
        &self,
        state: &mut State,
        op: &O,
        id: &str,
        generation: KatoGeneration,
        look: &Look,
        forecast: Option<&Forecast>,
    ) -> Option<O::Answer> {
        let forecast = forecast?;
        if !proves_applied(op, &state.mirror, generation, look, forecast) {
            return None;
        }
        let answer = op.rebuilt(forecast, id, &self.options.node_id, &state.mirror);
        op.apply(&answer, &mut state.mirror);
        // The server's own order of symbols, better than what was derived from the observations.
        if let Look::Seen { stm, .. } = look {
            state.mirror.set_stm(stm.clone());
        }
        Some(answer)
    }

    /// Looks at a session.
    pub(super) async fn look(&self, generation: KatoGeneration, id: &str) -> Look {
        // In 3.10 one answer has time and short-term memory of the same moment; the older one has
        // no such endpoint for sessions.
        let (kind, tail) = match generation.keeps_sessions_apart() {
            true => (CallKind::Node, "cognition-data"),
            false => (CallKind::Stm, "stm"),
        };
        let call = self.call(kind, Method::GET, id, &[tail]);
        let seen = match generation.keeps_sessions_apart() {
            true => self
                .transport
                .repeat::<SessionCognition>(call)
                .await
                .map(|answer| Look::Seen {
                    time: answer.cognition_data.time,
                    stm: answer.cognition_data.short_term_memory,
                }),
            false => self
                .transport
                .repeat::<kato_protocol::observation::Stm>(call)
                .await
                .map(|answer| Look::Seen {
                    time: None,
                    stm: answer.stm,
                }),
        };
        match seen {
            Ok(look) => look,
            Err(failure) if failure.meaning == Meaning::SessionGone => Look::Gone,
            Err(_) => Look::Unreachable,
        }
    }

    /// Returns how often a pattern was learned; `None` if it does not exist.
    async fn frequency(&self, name: &str) -> Result<Option<u64>, ClientError> {
        let bare = name.strip_prefix(NAME_PREFIX).unwrap_or(name);
        let call = self
            .transport
            .call(CallKind::Node, Method::GET, &["pattern", bare])
            .query("node_id", &self.options.node_id);
        let answer: PatternAnswer = self.transport.repeat(call).await?;
        Ok(match answer.pattern {
            PatternLookup::Okay { pattern } => Some(pattern.frequency),
            PatternLookup::Error { .. } => None,
        })
    }
}

/// Returns whether the session shows the state after the operation, and could show it only because
/// the operation acted.
fn proves_applied<O: Operation>(
    op: &O,
    before: &Mirror,
    generation: KatoGeneration,
    look: &Look,
    forecast: &Forecast,
) -> bool {
    let Look::Seen { time, stm } = look else {
        return false;
    };
    let n_observations = op.steps().observations.len() as u64;
    // The server cuts the memory when it saves the session; the forecast does not.
    stm.len() == forecast.stm.len().min(SERVER_KEEPS)
        && match generation.keeps_sessions_apart() {
            // Time never repeats within a session, so this alone is a proof.
            true if n_observations > 0 => *time == Some(before.time + n_observations),
            // A learn adds no time: it shows by emptying what was not empty.
            true => before.n_events() > 0 && stm.is_empty(),
            // A state that was the same before would prove nothing.
            false => {
                before.n_events() > 0
                    && forecast.exact_stm() == Some(stm)
                    && before.exact_stm().is_some_and(|before| before != *stm)
            }
        }
}

/// Returns the pause between two looks.
fn pause(settle: Duration) -> Duration {
    (settle / LOOKS).max(Duration::from_millis(1))
}
