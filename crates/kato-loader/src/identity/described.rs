//! The options of a corpus as texts, by which identities are compared and hashed.

use crate::options::{Compression, CorpusOptions, Format, Quoting, TextUnit};
use crate::order::Order;

impl CorpusOptions {
    /// Returns every option with its name, as text; empty where it is not set.
    ///
    /// Stored states hold a hash of these texts: adding, moving or rewording one makes all of them
    /// foreign. So none is made of the name of a variant or field, which may be renamed.
    pub(super) fn described(&self) -> Vec<(&'static str, String)> {
        let chosen = |choice: Option<&str>| choice.unwrap_or("by extension").to_owned();
        let mut described = vec![
            ("format", chosen(self.format.map(format_text))),
            (
                "compression",
                chosen(self.compression.map(compression_text)),
            ),
            ("text unit", unit_text(self.text_unit).to_owned()),
            ("text field", self.text_field.clone()),
            ("id field", self.id_field.clone().unwrap_or_default()),
            ("minimum characters", self.min_chars.to_string()),
            ("record limit in bytes", self.max_record_bytes.to_string()),
            ("order", in_words(self.order)),
            (
                "shard",
                self.shard.map_or_else(String::new, |shard| {
                    format!("{} of {}", shard.index(), shard.count())
                }),
            ),
            (
                "sample",
                self.sample
                    .map_or_else(String::new, |sample| sample.stored_text()),
            ),
            ("filter", self.filter.clone().unwrap_or_default()),
            (
                "records passed over",
                match self.skip_records {
                    0 => String::new(),
                    records => records.to_string(),
                },
            ),
        ];
        // Younger than the first states, which would be foreign if it always stood here.
        if let Some(quoting) = self.quoting {
            described.push(("quoting", quoting_text(quoting).to_owned()));
        }
        described
    }
}

/// Returns the text of a quoting.
fn quoting_text(quoting: Quoting) -> &'static str {
    match quoting {
        Quoting::Double => "Double",
        Quoting::None => "None",
    }
}

/// Returns the text of a format.
fn format_text(format: Format) -> &'static str {
    match format {
        Format::Text => "Text",
        Format::JsonLines => "JsonLines",
        Format::Csv => "Csv",
        Format::Tsv => "Tsv",
        Format::Parquet => "Parquet",
    }
}

/// Returns the text of a compression.
fn compression_text(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "None",
        Compression::Gzip => "Gzip",
        Compression::Zstd => "Zstd",
        Compression::Bzip2 => "Bzip2",
        Compression::Xz => "Xz",
    }
}

/// Returns the text of a unit.
fn unit_text(unit: TextUnit) -> &'static str {
    match unit {
        TextUnit::File => "File",
        TextUnit::Line => "Line",
        TextUnit::Paragraphs => "Paragraphs",
    }
}

/// Returns an order in words; empty for the sequential one.
fn in_words(order: Order) -> String {
    match order {
        Order::Sequential => String::new(),
        Order::Shuffled {
            seed,
            epoch,
            window_bytes,
        } => format!("shuffled, seed {seed}, epoch {epoch}, windows of {window_bytes} bytes"),
    }
}
