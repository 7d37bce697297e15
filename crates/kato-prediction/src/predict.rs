//! Predictions of a state: search, metrics of the survivors, ranking, texts.

mod ensemble;
mod futures;
mod known;
mod single_symbol;
mod survivor;
mod texts;

use kato_model::{Event, PatternName};

use self::ensemble::Ensemble;
pub(crate) use self::texts::text_bytes;
use crate::cancel::{Cancel, Cancelled, unwrap_uncancelled};
use crate::candidate::Candidates;
use crate::config::RankMetric;
use crate::search::{Ranked, SearchWork, TieOrder, full_scan, search};
use crate::state::State;
use crate::{PatternIndex, Prediction, PredictionConfig, Predictions};

/// Number of candidates per prediction asked for that KATO keeps, by `pre_potential`, before
/// it computes the other metrics.
const CANDIDATES_PER_PREDICTION: usize = 3;

impl PatternIndex {
    /// Returns the patterns that a state resembles, best first, and what they expect next.
    ///
    /// The predictions are those of [a generation of KATO](PredictionConfig::generation). The state is a short-term memory, oldest event
    /// first. One symbol alone is answered by the patterns that begin with it, whatever the threshold and
    /// the filters; no symbol at all by nothing. If more than three times `max_predictions` patterns reach the threshold, the
    /// best by [`pre_potential`](Prediction::pre_potential) are kept, then the best by the
    /// ranking metric. Ties go to the earlier name up to KATO 4.x and to the later one from 5.x on, so an
    /// answer is a function of patterns, state and settings.
    ///
    /// Cost: see [`PatternIndex`]. Grows with all patterns, not just promising ones, with fuzzy
    /// matching, and for states several times as long as the patterns, where the score says little
    /// about the number of matches. Similarity by characters is computed of the candidates that score
    /// high enough.
    #[must_use]
    pub fn predict(&self, state: &[Event], config: &PredictionConfig) -> Predictions {
        unwrap_uncancelled(self.predict_unless(state, config, &Cancel::never()))
    }

    /// Predicts as [`predict`](Self::predict) does, unless it is cancelled from another thread.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] soon after [`Cancel::cancel`] was called.
    pub fn predict_unless(
        &self,
        state: &[Event],
        config: &PredictionConfig,
        cancel: &Cancel,
    ) -> Result<Predictions, Cancelled> {
        self.answer(state, config, cancel, |state, candidates, limit| {
            search(self, state, candidates, limit)
        })
    }

    /// Predicts as [`predict`](Self::predict) does, and tells what the search did.
    ///
    /// One symbol alone is answered without a search.
    #[must_use]
    pub fn predict_with_work(
        &self,
        state: &[Event],
        config: &PredictionConfig,
    ) -> (Predictions, SearchWork) {
        let cancel = Cancel::never();
        let mut work = SearchWork::default();
        let answer = self.answer(state, config, &cancel, |state, candidates, limit| {
            let found = search(self, state, candidates, limit);
            work = candidates.work;
            found
        });
        (unwrap_uncancelled(answer), work)
    }

    /// Predicts as [`predict`](Self::predict) does, by comparing the state with every pattern.
    ///
    /// The yardstick of the search's exactness and speed.
    #[must_use]
    pub fn predict_by_full_scan(&self, state: &[Event], config: &PredictionConfig) -> Predictions {
        let cancel = Cancel::never();
        let answer = self.answer(state, config, &cancel, |state, candidates, limit| {
            full_scan(self, state, candidates, limit)
        });
        unwrap_uncancelled(answer)
    }

    /// Predicts with the candidates that `find` returns for a state, settings and a limit.
    fn answer(
        &self,
        events: &[Event],
        config: &PredictionConfig,
        cancel: &Cancel,
        find: impl FnOnce(&State<'_>, &mut Candidates<'_>, usize) -> Result<Vec<Ranked>, Cancelled>,
    ) -> Result<Predictions, Cancelled> {
        cancel.check()?;
        let state = State::new(events, self.symbol_table());
        if state.len() == 0 || config.max_predictions == 0 {
            return Ok(Predictions::default());
        }
        if state.len() == 1 {
            if !config.generation.single_symbols_are_ordinary() {
                // KATO answered one symbol in a way of its own, with predictions of another shape.
                return single_symbol::predict(self, &state, config, cancel);
            }
            let config = single_symbol::ordinary(config);
            return self.answer_of(&state, &config, cancel, |state, candidates, limit| {
                single_symbol::find(self, state, candidates, limit)
            });
        }
        self.answer_of(&state, config, cancel, find)
    }

    /// Predicts as [`answer`](Self::answer) does, for a state that is prepared.
    fn answer_of(
        &self,
        state: &State<'_>,
        config: &PredictionConfig,
        cancel: &Cancel,
        find: impl FnOnce(&State<'_>, &mut Candidates<'_>, usize) -> Result<Vec<Ranked>, Cancelled>,
    ) -> Result<Predictions, Cancelled> {
        let mut candidates = Candidates::new(state, self, config, cancel)?;
        if candidates.reject_all() {
            return Ok(Predictions::default());
        }
        let most = config
            .max_predictions
            .saturating_mul(CANDIDATES_PER_PREDICTION);
        // One more than are kept, to know whether some were cut.
        let mut survivors = find(state, &mut candidates, most.saturating_add(1))?;
        let is_cut = survivors.len() > most;
        survivors.truncate(most);
        // Sums over the survivors run in an order of names, which does not depend on the search.
        survivors.sort_unstable_by(Ranked::by_key);
        let by_name = candidates.ties().walk(survivors.into_iter());
        let survivors: Vec<Ranked> = by_name.collect();
        Ensemble::new(self, state, config, &mut candidates, &survivors)?.predictions(is_cut, cancel)
    }
}

/// Returns the indices of the `limit` best predictions by a metric, descending, missing values
/// last, ties by name in an order.
fn best<'p>(
    predictions: impl Iterator<Item = &'p Prediction>,
    metric: RankMetric,
    ties: TieOrder,
    limit: usize,
) -> Vec<usize> {
    let mut order: Vec<(f64, PatternName, usize)> = predictions
        .enumerate()
        .map(|(idx, prediction)| {
            // Not a number sorts with what is missing; adding 0 makes the two zeros one.
            let value = prediction.metric(metric).filter(|value| !value.is_nan());
            (
                value.unwrap_or(f64::NEG_INFINITY) + 0.0,
                ties.name(&prediction.name),
                idx,
            )
        })
        .collect();
    let by_rank = |a: &(f64, PatternName, usize), b: &(f64, PatternName, usize)| {
        b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
    };
    if limit < order.len() {
        order.select_nth_unstable_by(limit, by_rank);
        order.truncate(limit);
    }
    order.sort_unstable_by(by_rank);
    order.into_iter().map(|(_, _, idx)| idx).collect()
}
