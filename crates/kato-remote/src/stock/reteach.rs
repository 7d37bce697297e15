//! Teaching new nodes what another run has learned, from that run's store.
//!
//! The store of the new run is a copy of the other one from the beginning, and its position as well:
//! what follows is training. Until its nodes are taught, nothing of the store counts as known, and
//! its patterns are works like others, under numbers that no document has.

use std::sync::atomic::Ordering;

use futures_util::future::try_join_all;
use kato_client::LearnSession;
use kato_protocol::extension::BatchItem;
use kato_scheduler::TrainError;
use kato_scheduler::activity::Activity;
use kato_store::{PatternStore as _, StoredPattern};
use serde_json::{Map, Value};

use super::journal::WorkKey;
use super::{Item, Stock};
use crate::RemoteError;
use crate::error::teach;

/// The number of the first work, above those of all documents.
pub(crate) const FIRST_WORK: u64 = 1 << 63;

/// Learn calls of a work at least, but for the last one.
const WORK: usize = 256;

impl Stock {
    /// Teaches the nodes all that is in the store.
    pub(super) async fn reteach(&self, chunk_sizes: &[usize]) -> Result<(), RemoteError> {
        let levels = chunk_sizes.iter().enumerate();
        let taught = levels.map(|(level_idx, size)| self.reteach_level(level_idx, *size));
        try_join_all(taught).await.map(drop)
    }

    async fn reteach_level(&self, level_idx: usize, chunk_size: usize) -> Result<(), RemoteError> {
        let level = &self.levels[level_idx];
        let session = level.client.learn_session(chunk_size).await;
        let mut session = session.map_err(|error| teach(&level.client, error))?;
        let mut work = FIRST_WORK;
        let mut items = Vec::new();
        let mut patterns = self.store.scan(level_idx).map_err(TrainError::Store)?;
        // In the order of names, which is the same after a crash.
        while let Some(pattern) = patterns.next().transpose().map_err(TrainError::Store)? {
            append(&pattern, &mut items);
            if items.len() >= WORK {
                self.teach_all(&mut session, (work, level_idx), &items)
                    .await?;
                work += 1;
                items.clear();
            }
        }
        if !items.is_empty() {
            self.teach_all(&mut session, (work, level_idx), &items)
                .await?;
        }
        session.close().await;
        Ok(())
    }

    /// Teaches a work, or says that the run was interrupted before all of it was taught.
    async fn teach_all(
        &self,
        session: &mut LearnSession,
        key: WorkKey,
        items: &[Item],
    ) -> Result<(), RemoteError> {
        // Nobody looks at it: what is waited for is told by the worker that waits for all levels.
        let activity = Activity::default();
        match self.teach(session, key, items, &activity).await? {
            true => Ok(()),
            false => Err(RemoteError::Interrupted {
                run: self.levels[key.1].client.node_id().to_owned(),
            }),
        }
    }

    /// Returns whether the nodes are still to be taught what is in the store.
    pub(super) fn is_reteaching(&self) -> bool {
        self.reteaching.load(Ordering::Acquire)
    }

    /// Counts what is in the store as known from now on.
    pub(crate) fn end_reteaching(&self) -> Result<(), RemoteError> {
        let mut ledger = self.ledger();
        self.reteaching.store(false, Ordering::Release);
        ledger.journal.forget_from(FIRST_WORK)
    }
}

/// Appends the learn calls that make a pattern what it is.
fn append(pattern: &StoredPattern, items: &mut Vec<Item>) {
    let events = pattern.symbols_by_event();
    let events: Vec<Vec<String>> = events
        .map(|event| event.iter().map(ToString::to_string).collect())
        .collect();
    let frequency = usize::try_from(pattern.frequency).unwrap_or(usize::MAX);
    for call in 0..frequency {
        // A learn call brings one value of a key; no key has more values than there were calls.
        let metadata: Map<String, Value> = pattern
            .metadata
            .iter()
            .filter_map(|(key, values)| {
                let value = values.iter().nth(call)?;
                Some((key.to_owned(), Value::from(value.clone())))
            })
            .collect();
        let item = BatchItem {
            events: events.clone(),
            metadata,
            ..BatchItem::default()
        };
        items.push(Item {
            name: pattern.name,
            item,
        });
    }
}
