//! Metrics of streams that merge exactly, but for [`ExponentialMean`]: any split over threads,
//! replicas and batches, and any order of merging, gives the same bits.
//!
//! Each term is computed alone, so it does not depend on its neighbours; terms are added without
//! any rounding ([`ExactSum`]) or counted as integers; and the result is rounded when it is read.
//! All states can be saved with serde and taken up by another process.

mod classification;
mod cosine;
mod exponential;
mod mean;
mod regression;
mod sum;

pub use classification::{ClassScores, Classification};
pub use cosine::{CosineMean, cosine};
pub use exponential::ExponentialMean;
pub use mean::Mean;
pub use regression::RegressionScores;
pub use sum::ExactSum;
