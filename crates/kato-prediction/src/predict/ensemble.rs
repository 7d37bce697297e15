//! The metrics that relate the survivors of a search to each other and to the node's statistics.

use super::best;
use super::futures::Futures;
use super::survivor::Survivor;
use crate::cancel::{Cancel, Cancelled};
use crate::candidate::Candidates;
use crate::collections::HashSet;
use crate::index::{Finalized, PatternIndex};
use crate::prediction::{EnsembleMetrics, FuturePotential, WeightedMetrics};
use crate::search::{Ranked, TieOrder};
use crate::state::{State, StateSymbol};
use crate::weights::AffinityWeights;
use crate::{PredictionConfig, Predictions, SymbolId, metrics};

/// The survivors of a search, in name order, so that sums do not depend on how they were found.
#[derive(Debug)]
pub(super) struct Ensemble<'a> {
    index: &'a PatternIndex,
    state: &'a State<'a>,
    config: &'a PredictionConfig,
    survivors: Vec<Survivor<'a>>,
    /// Symbols that match or are missing in some survivor: as in KATO, only they
    /// have a probability.
    relevant: HashSet<SymbolId>,
    /// Probabilities of the state's distinct symbols.
    state_shares: Vec<f64>,
}

impl<'a> Ensemble<'a> {
    /// Creates the ensemble of what a search found, given in name order.
    pub(super) fn new(
        index: &'a PatternIndex,
        state: &'a State<'a>,
        config: &'a PredictionConfig,
        candidates: &mut Candidates<'_>,
        ranked: &[Ranked],
    ) -> Result<Self, Cancelled> {
        let survivors: Vec<Survivor<'_>> = ranked
            .iter()
            .map(|ranked| Survivor::new(index, state, candidates, ranked))
            .collect::<Result<_, _>>()?;
        // What is missing is in the present, so matches and present hold all relevant symbols.
        let relevant = survivors
            .iter()
            .flat_map(|survivor| {
                let matched = survivor.matches.iter().map(|&at| state.ids[at]);
                matched.chain(survivor.present().iter().copied())
            })
            .collect();
        let mut ensemble = Self {
            index,
            state,
            config,
            survivors,
            relevant,
            state_shares: Vec::new(),
        };
        let share = |symbol: &StateSymbol| match ensemble.relevant.contains(&symbol.id) {
            true => ensemble.share(symbol.id),
            false => 0.0,
        };
        ensemble.state_shares = state.distinct.iter().map(share).collect();
        Ok(ensemble)
    }

    /// Ranks the survivors and returns the answer; `is_cut` says whether candidates were left out.
    pub(super) fn predictions(
        mut self,
        is_cut: bool,
        cancel: &Cancel,
    ) -> Result<Predictions, Cancelled> {
        let futures = Futures::new(&self.survivors, cancel)?;
        self.rate(&futures, is_cut, cancel)?;
        // Of all survivors, also of those that `max_predictions` leaves out below, as in KATO.
        let future_potentials = self.future_potentials(&futures, cancel)?;
        let table = self.index.symbol_table();
        let order = best(
            self.survivors.iter().map(|survivor| &survivor.prediction),
            self.config.rank_sort_algo,
            TieOrder::of(self.config.generation),
            self.config.max_predictions,
        );
        // Texts are made last, for the predictions of the answer alone.
        let predictions = order.into_iter().map(|idx| {
            cancel.check()?;
            let survivor = &self.survivors[idx];
            cancel.reserve(|| survivor.bytes_with_texts(self.state, table))?;
            let mut prediction = survivor.with_texts(self.state, table);
            prediction.emotives = self.index.emotives_of(&prediction.name);
            Ok(prediction)
        });
        Ok(Predictions {
            predictions: predictions.collect::<Result<_, _>>()?,
            future_potentials,
        })
    }

    /// Computes the metrics that depend on the ensemble, and the potential, of all survivors.
    fn rate(&mut self, futures: &Futures, is_cut: bool, cancel: &Cancel) -> Result<(), Cancelled> {
        // Saturating, as imported frequencies may be as large as a number can be.
        let total_frequency = self.survivors.iter().fold(0u64, |sum, survivor| {
            sum.saturating_add(survivor.prediction.frequency)
        });
        let likelihood = |survivor: &Survivor<'_>| {
            let prediction = &survivor.prediction;
            let prior = metrics::bayesian_prior(prediction.frequency, total_frequency);
            prediction.similarity * prior
        };
        let evidence_total: f64 = self.survivors.iter().map(likelihood).sum();
        let weights = self
            .config
            .affinity_emotive
            .as_deref()
            .map(|emotive| AffinityWeights::from_state(self.index, self.state, emotive));
        // Taken out, so that the metrics can borrow the rest of the ensemble.
        let mut survivors = std::mem::take(&mut self.survivors);
        for (idx, survivor) in survivors.iter_mut().enumerate() {
            cancel.check()?;
            let ensemble = self.ensemble_metrics(
                survivor,
                futures.potential_of(idx),
                total_frequency,
                evidence_total,
            );
            let weighted = weights
                .as_ref()
                .map(|weights| self.weighted(survivor, weights))
                .unwrap_or_default();
            let cohesion = survivor.cohesion;
            let prediction = &mut survivor.prediction;
            // KATO shows `_pre_potential` only where it has cut candidates by it.
            if is_cut {
                prediction.pre_potential = Some(metrics::pre_potential(
                    prediction.evidence,
                    prediction.confidence,
                    prediction.snr,
                    cohesion,
                ));
            }
            prediction.potential = metrics::potential(
                weighted.evidence.unwrap_or(prediction.evidence),
                weighted.confidence.unwrap_or(prediction.confidence),
                weighted.snr.unwrap_or(prediction.snr),
                ensemble.itfdf_similarity,
                cohesion,
            );
            prediction.weighted = weighted;
            prediction.ensemble = Some(ensemble);
        }
        self.survivors = survivors;
        Ok(())
    }

    /// Returns the metrics of a survivor that weigh symbols by their affinity.
    fn weighted(&self, survivor: &Survivor<'_>, weights: &AffinityWeights<'_>) -> WeightedMetrics {
        let at = |position: usize| self.state.ids[position];
        // Beside a state of one symbol those of the pattern have a weight, too, as in KATO.
        let with_pattern = (self.state.len() == 1).then(|| weights.with(&survivor.symbols));
        let weights = with_pattern.as_ref().unwrap_or(weights);
        let matches: Vec<_> = survivor.matches.iter().map(|&p| at(p)).collect();
        let extras: Vec<_> = survivor
            .extra_positions(self.state)
            .into_iter()
            .map(at)
            .collect();
        weights.metrics(
            &matches,
            &self.state.ids,
            survivor.present(),
            &survivor.symbols,
            &extras,
        )
    }

    /// Computes the metrics of one survivor that depend on the ensemble or the node.
    ///
    /// `aggregate_potential` is that of its future, `evidence_total` the sum of likelihood times
    /// prior over the ensemble.
    fn ensemble_metrics(
        &self,
        survivor: &Survivor<'_>,
        aggregate_potential: Option<f64>,
        total_frequency: u64,
        evidence_total: f64,
    ) -> EnsembleMetrics {
        let prediction = &survivor.prediction;
        let n_patterns = self.index.n_patterns();
        let present = counted(survivor.present());
        // After `finalize-training` KATO describes the patterns of that time by their whole content
        // and the statistics of that time; others, and all before, by their present, up to 5.x.
        let finalized = self
            .index
            .finalized()
            .filter(|_| self.index.is_finalized_at(survivor.spot));
        let is_whole = finalized.is_some() || self.config.generation.describes_whole_patterns();
        let whole = is_whole.then(|| counted(&survivor.symbols));
        let described = whole.as_ref().unwrap_or(&present);
        let n_symbols = finalized.map_or(self.index.n_symbols(), |finalized| finalized.n_symbols);
        let counts = described.iter().map(|&(_, count)| count);
        let probability = |symbol: SymbolId| match finalized {
            None => self.share(symbol),
            Some(finalized) => finalized_probability(finalized, symbol),
        };
        // What the present holds is relevant; the rest of the pattern may have no probability, and TF-IDF
        // then takes one of its own.
        let has_share = |symbol: &SymbolId| !is_whole || self.relevant.contains(symbol);
        let cached = |symbol: SymbolId| has_share(&symbol).then(|| self.share(symbol));
        let (f, similarity) = (prediction.frequency, prediction.similarity);
        let prior = metrics::bayesian_prior(f, total_frequency);
        let strength = metrics::weighted_strength(similarity, f, total_frequency);
        EnsembleMetrics {
            entropy: metrics::entropy(counts.clone()),
            normalized_entropy: metrics::normalized_entropy(counts, n_symbols),
            global_normalized_entropy: metrics::global_normalized_entropy(
                described.iter().map(|&(symbol, _)| probability(symbol)),
                n_symbols,
            ),
            itfdf_similarity: metrics::itfdf_similarity(
                self.distance(&present),
                f,
                total_frequency,
            ),
            tfidf_score: metrics::tfidf_score(
                described
                    .iter()
                    .map(|&(symbol, count)| (count, cached(symbol))),
                n_patterns,
            ),
            // KATO divides by the number of distinct patterns where that of all learns is meant.
            confluence: metrics::confluence(
                f,
                n_patterns,
                survivor.present().iter().map(|&symbol| self.share(symbol)),
            ),
            predictive_information: metrics::predictive_information(strength, aggregate_potential),
            pattern_probability: metrics::pattern_probability(f, total_frequency),
            weighted_strength: strength,
            bayesian_prior: prior,
            bayesian_likelihood: similarity,
            bayesian_posterior: metrics::bayesian_posterior(similarity, prior, evidence_total),
        }
    }

    /// Returns the share of the patterns that hold the symbol.
    fn share(&self, symbol: SymbolId) -> f64 {
        let n_patterns = self.index.symbol_table().n_patterns(symbol);
        f64::from(n_patterns) / self.index.n_patterns() as f64
    }

    /// Computes the cosine distance of the state and a present, which is given by distinct symbols,
    /// ascending, with counts; symbols are weighted by their probabilities.
    fn distance(&self, present: &[(SymbolId, usize)]) -> f64 {
        // Unknown symbols of the state are in no pattern: their probability is 0 and adds nothing.
        let in_present = |symbol: SymbolId| {
            let found = present.binary_search_by_key(&symbol, |&(symbol, _)| symbol);
            found.map_or(0, |idx| present[idx].1)
        };
        let state = self.state.distinct.iter().zip(&self.state_shares);
        let of_state = state.map(|(symbol, share)| {
            let count = in_present(symbol.id);
            (share * f64::from(symbol.count), share * count as f64)
        });
        let elsewhere = present
            .iter()
            .filter(|(symbol, _)| !self.state.holds(*symbol))
            .map(|&(symbol, count)| (0.0, self.share(symbol) * count as f64));
        metrics::cosine_distance(of_state.chain(elsewhere))
    }

    /// Returns the distinct futures with their weights, heaviest first, ties in event order.
    fn future_potentials(
        &self,
        futures: &Futures,
        cancel: &Cancel,
    ) -> Result<Vec<FuturePotential>, Cancelled> {
        let table = self.index.symbol_table();
        let mut potentials: Vec<FuturePotential> = futures
            .distinct
            .iter()
            .map(|future| {
                cancel.check()?;
                let first = &self.survivors[future.first];
                cancel.reserve(|| first.bytes_of_future(table))?;
                Ok(FuturePotential {
                    future: first.texts_of(first.split.future.clone(), table),
                    aggregate_potential: futures.potential(future),
                    supporting_patterns: future.n_patterns,
                    total_weighted_frequency: future.weight,
                })
            })
            .collect::<Result<_, _>>()?;
        potentials.sort_by(|a, b| {
            let by_potential = b.aggregate_potential.total_cmp(&a.aggregate_potential);
            by_potential.then_with(|| a.future.cmp(&b.future))
        });
        Ok(potentials)
    }
}

/// Returns the share of the patterns that held the symbol when the node was finalized.
fn finalized_probability(finalized: &Finalized, symbol: SymbolId) -> f64 {
    f64::from(finalized.symbols.n_patterns(symbol)) / finalized.n_patterns as f64
}

/// Returns the distinct symbols of a list with their counts, ascending.
fn counted(symbols: &[SymbolId]) -> Vec<(SymbolId, usize)> {
    let mut sorted = symbols.to_vec();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a == b)
        .map(|group| (group[0], group.len()))
        .collect()
}
