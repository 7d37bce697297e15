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
