//! Vector symbols: the vectors of one observation, added up and named by the SHA-1 of the text
//! numpy prints.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};

use crate::hex;
use crate::parse_visitor::ParseVisitor;

mod numpy_text;

pub use numpy_text::write_numpy_text;

/// The prefix of the hash in a vector symbol.
pub const VECTOR_PREFIX: &str = "VCTR|";

/// The symbol of an observation's vectors: SHA-1 of what numpy prints for their sum.
///
/// Vectors that print alike have one name: of arrays with more than 1000 elements only the first
/// and last three are printed. `Display` and serde write `VCTR|` and 40 lower-case hexadecimal
/// digits; reading wants exactly that.
///
/// # Examples
///
/// ```
/// use kato_model::VectorName;
///
/// let name = VectorName::of_observation(&[[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(name, VectorName::of_vector(&[4.0, 6.0]));
/// assert_eq!(name.to_string(), "VCTR|d4ae6976f832d22d69d3a980c3da5401f08b0b1a");
/// # Ok::<(), kato_model::vector::VectorError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorName([u8; hex::DIGEST_LEN]);

impl VectorName {
    /// Number of bytes of a name.
    pub const BYTES: usize = hex::DIGEST_LEN;

    /// Creates the name with these 20 bytes, as [`as_bytes`](Self::as_bytes) returned them.
    #[must_use]
    pub const fn from_bytes(digest: [u8; hex::DIGEST_LEN]) -> Self {
        Self(digest)
    }

    /// Returns the 20 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; hex::DIGEST_LEN] {
        &self.0
    }

    /// Returns the name of one vector.
    #[must_use]
    pub fn of_vector(vector: &[f64]) -> Self {
        let mut text = String::new();
        write_numpy_text(vector, &mut text);
        Self(Sha1::digest(text).into())
    }

    /// Returns the one name that all vectors of an observation have together: that of their
    /// [sum](sum_vectors).
    ///
    /// # Errors
    ///
    /// As for [`sum_vectors`].
    pub fn of_observation<V: AsRef<[f64]>>(vectors: &[V]) -> Result<Self, VectorError> {
        sum_vectors(vectors).map(|sum| Self::of_vector(&sum))
    }
}

impl fmt::Display for VectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(&self.0);
        write!(
            f,
            "{VECTOR_PREFIX}{}",
            str::from_utf8(&digits).map_err(|_| fmt::Error)?
        )
    }
}

impl fmt::Debug for VectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VectorName({self})")
    }
}

impl FromStr for VectorName {
    type Err = ParseVectorNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digest = text.strip_prefix(VECTOR_PREFIX).and_then(hex::decode);
        digest.map(Self).ok_or_else(|| ParseVectorNameError {
            text: text.to_owned(),
        })
    }
}

impl Serialize for VectorName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VectorName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ParseVisitor::new())
    }
}

/// The error for a text that is not a vector symbol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {text:?} as a vector symbol: give VCTR| and 40 lower-case hexadecimal digits")]
pub struct ParseVectorNameError {
    text: String,
}

/// The error for vectors of an observation that have no sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// There was no vector.
    #[error("add up vectors: there are none; leave the vector symbol out of the event")]
    NoVectors,
    /// A vector does not fit to those before it.
    #[error(
        "add up vectors: number {vector_idx} (from 0) has {found} elements, those before have {expected}; \
         give all the same length, or one element to add to every other"
    )]
    LengthMismatch {
        /// Position of the vector that does not fit, from 0.
        vector_idx: usize,
        /// Elements of the sum so far.
        expected: usize,
        /// Elements of that vector.
        found: usize,
    },
}

/// Adds vectors element by element, from the first to the last.
///
/// As in numpy's broadcasting, a vector of one element is added to every element of the others.
///
/// # Errors
///
/// [`VectorError::LengthMismatch`] when two lengths differ and neither is 1,
/// [`VectorError::NoVectors`] for none.
///
/// # Examples
///
/// ```
/// assert_eq!(kato_model::vector::sum_vectors(&[vec![1.0, 2.0], vec![0.5]]), Ok(vec![1.5, 2.5]));
/// ```
pub fn sum_vectors<V: AsRef<[f64]>>(vectors: &[V]) -> Result<Vec<f64>, VectorError> {
    let (first, rest) = vectors.split_first().ok_or(VectorError::NoVectors)?;
    let mut sum = first.as_ref().to_vec();
    // In the order given: sums of floating-point numbers depend on it, and with them the text that
    // is hashed.
    for (vector_idx, vector) in (1..).zip(rest) {
        match (sum.as_slice(), vector.as_ref()) {
            // numpy broadcasts whichever side is one element long. KATO inherits that quirk for the
            // vectors of one observation.
            (&[broadcast], vector) => {
                sum = vector.iter().map(|element| broadcast + element).collect()
            }
            (_, &[broadcast]) => sum.iter_mut().for_each(|total| *total += broadcast),
            (total, vector) if total.len() == vector.len() => {
                sum.iter_mut()
                    .zip(vector)
                    .for_each(|(total, element)| *total += element);
            }
            (total, vector) => {
                let (expected, found) = (total.len(), vector.len());
                return Err(VectorError::LengthMismatch {
                    vector_idx,
                    expected,
                    found,
                });
            }
        }
    }
    Ok(sum)
}

/// Returns whether a vector is kept rather than another of the same name.
///
/// It is if it is shorter, or equally long and smaller in the element where the two first differ,
/// by the total order of [`f64::total_cmp`].
///
/// Vectors that print alike have one name, so merging what was learned separately needs a rule that
/// gives the same result in any order.
///
/// ```
/// use kato_model::vector::smaller_vector;
///
/// assert!(smaller_vector(&[5.0], &[1.0, 2.0]));
/// assert!(smaller_vector(&[1.0, 2.0], &[1.0, 2.5]));
/// assert!(!smaller_vector(&[f64::NAN], &[f64::NAN]));
/// ```
#[must_use]
pub fn smaller_vector(vector: &[f64], than: &[f64]) -> bool {
    let by_length = vector.len().cmp(&than.len());
    let mut elements = vector.iter().zip(than).map(|(a, b)| a.total_cmp(b));
    by_length.then_with(|| {
        elements
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }) == Ordering::Less
}
