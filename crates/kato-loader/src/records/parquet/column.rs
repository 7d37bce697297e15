//! A column of a Parquet file: finding it by name, and its values in a batch of rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::DataType;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use crate::bad_record::{BadReason, Fault};
use crate::records::{Sink, invalid_utf8, missing, require_id};

/// Most columns that an error lists.
const MAX_LISTED: usize = 20;

/// A column that can hold one value a row.
pub(super) struct Column {
    /// Index among the leaves of the schema.
    pub(super) leaf: usize,
    /// Names from the root to the leaf.
    path: Vec<String>,
    /// The name by which the caller asked for it.
    pub(super) name: String,
}

/// The values of a column in a batch of rows.
pub(super) struct Values {
    pub(super) array: ArrayRef,
    /// The structs around the column that are null in some row. What a column holds where one of
    /// them is null is no value: it may be that of another row.
    ancestors: Vec<ArrayRef>,
}

impl Values {
    /// Returns whether a row has no value: where the column is null, or anything around it.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.ancestors.iter().any(|parent| parent.is_null(row))
    }
}

impl Column {
    /// Finds the leaf whose path, joined by dots, is `field`; elements of lists are left out.
    pub(super) fn find(schema: &SchemaDescriptor, field: &str) -> Result<Self, Fault> {
        // A repetition level above 0 means that the leaf is inside a list: a row may have any
        // number of values.
        let matching =
            |column: &ColumnDescPtr| column.max_rep_level() == 0 && column.path().string() == field;
        match schema.columns().iter().position(matching) {
            Some(leaf) => Ok(Self {
                leaf,
                path: schema.column(leaf).path().parts().to_vec(),
                name: field.to_owned(),
            }),
            None => {
                let columns = schema.columns().iter().take(MAX_LISTED);
                let columns: Vec<_> = columns.map(|column| column.path().string()).collect();
                Err(Fault::for_file(BadReason::MissingColumn {
                    field: field.to_owned(),
                    columns: columns.join(", "),
                }))
            }
        }
    }

    /// Returns the values of the column in a batch of rows, or `None` when the batch has another
    /// schema.
    pub(super) fn values(&self, rows: &RecordBatch) -> Option<Values> {
        let (root, inner) = self.path.split_first()?;
        let mut array = Arc::clone(rows.column_by_name(root)?);
        let mut ancestors = Vec::new();
        for name in inner {
            let parent: &StructArray = array.as_struct_opt()?;
            let child = Arc::clone(parent.column_by_name(name)?);
            if parent.null_count() > 0 {
                ancestors.push(array);
            }
            array = child;
        }
        Some(Values { array, ancestors })
    }

    /// Appends the value of a row as an id: text, or an integer in decimal digits.
    pub(super) fn push_id(
        &self,
        ids: &Values,
        row: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), BadReason> {
        if ids.is_null(row) {
            return Err(missing(&self.name));
        }
        let ids = &ids.array;
        let number = match ids.data_type() {
            DataType::BinaryView => {
                let bytes = ids.as_binary_view().value(row);
                sink.id
                    .push_str(std::str::from_utf8(bytes).map_err(invalid_utf8)?);
                return require_id(sink, &self.name);
            }
            DataType::Int32 => ids.as_primitive::<Int32Type>().value(row).to_string(),
            DataType::Int64 => ids.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::UInt32 => ids.as_primitive::<UInt32Type>().value(row).to_string(),
            DataType::UInt64 => ids.as_primitive::<UInt64Type>().value(row).to_string(),
            other => {
                return Err(BadReason::NotText {
                    field: self.name.clone(),
                    found: format!("{other} values"),
                });
            }
        };
        sink.id.push_str(&number);
        Ok(())
    }
}
