//! What `kato train` tells of a run that has ended, in words or as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use kato_loader::ignored::IgnoredReason;
use kato_planner::Forecast;
use kato_prediction::disk::BuildReport;
use kato_report::figures::seconds;
use kato_runs::TrainingRun;
use kato_scheduler::TrainingReport;
use serde_json::Value;

use crate::forecast::{Taken, compared, to_json};
use crate::indexing::{self, WrittenCounts};
use crate::occurrences::Kept;
use crate::training::destination;
use crate::training::profile::Profile;
use crate::training::summary::summary;

/// A run that has ended, and what was done around it.
pub(super) struct Outcome<'a> {
    pub(super) run: &'a TrainingRun,
    pub(super) report: &'a TrainingReport,
    /// Files that were not read, by reason.
    pub(super) ignored: BTreeMap<IgnoredReason, u64>,
    /// What was foretold of exactly this.
    pub(super) forecast: Option<Forecast>,
    pub(super) profile: Option<Profile>,
    /// Peak bytes of memory of learning, and until the index was written: so far forecasts go.
    pub(super) learning_peak_bytes: Option<u64>,
    pub(super) index_peak_bytes: Option<u64>,
    pub(super) index: Option<&'a BuildReport>,
    /// What became of the head's counts.
    pub(super) head: Option<&'a WrittenCounts>,
    pub(super) occurrences: Option<&'a Kept>,
    /// The id in the history, and the history.
    pub(super) recorded: Option<(String, &'a Path)>,
}

impl Outcome<'_> {
    /// Returns it as JSON.
    pub(super) fn to_json(&self) -> Result<Value> {
        let mut value = destination::to_json(self.run, self.report)?;
        value["peak_memory_bytes"] = kato_probe::process::peak_bytes().into();
        value["learning_peak_memory_bytes"] = self.learning_peak_bytes.into();
        if let Some(forecast) = &self.forecast {
            value["forecast"] = to_json(forecast, self.taken());
        }
        let ignored = self.ignored.iter();
        value["ignored_files"] = ignored
            .map(|(reason, count)| (reason.to_string(), Value::from(*count)))
            .collect();
        if let Some((id, _)) = &self.recorded {
            value["recorded"] = id.as_str().into();
        }
        if let Some(profile) = &self.profile {
            value["profile"] = profile.to_json()?;
        }
        if let Some(index) = self.index {
            value["index"] = indexing::to_json(index);
            value["index"]["peak_memory_bytes"] = self.index_peak_bytes.into();
        }
        if let Some(head) = self.head {
            value["head"] = serde_json::to_value(head)?;
        }
        if let Some(occurrences) = self.occurrences {
            value["occurrences"] = serde_json::to_value(occurrences)?;
        }
        Ok(value)
    }

    /// Describes it.
    pub(super) fn text(&self) -> String {
        let mut text = summary(self.report, &self.run.place(), self.run.ledger());
        text += &destination::summary(self.run, self.report);
        for (reason, count) in &self.ignored {
            text += &format!("not read: {} ({reason})\n", HumanCount(*count));
        }
        if let Some(index) = self.index {
            text += &format!(
                "index: {} in {}\n",
                HumanBytes(index.bytes),
                seconds(index.elapsed.as_secs_f64())
            );
        }
        if let Some(head) = self.head {
            text += &format!(
                "counts of the head: {} in {}\n",
                HumanBytes(head.bytes),
                seconds(head.seconds)
            );
        }
        if let Some(occurrences) = self.occurrences {
            text += &occurrences.text();
        }
        if let Some(profile) = &self.profile {
            text += &profile.text();
        }
        if let Some(forecast) = &self.forecast {
            for line in compared(forecast, self.taken()) {
                text += &(line + "\n");
            }
        }
        if let Some((id, history)) = &self.recorded {
            text += &format!("recorded as {id} in {}\n", history.display());
        }
        text
    }

    /// Returns what the run took.
    fn taken(&self) -> Taken {
        Taken {
            seconds: Some(self.report.total_time_seconds),
            disk_bytes: self.report.disk_bytes,
            memory_bytes: self.index_peak_bytes,
            index_seconds: self.index.map(|index| index.elapsed.as_secs_f64()),
            index_bytes: self.index.map(|index| index.bytes),
            head_seconds: self.head.map(|head| head.seconds),
            head_bytes: self.head.map(|head| head.bytes),
            occurrences_seconds: self.occurrences.map(|kept| kept.seconds),
            occurrences_bytes: self.occurrences.map(|kept| kept.bytes),
        }
    }
}
