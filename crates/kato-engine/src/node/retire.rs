//! Knowledge that is taken back: patterns that are retired, and purged.

use std::collections::{BTreeMap, HashSet};

use kato_model::{EmotiveMap, PatternName};
use kato_store::{Tombstone, Tombstones};
use serde::{Deserialize, Serialize};

use super::Node;
use crate::EngineError;

/// The outcome of [`Node::retire`]: every name once, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetireOutcome {
    /// Names that are retired from now on.
    pub retired: Vec<PatternName>,
    /// Names that were retired or purged before.
    pub already_retired: Vec<PatternName>,
}

/// The outcome of [`Node::unretire`]: every name once, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnretireOutcome {
    /// Names that may be predicted and learned again.
    pub un_retired: Vec<PatternName>,
    /// Names that were not retired.
    pub not_retired: Vec<PatternName>,
}

/// The outcome of [`Node::purge`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PurgeOutcome {
    /// Names whose patterns are gone, in name order, or as they were given.
    pub purged: Vec<PatternName>,
    /// Names that were left alone, each with the reason.
    pub failed: BTreeMap<PatternName, String>,
    /// Names that are retired and not purged.
    pub remaining: usize,
}

/// How a purge ended, as KATO says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PurgeStatus {
    /// There was nothing to remove.
    NothingToPurge,
    /// Some were left alone, or all.
    Partial,
    /// All that were chosen are gone, and one at least was not purged before.
    Completed,
}

impl RetireOutcome {
    /// Returns what retiring names comes to for a node with these tombstones, which become those of
    /// after it. For who writes down what is to be done before it is.
    pub fn of(tombstones: &mut Tombstones, names: &[PatternName]) -> Self {
        let mut outcome = Self::default();
        for name in distinct(names) {
            match tombstones.retire(name) {
                true => outcome.retired.push(name),
                false => outcome.already_retired.push(name),
            }
        }
        outcome
    }
}

impl UnretireOutcome {
    /// Returns what un-retiring names comes to; see [`RetireOutcome::of`].
    pub fn of(tombstones: &mut Tombstones, names: &[PatternName]) -> Self {
        let mut outcome = Self::default();
        for name in distinct(names) {
            match tombstones.raise(&name) {
                true => outcome.un_retired.push(name),
                false => outcome.not_retired.push(name),
            }
        }
        outcome
    }
}

impl PurgeOutcome {
    /// Returns what purging names comes to, or without names the first `most` retired ones; see
    /// [`RetireOutcome::of`].
    pub fn of(tombstones: &mut Tombstones, names: Option<&[PatternName]>, most: usize) -> Self {
        let mut outcome = Self::default();
        let chosen: Vec<PatternName> = match names {
            None => tombstones.unpurged().take(most).collect(),
            Some(names) => distinct(names).collect(),
        };
        for name in chosen {
            match tombstones.get(&name) {
                None => drop(outcome.failed.insert(name, NOT_RETIRED.to_owned())),
                Some(Tombstone::Purged) => {}
                Some(_) => outcome.purged.push(name),
            }
        }
        for &name in &outcome.purged {
            tombstones.purge(name);
        }
        outcome.remaining = tombstones.unpurged().count();
        outcome
    }

    /// Returns how it ended.
    #[must_use]
    pub fn status(&self) -> PurgeStatus {
        match (self.purged.is_empty(), self.failed.is_empty()) {
            (_, false) => PurgeStatus::Partial,
            (true, true) => PurgeStatus::NothingToPurge,
            (false, true) => PurgeStatus::Completed,
        }
    }
}

/// The reason why a name is not purged.
const NOT_RETIRED: &str = "not retired";

impl Node {
    /// Retires patterns, for all sessions: from now on no prediction shows them, and learning one is
    /// [refused](EngineError::Retired). All else that is known of them stays, their counts among it. A name
    /// need not be that of a pattern, which is then never learned.
    ///
    /// Durable at once where there is a store, beside its last commit: what was learned and not
    /// committed stays so. Whoever replays a journal should therefore commit first, since a lesson of
    /// a retired pattern is refused when it is replayed.
    ///
    /// ```
    /// use kato_engine::{Engine, EngineError};
    /// use kato_engine::node::Lesson;
    /// use kato_model::Event;
    ///
    /// let node = Engine::in_memory(&["node0"]).node("node0")?;
    /// let lesson = Lesson::new([["a"], ["b"]].map(Event::new));
    /// let name = node.teach(&lesson)?.name().ok_or("too short")?;
    /// node.retire(&[name])?;
    /// assert!(matches!(node.teach(&lesson), Err(EngineError::Retired { .. })));
    /// let purged = node.purge(None, 1000)?;
    /// assert_eq!((purged.purged, node.n_patterns()), (vec![name], 0));
    /// node.unretire(&[name])?;
    /// assert!(node.teach(&lesson).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`] when the store cannot keep it; then nothing is retired.
    pub fn retire(&self, names: &[PatternName]) -> Result<RetireOutcome, EngineError> {
        self.shared.change_tombstones(self.node_idx, |tombstones| {
            RetireOutcome::of(tombstones, names)
        })
    }

    /// Takes back that patterns are retired. What was purged meanwhile is still gone, and may be learned
    /// anew.
    ///
    /// # Errors
    ///
    /// As [`retire`](Self::retire).
    pub fn unretire(&self, names: &[PatternName]) -> Result<UnretireOutcome, EngineError> {
        self.shared.change_tombstones(self.node_idx, |tombstones| {
            UnretireOutcome::of(tombstones, names)
        })
    }

    /// Removes retired patterns with all that they taught: their counts, those of their symbols, their
    /// emotives and what those added to affinities, in memory and durably in the store, all or nothing.
    ///
    /// Without names the first `most` retired ones in name order. Names that are not retired are told in
    /// the outcome; those that were purged before are passed over. The tombstones stay: learning such a
    /// pattern is refused until it is [no longer retired](Self::unretire). What was
    /// [finalized](Self::finalize_training) is no more. An index on the disk passes over them from then on.
    ///
    /// Cost: that of looking each up and of a small commit. The store writes its segments again
    /// [later](kato_store::embedded::EmbeddedOptions::max_deleted_percent).
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`]; then nothing is purged. As [`predict`](Self::predict).
    pub fn purge(
        &self,
        names: Option<&[PatternName]>,
        most: usize,
    ) -> Result<PurgeOutcome, EngineError> {
        let turn = self.shared.turn();
        let mut tombstones = self.tombstones();
        let outcome = PurgeOutcome::of(&mut tombstones, names, most);
        if !outcome.purged.is_empty() {
            let ledgers = self.ledgers(&outcome.purged)?;
            turn.purge(self.node_idx, &tombstones, ledgers)?;
        }
        Ok(outcome)
    }

    /// Returns the tombstones of the node.
    #[must_use]
    pub fn tombstones(&self) -> Tombstones {
        self.cell().read().tombstones().clone()
    }

    /// Returns whether a pattern is retired or purged.
    #[must_use]
    pub fn is_retired(&self, name: &PatternName) -> bool {
        self.cell().read().tombstones().get(name).is_some()
    }

    /// Returns the number of distinct patterns, retired ones included.
    ///
    /// Waits for no other operation of the node.
    #[must_use]
    pub fn n_patterns(&self) -> u64 {
        self.totals().patterns
    }

    /// Returns for each pattern what its learns added to the affinity of each of its symbols.
    fn ledgers(
        &self,
        names: &[PatternName],
    ) -> Result<Vec<(PatternName, EmotiveMap)>, EngineError> {
        // Read first, so that an index that is found damaged is left before anything is purged.
        self.read_index(|_, index| names.iter().map(|name| index.frequency(name)).max())?;
        let mut ledgers = Vec::new();
        for &name in names {
            let mut ledger = self.cell().read().ledger(&name);
            if let Some(store) = self.shared.store() {
                let stored = store
                    .pattern(self.node_idx, &name)
                    .map_err(EngineError::store("read a pattern"))?;
                let stored = stored.map(|pattern| pattern.affinity).unwrap_or_default();
                kato_model::emotives::add_emotives(&mut ledger, &stored);
            }
            ledgers.push((name, ledger));
        }
        Ok(ledgers)
    }
}

/// Returns each name once, in order of first mention.
fn distinct(names: &[PatternName]) -> impl Iterator<Item = PatternName> {
    let mut seen = HashSet::new();
    names.iter().copied().filter(move |name| seen.insert(*name))
}
