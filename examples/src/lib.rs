//! What the examples share: the text that they learn where none is named.

use std::path::PathBuf;

/// Returns this repository's own text: its README and its guides.
#[must_use]
pub fn own_text() -> Vec<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    vec![root.join("README.md"), root.join("docs")]
}
