//! Parquet: the rows of one string column, one row group after the other.

mod column;
mod footer;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, cast::AsArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;

use self::column::Column;
use self::footer::Group;
use super::{RecordReader, Sink, Step, invalid_utf8, missing, too_large};
use crate::bad_record::{BadReason, Cause, Fault, Lost};
use crate::cursor::Mark;
use crate::options::Selection;

pub(super) struct ParquetReader {
    file: File,
    file_bytes: u64,
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
    text: Column,
    id: Option<Column>,
    limit: usize,
    /// Index of the row group being read.
    group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<Batch>,
    mark: Mark,
}

/// Decoded rows.
struct Batch {
    text: BinaryArray,
    id: Option<ArrayRef>,
    next: usize,
}

impl ParquetReader {
    pub(super) fn open(path: &Path, selection: &Selection, mark: Mark) -> Result<Self, Fault> {
        let file = File::open(path).map_err(Fault::unreadable)?;
        let file_bytes = file.metadata().map_err(Fault::unreadable)?.len();
        let metadata = guarded(|| footer::load(&file)).map_err(Fault::corrupt)?;
        let schema = metadata.parquet_schema();
        let text = Column::find(schema, &selection.text_field)?;
        let physical_type = schema.column(text.leaf).physical_type();
        if physical_type != PhysicalType::BYTE_ARRAY {
            return Err(Fault::of_file(BadReason::NotText {
                field: text.name,
                found: format!("{physical_type} values"),
            }));
        }
        let id = match &selection.id_field {
            Some(field) => Some(Column::find(schema, field)?),
            None => None,
        };
        let leaves = [Some(text.leaf), id.as_ref().map(|id| id.leaf)];
        let groups = footer::row_groups(metadata.metadata(), leaves, file_bytes)
            .map_err(|error| Fault::corrupt(error.to_owned()))?;
        if mark.record > groups.last().map_or(0, |group| group.end_row) {
            return Err(Fault::of_file(BadReason::EndsBeforeCursor));
        }
        Ok(Self {
            file,
            file_bytes,
            metadata,
            group: groups.partition_point(|group| group.end_row <= mark.record),
            groups,
            text,
            id,
            limit: selection.record_limit(),
            batches: None,
            batch: None,
            mark,
        })
    }

    /// Decodes the rows around the mark; an error makes the rest of the row group unreadable.
    fn decode_batch(&mut self) -> Result<(), Cause> {
        // Batches begin at the same rows however the group is entered: what a damaged page takes with it must not depend on
        // whether the run was interrupted.
        let group = &self.groups[self.group];
        let into_group = self.mark.record - group.first_row;
        let into_batch = into_group % group.batch_rows;
        let mut batches = match self.batches.take() {
            Some(batches) => batches,
            None => guarded(|| self.open_group(into_group - into_batch, group.batch_rows))?,
        };
        let Some(rows) = guarded(|| batches.next().transpose())? else {
            return Err("row group holds fewer rows than the footer says".into());
        };
        self.batch = Some(
            self.columns(&rows, into_batch)
                .ok_or("columns differ from the schema")?,
        );
        self.batches = Some(batches);
        Ok(())
    }

    fn open_group(
        &self,
        offset: u64,
        batch_rows: u64,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let leaves = [Some(self.text.leaf), self.id.as_ref().map(|id| id.leaf)];
        let schema = self.metadata.parquet_schema();
        let projection = ProjectionMask::leaves(schema, leaves.into_iter().flatten());
        let (file, metadata) = (self.file.try_clone()?, self.metadata.clone());
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_row_groups(vec![self.group])
            .with_projection(projection)
            .with_batch_size(to_usize(batch_rows))
            .with_offset(to_usize(offset))
            .build()
    }

    fn columns(&self, rows: &RecordBatch, skip: u64) -> Option<Batch> {
        let text = self.text.array(rows)?.as_binary_opt::<i32>()?.clone();
        let id = match &self.id {
            Some(column) => Some(column.array(rows)?),
            None => None,
        };
        Some(Batch {
            text,
            id,
            next: to_usize(skip),
        })
    }

    /// Gives up the rest of the current row group.
    fn lose_group(&mut self, cause: Cause) -> Step {
        let end = self.groups[self.group].end_row;
        let mut fault = Fault::corrupt(cause);
        fault.record = Some(self.mark.record + 1);
        fault.lost = Lost::Records(end - self.mark.record);
        self.mark.record = end;
        self.batches = None;
        self.batch = None;
        Step::Bad(fault)
    }

    fn read_row(&self, batch: &Batch, sink: &mut Sink<'_>) -> Result<(), BadReason> {
        let row = batch.next;
        if let (Some(column), Some(ids)) = (&self.id, &batch.id) {
            column.push_id(ids, row, sink)?;
        }
        if batch.text.is_null(row) {
            return Err(missing(&self.text.name));
        }
        let bytes = batch.text.value(row);
        if bytes.len() > self.limit {
            return Err(too_large(self.limit));
        }
        sink.text
            .push_str(std::str::from_utf8(bytes).map_err(invalid_utf8)?);
        Ok(())
    }

    fn n_rows(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end_row)
    }
}

impl RecordReader for ParquetReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            let Some(group) = self.groups.get(self.group) else {
                return Step::End;
            };
            if self.mark.record >= group.end_row {
                self.group += 1;
                self.batches = None;
                self.batch = None;
                continue;
            }
            let batch = self
                .batch
                .take()
                .filter(|batch| batch.next < batch.text.len());
            let Some(mut batch) = batch else {
                match self.decode_batch() {
                    Ok(()) => continue,
                    Err(cause) => return self.lose_group(cause),
                }
            };
            let outcome = self.read_row(&batch, sink);
            batch.next += 1;
            self.batch = Some(batch);
            self.mark.record += 1;
            return match outcome {
                Ok(()) => Step::Record,
                Err(reason) => {
                    let mut fault = Fault::of_file(reason);
                    fault.record = Some(self.mark.record);
                    fault.lost = Lost::Record;
                    Step::Bad(fault)
                }
            };
        }
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn raw_bytes(&self) -> u64 {
        // Only some columns are read, so bytes are counted by rows: progress must reach the size of the file.
        let done = u128::from(self.file_bytes) * u128::from(self.mark.record);
        u64::try_from(done / u128::from(self.n_rows().max(1))).unwrap_or(self.file_bytes)
    }
}

/// Runs a step of the decoder, which asserts where a damaged file contradicts itself: damage is a bad record, not a panic.
fn guarded<T, E: Into<Cause>>(step: impl FnOnce() -> Result<T, E>) -> Result<T, Cause> {
    // Whatever the step was working on is dropped with its error, so a broken invariant inside is never seen.
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err("the file contradicts itself".into()),
    }
}

fn to_usize(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
