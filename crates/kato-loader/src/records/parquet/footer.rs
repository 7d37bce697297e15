//! Reads and checks the footer of a Parquet file: its schema, with strings as bytes, and its row
//! groups.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression as Codec, Encoding, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::input::ParquetInput;
use crate::bad_record::{BadReason, Fault};
use crate::extent::Extent;

/// Bytes of text that one batch of rows should hold.
const BATCH_BYTES: u64 = 1 << 20;
/// Rows of a batch, at most.
const MAX_BATCH_ROWS: u64 = 1024;
/// Rows of a batch, at most, where values may share their beginnings: each may be as long as a
/// record, though the file has hardly a byte for it.
const MAX_SHARED_BATCH_ROWS: u64 = 8;

/// The rows of one row group.
pub(super) struct Group {
    pub(super) first_row: u64,
    pub(super) end_row: u64,
    /// Rows to decode at a time, at least 1; a function of the footer alone.
    pub(super) batch_rows: u64,
    /// Bytes of text by the footer, at least 1.
    text_bytes: u64,
}

/// Reads the footer, with all strings declared as bytes.
///
/// Whether a text is UTF-8 is then found row by row, instead of one bad row taking its whole batch
/// with it.
pub(super) fn load(file: &ParquetInput) -> Result<ArrowReaderMetadata, ParquetError> {
    let root = with_bytes(schema(file)?)?;
    // The embedded Arrow schema would bring dictionaries, views and large offsets back, though the
    // stored column is the same for all of them.
    let options = ArrowReaderOptions::new()
        .with_skip_arrow_metadata(true)
        .with_offset_index_policy(PageIndexPolicy::Optional)
        // Nothing is looked up by value, and a file has as many statistics as it has row groups.
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_parquet_schema(Arc::new(SchemaDescriptor::new(root)));
    let metadata = ArrowReaderMetadata::load(file, options)?;
    // Views leave the bytes in the decompressed page: they are copied only once, into the text.
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

/// Reads the schema from the footer, which is not kept: it can be large.
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

/// Returns the same field with views in place of bytes; elements of lists, which are not read, stay
/// as they are.
fn with_views(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Binary => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(with_views).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Returns the same schema without the logical types of byte arrays.
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
            // Lists and maps keep their meaning, which says how their elements are nested.
            let mut builder = Type::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id)
                .with_fields(fields.collect::<Result<_, _>>()?);
            // The root of a schema has none.
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            builder.build().map(Arc::new)
        }
    }
}

/// Returns the row groups in order. `leaves` are the columns to be read, the text first.
///
/// # Errors
///
/// When the footer contradicts itself or the size of the file, in words.
pub(super) fn row_groups(
    metadata: &ParquetMetaData,
    leaves: [Option<usize>; 2],
    file_bytes: u64,
) -> Result<Vec<Group>, &'static str> {
    let mut first_row = 0_u64;
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in metadata.row_groups() {
        let mut text_bytes = None;
        let mut max_rows = MAX_BATCH_ROWS;
        for leaf in leaves.into_iter().flatten() {
            let column = group
                .columns()
                .get(leaf)
                .ok_or("a row group lacks a column")?;
            // Checked before anything is read by it: a forged footer could ask for any amount of
            // memory.
            if !lies_within(column, file_bytes) {
                return Err("footer places a column outside the file");
            }
            if has_shared_beginnings(column) {
                max_rows = MAX_SHARED_BATCH_ROWS;
            }
            // Of the first leaf, which is the text.
            text_bytes = text_bytes.or(u64::try_from(column.uncompressed_size()).ok());
        }
        let rows = u64::try_from(group.num_rows()).ok();
        let end_row = rows
            .and_then(|rows| first_row.checked_add(rows))
            .ok_or("footer gives an impossible number of rows")?;
        // From the footer alone, so that batches, and with them the cuts, are the same for every
        // reader.
        let row_bytes = text_bytes.unwrap_or(0) / (end_row - first_row).max(1);
        groups.push(Group {
            first_row,
            end_row,
            batch_rows: (BATCH_BYTES / row_bytes.max(1)).clamp(1, max_rows),
            text_bytes: text_bytes.unwrap_or(0).max(1),
        });
        first_row = end_row;
    }
    Ok(groups)
}

/// Returns whether values of a column may share their beginnings, by its footer: some bytes may then
/// stand for as many values of any length.
pub(super) fn has_shared_beginnings(column: &ColumnChunkMetaData) -> bool {
    column
        .encodings()
        .any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY)
}

/// Refuses columns that are compressed in a way that is not read.
pub(super) fn check_codecs(
    metadata: &ParquetMetaData,
    leaves: [Option<usize>; 2],
) -> Result<(), Fault> {
    for group in metadata.row_groups() {
        for column in leaves
            .into_iter()
            .flatten()
            .filter_map(|leaf| group.columns().get(leaf))
        {
            let codec = match column.compression() {
                Codec::UNCOMPRESSED | Codec::SNAPPY | Codec::GZIP(_) | Codec::ZSTD(_) => continue,
                Codec::BROTLI(_) => "brotli",
                Codec::LZ4 => "lz4, in the form of Hadoop",
                Codec::LZ4_RAW => "lz4",
                Codec::LZO => "lzo",
            };
            let path = column.column_path().string();
            return Err(Fault::for_file(BadReason::Unsupported {
                what: format!("Parquet whose column `{path}` is compressed with {codec}"),
                instead: "write it with zstd, snappy or gzip".to_owned(),
            }));
        }
    }
    Ok(())
}

/// Returns whether a column chunk lies within the file.
fn lies_within(column: &ColumnChunkMetaData, file_bytes: u64) -> bool {
    // The dictionary, where there is one, stands in front of the first page of data.
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

/// Returns whether the file states where each page of each row group lies.
pub(super) fn has_page_index(metadata: &ParquetMetaData) -> bool {
    metadata.page_index().is_some()
}

/// Cuts the rows into runs of about the same size: small row groups together, large ones in pieces
/// where that is possible.
///
/// Pieces begin where batches do.
pub(super) fn extents(groups: &[Group], can_cut: bool, extent_bytes: u64) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut is_open = false;
    for group in groups {
        let rows = group.end_row - group.first_row;
        // An extent without rows would be a block of a shuffled order in which nothing is found.
        if rows == 0 {
            continue;
        }
        match extents.last_mut() {
            // A row group joins the run before it only if that is made of whole row groups, too.
            Some(last) if is_open && last.text_bytes + group.text_bytes <= extent_bytes => {
                last.end = group.end_row;
                last.records = last.records.map(|records| records + rows);
                last.text_bytes += group.text_bytes;
            }
            _ => {
                let batch_bytes = (group.text_bytes / rows.div_ceil(group.batch_rows)).max(1);
                // Whole batches, and at least one: a batch that two pieces shared would be decoded
                // twice.
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

/// Returns where the file holds the columns of some rows.
///
/// Those are whole columns of row groups that are read whole, pages of others where the file states
/// where they lie, and nothing of the rest.
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
            // Without an index the pages are found by their headers, and fetched as they are met.
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
                // A page ends where the next one begins; the last one ends with the row group.
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
