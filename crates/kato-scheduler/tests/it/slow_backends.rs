//! Backends that wait: stalls are told with what they wait for, connections are counted, and memory
//! that runs short slows down.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch, TextDocument};
use kato_scheduler::activity::Activity;
use kato_scheduler::backend::{RefusedDocument, WorkSize};
use kato_scheduler::workers::ConnectionBudget;
use kato_scheduler::{
    Backend, BackendErrorKind, OnStall, RunConfiguration, Teacher, TrainError, TrainingEvent,
    TrainingOptions, WorkDistribution, Workers, loader_at_checkpoint, train_parallel_with,
};
use serde_json::Value;

use crate::support::{
    Corpus, LEARNER, Oracle, Outcome, Record, Settings, go_on, in_time, memory_store, plain_records,
};

/// Nodes elsewhere that answer when they are let.
#[derive(Debug)]
struct Elsewhere {
    nodes: Vec<String>,
    configuration: Value,
    /// Whether the nodes answer.
    is_stuck: Mutex<bool>,
    /// Told when they answer again.
    answers: Condvar,
    /// Document that node 1 refuses.
    refused: Option<u64>,
    /// Whether it refuses that document twice, which no backend may.
    refuses_twice: bool,
    pool: usize,
    open_teachers: AtomicUsize,
    most_teachers: AtomicUsize,
}

impl Elsewhere {
    fn new(pool: usize) -> Self {
        Self {
            nodes: LEARNER
                .node_names()
                .iter()
                .map(ToString::to_string)
                .collect(),
            configuration: RunConfiguration::from_learner(&LEARNER).to_json(),
            is_stuck: Mutex::new(false),
            answers: Condvar::new(),
            refused: None,
            refuses_twice: false,
            pool,
            open_teachers: AtomicUsize::new(0),
            most_teachers: AtomicUsize::new(0),
        }
    }

    fn refused_in(&self, documents: &Range<u64>) -> Option<u64> {
        self.refused.filter(|document| documents.contains(document))
    }
}

struct ElsewhereTeacher<'a>(&'a Elsewhere);

impl Backend for Elsewhere {
    type Part = ();

    fn nodes(&self) -> &[String] {
        &self.nodes
    }
    fn configuration(&self) -> &Value {
        &self.configuration
    }
    fn checkpoint(&self) -> Value {
        Value::Null
    }
    fn work_size(&self, _position: u64) -> WorkSize {
        WorkSize::Documents(NonZeroUsize::MIN)
    }
    fn teacher<'a>(
        &'a self,
        _learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = ()> + 'a>, TrainError> {
        let n = self.open_teachers.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_teachers.fetch_max(n, Ordering::SeqCst);
        Ok(Box::new(ElsewhereTeacher(self)))
    }
    fn connections(&self) -> Option<ConnectionBudget> {
        Some(ConnectionBudget {
            pool: self.pool,
            per_worker: self.nodes.len(),
        })
    }
    fn interrupt(&self) {
        *self.is_stuck.lock().unwrap() = false;
        self.answers.notify_all();
    }
    fn commit(&self, _parts: Vec<()>, _checkpoint: Value) -> Result<(), TrainError> {
        Ok(())
    }
    fn learns(&self, _node_idx: usize) -> Result<u64, TrainError> {
        Ok(0)
    }
}

impl Teacher for ElsewhereTeacher<'_> {
    type Part = ();

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        LEARNER.plan(&document, scratch)?;
        Ok(())
    }
    fn finish_work(
        &mut self,
        documents: Range<u64>,
        activity: &Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        let _waiting = activity.enter("waiting for node1 to answer");
        let is_stuck = self.0.is_stuck.lock().unwrap();
        drop(
            self.0
                .answers
                .wait_while(is_stuck, |is_stuck| *is_stuck)
                .unwrap(),
        );
        let refused = |document_idx| RefusedDocument {
            document_idx,
            node_idx: 1,
            source: "too many symbols".into(),
        };
        let times = 1 + usize::from(self.0.refuses_twice);
        let document = self.0.refused_in(&documents).into_iter();
        Ok(document
            .flat_map(|document_idx| (0..times).map(move |_| refused(document_idx)))
            .collect())
    }
    fn learns(&self, _node_idx: usize) -> u64 {
        0
    }
    fn take_part(&mut self) -> Result<Option<()>, TrainError> {
        Ok(None)
    }
}

impl Drop for ElsewhereTeacher<'_> {
    fn drop(&mut self) {
        self.0.open_teachers.fetch_sub(1, Ordering::SeqCst);
    }
}

fn train_elsewhere(
    corpus: &Corpus,
    backend: &Elsewhere,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<kato_scheduler::TrainingReport, TrainError> {
    let mut loader = loader_at_checkpoint(corpus.strict(), &Value::Null)?;
    train_parallel_with(&mut loader, &LEARNER, backend, options, on_event)
}

#[test]
fn a_stall_is_told_with_what_is_waited_for_and_the_run_goes_on() {
    in_time(|| {
        let corpus = Corpus::new(&plain_records(20));
        let backend = Elsewhere::new(100);
        *backend.is_stuck.lock().unwrap() = true;
        let mut options = Settings::EAGER.options();
        options.stall_timeout = Duration::from_millis(150);
        let mut told = Vec::new();
        let report = train_elsewhere(&corpus, &backend, &options, |event| {
            if let TrainingEvent::Stalled(stall) = event {
                backend.interrupt();
                told.push(stall);
            }
        })
        .unwrap();
        assert!(report.stalls >= 1 && report.complete);
        let stack: Vec<&str> = told[0]
            .stack
            .iter()
            .map(|frame| frame.what.as_str())
            .collect();
        assert!(stack[0].starts_with("learning documents "), "{stack:?}");
        assert_eq!(stack[1], "waiting for node1 to answer");
        assert!(
            told[0]
                .to_string()
                .contains(" > waiting for node1 to answer ("),
            "{}",
            told[0]
        );
    });
}

#[test]
fn a_stall_may_end_the_run() {
    in_time(|| {
        let corpus = Corpus::new(&plain_records(20));
        let backend = Elsewhere::new(100);
        *backend.is_stuck.lock().unwrap() = true;
        let mut options = Settings::EAGER.options();
        options.stall_timeout = Duration::from_millis(150);
        options.on_stall = OnStall::End;
        let error = train_elsewhere(&corpus, &backend, &options, |_| {}).unwrap_err();
        assert!(error.to_string().contains("waiting for node1"), "{error}");
        assert_eq!(backend.open_teachers.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn what_a_node_refuses_is_listed_with_its_level() {
    in_time(|| {
        let corpus = Corpus::new(&plain_records(20));
        let backend = Elsewhere {
            refused: Some(7),
            ..Elsewhere::new(100)
        };
        let error =
            train_elsewhere(&corpus, &backend, &Settings::EAGER.options(), |_| {}).unwrap_err();
        assert!(matches!(error, TrainError::Refused { .. }), "{error}");
        let mut options = Settings::EAGER.lenient();
        options.ledger = Some(corpus.path("errors"));
        let report = train_elsewhere(&corpus, &backend, &options, |_| {}).unwrap();
        assert_eq!(
            (report.documents_processed, report.failures.refused),
            (19, 1)
        );
        // Nothing of it is counted as learned: as if its text could not be learned at all.
        let mut records = plain_records(20);
        records[7] = Record::Unlearnable;
        let oracle = Oracle::of(&LEARNER, Corpus::new(&records).strict()).outcome;
        assert!(report.tokens > 0);
        assert_eq!(
            (report.tokens, report.dropped),
            (oracle.tokens, oracle.dropped)
        );
        let entries = crate::support::ledger_entries(&corpus.path("errors"));
        assert_eq!(entries.len(), 1);
        assert_eq!(
            (&entries[0]["document_idx"], &entries[0]["level"]),
            (&7.into(), &1.into())
        );
        assert_eq!(entries[0]["reason"], "too many symbols");
    });
}

#[test]
fn a_backend_that_refuses_a_sample_twice_ends_the_run() {
    in_time(|| {
        let corpus = Corpus::new(&plain_records(20));
        let backend = Elsewhere {
            refused: Some(7),
            refuses_twice: true,
            ..Elsewhere::new(100)
        };
        let options = Settings::EAGER.lenient();
        let error = train_elsewhere(&corpus, &backend, &options, |_| {}).unwrap_err();
        let is_other =
            matches!(&error, TrainError::Backend(own) if own.kind() == BackendErrorKind::Other);
        assert!(
            is_other && error.to_string().contains("document 7"),
            "{error}"
        );
    });
}

#[test]
fn workers_fit_the_connections() {
    in_time(|| {
        let corpus = Corpus::new(&plain_records(20));
        let backend = Elsewhere::new(7);
        let mut options = Settings::EAGER.options();
        options.n_workers = Workers::Auto;
        let report = train_elsewhere(&corpus, &backend, &options, |_| {});
        // The budget for memory of the tests is nothing: one worker.
        assert_eq!(report.unwrap().n_workers, 1);
        options.memory_budget = 1 << 30;
        // Shared out in advance, so that all that fit have work, and not as many as pay.
        options.distribution = WorkDistribution::RoundRobin;
        let report = train_elsewhere(&corpus, &backend, &options, |_| {}).unwrap();
        assert_eq!(
            (
                report.n_workers,
                backend.most_teachers.load(Ordering::SeqCst)
            ),
            (2, 2)
        );
        // A number that is given is not tuned.
        options.distribution = WorkDistribution::WorkStealing;
        options.n_workers = Workers::Exactly(NonZeroUsize::new(2).unwrap());
        let mut active = BTreeSet::new();
        let on_event = |event: TrainingEvent| {
            if let TrainingEvent::Progress(progress) = event {
                active.insert(progress.workers);
            }
        };
        train_elsewhere(&corpus, &backend, &options, on_event).unwrap();
        assert_eq!(active, BTreeSet::from([2]));
        options.n_workers = Workers::Exactly(NonZeroUsize::new(3).unwrap());
        let error = train_elsewhere(&corpus, &backend, &options, |_| {}).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("need 9") && message.contains("pool has 7"),
            "{message}"
        );
        assert_eq!(backend.open_teachers.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn memory_that_runs_short_slows_down_and_changes_nothing() {
    let corpus = Corpus::new(&plain_records(200));
    let oracle = Oracle::of(&LEARNER, corpus.strict());
    for distribution in WorkDistribution::ALL {
        let store = memory_store(&LEARNER);
        let settings = Settings {
            distribution,
            workers: 4,
            ..Settings::EAGER
        };
        let mut options = settings.options();
        options.memory_ceiling = Some(1);
        let mut slowed = Vec::new();
        let on_event = |event: TrainingEvent| {
            if let TrainingEvent::Slowed { resident, ceiling } = event {
                slowed.push((resident > 1 << 12, ceiling));
            }
        };
        let report = go_on(corpus.strict(), &LEARNER, &store, &options, on_event).unwrap();
        assert_eq!(Outcome::from(&report), oracle.outcome);
        oracle.assert_learned(&store);
        // Once, since no process comes below it again.
        assert_eq!(slowed, [(true, 1)]);
    }
}
