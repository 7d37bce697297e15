//! What was foretold of a run, and how it compares with what the run took.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kato_planner::recommend::span;
use kato_planner::{Correction, Forecast, ForecastValue, Forecaster, Interval};
use kato_scheduler::RunConfiguration;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::bail_as;
use crate::history::{RunFacts, chunk_sizes};
use crate::numbers::counted;
use crate::text_file::read_text;

/// What a run took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    /// Seconds.
    pub(crate) seconds: Option<f64>,
    /// Bytes on the disk.
    pub(crate) disk_bytes: Option<u64>,
    /// Peak bytes of memory.
    pub(crate) memory_bytes: Option<u64>,
    /// Seconds in which the index was written.
    pub(crate) index_seconds: Option<f64>,
    /// Its bytes.
    pub(crate) index_bytes: Option<u64>,
    /// Seconds in which the head's counts were written.
    pub(crate) head_seconds: Option<f64>,
    /// Their bytes.
    pub(crate) head_bytes: Option<u64>,
    /// Seconds in which the occurrences were kept.
    pub(crate) occurrences_seconds: Option<f64>,
    /// Their bytes.
    pub(crate) occurrences_bytes: Option<u64>,
}

/// Share by which the bytes of a corpus may differ from those that a forecast was made for: some are
/// inferred from a part.
const SAME_SIZE: f64 = 0.05;

/// A forecast that the user gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    pub(crate) forecast: Forecast,
    /// What the run is known by that it was made for; null where it does not say.
    made_for: Value,
}

/// Reads a forecast: a plan that `kato plan --out` wrote, or an estimate, the output of `kato
/// estimate --json`.
///
/// # Errors
///
/// When the file cannot be read, is neither, or foretells a number that is not above 0.
pub(crate) fn read_forecast(path: &Path) -> Result<Given> {
    let shown = path.display();
    let text = read_text(path).with_context(|| format!("--forecast {shown} cannot be read"))?;
    let neither = || {
        format!(
            "--forecast {shown} is no forecast that this build reads: make one with `kato plan --out` or `kato estimate --json`"
        )
    };
    let mut value: Value = serde_json::from_str(&text).with_context(neither)?;
    ensure!(value["schema"] == 1, neither());
    let forecast = if value.get("forecast").is_some() {
        let forecast = Forecast::deserialize(&value["forecast"]).with_context(neither)?;
        Forecast {
            made_by: forecast.made_by.or(Some(Forecaster::Plan)),
            ..forecast
        }
    } else if value.get("level_estimates").is_some() {
        let mut bytes = ForecastValue::deserialize(&value["bytes"]).with_context(neither)?;
        bytes.correction = Correction::deserialize(&value["correction"]).ok();
        Forecast {
            made_by: Some(Forecaster::Estimate),
            disk_bytes: Some(bytes),
            index_bytes: ForecastValue::deserialize(&value["index_bytes"]).ok(),
            ..Forecast::default()
        }
    } else {
        bail!(neither());
    };
    for (what, value) in forecast.values() {
        let number = value.map_or(1.0, |value| value.value);
        ensure!(
            number.is_finite() && number > 0.0,
            "the forecast in {shown} is of {number} {}",
            what.replace('_', " ")
        );
    }
    let made_for = value["made_for"].take();
    Ok(Given { forecast, made_for })
}

impl Given {
    /// Refuses a forecast of a run with other settings, which would be compared with something else; one
    /// that does not say what it was made for is taken.
    ///
    /// # Errors
    ///
    /// When it was made for others.
    pub(crate) fn check(
        &self,
        configuration: &RunConfiguration,
        backend: &str,
        memory_bytes: u64,
        workers: Option<NonZeroUsize>,
    ) -> Result<()> {
        let made_for = &self.made_for;
        if made_for.is_null() {
            return Ok(());
        }
        let chunk_sizes = chunk_sizes(configuration);
        let words = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let pairs = [
            ("--levels", "chunk_sizes", json!(chunk_sizes)),
            ("--backend", "backend", json!(backend)),
            ("--memory", "memory_bytes", json!(memory_bytes)),
            ("--workers", "workers", json!(workers)),
        ];
        for (flag, name, of_run) in pairs {
            let foretold = &made_for[name];
            if !foretold.is_null() && !of_run.is_null() && *foretold != of_run {
                bail_as!(
                    Usage,
                    "--forecast was made for {flag} {}, and this run has {}: make one for it with `kato plan`, or leave --forecast out",
                    words(foretold),
                    words(&of_run)
                );
            }
        }
        if made_for["configuration"] != configuration.to_json() {
            bail_as!(
                Usage,
                "--forecast was made for other rules of learning than this run's: make one for it with `kato plan`, or leave --forecast out"
            );
        }
        Ok(())
    }

    /// Returns whether it was made for another corpus, or one of another size, so that its error says
    /// nothing of the next forecast.
    #[must_use]
    pub(crate) fn is_of_another_corpus(&self, facts: &RunFacts) -> bool {
        let foretold = |name: &str| &self.made_for[name];
        let is_off =
            |foretold: u64, found: u64| foretold.abs_diff(found) as f64 > SAME_SIZE * found as f64;
        // Of a part the size of the files says nothing.
        let found = facts.corpus_bytes.filter(|_| !facts.is_part);
        let bytes = foretold("corpus_bytes").as_u64().zip(found);
        foretold("fingerprint")
            .as_str()
            .is_some_and(|of| of != facts.fingerprint)
            || bytes.is_some_and(|(foretold, found)| is_off(foretold, found))
    }
}

/// Describes the expected time for the progress; `None` where none was foretold.
#[must_use]
pub(crate) fn expected_time(forecast: &Forecast) -> Option<String> {
    let seconds = Interval::from(forecast.seconds?);
    let in_words = |seconds: f64| span(seconds / 3600.0);
    Some(format!(
        "forecast {} ({} to {})",
        in_words(seconds.value),
        in_words(seconds.low),
        in_words(seconds.high)
    ))
}

/// Describes what a forecast was corrected by.
#[must_use]
pub(crate) fn corrected(correction: &Correction) -> String {
    let runs = match correction.runs {
        1 => "the run before it teaches".to_owned(),
        runs => format!("the {} before it teach", counted(runs, "run")),
    };
    format!(
        ", {:.2} times what was measured, as {runs}",
        correction.factor
    )
}

/// Compares a forecast with what the run took, for people: a line for each quantity that both tell.
#[must_use]
pub(crate) fn compared(forecast: &Forecast, taken: Taken) -> Vec<String> {
    let lines = pairs(forecast, taken).map(|(what, pair)| {
        let (foretold, taken) = pair?;
        let in_words = |value: f64| match what {
            _ if what.ends_with("seconds") => span(value / 3600.0),
            _ => format!("{:.1} MB", value / 1e6),
        };
        let off = match taken > 0.0 {
            true => format!(", {:+.1} %", 100.0 * (foretold.value / taken - 1.0)),
            false => String::new(),
        };
        let held = foretold.covers(taken).map(|held| {
            let interval = Interval::from(foretold);
            format!(
                "; the interval from {} to {} {}",
                in_words(interval.low),
                in_words(interval.high),
                if held { "held" } else { "did not hold" }
            )
        });
        let name = match what {
            "seconds" => "time",
            "disk_bytes" => "bytes",
            "memory_bytes" => "memory",
            "index_seconds" => "time of the index",
            "index_bytes" => "bytes of the index",
            "head_seconds" => "time of the head's counts",
            "head_bytes" => "bytes of the head's counts",
            "occurrences_seconds" => "time of the occurrences",
            _ => "bytes of the occurrences",
        };
        Some(format!(
            "{name}: {}, foretold {}{off}{}",
            in_words(taken),
            in_words(foretold.value),
            held.unwrap_or_default()
        ))
    });
    lines.flatten().collect()
}

/// Compares a forecast with what the run took, for machines.
#[must_use]
pub(crate) fn to_json(forecast: &Forecast, taken: Taken) -> Value {
    let compared = pairs(forecast, taken).map(|(what, pair)| {
        let value = pair.map(|(foretold, taken)| {
            json!({
                "value": foretold.value, "low": foretold.low, "high": foretold.high,
                "error": foretold.value / taken - 1.0, "covered": foretold.covers(taken),
            })
        });
        (what.to_owned(), value.unwrap_or_default())
    });
    let mut value = Value::Object(compared.collect());
    if let Some(made_by) = forecast.made_by {
        value["made_by"] = made_by.as_str().into();
    }
    value
}

/// Pairs what was foretold with what it took, by name.
fn pairs(
    forecast: &Forecast,
    taken: Taken,
) -> impl Iterator<Item = (&'static str, Option<(ForecastValue, f64)>)> {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    let taken = [
        taken.seconds,
        bytes(taken.disk_bytes),
        bytes(taken.memory_bytes),
        taken.index_seconds,
        bytes(taken.index_bytes),
        taken.head_seconds,
        bytes(taken.head_bytes),
        taken.occurrences_seconds,
        bytes(taken.occurrences_bytes),
    ];
    let values = forecast.values().into_iter().zip(taken);
    values.map(|((what, foretold), taken)| (what, foretold.zip(taken)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_compared_with_what_it_took() {
        let forecast = Forecast {
            seconds: Some(ForecastValue::with_interval(10.0, 9.0, 12.0)),
            disk_bytes: Some(ForecastValue::with_interval(1e6, 0.9e6, 1.1e6)),
            memory_bytes: Some(2e6.into()),
            ..Forecast::default()
        };
        let told = expected_time(&forecast).unwrap();
        assert_eq!(told, "forecast 10.0 s (9.0 s to 12.0 s)");
        let mut taken = Taken {
            seconds: Some(8.0),
            disk_bytes: Some(1_000_000),
            memory_bytes: Some(1_000_000),
            ..Taken::default()
        };
        assert_eq!(
            compared(&forecast, taken),
            [
                "time: 8.0 s, foretold 10.0 s, +25.0 %; the interval from 9.0 s to 12.0 s did not hold",
                "bytes: 1.0 MB, foretold 1.0 MB, +0.0 %; the interval from 0.9 MB to 1.1 MB held",
                "memory: 1.0 MB, foretold 2.0 MB, +100.0 %",
            ]
        );
        (taken.seconds, taken.disk_bytes) = (Some(10.0), None);
        let json = to_json(&forecast, taken);
        assert_eq!(
            (&json["seconds"]["covered"], &json["disk_bytes"]),
            (&json!(true), &Value::Null)
        );
    }
}
