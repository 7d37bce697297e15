//! A plan for people and for machines.

use kato_planner::recommend::{Fulfilment, MachineOption, span};
use kato_planner::scaling::{Crossing, Limit};
use kato_planner::{Forecast, ForecastValue, Interval, Recommendation};
use kato_report::figures::bytes;
use kato_scheduler::TrainingOptions;
use serde::Serialize;

use super::Measured;
use crate::forecast::corrected;
use crate::history::RunFacts;
use crate::inspect::View;
use crate::numbers::counted;

/// A plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plan {
    /// Version of this form, 1.
    pub(crate) schema: u32,
    /// The sources.
    pub(crate) sources: Vec<String>,
    /// What the run is known by, by which `kato train` tells whether the plan is its own.
    pub(crate) made_for: RunFacts,
    /// How large the run is.
    pub(crate) target: Target,
    /// How many times the largest pilot that is.
    pub(crate) extrapolation: f64,
    /// What the run takes on this machine.
    pub(crate) forecast: Forecast,
    /// Distinct patterns of all levels.
    pub(crate) patterns: Interval,
    /// Law of the time, fitted to the pilots.
    pub(crate) law: String,
    /// What changes on the way, by bytes on the disk.
    pub(crate) on_the_way: Vec<Crossing>,
    /// What the figures rest on.
    pub(crate) assumptions: Vec<String>,
    /// The machines.
    pub(crate) recommendation: Recommendation,
    /// The command that does it.
    pub(crate) command: String,
    /// The pilots.
    pub(crate) pilots: Vec<Measured>,
}

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Target {
    /// Bytes of text.
    pub(crate) text_bytes: f64,
    /// Documents.
    pub(crate) samples: f64,
    /// Upserts into a MongoDB: a pattern and a symbol is one each, however often it is learned.
    pub(crate) upserts: Option<f64>,
}

impl Target {
    /// Returns the size that the time grows with, as [`Measured::size`].
    #[must_use]
    pub(crate) fn size(&self) -> f64 {
        self.upserts.unwrap_or(self.text_bytes)
    }

    /// Returns what that size counts.
    #[must_use]
    pub(crate) fn unit(&self) -> &'static str {
        match self.upserts {
            Some(_) => "upserts",
            None => "bytes of text",
        }
    }
}

impl Plan {
    /// Returns the best machines, and always this one.
    pub(super) fn shown(&self) -> impl Iterator<Item = &MachineOption> {
        let options = self.recommendation.options.iter().enumerate();
        let shown = options.filter(|(idx, option)| *idx < 8 || option.usd.value == 0.0);
        shown.map(|(_, option)| option)
    }

    /// Describes the machines.
    fn machines(&self) -> String {
        let mut text = "\nMachines\n".to_owned();
        for option in self.shown() {
            text += &format!(
                "  {:<9} {:<46} {:>9} ({} to {}), {:.2} USD, bound by {}\n",
                in_words(option.verdict),
                option.machine,
                span(option.hours.value),
                span(option.hours.low),
                span(option.hours.high),
                option.usd.value,
                option.bound_by
            );
            for shortfall in &option.shortfalls {
                text += &format!("            {shortfall}\n");
            }
        }
        if !self.recommendation.is_possible() {
            text += match self.recommendation.changes.is_empty() {
                true => "  Nothing does it.\n",
                false => "  Nothing does it. One of these would:\n",
            };
            for change in &self.recommendation.changes {
                text += &format!("    {change}\n");
            }
        }
        if let Some(source) = self.price_source() {
            text += &format!("  {source}\n");
        }
        text
    }

    /// Says where the prices come from; `None` without a price, as for a server that is there.
    pub(super) fn price_source(&self) -> Option<String> {
        let (date, source) = (&self.recommendation.prices_of, &self.recommendation.source);
        let is_known = !date.is_empty() || !source.is_empty();
        is_known.then(|| format!("Prices of {date}: {source}"))
    }
}

/// Returns whether a machine does it, in a word.
pub(super) fn in_words(verdict: Fulfilment) -> &'static str {
    match verdict {
        Fulfilment::Surely => "yes",
        Fulfilment::Probably => "probably",
        _ => "no",
    }
}

impl View for Plan {
    fn text(&self, _width: usize) -> String {
        let hours = |seconds: f64| span(seconds / 3600.0);
        let mut text = format!(
            "The run: {} of text, about {}, {:.0} times the largest pilot\n",
            bytes(self.target.text_bytes),
            counted(self.target.samples.round() as u64, "document"),
            self.extrapolation
        );
        if let Some(upserts) = self.target.upserts {
            text += &format!("Upserts: {upserts:.3e}, one a pattern and one a symbol\n");
        }
        if let Some(seconds) = self.forecast.seconds {
            text += &format!("Time here: {}\n", shown(&seconds, hours));
        }
        if let Some(disk) = self.forecast.disk_bytes {
            text += &format!("On the disk: {}\n", shown(&disk, bytes));
        }
        let forecast = &self.forecast;
        for (what, size, time) in [
            ("Index", forecast.index_bytes, forecast.index_seconds),
            (
                "Counts of the head",
                forecast.head_bytes,
                forecast.head_seconds,
            ),
            (
                "Occurrences",
                forecast.occurrences_bytes,
                forecast.occurrences_seconds,
            ),
        ] {
            let Some(size) = size else { continue };
            let time = time.map(|time| format!(", written in {}", shown(&time, hours)));
            let time = time.unwrap_or_default();
            text += &format!("{what} beside it: {}{time}\n", shown(&size, bytes));
        }
        let Interval { value, low, high } = self.patterns;
        text += &format!("Patterns: {value:.3e} ({low:.3e} to {high:.3e})\n");
        if let Some(memory) = self.forecast.memory_bytes {
            text += &format!("Memory: {}\n", shown(&memory, bytes));
        }
        let unit = self.target.unit();
        text += &format!("Law of the time, n in {unit}: {}\n", self.law);
        for crossing in &self.on_the_way {
            if let Some(at) = crossing.expected.or(crossing.earliest) {
                text += &format!("On the way: {} at {} of text\n", crossing.what, bytes(at));
            }
        }
        text += &self.machines();
        text += "\nAssumed\n";
        for assumption in &self.assumptions {
            text += &format!("  {assumption}\n");
        }
        text + &format!("\nRun it:\n  {}\n", self.command)
    }
}

/// Describes a number with its interval, and what it was corrected by.
fn shown(value: &ForecastValue, in_words: impl Fn(f64) -> String) -> String {
    let Interval {
        value: v,
        low,
        high,
    } = Interval::from(*value);
    let [v, low, high] = [v, low, high].map(in_words);
    let corrected = value.correction.as_ref().map(corrected);
    format!("{v} ({low} to {high}){}", corrected.unwrap_or_default())
}

/// Returns the bytes of a part of each worker, of all together.
///
/// It is about 0.36 of the memory: a run with 256 MiB and two workers left 3.02 GB in 62 parts.
#[must_use]
pub(crate) fn part_bytes(memory: u64) -> f64 {
    0.36 * memory as f64
}

/// Returns where bytes on the disk change the law of a run that leaves so many a second.
///
/// 64 parts are merged, but none before the first commit.
#[must_use]
pub(crate) fn limits(
    memory: u64,
    workers: u64,
    bytes_a_second: f64,
    free_disk: Option<u64>,
) -> Vec<Limit> {
    let part = part_bytes(memory) / workers.max(1) as f64;
    let interval = TrainingOptions::default().commit_interval;
    let first_commit = bytes_a_second * interval.as_secs_f64();
    let merging = (64.0 * part).max(first_commit);
    let mut limits = vec![Limit::new("parts begin to be merged", merging)];
    limits.extend(free_disk.map(|free| Limit::new("this disk is full", free as f64)));
    limits
}

/// Writes words as a shell reads them.
#[must_use]
pub(crate) fn shell(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_merged_once_there_are_64_of_a_worker_and_a_commit() {
        let merging = |workers, a_second| limits(256 << 20, workers, a_second, None)[0].value;
        assert!((merging(2, 1e8) / 3.09e9 - 1.0).abs() < 0.01);
        // Eight times as many parts are 64 sooner, but by then nothing is committed.
        assert!((merging(16, 5e8) - 5e9).abs() < 1.0);
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let words = ["kato", "train", "a b", "0.7*c4", "it's", ""].map(str::to_owned);
        assert_eq!(shell(&words), r"kato train 'a b' '0.7*c4' 'it'\''s' ''");
    }
}
