//! Distinct patterns of a level as a function of its learn calls, with the error of the estimate.

use crate::breakdown::Doubt;
use crate::calibration::LevelEvidence;
use crate::growth::Growth;
use crate::recapture::{Recapture, copies};
use crate::{FrequencyCounts, GrowthLaw};

/// Error of the logarithm of a prediction, as a multiple of (log10 of the extrapolation)², that the
/// sample cannot show: the documents of a larger corpus are less alike than those of a small one.
const DRIFT: f64 = 0.003;

/// Factor of the standard deviation of the number of repeats over that of independent ones: repeats
/// come in clusters.
const CLUSTERING: f64 = 1.5;

/// Standard deviation of the share of repeats that is taken as local, where only a run is known.
const LOCALITY: f64 = 0.08;

/// Independent observations below which more documents would tell more than anything else.
const FEW: f64 = 50.0;

/// What the logarithms of an interval are multiplied by that holds a part of the likelihood: patterns that
/// documents share count for less there than they tell. Of ten intervals so narrow, nine hold on the kinds of
/// text in docs/costs.md.
const CERTAINTY: f64 = 0.65;

/// Error of the logarithm for each by which drawn documents are larger or smaller than all of them: text of
/// other lengths repeats more, or less. As on the same kinds.
const UNLIKE: f64 = 0.26;

/// What estimates of all levels have in common.
pub(crate) struct Reach {
    /// Size of the target, as a multiple of what is known.
    factor: f64,
    /// Share of its documents that is known.
    share: f64,
    /// Copies of itself that the target may be made of, the likeliest first.
    copies: Vec<u32>,
    /// Part of all cases that may lie below an interval, and the deviations to its end.
    outside: f64,
    width: f64,
    /// How far the mean size of the documents drawn is from that of all, as a logarithm.
    unlike: f64,
}

impl Reach {
    /// Looks from documents, by how often they were drawn, to a target of `factor` times their text, of
    /// which they are a share.
    pub(crate) fn of(
        drawn: &FrequencyCounts,
        [factor, share]: [f64; 2],
        unlike: f64,
        outside: f64,
        width: f64,
    ) -> Self {
        let copies = match factor > 1.0 && drawn.distinct() > 0 {
            true => copies(drawn, share),
            false => vec![1],
        };
        Self {
            factor,
            share,
            copies,
            outside,
            width,
            unlike,
        }
    }
}

/// The fitted growth of a level.
pub(crate) struct LevelModel<'a> {
    evidence: &'a LevelEvidence,
    /// From a sample, the likeliest first; none where a law is wanted, or a run is known.
    recaptures: Vec<Recapture>,
    /// Fitted to every learn call: as if repeats within a document became more frequent with the
    /// number of documents.
    all: Growth<'a>,
    /// Fitted to learn calls once a document, or to a run without its local repeats: as if no pattern
    /// could repeat both in many documents and often within each.
    once: Growth<'a>,
    width: f64,
    unlike: f64,
}

/// An estimate of distinct patterns with the standard deviations of its logarithm, downwards and
/// upwards.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distinct {
    pub(crate) value: f64,
    pub(crate) relative_sd: [f64; 2],
    /// What contributes most to it; `None` where all is known.
    pub(crate) doubt: Option<Doubt>,
}

/// Returns the relative error of extrapolating by a factor; 0 up to 1.
pub(crate) fn drift(factor: f64) -> f64 {
    DRIFT * factor.max(1.0).log10().powi(2)
}

impl<'a> LevelModel<'a> {
    /// Fits the growth of a level, by a law where one is wanted.
    pub(crate) fn fit(evidence: &'a LevelEvidence, reach: &Reach, law: Option<GrowthLaw>) -> Self {
        let holders = evidence.holders.as_ref();
        let holders = holders.filter(|_| law.is_none() && reach.factor > 1.0);
        let recaptures = holders.map_or(Vec::new(), |[calls, windows]| {
            let known = [reach.share, reach.factor];
            let fit = |&copies| Recapture::fit(calls, windows, known, copies, reach.outside);
            reach.copies.iter().map(fit).collect()
        });
        Self {
            evidence,
            recaptures,
            all: Growth::fit(&evidence.frequencies, law),
            once: Growth::fit(&evidence.once_a_document, law),
            width: reach.width,
            unlike: reach.unlike,
        }
    }

    /// Returns the expected distinct patterns after a number of learn calls: those observed, and
    /// what the rest adds.
    pub(crate) fn distinct(&self, calls: f64) -> f64 {
        let n = self.evidence.learn_calls as f64;
        let observed = &self.evidence.frequencies;
        match self.recaptures.first() {
            _ if n == 0.0 || calls <= 0.0 => 0.0,
            // Of a sample it is known that the patterns of a document come together.
            _ if calls <= n => match self.evidence.holders {
                Some(_) => self.evidence.once_a_document.rarefied(calls / n).min(calls),
                None => observed.rarefied(calls / n).min(calls),
            },
            Some(recapture) => observed.distinct() as f64 + self.added(recapture, calls),
            None => {
                // The laws are fitted to two kinds of counts that err to either side.
                let [all, once] = self.by_laws(calls);
                (all + once) / 2.0
            }
        }
    }

    /// Returns the distinct patterns that so many learn calls add to those observed.
    fn added(&self, recapture: &Recapture, calls: f64) -> f64 {
        let n = self.evidence.learn_calls as f64;
        let held = self.evidence.once_a_document.observations() as f64;
        // A learn call adds at most one pattern.
        (held * recapture.added(calls / n)).min(calls - n)
    }

    /// Returns the estimates by laws from all counts and from those once a document, for more learn
    /// calls than were observed.
    fn by_laws(&self, calls: f64) -> [f64; 2] {
        let n = self.evidence.learn_calls as f64;
        let observed = self.evidence.frequencies.distinct() as f64;
        // Counted once a document, a learn call that repeats within its document is none.
        let first = self.evidence.first_in_document;
        [(&self.all, 1.0), (&self.once, first)].map(|(growth, share)| {
            // Only the growth comes from the law. A learn call adds at most one pattern.
            let added = growth.distinct(calls * share) - growth.distinct(n * share);
            (observed + added.clamp(0.0, calls - n)).min(calls)
        })
    }

    /// Returns whether a share of the observed patterns was counted, and stands for all.
    pub(crate) fn is_of_share(&self) -> bool {
        self.evidence.slice_error > 0.0
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
                relative_sd: [of_part.hypot(self.evidence.slice_error); 2],
                doubt: None,
            };
        }
        let (relative_sd, doubt) = match self.recaptures.is_empty() {
            true => self.error_of_laws(calls, value),
            false => self.error_of_recapture(calls, value),
        };
        Distinct {
            value,
            relative_sd: relative_sd.map(|sd| sd.hypot(self.evidence.slice_error)),
            doubt: Some(doubt),
        }
    }

    /// Returns the error of what documents tell of those that were not drawn.
    fn error_of_recapture(&self, calls: f64, value: f64) -> ([f64; 2], Doubt) {
        let observed = self.evidence.frequencies.distinct() as f64;
        let [mut low, mut high] = [value; 2];
        for recapture in &self.recaptures {
            let added = self.added(recapture, calls);
            let ends = recapture.bounds().map(|bound| observed + added * bound);
            (low, high) = (low.min(ends[0]), high.max(ends[1]));
        }
        let n = self.evidence.learn_calls as f64;
        let unlike = UNLIKE * self.unlike * (1.0 - n / calls);
        let others = drift(calls / n).hypot(unlike);
        let sd = |ratio: f64| (CERTAINTY * ratio.ln() / self.width).hypot(others);
        let sds = [value / low, high / value].map(sd);
        let holders = self.evidence.holders.as_ref();
        let is_few = holders.is_some_and(|[calls, _]| calls.independent < FEW);
        (
            sds,
            if is_few {
                Doubt::Documents
            } else {
                Doubt::Repeats
            },
        )
    }

    /// Returns the error of the laws of growth.
    fn error_of_laws(&self, calls: f64, value: f64) -> ([f64; 2], Doubt) {
        let n = self.evidence.learn_calls as f64;
        let [all, once] = self.by_laws(calls);
        let between_counts = (all - once).abs() / value / 2.0;
        // Errors of different sources add up as squares; a distance between two estimates counts by
        // its half.
        let of_documents =
            self.repeat_error(calls, value).powi(2) + (self.unseen(calls) / 2.0).powi(2);
        let of_growth = self.all.disagreement(calls).powi(2)
            + between_counts.powi(2)
            + self.locality(calls).powi(2)
            + drift(calls / n).powi(2);
        // What was observed has hardly an error, and is this much of the corpus.
        let unknown = 1.0 - n / calls;
        let doubt = match of_documents > of_growth {
            true => Doubt::Documents,
            false => Doubt::Growth,
        };
        ([((of_documents + of_growth) * unknown).sqrt(); 2], doubt)
    }

    /// Returns by how much the estimate depends on the share of repeats that is taken as local: a
    /// local repeat makes its pattern one that was learned once, and the exponent of the slope rule
    /// is the share of those.
    fn locality(&self, calls: f64) -> f64 {
        if self.evidence.holders.is_some() {
            return 0.0;
        }
        let frequencies = &self.evidence.frequencies;
        let repeated = frequencies.repeated() as f64 / frequencies.distinct().max(1) as f64;
        LOCALITY * repeated * (calls / self.evidence.learn_calls as f64).ln()
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
        let seen = self.evidence.learn_calls as f64;
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
