//! Says where the data lie that the tests of several crates compare with.
//!
//! ```
//! let totals = kato_test_data::training_20("node0.totals.json");
//! assert!(totals.is_file());
//! ```

use std::path::{Path, PathBuf};

/// Returns the path of a file about 20 real samples and what the original's server learned from
/// them.
///
/// | file | holds |
/// |---|---|
/// | `samples.jsonl.gz` | the samples |
/// | `node0.jsonl.gz` | the patterns of a node, as an export has them |
/// | `node0.symbols.jsonl.gz` | the counts of its symbols |
/// | `node0.totals.json` | its totals |
///
/// `node1` and `node2` have the same files as `node0`.
#[must_use]
pub fn training_20(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/training-20")
        .join(file)
}
