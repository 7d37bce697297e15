//! The recommendation of the Python original: a formula over a rate that nobody has measured, kept
//! for comparison.

use serde::Serialize;

use crate::error::{above_zero, at_least_zero};
use crate::{Catalogue, PlanError};

/// Prices and sizes of the original.
const MEMORY_GB: [f64; 6] = [16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
const STORAGE_GB: [f64; 5] = [500.0, 1000.0, 2000.0, 4000.0, 8000.0];
const MEMORY_USD_A_GB: f64 = 5.0;
const STORAGE_USD_A_GB: f64 = 0.10;
const REST_USD: f64 = 500.0;
const MOST_CLOUD: usize = 5;

/// What is asked of the original's formula.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LegacyRequest {
    /// Samples to train.
    pub samples: f64,
    /// Hours for them.
    pub hours: f64,
    /// Money, in USD.
    pub budget_usd: f64,
    /// Samples a second of four cores; the original takes 44, and 0.45 of that for a slow machine.
    pub baseline: f64,
    /// Storage of a million samples, in GB.
    pub gb_a_million: f64,
}

impl LegacyRequest {
    /// Creates a request with the original's defaults.
    #[must_use]
    pub fn new(samples: f64, hours: f64) -> Self {
        Self {
            samples,
            hours,
            budget_usd: 10_000.0,
            baseline: 44.0,
            gb_a_million: 10.0,
        }
    }

    /// Sets the money.
    #[must_use]
    pub fn with_budget(mut self, usd: f64) -> Self {
        self.budget_usd = usd;
        self
    }

    /// Sets the samples a second of four cores.
    #[must_use]
    pub fn with_baseline(mut self, samples_a_second: f64) -> Self {
        self.baseline = samples_a_second;
        self
    }
}

/// What the original's formula recommends.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LegacyRecommendation {
    /// Samples a second that are needed.
    pub required_rate: f64,
    /// Cores.
    pub cores: u64,
    /// Memory, in GB.
    pub memory_gb: f64,
    /// Storage, in GB.
    pub storage_gb: f64,
    /// The processor of the machine to buy.
    pub processor: String,
    /// The price of that machine, in USD.
    pub usd: f64,
    /// Samples a second that it is said to reach.
    pub rate: f64,
    /// Hours that it is said to take.
    pub hours: f64,
    /// Whether that is at most 1.1 times the hours asked for.
    pub meets_deadline: bool,
    /// Machines to rent instead, the cheapest first, with the price for the hours asked for.
    pub cloud: Vec<(String, f64)>,
    /// What does not fit.
    pub warnings: Vec<String>,
}

/// Recommends as the original does.
///
/// Where it crashes (above 512 GB of memory) or is silent (above 8,000 GB of storage), sizes go on
/// in multiples of the largest, with a warning.
///
/// # Errors
///
/// [`PlanError::Value`] for hours and rates that are not above 0, and other numbers that are none.
///
/// ```
/// use kato_planner::legacy::{LegacyRequest, recommend};
///
/// // Recorded from the original, with the rate that it takes for a slow machine.
/// let request = LegacyRequest::new(100e6, 48.0).with_baseline(44.0 * 0.45);
/// let answer = recommend(&request)?;
/// assert_eq!((answer.cores, answer.memory_gb, answer.storage_gb), (74, 128.0, 1000.0));
/// assert_eq!((answer.processor.as_str(), answer.usd), ("AMD EPYC 7763", 8440.0));
/// # Ok::<(), kato_planner::PlanError>(())
/// ```
pub fn recommend(request: &LegacyRequest) -> Result<LegacyRecommendation, PlanError> {
    let samples = at_least_zero("samples", request.samples)?;
    let hours = above_zero("hours", request.hours)?;
    let baseline = above_zero("baseline", request.baseline)?;
    let budget = at_least_zero("budget", request.budget_usd)?;
    let millions = samples / 1e6;
    let storage = at_least_zero("gb_a_million", request.gb_a_million)? * millions;
    let mut warnings = Vec::new();

    let required_rate = samples / (hours * 3600.0);
    let times = required_rate / baseline;
    let cores = match times {
        ..=1.0 => 4.0,
        ..=4.0 => (4.0 * times).floor(),
        ..=8.0 => 16.0 + (4.0 * (times - 4.0)).floor(),
        _ => {
            warnings.push(format!(
                "{times:.1} times the baseline: more than 8 times is hard to reach"
            ));
            32.0 + (2.0 * (times - 8.0)).floor()
        }
    };
    let memory_gb = rounded(
        2.0 + 0.1 * cores + millions,
        &MEMORY_GB,
        "memory",
        &mut warnings,
    );
    let storage_gb = rounded(storage, &STORAGE_GB, "storage", &mut warnings);

    let catalogue = Catalogue::builtin();
    let mut processors = catalogue.processors;
    processors.sort_by(|a, b| a.usd.total_cmp(&b.usd));
    let enough = processors
        .iter()
        .find(|processor| processor.cores as f64 >= cores);
    let largest = processors.iter().max_by_key(|processor| processor.cores);
    if enough.is_none() {
        warnings.push(format!("no processor has {cores} cores"));
    }
    let processor = enough.or(largest).ok_or_else(|| PlanError::Catalogue {
        reason: "it has no processor".to_owned(),
    })?;
    let usd =
        processor.usd + memory_gb * MEMORY_USD_A_GB + storage_gb * STORAGE_USD_A_GB + REST_USD;
    if usd > budget {
        warnings.push(format!(
            "{usd:.0} USD are more than the budget of {budget:.0} USD"
        ));
    }
    let rate = baseline * processor.cores as f64 / 4.0;
    let takes = samples / rate / 3600.0;
    let meets_deadline = takes <= 1.1 * hours;
    if !meets_deadline {
        warnings.push(format!(
            "{takes:.1} h are more than the {hours:.1} h asked for"
        ));
    }
    let mut cloud: Vec<(String, f64)> = catalogue
        .machines
        .iter()
        .filter(|machine| machine.threads as f64 >= cores && machine.memory_gb >= memory_gb)
        .map(|machine| (machine.name.clone(), machine.usd_an_hour * hours))
        .collect();
    cloud.sort_by(|a, b| a.1.total_cmp(&b.1));
    cloud.truncate(MOST_CLOUD);
    Ok(LegacyRecommendation {
        required_rate,
        // A cast ends at the largest number.
        cores: cores as u64,
        memory_gb,
        storage_gb,
        processor: processor.name.clone(),
        usd,
        rate,
        hours: takes,
        meets_deadline,
        cloud,
        warnings,
    })
}

/// Rounds up to one of the sizes, or to a multiple of the largest.
fn rounded(wanted: f64, sizes: &[f64], what: &str, warnings: &mut Vec<String>) -> f64 {
    if let Some(&size) = sizes.iter().find(|&&size| size >= wanted) {
        return size;
    }
    let largest = sizes.last().copied().unwrap_or(1.0);
    warnings.push(format!(
        "{wanted:.0} GB of {what} are more than the {largest:.0} GB of one machine"
    ));
    (wanted / largest).ceil() * largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_case_comes_out_as_recorded() {
        let answer = recommend(&LegacyRequest::new(100e6, 48.0).with_baseline(19.8)).unwrap();
        assert_eq!((answer.required_rate * 10.0).round() / 10.0, 578.7);
        assert_eq!((answer.rate * 10.0).round() / 10.0, 316.8);
        assert_eq!((answer.hours * 10.0).round() / 10.0, 87.7);
        assert_eq!(answer.warnings.len(), 3, "{:?}", answer.warnings);
        assert!(!answer.meets_deadline && answer.cloud.is_empty());
    }

    #[test]
    fn where_the_original_crashes_there_is_an_answer() {
        let answer = recommend(&LegacyRequest::new(1e12, 1.0)).unwrap();
        assert!(answer.memory_gb >= 1e6 && answer.storage_gb >= 1e7);
        assert!(recommend(&LegacyRequest::new(1e6, 0.0)).is_err());
        assert!(recommend(&LegacyRequest::new(f64::NAN, 1.0)).is_err());
        let nothing = recommend(&LegacyRequest::new(0.0, 1.0)).unwrap();
        assert_eq!(
            (nothing.cores, nothing.hours, nothing.meets_deadline),
            (4, 0.0, true)
        );
    }
}
