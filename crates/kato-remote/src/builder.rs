//! A builder that begins a run on a server, or opens it again.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use kato_client::{ClientError, KatoClient, KatoClientBuilder};
use kato_learner::HierarchicalConceptLearner;
use kato_model::RunName;
use kato_probe::Probe;
use kato_scheduler::{RunConfiguration, TrainError};
use kato_store::{EmbeddedStore, PatternStore as _};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::RemoteError;
use crate::backend::{Kind, RemoteBackend, clients, node_ids};
use crate::doubts::TornLearns;
use crate::error::{
    failed, refused, taken, taught_before, teach, unreachable, unreadable_position,
};
use crate::record::{Record, Records};
use crate::state::{State, StateFile, journal_of, taught_of};
use crate::stock::{Journal, Stock, StockSettings};

/// Documents of a batch, unless the caller says otherwise.
const BATCH: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// Connections to the server, unless the caller says otherwise.
const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// Silence after which a stock server is taken to be done, unless the caller says otherwise.
const SETTLE: Duration = Duration::from_secs(5);

/// Longest time for an answer, unless the caller says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time for the answer to a question, where that for others is shorter: asking again and
/// again only makes a slow server slower, and nothing is in doubt meanwhile.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Time without progress after which the run ends, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between comparisons of a stock server's nodes, unless the caller says otherwise.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Threads that move requests; planning is done by the workers' own.
const IO_THREADS: usize = 2;

/// Bytes of an answer at most.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Bytes of the answer to a question to a stock server at most: that about all symbols of a node
/// takes some 150 bytes for each.
const MAX_QUESTION_BYTES: usize = 128 << 20;

/// A builder of a [`RemoteBackend`].
#[derive(Debug)]
#[must_use = "nothing happens before the run is begun or opened"]
pub struct RemoteBackendBuilder {
    client: KatoClientBuilder,
    run: RunName,
    state: PathBuf,
    batch: NonZeroUsize,
    connections: NonZeroUsize,
    settings: StockSettings,
    reteaching: Option<PathBuf>,
    keeps_record: bool,
    probe: Probe,
}

impl RemoteBackendBuilder {
    pub(crate) fn new(client: KatoClientBuilder, run: RunName, state: PathBuf) -> Self {
        Self {
            client,
            run,
            state,
            batch: BATCH,
            connections: CONNECTIONS,
            settings: StockSettings {
                settle: SETTLE,
                timeout: TIMEOUT,
                patience: PATIENCE,
                onto_taught: false,
                check_interval: CHECK_INTERVAL,
                compares_all: false,
                torn_learns: TornLearns::End,
            },
            reteaching: None,
            keeps_record: true,
            probe: Probe::off(),
        }
    }

    /// Sets how many documents of a new run go to the server together. Default 8. A run keeps what
    /// it was begun with, because that is how work is recognised after a crash.
    pub const fn with_batch(mut self, documents: NonZeroUsize) -> Self {
        self.batch = documents;
        self
    }

    /// Sets how many connections to the server the workers may take together, which bounds their
    /// number: every worker needs one a level. Default 64.
    pub const fn with_connections(mut self, connections: NonZeroUsize) -> Self {
        self.connections = connections;
        self
    }

    /// Returns the name of the run.
    #[must_use]
    pub const fn run(&self) -> &RunName {
        &self.run
    }

    /// Returns the file that keeps the run's position.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns whether the nodes are first taught what [another run](Self::with_reteaching) has
    /// learned.
    #[must_use]
    pub const fn reteaches(&self) -> bool {
        self.reteaching.is_some()
    }

    /// Sets the longest time for one answer; to a question it is at least 10 s, as far as the
    /// patience allows. Default 60 s. Beside one request no more is sent to a stock server than it
    /// learns in an eighth of this.
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Sets how long a stock server must have been quiet before it is taken to be done with
    /// requests that had no answer. Default 5 s; a slow server is given more. Keep it well above
    /// the longest pause that the server makes between two learn calls.
    pub const fn with_settle(mut self, settle: Duration) -> Self {
        self.settings.settle = settle;
        self
    }

    /// Sets how long a stock server may finish no learn call at all, before the run ends. Default
    /// 60 s, and never less than the longest time for an answer.
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.settings.patience = patience;
        self
    }

    /// Sets whether nodes may be taught that know patterns which this run has not taught. Default:
    /// no, which makes them an error. On a stock server such a run ends when an answer is lost,
    /// because what arrived cannot be distinguished from what was there.
    pub const fn with_taught_nodes(mut self, is_allowed: bool) -> Self {
        self.settings.onto_taught = is_allowed;
        self
    }

    /// Sets how often the nodes of a stock server are compared on the way with what they were
    /// taught, beside the comparisons in the end, when the run is resumed and when a session was
    /// lost. Default: every 60 s, and no sooner than after fifty times what the last comparison took.
    pub const fn with_check_interval(mut self, interval: Duration) -> Self {
        self.settings.check_interval = interval;
        self
    }

    /// Sets whether every pattern of a stock server is compared in the end with what was taught, by
    /// one request each. Default: no, which compares the counts of all symbols where the server
    /// tells them, and of the patterns one in 40 learn calls, 64 of a node at least.
    pub const fn with_whole_comparison(mut self, is_whole: bool) -> Self {
        self.settings.compares_all = is_whole;
        self
    }

    /// Sets what becomes of the run when a stock server dies in the middle of a learn call, and holds
    /// a part of it only. Default: it ends.
    pub const fn with_torn_learns(mut self, torn_learns: TornLearns) -> Self {
        self.settings.torn_learns = torn_learns;
        self
    }

    /// Sets the state file of another run into a stock server, whose knowledge the nodes of a new run
    /// are taught before it goes on with the corpus where that run ended. Default: none.
    ///
    /// It takes as many learn calls as that run, and no corpus. The other run is left as it is.
    pub fn with_reteaching(mut self, state: impl Into<PathBuf>) -> Self {
        self.reteaching = Some(state.into());
        self
    }

    /// Sets whether a server of ours keeps the record of a new run beside its nodes. Default: yes. Without it
    /// the server has nothing of the run once its nodes are cleared, and the run cannot be resumed: for
    /// measurements.
    pub const fn with_record(mut self, is_kept: bool) -> Self {
        self.keeps_record = is_kept;
        self
    }

    /// Sets the probe that records how long requests take and how long the nodes take to learn.
    /// Default: none.
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Begins a run. The nodes are not taught yet, and their state is written with the first commit
    /// at the latest.
    ///
    /// # Errors
    ///
    /// [`RemoteError::State`] when there is a run of this name, or the [other run](Self::with_reteaching)
    /// cannot be copied, [`RemoteError::Locked`] when another
    /// process trains it, [`RemoteError::Unreachable`] when the server does not answer, [`RemoteError::TaughtBefore`]
    /// when nodes of a server of ours know something (a stock server is asked when training begins),
    /// [`RemoteError::Teach`] when the client cannot be made or a node cannot be asked,
    /// [`RemoteError::Provenance`] when the learner records where patterns were first seen, which
    /// no server keeps.
    pub fn create(
        self,
        learner: &HierarchicalConceptLearner,
        configuration: &RunConfiguration,
    ) -> Result<RemoteBackend, RemoteError> {
        let file = StateFile::open(&self.state)?;
        if file.exists() {
            let reason = "it exists: resume that run, or give this one another name";
            return Err(taken(&self.state, reason));
        }
        let nodes: Vec<String> = learner.node_names().into_iter().map(Into::into).collect();
        let (runtime, client) = self.connect(learner)?;
        let records = Records::find(&runtime, &client, &self.run)?;
        if records
            .as_ref()
            .is_some_and(|records| records.found().is_some())
        {
            let reason = format!(
                "the server keeps run {}: resume it, or give this one another name",
                self.run
            );
            return Err(taken(&self.state, reason));
        }
        let records = records.filter(|_| self.keeps_record);
        let server = client.base_url().to_owned();
        let settings = (self.batch, self.settings.onto_taught);
        let state = State::new(self.run.as_str(), &server, nodes, configuration, settings);
        if let Some(from) = &self.reteaching {
            // Before anything is written, as a second try would meet it.
            if has_keys(&runtime, &client)? {
                return Err(self.loses_nothing());
            }
            let (state, other) = self.copy(from, state)?;
            let written = file.write(&state).and_then(|()| file.write(&state));
            // What is removed is a copy, as long as the other is locked.
            written.inspect_err(|_| file.remove_run())?;
            drop(other);
            let parts = ExistingParts {
                records: None,
                is_new: false,
            };
            return self.assemble(file, (runtime, client), state, parts);
        }
        self.assemble(
            file,
            (runtime, client),
            state,
            ExistingParts {
                records,
                is_new: true,
            },
        )
    }

    /// Copies what another run has learned, as what this one is about to teach; returns the state
    /// of this one, and the file of the other, which stays locked.
    fn copy(&self, from: &Path, new: State) -> Result<(State, StateFile), RemoteError> {
        // Locked, so that nobody trains that run meanwhile.
        let other = StateFile::open(from)?;
        if !other.exists() {
            let reason = "there is no such run: name the state file of a run into a stock server";
            return Err(refused("find", from, reason));
        }
        let dir = taught_of(&self.state);
        if EmbeddedStore::exists(&dir) && !Stock::is_left_over(&dir)? {
            let reason = "what another run taught lies beside it: give this run another name";
            return Err(taken(&self.state, reason));
        }
        let part = self.state.with_added_extension("taught.part");
        let remove = |dir: &Path| match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("clear", dir)(error))
            }
            _ => Ok(()),
        };
        remove(&part)?;
        remove(&dir)?;
        let state = copy_taught(from, &part, new).inspect_err(|_| {
            // It is a copy, and the lock keeps the other where it is. What cannot be removed is told by
            // the next try.
            let _ = remove(&part);
        })?;
        Journal::create(&journal_of(&self.state))?;
        std::fs::rename(&part, &dir).map_err(failed("keep", &dir))?;
        Ok((state, other))
    }

    /// Opens a run that was begun, where its last commit ended.
    ///
    /// # Errors
    ///
    /// [`RemoteError::State`] when there is no such run, or its files cannot be read,
    /// [`RemoteError::Locked`] when another process trains it, [`RemoteError::OtherRun`] when the
    /// state is that of another run; else as [`create`](Self::create).
    pub fn open(self, learner: &HierarchicalConceptLearner) -> Result<RemoteBackend, RemoteError> {
        let file = StateFile::open(&self.state)?;
        let found = file.read()?;
        if let Some(other) = found.as_ref().filter(|here| here.run != self.run.as_str()) {
            return Err(RemoteError::OtherRun {
                path: self.state.clone(),
                found: other.run.clone(),
                expected: self.run.to_string(),
            });
        }
        let (runtime, client) = self.connect(learner)?;
        let records = Records::find(&runtime, &client, &self.run)?;
        let record = records.as_ref().and_then(Records::found);
        let state = match (found, record) {
            // The server's own record is as old as what it knows, so it counts before the file.
            (Some(here), Some(there)) => same_run(&here, there, &self.state)?.clone(),
            (None, Some(there)) => there.clone(),
            // Before its first record nothing was taught.
            (Some(here), None) if records.is_some() && here.documents()? > 0 => {
                let reason = "the server has no record of this run: it was cleared, or is another server; begin a new run";
                return Err(refused("resume", &self.state, reason));
            }
            (Some(here), None) => here,
            (None, None) => {
                let reason = "it is not here, and without it nobody knows what the nodes were taught: name the file of the run, or begin a new run";
                return Err(refused("find", &self.state, reason));
            }
        };
        self.assemble(
            file,
            (runtime, client),
            state,
            ExistingParts {
                records,
                is_new: false,
            },
        )
    }

    /// Checks what can be checked without the server, and makes its client.
    fn connect(
        &self,
        learner: &HierarchicalConceptLearner,
    ) -> Result<(Runtime, KatoClient), RemoteError> {
        if learner.config().recording.provenance {
            return Err(RemoteError::Provenance);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name("kato-remote")
            .enable_all()
            .build()
            .map_err(RemoteError::Spawn)?;
        let client = self.client(self.settings.timeout).build();
        Ok((runtime, client.map_err(self.unusable())?))
    }

    /// Returns the builder of a client that waits so long for an answer.
    fn client(&self, timeout: Duration) -> KatoClientBuilder {
        self.client
            .clone()
            .with_probe(self.probe.clone())
            .with_request_timeout(timeout)
            .with_max_answer_bytes(MAX_ANSWER_BYTES)
    }

    /// Returns a function that makes the error of a client that cannot be made.
    fn unusable(&self) -> impl Fn(ClientError) -> RemoteError {
        let node = self.run.to_string();
        move |source| RemoteError::Teach {
            node: node.clone(),
            source: source.into(),
        }
    }

    /// Makes the backend, according to what the server promises.
    fn assemble(
        self,
        file: StateFile,
        (runtime, client): (Runtime, KatoClient),
        state: State,
        ExistingParts { records, is_new }: ExistingParts,
    ) -> Result<RemoteBackend, RemoteError> {
        let (kind, state, client) = match has_keys(&runtime, &client)? {
            true if state.reteaching => return Err(self.loses_nothing()),
            true => {
                if is_new && !self.settings.onto_taught {
                    refuse_taught(&runtime, &client, &node_ids(&self.run, &state.nodes))?;
                }
                (Kind::Idempotent(records.map(Box::new)), state, client)
            }
            false => {
                // A database that restarts behind a stock server is waited for as the server is.
                let client = self
                    .client(self.settings.timeout)
                    .with_database_restarts(true);
                let client = client.build().map_err(self.unusable())?;
                if is_new {
                    self.begin_stock()?;
                }
                let stock = self.stock(&runtime, &client, state);
                let (stock, state) = stock.inspect_err(|_| {
                    if is_new {
                        file.remove_run();
                    }
                })?;
                (Kind::Stock(Box::new(stock)), state, client)
            }
        };
        Ok(RemoteBackend {
            runtime,
            client,
            run: self.run,
            connections: self.connections,
            probe: self.probe,
            file,
            kind,
            give_up_at: watch::Sender::new(None),
            nodes: state.nodes.clone(),
            configuration: state.configuration.clone(),
            run_id: state.run_id.clone(),
            state: Mutex::new(state),
            calls: Mutex::default(),
        })
    }

    /// Returns the error of teaching a server of ours again.
    fn loses_nothing(&self) -> RemoteError {
        let reason = "the server is one of kato-rs, which loses nothing: train into it as usual";
        refused("teach again", &self.state, reason)
    }

    /// Begins what a new run teaches a stock server: removes what another left behind that has taught nothing.
    fn begin_stock(&self) -> Result<(), RemoteError> {
        let dir = taught_of(&self.state);
        if EmbeddedStore::exists(&dir) {
            if !Stock::is_left_over(&dir)? {
                let reason = "what the run taught lies beside it: put the file back, or remove the directory .taught as well to begin anew";
                return Err(refused("find", &self.state, reason));
            }
            // Begun, and ended before its first commit. If its process had sent something, the
            // nodes know it, and are asked whether they are new before anything is sent.
            std::fs::remove_dir_all(&dir).map_err(failed("clear", &dir))?;
        }
        Journal::create(&journal_of(&self.state))
    }

    /// Opens what was taught to a stock server, and returns it with the state as it was committed
    /// with it.
    fn stock(
        &self,
        runtime: &Runtime,
        client: &KatoClient,
        state: State,
    ) -> Result<(Stock, State), RemoteError> {
        let dir = taught_of(&self.state);
        let journal = journal_of(&self.state);
        let journal = Journal::open(&journal)?;
        let settings = StockSettings {
            onto_taught: state.onto_taught,
            ..self.settings
        };
        let generation = runtime.block_on(client.generation());
        let generation = generation.map_err(unreachable(client))?;
        let ids = node_ids(&self.run, &state.nodes);
        let question_timeout = QUESTION_TIMEOUT.min(self.settings.patience);
        // Questions have a client of their own, whose time does not shrink with that of learning
        // requests.
        let asking = self
            .client(self.settings.timeout.max(question_timeout))
            .with_max_answer_bytes(MAX_QUESTION_BYTES)
            .with_database_restarts(true)
            .build()
            .map_err(self.unusable())?;
        let clients = clients(runtime, &asking, &ids);
        let place = (state.nodes.as_slice(), &state.configuration);
        let journal = (journal, state.reteaching);
        let stock = Stock::open(&dir, journal, place, (clients, generation), settings)?;
        let committed = stock.state();
        if committed.is_null() {
            return Ok((stock, state));
        }
        // The store of what was taught is committed before the file; a crash may have come between
        // the two.
        let mut committed: State =
            serde_json::from_value(committed).map_err(unreadable_position)?;
        // Cuts are written to the file alone, before what they cut is sent, so the file's are never
        // older.
        committed.cuts = state.cuts;
        // So is this.
        committed.reteaching = state.reteaching;
        Ok((stock, committed))
    }
}

/// Copies what a run has learned into a new directory, with the state of a new run that is about to teach
/// it; returns that state.
fn copy_taught(from: &Path, to: &Path, new: State) -> Result<State, RemoteError> {
    let taught = taught_of(from);
    copy_dir(&taught, to).map_err(failed("copy", &taught))?;
    let store = EmbeddedStore::open(to).map_err(TrainError::Store)?;
    let old = store.checkpoint();
    if old.is_null() {
        let reason = "that run has committed nothing: begin a new one without it";
        return Err(refused("copy", from, reason));
    }
    let old: State = serde_json::from_value(old).map_err(unreadable_position)?;
    if old.configuration != new.configuration || old.nodes != new.nodes {
        let reason = "that run has other settings: give the same levels, tokenizer and rules";
        return Err(refused("copy", from, reason));
    }
    let state = new.going_on_from(old);
    let committed = serde_json::to_value(&state);
    let committed = committed.map_err(|source| TrainError::Checkpoint { source })?;
    store
        .commit(Vec::new(), committed)
        .map_err(TrainError::Store)?;
    Ok(state)
}

/// Returns whether each request to the server acts once, by its key.
fn has_keys(runtime: &Runtime, client: &KatoClient) -> Result<bool, RemoteError> {
    let extensions = runtime.block_on(client.extensions());
    let extensions = extensions.map_err(unreachable(client))?;
    Ok(extensions
        .is_some_and(|extensions| extensions.idempotency_keys && extensions.learn_batch.is_some()))
}

/// Copies the files of a directory.
fn copy_dir(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_dir(&entry.path(), &place)?,
            false => drop(std::fs::copy(entry.path(), place)?),
        }
    }
    Ok(())
}

/// The parts of a run that exist already.
struct ExistingParts {
    /// The records of runs that the server keeps, if it keeps any.
    records: Option<Records>,
    is_new: bool,
}

/// Returns the server's state, if it is of the run that the file names.
fn same_run<'a>(here: &State, there: &'a Record, path: &Path) -> Result<&'a State, RemoteError> {
    if here.run_id == there.run_id {
        return Ok(there);
    }
    let reason =
        "the server keeps another run of this name: name the file of that run, or begin a new run";
    Err(refused("resume", path, reason))
}

/// Refuses nodes of a server of ours that know something.
fn refuse_taught(
    runtime: &Runtime,
    client: &KatoClient,
    ids: &[String],
) -> Result<(), RemoteError> {
    for node in clients(runtime, client, ids) {
        let is_blank = runtime.block_on(node.is_blank());
        if is_blank.map_err(|error| teach(&node, error))? == Some(false) {
            return Err(taught_before(&node));
        }
    }
    Ok(())
}
