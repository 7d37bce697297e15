//! Many questions to a node, each as in a fresh session.

use std::ops::Range;
use std::sync::Arc;

use kato_engine::SessionConfig;
use kato_head::{Head, SymbolId, Weights};
use kato_model::Event;
use kato_prediction::{Cancel, Cancelled};

use super::Service;
use super::batch::sorted;
use super::next::{answer, check_above, check_query};
use crate::ServiceError;
use crate::answer::asking::{Question, QuestionAnswer, QuestionBatch, QuestionKind, ScoreAnswer};
use crate::answer::{NextOutcome, NextQuestion};
use crate::node::LoadedNode;

/// Events of a text that are scored between two looks whether anybody waits.
const LOOK_EVERY: usize = 1024;

/// Bytes that a history takes for each event, about.
const READ: usize = 120;

/// What all questions of a batch have in common.
struct Ground {
    node: Arc<LoadedNode>,
    config: SessionConfig,
    sorts: bool,
    /// The processor ids and the nodes whose patterns the head counts.
    levels: (Vec<String>, Vec<Arc<LoadedNode>>),
}

impl Service {
    /// Checks a batch of questions, and counts the patterns that they ask about, so that only
    /// [asking](Self::ask_batch) is left.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn prepare_batch(
        &self,
        id: &str,
        batch: &QuestionBatch,
        cancel: &Cancel,
    ) -> Result<(), ServiceError> {
        // Once for all of them, as their names may be long.
        check_above(&batch.above)?;
        for question in &batch.questions {
            check_query(&next_query(question))?;
        }
        let ground = self.ground(id, batch)?;
        if batch.questions.iter().any(|one| one.ask.is_of_head()) {
            self.ask_head(&ground, cancel, |_| ())?;
        }
        Ok(())
    }

    /// Answers some questions of a batch, in order. Each is asked as in a fresh session with the
    /// settings of this one, whose short-term memory is neither used nor changed; answers have
    /// everything that was acknowledged before the call.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), before the first answer; of one question alone, in its place.
    pub fn ask_batch(
        &self,
        id: &str,
        batch: &QuestionBatch,
        questions: Range<usize>,
        cancel: &Cancel,
        mut take: impl FnMut(Result<QuestionAnswer, ServiceError>),
    ) -> Result<(), ServiceError> {
        let ground = self.ground(id, batch)?;
        for question in batch.questions.get(questions).unwrap_or_default() {
            take(self.ask_one(&ground, question, cancel));
        }
        Ok(())
    }

    fn ground(&self, id: &str, batch: &QuestionBatch) -> Result<Ground, ServiceError> {
        let (node_id, node, config) = self.read(id, |loaded, entry| {
            let config = loaded.session.config().clone();
            (entry.node_id.clone(), Arc::clone(&loaded.node), config)
        })?;
        Ok(Ground {
            sorts: self.sorts_symbols(&config),
            levels: self.with_above(&node_id, Arc::clone(&node), &batch.above)?,
            node,
            config,
        })
    }

    fn ask_one(
        &self,
        ground: &Ground,
        question: &Question,
        cancel: &Cancel,
    ) -> Result<QuestionAnswer, ServiceError> {
        let events = question.events.iter().filter(|event| !event.is_empty());
        if question.ask == QuestionKind::Predictions {
            let state = events.map(|event| match ground.sorts {
                true => sorted(event),
                false => event.clone(),
            });
            let state: Vec<Event> = state.collect();
            let mut found = self.predict(&ground.node, &state, &ground.config, cancel)?;
            found
                .predictions
                .truncate(question.top.unwrap_or(usize::MAX));
            return Ok(QuestionAnswer::Predictions(found));
        }
        let history = events.map(|event| match event.symbols() {
            [symbol] => Some(symbol.as_str()),
            _ => None,
        });
        let history: Vec<Option<&str>> = history.collect();
        self.ask_head(ground, cancel, |head| match question.ask {
            QuestionKind::Score => Ok(QuestionAnswer::Score(score(head, &history, cancel)?)),
            _ => {
                let next = next_of(head, &next_query(question), &history, cancel)?;
                Ok(QuestionAnswer::Next(next))
            }
        })?
    }

    fn ask_head<T>(
        &self,
        ground: &Ground,
        cancel: &Cancel,
        ask: impl FnOnce(&Head) -> T,
    ) -> Result<T, ServiceError> {
        let (key, nodes) = &ground.levels;
        let limit = self.shared.options.max_head_memory;
        let heads = &self.shared.heads;
        let asked = heads.ask((key.clone(), nodes), limit, cancel, ask);
        asked.map_err(|error| self.shared.note_level(nodes, error))
    }
}

/// Returns what a question of a batch asks of the head, as a question of its own.
fn next_query(question: &Question) -> NextQuestion {
    let default = NextQuestion::default();
    NextQuestion {
        // Predictions are bounded by the session's settings.
        top: question
            .top
            .filter(|_| question.ask.is_of_head())
            .unwrap_or(default.top),
        symbols: question.symbols.clone(),
        ..default
    }
}

/// Says what comes next, as one of many questions.
fn next_of(
    head: &Head,
    query: &NextQuestion,
    history: &[Option<&str>],
    cancel: &Cancel,
) -> Result<NextOutcome, Cancelled> {
    // Sorting the symbols once is worth it for many questions.
    let best = |next: &kato_head::NextDistribution<'_>, n| (next.top(n), next.of_unknown());
    answer(head, query, history, best, cancel)
}

/// Prices a text, symbol by symbol. Whom to trust is learned on the way.
fn score(head: &Head, history: &[Option<&str>], cancel: &Cancel) -> Result<ScoreAnswer, Cancelled> {
    cancel.reserve(|| history.len() * READ)?;
    let mut scorer = head.scorer(Weights::new());
    let mut answer = ScoreAnswer::default();
    for part in history.chunks(LOOK_EVERY) {
        cancel.check()?;
        let known: Vec<Option<SymbolId>> = part
            .iter()
            .map(|symbol| symbol.and_then(|symbol| head.symbol(symbol)))
            .collect();
        let events = part.iter().zip(&known);
        answer.unknown += events
            .filter(|(symbol, known)| symbol.is_some() && known.is_none())
            .count();
        let mut symbols = part.iter();
        scorer.score_all(&known, |probability| {
            let is_one = symbols.next().is_some_and(Option::is_some);
            answer.probabilities.push(probability.filter(|_| is_one));
        });
    }
    let prices = answer.probabilities.iter().flatten();
    // From 0, as the sum of nothing is -0.
    answer.bits = prices.fold(0.0, |bits, probability| bits - libm::log2(*probability));
    Ok(answer)
}
