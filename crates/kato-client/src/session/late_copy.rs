//! Making a late copy of chunks harmless, for nodes that others teach the same patterns, so that
//! frequencies prove nothing.
//!
//! For a server of generation 3.10, and for single symbols that go into an empty short-term memory,
//! as training sends them. The session is told to learn after every observation
//! (`max_pattern_length` 1). A copy that begins after that learns single symbols, which teach
//! nothing, and leaves nothing for a learn in the end. The session is left behind whatever comes of
//! it, so emotives and metadata that the copy leaves there go nowhere.
//!
//! A copy that has begun before ends within t (`settle`), and saves the session as it read it, with
//! its own time and the old setting: both are looked at after t.
//!
//! | time | setting | what happened |
//! |---|---|---|
//! | stood still | | no copy has acted; one that comes now is harmless |
//! | moved after the setting was answered | 1 | a copy read the new setting: harmless |
//! | moved after the setting was answered | the old one | a copy read the old setting and wrote it back: it acted as a whole |
//! | had moved by then | | either: frequencies must tell |
//!
//! The request with the setting may itself be late: it is repeated until it is answered, and what
//! it sets twice is the same. Only the third row needs it to have been answered at once, since a
//! second copy would set 1 over what the operation wrote. A session that is gone, or a server that
//! does not answer, decides nothing here.
//!
//! The remaining risk: a stock server that reads a session for the setting, and writes it back
//! after the operation has written it in between, forgets that the operation acted. For that the
//! operation has to end within the milliseconds of that one request, after it was not seen for all
//! of t.

use hyper::Method;
use kato_protocol::session::ConfigAnswer;
use serde_json::{Map, Value, json};

use super::doubt::{Look, Verdict};
use super::{Operation, Session, State};
use crate::KatoGeneration;
use crate::calls::CallKind;
use crate::forecast::Forecast;

/// The setting that decides when to learn.
const SETTING: &str = "max_pattern_length";

impl Session {
    /// Finds out whether the operation acted, if that can be told; the session is then left behind.
    pub(super) async fn neutralize_late_copy<O: Operation>(
        &self,
        state: &mut State,
        op: &O,
        id: &str,
        forecast: &Forecast,
    ) -> Option<Verdict<O::Answer>> {
        let generation = KatoGeneration::V3_10;
        let setting = Map::from_iter([(SETTING.to_owned(), json!(1))]);
        let late = self.configure(id, &setting).await.ok()?;
        // The fourth row of the table: the copy had read the session before the setting, or after
        // it.
        if time(&self.look(generation, id).await)? != state.mirror.time {
            return None;
        }
        tokio::time::sleep(self.transport.settle()).await;
        let look = self.look(generation, id).await;
        // The rows of the table, in order. `late` rules out the third: its setting of 1 could be a
        // second copy's.
        let verdict = if time(&look)? == state.mirror.time {
            Verdict::NotDone
        } else if late {
            return None;
        } else if self.limit(id).await? == 1 {
            Verdict::NotDone
        } else {
            let answer = self.applied_answer(state, op, id, generation, &look, Some(forecast))?;
            Verdict::Applied(answer)
        };
        self.abandon(state).await;
        Some(verdict)
    }

    /// Returns the setting as the server has it.
    async fn limit(&self, id: &str) -> Option<u64> {
        let call = self.call(CallKind::Session, Method::GET, id, &["config"]);
        let answer: ConfigAnswer = self.transport.repeat(call).await.ok()?;
        answer.config.get(SETTING).and_then(Value::as_u64)
    }
}

/// Returns the session's time, if it was seen.
fn time(look: &Look) -> Option<u64> {
    match look {
        Look::Seen { time, .. } => *time,
        Look::Gone | Look::Unreachable => None,
    }
}
