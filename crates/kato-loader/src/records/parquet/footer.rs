//! The footer of a Parquet file: its schema, with strings as bytes, and its row groups, checked.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// Bytes of text that one batch of rows should hold.
const BATCH_BYTES: u64 = 1 << 20;
const MAX_BATCH_ROWS: u64 = 1024;

/// The rows of one row group.
pub(super) struct Group {
    pub(super) first_row: u64,
    pub(super) end_row: u64,
    /// Rows to decode at a time, at least 1; a function of the footer alone.
    pub(super) batch_rows: u64,
}

/// Reads the footer, with all strings declared as bytes: whether a text is UTF-8 is then found row by row, instead of one bad
/// row taking its whole batch with it.
pub(super) fn load(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    let footer = ParquetMetaDataReader::new().parse_and_finish(file)?;
    let root = with_bytes(footer.file_metadata().schema_descr().root_schema_ptr())?;
    // The embedded arrow schema would bring dictionaries, views and large offsets back; the stored column is the same for all.
    let options = ArrowReaderOptions::new()
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(Arc::new(SchemaDescriptor::new(root)));
    ArrowReaderMetadata::load(file, options)
}

/// The same schema without what byte arrays are said to mean.
fn with_bytes(node: TypePtr) -> Result<TypePtr, ParquetError> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match node.as_ref() {
        Type::PrimitiveType {
            physical_type: PhysicalType::BYTE_ARRAY,
            ..
        } => Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY)
            .with_repetition(info.repetition())
            .with_id(id)
            .build()
            .map(Arc::new),
        Type::PrimitiveType { .. } => Ok(node),
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| with_bytes(Arc::clone(field)));
            let mut builder = Type::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id)
                .with_fields(fields.collect::<Result<_, _>>()?);
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            builder.build().map(Arc::new)
        }
    }
}

/// The row groups in order. `leaves` are the columns to be read, the text first.
pub(super) fn row_groups(
    metadata: &ParquetMetaData,
    leaves: [Option<usize>; 2],
    file_bytes: u64,
) -> Result<Vec<Group>, &'static str> {
    let mut first_row = 0_u64;
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in metadata.row_groups() {
        let mut text_bytes = None;
        for leaf in leaves.into_iter().flatten() {
            let column = group
                .columns()
                .get(leaf)
                .ok_or("a row group lacks a column")?;
            if !lies_within(column, file_bytes) {
                return Err("footer places a column outside the file");
            }
            text_bytes = text_bytes.or(u64::try_from(column.uncompressed_size()).ok());
        }
        let rows = u64::try_from(group.num_rows()).ok();
        let end_row = rows
            .and_then(|rows| first_row.checked_add(rows))
            .ok_or("footer gives an impossible number of rows")?;
        let row_bytes = text_bytes.unwrap_or(0) / (end_row - first_row).max(1);
        groups.push(Group {
            first_row,
            end_row,
            batch_rows: (BATCH_BYTES / row_bytes.max(1)).clamp(1, MAX_BATCH_ROWS),
        });
        first_row = end_row;
    }
    Ok(groups)
}

fn lies_within(column: &ColumnChunkMetaData, file_bytes: u64) -> bool {
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    match (
        u64::try_from(start),
        u64::try_from(column.compressed_size()),
    ) {
        (Ok(start), Ok(len)) => start.checked_add(len).is_some_and(|end| end <= file_bytes),
        _ => false,
    }
}
