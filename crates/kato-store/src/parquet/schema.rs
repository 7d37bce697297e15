//! The columns of a file, and how they are written.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError as LibraryError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

pub(super) const NAME: &str = "name";
pub(super) const SYMBOLS: &str = "symbols";
pub(super) const EVENT_LENGTHS: &str = "event_lengths";
pub(super) const CHILDREN: &str = "children";
pub(super) const FREQUENCY: &str = "frequency";
pub(super) const FIRST_DOCUMENT: &str = "first_document";
pub(super) const FIRST_TOKEN: &str = "first_token";
pub(super) const EMOTIVES: &str = "emotives";
pub(super) const METADATA: &str = "metadata";

/// Key of the version in the file's own metadata.
pub(super) const VERSION_KEY: &str = "kato.patterns";
/// The version that is written and read. What adds a column that may be ignored keeps it.
pub(super) const VERSION: &str = "1";

/// Rows of a row group, at most.
const GROUP_ROWS: usize = 1 << 20;
/// Bytes of a row group as written, about: it is in memory until it is full.
const GROUP_BYTES: usize = 64 << 20;

/// Returns the element of a list as the format's own documents name it.
pub(super) fn element(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("element", data_type, false))
}

/// Returns the columns.
pub(super) fn schema() -> SchemaRef {
    let list = |name, data_type| Field::new_list(name, element(data_type), true);
    Arc::new(Schema::new(vec![
        Field::new(NAME, DataType::Utf8, false),
        list(SYMBOLS, DataType::Utf8),
        list(EVENT_LENGTHS, DataType::Int32),
        list(CHILDREN, DataType::Utf8),
        // With a sign, though none is negative: Spark makes decimals of unsigned 64 bits.
        Field::new(FREQUENCY, DataType::Int64, false),
        Field::new(FIRST_DOCUMENT, DataType::Int64, true),
        Field::new(FIRST_TOKEN, DataType::Int64, true),
        Field::new(EMOTIVES, DataType::Utf8, true),
        Field::new(METADATA, DataType::Utf8, true),
    ]))
}

/// Returns how the columns are written.
pub(super) fn properties() -> Result<WriterProperties, LibraryError> {
    let by_name = SortingColumn {
        column_idx: 0,
        descending: false,
        nulls_first: false,
    };
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        // No name comes twice, so a dictionary of them would only be given up.
        .set_column_dictionary_enabled(ColumnPath::from(NAME), false)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_sorting_columns(Some(vec![by_name]))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            VERSION_KEY.to_owned(),
            VERSION.to_owned(),
        )]))
        .build())
}
