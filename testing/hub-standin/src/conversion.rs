//! Texts as the Hub converts them: into Parquet files.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// Returns a Parquet file with a column `text` and a column `number` that counts the rows from 0.
///
/// # Errors
///
/// What the writer of Parquet refuses.
pub fn parquet_of(texts: &[String], rows_per_group: usize) -> Result<Vec<u8>, ParquetError> {
    let numbers = Int64Array::from_iter_values((0_i64..).take(texts.len()));
    let columns: [(&str, ArrayRef); 2] = [
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("number", Arc::new(numbers)),
    ];
    let rows = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties))?;
    writer.write(&rows)?;
    writer.into_inner()
}
