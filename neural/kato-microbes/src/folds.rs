//! Samples dealt into parts, so that none is judged by what learned from it.

use kato_random::SplitMix64;

use crate::metadata::TargetValues;

/// One way to part samples: those that are learned from, and those that are held back; ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fold {
    /// Samples that are learned from.
    pub train: Vec<usize>,
    /// Samples that are held back.
    pub test: Vec<usize>,
}

/// Deals samples into so many folds, of which each sample is held back in one.
///
/// Classes are dealt one after another, so that every fold holds its share of each. Folds differ by
/// at most one sample in size, and are a function of the values and the seed.
///
/// ```
/// use kato_microbes::folds::folds;
/// use kato_microbes::metadata::TargetValues;
///
/// let classes = TargetValues::Classes {
///     names: vec!["a".into(), "b".into()],
///     of: vec![0, 0, 0, 1, 1, 1],
/// };
/// let folds = folds(&classes, 3, 7);
/// assert!(folds.iter().all(|fold| fold.test.len() == 2 && fold.test[0] < 3 && fold.test[1] >= 3));
/// ```
#[must_use]
pub fn folds(values: &TargetValues, n_folds: usize, seed: u64) -> Vec<Fold> {
    let (n, order) = (values.len(), dealing_order(values, seed));
    let mut fold_of = vec![0; n];
    for (at, &sample) in order.iter().enumerate() {
        fold_of[sample] = at % n_folds.max(1);
    }
    let part = |fold: usize| {
        let (test, train) = (0..n).partition(|&sample| fold_of[sample] == fold);
        Fold { train, test }
    };
    (0..n_folds).map(part).collect()
}

/// Returns samples in a drawn order, class after class.
fn dealing_order(values: &TargetValues, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::from_seed(seed);
    let mut order: Vec<usize> = (0..values.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    if let TargetValues::Classes { of, .. } = values {
        // Stable: inside a class the order stays drawn.
        order.sort_by_key(|&sample| of[sample]);
    }
    order
}

/// Parts samples by shares, which add up to 1: the places in each part, ascending.
///
/// Each sample goes to the part that lacks most, class after class. So no part is off by more than
/// about one sample, of all and of every class.
///
/// ```
/// use kato_microbes::folds::shares;
/// use kato_microbes::metadata::TargetValues;
///
/// let rare = TargetValues::Classes {
///     names: vec!["rare".into(), "frequent".into()],
///     of: [vec![0; 4], vec![1; 16]].concat(),
/// };
/// let parts = shares(&rare, [0.25, 0.75], 7);
/// let n_rare = |part: &[usize]| part.iter().filter(|&&sample| sample < 4).count();
/// assert_eq!((parts[0].len(), n_rare(&parts[0]), n_rare(&parts[1])), (5, 1, 3));
/// ```
#[must_use]
pub fn shares<const N: usize>(
    values: &TargetValues,
    shares: [f64; N],
    seed: u64,
) -> [Vec<usize>; N] {
    let mut parts = [const { Vec::new() }; N];
    for (n_dealt, sample) in dealing_order(values, seed).into_iter().enumerate() {
        let lacks = |part: usize| shares[part] * (n_dealt + 1) as f64 - parts[part].len() as f64;
        // The last among equals, so that a share of 0 gets nothing while another lacks something.
        let neediest = (0..N).max_by(|&a, &b| lacks(a).total_cmp(&lacks(b)));
        parts[neediest.unwrap_or(0)].push(sample);
    }
    parts.each_mut().map(|part| {
        part.sort_unstable();
        std::mem::take(part)
    })
}

impl TargetValues {
    /// Returns the values of some samples, by their places.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn select(&self, samples: &[usize]) -> Self {
        match self {
            Self::Numbers(numbers) => {
                Self::Numbers(samples.iter().map(|&sample| numbers[sample]).collect())
            }
            Self::Classes { names, of } => Self::Classes {
                names: names.clone(),
                of: samples.iter().map(|&sample| of[sample]).collect(),
            },
        }
    }
}
