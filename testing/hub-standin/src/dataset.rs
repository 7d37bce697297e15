//! A dataset of the Hub, as a test describes it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::content::{Blob, sha256};

/// Files of at least this many bytes are large ones, which the Hub redirects to its CDN.
const LARGE: usize = 1024;

/// Files by their path.
pub(crate) type Files = BTreeMap<String, Blob>;

/// A dataset with its revisions. `main` is the one that is meant when none is named.
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
    /// An empty dataset, `OWNER/NAME` or `NAME`.
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

    /// A former name, which redirects to the present one.
    #[must_use]
    pub fn formerly(mut self, id: &str) -> Self {
        self.former.push(id.to_owned());
        self
    }

    /// What the card declares, as `{"configs": [...]}`.
    #[must_use]
    pub fn card(mut self, card: Value) -> Self {
        self.card = card;
        self
    }

    /// A file on `main`.
    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.file_at("main", path, bytes)
    }

    /// A file of another revision.
    #[must_use]
    pub fn file_at(mut self, revision: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let files = self.revisions.entry(revision.to_owned()).or_default();
        files.insert(path.to_owned(), Blob::new(bytes));
        self
    }

    /// A file of the conversion to Parquet, such as `default/train/0000.parquet`.
    #[must_use]
    pub fn converted(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.file_at("refs/convert/parquet", path, bytes)
    }

    /// Only who has the token sees that it exists.
    #[must_use]
    pub fn private(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Only who has the token may read its files.
    #[must_use]
    pub fn gated(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self.is_gated = true;
        self
    }

    /// The commit of a revision: a function of its content, so revisions with the same files are at the same commit.
    #[must_use]
    pub fn commit(&self, revision: &str) -> Option<String> {
        let files = self.revisions.get(revision)?;
        let mut text = self.id.clone();
        for (path, blob) in files {
            text.push_str(path);
            text.push_str(&blob.sha256);
        }
        let mut commit = sha256(text.as_bytes());
        commit.truncate(40);
        Some(commit)
    }

    /// The files of a revision, named as such or by its commit.
    pub(crate) fn files(&self, revision: &str) -> Option<(String, &Files)> {
        self.revisions
            .iter()
            .filter_map(|(name, files)| Some((name, self.commit(name)?, files)))
            .find(|(name, commit, _)| *name == revision || commit == revision)
            .map(|(_, commit, files)| (commit, files))
    }
}

pub(crate) fn is_large(bytes: &[u8]) -> bool {
    bytes.len() >= LARGE
}
