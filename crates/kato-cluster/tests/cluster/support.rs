//! A small corpus, one machine's result, and a store with faults.

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use kato_advice::retry::RetryPolicy;
use kato_cluster::marker::TaskMarker;
use kato_cluster::{Cluster, ClusterError, Completed, ExtendOptions, Pause, Plan, PlanOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::{StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit};
use kato_random::SplitMix64;
use kato_scheduler::{RunConfiguration, TrainingOptions, Workers, train_parallel};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::runtime::Runtime;

/// A corpus of a few files, a learner, and a directory.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    scratch: PathBuf,
    learner: Arc<HierarchicalConceptLearner>,
}

impl Place {
    pub(crate) fn new(provenance: bool) -> Self {
        // In memory where there is such a place: a thousand schedules flush many files.
        let shared = FilePath::new("/dev/shm");
        let dir = match shared.is_dir() {
            true => tempfile::tempdir_in(shared),
            false => tempfile::tempdir(),
        };
        let dir = dir.unwrap();
        let place = Self {
            scratch: dir.path().join("scratch"),
            dir,
            learner: Arc::new(
                HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
                    .with_chunk_sizes([2, 3])
                    .with_min_paragraph_chars(0)
                    .with_recording(Recording {
                        provenance,
                        metadata: provenance,
                    })
                    .build()
                    .unwrap(),
            ),
        };
        fs::create_dir(place.corpus()).unwrap();
        fs::create_dir(place.scratch()).unwrap();
        for (number, text) in [
            "the cat sat on the mat and the dog sat on the mat\nthe cat sat on the rug\n",
            "the dog sat on the mat and the cat sat on the mat\n\nagain the cat sat\n",
            "a bird sat on the mat\n",
            "the cat sat on the mat and the dog sat on the mat\n",
            "and the dog sat on the rug and the cat sat on the mat and on the rug\n",
        ]
        .into_iter()
        .enumerate()
        {
            fs::write(place.corpus().join(format!("{number}.txt")), text).unwrap();
        }
        for (generation, text) in [
            "a dog sat on the rug and a bird sat on the cat\nthe cat sat on the mat\n",
            "the bird sat on the mat and the bird sat on the dog\nat last the cat sat\n",
        ]
        .into_iter()
        .enumerate()
        {
            let dir = place.more(generation);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("first.txt"), text).unwrap();
            fs::write(dir.join("second.txt"), "the mat sat on the cat\n").unwrap();
        }
        place
    }

    /// The directory that an extension adds.
    fn more(&self, generation: usize) -> PathBuf {
        self.dir.path().join(format!("more{generation}"))
    }

    fn corpus(&self) -> PathBuf {
        self.dir.path().join("corpus")
    }

    pub(crate) fn scratch(&self) -> &FilePath {
        &self.scratch
    }

    /// Puts a file into the corpus that is no text.
    pub(crate) fn add_bad_record(&self) {
        fs::write(self.corpus().join("bad.txt"), b"a good line\n\xff\xfe\n").unwrap();
    }

    /// Changes a file of the corpus.
    pub(crate) fn damage(&self) {
        fs::write(self.corpus().join("0.txt"), "something else").unwrap();
    }

    fn builder(&self) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoader::builder()
            .with_input(self.corpus())
            .with_text_unit(TextUnit::Line)
            .with_workers(0)
    }

    fn options() -> TrainingOptions {
        let mut options = TrainingOptions::default();
        options.n_workers = Workers::Exactly(NonZeroUsize::MIN);
        options
    }

    /// Returns what one machine learns.
    pub(crate) fn train(&self) -> String {
        self.train_with(0)
    }

    /// Returns what one machine learns of the corpus and so many additions behind it.
    pub(crate) fn train_with(&self, additions: usize) -> String {
        let kb = self.dir.path().join(format!("trained{additions}"));
        let configuration = RunConfiguration::from_learner(&self.learner).to_json();
        let store = EmbeddedStore::create(&kb, &self.learner.node_names(), configuration).unwrap();
        let builder = (0..additions).fold(self.builder(), |builder, generation| {
            builder.with_input(self.more(generation))
        });
        let mut loader = builder.build().unwrap();
        train_parallel(&mut loader, &self.learner, &store, &Self::options(), |_| {}).unwrap();
        everything(&store)
    }

    pub(crate) async fn plan(
        &self,
        cluster: &Cluster,
        options: &PlanOptions,
    ) -> std::result::Result<Completed<Plan>, ClusterError> {
        let loader = self.builder().build().unwrap();
        cluster.plan(loader, &self.learner, options).await
    }

    /// Plans the next generation after one with a number.
    pub(crate) async fn extend(
        &self,
        cluster: &Cluster,
        generation: usize,
        options: &ExtendOptions,
    ) -> std::result::Result<Completed<Plan>, ClusterError> {
        let more = self.more(generation);
        let add = move |builder: StreamingDatasetLoaderBuilder| {
            builder.with_input(more.clone()).with_workers(0)
        };
        cluster.extend(add, options).await
    }

    pub(crate) async fn learn(
        &self,
        cluster: &Cluster,
        task: u32,
    ) -> std::result::Result<Completed<TaskMarker>, ClusterError> {
        let plan = cluster.read_plan().await?;
        let builder = StreamingDatasetLoader::builder_of(plan.corpus()).with_workers(0);
        let options = Self::options();
        cluster
            .learn(
                task,
                Arc::clone(&self.learner),
                builder,
                &options,
                self.scratch(),
                |_| {},
            )
            .await
    }

    /// Publishes and returns everything that the knowledge base holds.
    pub(crate) fn publish(&self, cluster: &Cluster) -> String {
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap();
        let kb = dir.path().join("kb");
        let first = block(cluster.publish(&kb)).unwrap().into_inner();
        let again = block(cluster.publish(&kb)).unwrap();
        assert_eq!(again, Completed::Before(first));
        Self::published(&kb)
    }

    /// Returns everything that a published knowledge base holds.
    pub(crate) fn published(kb: &FilePath) -> String {
        let store = EmbeddedStore::open(kb).unwrap();
        let published = everything(&store);
        // With the children of all ranges together.
        store.compact().unwrap();
        assert_eq!(everything(&store), published);
        published
    }
}

/// A runtime, whose threads compute while the tests poll.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    })
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Whether a future was polled that returns to the test, and waits for nothing.
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Polls until the future returns to the test at a place where the store or the pause has it: never
/// while something is computed, so equal schedules take equal ways.
pub(crate) fn step<T>(mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    loop {
        match poll_once(future.as_mut()) {
            Poll::Pending if !YIELDED.get() => std::thread::park(),
            ready_or_yielded => return ready_or_yielded,
        }
    }
}

/// Polls once; it may return while something is computed.
pub(crate) fn poll_once<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    let _runtime = runtime().enter();
    let waker = Arc::new(Unpark(std::thread::current())).into();
    YIELDED.set(false);
    future.poll(&mut Context::from_waker(&waker))
}

/// Runs a future to its end.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(value) = step(future.as_mut()) {
            return value;
        }
    }
}

/// Returns all that a store holds, as text.
fn everything(store: &EmbeddedStore) -> String {
    let mut text = format!("{}\n{}\n", store.configuration(), store.checkpoint());
    for node in KnowledgeBase::all(store) {
        let mut lines = Vec::new();
        node.export(&mut lines).unwrap();
        text += &String::from_utf8(lines).unwrap();
        for pattern in node.scan().unwrap() {
            text += &format!("{:?}\n", pattern.unwrap().first_seen);
        }
        text += &format!("{:?}\n", node.totals().unwrap());
    }
    for document in 0..20 {
        text += &format!("{:?}\n", store.document(document).unwrap());
    }
    text
}

/// Returns a policy that is patient and does not wait.
pub(crate) fn retry() -> (RetryPolicy, Pause) {
    let policy = RetryPolicy::default().with_attempts(1000);
    let pause: Pause = Arc::new(|_: Duration| Box::pin(yield_once()));
    (policy, pause)
}

/// Returns once to whoever polls.
fn yield_once() -> YieldOnce {
    YieldOnce(false)
}

struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => {
                YIELDED.set(true);
                Poll::Pending
            }
        }
    }
}

/// A store that delays, refuses, carries out and answers nothing, repeats, and lists what is old.
pub(crate) struct Chaos {
    inner: Arc<InMemory>,
    draw: Arc<Mutex<SplitMix64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Refused,
    Lost,
    Repeated,
}

impl Chaos {
    pub(crate) fn new(inner: InMemory, seed: u64) -> Self {
        Self {
            inner: Arc::new(inner),
            draw: Arc::new(Mutex::new(SplitMix64::from_seed(seed))),
        }
    }

    fn draw(&self) -> u64 {
        self.draw.lock().unwrap().next_u64()
    }

    async fn delay(&self) {
        for _ in 0..self.draw() % 3 {
            yield_once().await;
        }
    }

    async fn fault(&self) -> Fault {
        self.delay().await;
        match self.draw() % 12 {
            0 => Fault::Refused,
            1 => Fault::Lost,
            2 => Fault::Repeated,
            _ => Fault::None,
        }
    }
}

fn error(text: &str) -> Error {
    Error::Generic {
        store: "chaos",
        source: text.into(),
    }
}

impl fmt::Debug for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chaos")
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chaos")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Chaos {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let fault = self.fault().await;
        if fault == Fault::Refused {
            return Err(error("503"));
        }
        let first = self
            .inner
            .put_opts(location, payload.clone(), options.clone())
            .await;
        self.delay().await;
        match fault {
            Fault::Lost => Err(error("the answer was lost")),
            // As a proxy does that had no answer in time: the second answer is the one that counts.
            Fault::Repeated => self.inner.put_opts(location, payload, options).await,
            Fault::None | Fault::Refused => first,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.fault().await {
            Fault::Refused | Fault::Lost => Err(error("503")),
            Fault::None | Fault::Repeated => self.inner.get_opts(location, options).await,
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.draw() % 6 {
            0 => stream::once(async { Err(error("503")) }).boxed(),
            _ => self.inner.delete_stream(locations),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if self.draw().is_multiple_of(8) {
            return stream::once(async { Err(error("503")) }).boxed();
        }
        // Some objects are not in the list yet.
        let draw = Arc::clone(&self.draw);
        let is_stale = self.draw().is_multiple_of(3);
        let list = self.inner.list(prefix);
        list.filter(move |_| {
            let shown = !is_stale || !draw.lock().unwrap().next_u64().is_multiple_of(3);
            std::future::ready(shown)
        })
        .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// A store that ignores conditions.
#[derive(Debug)]
pub(crate) struct Overwriting(InMemory);

impl Overwriting {
    pub(crate) fn new() -> Self {
        Self(InMemory::new())
    }
}

impl fmt::Display for Overwriting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Overwriting")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Overwriting {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        options.mode = PutMode::Overwrite;
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}
