//! One dataset of a registry: where it is and how it is read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::builder::StreamingDatasetLoaderBuilder;

/// A dataset under a short name.
///
/// Serialises with the keys of the registry's file; what is absent is left out.
///
/// # Examples
///
/// ```
/// use kato_loader::StreamingDatasetLoader;
/// use kato_loader::registry::DatasetEntry;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("letters.jsonl");
/// std::fs::write(&path, "{\"body\": \"Dear friend\"}\n")?;
///
/// let mut letters = DatasetEntry::new("letters", path.to_str().expect("a plain path"));
/// letters.text_field = "body".to_owned();
///
/// let mut loader = StreamingDatasetLoader::builder().with_dataset(&letters).build()?;
/// assert_eq!(loader.next().expect("there is one")?.text, "Dear friend");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DatasetEntry {
    /// The short name.
    pub key: String,
    /// Anything that [`with_input`](StreamingDatasetLoaderBuilder::with_input) takes: a path, a
    /// glob, a location.
    pub source: String,
    /// The field or column that holds the text.
    #[serde(default = "default_text_field")]
    pub text_field: String,
    /// The field or column that names the documents; `None` names them by file and record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_field: Option<String>,
    /// Number of rows, counted or estimated; `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// What the dataset is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Returns the text field of entries that name none.
fn default_text_field() -> String {
    "text".to_owned()
}

impl DatasetEntry {
    /// Creates an entry with text field `text` and nothing else known.
    #[must_use]
    pub fn new(key: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            source: source.into(),
            text_field: default_text_field(),
            id_field: None,
            rows: None,
            description: None,
        }
    }

    /// Returns how long a number of rows takes at a rate that the caller has measured, in rows per
    /// second.
    ///
    /// No more rows are counted than the dataset is known to have, so `u64::MAX` asks for the whole
    /// of it. Formula: min(`rows`, [`self.rows`](Self::rows)) / `rows_per_second`. `None` when the
    /// rate is not a positive number, or the time is beyond what a [`Duration`] holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_loader::registry::{Registry, format_duration};
    ///
    /// let registry = Registry::builtin();
    /// let wiki = registry.require("simple_wiki")?;
    /// let all = wiki.time_for(u64::MAX, 44.0).expect("rows and rate are known");
    /// assert_eq!(format_duration(all), "1.3h");
    /// # Ok::<(), kato_loader::registry::RegistryError>(())
    /// ```
    #[must_use]
    pub fn time_for(&self, rows: u64, rows_per_second: f64) -> Option<Duration> {
        if !(rows_per_second.is_finite() && rows_per_second > 0.0) {
            return None;
        }
        let rows = rows.min(self.rows.unwrap_or(u64::MAX));
        // As `f64` a row in 2⁵³ may be off, far less than any measured rate is.
        Duration::try_from_secs_f64(rows as f64 / rows_per_second).ok()
    }
}

impl StreamingDatasetLoaderBuilder {
    /// Adds a dataset of a registry as an input, and reads its text field and, where it has one,
    /// its id field.
    ///
    /// The fields are those of the whole loader. Datasets that differ in one of them, also where one has an
    /// id field and another has none, are refused by [`build`](Self::build), unless
    /// [`with_text_field`](Self::with_text_field) or [`with_id_field`](Self::with_id_field) says which one holds for
    /// all, ahead of them or behind. Mixed with [`with_mixed`](Self::with_mixed), each has its
    /// own.
    #[must_use]
    pub fn with_dataset(self, dataset: &DatasetEntry) -> Self {
        let mut builder = self.with_input(&dataset.source);
        if let Some(fields) = &mut builder.text_fields {
            fields.push(dataset.text_field.clone());
            builder.selection.text_field.clone_from(&dataset.text_field);
        }
        if let Some(fields) = &mut builder.id_fields {
            fields.push(dataset.id_field.clone());
            if dataset.id_field.is_some() {
                builder.selection.id_field.clone_from(&dataset.id_field);
            }
        }
        builder
    }
}
