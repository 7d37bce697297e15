//! A balanced k-d tree, and the list of the nearest that a search collects.

use std::cmp::Ordering;

use kato_model::VectorName;

/// A named vector of finite elements.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) name: VectorName,
    pub(super) elements: Box<[f64]>,
}

/// Vectors of one dimension: the one in the middle of a range splits it, by one coordinate after the other.
#[derive(Debug)]
pub(super) struct Tree(Vec<Point>);

impl Tree {
    pub(super) fn new(mut points: Vec<Point>) -> Self {
        balance(&mut points, 0);
        Self(points)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_points(self) -> Vec<Point> {
        self.0
    }

    /// Shows a search every vector that may be among the nearest.
    pub(super) fn search<'a>(&'a self, nearest: &mut Nearest<'a>) {
        descend(&self.0, 0, nearest);
    }
}

/// Puts the middle by one coordinate into the middle, and does so on both sides by the next one.
fn balance(points: &mut [Point], axis: usize) {
    let middle = points.len() / 2;
    if middle == 0 {
        return;
    }
    let coordinate = |point: &Point| point.elements[axis];
    points.select_nth_unstable_by(middle, |a, b| coordinate(a).total_cmp(&coordinate(b)));
    let next = (axis + 1) % points[middle].elements.len();
    let (left, right) = points.split_at_mut(middle);
    balance(left, next);
    balance(&mut right[1..], next);
}

fn descend<'a>(points: &'a [Point], axis: usize, nearest: &mut Nearest<'a>) {
    let (left, right) = points.split_at(points.len() / 2);
    let Some((middle, right)) = right.split_first() else {
        return;
    };
    nearest.consider(middle);
    let next = (axis + 1) % middle.elements.len();
    let offset = nearest.query[axis] - middle.elements[axis];
    let (near, far) = match offset < 0.0 {
        true => (left, right),
        false => (right, left),
    };
    descend(near, next, nearest);
    // Nothing on the far side is nearer than the plane between: rounding keeps the order of sums of squares.
    if nearest.may_contain(offset * offset) {
        descend(far, next, nearest);
    }
}

/// Compares vectors by the squares of their distances; of equal ones the one of greater elements, the first
/// that differs, comes before. Names tell zeros apart by their signs.
fn rank(a: (f64, &Point), b: (f64, &Point)) -> Ordering {
    let by_elements = || b.1.elements.partial_cmp(&a.1.elements);
    let by_distance = a.0.total_cmp(&b.0);
    // Elements are finite, so there is an order.
    let ranked = by_distance.then_with(|| by_elements().unwrap_or(Ordering::Equal));
    ranked.then_with(|| a.1.name.cmp(&b.1.name))
}

/// The nearest vectors so far, nearest first, of equally near ones those of greater elements.
#[derive(Debug)]
pub(super) struct Nearest<'a> {
    query: &'a [f64],
    most: usize,
    /// With the squares of their distances.
    found: Vec<(f64, &'a Point)>,
}

impl<'a> Nearest<'a> {
    /// Begins a search for the `most` vectors that are nearest, at least one.
    pub(super) const fn new(query: &'a [f64], most: usize) -> Self {
        let found = Vec::new();
        Self { query, most, found }
    }

    /// Adds a vector that is among the nearest.
    pub(super) fn consider(&mut self, point: &'a Point) {
        let pairs = self.query.iter().zip(&point.elements);
        let square = pairs
            .map(|(a, b)| (a - b) * (a - b))
            .fold(0.0, |sum, square| sum + square);
        if self.may_contain(square) {
            let is_before = |&(other, found): &_| rank((other, found), (square, point)).is_lt();
            let place = self.found.partition_point(is_before);
            self.found.insert(place, (square, point));
            self.found.truncate(self.most);
        }
    }

    /// Returns distances and names.
    pub(super) fn into_found(self) -> Vec<(f64, VectorName)> {
        let found = self.found.into_iter();
        found
            .map(|(square, point)| (square.sqrt(), point.name))
            .collect()
    }

    /// Returns whether a vector as far away, by the square of its distance, may be among the nearest.
    fn may_contain(&self, square: f64) -> bool {
        // Inclusive: an equally near vector may have greater elements.
        let farthest = self.found.get(self.most - 1);
        farthest.is_none_or(|&(farthest, _)| square <= farthest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_enough_are_found_only_what_is_as_near_is_looked_at() {
        let points = [1.0, 2.0].map(|element| Point {
            name: VectorName::of_vector(&[element]),
            elements: [element].into(),
        });
        let mut nearest = Nearest::new(&[0.0], points.len());
        for point in &points {
            assert!(nearest.may_contain(f64::MAX));
            nearest.consider(point);
        }
        assert!(nearest.may_contain(4.0));
        assert!(!nearest.may_contain(4.5));
    }
}
