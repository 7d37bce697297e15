//! The view of what a source consists of, without reading its documents.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::HumanBytes;
use kato_loader::FileIdentity;
use kato_loader::registry::format_duration;
use serde::Serialize;

use super::network::Network;
use super::rate::Rate;
use crate::advice::told;
use crate::inspect::View;
use crate::inspect::layout::{cell, dim, one_line, table};
use crate::numbers::counted;
use crate::remote::{Fetcher, Listing};
use crate::source::{Place, Source, Sources};

/// Files that are listed for people; the JSON form lists all.
const MAX_FILES: usize = 20;
/// Characters of a validator that are shown to people.
const VALIDATOR_CHARS: usize = 12;
/// Digits of a Git commit, as in the names of the Hub's files.
const COMMIT_DIGITS: usize = 40;

/// The facts about sources that are known before they are read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DatasetInfo {
    /// The sources as they were recognised.
    pub(crate) sources: Vec<SourceInfo>,
    /// The files in the order in which they are listed.
    pub(crate) files: Vec<FileInfo>,
    /// Sum of their sizes; `None` when that of one is not known.
    pub(crate) bytes: Option<u64>,
    /// Rows; `None` when neither the files nor the registry have them.
    pub(crate) rows: Option<u64>,
    /// Whether the rows are those of the files, not of the registry.
    pub(crate) rows_are_counted: bool,
    /// Reason why the rows could not be counted, where they should have been.
    pub(crate) problem: Option<String>,
    /// Field that is read as text.
    pub(crate) text_field: String,
    /// Files beside them that are not read, each with the reason.
    pub(crate) ignored: Vec<String>,
    /// Hash of names, sizes and fingerprints of all files: equal for whoever reads the same.
    pub(crate) manifest: String,
    /// Time that learning all rows takes; `None` when the rows are not known.
    pub(crate) estimate: Option<Estimate>,
    /// Cost over the network; `None` where nothing is remote.
    pub(crate) network: Option<Network>,
}

/// A source as it was recognised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SourceInfo {
    /// Path or location, without secrets.
    pub(crate) source: String,
    /// Key of the registry, if it was named by one.
    pub(crate) key: Option<String>,
    /// Share in a mixture.
    pub(crate) weight: Option<f64>,
    /// Commit of the Hub that was found.
    pub(crate) revision: Option<String>,
    /// Configuration of the Hub's dataset.
    pub(crate) config: Option<String>,
    /// Split of the Hub's dataset.
    pub(crate) split: Option<String>,
    /// Remarks on how the files were chosen.
    pub(crate) notes: Vec<String>,
}

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FileInfo {
    /// Its name as it stands in documents' ids.
    pub(crate) name: String,
    /// Bytes, if known.
    pub(crate) bytes: Option<u64>,
    /// What tells its content from another: a hash of a local file, or of samples of a large one; the
    /// validator that the server gives for a remote one.
    pub(crate) validator: Option<String>,
}

/// A time, and the rate that it is computed with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// Seconds.
    pub(crate) seconds: f64,
    /// The rate.
    pub(crate) rate: Rate,
}

impl DatasetInfo {
    /// Lists the files of sources, and reads the footers of Parquet files; `rate` is asked for when
    /// the rows are known.
    ///
    /// # Errors
    ///
    /// When a source cannot be listed, and when there is no rate.
    pub(crate) fn of(sources: &Sources, rate: impl FnOnce() -> Result<Rate>) -> Result<Self> {
        let infos = sources.sources().iter();
        let infos = infos
            .map(|source| SourceInfo::of(source, sources.fetcher()))
            .collect::<Result<Vec<_>>>()?;
        let loader = sources.open(sources.builder())?;
        let (counted, problem) = match loader.count_rows() {
            Ok(rows) => (rows, None),
            // What is known is shown all the same: the problem may be no more than the name of a
            // field.
            Err(error) => (None, Some(told(&error.into()))),
        };
        // A count by the files is exact; the registry has what was known when it was written.
        let rows = counted.or_else(|| sources.rows_by_registry());
        let identity = loader.identity();
        Ok(Self {
            sources: infos,
            files: identity.files().into_iter().map(FileInfo::of).collect(),
            bytes: loader.total_bytes(),
            rows,
            rows_are_counted: counted.is_some(),
            problem,
            text_field: sources.text_field().to_owned(),
            ignored: loader
                .ignored_files()
                .into_iter()
                .map(|file| format!("{}: {}", file.path.display(), file.reason))
                .collect(),
            manifest: loader.state().manifest().to_owned(),
            estimate: rows.map(|rows| Estimate::of(rows, rate)).transpose()?,
            network: sources.fetcher().map(|fetcher| fetcher.figures().into()),
        })
    }
}

impl SourceInfo {
    /// Describes a source; one that is remote is listed for it.
    fn of(source: &Source, fetcher: Option<&Fetcher>) -> Result<Self> {
        let location = source.location();
        let name = match (&source.place, &location) {
            // A location may hold credentials, which no output shows.
            (_, Some(location)) => location.redacted(),
            (Place::Path(path), None) => path.display().to_string(),
            (Place::Dataset(entry), None) => entry.source.clone(),
            (Place::Location(location), None) => location.redacted(),
        };
        let listing = match (&location, fetcher) {
            (Some(location), Some(fetcher)) => fetcher
                .list(location)
                .with_context(|| format!("`{name}` cannot be listed"))?,
            _ => Listing::default(),
        };
        Ok(Self {
            source: name,
            key: source.entry().map(|entry| entry.key.clone()),
            weight: source.weight,
            revision: listing.revision,
            config: listing.config,
            split: listing.split,
            notes: listing.notes,
        })
    }

    /// Returns the lines about the source for people.
    fn in_lines(&self) -> String {
        let mut text = self.source.clone();
        if let Some(key) = &self.key {
            text += &format!(" ({key})");
        }
        let weight = self.weight.map(|weight| weight.to_string());
        let facts = [
            ("weight", &weight),
            ("configuration", &self.config),
            ("split", &self.split),
            ("revision", &self.revision),
        ];
        for (label, fact) in facts {
            if let Some(fact) = fact {
                let _ = write!(text, "\n  {label} {fact}");
            }
        }
        for note in &self.notes {
            let _ = write!(text, "\n  note: {note}");
        }
        text + "\n"
    }
}

impl FileInfo {
    /// Returns the description of a file.
    fn of(file: &FileIdentity) -> Self {
        Self {
            name: file.name.clone(),
            bytes: file.size,
            validator: file.fingerprint.clone(),
        }
    }

    /// Returns the cells of the file in the table.
    fn row(&self, width: usize) -> Vec<String> {
        let validator = self.validator.as_deref().map(short_validator);
        vec![
            one_line(&with_short_commit(&self.name), width),
            cell(self.bytes.map(HumanBytes)),
            cell(validator),
        ]
    }
}

impl Estimate {
    /// Computes how long learning this many rows takes.
    fn of(rows: u64, rate: impl FnOnce() -> Result<Rate>) -> Result<Self> {
        let rate = rate()?;
        Ok(Self {
            seconds: rows as f64 / rate.documents_per_second,
            rate,
        })
    }
}

impl View for DatasetInfo {
    fn text(&self, width: usize) -> String {
        let mut text: String = self.sources.iter().map(SourceInfo::in_lines).collect();
        text += &format!("text field {}\n", self.text_field);
        let bytes = self.bytes.map(|bytes| HumanBytes(bytes).to_string());
        let bytes = bytes.unwrap_or_else(|| "size unknown".to_owned());
        text += &match (self.rows, self.rows_are_counted) {
            (Some(rows), true) => format!("{}, {bytes}\n", counted(rows, "row")),
            (Some(rows), false) => {
                let rows = counted(rows, "row");
                format!("about {rows} by the registry, {bytes}\n")
            }
            (None, _) => format!("rows unknown without reading, {bytes}\n"),
        };
        if let Some(problem) = &self.problem {
            text += &format!("rows cannot be counted: {problem}\n");
        }
        if let Some(estimate) = &self.estimate {
            let time = Duration::try_from_secs_f64(estimate.seconds);
            // A rate close to zero gives a time that no `Duration` holds.
            let time = time.map_or_else(|_| "too long".to_owned(), format_duration);
            text += &format!(
                "learning them takes about {time} at {:.0} documents/s ({})\n",
                estimate.rate.documents_per_second, estimate.rate.source
            );
        }
        text += &format!("manifest {}\n\n", self.manifest);
        let files = self.files.iter().take(MAX_FILES);
        let rows: Vec<_> = files.map(|file| file.row(width)).collect();
        text += &table(&["file", "size", "validator"], &rows);
        text += &more(self.files.len().saturating_sub(MAX_FILES));
        if !self.ignored.is_empty() {
            text += &format!("\nnot read, {}:\n", counted(self.ignored.len(), "file"));
            for name in self.ignored.iter().take(MAX_FILES) {
                text += &format!("  {}\n", one_line(name, width.saturating_sub(2)));
            }
            text += &more(self.ignored.len().saturating_sub(MAX_FILES));
        }
        if let Some(network) = self.network {
            text += &format!("{}\n", dim(&network.in_words()));
        }
        text
    }
}

/// Returns a line that says how many more there are, or nothing for none.
fn more(number: usize) -> String {
    match number {
        0 => String::new(),
        number => format!("… and {}\n", counted(number, "more file")),
    }
}

/// Returns a validator in the length in which it is shown to people.
fn short_validator(validator: &str) -> String {
    // A weak validator differs from a strong one by its mark, and both stand in quotes in HTTP.
    let plain = validator.trim_start_matches("W/").trim_matches('"');
    // A date is not understood by its beginning.
    match plain.starts_with("modified:") {
        true => plain.to_owned(),
        false => plain.chars().take(VALIDATOR_CHARS).collect(),
    }
}

/// Returns `hf://a/b@0123…/c` with the first digits of the commit, and any other name unchanged.
fn with_short_commit(name: &str) -> String {
    let shortened = name.split_once('@').and_then(|(dataset, rest)| {
        let (commit, path) = rest.split_once('/')?;
        let is_commit =
            commit.len() == COMMIT_DIGITS && commit.bytes().all(|b| b.is_ascii_hexdigit());
        is_commit.then(|| format!("{dataset}@{}/{path}", &commit[..8]))
    });
    shortened.unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_shortened_and_nothing_else() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (name, expected) in [
            (
                format!("hf://a/b@{commit}/c.parquet"),
                "hf://a/b@01234567/c.parquet",
            ),
            (
                "https://me@example.org/a.txt".to_owned(),
                "https://me@example.org/a.txt",
            ),
            ("a@b/c.txt".to_owned(), "a@b/c.txt"),
        ] {
            assert_eq!(with_short_commit(&name), expected);
        }
        assert_eq!(short_validator("\"0123456789abcdef\""), "0123456789ab");
        assert_eq!(short_validator("W/\"abc\""), "abc");
        let date = "modified:Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(short_validator(date), date);
    }
}
