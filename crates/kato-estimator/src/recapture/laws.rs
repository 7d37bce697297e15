//! Laws of how many documents hold a pattern: what weights of classes are like before anything is seen.

use super::RATIO;

/// Share of patterns that is usually in one document.
const USUALLY_ALONE: f64 = 0.8;
/// Laws that weights may follow: the share of patterns that is in one document beyond the law, the power by
/// which the others fall with the number of documents, and the share of those that are cut by chance.
const ALONE: [f64; 8] = [0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97];
const FALL: [f64; 8] = [0.0, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 3.0];
const CHANCE: [f64; 7] = [0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97];
/// Returns numbers of documents, from 1 to twice as many as those seen most often stand for.
pub(super) fn grid(most_seen: u64, share: f64, copies: u32) -> Vec<f64> {
    let most = 2.0 * (most_seen as f64 / share + 1.0) / f64::from(copies);
    let mut grid = vec![1.0f64, 2.0];
    while let Some(&last) = grid.last()
        && last < most
    {
        grid.push((last * RATIO).floor().max(last + 1.0));
    }
    grid
}

/// Returns the weights that are taken where nothing was seen: one document mostly, and of more each order
/// of magnitude alike.
pub(super) fn usual(grid: &[f64]) -> Vec<f64> {
    let all = grid.last().map_or(1.0, |last| last.ln());
    let weight = |at: usize| match at {
        0 => USUALLY_ALONE,
        _ => (1.0 - USUALLY_ALONE) * (grid[at] / grid[at - 1]).ln() / all,
    };
    (0..grid.len()).map(weight).collect()
}

/// Returns laws of the weights of classes, for each kind of class the same.
pub(super) fn laws(grid: &[f64], classes: usize) -> Vec<Vec<f64>> {
    let kinds = classes / grid.len().max(1);
    let next = |at: usize| grid.get(at + 1).copied().unwrap_or(RATIO * grid[at]);
    let mut laws = Vec::new();
    for alone in ALONE {
        for fall in FALL {
            // A class stands for the numbers up to the next.
            let of_class = |at: usize| {
                let width = next(at) - grid[at];
                width * (grid[at] + (width - 1.0) / 2.0).powf(-fall)
            };
            let mut law: Vec<f64> = (0..grid.len()).map(of_class).collect();
            let all = law.iter().sum::<f64>() / (1.0 - alone);
            law.iter_mut().for_each(|weight| *weight /= all);
            if let Some(first) = law.first_mut() {
                *first += alone;
            }
            match kinds {
                2 => laws.extend(CHANCE.map(|chance| {
                    let kinds = [1.0 - chance, chance].into_iter();
                    kinds
                        .flat_map(|kind| law.iter().map(move |weight| kind * weight))
                        .collect()
                })),
                _ => laws.push(law),
            }
        }
    }
    laws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_weights_are_above_none_and_add_up_to_one() {
        let grid = [1.0, 2.0, 3.0, 5.0, 9.0];
        let [one, two] = [1, 2].map(|kinds| laws(&grid, kinds * grid.len()));
        assert_eq!((one.len(), two.len()), (64, 64 * 7));
        let all = [one, two, vec![usual(&grid)]].concat();
        for law in &all {
            assert!(law.iter().all(|&weight| weight > 0.0), "{law:?}");
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{law:?}");
        }
    }
}
