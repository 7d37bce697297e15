//! Keeping occurrences: the corpus of a run is read once more, from where those that are there end.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::{HumanBytes, HumanCount};
use kato_learner::{TailPolicy, TextDocument};
use kato_loader::Cursor;
use kato_occurrences::{Documents, Position, Writer};
use kato_prediction::Cancel;
use kato_report::figures;
use kato_runs::manifest::CorpusDigest;
use kato_store::{EmbeddedStore, PatternStore};
use serde::Serialize;

use crate::exit::bail_as;
use crate::numbers::counted;
use crate::patience::Spinner;
use crate::trained_run::TrainedRun;

/// What came of keeping occurrences.
#[derive(Debug, Serialize)]
pub(crate) struct Kept {
    documents: u64,
    tokens: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    was_there: bool,
    missing_lessons: u64,
}

impl Kept {
    /// Describes it.
    pub(crate) fn text(&self) -> String {
        let of = format!(
            "{} of {}",
            counted(self.tokens, "token"),
            counted(self.documents, "document")
        );
        let bytes = HumanBytes(self.bytes);
        let mut text = match self.was_there {
            true => format!("kept already: {of}, in {bytes}\n"),
            false => {
                let took = figures::seconds(self.seconds);
                format!("kept {of} in {took}, {bytes}\n")
            }
        };
        if self.missing_lessons > 0 {
            let lessons = counted(self.missing_lessons, "learn call");
            text += &format!("forgotten of them since: {lessons}\n");
        }
        text
    }
}

/// Keeps the occurrences of a run, from where those that are there end; `inputs` say where its corpus is now,
/// empty where it has not been moved. `tell` is told how far it is.
///
/// # Errors
///
/// When the corpus cannot be read again or is another one, and when they cannot be written. Units that are
/// whole stay, and the next call goes on behind them; those of another corpus go.
pub(crate) fn keep(
    run: &TrainedRun,
    inputs: &[PathBuf],
    cancel: &Cancel,
    tell: impl Fn(String),
) -> Result<Kept> {
    let start = Instant::now();
    let mut writer = Writer::new(run.store().dir(), described(run)?)?;
    let was_there = writer.is_complete();
    if was_there && !inputs.is_empty() {
        // Nothing of it is needed, and it may still be another corpus than who names it believes.
        run.learned(inputs, None)?;
    }
    let read_to = match was_there {
        true => None,
        false => Some(read_on(run, inputs, &mut writer, cancel, &tell)?),
    };
    let (found, learned) = (writer.documents(), run.checkpoint().counters.documents);
    if found != learned {
        // What is there is of other documents, whatever it says.
        writer.discard()?;
        bail_as!(
            Conflict,
            "the corpus gives {} now, and {} were learned: give its files as they were to `kato index --occurrences`",
            counted(found, "document"),
            HumanCount(learned)
        );
    }
    tell("sorting the places of the documents".to_owned());
    let written = writer.finish(writer_end(run, read_to.as_ref()))?;
    Ok(Kept {
        documents: written.documents,
        tokens: written.tokens,
        bytes: written.bytes,
        seconds: start.elapsed().as_secs_f64(),
        was_there,
        missing_lessons: missing_lessons(run.store(), &written.calls)?,
    })
}

/// Reads the corpus from the position of a writer to where the training stands, and returns where that is.
fn read_on(
    run: &TrainedRun,
    inputs: &[PathBuf],
    writer: &mut Writer,
    cancel: &Cancel,
    tell: impl Fn(String),
) -> Result<Cursor> {
    let end = run.checkpoint().cursor.documents();
    let position = writer.position();
    let from = match position.documents {
        0 => None,
        _ => Some(serde_json::from_value::<Cursor>(position.cursor.clone()))
            .transpose()
            .context("read where the occurrences end")?,
    };
    let mut loader = run.learned(inputs, from)?;
    let mut scratch = run.learner().new_scratch();
    let mut before = loader.cursor();
    while let Some(document) = loader.next() {
        let document = document?;
        let id = document.id.to_string();
        // What the learner refuses now it has refused then.
        if let Ok(plan) = run
            .learner()
            .plan(&TextDocument::from(&*document.text), &mut scratch)
        {
            let at = || Position::new(before.documents(), json_of(&before));
            writer.push(document.index, &id, plan, at)?;
        }
        before = loader.cursor();
        cancel.check()?;
        if document.index % 1024 == 0 {
            let (at, of) = (HumanCount(document.index), HumanCount(end));
            tell(format!("keeping the places of document {at} of {of}"));
        }
    }
    Ok(before)
}

/// Keeps the occurrences of a knowledge base, with a spinner on a terminal meanwhile.
///
/// # Errors
///
/// As [`keep`]; none where it was cancelled.
pub(crate) fn keep_patiently(kb: &Path, cancel: &Cancel) -> Result<Option<Kept>> {
    let run = TrainedRun::of(EmbeddedStore::open_read_only(kb)?)?;
    let spinner = Spinner::new(String::new());
    let kept = keep(&run, &[], cancel, |line| spinner.say(line));
    drop(spinner);
    match kept {
        Err(_) if cancel.check().is_err() => Ok(None),
        kept => kept.map(Some),
    }
}

/// Returns the position behind the last document of a run.
fn writer_end(run: &TrainedRun, cursor: Option<&Cursor>) -> Position {
    let end = &run.checkpoint().cursor;
    Position::new(end.documents(), json_of(cursor.unwrap_or(end)))
}

fn json_of(cursor: &Cursor) -> serde_json::Value {
    serde_json::to_value(cursor).expect("a position is plain data")
}

/// Describes the documents of a run.
fn described(run: &TrainedRun) -> Result<Documents> {
    let config = run.learner().config();
    if config.nodes.iter().skip(1).any(|node| node.chunk_size == 1) {
        bail_as!(
            Usage,
            "with --levels of 1 above the lowest no place tells a pattern from the one below it: such a knowledge base \
             keeps no occurrences"
        );
    }
    // What the learner refuses, it refuses again; these it would not.
    let failures = run.checkpoint().counters.failures;
    let left_out = failures.refused + failures.worker_died;
    if left_out > 0 {
        bail_as!(
            Conflict,
            "the training skipped {} (--skip-errors), which occurrences would hold: take what it skipped out of the corpus \
             and train anew to keep occurrences",
            counted(left_out, "document")
        );
    }
    let checkpoint = run.checkpoint();
    let end = checkpoint.cursor.documents();
    // Before more was added behind it, the corpus had fewer files.
    let earlier = CorpusDigest::all_extended_by(&checkpoint.corpus);
    let counters = &checkpoint.counters;
    Ok(Documents::new(source(run), config.nodes.len(), end)
        .with_earlier(earlier.into_iter().map(|corpus| corpus.digest).collect())
        .with_places(counters.tokens.saturating_add(counters.documents))
        .with_promotes(config.tail_policy == TailPolicy::Promote))
}

/// Returns what the occurrences of a run are known by. Its rules never change.
pub(super) fn source(run: &TrainedRun) -> String {
    CorpusDigest::from_identity(&run.checkpoint().corpus).digest
}

/// Returns how many learn calls of documents a store does not hold.
fn missing_lessons(store: &EmbeddedStore, calls: &[u64]) -> Result<u64> {
    let mut missing = 0;
    for (node_idx, calls) in calls.iter().enumerate() {
        missing += calls.saturating_sub(store.totals(node_idx)?.learns);
    }
    Ok(missing)
}
