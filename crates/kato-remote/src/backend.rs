//! A training backend that teaches the nodes of a server.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kato_client::calls::Calls;
use kato_client::{KatoClient, KatoClientBuilder, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_model::naming::processor_id_in;
use kato_model::{KatoGeneration, RunName};
use kato_probe::Probe;
use kato_scheduler::backend::WorkSize;
use kato_scheduler::workers::ConnectionBudget;
use kato_scheduler::{Backend, Checkpoint, Teacher, TrainError};
use kato_store::contract::StagedBatch;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::RemoteError;
use crate::builder::RemoteBackendBuilder;
use crate::doubts::{Doubts, TornLearn};
use crate::record::Records;
use crate::state::{State, StateFile};
use crate::stock::Stock;
use crate::teacher::RemoteTeacher;

/// Time for which requests that are under way are waited for when the run is to end.
const GRACE: Duration = Duration::from_secs(2);

/// The nodes of a server, taught by [`train_parallel_with`](kato_scheduler::train_parallel_with).
///
/// The position of the run is in a file on this side, together with what was counted; a server of
/// ours that keeps records of runs has it as well, [unless told not
/// to](RemoteBackendBuilder::with_record). The knowledge is on the server.
#[derive(Debug)]
pub struct RemoteBackend {
    pub(crate) runtime: Runtime,
    /// The client whose connections all others share; it has no session of its own.
    pub(crate) client: KatoClient,
    pub(crate) run: RunName,
    pub(crate) connections: NonZeroUsize,
    pub(crate) probe: Probe,
    pub(crate) file: StateFile,
    pub(crate) kind: Kind,
    /// When everything that waits for the server gives up; `None` while the run goes on.
    pub(crate) give_up_at: watch::Sender<Option<Instant>>,
    /// The state as of the last commit.
    pub(crate) state: Mutex<State>,
    pub(crate) nodes: Vec<String>,
    pub(crate) configuration: Value,
    pub(crate) run_id: String,
    pub(crate) calls: Mutex<Calls>,
}

/// The promises of a server.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A request that carries a key acts once; the run's record may be kept on the server.
    Idempotent(Option<Box<Records>>),
    /// None: what arrived is found out by asking.
    Stock(Box<Stock>),
}

/// A teacher's part of a commit: the counts of what the server has learned already.
#[derive(Debug)]
pub struct RemotePart {
    pub(crate) observations: Vec<u64>,
    pub(crate) new_patterns: Option<Vec<u64>>,
    pub(crate) staged: Option<StagedBatch>,
}

impl RemoteBackend {
    /// Creates a builder for a run on a server: `state` is the file that keeps its position. The
    /// node of `client` is not used, and its limits of time and length are the builder's.
    pub fn builder(
        client: KatoClientBuilder,
        run: RunName,
        state: impl Into<PathBuf>,
    ) -> RemoteBackendBuilder {
        RemoteBackendBuilder::new(client, run, state.into())
    }

    /// Returns the run's name.
    #[must_use]
    pub fn run(&self) -> &RunName {
        &self.run
    }

    /// Returns the ids of the run's nodes on the server, from the bottom of the hierarchy up.
    #[must_use]
    pub fn node_ids(&self) -> Vec<String> {
        node_ids(&self.run, &self.nodes)
    }

    /// Returns the server's address, without credentials.
    #[must_use]
    pub fn server(&self) -> &str {
        self.client.base_url()
    }

    /// Returns whether the run was refused before anything was sent, because nodes of a stock server know
    /// patterns already: then no file of it is left when the backend is dropped.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        match &self.kind {
            // Its nodes are asked before there is a backend.
            Kind::Idempotent(_) => false,
            Kind::Stock(stock) => stock.was_refused(),
        }
    }

    /// Returns whether the server is one of ours, where every request acts once by its key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        matches!(self.kind, Kind::Idempotent(_))
    }

    /// Returns the requests made so far; those of workers are counted once they have ended.
    #[must_use]
    pub fn calls(&self) -> Calls {
        let mut calls = self.calls_of_workers().clone();
        calls.merge(&self.client.calls());
        if let Kind::Stock(stock) = &self.kind {
            stock.calls().iter().for_each(|asked| calls.merge(asked));
        }
        calls
    }

    /// Returns what came of requests without an answer; zeros on a server with keys.
    #[must_use]
    pub fn doubts(&self) -> Doubts {
        match &self.kind {
            Kind::Idempotent(_) => Doubts::default(),
            Kind::Stock(stock) => stock.doubts(),
        }
    }

    /// Returns the learn calls that a stock server has torn in two, in the run so far.
    #[must_use]
    pub fn torn_learns(&self) -> Vec<TornLearn> {
        let Kind::Stock(stock) = &self.kind else {
            return Vec::new();
        };
        let ids = self.node_ids();
        let torn = stock.torn().into_iter();
        torn.map(|(level, pattern)| TornLearn {
            node: ids[level].clone(),
            pattern,
        })
        .collect()
    }

    /// Adds the requests of a worker that has ended.
    pub(crate) fn add_calls(&self, calls: &Calls) {
        self.calls_of_workers().merge(calls);
    }

    fn calls_of_workers(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work that depends on the server.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Server);
        self.runtime.block_on(work)
    }

    /// Returns a client of each node, over the shared connections.
    pub(crate) fn clients(&self) -> Vec<KatoClient> {
        clients(&self.runtime, &self.client, &self.node_ids())
    }

    /// Waits for work; once the run is to end, only for a moment longer. Work that is under way is
    /// not given up at once, because most answers are on their way.
    pub(crate) fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        let mut give_up_at = self.give_up_at.subscribe();
        self.block_on(async {
            let time_is_up = async {
                // `wait_for` also sees an interruption from before this call.
                let at = give_up_at.wait_for(Option::is_some).await;
                let at = at.ok().and_then(|at| *at);
                tokio::time::sleep_until(at.unwrap_or_else(Instant::now)).await;
            };
            tokio::select! {
                // First, so that work that needs no waiting is done.
                biased;
                done = work => done,
                () = time_is_up => Err(self.interruption()),
            }
        })
    }

    /// Creates the error of work that was given up because the run is to end.
    pub(crate) fn interruption(&self) -> RemoteError {
        RemoteError::Interrupted {
            run: self.run.to_string(),
        }
    }

    /// Replaces the record that the server keeps of the run, if it keeps one.
    fn replace_record(&self, state: &State) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Idempotent(Some(records)) => {
                self.unless_interrupted(records.replace(&self.client, state))
            }
            Kind::Idempotent(None) | Kind::Stock(_) => Ok(()),
        }
    }

    /// Returns what all keys of a piece of work begin with: the same when the work is repeated
    /// after a crash.
    pub(crate) fn key(&self, node_idx: usize, first_document: u64) -> String {
        // Work is cut alike again (`work_size`), so its first document tells which it is. The id of
        // the run keeps the keys of an earlier run of this name apart.
        format!("{}-{node_idx}-{first_document}", self.run_id)
    }

    /// Notes that the nodes have been taught what is in the store, if that was to be done.
    fn end_reteaching(&self, stock: &Stock) -> Result<(), RemoteError> {
        let mut state = self.state();
        if !state.reteaching {
            return Ok(());
        }
        let mut next = state.clone();
        next.reteaching = false;
        // Written twice, so that the previous state, to which a damaged one goes back, knows it as
        // well.
        self.file.write(&next)?;
        self.file.write(&next)?;
        stock.end_reteaching()?;
        *state = next;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RemoteBackend {
    fn drop(&mut self) {
        if !self.was_refused() {
            return;
        }
        // Its store is closed first, and nobody else begins the run while its file is locked.
        self.kind = Kind::Idempotent(None);
        self.file.remove_run();
    }
}

/// Returns the ids of a run's nodes on a server.
pub(crate) fn node_ids(run: &RunName, nodes: &[String]) -> Vec<String> {
    nodes.iter().map(|node| run.node_id(node)).collect()
}

/// Returns a client of each node of a run, over the connections of another.
pub(crate) fn clients(runtime: &Runtime, client: &KatoClient, ids: &[String]) -> Vec<KatoClient> {
    // A client that is dropped outside of the runtime could not close its session.
    let _inside = runtime.enter();
    // By the rules that change the most. What a server makes of an id is the node's alone as long as no other
    // node of the run gets the same.
    let kept_as = |id: &String| processor_id_in(KatoGeneration::V6, id, "");
    let are_apart = ids.iter().map(kept_as).collect::<BTreeSet<String>>().len() == ids.len();
    let options = |id: &String| {
        SessionOptions::new(id)
            .with_process_predictions(false)
            .with_shared_node_id(are_apart)
    };
    let ids = ids.iter();
    ids.map(|id| client.fork_with(options(id))).collect()
}

impl Backend for RemoteBackend {
    type Part = RemotePart;

    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn checkpoint(&self) -> Value {
        self.state().checkpoint.clone()
    }

    fn work_size(&self, position: u64) -> WorkSize {
        let state = self.state();
        let cut = state.cuts.get(&position).copied();
        WorkSize::Documents(cut.and_then(NonZeroUsize::new).unwrap_or(state.batch))
    }

    fn begin_work(&self, position: u64, n_documents: usize) -> Result<(), TrainError> {
        let mut state = self.state();
        match state.cuts.get(&position) {
            Some(&expected) if expected == n_documents => return Ok(()),
            // Work that was cut otherwise would carry the same keys with other content.
            Some(&expected) => {
                let cut = RemoteError::Cut {
                    position,
                    expected,
                    found: n_documents,
                };
                return Err(cut.into());
            }
            // A whole batch is cut alike after a crash without being written down.
            None if n_documents == state.batch.get() => return Ok(()),
            None => {}
        }
        let mut next = state.clone();
        next.cuts.insert(position, n_documents);
        self.replace_record(&next)?;
        // Written twice, so that the previous state, to which a damaged one goes back, knows the
        // cut as well.
        self.file.write(&next)?;
        self.file.write(&next)?;
        *state = next;
        Ok(())
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = RemotePart> + 'a>, TrainError> {
        if let Kind::Stock(stock) = &self.kind {
            let checkpoint = self.checkpoint();
            let sizes = learner.nodes().iter().map(|node| node.chunk_size);
            let sizes: Vec<usize> = sizes.collect();
            self.unless_interrupted(stock.begin(&checkpoint, &sizes))?;
            self.end_reteaching(stock)?;
        }
        Ok(Box::new(RemoteTeacher::new(self, learner)?))
    }

    fn connections(&self) -> Option<ConnectionBudget> {
        Some(ConnectionBudget {
            pool: self.connections.get(),
            per_worker: self.nodes.len(),
        })
    }

    fn can_repeat(&self) -> bool {
        // A server without keys would learn again what a dead worker had sent; only a new session
        // can ask what arrived.
        self.has_keys()
    }

    fn finished(&self) -> Option<Vec<u64>> {
        match &self.kind {
            Kind::Idempotent(_) => None,
            Kind::Stock(stock) => Some(stock.finished()),
        }
    }

    fn notice(&self) -> Option<String> {
        match &self.kind {
            Kind::Idempotent(_) => None,
            Kind::Stock(stock) => stock.notice(),
        }
    }

    fn interrupt(&self) {
        if let Kind::Stock(stock) = &self.kind {
            stock.interrupt();
        }
        self.give_up_at.send_if_modified(|at| {
            let is_first = at.is_none();
            at.get_or_insert_with(|| Instant::now() + GRACE);
            is_first
        });
    }

    fn commit(&self, parts: Vec<RemotePart>, checkpoint: Value) -> Result<(), TrainError> {
        let mut state = self.state();
        let mut next = state.clone();
        let before = std::mem::replace(&mut next.checkpoint, checkpoint);
        // A damaged state goes back to the one before it, and the work behind that is cut again:
        // cuts are kept as far back.
        let kept = Checkpoint::from_json(&before)?.map_or(0, |before| before.cursor.documents());
        next.cuts.retain(|position, _| *position >= kept);
        let mut staged = Vec::new();
        for part in parts {
            staged.extend(part.staged);
            for (sum, n) in next.observations.iter_mut().zip(&part.observations) {
                *sum += n;
            }
            // Unknown from the first part on that does not know it.
            next.new_patterns = match (next.new_patterns.take(), part.new_patterns) {
                (Some(sums), Some(new)) => {
                    Some(sums.into_iter().zip(new).map(|(sum, n)| sum + n).collect())
                }
                _ => None,
            };
        }
        if let Kind::Stock(stock) = &self.kind {
            // A store of what was taught is never there without the file that names it: else a new
            // run would refuse it as what a lost one taught.
            if !self.file.exists() {
                self.file.write(&state)?;
            }
            let committed =
                serde_json::to_value(&next).map_err(|source| TrainError::Checkpoint { source })?;
            stock.commit(staged, committed, &next.checkpoint)?;
        }
        self.file.write(&next)?;
        // Behind the file, so that a run that the server knows is known here, too. Between the two
        // the server's is the older one, and what is sent again acts once.
        let replaced = self.replace_record(&next);
        *state = next;
        match replaced {
            // The commit stands, as after a crash between the two.
            Err(RemoteError::Interrupted { .. }) => Ok(()),
            replaced => Ok(replaced?),
        }
    }

    fn conclude(&self) -> Result<(), TrainError> {
        match &self.kind {
            Kind::Idempotent(_) => Ok(()),
            Kind::Stock(stock) => Ok(self.unless_interrupted(stock.compare())?),
        }
    }

    fn learns(&self, node_idx: usize) -> Result<u64, TrainError> {
        Ok(self
            .state()
            .observations
            .get(node_idx)
            .copied()
            .unwrap_or(0))
    }

    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError> {
        if let Kind::Stock(stock) = &self.kind {
            let patterns = stock.store().count_patterns(node_idx);
            return patterns.map(Some).map_err(TrainError::Store);
        }
        let state = self.state();
        Ok(state
            .new_patterns
            .as_ref()
            .and_then(|new| new.get(node_idx).copied()))
    }
}
