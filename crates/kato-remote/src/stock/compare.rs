//! Comparisons of what the nodes know with what they were taught.
//!
//! A real KATO loses what it has learned: its Redis keeps nothing over a restart unless it is told
//! to, evicts keys when memory is short, and nobody is told. What a node must know is known here. It
//! is compared
//!
//! * at the end of the run, exactly if the nodes were new to it: more than was taught is none of
//!   its;
//! * when the run is resumed, after every lost session, and now and then in between: at least what
//!   was taught must be there, as learning goes on meanwhile;
//! * before a pattern is taken to be missing because an answer was lost: patterns that are certainly
//!   known tell whether the database is there at all.
//!
//! A server of generation 3.10 tells the counts of all symbols in one request. They change with every
//! learn call, so that a loss shows there; what they do not show is a pattern of which only its
//! frequency or its row is gone. For that, and on a server of 2025-10 for everything, some patterns
//! are asked for: those that were taught first, over the time of the run and last, those that were in
//! doubt, and in the end a share of all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kato_advice::counted;
use kato_client::ClientError;
use kato_model::PatternName;
use kato_protocol::node::PatternBody;
use kato_scheduler::TrainError;
use kato_store::PatternStore as _;

use super::choice::{Choice, spread};
use super::settle::{Control, patterns};
use super::symbols::{Expected, MOST_TORN};
use super::{Level, Stock};
use crate::RemoteError;
use crate::error::{lost, miscounted, teach};

/// Comparisons during the settling time.
const LOOKS: u32 = 4;

/// Patterns of each kind that a comparison on the way asks for at most.
const ASKED: usize = 16;

/// Patterns of each kind that a control asks for at most.
const CONTROLS: usize = 4;

/// The time of a comparison on the way, as a part of all time, is one in so many.
const SHARE: u32 = 50;

/// The last comparison of a node on the way.
#[derive(Debug)]
pub(super) struct LastCheck {
    began: Instant,
    took: Duration,
}

impl LastCheck {
    /// Starts as if a comparison had just been made.
    pub(super) fn now() -> Self {
        Self {
            began: Instant::now(),
            took: Duration::ZERO,
        }
    }
}

/// How a count is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    /// There must be as much at least.
    AtLeast,
    /// There must be as much.
    Exactly,
}

impl Stock {
    /// Checks that a node still knows what it was taught, unless that was done since a session was
    /// in use for the last time.
    pub(super) async fn check_since(
        &self,
        level_idx: usize,
        since: Instant,
    ) -> Result<(), RemoteError> {
        let mut last = self.levels[level_idx].last_check.lock().await;
        if last.began > since {
            return Ok(());
        }
        self.check(level_idx, &mut last).await
    }

    /// Checks that a node still knows what it was taught, if it is time for that.
    pub(super) async fn check_in_between(&self, level_idx: usize) -> Result<(), RemoteError> {
        // Whoever comes while another checks has nothing to do.
        let Ok(mut last) = self.levels[level_idx].last_check.try_lock() else {
            return Ok(());
        };
        let pause = self.settings.check_interval.max(last.took * SHARE);
        if last.began.elapsed() < pause {
            return Ok(());
        }
        self.check(level_idx, &mut last).await
    }

    /// Checks that a node still knows what it was taught.
    async fn check(&self, level_idx: usize, last: &mut LastCheck) -> Result<(), RemoteError> {
        self.counts.checks.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        self.compare_symbols(level_idx, Against::AtLeast).await?;
        let names = self.landmarks(level_idx, ASKED)?;
        self.check_patterns(level_idx, names).await?;
        *last = LastCheck {
            began,
            took: began.elapsed(),
        };
        Ok(())
    }

    /// Checks that a node knows some patterns that it certainly knew, so that one that it does not
    /// know is missing and not out of reach.
    pub(super) async fn control(&self, level_idx: usize) -> Result<(), RemoteError> {
        let names = self.landmarks(level_idx, CONTROLS)?;
        self.check_patterns(level_idx, names).await
    }

    /// Compares all nodes with what they were taught, at the end of a run.
    ///
    /// # Errors
    ///
    /// When something differs, and still does after the settling time; it is compared again when
    /// the run is resumed.
    pub(crate) async fn compare(&self) -> Result<(), RemoteError> {
        let against = match self.settings.onto_taught {
            true => Against::AtLeast,
            false => Against::Exactly,
        };
        for level_idx in 0..self.levels.len() {
            let names = self.sample(level_idx)?;
            let n = names.len() as u64;
            self.counts.compared.fetch_add(n, Ordering::Relaxed);
            self.compare_patterns(level_idx, names, against).await?;
            self.compare_symbols(level_idx, against).await?;
        }
        // Forgotten only here: what differs is found again when the run is resumed.
        self.ledger().journal.compared()
    }

    /// Returns patterns that a node certainly knows: the first that it was taught, some over the
    /// time of the run, and the last, so many of each kind.
    fn landmarks(&self, level_idx: usize, n: usize) -> Result<Vec<PatternName>, RemoteError> {
        let mut names = BTreeSet::new();
        {
            let ledger = self.ledger();
            let over_time = ledger.journal.landmarks(level_idx);
            names.extend(over_time.iter().take(1));
            names.extend(spread(over_time, n / 2));
            names.extend(self.levels[level_idx].recent().iter().rev().take(n));
            if names.len() < n {
                // What a process before this one has sent and not committed.
                let arrived = ledger.journal.arrived(level_idx, ledger.committed);
                let mut arrived: Vec<PatternName> = arrived.into_keys().collect();
                arrived.sort_unstable();
                names.extend(spread(&arrived, n));
            }
            // What was in doubt is not certainly known.
            let doubted = ledger.journal.doubted().get(&level_idx);
            let torn = ledger.journal.torn(level_idx);
            for name in doubted.into_iter().flatten().chain(torn) {
                names.remove(name);
            }
        }
        if names.is_empty() && !self.is_reteaching() {
            let doubted = self.doubted(level_idx);
            let mut all = self.scan(level_idx)?;
            let certain = all.find(|pattern| {
                let name = pattern.as_ref().map(|(name, _)| name);
                name.map_or(true, |name| !doubted.contains(name))
            });
            names.extend(
                certain
                    .transpose()
                    .map_err(TrainError::Store)?
                    .map(|(name, _)| name),
            );
        }
        Ok(names.into_iter().collect())
    }

    /// Returns the patterns of a node that are compared in the end: those that were in doubt, some
    /// over the time of the run, and a share of all, those before others that were learned more than
    /// once.
    fn sample(&self, level_idx: usize) -> Result<Vec<PatternName>, RemoteError> {
        let mut names: BTreeSet<PatternName> = BTreeSet::new();
        {
            let ledger = self.ledger();
            names.extend(
                ledger
                    .journal
                    .doubted()
                    .get(&level_idx)
                    .into_iter()
                    .flatten(),
            );
            names.extend(ledger.journal.landmarks(level_idx));
        }
        let frequency = |pattern: Result<(PatternName, u64), _>| pattern.map(|(_, n)| n);
        let frequencies = self.scan(level_idx)?.map(frequency);
        let choice = Choice::of(frequencies, self.settings.compares_all);
        let mut choice = choice.map_err(TrainError::Store)?;
        // In the order of names, which are hashes: every so many is a sample of all times.
        for pattern in self.scan(level_idx)? {
            let (name, frequency) = pattern.map_err(TrainError::Store)?;
            if choice.takes(frequency) {
                names.insert(name);
            }
        }
        let torn = self.ledger().journal.torn(level_idx).clone();
        names.retain(|name| !torn.contains(name));
        Ok(names.into_iter().collect())
    }

    /// Scans the names and frequencies of what a node was taught, up to the last commit.
    fn scan(
        &self,
        level_idx: usize,
    ) -> Result<kato_store::contract::Scan<'_, (PatternName, u64)>, RemoteError> {
        let scan = self.store.scan_frequencies(level_idx);
        Ok(scan.map_err(TrainError::Store)?)
    }

    /// Checks that patterns are known as often as they are known to have been learned, and not more
    /// often than they can have been.
    async fn check_patterns(
        &self,
        level_idx: usize,
        names: Vec<PatternName>,
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        // Before the questions: what is learned meanwhile makes the answers larger.
        let known = self.known(level_idx, names.iter().copied())?;
        let answers = self.ask_all(level_idx, &known, names).await?;
        if self.settings.onto_taught {
            return Ok(());
        }
        for (name, answer) in answers {
            // Behind the questions, and what may arrive before what has: so it is never too few.
            let pending = {
                let ledger = self.ledger();
                ledger.journal.pending(level_idx, ledger.committed, name)
            };
            let before = known.get(&name).copied().unwrap_or(0);
            let now = self.known(level_idx, [name])?;
            let now = now.get(&name).copied().unwrap_or(0);
            let found = before + answer.excess;
            if found > now + pending {
                let calls = counted(found, "learn call");
                let difference = format!("{calls} of pattern {name} instead of {now}");
                return Err(miscounted(level.client.node_id(), vec![difference]));
            }
        }
        Ok(())
    }

    /// Compares patterns with what was taught up to the last commit.
    async fn compare_patterns(
        &self,
        level_idx: usize,
        names: Vec<PatternName>,
        against: Against,
    ) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        let start = Instant::now();
        let mut differing = names;
        let mut control = Control::default();
        loop {
            let taught = self.known(level_idx, differing.iter().copied())?;
            // Before the questions: answers that take long may be older than the settling time.
            let elapsed = start.elapsed();
            control.begin(level).await?;
            let found = patterns(level, differing).await?;
            let mut wrong: BTreeMap<PatternName, Option<PatternBody>> = BTreeMap::new();
            for (name, pattern) in found {
                control.note(name, pattern.is_some());
                if !self.is_as_taught(level_idx, name, pattern.as_ref(), &taught, against)? {
                    wrong.insert(name, pattern);
                }
            }
            if wrong.is_empty() {
                return Ok(());
            }
            // What was learned last may not show yet, and a database may be away.
            let is_any_known = control.end(level, elapsed >= self.settings.settle).await?;
            let patience = self.settings.patience_for(is_any_known);
            if elapsed >= patience {
                return self.judge(level_idx, &wrong, &taught);
            }
            tokio::time::sleep(self.settings.settle / LOOKS).await;
            differing = wrong.into_keys().collect();
        }
    }

    /// Returns whether a pattern is known as it was taught.
    fn is_as_taught(
        &self,
        level_idx: usize,
        name: PatternName,
        found: Option<&PatternBody>,
        taught: &HashMap<PatternName, u64>,
        against: Against,
    ) -> Result<bool, RemoteError> {
        let taught = taught.get(&name).copied().unwrap_or(0);
        let frequency = found.map_or(0, |pattern| pattern.frequency);
        if frequency < taught || (against == Against::Exactly && frequency > taught) {
            return Ok(false);
        }
        let Some(found) = found else {
            return Ok(true);
        };
        let pattern = self.store.pattern(level_idx, &name);
        let Some(pattern) = pattern.map_err(TrainError::Store)? else {
            return Ok(true);
        };
        let has = |key: &str, value: &String| {
            let values = found.metadata.get(key);
            values.is_some_and(|values| values.contains(value))
        };
        let mut taught = pattern.metadata.iter();
        Ok(taught.all(|(key, values)| values.iter().all(|value| has(key, value))))
    }

    /// Says what patterns mean that are not as they were taught.
    fn judge(
        &self,
        level_idx: usize,
        wrong: &BTreeMap<PatternName, Option<PatternBody>>,
        taught: &HashMap<PatternName, u64>,
    ) -> Result<(), RemoteError> {
        /// Differences that an error names at most.
        const NAMED: usize = 5;
        let level = &self.levels[level_idx];
        let taught = |name: &PatternName| taught.get(name).copied().unwrap_or(0);
        let doubted = self.doubted(level_idx);
        let is_torn = |(name, found): (&PatternName, &Option<PatternBody>)| {
            // Without its row, or without what comes behind that.
            let is_part = found
                .as_ref()
                .is_none_or(|found| found.frequency == taught(name));
            self.can_tear() && is_part && doubted.contains(name)
        };
        if wrong.iter().all(is_torn) {
            return self.tear(level_idx, wrong.keys().copied());
        }
        let difference = |(name, found): (&PatternName, &Option<PatternBody>)| {
            let taught = taught(name);
            match found {
                None => format!(
                    "pattern {name} is not known after {}",
                    counted(taught, "learn call")
                ),
                Some(found) if found.frequency == taught => {
                    format!("pattern {name} lacks metadata")
                }
                Some(found) => {
                    let calls = counted(found.frequency, "learn call");
                    format!("{calls} of pattern {name} instead of {taught}")
                }
            }
        };
        let mut differences: Vec<String> = wrong.iter().take(NAMED).map(difference).collect();
        if wrong.len() > NAMED {
            differences.push(format!("and {} more patterns", wrong.len() - NAMED));
        }
        let is_less = |(name, found): (&PatternName, &Option<PatternBody>)| {
            found
                .as_ref()
                .is_none_or(|found| found.frequency <= taught(name))
        };
        Err(match wrong.iter().any(is_less) {
            true => lost(&level.client, differences),
            false => miscounted(level.client.node_id(), differences),
        })
    }

    /// Compares the counts of a node's symbols.
    async fn compare_symbols(&self, level_idx: usize, against: Against) -> Result<(), RemoteError> {
        /// Symbols of a learn call at least.
        const FEWEST: u64 = 2;
        if !self.generation.keeps_sessions_apart() {
            return Ok(());
        }
        let level = &self.levels[level_idx];
        // First what is committed, then what has arrived since, then the question: whatever is
        // committed or learned meanwhile, it is no more than the server must know.
        let expected = match self.is_reteaching() {
            true => Expected::default(),
            false => Expected::of(&self.store, level_idx).map_err(TrainError::Store)?,
        };
        let arrived: u64 = {
            let ledger = self.ledger();
            let arrived = ledger.journal.arrived(level_idx, ledger.committed);
            arrived.into_values().sum()
        };
        let found = match level.client.symbols().await {
            Ok(found) => found.symbols,
            Err(error) if is_too_much(&error) && against == Against::AtLeast => {
                // Learning goes on; the end of the run is where it has to be known.
                self.tell(format!(
                    "the symbols of node {} could not be compared with what it was taught: {error}",
                    level.client.node_id()
                ));
                return Ok(());
            }
            Err(error) => return Err(teach(&level.client, error)),
        };
        let differences = expected.compare(&found, against == Against::Exactly);
        if differences.is_empty() {
            let total: u64 = found.values().map(|stats| stats.frequency).sum();
            let least = expected.occurrences() + FEWEST * arrived;
            // Symbols of learn calls that are torn may not be counted.
            let torn = self.doubted(level_idx).len().min(MOST_TORN) as u64;
            if total + FEWEST * torn >= least {
                return Ok(());
            }
            let difference =
                format!("it counts {total} occurrences of symbols and was taught {least} at least");
            return Err(lost(&level.client, vec![difference]));
        }
        let known_torn = self.ledger().journal.torn(level_idx).clone();
        let suspects = &self.doubted(level_idx) - &known_torn;
        let known_torn = self.with_symbols(level_idx, known_torn)?;
        let suspects = self.with_symbols(level_idx, suspects)?;
        if let Some(torn) = differences.explained_by(known_torn, suspects) {
            return self.tear(level_idx, torn);
        }
        let words = differences.in_words();
        Err(match differences.is_loss() {
            true => lost(&level.client, words),
            false => miscounted(level.client.node_id(), words),
        })
    }

    /// Returns patterns that a node was taught, with their symbols.
    fn with_symbols(
        &self,
        level_idx: usize,
        names: impl IntoIterator<Item = PatternName>,
    ) -> Result<Vec<(PatternName, Vec<kato_model::Symbol>)>, RemoteError> {
        let mut patterns = Vec::new();
        for name in names {
            let pattern = self.store.pattern(level_idx, &name);
            if let Some(pattern) = pattern.map_err(TrainError::Store)? {
                patterns.push((name, pattern.symbols));
            }
        }
        Ok(patterns)
    }

    /// Returns the patterns of a node that were in doubt.
    pub(super) fn doubted(&self, level_idx: usize) -> BTreeSet<PatternName> {
        let ledger = self.ledger();
        let doubted = ledger.journal.doubted().get(&level_idx);
        doubted.cloned().unwrap_or_default()
    }
}

/// Returns whether an answer was too large or too slow, which says nothing of what it holds.
const fn is_too_much(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::TooLong { .. } | ClientError::Timeout { .. }
    )
}

/// Keeps the patterns that a node was taught last.
pub(super) fn remember(level: &Level, names: impl IntoIterator<Item = PatternName>) {
    let mut recent = level.recent();
    recent.extend(names);
    let surplus = recent.len().saturating_sub(ASKED);
    recent.drain(..surplus);
}
