//! The metrics that relate the survivors of a search to each other and to the node's statistics.

use std::iter::repeat_n;

use super::best;
use super::futures::Futures;
use super::known::{CountedSymbol, Entropies, KnownSymbols};
use super::survivor::Survivor;
use crate::cancel::{Cancel, Cancelled};
use crate::candidate::Candidates;
use crate::index::{Finalized, PatternIndex};
use crate::prediction::{EnsembleMetrics, FutureShare, WeightedMetrics};
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
    known: KnownSymbols<'a>,
    /// Probabilities of the state's distinct symbols.
    state_shares: Vec<f64>,
}

/// Sums over an ensemble.
#[derive(Debug, Clone, Copy)]
struct Totals {
    frequency: u64,
    /// Likelihood times prior.
    evidence: f64,
}

/// What is reused from survivor to survivor.
#[derive(Debug)]
struct Scratch {
    /// The symbols of its present.
    present: Vec<CountedSymbol>,
    /// The symbols of its pattern.
    whole: Vec<CountedSymbol>,
    entropies: Entropies,
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
        let relevant = survivors.iter().flat_map(|survivor| {
            let matched = survivor.matches.iter().map(|&at| state.ids[at]);
            matched.chain(survivor.present().iter().copied())
        });
        let known = KnownSymbols::new(index, relevant);
        let probability = |symbol: &StateSymbol| known.probability(symbol.id);
        let state_shares = state.distinct.iter().map(probability).collect();
        Ok(Self {
            index,
            state,
            config,
            survivors,
            known,
            state_shares,
        })
    }

    /// Ranks the survivors and returns the answer; `is_cut` says whether candidates were left out.
    pub(super) fn predictions(
        mut self,
        is_cut: bool,
        cancel: &Cancel,
    ) -> Result<Predictions, Cancelled> {
        let futures = Futures::new(&self.survivors, cancel)?;
        let mut scratch = Scratch {
            present: Vec::new(),
            whole: Vec::new(),
            entropies: Entropies::new(self.index.n_symbols()),
        };
        self.rate(&futures, is_cut, &mut scratch, cancel)?;
        // Of all survivors, also of those that `max_predictions` leaves out below, as in KATO.
        let future_potentials = self.future_potentials(&futures, cancel)?;
        let table = self.index.symbol_table();
        let order = best(
            self.survivors.iter().map(|survivor| &survivor.prediction),
            self.config.rank_sort_algo,
            TieOrder::of(self.config.generation),
            self.config.max_predictions,
        );
        // Texts are made last, for the predictions of the answer alone, and so is what says how they are
        // made up.
        let predictions = order.into_iter().map(|idx| {
            cancel.check()?;
            let survivor = &self.survivors[idx];
            cancel.reserve(|| survivor.bytes_with_texts(self.state, table))?;
            let mut prediction = survivor.with_texts(self.state, table);
            prediction.emotives = self.index.emotives_of(&prediction.name);
            if let Some(ensemble) = &mut prediction.ensemble {
                self.describe(survivor, ensemble, &mut scratch);
            }
            Ok(prediction)
        });
        Ok(Predictions {
            predictions: predictions.collect::<Result<_, _>>()?,
            future_potentials,
        })
    }

    /// Computes the metrics that depend on the ensemble, and the potential, of all survivors; those of their
    /// symbols alone where survivors are ranked by one of them.
    fn rate(
        &mut self,
        futures: &Futures,
        is_cut: bool,
        scratch: &mut Scratch,
        cancel: &Cancel,
    ) -> Result<(), Cancelled> {
        // Saturating, as imported frequencies may be as large as a number can be.
        let total_frequency = self.survivors.iter().fold(0u64, |sum, survivor| {
            sum.saturating_add(survivor.prediction.frequency)
        });
        let likelihood = |survivor: &Survivor<'_>| {
            let prediction = &survivor.prediction;
            let prior = metrics::bayesian_prior(prediction.frequency, total_frequency);
            prediction.similarity * prior
        };
        let totals = Totals {
            frequency: total_frequency,
            evidence: self.survivors.iter().map(likelihood).sum(),
        };
        let weights = self
            .config
            .affinity_emotive
            .as_deref()
            .map(|emotive| AffinityWeights::from_state(self.index, self.state, emotive));
        // Taken out, so that the metrics can borrow the rest of the ensemble.
        let mut survivors = std::mem::take(&mut self.survivors);
        let ranks_by_symbols = self.config.rank_sort_algo.is_of_symbols();
        for (idx, survivor) in survivors.iter_mut().enumerate() {
            cancel.check()?;
            let mut ensemble =
                self.ensemble_metrics(survivor, futures.potential_of(idx), totals, scratch);
            if ranks_by_symbols {
                self.describe(survivor, &mut ensemble, scratch);
            }
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

    /// Computes the metrics of one survivor that depend on the ensemble, and leaves those of its symbols to
    /// [`describe`](Self::describe).
    ///
    /// `aggregate_potential` is that of its future, `totals` those of the ensemble.
    fn ensemble_metrics(
        &self,
        survivor: &Survivor<'_>,
        aggregate_potential: Option<f64>,
        totals: Totals,
        scratch: &mut Scratch,
    ) -> EnsembleMetrics {
        let prediction = &survivor.prediction;
        let known = &self.known;
        let present = &mut scratch.present;
        known.read_counted(survivor.present(), present);
        let (f, similarity) = (prediction.frequency, prediction.similarity);
        let prior = metrics::bayesian_prior(f, totals.frequency);
        let strength = metrics::weighted_strength(similarity, f, totals.frequency);
        EnsembleMetrics {
            entropy: 0.0,
            normalized_entropy: 0.0,
            global_normalized_entropy: 0.0,
            itfdf_similarity: metrics::itfdf_similarity(
                self.distance(present),
                f,
                totals.frequency,
            ),
            tfidf_score: 0.0,
            // KATO divides by the number of distinct patterns where that of all learns is meant.
            confluence: metrics::confluence(
                f,
                known.n_patterns(),
                present
                    .iter()
                    .flat_map(|symbol| repeat_n(symbol.known.share, symbol.count)),
            ),
            predictive_information: metrics::predictive_information(strength, aggregate_potential),
            pattern_probability: metrics::pattern_probability(f, totals.frequency),
            weighted_strength: strength,
            bayesian_prior: prior,
            bayesian_likelihood: similarity,
            bayesian_posterior: metrics::bayesian_posterior(similarity, prior, totals.evidence),
        }
    }

    /// Computes the metrics of one survivor that say how its symbols are distributed.
    fn describe(
        &self,
        survivor: &Survivor<'_>,
        ensemble: &mut EnsembleMetrics,
        scratch: &mut Scratch,
    ) {
        let known = &self.known;
        let Scratch {
            present,
            whole,
            entropies,
        } = scratch;
        // After `finalize-training` KATO describes the patterns of that time by their whole content
        // and the statistics of that time; others, and all before, by their present, up to 5.x.
        let finalized = self
            .index
            .finalized()
            .filter(|_| self.index.is_finalized_at(survivor.spot));
        let is_whole = finalized.is_some() || self.config.generation.describes_whole_patterns();
        let described = match is_whole {
            false => {
                known.read_counted(survivor.present(), present);
                &*present
            }
            true => {
                known.read_counted(&survivor.symbols, whole);
                &*whole
            }
        };
        (
            ensemble.entropy,
            ensemble.normalized_entropy,
            ensemble.global_normalized_entropy,
        ) = match finalized {
            None => {
                let (entropy, normalized) = entropies.of(described);
                let terms = described.iter().map(|symbol| symbol.known.entropy_term);
                (entropy, normalized, metrics::sum(terms))
            }
            Some(finalized) => entropies_when_finalized(finalized, described),
        };
        ensemble.tfidf_score = match known.n_patterns() {
            0 => 0.0,
            _ => metrics::mean_tfidf(
                described
                    .iter()
                    .map(|symbol| (symbol.count, symbol.known.rarity)),
            ),
        };
    }

    /// Computes the cosine distance of the state and a present; symbols are weighted by their
    /// probabilities.
    fn distance(&self, present: &[CountedSymbol]) -> f64 {
        // Unknown symbols of the state are in no pattern: their probability is 0 and adds nothing.
        let in_present = |id: SymbolId| {
            let found = present.binary_search_by_key(&id, |symbol| symbol.id);
            found.map_or(0, |idx| present[idx].count)
        };
        let state = self.state.distinct.iter().zip(&self.state_shares);
        let of_state = state.map(|(symbol, share)| {
            let count = in_present(symbol.id);
            (share * f64::from(symbol.count), share * count as f64)
        });
        let elsewhere = present
            .iter()
            .filter(|symbol| !self.state.holds(symbol.id))
            .map(|symbol| (0.0, symbol.known.share * symbol.count as f64));
        metrics::cosine_distance_of(&of_state.chain(elsewhere))
    }

    /// Returns the distinct futures with their weights, heaviest first, ties in the order of
    /// their first patterns.
    fn future_potentials(
        &self,
        futures: &Futures,
        cancel: &Cancel,
    ) -> Result<Vec<FutureShare>, Cancelled> {
        let table = self.index.symbol_table();
        let mut potentials: Vec<FutureShare> = futures
            .distinct
            .iter()
            .map(|future| {
                cancel.check()?;
                let first = &self.survivors[future.first];
                cancel.reserve(|| first.bytes_of_future(table))?;
                Ok(FutureShare {
                    future: first.texts_of(first.split.future.clone(), table),
                    aggregate_potential: futures.potential(future),
                    supporting_patterns: future.n_patterns,
                    total_weighted_frequency: future.weight,
                })
            })
            .collect::<Result<_, _>>()?;
        // Stable: they were collected in name order.
        potentials.sort_by(|a, b| b.aggregate_potential.total_cmp(&a.aggregate_potential));
        Ok(potentials)
    }
}

/// Computes the entropies of a pattern that was there when the node was finalized, by the statistics of
/// that time.
fn entropies_when_finalized(finalized: &Finalized, list: &[CountedSymbol]) -> (f64, f64, f64) {
    let n_symbols = finalized.n_symbols;
    let counts = list.iter().map(|symbol| symbol.count);
    let probability = |symbol: &CountedSymbol| {
        f64::from(finalized.symbols.n_patterns(symbol.id)) / finalized.n_patterns as f64
    };
    (
        metrics::entropy(counts.clone()),
        metrics::normalized_entropy(counts, n_symbols),
        metrics::global_normalized_entropy(list.iter().map(probability), n_symbols),
    )
}
