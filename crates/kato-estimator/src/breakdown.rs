//! The result of an estimate: the figures of every level, as data, as JSON and as a table.

use std::fmt;

use kato_advice::counted;
use kato_report::figures::bytes;
use serde::{Deserialize, Serialize};

use crate::bytes::LevelContents;
use crate::error::check_schema;
use crate::{EstimateError, Figure, FrequencyCounts, Interval, Target};

/// Version of the stored form.
const SCHEMA: u32 = 1;

/// An estimate of what a run will store. Its text form is a table; [`to_json`](Self::to_json) has
/// everything behind that as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StorageBreakdown {
    /// Version of this form, 1.
    pub schema: u32,
    /// The store, or the formula, that the bytes are of.
    pub engine: String,
    /// The corpus asked for.
    pub target: Target,
    /// Size of the target as a multiple of what was observed.
    pub extrapolation: f64,
    /// The levels, bottom up.
    pub level_estimates: Vec<LevelEstimate>,
    /// Learn calls of all levels.
    pub total_learns: Figure,
    /// Distinct patterns of all levels.
    pub total_patterns: Figure,
    /// Bytes of the whole store.
    pub bytes: Figure,
    /// How often what is learned is written once more, as the store merges its parts: 0 where it merges
    /// none.
    #[serde(default)]
    pub merged: f64,
}

/// An estimate of what a level will store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelEstimate {
    /// The level, from 0.
    pub level: usize,
    /// Name of its node by default: `node0`, `node1` and so on.
    pub node: String,
    /// Its chunk size.
    pub chunk_size: usize,
    /// Learn calls.
    pub learns: Figure,
    /// Distinct patterns.
    pub distinct_patterns: Figure,
    /// What the number of distinct patterns is least sure of; `None` where no more is asked for than was
    /// observed.
    pub doubt: Option<Doubt>,
    /// Share of learn calls that repeat a pattern, 0 to 1.
    pub dedup_share: Figure,
    /// Bytes.
    pub bytes: Figure,
    /// Contents that the bytes follow from.
    pub contents: LevelContents,
    /// Frequencies that were observed.
    pub observed: FrequencyCounts,
    /// Distinct patterns from the first learn call to the last.
    pub growth: Vec<GrowthPoint>,
}

/// What an estimate of distinct patterns is least sure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Doubt {
    /// The documents that were observed: they differ, and others would have told something else.
    Documents,
    /// In how many other documents the patterns stand that were observed.
    Repeats,
    /// How patterns grow beyond what was observed.
    Growth,
}

/// A point of a growth curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GrowthPoint {
    /// Learn calls.
    pub learns: f64,
    /// Distinct patterns among them.
    pub distinct_patterns: Figure,
}

impl StorageBreakdown {
    /// Adds up the levels; `fixed_bytes` is what the store takes beside them.
    pub(crate) fn from_levels(
        engine: &str,
        target: Target,
        extrapolation: f64,
        level_estimates: Vec<LevelEstimate>,
        fixed_bytes: f64,
        confidence: f64,
    ) -> Self {
        let sum = |which: fn(&LevelEstimate) -> &Figure| {
            Figure::sum(level_estimates.iter().map(which), confidence)
        };
        let mut bytes = sum(|level| &level.bytes);
        // Added to both ends as well, so that they stay around the value.
        bytes.value += fixed_bytes;
        bytes.low += fixed_bytes;
        bytes.high += fixed_bytes;
        Self {
            schema: SCHEMA,
            engine: engine.to_owned(),
            target,
            extrapolation,
            total_learns: sum(|level| &level.learns),
            total_patterns: sum(|level| &level.distinct_patterns),
            bytes,
            level_estimates,
            merged: 0.0,
        }
    }

    /// Sets how often what is learned is written once more.
    pub(crate) fn with_merged(mut self, merged: f64) -> Self {
        self.merged = merged;
        self
    }

    /// Sets the bytes of the whole to those that experience with earlier estimates makes of them, and
    /// those of the levels in proportion.
    pub fn correct_bytes(&mut self, corrected: Interval) {
        let share = |corrected: f64, estimated: f64| match estimated > 0.0 {
            true => corrected / estimated,
            false => 1.0,
        };
        for level in &mut self.level_estimates {
            level.bytes.value *= share(corrected.value, self.bytes.value);
            level.bytes.low *= share(corrected.low, self.bytes.low);
            level.bytes.high *= share(corrected.high, self.bytes.high);
        }
        self.bytes.value = corrected.value;
        self.bytes.low = corrected.low;
        self.bytes.high = corrected.high;
    }

    /// Returns the stored form: JSON, indented.
    #[must_use]
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Json`] when it is something else, or of another version.
    pub fn from_json(json: &str) -> Result<Self, EstimateError> {
        check_schema(json, SCHEMA)?;
        Ok(serde_json::from_str(json)?)
    }
}

/// Returns the breakdown as indented JSON.
fn json(breakdown: &StorageBreakdown) -> String {
    // Writing to a string fails for keys that are no text and for types that refuse. Here keys are
    // names or integers, which become text, and all types are derived.
    serde_json::to_string_pretty(breakdown).expect("a breakdown is plain data")
}

impl fmt::Display for StorageBreakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [
            (self.target.samples, "document", ""),
            (self.target.text_bytes, "byte", " of text"),
            (self.target.tokens, "token", ""),
        ];
        let known: Vec<String> = sizes
            .iter()
            .filter_map(|(size, one, of)| size.map(|size| format!("{}{of}", counted(size, one))))
            .collect();
        write!(f, "{} in {}", known.join(", "), self.engine)?;
        writeln!(f, "; {:.1} times what was observed", self.extrapolation)?;
        writeln!(
            f,
            "{:<8} {:>6}  {:<36}  {:<36}  {:<22}  size",
            "level", "chunk", "learn calls", "distinct patterns", "repeats"
        )?;
        for level in &self.level_estimates {
            writeln!(
                f,
                "{:<8} {:>6}  {:<36}  {:<36}  {:<22}  {}",
                level.node,
                level.chunk_size,
                shown(&level.learns, grouped),
                shown(&level.distinct_patterns, grouped),
                shown(&level.dedup_share, |share| format!(
                    "{:.2} %",
                    share * 100.0
                )),
                shown(&level.bytes, bytes),
            )?;
        }
        writeln!(
            f,
            "{:<8} {:>6}  {:<36}  {:<36}  {:<22}  {}",
            "all",
            "",
            shown(&self.total_learns, grouped),
            shown(&self.total_patterns, grouped),
            "",
            shown(&self.bytes, bytes),
        )?;
        write!(
            f,
            "In parentheses: intervals for {:.0} % of cases.",
            self.bytes.confidence * 100.0
        )
    }
}

/// Returns a figure as text, with its interval in parentheses.
fn shown(figure: &Figure, show: impl Fn(f64) -> String) -> String {
    let [value, low, high] = [figure.value, figure.low, figure.high].map(show);
    format!("{value} ({low}–{high})")
}

/// Returns a number as text, rounded to a whole one, with commas.
fn grouped(value: f64) -> String {
    kato_advice::grouped(value.round_ties_even() as u64)
}
