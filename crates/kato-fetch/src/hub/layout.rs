//! Layout of a dataset's repository: which of its files belong to which configuration and split.

use std::collections::HashSet;

use serde_json::Value;

use super::card::Config;
use super::{DEFAULT_CONFIG, DEFAULT_SPLIT, convention, readme};
use crate::FetchError;
use crate::remote_file::natural;

/// Files of a dataset's repository, wherever it lies, by configuration and split: as its card
/// declares them, or else by convention, as the Hub's own library has it.
///
/// # Examples
///
/// ```
/// use kato_fetch::HubLayout;
///
/// let paths = ["README.md", "LICENSE", "data/train.csv", "data/test.csv"];
/// let layout = HubLayout::new("a clone", Some("# Corpus"), paths);
/// assert_eq!(layout.files(None, None)?.files, ["data/train.csv"]);
/// assert_eq!(layout.files(None, Some("test"))?.files, ["data/test.csv"]);
/// # Ok::<(), kato_fetch::FetchError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HubLayout {
    name: String,
    configs: Vec<Config>,
    paths: Vec<String>,
}

/// Files of one split of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubFiles {
    /// Configuration that was taken.
    pub config: String,
    /// Split that was taken.
    pub split: String,
    /// Paths of the data files, sorted, numbers in names by their value. Not empty.
    pub files: Vec<String>,
    /// Paths of all others.
    pub ignored: Vec<String>,
}

/// A configuration, and the files of a split of it, or else the splits that it has.
type Chosen<'a> = (String, Result<Vec<&'a str>, Vec<String>>);

impl HubLayout {
    /// Creates the layout of a repository: its name for messages, the text of its `README.md`, and
    /// the paths of its files, with `/` between their parts.
    ///
    /// A card that cannot be read counts as none.
    pub fn new(
        name: impl Into<String>,
        readme: Option<&str>,
        paths: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let card = readme.and_then(readme::card);
        let configs = card.as_ref().map(Config::all).unwrap_or_default();
        Self::with_configs(name.into(), configs, paths)
    }

    /// Creates the layout of a repository whose card was read.
    pub(super) fn with_configs(
        name: String,
        configs: Vec<Config>,
        paths: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let mut paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        paths.sort_unstable_by(|a, b| natural(a, b));
        Self {
            name,
            configs,
            paths,
        }
    }

    /// Returns whether the text of a `README.md` is the card of a dataset.
    #[must_use]
    pub fn is_card(readme: &str) -> bool {
        // A card declares data, or is filed under the words by which datasets are found.
        const FIELDS: [&str; 7] = [
            "configs",
            "dataset_info",
            "task_categories",
            "task_ids",
            "size_categories",
            "annotations_creators",
            "source_datasets",
        ];
        let card = readme::card(readme);
        let has = |card: &Value| FIELDS.iter().any(|field| card.get(field).is_some());
        card.as_ref().is_some_and(has)
    }

    /// Returns the files of a split; those of the default configuration, and of the split `train`,
    /// where none is named.
    ///
    /// # Errors
    ///
    /// [`FetchError::UnknownConfig`], [`FetchError::UnknownSplit`], or [`FetchError::NoFiles`].
    pub fn files(&self, config: Option<&str>, split: Option<&str>) -> Result<HubFiles, FetchError> {
        let split = split.unwrap_or(DEFAULT_SPLIT);
        let (config, files) = match self.configs.is_empty() {
            true => self.by_convention(config, split)?,
            false => self.by_card(config, split)?,
        };
        let available: Vec<String> = match files {
            Ok(files) => return Ok(self.found(config, split, &files)),
            Err(available) => available,
        };
        if available.is_empty() {
            let advice = "it holds no Parquet, JSON Lines, CSV or text that the hub's rules assign to a split; \
                          name its files one by one";
            return Err(self.no_files(&config, advice.to_owned()));
        }
        Err(FetchError::UnknownSplit {
            dataset: self.name.clone(),
            config,
            asked: split.to_owned(),
            available,
        })
    }

    /// Returns the files of a split by the Hub's rules, where nothing is declared.
    fn by_convention(&self, config: Option<&str>, split: &str) -> Result<Chosen<'_>, FetchError> {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let chosen: Vec<&str> = match config {
            // Folders and files may bear a configuration's name.
            Some(config) => {
                let named = paths.iter().copied();
                named
                    .filter(|path| convention::names(path, config))
                    .collect()
            }
            None => paths.clone(),
        };
        let splits = convention::splits(&chosen);
        if splits.is_empty() && config.is_some() && !convention::splits(&paths).is_empty() {
            let only = [DEFAULT_CONFIG.to_owned()];
            return Err(unknown_config(&self.name, config, &only));
        }
        let config = config.unwrap_or(DEFAULT_CONFIG).to_owned();
        let files = splits.get(split).cloned();
        Ok((config, files.ok_or_else(|| splits.into_keys().collect())))
    }

    /// Returns the files of a split as the card declares them.
    fn by_card(&self, config: Option<&str>, split: &str) -> Result<Chosen<'_>, FetchError> {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let config = choose(&self.name, config, &self.config_names(), self.default())?;
        let card = self.configs.iter().find(|card| card.name == config);
        let splits = card.map(|card| card.splits(&paths)).unwrap_or_default();
        let Some(found) = splits.get(split) else {
            let with_files = splits
                .into_iter()
                .filter(|(_, found)| !found.files.is_empty());
            return Ok((config, Err(with_files.map(|(split, _)| split).collect())));
        };
        match found.missing.first() {
            None => Ok((config, Ok(found.files.clone()))),
            Some(missing) => {
                let advice = format!(
                    "its card names `{missing}`, which is not there; mend the card, or name the files"
                );
                Err(self.no_files(&config, advice))
            }
        }
    }

    /// Returns the files of a split, and the others.
    fn found(&self, config: String, split: &str, files: &[&str]) -> HubFiles {
        let taken: HashSet<&str> = files.iter().copied().collect();
        // Several patterns of a card may match one file: it is taken once.
        let (files, ignored) = self
            .paths
            .iter()
            .cloned()
            .partition(|path| taken.contains(path.as_str()));
        HubFiles {
            config,
            split: split.to_owned(),
            files,
            ignored,
        }
    }

    /// Returns the configurations that the card declares.
    pub(super) fn config_names(&self) -> Vec<String> {
        self.configs.iter().map(|card| card.name.clone()).collect()
    }

    /// Returns the configuration that the card calls the default.
    pub(super) fn default(&self) -> Option<&str> {
        let marked = self.configs.iter().find(|config| config.is_default);
        marked.map(|config| config.name.as_str())
    }

    /// Returns the error for a configuration without data.
    fn no_files(&self, config: &str, advice: String) -> FetchError {
        let location = match config {
            DEFAULT_CONFIG => self.name.clone(),
            config => format!("{}, configuration {config}", self.name),
        };
        FetchError::NoFiles { location, advice }
    }
}

/// Returns the configuration asked for, else the only one, else the default.
pub(super) fn choose(
    dataset: &str,
    asked: Option<&str>,
    names: &[String],
    default: Option<&str>,
) -> Result<String, FetchError> {
    let chosen = match (asked, names) {
        (Some(config), names) => names.iter().find(|name| *name == config),
        (None, [only]) => Some(only),
        (None, names) => {
            let default = default.unwrap_or(DEFAULT_CONFIG);
            names.iter().find(|name| *name == default)
        }
    };
    chosen
        .cloned()
        .ok_or_else(|| unknown_config(dataset, asked, names))
}

/// Returns the error for a configuration that does not exist, or that must be named.
pub(super) fn unknown_config(dataset: &str, asked: Option<&str>, names: &[String]) -> FetchError {
    let mut available = names.to_vec();
    available.sort_unstable_by(|a, b| natural(a, b));
    FetchError::UnknownConfig {
        dataset: dataset.to_owned(),
        asked: asked.map(str::to_owned),
        available,
    }
}
