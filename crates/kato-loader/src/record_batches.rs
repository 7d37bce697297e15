//! Documents of Arrow record batches.

use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use crate::document::Document;
use crate::options::CorpusOptions;

/// Returns the rows of batches as documents: their text, and the name if a field for it is chosen. A row
/// without text is a document without text; a batch that lacks a column, or has other values in it, is an
/// error.
pub(crate) fn documents(
    batches: impl Iterator<Item = RecordBatch> + Send + 'static,
    selection: &CorpusOptions,
) -> impl Iterator<Item = io::Result<Document>> + Send + 'static {
    let text_field = selection.text_field.clone();
    let id_field = selection.id_field.clone();
    batches.flat_map(move |batch| {
        let rows = rows_of(&batch, &text_field, id_field.as_deref());
        let (rows, error) = match rows {
            Ok(rows) => (rows, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        rows.into_iter().map(Ok).chain(error)
    })
}

/// Returns the rows of one batch.
fn rows_of(batch: &RecordBatch, text: &str, id: Option<&str>) -> io::Result<Vec<Document>> {
    let texts = column(batch, text)?;
    let ids = id.map(|id| column(batch, id)).transpose()?;
    let row = |row| {
        let document = Document::new(text_at(texts, row, text)?);
        Ok(match ids.zip(id) {
            None => document,
            Some((ids, id)) => document.with_id(id_at(ids, row, id)?),
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Finds a column by its name.
fn column<'a>(batch: &'a RecordBatch, name: &str) -> io::Result<&'a dyn Array> {
    let column = batch.column_by_name(name).map(AsRef::as_ref);
    column.ok_or_else(|| {
        let schema = batch.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        io::Error::other(format!(
            "there is no column `{name}`; the columns are {}",
            names.join(", ")
        ))
    })
}

/// Returns the text of a row; none where it is null.
fn text_at<'a>(column: &'a dyn Array, row: usize, name: &str) -> io::Result<&'a str> {
    if column.is_null(row) {
        return Ok("");
    }
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Ok(column.as_string_view().value(row)),
        other => Err(io::Error::other(format!(
            "column `{name}` holds {other} and no text"
        ))),
    }
}

/// Returns the name of a row: a text, or an integer in decimal digits.
fn id_at(column: &dyn Array, row: usize, name: &str) -> io::Result<String> {
    if column.is_null(row) {
        return Err(io::Error::other(format!(
            "column `{name}` has no value in row {row} of a batch"
        )));
    }
    Ok(match column.data_type() {
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        _ => text_at(column, row, name)?.to_owned(),
    })
}
