//! Text to measure on: real text where there is some, else this repository's own.

use std::path::{Path, PathBuf};

/// Variable that names the folder with real text, as for the tests.
const CORPUS_DIR: &str = "KATO_CORPUS_DIR";

/// Returns the text files of the folder that `KATO_CORPUS_DIR` names, else the repository's README
/// and documentation.
///
/// Results on the repository's own text are for comparison with themselves: it is small, so every
/// cache stays warm.
///
/// # Panics
///
/// When `KATO_CORPUS_DIR` names a folder without text, or a file cannot be read: a bench cannot go
/// on without.
#[must_use]
pub fn sample_text() -> String {
    let mut files = Vec::new();
    match std::env::var_os(CORPUS_DIR) {
        Some(dir) => list_text(Path::new(&dir), &mut files),
        None => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            let own_text = ["README.md", "docs"];
            own_text
                .iter()
                .for_each(|name| list_text(&root.join(name), &mut files));
        }
    }
    // Directories are listed in any order; the text has to be the same in every run.
    files.sort();
    assert!(
        !files.is_empty(),
        "there is no text to measure on: set {CORPUS_DIR} to a folder with .txt files"
    );
    files
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a text file can be read"))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Collects the files of plain text at or below a path.
fn list_text(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder of text can be listed");
        entries
            .flatten()
            .for_each(|entry| list_text(&entry.path(), files));
    } else if path
        .extension()
        .is_some_and(|extension| extension == "txt" || extension == "md")
    {
        files.push(path.to_owned());
    }
}
