//! What is to be predicted: a column's values for the samples of a table.

use serde::{Deserialize, Serialize};

use super::{ColumnKind, SampleMetadata, parse::number};
use crate::error::MicrobesError;

/// What is predicted of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TargetKind {
    /// A number where the column is numeric, else a class. The default.
    #[default]
    Auto,
    /// A number.
    Number,
    /// A class, also where the classes are numbers.
    Class,
}

/// The values of a target.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TargetValues {
    /// A number a sample.
    Numbers(Vec<f64>),
    /// A class a sample, by its place among the names, which are sorted.
    Classes {
        /// The names.
        names: Vec<String>,
        /// The class of each sample.
        of: Vec<usize>,
    },
}

impl TargetValues {
    /// Refuses values of which all are one: they can be predicted without a look at any sample.
    pub(crate) fn check_differ(&self, column: &str) -> Result<(), MicrobesError> {
        let one = match self {
            Self::Numbers(numbers) => {
                let first = numbers.first();
                let is_same = |number| Some(number) == first;
                let first = first.filter(|_| numbers.iter().all(is_same));
                first.map(ToString::to_string)
            }
            Self::Classes { names, .. } => match &names[..] {
                [name] => Some(name.clone()),
                _ => None,
            },
        };
        one.map_or(Ok(()), |value| {
            Err(MicrobesError::OneValue {
                column: column.to_owned(),
                value,
            })
        })
    }
}

/// A column's values for those samples of a table that have one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PredictionTarget {
    /// The column.
    pub column: String,
    /// The values.
    pub values: TargetValues,
    /// Which samples of the table they are of, ascending.
    pub samples: Vec<usize>,
    /// Samples of the table that the metadata have no row for.
    pub without_row: Vec<String>,
    /// Samples whose value is missing.
    pub without_value: Vec<String>,
}

impl PredictionTarget {
    /// Returns the number of samples with a value.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.samples.len()
    }
}

impl SampleMetadata {
    /// Takes a column for the samples of a table, in the table's order.
    ///
    /// ```
    /// use kato_microbes::metadata::{SampleMetadata, TargetKind, TargetValues};
    ///
    /// let metadata = SampleMetadata::from_text("sample_id\tph\ns1\t7\ns2\t\n").unwrap();
    /// let samples = ["s0", "s1", "s2"].map(str::to_owned);
    /// let target = metadata.target("ph", TargetKind::Auto, &samples)?;
    /// assert_eq!(target.values, TargetValues::Numbers(vec![7.0]));
    /// assert_eq!(target.samples, [1]);
    /// assert_eq!((target.without_row, target.without_value), (vec!["s0".into()], vec!["s2".into()]));
    /// # Ok::<(), kato_microbes::MicrobesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such column, or a number is asked for where a value is none.
    pub fn target(
        &self,
        column: &str,
        kind: TargetKind,
        sample_ids: &[String],
    ) -> Result<PredictionTarget, MicrobesError> {
        let column = self.column(column)?;
        let is_number = match kind {
            TargetKind::Auto => column.kind == ColumnKind::Numeric,
            TargetKind::Number => true,
            TargetKind::Class => false,
        };
        let (mut samples, mut found) = (Vec::new(), Vec::new());
        let (mut without_row, mut without_value) = (Vec::new(), Vec::new());
        for (sample, id) in sample_ids.iter().enumerate() {
            match self.row(id).map(|row| &column.values[row]) {
                None => without_row.push(id.clone()),
                Some(None) => without_value.push(id.clone()),
                Some(Some(value)) => {
                    samples.push(sample);
                    found.push(value.as_str());
                }
            }
        }
        let values = if is_number {
            let numbers = found.iter().map(|value| {
                number(value).ok_or_else(|| MicrobesError::NotNumeric {
                    column: column.name.clone(),
                    value: (*value).to_owned(),
                })
            });
            TargetValues::Numbers(numbers.collect::<Result<_, _>>()?)
        } else {
            classes(&found)
        };
        Ok(PredictionTarget {
            column: column.name.clone(),
            values,
            samples,
            without_row,
            without_value,
        })
    }
}

fn classes(found: &[&str]) -> TargetValues {
    let mut names: Vec<String> = found.iter().map(|&name| name.to_owned()).collect();
    // Sorted, so that the numbers of classes do not depend on the order of samples.
    names.sort_unstable();
    names.dedup();
    let of = found
        .iter()
        .filter_map(|value| names.binary_search_by(|name| name.as_str().cmp(value)).ok())
        .collect();
    TargetValues::Classes { names, of }
}
