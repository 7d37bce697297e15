//! BIOM 1.0: a table as a JSON text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::{Table, TableError};

#[derive(Deserialize)]
struct Document {
    rows: Vec<Named>,
    columns: Vec<Named>,
    matrix_type: MatrixType,
    shape: [usize; 2],
    #[serde(deserialize_with = "numbers_of_rows")]
    data: Numbers,
}

/// A row or column; its metadata is passed over.
#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum MatrixType {
    Sparse,
    Dense,
}

/// An array of arrays, of which each is as long as the first, without an allocation for each.
struct Numbers {
    width: usize,
    values: Vec<f64>,
}

impl Table {
    /// Reads a BIOM 1.0 table, sparse or dense.
    ///
    /// # Errors
    ///
    /// The text is no JSON, or none of this form.
    pub fn from_biom_json(text: &[u8]) -> Result<Self, TableError> {
        let document: Document = serde_json::from_slice(text).map_err(TableError::Json)?;
        let [n_features, n_samples] = document.shape;
        if (n_features, n_samples) != (document.rows.len(), document.columns.len()) {
            return Err(TableError::Damaged {
                reason: "`shape` is not that of the names",
            });
        }
        let feature_ids = document.rows.into_iter().map(|row| row.id).collect();
        let sample_ids = document
            .columns
            .into_iter()
            .map(|column| column.id)
            .collect();
        let Numbers { width, values } = document.data;
        if document.matrix_type == MatrixType::Sparse {
            if width != 3 && !values.is_empty() {
                return Err(TableError::Damaged {
                    reason: "entries of `data` are no triples",
                });
            }
            // A fraction or a negative number as an index becomes one that lies outside.
            let index = |value: f64| {
                if value >= 0.0 && value.fract() == 0.0 {
                    value as usize
                } else {
                    usize::MAX
                }
            };
            let entries = values
                .as_chunks::<3>()
                .0
                .iter()
                .map(|t| (index(t[0]), index(t[1]), t[2]));
            return Self::from_entries(feature_ids, sample_ids, entries);
        }
        if values.len() != n_features.saturating_mul(n_samples) || width != n_samples {
            return Err(TableError::Damaged {
                reason: "`data` has not the form of `shape`",
            });
        }
        let entries = values
            .iter()
            .enumerate()
            .filter(|(_, count)| **count != 0.0);
        let entries = entries.map(|(i, &count)| (i / n_samples, i % n_samples, count));
        Self::from_entries(feature_ids, sample_ids, entries)
    }
}

fn numbers_of_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Numbers, D::Error> {
    deserializer.deserialize_seq(Rows)
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Numbers;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of arrays of numbers, all of one length")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Numbers, A::Error> {
        let mut numbers = Numbers {
            width: 0,
            values: Vec::new(),
        };
        let mut is_first = true;
        while let Some(n_values) = rows.next_element_seed(Row(&mut numbers.values))? {
            if is_first {
                numbers.width = n_values;
                is_first = false;
            } else if n_values != numbers.width {
                return Err(serde::de::Error::custom("rows of `data` differ in length"));
            }
        }
        Ok(numbers)
    }
}

/// Appends one row to the numbers, and gives its length.
struct Row<'a>(&'a mut Vec<f64>);

impl<'de> serde::de::DeserializeSeed<'de> for Row<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<usize, A::Error> {
        let n_before = self.0.len();
        while let Some(value) = row.next_element()? {
            self.0.push(value);
        }
        Ok(self.0.len() - n_before)
    }
}
