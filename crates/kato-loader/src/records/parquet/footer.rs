//! The footer of a Parquet file: its schema, with strings as bytes, and its row groups, checked.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::input::ParquetInput;
use crate::extent::Extent;

/// Bytes of text that one batch of rows should hold.
const BATCH_BYTES: u64 = 1 << 20;
const MAX_BATCH_ROWS: u64 = 1024;

/// The rows of one row group.
pub(super) struct Group {
    pub(super) first_row: u64,
    pub(super) end_row: u64,
    /// Rows to decode at a time, at least 1; a function of the footer alone.
    pub(super) batch_rows: u64,
    /// Bytes of text by the footer, at least 1.
    text_bytes: u64,
}

/// Reads the footer, with all strings declared as bytes: whether a text is UTF-8 is then found row by row, instead of one bad
/// row taking its whole batch with it.
pub(super) fn load(file: &ParquetInput) -> Result<ArrowReaderMetadata, ParquetError> {
    let root = with_bytes(schema(file)?)?;
    // The embedded arrow schema would bring dictionaries, views and large offsets back; the stored column is the same for all.
    let options = ArrowReaderOptions::new()
        .with_skip_arrow_metadata(true)
        .with_offset_index_policy(PageIndexPolicy::Optional)
        // Nothing is looked up by value, and a file has as many of these as it has row groups.
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_parquet_schema(Arc::new(SchemaDescriptor::new(root)));
    let metadata = ArrowReaderMetadata::load(file, options)?;
    // Views leave the bytes in the decompressed page: they are copied once, into the text.
    let fields = metadata.schema().fields().iter().map(with_views);
    let schema = Schema::new_with_metadata(
        fields.collect::<Fields>(),
        metadata.schema().metadata().clone(),
    );
    let options = ArrowReaderOptions::new()
        .with_skip_arrow_metadata(true)
        .with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
}

/// The schema by the footer, which is not kept: it can be large.
fn schema(file: &ParquetInput) -> Result<TypePtr, ParquetError> {
    let options = ParquetMetaDataOptions::new()
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let footer = ParquetMetaDataReader::new()
        .with_metadata_options(Some(options))
        .parse_and_finish(file)?;
    Ok(footer.file_metadata().schema_descr().root_schema_ptr())
}

/// The same field with views in place of bytes; elements of lists, which are not read, stay as they are.
fn with_views(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Binary => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(with_views).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
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
            text_bytes: text_bytes.unwrap_or(0).max(1),
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

/// Whether the file tells where each page of each row group lies.
pub(super) fn has_page_index(metadata: &ParquetMetaData) -> bool {
    metadata.page_index().is_some()
}

/// Cuts the rows into runs of about the same size: small row groups together, large ones in pieces where that is possible.
/// Pieces begin where batches do.
pub(super) fn extents(groups: &[Group], can_cut: bool, extent_bytes: u64) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut is_open = false;
    for group in groups {
        let rows = group.end_row - group.first_row;
        if rows == 0 {
            continue;
        }
        match extents.last_mut() {
            Some(last) if is_open && last.text_bytes + group.text_bytes <= extent_bytes => {
                last.end = group.end_row;
                last.records = last.records.map(|records| records + rows);
                last.text_bytes += group.text_bytes;
            }
            _ => {
                let batch_bytes = (group.text_bytes / rows.div_ceil(group.batch_rows)).max(1);
                let piece = match can_cut {
                    true => group.batch_rows * (extent_bytes / batch_bytes).max(1),
                    false => rows,
                };
                let mut start = group.first_row;
                while start < group.end_row {
                    let end = start.saturating_add(piece).min(group.end_row);
                    let share = u128::from(group.text_bytes) * u128::from(end - start);
                    extents.push(Extent {
                        start,
                        end,
                        records: Some(end - start),
                        text_bytes: u64::try_from(share / u128::from(rows)).unwrap_or(u64::MAX),
                    });
                    start = end;
                }
                is_open = piece >= rows;
            }
        }
    }
    extents
}

/// Where the file holds the columns of some rows: whole columns of row groups that are read whole, pages of others where
/// the file tells where they lie, and nothing of others.
pub(super) fn byte_ranges(
    metadata: &ParquetMetaData,
    groups: &[Group],
    leaves: &(impl Iterator<Item = usize> + Clone),
    rows: Range<u64>,
) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let first = groups.partition_point(|group| group.end_row <= rows.start);
    for (index, group) in groups.iter().enumerate().skip(first) {
        if group.first_row >= rows.end {
            break;
        }
        let wanted = rows.start.max(group.first_row)..rows.end.min(group.end_row);
        for leaf in leaves.clone() {
            let column = metadata.row_group(index).column(leaf);
            let (start, len) = column.byte_range();
            if wanted == (group.first_row..group.end_row) {
                ranges.push(start..start.saturating_add(len));
                continue;
            }
            let page_index = metadata.page_index_for_row_group(index);
            let Some(pages) = page_index.offset_index(leaf) else {
                continue;
            };
            let pages = pages.page_locations();
            // In front of the first page of data lies the dictionary, which every page may need.
            let data = pages
                .first()
                .and_then(|page| u64::try_from(page.offset).ok());
            ranges.extend(data.filter(|data| *data > start).map(|data| start..data));
            for (at, page) in pages.iter().enumerate() {
                let row = |page: &parquet::file::page_index::offset_index::PageLocation| {
                    u64::try_from(page.first_row_index)
                        .map_or(u64::MAX, |row| row + group.first_row)
                };
                let ends_before = pages
                    .get(at + 1)
                    .is_some_and(|next| row(next) <= wanted.start);
                if ends_before || row(page) >= wanted.end {
                    continue;
                }
                if let (Ok(offset), Ok(len)) = (
                    u64::try_from(page.offset),
                    u64::try_from(page.compressed_page_size),
                ) {
                    ranges.push(offset..offset.saturating_add(len));
                }
            }
        }
    }
    ranges
}
