//! Writes patterns as rows.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use kato_model::{EmotiveMap, PatternName, Symbol};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;

use super::ParquetError;
use super::schema::{self, FIRST_DOCUMENT, FIRST_TOKEN, FREQUENCY};
use crate::StoredPattern;
use crate::contract::Scan;
use crate::exchange::Check;

/// Rows that are passed to the writer at once, at most.
const BATCH_ROWS: usize = 4096;
/// Bytes of text that are passed to the writer at once, about.
const BATCH_BYTES: usize = 4 << 20;

/// Writes patterns in the order of the scan and returns their number.
pub(crate) fn export(
    patterns: Scan<'_, StoredPattern>,
    out: impl Write + Send,
) -> Result<u64, ParquetError> {
    let mut file = PatternFile::create(out).map_err(|source| ParquetError::Write {
        patterns_written: 0,
        source,
    })?;
    let mut check = Check::default();
    let mut patterns_written = 0;
    for pattern in patterns {
        let pattern = pattern?;
        check.check(&pattern)?;
        file.rows.push(&pattern)?;
        patterns_written += 1;
        if file.rows.is_full() {
            file.write().map_err(|source| ParquetError::Write {
                patterns_written,
                source,
            })?;
        }
    }
    file.finish().map_err(|source| ParquetError::Write {
        patterns_written,
        source,
    })?;
    Ok(patterns_written)
}

/// A file that is being written.
struct PatternFile<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    rows: Rows,
}

/// An error of the writer or of the disk below it.
type Cause = Box<dyn StdError + Send + Sync>;

impl<W: Write + Send> PatternFile<W> {
    /// Begins a file.
    fn create(out: W) -> Result<Self, Cause> {
        let schema = schema::schema();
        // Arrow's own form of the schema says nothing that Parquet's does not.
        let options = ArrowWriterOptions::new()
            .with_properties(schema::properties()?)
            .with_skip_arrow_metadata(true);
        Ok(Self {
            writer: ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)?,
            schema,
            rows: Rows::default(),
        })
    }

    /// Passes the rows to the writer.
    fn write(&mut self) -> Result<(), Cause> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), self.rows.take())?;
        Ok(self.writer.write(&batch)?)
    }

    /// Writes what is left, and the footer.
    fn finish(mut self) -> Result<(), Cause> {
        self.write()?;
        Ok(self.writer.into_inner()?.flush()?)
    }
}

/// Rows that the writer has not got yet.
struct Rows {
    name: StringBuilder,
    symbols: ListBuilder<StringBuilder>,
    event_lengths: ListBuilder<Int32Builder>,
    children: ListBuilder<StringBuilder>,
    frequency: Int64Builder,
    first_document: Int64Builder,
    first_token: Int64Builder,
    emotives: StringBuilder,
    metadata: StringBuilder,
    rows: usize,
}

impl Default for Rows {
    fn default() -> Self {
        let texts =
            || ListBuilder::new(StringBuilder::new()).with_field(schema::element(DataType::Utf8));
        Self {
            name: StringBuilder::new(),
            symbols: texts(),
            event_lengths: ListBuilder::new(Int32Builder::new())
                .with_field(schema::element(DataType::Int32)),
            children: texts(),
            frequency: Int64Builder::new(),
            first_document: Int64Builder::new(),
            first_token: Int64Builder::new(),
            emotives: StringBuilder::new(),
            metadata: StringBuilder::new(),
            rows: 0,
        }
    }
}

impl Rows {
    /// Appends a pattern, which has been checked.
    fn push(&mut self, pattern: &StoredPattern) -> Result<(), ParquetError> {
        let name = pattern.name;
        let number = |column, value: u64| {
            i64::try_from(value).map_err(|_| ParquetError::TooLarge {
                name,
                column,
                value,
            })
        };
        // All that can be refused first, so that no column gets ahead of another.
        let frequency = number(FREQUENCY, pattern.frequency)?;
        let first = match pattern.first_seen {
            Some(first) => Some((
                number(FIRST_DOCUMENT, first.document_idx)?,
                number(FIRST_TOKEN, first.token_idx)?,
            )),
            None => None,
        };
        push_name(&mut self.name, &name);
        self.push_symbols(&pattern.symbols);
        match &pattern.event_lengths {
            Some(lengths) => {
                for &length in lengths {
                    let length = i32::try_from(length)
                        .expect("a batch holds fewer symbols than this, and lies in memory");
                    self.event_lengths.values().append_value(length);
                }
                self.event_lengths.append(true);
            }
            None => self.event_lengths.append(false),
        }
        self.frequency.append_value(frequency);
        self.first_document
            .append_option(first.map(|first| first.0));
        self.first_token.append_option(first.map(|first| first.1));
        let entries = pattern.emotives.entries();
        let emotives = (!entries.is_empty()).then(|| {
            let maps: Vec<&EmotiveMap> = entries.iter().map(|entry| &entry.emotives).collect();
            json(&maps)
        });
        self.emotives.append_option(emotives);
        let metadata = (!pattern.metadata.is_empty()).then(|| json(&pattern.metadata));
        self.metadata.append_option(metadata);
        self.rows += 1;
        Ok(())
    }

    /// Appends symbols, and the children among them.
    fn push_symbols(&mut self, symbols: &[Symbol]) {
        let is_name = |symbol: &Symbol| matches!(symbol, Symbol::Name(_));
        // Names that stand alone are not written twice.
        let has_symbols = symbols.is_empty() || !symbols.iter().all(is_name);
        let has_children = symbols.iter().any(is_name);
        for symbol in symbols {
            match symbol {
                Symbol::Text(text) => self.symbols.values().append_value(text),
                Symbol::Name(name) => {
                    push_name(self.children.values(), name);
                    if has_symbols {
                        push_text(self.symbols.values(), format_args!("{}", name.prefixed()));
                    }
                }
            }
        }
        self.symbols.append(has_symbols);
        self.children.append(has_children);
    }

    /// Returns whether the writer should get the rows.
    fn is_full(&self) -> bool {
        let lists = [self.symbols.values_ref(), self.children.values_ref()];
        let texts = lists.into_iter().chain([&self.emotives, &self.metadata]);
        let bytes: usize = texts.map(|texts| texts.values_slice().len()).sum();
        self.rows >= BATCH_ROWS || bytes >= BATCH_BYTES
    }

    /// Takes the columns, in the order of the schema; no rows are left.
    fn take(&mut self) -> Vec<ArrayRef> {
        self.rows = 0;
        vec![
            Arc::new(self.name.finish()),
            Arc::new(self.symbols.finish()),
            Arc::new(self.event_lengths.finish()),
            Arc::new(self.children.finish()),
            Arc::new(self.frequency.finish()),
            Arc::new(self.first_document.finish()),
            Arc::new(self.first_token.finish()),
            Arc::new(self.emotives.finish()),
            Arc::new(self.metadata.finish()),
        ]
    }
}

/// Appends the digits of a name.
fn push_name(texts: &mut StringBuilder, name: &PatternName) {
    push_text(texts, format_args!("{name}"));
}

/// Appends formatted text as a value.
fn push_text(texts: &mut StringBuilder, text: std::fmt::Arguments<'_>) {
    texts.write_fmt(text).expect("memory takes all text");
    // Ends the value that was written.
    texts.append_value("");
}

/// Returns the JSON of emotives or metadata.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("maps with text keys and finite numbers are JSON")
}
