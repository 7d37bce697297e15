//! Arguments with a form of their own: units, policies, shards and samples.

use std::str::FromStr;

use clap::ValueEnum;
use kato_loader::options::{Compression, Quoting};
use kato_loader::{Format, OnBadRecord, Sample, Shard, TextUnit, WhenExhausted};

/// What is one document in a plain text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unit {
    /// The whole file.
    File,
    /// Every line that is not blank.
    Line,
    /// Every run of lines between blank lines.
    Paragraphs,
}

impl From<Unit> for TextUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::File => Self::File,
            Unit::Line => Self::Line,
            Unit::Paragraphs => Self::Paragraphs,
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatOf {
    /// Plain text, in UTF-8, or in UTF-16 with its mark.
    Text,
    /// An object of JSON a line.
    Jsonl,
    /// Comma-separated values under a header.
    Csv,
    /// Tab-separated values under a header.
    Tsv,
    /// Apache Parquet.
    Parquet,
}

impl From<FormatOf> for Format {
    fn from(format: FormatOf) -> Self {
        match format {
            FormatOf::Text => Self::Text,
            FormatOf::Jsonl => Self::JsonLines,
            FormatOf::Csv => Self::Csv,
            FormatOf::Tsv => Self::Tsv,
            FormatOf::Parquet => Self::Parquet,
        }
    }
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionOf {
    /// It is not.
    None,
    /// By gzip.
    Gzip,
    /// By Zstandard.
    Zstd,
    /// By bzip2.
    Bzip2,
    /// By xz.
    Xz,
}

impl From<CompressionOf> for Compression {
    fn from(compression: CompressionOf) -> Self {
        match compression {
            CompressionOf::None => Self::None,
            CompressionOf::Gzip => Self::Gzip,
            CompressionOf::Zstd => Self::Zstd,
            CompressionOf::Bzip2 => Self::Bzip2,
            CompressionOf::Xz => Self::Xz,
        }
    }
}

/// Whether fields of a table may be quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotingOf {
    /// A field that begins with a quote ends with the next one; a doubled quote stands for one.
    Double,
    /// A quote is a character like any other.
    None,
}

impl From<QuotingOf> for Quoting {
    fn from(quoting: QuotingOf) -> Self {
        match quoting {
            QuotingOf::Double => Self::Double,
            QuotingOf::None => Self::None,
        }
    }
}

/// What happens to a record that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnBad {
    /// Reading ends with an error that names it.
    Fail,
    /// Reading goes on behind it.
    Skip,
    /// Reading goes on with the next file; in random order with the next block.
    SkipFile,
}

impl From<OnBad> for OnBadRecord {
    fn from(policy: OnBad) -> Self {
        match policy {
            OnBad::Fail => Self::Fail,
            OnBad::Skip => Self::Skip,
            OnBad::SkipFile => Self::SkipFile,
        }
    }
}

/// What a mixture does when one of its sources ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exhausted {
    /// The others go on: every record comes once.
    Continue,
    /// It ends: the proportions hold to its end.
    Stop,
}

impl From<Exhausted> for WhenExhausted {
    fn from(policy: Exhausted) -> Self {
        match policy {
            Exhausted::Continue => Self::Continue,
            Exhausted::Stop => Self::Stop,
        }
    }
}

/// A shard as it is written, `I/N`: part I, from 0, of N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardOf(pub Shard);

/// The error of a text that is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: write I/N with I from 0 to N-1, such as 0/4")]
pub(crate) struct ParseShardError(String);

impl FromStr for ShardOf {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('/').and_then(|(index, count)| {
            let (index, count) = (index.parse::<u64>().ok()?, count.parse::<u64>().ok()?);
            (index < count).then_some((index, count))
        });
        let (index, count) = numbers.ok_or_else(|| ParseShardError(text.to_owned()))?;
        Ok(Self(Shard::new(index, count)))
    }
}

/// A sample as it is written, `SHARE` or `SHARE:SEED`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleOf(pub Sample);

/// The error of a text that is no sample.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no sample: write a share above 0 and up to 1, such as 0.01, or with a seed 0.01:7"
)]
pub(crate) struct ParseSampleError(String);

impl FromStr for SampleOf {
    type Err = ParseSampleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (share, seed) = text.split_once(':').unwrap_or((text, "0"));
        let share = share.parse::<f64>().ok();
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
        let (share, seed) = share
            .zip(seed.parse().ok())
            .ok_or_else(|| ParseSampleError(text.to_owned()))?;
        Ok(Self(Sample::new(share, seed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_and_samples_parse() {
        assert_eq!("1/4".parse(), Ok(ShardOf(Shard::new(1, 4))));
        assert_eq!("0.5".parse(), Ok(SampleOf(Sample::new(0.5, 0))));
        assert_eq!("1:7".parse(), Ok(SampleOf(Sample::new(1.0, 7))));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "1", "4/4", "-1/4", "0/0", "a/b", "1/2/3"] {
            let error = text.parse::<ShardOf>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is no shard")),
                "{error}"
            );
        }
        for text in ["", "0", "1.1", "NaN", "0.5:", "0.5:x", "-0.1"] {
            let error = text.parse::<SampleOf>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is no sample")),
                "{error}"
            );
        }
    }
}
