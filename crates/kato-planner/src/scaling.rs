//! Tells how a cost grows with the size of the work, from a few measurements, and how far off that may be.
//!
//! Take it to know what a run of a terabyte takes from runs of megabytes. Laws are compared by a
//! criterion that charges for parameters (AICc), never by how closely they follow the points alone, which
//! favours laws with more parameters. A prediction is an interval: it counts the noise of the
//! measurements, the parameters, and the other laws that the points allow as well, and widens with
//! distance. It is pure: no files, no clocks, equal input gives equal output.
//!
//! ```rust
//! use kato_planner::scaling::{Law, ScalingAnalyzer};
//!
//! fn main() -> Result<(), kato_planner::scaling::ScalingError> {
//!     // Megabytes of text, and seconds that a run over them took.
//!     let measured = [(1.0, 0.26), (2.0, 0.31), (5.0, 0.49), (10.0, 0.81), (20.0, 1.39), (20.0, 1.42)];
//!     let scaling = ScalingAnalyzer::new().fit(measured)?;
//!     assert_eq!(scaling.law(), Law::Linear);
//!
//!     let run = scaling.predict(100.0)?;
//!     assert!(run.low < 6.1 && 6.1 < run.high, "{run:?}");
//!     // 20,000 times what was measured is a guess: it is refused unless asked for.
//!     assert!(scaling.predict(400_000.0).is_err());
//!     println!("{scaling}");
//!     Ok(())
//! }
//! ```
//!
//! # What it does
//!
//! | part | in short |
//! |---|---|
//! | model | value = law(size) · noise, the noise a share of the value: errors of long runs are long |
//! | laws | O(1); O(log n), O(n), O(n log n), O(n²), each with or without a fixed part; n^p; on request the growth of distinct patterns by Pitman and Yor |
//! | selection | AICc, with 6 more for a second parameter: a law within another is never the closer one |
//! | fewer than 5 points | laws of one parameter only, without a fixed part: more parameters than that fit anything |
//! | interval | quantiles of all laws together, each by Student's t, weighted by AICc |
//! | range | up to 100 times the largest size; beyond it `with_force(true)` |
//! | `size_at`, `crossings` | where a prediction meets a limit, such as a memory ceiling, that ends the law |
//!
//! `regression` is the least squares behind it, for models with more than one quantity.
//!
//! # Limits
//!
//! - Laws that the sizes cannot tell apart stay rivals (`Scaling::rivals`), and make the interval wide.
//!   Three decades of sizes tell n from n log n at 20 % of noise, and less often where there is a fixed part.
//! - What changes on the way is in no measurement: a memory that fills, a disk that fills. Name such
//!   limits to `crossings`.
//! - Values and sizes must be above 0.
//!
//! How the laws and intervals were tested: `cargo test --release -p kato-planner --test it scaling -- --nocapture` prints
//! the table that [docs/costs.md](https://github.com/kato-rs/kato-rs/blob/main/docs/costs.md) sums up.

mod analyzer;
mod error;
mod fitted;
mod form;
mod law;
mod mixture;
mod prediction;
pub mod regression;
mod search;

pub use analyzer::ScalingAnalyzer;
pub use error::ScalingError;
pub use fitted::{FittedLaw, Scaling};
pub use law::Law;
pub use prediction::{Crossing, Limit, Prediction};
