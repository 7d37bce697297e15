//! Datasets of the Hub, as a test describes them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::content::{Blob, sha256};

/// Size from which a file is a large one, which the Hub redirects to its CDN. The real bound is
/// higher; a low one keeps tests quick.
const LARGE: usize = 1024;

/// Files by their path.
pub(crate) type Files = BTreeMap<String, Blob>;

/// Dataset with its revisions. `main` is the one that is meant where none is named.
#[derive(Debug, Clone)]
pub struct Dataset {
    pub(crate) id: String,
    pub(crate) former: Vec<String>,
    pub(crate) card: Value,
    pub(crate) revisions: BTreeMap<String, Files>,
    pub(crate) token: Option<String>,
    pub(crate) is_gated: bool,
}

impl Dataset {
    /// Creates an empty dataset, `OWNER/NAME` or `NAME`.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            former: Vec::new(),
            card: Value::Null,
            revisions: BTreeMap::from([("main".to_owned(), BTreeMap::new())]),
            token: None,
            is_gated: false,
        }
    }

    /// Adds a former name, which redirects to the present one.
    #[must_use]
    pub fn formerly(mut self, id: &str) -> Self {
        self.former.push(id.to_owned());
        self
    }

    /// Sets what the card declares, as `{"configs": [...]}`.
    #[must_use]
    pub fn card(mut self, card: Value) -> Self {
        self.card = card;
        self
    }

    /// Adds a file on `main`.
    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.file_at("main", path, bytes)
    }

    /// Adds a file of another revision.
    #[must_use]
    pub fn file_at(mut self, revision: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let files = self.revisions.entry(revision.to_owned()).or_default();
        files.insert(path.to_owned(), Blob::new(bytes));
        self
    }

    /// Adds a file of the conversion to Parquet, such as `default/train/0000.parquet`.
    #[must_use]
    pub fn converted(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.file_at("refs/convert/parquet", path, bytes)
    }

    /// Hides the dataset from requests without the token.
    #[must_use]
    pub fn private(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Refuses the dataset's files, but not its description, to requests without the token.
    #[must_use]
    pub fn gated(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self.is_gated = true;
        self
    }

    /// Returns the commit of a revision: a function of its content, so that revisions with the same
    /// files are at the same commit.
    #[must_use]
    pub fn commit(&self, revision: &str) -> Option<String> {
        let files = self.revisions.get(revision)?;
        // With the name, as equal files of two datasets are at different commits.
        let mut text = self.id.clone();
        for (path, blob) in files {
            text.push_str(path);
            text.push_str(&blob.sha256);
        }
        let mut commit = sha256(text.as_bytes());
        commit.truncate(40);
        Some(commit)
    }

    /// Returns commit and files of a revision, named as such or by its commit.
    pub(crate) fn files(&self, revision: &str) -> Option<(String, &Files)> {
        self.revisions
            .iter()
            .filter_map(|(name, files)| Some((name, self.commit(name)?, files)))
            // Clients list by name and then read by commit.
            .find(|(name, commit, _)| *name == revision || commit == revision)
            .map(|(_, commit, files)| (commit, files))
    }
}

/// Returns whether a file is large enough to be redirected to the CDN.
pub(crate) fn is_large(bytes: &[u8]) -> bool {
    bytes.len() >= LARGE
}
