//! What is known of samples: tables with tabs, whose missing values are named.

mod categories;
mod parse;
mod target;

use std::collections::HashMap;
use std::path::Path;

use kato_neural::run::RunError;
use serde::Serialize;

use crate::error::MicrobesError;

pub use categories::{Categorical, Categories};
pub(crate) use categories::{first_categories, forget_unseen, n_categories};
pub use target::{PredictionTarget, TargetKind, TargetValues};

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ColumnKind {
    /// Numbers, every one that is there.
    Numeric,
    /// Names of classes.
    Categorical,
}

/// A column of a table of metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MetadataColumn {
    /// Its name.
    pub name: String,
    /// What its values are: said by the file's `#q2:types`, else found by looking at them.
    pub kind: ColumnKind,
    /// Whether the file says the kind.
    pub is_declared: bool,
    /// The values, by row; `None` where one is missing.
    #[serde(skip)]
    pub values: Vec<Option<String>>,
}

/// A table of metadata: a row a sample.
///
/// The first column has the samples' names, under `sample_id`, `#SampleID`, `sample-id`, `sample_name`,
/// `id` or the like, in any case. Lines that begin with `#` behind the header are comments, but for
/// `#q2:types`, which declares columns `numeric` or `categorical`. A cell is missing that is empty or
/// `NA`, `N/A`, `NaN`, `null`, `missing`, `not applicable`, `not collected`, `not provided`,
/// `restricted access`, in any case.
///
/// ```
/// use kato_microbes::metadata::{ColumnKind, SampleMetadata};
///
/// let text = "#SampleID\tsite\tph\n#q2:types\tcategorical\tnumeric\ns1\tgut\t7.1\ns2\tskin\tNA\n";
/// let metadata = SampleMetadata::from_text(text).unwrap();
/// assert_eq!(metadata.sample_ids(), ["s1", "s2"]);
/// let ph = metadata.column("ph")?;
/// assert_eq!((ph.kind, ph.values[1].as_deref()), (ColumnKind::Numeric, None));
/// # Ok::<(), kato_microbes::MicrobesError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleMetadata {
    sample_ids: Vec<String>,
    columns: Vec<MetadataColumn>,
    rows: HashMap<String, usize>,
}

impl SampleMetadata {
    /// Reads a table from a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line is wrong; the error has it.
    pub fn read(path: &Path) -> Result<Self, MicrobesError> {
        let text = std::fs::read_to_string(path).map_err(RunError::file("read", path))?;
        Self::from_text(&text).map_err(|(line, reason)| MicrobesError::Line {
            path: path.to_owned(),
            line,
            reason,
        })
    }

    /// Reads a table from text.
    ///
    /// # Errors
    ///
    /// The number of a line, from 1, and what is wrong with it.
    pub fn from_text(text: &str) -> Result<Self, (usize, String)> {
        let (sample_ids, columns) = parse::parse(text)?;
        let rows = sample_ids.iter().cloned().zip(0..).collect();
        Ok(Self {
            sample_ids,
            columns,
            rows,
        })
    }

    /// Returns the samples' names, in the order of the rows.
    #[must_use]
    pub fn sample_ids(&self) -> &[String] {
        &self.sample_ids
    }

    /// Returns the columns, without that of the names.
    #[must_use]
    pub fn columns(&self) -> &[MetadataColumn] {
        &self.columns
    }

    /// Returns a column.
    ///
    /// # Errors
    ///
    /// [`MicrobesError::NoColumn`] lists those that there are.
    pub fn column(&self, name: &str) -> Result<&MetadataColumn, MicrobesError> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| MicrobesError::NoColumn {
            column: name.to_owned(),
            columns: self
                .columns
                .iter()
                .map(|c| format!("`{}`", c.name))
                .collect(),
        })
    }

    /// Returns the row of a sample.
    #[must_use]
    pub fn row(&self, sample: &str) -> Option<usize> {
        self.rows.get(sample).copied()
    }
}
