//! A table of counts: samples with the features that they hold.

mod biom_hdf5;
mod biom_json;
mod classic;
mod error;
mod read;
mod write;

pub use error::TableError;

/// Counts of features (rows of a BIOM table, such as sequences) in samples (its columns), sparse.
///
/// Kept by sample: the features of each, ascending, with their counts; zeros are not kept. Counts
/// are any numbers, such as relative abundances; [`check`](crate::check()) finds negative ones and
/// those that are not finite.
///
/// ```
/// use kato_unifrac::Table;
///
/// let table = Table::from_classic("#OTU ID\ts1\ts2\na\t3\t0\nb\t1\t2\n")?;
/// assert_eq!(table.sample_ids(), ["s1", "s2"]);
/// assert_eq!(table.sample(0).collect::<Vec<_>>(), [(0, 3.0), (1, 1.0)]);
/// # Ok::<(), kato_unifrac::table::TableError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    feature_ids: Vec<String>,
    sample_ids: Vec<String>,
    // Sample `s` has the entries from `ends[s - 1]` to `ends[s]`.
    ends: Vec<usize>,
    features: Vec<u32>,
    counts: Vec<f64>,
}

/// Counts in compressed rows, as files have them: row `r` has the entries from `starts[r]` to
/// `starts[r + 1]`.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) starts: Vec<u64>,
    pub(crate) columns: Vec<u32>,
    pub(crate) counts: Vec<f64>,
}

impl Table {
    /// Creates a table from entries (feature, sample, count) in any order; zeros are left out.
    ///
    /// # Errors
    ///
    /// An entry lies outside of the table, or there are two for one place.
    pub fn from_entries(
        feature_ids: Vec<String>,
        sample_ids: Vec<String>,
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Result<Self, TableError> {
        let mut rows = vec![Vec::new(); sample_ids.len()];
        let n_features = feature_ids.len();
        for (feature, sample, count) in entries {
            let Some(row) = rows.get_mut(sample).filter(|_| feature < n_features) else {
                return Err(TableError::Outside { feature, sample });
            };
            row.push((feature as u32, count));
        }
        let mut by_sample = Compressed {
            starts: vec![0],
            columns: Vec::new(),
            counts: Vec::new(),
        };
        for row in rows {
            by_sample.columns.extend(row.iter().map(|entry| entry.0));
            by_sample.counts.extend(row.iter().map(|entry| entry.1));
            by_sample.starts.push(by_sample.columns.len() as u64);
        }
        Self::from_samples(feature_ids, sample_ids, by_sample)
    }

    /// Takes compressed rows of which each is a sample, and puts each in order.
    pub(crate) fn from_samples(
        feature_ids: Vec<String>,
        sample_ids: Vec<String>,
        by_sample: Compressed,
    ) -> Result<Self, TableError> {
        let Compressed {
            starts,
            mut columns,
            mut counts,
        } = by_sample;
        check_shape(
            &starts,
            &columns,
            counts.len(),
            sample_ids.len(),
            feature_ids.len(),
        )?;
        let mut ends = Vec::with_capacity(sample_ids.len());
        let mut n_kept = 0;
        for (sample, bounds) in starts.windows(2).enumerate() {
            let range = bounds[0] as usize..bounds[1] as usize;
            sort_row(&mut columns[range.clone()], &mut counts[range.clone()]);
            if let Some(pair) = columns[range.clone()]
                .windows(2)
                .find(|pair| pair[0] == pair[1])
            {
                return Err(TableError::Twice {
                    feature: feature_ids[pair[0] as usize].clone(),
                    sample: sample_ids[sample].clone(),
                });
            }
            for i in range {
                if counts[i] != 0.0 {
                    (columns[n_kept], counts[n_kept]) = (columns[i], counts[i]);
                    n_kept += 1;
                }
            }
            ends.push(n_kept);
        }
        columns.truncate(n_kept);
        counts.truncate(n_kept);
        Ok(Self {
            feature_ids,
            sample_ids,
            ends,
            features: columns,
            counts,
        })
    }

    /// Takes compressed rows of which each is a feature.
    pub(crate) fn from_features(
        feature_ids: Vec<String>,
        sample_ids: Vec<String>,
        by_feature: &Compressed,
    ) -> Result<Self, TableError> {
        let Compressed {
            starts,
            columns,
            counts,
        } = by_feature;
        check_shape(
            starts,
            columns,
            counts.len(),
            feature_ids.len(),
            sample_ids.len(),
        )?;
        let mut row_starts = vec![0_u64; sample_ids.len() + 1];
        for &sample in columns {
            row_starts[sample as usize + 1] += 1;
        }
        for sample in 0..sample_ids.len() {
            row_starts[sample + 1] += row_starts[sample];
        }
        let mut next = row_starts.clone();
        let mut by_sample = Compressed {
            starts: row_starts,
            columns: vec![0; columns.len()],
            counts: vec![0.0; columns.len()],
        };
        for (feature, bounds) in starts.windows(2).enumerate() {
            for i in bounds[0] as usize..bounds[1] as usize {
                let place = &mut next[columns[i] as usize];
                by_sample.columns[*place as usize] = feature as u32;
                by_sample.counts[*place as usize] = counts[i];
                *place += 1;
            }
        }
        Self::from_samples(feature_ids, sample_ids, by_sample)
    }

    /// Returns the names of the features, in the table's order.
    #[must_use]
    pub fn feature_ids(&self) -> &[String] {
        &self.feature_ids
    }

    /// Returns the names of the samples, in the table's order.
    #[must_use]
    pub fn sample_ids(&self) -> &[String] {
        &self.sample_ids
    }

    /// Returns the number of features, those that no sample holds included.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.feature_ids.len()
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.sample_ids.len()
    }

    /// Returns the number of counts other than zero.
    #[must_use]
    pub fn n_entries(&self) -> usize {
        self.counts.len()
    }

    /// Iterates over the features of a sample, ascending, with their counts.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn sample(&self, sample: usize) -> impl ExactSizeIterator<Item = (usize, f64)> + '_ {
        let (features, counts) = self.sample_parts(sample);
        features
            .iter()
            .zip(counts)
            .map(|(&feature, &count)| (feature as usize, count))
    }

    pub(crate) fn sample_parts(&self, sample: usize) -> (&[u32], &[f64]) {
        let start = sample.checked_sub(1).map_or(0, |i| self.ends[i]);
        let range = start..self.ends[sample];
        (&self.features[range.clone()], &self.counts[range])
    }
}

/// Checks what every access relies on.
fn check_shape(
    starts: &[u64],
    columns: &[u32],
    n_counts: usize,
    n_rows: usize,
    n_columns: usize,
) -> Result<(), TableError> {
    let whole = starts.first() == Some(&0) && starts.last() == Some(&(n_counts as u64));
    if starts.len() != n_rows + 1 || !whole || columns.len() != n_counts {
        return Err(TableError::Damaged {
            reason: "lengths of its arrays do not agree",
        });
    }
    if starts.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(TableError::Damaged {
            reason: "rows overlap",
        });
    }
    // Both are counted in 32 bits from here on.
    if n_rows.max(n_columns) > u32::MAX as usize {
        return Err(TableError::Damaged {
            reason: "more than 2^32 rows or columns",
        });
    }
    if columns.iter().any(|&column| column as usize >= n_columns) {
        return Err(TableError::Damaged {
            reason: "an index lies outside of the table",
        });
    }
    Ok(())
}

/// Sorts a row by column; rows of files mostly are sorted already.
fn sort_row(columns: &mut [u32], counts: &mut [f64]) {
    if columns.is_sorted() {
        return;
    }
    let mut row: Vec<_> = columns
        .iter()
        .copied()
        .zip(counts.iter().copied())
        .collect();
    row.sort_by_key(|entry| entry.0);
    for (i, entry) in row.into_iter().enumerate() {
        (columns[i], counts[i]) = entry;
    }
}
