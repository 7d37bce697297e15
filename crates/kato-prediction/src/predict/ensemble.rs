//! Metrics that relate the survivors of a search to each other and to the node's statistics.

use super::best;
use super::futures::Futures;
use super::survivor::Survivor;
use crate::cancel::{Cancel, Cancelled};
use crate::candidate::Candidates;
use crate::collections::HashSet;
use crate::index::{Finalized, PatternIndex};
use crate::search::Ranked;
use crate::state::{State, StateSymbol};
use crate::weights::AffinityWeights;
use crate::{EnsembleMetrics, FuturePotential, PredictionConfig, Predictions, SymbolId, metrics};

/// The survivors of a search, in name order, so that sums do not depend on how they were found.
#[derive(Debug)]
pub(super) struct Ensemble<'a> {
    index: &'a PatternIndex,
    state: &'a State<'a>,
    config: &'a PredictionConfig,
    survivors: Vec<Survivor<'a>>,
    /// Symbols that match or are missing in some survivor: only they have a probability.
    relevant: HashSet<SymbolId>,
    /// Probabilities of the state's distinct symbols.
    state_shares: Vec<f64>,
}

impl<'a> Ensemble<'a> {
    /// The ensemble of what a search found, given in name order.
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

    /// The answer; `is_cut` says whether candidates were left out of it.
    pub(super) fn predictions(
        mut self,
        is_cut: bool,
        cancel: &Cancel,
    ) -> Result<Predictions, Cancelled> {
        let futures = Futures::new(&self.survivors, cancel)?;
        self.rate(&futures, is_cut, cancel)?;
        let future_potentials = self.future_potentials(&futures, cancel)?;
        let table = self.index.symbol_table();
        let order = best(
            self.survivors.iter().map(|survivor| &survivor.prediction),
            self.config.rank_sort_algo,
            self.config.max_predictions,
        );
        let predictions = order.into_iter().map(|idx| {
            cancel.check()?;
            let mut prediction = self.survivors[idx].with_texts(self.state, table);
            prediction.emotives = self.index.emotives_of(&prediction.name);
            Ok(prediction)
        });
        Ok(Predictions {
            predictions: predictions.collect::<Result<_, _>>()?,
            future_potentials,
        })
    }

    fn rate(&mut self, futures: &Futures, is_cut: bool, cancel: &Cancel) -> Result<(), Cancelled> {
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
            .map(|emotive| AffinityWeights::of_state(self.index, self.state, emotive));
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
                .map(|weights| {
                    let at = |position: usize| self.state.ids[position];
                    let matches: Vec<_> = survivor.matches.iter().map(|&p| at(p)).collect();
                    let extras: Vec<_> = survivor.extra_positions(self.state).map(at).collect();
                    weights.metrics(
                        &matches,
                        &self.state.ids,
                        survivor.present(),
                        &survivor.symbols,
                        &extras,
                    )
                })
                .unwrap_or_default();
            let cohesion = survivor.cohesion;
            let prediction = &mut survivor.prediction;
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
        let finalized = self
            .index
            .finalized()
            .filter(|_| self.index.pages().is_finalized(survivor.place));
        let whole;
        let (described, n_symbols) = match finalized {
            None => (&present, self.index.n_symbols()),
            Some(finalized) => {
                whole = counted(&survivor.symbols);
                (&whole, finalized.n_symbols)
            }
        };
        let counts = described.iter().map(|&(_, count)| count);
        let probability = |symbol: SymbolId| match finalized {
            None => self.share(symbol),
            Some(finalized) => probability_then(finalized, symbol),
        };
        let cached = |symbol: SymbolId| match finalized {
            // What the present holds is relevant.
            None => Some(self.share(symbol)),
            Some(_) => self.relevant.contains(&symbol).then(|| self.share(symbol)),
        };
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

    /// Share of the patterns that hold the symbol.
    fn share(&self, symbol: SymbolId) -> f64 {
        let n_patterns = self.index.symbol_table().count(symbol).n_patterns;
        f64::from(n_patterns) / self.index.n_patterns() as f64
    }

    /// Cosine distance of the state and a present, symbols weighted by their probabilities.
    fn distance(&self, present: &[(SymbolId, usize)]) -> f64 {
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

/// Share of the patterns that held the symbol when the node was finalized.
fn probability_then(finalized: &Finalized, symbol: SymbolId) -> f64 {
    f64::from(finalized.symbols.n_patterns(symbol)) / finalized.n_patterns as f64
}

/// Distinct symbols with their counts, ascending.
fn counted(symbols: &[SymbolId]) -> Vec<(SymbolId, usize)> {
    let mut sorted = symbols.to_vec();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a == b)
        .map(|group| (group[0], group.len()))
        .collect()
}
