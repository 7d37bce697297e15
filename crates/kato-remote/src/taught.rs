//! What a server without idempotency keys was taught: a store of our own beside the run's state, and what follows from it.
//!
//! A crash leaves work behind that was sent and is in no commit. Names are functions of content and frequencies are sums, so what
//! became of such work can be asked: of each pattern the server must know as many learn calls as were committed, and what it
//! knows beyond that is work that arrived. The rest is sent; what arrived is not sent again.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use kato_client::{ClientError, KatoClient};
use kato_model::PatternName;
use kato_protocol::BatchItem;
use kato_scheduler::{Checkpoint, TrainError};
use kato_store::{EmbeddedStore, PatternStore, StagedBatch};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::reserve::Reservation;

/// Questions that are under way at a time.
const QUESTIONS: usize = 16;

/// A learn call with its pattern's name.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) name: PatternName,
    pub(crate) item: BatchItem,
}

/// What the server was taught, up to the last commit, and what it may know beyond that.
#[derive(Debug)]
pub(crate) struct Taught {
    store: EmbeddedStore,
    reservation: Reservation,
    /// Documents before this number are in doubt, unless they are committed.
    doubt_end: u64,
    n_committed: AtomicU64,
    settle: Duration,
    is_settled: Mutex<bool>,
    /// Learn calls of patterns that arrived and are in no commit; of every pattern that this session asked about.
    arrived: Mutex<HashMap<(usize, PatternName), Arrived>>,
}

/// What the server knows of a pattern beyond what is committed.
#[derive(Debug)]
struct Arrived {
    /// Learn calls.
    n: u64,
    /// All metadata of the pattern.
    metadata: BTreeMap<String, Vec<String>>,
}

impl Arrived {
    /// Whether a learn call may be among those that arrived: then all its metadata is there. Two such calls of one pattern are the same to
    /// the server, so it does not matter which of them is left out.
    fn may_hold(&self, item: &BatchItem) -> bool {
        let holds = |(key, value): (&String, &Value)| {
            let known = self.metadata.get(key);
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            known.is_some_and(|known| known.contains(&value))
        };
        self.n > 0 && item.metadata.iter().all(holds)
    }
}

impl Taught {
    /// Opens the store of a run, or makes it.
    pub(crate) fn open(
        dir: &Path,
        nodes: &[String],
        configuration: &Value,
        reservation: Reservation,
        settle: Duration,
    ) -> Result<Self, TrainError> {
        let store = match EmbeddedStore::exists(dir) {
            true => EmbeddedStore::open(dir),
            false => EmbeddedStore::create(dir, nodes, configuration.clone()),
        };
        Ok(Self {
            store: store.map_err(TrainError::Store)?,
            doubt_end: reservation.end(),
            reservation,
            n_committed: AtomicU64::new(0),
            settle,
            is_settled: Mutex::default(),
            arrived: Mutex::default(),
        })
    }

    /// The run's state as of the last commit; `null` before the first.
    pub(crate) fn state(&self) -> Value {
        self.store.checkpoint()
    }

    pub(crate) fn store(&self) -> &dyn PatternStore {
        &self.store
    }

    /// Whether some documents that are not committed may have been sent by an earlier session.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.n_committed.load(Ordering::Acquire) < self.doubt_end
    }

    /// Waits until the server is done with what a process before this one may have sent.
    pub(crate) async fn settle(&self) {
        let mut is_settled = self.is_settled.lock().await;
        if self.is_in_doubt() && !*is_settled {
            tokio::time::sleep(self.settle).await;
        }
        *is_settled = true;
    }

    /// Told the checkpoint of the run's last commit; `null` before the first.
    ///
    /// # Errors
    ///
    /// When the checkpoint cannot be read or the reservation cannot be written.
    pub(crate) fn committed(&self, checkpoint: &Value) -> Result<(), TrainError> {
        let checkpoint = Checkpoint::from_json(checkpoint)?;
        let n_documents = checkpoint.map_or(0, |checkpoint| checkpoint.cursor.documents());
        self.n_committed.store(n_documents, Ordering::Release);
        self.reservation.committed(n_documents)
    }

    /// Makes sure that a crash from now on knows that documents up to a number may have been sent.
    pub(crate) fn reserve(&self, end: u64) -> Result<(), TrainError> {
        self.reservation.extend(end)
    }

    /// Commits what was taught together with the run's state.
    pub(crate) fn commit(&self, staged: Vec<StagedBatch>, state: Value) -> Result<(), TrainError> {
        self.store.commit(staged, state).map_err(TrainError::Store)
    }

    /// Leaves out of `items` what has arrived already, if their documents are in doubt. As long as any are, the server is asked about
    /// every pattern before this session first sends it: afterwards nobody could tell whose learn calls it knows.
    pub(crate) async fn leave_out_arrived(
        &self,
        client: &KatoClient,
        node_idx: usize,
        first_document: u64,
        items: &mut Vec<Item>,
    ) -> Result<(), TrainError> {
        let mut arrived = self.arrived.lock().await;
        let mut unknown: Vec<PatternName> = items
            .iter()
            .map(|item| item.name)
            .filter(|name| !arrived.contains_key(&(node_idx, *name)))
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        for names in unknown.chunks(QUESTIONS) {
            let questions = names.iter().map(|name| self.ask(client, node_idx, *name));
            for (name, found) in try_join_all(questions).await? {
                arrived.insert((node_idx, name), found);
            }
        }
        if first_document >= self.doubt_end {
            return Ok(());
        }
        items.retain(|Item { name, item }| {
            let Some(arrived) = arrived.get_mut(&(node_idx, *name)) else {
                return true;
            };
            let is_there = arrived.may_hold(item);
            arrived.n -= u64::from(is_there);
            !is_there
        });
        Ok(())
    }

    /// Learn calls of a pattern that the server knows and no commit holds.
    async fn ask(
        &self,
        client: &KatoClient,
        node_idx: usize,
        name: PatternName,
    ) -> Result<(PatternName, Arrived), TrainError> {
        let teach = |source: Box<dyn std::error::Error + Send + Sync>| TrainError::Teach {
            node: client.node_id().to_owned(),
            source,
        };
        let found = client
            .pattern(&name)
            .await
            .map_err(|error: ClientError| teach(error.into()))?;
        let (known, metadata) = found.map_or_else(Default::default, |pattern| {
            (pattern.frequency, pattern.metadata)
        });
        let committed = self
            .store
            .pattern(node_idx, &name)
            .map_err(TrainError::Store)?;
        let taught = committed.map_or(0, |pattern| pattern.frequency);
        match known.checked_sub(taught) {
            Some(n) => Ok((name, Arrived { n, metadata })),
            None => Err(teach(
                format!(
                    "the server knows {known} learn calls of pattern {name} and was taught {taught}: it was cleared or has lost data; \
                     begin a new run"
                )
                .into(),
            )),
        }
    }
}
