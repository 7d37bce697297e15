//! Text to learn where none is named: this repository's own, and more of its kind.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use kato_random::corpus::{CorpusModel, write_corpus};

/// Returns this repository's own text: its README and its guides.
#[must_use]
pub fn own_text() -> Vec<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    vec![root.join("README.md"), root.join("docs")]
}

/// Returns the source that is named, else this repository's own text.
#[must_use]
pub fn sources(named: Option<&str>) -> Vec<PathBuf> {
    named.map_or_else(own_text, |source| vec![source.into()])
}

/// Writes documents that read like this repository's README, as many bytes as wanted and a little more:
/// always the same ones.
///
/// # Errors
///
/// When the README cannot be read, or the folder does not take the file.
pub fn made_text(folder: &Path, n_bytes: u64) -> anyhow::Result<PathBuf> {
    let model = CorpusModel::read(&own_text()[0])?;
    let path = folder.join("made.jsonl");
    let mut file =
        File::create(&path).with_context(|| format!("failed to create {}", path.display()))?;
    write_corpus(&model, 1, n_bytes, &mut file)?;
    Ok(path)
}
