//! Datasets of the Hugging Face Hub: finds the files of a split, pinned to a commit.

mod api;
mod card;
mod convention;
mod conversion;
mod layout;
mod pattern;
mod readme;

use std::collections::{HashMap, HashSet};

use url::Url;

use crate::client::Client;
use crate::location::invalid;
use crate::remote_file::{Listing, PassedOver, RemoteFile, natural};
use crate::{FetchError, HubLocation};
use api::{Entry, Repository};
pub use layout::{HubFiles, HubLayout};

/// Split that is taken when none is asked for.
const DEFAULT_SPLIT: &str = "train";
/// Configuration that is taken when there are several and none is asked for. Also the name of the
/// only one, where nothing names it.
const DEFAULT_CONFIG: &str = "default";
/// Reference under which the Hub keeps its own conversion to Parquet.
const CONVERSION: &str = "refs/convert/parquet";

/// Lists the files of a dataset.
pub(crate) async fn list(client: &Client, asked: &HubLocation) -> Result<Listing, FetchError> {
    let whole = Repository::find(client, &asked.dataset, asked.revision.as_deref()).await;
    let (repository, config) = match (whole, asked.dataset.split_once('/'), &asked.config) {
        (Ok(repository), _, config) => (repository, config.clone()),
        // `a/b` may be configuration `b` of dataset `a`, which only the Hub can tell. It answers
        // alike for a private dataset and for none.
        (Err(error), Some((name, config)), None) if may_not_exist(&error) => {
            let found = Repository::find(client, name, asked.revision.as_deref()).await;
            // If that fails as well, the error is the one for what was written, `a/b`.
            (found.map_err(|_| error)?, Some(config.to_owned()))
        }
        (Err(error), _, _) => return Err(error),
    };
    let split = asked.split.as_deref().unwrap_or(DEFAULT_SPLIT);
    Search {
        client,
        repository,
        config,
        split,
    }
    .run(asked.revision.is_some())
    .await
}

/// Returns whether an error may mean that there is no such dataset, or no such reference.
fn may_not_exist(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::NotFound { .. } | FetchError::Unauthorized { status: 401, .. }
    )
}

/// Search for the files of one split of a configuration.
struct Search<'a> {
    client: &'a Client,
    repository: Repository,
    config: Option<String>,
    split: &'a str,
}

impl Search<'_> {
    /// Finds the files: those of the conversion if it is complete, else the repository's own.
    async fn run(&self, is_pinned: bool) -> Result<Listing, FetchError> {
        let conversion = match is_pinned {
            // The Hub converts only the newest commit, which need not be the one asked for.
            true => None,
            false => conversion::Conversion::find(self.client, &self.repository).await?,
        };
        let mut notes = Vec::new();
        let mut partial = None;
        let converted = conversion
            .as_ref()
            .map(conversion::Conversion::configs)
            .unwrap_or_default();
        if let Some(conversion) = &conversion
            && let Some(config) = self.converted_config(&converted)?
        {
            if let Some(files) = conversion.complete(&config, self.split) {
                notes.push("read from the hub's conversion to Parquet".to_owned());
                let pinned = &conversion.repository;
                return Ok(listing(
                    pinned,
                    &config,
                    self.split,
                    &files,
                    &conversion.tree,
                    notes,
                ));
            }
            if conversion.is_partial(&config, self.split) {
                notes.push(
                    "the hub converted only a part to Parquet; the repository's own files are read"
                        .to_owned(),
                );
                partial = Some(config);
            }
        }
        // Asked for only here: a conversion spares the list of a repository that may hold very many
        // files.
        let tree = self.repository.tree(self.client).await?;
        match self.own(&tree) {
            Ok((config, files)) => Ok(listing(
                &self.repository,
                &config,
                self.split,
                &files,
                &tree,
                notes,
            )),
            // Without files of its own, the repository cannot explain what is missing; the
            // conversion may.
            Err(error) if !matches!(error, FetchError::NoFiles { .. }) => Err(error),
            Err(error) => Err(self.explain(error, conversion.as_ref(), &converted, partial)),
        }
    }

    /// Returns the configuration to look for in the conversion, if that has it.
    fn converted_config(&self, converted: &[String]) -> Result<Option<String>, FetchError> {
        let layout = self.layout(&[]);
        let declared = layout.config_names();
        // The card names all configurations, while the conversion may still lack some: a default
        // chosen among those converted so far could change from one day to the next.
        let config = match (&self.config, declared.is_empty()) {
            (Some(config), _) => config.clone(),
            (None, false) => self.choose(&declared, layout.default())?,
            (None, true) if converted.is_empty() => return Ok(None),
            (None, true) => self.choose(converted, None)?,
        };
        Ok(converted.contains(&config).then_some(config))
    }

    /// Returns why nothing was found, as far as the conversion tells.
    fn explain(
        &self,
        error: FetchError,
        conversion: Option<&conversion::Conversion>,
        converted: &[String],
        partial: Option<String>,
    ) -> FetchError {
        let dataset = self.repository.dataset.clone();
        if let Some(config) = partial {
            return FetchError::PartialConversionOnly {
                dataset,
                config,
                split: self.split.to_owned(),
            };
        }
        match (conversion, self.converted_config(converted)) {
            (Some(conversion), Ok(Some(config))) => FetchError::UnknownSplit {
                dataset,
                asked: self.split.to_owned(),
                available: conversion.splits(&config),
                config,
            },
            (Some(_), Ok(None)) if !converted.is_empty() => self.unknown_config(converted),
            _ => error,
        }
    }

    /// Returns the repository's own files, by its card, or by convention if the card declares
    /// nothing.
    fn own<'t>(&self, tree: &'t [Entry]) -> Result<(String, Vec<&'t Entry>), FetchError> {
        let layout = self.layout(tree);
        let found = layout.files(self.config.as_deref(), Some(self.split))?;
        let entries: HashMap<&str, &Entry> = tree
            .iter()
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        let files = found.files.iter();
        let files = files.filter_map(|path| entries.get(path.as_str()).copied());
        Ok((found.config, files.collect()))
    }

    /// Returns the layout of the repository with these files.
    fn layout(&self, tree: &[Entry]) -> HubLayout {
        HubLayout::with_configs(
            self.repository.dataset.clone(),
            self.repository.configs.clone(),
            tree.iter().map(|entry| entry.path.clone()),
        )
    }

    /// Returns the configuration asked for, else the only one, else the default.
    fn choose(&self, names: &[String], default: Option<&str>) -> Result<String, FetchError> {
        let asked = self.config.as_deref();
        layout::choose(&self.repository.dataset, asked, names, default)
    }

    /// Returns the error for a configuration that does not exist, or that must be named.
    fn unknown_config(&self, names: &[String]) -> FetchError {
        let asked = self.config.as_deref();
        layout::unknown_config(&self.repository.dataset, asked, names)
    }
}

/// Returns the listing of a split's files, sorted, with their pinned names.
fn listing(
    repository: &Repository,
    config: &str,
    split: &str,
    files: &[&Entry],
    tree: &[Entry],
    notes: Vec<String>,
) -> Listing {
    let mut sorted = files.to_vec();
    sorted.sort_unstable_by(|a, b| natural(&a.path, &b.path));
    // Several patterns of a card may match one file.
    sorted.dedup_by(|a, b| a.path == b.path);
    let taken: HashSet<&str> = sorted.iter().map(|entry| entry.path.as_str()).collect();
    let mut ignored: Vec<(String, PassedOver)> = tree
        .iter()
        .filter(|entry| !taken.contains(entry.path.as_str()))
        .map(|entry| (entry.path.clone(), PassedOver::NotInSplit))
        .collect();
    ignored.sort_unstable_by(|(a, _), (b, _)| natural(a, b));
    let file = |entry: &&Entry| {
        let name = format!(
            "hf://{}@{}/{}",
            repository.dataset, repository.commit, entry.path
        );
        let mut file = RemoteFile::new(name)
            .with_size(entry.size)
            .with_validator(entry.content_id());
        file.has_ranges = Some(true);
        file
    };
    Listing {
        files: sorted.iter().map(file).collect(),
        ignored,
        revision: Some(repository.commit.clone()),
        config: Some(config.to_owned()),
        split: Some(split.to_owned()),
        notes,
    }
}

/// Returns the URL of the file of a pinned name.
pub(crate) fn file_url(endpoint: &Url, name: &str) -> Result<Url, FetchError> {
    let parts = name.strip_prefix("hf://").and_then(|rest| {
        // Neither a dataset's name has an `@`, nor a commit a slash; a path may have both.
        let (dataset, rest) = rest.split_once('@')?;
        let (commit, path) = rest.split_once('/')?;
        let is_complete = !dataset.is_empty() && !commit.is_empty() && !path.is_empty();
        is_complete.then_some((dataset, commit, path))
    });
    let Some((dataset, commit, path)) = parts else {
        return Err(invalid(
            name,
            "a file's name is hf://OWNER/NAME@COMMIT/PATH; list the dataset to get them",
        ));
    };
    let segments = std::iter::once("datasets")
        .chain(dataset.split('/'))
        .chain(["resolve", commit])
        .chain(path.split('/'));
    Ok(below(endpoint, segments))
}

/// Returns the endpoint with path segments behind it, encoded as URLs need it.
fn below<'a>(endpoint: &Url, segments: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = endpoint.clone();
    // It fails only for URLs without a host, which no endpoint is.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}
