//! Distinct patterns of a level as a function of its learn calls, with the error of the estimate.

use crate::GrowthLaw;
use crate::breakdown::Doubt;
use crate::calibration::LevelEvidence;
use crate::document_growth::DocumentGrowth;
use crate::growth::Growth;
use crate::sample::Without;

/// Error of the logarithm of a prediction, as a multiple of (log10 of the extrapolation)², that the
/// sample cannot show: the documents of a larger corpus are less alike than those of a small one.
const DRIFT: f64 = 0.003;

/// Factor of the standard deviation of the number of repeats over that of independent ones: repeats
/// come in clusters.
const CLUSTERING: f64 = 1.5;

/// Standard deviation of the share of repeats that is taken as local, where only a run is known.
const LOCALITY: f64 = 0.08;

/// Repeats of the cut at which what they differ from those of windows counts by half.
const FEW_REPEATS: f64 = 300.0;

/// Most that the difference counts: what a few documents repeat by themselves is no rule.
const MOST_MORE: f64 = 1.15;

/// The fitted laws of a level.
pub(crate) struct LevelModel<'a> {
    evidence: &'a LevelEvidence,
    documents: &'a DocumentGrowth,
    /// Fitted to every window, or every learn call of a run: as if repeats within a document
    /// became more frequent with the number of documents.
    all: Growth<'a>,
    /// Fitted to every window once a document, or to a run without its local repeats: as if no
    /// pattern could repeat both in many documents and often within each.
    once: Growth<'a>,
    /// As `all`, without one group of documents after the other.
    without: Vec<(Growth<'a>, &'a Without)>,
}

/// An estimate of distinct patterns with the standard deviation of its logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distinct {
    pub(crate) value: f64,
    pub(crate) relative_sd: f64,
    /// What contributes most to it; `None` where all is known.
    pub(crate) doubt: Option<Doubt>,
}

/// Returns the relative error of extrapolating by a factor; 0 up to 1.
pub(crate) fn drift(factor: f64) -> f64 {
    DRIFT * factor.max(1.0).log10().powi(2)
}

impl<'a> LevelModel<'a> {
    /// Fits a law, or the ensemble for `None`, to what is known of a level.
    pub(crate) fn fit(
        evidence: &'a LevelEvidence,
        documents: &'a DocumentGrowth,
        law: Option<GrowthLaw>,
    ) -> Self {
        let all = &evidence.growth.all;
        let groups = evidence.growth.without.iter();
        // Groups without a window, and such that hold all of them, leave nothing to compare.
        let groups =
            groups.filter(|part| (1..all.observations()).contains(&part.counts.observations()));
        Self {
            evidence,
            documents,
            all: Growth::fit(all, law),
            once: Growth::fit(&evidence.growth.once_a_document, law),
            without: groups
                .map(|part| (Growth::fit(&part.counts, law), part))
                .collect(),
        }
    }

    /// Returns the expected distinct patterns after a number of learn calls: those observed, and
    /// what the laws add.
    ///
    /// The laws are fitted to two kinds of counts that err to either side; the estimate is the
    /// middle.
    pub(crate) fn distinct(&self, calls: f64) -> f64 {
        let [all, once] = self.estimates(calls);
        (all + once) / 2.0
    }

    /// Returns the estimates from all counts and from those once a document.
    fn estimates(&self, calls: f64) -> [f64; 2] {
        // Counted once a document, a learn call that repeats within its document is none.
        let first = self.evidence.first_in_document;
        [
            self.distinct_by_law(&self.all, 1.0, calls),
            self.distinct_by_law(&self.once, first, calls),
        ]
    }

    /// Returns whether a sample is known: a run has no groups of documents.
    fn is_sample(&self) -> bool {
        !self.evidence.growth.without.is_empty()
    }

    /// Returns the expected distinct patterns by one law, for which a share of the learn calls
    /// counts.
    fn distinct_by_law(&self, growth: &Growth<'_>, share: f64, calls: f64) -> f64 {
        let n = self.evidence.learn_calls as f64;
        let frequencies = &self.evidence.frequencies;
        if n == 0.0 || calls <= 0.0 {
            return 0.0;
        }
        if calls <= n {
            return frequencies.rarefied(calls / n).min(calls);
        }
        // Documents that stand there already add nothing.
        let once = self.evidence.learns_once as f64;
        let calls_once = once * self.documents.at(calls / n);
        let (from, to) = (once * share, calls_once * share);
        // Windows repeat about as often as the learn calls of the cut: where paragraphs are short or
        // begin alike, a little less. What the sample shows of that holds beyond it, as odds, which
        // leave neither repeats nor patterns out.
        let odds =
            |repeats: f64, distinct: f64| (repeats.max(0.0) + FEW_REPEATS) / distinct.max(1.0);
        let observed = frequencies.distinct() as f64;
        let of_law = growth.distinct(from);
        let more = odds(from - observed, observed) / odds(from - of_law, of_law);
        let more = more.clamp(1.0 / MOST_MORE, MOST_MORE);
        let corrected = |calls: f64| {
            let distinct = growth.distinct(calls).max(1e-9);
            calls / (1.0 + more * (calls / distinct - 1.0).max(0.0))
        };
        // Only the growth comes from the law. A learn call adds at most one pattern.
        let added = corrected(to) - corrected(from);
        let added = added.clamp(0.0, (calls_once - once).min(calls - n));
        (frequencies.distinct() as f64 + added).min(calls)
    }

    /// Returns the distinct patterns with their error, for a known number of learn calls.
    pub(crate) fn estimate(&self, calls: f64) -> Distinct {
        let value = self.distinct(calls);
        let n = self.evidence.learn_calls as f64;
        if value <= 0.0 || n == 0.0 {
            return Distinct::default();
        }
        if calls <= n {
            // A random part of what was observed: the number of its repeats varies, with the finite
            // population correction.
            let of_part = (calls - value).max(0.0).sqrt() / value * (1.0 - calls / n).sqrt();
            return Distinct {
                value,
                relative_sd: of_part.hypot(self.evidence.slice_error),
                doubt: None,
            };
        }
        // What was observed has hardly an error, and is this much of the corpus.
        let unknown = 1.0 - n / calls;
        let document_error = if self.without.len() >= 2 {
            self.jackknife(calls)
        } else {
            self.repeat_error(calls, value)
        };
        let [all, once] = self.estimates(calls);
        // Of what is added, as the documents at hand are known.
        let added = 1.0 - self.evidence.frequencies.distinct() as f64 / value;
        let documents = self.documents.relative_sd * added.clamp(0.0, 1.0);
        let between_counts = (all - once).abs() / value / 2.0;
        // Errors of different sources add up as squares; a distance between two estimates counts by
        // its half.
        let of_documents = document_error.powi(2) + (self.unseen(calls) / 2.0).powi(2);
        let of_repeats = documents.powi(2);
        let of_growth = self.all.disagreement(calls).powi(2)
            + between_counts.powi(2)
            + self.mismatch().powi(2)
            + self.locality(calls).powi(2)
            + drift(calls / n).powi(2);
        let doubts = [
            (of_documents, Doubt::Documents),
            (of_repeats, Doubt::Repeats),
            (of_growth, Doubt::Growth),
        ];
        let squares: f64 = doubts.iter().map(|(squares, _)| squares).sum();
        let doubt = doubts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        Distinct {
            value,
            relative_sd: (squares * unknown).sqrt().hypot(self.evidence.slice_error),
            doubt: doubt.map(|(_, doubt)| doubt),
        }
    }

    /// Returns by how much the cut and the windows of the sample differ in distinct patterns: where
    /// paragraphs begin alike, the place of the cut is not chance.
    fn mismatch(&self) -> f64 {
        let windows = self.all.distinct(self.evidence.learns_once as f64);
        if self.is_sample() && windows > 0.0 {
            (self.evidence.frequencies.distinct() as f64 / windows - 1.0).abs() / 2.0
        } else {
            0.0
        }
    }

    /// Returns by how much the estimate depends on the share of repeats that is taken as local: a
    /// local repeat makes its pattern one that was learned once, and the exponent of the slope rule
    /// is the share of those.
    fn locality(&self, calls: f64) -> f64 {
        if self.is_sample() {
            return 0.0;
        }
        let frequencies = &self.evidence.frequencies;
        let repeated = frequencies.repeated() as f64 / frequencies.distinct().max(1) as f64;
        LOCALITY * repeated * (calls / self.evidence.learn_calls as f64).ln()
    }

    /// Returns by how much the estimate depends on the documents drawn, by the jackknife over
    /// groups of them.
    fn jackknife(&self, calls: f64) -> f64 {
        let values: Vec<f64> = self
            .without
            .iter()
            .map(|(growth, known)| {
                // As if the group had never been drawn: the rest reaches further.
                let factor = calls / known.learns.max(1) as f64;
                let once = known.learns_once as f64 * self.documents.at(factor);
                growth.distinct(once).max(1e-9).ln()
            })
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        ((n - 1.0) / n * squares).sqrt()
    }

    /// Returns by how much the estimate depends on the documents drawn, where only frequencies are
    /// known: the share of repeats is as uncertain as their number.
    fn repeat_error(&self, calls: f64, value: f64) -> f64 {
        let repeated = self.evidence.frequencies.repeated() as f64;
        // One more than there are, so that a level without repeats has a finite error.
        (calls / value - 1.0).max(0.0) * CLUSTERING / (repeated + 1.0).sqrt()
    }

    /// Returns the share of learn calls that may repeat although too little was seen for one
    /// repeat: pairs grow with the square.
    fn unseen(&self, calls: f64) -> f64 {
        let seen = self.evidence.growth.all.observations() as f64;
        (calls / (seen * seen).max(1.0)).min(0.3)
    }

    /// Returns the number of patterns that were learned more than once, among the distinct ones.
    pub(crate) fn repeated(&self, calls: f64) -> f64 {
        let distinct = self.distinct(calls);
        // A pattern was learned once if its learn call would be new as the last of all, so these
        // are as many as the learn calls times the slope of the growth.
        let step = 0.01;
        let once = (distinct - self.distinct(calls * (1.0 - step))) / step;
        // Each repeated pattern takes one learn call more, at least.
        (distinct - once).clamp(0.0, (calls - distinct).max(0.0).min(distinct))
    }
}
