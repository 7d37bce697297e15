//! The likeliest weights of classes of patterns, by how many documents hold each, and what others are likely.

use super::laws::{laws, usual};
use super::{Class, Holders, OFTEN};

/// Steps of the iteration to the likeliest weights, and of those from one bound to the next.
const STEPS: [usize; 2] = [300, 60];
/// Drawn documents that the weights of the start count for.
const PRIOR: f64 = 2.0;
/// How many times as likely as all laws it is that weights are as usual: a few documents tell no law.
const USUALLY: f64 = 10.0;
/// Number of documents from which on they tell laws no more than that a pattern is seen so often.
const FEW: usize = 4;
/// Loss of log likelihood where bounds are no longer followed.
const UNLIKELY: f64 = 5.0;

/// Observations, and the probability of one by each class.
type Row = (f64, Vec<f64>);

/// The likelihood of weights of classes, with the weights to start from.
pub(super) struct Likelihood {
    /// For every number of documents seen, its observations and the probability by each class.
    rows: Vec<Row>,
    /// The same of few, and of all more together.
    few: Vec<Row>,
    prior: Vec<f64>,
}

impl Likelihood {
    /// Moves weights to likelier ones (Baum and Eagon), towards more or less of a value by `pull`.
    fn climb(&self, weights: &mut [f64], values: &[f64], pull: f64, steps: usize) {
        let mut gradient = vec![0.0; weights.len()];
        for _ in 0..steps {
            for (gradient, value) in gradient.iter_mut().zip(values) {
                // Weights add up to 1, so that less of a value is more of what it lacks of the largest.
                *gradient = if pull < 0.0 {
                    -pull * (1.0 - value)
                } else {
                    pull * value
                };
            }
            for (observed, probabilities) in &self.rows {
                let ratio = observed / dot(weights, probabilities).max(1e-300);
                for (gradient, probability) in gradient.iter_mut().zip(probabilities) {
                    *gradient += ratio * probability;
                }
            }
            let parts = weights.iter_mut().zip(&gradient).zip(&self.prior);
            let mut sum = 0.0;
            for ((weight, gradient), prior) in parts {
                *weight = *weight * gradient + PRIOR * prior;
                sum += *weight;
            }
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
    }

    /// Starts without observations.
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::new(),
            few: Vec::new(),
            prior: Vec::new(),
        }
    }

    /// Sets the weights to start from: those that are usual, for each kind of class the same.
    pub(super) fn start(&mut self, grid: &[f64], classes: usize) {
        let usual = usual(grid);
        let kinds = (classes / grid.len().max(1)) as f64;
        let weights = usual.iter().map(|weight| weight / kinds);
        self.prior = weights.cycle().take(classes).collect();
    }

    /// Sets the weights to start from: the mean of laws and of what is usual, each by its likelihood.
    ///
    /// A sample tells how many patterns stand in so many documents that some were drawn again, and of
    /// those in fewer little more than their mean number. Below, text goes on as it does above, by a
    /// power, and weights of any other shape to start from would decide what is not seen.
    pub(super) fn start_by_laws(&mut self, grid: &[f64], classes: usize) {
        self.start(grid, classes);
        let laws = laws(grid, classes);
        let usually = USUALLY * laws.len() as f64;
        let all = laws.into_iter().map(|law| (1.0, law));
        let all = all.chain([(usually, std::mem::take(&mut self.prior))]);
        let all: Vec<(f64, Vec<f64>, f64)> = all
            .map(|(before, law)| {
                let likelihood = log_likelihood(&self.few, &law);
                (before, law, likelihood)
            })
            .collect();
        let best = all.iter().map(|(_, _, likelihood)| *likelihood);
        let best = best.fold(f64::NEG_INFINITY, f64::max);
        let mut sum = vec![0.0; classes];
        for (before, law, likelihood) in &all {
            let share = before * (likelihood - best).exp();
            for (sum, weight) in sum.iter_mut().zip(law) {
                *sum += share * weight;
            }
        }
        let whole: f64 = sum.iter().sum();
        self.prior = sum.iter().map(|weight| weight / whole).collect();
    }

    /// Adds what was seen, with the probabilities by a class that others hold a pattern.
    pub(super) fn add(
        &mut self,
        holders: &Holders,
        classes: &[Class],
        seen_again: impl Fn(&Class) -> Vec<f64>,
    ) {
        let bins = bins();
        let all = holders.numbers.observations().max(1) as f64;
        let mut observed = vec![0.0; bins.len()];
        for (number, patterns) in holders.numbers.iter() {
            // Bins begin at 1, and so do numbers.
            let bin = bins.partition_point(|&first| first as u64 <= number) - 1;
            observed[bin] += number as f64 * patterns as f64 / all * holders.independent;
        }
        let of_class: Vec<Vec<f64>> = classes
            .iter()
            .map(|class| in_bins(&seen_again(class), &bins))
            .collect();
        let all = observed.iter().enumerate();
        let seen = all.filter(|(_, observed)| **observed > 0.0);
        let row = |(bin, &observed): (usize, &f64)| -> Row {
            (observed, of_class.iter().map(|bins| bins[bin]).collect())
        };
        self.rows.extend(seen.clone().map(row));
        // Bins of so few are of one number each.
        let few = FEW - 1;
        self.few.extend(seen.filter(|(bin, _)| *bin < few).map(row));
        let more = observed.iter().skip(few).sum();
        if more > 0.0 {
            let of_class = of_class.iter().map(|bins| bins.iter().skip(few).sum());
            self.few.push((more, of_class.collect()));
        }
    }

    /// Returns the likeliest weights.
    pub(super) fn likeliest(&self) -> Vec<f64> {
        let mut weights = self.prior.clone();
        self.climb(&mut weights, &vec![0.0; self.prior.len()], 0.0, STEPS[0]);
        weights
    }

    /// Returns the logarithm of the likelihood.
    pub(super) fn at(&self, weights: &[f64]) -> f64 {
        let prior = self.prior.iter().zip(weights);
        let of_prior =
            prior.map(|(prior, weight)| PRIOR * prior * (weight / prior).max(1e-300).ln());
        log_likelihood(&self.rows, weights) + of_prior.sum::<f64>()
    }

    /// Returns the value of the likeliest weights, and the values below and above which lies the part
    /// `outside` of the likelihood of all values.
    pub(super) fn bounds(&self, weights: &[f64], values: &[f64], outside: f64) -> [f64; 3] {
        let best = self.at(weights);
        let value = dot(weights, values);
        let mut points = vec![(value.max(1e-12).ln(), 0.0)];
        for sign in [1.0, -1.0] {
            let (mut pulled, mut pull) = (weights.to_vec(), 0.7);
            // So far that a bound is met by any likelihood that bends at all.
            for _ in 0..20 {
                self.climb(&mut pulled, values, sign * pull, STEPS[1]);
                let loss = self.at(&pulled) - best;
                points.push((dot(&pulled, values).max(1e-12).ln(), loss));
                if loss < -UNLIKELY {
                    break;
                }
                pull *= 1.6;
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Between the points the logarithm is a line.
        let line = |at: f64| {
            let above = points
                .partition_point(|point| point.0 < at)
                .clamp(1, points.len() - 1);
            let (a, b) = (points[above - 1], points[above]);
            a.1 + (b.1 - a.1) * (at - a.0) / (b.0 - a.0).max(1e-12)
        };
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let steps = 400;
        let place = |step: usize| first + (last - first) * step as f64 / steps as f64;
        let heights: Vec<f64> = (0..=steps).map(|step| line(place(step)).exp()).collect();
        let all: f64 = heights.iter().sum();
        let quantile = |part: f64| {
            let mut left = part * all;
            let step = heights.iter().position(|height| {
                left -= height;
                left <= 0.0
            });
            place(step.unwrap_or(steps)).exp()
        };
        [
            value,
            quantile(outside).min(value),
            quantile(1.0 - outside).max(value),
        ]
    }
}

/// Returns the logarithm of the likelihood of weights.
fn log_likelihood(rows: &[Row], weights: &[f64]) -> f64 {
    let rows = rows.iter();
    let of_rows = rows.map(|(observed, p)| observed * dot(weights, p).max(1e-300).ln());
    of_rows.sum()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the numbers of documents at which bins of seen numbers begin: one by one, then wider.
fn bins() -> Vec<usize> {
    let mut bins: Vec<usize> = (1..=8).collect();
    while let Some(&last) = bins.last()
        && last < OFTEN
    {
        bins.push(((last as f64 * super::RATIO) as usize + 1).min(OFTEN));
    }
    bins
}

/// Returns the probabilities of bins, from those of one, two, and so on.
fn in_bins(single: &[f64], bins: &[usize]) -> Vec<f64> {
    let ends = bins.iter().skip(1).copied().chain([OFTEN + 1]);
    let mut of_bins: Vec<f64> = bins
        .iter()
        .zip(ends)
        .map(|(&first, end)| single.iter().take(end - 1).skip(first - 1).sum())
        .collect();
    // What is not seen less often is seen at least so often.
    let rest = 1.0 - of_bins.iter().sum::<f64>();
    if let Some(last) = of_bins.last_mut() {
        *last += rest.max(0.0);
    }
    of_bins
}

/// Returns the binomial probabilities of fewer than [`OFTEN`] successes.
pub(super) fn binomial(n: f64, share: f64) -> Vec<f64> {
    let odds = share / (1.0 - share).max(1e-12);
    let mut probability = (n * (-share).ln_1p()).exp();
    (0..OFTEN)
        .map(|successes| {
            let of = probability;
            let k = successes as f64;
            probability *= (n - k).max(0.0) / (k + 1.0) * odds;
            of
        })
        .collect()
}
