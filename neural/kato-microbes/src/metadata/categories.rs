//! Columns that a model is told beside the sequences: categories of the samples of a table.

use std::collections::BTreeSet;

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use super::SampleMetadata;
use crate::error::MicrobesError;

/// A column of categories, with those that a model knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Categorical {
    /// The column.
    pub name: String,
    /// The values that are known; without any, those of the samples are taken.
    #[serde(default)]
    pub values: Vec<String>,
}

impl Categorical {
    /// Names a column, whose values are taken from the samples.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            values: Vec::new(),
        }
    }

    /// Returns how many categories it has: a value each, and what is missing or not known.
    const fn n_categories(&self) -> usize {
        self.values.len() + 1
    }
}

/// Returns how many categories some columns have together.
pub(crate) fn n_categories(columns: &[Categorical]) -> usize {
    columns.iter().map(Categorical::n_categories).sum()
}

/// Returns the first category of each column, which stands for what is missing or not known. All columns are
/// numbered through.
pub(crate) fn first_categories(columns: &[Categorical]) -> Vec<i64> {
    let firsts = columns.iter().scan(0, |next, column| {
        let first = *next;
        *next += column.n_categories() as i64;
        Some(first)
    });
    firsts.collect()
}

/// The categories of the samples of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Categories {
    /// The columns, with the values that are known.
    pub columns: Vec<Categorical>,
    /// A category of each column for each sample, sample behind sample. All columns are numbered through;
    /// the first of each stands for what is missing or not known.
    pub of: Vec<i64>,
    /// How many samples have nothing that is known, by column.
    pub n_unknown: Vec<usize>,
    /// Values that samples have and that are not known, by column.
    pub unknown: Vec<BTreeSet<String>>,
}

/// Forgets values that none of the given samples has: who has them, has nothing that is known.
///
/// A model that learns from these samples would never see such a value, and make of it what chance has put there.
pub(crate) fn forget_unseen(columns: &mut [Categorical], of: &mut [i64], seen: &[usize]) {
    let (n, firsts) = (columns.len(), first_categories(columns));
    let mut first = 0;
    for (at, column) in columns.iter_mut().enumerate() {
        let place = |number: i64| (number - firsts[at]) as usize;
        let held: BTreeSet<usize> = seen
            .iter()
            .map(|&sample| place(of[sample * n + at]))
            .collect();
        // The first stands for what is not known, and stays.
        let mut numbers = vec![0];
        let mut kept = Vec::new();
        for (value, old) in std::mem::take(&mut column.values).into_iter().zip(1..) {
            let is_held = held.contains(&old);
            if is_held {
                kept.push(value);
            }
            numbers.push(if is_held { kept.len() } else { 0 });
        }
        for number in of.iter_mut().skip(at).step_by(n) {
            *number = first + numbers[place(*number)] as i64;
        }
        column.values = kept;
        first += column.n_categories() as i64;
    }
}

impl SampleMetadata {
    /// Takes columns as categories for the samples of a table, in the table's order.
    ///
    /// ```
    /// use kato_microbes::metadata::{Categorical, SampleMetadata};
    ///
    /// let metadata = SampleMetadata::from_text("sample_id\tsite\ns1\tskin\ns2\tgut\n").unwrap();
    /// let samples = ["s0", "s1", "s2"].map(str::to_owned);
    /// let found = metadata.categories(&[Categorical::new("site")], &samples)?;
    /// assert_eq!(found.columns[0].values, ["gut", "skin"]);
    /// assert_eq!(found.of, [0, 2, 1]);
    /// # Ok::<(), kato_microbes::MicrobesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such column, or no sample has a value in it.
    pub fn categories(
        &self,
        columns: &[Categorical],
        sample_ids: &[String],
    ) -> Result<Categories, MicrobesError> {
        let mut columns = columns.to_vec();
        let (mut by_column, mut unknown) = (Vec::new(), Vec::new());
        for Categorical { name, values } in &mut columns {
            let column = self.column(name)?;
            let found = sample_ids
                .iter()
                .map(|id| self.row(id).and_then(|row| column.values[row].as_deref()));
            let found: Vec<Option<&str>> = found.collect();
            if values.is_empty() {
                *values = found.iter().flatten().map(|&value| value.into()).collect();
            }
            // Numbers depend on no order, of samples or of settings, and values are searched for by theirs.
            values.sort_unstable();
            values.dedup();
            check_setting(
                !values.is_empty(),
                "model.categorical",
                name,
                "a column in which some sample of the table has a value",
            )?;
            let number = |value: &str| values.binary_search_by(|known| known.as_str().cmp(value));
            let numbers = found.iter().map(|value| {
                value
                    .and_then(|value| number(value).ok())
                    .map_or(0, |n| n + 1)
            });
            by_column.push(numbers.collect::<Vec<_>>());
            let others = found
                .iter()
                .flatten()
                .filter(|value| number(value).is_err());
            unknown.push(others.map(|&value| value.to_owned()).collect());
        }
        let n_unknown = by_column
            .iter()
            .map(|numbers| numbers.iter().filter(|&&number| number == 0).count());
        let n_unknown = n_unknown.collect();
        let firsts = first_categories(&columns);
        let of = (0..sample_ids.len()).flat_map(|sample| {
            let columns = by_column.iter().zip(&firsts);
            columns.map(move |(numbers, first)| first + numbers[sample] as i64)
        });
        Ok(Categories {
            of: of.collect(),
            columns,
            n_unknown,
            unknown,
        })
    }
}
