//! The Hub's own conversion of a dataset to Parquet.

use std::collections::BTreeSet;

use super::api::{Entry, Repository};
use super::{CONVERSION, may_not_exist};
use crate::FetchError;
use crate::client::Client;

/// Prefix of a split's folder if only a first part of the split was converted.
const PARTIAL: &str = "partial-";

/// Conversion of a dataset, with its files.
#[derive(Debug)]
pub(super) struct Conversion {
    pub(super) repository: Repository,
    pub(super) tree: Vec<Entry>,
}

impl Conversion {
    /// Looks for the conversion of a dataset; `None` if there is none.
    pub(super) async fn find(client: &Client, of: &Repository) -> Result<Option<Self>, FetchError> {
        let repository = match Repository::find(client, &of.dataset, Some(CONVERSION)).await {
            Ok(repository) => repository,
            Err(error) if may_not_exist(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let tree = repository.tree(client).await?;
        Ok(Some(Self { repository, tree }))
    }

    /// Returns the configurations of which anything was converted, sorted.
    pub(super) fn configs(&self) -> Vec<String> {
        let configs: BTreeSet<&str> = self.files().map(|(config, _, _)| config).collect();
        configs.into_iter().map(str::to_owned).collect()
    }

    /// Returns the files of a split that was converted to its end; `None` if it was not.
    pub(super) fn complete(&self, config: &str, split: &str) -> Option<Vec<&Entry>> {
        if self.is_partial(config, split) {
            return None;
        }
        let files: Vec<&Entry> = self
            .files()
            .filter(|(c, s, _)| (*c, *s) == (config, split))
            .map(|(_, _, entry)| entry)
            .collect();
        (!files.is_empty()).then_some(files)
    }

    /// Returns the splits of a configuration that were converted to their end, sorted.
    pub(super) fn splits(&self, config: &str) -> Vec<String> {
        let splits: BTreeSet<&str> = self
            .files()
            .filter(|(c, s, _)| *c == config && !s.starts_with(PARTIAL))
            .map(|(_, split, _)| split)
            .collect();
        splits.into_iter().map(str::to_owned).collect()
    }

    /// Returns whether only a first part of a split was converted.
    pub(super) fn is_partial(&self, config: &str, split: &str) -> bool {
        self.files()
            .any(|(c, s, _)| c == config && s.strip_prefix(PARTIAL) == Some(split))
    }

    /// Returns the configuration, the split and the entry of each file `CONFIG/SPLIT/0000.parquet`.
    fn files(&self) -> impl Iterator<Item = (&str, &str, &Entry)> {
        self.tree.iter().filter_map(|entry| {
            let (folder, file) = entry.path.rsplit_once('/')?;
            let (config, split) = folder.split_once('/')?;
            file.ends_with(".parquet").then_some((config, split, entry))
        })
    }
}
