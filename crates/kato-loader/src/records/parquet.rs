//! Reads Parquet: the rows of one string column, one row group after the other.

mod column;
mod footer;
mod input;
mod pages;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, cast::AsArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;

use self::column::{Column, Values};
use self::footer::Group;
use self::input::{LocalParquet, ParquetInput};
use super::{RecordReader, Sink, Step, invalid_utf8, missing, too_large};
use crate::bad_record::{BadReason, Cause, Fault, SkippedExtent};
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::options::CorpusOptions;
#[cfg(feature = "remote")]
use crate::remote::RemoteParquet;

/// Records of the largest size that a page may be as large as, decompressed.
const PAGE_LIMIT_RECORDS: u64 = 4;
/// What a page may have in any case, in bytes: pages hold many records, however small those are.
const LEAST_PAGE_LIMIT: u64 = 64 << 20;

/// A file whose footer has been read.
pub(crate) struct ParquetFile {
    input: ParquetInput,
    file_bytes: u64,
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
    /// The runs of rows that are decoded on their own.
    extents: Vec<Extent>,
    text: Column,
    id: Option<Column>,
    limit: usize,
}

/// The rows of one extent.
struct ParquetReader {
    file: Arc<ParquetFile>,
    input: ParquetInput,
    /// The row behind the last one to be read.
    end: u64,
    /// Index of the row group being read.
    group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<Batch>,
    mark: Mark,
}

/// Decoded rows of one row group.
struct Batch {
    text: Values,
    id: Option<Values>,
    next: usize,
}

impl ParquetFile {
    /// Opens a file on the disk, and reads and checks its footer.
    pub(crate) fn open_local(path: &Path, selection: &CorpusOptions) -> Result<Self, Fault> {
        let local = LocalParquet::open(path).map_err(Fault::unreadable)?;
        let file_bytes = local.len();
        Self::open(&ParquetInput::Local(local), file_bytes, selection)
    }

    /// Reads and checks the footer of a remote file.
    #[cfg(feature = "remote")]
    pub(crate) fn open_remote(
        remote: RemoteParquet,
        selection: &CorpusOptions,
    ) -> Result<Self, Fault> {
        let file_bytes = remote.len();
        Self::open(&ParquetInput::Remote(remote), file_bytes, selection)
    }

    /// Reads and checks the footer.
    fn open(
        input: &ParquetInput,
        file_bytes: u64,
        selection: &CorpusOptions,
    ) -> Result<Self, Fault> {
        let metadata = guarded(|| footer::load(input)).map_err(|cause| input.fault(cause))?;
        let schema = metadata.parquet_schema();
        let text = Column::find(schema, &selection.text_field)?;
        let physical_type = schema.column(text.leaf).physical_type();
        if physical_type != PhysicalType::BYTE_ARRAY {
            return Err(Fault::for_file(BadReason::NotText {
                field: text.name,
                found: format!("{physical_type} values"),
            }));
        }
        let id = match &selection.id_field {
            Some(field) => Some(Column::find(schema, field)?),
            None => None,
        };
        let leaves = [Some(text.leaf), id.as_ref().map(|id| id.leaf)];
        footer::check_codecs(metadata.metadata(), leaves)?;
        let groups = footer::row_groups(metadata.metadata(), leaves, file_bytes)
            .map_err(|error| Fault::corrupt(error.to_owned()))?;
        // Rows in the middle of a row group are found by the headers of its pages, which are cheap
        // to read from a disk; far away they cost a request each, unless an index says where the
        // pages lie.
        let can_cut = input.is_local() || footer::has_page_index(metadata.metadata());
        Ok(Self {
            extents: footer::extents(&groups, can_cut, selection.extent_bytes),
            // Only the footer is needed until a reader opens the file again.
            input: input.closed(),
            file_bytes,
            metadata,
            groups,
            text,
            id,
            limit: selection.record_limit(),
        })
    }

    /// Returns the runs of rows that are decoded on their own.
    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Opens the rows of an extent, from `mark` on.
    pub(crate) fn reader(
        self: Arc<Self>,
        extent: Extent,
        mark: Mark,
    ) -> Result<Box<dyn RecordReader>, Fault> {
        Ok(Box::new(ParquetReader::open(self, extent, mark)?))
    }

    /// Returns the number of rows, by the footer.
    pub(crate) fn n_rows(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end_row)
    }

    /// Returns the columns that are read, as leaves of the schema.
    fn leaves(&self) -> impl Iterator<Item = usize> + Clone {
        [Some(self.text.leaf), self.id.as_ref().map(|id| id.leaf)]
            .into_iter()
            .flatten()
    }
}

impl ParquetReader {
    /// Opens the rows of an extent, from `mark` on.
    fn open(file: Arc<ParquetFile>, extent: Extent, mark: Mark) -> Result<Self, Fault> {
        if mark.record > file.n_rows() {
            return Err(Fault::for_file(BadReason::EndsBeforeCursor));
        }
        let end = extent.end.min(file.n_rows());
        // Announced as a whole, so that remote bytes come by few requests.
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
    fn decode_batch(&mut self) -> Result<(), Fault> {
        // Batches begin at the same rows however the group is entered: how much a damaged page
        // costs must not depend on whether the run was interrupted.
        let group = &self.file.groups[self.group];
        let into_group = self.mark.record - group.first_row;
        let into_batch = into_group % group.batch_rows;
        let mut batches = match self.batches.take() {
            Some(batches) => batches,
            None => {
                self.check_pages()?;
                guarded(|| self.open_group(into_group - into_batch, group.batch_rows))
                    .map_err(|cause| self.input.fault(cause))?
            }
        };
        let rows = guarded(|| batches.next().transpose());
        let Some(rows) = rows.map_err(|cause| self.input.fault(cause))? else {
            // Its columns ended early; the file's other row groups may still be whole.
            let short = "row group holds fewer rows than the footer says";
            return Err(self.input.fault(short.into()));
        };
        let columns = self.columns(&rows, into_batch);
        let differs = || self.input.fault("columns differ from the schema".into());
        self.batch = Some(columns.ok_or_else(differs)?);
        self.batches = Some(batches);
        Ok(())
    }

    /// Refuses pages of the current row group that would take too much memory.
    fn check_pages(&self) -> Result<(), Fault> {
        let group = &self.file.groups[self.group];
        let rows = self.mark.record..self.end.min(group.end_row);
        let metadata = self.file.metadata.metadata();
        for leaf in self.file.leaves() {
            let ranges = footer::byte_ranges(
                metadata,
                &self.file.groups,
                &std::iter::once(leaf),
                rows.clone(),
            );
            let column = metadata.row_group(self.group).column(leaf);
            // Without a page index any page may be needed.
            let (start, len) = column.byte_range();
            let any = start..start.saturating_add(len);
            let any = Some(any).filter(|_| ranges.is_empty() && !rows.is_empty());
            let allowed = pages::Allowed {
                page_bytes: (self.file.limit as u64)
                    .saturating_mul(PAGE_LIMIT_RECORDS)
                    .max(LEAST_PAGE_LIMIT),
                has_shared_beginnings: footer::has_shared_beginnings(column),
            };
            pages::check(&self.input, ranges.into_iter().chain(any), allowed)?;
        }
        Ok(())
    }

    /// Opens the current row group, from the row `offset` of it on.
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

    /// Returns the columns of decoded rows, from the row `skip` on; `None` when they are not of the
    /// types that the footer has promised.
    fn columns(&self, rows: &RecordBatch, skip: u64) -> Option<Batch> {
        let text = self.file.text.values(rows)?;
        text.array.as_binary_view_opt()?;
        let id = match &self.file.id {
            Some(column) => Some(column.values(rows)?),
            None => None,
        };
        Some(Batch {
            text,
            id,
            next: to_usize(skip),
        })
    }

    /// Gives up the rest of the current row group, as far as it belongs to the extent.
    fn skip_row_group(&mut self, mut fault: Fault) -> Step {
        let end = self.file.groups[self.group].end_row.min(self.end);
        fault.record = Some(self.mark.record + 1);
        fault.lost = SkippedExtent::Records(end - self.mark.record);
        self.mark.record = end;
        self.batches = None;
        self.batch = None;
        Step::Bad(fault)
    }

    /// Appends text and id of the next row of a batch to the sink.
    fn read_row(&self, batch: &Batch, sink: &mut Sink<'_>) -> Result<(), BadReason> {
        let row = batch.next;
        if let (Some(column), Some(ids)) = (&self.file.id, &batch.id) {
            column.push_id(ids, row, sink)?;
        }
        if batch.text.is_null(row) {
            return Err(missing(&self.file.text.name));
        }
        let bytes = batch.text.array.as_binary_view().value(row);
        // Its page is in memory by now, but the text must not go on to batches and queues.
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
            // Taken out, because reading a row and decoding the next batch both borrow the reader.
            let batch = self
                .batch
                .take()
                .filter(|batch| batch.next < batch.text.array.len());
            let Some(mut batch) = batch else {
                match self.decode_batch() {
                    Ok(()) => continue,
                    Err(fault) => return self.skip_row_group(fault),
                }
            };
            let outcome = self.read_row(&batch, sink);
            batch.next += 1;
            self.batch = Some(batch);
            self.mark.record += 1;
            return match outcome {
                Ok(()) => Step::Record,
                Err(reason) => {
                    let mut fault = Fault::for_file(reason);
                    fault.record = Some(self.mark.record);
                    fault.lost = SkippedExtent::Record;
                    Step::Bad(fault)
                }
            };
        }
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn begins_at(&self) -> u64 {
        // Rows are found by number.
        0
    }

    fn raw_bytes(&self) -> u64 {
        // Only some columns are read, so bytes are counted in proportion to the rows: progress must
        // reach the size of the file. In 128 bits, as bytes times rows may exceed 64.
        let done = u128::from(self.file.file_bytes) * u128::from(self.mark.record);
        u64::try_from(done / u128::from(self.file.n_rows().max(1))).unwrap_or(self.file.file_bytes)
    }
}

/// Runs a step of the decoder, which asserts where a damaged file contradicts itself: damage must
/// be a bad record and not a panic.
fn guarded<T, E: Into<Cause>>(step: impl FnOnce() -> Result<T, E>) -> Result<T, Cause> {
    // Whatever the step was working on is dropped with its error, so a broken invariant inside is
    // never seen.
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err("the file contradicts itself".into()),
    }
}

/// Returns a number of rows as a length in memory, where no batch is longer than the longest.
fn to_usize(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
