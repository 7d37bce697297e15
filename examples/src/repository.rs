//! The text that the repository itself carries: what the examples learn when they are given nothing else.

use std::path::{Path, PathBuf};

/// The repository's README and documentation, those that exist.
#[must_use]
pub fn own_text() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    ["README.md", "docs"]
        .into_iter()
        .map(|name| root.join(name))
        .filter(|path| path.exists())
        .collect()
}
