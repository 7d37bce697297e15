//! The text of the repository itself, which is learned when no source is named.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Returns the sources that were named, or where there are none the repository's own text.
///
/// # Errors
///
/// When no source is named, and this copy of the program has no text of its own.
pub(crate) fn sources_or_own_text(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let sources = match named {
        [] => own_text(),
        named => named.to_vec(),
    };
    ensure!(
        !sources.is_empty(),
        "this copy of the program has no text of its own: name a source"
    );
    Ok(sources)
}

/// Returns the repository's README and documentation, those that exist: an installed program may
/// have outlived its sources.
fn own_text() -> Vec<PathBuf> {
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
