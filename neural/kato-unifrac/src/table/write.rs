//! Tables into files: BIOM 2.1, and text with tabs.

use std::io::Write;
use std::path::Path;

use hdf5_writer::{
    AttributeBuilder, DatasetBuilder, FILTER_DEFLATE, FilterDescription, H5WriteElement,
    Hdf5Builder, WriteOptions,
};

use super::Table;
use crate::error::UnifracError;
use crate::output::{Cause, whole_file};

/// Values in a chunk of a BIOM file.
const N_CHUNK: usize = 16 << 10;

/// Entries of one axis: indices of the other, and counts.
type Rows = Vec<Vec<(i32, f64)>>;

impl Table {
    /// Writes the table to a file, in the form that its name ends in: `.biom` (BIOM 2.1, with empty
    /// metadata), or `.tsv` (a line of sample names, then a line for each feature).
    ///
    /// The file appears whole or not at all, and replaces one of its name. A table of 2³¹ or more
    /// features, samples or counts has no BIOM file.
    ///
    /// # Errors
    ///
    /// The name ends otherwise, or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), UnifracError> {
        let path = path.as_ref();
        let write: fn(&Self, &mut dyn Write) -> Result<(), Cause> =
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("biom") => biom,
                Some("tsv") => classic,
                _ => {
                    return Err(UnifracError::UnknownTableOutput {
                        path: path.to_owned(),
                    });
                }
            };
        whole_file(path, |sink| write(self, sink))
    }

    /// Returns the table of some samples, by their numbers, in the order given. All features stay.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn select(&self, samples: &[usize]) -> Self {
        let mut selected = Self {
            feature_ids: self.feature_ids.clone(),
            sample_ids: Vec::with_capacity(samples.len()),
            ends: Vec::with_capacity(samples.len()),
            features: Vec::new(),
            counts: Vec::new(),
        };
        for &sample in samples {
            let (features, counts) = self.sample_parts(sample);
            selected.features.extend_from_slice(features);
            selected.counts.extend_from_slice(counts);
            selected.ends.push(selected.features.len());
            selected.sample_ids.push(self.sample_ids[sample].clone());
        }
        selected
    }
}

fn classic(table: &Table, sink: &mut dyn Write) -> Result<(), Cause> {
    write!(sink, "#OTU ID")?;
    for id in &table.sample_ids {
        write!(sink, "\t{id}")?;
    }
    writeln!(sink)?;
    let mut by_feature = rows_by_feature(table).into_iter();
    for (id, row) in table.feature_ids.iter().zip(&mut by_feature) {
        write!(sink, "{id}")?;
        let mut entries = row.into_iter().peekable();
        for sample in 0..table.n_samples() {
            let count = entries
                .next_if(|entry| entry.0 as usize == sample)
                .map_or(0.0, |entry| entry.1);
            write!(sink, "\t{count}")?;
        }
        writeln!(sink)?;
    }
    Ok(())
}

fn rows_by_feature(table: &Table) -> Rows {
    let mut rows = vec![Vec::new(); table.n_features()];
    for sample in 0..table.n_samples() {
        for (feature, count) in table.sample(sample) {
            rows[feature].push((sample as i32, count));
        }
    }
    rows
}

fn biom(table: &Table, sink: &mut dyn Write) -> Result<(), Cause> {
    let by_sample: Rows = (0..table.n_samples())
        .map(|sample| {
            table
                .sample(sample)
                .map(|(f, count)| (f as i32, count))
                .collect()
        })
        .collect();
    // The format counts in 32 bits.
    let n_counts = i32::try_from(table.n_entries())?;
    let shape = [
        i32::try_from(table.n_features())?,
        i32::try_from(table.n_samples())?,
    ];
    let text = |name, value| AttributeBuilder::fixed_string(name, value);
    let mut file = Hdf5Builder::new()
        .attribute(text("id", "None"))
        .attribute(text("type", "OTU table"))
        .attribute(text("format-url", "http://biom-format.org"))
        .attribute(text(
            "generated-by",
            concat!("kato-unifrac ", env!("CARGO_PKG_VERSION")),
        ))
        // No clock: the same table gives the same bytes.
        .attribute(text("creation-date", "1970-01-01T00:00:00"))
        .attribute(AttributeBuilder::vector("format-version", &[2_i32, 1])?)
        .attribute(AttributeBuilder::vector("shape", &shape)?)
        .attribute(AttributeBuilder::scalar("nnz", n_counts)?);
    for (axis, ids, rows) in [
        ("observation", &table.feature_ids, rows_by_feature(table)),
        ("sample", &table.sample_ids, by_sample),
    ] {
        let mut starts = vec![0];
        for row in &rows {
            starts.push(starts[starts.len() - 1] + row.len() as i32);
        }
        let indices: Vec<_> = rows.iter().flatten().map(|entry| entry.0).collect();
        let counts: Vec<_> = rows.iter().flatten().map(|entry| entry.1).collect();
        // biom-format wants these groups, which have nothing in them.
        for group in ["metadata", "group-metadata"] {
            let none = AttributeBuilder::scalar("n", 0_i32)?;
            file = file.group_attribute(format!("{axis}/{group}"), none);
        }
        let names =
            DatasetBuilder::vlen_string_data(format!("{axis}/ids"), [ids.len() as u64], ids)?;
        file = file
            .dataset(names)
            .dataset(packed(format!("{axis}/matrix/indptr"), &starts)?)
            .dataset(packed(format!("{axis}/matrix/indices"), &indices)?)
            .dataset(packed(format!("{axis}/matrix/data"), &counts)?);
    }
    sink.write_all(&file.into_plan()?.encode(WriteOptions::default())?)?;
    Ok(())
}

fn packed<T: H5WriteElement>(name: String, values: &[T]) -> Result<DatasetBuilder, Cause> {
    let set = DatasetBuilder::typed_data(name, [values.len() as u64], values)?;
    // An empty set has no chunk to pack.
    if values.is_empty() {
        return Ok(set);
    }
    let deflate = FilterDescription {
        id: FILTER_DEFLATE,
        name: None,
        client_data: vec![4],
    };
    Ok(set
        .chunked([N_CHUNK.min(values.len()) as u64])
        .filter(deflate))
}
