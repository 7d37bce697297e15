//! Configurations tried out on a part of a corpus: the trials, and the answer.

mod page;
mod trials;

use std::collections::BTreeMap;

use kato_planner::halving::Criterion;
use serde::{Deserialize, Serialize};

use crate::inspect::View;
use crate::inspect::layout::cell;
use crate::numbers::counted;

pub(crate) use page::page;
pub(crate) use trials::{Journal, Trials};

/// Quantities that a trial measures, with whether less is better.
pub(crate) const MEASURES: [(&str, bool); 8] = [
    ("rate", false),
    ("bits", true),
    ("accuracy", false),
    ("coverage", false),
    ("bytes", true),
    ("patterns", true),
    ("memory", true),
    ("seconds", true),
];

/// Those that are measured by questions.
pub(crate) const QUALITY: [&str; 3] = ["bits", "accuracy", "coverage"];

/// Settings that are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    /// Chunk size of each level.
    pub(crate) levels: Vec<usize>,
    /// Learning threads.
    pub(crate) workers: usize,
    /// Bytes of memory for what is not yet written.
    pub(crate) memory: u64,
}

impl Configuration {
    /// Names the settings, with the memory in whole MiB.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        let levels: Vec<String> = self.levels.iter().map(usize::to_string).collect();
        format!(
            "{} w{} {} MiB",
            levels.join(","),
            self.workers,
            self.memory >> 20
        )
    }

    /// Returns the flags of `kato train` that ask for the workers and the memory.
    #[must_use]
    pub(crate) fn flags(&self) -> Vec<String> {
        let flags = [
            "--workers",
            &self.workers.to_string(),
            "--memory",
            &self.memory.to_string(),
        ];
        flags.map(str::to_owned).to_vec()
    }
}

/// The answer: configurations in the order of their scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tuning {
    /// Version of this form, 1.
    pub(crate) schema: u32,
    /// What counts, and how much.
    pub(crate) criteria: Vec<Criterion>,
    /// Bytes of text that the largest trials have trained.
    pub(crate) text_bytes: u64,
    /// Documents on which quality was measured.
    pub(crate) held_out_documents: usize,
    /// Trials that were made, and that a file of trials had already.
    pub(crate) trials: u64,
    /// Of these, those from the file.
    pub(crate) resumed: u64,
    /// The rule by which configurations are stopped.
    pub(crate) rule: String,
    /// The best first.
    pub(crate) ranking: Vec<Row>,
}

/// One configuration of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The settings.
    #[serde(flatten)]
    pub(crate) configuration: Configuration,
    /// From 0 to 1, against the best of the same round.
    pub(crate) score: f64,
    /// Standard error of the score's logarithm.
    pub(crate) error: f64,
    /// Share of the text of its last trials.
    pub(crate) share: f64,
    /// Whether nothing beats it in everything that counts.
    pub(crate) is_on_front: bool,
    /// Medians of what was measured.
    pub(crate) measures: BTreeMap<String, f64>,
}

impl Tuning {
    /// Says on what quality was measured; nothing where it was not.
    fn quality(&self) -> String {
        let measures = |row: &Row| QUALITY.iter().any(|name| row.measures.contains_key(*name));
        match self.ranking.iter().any(measures) {
            true => format!(
                ", quality on {} held out",
                counted(self.held_out_documents, "document")
            ),
            false => String::new(),
        }
    }
}

impl View for Tuning {
    fn text(&self, _width: usize) -> String {
        let mut text = format!(
            "{} over up to {:.1} MB of text{}\n{}\n\n",
            counted(self.trials, "trial"),
            self.text_bytes as f64 / 1e6,
            self.quality(),
            self.rule
        );
        text += &format!(
            "{:>5} {:<26} {:>6} {:>7} {:>11} {:>7} {:>8} {:>9} {:>10} {:>7}\n",
            "score",
            "levels, workers, memory",
            "share",
            "",
            "documents/s",
            "bits",
            "coverage",
            "MB",
            "patterns",
            "memory"
        );
        for row in &self.ranking {
            let of = |name: &str, digits: usize, unit: f64| {
                let value = row.measures.get(name);
                cell(value.map(|value| format!("{:.digits$}", value / unit)))
            };
            text += &format!(
                "{:>5.3} {:<26} {:>6.3} {:>7} {:>11} {:>7} {:>8} {:>9} {:>10} {:>7}\n",
                row.score,
                row.configuration.name(),
                row.share,
                if row.is_on_front { "front" } else { "" },
                of("rate", 1, 1.0),
                of("bits", 3, 1.0),
                of("coverage", 3, 1.0),
                of("bytes", 2, 1e6),
                of("patterns", 0, 1.0),
                of("memory", 0, 1e6)
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_told_where_it_was_measured() {
        let tuned = |measure: &str| Tuning {
            schema: 1,
            criteria: Vec::new(),
            text_bytes: 1_000_000,
            held_out_documents: 5,
            trials: 2,
            resumed: 0,
            rule: String::new(),
            ranking: vec![Row {
                configuration: Configuration {
                    levels: vec![5],
                    workers: 1,
                    memory: 1 << 20,
                },
                score: 1.0,
                error: 0.0,
                share: 1.0,
                is_on_front: true,
                measures: [(measure.to_owned(), 1.0)].into(),
            }],
        };
        let lead = |measure| tuned(measure).text(80).lines().next().map(str::to_owned);
        let without = "2 trials over up to 1.0 MB of text";
        assert_eq!(lead("rate").as_deref(), Some(without));
        let with = "2 trials over up to 1.0 MB of text, quality on 5 documents held out";
        assert_eq!(lead("bits").as_deref(), Some(with));
    }
}
