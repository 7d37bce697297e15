//! Learn calls that a kill has torn in two.
//!
//! A KATO of generation 3.10 learns a new pattern in steps: its Redis counts the pattern, then
//! ClickHouse gets its row, and the symbols are counted. Killed in between, it counts a pattern that
//! no request sees, or of which the symbols are not counted; learned again, the pattern is none that
//! is new, so that it gets no row any more. No request mends that. It is found right after a learn
//! call was sent again, or by the counts of symbols, and the run says so.

use std::time::Instant;

use kato_model::PatternName;

use super::settle::patterns;
use super::{Stock, TornLearns};
use crate::RemoteError;
use crate::error::lost;

/// Patterns that are asked for after one doubt at most.
const ASKED: usize = 64;

/// Looks while a new pattern may be invisible.
const LOOKS: u32 = 8;

impl Stock {
    /// Returns whether the server learns in steps that a kill can tear apart.
    pub(super) fn can_tear(&self) -> bool {
        self.generation.keeps_sessions_apart()
    }

    /// Notes patterns that were missing after an answer was lost: once they are learned again, they
    /// must be known.
    pub(super) fn suspect(&self, level_idx: usize, names: impl IntoIterator<Item = PatternName>) {
        self.levels[level_idx].suspected().extend(names);
    }

    /// Asks for those of the patterns, which the server has just learned, that were suspected.
    pub(super) async fn confirm(
        &self,
        level_idx: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        let mut asked: Vec<PatternName> = {
            let mut suspected = level.suspected();
            let names = names.into_iter().filter(|name| suspected.remove(name));
            names.take(ASKED).collect()
        };
        let torn = self.ledger().journal.torn(level_idx).clone();
        asked.retain(|name| !torn.contains(name));
        let start = Instant::now();
        loop {
            if asked.is_empty() {
                return Ok(());
            }
            // Before the question: an answer that takes long may be older than the settling time.
            let is_last = start.elapsed() >= self.settings.settle;
            let found = patterns(level, asked).await?.into_iter();
            let missing = found.filter(|(_, pattern)| pattern.is_none());
            asked = missing.map(|(name, _)| name).collect();
            if is_last {
                break;
            }
            tokio::time::sleep(self.settings.settle / LOOKS).await;
        }
        if asked.is_empty() {
            return Ok(());
        }
        // Patterns that are certainly known must be there, or the database is away, or has lost
        // them. Once they are, the question is asked for the last time.
        self.control(level_idx).await?;
        let found = patterns(level, asked).await?.into_iter();
        let missing = found.filter(|(_, pattern)| pattern.is_none());
        let asked: Vec<PatternName> = missing.map(|(name, _)| name).collect();
        if asked.is_empty() {
            return Ok(());
        }
        if self.can_tear() {
            return self.tear(level_idx, asked);
        }
        let unknown = |name: &PatternName| format!("pattern {name} was learned and is not known");
        Err(lost(&level.client, asked.iter().map(unknown).collect()))
    }

    /// Notes learn calls that are torn in two, tells them, and ends the run where it is to end.
    pub(super) fn tear(
        &self,
        level_idx: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<(), RemoteError> {
        let node = self.levels[level_idx].client.node_id();
        let torn = self.ledger().journal.tear(level_idx, names)?;
        for name in &torn {
            tracing::warn!(node, %name, "a learn call was torn in two");
            self.tell(format!(
                "the server died in the middle of a learn call: pattern {name} of node {node} is counted in part, and no request mends that"
            ));
        }
        self.refuse_torn(level_idx)
    }

    /// Ends the run if learn calls of a node are torn, unless it is to go on without them.
    pub(super) fn refuse_torn(&self, level_idx: usize) -> Result<(), RemoteError> {
        let ledger = self.ledger();
        let torn = ledger.journal.torn(level_idx);
        if torn.is_empty() || self.settings.torn_learns == TornLearns::Keep {
            return Ok(());
        }
        Err(RemoteError::Torn {
            node: self.levels[level_idx].client.node_id().to_owned(),
            patterns: torn.iter().copied().collect(),
        })
    }

    /// Returns the patterns whose learn calls are torn, with their level.
    pub(crate) fn torn(&self) -> Vec<(usize, PatternName)> {
        let ledger = self.ledger();
        let levels = 0..self.levels.len();
        let of_level = |level| {
            let torn = ledger.journal.torn(level).iter();
            torn.map(|name| (level, *name)).collect::<Vec<_>>()
        };
        levels.flat_map(of_level).collect()
    }
}
