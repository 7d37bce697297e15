//! A level's distinct patterns as a function of its learn calls, with the error of that.

use crate::GrowthLaw;
use crate::calibration::LevelEvidence;
use crate::growth::Growth;

/// By how much the logarithm of a prediction is off for (log10 of the extrapolation)², beside what the sample tells: the documents
/// of a larger corpus are less alike than those of a small one.
const DRIFT: f64 = 0.003;

/// Repeats come in clusters: their variance over that of independent ones, as a factor of the standard deviation.
const CLUSTERING: f64 = 1.5;

/// Standard deviation of the share of repeats that is taken for local, where only a run is known.
const LOCALITY: f64 = 0.08;

/// The fitted laws of a level.
pub(crate) struct LevelModel<'a> {
    evidence: &'a LevelEvidence,
    /// Fitted to every window, or learn call of a run: as if repeats within a document grew with the number of documents.
    all: Growth<'a>,
    /// Fitted to every window once a document, or a run without what may be local: as if no pattern could repeat in many documents and
    /// often within each.
    once: Growth<'a>,
    /// As `all`, without one group of documents after the other.
    without: Vec<Growth<'a>>,
}

/// Distinct patterns and the standard deviation of their logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distinct {
    pub(crate) value: f64,
    pub(crate) relative_sd: f64,
}

/// Relative error of the extrapolation itself, by how far it goes.
pub(crate) fn drift(factor: f64) -> f64 {
    DRIFT * factor.max(1.0).log10().powi(2)
}

impl<'a> LevelModel<'a> {
    pub(crate) fn fit(evidence: &'a LevelEvidence, law: Option<GrowthLaw>) -> Self {
        let all = &evidence.growth.all;
        let groups = evidence.growth.without.iter();
        let groups = groups
            .filter(|part| part.observations() < all.observations() && part.observations() > 0);
        Self {
            evidence,
            all: Growth::fit(all, law),
            once: Growth::fit(&evidence.growth.once_a_document, law),
            without: groups.map(|part| Growth::fit(part, law)).collect(),
        }
    }

    /// Expected distinct patterns at a number of learn calls: those observed, and what the laws add.
    ///
    /// The laws are fitted to two kinds of counts that err to either side; the estimate is the middle.
    pub(crate) fn distinct(&self, calls: f64) -> f64 {
        let [all, once] = self.both(calls);
        (all + once) / 2.0
    }

    fn both(&self, calls: f64) -> [f64; 2] {
        let first = self.evidence.first_in_document;
        [
            self.by(&self.all, 1.0, calls),
            self.by(&self.once, first, calls),
        ]
    }

    /// A run has no groups of documents.
    fn is_sample(&self) -> bool {
        !self.evidence.growth.without.is_empty()
    }

    /// By one law, for which a share of the learn calls counts.
    fn by(&self, growth: &Growth<'_>, share: f64, calls: f64) -> f64 {
        let n = self.evidence.learn_calls as f64;
        let frequencies = &self.evidence.frequencies;
        if n == 0.0 || calls <= 0.0 {
            return 0.0;
        }
        if calls <= n {
            return frequencies.rarefied(calls / n).min(calls);
        }
        let added = growth.distinct(calls * share) - growth.distinct(n * share);
        (frequencies.distinct() as f64 + added.clamp(0.0, calls - n)).min(calls)
    }

    /// Distinct patterns with their error, the number of learn calls being known.
    pub(crate) fn estimate(&self, calls: f64) -> Distinct {
        let value = self.distinct(calls);
        let n = self.evidence.learn_calls as f64;
        if value <= 0.0 || n == 0.0 {
            return Distinct::default();
        }
        if calls <= n {
            // A random part of what was observed: its repeats vary.
            return Distinct {
                value,
                relative_sd: (calls - value).max(0.0).sqrt() / value * (1.0 - calls / n).sqrt(),
            };
        }
        let unknown = 1.0 - n / calls;
        let of_documents = if self.without.len() >= 2 {
            self.jackknife(calls)
        } else {
            self.of_repeats(calls, value)
        };
        let [all, once] = self.both(calls);
        let between_counts = (all - once).abs() / value / 2.0;
        let squares = of_documents.powi(2)
            + self.all.disagreement(calls).powi(2)
            + between_counts.powi(2)
            + self.mismatch().powi(2)
            + self.locality(calls).powi(2)
            + drift(calls / n).powi(2)
            + (self.unseen(calls) / 2.0).powi(2);
        Distinct {
            value,
            relative_sd: (squares * unknown).sqrt(),
        }
    }

    /// By how much the cut and the windows of the sample differ in distinct patterns: where paragraphs begin alike, the place of the cut is
    /// not chance.
    fn mismatch(&self) -> f64 {
        let windows = self.all.distinct(self.evidence.learn_calls as f64);
        if self.is_sample() && windows > 0.0 {
            (self.evidence.frequencies.distinct() as f64 / windows - 1.0).abs()
        } else {
            0.0
        }
    }

    /// By how much the estimate depends on the share of repeats that is taken for local: a repeat that is local makes its pattern one that was
    /// learned once, and the slope rule's exponent is their share.
    fn locality(&self, calls: f64) -> f64 {
        if self.is_sample() {
            return 0.0;
        }
        let frequencies = &self.evidence.frequencies;
        let repeated = frequencies.repeated() as f64 / frequencies.distinct().max(1) as f64;
        LOCALITY * repeated * (calls / self.evidence.learn_calls as f64).ln()
    }

    /// By how much the estimate depends on the documents drawn: the jackknife over groups of them.
    fn jackknife(&self, calls: f64) -> f64 {
        let values: Vec<f64> = self
            .without
            .iter()
            .map(|growth| self.by(growth, 1.0, calls).max(1e-9).ln())
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        ((n - 1.0) / n * squares).sqrt()
    }

    /// The same where only frequencies are known: the share of repeats is as uncertain as their number.
    fn of_repeats(&self, calls: f64, value: f64) -> f64 {
        let repeated = self.evidence.frequencies.repeated() as f64;
        (calls / value - 1.0).max(0.0) * CLUSTERING / (repeated + 1.0).sqrt()
    }

    /// Share of learn calls that repeat although too little was seen for one repeat: pairs grow with the square.
    fn unseen(&self, calls: f64) -> f64 {
        let seen = self.evidence.growth.all.observations() as f64;
        (calls / (seen * seen).max(1.0)).min(0.3)
    }

    /// Patterns among the distinct ones that were learned more than once.
    pub(crate) fn repeated(&self, calls: f64) -> f64 {
        let distinct = self.distinct(calls);
        // Learned once is what would be new if it came last.
        let step = 0.01;
        let once = (distinct - self.distinct(calls * (1.0 - step))) / step;
        (distinct - once).clamp(0.0, (calls - distinct).max(0.0).min(distinct))
    }
}
