//! Parquet: the rows of one string column, one row group after the other.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StructArray, cast::AsArray, types};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type, TypePtr};

use super::{RecordReader, Sink, Step, invalid_utf8, missing, require_id, too_large};
use crate::bad_record::{BadReason, Fault, Lost};
use crate::cursor::Mark;
use crate::options::Selection;

/// Bytes of text that one batch of rows should hold.
const BATCH_BYTES: u64 = 1 << 20;
const MAX_BATCH_ROWS: u64 = 1024;

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

/// The rows of one row group.
struct Group {
    first_row: u64,
    end_row: u64,
    batch_rows: u64,
}

/// A column, by its path from the root.
struct Column {
    leaf: usize,
    path: Vec<String>,
    name: String,
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
        let metadata = load_metadata(&file).map_err(Fault::corrupt)?;
        let schema = metadata.parquet_schema();
        let text = Column::find(schema, &selection.text_field)?;
        if schema.column(text.leaf).physical_type() != PhysicalType::BYTE_ARRAY {
            let found = describe(&schema.column(text.leaf));
            return Err(Fault::of_file(BadReason::NotText {
                field: text.name,
                found,
            }));
        }
        let id = match &selection.id_field {
            Some(field) => Some(Column::find(schema, field)?),
            None => None,
        };
        let groups = row_groups(&metadata, text.leaf)?;
        let rows = groups.last().map_or(0, |group| group.end_row);
        if mark.record > rows {
            return Err(Fault::of_file(BadReason::EndsBeforeCursor));
        }
        Ok(Self {
            file,
            file_bytes,
            group: groups.partition_point(|group| group.end_row <= mark.record),
            metadata,
            groups,
            text,
            id,
            limit: selection.record_limit(),
            batches: None,
            batch: None,
            mark,
        })
    }

    /// The next decoded row, or why there is none.
    fn next_batch(&mut self) -> Result<(), Step> {
        let Some(group) = self.groups.get(self.group) else {
            return Err(Step::End);
        };
        // Batches begin at the same rows however the group is entered: what a damaged page takes with it must not depend on
        // whether the run was interrupted.
        let into_group = self.mark.record - group.first_row;
        let into_batch = into_group % group.batch_rows;
        let outcome = match self.batches.take() {
            Some(batches) => Ok(batches),
            None => self.open_group(into_group - into_batch, group.batch_rows),
        };
        let lost = match outcome {
            Ok(mut batches) => match batches.next() {
                Some(Ok(batch)) => match self.decode(&batch, into_batch) {
                    Ok(batch) => {
                        self.batch = Some(batch);
                        self.batches = Some(batches);
                        return Ok(());
                    }
                    Err(reason) => (reason, None),
                },
                Some(Err(error)) => corrupt(error.into()),
                None => (
                    BadReason::Corrupt {
                        message: "row group holds fewer rows than the footer says".to_owned(),
                    },
                    None,
                ),
            },
            Err(error) => corrupt(error),
        };
        Err(self.lose_group(lost))
    }

    fn open_group(
        &self,
        offset: u64,
        batch_rows: u64,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let leaves = [Some(self.text.leaf), self.id.as_ref().map(|id| id.leaf)];
        let projection =
            ProjectionMask::leaves(self.metadata.parquet_schema(), leaves.into_iter().flatten());
        ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.file.try_clone()?,
            self.metadata.clone(),
        )
        .with_row_groups(vec![self.group])
        .with_projection(projection)
        .with_batch_size(to_usize(batch_rows))
        .with_offset(to_usize(offset))
        .build()
    }

    fn decode(&self, batch: &RecordBatch, skip: u64) -> Result<Batch, BadReason> {
        let not_text = |column: &Column| BadReason::NotText {
            field: column.name.clone(),
            found: "a column of another type".to_owned(),
        };
        let text = self.text.array(batch).ok_or_else(|| not_text(&self.text))?;
        let text = text
            .as_binary_opt::<i32>()
            .ok_or_else(|| not_text(&self.text))?;
        let id = match &self.id {
            Some(column) => Some(column.array(batch).ok_or_else(|| not_text(column))?),
            None => None,
        };
        Ok(Batch {
            text: text.clone(),
            id,
            next: to_usize(skip),
        })
    }

    /// Gives up the rest of the current row group.
    fn lose_group(&mut self, (reason, cause): (BadReason, Option<ParquetError>)) -> Step {
        let end = self.groups[self.group].end_row;
        let mut fault = self.fault(reason);
        fault.lost = Lost::Records(end - self.mark.record);
        fault.cause = cause.map(Into::into);
        self.mark.record = end;
        self.group += 1;
        self.batches = None;
        self.batch = None;
        Step::Bad(fault)
    }

    fn read_row(&mut self, row: usize, sink: &mut Sink<'_>) -> Result<(), BadReason> {
        let batch = self
            .batch
            .as_ref()
            .expect("a row is read from the batch it was found in");
        if let (Some(column), Some(ids)) = (&self.id, &batch.id) {
            push_id(ids, row, column, sink)?;
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

    fn fault(&self, reason: BadReason) -> Fault {
        Fault {
            record: Some(self.mark.record + 1),
            line: None,
            byte_offset: None,
            lost: Lost::Record,
            reason: Box::new(reason),
            cause: None,
        }
    }
}

impl RecordReader for ParquetReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            if let Some(batch) = &mut self.batch {
                let row = batch.next;
                if row < batch.text.len() {
                    batch.next += 1;
                    let outcome = self.read_row(row, sink);
                    let step = match outcome {
                        Ok(()) => Step::Record,
                        Err(reason) => Step::Bad(self.fault(reason)),
                    };
                    self.mark.record += 1;
                    return step;
                }
                self.batch = None;
            }
            if self
                .groups
                .get(self.group)
                .is_some_and(|group| group.end_row == self.mark.record)
            {
                self.group += 1;
                self.batches = None;
            } else if let Err(step) = self.next_batch() {
                return step;
            }
        }
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn raw_bytes(&self) -> u64 {
        // Only some columns are read, so bytes are counted by rows: progress must reach the size of the file.
        let rows = self.groups.last().map_or(0, |group| group.end_row);
        let done = u128::from(self.file_bytes) * u128::from(self.mark.record);
        u64::try_from(done / u128::from(rows.max(1))).unwrap_or(self.file_bytes)
    }
}

impl Column {
    /// Finds a leaf whose name, or whose path joined by dots, is `field`.
    fn find(schema: &SchemaDescriptor, field: &str) -> Result<Self, Fault> {
        let matching = |column: &Arc<ColumnDescriptor>| {
            column.max_rep_level() == 0 && column.path().parts().join(".") == field
        };
        match schema.columns().iter().position(matching) {
            Some(leaf) => Ok(Self {
                leaf,
                path: schema.column(leaf).path().parts().to_vec(),
                name: field.to_owned(),
            }),
            None => {
                let columns: Vec<_> = schema
                    .columns()
                    .iter()
                    .take(20)
                    .map(|column| column.path().string())
                    .collect();
                Err(Fault::of_file(BadReason::MissingColumn {
                    field: field.to_owned(),
                    columns: columns.join(", "),
                }))
            }
        }
    }

    fn array(&self, batch: &RecordBatch) -> Option<ArrayRef> {
        let (root, inner) = self.path.split_first()?;
        let mut array = Arc::clone(batch.column_by_name(root)?);
        for name in inner {
            let group: &StructArray = array.as_struct_opt()?;
            let child = Arc::clone(group.column_by_name(name)?);
            array = child;
        }
        Some(array)
    }
}

fn push_id(
    ids: &ArrayRef,
    row: usize,
    column: &Column,
    sink: &mut Sink<'_>,
) -> Result<(), BadReason> {
    if ids.is_null(row) {
        return Err(missing(&column.name));
    }
    match ids.data_type() {
        DataType::Binary => {
            let id =
                std::str::from_utf8(ids.as_binary::<i32>().value(row)).map_err(invalid_utf8)?;
            sink.id.push_str(id);
        }
        DataType::Int32 => sink.id.push_str(
            &ids.as_primitive::<types::Int32Type>()
                .value(row)
                .to_string(),
        ),
        DataType::Int64 => sink.id.push_str(
            &ids.as_primitive::<types::Int64Type>()
                .value(row)
                .to_string(),
        ),
        DataType::UInt32 => sink.id.push_str(
            &ids.as_primitive::<types::UInt32Type>()
                .value(row)
                .to_string(),
        ),
        DataType::UInt64 => sink.id.push_str(
            &ids.as_primitive::<types::UInt64Type>()
                .value(row)
                .to_string(),
        ),
        other => {
            return Err(BadReason::NotText {
                field: column.name.clone(),
                found: format!("{other}"),
            });
        }
    }
    require_id(sink, &column.name)
}

/// Reads the footer, with all strings declared as bytes: whether a text is UTF-8 is then found row by row, instead of one bad
/// row taking its whole batch with it.
fn load_metadata(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    let footer = ParquetMetaDataReader::new().parse_and_finish(file)?;
    let root = as_bytes(footer.file_metadata().schema_descr().root_schema_ptr())?;
    // The embedded arrow schema would bring dictionaries, views and large offsets back; the physical column is always the same.
    let options = ArrowReaderOptions::new()
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(Arc::new(SchemaDescriptor::new(root)));
    ArrowReaderMetadata::load(file, options)
}

fn as_bytes(node: TypePtr) -> Result<TypePtr, ParquetError> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match node.as_ref() {
        Type::PrimitiveType {
            physical_type: PhysicalType::BYTE_ARRAY,
            ..
        } if info.converted_type() == ConvertedType::UTF8 || info.logical_type_ref().is_some() => {
            Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY)
                .with_repetition(info.repetition())
                .with_id(id)
                .build()
                .map(Arc::new)
        }
        Type::PrimitiveType { .. } => Ok(node),
        Type::GroupType { fields, .. } => {
            let fields = fields
                .iter()
                .map(|field| as_bytes(Arc::clone(field)))
                .collect::<Result<_, _>>()?;
            let repetition = if info.has_repetition() {
                info.repetition()
            } else {
                Repetition::REQUIRED
            };
            let builder = Type::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id)
                .with_fields(fields);
            let builder = if info.has_repetition() {
                builder.with_repetition(repetition)
            } else {
                builder
            };
            builder.build().map(Arc::new)
        }
    }
}

fn row_groups(metadata: &ArrowReaderMetadata, text_leaf: usize) -> Result<Vec<Group>, Fault> {
    let mut first_row = 0_u64;
    let mut groups = Vec::new();
    for group in metadata.metadata().row_groups() {
        let rows = u64::try_from(group.num_rows()).ok();
        let end_row = rows
            .and_then(|rows| first_row.checked_add(rows))
            .ok_or_else(|| {
                Fault::of_file(BadReason::Corrupt {
                    message: "footer gives an impossible number of rows".to_owned(),
                })
            })?;
        let text_bytes = u64::try_from(group.column(text_leaf).uncompressed_size()).unwrap_or(0);
        let row_bytes = text_bytes / (end_row - first_row).max(1);
        groups.push(Group {
            first_row,
            end_row,
            batch_rows: (BATCH_BYTES / row_bytes.max(1)).clamp(1, MAX_BATCH_ROWS),
        });
        first_row = end_row;
    }
    Ok(groups)
}

fn corrupt(error: ParquetError) -> (BadReason, Option<ParquetError>) {
    let reason = BadReason::Corrupt {
        message: error.to_string(),
    };
    (reason, Some(error))
}

fn describe(column: &ColumnDescriptor) -> String {
    format!("{} values", column.physical_type())
}

fn to_usize(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
