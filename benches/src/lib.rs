//! Tools of the workspace's benches.
//!
//! The suites are in `benches/`, other engines in `compare/`, a test of scale in `scale.sh`;
//! `docs/benchmarks.md` has the results.

mod corpus;
mod glove;
mod memory;
mod patterns;
mod text;

pub use corpus::json_lines;
pub use glove::write_glove;
pub use memory::peak_resident_bytes;
pub use patterns::{N_SYMBOLS, RandomPatterns};
pub use text::sample_text;
