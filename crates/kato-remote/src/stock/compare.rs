//! The comparison at the end of a run in which something was in doubt: what the nodes know of it,
//! and what they were taught.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use kato_model::PatternName;

use super::settle::patterns;
use super::{Level, Stock};
use crate::RemoteError;

/// Differences that an error names at most.
const NAMED: usize = 5;

/// Comparisons during the settling time.
const LOOKS: u32 = 4;

impl Stock {
    /// Compares the counts of all patterns that were in doubt.
    ///
    /// # Errors
    ///
    /// When one differs, and still does after the settling time; it is compared again when the run
    /// is resumed.
    pub(crate) async fn compare(&self) -> Result<(), RemoteError> {
        // Cloned, because the ledger is not locked while the server is asked.
        let doubted = self.ledger().journal.doubted().clone();
        if doubted.is_empty() {
            return Ok(());
        }
        for (level_idx, names) in &doubted {
            let level = &self.levels[*level_idx];
            let n = names.len() as u64;
            self.counts.compared.fetch_add(n, Ordering::Relaxed);
            let expected = self.known(*level_idx, names.iter().copied())?;
            let mut differing: Vec<PatternName> = names.iter().copied().collect();
            let start = Instant::now();
            loop {
                let found = frequencies(level, differing).await?;
                let differs = |(name, n): &(PatternName, u64)| expected.get(name) != Some(n);
                let wrong: Vec<(PatternName, u64)> = found.into_iter().filter(differs).collect();
                if wrong.is_empty() {
                    break;
                }
                // What was learned last may not show yet.
                if start.elapsed() >= self.settings.settle {
                    return Err(miscounted(level, &wrong, &expected));
                }
                tokio::time::sleep(self.settings.settle / LOOKS).await;
                differing = wrong.into_iter().map(|(name, _)| name).collect();
            }
        }
        // Forgotten only here: what differs is found again when the run is resumed.
        self.ledger().journal.compared()
    }
}

/// Asks how often the server knows patterns; 0 for those that it does not know.
async fn frequencies(
    level: &Level,
    names: Vec<PatternName>,
) -> Result<Vec<(PatternName, u64)>, RemoteError> {
    let mut found: Vec<(PatternName, u64)> = patterns(level, names)
        .await?
        .into_iter()
        .map(|(name, pattern)| (name, pattern.map_or(0, |pattern| pattern.frequency)))
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// Creates the error that counts differ, with the first differences.
fn miscounted(
    level: &Level,
    wrong: &[(PatternName, u64)],
    expected: &HashMap<PatternName, u64>,
) -> RemoteError {
    let difference = |(name, found): &(PatternName, u64)| {
        let taught = expected.get(name).copied().unwrap_or(0);
        format!("{found} learn calls of pattern {name} instead of {taught}")
    };
    let mut differences: Vec<String> = wrong.iter().take(NAMED).map(difference).collect();
    if wrong.len() > NAMED {
        differences.push(format!("and {} more patterns", wrong.len() - NAMED));
    }
    RemoteError::Miscounted {
        node: level.client.node_id().to_owned(),
        differences,
    }
}
