//! The columns of some rows, checked for their types, and a row of them as a record.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};
use kato_model::{EmotiveMap, Event, Metadata, Pattern, PatternName, PatternRecord};
use serde::de::DeserializeOwned;

use super::schema::{CHILDREN, EMOTIVES, EVENT_LENGTHS, FREQUENCY, METADATA, NAME, SYMBOLS};
use super::{ParquetError, RowError};

const NUMBER: &str = "whole numbers of 32 or 64 bits";
const TEXT: &str = "text";
const TEXTS: &str = "lists of text";

/// Most columns that an error lists.
const MAX_LISTED: usize = 20;

/// Decoded rows.
pub(super) struct Rows<'a> {
    name: &'a StringArray,
    symbols: Option<&'a ListArray>,
    event_lengths: Option<&'a ListArray>,
    children: Option<&'a ListArray>,
    frequency: Numbers<'a>,
    emotives: Option<&'a StringArray>,
    metadata: Option<&'a StringArray>,
}

/// A column of numbers.
struct Numbers<'a>(&'a dyn Array);

impl<'a> Rows<'a> {
    /// Returns the places of the columns that are read, after checking that what is needed is there
    /// and that all have their types.
    pub(super) fn columns(schema: &Schema) -> Result<Vec<usize>, ParquetError> {
        let all = [
            NAME,
            SYMBOLS,
            EVENT_LENGTHS,
            CHILDREN,
            FREQUENCY,
            EMOTIVES,
            METADATA,
        ];
        for needed in [NAME, FREQUENCY] {
            require(schema, needed)?;
        }
        if schema.index_of(CHILDREN).is_err() {
            require(schema, SYMBOLS)?;
        }
        for column in all {
            let Ok(field) = schema.field_with_name(column) else {
                continue;
            };
            let found = field.data_type();
            let element = match found {
                DataType::List(element) => Some(element.data_type()),
                _ => None,
            };
            let (is_right, expected) = match column {
                FREQUENCY => (is_number(found), NUMBER),
                EVENT_LENGTHS => (element.is_some_and(is_number), "lists of whole numbers"),
                SYMBOLS | CHILDREN => (element == Some(&DataType::Utf8), TEXTS),
                _ => (*found == DataType::Utf8, TEXT),
            };
            if !is_right {
                return Err(wrong_type(column, expected, found));
            }
        }
        let places = all.iter().filter_map(|column| schema.index_of(column).ok());
        Ok(places.collect())
    }

    /// Returns the columns of decoded rows.
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, ParquetError> {
        let optional = |column| batch.column_by_name(column);
        let needed = |column| optional(column).ok_or_else(|| missing(batch.schema_ref(), column));
        Ok(Self {
            name: text(NAME, needed(NAME)?)?,
            symbols: optional(SYMBOLS)
                .map(|array| list(SYMBOLS, array))
                .transpose()?,
            event_lengths: optional(EVENT_LENGTHS)
                .map(|array| list(EVENT_LENGTHS, array))
                .transpose()?,
            children: optional(CHILDREN)
                .map(|array| list(CHILDREN, array))
                .transpose()?,
            frequency: Numbers(needed(FREQUENCY)?),
            emotives: optional(EMOTIVES)
                .map(|array| text(EMOTIVES, array))
                .transpose()?,
            metadata: optional(METADATA)
                .map(|array| text(METADATA, array))
                .transpose()?,
        })
    }

    /// Returns a row as a record, after checking all that it states.
    pub(super) fn record(&self, row: usize) -> Result<PatternRecord, RowError> {
        if self.name.is_null(row) {
            return Err(RowError::Null { column: NAME });
        }
        let stated = name(NAME, self.name.value(row))?;
        let pattern = Pattern::new(self.events(row)?);
        if pattern.name() != stated {
            return Err(RowError::NameMismatch {
                stated,
                computed: pattern.name(),
            });
        }
        let found = self.frequency.get(row);
        let found = found.ok_or(RowError::Null { column: FREQUENCY })?;
        let frequency = match u64::try_from(found) {
            Ok(frequency) if frequency > 0 => frequency,
            _ => return Err(RowError::Frequency { found }),
        };
        let emotives: Option<Vec<EmotiveMap>> = json(EMOTIVES, self.emotives, row)?;
        let metadata: Option<Metadata> = json(METADATA, self.metadata, row)?;
        Ok(PatternRecord {
            pattern,
            frequency,
            emotives: emotives.unwrap_or_default(),
            metadata: metadata.unwrap_or_default(),
        })
    }

    /// Returns the events of a row.
    fn events(&self, row: usize) -> Result<Vec<Event>, RowError> {
        let symbols = self.symbols(row)?;
        let Some(lengths) = value(self.event_lengths, row) else {
            let single = |symbol| Event::in_given_order(vec![symbol]);
            return Ok(symbols.into_iter().map(single).collect());
        };
        let n_symbols = symbols.len();
        let wrong = || RowError::EventLengths { symbols: n_symbols };
        let numbers = Numbers(&lengths);
        let mut rest = symbols.into_iter();
        let mut events = Vec::with_capacity(lengths.len());
        for idx in 0..lengths.len() {
            let column = EVENT_LENGTHS;
            let length = numbers.get(idx).ok_or(RowError::Null { column })?;
            let length = usize::try_from(length).map_err(|_| wrong())?;
            if length > rest.len() {
                return Err(wrong());
            }
            events.push(Event::in_given_order(rest.by_ref().take(length).collect()));
        }
        match rest.next() {
            None => Ok(events),
            Some(_) => Err(wrong()),
        }
    }

    /// Returns the symbols of a row.
    fn symbols(&self, row: usize) -> Result<Vec<String>, RowError> {
        let mut children = Vec::new();
        let listed = value(self.children, row);
        for text in texts(CHILDREN, listed.as_ref())? {
            children.push(name(CHILDREN, text)?);
        }
        let Some(symbols) = value(self.symbols, row) else {
            return match listed {
                Some(_) => Ok(children
                    .iter()
                    .map(|name| name.prefixed().to_string())
                    .collect()),
                None => Err(RowError::NoSymbols),
            };
        };
        let symbols: Vec<String> = texts(SYMBOLS, Some(&symbols))?
            .into_iter()
            .map(str::to_owned)
            .collect();
        let named = symbols
            .iter()
            .filter_map(|symbol| PatternName::from_symbol(symbol));
        match listed.is_none() || named.eq(children) {
            true => Ok(symbols),
            false => Err(RowError::Children),
        }
    }
}

impl Numbers<'_> {
    /// Returns a number; `None` for null.
    fn get(&self, row: usize) -> Option<i128> {
        if self.0.is_null(row) {
            return None;
        }
        let array = self.0;
        let signed = array
            .as_primitive_opt::<Int64Type>()
            .map(|array| array.value(row).into())
            .or_else(|| Some(array.as_primitive_opt::<Int32Type>()?.value(row).into()));
        signed
            .or_else(|| Some(array.as_primitive_opt::<UInt64Type>()?.value(row).into()))
            .or_else(|| Some(array.as_primitive_opt::<UInt32Type>()?.value(row).into()))
    }
}

/// Returns whether numbers of this type are taken.
fn is_number(found: &DataType) -> bool {
    matches!(
        found,
        DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64
    )
}

/// Refuses a file without a column.
fn require(schema: &Schema, column: &'static str) -> Result<(), ParquetError> {
    match schema.index_of(column) {
        Ok(_) => Ok(()),
        Err(_) => Err(missing(schema, column)),
    }
}

fn missing(schema: &Schema, column: &'static str) -> ParquetError {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = names.take(MAX_LISTED).collect();
    ParquetError::MissingColumn {
        column,
        found: names.join(", "),
    }
}

fn wrong_type(column: &'static str, expected: &'static str, found: &DataType) -> ParquetError {
    ParquetError::ColumnType {
        column,
        expected,
        found: found.to_string(),
    }
}

/// Returns a column of texts.
fn text<'a>(column: &'static str, array: &'a ArrayRef) -> Result<&'a StringArray, ParquetError> {
    let texts = array.as_string_opt();
    texts.ok_or_else(|| wrong_type(column, TEXT, array.data_type()))
}

/// Returns a column of lists.
fn list<'a>(column: &'static str, array: &'a ArrayRef) -> Result<&'a ListArray, ParquetError> {
    let lists = array.as_list_opt();
    lists.ok_or_else(|| wrong_type(column, "lists", array.data_type()))
}

/// Returns the list of a row; `None` where there is none.
fn value(lists: Option<&ListArray>, row: usize) -> Option<ArrayRef> {
    let lists = lists.filter(|lists| lists.is_valid(row))?;
    Some(lists.value(row))
}

/// Returns the elements of a list of texts; none where there is no list.
fn texts<'a>(column: &'static str, list: Option<&'a ArrayRef>) -> Result<Vec<&'a str>, RowError> {
    let texts = list.and_then(|list| list.as_string_opt::<i32>());
    let values = texts.into_iter().flatten();
    values
        .map(|value| value.ok_or(RowError::Null { column }))
        .collect()
}

/// Reads a name.
fn name(column: &'static str, text: &str) -> Result<PatternName, RowError> {
    text.parse()
        .map_err(|source| RowError::NotAName { column, source })
}

/// Reads JSON; `None` where there is none.
fn json<T: DeserializeOwned>(
    column: &'static str,
    texts: Option<&StringArray>,
    row: usize,
) -> Result<Option<T>, RowError> {
    let Some(texts) = texts.filter(|texts| texts.is_valid(row)) else {
        return Ok(None);
    };
    serde_json::from_str(texts.value(row))
        .map(Some)
        .map_err(|source| RowError::Json { column, source })
}
