//! Successive halving: many configurations, of which the better ones get larger trials.
//!
//! **The rule.** Every configuration is tried with a small share of the corpus; those that go on
//! are tried with more, and so on up to the whole of what a trial may take. Within a round all are
//! tried in a random order, once, then all again, as often as trials are repeated, so that a slow
//! moment of the machine meets all of them. After a round the best quarter (by default, [`Halving::keep`])
//! goes on, and with it those behind it, up to the first whose score is lower than that of the last of
//! the quarter by more than twice the standard error of their difference; but with these no more than a
//! third, rounded up. A configuration that is stopped is ranked below those that went on.
//!
//! **The error** has two sources. How far repetitions are apart is taken from all configurations of
//! the round together, as two repetitions of one say little. What was asked is the same in every
//! repetition: other questions would have been answered otherwise. Where a measure is told of several
//! [parts](MeasuredPart) of the questions, the same for all configurations, that is the jackknife of the
//! difference between two of them over these parts (Efron and Tibshirani 1993, chapter 11), in which
//! what both find hard cancels out.

use std::collections::BTreeMap;

use kato_random::SplitMix64;
use kato_report::figures::median;
use serde::{Deserialize, Serialize};

use crate::PlanError;
use crate::error::{above_zero, at_least_zero};

/// What one trial has measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Measured quantities by their names, each above 0.
    pub measures: BTreeMap<String, f64>,
    /// The parts of those that are a quotient of sums over what was asked. All configurations have
    /// as many, over the same questions; else they say nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Vec<MeasuredPart>>,
}

/// A part of what a measure was taken of: the measure is the sum of all parts by the sum of their
/// weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPart {
    /// How much was asked.
    pub weight: f64,
    /// Sum of what was measured.
    pub sum: f64,
}

/// A quantity that counts in the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Criterion {
    /// Its name among the measures.
    pub measure: String,
    /// How much it counts.
    pub weight: f64,
    /// Whether less of it is better.
    pub less_is_better: bool,
}

impl Criterion {
    /// Creates a criterion of which more is better.
    #[must_use]
    pub fn maximize(measure: impl Into<String>, weight: f64) -> Self {
        Self {
            measure: measure.into(),
            weight,
            less_is_better: false,
        }
    }

    /// Creates a criterion of which less is better.
    #[must_use]
    pub fn minimize(measure: impl Into<String>, weight: f64) -> Self {
        Self {
            less_is_better: true,
            ..Self::maximize(measure, weight)
        }
    }

    /// Returns what a measure adds to the score; what was not measured adds the worst.
    fn points(&self, value: Option<f64>) -> f64 {
        let sign = if self.less_is_better { -1.0 } else { 1.0 };
        match value {
            Some(value) if value > 0.0 && value.is_finite() => self.weight * sign * value.ln(),
            _ if self.weight > 0.0 => f64::NEG_INFINITY,
            _ => 0.0,
        }
    }
}

/// Settings of successive halving.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Halving {
    /// What counts.
    pub criteria: Vec<Criterion>,
    /// Rounds; 1 tries everything with all.
    pub rounds: u32,
    /// How many times as large the trials of a round are as those of the round before, and of how
    /// many configurations one goes on.
    pub keep: u32,
    /// How often each trial is made.
    pub repeats: u32,
    /// Decides the order of trials.
    pub seed: u64,
}

impl Halving {
    /// Creates settings: three rounds, each with a quarter to a third of the configurations and four
    /// times the corpus of the round before, every trial twice.
    #[must_use]
    pub fn new(criteria: impl IntoIterator<Item = Criterion>) -> Self {
        Self {
            criteria: criteria.into_iter().collect(),
            rounds: 3,
            keep: 4,
            repeats: 2,
            seed: 0,
        }
    }

    /// Sets the number of rounds.
    #[must_use]
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Sets how often each trial is made.
    #[must_use]
    pub fn with_repeats(mut self, repeats: u32) -> Self {
        self.repeats = repeats;
        self
    }

    /// Sets what decides the order of trials.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tries configurations 0 to `n` - 1 and ranks them.
    ///
    /// `trial` gets a configuration, the share of the corpus, and the repetition from 0.
    ///
    /// # Errors
    ///
    /// That of a trial; a [`PlanError`] for settings that cannot be, as `E`.
    pub fn run<E: From<PlanError>>(
        &self,
        n: usize,
        mut trial: impl FnMut(usize, f64, u32) -> Result<Trial, E>,
    ) -> Result<Ranking, E> {
        self.check(n)?;
        let mut random = SplitMix64::from_seed(self.seed);
        let mut alive: Vec<usize> = (0..n).collect();
        let mut ranked: Vec<Ranked> = Vec::new();
        for round in 0..self.rounds {
            let share = f64::from(self.keep).powi(-((self.rounds - 1 - round) as i32));
            let mut trials: BTreeMap<usize, Vec<Trial>> = BTreeMap::new();
            for repeat in 0..self.repeats {
                for configuration in shuffled(&alive, &mut random) {
                    let tried = trial(configuration, share, repeat)?;
                    trials.entry(configuration).or_default().push(tried);
                }
            }
            let mut tried: Vec<Ranked> = trials
                .into_iter()
                .map(|(configuration, trials)| self.ranked(configuration, share, &trials))
                .collect();
            share_errors(&mut tried);
            // Of equal ones the one that was named first.
            tried.sort_by(|a, b| {
                b.points
                    .total_cmp(&a.points)
                    .then(a.configuration.cmp(&b.configuration))
            });
            let best = tried
                .first()
                .map_or(f64::NEG_INFINITY, |first| first.points);
            for one in &mut tried {
                one.best_points = best;
            }
            let keep = match round + 1 == self.rounds {
                true => tried.len(),
                false => self.n_kept(&tried),
            };
            count_questions(&mut tried);
            // Those that stop here stand before those that stopped earlier.
            ranked.splice(0..0, tried.split_off(keep));
            alive = tried.iter().map(|ranked| ranked.configuration).collect();
            if round + 1 == self.rounds {
                ranked.splice(0..0, tried);
            }
        }
        Ok(Ranking::of(ranked, &self.criteria))
    }

    fn check(&self, n: usize) -> Result<(), PlanError> {
        above_zero("the number of configurations", n as f64)?;
        above_zero("rounds", f64::from(self.rounds))?;
        above_zero("repeats", f64::from(self.repeats))?;
        if self.keep < 2 {
            return Err(PlanError::Value {
                what: "keep",
                value: f64::from(self.keep),
                allowed: "2 or more",
            });
        }
        let mut sum = 0.0;
        for criterion in &self.criteria {
            sum += at_least_zero("a weight", criterion.weight)?;
        }
        above_zero("the sum of the weights", sum)?;
        Ok(())
    }

    /// Makes one of the trials of a configuration: medians, the score, and how sure it is.
    fn ranked(&self, configuration: usize, share: f64, trials: &[Trial]) -> Ranked {
        let names: std::collections::BTreeSet<&String> = trials
            .iter()
            .flat_map(|trial| trial.measures.keys())
            .collect();
        let measures = names.into_iter().map(|name| {
            let values = trials
                .iter()
                .filter_map(|trial| trial.measures.get(name).copied());
            (name.clone(), median(values).unwrap_or(0.0))
        });
        let medians: BTreeMap<String, f64> = measures.collect();
        let weights: f64 = self.criteria.iter().map(|criterion| criterion.weight).sum();
        let points = |measures: &BTreeMap<String, f64>| {
            self.criteria
                .iter()
                .map(|criterion| criterion.points(measures.get(&criterion.measure).copied()))
                .sum::<f64>()
                / weights
        };
        let all: Vec<f64> = trials.iter().map(|trial| points(&trial.measures)).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let squares: f64 = all.iter().map(|points| (points - mean).powi(2)).sum();
        Ranked {
            configuration,
            share,
            points: points(&medians),
            best_points: f64::NEG_INFINITY,
            without_part: self.without_part(trials, weights),
            squares: squares.is_finite().then_some(squares),
            error: 0.0,
            score: 0.0,
            is_on_front: false,
            measures: medians,
            trials: all.len(),
        }
    }

    /// Returns what the measures with parts would add to the score if one part had not been asked,
    /// for each part; empty if there are none.
    fn without_part(&self, trials: &[Trial], weights: f64) -> Vec<f64> {
        let mut points: Vec<f64> = Vec::new();
        for criterion in &self.criteria {
            // The same in every repetition, as what was learned and asked is the same.
            let mut of_trials = trials.iter();
            let Some(parts) = of_trials.find_map(|trial| trial.parts.get(&criterion.measure))
            else {
                continue;
            };
            let sums = parts
                .iter()
                .fold(MeasuredPart::default(), |all, part| MeasuredPart {
                    weight: all.weight + part.weight,
                    sum: all.sum + part.sum,
                });
            points.resize(points.len().max(parts.len()), 0.0);
            for (points, part) in points.iter_mut().zip(parts) {
                let value = (sums.sum - part.sum) / (sums.weight - part.weight);
                *points += criterion.points(Some(value)) / weights;
            }
        }
        points
    }

    /// Returns how many of those that were tried, the best first, go on.
    fn n_kept(&self, tried: &[Ranked]) -> usize {
        let quarter = tried.len().div_ceil(self.keep as usize);
        let Some(last) = tried.get(quarter.saturating_sub(1)) else {
            return quarter;
        };
        let is_as_good = |other: &&Ranked| {
            let error = last
                .error
                .hypot(other.error)
                .hypot(questions_error(last, other));
            // Infinite points are those of a measure that is missing.
            last.points - other.points <= 2.0 * error
        };
        let as_good = tried.iter().skip(quarter).take_while(is_as_good).count();
        (quarter + as_good)
            .min(tried.len().div_ceil(3))
            .max(quarter)
    }
}

/// Configurations in the order of their scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ranking {
    /// The best first; those that were tried with more of the corpus stand before the others.
    pub ranked: Vec<Ranked>,
}

/// A configuration with what its last trials have measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ranked {
    /// The configuration, by its number.
    pub configuration: usize,
    /// Share of the corpus of its last trials.
    pub share: f64,
    /// From 0 to 1: the weighted geometric mean of its measures against the best configuration of
    /// the same round, by score.
    pub score: f64,
    /// Mean logarithm of the measures, by weight.
    #[serde(skip)]
    points: f64,
    /// That of the best of the round, whether or not it went on.
    #[serde(skip)]
    best_points: f64,
    /// The part of these that comes from measures with parts, without each of the parts.
    #[serde(skip)]
    without_part: Vec<f64>,
    /// Sum of the squares by which its trials differ from their mean; `None` where they lack a
    /// measure, and so do not say it.
    #[serde(skip)]
    squares: Option<f64>,
    /// Standard error of the logarithm of the score: from what the trials of all configurations of
    /// the round differ by, 0 with a single trial; and from what was asked, against the best of the
    /// round.
    pub error: f64,
    /// Whether it was in the last round, and no other there is as good in all criteria that have a
    /// weight and better in one.
    pub is_on_front: bool,
    /// Medians of the measures.
    pub measures: BTreeMap<String, f64>,
    /// Trials with this share.
    pub trials: usize,
}

impl Ranking {
    fn of(mut ranked: Vec<Ranked>, criteria: &[Criterion]) -> Self {
        let fronts: Vec<bool> = ranked
            .iter()
            .map(|one| is_on_front(one, &ranked, criteria))
            .collect();
        for (one, front) in ranked.iter_mut().zip(fronts) {
            one.score = match one.points.is_finite() {
                true => (one.points - one.best_points).exp(),
                false => 0.0,
            };
            one.is_on_front = front;
        }
        Self { ranked }
    }
}

/// Returns whether nothing of the last round beats a configuration in everything that counts.
fn is_on_front(one: &Ranked, all: &[Ranked], criteria: &[Criterion]) -> bool {
    let largest = all.iter().map(|other| other.share).fold(0.0, f64::max);
    if one.share < largest {
        return false;
    }
    let better = |criterion: &Criterion, a: &Ranked, b: &Ranked| {
        let of = |ranked: &Ranked| ranked.measures.get(&criterion.measure).copied();
        match (of(a), of(b)) {
            (Some(a), Some(b)) if criterion.less_is_better => a < b,
            (Some(a), Some(b)) => a > b,
            (Some(_), None) => true,
            (None, _) => false,
        }
    };
    !all.iter()
        .filter(|other| other.share == largest)
        .any(|other| {
            let counts = || criteria.iter().filter(|criterion| criterion.weight > 0.0);
            counts().any(|criterion| better(criterion, other, one))
                && !counts().any(|criterion| better(criterion, one, other))
        })
}

/// Sets the standard errors of a round, whose trials are all alike in what they differ by.
fn share_errors(tried: &mut [Ranked]) {
    let told = tried
        .iter()
        .filter_map(|one| Some((one.squares?, one.trials.saturating_sub(1) as f64)));
    let (squares, freedom) = told.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    // Single trials do not say it.
    if freedom > 0.0 {
        for one in tried {
            one.error = (squares / freedom / one.trials.max(1) as f64).sqrt();
        }
    }
}

/// Adds to the errors of a round, the best first, what other questions would have changed.
fn count_questions(tried: &mut [Ranked]) {
    let Some((best, others)) = tried.split_first_mut() else {
        return;
    };
    for one in others {
        one.error = one.error.hypot(questions_error(best, one));
    }
}

/// Returns the standard error of the difference between two scores that comes from what was asked: the
/// jackknife over its parts. 0 where the two do not have the same parts.
fn questions_error(one: &Ranked, other: &Ranked) -> f64 {
    let n = one.without_part.len();
    if n < 2 || n != other.without_part.len() {
        return 0.0;
    }
    let pairs = one.without_part.iter().zip(&other.without_part);
    let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
    let mean = differences.iter().sum::<f64>() / n as f64;
    let squares: f64 = differences.iter().map(|value| (value - mean).powi(2)).sum();
    let error = ((n - 1) as f64 / n as f64 * squares).sqrt();
    // A part that is all there is leaves nothing without it.
    if error.is_finite() { error } else { 0.0 }
}

/// Returns numbers in a random order.
fn shuffled(numbers: &[usize], random: &mut SplitMix64) -> Vec<usize> {
    let mut numbers = numbers.to_vec();
    for end in (1..numbers.len()).rev() {
        numbers.swap(end, random.below(end + 1));
    }
    numbers
}
