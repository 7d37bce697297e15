//! How abundant each sequence is in a sample, and the counts drawn by it.

use kato_random::SplitMix64;

use super::SynthOptions;
use super::phylogeny::Phylogeny;

/// Standard deviation of what no signal explains, in logarithms of abundance.
const OWN_DEVIATION: f64 = 0.7;

/// What all samples have in common.
#[derive(Debug)]
pub(super) struct Weights {
    /// Tips of the deep signal, ascending.
    pub(super) clade: Vec<usize>,
    /// Tips of the other signal.
    pub(super) single: Vec<usize>,
    is_in_clade: Vec<bool>,
    /// +1 or −1 for tips of the other signal, else 0.
    sign: Vec<f64>,
    /// Place on the axis of the environment, of mean 0 and deviation 1.
    niche: Vec<f64>,
    /// The logarithm of the mean abundance.
    base: Vec<f64>,
}

impl Weights {
    pub(super) fn new(tree: &Phylogeny, options: &SynthOptions, random: &mut SplitMix64) -> Self {
        let n_tips = tree.n_tips;
        let wanted = options.clade_share * n_tips as f64;
        let mut inner = tree.tips_below();
        inner.truncate(tree.root());
        let off = |tips: &Vec<usize>| (tips.len() as f64 - wanted).abs();
        let nearest = inner.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let mut clade = nearest.unwrap_or_default();
        clade.sort_unstable();
        let mut is_in_clade = vec![false; n_tips];
        clade.iter().for_each(|&tip| is_in_clade[tip] = true);
        let mut tips: Vec<usize> = (0..n_tips).collect();
        let single: Vec<usize> = (0..options.n_single)
            .map(|_| tips.swap_remove(random.below(tips.len())))
            .collect();
        let mut sign = vec![0.0; n_tips];
        for (at, &tip) in single.iter().enumerate() {
            // Opposite ones, so that no sum over a branch tells the signal.
            sign[tip] = if at % 2 == 0 { 1.0 } else { -1.0 };
        }
        Self {
            clade,
            single,
            is_in_clade,
            niche: inherited(tree, random),
            base: (0..n_tips).map(|_| normal(random)).collect(),
            sign,
        }
    }

    /// Draws the counts of a sample whose signals are given.
    pub(super) fn counts(
        &self,
        [deep, single, environment]: [f64; 3],
        options: &SynthOptions,
        random: &mut SplitMix64,
    ) -> Vec<u64> {
        let mut sums = Vec::with_capacity(self.base.len());
        let mut sum = 0.0;
        for tip in 0..self.base.len() {
            // All draws are taken for every tip, so that settings change weights and no draw.
            let (is_held, own) = (random.unit() < options.prevalence, normal(random));
            let half = if self.is_in_clade[tip] { 0.5 } else { -0.5 };
            let off = self.niche[tip] - environment;
            let log = if self.sign[tip] == 0.0 {
                self.base[tip] + OWN_DEVIATION * own + 2.0 * half * options.effect * deep
                    - off * off / 4.0
            } else {
                1.0 + 0.3 * own + self.sign[tip] * options.effect * single
            };
            if is_held || self.sign[tip] != 0.0 {
                sum += libm::exp(log);
            }
            sums.push(sum);
        }
        let n_more = random.below(options.depth as usize / 2 + 1) as u64;
        let mut counts = vec![0; sums.len()];
        for _ in 0..options.depth + n_more {
            let at = random.unit() * sum;
            let tip = sums.partition_point(|&end| end <= at);
            // Rounding may put a draw behind the last tip.
            counts[tip.min(sums.len() - 1)] += 1;
        }
        counts
    }
}

/// Lets a number wander along the tree, and brings those of the tips to mean 0 and deviation 1.
fn inherited(tree: &Phylogeny, random: &mut SplitMix64) -> Vec<f64> {
    let mut values = vec![0.0; tree.parents.len()];
    for node in (0..tree.root()).rev() {
        values[node] = values[tree.parents[node]] + tree.lengths[node].sqrt() * normal(random);
    }
    values.truncate(tree.n_tips);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
    // All tips may be at one place where all lengths are 0.
    let scale = if deviation > 0.0 {
        1.0 / deviation
    } else {
        0.0
    };
    values.iter().map(|value| (value - mean) * scale).collect()
}

/// Draws from the normal distribution, by Box and Muller's transform.
pub(super) fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - random.unit())).sqrt();
    radius * libm::cos(core::f64::consts::TAU * random.unit())
}
