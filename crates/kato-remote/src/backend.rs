//! The nodes of a server as a backend of training.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use kato_client::{Calls, KatoClient, KatoClientBuilder, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_model::RunName;
use kato_probe::Probe;
use kato_scheduler::{Backend, ConnectionBudget, RunConfiguration, Teacher, TrainError, WorkSize};
use kato_store::{EmbeddedStore, StagedBatch};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::reserve::Reservation;
use crate::state::{State, StateFile};
use crate::taught::Taught;
use crate::teacher::RemoteTeacher;

/// Documents of a batch, unless the caller says otherwise.
const BATCH: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// Connections to the server, unless the caller says otherwise.
const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// How long a server may go on with requests of a process that is gone, unless the caller says otherwise.
const SETTLE: Duration = Duration::from_secs(2);

/// How long work that is under way is waited for when the run is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Threads that move requests; planning is done by the workers' own.
const IO_THREADS: usize = 2;

/// How a [`RemoteBackend`] is made.
#[derive(Debug)]
#[must_use = "nothing happens before it is built"]
pub struct RemoteBackendBuilder {
    client: KatoClientBuilder,
    run: RunName,
    state: PathBuf,
    batch: NonZeroUsize,
    connections: NonZeroUsize,
    settle: Duration,
    probe: Probe,
}

/// The nodes of a server, taught by [`train_parallel_with`](kato_scheduler::train_parallel_with).
///
/// The position of the run is in a file on this side, together with what was counted; the knowledge is on the server.
#[derive(Debug)]
pub struct RemoteBackend {
    runtime: Runtime,
    /// Its connections are shared by all clients; it has no session of its own.
    client: KatoClient,
    run: RunName,
    batch: NonZeroUsize,
    connections: NonZeroUsize,
    settle: Duration,
    pub(crate) probe: Probe,
    file: StateFile,
    path: PathBuf,
    /// Of a server that knows no idempotency keys; found out when the first teacher is made.
    taught: OnceLock<Option<Taught>>,
    interrupted: watch::Sender<bool>,
    /// Of the last commit.
    state: Mutex<State>,
    nodes: Vec<String>,
    configuration: Value,
    run_id: String,
    calls: Mutex<Calls>,
}

/// What a teacher hands over for a commit: the learning itself is done.
#[derive(Debug)]
pub struct RemotePart {
    pub(crate) observations: Vec<u64>,
    pub(crate) new_patterns: Option<Vec<u64>>,
    pub(crate) staged: Option<StagedBatch>,
}

impl RemoteBackendBuilder {
    /// Documents that go to the server together. Default 8. Part of how work is known again after a crash, so a run is resumed
    /// with the batch that it was interrupted with.
    pub const fn batch(mut self, documents: NonZeroUsize) -> Self {
        self.batch = documents;
        self
    }

    /// Connections to the server at most: every worker needs one a level. Default 64.
    pub const fn connections(mut self, connections: NonZeroUsize) -> Self {
        self.connections = connections;
        self
    }

    /// How long a server without idempotency keys may go on with requests of a process that has died: after a crash it is given this
    /// time before it is asked what arrived. Default 2 s.
    pub const fn settle(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }

    /// Hears how long requests take and how long the nodes take to learn. Default: nobody listens.
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Opens the run, or begins it where there is no file of its state. Sends nothing yet.
    ///
    /// # Errors
    ///
    /// [`TrainError::State`] when the file cannot be read or another process trains the run, [`TrainError::Teach`] when the
    /// client cannot be made, [`TrainError::OtherConfiguration`] when the learner records first occurrences, which no server keeps,
    /// or when the file belongs to another run.
    pub fn build(
        self,
        learner: &HierarchicalConceptLearner,
        configuration: &RunConfiguration,
    ) -> Result<RemoteBackend, TrainError> {
        if learner.config().recording.provenance {
            let reason =
                "recording: a server does not keep where a pattern was first seen; switch it off"
                    .to_owned();
            return Err(TrainError::OtherConfiguration {
                differences: vec![reason],
            });
        }
        let names: Vec<String> = learner
            .node_names()
            .iter()
            .map(ToString::to_string)
            .collect();
        let file = StateFile::open(&self.state)?;
        let teach = |source: kato_client::ClientError| TrainError::Teach {
            node: self.run.to_string(),
            source: Box::new(source),
        };
        let client = self
            .client
            .probe(self.probe.clone())
            .build()
            .map_err(teach)?;
        let server = client.base_url().to_owned();
        let found = file.read()?;
        let is_new = found.is_none();
        let mut state = match found {
            Some(state) => state,
            None => State::new(self.run.as_str(), &server, names, configuration),
        };
        let taught = match EmbeddedStore::exists(&taught_dir(&self.state)) {
            true => Some(open_taught(&self.state, &state, self.settle)?),
            false => None,
        };
        // The store of what was taught is committed before the file; a crash may have come between the two.
        let committed = taught.as_ref().map(Taught::state);
        if let Some(committed) = committed.filter(|committed| !committed.is_null()) {
            let committed: State = serde_json::from_value(committed)
                .map_err(|source| TrainError::Checkpoint { source })?;
            // The first commit is made before anything is taught.
            if is_new && committed.observations.iter().any(|&n| n > 0) {
                return Err(TrainError::State {
                    action: "find",
                    path: self.state,
                    source: std::io::Error::other(
                        "what the run taught lies beside it: put the file back, or remove the directory .taught as well to begin anew",
                    ),
                });
            }
            state = committed;
        }
        if state.run != self.run.as_str() {
            let difference = format!(
                "name of the run: it was {}, now it is {}",
                state.run, self.run
            );
            return Err(TrainError::OtherConfiguration {
                differences: vec![difference],
            });
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name("kato-remote")
            .enable_all()
            .build()
            .map_err(TrainError::Spawn)?;
        Ok(RemoteBackend {
            runtime,
            client,
            run: self.run,
            batch: self.batch,
            connections: self.connections,
            settle: self.settle,
            probe: self.probe,
            file,
            path: self.state,
            taught: taught.map_or_else(OnceLock::new, |taught| OnceLock::from(Some(taught))),
            interrupted: watch::Sender::new(false),
            nodes: state.nodes.clone(),
            configuration: state.configuration.clone(),
            run_id: state.run_id.clone(),
            state: Mutex::new(state),
            calls: Mutex::default(),
        })
    }
}

impl RemoteBackend {
    /// A run on a server: `state` is the file that keeps its position. The node of `client` is not used.
    pub fn builder(
        client: KatoClientBuilder,
        run: RunName,
        state: impl Into<PathBuf>,
    ) -> RemoteBackendBuilder {
        RemoteBackendBuilder {
            client,
            run,
            state: state.into(),
            batch: BATCH,
            connections: CONNECTIONS,
            settle: SETTLE,
            probe: Probe::off(),
        }
    }

    /// The run's name.
    #[must_use]
    pub fn run(&self) -> &RunName {
        &self.run
    }

    /// Ids of the run's nodes on the server, from the bottom of the hierarchy up.
    #[must_use]
    pub fn node_ids(&self) -> Vec<String> {
        self.nodes
            .iter()
            .map(|node| self.run.node_id(node))
            .collect()
    }

    /// The server, without credentials.
    #[must_use]
    pub fn server(&self) -> &str {
        self.client.base_url()
    }

    /// Requests made so far by workers that have ended.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn add_calls(&self, calls: &Calls) {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        all.merge(calls);
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let _waiting = kato_probe::waiting(kato_probe::Wait::Server);
        self.runtime.block_on(work)
    }

    /// A client of each node, over the shared connections.
    pub(crate) fn clients(&self) -> Vec<KatoClient> {
        // A client that is dropped outside of the runtime could not close its session.
        let _inside = self.runtime.enter();
        let options = |id: String| SessionOptions::new(id).process_predictions(false);
        let ids = self.node_ids().into_iter();
        ids.map(|id| self.client.fork_with(options(id))).collect()
    }

    /// Waits for work; once the run is to end, only for a moment longer. Work that is under way is not given up at once, because the
    /// sessions that it uses could not be closed.
    pub(crate) fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = Result<T, TrainError>>,
    ) -> Result<T, TrainError> {
        let mut interrupted = self.interrupted.subscribe();
        self.block_on(async {
            let mut work = pin!(work);
            tokio::select! {
                done = &mut work => return done,
                _ = interrupted.wait_for(|is_interrupted| *is_interrupted) => {}
            }
            let done = tokio::time::timeout(GRACE, work).await;
            done.unwrap_or_else(|_| {
                Err(TrainError::Teach {
                    node: self.run.to_string(),
                    source: "the run ended while the server was waited for".into(),
                })
            })
        })
    }

    /// What the server was taught, if it knows no idempotency keys.
    fn taught(&self) -> Result<Option<&Taught>, TrainError> {
        if let Some(taught) = self.taught.get() {
            return Ok(taught.as_ref());
        }
        let unreachable = |source: kato_client::ClientError| TrainError::Unreachable {
            place: self.server().to_owned(),
            source: Box::new(source),
        };
        let extensions = self
            .block_on(self.client.extensions())
            .map_err(unreachable)?;
        let knows_keys = extensions.is_some_and(|extensions| {
            extensions.idempotency_keys && extensions.learn_batch.is_some()
        });
        let taught = match knows_keys {
            true => None,
            false => Some(open_taught(&self.path, &self.state(), self.settle)?),
        };
        Ok(self.taught.get_or_init(|| taught).as_ref())
    }

    /// What all keys of a piece of work begin with: the same when the work is repeated after a crash.
    pub(crate) fn key(&self, node_idx: usize, first_document: u64) -> String {
        format!("{}-{node_idx}-{first_document}", self.run_id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where what was taught lies.
fn taught_dir(state: &Path) -> PathBuf {
    state.with_added_extension("taught")
}

fn open_taught(path: &Path, state: &State, settle: Duration) -> Result<Taught, TrainError> {
    let reservation = Reservation::open(path.with_added_extension("reserved"))?;
    Taught::open(
        &taught_dir(path),
        &state.nodes,
        &state.configuration,
        reservation,
        settle,
    )
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

    fn work_size(&self) -> WorkSize {
        WorkSize::Documents(self.batch)
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = RemotePart> + 'a>, TrainError> {
        let taught = self.taught()?;
        if let Some(taught) = taught {
            taught.committed(&self.checkpoint())?;
            self.block_on(taught.settle());
        }
        Ok(Box::new(RemoteTeacher::new(self, learner, taught)))
    }

    fn connections(&self) -> Option<ConnectionBudget> {
        Some(ConnectionBudget {
            pool: self.connections.get(),
            per_worker: self.nodes.len(),
        })
    }

    fn can_repeat(&self) -> bool {
        // A server without keys would learn again what a dead worker had sent; only a new session can ask what arrived.
        !matches!(self.taught.get(), Some(Some(_)))
    }

    fn interrupt(&self) {
        self.interrupted.send_replace(true);
    }

    fn commit(&self, parts: Vec<RemotePart>, checkpoint: Value) -> Result<(), TrainError> {
        let mut state = self.state();
        let mut next = state.clone();
        next.checkpoint = checkpoint;
        let mut staged = Vec::new();
        for part in parts {
            staged.extend(part.staged);
            for (sum, n) in next.observations.iter_mut().zip(&part.observations) {
                *sum += n;
            }
            next.new_patterns = match (next.new_patterns.take(), part.new_patterns) {
                (Some(sums), Some(new)) => {
                    Some(sums.into_iter().zip(new).map(|(sum, n)| sum + n).collect())
                }
                _ => None,
            };
        }
        if let Some(Some(taught)) = self.taught.get() {
            let committed =
                serde_json::to_value(&next).map_err(|source| TrainError::Checkpoint { source })?;
            taught.commit(staged, committed)?;
            taught.committed(&next.checkpoint)?;
        }
        self.file.write(&next)?;
        *state = next;
        Ok(())
    }

    fn observations(&self, node_idx: usize) -> Result<u64, TrainError> {
        Ok(self
            .state()
            .observations
            .get(node_idx)
            .copied()
            .unwrap_or(0))
    }

    fn count_patterns(&self, node_idx: usize) -> Result<Option<u64>, TrainError> {
        if let Some(Some(taught)) = self.taught.get() {
            let patterns = taught.store().count_patterns(node_idx);
            return patterns.map(Some).map_err(TrainError::Store);
        }
        let state = self.state();
        Ok(state
            .new_patterns
            .as_ref()
            .and_then(|new| new.get(node_idx).copied()))
    }
}
