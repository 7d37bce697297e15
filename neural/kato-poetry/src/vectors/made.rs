//! Makes word vectors from a text: what stands near what, and the directions that matter most.

use super::cooccurrence::Cooccurrence;
use super::svd::{Sparse, largest};
use super::{VectorOptions, VectorReport, WordVectors};
use crate::error::PoetryError;
use crate::tokens::Special;
use crate::vocabulary::PoemVocabulary;

/// Root of the mean square of all numbers of the vectors that are made. Losses that are squares
/// depend on it, and penalties beside them, so it must not depend on the text.
const MADE_SIZE: f64 = 0.4;

/// Makes the vectors of a vocabulary from the tokens of the training poems.
///
/// Positive pointwise mutual information of words and their neighbours, whose counts are smoothed by
/// the power 3/4, and its singular vectors, each scaled by the root of its value; then all by one
/// number. Special tokens are words like others here, but for padding.
///
/// Source: Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from
/// word embeddings", TACL 3, 2015, sections 3.2 and 3.3.
pub(super) fn make(
    vocabulary: &PoemVocabulary,
    train: &[&[u32]],
    options: &VectorOptions,
) -> Result<(WordVectors, VectorReport), PoetryError> {
    let counted = Cooccurrence::count(train, vocabulary.len(), options.window);
    let (matrix, transposed) = information(&counted);
    let too_small = |reason| PoetryError::NoVectors { reason };
    if matrix.values.is_empty() {
        return Err(too_small(
            "no words stand together more often than by chance",
        ));
    }
    let singular = largest(&matrix, &transposed, options.dims, options.seed);
    let dims = singular.values.len();
    if dims < 2 {
        return Err(too_small("its words differ in nothing"));
    }
    let roots: Vec<f64> = singular.values.iter().map(|value| value.sqrt()).collect();
    let mut rows = singular.vectors.values;
    for row in rows.chunks_exact_mut(dims) {
        row.iter_mut()
            .zip(&roots)
            .for_each(|(value, root)| *value *= root);
    }
    rows[..dims].fill(0.0);
    let n_missing = n_without_neighbours(&counted, vocabulary);
    let report = VectorReport {
        origin: format!(
            "made from the training poems: {dims} dimensions, window {}",
            options.window
        ),
        n_words: vocabulary.len() - Special::ALL.len(),
        n_missing,
        missing_share: 0.0,
        n_bad_lines: 0,
        first_bad_line: None,
    };
    Ok((WordVectors::from_rows(dims, scaled(&rows)), report))
}

/// Scales all numbers so that the root of their mean square is [`MADE_SIZE`].
fn scaled(rows: &[f64]) -> Vec<f32> {
    let squares: f64 = rows.iter().map(|value| value * value).sum();
    let size = (squares / rows.len() as f64).sqrt();
    rows.iter()
        .map(|value| (value * MADE_SIZE / size) as f32)
        .collect()
}

/// Returns how many words occur in no training poem, and so have zeros.
fn n_without_neighbours(counted: &Cooccurrence, vocabulary: &PoemVocabulary) -> usize {
    let sums = counted.row_sums();
    sums[Special::ALL.len().min(vocabulary.len())..]
        .iter()
        .filter(|sum| **sum == 0)
        .count()
}

/// Returns the positive pointwise mutual information of words (rows) and neighbours (columns), and
/// the same matrix turned.
fn information(counted: &Cooccurrence) -> (Sparse, Sparse) {
    let sums = counted.row_sums();
    let words: Vec<f64> = sums.iter().map(|sum| *sum as f64).collect();
    // The power 3/4 by square roots, which are exact everywhere.
    let smoothed: Vec<f64> = words.iter().map(|sum| sum.sqrt().sqrt().powi(3)).collect();
    let n_smoothed: f64 = smoothed.iter().sum();
    // log of p(w, c) / (p(w) · p(c)), where the number of all pairs cancels.
    let value = |weight: u64, word: usize, neighbour: usize| {
        libm::log(weight as f64 * n_smoothed / (words[word] * smoothed[neighbour]))
    };
    let build = |is_turned: bool| {
        let mut offsets = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for row in 0..counted.n_words() {
            for at in counted.offsets[row]..counted.offsets[row + 1] {
                // Counts are symmetric, so a row of the turned matrix has the same pairs.
                let column = counted.columns[at];
                let (word, neighbour) = if is_turned {
                    (column as usize, row)
                } else {
                    (row, column as usize)
                };
                let information = value(counted.weights[at], word, neighbour) as f32;
                if information > 0.0 {
                    columns.push(column);
                    values.push(information);
                }
            }
            offsets.push(columns.len());
        }
        Sparse {
            offsets,
            columns,
            values,
        }
    };
    (build(false), build(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::dot;

    /// Two kinds of words that stand in the same places: animals and colours.
    fn text() -> String {
        let (animals, colors) = (["cat", "dog", "cow"], ["red", "blue", "green"]);
        let mut lines = Vec::new();
        for (round, animal) in animals.iter().cycle().take(60).enumerate() {
            let color = colors[round * 7 / 3 % 3];
            lines.push(format!("the {animal} runs and the wall is {color} today"));
        }
        lines.join("\n")
    }

    fn made(dims: usize) -> (PoemVocabulary, WordVectors) {
        let text = text();
        let vocabulary = PoemVocabulary::from_texts([text.as_str()], 1);
        let ids = vocabulary.encode(&text);
        let options = VectorOptions {
            dims,
            ..VectorOptions::default()
        };
        let (vectors, report) = make(&vocabulary, &[&ids], &options).expect("enough text");
        assert_eq!(report.n_missing, 0);
        (vocabulary, vectors)
    }

    #[test]
    fn words_in_the_same_places_are_near_each_other() {
        let (vocabulary, vectors) = made(5);
        let cosine = |a: &str, b: &str| {
            let (a, b) = (
                vectors.vector(vocabulary.id(a)),
                vectors.vector(vocabulary.id(b)),
            );
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        assert!(cosine("cat", "dog") > 0.9, "{}", cosine("cat", "dog"));
        assert!(cosine("red", "blue") > 0.9, "{}", cosine("red", "blue"));
        assert!(cosine("cat", "red") < 0.5, "{}", cosine("cat", "red"));
    }

    #[test]
    fn numbers_have_the_size_that_is_promised() {
        let (_, vectors) = made(300);
        // No more directions than words.
        assert!(vectors.dims() < vectors.len());
        let squares: f64 = vectors
            .matrix()
            .iter()
            .map(|value| f64::from(*value).powi(2))
            .sum();
        let size = (squares / vectors.matrix().len() as f64).sqrt();
        assert!((size - MADE_SIZE).abs() < 1e-6, "{size}");
        assert!(vectors.vector(0).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn the_matrix_is_the_information_of_its_definition() {
        let counted = Cooccurrence::count(&[&[1, 2, 1, 3, 3, 2]], 4, 1);
        let (matrix, transposed) = information(&counted);
        // Weights of 1 with 2: 2, 1 with 3: 1, 3 with 3: 2, 3 with 2: 1; sums 3, 3, 4.
        let smoothed = 2.0 * 3_f64.powf(0.75) + 4_f64.powf(0.75);
        let unit: f64 = 2520.0;
        // Units cancel but in the smoothed counts.
        let expected = |weight: f64, word: f64, neighbour: f64| {
            let smoothed = smoothed * unit.powf(0.75);
            (weight * unit * smoothed / (word * unit * (neighbour * unit).powf(0.75))).ln()
        };
        let row = |sparse: &Sparse, row: usize| -> Vec<(u32, f64)> {
            let range = sparse.offsets[row]..sparse.offsets[row + 1];
            let values = sparse.values[range.clone()]
                .iter()
                .map(|value| f64::from(*value));
            sparse.columns[range].iter().copied().zip(values).collect()
        };
        let near = |found: &[(u32, f64)], wanted: &[(u32, f64)]| {
            assert_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-6);
            }
        };
        near(&row(&matrix, 1), &[(2, expected(2.0, 3.0, 3.0))]);
        near(&row(&matrix, 3), &[(3, expected(2.0, 4.0, 4.0))]);
        near(&row(&transposed, 2), &[(1, expected(2.0, 3.0, 3.0))]);
    }

    #[test]
    fn a_text_of_nothing_is_refused_with_a_way_out() {
        let vocabulary = PoemVocabulary::from_texts([""], 1);
        let error = make(&vocabulary, &[], &VectorOptions::default()).unwrap_err();
        assert!(error.to_string().contains("`vectors.file`"));
    }
}
