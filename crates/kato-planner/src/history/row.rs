//! A run as rows of the tables, and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Row, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::history::HistoryError;
use crate::history::record::{HistoryRun, NewRun};

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str =
    "run_id, recorded_ms, settings, corpus, machine, estimate, outcome, notes";

/// Writes a run under an id.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    run_id: &str,
    recorded_ms: i64,
    run: &NewRun,
) -> Result<(), HistoryError> {
    let failed = HistoryError::sqlite("write");
    let outcome = &run.outcome;
    let estimate = run.estimate.filter(|estimate| !estimate.is_empty());
    transaction
        .execute(
            "INSERT INTO runs (run_id, recorded_ms, chunk_sizes, batch_size, workers, settings, corpus_name, corpus, machine, \
             estimate, complete, seconds, samples, tokens, disk_bytes, memory_bytes, outcome, notes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                run_id,
                recorded_ms,
                json(&run.settings.chunk_sizes),
                run.settings.batch_size.map(signed),
                run.settings.workers.map(signed),
                json(&run.settings),
                run.corpus.name,
                json(&run.corpus),
                json(&run.machine),
                estimate.as_ref().map(json),
                outcome.complete,
                outcome.seconds,
                signed(outcome.samples),
                outcome.tokens.map(signed),
                outcome.disk_bytes.map(signed),
                outcome.memory_bytes.map(signed),
                json(outcome),
                run.notes,
            ],
        )
        .map_err(&failed)?;
    for (level, outcome) in (0_i64..).zip(&outcome.levels) {
        transaction
            .execute(
                "INSERT INTO levels (run_id, level, node, learns, patterns, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    run_id,
                    level,
                    outcome.node,
                    signed(outcome.learns),
                    outcome.patterns.map(signed),
                    outcome.bytes.map(signed),
                ],
            )
            .map_err(&failed)?;
    }
    Ok(())
}

/// The texts of a row, before they are understood.
pub(crate) struct RawRun {
    run_id: String,
    recorded_ms: i64,
    settings: String,
    corpus: String,
    machine: String,
    estimate: Option<String>,
    outcome: String,
    notes: String,
}

/// Reads the columns of [`COLUMNS`].
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<RawRun> {
    Ok(RawRun {
        run_id: row.get(0)?,
        recorded_ms: row.get(1)?,
        settings: row.get(2)?,
        corpus: row.get(3)?,
        machine: row.get(4)?,
        estimate: row.get(5)?,
        outcome: row.get(6)?,
        notes: row.get(7)?,
    })
}

impl RawRun {
    /// Understands the texts.
    pub(crate) fn into_record(self) -> Result<HistoryRun, HistoryError> {
        let run = self.run_id.as_str();
        let estimate = self.estimate.as_deref();
        Ok(HistoryRun {
            recorded: rfc3339(self.recorded_ms),
            settings: parsed(run, &self.settings)?,
            corpus: parsed(run, &self.corpus)?,
            machine: parsed(run, &self.machine)?,
            estimate: estimate.map(|text| parsed(run, text)).transpose()?,
            outcome: parsed(run, &self.outcome)?,
            notes: self.notes,
            run_id: self.run_id,
        })
    }
}

/// Returns a time in milliseconds since 1970; times before are that of 1970.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a time as text: `2026-11-24T06:31:23.250Z`.
fn rfc3339(ms: i64) -> String {
    // What no calendar holds is shown as 1970 rather than not at all.
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    let latest = Duration::from_secs(253_402_300_799);
    let time = UNIX_EPOCH.checked_add(since.min(latest));
    humantime::format_rfc3339_millis(time.unwrap_or(UNIX_EPOCH)).to_string()
}

/// Returns a number as SQLite keeps it, whose integers have a sign.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .expect("maps have keys of text or numbers, so there is a JSON form")
}

/// Understands a text that this file keeps of a run.
pub(crate) fn parsed<T: DeserializeOwned>(run: &str, text: &str) -> Result<T, HistoryError> {
    serde_json::from_str(text).map_err(|error| HistoryError::Damaged {
        run: run.to_owned(),
        reason: error.to_string(),
    })
}
