//! Tools of the workspace's benches.
//!
//! The suites are in `benches/`, other engines in `compare/`, a test of scale in `scale.sh`;
//! `docs/benchmarks.md` has the results.

mod corpus;
mod glove;
mod knowledge;
mod patterns;
mod text;
mod trial;

pub use corpus::{MadeText, json_lines, texts};
pub use glove::write_glove;
pub use knowledge::Knowledge;
pub use patterns::{N_SYMBOLS, RandomPatterns};
pub use text::sample_text;
pub use trial::sized;

/// The pages of `docs` that show Rust, whose examples are compiled and run as tests: here, as nobody's
/// first build has what they take.
#[cfg(all(doctest, feature = "full", feature = "programs"))]
mod pages {
    #[doc = include_str!("../../docs/datasets.md")]
    struct Datasets;
    #[doc = include_str!("../../docs/mongodb.md")]
    struct Mongodb;
}
