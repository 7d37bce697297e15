//! Matrix of all vectors and their norms, in memory or in a mapped cache.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use kato_columns::map::{Map, MapState};

use crate::element::Number;

/// Vectors one behind the other, and the norm of each.
#[derive(Debug)]
pub(crate) enum Vectors<E> {
    Owned { elements: Vec<E>, norms: Vec<f64> },
    Mapped(MappedVectors),
}

/// Ranges of a mapped cache that hold vectors and norms.
#[derive(Debug)]
pub(crate) struct MappedVectors {
    map: Map,
    elements: Range<usize>,
    norms: Range<usize>,
    /// Whether the cache was found to be another file than was checked when it was opened.
    has_changed: AtomicBool,
}

impl MappedVectors {
    /// Creates them; `None` if the ranges are not in the map, or hold numbers that are not whole or
    /// not aligned.
    pub(crate) fn new<E: Number>(
        map: Map,
        elements: Range<usize>,
        norms: Range<usize>,
    ) -> Option<Self> {
        // Checked once, so that every later access can rely on it.
        numbers::<E>(&map, &elements)?;
        numbers::<f64>(&map, &norms)?;
        Some(Self {
            map,
            elements,
            norms,
            has_changed: AtomicBool::new(false),
        })
    }
}

impl<E: Number> Vectors<E> {
    /// Returns whether the cache that holds them was written to, or cannot be read any more.
    pub(crate) fn have_changed(&self) -> bool {
        let Self::Mapped(mapped) = self else {
            return false;
        };
        if mapped.map.look() != MapState::Unchanged {
            mapped.has_changed.store(true, Ordering::Relaxed);
        }
        mapped.has_changed.load(Ordering::Relaxed)
    }

    /// Returns all vectors, one behind the other.
    pub(crate) fn elements(&self) -> &[E] {
        match self {
            Self::Owned { elements, .. } => elements,
            Self::Mapped(mapped) => checked(numbers(&mapped.map, &mapped.elements)),
        }
    }

    /// Returns the norm of each vector.
    pub(crate) fn norms(&self) -> &[f64] {
        match self {
            Self::Owned { norms, .. } => norms,
            Self::Mapped(mapped) => checked(numbers(&mapped.map, &mapped.norms)),
        }
    }
}

/// Returns the numbers in a range of a map, if they are whole and aligned.
fn numbers<'a, T: Pod>(map: &'a Map, range: &Range<usize>) -> Option<&'a [T]> {
    bytemuck::try_cast_slice(map.get(range.clone())?).ok()
}

/// Returns numbers that [`MappedVectors::new`] has found in their place.
fn checked<T>(numbers: Option<&[T]>) -> &[T] {
    numbers.expect("a map neither moves nor shrinks, and `new` has made the same slice")
}
