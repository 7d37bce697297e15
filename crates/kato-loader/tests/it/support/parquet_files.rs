//! Parquet files for tests.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A Parquet file of named columns, so many rows to a group.
pub(crate) fn parquet(
    columns: Vec<(&str, ArrayRef)>,
    rows_per_group: usize,
    codec: Compression,
) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_compression(codec)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// A Parquet file with one string column `text`.
pub(crate) fn parquet_of(values: &[Option<&str>], rows_per_group: usize) -> Vec<u8> {
    parquet(
        vec![("text", strings(values))],
        rows_per_group,
        Compression::SNAPPY,
    )
}
