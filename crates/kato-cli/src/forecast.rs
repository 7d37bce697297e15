//! What was foretold of a run, and how it compares with what the run took.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use kato_planner::Interval;
use kato_planner::recommend::span;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text_file::read_text;

/// What a run is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forecast {
    /// Seconds.
    pub(crate) seconds: Interval,
    /// Bytes on the disk; `None` where the store was not estimated.
    pub(crate) disk_bytes: Option<Interval>,
    /// Peak bytes of memory; `None` where that was not measured.
    pub(crate) memory_bytes: Option<Interval>,
}

impl Forecast {
    /// Reads the forecast of a plan that `kato plan --out` wrote.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is no plan.
    pub(crate) fn of_plan(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = read_text(path).with_context(|| format!("--plan {shown} cannot be read"))?;
        let plan: Value = serde_json::from_str(&text).with_context(|| {
            format!("--plan {shown} is no plan: make one with `kato plan --out`")
        })?;
        ensure!(
            plan["schema"] == 1,
            "--plan {shown} is no plan that this build reads: make it again with `kato plan --out`"
        );
        let forecast = Self::deserialize(&plan["forecast"]);
        let forecast = forecast.with_context(|| format!("the forecast in {shown}"))?;
        let seconds = forecast.seconds;
        ensure!(
            seconds.value.is_finite() && seconds.value > 0.0,
            "the forecast in {shown} is of {} s",
            seconds.value
        );
        Ok(forecast)
    }

    /// Describes the expected time for the progress.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let in_words = |seconds: f64| span(seconds / 3600.0);
        let Interval { value, low, high } = self.seconds;
        format!(
            "forecast {} ({} to {})",
            in_words(value),
            in_words(low),
            in_words(high)
        )
    }

    /// Compares with what the run took, for people.
    #[must_use]
    pub(crate) fn compared(&self, seconds: f64, disk_bytes: Option<u64>) -> String {
        let mut text = format!(
            "time: {}",
            compared(self.seconds, seconds, |s| span(s / 3600.0))
        );
        if let Some((foretold, bytes)) = self.disk_bytes.zip(disk_bytes) {
            let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
            text += &format!("\nbytes: {}", compared(foretold, bytes as f64, megabytes));
        }
        text + "\n"
    }

    /// Compares with what the run took, for machines.
    #[must_use]
    pub(crate) fn to_json(self, seconds: f64, disk_bytes: Option<u64>) -> Value {
        let of = |foretold: Interval, taken: f64| {
            json!({
                "value": foretold.value, "low": foretold.low, "high": foretold.high,
                "error": foretold.value / taken - 1.0, "covered": foretold.covers(taken),
            })
        };
        let bytes = self.disk_bytes.zip(disk_bytes);
        json!({
            "seconds": of(self.seconds, seconds),
            "disk_bytes": bytes.map(|(foretold, bytes)| of(foretold, bytes as f64)),
        })
    }
}

/// Describes what was foretold beside what it was.
fn compared(foretold: Interval, taken: f64, in_words: impl Fn(f64) -> String) -> String {
    let held = match foretold.covers(taken) {
        true => "held",
        false => "did not hold",
    };
    let off = match taken > 0.0 {
        true => format!(", {:+.1} %", 100.0 * (foretold.value / taken - 1.0)),
        false => String::new(),
    };
    format!(
        "{}, foretold {}{off}; the interval from {} to {} {held}",
        in_words(taken),
        in_words(foretold.value),
        in_words(foretold.low),
        in_words(foretold.high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_compared_with_what_it_took() {
        let forecast = Forecast {
            seconds: Interval::new(10.0, 9.0, 12.0),
            disk_bytes: Some(Interval::new(1e6, 0.9e6, 1.1e6)),
            memory_bytes: None,
        };
        assert_eq!(forecast.text(), "forecast 10.0 s (9.0 s to 12.0 s)");
        assert_eq!(
            forecast.compared(8.0, Some(1_000_000)),
            "time: 8.0 s, foretold 10.0 s, +25.0 %; the interval from 9.0 s to 12.0 s did not hold\n\
             bytes: 1.0 MB, foretold 1.0 MB, +0.0 %; the interval from 0.9 MB to 1.1 MB held\n"
        );
        let json = forecast.to_json(10.0, None);
        assert_eq!(
            (&json["seconds"]["covered"], &json["disk_bytes"]),
            (&json!(true), &Value::Null)
        );
    }
}
