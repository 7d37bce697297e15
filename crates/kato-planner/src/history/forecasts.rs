//! Forecasts of runs to come: kept until the run is trained, and corrected by the errors of those
//! before them.

use std::time::SystemTime;

use rusqlite::params;

use crate::history::accuracy::foretold_and_taken;
use crate::history::record::{HistoryRun, Machine, RecordedCorpus, RunSettings};
use crate::history::row::{self, parsed};
use crate::history::{HistoryError, RunFilter, TrainingHistory};
use crate::{Correction, Forecast, ForecastValue, Forecaster};

/// Share by which the bytes of a corpus may differ from those of a forecast that is made for it:
/// some sizes are inferred from a part.
const SAME_SIZE: f64 = 0.05;
/// How many times as wide as each other, in logarithms, intervals of bytes may be for the errors of one
/// forecast to tell of the other: what was counted errs in another way than what was inferred from a little.
const ALIKE: f64 = 3.0;

/// A forecast of a run to come.
#[derive(Debug, Clone, PartialEq)]
pub struct NewForecast {
    /// How it will be trained.
    pub settings: RunSettings,
    /// What it will be trained from; its bytes are those that will be read.
    pub corpus: RecordedCorpus,
    /// Where it will be trained.
    pub machine: Machine,
    /// What is foretold.
    pub forecast: Forecast,
}

/// What the errors of one kind of forecasts teach of the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Corrections {
    /// Of the seconds; `None` where no run tells.
    pub seconds: Option<Correction>,
    /// Of the bytes on the disk.
    pub disk_bytes: Option<Correction>,
    /// Of the peak bytes of memory.
    pub memory_bytes: Option<Correction>,
}

impl Corrections {
    /// Learns from runs in the order of time, oldest first, for a forecast, or for any where none is
    /// given. A run that did not come to its end, or was foretold in another way, teaches nothing, and
    /// nothing of bytes one whose interval of these was far wider or narrower.
    #[must_use]
    pub fn from_runs<'a>(
        runs: impl IntoIterator<Item = &'a HistoryRun>,
        made_by: Forecaster,
        next: Option<&Forecast>,
    ) -> Self {
        let runs = runs.into_iter();
        let foretold_so = runs.filter(|run| {
            let forecast = run.estimate.as_ref();
            forecast.is_some_and(|of| of.made_by == Some(made_by))
        });
        let [seconds, mut disk_bytes, memory_bytes] = foretold_and_taken(foretold_so);
        // Only of bytes: intervals of time and memory are as wide as pilots happen to be apart.
        if let Some(next) = next.and_then(|next| next.disk_bytes) {
            disk_bytes.retain(|(foretold, _)| are_alike(foretold, &next));
        }
        Self {
            seconds: Correction::from_errors(&seconds),
            disk_bytes: Correction::from_errors(&disk_bytes),
            memory_bytes: Correction::from_errors(&memory_bytes),
        }
    }

    /// Returns a forecast corrected, as far as anything is known.
    #[must_use]
    pub fn apply(&self, forecast: &Forecast) -> Forecast {
        let of = |value: Option<ForecastValue>, correction: Option<Correction>| {
            let value = value?;
            Some(correction.map_or(value, |correction| correction.apply(&value)))
        };
        Forecast {
            seconds: of(forecast.seconds, self.seconds),
            disk_bytes: of(forecast.disk_bytes, self.disk_bytes),
            memory_bytes: of(forecast.memory_bytes, self.memory_bytes),
            ..*forecast
        }
    }
}

/// Returns whether the intervals of two forecasts, before any correction, are about as wide.
fn are_alike(one: &ForecastValue, other: &ForecastValue) -> bool {
    let width = |value: &ForecastValue| {
        let corrected = value.correction.map_or(1.0, |correction| correction.width);
        let width = (value.high? / value.low?).ln() / corrected;
        width.is_finite().then_some(width)
    };
    match (width(one), width(other)) {
        (Some(one), Some(other)) => one <= ALIKE * other && other <= ALIKE * one,
        // Where no width is told, none is far away.
        _ => true,
    }
}

impl TrainingHistory {
    /// Keeps a forecast for the run that it is of.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn record_forecast(&mut self, new: &NewForecast) -> Result<(), HistoryError> {
        let recorded_ms = row::milliseconds(SystemTime::now());
        let written = self.connection.execute(
            "INSERT INTO forecasts (recorded_ms, fingerprint, settings, corpus, machine, forecast) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                recorded_ms,
                new.corpus.fingerprint,
                row::json(&new.settings),
                row::json(&new.corpus),
                row::json(&new.machine),
                row::json(&new.forecast),
            ],
        );
        written.map(drop).map_err(HistoryError::sqlite("write"))
    }

    /// Returns what was foretold of a run with these settings over this corpus on this machine: the
    /// newest forecast that tells the time, else the newest of all; `None` where nothing was.
    ///
    /// The corpus is the same by its fingerprint, and its bytes may differ by a twentieth. Workers
    /// that are not known are any.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn forecast(
        &self,
        settings: &RunSettings,
        corpus: &RecordedCorpus,
        machine: &Machine,
    ) -> Result<Option<Forecast>, HistoryError> {
        let failed = HistoryError::sqlite("read");
        let sql = "SELECT settings, corpus, machine, forecast FROM forecasts \
                   WHERE fingerprint = ?1 ORDER BY recorded_ms DESC, rowid DESC";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let rows = statement.query_map([&corpus.fingerprint], |row| {
            let text = |at| row.get::<_, String>(at);
            Ok([text(0)?, text(1)?, text(2)?, text(3)?])
        });
        let rows: rusqlite::Result<Vec<[String; 4]>> = rows.map_err(&failed)?.collect();
        let mut newest = None;
        for [of_settings, of_corpus, of_machine, forecast] in rows.map_err(&failed)? {
            let mut made_for: RunSettings = parsed("forecast", &of_settings)?;
            made_for.workers = made_for.workers.filter(|_| settings.workers.is_some());
            let made_of: RecordedCorpus = parsed("forecast", &of_corpus)?;
            let is_same_size = match (made_of.bytes, corpus.bytes) {
                (Some(foretold), Some(found)) => {
                    foretold.abs_diff(found) as f64 <= SAME_SIZE * found as f64
                }
                (foretold, found) => foretold == found,
            };
            let made_on: Machine = parsed("forecast", &of_machine)?;
            if made_for != *settings || !is_same_size || made_on != *machine {
                continue;
            }
            let forecast: Forecast = parsed("forecast", &forecast)?;
            if forecast.seconds.is_some() {
                return Ok(Some(forecast));
            }
            newest = newest.or(Some(forecast));
        }
        Ok(newest)
    }

    /// Returns what the errors of a kind of forecasts teach the next one, or any where none is given,
    /// of runs into the same kind of place on one machine.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn corrections(
        &self,
        made_by: Forecaster,
        backend: &str,
        machine: &Machine,
        next: Option<&Forecast>,
    ) -> Result<Corrections, HistoryError> {
        let mut runs = self.runs(&RunFilter::default().with_complete_only())?;
        runs.retain(|run| {
            run.machine == *machine && run.settings.backend.as_deref() == Some(backend)
        });
        runs.reverse();
        Ok(Corrections::from_runs(&runs, made_by, next))
    }
}
