//! Distances of just the samples that are worked with.

use std::collections::HashMap;

use kato_unifrac::DistanceMatrix;

/// Distances put into the order of a list of samples, and what was left out for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Aligned {
    /// Distances of the samples that both have, in the order of the list.
    pub matrix: DistanceMatrix,
    /// Which samples of the list they are, ascending.
    pub samples: Vec<usize>,
    /// Samples of the list that the matrix does not have.
    pub absent: Vec<String>,
    /// Samples of the matrix that the list does not have.
    pub surplus: Vec<String>,
}

/// Puts distances into the order of `sample_ids` and keeps what both have.
///
/// ```
/// use kato_microbes::distances::align;
/// use kato_unifrac::DistanceMatrix;
///
/// let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
/// let matrix = DistanceMatrix::from_condensed(names(&["a", "b", "c"]), vec![1.0, 2.0, 3.0])?;
/// let aligned = align(&matrix, &names(&["c", "x", "a"]));
/// assert_eq!(aligned.matrix.sample_ids(), ["c", "a"]);
/// assert_eq!(aligned.matrix.condensed(), [2.0]);
/// assert_eq!((aligned.absent, aligned.surplus), (names(&["x"]), names(&["b"])));
/// # Ok::<(), kato_unifrac::UnifracError>(())
/// ```
#[must_use]
pub fn align(matrix: &DistanceMatrix, sample_ids: &[String]) -> Aligned {
    let ids = matrix.sample_ids();
    // One look-up a sample: lists are as long as the table is wide.
    let places: HashMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    let mut is_taken = vec![false; ids.len()];
    let (mut chosen, mut samples, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for (sample, id) in sample_ids.iter().enumerate() {
        match places.get(id.as_str()) {
            Some(&place) => {
                is_taken[place] = true;
                chosen.push(place);
                samples.push(sample);
            }
            None => absent.push(id.clone()),
        }
    }
    let surplus = ids.iter().zip(&is_taken).filter(|(_, taken)| !**taken);
    Aligned {
        matrix: matrix.select(&chosen),
        samples,
        absent,
        surplus: surplus.map(|(id, _)| id.clone()).collect(),
    }
}
