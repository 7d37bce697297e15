//! The text of the repository itself, which is learned when no source is named.

use std::path::{Path, PathBuf};

/// Returns the repository's README and documentation, those that exist: an installed program may
/// have outlived its sources.
#[must_use]
pub(crate) fn own_text() -> Vec<PathBuf> {
    // This crate lies two directories below the root of the repository.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."));
    ["README.md", "docs"]
        .into_iter()
        .map(|name| root.join(name))
        .filter(|path| path.exists())
        .collect()
}
