#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! | question | take |
//! |---|---|
//! | which machine does it, for how much? | [`recommend()`] with [`RunCosts`] and a [`Catalogue`] |
//! | how long will a run take, by what other runs took? | [`LearnCallModel`] |
//! | which settings are best? | [`halving`] |
//! | how long do many machines take, and for how much? | [`cluster`] |
//! | what was foretold, and what do its errors teach? | [`Forecast`], [`Correction`] |
//! | how does a cost grow with the size of the work? | [`scaling`] |
//! | what did runs take, and how good were forecasts? | `history`, with the feature `history` |

pub mod catalogue;
pub mod cluster;
mod costs;
mod error;
pub mod halving;
#[cfg(feature = "history")]
pub mod history;
mod learn_calls;
pub mod recommend;
pub mod scaling;

pub use catalogue::Catalogue;
pub use costs::RunCosts;
pub use error::PlanError;
pub use kato_estimator::Interval;
pub use kato_model::forecast::{Correction, Forecast, ForecastValue, Forecaster};
pub use learn_calls::{LearnCallModel, RecordedRun};
pub use recommend::{Recommendation, Requirements, recommend};
