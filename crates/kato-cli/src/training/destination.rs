//! The destination of `kato train`: its options, opening the run, and what the run took.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use clap::error::{Error, ErrorKind};
use indicatif::HumanCount;
use kato::Preparation;
use kato::head::disk::CountsOptions;
use kato_advice::ErrorClass;
use kato_client::{KatoClient, RetryPolicy, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_model::RunName;
use kato_mongodb::{MongoStore, MongoStoreBuilder};
use kato_prediction::Cancel;
use kato_prediction::disk::{BuildOptions, BuildReport, IndexFileError, IndexPolicy};
use kato_probe::Probe;
use kato_remote::{RemoteBackend, RemoteBackendBuilder, TornLearns};
use kato_runs::{Destination, LoaderStart, RunsError, Start, TrainingRun, TrainingTarget};
use kato_scheduler::workers::ConnectionBudget;
use kato_scheduler::{RunConfiguration, TrainError, TrainingReport, Workers};
use kato_store::StoreError;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::backend::{Backend, warn_of_recovery};
use crate::exit::CommandError;
use crate::indexing::{self, WrittenCounts};
use crate::knowledge_base::directory;
use crate::numbers::counted;
use crate::occurrences::{self, Kept};
use crate::patience::patiently;
use crate::report;
use crate::tokens::read_tokens;
use crate::trained_run::check_readable_again;
use crate::training::seconds::seconds;
use crate::training::unbegun::Unbegun;
use crate::writable::{check_file, check_place, refuse_file};

/// Where the knowledge goes.
#[derive(Debug, Args)]
pub(crate) struct DestinationArgs {
    /// Where the knowledge goes: embedded:DIR (default embedded:kato-kb), kato:URL for the nodes
    /// of a KATO server, stock or kato-rs, or mongodb:URI for KATO's database layout in a
    /// MongoDB (mongodb alone takes the URI from KATO_MONGODB_URI).
    #[arg(long, value_name = "BACKEND")]
    backend: Option<Backend>,
    /// Directory of the knowledge base: the same as --backend embedded:DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "backend", value_parser = directory())]
    kb: Option<PathBuf>,
    /// For embedded: leave an index and the counts of the head, as `kato index` does. Without this
    /// an index is usually written where 100,000 patterns or more have none.
    #[arg(long)]
    index: bool,
    /// For embedded: write no index and no counts of the head; those that are there stay.
    #[arg(long, conflicts_with = "index")]
    no_index: bool,
    /// For embedded: keep every place of the documents, as `kato index --occurrences` does, for `kato
    /// count` and `kato trace`. The corpus is read once more for it.
    #[arg(long)]
    occurrences: bool,
    /// For embedded: read all of the knowledge base first, and where its newest commit is damaged go back to
    /// the one before and learn again what is lost.
    #[arg(long, requires = "resume", conflicts_with_all = ["reteach", "add"])]
    go_back: bool,
    /// For kato and mongodb: name of the run, with which its node ids and databases begin. Default: a
    /// new name. Needed to resume.
    #[arg(long, value_name = "NAME")]
    run: Option<RunName>,
    /// Whether the run got a name that the user did not give.
    #[arg(skip)]
    is_named_for_user: bool,
    /// For kato: documents that go to the server together.
    #[arg(long, value_name = "N", default_value = "8")]
    batch: NonZeroUsize,
    /// For kato: connections to the server at most; every worker needs one a level.
    #[arg(long, value_name = "N", default_value = "64")]
    connections: NonZeroUsize,
    /// For kato: file that keeps the run's position. Default: NAME.kato-run.json.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// For kato and mongodb: seconds to go on while the server does not answer; then the run ends
    /// and can be resumed.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u32,
    /// For kato: seconds until an answer is given up, of questions 10 at least; no longer than
    /// --patience.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// For kato: after a request without an answer, wait until a stock server has changed nothing
    /// for this many seconds, or longer where it is slow.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    settle: Duration,
    /// For kato: teach nodes that know patterns of which this run knows nothing. On a stock server
    /// such a run ends when an answer is lost.
    #[arg(long, alias = "onto-taught")]
    allow_existing_patterns: bool,
    /// For kato: seconds, at least, between the regular comparisons of a stock server's nodes with
    /// what they were taught.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    check_interval: Duration,
    /// For kato: compare every pattern of a stock server at the end, by one request each, instead
    /// of a share of them.
    #[arg(long)]
    compare_all: bool,
    /// For kato: what becomes of the run when a stock server dies in the middle of a learn call and
    /// holds a part of it.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    torn_learns: Torn,
    /// For kato: teach the nodes of a new run what a run into a stock server has learned, whose
    /// state file this is, and go on where that run ended.
    #[arg(long, value_name = "FILE", conflicts_with = "resume", requires = "run")]
    reteach: Option<PathBuf>,
    /// For kato: file that begins with the bearer token of the server.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// For mongodb: spread a new run over the shards of a cluster.
    #[arg(long)]
    sharded: bool,
}

/// What becomes of a run when a server tears a learn call in two.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Torn {
    /// The run ends.
    #[default]
    End,
    /// The run goes on, and lists it in its report.
    Keep,
}

impl From<Torn> for TornLearns {
    fn from(torn: Torn) -> Self {
        match torn {
            Torn::End => Self::End,
            Torn::Keep => Self::Keep,
        }
    }
}

impl DestinationArgs {
    /// Refuses options that do not go together, and gives a new run a name if the user did not.
    ///
    /// # Errors
    ///
    /// A wrong usage, with what to say instead.
    pub(crate) fn check(&mut self, resume: bool) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::raw(ErrorKind::ArgumentConflict, text));
        match self.backend() {
            Backend::Kato(_) | Backend::Mongodb(_) if self.run.is_none() && resume => {
                wrong("--resume and --add need the name of the run: --run NAME")
            }
            Backend::Kato(_) | Backend::Mongodb(_) => {
                let unique = || RunName::from_random(Uuid::new_v4().as_u64_pair().0);
                self.is_named_for_user = self.run.is_none();
                self.run.get_or_insert_with(unique);
                Ok(())
            }
            Backend::Embedded(_) => Ok(()),
        }
    }

    /// Returns the backend that the arguments name, by default the directory `kato-kb`.
    fn backend(&self) -> Backend {
        let kb = || self.kb.clone().unwrap_or_else(|| PathBuf::from("kato-kb"));
        let backend = self.backend.clone();
        backend.unwrap_or_else(|| Backend::Embedded(kb()))
    }

    /// Returns the directory that the run will make or fill, if nothing is in it yet.
    pub(crate) fn unbegun(&self) -> Option<Unbegun> {
        match self.backend() {
            Backend::Embedded(dir) => Unbegun::at(dir),
            Backend::Kato(_) | Backend::Mongodb(_) => None,
        }
    }

    /// Returns whether the run is begun or gone on with.
    pub(crate) fn start(&self, resume: bool, add: bool) -> Start {
        match self.backend() {
            _ if resume => Start::Resume,
            // A run on a server is not begun anew where its state file is missing.
            Backend::Kato(_) if add => Start::Resume,
            _ if add => Start::NewOrResume,
            _ => Start::New,
        }
    }

    /// Returns whether the nodes are first taught what another run has learned.
    pub(crate) const fn reteaches(&self) -> bool {
        self.reteach.is_some()
    }

    /// Returns the kind of place that the knowledge goes to, for a history.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        self.backend().kind()
    }

    /// Returns how many documents travel together, where they do.
    pub(crate) fn batch(&self) -> Option<u64> {
        let travels = matches!(self.backend(), Backend::Kato(_));
        travels.then(|| self.batch.get() as u64)
    }

    /// Returns the name of the run; empty for an embedded one, to which no option gives one.
    fn run(&self) -> &str {
        self.run.as_ref().map_or("", RunName::as_str)
    }

    /// Returns what the user's command needs besides to go on with the run.
    pub(crate) fn going_on(&self) -> String {
        match self.is_named_for_user {
            true => format!("--run {} and --resume", self.run()),
            false => "--resume".to_owned(),
        }
    }

    /// Returns the file that keeps the position of a run on a server.
    fn state(&self) -> PathBuf {
        let named = || PathBuf::from(format!("{}.kato-run.json", self.run()));
        self.state.clone().unwrap_or_else(named)
    }

    /// Returns the builder of the run's store in a MongoDB.
    fn mongodb(&self, uri: &str) -> Result<MongoStoreBuilder> {
        let run = self.run.clone().context("a run in a MongoDB has a name")?;
        let patience = Duration::from_secs(u64::from(self.patience));
        Ok(MongoStore::builder(uri, run)
            .with_patience(patience)
            .with_sharding(self.sharded))
    }

    /// Checks that there are connections for all workers to a server.
    ///
    /// # Errors
    ///
    /// When there are too few: found out here, before anything is made for the run.
    pub(crate) fn check_connections(
        &self,
        workers: Workers,
        levels: usize,
    ) -> Result<(), TrainError> {
        let workers = match workers {
            Workers::Exactly(workers) => workers.get(),
            Workers::Auto => 1,
        };
        let connections = ConnectionBudget {
            pool: self.connections.get(),
            per_worker: levels,
        };
        match self.backend() {
            Backend::Kato(_) => connections.check(workers),
            Backend::Embedded(_) | Backend::Mongodb(_) => Ok(()),
        }
    }

    /// Checks that the files beside a run on a server can be written.
    ///
    /// # Errors
    ///
    /// When one cannot be.
    pub(crate) fn check_files(&self, destination: &Destination) -> Result<()> {
        let state = match self.backend() {
            // All files lie in the directory, which is made first of all.
            Backend::Embedded(dir) => {
                return refuse_file("--kb", &dir);
            }
            Backend::Kato(_) => Some(self.state()),
            Backend::Mongodb(_) => None,
        };
        if let Some(state) = state {
            check_place("--state", &state)?;
        }
        check_file("the list of errors", &destination.ledger())
    }

    /// Begins to prepare what was learned for questions, as far as that is wanted; `None` where the destination
    /// has no files for them.
    pub(crate) fn prepare<'r>(
        &self,
        run: &'r TrainingRun,
        index: BuildOptions,
        counts: CountsOptions,
    ) -> Option<Preparation<'r>> {
        let store = run.store()?;
        Some(Preparation::begin(store, self.policy(), index, counts))
    }

    /// Writes the index of what was learned, where that is wanted and the destination has one; `None`
    /// also when it was cancelled, and when it could not be written without being asked for, which
    /// standard error says.
    ///
    /// # Errors
    ///
    /// When it was asked for and cannot be written; what was learned is safe.
    pub(crate) fn index(
        &self,
        preparation: Option<&mut Preparation<'_>>,
    ) -> Result<Option<BuildReport>> {
        let Some(preparation) = preparation else {
            return Ok(None);
        };
        match indexing::keep_prepared(preparation) {
            Err(IndexFileError::Cancelled(_)) => Ok(None),
            Err(error) if self.policy() == IndexPolicy::Auto => {
                indexing::warn("the index was", error);
                Ok(None)
            }
            built => built.context("everything learned is safe; `kato index` writes the index"),
        }
    }

    /// Returns whether an index, and the counts of the head, are wanted.
    const fn policy(&self) -> IndexPolicy {
        match (self.index, self.no_index) {
            (true, _) => IndexPolicy::Require,
            (_, true) => IndexPolicy::Never,
            _ => IndexPolicy::Auto,
        }
    }

    /// Writes the counts of the head of what was learned, where that is wanted and the destination has them,
    /// as [`index`](Self::index) does.
    ///
    /// # Errors
    ///
    /// As [`index`](Self::index).
    pub(crate) fn head(
        &self,
        preparation: Option<Preparation<'_>>,
    ) -> Result<Option<WrittenCounts>> {
        let Some(preparation) = preparation else {
            return Ok(None);
        };
        match indexing::keep_head(preparation) {
            Err(error) if self.policy() == IndexPolicy::Auto => {
                indexing::warn("the head's counts were", error);
                Ok(None)
            }
            kept => {
                kept.context("everything learned is safe; `kato index` writes the head's counts")
            }
        }
    }

    /// Writes the occurrences of what was learned, where they were asked for.
    ///
    /// # Errors
    ///
    /// When they cannot be written; what was learned is safe.
    pub(crate) fn occurrences(&self, run: &TrainingRun, cancel: &Cancel) -> Result<Option<Kept>> {
        let Some(store) = run.store().filter(|_| self.occurrences) else {
            return Ok(None);
        };
        let kept = occurrences::keep_patiently(store.dir(), cancel);
        kept.context("everything learned is safe; `kato index --occurrences` goes on")
    }

    /// Returns where the run goes.
    ///
    /// # Errors
    ///
    /// When the file with the token of a server cannot be read.
    pub(crate) fn destination(&self, probe: &Probe) -> Result<Destination> {
        Ok(match self.backend() {
            Backend::Embedded(dir) => Destination::from(dir).with_going_back(self.go_back),
            Backend::Kato(url) => Destination::on_server(self.nodes(&url, probe)?),
            Backend::Mongodb(uri) => Destination::in_mongodb(self.mongodb(&uri)?),
        })
    }

    /// Returns the builder of the run's nodes on a server.
    fn nodes(&self, url: &str, probe: &Probe) -> Result<RemoteBackendBuilder> {
        let run = self.run.clone().context("a run has a name")?;
        let patience = Duration::from_secs(u64::from(self.patience));
        let mut client = KatoClient::builder(url, SessionOptions::new(run.as_str()))
            .with_retry(patient_for(patience));
        if let Some(file) = &self.token_file {
            // `read_tokens` returns at least one.
            client = client.with_bearer_token(read_tokens(file)?.swap_remove(0));
        }
        let builder = RemoteBackend::builder(client, run, self.state())
            .with_batch(self.batch)
            .with_connections(self.connections)
            // An answer is waited for no longer than the server is as a whole.
            .with_timeout(self.timeout.min(patience.max(SHORTEST_TIMEOUT)))
            .with_settle(self.settle)
            .with_patience(patience)
            .with_taught_nodes(self.allow_existing_patterns)
            .with_check_interval(self.check_interval)
            .with_whole_comparison(self.compare_all)
            .with_torn_learns(self.torn_learns.into())
            .with_probe(probe.clone());
        Ok(match &self.reteach {
            Some(from) => builder.with_reteaching(from),
            None => builder,
        })
    }

    /// Opens the run, or begins it, with the loader at its position, which `loader_at` makes.
    ///
    /// # Errors
    ///
    /// When the run exists and is not to be resumed, is to be resumed and does not exist, or cannot be
    /// opened.
    pub(crate) fn open(
        &self,
        destination: Destination,
        learner: &HierarchicalConceptLearner,
        configuration: &RunConfiguration,
        start: Start,
        loader_at: impl FnOnce(LoaderStart<'_>) -> Result<StreamingDatasetLoader>,
    ) -> Result<(TrainingRun, StreamingDatasetLoader)> {
        let skipped = destination.ledger();
        let mut missing = None;
        let waited_for = format!("waiting for {} and the corpus to be opened", self.backend());
        let opened = patiently(&waited_for, || {
            TrainingRun::open(destination, learner, configuration, start, |position| {
                // Once the run is begun: the list that lies there before may be that of another run.
                self.take_skipped(&skipped)?;
                let loader = loader_at(position).and_then(|loader| self.readable_for(loader));
                loader.inspect_err(|error| missing = Some(format!("{error:#}")))
            })
        });
        let (run, loader) =
            opened.map_err(|error: anyhow::Error| self.explained(error, missing))?;
        run.store().inspect(|store| warn_of_recovery(store));
        Ok((run, loader))
    }

    /// Copies to a path what a run that is taught again has skipped before its position.
    fn take_skipped(&self, to: &Path) -> Result<()> {
        let Some(from) = &self.reteach else {
            return Ok(());
        };
        let ledger = from.with_extension("errors.jsonl");
        let failed = || format!("failed to copy {}", ledger.display());
        if ledger.try_exists().with_context(failed)? {
            std::fs::copy(&ledger, to).with_context(failed)?;
        }
        Ok(())
    }

    /// Returns a loader, unless its corpus would have to be read once more and cannot be.
    fn readable_for(&self, loader: StreamingDatasetLoader) -> Result<StreamingDatasetLoader> {
        // Refused before hours of learning, and not behind them.
        if self.occurrences {
            check_readable_again(&loader.identity())
                .context("--occurrences reads the corpus once more")?;
        }
        Ok(loader)
    }

    /// Adds to the error of a run that was not opened what it does not say; `missing` is why its corpus
    /// is not at hand.
    fn explained(&self, error: anyhow::Error, missing: Option<String>) -> anyhow::Error {
        let exists = match (error.downcast_ref(), self.backend()) {
            (Some(RunsError::Open(StoreError::Exists { .. })), _) => true,
            // The server's errors name nodes.
            (Some(_), backend @ Backend::Kato(_)) => {
                return error.context(format!("run {} on {backend}", self.run()));
            }
            // The error itself does not know that there was to be one.
            (Some(RunsError::Open(missing @ StoreError::Missing { .. })), backend) => {
                let text = match backend {
                    Backend::Embedded(dir) => format!(
                        "{} holds no run to go on with: check the path, or begin one without --resume",
                        dir.display()
                    ),
                    backend => format!(
                        "there is no run {} in {backend} to go on with: check the name, or begin it without --resume",
                        self.run()
                    ),
                };
                return refused(missing.class(), text);
            }
            (Some(RunsError::Open(_)), Backend::Embedded(dir)) if !dir.exists() => {
                return error.context(format!(
                    "--kb {} cannot be made: choose another place",
                    dir.display()
                ));
            }
            // The damage alone would not say why it is not learned again.
            (Some(RunsError::Open(_)), _) if let Some(missing) = missing => {
                return error.context(format!(
                    "what is lost cannot be learned again, as the corpus is not at hand: {missing}"
                ));
            }
            _ => false,
        };
        let taken = |text| refused(ErrorClass::Conflict, text);
        match (exists, self.backend()) {
            (false, _) => error,
            (true, Backend::Embedded(dir)) => taken(format!(
                "{} is a knowledge base already: go on with --resume, or name another place with --kb",
                dir.display()
            )),
            (true, backend) => taken(format!(
                "run {} is in {backend} already: go on with --resume, or give another --run",
                self.run()
            )),
        }
    }
}

/// Returns the error of a run that is not where it is to be gone on with, or is where another is to be begun.
fn refused(class: ErrorClass, text: String) -> anyhow::Error {
    CommandError { class, text }.into()
}

/// Patience below which it bounds attempts, and not the time-out of an answer.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the usual policy, with as many attempts as fit into a time.
fn patient_for(patience: Duration) -> RetryPolicy {
    RetryPolicy::default()
        .with_attempts(u32::MAX)
        .with_patience(patience)
}

/// Describes what a run took beyond its report.
#[must_use]
pub(crate) fn summary(run: &TrainingRun, report: &TrainingReport) -> String {
    match run.target() {
        TrainingTarget::Server(nodes) => summary_of_nodes(nodes, report),
        TrainingTarget::Mongodb(store) => format!("run {} in {}\n", store.run(), store.place()),
        _ => String::new(),
    }
}

/// Describes what the nodes of a server took.
fn summary_of_nodes(nodes: &RemoteBackend, report: &TrainingReport) -> String {
    let calls = nodes.calls();
    // Requests are those of this session, so they are compared with its documents only.
    let each = calls.requests as f64 / report.session_documents.max(1) as f64;
    let mut text = format!(
        "{} to {}: {each:.2} a document",
        counted(calls.requests, "request"),
        nodes.server()
    );
    if calls.retries + calls.recoveries > 0 {
        text += &format!(
            "; {} repeated, {} made anew",
            HumanCount(calls.retries),
            counted(calls.recoveries, "session")
        );
    }
    let doubts = nodes.doubts();
    if doubts.requests > 0 {
        text += &format!(
            "\n{} without an answer: of {} in doubt {} had arrived, the others were sent again",
            counted(doubts.requests, "request"),
            counted(doubts.calls, "learn call"),
            HumanCount(doubts.arrived),
        );
    }
    if doubts.compared > 0 {
        text += &format!(
            "\n{} compared with what was taught",
            counted(doubts.compared, "pattern")
        );
    }
    for torn in nodes.torn_learns() {
        text += &format!("\ntorn: pattern {} of {}", torn.pattern, torn.node);
    }
    let ids = nodes.node_ids().join(", ");
    text + &format!("\nrun {}: nodes {ids}\n", nodes.run())
}

/// Returns the report with what the run took, for machines.
///
/// # Errors
///
/// When the report has no JSON form, which would be a bug.
pub(crate) fn to_json(run: &TrainingRun, report: &TrainingReport) -> Result<Value> {
    let mut value = report::to_json(report)?;
    match run.target() {
        TrainingTarget::Server(nodes) => {
            value["server"] = json!({
                "url": nodes.server(),
                "run": nodes.run().as_str(),
                "node_ids": nodes.node_ids(),
                "calls": nodes.calls(),
                "stock": !nodes.has_keys(),
                "doubts": nodes.doubts(),
                "torn": nodes.torn_learns(),
            });
        }
        TrainingTarget::Mongodb(store) => {
            value["mongodb"] = json!({
                "place": store.place(),
                "run": store.run().as_str(),
            });
        }
        _ => {}
    }
    Ok(value)
}
