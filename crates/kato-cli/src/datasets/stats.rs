//! The view of a source's statistics: every row is read, or as many as asked for.

use std::time::Instant;

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount, HumanDuration};
use kato_estimator::repeats::{RepeatCounter, Repeats};
use kato_loader::{BadRecord, DEFAULT_BATCH_BYTES, RecordCounts, StreamingDatasetLoader};
use kato_scheduler::StopSignal;
use serde::Serialize;

use super::lengths::{LengthCounts, Lengths};
use super::network::Network;
use crate::inspect::View;
use crate::inspect::layout::one_line;
use crate::meter::{Meter, Pace};
use crate::numbers::counted;
use crate::remote::Fetcher;
use crate::source::Sources;

/// Bad records that are shown.
const MAX_BAD_RECORDS: usize = 10;
/// Columns of one of them.
const MAX_RECORD_COLUMNS: usize = 500;

/// The statistics of a source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DatasetStats {
    /// Rows by what became of them.
    #[serde(flatten)]
    pub(crate) counts: RecordCounts,
    /// Whether the source was read to its end.
    pub(crate) complete: bool,
    /// Bytes of the documents' text.
    pub(crate) text_bytes: u64,
    /// Characters of the documents' text.
    pub(crate) characters: u64,
    /// Lengths of the documents; `None` when there are none.
    pub(crate) lengths: Option<Lengths>,
    /// Repeats of documents, paragraphs and lines; `None` where they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<Repeats>,
    /// Bytes of the files that were read.
    pub(crate) bytes_read: u64,
    /// Wall-clock seconds.
    pub(crate) seconds: f64,
    /// Bytes of text a second.
    pub(crate) text_bytes_per_second: f64,
    /// Cost of reading over the network; `None` where nothing is remote.
    pub(crate) network: Option<Network>,
    /// The first of the records that could not be read.
    pub(crate) bad_records: Vec<BadRecord>,
}

impl DatasetStats {
    /// Reads a source to its end, to the limit that `sources` has, or until a stop is asked for.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, and when a record is bad and bad records are not to be skipped.
    pub(crate) fn read(
        sources: &Sources,
        with_repeats: bool,
        stop: &StopSignal,
        meter: &mut Meter,
    ) -> Result<Self> {
        let start = Instant::now();
        // Within the measured time: listing a remote source is part of reading it.
        let mut loader = sources.loader()?;
        let mut reading = Reading {
            repeats: with_repeats.then(RepeatCounter::default),
            ..Reading::default()
        };
        while !stop.is_stopped() && reading.next(&mut loader)? {
            let elapsed = start.elapsed();
            let (done, total) = match sources.max_rows() {
                // A limit on rows may end the reading long before the files do, so it is the better
                // measure of progress.
                Some(rows) => (loader.counts().records, Some(rows)),
                None => (loader.bytes_read(), loader.total_bytes()),
            };
            let facts = || facts(&loader, sources, Pace { done, elapsed }, total);
            meter.update(done, total, facts);
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self {
            counts: loader.counts(),
            complete: loader.is_exhausted(),
            text_bytes: reading.text_bytes,
            characters: reading.characters,
            lengths: reading.lengths.lengths(),
            repeats: reading.repeats.map(|counter| counter.repeats()),
            bytes_read: loader.bytes_read(),
            seconds,
            // A small source may take no time that the clock can measure.
            text_bytes_per_second: reading.text_bytes as f64 / seconds.max(1e-9),
            network: sources.fetcher().map(|fetcher| fetcher.figures().into()),
            bad_records: reading.bad_records,
        })
    }
}

/// The figures of what was read so far.
#[derive(Default)]
struct Reading {
    text_bytes: u64,
    characters: u64,
    lengths: LengthCounts,
    repeats: Option<RepeatCounter>,
    bad_records: Vec<BadRecord>,
}

impl Reading {
    /// Reads a batch of documents; returns false at the end.
    fn next(&mut self, loader: &mut StreamingDatasetLoader) -> Result<bool> {
        let batch = loader.next_batch(DEFAULT_BATCH_BYTES)?;
        // Never below 0, as no more than the room is added.
        let room = MAX_BAD_RECORDS - self.bad_records.len();
        // Taken after every batch, and most of them dropped, because the loader ends when its list
        // is full.
        let bad_records = loader.take_bad_records().into_iter();
        self.bad_records.extend(bad_records.take(room));
        let Some(batch) = batch else {
            return Ok(false);
        };
        for document in batch.iter() {
            let characters = document.text.chars().count() as u64;
            self.characters += characters;
            self.lengths.add(characters);
            if let Some(repeats) = &mut self.repeats {
                repeats.add(document.text);
            }
        }
        self.text_bytes += batch.text_bytes() as u64;
        Ok(true)
    }
}

/// Returns what is worth knowing on the way, the most important first.
fn facts(
    loader: &StreamingDatasetLoader,
    sources: &Sources,
    pace: Pace,
    total: Option<u64>,
) -> Vec<String> {
    let left = total.and_then(|total| pace.time_for(total.saturating_sub(pace.done)));
    let mut facts: Vec<String> = left
        .map(|left| format!("{} left", HumanDuration(left)))
        .into_iter()
        .collect();
    let counts = loader.counts();
    facts.push(counted(counts.records, "row"));
    let bytes = Pace {
        done: loader.bytes_read(),
        ..pace
    };
    let read = HumanBytes(bytes.done);
    facts.push(match bytes.megabytes() {
        Some(speed) => format!("{read} read at {speed}"),
        None => format!("{read} read"),
    });
    facts.push(counted(counts.documents, "document"));
    if counts.bad > 0 {
        facts.push(format!("{} bad", HumanCount(counts.bad)));
    }
    let figures = sources.fetcher().map(Fetcher::figures);
    facts.extend(figures.map(|figures| counted(figures.requests, "request")));
    facts
}

/// Returns the lines about repeats for people: a table, and what repeats the most.
fn repeats_in_lines(repeats: &Repeats, width: usize) -> String {
    let kinds = [
        ("documents", &repeats.documents),
        ("paragraphs", &repeats.paragraphs),
        ("lines", &repeats.lines),
    ];
    let mut text = format!(
        "{:<12}{:>14}{:>14}  repeated text\n",
        "", "all", "different"
    );
    for (kind, units) in kinds {
        // `HumanCount` takes no width.
        let [all, distinct] = [units.units, units.distinct].map(|n| HumanCount(n).to_string());
        let about = if units.is_exact { "" } else { ", about" };
        text += &format!(
            "{kind:<12}{all:>14}{distinct:>14}  {:.1} %{about}, {} of {}\n",
            100.0 * units.share(),
            HumanBytes(units.repeated_bytes),
            HumanBytes(units.bytes),
        );
    }
    for (kind, units) in kinds {
        if !units.most.is_empty() {
            let of = match units.is_exact {
                true => "",
                false => ", of a share of them",
            };
            text += &format!("{kind} that take the most text by repeating{of}:\n");
        }
        for unit in &units.most {
            let times = HumanCount(unit.times);
            let line = format!("  {times} times {}  {}", HumanBytes(unit.bytes), unit.text);
            text += &format!("{}\n", one_line(&line, width));
        }
    }
    text
}

impl View for DatasetStats {
    fn text(&self, width: usize) -> String {
        let counts = &self.counts;
        let mut text = format!(
            "{}, {}",
            counted(counts.records, "row"),
            counted(counts.documents, "document")
        );
        let left_out = [
            (counts.passed_over, "passed over"),
            (counts.not_sampled, "not in the sample"),
            (counts.blank, "blank"),
            (counts.short, "too short"),
            (counts.filtered, "filtered"),
            (counts.bad, "bad"),
        ];
        for (count, what) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            text += &format!(", {} {what}", HumanCount(count));
        }
        text += if self.complete {
            "; that is all\n"
        } else {
            "; there are more\n"
        };
        text += &format!(
            "{} of text, {}\n",
            HumanBytes(self.text_bytes),
            counted(self.characters, "character")
        );
        if let Some(lengths) = &self.lengths {
            text += &lengths.in_lines(counts.documents, width);
        }
        if let Some(repeats) = &self.repeats {
            text += &repeats_in_lines(repeats, width);
        }
        text += &format!(
            "{} of files read in {:.1} s: {:.1} MB of text/s\n",
            HumanBytes(self.bytes_read),
            self.seconds,
            self.text_bytes_per_second / 1e6
        );
        if let Some(network) = self.network {
            text += &format!("{}\n", network.in_words());
        }
        if !self.bad_records.is_empty() {
            text += "the first bad records:\n";
        }
        for record in &self.bad_records {
            text += &format!("  {}\n", one_line(&record.to_string(), MAX_RECORD_COLUMNS));
        }
        text
    }
}
