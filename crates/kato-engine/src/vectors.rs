//! The vectors of a node, and the search for those nearest to another vector.
//!
//! The search is exact, so that the answer does not depend on the order of learning, and its dimension is
//! known only at run time. Trees are split at the median, so that they are balanced for any input, numbers
//! that no half separates among it. As they cannot grow in balance, new vectors wait in a short list, and
//! trees of doubling size are rebuilt when it is full: the logarithmic method.
//!
//! Learning n vectors takes O(n log³ n) in all, a search O(log² n) in few dimensions; from about ten
//! dimensions on it nears a scan, as for every exact tree.

mod account;
mod tree;

use std::collections::HashSet;

use kato_model::VectorName;

pub use self::account::{
    MatchedVector, ScoreDirection, VectorMetric, VectorSearchAccount, VectorSource,
};
use self::tree::{Nearest, Point, Tree};

/// Most stored vectors that a search is asked for.
pub(crate) const MOST_NEAREST: usize = 100;

/// Number of vectors in the list at which they go into a tree.
const TAIL: usize = 64;

/// The vectors of one node, all of one dimension.
#[derive(Debug, Default)]
pub(crate) struct VectorIndex {
    names: HashSet<VectorName, foldhash::fast::RandomState>,
    /// Every tree holds at most half as many vectors as the one before it.
    trees: Vec<Tree>,
    /// The list of vectors that are in no tree yet.
    tail: Vec<Point>,
    /// Elements of the first vector that was stored; all others have as many.
    dimension: Option<usize>,
}

impl VectorIndex {
    /// Adds a vector.
    ///
    /// Returns `false` if it is known, of another dimension than the first, empty, or has an
    /// element that no distance can be measured from.
    pub(crate) fn insert(&mut self, name: VectorName, elements: &[f64]) -> bool {
        // The name comes last: its check adds it, and a vector that is refused must not leave it.
        if elements.is_empty()
            || elements.len() != self.dimension.unwrap_or(elements.len())
            || elements.iter().any(|element| !element.is_finite())
            || !self.names.insert(name)
        {
            return false;
        }
        self.dimension = Some(elements.len());
        self.tail.push(Point {
            name,
            elements: elements.into(),
        });
        if self.tail.len() == TAIL {
            self.grow();
        }
        true
    }

    /// Returns the number of elements of every vector; `None` before the first.
    pub(crate) const fn dimension(&self) -> Option<usize> {
        self.dimension
    }

    /// Returns distances and names of the nearest vectors, at most `most`; of equally near ones
    /// those whose elements are greater, the first that differs. None for a vector of another dimension.
    ///
    /// KATO's database takes those that it was given first. That would be forgotten when a node is opened
    /// again; this order is kept, and is the same for unit vectors that are learned one after the other.
    pub(crate) fn nearest(&self, elements: &[f64], most: usize) -> Vec<(f64, VectorName)> {
        if most == 0
            || self.dimension != Some(elements.len())
            || elements.iter().any(|element| !element.is_finite())
        {
            return Vec::new();
        }
        let mut nearest = Nearest::new(elements, most);
        // What one tree found bounds the search in the next.
        for tree in &self.trees {
            tree.search(&mut nearest);
        }
        for point in &self.tail {
            nearest.consider(point);
        }
        nearest.into_found()
    }

    /// Builds a tree of the list and of all trees that are not larger.
    fn grow(&mut self) {
        let mut points = std::mem::take(&mut self.tail);
        // Sizes are powers of two times that of the list, so trees join like carried bits of a
        // binary number that is counted up: a vector moves once for each doubling.
        while let Some(tree) = self.trees.pop_if(|tree| tree.len() <= points.len()) {
            points.extend(tree.into_points());
        }
        self.trees.push(Tree::new(points));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(points: &[Vec<f64>], target: &[f64], most: usize) -> Vec<VectorName> {
        let mut all: Vec<(f64, &Vec<f64>, VectorName)> = points
            .iter()
            .map(|point| {
                let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
                let distance = target
                    .iter()
                    .zip(point)
                    .map(square)
                    .fold(0.0, |sum, square| sum + square);
                (distance, point, VectorName::of_vector(point))
            })
            .collect();
        all.sort_by(|a, b| (a.0, b.1, a.2).partial_cmp(&(b.0, a.1, b.2)).unwrap());
        all.dedup_by_key(|(.., name)| *name);
        all.truncate(most);
        all.into_iter().map(|(.., name)| name).collect()
    }

    fn index(points: &[Vec<f64>]) -> VectorIndex {
        let mut index = VectorIndex::default();
        for point in points {
            index.insert(VectorName::of_vector(point), point);
        }
        index
    }

    proptest! {
        // Few distinct coordinates, extreme ones among them, make ties and overflows likely.
        #[test]
        fn equals_a_scan(
            points in prop::collection::vec(
                prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 5e-324, 1.0, 2.0, -1.5, 1e308, -1e308]), 3), 0..400),
            target in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 1.25, -1e308]), 3),
            most in prop::sample::select(vec![1, 2, 3, 20, MOST_NEAREST]),
        ) {
            let found = index(&points).nearest(&target, most).into_iter();
            let found: Vec<VectorName> = found.map(|(_, name)| name).collect();
            prop_assert_eq!(found, scan(&points, &target, most));
        }
    }

    #[test]
    fn other_dimensions_are_neither_stored_nor_found() {
        let mut vectors = index(&[vec![1.0, 2.0, 3.0]]);
        let other = [4.0, 6.0];
        assert!(!vectors.insert(VectorName::of_vector(&other), &other));
        assert!(vectors.nearest(&other, 3).is_empty());
        assert!(!VectorIndex::default().insert(VectorName::of_vector(&[]), &[]));
    }
}
