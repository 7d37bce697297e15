//! Reads rows as patterns.

use std::error::Error as StdError;
use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::ParquetError;
use super::input::Input;
use super::row::Rows;
use super::schema::{VERSION, VERSION_KEY};
use crate::PatternStore;
use crate::exchange::Import;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1024;

/// Stages the rows in batches, commits them all at once and returns their number.
pub(crate) fn import(
    store: &dyn PatternStore,
    node_idx: usize,
    file: impl Read + Seek + Send + 'static,
) -> Result<u64, ParquetError> {
    let input = Input::new(file).map_err(ParquetError::read)?;
    // Other writers embed an Arrow schema with views and large offsets, though the columns are the
    // same for all of them.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(|| ArrowReaderMetadata::load(&input, options))?;
    let footer = metadata.metadata().file_metadata();
    let pairs = footer.key_value_metadata().into_iter().flatten();
    if let Some(found) = pairs
        .filter(|pair| pair.key == VERSION_KEY)
        .find_map(|pair| pair.value.clone().filter(|value| value != VERSION))
    {
        return Err(ParquetError::Version {
            found,
            known: VERSION,
        });
    }
    let rows_stated = footer.num_rows();
    let columns = Rows::columns(metadata.schema())?;
    let mut batches = guarded(|| {
        let projection = ProjectionMask::roots(metadata.parquet_schema(), columns);
        ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata)
            .with_projection(projection)
            .with_batch_size(BATCH_ROWS)
            .build()
    })?;
    let mut import = Import::new(store, node_idx)?;
    let mut row = 0;
    while let Some(batch) = guarded(|| batches.next().transpose())? {
        let rows = Rows::of(&batch)?;
        for idx in 0..batch.num_rows() {
            row += 1;
            let record = rows.record(idx).map_err(|error| ParquetError::Row {
                row,
                source: Box::new(error),
            })?;
            import.push(record)?;
        }
    }
    // Columns of a damaged file may end early, and all at the same place.
    if i64::try_from(row) != Ok(rows_stated) {
        let message = format!("it states {rows_stated} rows, and {row} were found");
        return Err(ParquetError::read(message));
    }
    // The only commit: an error on any row before leaves the knowledge base as it was.
    Ok(import.commit()?)
}

/// Runs a step of the decoder, which asserts where a damaged file contradicts itself: damage must
/// be an error and not a panic.
fn guarded<T, E: StdError + Send + Sync + 'static>(
    step: impl FnOnce() -> Result<T, E>,
) -> Result<T, ParquetError> {
    // Whatever the step was working on is dropped with its error, so a broken invariant inside is
    // never seen.
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(outcome) => outcome.map_err(ParquetError::read),
        Err(_) => Err(ParquetError::read("the file contradicts itself")),
    }
}
