//! A store that fails or panics at any moment: the run ends with that error or another worker takes
//! over, it never hangs, and going on ends equal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use kato_model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use kato_scheduler::{Checkpoint, TrainError};
use kato_store::contract::{Scan, StagedBatch, SymbolCounts, Totals};
use kato_store::{EmbeddedStore, PatternStore, PatternVisitor, StoreError, StoredPattern};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, embedded_store, go_on, in_time,
    ledger_entries, memory_store, records, settings,
};

/// A call of a store that goes wrong, counted from the last change of plan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Stage(u64),
    StagePanic(u64),
    Commit(u64),
    CommitPanic(u64),
}

/// A store with a fault.
#[derive(Debug)]
pub(crate) struct Faulty<S> {
    inner: S,
    fault: Option<Fault>,
    n_stages: AtomicU64,
    n_commits: AtomicU64,
}

impl<S> Faulty<S> {
    pub(crate) fn new(inner: S, fault: Option<Fault>) -> Self {
        Self {
            inner,
            fault,
            n_stages: AtomicU64::new(0),
            n_commits: AtomicU64::new(0),
        }
    }

    pub(crate) fn healed(self) -> S {
        self.inner
    }
}

fn full() -> StoreError {
    StoreError::Full {
        path: "segment".into(),
        source: std::io::ErrorKind::StorageFull.into(),
    }
}

impl<S: PatternStore> PatternStore for Faulty<S> {
    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        let call = self.n_stages.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Some(Fault::Stage(at)) if at == call => Err(full()),
            Some(Fault::StagePanic(at)) if at == call => panic!("the store's stage panics"),
            _ => self.inner.stage(batch),
        }
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let call = self.n_commits.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Some(Fault::Commit(at)) if at == call => Err(full()),
            Some(Fault::CommitPanic(at)) if at == call => panic!("the store's commit panics"),
            _ => self.inner.commit(staged, checkpoint),
        }
    }

    fn forget(&self, doomed: &[Vec<PatternName>], checkpoint: Value) -> Result<(), StoreError> {
        self.inner.forget(doomed, checkpoint)
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        self.inner.clear(checkpoint)
    }

    fn nodes(&self) -> &[String] {
        self.inner.nodes()
    }
    fn configuration(&self) -> &Value {
        self.inner.configuration()
    }
    fn attribute_limits(&self) -> AttributeLimits {
        self.inner.attribute_limits()
    }
    fn checkpoint(&self) -> Value {
        self.inner.checkpoint()
    }
    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        self.inner.totals(node_idx)
    }
    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        self.inner.count_patterns(node_idx)
    }
    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        self.inner.pattern(node_idx, name)
    }
    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        self.inner.scan(node_idx)
    }
    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        self.inner.scan_frequencies(node_idx)
    }
    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError> {
        self.inner.visit(node_idx, visitor)
    }
    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError> {
        self.inner.vectors(node_idx)
    }
    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        self.inner.symbol_counts(node_idx)
    }
    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        self.inner.document(document_idx)
    }
    fn disk_bytes(&self) -> Option<u64> {
        self.inner.disk_bytes()
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..30u64).prop_map(Fault::Stage),
        (0..30u64).prop_map(Fault::StagePanic),
        (0..20u64).prop_map(Fault::Commit),
        (0..20u64).prop_map(Fault::CommitPanic),
    ]
}

/// Runs through the faults one after the other, then to the end.
fn check<S: PatternStore>(
    records: &[Record],
    faults: &[(Fault, Settings)],
    store: S,
    reopen: impl Fn(S) -> S,
) {
    let corpus = Corpus::new(records);
    let oracle = Oracle::of(&LEARNER, corpus.lenient());
    let mut store = store;
    let options = |settings: &Settings| {
        let mut options = settings.lenient();
        options.ledger = Some(corpus.path("skipped"));
        options
    };
    for (fault, settings) in faults {
        let before = n_committed(&store);
        let faulty = Faulty::new(store, Some(*fault));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            go_on(
                corpus.lenient(),
                &LEARNER,
                &faulty,
                &options(settings),
                |_| {},
            )
        }));
        let panics = matches!(fault, Fault::CommitPanic(_));
        match ended {
            // The fault lay behind the end of the corpus, or another worker took over.
            Ok(Ok(report)) => assert_eq!(Outcome::from(&report), oracle.outcome),
            Ok(Err(error)) => {
                assert!(
                    matches!(&error, TrainError::Store(source) if source.is_full()),
                    "{error}"
                );
                assert!(!panics);
            }
            Err(panic) => {
                let message = panic.downcast_ref::<&str>().copied().unwrap_or_default();
                assert!(panics && message.starts_with("the store's"), "{message}");
            }
        }
        store = reopen(faulty.healed());
        let now = n_committed(&store);
        assert!(
            now >= before,
            "{before} documents were safe, and now {now} are"
        );
        let learned = corpus.lenient().with_max_documents(now);
        if now < oracle.outcome.documents {
            Oracle::of(&LEARNER, learned).assert_learned(&store);
        }
    }
    let report = go_on(
        corpus.lenient(),
        &LEARNER,
        &store,
        &options(&Settings::EAGER),
        |_| {},
    )
    .unwrap();
    assert_eq!(Outcome::from(&report), oracle.outcome);
    assert_eq!(ledger_entries(&corpus.path("skipped")), oracle.skipped);
    oracle.assert_learned(&store);
}

fn n_committed(store: &dyn PatternStore) -> u64 {
    Checkpoint::from_json(&store.checkpoint())
        .unwrap()
        .map_or(0, |checkpoint| checkpoint.cursor.documents())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_failing_store_loses_nothing_and_repeats_nothing(
        records in records(40),
        faults in prop::collection::vec((fault(), settings()), 1..4),
    ) {
        in_time(move || check(&records, &faults, memory_store(&LEARNER), |store| store));
    }
}

proptest! {
    // Every commit waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nor_does_one_on_the_disk(
        records in records(24),
        faults in prop::collection::vec((fault(), settings()), 1..4),
    ) {
        in_time(move || {
            let dir = tempfile::tempdir().unwrap();
            check(&records, &faults, embedded_store(&dir, &LEARNER), |store| {
                let path = store.dir().to_owned();
                drop(store);
                EmbeddedStore::open_with(&path, crate::support::merging()).unwrap()
            });
        });
    }
}
