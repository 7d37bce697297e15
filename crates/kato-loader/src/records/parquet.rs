//! Parquet: the rows of one string column, one row group after the other.

mod column;
mod footer;
mod input;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryViewArray, RecordBatch, cast::AsArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;

use self::column::Column;
use self::footer::Group;
pub(crate) use self::input::{LocalParquet, ParquetInput};
use super::{RecordReader, Sink, Step, invalid_utf8, missing, too_large};
use crate::bad_record::{BadReason, Cause, Fault, Lost};
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::options::Selection;

/// A file whose footer has been read.
pub(crate) struct ParquetFile {
    input: ParquetInput,
    file_bytes: u64,
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
    /// The runs of rows that are decoded on their own.
    pub(crate) extents: Vec<Extent>,
    text: Column,
    id: Option<Column>,
    limit: usize,
}

/// The rows of one extent.
pub(super) struct ParquetReader {
    file: Arc<ParquetFile>,
    input: ParquetInput,
    /// The row behind the last one.
    end: u64,
    /// Index of the row group being read.
    group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<Batch>,
    mark: Mark,
}

/// Decoded rows.
struct Batch {
    text: BinaryViewArray,
    id: Option<ArrayRef>,
    next: usize,
}

impl ParquetFile {
    /// Reads and checks the footer.
    pub(crate) fn open(
        input: &ParquetInput,
        file_bytes: u64,
        selection: &Selection,
    ) -> Result<Self, Fault> {
        let metadata = guarded(|| footer::load(input)).map_err(|cause| input.fault(cause))?;
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
        // Rows in the middle of a row group are found cheaply where headers of pages are at hand, and by an index elsewhere.
        let can_cut = input.is_local() || footer::has_page_index(metadata.metadata());
        Ok(Self {
            extents: footer::extents(&groups, can_cut, selection.extent_bytes),
            input: input.closed(),
            file_bytes,
            metadata,
            groups,
            text,
            id,
            limit: selection.record_limit(),
        })
    }

    pub(crate) fn n_rows(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end_row)
    }

    /// The columns that are read.
    fn leaves(&self) -> impl Iterator<Item = usize> + Clone {
        [Some(self.text.leaf), self.id.as_ref().map(|id| id.leaf)]
            .into_iter()
            .flatten()
    }
}

impl ParquetReader {
    /// The rows of an extent, from `mark` on.
    pub(super) fn open(file: Arc<ParquetFile>, extent: Extent, mark: Mark) -> Result<Self, Fault> {
        if mark.record > file.n_rows() {
            return Err(Fault::of_file(BadReason::EndsBeforeCursor));
        }
        let end = extent.end.min(file.n_rows());
        let ranges = footer::byte_ranges(
            file.metadata.metadata(),
            &file.groups,
            &file.leaves(),
            mark.record..end,
        );
        let input = file.input.with_ranges(ranges)?;
        Ok(Self {
            group: file
                .groups
                .partition_point(|group| group.end_row <= mark.record),
            input,
            end,
            file,
            batches: None,
            batch: None,
            mark,
        })
    }

    /// Decodes the rows around the mark; an error makes the rest of the row group unreadable.
    fn decode_batch(&mut self) -> Result<(), Cause> {
        // Batches begin at the same rows however the group is entered: what a damaged page takes with it must not depend on
        // whether the run was interrupted.
        let group = &self.file.groups[self.group];
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
        let metadata = self.file.metadata.clone();
        let projection = ProjectionMask::leaves(metadata.parquet_schema(), self.file.leaves());
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.input.clone(), metadata)
            .with_row_groups(vec![self.group])
            .with_projection(projection)
            .with_batch_size(to_usize(batch_rows))
            .with_offset(to_usize(offset))
            .build()
    }

    fn columns(&self, rows: &RecordBatch, skip: u64) -> Option<Batch> {
        let text = self.file.text.array(rows)?.as_binary_view_opt()?.clone();
        let id = match &self.file.id {
            Some(column) => Some(column.array(rows)?),
            None => None,
        };
        Some(Batch {
            text,
            id,
            next: to_usize(skip),
        })
    }

    /// Gives up the rest of the current row group, as far as it is part of the extent.
    fn lose_group(&mut self, cause: Cause) -> Step {
        let end = self.file.groups[self.group].end_row.min(self.end);
        let mut fault = self.input.fault(cause);
        fault.record = Some(self.mark.record + 1);
        fault.lost = Lost::Records(end - self.mark.record);
        self.mark.record = end;
        self.batches = None;
        self.batch = None;
        Step::Bad(fault)
    }

    fn read_row(&self, batch: &Batch, sink: &mut Sink<'_>) -> Result<(), BadReason> {
        let row = batch.next;
        if let (Some(column), Some(ids)) = (&self.file.id, &batch.id) {
            column.push_id(ids, row, sink)?;
        }
        if batch.text.is_null(row) {
            return Err(missing(&self.file.text.name));
        }
        let bytes = batch.text.value(row);
        if bytes.len() > self.file.limit {
            return Err(too_large(self.file.limit));
        }
        sink.text
            .push_str(std::str::from_utf8(bytes).map_err(invalid_utf8)?);
        Ok(())
    }
}

impl RecordReader for ParquetReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            if self.mark.record >= self.end {
                return Step::End;
            }
            let Some(group) = self.file.groups.get(self.group) else {
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

    fn begins_at(&self) -> u64 {
        0
    }

    fn raw_bytes(&self) -> u64 {
        // Only some columns are read, so bytes are counted by rows: progress must reach the size of the file.
        let done = u128::from(self.file.file_bytes) * u128::from(self.mark.record);
        u64::try_from(done / u128::from(self.file.n_rows().max(1))).unwrap_or(self.file.file_bytes)
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
