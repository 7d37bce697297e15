//! Files of vectors for tests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kato_embeddings::Embeddings;
use tempfile::TempDir;

/// A folder that goes away with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Rows of a GloVe text, the same ones always: some words repeat, some have blanks.
pub(crate) fn glove(n_rows: u32, dims: u32) -> String {
    let mut text = String::new();
    let mut state = 1_u32;
    for row in 0..n_rows {
        match row % 100 {
            50 => write!(text, "two words {row}x").unwrap(),
            51 => write!(text, "w{}", row / 2).unwrap(),
            _ => write!(text, "w{row}").unwrap(),
        }
        for _ in 0..dims {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = f64::from(state >> 8) / f64::from(1 << 23) - 1.0;
            write!(text, " {number:.5}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// All words with their vectors.
pub(crate) fn rows(embeddings: &Embeddings) -> Vec<(String, Vec<f32>)> {
    embeddings
        .iter()
        .map(|(word, vector)| (word.to_owned(), vector.to_vec()))
        .collect()
}

pub(crate) fn open(path: &Path) -> Embeddings {
    Embeddings::builder(path).open().unwrap()
}
